// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/layout.hpp>
#include <llmres/model.hpp>
#include <llmres/precision.hpp>

/// What a sequence leaves behind for the next token: keys and values of every layer. Ideal bytes; how an engine pages
/// and rounds them is its profile's business (runtime.hpp).
namespace llmres {

/// One layer's cache of one token, as the vectors that are stored: `vectors` of `width` elements.
struct kv_shape {
    std::int64_t vectors = 0;
    std::int64_t width = 0;
};

/// Keys and values of one layer on one GPU. Grouped attention stores both for each KV head, and tensor parallelism
/// shares the heads out (with copies where there are fewer heads than ranks). Latent attention stores one compressed
/// vector with the shared key's position part for all heads, so every rank holds all of it (DeepSeek-V2, section 2.1.2).
constexpr kv_shape kv_shape_of(const attention& a, std::int64_t tensor_ranks = 1) {
    switch (a.kind) {
        case attention_kind::none: return {};
        case attention_kind::latent: return {1, a.kv_rank + a.rope_dim};
        case attention_kind::grouped: break;
    }
    const std::int64_t heads = detail::ceil_quotient(a.kv_heads, tensor_ranks);
    return {heads, a.head_dim + a.value_width()};
}

/// Bytes one token adds to the cache of one layer that sees the whole context.
constexpr bytes_per_token kv_bytes_per_token(const attention& a, const precision& format, std::int64_t tensor_ranks = 1) {
    const kv_shape shape = kv_shape_of(a, tensor_ranks);
    // Scales of block formats follow the vector they belong to: each head's vector is one row.
    return bytes_a_token(size_of(format, shape.vectors, shape.width).in(bytes));
}

/// Bytes one token adds to the whole model's cache: what every layer without a window stores.
constexpr bytes_per_token kv_bytes_per_token(const model& m, const precision& format) {
    bytes_per_token total;
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const attention& a = m.layers.kinds[static_cast<std::size_t>(k)].attention;
        total += kv_bytes_per_token(a, format) * counts[static_cast<std::size_t>(k)];
    }
    return total;
}

/// Tokens of one sequence that a layer keeps at the given context.
constexpr token_count kept_tokens(const attention& a, token_count context) {
    return a.window > token_count{} && a.window < context ? a.window : context;
}

/// One layer's cache of one sequence of `context` tokens on one GPU.
constexpr byte_count kv_cache_bytes(const attention& a, const precision& format, token_count context,
                                    std::int64_t tensor_ranks = 1) {
    return kv_bytes_per_token(a, format, tensor_ranks) * kept_tokens(a, context);
}

/// The whole model's cache of one sequence of `context` tokens.
constexpr byte_count kv_cache_bytes(const model& m, const precision& format, token_count context) {
    byte_count total;
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k)
        total += kv_cache_bytes(m.layers.kinds[static_cast<std::size_t>(k)].attention, format, context) *
                 counts[static_cast<std::size_t>(k)];
    return total;
}

}  // namespace llmres
