// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// Multi-token prediction in training (DeepSeek-V3 report, section 2.2): each depth applies norms to the output of the
/// depth before and to the next token's embedding, projects both to the hidden width, and has a layer and a norm of its
/// own; embedding and head are the model's. As Megatron-Core builds it (core/transformer/multi_token_prediction.py).
namespace llmres::inline v0::detail {

/// Calls visit(activation) for what a depth saves beside its layer: the inputs of three norms, of the projection and of
/// the head.
template <class Visit>
constexpr void for_each_depth_activation(const model& m, const training_context& context, Visit&& visit) {
    using enum backward_point;
    const auto seen = visiting<activation>(visit);
    const layer_writer save{context, seen};
    const std::int64_t n = context.tokens.all();
    constexpr auto split = activation_split::sequence;
    for (int norm = 0; norm < 3; ++norm) save.norm(n, m.hidden, prediction_block(m).norm, split, output, output);
    if (context.frozen) return;
    save.put(activation_role::linear_input, 2 * n * m.hidden, context.formats.compute, split, output);
    save.put(activation_role::linear_input, n * m.hidden, context.formats.compute, split, output);
}

/// What one depth's cross entropy keeps of logits until it is differentiated, while the model's own is computed: all
/// but the gradients that are made then.
constexpr byte_count kept_logits(const model& m, const training_context& context, const layer_split& l) {
    byte_count most;
    byte_count made;
    for_each_loss_activation(m, context, [&](const activation& a, loss_point at) {
        if (at == loss_point::kept || at == loss_point::gradient) most += local_bytes(a, l);
        if (at == loss_point::gradient && a.role == activation_role::logits_gradient) made += local_bytes(a, l);
    });
    return most - made;
}

}  // namespace llmres::inline v0::detail
