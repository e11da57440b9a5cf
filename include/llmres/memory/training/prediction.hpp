// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/prediction.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/values/units.hpp>

/// Memory of multi-token prediction in training.
namespace llmres::inline v0::detail {

/// What predicting further tokens takes on its stage, all depths together.
struct prediction_memory {
    weight_state state{};
    byte_count kept{};    ///< of one micro-batch until its backward pass
    byte_count scores{};  ///< of the depths' losses, until they are differentiated
};

constexpr prediction_memory prediction_memory_of(const job& j, const layout& l, const training_context& context,
                                                 state_fold& fold) {
    prediction_memory found;
    fold.sum = {};
    for_each_weight(prediction_block(j.model), j.model.hidden, fold);
    found.kept = training_layer_of(prediction_block(j.model), j, l, context, fold.sum).kept * j.mtp_layers;
    fold.sum = {};
    for_each_depth_weight(j.model, fold);
    found.state.add(fold.sum, depths_held(j));
    for_each_depth_activation(j.model, context,
                              [&](const activation& a) { found.kept += local_bytes(a, l) * j.mtp_layers; });
    found.scores = kept_scores(j.model, context, l) * j.mtp_layers;
    return found;
}

}  // namespace llmres::inline v0::detail
