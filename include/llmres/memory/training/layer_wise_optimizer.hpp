// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// Optimizer states that are sharded by whole tensors, since what orthogonalises a matrix needs all of it
/// (Megatron-Core's layer-wise distributed optimizer, core/optimizer/layer_wise_optimizer.py); and those that exist
/// before the first step.
namespace llmres::inline v0::detail {

/// Whether each data-parallel rank has the optimizer states of whole tensors.
constexpr bool shards_whole_tensors(const job& j, const layout& l) {
    return j.runtime.optimizer.layer_wise && j.optimizer.matrix_moments >= 0 && l.zero >= 1 && l.zero < 3 &&
           !j.adapter.trains();
}

/// Distributes whole tensors over ranks, and finds what the fullest rank holds: tensors of one shape go round; of what
/// is left over, the fullest rank has the largest tensor, or its part of the sum where that is more.
class tensor_shards {
public:
    /// `unsharded`: how the weights are trained in the layout without ZeRO.
    constexpr tensor_shards(const weight_training& unsharded, const layout& l)
        : job_{unsharded.job}, split_{l}, shards_{l}, fold_{unsharded, weight_place::layer} {}

    /// `times`: layers that have the weight.
    constexpr void add(const weight& w, weight_place place, std::int64_t times) {
        const std::int64_t copies = local_shape(w, split_).copies * times;
        if (copies == 0) return;
        const byte_count all = fold_.next(w, place).optimizer.states * times;
        const std::int64_t ranks = w.routed ? shards_.expert_ranks : shards_.dense_ranks;
        const bool matrix = w.rows > 1 && w.columns > 1;
        if (ranks == 1 || !matrix || (!is_in_layer(place) && job_.runtime.optimizer.layer_wise_param_layout)) {
            evenly_ += div_up(all, ranks);  // by the byte
            return;
        }
        const byte_count each = div_up(all, copies);
        evenly_ += each * (copies / ranks);
        const byte_count rest = each * (copies % ranks);
        if (rest > byte_count{} && each > largest_) largest_ = each;
        left_ += div_up(rest, ranks);
    }

    constexpr byte_count fullest() const { return evenly_ + (largest_ > left_ ? largest_ : left_); }

private:
    const job& job_;
    layer_split split_;
    zero_split shards_;
    weight_fold fold_;
    byte_count evenly_{};
    byte_count largest_{};
    byte_count left_{};
};

/// Optimizer states on the fullest rank of a stage.
constexpr byte_count sharded_whole_tensors(const job& j, const layout& l, const training_context& context,
                                           const placement& here) {
    const weight_training how{j, l, zero_split{}, context};
    tensor_shards shards{how, l};
    for_each_weight(j, here,
                    [&](const weight& w, std::int32_t times, weight_place place) { shards.add(w, place, times); });
    return shards.fullest();
}

/// The job as it is before its first optimizer step: of the optimizer's memory the master weights exist.
constexpr job before_first_step(job j) {
    j.optimizer = sgd;
    return j;
}

/// What of the optimizer's memory exists before its first step.
constexpr byte_count states_before_first_step(const job& j, const layout& l, const placement& here) {
    job masters = before_first_step(j);
    const training_context context{masters, l};
    if (shards_whole_tensors(j, l)) {
        masters.optimizer.matrix_moments = 0;
        return sharded_whole_tensors(masters, l, context, here);
    }
    const weight_training how{masters, l, context};
    byte_count sum;
    for_each_weight(masters, here, [&](const weight& w, std::int32_t times, weight_place place) {
        sum += training_state_of(w, how, place).optimizer.states * times;
    });
    return sum;
}

}  // namespace llmres::inline v0::detail
