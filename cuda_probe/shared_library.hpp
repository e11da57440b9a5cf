// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "cuda_api.hpp"

namespace llmres::probe {

/// A library loaded at run time: the probe must start on machines that have no driver, no cuBLAS and no NCCL.
class shared_library {
public:
    shared_library() = default;
    /// Tries the names in order; `reason()` tells why none could be had.
    template <class... Names>
    explicit shared_library(const Names&... names) {
        (try_open(names), ...);
    }

    explicit operator bool() const { return handle_ != nullptr; }
    /// Why it cannot be used: it is not there, or it is another one than the probe knows.
    std::string reason() const {
        return name_ + (handle_ ? " lacks a function that the probe needs" : " could not be loaded");
    }

    /// The function of that name, or null.
    void* find(const char* name) const { return handle_ ? dlsym(handle_.get(), name) : nullptr; }

private:
    void try_open(const std::string& name) {
        if (handle_) return;
        handle_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
        if (handle_ || name_.empty()) name_ = name;
    }
    struct closer {
        void operator()(void* handle) const { dlclose(handle); }
    };
    std::unique_ptr<void, closer> handle_;
    std::string name_;  ///< where none is there, the first: the others are fallbacks
};

/// A function that a library must have, or call_failed is thrown.
template <class Function>
class symbol {
public:
    using pointer = Function*;
    symbol(const shared_library& from, const char* name) : at_{reinterpret_cast<pointer>(from.find(name))} {
        if (at_ == nullptr) throw call_failed{from.reason()};
    }
    operator pointer() const { return at_; }  // NOLINT(google-explicit-constructor): called as a function

private:
    pointer at_;
};

/// What a library made, and its function that ends it.
using library_handle = std::unique_ptr<void, int (*)(void*)>;

/// Throws by the name of the call unless the library says that all went well.
inline void must_be_zero(const char* call, const char* what, int said) {
    if (said != 0) throw call_failed{std::string{call} + ": " + what + " " + std::to_string(said)};
}

}  // namespace llmres::probe
