// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What a sequence leaves behind for the next token: keys and values of every layer. Ideal bytes; how an engine pages
/// and rounds them is its profile's business (runtimes/runtime.hpp).
namespace llmres::inline v0 {

/// One layer's cache of one token, as the vectors that are stored: `vectors` of `width` elements.
struct kv_shape {
    std::int64_t vectors = 0;
    std::int64_t width = 0;
};

/// Keys and values of one layer on one GPU. Grouped attention stores both for each KV head, and tensor parallelism
/// shares the heads out (with copies where there are fewer heads than ranks). Latent attention stores one compressed
/// vector with the shared key's position part for all heads, so every rank holds all of it (DeepSeek-V2,
/// section 2.1.2). A layer that reads an earlier layer's cache stores nothing.
constexpr kv_shape kv_shape_of(const attention& a, std::int64_t tensor_ranks = 1) {
    if (a.kind == attention_kind::none || a.kv != kv_source::own) return {};
    if (a.kind == attention_kind::latent) return {1, a.kv_rank + a.rope_dim};
    return {detail::ceil_quotient(a.kv_heads, tensor_ranks), a.head_dim + a.value_width()};
}

/// Bytes one token of the sequence that a layer attends to adds to that layer's cache.
constexpr bytes_per_token kv_bytes_per_token(const attention& a, const precision& format,
                                             std::int64_t tensor_ranks = 1) {
    const kv_shape shape = kv_shape_of(a, tensor_ranks);
    // Scales of block formats follow the vector they belong to: each head's vector is one row.
    return bytes_a_token(shape.vectors == 0 ? 0 : size_of(format, shape.vectors, shape.width).in(bytes));
}

/// The same where values are stored in a format of their own (llama.cpp: --cache-type-k, --cache-type-v). Latent
/// attention has one vector for both, stored as the keys.
constexpr bytes_per_token kv_bytes_per_token(const attention& a, const precision& keys, const precision& values,
                                             std::int64_t tensor_ranks) {
    if (a.kind == attention_kind::latent) return kv_bytes_per_token(a, keys, tensor_ranks);
    const std::int64_t vectors = kv_shape_of(a, tensor_ranks).vectors;
    if (vectors == 0) return {};
    return bytes_a_token((size_of(keys, vectors, a.head_dim) + size_of(values, vectors, a.value_width())).in(bytes));
}

/// Bytes one token adds to the cache of a layer's indexer: one key for all heads, held by every rank. Engines store it
/// in E4M3 with one fp32 scale whatever the format of the cache (DeepSeek-V3.2-Exp).
constexpr bytes_per_token indexer_bytes_per_token(const attention& a) {
    return bytes_a_token(a.indexer.heads > 0 ? a.indexer.head_dim + 4 : 0);
}

/// Tokens of one sequence that a layer keeps at the given context: no more than its window or chunk; none if all it
/// attends to is another sequence.
constexpr token_count kept_tokens(const attention& a, token_count context) {
    if (a.cross == cross_attention::instead) return {};
    return a.window > token_count{} && a.window < context ? a.window : context;
}

/// One layer's cache of one sequence of `context` tokens on one GPU, cross-attention's apart.
constexpr byte_count kv_cache_bytes(const attention& a, const precision& format, token_count context,
                                    std::int64_t tensor_ranks = 1) {
    return kv_bytes_per_token(a, format, tensor_ranks) * kept_tokens(a, context) + indexer_bytes_per_token(a) * context;
}

/// One layer's cache of the `source` tokens that its cross-attention reads: it is as large from the first token on.
constexpr byte_count cross_cache_bytes(const attention& a, const precision& format, token_count source,
                                       std::int64_t tensor_ranks = 1) {
    if (a.cross == cross_attention::none) return {};
    return kv_bytes_per_token(a, format, tensor_ranks) * source;
}

// ---- state of recurrences
// ----------------------------------------------------------------------------------------------

/// Elements that one sequence leaves in one layer's recurrence, whatever the context.
struct state_shape {
    std::int64_t state = 0;        ///< key features x value features of each head
    std::int64_t convolution = 0;  ///< the last kernel - 1 inputs of each channel
};

constexpr state_shape state_shape_of(const recurrent& r, std::int64_t tensor_ranks = 1) {
    const std::int64_t heads = detail::ceil_quotient(r.heads, tensor_ranks);
    const std::int64_t channels = detail::ceil_quotient(r.conv_channels(), tensor_ranks);
    const std::int64_t taps = r.kernel > 0 ? channels * (r.kernel - 1) : 0;
    switch (r.kind) {
        case recurrent_kind::none:
            return {};
        case recurrent_kind::short_conv:
            return {0, taps};
        // Time mixing and channel mixing each remember the token before.
        case recurrent_kind::rwkv:
            return {heads * r.head_dim * r.head_dim, 2 * heads * r.head_dim};
        default:
            return {heads * r.head_dim * r.state, taps};
    }
}

/// Formats of what a recurrence carries on. llama.cpp keeps both in fp32, vLLM the convolution's in the model's own.
struct state_formats {
    precision state = fp32;
    precision convolution = fp32;
};

constexpr byte_count recurrent_state_bytes(const recurrent& r, const state_formats& formats = {},
                                           std::int64_t tensor_ranks = 1) {
    const state_shape shape = state_shape_of(r, tensor_ranks);
    return (shape.state > 0 ? size_of(formats.state, 1, shape.state) : byte_count{}) +
           (shape.convolution > 0 ? size_of(formats.convolution, 1, shape.convolution) : byte_count{});
}

// ---- the whole model
// ---------------------------------------------------------------------------------------------------

/// Bytes one token adds to the whole model's cache, windows not yet full.
constexpr bytes_per_token kv_bytes_per_token(const model& m, const precision& format) {
    bytes_per_token total;
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const attention& a = m.layers.kinds[static_cast<std::size_t>(k)].attention;
        if (a.cross == cross_attention::instead) continue;
        total += (kv_bytes_per_token(a, format) + indexer_bytes_per_token(a)) * counts[static_cast<std::size_t>(k)];
    }
    return total;
}

/// The whole model's cache of one sequence of `context` tokens, of which cross-attention reads `source` others.
constexpr byte_count kv_cache_bytes(const model& m, const precision& format, token_count context,
                                    token_count source = {}) {
    byte_count total;
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const attention& a = m.layers.kinds[static_cast<std::size_t>(k)].attention;
        total += (kv_cache_bytes(a, format, context) + cross_cache_bytes(a, format, source)) *
                 counts[static_cast<std::size_t>(k)];
    }
    return total;
}

/// What one sequence leaves in the recurrences of all layers, whatever the context.
constexpr byte_count recurrent_state_bytes(const model& m, const state_formats& formats = {}) {
    byte_count total;
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k)
        total += recurrent_state_bytes(m.layers.kinds[static_cast<std::size_t>(k)].recurrent, formats) *
                 counts[static_cast<std::size_t>(k)];
    return total;
}

}  // namespace llmres::inline v0
