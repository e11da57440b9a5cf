// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// What training keeps of the weights of one pipeline stage that stand outside its layers, and optimizer states that
/// are dealt by the tensor.
namespace llmres::inline v0::detail {

/// What a class token has of gradients beside its own: expanded to the batch, it has the gradient of one image.
constexpr byte_count class_token_gradient(const model& m, const state_fold& fold, const placement& here) {
    const training_context& c = fold.context;
    if (!here.beside_embedding || !c.code.class_token || c.tokens.sequences > 1 || c.frozen) return {};
    return size_of(fold.gradients, c.tokens.all() - 1, m.hidden);
}

/// Whether a prompt is trained that stands before the tokens here.
constexpr bool trains_prompt(const state_fold& fold, const placement& here) {
    return here.beside_embedding && fold.context.adapter.kind == adapter_kind::prompt;
}

/// What training keeps of the weights before the layers, as far as they lie on this stage.
constexpr weight_state input_state(const model& m, state_fold& fold, const placement& here) {
    fold.sum = {};
    for_each_placed_input_weight(m, here, [&](const weight& w) { fold(w, false); });
    if (trains_prompt(fold, here)) fold.train_prompt(m.hidden);
    fold.sum.gradients += class_token_gradient(m, fold, here);
    return fold.sum;
}

/// What training keeps of the weights after the layers, as far as they lie on this stage.
constexpr weight_state output_state(const model& m, state_fold& fold, const placement& here) {
    fold.sum = {};
    if (here.output) for_each_output_weight(m, [&](const weight& w) { fold(w, false); });
    return fold.sum;
}

/// Calls visit(weight) for the convolutions before the layers.
template <class Visit>
constexpr void for_each_stem_weight(const model& m, Visit& visit) {
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.part == model_part::input && e.role == weight_role::conv)
            visit(weight{.role = e.role, .rows = e.rows, .columns = e.columns});
    }
}

/// Whether a weight is one of a layer's: adapters may touch it, and optimizers of matrices treat it apart.
constexpr bool is_in_layer(weight_place place) {
    return place == weight_place::layer || place == weight_place::prediction;
}

/// Optimizer states on the fullest rank of those that have whole tensors each.
constexpr byte_count dealt_optimizer(const job& j, const layout& l, const training_context& context,
                                     const placement& here) {
    tensor_dealer dealer{j, l, context};
    for_each_weight(j, here, [&](const weight& w, std::int32_t times, weight_place place) {
        dealer.deal(w, is_in_layer(place), times);
    });
    return dealer.fullest();
}

/// The job as it is before its first optimizer step: of the optimizer's memory there is its own copy of the weights.
constexpr job before_first_step(job j) {
    j.optimizer = sgd;
    return j;
}

/// The optimizer's memory before its first step.
constexpr byte_count before_first_step(const job& j, const layout& l, const placement& here) {
    job copies = before_first_step(j);
    const training_context context{copies, l};
    if (deals_tensors(j, l)) {
        copies.optimizer.matrix_moments = 0;
        return dealt_optimizer(copies, l, context, here);
    }
    state_fold fold{copies, l, context};
    byte_count sum;
    for_each_weight(copies, here, [&](const weight& w, std::int32_t times, weight_place place) {
        fold.sum = {};
        fold(w, is_in_layer(place));
        sum += fold.sum.optimizer * times;
    });
    return sum;
}

}  // namespace llmres::inline v0::detail
