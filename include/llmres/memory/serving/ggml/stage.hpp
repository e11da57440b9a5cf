// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
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
    const serving_step& of_step;
    const serving_weights& weights;
    stage_range range{};
    std::int32_t index = 0;
    bool end = false;              ///< the last stage
    bool computes_logits = false;  ///< the last stage, with the head on a GPU

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
        const expert_stacks stacks = on_host(range.first) ? weights.largest_experts(range) : expert_stacks{};
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
    constexpr bool on_host(std::int32_t layer) const { return layer < host_part_of(of).expert_layers; }

    constexpr expert_place place_of(std::int32_t layer, const expert_stacks& stacks) const {
        if (!on_host(layer)) return expert_place::here;
        if (stacks.gate == byte_count{} || !copied(of.model.layers[layer].feed_forward.experts))
            return expert_place::host;
        return index == 0 ? expert_place::copied : expert_place::first_gpu;
    }

    /// Where stacks of experts are copied or, with none, stay where they are. Two layers of a kind before the last are
    /// as many as it takes to repeat itself.
    constexpr step_peak laid_out(const expert_stacks& stacks) const {
        ggml_graph graph{of_step.shape.all(),
                         aligned_up(tokens(of_step.shape.keys), runtime.cache.block).in(tokens),
                         of.model.hidden,
                         {.flash = of_step.kernel == attention_kernel::flash,
                          .fused = runtime.loading.host_experts.fused_gates,
                          .part_limit = runtime.serving_kernels.latent.expanded,
                          .all_parts = runtime.serving_kernels.latent.expands_all,
                          .unpacked = is_packed(kv_cache_of(of)),
                          .first = index == 0,
                          .input_copies = over.pipeline > 1 && !of_step.parts_on_host() ? runtime.step.copies : 1}};
        graph.begin();
        std::array<std::array<std::int32_t, layer_stack::max_kinds>, 2> seen{};
        for (std::int32_t i = range.first; i < range.last; ++i) {
            const bool last = i + 1 == range.last;
            if (++seen[on_host(i)][of.model.layers.order[static_cast<std::size_t>(i)]] > 2 && !last) continue;
            layer local = of.model.layers[i];
            local.attention.heads = ceil_quotient(local.attention.heads, over.tensor);
            local.attention.kv_heads = ceil_quotient(local.attention.kv_heads, over.tensor);
            const expert_place place = place_of(i, stacks);
            const bool copied_here = place == expert_place::copied;
            graph.add_layer({.kind = local,
                             .expands = of_step.expands(local.attention),
                             .last = last,
                             .computes_logits = last && end,
                             .place = place,
                             .gate_stack = copied_here ? stacks.gate : byte_count{},
                             .down_stack = copied_here ? stacks.down : byte_count{}});
        }
        const byte_count layers = graph.buffer.peak();
        if (computes_logits) graph.add_logits(of.model.vocabulary);
        return {scaled(layers, runtime.accuracy.activations), graph.buffer.peak() - layers};
    }
};

}  // namespace llmres::inline v0::detail
