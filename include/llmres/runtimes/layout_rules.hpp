// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/values/text.hpp>

/// Which layouts a runtime runs, and on which GPUs it starts. A search tries these alone. What a caller lays out is
/// held against the same rules: a degree that the runtime does not have does not fit (reason layout_not_run), one that
/// it may run and of which no run is known is tight at best (layout_unproven), and tensor ranks with which it does not
/// start are refused (jobs/checks.hpp). Ranks that serve without sharing anything, data ranks and replicas, are
/// processes of their own: every runtime runs them. `none` and `pytorch` run every degree: what a caller builds on
/// PyTorch is the caller's.
namespace llmres::inline v0 {

/// How a runtime splits heads, widths and the vocabulary over tensor ranks.
struct tensor_split {
    /// More tensor ranks than key-value heads, which are then copied.
    bool copies_kv_heads = true;
    /// It pads the width of feed-forwards to a multiple of the tensor ranks.
    bool pads_width = false;
    /// Its tensor ranks are a power of two.
    bool power_of_two = false;
    /// The vocabulary is padded to a multiple of this before it is split evenly over the tensor ranks; 0: to a multiple
    /// of theirs.
    std::int32_t vocabulary_multiple = 0;
    /// It does not start with tensor ranks over which heads, widths or the vocabulary are not split evenly.
    bool refuses_uneven = false;
    /// It does not start with tensor ranks that cut a block or a group of weights which share a scale.
    bool refuses_cut_blocks = false;
};

/// Degrees that a runtime does not have in every version or for every model, or calls experimental, and of which no run
/// is known here. A search tries none of them.
struct untried_degrees {
    bool tensor = false;             ///< tensor ranks
    bool pipeline = false;           ///< pipeline stages
    bool sequence_parallel = false;  ///< training: sequence parallelism
    bool context_parallel = false;   ///< context-parallel ranks
    bool expert = false;             ///< expert ranks
};

/// What lies where if the GPUs of a pipeline share the rows of each matrix.
enum class row_split : std::uint8_t {
    beside_layers,       ///< where a caller asks for it; each GPU has caches, norms and routed experts of its layers
    beside_first,        ///< where a caller asks for it; the first GPU has all that is no matrix, and a step's buffer
    always_beside_first  ///< the same whether or not a caller asks for it: there is no other way
};

/// The ways in which a runtime distributes a job over GPUs.
struct layout_rules {
    bool tensor = true;             ///< it splits matrix products
    bool pipeline = true;           ///< it splits layers into stages
    bool virtual_pipeline = false;  ///< training: a stage may hold several chunks of layers (interleaving)
    /// Training: norms and residuals are split over the tensor ranks too (arXiv 2205.05198).
    bool sequence_parallel = false;
    bool context_parallel = false;  ///< it splits sequences
    bool expert = true;             ///< it gives whole routed experts to ranks
    /// Training: stages with unequal numbers of layers, where the embedding or the loss counts as a layer or the last
    /// stage has fewer.
    bool uneven_stages = false;
    tensor_split split{};                       ///< how it splits matrix products over tensor ranks
    std::int32_t least_zero = 1;                ///< the lowest ZeRO stage that shards anything
    std::int32_t most_zero = 3;                 ///< the highest ZeRO stage
    std::int32_t most_zero_with_pipeline = 1;   ///< the highest ZeRO stage that a search tries beside pipeline stages
    row_split rows = row_split::beside_layers;  ///< serving: GPUs that share the rows of each matrix
    untried_degrees untried{};                  ///< what it may run besides
    text<127> source{};                         ///< what these rules were read from, in the runtime's own files
};

/// Whether a runtime starts on a kind of device.
enum class device_support : std::uint8_t {
    runs,        ///< its own, of which runs were measured, or that it is made for
    unmeasured,  ///< it has a back end or a port for it, of which no run was measured here
    absent,      ///< it has none, and does not start
};

/// The devices that a runtime starts on. The default takes any: what a caller builds is the caller's.
struct runtime_devices {
    device_support nvidia = device_support::runs;         ///< CUDA
    device_support amd = device_support::runs;            ///< ROCm, or Vulkan
    device_support intel = device_support::runs;          ///< Intel's Arc and Data Center GPU Max
    device_support gaudi = device_support::runs;          ///< Intel's Gaudi
    device_support google = device_support::runs;         ///< TPUs
    device_support aws = device_support::runs;            ///< Trainium and Inferentia
    device_support huawei = device_support::runs;         ///< Ascend
    device_support apple = device_support::runs;          ///< Metal
    device_support cambricon = device_support::runs;      ///< MLUs
    device_support hygon = device_support::runs;          ///< DCUs, which compile HIP
    device_support moore_threads = device_support::runs;  ///< MUSA
    compute_capability least{};               ///< NVIDIA: it starts from this compute capability on; zero: on any
    compute_capability fp8{};                 ///< NVIDIA: the least with weights in fp8; zero: `least`
    compute_capability nvfp4{};               ///< NVIDIA: the least with weights in NVFP4; zero: `least`
    compute_capability awq{};                 ///< NVIDIA: the least with weights in AWQ's words; zero: `least`
    compute_capability fp8_cache{};           ///< NVIDIA: the least with a cache in fp8; zero: `least`
    compute_capability nvfp4_cache{};         ///< NVIDIA: the least with a cache in NVFP4; zero: `least`
    compute_capability nvfp4_cache_before{};  ///< NVIDIA: the first above it without such a cache; zero: none
    text<127> source{};                       ///< what this was read from, in the runtime's own files
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
