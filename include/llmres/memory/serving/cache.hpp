// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/block_pool.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/cache.hpp>
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

/// Sequences of a rank that have keys and values in the cache at once. A model that embeds or scores reads a text's
/// keys and values no more once the text is computed: an engine with a pool has those of the texts of a step there
/// (vLLM refuses to start where one longest text has no room, kv_cache_utils.py: check_enough_kv_cache_memory),
/// llama.cpp allots cells for all slots, others keep none. No engine has a cache for an encoder (vLLM: ENCODER_ONLY
/// attention has no KV cache spec; llama.cpp, llama_model::create_memory: BERT's kin have no memory).
constexpr std::int64_t cached_sequences_of(const job& j, const runtime& r, std::int64_t sequences) {
    if (generates(j.model)) return sequences;
    if (j.model.head.kind != head_kind::pooled || r.cache.pool == cache_pool::grows) return 0;
    if (r.cache.pool == cache_pool::allotted) return sequences;
    const token_count step = step_tokens_of(j, r.step.max_batched_tokens);
    const std::int64_t at_once = step.in(tokens) / context_of(j).in(tokens);
    const std::int64_t some = at_once > 1 ? at_once : 1;
    return some < sequences ? some : sequences;
}

/// As many tokens, in whole blocks of the cache.
constexpr token_count in_blocks(token_count held, const runtime& r) {
    const token_count block = cache_block(r);
    return block > token_count{} ? aligned_up(held, block) : held;
}

/// Tokens that the caller lets the pool hold; 0: as many as the engine chooses.
constexpr token_count tokens_set(const job& j, const runtime& r) {
    if (j.options.cache_blocks <= 0) return j.options.cache_tokens;
    const token_count held = (cache_block(r) > token_count{} ? cache_block(r) : tokens(1)) * j.options.cache_blocks;
    return j.options.cache_tokens > token_count{} && j.options.cache_tokens < held ? j.options.cache_tokens : held;
}

/// Tokens of the sequences' common beginning that are in a cache once, in whole blocks, where a sequence keeps the last
/// `kept` of its tokens. A block that is not filled with them is a sequence's own, and so is a recurrence's state.
constexpr token_count shared_tokens(const job& j, const runtime& r, token_count kept, token_count block) {
    const token_count context = context_of(j), dropped = context - kept;
    const token_count common = j.shared_prefix < context ? j.shared_prefix : context;
    if (!r.cache.shares_prefixes || common <= dropped || has_recurrence(j.model)) return {};
    const token_count shared = common - dropped;
    return block > token_count{} ? block * (shared.in(tokens) / block.in(tokens)) : shared;
}

/// Tokens that the sequences of a rank take of the pool at their full context, in whole blocks.
constexpr token_count tokens_of_sequences(const job& j, const runtime& r, std::int64_t sequences) {
    const token_count context = context_of(j), shared = shared_tokens(j, r, context, cache_block(r));
    return in_blocks(context, r) * sequences - shared * (sequences > 1 ? sequences - 1 : 0);
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
    // Ranks that split sequences share no prefix: each has a part of it, of which blocks may not be whole.
    const token_count shared = l.context_parallel > 1 ? token_count{} : shared_tokens(j, r, kept, cache_block(r));
    kept = tokens(detail::ceil_quotient(kept.in(tokens), l.context_parallel));
    if (r.cache.pool != cache_pool::allotted) return in_blocks(kept, r) * sequences - shared * (sequences - 1);
    const std::int64_t whole = sequences_with_cells(j, r, sequences);
    token_count cells = set > token_count{} ? set : kept * whole;
    if (r.cache.windows == window_cells::window_batch && kept < context) {
        const token_count step = step_tokens_of(j, r.step.max_batched_tokens);
        const bool apart = r.cache.slots == slot_cells::apart;
        const token_count held = kept * (apart ? 1 : slots_of(j, r, sequences)) + step;
        const token_count most = context * (apart ? 1 : whole);
        cells = held < most ? held : most;
        if (apart) return in_blocks(cells, r) * whole;
    }
    return in_blocks(cells, r);
}

