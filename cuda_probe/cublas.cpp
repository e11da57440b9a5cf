// SPDX-License-Identifier: MIT
#include "cublas.hpp"

#include <string>
#include <utility>

namespace llmres::probe {

namespace {

using namespace cublas_abi;

/// Throws by the name of the call unless cuBLAS says 0.
void must(const char* call, int status) {
    if (status != 0) throw call_failed{std::string{call} + ": cuBLAS status " + std::to_string(status)};
}

/// What `make(&handle, arguments...)` makes, ended by its counterpart.
using handle = std::unique_ptr<void, int (*)(void*)>;
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
constexpr std::array<types, 6> types_of{{{r_32f, r_32f, compute_32f_fast_tf32, r_32f},
                                         {r_32f, r_32f, compute_32f_fast_tf32, r_32f},
                                         {r_16bf, r_16bf, compute_32f, r_32f},
                                         {r_16f, r_16f, compute_32f, r_32f},
                                         {r_8f_e4m3, r_16bf, compute_32f, r_32f},
                                         {r_8i, r_32i, compute_32i, r_32i}}};

}  // namespace

/// What cuBLASLt wants to be told of a product, and the algorithm it chose.
struct cublas::described_product {
    product_shape of;
    handle desc, a, b, c, preference;
    lt_heuristic chosen{};

    described_product(const functions& call, void* library, const product_shape& shape, std::size_t workspace)
        : described_product{call, shape, types_of[static_cast<std::size_t>(shape.kind)]} {
        const auto set = [&](int attribute, const auto& value) {
            must("cublasLtMatmulDescSetAttribute", call.desc_set(desc.get(), attribute, &value, sizeof value));
        };
        set(desc_transpose_a, transposed);
        // Sums stay in the tensor core, as in the fp8 products of vLLM and of PyTorch's forward passes, and in the
        // sheet's peak.
        if (shape.kind == element::fp8_e4m3) set(desc_fast_accumulation, std::int8_t{1});
        must("cublasLtMatmulPreferenceSetAttribute",
             call.preference_set(preference.get(), preference_workspace, &workspace, sizeof workspace));
        int found = 0;
        must("cublasLtMatmulAlgoGetHeuristic", call.heuristic(library, desc.get(), a.get(), b.get(), c.get(), c.get(),
                                                              preference.get(), 1, &chosen, &found));
        if (found == 0) throw call_failed{"cuBLASLt has no algorithm for this product"};
        must("cublasLtMatmulAlgoGetHeuristic", chosen.state);
    }

private:
    described_product(const functions& call, const product_shape& shape, const types& t)
        : of{shape},
          desc{new_handle("cublasLtMatmulDescCreate", call.desc_create, call.desc_destroy, t.compute, t.scale)},
          a{matrix(call, t.factors, shape.inner, shape.rows)},
          b{matrix(call, t.factors, shape.inner, shape.columns)},
          c{matrix(call, t.product, shape.rows, shape.columns)},
          preference{new_handle("cublasLtMatmulPreferenceCreate", call.preference_create, call.preference_destroy)} {}
    static handle matrix(const functions& call, int type, std::int64_t rows, std::int64_t columns) {
        return new_handle("cublasLtMatrixLayoutCreate", call.layout_create, call.layout_destroy, type,
                          static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows);
    }
};

cublas::cublas() = default;
cublas::~cublas() { close(); }

void cublas::close() {
    last_.reset();
    handle_.reset();
}

void cublas::open() {
    if (handle_) return;
    if (!library_)
        library_ = shared_library{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                  "/usr/local/cuda/lib64/libcublasLt.so"};
    if (!library_) throw call_failed{library_.reason()};
    call_ = std::make_unique<functions>(library_);
    if (library_.lacks()) throw call_failed{"libcublasLt lacks a function that the probe needs"};
    handle_ = new_handle("cublasLtCreate", call_->create, call_->destroy);
}

void cublas::multiply(const product_shape& shape, const void* a, const void* b, void* c, void* workspace,
                      std::size_t workspace_bytes) {
    if (!handle_) throw call_failed{"cuBLAS is not open"};
    if (!last_ || last_->of != shape)
        last_ = std::make_unique<described_product>(*call_, handle_.get(), shape, workspace_bytes);
    const described_product& p = *last_;
    const float one = 1, zero = 0;
    const std::int32_t whole_one = 1, whole_zero = 0;
    const bool whole = shape.kind == element::int8;
    const void* alpha = whole ? static_cast<const void*>(&whole_one) : &one;
    const void* beta = whole ? static_cast<const void*>(&whole_zero) : &zero;
    must("cublasLtMatmul",
         call_->matmul(handle_.get(), p.desc.get(), alpha, a, p.a.get(), b, p.b.get(), beta, c, p.c.get(), c, p.c.get(),
                       p.chosen.algorithm.data(), workspace, workspace_bytes, nullptr));
}

}  // namespace llmres::probe
