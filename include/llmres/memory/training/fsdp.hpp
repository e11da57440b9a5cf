// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/units.hpp>

/// Weights that FSDP gathers, gradients before it shards them, and blocks that its wrapping leaves.
namespace llmres::inline v0::detail {

/// What FSDP2 gathers and reduces beside the unit that is computed
/// (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
struct gathering {
    /// Weights still gathered when the loss is computed: the head; where embedding and head are the root unit's, both
    /// and the last layer.
    byte_count after_forward{};
    byte_count throughout{};  ///< weights gathered from the last layer's backward pass to the first's
    /// A layer's gradients before they are cast and scattered, and the head's where it is the root unit's.
    byte_count reduced{};
    byte_count last{};     ///< the embedding's gradient, whole and cast
    byte_count buffers{};  ///< all-gather buffers: of two units, which take turns
};

/// `unit`: the layer whose weights are most; `tied`: the head is the embedding, and both are the root unit's.
constexpr gathering gathering_of(const training_context& context, const training_state& input,
                                 const training_state& output, const training_state& ends, const training_state& unit,
                                 bool tied) {
    const bool apart = context.runtime.sharding.separate_ends && !tied;
    gathering e;
    const byte_count end = !apart ? ends.gathered : input.gathered > output.gathered ? input.gathered : output.gathered;
    e.after_forward = apart ? output.gathered : ends.gathered + unit.gathered;
    e.throughout = apart ? byte_count{} : ends.gathered;
    e.buffers = unit.gathered + (end > unit.gathered ? end : unit.gathered);
    if (context.frozen) return e;
    e.reduced = unit.gathered + (apart ? byte_count{} : output.gathered);
    e.last = apart ? input.gathered + input.gradients.whole : input.gathered + ends.gradients.whole;
    return e;
}

/// Whether ranks that shard gradients share those of the last micro-batch alone, so that each adds up whole ones until
/// then.
constexpr bool shares_last_gradients(const job& j, const layout& l) {
    return !j.runtime.sharding.sync_each_batch && l.zero >= 2 && l.dense_shard_ranks() > 1 && micro_batches(j, l) > 1;
}

/// Whether FSDP1's units hold frozen and trained weights, so that a unit's gradient covers both.
constexpr bool has_mixed_units(const training_context& context, const layout& l) {
    const training_sharding& sharding = context.runtime.sharding;
    return context.frozen && l.zero >= 2 && l.dense_shard_ranks() > 1 && sharding.code == sharding_code::fsdp1 &&
           sharding.adapted_layers == adapted_layer_units::one;
}

/// The gradient of a unit's weights before ranks shard it: in the format that they are gathered in.
constexpr byte_count whole_gradient_of(const training_state& unit, const training_context& context, const layout& l) {
    if (unit.gradients.whole == byte_count{}) return {};
    return context.frozen && !has_mixed_units(context, l) ? unit.gradients.whole : unit.gathered;
}

/// Blocks that the allocator holds beside the shards when FSDP1 has wrapped a model
/// (torch/distributed/fsdp/_init_utils.py, _init_param_handle_from_module): of each unit its tensors as they were
/// copied to the GPU, the copy that rank 0 broadcasts (sync_module_states), and the flat parameter. Layers reuse one
/// another's blocks; the root unit finds them too small.
constexpr byte_count left_by_wrapping(byte_count root, byte_count unit) { return root * 3 + unit * 3; }

}  // namespace llmres::inline v0::detail
