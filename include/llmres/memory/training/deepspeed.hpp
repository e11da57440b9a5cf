// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/interval.hpp>
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
    const byte_count bucket = size_of(made, context.runtime.sharding.deepspeed.reduce_bucket_size, 1);
    const bool on_host = j.offload.optimizer != offload_place::none;
    const bool in_16_bits = size_of(made, 1, 1) <= size_of(fp16, 1, 1);
    if (l.zero >= 3) {
        b.throughout = bucket;
        b.joined = bucket < state.gradients.whole ? bucket : state.gradients.whole;
        if (on_host) {
            // A rank's part of each gradient is copied back to the GPU, and its norm taken in fp64 (stage3.py,
            // partition_grads and _constant_buffered_norm2), beside the bucket.
            const byte_count part = div_up(state.largest, l.dense_shard_ranks());
            b.in_pieces = part * 5;
            return b;
        }
        // Gradients of a sub-group are flattened, and cast to fp32 where the master weights are
        // (_prepare_fp32_grad_for_sub_group).
        const byte_count most = size_of(made, context.runtime.sharding.deepspeed.sub_group_size, 1);
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
    const bool overlaps = context.runtime.sharding.deepspeed.overlap_comm;
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
};

/// `whole`: all weights of a stage; `unit`: those of the layer that has most; `largest`: the largest tensor.
constexpr live_weights live_weights_of(const training_context& context, byte_count whole, byte_count unit,
                                       byte_count largest = {}) {
    const precision& gathered = context.formats.compute;
    const byte_count limit = size_of(gathered, max_live_parameters, 1);
    live_weights live{.now = unit > limit ? unit : limit};
    if (live.now > whole) live.now = whole;
    const auto at_most = [&](byte_count size) { return size < whole - live.now ? size : whole - live.now; };
    live.more = at_most(largest * 2);
    return live;
}

/// Whether the host waits for the GPU in each layer's attention, so that all that was launched before is done.
constexpr bool waits_in_attention(const job& j, const training_context& context) {
    return context.runtime.kernels.modules == module_code::transformers && computed_sequences(j) == 1 &&
           context.attention.kernel == attention_kernel::flash;
}

/// What a stream holds that the GPU has not begun: with as many kernels or events in it, a launch waits until one is
/// done. Users of CUDA measured about 1000 (NVIDIA's developer forum, topics 68937 and 220629: an event takes a place
/// as a kernel does), which no setting of CUDA changes.
inline constexpr std::int64_t most_launched = 1024;

/// Kernels and events that a layer's forward pass puts into the computation's stream, at least: a kernel for each
/// product, norm, activation and sum, one for attention and one for the rotation, and an event for each matrix that is
/// freed, which the allocator records (c10/cuda/CUDACachingAllocator.cpp, insert_events). An RMSNorm in PyTorch's own
/// operations is seven: a cast, a square, a mean, a sum, a root, and two products (modeling_llama.py,
/// LlamaRMSNorm.forward). Routed experts count as one.
constexpr std::int64_t least_launched(const layer& kind, std::int64_t hidden, const training_context& context) {
    const bool eager_norms = kind.norm == norm_kind::rms && !context.runtime.kernels.fuses_norms();
    std::int64_t matrices = 0;
    for_each_weight(kind, hidden, [&](const weight& w) { matrices += w.rows > 1 && w.columns > 1; });
    const std::int64_t activation = context.runtime.kernels.fuses_gates() ? 1 : 2;
    const std::int64_t norms = kind.norms();
    return matrices * 2 + norms * (eager_norms ? 7 : 1) + (kind.attention.heads > 0 ? 2 : 0) +
           (kind.feed_forward.width > 0 ? activation : 0) + 2;
}

/// Layers that the host has launched and the GPU has not begun, at most, where the host never waits.
constexpr std::int64_t most_layers_launched(const model& m, const training_context& context) {
    std::int64_t least = most_launched;
    for (const layer& kind : m.layers.distinct()) {
        const std::int64_t one = least_launched(kind, m.hidden, context);
        least = one < least ? one : least;
    }
    return ceil_quotient(most_launched, least) + 1;  // and the part of a layer that the GPU is computing
}

/// The embedding's weights as ZeRO 3 gathers them.
constexpr byte_count gathered_embedding(const job& j, const layout& l, const training_context& context) {
    return size_of(context.formats.compute, ceil_quotient(j.model.vocabulary, l.tensor), embedding_width_of(j.model));
}

