// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/layer/masks.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak/step.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The most that a stage holds in the backward pass and in the optimizer's step: a candidate for each point.
namespace llmres::inline v0::detail {

/// The optimizer's step: all gradients and states, and what the optimizer makes for the tensors that it updates.
constexpr peak_candidate at_optimizer_step(const stage_step& in) {
    const training_stage& s = in.stage;
    tensor_memory t = in.held;
    t.gradients = s.weights.all.gradients.kept;
    t.optimizer = s.weights.all.optimizer.states;
    t.paged = s.weights.all.optimizer.paged;
    t.communication = in.resident;
    t.optimizer_scratch = s.stepping;
    return {peak_point::optimizer_step, 0, t};
}

/// Gradients of weights, and activations saved, when the backward pass of a layer begins.
struct backward_state {
    byte_count gradients{};
    byte_count saved{};
};

/// When the last layer of a kind begins its backward pass: all later layers have their gradients, and no activations.
constexpr backward_state before_last_layer(const stage_step& in, std::size_t kind) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    backward_state b{in.head_gradients, s.saved.all};
    if (f.kinds() == 1) return b;
    const layer_stack& layers = f.by_stage;
    const stage_range span = span_of(layers, static_cast<std::int32_t>(kind), s.holds.layers);
    const kind_counts later = layers.counts(span.last, s.holds.layers.last);
    b.saved -= counted_beyond(s.saved, f.layers[kind].kept);
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        b.gradients += f.layers[k].state.gradients.kept * later[k];
        if (!s.saved.moves) b.saved -= f.layers[k].kept * later[k];
    }
    return b;
}

/// FSDP1 keeps the gradient of every layer's input but the last's until the step ends, where a frozen unit is one of
/// the reentrant checkpoints: each reads a detached leaf, which register_multi_grad_hook refers to
/// (torch/distributed/fsdp/_runtime_utils.py).
constexpr bool keeps_input_gradients(const stage_step& in) {
    const llmres::runtime& runtime = in.folded.context.runtime;
    return in.shards_weights && in.folded.context.frozen && runtime.sharding.code == sharding_code::fsdp1 &&
           runtime.kernels.checkpointing.reentrant && !runtime.kernels.checkpointing.inside_units &&
           in.folded.job.recompute == recompute::full && in.stage.holds.layers.size() > 2;
}

/// Masks that none of these earlier layers and none of this kind read: recomputed layers after them alone did.
constexpr byte_count masks_freed(const folded_job& f, const kind_counts& earlier, std::size_t kind) {
    const masks_by_window left = masks_of(f.job.model, f.context, [&](std::int32_t k) {
        const auto index = static_cast<std::size_t>(k);
        return index == kind || earlier[index] > 0;
    });
    return f.ends.masks - left[0] - left[1];
}

/// When the first layer of a kind begins its backward pass: the activations of this layer and of those before it are
/// left, and all later gradients exist.
constexpr backward_state before_first_layer(const stage_step& in, std::size_t kind) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    const training_layer& layer = f.layers[kind];
    backward_state b;
    if (f.kinds() == 1) {
        b = {in.head_gradients + layer.state.gradients.kept * (s.holds.counts[kind] - 1),
             s.saved.before + beyond(layer.kept, s.saved.cut)};
    } else {
        const layer_stack& layers = f.by_stage;
        const stage_range span = span_of(layers, static_cast<std::int32_t>(kind), s.holds.layers);
        const kind_counts earlier = layers.counts(s.holds.layers.first, span.first);
        b.gradients = in.head_gradients - layer.state.gradients.kept;
        byte_count kept = layer.kept;
        for (std::size_t k = 0; k < f.kinds(); ++k) {
            b.gradients += f.layers[k].state.gradients.kept * (s.holds.counts[k] - earlier[k]);
            if (!s.saved.moves) kept += f.layers[k].kept * earlier[k];
        }
        b.saved = s.saved.before + beyond(kept, s.saved.cut);
        if (s.first && f.context.recomputes) b.saved -= masks_freed(f, earlier, kind);
    }
    // The last layer's input gradient is no leaf's, and the first layer's is being made.
    if (keeps_input_gradients(in)) b.saved = s.saved.all + f.layers[0].checkpoint * (s.holds.layers.size() - 2);
    return b;
}

/// Whether a unit is gathered ahead while most of a layer is differentiated; `first`: the layer is the first of all.
///
/// When the backward pass of a unit begins, FSDP1 gathers the unit whose forward pass ended before this one's
/// (torch/distributed/fsdp/_runtime_utils.py, _pre_backward_hook; _exec_order_utils.py,
/// get_handle_to_backward_prefetch; backward_prefetch is BACKWARD_PRE by default). Where each trained matrix is a unit,
/// that is a matrix of the same layer, which `ahead_in_backward` does not count. The layer before is gathered when the
/// first of them is differentiated, which is the last of all that the layer's backward pass does but for its norm. No
/// layer is before the first one.
constexpr bool gathers_ahead(const stage_step& in, bool first) {
    const training_context& context = in.folded.context;
    if (in.ahead_in_backward == byte_count{}) return true;
    const bool by_matrix = context.runtime.sharding.adapted_layers == adapted_layer_units::by_trained_matrix;
    if (by_matrix && context.frozen && context.adapter.low_rank()) return false;
    return !first || in.stage.encoder.layers > 0;
}

