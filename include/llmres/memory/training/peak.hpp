// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak/backward.hpp>
#include <llmres/memory/training/peak/forward.hpp>
#include <llmres/memory/training/peak/step.hpp>
#include <llmres/memory/training/peak/teacher.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/units.hpp>

/// When a training step takes the most memory: the candidates of one pipeline stage, each a value of its own, and the
/// largest of them.
namespace llmres::inline v0::detail {

/// Calls visit(peak_candidate) for each candidate of a stage. No candidate depends on another, nor on the order.
template <class Visit>
constexpr void for_each_peak_candidate(const stage_step& in, Visit&& visit) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    const bool forward = forward_may_be_fullest(f.job, f.split, f.context);
    const bool distils = learns_from_teacher(f.job.preference);
    const bool refers = computes_reference(f.job) && !distils;
    visit(at_optimizer_step(in));
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        if (s.holds.counts[k] == 0) continue;
        if (is_differentiated(in, k)) {
            visit(at_layer_backward(in, peak_point::last_layer_backward, k));
            visit(at_layer_backward(in, peak_point::first_layer_backward, k));
        }
        if (forward) visit(at_layer_forward(in, k));
        if (refers) visit(at_reference_forward(in, k));
        if (!f.context.adapter.low_rank() || !f.context.recomputes) continue;
        visit(at_adapter_recomputation(in, peak_point::last_adapter_recomputation, k));
        visit(at_adapter_recomputation(in, peak_point::first_adapter_recomputation, k));
    }
    if (forward && s.encoder.kept > byte_count{}) visit(at_encoder_forward(in));
    if (s.encoder.kept > byte_count{})
        for (const peak_point point : {peak_point::decoder_embedding_gradient, peak_point::encoder_last_layer_backward,
                                       peak_point::encoder_first_layer_backward})
            visit(at_encoder_backward(in, point));
    visit(at_embedding_gradient(in));
    if (s.last) {
        visit(at_layers_forward(in));
        visit(at_loss_forward(in));
        visit(at_loss(in, peak_point::loss_gradient));
        visit(at_head_backward(in));
        if (f.ends.norm_backward > byte_count{}) visit(at_final_norm_backward(in));
        if (in.steps_in_backward && !f.job.model.tied_head) visit(at_head_step(in));
    }
    if (s.last && refers) visit(at_reference_loss(in));
    if (distils) for_each_teacher_candidate(in, visit);
    if (s.first && !s.last && s.naive_pipeline) visit(at_logits_returned(in));
}

/// The most that the forward pass holds before the head. The loss, or the recomputation of a layer, holds more.
constexpr byte_count forward_peak(const stage_step& in) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    byte_count most;
    const auto consider_size = [&](const peak_candidate& c) {
        if (const byte_count size = c.tensors.all(); size > most) most = size;
    };
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (s.holds.counts[k] > 0) consider_size(at_layer_forward(in, k));
    if (s.encoder.kept > byte_count{}) consider_size(at_encoder_forward(in));
    if (s.last) consider_size(at_layers_forward(in));
    return most;
}

// ---- the largest of them --------------------------------------------------------------------------------------------

/// The largest candidate of one stage or of several, and what the allocator's blocks are counted from.
struct stage_peak {
    std::int32_t stage = 0;
    peak_point point{};
    std::int32_t kind = 0;
    tensor_memory tensors{};
    tensor_details details{};  ///< of `tensors`
    byte_count size{};         ///< of `tensors`
    byte_count reserved{};     ///< by an allocator whose blocks of one phase do not serve the other
    byte_count transient{};    ///< most of all that is allocated and freed in each step
    byte_count logits{};       ///< most of the logits, and of what the loss makes of them
    byte_count activations{};  ///< most of the activations
    byte_count cut{};          ///< what checkpoints leave of the blocks that they are cut from
    byte_count flattened{};    ///< DeepSpeed: of weights as they were loaded, blocks that nothing of a step fits in
    byte_count loaded{};       ///< DeepSpeed: most with the blocks of the weights as they were loaded
    byte_count wrapping{};     ///< blocks that FSDP1's wrapping of the model leaves, beside its shards
};

/// Whether a candidate takes more than the largest so far, or as much and comes before it in the list of points.
constexpr bool exceeds(const stage_peak& peak, const peak_candidate& c, byte_count size) {
    if (size != peak.size) return size > peak.size;
    return c.point != peak.point ? c.point < peak.point : c.kind < peak.kind;
}

/// Adds a candidate of the same stage, of a size of tensors.all().
constexpr void consider(stage_peak& peak, const peak_candidate& c, byte_count size) {
    if (exceeds(peak, c, size)) peak.point = c.point, peak.kind = c.kind, peak.tensors = c.tensors, peak.size = size;
    if (c.tensors.logits > peak.logits) peak.logits = c.tensors.logits;
    if (c.tensors.activations > peak.activations) peak.activations = c.tensors.activations;
}

