// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/prediction.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// The weights of one pipeline stage, their gradients and their optimizer's states.
namespace llmres::inline v0::detail {

/// Calls visit(weight) for what a stage holds of the weights before the layers: the first all of them; one that has a
/// tied head, or that predicts further tokens, a copy of the token embedding.
template <class Visit>
constexpr void for_each_held_input_weight(const model& m, bool first, bool reads_embedding, Visit&& visit) {
    if (first)
        for_each_input_weight(m, visit);
    else if (reads_embedding)
        for_each_embedding_weight(m, visit);
}
constexpr bool reads_embedding(const job& j, const layout& l, std::int32_t stage) {
    return (j.mtp_layers > 0 && stage == prediction_stage(l)) || (j.model.tied_head && stage == l.last_stage());
}

/// Weights before the first layer, on the stages that hold them.
constexpr weight_state input_state(const model& m, state_fold& fold, bool first, bool reads_embedding) {
    fold.sum = {};
    for_each_held_input_weight(m, first, reads_embedding, [&](const weight& w) { fold(w, false); });
    if (first && fold.step.adapter.kind == adapter_kind::prompt) fold.train_prompt(m.hidden);
    if (first && fold.step.code.class_token && fold.step.tokens.sequences == 1 && !fold.step.frozen)
        fold.sum.gradients += size_of(fold.gradients, fold.step.tokens.all() - 1, m.hidden);
    return fold.sum;
}
/// ... and after the last.
constexpr weight_state output_state(const model& m, state_fold& fold, bool last) {
    fold.sum = {};
    if (last) for_each_output_weight(m, [&](const weight& w) { fold(w, false); });
    return fold.sum;
}

/// Convolutions before the layers.
template <class Visit>
constexpr void for_each_stem_weight(const model& m, Visit& visit) {
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.part == model_part::input && e.role == weight_role::conv)
            visit(weight{.role = e.role, .rows = e.rows, .columns = e.columns});
    }
}

/// Calls visit(weight, inner, times) for the weights of one stage.
template <class Visit>
constexpr void for_each_stage_weight(const job& j, const layout& l,
                                     const std::array<std::int32_t, layer_stack::max_kinds>& counts, std::int32_t stage,
                                     Visit&& visit) {
    const model& m = j.model;
    const bool predicts = j.mtp_layers > 0 && stage == prediction_stage(l);
    const bool last = stage == l.last_stage();
    for_each_held_input_weight(m, stage == 0, reads_embedding(j, l, stage),
                               [&](const weight& w) { visit(w, false, 1); });
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k)
        if (counts[k] > 0)
            for_each_weight(m.layers.kinds[k], m.hidden, [&](const weight& w) { visit(w, true, counts[k]); });
    if (predicts) for_each_depth_weight(m, [&](const weight& w) { visit(w, true, depths_held(j)); });
    if (last) for_each_output_weight(m, [&](const weight& w) { visit(w, false, 1); });
}

/// States on the fullest rank of those that have whole tensors each.
constexpr byte_count dealt_optimizer(const job& j, const layout& l, const training_step& step,
                                     const std::array<std::int32_t, layer_stack::max_kinds>& counts,
                                     std::int32_t stage) {
    tensor_dealer dealer{j, l, step};
    for_each_stage_weight(j, l, counts, stage,
                          [&](const weight& w, bool inner, std::int32_t times) { dealer.deal(w, inner, times); });
    return dealer.fullest();
}

/// What of the optimizer's memory is there before its first step: its own copy of the weights.
constexpr byte_count before_first_step(const job& j, const layout& l,
                                       const std::array<std::int32_t, layer_stack::max_kinds>& counts,
                                       std::int32_t stage) {
    job copies = j;
    copies.optimizer = sgd;
    const training_step step{copies, l};
    if (deals_tensors(j, l)) {
        copies.optimizer.matrix_moments = 0;
        return dealt_optimizer(copies, l, step, counts, stage);
    }
    state_fold fold{copies, l, step};
    byte_count sum;
    for_each_stage_weight(copies, l, counts, stage, [&](const weight& w, bool inner, std::int32_t times) {
        fold.sum = {};
        fold(w, inner);
        sum += fold.sum.optimizer * times;
    });
    return sum;
}

}  // namespace llmres::inline v0::detail
