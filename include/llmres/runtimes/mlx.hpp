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

/// MLX's allocator keeps freed buffers for reuse, as PyTorch's does, and prompts pass in steps of 2048 tokens
/// (mlx_lm/generate.py: prefill_step_size). It runs inside the memory that the host shares: no CUDA context.
constexpr runtime mlx_lm() {
    runtime r = huggingface_base;
    r.identity.name = "mlx";
    r.identity.knobs = mlx_knobs;
    r.process = {.workspace = {mib(8), mib(32), mib(400)}};
    r.serving_kernels.more_hidden = 1;  // a layer's input
    r.loading.formats = {format_family::mlx, format_family::microscaling};
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