/// The peak of two groups of stages. Where both take as much, the first group's is named.
constexpr stage_peak busier(const stage_peak& first, const stage_peak& other) {
    const auto most = [](byte_count a, byte_count b) { return a > b ? a : b; };
    stage_peak peak = other.size > first.size ? other : first;
    peak.reserved = most(first.reserved, other.reserved);
    peak.transient = most(first.transient, other.transient);
    peak.logits = most(first.logits, other.logits);
    peak.activations = most(first.activations, other.activations);
    peak.cut = most(first.cut, other.cut);
    peak.flattened = most(first.flattened, other.flattened);
    peak.loaded = most(first.loaded, other.loaded);
    peak.wrapping = most(first.wrapping, other.wrapping);
    return peak;
}

/// Gradients and optimizer temporaries whose blocks activations cannot use: PyTorch's allocator keeps a pool of blocks
/// for each stream, and rarely splits one for a much smaller tensor.
constexpr byte_count blocks_of_other_phases(const stage_step& in) {
    const training_stage& s = in.stage;
    const llmres::runtime& runtime = in.folded.context.runtime;
    // DeepSpeed's ZeRO 3 copies gradients into a bucket, which is counted beside them, before the host gets them.
    const bool in_bucket = in.shards_tensors && in.folded.job.offload.optimizer != offload_place::none;
    if (in.folded.job.runtime.allocator.caches_freed_blocks) {
        const byte_count at_step =
            (in_bucket ? byte_count{} : s.weights.all.gradients.kept) + s.stepping + s.zero.joined + s.zero.in_pieces;
        // What the optimizer makes finds blocks of whole gradients.
        return in.unsharded > byte_count{} && gradients_of_all(in) > at_step ? gradients_of_all(in) : at_step;
    }
    if (runtime.sharding.separate_streams && in.folded.layout.zero >= 2)
        return gradients_of_all(in) + in.gathered.buffers;
    return {};
}

/// Blocks of the loss that no freed block of the layers' forward pass has room for: `logits`, or of a fused loss, what
/// is larger than the widest tensor of a layer among the head's gradient, the product that is added to it, and that
/// product in fp32 (Liger, fused_linear_cross_entropy.py: grad_weight += mm(...).float()). Such a loss reads the head's
/// weight outside its module, which ZeRO 3 gathers in the first step on the computation's own stream
/// (parameter_offload.py, ZeROOrderedDict: param.all_gather()).
constexpr byte_count blocks_of_loss(const stage_step& in, byte_count logits) {
    const folded_job& f = in.folded;
    if (!in.stage.last || f.context.runtime.kernels.loss.code != loss_code::fused_linear) return logits;
    const model& m = f.job.model;
    const std::int64_t width = ceil_quotient(m.layers.kinds[0].feed_forward.width, f.layout.tensor);
    const byte_count of_layers =
        size_of(f.context.formats.compute, f.context.tokens.all(), width > m.hidden ? width : m.hidden);
    const byte_count head = gathered_embedding(f.job, f.layout, f.context);
    const byte_count large = head > of_layers ? head * 4 : head * 2 > of_layers ? head * 2 : byte_count{};
    const byte_count gathered = in.shards_tensors && head > of_layers ? head : byte_count{};
    return (large < logits ? large : logits) + gathered;
}

/// What checkpoints leave of the blocks that they are cut from.
constexpr byte_count lost_beside_checkpoints(const folded_job& f, const training_stage& s) {
    byte_count lost;
    if (f.job.recompute != recompute::full) return lost;
    for (std::size_t k = 0; k < f.kinds(); ++k)
        lost += scaled_up(f.layers[k].kept * s.holds.counts[k],
                          lost_beside_checkpoints(f.job.model.layers.kinds[k], f.job.model.hidden, f.layout));
    return lost;
}

/// Blocks left by FSDP1's wrapping, of which weights that are gathered on another stream do not use any.
constexpr byte_count blocks_of_wrapping(const stage_step& in) {
    const llmres::runtime& runtime = in.folded.context.runtime;
    if (!in.shards_weights || !in.folded.job.runtime.allocator.caches_freed_blocks ||
        runtime.sharding.code != sharding_code::fsdp1)
        return {};
    // Weights lie there in the format that they are stored in, even if they are gathered in one of fewer bits. Of
    // quantised ones each rank has a part whole, which is gathered nowhere.
    const quantised_context& products = in.folded.context.quantised;
    const auto whole = [&](const training_state& unit) {
        const byte_count stored =
            products.four_bit || products.words ? byte_count{} : unit.weights * in.folded.layout.dense_shard_ranks();
        return stored > unit.gathered ? stored : unit.gathered;
    };
    return left_by_wrapping(whole(in.stage.weights.ends), whole(in.folded.widest));
}

