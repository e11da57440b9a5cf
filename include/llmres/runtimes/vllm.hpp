// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// vLLM: a fraction of the visible memory is the budget, and what weights and a profiling run leave of it is the cache.
namespace llmres::runtimes {

inline constexpr runtime vllm{
    .name = "vllm",
    .versions = "0.8 to 0.15 (V1)",
    // Total less free at start: 0.19 GiB on an L4 to 0.60 on an H200.
    .context = {mib(190), mib(460), mib(620)},
    // Logged as non-torch memory with one GPU: 0.01 to 0.35 GiB.
    .workspace = {mib(10), mib(130), mib(360)},
    // The growth of non-torch memory from one GPU to two: 0.5 to 0.75 GiB, more with wider groups.
    .communicator = {mib(400), mib(620), mib(1500)},
    .fragmentation = {0.0, 0.0, 0.02},
    .gpu_memory_utilization = 0.9,
    .kv_block = tokens(16),
    .max_batched_tokens = tokens(8192),
    // Captured after the budget was dealt out, above it: they do not take from the cache in these versions.
    .cuda_graphs = {},
};

}  // namespace llmres::runtimes
