// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/maybe.hpp>
#include <llmres/precision.hpp>
#include <llmres/text.hpp>
#include <llmres/units.hpp>

/// What a GPU is: its datasheet, with what is not published left unknown.
namespace llmres {

enum class gpu_vendor : std::uint8_t { nvidia, amd, intel, google, aws, huawei, other };

/// NVIDIA's compute capability; {0, 0} for other vendors.
struct compute_capability {
    std::int32_t major = 0;
    std::int32_t minor = 0;
    friend constexpr auto operator<=>(const compute_capability&, const compute_capability&) = default;
};

/// One card's memory has four sizes, and the smallest is what a job gets.
struct gpu_memory {
    byte_count marketing{};             ///< as printed on the box, in decimal GB
    byte_count fitted{};                ///< chips on the board: "80 GB" is 80 GiB
    maybe<byte_count> reported{};       ///< nvidia-smi's total with the default ECC setting
    maybe<byte_count> cuda_visible{};   ///< what cudaMemGetInfo calls total
    text<15> type{};                    ///< "HBM3", "GDDR6X"
    std::int32_t bus_bits = 0;
    byte_rate bandwidth{};              ///< peak
};

/// Peak dense rates. Unknown means not published; zero means that the part has no such unit.
/// Large language models multiply with 32-bit accumulation, so that is the rate without a suffix; GeForce cards run it
/// at half the 16-bit-accumulate rate.
struct gpu_rates {
    maybe<flop_rate> fp64{};
    maybe<flop_rate> fp64_tensor{};
    maybe<flop_rate> fp32{};         ///< vector units
    maybe<flop_rate> fp16_vector{};  ///< vector units
    maybe<flop_rate> tf32{};
    maybe<flop_rate> fp16_accumulate16{};
    maybe<flop_rate> fp16{};
    maybe<flop_rate> bf16{};
    maybe<flop_rate> fp8_accumulate16{};
    maybe<flop_rate> fp8{};
    maybe<flop_rate> fp6{};
    maybe<flop_rate> fp4{};
    maybe<flop_rate> int8{};
    maybe<flop_rate> int4{};
    text<31> sparsity{};             ///< "yes" where structured 2:4 sparsity doubles the rates above
};

struct gpu_links {
    std::int32_t pcie_generation = 0;
    std::int32_t pcie_lanes = 0;
    std::int32_t scale_up_generation = 0;  ///< NVLink generation, or the vendor's own fabric; 0 for none
    std::int32_t scale_up_links = 0;
    byte_rate scale_up{};                    ///< one GPU, both directions together, as vendors print it
    std::int32_t scale_up_domain = 1;      ///< how many GPUs one such fabric joins
};

struct gpu {
    text<47> id{};    ///< "h100-sxm5-80gb"
    text<63> name{};  ///< as marketed
    gpu_vendor vendor = gpu_vendor::nvidia;
    text<31> architecture{};
    compute_capability capability{};
    std::int32_t launch_year = 0;
    maybe<std::int32_t> sm_count{};
    maybe<std::int32_t> cuda_cores{};
    maybe<std::int32_t> tensor_cores{};
    maybe<frequency> boost_clock{};
    gpu_memory memory{};
    maybe<byte_count> l2_cache{};
    gpu_rates rates{};
    maybe<power> board_power{};
    gpu_links links{};
    maybe<std::int32_t> mig_instances{};  ///< the most MIG slices; 0 without MIG
    text<15> ecc{};                       ///< "yes", "no", "optional"
    text<47> form_factor{};
    maybe<money> launch_price{};          ///< US dollars, list
    text<15> confidence{};                ///< of the row: high, medium, low, recalled
    text<95> sources{};                   ///< tags explained in docs/sources.md
};

/// What a process can have before its own context: the CUDA-visible total, or where no log of it is known, the reported
/// total less the 500 MiB that drivers keep (430 to 980 MiB seen; docs/sources.md, "Visible memory").
constexpr byte_count usable_memory(const gpu& card) {
    if (card.memory.cuda_visible) return *card.memory.cuda_visible;
    return card.memory.reported.value_or(card.memory.fitted) - mib(500);
}

/// Peak dense rate of matrix products in a format, as the card runs them: in the format's own unit where it has one,
/// else in the next wider one after conversion. Zero if nothing is known.
constexpr flop_rate matrix_rate(const gpu& card, arithmetic_kind kind) {
    const gpu_rates& r = card.rates;
    const auto or_wider = [&](const maybe<flop_rate>& own, arithmetic_kind wider) {
        return own && own.value > flop_rate{} ? *own : matrix_rate(card, wider);
    };
    switch (kind) {
        case arithmetic_kind::fp64: return r.fp64_tensor.value_or({}) > flop_rate{} ? *r.fp64_tensor : r.fp64.value_or({});
        case arithmetic_kind::fp32: return r.fp32.value_or({});
        case arithmetic_kind::tf32: return or_wider(r.tf32, arithmetic_kind::fp32);
        case arithmetic_kind::fp16: return or_wider(r.fp16, arithmetic_kind::fp32);
        case arithmetic_kind::bf16: return or_wider(r.bf16, arithmetic_kind::fp32);
        case arithmetic_kind::fp8: return or_wider(r.fp8, arithmetic_kind::bf16);
        case arithmetic_kind::fp6: return or_wider(r.fp6, arithmetic_kind::fp8);
        case arithmetic_kind::fp4: return or_wider(r.fp4, arithmetic_kind::fp8);
        case arithmetic_kind::int8: return or_wider(r.int8, arithmetic_kind::fp16);
        case arithmetic_kind::int4: return or_wider(r.int4, arithmetic_kind::int8);
    }
    return {};
}

// What software may count on, from the compute capability. Sources: CUDA C++ Programming Guide, table of features by
// compute capability; FlashAttention's README (Ampere or newer); docs/sources.md for MIG.
constexpr bool has_bf16(const gpu& card) { return card.capability >= compute_capability{8, 0}; }
constexpr bool has_fp8(const gpu& card) { return card.capability >= compute_capability{8, 9}; }
constexpr bool has_flash_attention(const gpu& card) { return card.capability >= compute_capability{8, 0}; }
constexpr bool has_mig(const gpu& card) { return card.mig_instances.value_or(0) > 0; }

/// Peak dense 16-bit rate for each watt of board power; zero if either is unknown.
constexpr double tflops_per_watt(const gpu& card) {
    return card.board_power ? matrix_rate(card, arithmetic_kind::fp16).in(tflops) / card.board_power.value.in(watts) : 0.0;
}

}  // namespace llmres