/// What a token adds to one layer's cache.
constexpr bytes_per_token token_in_cache(const attention& a, const job& j, const runtime& r, const layout& l) {
    const precision format = kv_cache_of(j);
    const auto of = [&](const attention& stored) {
        return j.kv_cache_values ? kv_bytes_per_token(stored, format, *j.kv_cache_values, l.tensor)
                                 : kv_bytes_per_token(stored, format, l.tensor);
    };
    // llama.cpp kept keys and values of all heads until it read the latent itself (pull request 12801, April 2025).
    if (r.cache.expands_latent && a.kind == attention_kind::latent)
        return of({.heads = a.heads, .kv_heads = a.heads, .head_dim = a.query_width(), .value_dim = a.value_width()});
    if (r.cache.latent_values && a.kind == attention_kind::latent)
        return of({.heads = 1, .kv_heads = 1, .head_dim = a.kv_rank + a.rope_dim, .value_dim = a.kv_rank});
    // Kernels of sparse attention read 8-bit latents with a scale of fp32 for 128 values, and rotated keys in 16 bits:
    // 656 bytes of DeepSeek-V3.2 (vLLM's flashmla_sparse.py, SGLang's calculate_mla_kv_cache_dim()).
    const bool scaled = r.serving_kernels.latent.scaled == scaled_latents::anywhere;
    if (scaled && a.kind == attention_kind::latent && a.indexer.heads > 0 && format.element_bytes == 1)
        return bytes_a_token(a.kv_rank + 4 * detail::ceil_quotient(a.kv_rank, 128) + 2 * a.rope_dim);
    // In 8 bits what is not rotated, with a scale for 64 values and a byte of padding, and what is rotated in 16: 584
    // bytes (vLLM's and SGLang's fp8_ds_mla layout of DeepSeek-V4).
    if (a.kind == attention_kind::compressed && format.element_bytes == 1) {
        const std::int64_t plain = a.head_dim - a.rope_dim;
        return bytes_a_token(plain + 2 * a.rope_dim + detail::ceil_quotient(plain, 64) + 1);
    }
    const bool transposed = r.cache.transposed_values && a.kind == attention_kind::latent &&
                            !r.serving_kernels.flash_attention.value_or(false);
    return of(a) + (transposed ? bytes_a_token(2) * a.kv_rank : bytes_per_token{});
}

/// Steps that run at once. vLLM's first model runner schedules none ahead of a pipeline's stages (config/vllm.py:
/// max_concurrent_batches).
constexpr std::int64_t steps_at_once(const job& j, const runtime& r, const layout& l) {
    if (r.cache.in_flight == steps_in_flight::one) return 1;
    const bool ahead =
        r.cache.in_flight == steps_in_flight::stages_ahead && (l.pipeline == 1 || is_scored_plainly(j, r));
    return l.pipeline + (ahead ? 1 : 0);
}
/// Tokens of these steps, which a pool of groups has room for beside every window.
constexpr token_count tokens_in_flight(const job& j, const runtime& r, const layout& l) {
    return step_tokens_of(j, r.step.max_batched_tokens) * steps_at_once(j, r, l);
}

/// Bytes that compressed attention keeps of one sequence: a window of keys, entries, the indexer's keys, and what of
/// the last tokens is not in an entry yet.
constexpr byte_count compressed_need(const attention& a, const job& j, const runtime& r, const layout& l) {
    const token_count context = context_of(j);
    return token_in_cache(a, j, r, l) * kept_tokens(a, context) + compressor_state_bytes(a) +
           indexer_bytes_per_token(a) * context;
}

