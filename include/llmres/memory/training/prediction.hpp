// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/prediction.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/values/units.hpp>

/// Memory of multi-token prediction in training.
namespace llmres::inline v0::detail {

/// What layers that predict further tokens take on their stage, all depths together.
struct prediction_memory {
    training_state state{};
    byte_count kept{};    ///< saved of one micro-batch until its backward pass
    byte_count logits{};  ///< what the depths' losses keep of logits until they are differentiated
};

/// `last_step`: temporaries of the tensor that the optimizer updates before these.
constexpr prediction_memory prediction_memory_of(const job& j, const layer_split& l, const training_context& context,
                                                 const weight_training& how, byte_count last_step) {
    const model& m = j.model;
    const training_state block = training_state_of(prediction_block(m), m.hidden, how, last_step);
    weight_fold depth{how, weight_place::prediction, block.optimizer.last_step};
    for_each_depth_weight(m, depth);
    prediction_memory found;
    found.state.add(depth.state(), depths_held(j));
    found.state.optimizer.last_step = depth.state().optimizer.last_step;
    found.kept = training_layer_of(prediction_block(m), j, l, context, block).kept * j.mtp_layers;
    for_each_depth_activation(m, context, [&](const activation& a) { found.kept += local_bytes(a, l) * j.mtp_layers; });
    found.logits = kept_logits(m, context, l) * j.mtp_layers;
    return found;
}

}  // namespace llmres::inline v0::detail
