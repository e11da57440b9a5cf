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

/// What is a GPU? Its datasheet, with what is not published left unknown.
namespace llmres::inline v0 {

/// Who makes a GPU or accelerator.
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

/// The names of the vendors, as in the tables, in their order.
template <>
inline constexpr std::array<std::string_view, 11> names_of<gpu_vendor>{
    "nvidia", "amd", "intel", "google", "aws", "huawei", "apple", "cambricon", "hygon", "moore-threads", "other"};

/// NVIDIA's compute capability; {0, 0} for other vendors.
struct compute_capability {
    std::int32_t major = 0;  ///< NVIDIA's generation: 9 is Hopper. Unit: generation.
    std::int32_t minor = 0;  ///< The variant within the generation. Unit: variant.
    friend constexpr auto operator<=>(const compute_capability&, const compute_capability&) = default;
    friend constexpr bool operator==(const compute_capability&, const compute_capability&) = default;
};

/// A GPU's memory: four sizes, of which a job gets the smallest, and its bandwidth.
struct gpu_memory {
    byte_count marketing{};            ///< as printed on the box, in decimal GB
    byte_count fitted{};               ///< chips on the board: "80 GB" is 80 GiB; zero (nothing fits) if not published
    maybe<byte_count> reported{};      ///< nvidia-smi's total with the default ECC setting
    maybe<byte_count> cuda_visible{};  ///< what cudaMemGetInfo calls total
    text<23> type{};                   ///< "HBM3", "GDDR6X"; "unified" where the host shares it
    maybe<std::int32_t> bus_bits{};    ///< width of the memory bus in bits
    byte_rate bandwidth{};             ///< peak; zero if not published
};

/// Peak dense rates. Unknown means not published; zero means that the part has no such unit.
/// Language models sum products in 32 bits, so a rate without a suffix means 32-bit accumulation; GeForce cards run it
/// at half the rate of 16-bit accumulation.
struct gpu_rates {
    maybe<flop_rate> fp64{};               ///< fp64 on vector units
    maybe<flop_rate> fp64_tensor{};        ///< fp64 on tensor cores
    maybe<flop_rate> fp32{};               ///< fp32 on vector units
    maybe<flop_rate> fp16_vector{};        ///< fp16 on vector units
    maybe<flop_rate> tf32{};               ///< fp32 inputs rounded to tf32, on tensor cores
    maybe<flop_rate> fp16_accumulate16{};  ///< fp16 products summed in fp16
    maybe<flop_rate> fp16{};               ///< fp16 products summed in fp32
    maybe<flop_rate> bf16{};               ///< bf16 products summed in fp32
    maybe<flop_rate> fp8_accumulate16{};   ///< fp8 products summed in fp16
    maybe<flop_rate> fp8{};                ///< fp8 products summed in fp32
    maybe<flop_rate> fp6{};                ///< fp6 products
    maybe<flop_rate> fp4{};                ///< fp4 products
    maybe<flop_rate> int8{};               ///< int8 products summed in int32
    maybe<flop_rate> int4{};               ///< int4 products summed in int32
    text<47> sparsity{};                   ///< begins with "yes" where structured 2:4 sparsity doubles the rates above

    /// The rates of a part of the chip.
    constexpr gpu_rates scaled(double part) const {
        gpu_rates rates = *this;
        for (maybe<flop_rate>* rate : {&rates.fp64, &rates.fp64_tensor, &rates.fp32, &rates.fp16_vector, &rates.tf32,
                                       &rates.fp16_accumulate16, &rates.fp16, &rates.bf16, &rates.fp8_accumulate16,
                                       &rates.fp8, &rates.fp6, &rates.fp4, &rates.int8, &rates.int4})
            if (*rate) rate->value = rate->value * part;
        return rates;
    }
};

/// What was measured on a live device (hardware/device.hpp), beside the peaks of its datasheet. These rates were
/// achieved, and take the place of the datasheet's in times (time/roofline.hpp). The tables leave all of them unknown.
struct gpu_measured {
    maybe<byte_rate> bandwidth{};  ///< bandwidth of device memory, of a kernel that only reads
    maybe<flop_rate> tf32{};       ///< the best matrix product with tf32 inputs
    maybe<flop_rate> fp16{};       ///< the best with fp16 inputs
    maybe<flop_rate> bf16{};       ///< the best with bf16 inputs
    maybe<flop_rate> fp8{};        ///< the best with fp8 inputs
    maybe<flop_rate> int8{};       ///< the best with int8 inputs
    /// The part of these best rates that large products of other shapes reached: least, median, most.
    interval<double> reach{1.0};
    double sustained = 1;         ///< the part of bursts' rates that products keep in long runs, which power limits
    maybe<byte_count> context{};  ///< device memory that a bare CUDA context takes

