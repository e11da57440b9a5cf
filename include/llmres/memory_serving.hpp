// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/job.hpp>
#include <llmres/kv_cache.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory_breakdown.hpp>
#include <llmres/parameters.hpp>
#include <llmres/weight_formats.hpp>

/// Memory of serving: weights, the cache of every sequence at its full context, and a chunk of prompt on its way.
namespace llmres {

/// Sequences that one data rank holds.
constexpr std::int64_t sequences_per_rank(const job& j, const layout& l) {
    return detail::ceil_quotient(j.batch, std::int64_t{l.data} * l.replicas);
}

/// The busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown serving_memory(const job& j, const layout& l);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct serving_layer {
    byte_count weights{};
    byte_count live{};   ///< activations at the fuller of the layer's halves
    byte_count cache{};  ///< of all sequences
};

constexpr byte_count cache_bytes(const attention& a, const job& j, const layout& l, std::int64_t sequences) {
    const token_count kept = tokens(ceil_quotient(kept_tokens(a, context_of(j)).in(tokens), l.context_parallel));
    const token_count whole_blocks = j.runtime.kv_block > token_count{} ? aligned_up(kept, j.runtime.kv_block) : kept;
    return kv_bytes_per_token(a, kv_cache_of(j), l.tensor) * whole_blocks * sequences;
}

constexpr byte_count live_bytes(const layer& kind, const job& j, const layout& l, const token_shape& s) {
    byte_count halves[2];
    for_each_live_activation(kind, j.model.hidden, s, j.attention, j.compute, [&](const activation& a, layer_half half) {
        halves[static_cast<int>(half)] += local_bytes(a, l);
    });
    return halves[0] < halves[1] ? halves[1] : halves[0];
}

/// The widest run of prompt tokens that passes at once. An engine that chunks mixes sequences in one run of tokens.
constexpr token_shape prefill_shape(const job& j, const layout& l) {
    const std::int64_t ranks = std::int64_t{l.data} * l.context_parallel * l.replicas;
    const std::int64_t chunk = ceil_quotient(batched_tokens_of(j).in(tokens), ranks);
    const std::int64_t prompt = prompt_of(j).in(tokens);
    const token_shape whole{sequences_per_rank(j, l), ceil_quotient(prompt, l.context_parallel), prompt};
    return chunk < whole.all() ? token_shape{1, chunk, context_of(j).in(tokens)} : whole;
}

}  // namespace detail

constexpr memory_breakdown serving_memory(const job& j, const layout& l) {
    const model& m = j.model;
    const std::int64_t sequences = sequences_per_rank(j, l);
    const token_shape shape = detail::prefill_shape(j, l);
    const weight_formats formats = formats_for(weights_of(j), j.compute);

    byte_count weights;
    const auto add_weight = [&](const weight& w) { weights += size_of(local_part(w, l), formats); };
    std::array<detail::serving_layer, layer_stack::max_kinds> layers{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        const layer& kind = m.layers.kinds[k];
        weights = {};
        for_each_weight(kind, m.hidden, add_weight);
        layers[k] = {weights, detail::live_bytes(kind, j, l, shape), detail::cache_bytes(kind.attention, j, l, sequences)};
    }

    tensor_memory fullest;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const bool last = stage == l.pipeline - 1;
        const stage_range range = stage_layers(m.layers.size, l.pipeline, stage);
        const auto counts = m.layers.counts(range.first, range.last);

        // A tied head on another stage than the embedding is a copy of it.
        weights = {};
        if (stage == 0 || (last && m.tied_head)) for_each_input_weight(m, add_weight);
        if (last) for_each_output_weight(m, add_weight);
        tensor_memory t{.weights = weights, .stage = stage};
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            t.weights += layers[k].weights * counts[k];
            t.kv_cache += layers[k].cache * counts[k];
            if (counts[k] > 0 && layers[k].live > t.activations) t.activations = layers[k].live;
        }
        if (last)
            for_each_sampled_activation(m, sequences, j.compute, [&](const activation& a) { t.logits += local_bytes(a, l); });
        if (t.all() > fullest.all()) fullest = t;
    }
    return with_runtime(fullest, j, l);
}

}  // namespace llmres
