// SPDX-License-Identifier: MIT
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <type_traits>

#include "cuda_api.hpp"

/// Failed CUDA calls, inside the CUDA translation unit: thrown where they happen, turned into a reason at its edge.
namespace llmres::probe {

struct cuda_failure {
    problem why;
    bool out_of_memory = false;
};

[[noreturn]] inline void fail(const char* call, std::string_view how, bool out_of_memory) {
    cuda_failure failed{call, out_of_memory};
    failed.why.append(": ");
    failed.why.append(how);
    throw failed;
}
inline void must(const char* call, cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaGetLastError();  // so that the next call does not report this one
    fail(call, cudaGetErrorName(code), code == cudaErrorMemoryAllocation);
}
inline void must(const char* call, CUresult code) {
    if (code != CUDA_SUCCESS)
        fail(call, "CUresult " + std::to_string(static_cast<int>(code)), code == CUDA_ERROR_OUT_OF_MEMORY);
}
/// A library's answer: empty, or what went wrong.
inline void must(const problem& wrong) {
    if (!wrong.empty()) throw cuda_failure{wrong};
}

/// The value of doing it, or why there is none.
template <class Action>
auto reading_of(Action&& action) -> reading<decltype(action())> {
    using result = reading<decltype(action())>;
    try {
        return result{action()};
    } catch (const cuda_failure& failed) {
        return result::unavailable(failed.why);
    } catch (const std::exception& other) {
        return result::unavailable(other.what());
    }
}

/// The problem of doing it; none if it went well.
template <class Action>
problem problem_of(Action&& action) {
    return reading_of([&] { return action(), true; }).why;
}

/// A function of the driver, without linking to it; null where the driver does not know it.
template <class Function>
Function* driver_function(const char* name, unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult state{};
    const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &state);
    if (code != cudaSuccess) cudaGetLastError();
    return code == cudaSuccess && state == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

/// What CUDA made, and the function that ends it.
template <auto End>
struct ends_with {
    template <class T>
    void operator()(T* made) const {
        End(made);
    }
};
template <class Handle, auto End>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, ends_with<End>>;
/// What `make(&handle)` makes; throws by the name of the call.
template <class Owned, class Make>
Owned make_owned(const char* call, Make&& make) {
    typename Owned::pointer handle = nullptr;
    must(call, make(&handle));
    return Owned{handle};
}

/// Device memory of the probe's own.
using scratch = owned<void*, &cudaFree>;
inline scratch scratch_of(std::size_t size) {
    return make_owned<scratch>("cudaMalloc", [size](void** into) { return cudaMalloc(into, size); });
}

}  // namespace llmres::probe
