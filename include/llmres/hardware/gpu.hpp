// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What a GPU is: its datasheet, with what is not published left unknown.
namespace llmres::inline v0 {

enum class gpu_vendor : std::uint8_t {
    nvidia,
    amd,
    intel,
    google,
    aws,
    huawei,
    apple,
    cambricon,
    hygon,
    moore_threads,
    other
};

constexpr std::string_view name_of(gpu_vendor vendor) {
    constexpr std::array<std::string_view, 11> names{"nvidia", "amd",       "intel", "google",        "aws",  "huawei",
                                                     "apple",  "cambricon", "hygon", "moore-threads", "other"};
    return names[static_cast<std::size_t>(vendor)];
}

/// NVIDIA's compute capability; {0, 0} for other vendors.
struct compute_capability {
    std::int32_t major = 0;
    std::int32_t minor = 0;
    friend constexpr auto operator<=>(const compute_capability&, const compute_capability&) = default;
};

/// One card's memory has four sizes, and the smallest is what a job gets.
struct gpu_memory {
    byte_count marketing{};            ///< as printed on the box, in decimal GB
    byte_count fitted{};               ///< chips on the board: "80 GB" is 80 GiB; zero (nothing fits) if not published
    maybe<byte_count> reported{};      ///< nvidia-smi's total with the default ECC setting
    maybe<byte_count> cuda_visible{};  ///< what cudaMemGetInfo calls total
    text<23> type{};                   ///< "HBM3", "GDDR6X"; "unified" where the host shares it
    maybe<std::int32_t> bus_bits{};
    byte_rate bandwidth{};  ///< peak; zero if not published
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
    text<47> sparsity{};  ///< begins with "yes" where structured 2:4 sparsity doubles the rates above
};

/// What a live device was measured to do (hardware/device.hpp), beside the peaks of its sheet. These are achieved: a
/// time is work over rate, and no efficiency is multiplied in again. The tables leave all of it unknown.
struct gpu_measured {
    maybe<byte_rate> bandwidth{};  ///< of device memory
    maybe<flop_rate> tf32{};       ///< of the best matrix product in that precision, and so below
    maybe<flop_rate> fp16{};
    maybe<flop_rate> bf16{};
    maybe<flop_rate> fp8{};
    maybe<flop_rate> int8{};
    interval<double> reach{1.0};  ///< of these rates, what large products of other shapes reached: least, median, best
    maybe<byte_count> context{};  ///< what a bare CUDA context takes

