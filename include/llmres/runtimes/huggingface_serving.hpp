// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// Hugging Face transformers' generate(): caches grow token by token, whole prompts at once, PyTorch's caching
/// allocator.
namespace llmres::inline v0::runtimes {

namespace detail {

inline constexpr runtime huggingface_base{
    .identity{
        .name = "transformers",
        .work = runtime_work::serving,
        .versions = "4.50 and later",
        .since = {4, 50, 0},
    },
    .launches{
        // In-sample. About 55 kernels of a layer (two norms of 8, rotary embedding of 12, seven products, a cache of
        // two, the gate), issued one by one from Python: 0.53 to 0.8 ms where the GPU takes less (Qwen's tables on A100
        // and H20, transformers 4.38 to 4.51), and so about 13 us a kernel.
        .layer = {microseconds(500), microseconds(720), microseconds(1000)},
        // Three kernels and more beside the product (AutoGPTQ in 8 bits, AutoAWQ's split-k); none with AutoGPTQ's
        // ExLlama kernels.
        .narrow_product = {microseconds(0), microseconds(40), microseconds(150)},
        // `for expert_idx in range(num_experts)`: nine kernels each (models/qwen2_moe, models/mixtral).
        .looped_expert = {microseconds(60), microseconds(115), microseconds(160)},
        .step = {milliseconds(1), milliseconds(2), milliseconds(4)},
        .small_kernels = 15,
        .copies_cache = true,  // cache_utils.py, DynamicCache.update; repeat_kv of models/qwen2
        .packed = packed_code::simple,
    },
    .process{
        // 697 to 727 MiB under torch 2.11 on an H100 and an H200 (docs/accuracy.md, transformers' jobs).
        .context = {mib(300), mib(700), mib(900)},
        // Of libraries other than cuBLAS, and of more streams than one.
        .workspace = {mib(0), mib(0), mib(400)},
        .product_workspace = kib(8320),
        .communicator = {},
    },
    .allocator{.fragmentation = {0.0, 0.02, 0.10}, .caches_freed_blocks = true},
    .accuracy{.activations = {0.5, 1.0, 1.4}},
    .loading{
        .formats = all_formats.without({format_family::mlx, format_family::gguf, format_family::gguf_ik,
                                        format_family::exllama2, format_family::exllama3}),
        // cache_utils.py: QuantizedCache, of integers in 2 to 8 bits
        .caches{.formats = {format_family::eight_bit}},
        .head_again = true,
        // AutoAWQ holds 1.6 GiB beside a 13B and 2 beside a 34B, AutoGPTQ's kernels 0.7 beside a 7B (their own tables).
        .repacked = 0.15,
    },
    .cache{.windows = window_cells::whole, .whole_batches = true},
    .step{.logits{.bytes = {2.0, 6.0, 8.0}, .on_first_gpu = true}},
    .serving_kernels{
        // The embedding's output, which forward() holds in inputs_embeds, and the layer's input (modeling_llama.py).
        .more_hidden = 2,
        // Scores in 16 bit with the mask added, their softmax in fp32, and its cast (modeling_llama.py:
        // eager_attention_forward).
        .score_bytes = 8,
    },
    .layouts{.tensor = false,
             .expert = false,
             .untried{.tensor = true, .expert = true},  // of models that have a plan for it
             .source = "device_map (accelerate) gives whole layers; tp_plan and enable_expert_parallel by model"},
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.source = "docs/source/en/hardware.md: each device that PyTorch has a back end for";
            return d;
        }(),
};

/// Until 4.50 each tensor was allotted as it was loaded; since then they are cut from one block
/// (caching_allocator_warmup).
constexpr runtime huggingface_tensor_by_tensor() {
    runtime r = huggingface_base;
    r.allocator.rounds_to_segments = true;
    r.layouts.untried.expert = false;
    r.layouts.source = "device_map (accelerate) gives whole layers; tp_plan by model since 4.47";
    return r;
}

/// Until num_logits_to_keep (4.45) the scores of every position of the prompt were made in 16 bit, then cast to fp32;
/// and each layer had a table of rotary positions of its own.
constexpr runtime huggingface_all_logits() {
    runtime r = huggingface_tensor_by_tensor();
    r.step.logits.rows = scored_tokens::prompt;
    r.step.logits.bytes = {6.0, 6.0, 6.2};
    r.loading.rope = rope_tables::own;
    r.layouts.untried = {};
    r.layouts.source = "device_map (accelerate) gives whole layers";
    return r;
}

/// Until generate() kept one cache object (4.42), each step made one of the tuples that the caller still held, and with
/// them the old keys and values: Qwen2-7B after 2048 tokens holds weights, tables and twice its cache, to 0.1 %.
/// Until 4.36 the tuples were all there was: Qwen-72B the same.
constexpr runtime huggingface_tuples() {
    runtime r = huggingface_all_logits();
    r.cache.copies = 2;
    return r;
}

/// AutoAWQ runs such models with modules of its own. What they join stands beside what it was made from until all is
/// joined; prompts pass attention in scores, their copy in fp32 and its softmax (awq/modules/fused/attn.py: 2 + 4 + 4
/// bytes); and the cache is allotted at load: for max_seq_len tokens, or in 0.1 for max_new_tokens, from which it
/// rolls.
constexpr runtime autoawq_fused(window_cells windows) {
    runtime r = huggingface_all_logits();
    r.identity.name = "autoawq";
    r.loading.caches.formats = {};  // awq/modules/fused/cache.py: WindowedCache
    r.process = {.context = {mib(300), mib(500), mib(900)}, .workspace = {mib(8), mib(32), mib(400)}};
    r.loading.formats = {format_family::awq_words};
    r.cache.windows = windows;
    r.loading.rope = rope_tables::cached;
    r.cache.whole_batches = false;
    r.loading.projections = projection_tensors::joined;
    r.loading.repacked = 0.10;                      // Mixtral holds 7.5 % beside weights and what it joins
    r.allocator.fragmentation = {0.0, 0.02, 0.06};  // what is joined and given back holds the caches
    r.accuracy.activations = {0.85, 1.0, 1.15};
    r.serving_kernels.more_hidden = 1;  // a layer's input (awq/modules/fused/model.py)
    r.serving_kernels.flash_attention = false;
    r.serving_kernels.score_bytes = 10;
    r.layouts.source = "awq/models/base.py: from_quantized() takes a device_map, which gives whole layers";
    r.devices = cuda_alone;
    r.devices.amd = r.devices.intel = device_support::unmeasured;
    r.devices.least = {7, 5};
    r.devices.source = "README.md: CUDA from compute capability 7.5 on, ROCm, Intel";
    return r;
}

}  // namespace detail

