// SPDX-License-Identifier: MIT
// A libcublasLt.so.13 for tests, on fake_cudart.cpp, whose device memory is the host's: it computes the elements of a
// product that the probe looks at, from the factors that the probe is known to write.
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "cublas.hpp"
#include "fake_calls.hpp"
#include "pattern.hpp"

using namespace llmres::probe;
using namespace llmres::probe::cublas_abi;

namespace {

constexpr int status_internal_error = 14;

/// A result rounded to 16 bits: of bf16 the upper half of an fp32's, of fp16 with five bits of exponent.
std::uint32_t rounded_bits(element kind, double value) {
    const auto narrow = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &narrow, sizeof bits);
    if (kind == element::fp32) return bits;
    if (kind == element::bf16) return (bits + 0x8000U) >> 16;
    const std::uint32_t magnitude = (bits & 0x7fffffffU) + 0x1000U;
    const std::uint32_t half = magnitude < (113U << 23) ? 0 : (magnitude - (112U << 23)) >> 13;
    return ((bits >> 16) & 0x8000U) | half;
}

/// The sums that the probe looks at; a product is asked for many times in a row.
const std::array<double, looks>& sums_of(element kind, std::int64_t m, std::int64_t n, std::int64_t k) {
    static std::array<double, looks> sums{};
    static std::tuple<element, std::int64_t, std::int64_t, std::int64_t> last{};
    if (std::exchange(last, {kind, m, n, k}) == last) return sums;
    const auto inner = static_cast<std::uint64_t>(k);
    for (std::uint64_t sample = 0; sample < looks; ++sample) {
        const auto [i, j] = look_of(sample, m, n);
        sums[sample] = 0;
        for (std::uint64_t p = 0; p < inner; ++p)
            sums[sample] += element_value(kind, element_bits(kind, 1, i * inner + p)) *
                            element_value(kind, element_bits(kind, 2, j * inner + p));
    }
    return sums;
}

void compute(element kind, std::int64_t m, std::int64_t n, std::int64_t k, void* c) {
    const element out = product_element(kind);
    const auto width = static_cast<std::size_t>(kind == element::int8 ? 4 : element_bytes(out));
    const std::array<double, looks>& sums = sums_of(kind, m, n, k);
    for (std::uint64_t sample = 0; sample < looks; ++sample) {
        const auto [i, j] = look_of(sample, m, n);
        const std::uint32_t bits = kind == element::int8
                                       ? static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[sample]))
                                       : rounded_bits(out, sums[sample]);
        std::memcpy(static_cast<char*>(c) + (i + j * static_cast<std::uint64_t>(m)) * width, &bits, width);
    }
}

/// The matrices that were described last: A, B and C of a product.
struct matrix {
    int type = 0;
    std::int64_t rows = 0, columns = 0;
};
matrix described[3]{};

element element_of(int type) {
    return type == r_16bf      ? element::bf16
           : type == r_16f     ? element::fp16
           : type == r_8i      ? element::int8
           : type == r_8f_e4m3 ? element::fp8_e4m3
                               : element::tf32;
}

}  // namespace

#define ENTER(name) \
    if (fakes::fails(name)) return status_internal_error

extern "C" {

int cublasLtCreate(void** into) {
    ENTER("cublasLtCreate");
    return fakes::make(into);
}
int cublasLtDestroy(void* handle) {
    ENTER("cublasLtDestroy");
    return fakes::end(handle);
}
int cublasLtMatmulDescCreate(void** into, int, int) {
    ENTER("cublasLtMatmulDescCreate");
    return fakes::make(into);
}
int cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t) {
    ENTER("cublasLtMatmulDescSetAttribute");
    return 0;
}
int cublasLtMatmulDescDestroy(void* handle) {
    ENTER("cublasLtMatmulDescDestroy");
    return fakes::end(handle);
}
int cublasLtMatrixLayoutCreate(void** into, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t) {
    ENTER("cublasLtMatrixLayoutCreate");
    described[0] = described[1], described[1] = described[2];
    described[2] = {type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    return fakes::make(into);
}
int cublasLtMatrixLayoutDestroy(void* handle) {
    ENTER("cublasLtMatrixLayoutDestroy");
    return fakes::end(handle);
}
int cublasLtMatmulPreferenceCreate(void** into) {
    ENTER("cublasLtMatmulPreferenceCreate");
    return fakes::make(into);
}
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) {
    ENTER("cublasLtMatmulPreferenceSetAttribute");
    return 0;
}
int cublasLtMatmulPreferenceDestroy(void* handle) {
    ENTER("cublasLtMatmulPreferenceDestroy");
    return fakes::end(handle);
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, lt_heuristic* into,
                                   int* found) {
    ENTER("cublasLtMatmulAlgoGetHeuristic");
    *into = {};
    *found = 1;
    return 0;
}
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                   void* c, void*, const void*, void*, std::size_t, void*) {
    ENTER("cublasLtMatmul");
    const auto& [a, b, product] = described;
    compute(element_of(a.type), a.columns, b.columns, a.rows, c);
    return 0;
}

}  // extern "C"

// As the probe calls them; vendor_abi.cpp holds that against NVIDIA's headers.
static_assert(std::is_same_v<decltype(functions::heuristic)::pointer, decltype(&cublasLtMatmulAlgoGetHeuristic)>);
static_assert(std::is_same_v<decltype(functions::matmul)::pointer, decltype(&cublasLtMatmul)>);
static_assert(std::is_same_v<decltype(functions::layout_create)::pointer, decltype(&cublasLtMatrixLayoutCreate)>);
