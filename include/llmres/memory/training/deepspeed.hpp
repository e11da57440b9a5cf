// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// Weights that DeepSpeed's ZeRO gathers, and its buffers for gradients (deepspeed/runtime/zero: stage_1_and_2.py,
/// stage3.py, partitioned_param_coordinator.py).
namespace llmres::inline v0::detail {

struct zero_buffers {
    byte_count throughout{};  ///< from the first step to the last
    byte_count backward{};    ///< during the backward pass
    byte_count joined{};      ///< during the backward pass, allocated on another stream
    byte_count stepping{};    ///< during the optimizer's step
    byte_count in_pieces{};   ///< freed between backward pass and step, in pieces too small for any activation
};

/// ZeRO 3 keeps its bucket (contiguous_gradients); a full bucket is copied into another tensor, on a stream of its own,
/// to be scattered (reduce_scatter_coalesced). ZeRO 1 and 2 have their buckets during the backward pass, one or two;
/// behind a pipeline, when all gradients are made.
constexpr zero_buffers zero_buffers_of(const job& j, const layout& l, const training_context& context,
                                       const training_state& state) {
    zero_buffers b;
    const precision& made = context.frozen ? context.formats.adapters : gradients_of(j);
    const byte_count bucket = size_of(made, context.runtime.sharding.reduce_bucket_size, 1);
    const bool on_host = j.offload.optimizer != offload_place::none;
    const bool in_16_bits = size_of(made, 1, 1) <= size_of(fp16, 1, 1);
    if (l.zero >= 3) {
        b.throughout = bucket;
        b.joined = bucket < state.gradients.whole ? bucket : state.gradients.whole;
        if (on_host) return b;
        // Gradients of a sub-group are flattened, and cast to fp32 where the master weights are
        // (_prepare_fp32_grad_for_sub_group).
        const byte_count most = size_of(made, context.runtime.sharding.sub_group_size, 1);
        const byte_count joined = state.gradients.kept < most ? state.gradients.kept : most;
        b.stepping = joined + (in_16_bits && size_of(j.master_weights.value_or(fp32), 1, 1) > size_of(fp16, 1, 1)
                                   ? joined * 2
                                   : byte_count{});
        return b;
    }
    if (l.zero == 0 || on_host) return b;
    // As many values of weights are gathered at once (allgather_bucket_size), in the memory that the bucket leaves.
    // Where gradients are kept in both formats (runtime/bf16_optimizer.py), they are exchanged in fp32, and weights
    // gathered in 16 bits: 6 bytes a value.
    const bool overlaps = context.runtime.sharding.overlap_comm;
    const bool in_backward = l.pipeline == 1 && in_16_bits;
    (in_backward ? b.backward : b.in_pieces) += bucket * (overlaps ? 2 : 1);
    // A full bucket is flattened by the ranks that its parts belong to (allreduce_and_scatter, allreduce_bucket).
    if (in_backward && (l.zero == 2 || overlaps))
        b.joined = bucket < state.gradients.whole ? bucket : state.gradients.whole;
    if (!in_16_bits) return b;
    // The rank's gradient partition is copied into one tensor (copy_grads_in_partition); then norms are taken in fp64,
    // tensor by tensor (get_grad_norm_direct); the flattened and fp32 gradients reuse that memory.
    const byte_count part = div_up(state.gradients.whole, l.dense_shard_ranks());
    if (l.zero == 1) b.in_pieces += part;
    const byte_count norm = (part < state.largest ? part : state.largest) * 4;
    if (norm > state.optimizer.temporaries) b.in_pieces += norm - state.optimizer.temporaries;
    return b;
}

/// Values of weights that ZeRO 3 holds gathered at most, by default (zero/config.py, stage3_max_live_parameters).
inline constexpr std::int64_t max_live_parameters = 1'000'000'000;
/// Buckets of gradients whose reduction the host does not wait for: it waits when there are more than
/// max_param_reduce_events, which is 2, and then begins another one (stage3.py, __reduce_and_partition_ipg_grads).
inline constexpr std::int64_t reductions_under_way = 3;

/// Weights that ZeRO 3 holds gathered. With each module that is fetched it gathers the next ones beyond those that are
/// on their way, until the limit is reached (fetch_sub_module: prefetch_bucket_size), but never less than the module
/// that is computed needs.
struct live_weights {
    byte_count now{};   ///< gathered
    byte_count more{};  ///< at most beyond that: the last tensor that was fetched, which joins its parts
    byte_count late{};  ///< released, but not to be used again yet
};

/// `whole`: all weights of a stage; `unit`: those of the layer that has most; `largest`: the largest tensor.
///
/// A released weight is another stream's, whose block cannot be used again until the computation has passed it
/// (partition_parameters.py, free_param: record_stream). How far the host runs ahead of the computation is bounded by
/// the buckets whose reduction it does not wait for, of as many gradients as weights.
constexpr live_weights live_weights_of(const training_context& context, byte_count whole, byte_count unit,
                                       byte_count largest = {}) {
    const precision& gathered = context.formats.compute;
    const byte_count limit = size_of(gathered, max_live_parameters, 1);
    live_weights live{.now = unit > limit ? unit : limit};
    if (live.now > whole) live.now = whole;
    const auto at_most = [&](byte_count size) { return size < whole - live.now ? size : whole - live.now; };
    live.more = at_most(largest * 2);
    live.late = at_most(size_of(gathered, context.runtime.sharding.reduce_bucket_size, 1) * reductions_under_way);
    return live;
}

/// Gradients that ZeRO 3 has copied into buckets, and whose blocks wait for the copy: another stream made it
/// (stage3.py, __add_grad_to_ipg_bucket: record_stream). `all`: of the weights of a stage.
constexpr byte_count late_gradients_of(const job& j, const training_context& context, byte_count all) {
    const precision& made = context.frozen ? context.formats.adapters : gradients_of(j);
    const byte_count late = size_of(made, context.runtime.sharding.reduce_bucket_size, 1) * reductions_under_way;
    return late < all ? late : all;
}

}  // namespace llmres::inline v0::detail