inline constexpr runtime transformers = detail::huggingface_base;
inline constexpr runtime transformers_4_49 =
    for_versions(detail::huggingface_tensor_by_tensor(), "4.45 to 4.49", {4, 45, 0}, {4, 50, 0});
inline constexpr runtime transformers_4_44 =
    for_versions(detail::huggingface_all_logits(), "4.42 to 4.44", {4, 42, 0}, {4, 45, 0});
inline constexpr runtime transformers_4_41 =
    for_versions(detail::huggingface_tuples(), "4.36 to 4.41", {4, 36, 0}, {4, 42, 0});
inline constexpr runtime transformers_4_35 = for_versions(detail::huggingface_tuples(), "up to 4.35", {}, {4, 36, 0});
inline constexpr runtime autoawq = for_versions(detail::autoawq_fused(window_cells::whole), "0.2", {0, 2, 0});
inline constexpr runtime autoawq_0_1 =
    for_versions(detail::autoawq_fused(window_cells::longer_part), "0.1", {}, {0, 2, 0});
inline constexpr std::array all_transformers{&transformers,      &transformers_4_49, &transformers_4_44,
                                             &transformers_4_41, &transformers_4_35, &autoawq,
                                             &autoawq_0_1};

}  // namespace llmres::inline v0::runtimes