/// Blocks of weights that ZeRO 3 has released, and that cannot be used again yet. Such a weight is another stream's,
/// whose block waits until the computation has passed it (partition_parameters.py, free_param: record_stream).
/// `whole`: all weights of a stage; `unit`: those of the layer that has most.
///
/// Where the host waits in each attention, these are the embedding's before the first one, or else a layer's, unless
/// the GPU is as fast as the host. The embedding's block is then cut up for layers', so that its backward pass gathers
/// it into another one. Where it waits nowhere, it runs ahead of the backward pass by the buckets whose reduction it
/// does not wait for, of as many gradients as weights. Of the forward pass it waits for gathered weights only, which do
/// not wait for the computation (partitioned_param_coordinator.py, __ongoing_fetch_events: of the gathering stream), so
/// that it runs ahead by what the computation's stream holds, and both tables, which few kernels read.
constexpr interval<byte_count> late_weights_of(const job& j, const layout& l, const training_context& context,
                                               byte_count whole, byte_count unit) {
    const live_weights live = live_weights_of(context, whole, unit);
    const byte_count others = whole - live.now;
    const auto at_most = [&](byte_count size) { return size < others ? size : others; };
    const byte_count embedding = gathered_embedding(j, l, context);
    const byte_count of_waiting = at_most(embedding <= unit ? unit : embedding * 2);
    if (!waits_in_attention(j, context)) {  // as far ahead as a host that waits, at least
        const byte_count buckets =
            at_most(size_of(context.formats.compute, context.runtime.sharding.deepspeed.reduce_bucket_size, 1) *
                    reductions_under_way);
        const byte_count expected = buckets > of_waiting ? buckets : of_waiting;
        // The backward pass gathers the weights of those buckets anew, while the forward pass's blocks wait.
        const byte_count both = others + buckets;
        const byte_count launched = unit * most_layers_launched(j.model, context) + embedding * 2;
        const byte_count most = launched < both ? launched : both;
        return {byte_count{}, expected, most > expected ? most : expected};
    }
    return {embedding <= unit ? byte_count{} : at_most(embedding), of_waiting, of_waiting};
}

/// One bucket of gradients, of `all` at most.
constexpr byte_count bucket_of(const job& j, const training_context& context, byte_count all) {
    const precision& made = context.frozen ? context.formats.adapters : gradients_of(j);
    const byte_count bucket = size_of(made, context.runtime.sharding.deepspeed.reduce_bucket_size, 1);
    return bucket < all ? bucket : all;
}

/// Gradients that ZeRO 3 has copied into buckets, and whose blocks wait for the copy: another stream made it
/// (stage3.py, __add_grad_to_ipg_bucket: record_stream): those of a layer where the host waits in its attention.
/// `all`: of the weights of a stage; `unit`: of the layer that has most.
constexpr byte_count late_gradients_of(const job& j, const training_context& context, byte_count all, byte_count unit) {
    const byte_count buckets = bucket_of(j, context, all) * reductions_under_way;
    const byte_count late = waits_in_attention(j, context) || buckets < unit ? unit : buckets;
    return late < all ? late : all;
}

/// Of a weight's block, what tensors of the residual stream leave of it: they are cut from it while they fit.
constexpr byte_count left_beside(byte_count block, byte_count stream) {
    if (stream == byte_count{} || block < stream) return block;
    return block - stream * (block.in(bytes) / stream.in(bytes));
}

/// Blocks of the weights as they were loaded that no tensor of a step fits in, when ZeRO 1 and 2 have copied all of
/// them into one tensor. `stream`: a tensor of the residual stream.
constexpr byte_count left_by_flattening(const job& j, const layout& l, const training_context& context,
                                        const placement& here, byte_count stream) {
    byte_count left;
    if (!context.runtime.sharding.deepspeed.flattens_on_gpu || l.zero == 0 || l.zero >= 3 || context.frozen)
        return left;
    for_each_weight(j, here, [&](const weight& w, std::int32_t times, weight_place) {
        const byte_count size = size_of(context.formats.compute, ceil_quotient(w.rows, l.tensor), w.columns);
        if (size >= mib(1)) left += left_beside(size, stream) * (times * w.copies);
    });
    return left;
}

/// What checkpoints of a layer leave of the blocks that they are cut from, as a part of their own size: a freed block
/// of the feed-forward's width holds as many as fit.
constexpr double lost_beside_checkpoints(const layer& kind, std::int64_t hidden, const layout& l) {
    const std::int64_t width = ceil_quotient(kind.feed_forward.width, l.tensor);
    if (width < hidden || hidden == 0) return 0.0;
    const std::int64_t whole = width / hidden * hidden;
    return static_cast<double>(width) / static_cast<double>(whole) - 1.0;
}

}  // namespace llmres::inline v0::detail
