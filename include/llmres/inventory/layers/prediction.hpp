// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// Multi-token prediction in training (DeepSeek-V3 report, section 2.2): each depth norms what the depth before put out
/// and the next token's embedding, projects both to the hidden width, and passes a layer and a norm of its own;
/// embedding and head are the model's. As Megatron-Core builds it (core/transformer/multi_token_prediction.py).
namespace llmres::inline v0::detail {

/// The layer of each depth: the published one, or as the model's last.
constexpr const layer& prediction_block(const model& m) {
    return m.prediction.layers > 0 ? m.prediction.block : m.layers[m.layers.size - 1];
}

/// Depths that have weights of their own.
constexpr std::int32_t depths_held(const job& j) {
    return j.mtp_use_repeated_layer && j.mtp_layers > 0 ? 1 : j.mtp_layers;
}

/// The stage that predicts further tokens: the last, unless `stages` names another.
constexpr std::int32_t prediction_stage(const layout& l) {
    return l.stages.prediction > 0 ? l.stage_of(l.stages.prediction - 1) : l.last_stage();
}

/// Projects a depth's two inputs to the hidden width.
constexpr weight depth_projection(const model& m) {
    return {.role = weight_role::projector, .rows = m.hidden, .columns = 2 * m.hidden, .split = weight_split::rows};
}

/// Calls visit(weight) for the weights of one depth.
template <class Visit>
constexpr void for_each_depth_weight(const model& m, Visit&& visit) {
    const layer& block = prediction_block(m);
    for_each_weight(block, m.hidden, visit);
    visit(depth_projection(m));
    visit_norm(block.norm, m.hidden, 3, visit);  // of the embedding, of the stream, and the last
}

/// Calls visit(activation) for what a depth keeps beside its layer: inputs of three norms, of the projection and of the
/// head.
template <class Visit>
constexpr void for_each_depth_activation(const model& m, const training_step& step, Visit&& visit) {
    using enum backward_point;
    const layer_writer<Visit> save{step, visit};
    const std::int64_t n = step.tokens.all();
    constexpr auto split = activation_split::sequence;
    for (int norm = 0; norm < 3; ++norm) save.norm(n, m.hidden, prediction_block(m).norm, split, output, output);
    if (step.frozen) return;
    save.put(activation_role::linear_input, 2 * n * m.hidden, step.compute, split, output);
    save.put(activation_role::linear_input, n * m.hidden, step.compute, split, output);
}

/// What one depth's cross entropy keeps until it is differentiated, while the model's own is computed.
constexpr byte_count kept_scores(const model& m, const training_step& step, const layout& l) {
    byte_count most;
    byte_count made;
    for_each_loss_activation(m, step, [&](const activation& a, loss_point at) {
        if (at == loss_point::kept || at == loss_point::gradient) most += local_bytes(a, l);
        if (at == loss_point::gradient && a.role == activation_role::logits_gradient) made += local_bytes(a, l);
    });
    return most - made;
}

}  // namespace llmres::inline v0::detail
