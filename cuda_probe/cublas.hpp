// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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

struct functions : shared_library {
    using shared_library::shared_library;
    symbol<int(void**)> create{*this, "cublasLtCreate"};
    symbol<int(void*)> destroy{*this, "cublasLtDestroy"};
    symbol<int(void**, int, int)> desc_create{*this, "cublasLtMatmulDescCreate"};
    symbol<int(void*, int, const void*, std::size_t)> desc_set{*this, "cublasLtMatmulDescSetAttribute"};
    symbol<int(void*)> desc_destroy{*this, "cublasLtMatmulDescDestroy"};
    symbol<int(void**, int, std::uint64_t, std::uint64_t, std::int64_t)> layout_create{*this,
                                                                                       "cublasLtMatrixLayoutCreate"};
    symbol<int(void*)> layout_destroy{*this, "cublasLtMatrixLayoutDestroy"};
    symbol<int(void**)> preference_create{*this, "cublasLtMatmulPreferenceCreate"};
    symbol<int(void*, int, const void*, std::size_t)> preference_set{*this, "cublasLtMatmulPreferenceSetAttribute"};
    symbol<int(void*)> preference_destroy{*this, "cublasLtMatmulPreferenceDestroy"};
    symbol<int(void*, void*, void*, void*, void*, void*, void*, int, lt_heuristic*, int*)> heuristic{
        *this, "cublasLtMatmulAlgoGetHeuristic"};
    symbol<int(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
               void*, void*, const void*, void*, std::size_t, void*)>
        matmul{*this, "cublasLtMatmul"};
};

inline void must(const char* call, int status) { must_be_zero(call, "cuBLAS status", status); }

/// What `make(&handle, arguments...)` makes, ended by its counterpart.
using handle = library_handle;
template <class Make, class... Arguments>
handle new_handle(const char* call, const Make& make, int (*end)(void*), Arguments... arguments) {
    void* it = nullptr;
    must(call, make(&it, arguments...));
    return {it, end};
}

struct types {
    int factors, product, compute, scale;
};
/// In the order of `element`.
inline constexpr std::array<types, 6> types_of{{{r_32f, r_32f, compute_32f_fast_tf32, r_32f},
                                                {r_32f, r_32f, compute_32f_fast_tf32, r_32f},
                                                {r_16bf, r_16bf, compute_32f, r_32f},
                                                {r_16f, r_16f, compute_32f, r_32f},
                                                {r_8f_e4m3, r_16bf, compute_32f, r_32f},
                                                {r_8i, r_32i, compute_32i, r_32i}}};

/// What cuBLASLt wants to be told of a product, and the algorithm it chose.
struct described_product {
    const functions& call;
    product_shape of;
    types in = types_of[static_cast<std::size_t>(of.kind)];
    handle desc = new_handle("cublasLtMatmulDescCreate", call.desc_create, call.desc_destroy, in.compute, in.scale);
    handle a = matrix(in.factors, of.inner, of.rows);
    handle b = matrix(in.factors, of.inner, of.columns);
    handle c = matrix(in.product, of.rows, of.columns);
    handle preference = new_handle("cublasLtMatmulPreferenceCreate", call.preference_create, call.preference_destroy);
    lt_heuristic chosen{};

    described_product(const functions& calls, void* library, const product_shape& shape, std::size_t workspace)
        : call{calls}, of{shape} {
        const auto set = [&](int attribute, const auto& value) {
            must("cublasLtMatmulDescSetAttribute", call.desc_set(desc.get(), attribute, &value, sizeof value));
        };
        set(desc_transpose_a, transposed);
        // Sums stay in the tensor core, as in the fp8 products of vLLM and of PyTorch's forward passes, and in the
        // sheet's peak.
        if (of.kind == element::fp8_e4m3) set(desc_fast_accumulation, std::int8_t{1});
        must("cublasLtMatmulPreferenceSetAttribute",
             call.preference_set(preference.get(), preference_workspace, &workspace, sizeof workspace));
        int found = 0;
        must("cublasLtMatmulAlgoGetHeuristic", call.heuristic(library, desc.get(), a.get(), b.get(), c.get(), c.get(),
                                                              preference.get(), 1, &chosen, &found));
        if (found == 0) throw call_failed{"cuBLASLt has no algorithm for this product"};
        must("cublasLtMatmulAlgoGetHeuristic", chosen.state);
    }

private:
    handle matrix(int type, std::int64_t rows, std::int64_t columns) const {
        return new_handle("cublasLtMatrixLayoutCreate", call.layout_create, call.layout_destroy, type,
                          static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows);
    }
};

}  // namespace cublas_abi

/// cuBLAS's products through cuBLASLt, loaded at run time: the probe must start where it is not installed. Facts of the
/// interface: NVIDIA's cuBLAS reference; only enumerators that have kept their values since cuBLAS 11.8 are used.
class cublas {
public:
    /// A handle on the current device. What fails here throws call_failed.
    void open() {
        if (handle_) return;
        call_ = std::make_unique<cublas_abi::functions>("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                                        "/usr/local/cuda/lib64/libcublasLt.so");
        handle_ = cublas_abi::new_handle("cublasLtCreate", call_->create, call_->destroy);
    }

    /// C = transposed(A) B, all column-major: A is inner x rows, B inner x columns, C rows x columns. C is fp32 for
    /// tf32, int32 for int8, bf16 for fp8_e4m3 and else of the factors' type.
    void multiply(const product_shape& shape, const void* a, const void* b, void* c, void* workspace,
                  std::size_t workspace_bytes) {
        if (!handle_) throw call_failed{"cuBLAS is not open"};
        if (!last_ || last_->of != shape)
            last_ = std::make_unique<cublas_abi::described_product>(*call_, handle_.get(), shape, workspace_bytes);
        const cublas_abi::described_product& p = *last_;
        const float one = 1, zero = 0;
        const std::int32_t whole_one = 1, whole_zero = 0;
        const bool whole = shape.kind == element::int8;
        const void* alpha = whole ? static_cast<const void*>(&whole_one) : &one;
        const void* beta = whole ? static_cast<const void*>(&whole_zero) : &zero;
        cublas_abi::must("cublasLtMatmul", call_->matmul(handle_.get(), p.desc.get(), alpha, a, p.a.get(), b, p.b.get(),
                                                         beta, c, p.c.get(), c, p.c.get(), p.chosen.algorithm.data(),
                                                         workspace, workspace_bytes, nullptr));
    }

private:
    std::unique_ptr<cublas_abi::functions> call_;
    cublas_abi::handle handle_{nullptr, nullptr};
    std::unique_ptr<cublas_abi::described_product> last_;  ///< so that repeats time the product alone
};

/// The type of C's elements.
constexpr element product_element(element factors) {
    return factors == element::fp8_e4m3 ? element::bf16 : factors == element::tf32 ? element::fp32 : factors;
}

}  // namespace llmres::probe