/// Weights that DeepSpeed's ZeRO 1 and 2 copy into one tensor on the GPU. The engine has moved the whole model there
/// (runtime/engine.py, _configure_distributed_model: module.to(device)), and the allocator keeps the blocks of the
/// weights as they were loaded. If the GPU has no room for the copy, it is made in main memory.
///
/// Nothing else of DeepSpeed's first moments can be the fullest. Until 0.18 the weights go to main memory and come back
/// as one tensor. Without ZeRO, master weights and states join what was loaded. The zeros of the first optimizer step
/// (initialize_optimizer_states) are no more than a step's own gradients. ZeRO 3 shards each module as it is made where
/// the model is made in zero.Init, as transformers' from_pretrained does once a configuration asks for ZeRO 3, and as
/// accelerate's zero3_init_flag says by default (utils/dataclasses.py, DeepSpeedPlugin). A model that is made outside
/// of it is moved to each GPU whole, which is not counted.
constexpr byte_count weights_flattened_on_gpu(const folded_job& f, const training_stage& s) {
    const bool copies = f.context.runtime.sharding.deepspeed.flattens_on_gpu && f.layout.zero > 0 &&
                        f.layout.zero < 3 && !f.context.frozen && f.job.offload.parameters == offload_place::none;
    return copies ? s.weights.all.weights : byte_count{};
}

/// A candidate beside the blocks of weights as they were loaded. Activations and gradients, which are tensors of a
/// layer's size at most, use them; what ZeRO 1 and 2 have in one tensor does not fit in: weights, master weights,
/// states, and flattened gradients.
constexpr byte_count size_beside_loaded(const tensor_memory& t, byte_count loaded) {
    if (loaded == byte_count{}) return {};
    return t.all() + beyond(loaded, t.gradients + t.activations);
}

/// The peak of one stage.
constexpr stage_peak peak_of(const folded_job& f, const training_stage& s) {
    stage_step in = stage_step_of(f, s);
    const loss_memory& loss = f.ends.loss;
    if (s.last) in.held.logits = loss.held;
    stage_peak peak{.stage = s.holds.stage, .details = in.details};
    byte_count beside_gradients;  // most that the computation's own stream allocates but for gradients
    byte_count loss_forward;
    const byte_count loaded = weights_flattened_on_gpu(f, s);
    peak.loaded = loaded * 2;  // while they are copied
    for_each_peak_candidate(in, [&](const peak_candidate& c) {
        const byte_count size = c.tensors.all();
        consider(peak, c, size);
        if (const byte_count held = size_beside_loaded(c.tensors, loaded); held > peak.loaded) peak.loaded = held;
        if (c.point == peak_point::optimizer_step) return;
        const byte_count own = size - c.tensors.gradients - c.other_streams + c.free_unit;
        if (own > beside_gradients) beside_gradients = own;
        if (c.point == peak_point::loss_forward && size > loss_forward) loss_forward = size;
    });
    const auto reserve = [&](byte_count size) {
        if (size > peak.reserved) peak.reserved = size;
    };
    reserve(beside_gradients + blocks_of_other_phases(in));
    // Logits and their gradients are the widest tensors: neither pass of the loss uses the other's blocks. (A trainer
    // that distils returns freed blocks in between: trl 1.16, experimental/gkd/gkd_trainer.py, empty_cache.)
    const bool keeps_blocks =
        f.job.runtime.allocator.caches_freed_blocks && f.context.divergence == divergence_kind::none;
    if (keeps_blocks && s.last) reserve(loss_forward + loss.kept + loss.gradient);
    if (f.job.runtime.allocator.gaps_by_step) {
        reserve(forward_peak(in) + blocks_of_loss(in, peak.logits) + blocks_of_other_phases(in));
        peak.cut = lost_beside_checkpoints(f, s);
        peak.flattened = left_by_flattening(f.job, f.layout, f.context, s.holds, in.residual);
    }
    const byte_count standing = s.weights.all.weights + s.weights.all.adapter + s.weights.all.optimizer.states;
    peak.transient = beyond(beside_gradients, standing);
    if (peak.wrapping = blocks_of_wrapping(in); peak.wrapping > byte_count{}) {
        // Nor do the small tensors of adapters use them.
        const byte_count of_adapters = f.context.frozen
                                           ? s.weights.all.optimizer.states + s.weights.all.gradients.kept + s.stepping
                                           : byte_count{};
        reserve(s.weights.all.weights + s.weights.all.adapter + peak.wrapping + of_adapters + in.gathered_in_backward);
    }
    return peak;
}

/// The most of each pass of one stage. Precondition: its layers' forward passes were folded.
constexpr training_passes passes_of(const folded_job& f, const training_stage& s) {
    stage_step in = stage_step_of(f, s);
    if (s.last) in.held.logits = f.ends.loss.held;
    training_passes passes{.forward = forward_peak(in)};
    for_each_peak_candidate(in, [&](const peak_candidate& c) {
        const byte_count size = c.tensors.all();
        if (f.job.optimizer.in_backward && c.point == peak_point::optimizer_step) {  // there is none of its own
            take(passes, peak_point::embedding_gradient, size);
            take(passes, c.point, in.held.all());
        } else {
            take(passes, c.point, size);
        }
    });
    return passes;
}

}  // namespace llmres::inline v0::detail
