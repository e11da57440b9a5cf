// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

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
    const std::string& reason() const { return reason_; }

    /// The function of that name, or null.
    void* find(const char* name) const {
        void* found = handle_ ? dlsym(handle_.get(), name) : nullptr;
        lacks_ = lacks_ || found == nullptr;
        return found;
    }
    /// Whether a function was asked for that it does not have.
    bool lacks() const { return lacks_; }

private:
    void try_open(const std::string& name) {
        if (handle_) return;
        handle_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
        if (!handle_ && reason_.empty()) reason_ = name + " could not be loaded";
    }
    struct closer {
        void operator()(void* handle) const { dlclose(handle); }
    };
    std::unique_ptr<void, closer> handle_;
    std::string reason_;  ///< of the first name: the others are fallbacks
    mutable bool lacks_ = false;
};

/// A function of a library; null where it has none.
template <class Function>
class symbol {
public:
    using pointer = Function*;
    symbol(const shared_library& from, const char* name) : at_{reinterpret_cast<pointer>(from.find(name))} {}
    operator pointer() const { return at_; }  // NOLINT(google-explicit-constructor): called as a function

private:
    pointer at_;
};

}  // namespace llmres::probe
