// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/stage_weights.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// Which layers a GPU has: dealt to pipeline stages, or by their bytes where GPUs take turns.
namespace llmres::inline v0::detail {

/// Whether GPUs wait for each other, micro-batch by micro-batch, with layers dealt by their bytes.
constexpr bool takes_turns(const job& j, const layout& l) {
    return l.pipeline > 1 && j.runtime.training.takes_turns && l.deals_evenly();
}

/// Layers of one stage as accelerate's device_map="auto" deals them (utils/modeling.py, get_balanced_memory and
/// infer_auto_device_map): each GPU may take an equal part of all weights and a layer and a quarter more; the first
/// leaves room for the largest module that is not split, be it a layer, the embedding or the head; the last takes what
/// is left.
constexpr stage_range layers_by_bytes(const job& j, const layout& l, std::int32_t stage) {
    const model& m = j.model;
    const training_step step{j, l};
    state_fold fold{j, l, step};
    const byte_count input = input_state(m, fold, true, false).weights;
    const byte_count output = m.tied_head ? byte_count{} : output_state(m, fold, true).weights;
    std::array<byte_count, layer_stack::max_kinds> size{};
    byte_count all = input + output;
    byte_count largest;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        size[k] = fold.sum.weights;
        if (size[k] > largest) largest = size[k];
    }
    for (std::int32_t i = 0; i < m.layers.size; ++i)
        all += size[static_cast<std::size_t>(m.layers.order[static_cast<std::size_t>(i)])];
    const byte_count room = div_up(all, l.pipeline) + scaled_up(largest, 1.25);
    if (input > largest) largest = input;
    if (output > largest) largest = output;
    stage_range dealt;
    for (std::int32_t s = 0; s <= stage; ++s) {
        dealt.first = dealt.last;
        if (s == l.pipeline - 1) return {dealt.first, m.layers.size};
        byte_count used = s == 0 ? input + largest : byte_count{};
        while (dealt.last < m.layers.size) {
            used += size[static_cast<std::size_t>(m.layers.order[static_cast<std::size_t>(dealt.last)])];
            if (used > room) break;
            ++dealt.last;
        }
    }
    return dealt;
}

/// Layers of each kind on one stage.
constexpr std::array<std::int32_t, layer_stack::max_kinds> stage_counts(const layer_stack& layers, const layout& l,
                                                                        std::int32_t stage) {
    std::array<std::int32_t, layer_stack::max_kinds> sum{};
    for_each_chunk(l, layers.size, stage, [&](stage_range range, std::int32_t) {
        const auto counts = layers.counts(range.first, range.last);
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += counts[k];
    });
    return sum;
}

constexpr std::array<std::int32_t, layer_stack::max_kinds> training_counts(const job& j, const layout& l,
                                                                           std::int32_t stage) {
    if (!takes_turns(j, l)) return stage_counts(j.model.layers, l, stage);
    const stage_range dealt = layers_by_bytes(j, l, stage);
    return j.model.layers.counts(dealt.first, dealt.last);
}

}  // namespace llmres::inline v0::detail