/// Bytes of the pages that compressed attention has in vLLM's pool. Keys of the window lie in pages of 64 tokens, what
/// is not in an entry in as many as take 32 KiB, both with room for the tokens in flight and a page that is begun;
/// entries and the indexer's keys in pages of 256 tokens. Pages are multiples of 576 bytes, of 512 in 16 bits; a
/// layer's pages of what is not in an entry are as large as those of its window. (models/deepseek_v4/attention.py,
/// compressor.py: get_kv_cache_spec; asked of 0.23 with DeepSeek-V4 Flash on an H100: tests/memory/serving/cache.cpp.)
constexpr byte_count compressed_pages(const attention& a, const job& j, const runtime& r, const layout& l) {
    const token_count context = context_of(j);
    const bytes_per_token key = token_in_cache(a, j, r, l), state = compressor_bytes_per_token(a);
    const byte_count multiple = bytes(kv_cache_of(j).element_bytes == 1 ? 576 : 512);
    const auto page = [&](byte_count size) { return aligned_up(size, multiple); };
    const auto pages_in_window = [&](token_count window, std::int64_t block) {
        const token_count most = window + tokens_in_flight(j, r, l) - tokens(1);
        return ceil_quotient((most < context ? most : context).in(tokens), block) + 1;
    };
    const byte_count of_window = page(key * tokens(64));
    byte_count all = of_window * pages_in_window(a.window, 64);
    const std::int64_t ratio = a.compressed.ratio;
    if (ratio <= 0) return all;
    const std::int64_t entries = ceil_quotient(256, ratio), pages = ceil_quotient(context.in(tokens), 256);
    all += page(key * tokens(entries)) * pages;
    const bytes_per_token of_attention = bytes_a_token(8 * a.compressed.windows * a.head_dim);
    const std::int64_t fill = 32768 / (of_attention * tokens(1)).in(bytes), block = fill > 0 ? fill : 1;
    const token_count not_in_entry = tokens(a.compressed.windows * ratio);
    const byte_count own = page(of_attention * tokens(block));
    all += (own > of_window ? own : of_window) * pages_in_window(not_in_entry, block);
    if (a.indexer.heads == 0) return all;
    const bytes_per_token of_index = state - of_attention;
    all += page(indexer_bytes_per_token(a) * tokens(entries * ratio)) * pages;
    return all + page(of_index * tokens(block)) * pages_in_window(not_in_entry, block);
}

/// One layer's cache of all sequences of a rank.
constexpr allotment layer_cache(const attention& a, const job& j, const runtime& r, const layout& l,
                                std::int64_t sequences) {
    if (a.kind == attention_kind::none || sequences == 0) return {};
    if (a.kind == attention_kind::compressed) {
        const byte_count need = compressed_need(a, j, r, l);
        const bool paged = r.cache.windows == window_cells::grouped;
        return allotment{need, paged ? compressed_pages(a, j, r, l) : need} * sequences;
    }
    const token_count ideal =
        tokens(detail::ceil_quotient(kept_tokens(a, context_of(j)).in(tokens), l.context_parallel));
    const bytes_per_token each = token_in_cache(a, j, r, l);
    const bytes_per_token index = indexer_bytes_per_token(a);
    const token_count common = l.context_parallel > 1 ? token_count{} : shared_tokens(j, r, ideal, {});
    const byte_count asked = each * (ideal * sequences - common * (sequences - 1)),
                     allotted = each * allotted_tokens(a, j, r, l, sequences);
    const byte_count indexed =
        index * (context_of(j) * sequences - shared_tokens(j, r, context_of(j), cache_block(r)) * (sequences - 1));
    return {(asked < allotted ? asked : allotted) + indexed, allotted + indexed};  // an engine may let old tokens go
}

