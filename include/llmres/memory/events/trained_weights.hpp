// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/parameters.hpp>

/// The weights of a pipeline stage one by one, each with what training keeps of it.
namespace llmres::inline v0::detail {

/// A weight of a stage, and what training keeps of it.
struct trained_weight {
    weight_role role;
    weight_place place;
    std::int32_t position;  ///< of its layer, in the order of the stages
    std::int64_t copies;    ///< tensors of one shape
    const training_state& kept;
};

/// Calls visit(trained_weight) for the weights of a stage, layer by layer, summed as the plan sums them.
/// in_layers(range, each) calls each(index) for the layers of a range, and may note which layer of the model it is.
template <class InLayers, class Visit>
constexpr void for_each_trained_weight(const weight_training& how, const layout& l, const placement& here,
                                       InLayers&& in_layers, Visit&& visit) {
    const job& j = how.job;
    weight_fold fold{how, weight_place::input};
    std::int32_t position = here.layers.first - 1;
    const auto keep = [&](weight_place place) {
        return [&, place](const weight& w) {
            visit(trained_weight{w.role, place, position, local_shape(w, how.split).copies, fold.next(w, place)});
        };
    };
    for_each_placed_input_weight(j.model, here, keep(weight_place::input));
    const auto layers = [&](stage_range range, std::int32_t) {
        in_layers(range, [&](std::int32_t index) {
            ++position;
            fold.begin_layer();
            for_each_weight(j.model.layers[index], j.model.hidden, keep(weight_place::layer));
        });
    };
    if (l.deals_evenly())
        layers(here.layers, here.stage);
    else
        for_each_chunk(l, j.model.layers.size, here.stage, layers);
    for (std::int32_t i = 0; i < here.predictions; ++i) for_each_depth_weight(j.model, keep(weight_place::prediction));
    if (here.output) for_each_output_weight(j.model, keep(weight_place::output));
}

}  // namespace llmres::inline v0::detail
