// SPDX-License-Identifier: MIT
#include "cublas.hpp"

#include <string>

namespace llmres::probe {

namespace {

using namespace cublas_abi;

text<95> failure(const char* call, int code) {
    if (code == 0) return {};
    text<95> why{call};
    why.append(": cuBLAS status ");
    why.append(std::to_string(code));
    return why;
}

}  // namespace

/// What cuBLASLt wants to be told of a product, and the algorithm it chose.
struct cublas::lt_plan {
    const lt_functions& call;
    std::int64_t rows, columns, inner;
    void* desc = nullptr;
    void* a = nullptr;
    void* b = nullptr;
    void* c = nullptr;
    void* preference = nullptr;
    lt_heuristic chosen{};
    text<95> wrong;

    lt_plan(const lt_functions& f, void* handle, std::int64_t m, std::int64_t n, std::int64_t k, std::size_t workspace)
        : call{f}, rows{m}, columns{n}, inner{k} {
        const auto step = [this](const char* name, int code) {
            if (wrong.empty()) wrong = failure(name, code);
        };
        const auto m64 = static_cast<std::uint64_t>(m), n64 = static_cast<std::uint64_t>(n),
                   k64 = static_cast<std::uint64_t>(k);
        step("cublasLtMatmulDescCreate", call.desc_create(&desc, compute_32f, r_32f));
        if (wrong.empty())
            step("cublasLtMatmulDescSetAttribute",
                 call.desc_set(desc, desc_transpose_a, &transposed, sizeof transposed));
        // Sums stay in the tensor core, as in the fp8 products of vLLM and of PyTorch's forward passes, and in the
        // sheet's peak.
        const std::int8_t fast = 1;
        if (wrong.empty())
            step("cublasLtMatmulDescSetAttribute", call.desc_set(desc, desc_fast_accumulation, &fast, sizeof fast));
        step("cublasLtMatrixLayoutCreate", call.layout_create(&a, r_8f_e4m3, k64, m64, k));
        step("cublasLtMatrixLayoutCreate", call.layout_create(&b, r_8f_e4m3, k64, n64, k));
        step("cublasLtMatrixLayoutCreate", call.layout_create(&c, r_16bf, m64, n64, m));
        step("cublasLtMatmulPreferenceCreate", call.preference_create(&preference));
        if (wrong.empty())
            step("cublasLtMatmulPreferenceSetAttribute",
                 call.preference_set(preference, preference_workspace, &workspace, sizeof workspace));
        int found = 0;
        if (wrong.empty())
            step("cublasLtMatmulAlgoGetHeuristic",
                 call.heuristic(handle, desc, a, b, c, c, preference, 1, &chosen, &found));
        if (wrong.empty() && found == 0) wrong = "cuBLASLt has no algorithm for this product";
        if (wrong.empty()) step("cublasLtMatmulAlgoGetHeuristic", chosen.state);
    }
    ~lt_plan() {
        if (preference != nullptr) call.preference_destroy(preference);
        for (void* layout : {a, b, c})
            if (layout != nullptr) call.layout_destroy(layout);
        if (desc != nullptr) call.desc_destroy(desc);
    }
    lt_plan(const lt_plan&) = delete;
    lt_plan& operator=(const lt_plan&) = delete;
};

cublas::cublas() = default;
cublas::~cublas() { close(); }

void cublas::close() {
    lt_plan_.reset();
    if (lt_handle_ != nullptr) lt_call_->destroy(lt_handle_);
    if (handle_ != nullptr) call_->destroy(handle_);
    lt_handle_ = handle_ = nullptr;
}

text<95> cublas::open() {
    if (is_open()) return {};
    if (!library_)
        library_ =
            shared_library{"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"};
    if (!library_) return text<95>{library_.reason()};
    call_ = std::make_unique<functions>(library_);
    if (library_.lacks()) return "libcublas lacks a function that the probe needs";
    return failure("cublasCreate", call_->create(&handle_));
}

text<95> cublas::multiply(element kind, std::int64_t rows, std::int64_t columns, std::int64_t inner, const void* a,
                          const void* b, void* c, void* workspace, std::size_t workspace_bytes) {
    if (!is_open()) return "cuBLAS is not open";
    if (kind == element::fp8_e4m3) return multiply_fp8(rows, columns, inner, a, b, c, workspace, workspace_bytes);
    const int factors = kind == element::bf16   ? r_16bf
                        : kind == element::fp16 ? r_16f
                        : kind == element::int8 ? r_8i
                                                : r_32f;
    const int product = kind == element::int8 ? r_32i : factors;
    const int compute = kind == element::int8   ? compute_32i
                        : kind == element::tf32 ? compute_32f_fast_tf32
                                                : compute_32f;
    const float one = 1, zero = 0;
    const std::int32_t whole_one = 1, whole_zero = 0;
    const void* alpha = kind == element::int8 ? static_cast<const void*>(&whole_one) : &one;
    const void* beta = kind == element::int8 ? static_cast<const void*>(&whole_zero) : &zero;
    const auto m = static_cast<int>(rows), n = static_cast<int>(columns), k = static_cast<int>(inner);
    return failure("cublasGemmEx", call_->gemm(handle_, transposed, as_is, m, n, k, alpha, a, factors, k, b, factors, k,
                                               beta, c, product, m, compute, default_algorithm));
}

text<95> cublas::multiply_fp8(std::int64_t rows, std::int64_t columns, std::int64_t inner, const void* a, const void* b,
                              void* c, void* workspace, std::size_t workspace_bytes) {
    if (lt_handle_ == nullptr) {
        if (!lt_library_)
            lt_library_ = shared_library{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                         "/usr/local/cuda/lib64/libcublasLt.so"};
        if (!lt_library_) return text<95>{lt_library_.reason()};
        lt_call_ = std::make_unique<lt_functions>(lt_library_);
        if (lt_library_.lacks()) return "libcublasLt lacks a function that the probe needs";
        if (const auto wrong = failure("cublasLtCreate", lt_call_->create(&lt_handle_)); !wrong.empty()) return wrong;
    }
    const lt_functions& f = *lt_call_;
    if (!lt_plan_ || lt_plan_->rows != rows || lt_plan_->columns != columns || lt_plan_->inner != inner)
        lt_plan_ = std::make_unique<lt_plan>(f, lt_handle_, rows, columns, inner, workspace_bytes);
    if (!lt_plan_->wrong.empty()) return lt_plan_->wrong;
    const float one = 1, zero = 0;
    const lt_plan& p = *lt_plan_;
    return failure("cublasLtMatmul", f.matmul(lt_handle_, p.desc, &one, a, p.a, b, p.b, &zero, c, p.c, c, p.c,
                                              p.chosen.algorithm.data(), workspace, workspace_bytes, nullptr));
}

}  // namespace llmres::probe