/// One layer's recurrent state of all sequences of a rank. llama.cpp keeps all of it in fp32, others the convolution's
/// part in the format of the activations (ggml: ssm_conv and ssm_scan states; vLLM: mamba_cache_dtype and
/// mamba_ssm_cache_dtype, which are the model's own where nobody sets them). vLLM's convolution keeps an input for each
/// token that is drafted, too (mamba_utils.py: conv_kernel - 1 + num_spec).
constexpr byte_count layer_state(const recurrent& rec, const job& j, const runtime& r, const layout& l,
                                 std::int64_t sequences) {
    if (rec.kind == recurrent_kind::none) return {};
    const bool narrow = r.cache.states == state_cells::published && !rec.fp32_state;
    const bool wide = r.cache.states == state_cells::wide;
    recurrent held = rec;
    if (r.cache.states == state_cells::published && rec.kernel > 0)
        held.kernel += static_cast<std::int32_t>(j.options.draft_tokens);
    return recurrent_state_bytes(held, {narrow ? j.compute : fp32, wide ? fp32 : j.compute}, l.tensor) *
           slots_of(j, r, sequences);
}

// ---- layers that share blocks ---------------------------------------------------------------------------------------

constexpr bool has_attention(const model& m) {
    for (const layer& kind : m.layers.distinct())
        if (kind.attention.kind != attention_kind::none) return true;
    return false;
}

/// True if all layers of a model share the blocks of one pool.
constexpr bool has_block_pool(const model& m, const runtime& r, const layout& l) {
    if (r.cache.windows != window_cells::grouped || l.context_parallel > 1) return false;
    for (const layer& kind : m.layers.distinct())  // not described: latent attention with windows, compressed attention
        if ((kind.attention.kind == attention_kind::latent && kind.attention.window > token_count{}) ||
            kind.attention.kind == attention_kind::compressed)
            return false;
    return true;
}

/// True if layers that share a pool are of several kinds, or keep a window: where all keep the whole context, a
/// sequence takes the sum over layers.
constexpr bool has_groups(const model& m, const runtime& r, const layout& l) {
    if (!has_block_pool(m, r, l)) return false;
    for (const layer& kind : m.layers.distinct()) {
        const attention& a = kind.attention;
        if (kind.recurrent.kind != recurrent_kind::none) return true;
        if (a.window > token_count{} && a.kind != attention_kind::none && a.kv == kv_source::own) return true;
    }
    return false;
}

/// A layer's attention as a kind of a pool. What attends to another sequence only is not cached there.
constexpr layer_kind layer_kind_of(const attention& a, std::int64_t layers, const job& j, const runtime& r,
                                   const layout& l) {
    if (a.kind == attention_kind::none || a.cross == cross_attention::instead) return {};
    layer_kind kind{.layers = layers, .each = token_in_cache(a, j, r, l) + indexer_bytes_per_token(a)};
    (a.chunked ? kind.chunk : kind.window) = a.window;
    return kind;
}

/// States of a sequence that a recurrent layer keeps at once; 0: one of each block. One within a prompt is what the
/// kernels of Mamba-2 and of gated DeltaNet write (mamba_mixer2.py, qwen_gdn_linear_attn.py: get_kv_cache_spec), one of
/// each block what those of Mamba and Mamba-2 did (SupportsMambaPrefixCaching, mamba_cache_mode "all"). A model without
/// attention shares no prefixes (config/model.py: is_prefix_caching_supported).
constexpr std::int64_t kept_states_of(const recurrent& rec, const model& m, const runtime& r) {
    if (!r.cache.shares_prefixes || r.cache.kept == kept_states::one || !has_attention(m)) return 1;
    const bool scanned = rec.kind == recurrent_kind::mamba || rec.kind == recurrent_kind::mamba2;
    if (r.cache.kept == kept_states::each_block) return scanned ? 0 : 2;
    if (rec.kind == recurrent_kind::mamba2) return r.cache.kept == kept_states::two ? 2 : 3;
    return is_gated_delta(rec) && r.cache.kept == kept_states::prompt ? 3 : 2;
}

/// The same with one more for each token that is drafted (mamba/abstract.py: num_speculative_blocks).
constexpr std::int64_t states_of(const recurrent& rec, const job& j, const runtime& r) {
    const std::int64_t kept = kept_states_of(rec, j.model, r);
    return kept > 0 ? kept + j.options.draft_tokens : kept;
}

