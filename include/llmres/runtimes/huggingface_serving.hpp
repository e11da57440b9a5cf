// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtime.hpp>

/// Hugging Face transformers' generate(): caches grow token by token, whole prompts at once, PyTorch's caching allocator.
namespace llmres::runtimes {

namespace detail {

inline constexpr runtime huggingface_base{
    .name = "transformers",
    .versions = "4.45 to 4.57",
    .since = {4, 45, 0},
    .context = {mib(300), mib(500), mib(900)},
    // 8.1 MiB a handle and stream before Hopper, 32 MiB since (CublasHandlePool.cpp).
    .workspace = {mib(8), mib(32), mib(400)},
    .communicator = {},
    .fragmentation = {0.0, 0.02, 0.10},
    .hoards = true,
    .windows = window_cells::whole,
    // Scores in 16 bit with the mask added, their softmax in fp32, and its cast (modeling_llama.py: eager_attention_forward).
    .more_hidden = 1,
    .score_bytes = 8,
    .activations = {0.7, 1.0, 1.4},
    .logits_bytes = {2.0, 6.0, 8.0},
    .head_again = true,
    // AutoAWQ holds 1.6 GiB beside a 13B and 2 beside a 34B, AutoGPTQ's kernels 0.7 beside a 7B (their own tables).
    .repacked = 0.15,
};

/// Until num_logits_to_keep (4.45) the scores of every position of the prompt were made in 16 bit, then cast to fp32.
constexpr runtime huggingface_all_logits() {
    runtime r = huggingface_base;
    r.versions = "4.36 to 4.44";
    r.since = {4, 36, 0};
    r.before = {4, 45, 0};
    r.scored = scored_tokens::prompt;
    r.logits_bytes = {6.0, 6.0, 6.2};
    return r;
}

/// Until caches became objects (4.36), each layer handed on a new, longer cache while the caller still held all old ones:
/// Qwen-72B after 2048 tokens holds weights and twice its 5 GiB, to 0.1 %.
constexpr runtime huggingface_tuples() {
    runtime r = huggingface_all_logits();
    r.versions = "up to 4.35";
    r.since = {};
    r.before = {4, 36, 0};
    r.cache_copies = 2;
    return r;
}

}  // namespace detail

inline constexpr runtime transformers = detail::huggingface_base;
inline constexpr runtime transformers_4_44 = detail::huggingface_all_logits();
inline constexpr runtime transformers_4_35 = detail::huggingface_tuples();
inline constexpr std::array all_transformers{&transformers, &transformers_4_44, &transformers_4_35};

}  // namespace llmres::runtimes
