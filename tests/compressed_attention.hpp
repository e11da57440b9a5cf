// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/all.hpp>

/// Compressed attention for tests.
namespace compressed_attention {

using namespace llmres;

/// Attention of DeepSeek-V4 Flash with entries of so many tokens; 0: the window alone.
constexpr attention compressed(std::int64_t ratio) {
    attention a{.kind = attention_kind::compressed,
                .heads = 64,
                .kv_heads = 1,
                .head_dim = 512,
                .q_rank = 1024,
                .rope_dim = 64,
                .window = tokens(128),
                .compressed = {.ratio = ratio, .output_groups = 8, .output_rank = 1024}};
    if (ratio != 4) return a;
    a.compressed.windows = 2;
    a.indexer = {.heads = 64, .head_dim = 128, .selected = tokens(512)};
    return a;
}

/// Llama 3.2 1B with compressed attention in its layers.
inline model small_model() {
    model m = models::llama_3_2_1b;
    m.layers.kinds[0].attention = {.kind = attention_kind::compressed,
                                   .heads = 32,
                                   .kv_heads = 1,
                                   .head_dim = 64,
                                   .q_rank = 512,
                                   .window = tokens(128),
                                   .compressed = {.ratio = 4, .output_groups = 8, .output_rank = 64}};
    return m;
}

}  // namespace compressed_attention
