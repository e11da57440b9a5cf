// SPDX-License-Identifier: MIT
#pragma once

/// What fake_cudart.cpp exports to the fakes of libraries beside it: one count of calls, of which the N-th fails, and
/// one list of what is held.
extern "C" {
/// Whether this call, by its name, is to fail.
[[gnu::weak]] bool llmres_fake_fails(const char* call);
[[gnu::weak]] void llmres_fake_hold(const void* handle);
/// False if that is not held.
[[gnu::weak]] bool llmres_fake_drop(const void* handle);
}

namespace llmres::probe::fakes {

inline bool fails(const char* call) { return llmres_fake_fails != nullptr && llmres_fake_fails(call); }

/// A handle that counts as held.
inline int make(void** into) {
    *into = new char;
    if (llmres_fake_hold != nullptr) llmres_fake_hold(*into);
    return 0;
}
inline int end(void* handle) {
    if (llmres_fake_drop != nullptr && !llmres_fake_drop(handle)) return 7;  // an invalid value
    delete static_cast<char*>(handle);
    return 0;
}

}  // namespace llmres::probe::fakes
