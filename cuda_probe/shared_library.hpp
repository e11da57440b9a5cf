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
    template <class Function>
    void resolve(Function*& into, const char* symbol) const {
        into = handle_ ? reinterpret_cast<Function*>(dlsym(handle_.get(), symbol)) : nullptr;
    }

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
};

}  // namespace llmres::probe