/// Tokens of a block before it grows for states. The kernels that attend to the tokens that an indexer picks take
/// blocks of 64 (flashmla_sparse.py: get_supported_kernel_block_sizes), as those of gated DeltaNet do where they write
/// a state within a prompt (models/fla: FLA_CHUNK_SIZE). States of each block are written between chunks of the scan;
/// Mamba's has none, and 2048 for them (config/model.py: get_mamba_chunk_size).
constexpr token_count block_of(const model& m, const runtime& r) {
    for (const layer& kind : m.layers.distinct()) {
        const std::int64_t states = kept_states_of(kind.recurrent, m, r);
        if (kind.attention.indexer.heads > 0 || (is_gated_delta(kind.recurrent) && states == 3))
            return aligned_up(cache_block(r), tokens(64));
        if (kind.recurrent.kind == recurrent_kind::none || states > 0) continue;
        const std::int64_t chunk = kind.recurrent.kind == recurrent_kind::mamba ? 2048 : kind.recurrent.chunk;
        token_count whole = cache_block(r);
        while (whole.in(tokens) % chunk != 0) whole += cache_block(r);
        return whole;
    }
    return cache_block(r);
}

/// Layers with caches on a GPU: so many of each of the model's kinds, and what drafts tokens for these.
struct cached_layers {
    const kind_counts& counts;
    std::int64_t predictions = 0;  ///< layers that predict further tokens
    std::int64_t drafting = 0;     ///< layers of a draft model
};
/// Those of a stage, whose layers and predictions are given. A draft model stands on the last stage.
constexpr cached_layers cached_layers_of(const job& j, const layout& l, std::int32_t stage, const kind_counts& counts) {
    if (stage != l.pipeline - 1) return {counts};
    return {counts, j.options.speculates_ahead ? j.model.prediction.layers : 0,
            j.options.draft_weights > byte_count{} ? j.options.draft.layers : 0};
}

/// One layer of the draft model, as a kind of a pool.
constexpr layer_kind drafting_kind(std::int64_t layers, const job& j, const layout& l) {
    if (layers <= 0) return {};
    return {.layers = layers,
            .each = bytes_a_token(ceil_quotient(j.options.draft_kv.in(bytes_a_token), layers * l.tensor))};
}

/// How layers share blocks: those that draft tokens with those of the model (v1/worker/gpu/attn_utils.py:
/// get_kv_cache_spec takes all layers that were made).
constexpr block_pool block_pool_of(const cached_layers& here, const job& j, const runtime& r, const layout& l) {
    block_pool pool{.block_tokens = block_of(j.model, r)};
    const kind_counts& counts = here.counts;
    for (std::size_t k = 0; k < j.model.layers.distinct().size(); ++k) {
        const layer& kind = j.model.layers.kinds[k];
        pool.add(layer_kind_of(kind.attention, counts[k], j, r, l));
        pool.add({.layers = counts[k],
                  .state = layer_state(kind.recurrent, j, r, l, 1),
                  .states = states_of(kind.recurrent, j, r)});
    }
    pool.add(layer_kind_of(j.model.prediction.block.attention, here.predictions, j, r, l));
    pool.add(drafting_kind(here.drafting, j, l));
    return pool;
}

/// The blocks that a rank's sequences need to be admitted, each at its full length with room for the tokens in flight
/// (kv_cache_manager.py: full_sequence_must_fit). Sequences that decode have a token of each step in flight and hold
/// fewer where layers keep a window.
struct shared_blocks {
    block_pool pool{};
    token_count length{};
    token_count in_flight{};  ///< tokens of all steps that run at once
    token_count decoded{};    ///< tokens of one sequence in these steps
    token_count prefix{};     ///< tokens that all sequences begin with, where they have them once

