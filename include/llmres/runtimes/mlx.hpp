// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/runtime.hpp>

/// MLX (mlx-lm's generate), which runs on Apple's GPUs: caches grow with each token, weights are packed in MLX's own
/// groups. Seven published peaks of its allocator were found (mlx-lm's BENCHMARKS.md, 0.28, an M4 Max).
namespace llmres::inline v0::runtimes {

namespace detail {

inline constexpr std::array mlx_knobs{
    knob{"prefill_step_size", knob_setting::batched_tokens},
    knob{"max_kv_size", knob_setting::cache_tokens},  // mlx_lm/models/cache.py: RotatingKVCache
};

/// MLX's allocator keeps freed buffers for reuse until a step of the prompt ends, and prompts pass in steps of 2048
/// tokens (mlx_lm/generate.py: prefill_step_size). It runs inside the memory that the host shares: no CUDA context.
constexpr runtime mlx_lm() {
    runtime r = huggingface_base;
    r.identity.name = "mlx";
    r.identity.knobs = mlx_knobs;
    // The CPU encodes the next token's kernels while the GPU computes this one's (generate_step: async_eval). The
    // weights of all experts that tokens chose are one kernel's (gather_qmm), and 4-bit weights are unpacked by the
    // kernel that multiplies them (quantized.h: qmv_fast), which reads no less than memory gives.
    r.launches = {
        .step = {microseconds(0), microseconds(100), milliseconds(1)},  // assumed: Python's part of a token
        // Two norms, that of queries and keys, rotary embedding, the cache's update, the activation with its product,
        // two sums (models/qwen3.py): kernels that do not wait for each other run at the same time
        // (mlx/backend/metal/device.cpp: DispatchTypeConcurrent). What the shortest ones take is as on CUDA: assumed.
        .small_kernels = 8,
        .joined = true,
        .packed = packed_code::streamed,
        .experts = routed_code::gathered,
    };
    r.allocator.caches_freed_blocks = false;  // generate_step: mx.clear_cache() after each step of a prompt
    r.process = {.workspace = {mib(8), mib(32), mib(400)}};
    r.serving_kernels.more_hidden = 1;  // a layer's input
    // mlx/backend/metal/scaled_dot_product_attention.cpp, use_fallback(): queries of more than 8 tokens have a fused
    // kernel up to 128 features. Else mlx/fast.cpp writes 16-bit scores of all pairs, and masks and normalises them in
    // place: Qwen3.6-35B-A3B's 16 heads of 256 take 65,536 B for each token of the context in steps of 2048 (86,000 B
    // were measured with 20,480 B of cache: mlx-lm issue 1480, an M5 Max under MLX 0.32.0). From 0.32.2 on an M5 has a
    // kernel for 256, which the bounds leave out.
    r.serving_kernels.widest_fused_head = 128;
    r.serving_kernels.score_bytes = 2;
    r.loading.formats = {format_family::mlx, format_family::microscaling};
    r.loading.caches.formats = {format_family::mlx};  // mlx_lm/generate.py: --kv-bits
    r.loading.head_again = false;
    r.loading.repacked = 0.0;
    r.step.max_batched_tokens = tokens(2048);
    // The last step computes the logits of all its tokens in 16 bits, and keeps the last row (generate_step).
    r.step.logits.rows = scored_tokens::chunk;
    r.step.logits.bytes = {2.0, 2.0, 2.5};
    r.step.logits.on_first_gpu = false;
    r.cache.block = tokens(256);  // mlx_lm/models/cache.py: KVCache.step
    r.devices = cuda_alone;
    r.devices.nvidia = device_support::unmeasured;  // mlx[cuda]
    r.devices.apple = device_support::runs;
    r.devices.source = "mlx/backend: metal, cuda, cpu";
    r.layouts = {.tensor = false,
                 .pipeline = false,
                 .expert = false,
                 .untried{.tensor = true, .pipeline = true},
                 .source = "mlx_lm/utils.py: sharded_load(), of models that have shard() or pipeline()"};
    return r;
}

}  // namespace detail

inline constexpr runtime mlx = for_versions(detail::mlx_lm(), "0.20 and later", {0, 20, 0});

}  // namespace llmres::inline v0::runtimes
