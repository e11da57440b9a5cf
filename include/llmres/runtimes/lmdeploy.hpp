// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// LMDeploy TurboMind: after weights and buffers, blocks take a fraction of what is still free.
namespace llmres::inline v0::runtimes {

/// The software's own names of what a caller may set.
inline constexpr std::array lmdeploy_knobs{
    knob{"max_prefill_token_num", knob_setting::batched_tokens},
    knob{"max_batch_size", knob_setting::sequences},
    knob{"cache_block_seq_len", knob_setting::cache_block},
};

inline constexpr runtime lmdeploy{
    .identity{.name = "lmdeploy",
              .work = runtime_work::serving,
              .versions = "0.2 to 0.9",
              .since = {0, 2, 0},
              .knobs = lmdeploy_knobs},
    .launches{
        // TurboMind: C++ without Python; the sampler's kernels and the host that waits for them, as TensorRT-LLM's
        // (assumed).
        .step = {microseconds(50), microseconds(300), microseconds(900)},
        .joined = true,
        .own_all_reduce = true,
    },
    .process{
        // Assumed, as no log of these versions was at hand: a CUDA context, cuBLAS's workspaces and NCCL as under other
        // engines, with bounds that cover them all.
        .context = {mib(300), mib(500), mib(900)},
        .workspace = {mib(50), mib(300), mib(900)},
        .communicator = {mib(300), mib(600), mib(1500)},
    },
    .allocator{.code = allocator_code::stream_ordered},  // TurboMind's CudaMemPoolAllocator (core/allocator.cc)
    .accuracy{.activations = {0.7, 1.0, 1.4}},           // assumed: TurboMind lays its buffers out itself
    .loading{.formats = {format_family::eight_bit_float, format_family::eight_bit, format_family::microscaling,
                         format_family::gptq_words, format_family::awq_words},
             // messages.py: QuantPolicy, without TurboQuant
             .caches{.formats = {format_family::eight_bit_float, format_family::eight_bit}}},
    .cache{
        .pool = cache_pool::share_of_free,
        // of what is free (messages.py: TurbomindEngineConfig); 0.5 of all until 0.2.0. Free is what the driver says
        // once weights are loaded and the model is made (engine.cc: CreateSequenceManager), the least of all tensor
        // ranks, and blocks are whole (BlockManager.cc: GetBlockCount).
        .fraction = 0.8,
        .fraction_name = "cache_max_entry_count",
        .block = tokens(64),  // cache_block_seq_len (TurbomindEngineConfig)
    },
    .step{
        .max_batched_tokens = tokens(8192),  // max_prefill_token_num (TurbomindEngineConfig)
        // max_batch_size: 256 on an A100, 512 on an H100, else 128 (get_max_batch_size)
        .max_num_seqs = 128,
        .larger_devices = device_classes({gib(70), {}, 256}),
        .profiles = true,
        // 16-bit scores and their fp32 copy; whether both are alive at once is assumed in the bounds.
        .logits{.rows = scored_tokens::profiled, .bytes = {2.0, 6.0, 10.0}},
    },
    // turbomind/deploy/converter.py: "data type fallback to float16"
    .serving_kernels{.flash_attention = true,
                     .loads_in_compute = true,  // messages.py: PytorchEngineConfig, TurbomindEngineConfig: dtype
                     .without_bf16 = bf16_code::takes_fp16},
    // TurbomindEngineConfig asserts a power of two; its converter pads widths and vocabulary and repeats key-value
    // heads
    .layouts{.pipeline = false,
             .expert = false,
             .split{.pads_width = true, .power_of_two = true, .refuses_uneven = true},
             .untried{.context_parallel = true, .expert = true},  // later than 0.9
             .source = "messages.py: TurbomindEngineConfig has tp; dp, cp and ep after 0.9"},
    .devices =
        [] {
            runtime_devices d = cuda_alone;
            d.huawei = d.cambricon = device_support::unmeasured;
            d.least = {7, 0};
            d.source = "docs/en/get_started/installation.md: sm70 and above; messages.py: cuda, ascend, maca, camb";
            return d;
        }(),
};

}  // namespace llmres::inline v0::runtimes
