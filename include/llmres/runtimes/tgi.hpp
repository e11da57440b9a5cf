// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// Hugging Face text-generation-inference: a warm-up with max_batch_prefill_tokens, then blocks from 95 % of what it
/// left.
namespace llmres::inline v0::runtimes {

/// The software's own names of what a caller may set.
inline constexpr std::array tgi_knobs{
    knob{"max_batch_prefill_tokens", knob_setting::batched_tokens},
    knob{"max_batch_total_tokens", knob_setting::cache_tokens},
};

inline constexpr runtime tgi{
    .identity{
        .name = "tgi", .work = runtime_work::serving, .versions = "2 and 3", .since = {2, 0, 0}, .knobs = tgi_knobs},
    .process{
        // Assumed, as no log of these versions was at hand: as of other engines on PyTorch.
        .context = {mib(300), mib(500), mib(900)},
        .workspace = {mib(8), mib(128), mib(400)},
        .communicator = {mib(300), mib(600), mib(1500)},
        .cuda_graphs = {mib(200), mib(700), mib(1500)},
    },
    // Both assumed: about those of vLLM's first engine.
    .allocator{.fragmentation = {0.0, 0.01, 0.05}},
    .accuracy{.activations = {0.9, 1.0, 1.2}},
    .loading{.formats = {format_family::eight_bit_float, format_family::gptq_words, format_family::awq_words,
                         format_family::packed, format_family::bitsandbytes, format_family::exllama2},
             // launcher/src/main.rs: KVCacheDtype
             .caches{.formats = {format_family::eight_bit_float}}},
    .cache{
        .pool = cache_pool::share_of_free,
        .fraction = 0.95,  // TGI_WIGGLE_ROOM; times cuda_memory_fraction, which is 1
        .fraction_name = "cuda_memory_fraction",
        .block = tokens(16),
    },
    // Both assumed: the launcher chooses max_batch_prefill_tokens by the length of inputs.
    .step{.max_batched_tokens = tokens(4096), .profiles = true, .logits{.bytes = {6.0, 12.0, 40.0}}},
    .serving_kernels{
        .flash_attention = true,
        .more_hidden = 1,
        .loads_in_compute = true,  // models/flash_causal_lm.py: default_dtype
    },
    // custom_modeling/flash_llama_modeling.py: num_heads must be divisible by num_shards; utils/weights.py: get_sharded
    .layouts{.pipeline = false,
             .expert = false,
             .split{.copies_kv_heads = false, .refuses_uneven = true},
             .source = "launcher/src/main.rs: --num-shard alone; layers/moe splits each expert"},
    .devices{.amd = device_support::unmeasured,
             .intel = device_support::unmeasured,
             .gaudi = device_support::unmeasured,
             .google = device_support::unmeasured,
             .aws = device_support::unmeasured,
             .huawei = device_support::absent,
             .apple = device_support::absent,
             .cambricon = device_support::absent,
             .hygon = device_support::absent,
             .moore_threads = device_support::absent,
             .source = "docs/source: CUDA, ROCm, Intel XPU; backends/gaudi, backends/neuron; optimum-tpu"},
};

}  // namespace llmres::inline v0::runtimes
