// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/runtime.hpp>

/// Hugging Face text-generation-inference: a warm-up with max_batch_prefill_tokens, then blocks from 95 % of what it
/// left.
namespace llmres::inline v0::runtimes {

inline constexpr runtime tgi{
    .name = "tgi",
    .work = engine_work::serving,
    .versions = "2 and 3",
    .since = {2, 0, 0},
    .context = {mib(300), mib(500), mib(900)},
    .workspace = {mib(8), mib(128), mib(400)},
    .communicator = {mib(300), mib(600), mib(1500)},
    .fragmentation = {0.0, 0.01, 0.05},
    .pool = cache_pool::share_of_free,
    .gpu_memory_utilization = 0.95,  // TGI_WIGGLE_ROOM; times cuda_memory_fraction, which is 1
    .fraction_name = "cuda_memory_fraction",
    .kv_block = tokens(16),
    .max_batched_tokens = tokens(4096),
    .profiles = true,
    .flash_attention = true,
    .more_hidden = 1,
    .activations = {0.9, 1.0, 1.2},
    .logits_bytes = {6.0, 12.0, 40.0},
    .cuda_graphs = {mib(200), mib(700), mib(1500)},
};

}  // namespace llmres::inline v0::runtimes