    /// The measured rate of products in a format; unknown if they were not measured in that very format.
    constexpr maybe<flop_rate> rate(arithmetic_kind kind) const {
        switch (kind) {
            case arithmetic_kind::tf32: return tf32;
            case arithmetic_kind::fp16: return fp16;
            case arithmetic_kind::bf16: return bf16;
            case arithmetic_kind::fp8: return fp8;
            case arithmetic_kind::int8: return int8;
            default: return {};
        }
    }
    /// Whether any matrix product was measured.
    constexpr bool any_rate() const { return tf32 || fp16 || bf16 || fp8 || int8; }
};

/// How a GPU is attached to its host and to other GPUs.
struct gpu_links {
    maybe<std::int32_t> pcie_generation{};  ///< PCIe generation; unknown for a chip without PCIe
    maybe<std::int32_t> pcie_lanes{};       ///< PCIe lanes
    std::int32_t scale_up_generation = 0;   ///< NVLink generation; 0 without NVLink
    maybe<std::int32_t> scale_up_links{};   ///< NVLinks, or ports of another fabric, of one GPU
    /// Bandwidth of NVLink or another fabric: one GPU, both directions together, as vendors print it.
    maybe<byte_rate> scale_up{};
    maybe<std::int32_t> scale_up_domain{};  ///< GPUs that one such fabric joins; 1 without a fabric
};

/// What a vendor's list says of a product, and how well the row of the table is attested.
struct gpu_listing {
    text<15> ecc{};               ///< "yes", "no", "optional"
    text<47> form_factor{};       ///< "SXM5", "PCIe"
    maybe<money> launch_price{};  ///< list price at launch in US dollars
    text<15> confidence{};        ///< how well the row is attested: high, medium, low, recalled
    text<95> sources{};           ///< tags explained in docs/sources.md
};

/// One GPU, or another accelerator, as its datasheet describes it.
struct gpu {
    text<47> id{};                           ///< "h100-sxm5-80gb"
    text<63> name{};                         ///< as marketed
    gpu_vendor vendor = gpu_vendor::nvidia;  ///< who makes it
    text<31> architecture{};                 ///< "Hopper"
    compute_capability capability{};         ///< what CUDA code may use
    text<15> target{};                    ///< AMD's name of the chip for compilers, "gfx942"; empty for other vendors
    std::int32_t launch_year = 0;         ///< year of its launch
    maybe<std::int32_t> sm_count{};       ///< streaming multiprocessors, compute units, Xe cores or cube cores
    maybe<std::int32_t> cuda_cores{};     ///< CUDA cores or stream processors
    maybe<std::int32_t> tensor_cores{};   ///< tensor cores or matrix cores
    maybe<frequency> boost_clock{};       ///< boost clock of the vector units
    gpu_memory memory{};                  ///< size and bandwidth of its memory
    maybe<byte_count> l2_cache{};         ///< size of the L2 cache
    gpu_rates rates{};                    ///< peak dense rates of its arithmetic units
    gpu_measured measured{};              ///< what was measured on a live device
    maybe<power> board_power{};           ///< power limit of the board
    gpu_links links{};                    ///< how it is attached
    maybe<std::int32_t> mig_instances{};  ///< MIG slices at most; 0 without MIG
    gpu_listing listing{};                ///< what lists of products say, and how well the row is attested
};

/// Whether a card is sold for desktop PCs, whose hosts have two channels of memory: GeForce, Radeon RX and Arc.
constexpr bool is_consumer(const gpu& card) {
    const std::string_view name = card.name;
    return name.find("GeForce") != name.npos || name.starts_with("Radeon RX") ||
           (name.starts_with("Arc") && !name.starts_with("Arc Pro"));
}

/// Whether GPU and host share one memory. Processes on the host then use some of it too.
constexpr bool shares_host_memory(const gpu& card) {
    return card.memory.type.view().find("unified") != std::string_view::npos;
}

/// Whether the driver evicts managed memory (cudaMallocManaged) to the host where other allocations need the GPU's: a
/// card from compute capability 6.0 on with memory of its own, under Linux (open-gpu-kernel-modules,
/// nvidia-uvm/uvm_pmm_gpu.c: "makes it possible for other PMA clients (most importantly RM which CUDA uses for non-UVM
/// allocations) to successfully allocate memory").
constexpr bool evicts_managed_memory(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia && !shares_host_memory(card) &&
           card.capability >= compute_capability{6, 0};
}

/// Memory that processes can allocate, CUDA contexts included: the CUDA-visible total, or where no log of it is known,
/// the reported total less the 500 MiB that drivers keep (430 to 980 MiB seen; docs/sources.md, "Visible memory").
/// Apple's GPUs get two thirds of the memory that they share with the host up to 36 GiB, three quarters beyond (Metal's
/// recommendedMaxWorkingSetSize, as llama.cpp logs it: 21.3 of 32, 48 of 64, 144 of 192 GiB). Zero if not known.
constexpr byte_count usable_memory(const gpu& card) {
    // The driver keeps 430 MiB and more of every NVIDIA card with memory of its own (docs/sources.md, "Visible
    // memory"): a CUDA-visible size nearer to the reported total repeats that total, or is Windows', and is not used.
    const bool believed = card.memory.cuda_visible &&
                          !(card.vendor == gpu_vendor::nvidia && card.memory.reported &&
                            *card.memory.cuda_visible + mib(300) > *card.memory.reported && !shares_host_memory(card));
    if (believed) return *card.memory.cuda_visible;
    if (card.vendor == gpu_vendor::apple) {
        const bool up_to_36_gib = card.memory.fitted <= gib(36);
        return up_to_36_gib ? div_down(card.memory.fitted * 2, 3) : div_down(card.memory.fitted * 3, 4);
    }
    return beyond(card.memory.reported.value_or(card.memory.fitted), mib(500));
}

/// Memory that a process may allocate at most: where GPU and host share the memory, the host may free some of its own.
/// Equal to usable_memory() for GPUs with memory of their own, and for Apple's: Metal allocates buffers beyond its
/// working set, but command buffers that use them fail (llama.cpp's issue 5206; five logged runs with 24.6 GiB of 32
/// printed "command buffer failed with status 5").
constexpr byte_count reachable_memory(const gpu& card) {
    const byte_count usable = usable_memory(card);
    const bool frees = shares_host_memory(card) && card.vendor != gpu_vendor::apple;
    return frees && card.memory.fitted > usable ? card.memory.fitted : usable;
}

/// The same card with other memory chips, as modified boards have: `with_memory(gpus::rtx_2080_ti_11gb, gib(22))`. The
/// sizes that were reported for the original board become unknown.
constexpr gpu with_memory(gpu card, byte_count fitted) {
    card.memory.marketing = gb(times_in(gib(1), fitted));
    card.memory.fitted = fitted;
    card.memory.reported = {};
    card.memory.cuda_visible = {};
    return card;
}

/// Peak dense rate of matrix products in a format: in arithmetic units for this format where the card has them, else in
/// those of the next wider format, after a conversion. Zero if nothing is known.
constexpr flop_rate matrix_rate(const gpu& card, arithmetic_kind kind) {
    const gpu_rates& r = card.rates;
    const auto or_wider = [&](const maybe<flop_rate>& own, arithmetic_kind wider) {
        return own && own.value > flop_rate{} ? *own : matrix_rate(card, wider);
    };
    switch (kind) {
        case arithmetic_kind::fp64:
            return r.fp64_tensor.value_or({}) > flop_rate{} ? *r.fp64_tensor : r.fp64.value_or({});
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

/// Whether software may use bf16: from compute capability 8.0 on NVIDIA (CUDA C++ Programming Guide, features by
/// compute capability); elsewhere where a bf16 rate is published.
constexpr bool has_bf16(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia ? card.capability >= compute_capability{8, 0}
                                             : card.rates.bf16.value_or({}) > flop_rate{};
}
/// Whether software that could compute in bf16 or fp16 takes fp16, as the GPU has no bf16 arithmetic: on NVIDIA by its
/// compute capability (V100, T4, Pascal), elsewhere where fp16 is faster.
constexpr bool prefers_fp16(const gpu& card) {
    if (card.vendor == gpu_vendor::nvidia) return !has_bf16(card);
    return !has_bf16(card) && matrix_rate(card, arithmetic_kind::fp16) > matrix_rate(card, arithmetic_kind::bf16);
}
/// Whether software may use fp8: from compute capability 8.9 on NVIDIA; elsewhere where an fp8 rate is published.
constexpr bool has_fp8(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia ? card.capability >= compute_capability{8, 9}
                                             : card.rates.fp8.value_or({}) > flop_rate{};
}
/// Whether FlashAttention runs on it: Ampere or newer (its README), or AMD's CDNA2 or newer (its Composable Kernel back
/// end).
constexpr bool has_flash_attention(const gpu& card) {
    return card.vendor == gpu_vendor::nvidia
               ? card.capability >= compute_capability{8, 0}
               : card.target == "gfx90a" || card.target == "gfx942" || card.target == "gfx950";
}
/// Whether the card can be split by Multi-Instance GPU.
constexpr bool has_mig(const gpu& card) { return card.mig_instances.value_or(0) > 0; }

/// GPUs of a usual node: eight, or as many as one fabric joins, if more.
constexpr std::int32_t usual_node_size(const gpu& card) {
    const std::int32_t domain = card.links.scale_up_domain.value_or(1);
    return domain > 8 ? domain : 8;
}

/// Peak dense 16-bit rate in TFLOP/s for each watt of board power; zero if either is unknown.
constexpr double tflops_per_watt(const gpu& card) {
    const flop_rate half = matrix_rate(card, arithmetic_kind::fp16);
    const flop_rate brain = matrix_rate(card, arithmetic_kind::bf16);
    return card.board_power ? (half < brain ? brain : half).in(tflops) / card.board_power.value.in(watts) : 0.0;
}

}  // namespace llmres::inline v0
