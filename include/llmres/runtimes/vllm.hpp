// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtime.hpp>

/// vLLM: a fraction of the visible memory is the budget, and what weights and a profiling run leave of it is the cache. The
/// context stands outside the budget, because memory is counted from the engine's start on (gpu_worker.py).
///
/// The profiling run's peak is a layer on max_num_batched_tokens, or the sampler on max_num_seqs whatever the model: 38.4
/// bytes a score (38.0 to 39.2 in eleven logs of 0.6.4 to 0.15, from 0.6 to 70 billion parameters, one GPU or two; at most
/// 36 in one of 0.19).
namespace llmres::runtimes {

namespace detail {

inline constexpr runtime vllm_base{
    .name = "vllm",
    // Total less free at start: 0.19 GiB on an L4, 0.34 on 48 GB, 0.45 to 0.49 on 24 to 40 GB, 0.60 on an H200.
    .context = {mib(190), mib(460), mib(620)},
    // Logged as non-torch memory with one GPU: 0.02 to 0.14 GiB in V1, up to 0.35 in V0.
    .workspace = {mib(10), mib(100), mib(200)},
    // The growth of non-torch memory from one GPU to two: 0.42 to 0.72 GiB; NCCL's channels and the custom all-reduce.
    .communicator = {mib(400), mib(480), mib(1200)},
    .fragmentation = {0.0, 0.0, 0.005},
    .pool = cache_pool::share_of_total,
    .gpu_memory_utilization = 0.9,
    .refuses_less = true,
    .kv_block = tokens(16),
    .max_batched_tokens = tokens(2048),
    // EngineArgs.get_batch_defaults, API server: devices of 70 GiB and more, but for the A100.
    .large_max_batched_tokens = tokens(8192),
    .default_max_num_seqs = 256,
    .large_max_num_seqs = 1024,
    .profiles = true,
    .flash_attention = true,
    // Measured 1.00 to 1.06 of 3 d_ff + 3 hidden a token: 10 000 to 32 768 tokens, three models.
    .more_hidden = 1,
    .activations = {0.95, 1.02, 1.10},
    .scored = scored_tokens::profiled,
    .logits_bytes = {34.0, 38.4, 40.0},
    // 0.1 to 0.55 GiB up to 20 B on one GPU, 0.7 on a 4 B of 2025; captured after the cache is allotted, on top of it.
    .cuda_graphs = {mib(0), mib(400), mib(800)},
    .rope = rope_tables::shared,  // RotaryEmbedding.cos_sin_cache: what Llama 3.1 loads beyond its parameters, to 0.1 MiB
    .pads_mxfp4 = true,
};

constexpr runtime vllm_as(runtime r, const char* versions, engine_version since, engine_version before) {
    r.versions = versions;
    r.since = since;
    r.before = before;
    return r;
}

constexpr runtime vllm_v0_base() {
    runtime r = vllm_base;
    r.refuses_less = false;
    r.max_batched_tokens = tokens(512);
    r.large_max_batched_tokens = {};
    r.large_max_num_seqs = 0;
    // Whole prompts up to 32k; chunks beyond, and then nothing is sampled while profiling but the 16-bit scores.
    r.chunked_beyond = tokens(32768);
    r.chunked_logits_bytes = {2.0, 2.0, 4.0};
    r.windows = window_cells::whole;
    r.workspace = {mib(10), mib(60), mib(220)};
    return r;
}
/// Chunks of 512 tokens; 2048 since 0.7.
constexpr runtime vllm_v0_chunks(token_count chunk) {
    runtime r = vllm_v0_base();
    r.max_batched_tokens = chunk;
    if (chunk < tokens(2048)) r.workspace = {mib(10), mib(300), mib(400)};  // 0.35 GiB on an RTX 3090
    return r;
}
/// Counted memory from the empty device for a while: 1.79 GiB on one H100, 3.58 on each of two (vllm pull request of
/// December 2024, its own check).
constexpr runtime vllm_v0_counts_all() {
    runtime r = vllm_v0_base();
    r.context = {};
    r.workspace = {mib(1200), mib(1833), mib(1950)};
    r.communicator = {mib(1200), mib(1833), mib(1950)};
    return r;
}
constexpr runtime vllm_graphs_deducted() {
    runtime r = vllm_base;
    r.graphs_deducted = true;
    r.cuda_graphs = {mib(100), mib(350), mib(900)};
    return r;
}
/// Default 0.92; a leaner sampler: Qwen3-0.6B's whole peak is 0.27 GiB.
constexpr runtime vllm_lean_sampler() {
    runtime r = vllm_graphs_deducted();
    r.gpu_memory_utilization = 0.92;
    r.logits_bytes = {5.0, 7.3, 12.0};
    return r;
}

}  // namespace detail

inline constexpr runtime vllm_v0 =
    detail::vllm_as(detail::vllm_v0_chunks(tokens(512)), "up to 0.6.4 (V0)", {}, {0, 6, 5});
inline constexpr runtime vllm_v0_6 = detail::vllm_as(detail::vllm_v0_counts_all(), "0.6.5 and 0.6.6 (V0)", {0, 6, 5}, {0, 7, 0});
/// 0.8 to 0.10 ran it under VLLM_USE_V1=0.
inline constexpr runtime vllm_v0_7 =
    detail::vllm_as(detail::vllm_v0_chunks(tokens(2048)), "0.7 to 0.10 (V0)", {0, 7, 0}, {0, 8, 0});
inline constexpr runtime vllm_v1 = detail::vllm_as(detail::vllm_base, "0.8 to 0.20 (V1)", {0, 8, 0}, {0, 21, 0});
inline constexpr runtime vllm_v1_21 =
    detail::vllm_as(detail::vllm_graphs_deducted(), "0.21 to 0.27", {0, 21, 0}, {0, 28, 0});
inline constexpr runtime vllm = detail::vllm_as(detail::vllm_lean_sampler(), "0.28 and later", {0, 28, 0}, {});

inline constexpr std::array all_vllm{&vllm, &vllm_v1_21, &vllm_v1, &vllm_v0_7, &vllm_v0_6, &vllm_v0};

}  // namespace llmres::runtimes
