// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shared_library.hpp"

/// The part of cuBLAS's and cuBLASLt's binary interface that the probe calls, declared by ourselves because they are
/// loaded at run time. tests/probe/vendor_abi.cpp holds it against NVIDIA's headers.
namespace llmres::probe::cublas_abi {

// Enumerators of cudaDataType, cublasComputeType_t, cublasOperation_t and cublasLt's attributes.
inline constexpr int r_32f = 0, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, r_8f_e4m3 = 28;
inline constexpr int compute_32f = 68, compute_32i = 72, compute_32f_fast_tf32 = 77;
inline constexpr int transposed = 1, as_is = 0, default_algorithm = -1;
inline constexpr int desc_transpose_a = 3, desc_fast_accumulation = 25, preference_workspace = 1;

struct lt_heuristic {
    std::array<std::uint64_t, 8> algorithm{};
    std::size_t workspace = 0;
    int state = 0;
    float waves = 0;
    std::array<int, 4> reserved{};
};
static_assert(sizeof(lt_heuristic) == 96);

/// Of libcublas.
struct functions {
    const shared_library& from;
    symbol<int(void**)> create{from, "cublasCreate_v2"};
    symbol<int(void*)> destroy{from, "cublasDestroy_v2"};
    symbol<int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
               void*, int, int, int, int)>
        gemm{from, "cublasGemmEx"};
};

/// Of libcublasLt.
struct lt_functions {
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

}  // namespace llmres::probe::cublas_abi
