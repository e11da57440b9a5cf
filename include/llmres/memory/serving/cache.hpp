// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The cache as an engine allots it: in blocks, cells or token by token; and the state of recurrences.
namespace llmres::inline v0::detail {

/// Bytes, as tensors and as the engine rounds them.
struct allotment {
    byte_count ideal{};
    byte_count allocated{};

    constexpr allotment& operator+=(const allotment& o) {
        ideal += o.ideal;
        allocated += o.allocated;
        return *this;
    }
    friend constexpr allotment operator*(allotment a, std::int64_t n) { return {a.ideal * n, a.allocated * n}; }
};

/// Sequences that have a window and a recurrent state of their own: an engine that allots them at start has them for
/// its slots.
constexpr std::int64_t slots_of(const job& j, const runtime& r, std::int64_t sequences) {
    if (r.cache.pool != cache_pool::allotted) return sequences;
    const std::int64_t slots = j.options.max_num_seqs > 0 ? j.options.max_num_seqs : r.step.max_num_seqs;
    return slots > sequences ? slots : sequences;
}

/// Tokens that the caller lets the pool hold; 0: as many as the engine chooses.
constexpr token_count tokens_set(const job& j, const runtime& r) {
    if (j.options.cache_blocks <= 0) return j.options.cache_tokens;
    const token_count held = (r.cache.block > token_count{} ? r.cache.block : tokens(1)) * j.options.cache_blocks;
    return j.options.cache_tokens > token_count{} && j.options.cache_tokens < held ? j.options.cache_tokens : held;
}

/// Tokens that the sequences of a rank take of the pool at their full context, in whole blocks.
constexpr token_count tokens_of_sequences(const job& j, const runtime& r, std::int64_t sequences) {
    const token_count context = context_of(j);
    return (r.cache.block > token_count{} ? aligned_up(context, r.cache.block) : context) * sequences;
}

/// Tokens that a layer keeps of all sequences of a rank.
constexpr token_count allotted_tokens(const attention& a, const job& j, const runtime& r, const layout& l,
                                      std::int64_t sequences) {
    const token_count context = context_of(j);
    if (a.cross == cross_attention::instead) return {};
    token_count kept = r.cache.windows == window_cells::whole ? context : kept_tokens(a, context);
    if (r.cache.windows == window_cells::longer_part) kept = prompt_of(j) < j.output ? j.output : prompt_of(j);
    if (const token_count part = scaled_down(context, r.cache.window_part.value_or(0)); part > kept) kept = part;
    const token_count set = tokens_set(j, r);
    if (r.cache.pool == cache_pool::grows && set > token_count{} && set < kept) kept = set;
    kept = tokens(detail::ceil_quotient(kept.in(tokens), l.context_parallel));
    const bool blocks = r.cache.block > token_count{};
    if (r.cache.pool != cache_pool::allotted) return (blocks ? aligned_up(kept, r.cache.block) : kept) * sequences;
    token_count cells = set > token_count{} ? set : kept * sequences;
    if (r.cache.windows == window_cells::window_batch && kept < context) {
        cells = kept * slots_of(j, r, sequences);
        cells += j.max_batched_tokens > token_count{} ? j.max_batched_tokens : r.step.max_batched_tokens;
        if (cells > context * sequences) cells = context * sequences;
    }
    return blocks ? aligned_up(cells, r.cache.block) : cells;
}

/// One layer's cache of all sequences of a rank.
constexpr allotment layer_cache(const attention& a, const job& j, const runtime& r, const layout& l,
                                std::int64_t sequences) {
    if (a.kind == attention_kind::none) return {};
    const precision format = kv_cache_of(j);
    const token_count ideal =
        tokens(detail::ceil_quotient(kept_tokens(a, context_of(j)).in(tokens), l.context_parallel));
    const auto of = [&](const attention& stored) {
        return j.kv_cache_values ? kv_bytes_per_token(stored, format, *j.kv_cache_values, l.tensor)
                                 : kv_bytes_per_token(stored, format, l.tensor);
    };
    // llama.cpp kept keys and values of all heads until it read the latent itself (pull request 12801, April 2025).
    const bool expanded = r.cache.expands_latent && a.kind == attention_kind::latent;
    const bool twice = r.cache.latent_values && a.kind == attention_kind::latent;
    const bytes_per_token each =
        expanded
            ? of({.heads = a.heads, .kv_heads = a.heads, .head_dim = a.query_width(), .value_dim = a.value_width()})
        : twice ? of({.heads = 1, .kv_heads = 1, .head_dim = a.kv_rank + a.rope_dim, .value_dim = a.kv_rank})
                : of(a);
    const bytes_per_token index = indexer_bytes_per_token(a);
    const byte_count asked = each * ideal * sequences, allotted = each * allotted_tokens(a, j, r, l, sequences);
    const byte_count indexed = index * context_of(j) * sequences;
    return {(asked < allotted ? asked : allotted) + indexed, allotted + indexed};  // an engine may let old tokens go
}

/// One layer's recurrent state of all sequences of a rank. llama.cpp keeps all of it in fp32, others the convolution's
/// part in the format of the activations (ggml: ssm_conv and ssm_scan states; vLLM: mamba_cache_dtype and
/// mamba_ssm_cache_dtype).
constexpr byte_count layer_state(const recurrent& rec, const job& j, const runtime& r, const layout& l,
                                 std::int64_t sequences) {
    if (rec.kind == recurrent_kind::none) return {};
    return recurrent_state_bytes(rec, {fp32, r.cache.fp32_states ? fp32 : j.compute}, l.tensor) *
           slots_of(j, r, sequences);
}

}  // namespace llmres::inline v0::detail
