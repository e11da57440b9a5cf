// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/serving/ggml/graph.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/memory/serving/weights.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The graph of one pipeline stage's step, laid out tensor by tensor as ggml does: llama.cpp and ik_llama.cpp with
/// experts on the host, and where an engine's peak is no sum of a layer's tensors.
namespace llmres::inline v0::detail {

struct stage_graph {
    const job& of;
    const layout& over;
    const llmres::runtime& runtime;
    const step& of_step;
    const serving_weights& weights;
    stage_range range{};
    std::int32_t index = 0;
    bool end = false;     ///< the last stage
    bool scores = false;  ///< ... and the head is on a GPU

    /// Graphs of attention and gated feed-forwards, routed or not.
    constexpr bool possible() const {
        for (std::int32_t k = 0; k < of.model.layers.kind_count; ++k) {
            const layer& l = kind(k);
            if (l.recurrent.kind != recurrent_kind::none || l.attention.cross != cross_attention::none) return false;
            if (l.attention.kind != attention_kind::grouped && !of_step.expands(l.attention)) return false;
            if (l.feed_forward.kind != feed_forward_kind::gated) return false;
        }
        return range.last > range.first;
    }

    /// Where experts are on the host, which of them and when their rows are handed over moves tensors between holes:
    /// one of the hidden width less, or stacks more where whole layers are there. Files repacked for the CPU (-rtr)
    /// stay whatever the rule.
    constexpr step_peak peak() const {
        const expert_stacks stacks = of.options.experts_on_host ? weights.largest_experts(range) : expert_stacks{};
        const step_peak without = laid_out({});
        if (stacks.gate == byte_count{}) return without;
        const step_peak with = copies() ? laid_out(stacks) : without;
        step_peak either = runtime.loading.host_experts.copied ? with : without;
        const step_peak& less = runtime.loading.host_experts.fused_gates ? without : with;
        either.set_low(
            (less.activations.low > of_step.hidden() ? less.activations.low - of_step.hidden() : byte_count{}) +
            less.logits.low);
        const byte_count high =
            with.activations.high +
            (runtime.loading.host_experts.fused_gates ? stacks.gate + stacks.down : of_step.hidden());
        if (high > either.activations.high) either.activations.high = high;
        return either;
    }

private:
    constexpr const layer& kind(std::int32_t k) const { return of.model.layers.kinds[static_cast<std::size_t>(k)]; }

    /// Whether stacks of experts are copied to the GPU for a step: from 32 tokens on, or from 32 an expert.
    constexpr bool copied(const experts& e) const {
        return of_step.shape.all() * (runtime.loading.host_experts.copied_by_expert ? e.per_token : e.count) >=
               32 * e.count;
    }
    constexpr bool copies() const {
        for (std::int32_t k = 0; k < of.model.layers.kind_count; ++k)
            if (kind(k).feed_forward.routed() && copied(kind(k).feed_forward.experts)) return true;
        return false;
    }
    constexpr bool on_host(std::int32_t layer) const {
        return of.options.experts_on_host &&
               (of.options.host_expert_layers == 0 || layer < of.options.host_expert_layers);
    }

    /// Where stacks of experts are copied or, with none, stay where they are. Two layers of a kind before the last are
    /// as many as it takes to repeat itself.
    constexpr step_peak laid_out(const expert_stacks& stacks) const {
        ggml_graph graph{.tokens_at_once = of_step.shape.all(),
                         .cells = aligned_up(tokens(of_step.shape.keys), runtime.cache.block).in(tokens),
                         .hidden = of.model.hidden,
                         .flash = of_step.kernel == attention_kernel::flash,
                         .fused = runtime.loading.host_experts.fused_gates,
                         .part_limit = runtime.serving_kernels.latent.expanded,
                         .all_parts = runtime.serving_kernels.latent.expands_all,
                         .unpacked = is_packed(kv_cache_of(of)),
                         .first = index == 0,
                         .turns = over.pipeline > 1 && !of_step.parts_on_host() ? runtime.step.copies : 1};
        graph.begin();
        std::array<std::array<std::int32_t, layer_stack::max_kinds>, 2> seen{};
        for (std::int32_t i = range.first; i < range.last; ++i) {
            const bool last = i + 1 == range.last;
            if (++seen[on_host(i)][of.model.layers.order[static_cast<std::size_t>(i)]] > 2 && !last) continue;
            const layer& l = of.model.layers[i];
            const std::int64_t heads = ceil_quotient(l.attention.heads, over.tensor);
            if (of_step.expands(l.attention))
                graph.attend_expanded(l.attention, heads, last, last && end);
            else
                graph.attend(l.attention, heads, ceil_quotient(l.attention.kv_heads, over.tensor),
                             l.norm_after_attention, last, last && end);
            const experts& e = l.feed_forward.experts;
            if (!l.feed_forward.routed())
                graph.feed_forward(l.feed_forward.width, l.norm_after_feed_forward);
            else if (!on_host(i))
                graph.route(e, expert_place::here);
            else if (stacks.gate == byte_count{} || !copied(e))
                graph.route(e, expert_place::host);
            else
                graph.route(e, index == 0 ? expert_place::copied : expert_place::first_gpu, stacks.gate, stacks.down);
        }
        const byte_count layers = graph.buffer.peak();
        if (scores) graph.score(of.model.vocabulary);
        return {scaled(layers, runtime.accuracy.activations), graph.buffer.peak() - layers};
    }
};

}  // namespace llmres::inline v0::detail
