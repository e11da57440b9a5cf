// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/values/text.hpp>

/// On which devices does a runtime start, and with which formats? What it does not start on does not fit (reason
/// gpu_not_supported; jobs/checks.hpp, device_start_of()).
namespace llmres::inline v0 {

/// Whether a runtime starts on a kind of device.
enum class device_support : std::uint8_t {
    runs,        ///< its own, of which runs were measured, or that it is made for
    unmeasured,  ///< it has a back end or a port for it, of which no run was measured here
    absent,      ///< it has none, and does not start
};

/// Compute capabilities that something does not run on, between others.
struct capability_gap {
    compute_capability from{};  ///< The first of them; 0.0: there is none.
    compute_capability to{};    ///< The first above them that is none of them; 0.0: all are.
};
/// Whether a card's compute capability is one of a gap's.
constexpr bool is_in(const capability_gap& gap, compute_capability of_card) {
    if (gap.from == compute_capability{} || of_card < gap.from) return false;
    return gap.to == compute_capability{} || of_card < gap.to;
}

/// The devices that a runtime starts on. The default takes any: what a caller builds is the caller's.
struct runtime_devices {
    device_support nvidia = device_support::runs;         ///< Whether it starts on NVIDIA's GPUs (CUDA).
    device_support amd = device_support::runs;            ///< Whether it starts on AMD's GPUs (ROCm, or Vulkan).
    device_support intel = device_support::runs;          ///< Whether it starts on Intel's Arc and Data Center GPU Max.
    device_support gaudi = device_support::runs;          ///< Whether it starts on Intel's Gaudi.
    device_support google = device_support::runs;         ///< Whether it starts on TPUs.
    device_support aws = device_support::runs;            ///< Whether it starts on Trainium and Inferentia.
    device_support huawei = device_support::runs;         ///< Whether it starts on Ascend.
    device_support apple = device_support::runs;          ///< Whether it starts on Apple's GPUs (Metal).
    device_support cambricon = device_support::runs;      ///< Whether it starts on Cambricon's MLUs.
    device_support hygon = device_support::runs;          ///< Whether it starts on Hygon's DCUs (which compile HIP).
    device_support moore_threads = device_support::runs;  ///< Whether it starts on Moore Threads' GPUs (MUSA).
    compute_capability least{};        ///< NVIDIA: it starts from this compute capability on; 0.0: on any.
    compute_capability fp8{};          ///< NVIDIA: the least compute capability with weights in fp8; 0.0: least.
    compute_capability nvfp4{};        ///< NVIDIA: the least compute capability with weights in NVFP4; 0.0: least.
    compute_capability awq{};          ///< NVIDIA: the least compute capability with AWQ's weights; 0.0: least.
    compute_capability fp8_cache{};    ///< NVIDIA: the least compute capability with a cache in fp8; 0.0: least.
    compute_capability nvfp4_cache{};  ///< NVIDIA: the least compute capability with a cache in NVFP4; 0.0: least.
    capability_gap nvfp4_cache_gap{};  ///< NVIDIA: compute capabilities above it without such a cache.
    /// AMD: weights in fp8 with a scale a tensor or a channel need a GPU with fp8 arithmetic.
    bool fp8_by_arithmetic = false;
    text<127> source{};  ///< What this was read from, in the software's own files.
};

/// Whether a runtime starts on the devices of a vendor. `other` is what no table names (a CPU, a device of the
/// caller's): it runs.
constexpr device_support support_of(const runtime_devices& d, const gpu& card) {
    switch (card.vendor) {
        case gpu_vendor::nvidia: return d.nvidia;
        case gpu_vendor::amd: return d.amd;
        case gpu_vendor::intel: return card.architecture.view().starts_with("Gaudi") ? d.gaudi : d.intel;
        case gpu_vendor::google: return d.google;
        case gpu_vendor::aws: return d.aws;
        case gpu_vendor::huawei: return d.huawei;
        case gpu_vendor::apple: return d.apple;
        case gpu_vendor::cambricon: return d.cambricon;
        case gpu_vendor::hygon: return d.hygon;
        case gpu_vendor::moore_threads: return d.moore_threads;
        case gpu_vendor::other: return device_support::runs;
    }
    return device_support::runs;
}

/// Software that runs on NVIDIA's GPUs, and is said to do so much on those of all other vendors.
constexpr runtime_devices beside_nvidia(device_support others) {
    runtime_devices d;
    d.amd = d.intel = d.gaudi = d.google = d.aws = d.huawei = others;
    d.apple = d.cambricon = d.hygon = d.moore_threads = others;
    return d;
}

/// Software for CUDA alone.
inline constexpr runtime_devices cuda_alone = beside_nvidia(device_support::absent);

/// Software on PyTorch that takes any device which PyTorch has a back end for: each vendor's own, beside CUDA.
inline constexpr runtime_devices any_of_pytorch = beside_nvidia(device_support::unmeasured);

}  // namespace llmres::inline v0
