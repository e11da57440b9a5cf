// SPDX-License-Identifier: MIT
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda_api.hpp"

/// Failed CUDA calls, inside the CUDA translation unit: thrown where they happen, turned into a reason at its edge.
namespace llmres::probe {

struct cuda_failure {
    problem why;
    bool out_of_memory = false;
};

inline void must(const char* call, cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaGetLastError();  // so that the next call does not report this one
    cuda_failure failed;
    failed.why = call;
    failed.why.append(": ");
    failed.why.append(cudaGetErrorName(code));
    failed.out_of_memory = code == cudaErrorMemoryAllocation;
    throw failed;
}

inline void must(const char* call, CUresult code) {
    if (code == CUDA_SUCCESS) return;
    cuda_failure failed;
    failed.why = call;
    failed.why.append(": CUresult ");
    failed.why.append(std::to_string(static_cast<int>(code)));
    failed.out_of_memory = code == CUDA_ERROR_OUT_OF_MEMORY;
    throw failed;
}

/// The problem of doing it; none if it went well.
template <class Action>
problem problem_of(Action&& action) {
    try {
        action();
        return {};
    } catch (const cuda_failure& failed) {
        return failed.why;
    } catch (const std::exception& other) {
        return problem{other.what()};
    }
}

/// The value of it, or why there is none.
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

/// A function of the driver, without linking to it; null where the driver does not know it.
template <class Function>
void resolve_driver(Function*& into, const char* name, unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult state{};
#if CUDART_VERSION >= 12050
    const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &state);
#else
    (void)version;
    const cudaError_t code = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &state);
#endif
    if (code != cudaSuccess) cudaGetLastError();
    into = code == cudaSuccess && state == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

/// Device memory of the probe's own.
class scratch {
public:
    explicit scratch(std::size_t size) { must("cudaMalloc", cudaMalloc(&address_, size)); }
    ~scratch() { cudaFree(address_); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    void* get() const { return address_; }

private:
    void* address_ = nullptr;
};

}  // namespace llmres::probe
