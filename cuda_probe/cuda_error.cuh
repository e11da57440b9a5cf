// SPDX-License-Identifier: MIT
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <type_traits>

#include "cuda_api.hpp"

/// Calls into CUDA that must go well, inside the CUDA translation unit.
namespace llmres::probe {

inline void must(const char* call, cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaGetLastError();  // so that the next call does not report this one
    throw call_failed{std::string{call} + ": " + cudaGetErrorName(code), code == cudaErrorMemoryAllocation};
}
inline void must(const char* call, CUresult code) {
    if (code != CUDA_SUCCESS)
        throw call_failed{std::string{call} + ": CUresult " + std::to_string(static_cast<int>(code)),
                          code == CUDA_ERROR_OUT_OF_MEMORY};
}

/// A number that `ask(&number)` tells.
template <class Ask>
reading<std::int32_t> number_of(const char* call, Ask&& ask) {
    return reading_of([&] {
        int number = 0;
        must(call, ask(&number));
        return std::int32_t{number};
    });
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
