// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory_breakdown.hpp>
#include <llmres/parameters.hpp>
#include <llmres/serving/cache.hpp>
#include <llmres/serving/step.hpp>
#include <llmres/serving/weights.hpp>

/// Memory of serving: weights, the cache of every sequence at its full context, and the fullest moment of a step.
namespace llmres {

/// The busiest pipeline stage, under the job's own runtime or another (its defaults resolved for a device, say).
/// Preconditions: validate() holds for job and layout.
constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r);
constexpr memory_breakdown serving_memory(const job& j, const layout& l);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct serving_layer {
    byte_count weights{};
    byte_count adapters{};
    byte_count live{};  ///< activations at the fuller of the layer's halves
    allotment cache{};
    byte_count state{};
};

/// One GPU's share, before the engine adds to it.
struct serving_stage {
    byte_count weights{};
    byte_count adapters{};
    allotment cache{};
    byte_count state{};
    byte_count live{};
    bool last = false;
    std::int32_t index = 0;
    byte_count maybe_weights{};  ///< that some checkpoints hold

    constexpr byte_count held() const { return weights + adapters + cache.allocated + state; }
};

/// The layers that are on GPUs: from this one on.
constexpr std::int32_t first_gpu_layer(const model& m, const runtime& r) {
    if (!r.gpu_layers || *r.gpu_layers >= m.layers.size) return 0;
    return *r.gpu_layers > 0 ? m.layers.size - *r.gpu_layers : m.layers.size;
}
/// llama.cpp counts the head as one more layer.
constexpr bool head_on_gpu(const model& m, const runtime& r) { return !r.gpu_layers || *r.gpu_layers > m.layers.size; }

/// What is left of the device for nothing else, because pools are fractions.
constexpr interval<byte_count> withheld(const runtime& r, const memory_breakdown& m) {
    const double part = r.gpu_memory_utilization.value_or(1.0);
    const auto beyond = [&](byte_count pooled, byte_count rest) {
        const byte_count left = scaled_up(pooled, 1.0 / part - 1.0);
        return left > rest ? left - rest : byte_count{};
    };
    const interval<byte_count>& weights = m[memory_term::weights];
    const interval<byte_count> cache = m[memory_term::kv_cache] + m[memory_term::recurrent_state];
    if (r.pool == cache_pool::share_of_free)
        return {beyond(cache.low, {}), beyond(cache.expected, {}), beyond(cache.high, {})};
    if (r.pool != cache_pool::share_with_weights) return {};
    // What is not weights or cache must find room in the rest, and often does.
    const interval<byte_count> step = m[memory_term::activations] + m[memory_term::logits] + r.cuda_graphs;
    return {beyond(weights.low + cache.low, step.high), beyond(weights.expected + cache.expected, step.expected),
            beyond(weights.high + cache.high, step.low)};
}

constexpr memory_breakdown with_engine(const serving_stage& s, const step& of, const runtime& r, const layout& l) {
    memory_breakdown m;
    m.stage = s.index;
    m.phase = phase::prefill;
    const step_peak peak = of.peak(s.live, s.last);
    m[memory_term::weights] = {s.weights, s.weights, s.weights + s.maybe_weights};
    m[memory_term::adapter] = s.adapters;
    m[memory_term::kv_cache] = s.cache.allocated;
    m[memory_term::recurrent_state] = s.state;
    m[memory_term::activations] = peak.activations;
    m[memory_term::logits] = peak.logits;
    m.ideal = m.total().expected - s.cache.allocated + s.cache.ideal;
    // Where adding a token makes a new cache beside the old one, that moment may be fuller than the prompt's.
    if (r.cache_copies > 1 && of.of.output > token_count{}) {
        const interval<byte_count> scores = of.scores_of_sequences();
        const byte_count more = s.cache.allocated * (r.cache_copies - 1);
        if (more + scores.expected > peak.all().expected) {
            m[memory_term::kv_cache] = s.cache.allocated + more;
            m[memory_term::activations] = {};
            m[memory_term::logits] = scores;
        }
    }
    m.allocated = m.total();

    const byte_count hoarded = of.beside_peak(s.live, s.last);
    interval<byte_count> slack{scaled_up(m.allocated.low, r.fragmentation.low),
                               scaled_up(m.allocated.expected, r.fragmentation.expected) + hoarded,
                               scaled_up(m.allocated.high, r.fragmentation.high) + hoarded};
    m.reserved = m.allocated + slack;
    m[memory_term::fragmentation] = slack + withheld(r, m);
    m[memory_term::runtime] = r.context + r.cuda_graphs;
    m[memory_term::workspace] = r.workspace;
    const int groups = (l.tensor > 1) + (l.pipeline > 1) + (l.dense_data_ranks() > 1) + (l.expert > 1);
    for (int i = 0; i < groups; ++i) m[memory_term::communication] += r.communicator;
    return m;
}

}  // namespace detail

constexpr memory_breakdown serving_memory(const job& j, const layout& l, const runtime& r) {
    const model& m = j.model;
    const std::int64_t sequences = sequences_per_rank(j, l);
    const detail::step of{j, r, l};
    const serving_weights weights{j, l, r};

    std::array<detail::serving_layer, layer_stack::max_kinds> kinds{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        const layer& kind = m.layers.kinds[k];
        kinds[k] = {weights.of_kind(kind), weights.adapters_of(kind), of.layer_peak(kind),
                    layer_cache(kind.attention, j, r, l, sequences), layer_state(kind.recurrent, j, r, l, sequences)};
    }
    const std::int32_t first = detail::first_gpu_layer(m, r);
    const byte_count encoders = of.encoder_peak();

    detail::serving_stage fullest;
    byte_count most;
    for (std::int32_t index = 0; index < l.pipeline; ++index) {
        const stage_range dealt = stage_layers(m.layers.size - first, l.pipeline, index);
        const stage_range range{first + dealt.first, first + dealt.last};
        const auto counts = m.layers.counts(range.first, range.last);
        const bool end = index == l.pipeline - 1;
        detail::serving_stage s{.weights = weights.of_ends(index == 0, end && detail::head_on_gpu(m, r)),
                                .last = end,
                                .index = index};
        if (index == 0) s.live = encoders;
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            s.weights += kinds[k].weights * counts[k];
            s.adapters += kinds[k].adapters * counts[k];
            s.cache += kinds[k].cache * counts[k];
            s.state += kinds[k].state * counts[k];
            if (counts[k] > 0 && kinds[k].live > s.live) s.live = kinds[k].live;
        }
        if (j.gguf) s.weights += weights.of_file(range);
        if (end && r.speculates_ahead && m.prediction.layers > 0) {
            s.weights += weights.of_prediction();
            s.cache += layer_cache(m.prediction.block.attention, j, r, l, sequences) * m.prediction.layers;
        }
        s.weights += r.draft_weights + weights.rope_table();
        s.cache += allotment{r.draft_kv * context_of(j) * sequences, r.draft_kv * context_of(j) * sequences};

        s.maybe_weights = weights.perhaps(s.weights, end);
        const byte_count all = s.held() + of.peak(s.live, s.last).all().expected;
        if (index == 0 || all > most) fullest = s, most = all;
    }
    return detail::with_engine(fullest, of, r, l);
}

constexpr memory_breakdown serving_memory(const job& j, const layout& l) { return serving_memory(j, l, j.runtime); }

}  // namespace llmres