    /// The measured rate of products in a format; unknown if they were not measured in that very format.
    constexpr maybe<flop_rate> rate(arithmetic_kind kind) const {
        switch (kind) {
            case arithmetic_kind::tf32:
                return tf32;
            case arithmetic_kind::fp16:
                return fp16;
            case arithmetic_kind::bf16:
                return bf16;
            case arithmetic_kind::fp8:
                return fp8;
            case arithmetic_kind::int8:
                return int8;
            default:
                return {};
        }
    }
    constexpr bool any_rate() const { return tf32 || fp16 || bf16 || fp8 || int8; }
};

struct gpu_links {
    maybe<std::int32_t> pcie_generation{};
    maybe<std::int32_t> pcie_lanes{};
    std::int32_t scale_up_generation = 0;  ///< of NVLink; 0 for none, and for other vendors' fabrics
    maybe<std::int32_t> scale_up_links{};
    maybe<byte_rate> scale_up{};  ///< NVLink or the vendor's own: one GPU, both directions together, as printed
    maybe<std::int32_t> scale_up_domain{};  ///< how many GPUs one such fabric joins; 1 for none
};

struct gpu {
    text<47> id{};    ///< "h100-sxm5-80gb"
    text<63> name{};  ///< as marketed
    gpu_vendor vendor = gpu_vendor::nvidia;
    text<31> architecture{};
    compute_capability capability{};
    text<15> target{};  ///< AMD's name of the chip for compilers, "gfx942"; empty for other vendors
    std::int32_t launch_year = 0;
    maybe<std::int32_t> sm_count{};      ///< or compute units, Xe cores, tensor-processor cores, cube cores
    maybe<std::int32_t> cuda_cores{};    ///< or stream processors
    maybe<std::int32_t> tensor_cores{};  ///< or matrix cores
    maybe<frequency> boost_clock{};      ///< of the vector units
    gpu_memory memory{};
    maybe<byte_count> l2_cache{};
    gpu_rates rates{};
    gpu_measured measured{};
    maybe<power> board_power{};
    gpu_links links{};
    maybe<std::int32_t> mig_instances{};  ///< the most MIG slices; 0 without MIG
    text<15> ecc{};                       ///< "yes", "no", "optional"
    text<47> form_factor{};
    maybe<money> launch_price{};  ///< US dollars, list
    text<15> confidence{};        ///< of the row: high, medium, low, recalled
    text<95> sources{};           ///< tags explained in docs/sources.md
};

/// True if GPU and host share the memory: then others' processes take of it too.
constexpr bool shares_host_memory(const gpu& card) {
    return card.memory.type.view().find("unified") != std::string_view::npos;
}

/// What a process can have before its own context: the CUDA-visible total, or where no log of it is known, the reported
/// total less the 500 MiB that drivers keep (430 to 980 MiB seen; docs/sources.md, "Visible memory"). Apple's GPUs get
/// two thirds of the memory they share with the host up to 36 GiB, three quarters beyond (Metal's
/// recommendedMaxWorkingSetSize, as llama.cpp logs it: 21.3 of 32, 48 of 64, 144 of 192 GiB). Zero if not known.
constexpr byte_count usable_memory(const gpu& card) {
    // The driver keeps 430 MiB and more of every NVIDIA card with memory of its own (docs/sources.md, "Visible
    // memory"): a figure nearer to the reported total is that total again, or Windows', and not believed.
    const bool believed = card.memory.cuda_visible &&
                          !(card.vendor == gpu_vendor::nvidia && !shares_host_memory(card) && card.memory.reported &&
                            *card.memory.cuda_visible + mib(300) > *card.memory.reported);
    if (believed) return *card.memory.cuda_visible;
    if (card.vendor == gpu_vendor::apple) {
        const bool small = card.memory.fitted <= gib(36);
        return small ? div_down(card.memory.fitted * 2, 3) : div_down(card.memory.fitted * 3, 4);
    }
    const byte_count total = card.memory.reported.value_or(card.memory.fitted);
    return total > mib(500) ? total - mib(500) : bytes(0);
}

/// What a process may reach beside what is recommended. Metal hands out buffers beyond its working set: such runs page,
/// fail in a command buffer, or work (llama.cpp warns and goes on: its issue 5206; four logged runs with 24.6 GiB of 32
/// went well). Elsewhere too a host that shares the memory may give back some. The same as usable_memory() for all
/// others.
constexpr byte_count reachable_memory(const gpu& card) {
    const byte_count usable = usable_memory(card);
    return shares_host_memory(card) && card.memory.fitted > usable ? card.memory.fitted : usable;
}

/// The same card with other memory chips, as modified boards have: `with_memory(gpus::rtx_2080_ti_11gb, gib(22))`.
/// What was reported of the original board is forgotten.
constexpr gpu with_memory(gpu card, byte_count fitted) {
    card.memory.marketing = gb(times_in(gib(1), fitted));
    card.memory.fitted = fitted;
    card.memory.reported = {};
    card.memory.cuda_visible = {};
    return card;
}

/// Peak dense rate of matrix products in a format, as the card runs them: in the format's own unit where it has one,
/// else in the next wider one after conversion. Zero if nothing is known.
constexpr flop_rate matrix_rate(const gpu& card, arithmetic_kind kind) {
    const gpu_rates& r = card.rates;
    const auto or_wider = [&](const maybe<flop_rate>& own, arithmetic_kind wider) {
        return own && own.value > flop_rate{} ? *own : matrix_rate(card, wider);
    };
    switch (kind) {
        case arithmetic_kind::fp64:
            return r.fp64_tensor.value_or({}) > flop_rate{} ? *r.fp64_tensor : r.fp64.value_or({});
        case arithmetic_kind::fp32:
            return r.fp32.value_or({});
        case arithmetic_kind::tf32:
            return or_wider(r.tf32, arithmetic_kind::fp32);
        case arithmetic_kind::fp16:
            return or_wider(r.fp16, arithmetic_kind::fp32);
        case arithmetic_kind::bf16:
            return or_wider(r.bf16, arithmetic_kind::fp32);
        case arithmetic_kind::fp8:
            return or_wider(r.fp8, arithmetic_kind::bf16);
        case arithmetic_kind::fp6:
            return or_wider(r.fp6, arithmetic_kind::fp8);
        case arithmetic_kind::fp4:
            return or_wider(r.fp4, arithmetic_kind::fp8);
        case arithmetic_kind::int8:
            return or_wider(r.int8, arithmetic_kind::fp16);
        case arithmetic_kind::int4:
            return or_wider(r.int4, arithmetic_kind::int8);
    }
    return {};
}

// What software may count on. NVIDIA: from the compute capability (CUDA C++ Programming Guide, features by compute
// capability; FlashAttention's README: Ampere or newer). Others: a published rate is a feature; FlashAttention's
// Composable Kernel back end covers AMD's CDNA2 and newer.
constexpr bool has_bf16(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia ? card.capability >= compute_capability{8, 0}
                                             : card.rates.bf16.value_or({}) > flop_rate{};
}
constexpr bool has_fp8(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia ? card.capability >= compute_capability{8, 9}
                                             : card.rates.fp8.value_or({}) > flop_rate{};
}
constexpr bool has_flash_attention(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia
               ? card.capability >= compute_capability{8, 0}
               : card.target == "gfx90a" || card.target == "gfx942" || card.target == "gfx950";
}
constexpr bool has_mig(const gpu& card) { return card.mig_instances.value_or(0) > 0; }

/// Peak dense 16-bit rate for each watt of board power; zero if either is unknown.
constexpr double tflops_per_watt(const gpu& card) {
    const flop_rate half = matrix_rate(card, arithmetic_kind::fp16);
    const flop_rate brain = matrix_rate(card, arithmetic_kind::bf16);
    return card.board_power ? (half < brain ? brain : half).in(tflops) / card.board_power.value.in(watts) : 0.0;
}

}  // namespace llmres::inline v0
