// SPDX-License-Identifier: MIT
#include "cublas.hpp"

#include <string_view>

namespace llmres::probe {

namespace {

using namespace cublas_abi;

constexpr std::string_view status = "cuBLAS status";

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
    const functions& call;
    element kind;
    std::int64_t rows, columns, inner;
    void* desc = nullptr;
    void* a = nullptr;
    void* b = nullptr;
    void* c = nullptr;
    void* preference = nullptr;
    lt_heuristic chosen{};
    text<95> wrong;

    described_product(const functions& f, void* handle, element of_factors, std::int64_t m, std::int64_t n,
                      std::int64_t k, std::size_t workspace)
        : call{f}, kind{of_factors}, rows{m}, columns{n}, inner{k} {
        const auto [factors, product, compute, scale] = types_of[static_cast<std::size_t>(kind)];
        const auto step = [this](const char* name, const auto& function, auto... arguments) {
            if (wrong.empty()) wrong = failure(name, status, function(arguments...));
        };
        const auto m64 = static_cast<std::uint64_t>(m), n64 = static_cast<std::uint64_t>(n),
                   k64 = static_cast<std::uint64_t>(k);
        step("cublasLtMatmulDescCreate", call.desc_create, &desc, compute, scale);
        step("cublasLtMatmulDescSetAttribute", call.desc_set, desc, desc_transpose_a, &transposed, sizeof transposed);
        // Sums stay in the tensor core, as in the fp8 products of vLLM and of PyTorch's forward passes, and in the
        // sheet's peak.
        const std::int8_t fast = 1;
        if (kind == element::fp8_e4m3)
            step("cublasLtMatmulDescSetAttribute", call.desc_set, desc, desc_fast_accumulation, &fast, sizeof fast);
        step("cublasLtMatrixLayoutCreate", call.layout_create, &a, factors, k64, m64, k);
        step("cublasLtMatrixLayoutCreate", call.layout_create, &b, factors, k64, n64, k);
        step("cublasLtMatrixLayoutCreate", call.layout_create, &c, product, m64, n64, m);
        step("cublasLtMatmulPreferenceCreate", call.preference_create, &preference);
        step("cublasLtMatmulPreferenceSetAttribute", call.preference_set, preference, preference_workspace, &workspace,
             sizeof workspace);
        int found = 0;
        step("cublasLtMatmulAlgoGetHeuristic", call.heuristic, handle, desc, a, b, c, c, preference, 1, &chosen,
             &found);
        if (wrong.empty() && found == 0) wrong = "cuBLASLt has no algorithm for this product";
        if (wrong.empty()) wrong = failure("cublasLtMatmulAlgoGetHeuristic", status, chosen.state);
    }
    ~described_product() {
        if (preference != nullptr) call.preference_destroy(preference);
        for (void* layout : {a, b, c})
            if (layout != nullptr) call.layout_destroy(layout);
        if (desc != nullptr) call.desc_destroy(desc);
    }
    described_product(const described_product&) = delete;
    described_product& operator=(const described_product&) = delete;
};

cublas::cublas() = default;
cublas::~cublas() { close(); }

void cublas::close() {
    last_.reset();
    if (handle_ != nullptr) call_->destroy(handle_);
    handle_ = nullptr;
}

text<95> cublas::open() {
    if (handle_ != nullptr) return {};
    if (!library_)
        library_ = shared_library{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                  "/usr/local/cuda/lib64/libcublasLt.so"};
    if (!library_) return text<95>{library_.reason()};
    call_ = std::make_unique<functions>(library_);
    if (library_.lacks()) return "libcublasLt lacks a function that the probe needs";
    return failure("cublasLtCreate", status, call_->create(&handle_));
}

text<95> cublas::multiply(element kind, std::int64_t rows, std::int64_t columns, std::int64_t inner, const void* a,
                          const void* b, void* c, void* workspace, std::size_t workspace_bytes) {
    if (handle_ == nullptr) return "cuBLAS is not open";
    if (!last_ || last_->kind != kind || last_->rows != rows || last_->columns != columns || last_->inner != inner)
        last_ = std::make_unique<described_product>(*call_, handle_, kind, rows, columns, inner, workspace_bytes);
    const described_product& p = *last_;
    if (!p.wrong.empty()) return p.wrong;
    const float one = 1, zero = 0;
    const std::int32_t whole_one = 1, whole_zero = 0;
    const void* alpha = kind == element::int8 ? static_cast<const void*>(&whole_one) : &one;
    const void* beta = kind == element::int8 ? static_cast<const void*>(&whole_zero) : &zero;
    return failure("cublasLtMatmul", status,
                   call_->matmul(handle_, p.desc, alpha, a, p.a, b, p.b, beta, c, p.c, c, p.c,
                                 p.chosen.algorithm.data(), workspace, workspace_bytes, nullptr));
}

}  // namespace llmres::probe
