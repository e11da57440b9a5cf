// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda_api.hpp"
#include "shared_library.hpp"

namespace llmres::probe {

/// The part of cuBLASLt's binary interface that the probe calls, declared by ourselves because it is loaded at run
/// time. tests/probe/vendor_abi.cpp holds it against NVIDIA's headers.
namespace cublas_abi {

// Enumerators of cudaDataType, cublasComputeType_t, cublasOperation_t and cublasLt's attributes.
inline constexpr int r_32f = 0, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, r_8f_e4m3 = 28;
inline constexpr int compute_32f = 68, compute_32i = 72, compute_32f_fast_tf32 = 77;
inline constexpr int transposed = 1;
inline constexpr int desc_transpose_a = 3, desc_fast_accumulation = 25, preference_workspace = 1;

struct lt_heuristic {
    std::array<std::uint64_t, 8> algorithm{};
    std::size_t workspace = 0;
    int state = 0;
    float waves = 0;
    std::array<int, 4> reserved{};
};
static_assert(sizeof(lt_heuristic) == 96);

struct functions {
    const shared_library& from;
    symbol<int(void**)> create{from, "cublasLtCreate"};
    symbol<int(void*)> destroy{from, "cublasLtDestroy"};
    symbol<int(void**, int, int)> desc_create{from, "cublasLtMatmulDescCreate"};
    symbol<int(void*, int, const void*, std::size_t)> desc_set{from, "cublasLtMatmulDescSetAttribute"};
    symbol<int(void*)> desc_destroy{from, "cublasLtMatmulDescDestroy"};
    symbol<int(void**, int, std::uint64_t, std::uint64_t, std::int64_t)> layout_create{from,
                                                                                       "cublasLtMatrixLayoutCreate"};
    symbol<int(void*)> layout_destroy{from, "cublasLtMatrixLayoutDestroy"};
    symbol<int(void**)> preference_create{from, "cublasLtMatmulPreferenceCreate"};
    symbol<int(void*, int, const void*, std::size_t)> preference_set{from, "cublasLtMatmulPreferenceSetAttribute"};
    symbol<int(void*)> preference_destroy{from, "cublasLtMatmulPreferenceDestroy"};
    symbol<int(void*, void*, void*, void*, void*, void*, void*, int, lt_heuristic*, int*)> heuristic{
        from, "cublasLtMatmulAlgoGetHeuristic"};
    symbol<int(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
               void*, void*, const void*, void*, std::size_t, void*)>
        matmul{from, "cublasLtMatmul"};
};

}  // namespace cublas_abi

/// cuBLAS's products through cuBLASLt, loaded at run time: the probe must start where it is not installed. Facts of the
/// interface: NVIDIA's cuBLAS reference; only enumerators that have kept their values since cuBLAS 11.8 are used.
class cublas {
public:
    cublas();
    ~cublas();
    cublas(const cublas&) = delete;
    cublas& operator=(const cublas&) = delete;

    /// A handle on the current device. What fails here throws call_failed.
    void open();
    void close();

    /// C = transposed(A) B, all column-major: A is inner x rows, B inner x columns, C rows x columns. C is fp32 for
    /// tf32, int32 for int8, bf16 for fp8_e4m3 and else of the factors' type.
    void multiply(const product_shape& shape, const void* a, const void* b, void* c, void* workspace,
                  std::size_t workspace_bytes);

private:
    struct described_product;
    shared_library library_;
    std::unique_ptr<cublas_abi::functions> call_;
    std::unique_ptr<void, int (*)(void*)> handle_{nullptr, nullptr};
    std::unique_ptr<described_product> last_;  ///< so that repeats time the product alone
};

/// The type of C's elements.
constexpr element product_element(element factors) {
    return factors == element::fp8_e4m3 ? element::bf16 : factors == element::tf32 ? element::fp32 : factors;
}

}  // namespace llmres::probe
