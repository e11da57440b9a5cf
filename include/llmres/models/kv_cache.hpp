// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What does a sequence keep for its next token? Keys and values of every layer, and the states of recurrences. Ideal
/// bytes: how a runtime pages and rounds them is in its profile (runtimes/).
namespace llmres::inline v0 {

/// One token in the cache of one layer: how many vectors are stored, and their width.
struct kv_shape {
    std::int64_t vectors = 0;  ///< vectors for one token
    std::int64_t width = 0;    ///< elements of each
};

/// Keys and values of one layer on one GPU. Grouped attention stores both for each KV head, and tensor parallelism
/// partitions the heads (with copies where there are fewer heads than ranks). Latent attention stores one compressed
/// vector with the shared key's position part for all heads, so every rank holds all of it (DeepSeek-V2,
/// section 2.1.2); compressed attention one key, which is the value. A layer that reads an earlier layer's cache stores
/// nothing.
constexpr kv_shape kv_shape_of(const attention& a, std::int64_t tensor_ranks = 1) {
    if (a.kind == attention_kind::none || a.kv != kv_source::own) return {};
    if (a.kind == attention_kind::latent) return {1, a.kv_rank + a.rope_dim};
    if (a.kind == attention_kind::compressed) return {1, a.head_dim};
    return {detail::ceil_quotient(a.kv_heads, tensor_ranks), a.head_dim + a.value_width()};
}

namespace detail {

/// The vectors of one token, as a cache stores them: what a format has once for a tensor, a layer has once for all.
constexpr byte_count size_of_vectors(const precision& format, std::int64_t vectors, std::int64_t width) {
    return size_of(format, vectors, width) - bytes(format.tensor_bytes);
}

}  // namespace detail

/// Bytes that one token adds to the cache of a layer that attends to it.
constexpr bytes_per_token kv_bytes_per_token(const attention& a, const precision& format,
                                             std::int64_t tensor_ranks = 1) {
    const kv_shape shape = kv_shape_of(a, tensor_ranks);
    if (shape.vectors == 0) return {};
    // Scales of block formats follow the vector they belong to: a head's key is one row, and its value another.
    const bool has_one = a.kind == attention_kind::latent || a.kind == attention_kind::compressed;
    const std::int64_t value = has_one ? 0 : a.value_width();
    const byte_count keys = detail::size_of_vectors(format, shape.vectors, shape.width - value);
    return bytes_a_token((has_one ? keys : keys + detail::size_of_vectors(format, shape.vectors, value)).in(bytes));
}

/// Bytes that one token adds to the cache of a layer whose keys and values are stored in different formats (llama.cpp:
/// --cache-type-k, --cache-type-v). Latent attention has one vector for both, stored in the format of the keys.
constexpr bytes_per_token kv_bytes_per_token(const attention& a, const precision& keys, const precision& values,
                                             std::int64_t tensor_ranks) {
    if (a.kind == attention_kind::latent || a.kind == attention_kind::compressed)
        return kv_bytes_per_token(a, keys, tensor_ranks);
    const std::int64_t vectors = kv_shape_of(a, tensor_ranks).vectors;
    if (vectors == 0) return {};
    return bytes_a_token(
        (detail::size_of_vectors(keys, vectors, a.head_dim) + detail::size_of_vectors(values, vectors, a.value_width()))
            .in(bytes));
}

/// Bytes that one token adds to the cache of a layer's indexer: one key for all heads, held by every rank, or for each
/// entry of compressed attention. Runtimes store it in E4M3 with one fp32 scale (DeepSeek-V3.2-Exp), or in 16 bits
/// (MiniMax-M3: vLLM's models/minimax_m3, indexer_kv_dtype), whatever the format of the cache.
constexpr bytes_per_token indexer_bytes_per_token(const attention& a) {
    if (a.indexer.heads == 0) return {};
    const std::int64_t key = a.indexer.quantised ? a.indexer.head_dim + 4 : 2 * a.indexer.head_dim;
    return bytes_a_token(a.compressed.ratio > 0 ? detail::ceil_quotient(key, a.compressed.ratio) : key);
}

/// Entries that compressed attention keeps of a context beside its window.
constexpr token_count compressed_entries(const attention& a, token_count context) {
    if (a.kind != attention_kind::compressed || a.compressed.ratio <= 0) return {};
    return tokens(context.in(tokens) / a.compressed.ratio);
}

/// Tokens of one sequence that a layer keeps at the given context: no more than its window or chunk, and entries of
/// compressed attention; none if it attends to another sequence only.
constexpr token_count kept_tokens(const attention& a, token_count context) {
    if (a.cross == cross_attention::instead) return {};
    return (a.window > token_count{} && a.window < context ? a.window : context) + compressed_entries(a, context);
}

/// One layer's cache of one sequence of `context` tokens on one GPU. Not counted: the cache of cross-attention.
constexpr byte_count kv_cache_bytes(const attention& a, const precision& format, token_count context,
                                    std::int64_t tensor_ranks = 1) {
    return kv_bytes_per_token(a, format, tensor_ranks) * kept_tokens(a, context) + indexer_bytes_per_token(a) * context;
}

/// Bytes that compressed attention keeps of a token until the entries that it belongs to are complete: its contents and
/// gates, 8 bytes in fp32 for each feature of attention and of the indexer.
constexpr bytes_per_token compressor_bytes_per_token(const attention& a) {
    if (a.kind != attention_kind::compressed || a.compressed.ratio <= 0) return {};
    return bytes_a_token(8 * a.compressed.windows * (a.head_dim + a.indexer.head_dim));
}

/// Bytes that compressed attention keeps of a sequence until an entry is complete. (SGLang:
/// mem_cache/deepseek_v4_memory_pool.py.)
constexpr byte_count compressor_state_bytes(const attention& a) {
    return compressor_bytes_per_token(a) * tokens(a.compressed.windows * a.compressed.ratio);
}

/// One layer's cache of the `source` tokens that its cross-attention reads. Its size does not grow with the context.
constexpr byte_count cross_cache_bytes(const attention& a, const precision& format, token_count source,
                                       std::int64_t tensor_ranks = 1) {
    if (a.cross == cross_attention::none) return {};
    return kv_bytes_per_token(a, format, tensor_ranks) * source;
}

// ---- state of recurrences -------------------------------------------------------------------------------------------

/// Elements that one layer's recurrence keeps of one sequence, whatever its context.
struct state_shape {
    std::int64_t state = 0;        ///< key features x value features of each head
    std::int64_t convolution = 0;  ///< the last kernel - 1 inputs of each channel
};

/// The state of one layer on one of `tensor_ranks` GPUs.
constexpr state_shape state_shape_of(const recurrent& r, std::int64_t tensor_ranks = 1) {
    const std::int64_t heads = detail::ceil_quotient(r.heads, tensor_ranks);
    const std::int64_t channels = detail::ceil_quotient(r.conv_channels(), tensor_ranks);
    const std::int64_t taps = r.kernel > 0 ? channels * (r.kernel - 1) : 0;
    switch (r.kind) {
        case recurrent_kind::none: return {};
        case recurrent_kind::short_conv:
        case recurrent_kind::convolution: return {0, taps};
        // Time mixing and channel mixing each keep the previous token.
        case recurrent_kind::rwkv: return {heads * r.head_dim * r.state, 2 * heads * r.head_dim};
        default: return {heads * r.head_dim * r.state, taps};
    }
}

/// Formats of a recurrence's state. llama.cpp keeps both in fp32, vLLM the convolution's in the format of the model.
struct state_formats {
    precision state = fp32;        ///< format of the state
    precision convolution = fp32;  ///< format of the convolution's inputs
};

/// Bytes of one sequence in one layer, on one of `tensor_ranks` GPUs.
constexpr byte_count recurrent_state_bytes(const recurrent& r, const state_formats& formats = {},
                                           std::int64_t tensor_ranks = 1) {
    const state_shape shape = state_shape_of(r, tensor_ranks);
    return (shape.state > 0 ? size_of(formats.state, 1, shape.state) : byte_count{}) +
           (shape.convolution > 0 ? size_of(formats.convolution, 1, shape.convolution) : byte_count{});
}

// ---- the whole model ------------------------------------------------------------------------------------------------

namespace detail {

/// What one layer of each kind has, summed over all layers of a model.
template <class Sum, class OfLayer>
constexpr Sum sum_over_layers(const model& m, const OfLayer& of_layer) {
    Sum total;
    const auto counts = m.layers.counts();
    for (std::size_t k = 0; k < m.layers.distinct().size(); ++k) total += of_layer(m.layers.kinds[k]) * counts[k];
    return total;
}

}  // namespace detail

/// Bytes that one token adds to the cache of the whole model while no window is full.
constexpr bytes_per_token kv_bytes_per_token(const model& m, const precision& format) {
    return detail::sum_over_layers<bytes_per_token>(m, [&](const layer& l) {
        if (l.attention.cross == cross_attention::instead) return bytes_per_token{};
        return kv_bytes_per_token(l.attention, format) + indexer_bytes_per_token(l.attention);
    });
}

/// The whole model's cache of one sequence of `context` tokens, where cross-attention reads `source` tokens of another.
constexpr byte_count kv_cache_bytes(const model& m, const precision& format, token_count context,
                                    token_count source = {}) {
    return detail::sum_over_layers<byte_count>(m, [&](const layer& l) {
        return kv_cache_bytes(l.attention, format, context) + cross_cache_bytes(l.attention, format, source);
    });
}

/// Bytes that the recurrences of all layers keep of one sequence, whatever its context.
constexpr byte_count recurrent_state_bytes(const model& m, const state_formats& formats = {}) {
    return detail::sum_over_layers<byte_count>(
        m, [&](const layer& l) { return recurrent_state_bytes(l.recurrent, formats); });
}

}  // namespace llmres::inline v0
