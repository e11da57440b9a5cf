// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtime.hpp>

/// ExLlama: the cache is allotted for max_seq_len at load; prompts pass in chunks of max_input_len.
namespace llmres::runtimes {

namespace detail {

inline constexpr runtime exllama_base{
    .name = "exllama",
    .versions = "v2 and v3 (0.0.6 and later)",
    .since = {2, 0, 0},
    .context = {mib(300), mib(480), mib(900)},
    .workspace = {mib(8), mib(96), mib(300)},  // cuBLAS, and one matrix dequantised to 16 bit
    .fragmentation = {0.0, 0.01, 0.05},
    .pool = cache_pool::allotted,
    .kv_block = tokens(256),
    .windows = window_cells::whole,
    .max_batched_tokens = tokens(2048),  // max_input_len
    .flash_attention = true,
    .activations = {0.8, 1.0, 1.3},
    .logits_bytes = {4.0, 6.0, 8.0},
    .embedding_on_host = true,
};

/// The first one kept scores for max_attention_size = 2048 x 2048 pairs a head in 16 bit, and the token table on the GPU.
constexpr runtime exllama_first() {
    runtime r = exllama_base;
    r.versions = "v1 (2023)";
    r.since = {};
    r.before = {2, 0, 0};
    r.kv_block = {};
    r.flash_attention = false;
    r.score_bytes = 2;
    r.embedding_on_host = false;
    return r;
}

}  // namespace detail

inline constexpr runtime exllama = detail::exllama_base;
inline constexpr runtime exllama_v1 = detail::exllama_first();
inline constexpr std::array all_exllama{&exllama, &exllama_v1};

}  // namespace llmres::runtimes
