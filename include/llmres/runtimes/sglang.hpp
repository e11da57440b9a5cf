// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// SGLang: weights and cache together take a fraction of what was free at start; activations and CUDA graphs live in the rest.
namespace llmres::runtimes {

inline constexpr runtime sglang{
    .name = "sglang",
    .versions = "0.4 and 0.5",
    .since = {0, 4, 0},
    .context = {mib(190), mib(460), mib(620)},
    .workspace = {mib(10), mib(400), mib(900)},  // FlashInfer's workspace is 384 MiB (global_config.py)
    .communicator = {mib(400), mib(700), mib(1600)},
    .fragmentation = {0.0, 0.0, 0.01},
    .pool = cache_pool::share_with_weights,
    // server_args.py, one GPU: 0.88; 0.87 with 2, 0.85 with 4, 0.81 with 8 in tensor parallel. Later ones follow the
    // device's size.
    .gpu_memory_utilization = 0.88,
    .fraction_name = "mem_fraction_static",
    .kv_block = tokens(1),
    .max_batched_tokens = tokens(8192),  // chunked_prefill_size
    .flash_attention = true,
    .more_hidden = 1,
    .activations = {0.9, 1.0, 1.15},
    .logits_bytes = {6.0, 8.0, 12.0},
    .cuda_graphs = {mib(200), mib(900), mib(2500)},
    .rope = rope_tables::shared,
};

}  // namespace llmres::runtimes
