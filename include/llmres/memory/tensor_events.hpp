// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/upcast.hpp>
#include <llmres/memory/events/start.hpp>
#include <llmres/memory/events/step.hpp>
#include <llmres/memory/events/writer.hpp>
#include <llmres/memory/sharing_rank.hpp>
#include <llmres/memory/tensor_stream.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/units.hpp>

/// A training step as the tensors that are allocated and freed in it, one by one, so that any allocator can be asked
/// what it reserves for them.
namespace llmres::inline v0 {

/// A tensor is allocated in a group, or all tensors of a group are freed.
struct tensor_event {
    std::int64_t group = 0;                             ///< tensors that are freed together
    byte_count size{};                                  ///< of the tensor that is allocated; 0: the group is freed
    tensor_stream stream = tensor_stream::computation;  ///< of the tensor that is allocated
};

/// Calls visit(tensor_event) for the tensors of a GPU of one pipeline stage: those that stay first, then those of
/// `steps` training steps. Weights, gradients and optimizer states are listed as the plan sums them, what a layer saves
/// and makes as its operations list it (inventory/activations.hpp), and the logits by the table of losses. Where the
/// plan knows but a sum (of masks, of what an encoder saves, of buffers of communication), that is one tensor. Of a
/// step's micro-batches as many are run as are in flight at once, and two more. `rank`: of those that share weights.
/// Allocates nothing. Preconditions: validate() holds, and the job trains.
template <class Visit>
constexpr void for_each_tensor_event(const job& j, const layout& l, const gpu& card, std::int32_t stage,
                                     std::int32_t steps, Visit&& visit, sharing_rank rank = sharing_rank::first);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

template <class Visit>
struct tensor_event_visitor final : event_visitor {
    Visit& visit;
    constexpr explicit tensor_event_visitor(Visit& calls) : visit{calls} {}
    constexpr void allocate(std::int64_t group, byte_count size, tensor_stream stream) const override {
        visit(tensor_event{group, size, stream});
    }
    constexpr void release(std::int64_t group) const override { visit(tensor_event{.group = group}); }
};

}  // namespace detail

template <class Visit>
constexpr void for_each_tensor_event(const job& j, const layout& l, const gpu& card, std::int32_t stage,
                                     std::int32_t steps, Visit&& visit, sharing_rank rank) {
    if (upcasts(j, l)) return for_each_tensor_event(upcast(j), l, card, stage, steps, visit, rank);
    const layer_stack by_stage = l.deals_evenly() ? j.model.layers : ordered_by_stage(j.model.layers, l);
    const detail::folded_job folded{j, l, by_stage, sdpa_backend_of(card)};
    const detail::training_stage here = detail::training_stage_of(folded, placement_of(j, l, stage));
    const detail::tensor_event_visitor to{visit};
    const detail::event_writer writer{folded, here, to, rank};
    detail::start_events{writer}.write();
    detail::step_events step{writer};
    for (std::int32_t i = 0; i < steps; ++i) step.write(i == 0);
}

}  // namespace llmres::inline v0
