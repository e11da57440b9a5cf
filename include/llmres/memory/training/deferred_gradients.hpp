// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>

/// What stages hold for gradients of weights that are computed later than the others: zero-bubble schedules, and a
/// deferred gradient of the head.
namespace llmres::inline v0::detail {

/// What one micro-batch that has passed back still holds under a zero-bubble schedule, which delays gradients of
/// weights: the input of each product and the gradient of its output (arXiv 2401.10241 section 2.3, M_W).
constexpr byte_count needed_by_weights(const layer& kind, std::int64_t hidden, const training_context& context,
                                       const layer_split& l) {
    byte_count needed;
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) {
        const std::int64_t positions =
            context.tokens.all() * (o.routed ? kind.feed_forward.experts.per_token : std::int64_t{1});
        const auto count = [&](const operand& t) {
            needed +=
                local_bytes({activation_role::linear_input, positions * t.width, context.formats.compute, t.split}, l);
        };
        for (std::size_t i = 0; i < o.products(); ++i) count(o.writes[i]);
        if (o.products() > 0 && !o.reads_again) count(o.reads[0]);
    });
    return needed;
}

/// What the last stage keeps where the head's gradient is deferred: the head's input, and the gradient of the logits.
constexpr byte_count deferred_head(const model& m, const training_context& context, const layer_split& l,
                                   std::int64_t rounds) {
    const std::int64_t others = rounds - 1;  // the last one's are counted with the loss
    const std::int64_t limit = context.runtime.pipeline.wgrad_deferral_limit;
    const std::int64_t gradients = limit > 0 && limit < others ? limit : others;
    const std::int64_t n = context.tokens.all();
    return local_bytes(
               {activation_role::linear_input, n * m.hidden, context.formats.compute, activation_split::sequence}, l) *
               others +
           local_bytes({activation_role::logits_gradient, product(n, scored_vocabulary(m)), context.formats.compute,
                        activation_split::tensor},
                       l) *
               gradients;
}

}  // namespace llmres::inline v0::detail