/// Of a layer's backward pass, or of what comes before it: takes off the unit that is not gathered ahead. Its blocks
/// stay with the stream that gathers, for the layers that have one.
constexpr peak_candidate without_unit_ahead(const stage_step& in, peak_candidate c, bool first_of_kind) {
    const std::size_t first_kind = in.folded.by_stage.order[static_cast<std::size_t>(in.stage.holds.layers.first)];
    if (gathers_ahead(in, first_of_kind && first_kind == static_cast<std::size_t>(c.kind))) return c;
    c.tensors.communication -= in.ahead_in_backward;
    c.free_unit = in.ahead_in_backward;
    return c;
}

/// A second gradient of a weight that is read twice: the embedding's, where the head is tied to it.
constexpr byte_count second_gradient(const stage_step& in) {
    const training_context& context = in.folded.context;
    const model& m = in.folded.job.model;
    if (context.frozen || context.runtime.kernels.linear != linear_code::plain || in.folded.layout.pipeline > 1 ||
        !shares_embedding(m))
        return {};
    return head_in(in.folded, gradients_of(in.folded.job));
}

/// Of a tied head's, what waits for the embedding's gradient before both are added to those of earlier micro-batches.
/// Without such the first one becomes the weight's gradient itself.
constexpr byte_count waiting_gradient(const stage_step& in) {
    return in.folded.micro_batches > 1 && in.folded.layout.zero < 2 ? second_gradient(in) : byte_count{};
}

/// The norm after the layers is differentiated: the logits are freed, and no layer has begun its backward pass.
constexpr peak_candidate at_final_norm_backward(const stage_step& in) {
    const training_stage& s = in.stage;
    tensor_memory t = in.held;
    t.gradients = gradients_with(in, in.head_gradients) + waiting_gradient(in);
    t.activations = s.saved.all - s.saved.not_at_loss + in.folded.ends.norm_backward;
    t.logits = in.folded.ends.loss.held + s.weights.prediction.logits;
    t.communication = in.gathered_in_loss;
    return {peak_point::final_norm_backward, 0, t};
}

/// The bias of the cross-attention's scores and its gradient, which recomputed layers of a decoder share, and which
/// autograd holds until all of them have been differentiated.
constexpr byte_count shared_cross_bias(const stage_step& in) {
    const training_context& context = in.folded.context;
    if (!context.code.attention.biased_scores || !context.recomputes) return {};
    const std::int64_t heads = in.folded.job.model.layers.kinds[0].attention.heads;
    return size_of(context.formats.compute, 2 * context.tokens.length, product(heads, context.encoder_tokens));
}

/// The bias of self-attention's scores: one table of every head and pair of tokens, in the format of the stream.
constexpr byte_count score_bias(const stage_step& in) {
    const training_context& context = in.folded.context;
    if (!context.code.attention.biased_scores) return {};
    const std::int64_t heads = in.folded.job.model.layers.kinds[0].attention.heads;
    return size_of(context.formats.stream, context.tokens.length, product(heads, context.tokens.keys));
}

/// The most of the first layer of a stack whose scores share a bias, of which the gradients of all later layers are
/// added up by then. If it is recomputed, it makes the bias once more beside all that it saves, and cross-attention's
/// has a gradient, too (modeling_t5.py: it requires one where gradient checkpointing is on).
constexpr byte_count first_biased_layer(const stage_step& in, const training_layer& layer, byte_count peak) {
    const byte_count bias = score_bias(in);
    // Recomputed, it is looked up and masked once more.
    if (in.folded.context.frozen) return in.folded.context.recomputes ? peak + bias * 2 : peak;
    if (!in.folded.context.recomputes) return peak + bias;
    const byte_count recomputed = layer.saved + bias;
    const byte_count cross = in.stage.encoder.kept > byte_count{} ? shared_cross_bias(in) : byte_count{};
    return (recomputed > peak ? recomputed : peak) + bias + cross;
}

/// Where FSDP1's units have frozen and trained weights: the gradients of all weights of a unit, and these joined to the
/// unit's own, when the layer's backward pass ends and its activations are gone.
constexpr byte_count joined_gradients(const stage_step& in) {
    const folded_job& f = in.folded;
    const bool mixed = has_mixed_units(f.context, f.layout);
    return mixed ? whole_gradient_of(f.widest, f.context, f.layout) * 2 : byte_count{};
}