    constexpr shared_blocks(const job& j, const runtime& r, const layout& l)
        : pool{block_pool_of(cached_layers_of(j, l, l.pipeline - 1, j.model.layers.counts()), j, r, l)},
          length{context_of(j)},
          in_flight{tokens_in_flight(j, r, l)},
          decoded{tokens(steps_at_once(j, r, l))},
          prefix{shared_tokens(j, r, context_of(j), {})} {}
    /// Blocks of one group of a kind, where each sequence has so many of them.
    constexpr std::int64_t together(const layer_kind& kind, std::int64_t sequences, std::int64_t each) const {
        if (sequences <= 0) return 0;
        const token_count block = pool.tokens_of_block(kind);
        const std::int64_t filled = ceil_quotient(length.in(tokens), block.in(tokens));
        // Of a window that sequences have left, they have no block in common.
        const std::int64_t left = filled > each ? filled - each : 0;
        const std::int64_t shared = prefix.in(tokens) / block.in(tokens)-left;
        return sequences * each - (shared > 0 ? shared : 0) * (sequences - 1);
    }
    /// Blocks of one group of a kind with which so many sequences are admitted.
    constexpr std::int64_t of_group(const layer_kind& kind, std::int64_t sequences) const {
        return together(kind, sequences, pool.blocks_of_group(kind, length, in_flight));
    }
    /// Sequences whose blocks a pool of so many has, if `of_group(kind, sequences)` are those of one group.
    template <class OfGroup>
    constexpr double sequences_in(std::int64_t blocks, const OfGroup& of_group) const {
        std::int64_t one = 0, two = 0;
        for (std::size_t k = 0; k < pool.block_lists(); ++k) {
            one += pool.groups_of(pool.kinds[k]) * of_group(pool.kinds[k], std::int64_t{1});
            two += pool.groups_of(pool.kinds[k]) * of_group(pool.kinds[k], std::int64_t{2});
        }
        const std::int64_t more = two - one;  // of each further one, less what it has in common with the first
        const auto over = [](std::int64_t some, std::int64_t each) {
            return static_cast<double>(some) / static_cast<double>(each);
        };
        return more == one || blocks < one ? over(blocks, one) : 1.0 + over(blocks - one, more > 0 ? more : 1);
    }
    /// Sequences that a pool of so many blocks admits.
    constexpr double admitted_in(std::int64_t blocks) const {
        return sequences_in(blocks, [this](const layer_kind& kind, std::int64_t n) { return of_group(kind, n); });
    }
    /// Sequences whose blocks such a pool has while they decode.
    constexpr double decoding_in(std::int64_t blocks) const {
        return sequences_in(blocks, [this](const layer_kind& kind, std::int64_t n) {
            return together(kind, n, pool.decoding_blocks_of_group(kind, length, decoded));
        });
    }
    /// What one layer has of them.
    constexpr byte_count of_layer(const layer_kind& kind, std::int64_t sequences) const {
        return kind.each > bytes_per_token{} ? pool.page_of(kind) * of_group(kind, sequences) : byte_count{};
    }
    /// What all layers of a GPU have of them.
    constexpr byte_count of(const block_pool& here, std::int64_t sequences) const {
        std::int64_t held = 0;
        for (std::size_t k = 0; k < pool.block_lists(); ++k)
            held += pool.groups_of(pool.kinds[k]) * of_group(pool.kinds[k], sequences);
        return block_on(here) * held;
    }
    /// Bytes of a block on a GPU that has such layers.
    constexpr byte_count block_on(const block_pool& here) const {
        return pool.is_uniform() ? here.block_size() : pool.page() * layers_of_block(here);
    }
    /// Layers of a block on a GPU that has such layers. Every group's layers are dealt over the stages of a pipeline
    /// (kv_cache_utils.py: layers[i::num_groups]).
    constexpr std::int64_t layers_of_block(const block_pool& here) const {
        std::int64_t most = 0;
        for (std::size_t k = 0; k < here.count; ++k)
            for (std::size_t whole = 0; whole < pool.count; ++whole) {
                if (!pool.kinds[whole].like(here.kinds[k])) continue;
                const std::int64_t share = ceil_quotient(here.kinds[k].layers, pool.groups_of(pool.kinds[whole]));
                most = share > most ? share : most;
            }
        return most;
    }
};

}  // namespace llmres::inline v0::detail
