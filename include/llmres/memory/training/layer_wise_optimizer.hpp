// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// Optimizer states of which each data rank has those of whole tensors: what orthogonalises a matrix needs all of it
/// (Megatron-Core's layer-wise distributed optimizer, core/optimizer/layer_wise_optimizer.py).
namespace llmres::inline v0::detail {

/// Whether a job's optimizer states are dealt by the tensor.
constexpr bool deals_tensors(const job& j, const layout& l) {
    return j.runtime.optimizer.layer_wise && j.optimizer.matrix_moments >= 0 && l.zero >= 1 && l.zero < 3 &&
           !j.adapter.trains();
}

/// Deals tensors over ranks, and finds what the fullest of them holds: tensors of one shape go round, and of what is
/// left over the fullest rank has the largest, or its part of the sum where that is more.
class tensor_dealer {
public:
    constexpr tensor_dealer(const job& j, const layout& l, const training_context& context)
        : whole_{l}, fold_{without_shards(j, l, context, whole_)}, of_{j}, over_{l} {}

    /// `times`: layers that have the weight.
    constexpr void deal(const weight& w, bool inner, std::int64_t times) {
        const std::int64_t copies = local_shape(w, over_).copies * times;
        if (copies == 0) return;
        fold_.sum = {};
        fold_(w, inner);
        const byte_count all = fold_.sum.optimizer * times;
        const std::int64_t ranks = w.routed ? over_.expert_shard_ranks() : over_.dense_shard_ranks();
        const bool matrix = w.rows > 1 && w.columns > 1;
        if (ranks == 1 || !matrix || (!inner && of_.runtime.optimizer.layer_wise_param_layout)) {
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
    static constexpr state_fold without_shards(const job& j, const layout& l, const training_context& context,
                                               layout& whole) {
        whole = l;
        whole.zero = 0;
        return state_fold{j, whole, context};
    }

    layout whole_;
    state_fold fold_;
    const job& of_;
    const layout& over_;
    byte_count evenly_{};
    byte_count largest_{};
    byte_count left_{};
};

}  // namespace llmres::inline v0::detail