/// The backward pass of a kind's last or first layer.
constexpr peak_candidate at_layer_backward(const stage_step& in, peak_point point, std::size_t kind) {
    const training_layer& layer = in.folded.layers[kind];
    const backward_state b =
        point == peak_point::last_layer_backward ? before_last_layer(in, kind) : before_first_layer(in, kind);
    tensor_memory t = in.held;
    t.gradients = gradients_with(in, b.gradients) + waiting_gradient(in);
    byte_count peak = in.adds_gradients ? layer.added_peak : in.accumulates ? layer.peak : layer.fresh_peak;
    if (point == peak_point::first_layer_backward && in.folded.context.code.attention.biased_scores)
        peak = first_biased_layer(in, layer, peak);
    t.activations = b.saved + (peak - layer.kept);
    t.communication = in.steps_in_backward ? in.gathered_in_backward : in.backward_communication;
    const byte_count joined = joined_gradients(in), at_end = b.saved + in.residual;
    if (joined > byte_count{} && at_end + joined > t.activations) t.activations = at_end, t.communication += joined;
    if (in.steps_in_backward) t.optimizer_scratch = layer.state.optimizer.largest_step;
    return without_unit_ahead(in, {point, static_cast<std::int32_t>(kind), t, in.backward_streams},
                              point == peak_point::first_layer_backward);
}

/// What a layer with adapters makes when it is recomputed, beside the gradient of its output: the last one of its kind,
/// with all checkpoints, or the first one, with the gradients of all later layers.
constexpr peak_candidate at_adapter_recomputation(const stage_step& in, peak_point point, std::size_t kind) {
    const bool last = point == peak_point::last_adapter_recomputation;
    const training_layer& layer = in.folded.layers[kind];
    const backward_state b = last ? before_last_layer(in, kind) : before_first_layer(in, kind);
    // Where gradients of layers' inputs are kept, that of the next one's is the first one's output's.
    const bool counted = !last && keeps_input_gradients(in);
    tensor_memory t = in.held;
    t.gradients = gradients_with(in, b.gradients);
    t.activations = b.saved + (layer.saved - layer.kept) + layer.recomputed;
    if (!counted) t.activations += layer.checkpoint;
    leave_layers(in, t);
    return without_unit_ahead(in, {point, static_cast<std::int32_t>(kind), t, in.backward_streams}, !last);
}

/// With tied weights the head's gradient comes first, then the embedding's. Autograd adds the two out of place
/// (torch/csrc/autograd/input_buffer.cpp), so that a third is made for the sum, unless the first comes from a cast or
/// is itself a sum: of a chunked loss's parts. A gradient of earlier micro-batches stands beside the sum.
constexpr byte_count summed_gradients(const stage_step& in) {
    const training_context& context = in.folded.context;
    const bool in_place =
        casts_head(in.folded.job.model, context) || context.runtime.kernels.loss.code == loss_code::chunked;
    return second_gradient(in) * ((in_place ? 1 : 2) + (in.folded.micro_batches > 1 && in.folded.layout.zero < 2));
}

/// The gradient of an embedding that is read once, until it is added to that of earlier micro-batches.
constexpr byte_count added_table(const stage_step& in) {
    const bool apart = in.adds_gradients && !shares_embedding(in.folded.job.model) && in.stage.first;
    return apart ? table_gradient(in.folded.weights, in.stage.holds) : byte_count{};
}

/// The last gradient: the embedding's, beside the gradient of the embedding's output.
constexpr peak_candidate at_embedding_gradient(const stage_step& in) {
    const encoder_memory& encoder = in.stage.encoder;
    tensor_memory t = in.held;
    t.gradients = gradients_of_all(in) + (encoder.kept == byte_count{} ? summed_gradients(in) + added_table(in)
                                          : encoder.reads_tokens       ? second_gradient(in) + waiting_gradient(in)
                                                                       : byte_count{});
    t.activations = in.residual + (encoder.kept == byte_count{} ? byte_count{} : shared_cross_bias(in));
    leave_layers(in, t);
    t.communication += in.gathered.last;
    // No weights are left to be gathered ahead.
    if (in.shards_tensors)
        t.communication = in.resident + in.stage.weights.input.gathered + in.stage.weights.input.gradients.whole +
                          in.stage.zero.joined;
    return {peak_point::embedding_gradient, 0, t, in.backward_streams};
}

/// The backward pass of an encoder-decoder, from the decoder's embedding to the encoder's first layer. The encoder's
/// output is freed with the decoder's activations.
constexpr peak_candidate at_encoder_backward(const stage_step& in, peak_point point) {
    const encoder_memory& encoder = in.stage.encoder;
    const byte_count all = gradients_of_all(in);
    // All are there from earlier micro-batches, and the embedding's waits for the encoder's own.
    const byte_count waiting = encoder.reads_tokens ? waiting_gradient(in) : byte_count{};
    const auto without = [&](byte_count part) { return in.accumulates ? all + waiting : beyond(all, part); };
    tensor_memory t = in.held;
    leave_layers(in, t);
    if (point == peak_point::decoder_embedding_gradient) {
        t.gradients = (in.accumulates ? all : without(encoder.gradients)) + summed_gradients(in);
        t.activations = encoder.kept + encoder.output + shared_cross_bias(in);
    } else if (point == peak_point::encoder_last_layer_backward) {
        t.gradients = without(encoder.gradients);
        t.activations = encoder.kept + encoder.above;
    } else {
        t.gradients = without(encoder.first_gradients);
        t.activations = encoder.kept - encoder.behind + encoder.above;
    }
    return {point, 0, t, in.backward_streams};
}

}  // namespace llmres::inline v0::detail
