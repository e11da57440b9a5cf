// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/device.hpp>
#include <memory>

#include "cublas_abi.hpp"
#include "pattern.hpp"
#include "shared_library.hpp"

namespace llmres::probe {

/// cuBLAS, loaded at run time: the probe must start where it is not installed. Facts of the interface: NVIDIA's cuBLAS
/// reference; only C functions and enumerators that have kept their values since cuBLAS 11.8 are used.
class cublas {
public:
    cublas();
    ~cublas();
    cublas(const cublas&) = delete;
    cublas& operator=(const cublas&) = delete;

    /// A handle on the current device. Empty, or why not.
    text<95> open();
    void close();
    bool is_open() const { return handle_ != nullptr; }

    /// C = transposed(A) B, all column-major: A is inner x rows, B inner x columns, C rows x columns. C is fp32 for
    /// tf32, int32 for int8, bf16 for fp8_e4m3 and else of the factors' type. fp8 goes through cuBLASLt with the
    /// workspace given; the other types use the handle's own.
    text<95> multiply(element kind, std::int64_t rows, std::int64_t columns, std::int64_t inner, const void* a,
                      const void* b, void* c, void* workspace, std::size_t workspace_bytes);

private:
    struct lt_plan;
    text<95> multiply_fp8(std::int64_t rows, std::int64_t columns, std::int64_t inner, const void* a, const void* b,
                          void* c, void* workspace, std::size_t workspace_bytes);
    shared_library library_;
    shared_library lt_library_;
    std::unique_ptr<cublas_abi::functions> call_;
    std::unique_ptr<cublas_abi::lt_functions> lt_call_;
    std::unique_ptr<lt_plan> lt_plan_;  ///< of the last fp8 shape, so that repeats time the product alone
    void* handle_ = nullptr;
    void* lt_handle_ = nullptr;
};

/// The type of C's elements.
constexpr element product_element(element factors) {
    return factors == element::fp8_e4m3 ? element::bf16 : factors == element::tf32 ? element::fp32 : factors;
}

}  // namespace llmres::probe
