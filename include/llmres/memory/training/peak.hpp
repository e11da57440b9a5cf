// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// When a training step takes the most memory: the candidates of one pipeline stage, each a value of its own, and the
/// largest of them.
namespace llmres::inline v0::detail {

/// The points of a training step at which the memory of a GPU may peak. Where two take as much, the first here is
/// named.
enum class peak_point : std::uint8_t {
    optimizer_step,              ///< gradients, optimizer states and the optimizer's temporaries; no activations
    last_layer_backward,         ///< backward pass of a kind's last layer: all activations are saved
    first_layer_backward,        ///< backward pass of a kind's first layer: gradients of all later layers exist
    decoder_embedding_gradient,  ///< encoder-decoder: the decoder's embedding, before the encoder's backward pass
    encoder_last_layer_backward,
    encoder_first_layer_backward,
    embedding_gradient,     ///< the last gradient of a backward pass
    adapter_recomputation,  ///< forward pass of a layer with adapters, while it is recomputed
    adapter_forward,        ///< forward pass of the last layer with adapters
    layers_forward,         ///< the last layer has been computed, and the head not yet
    loss_forward,           ///< the loss is computed from the logits
    loss_gradient,          ///< the gradient of the logits is computed
    head_backward,          ///< the head's product is differentiated
    head_step,              ///< an optimizer that steps in the backward pass updates the head
    logits_returned,        ///< naive pipeline: the last GPU hands the logits to the first
};

/// The part of a step that a plan names for a point.
constexpr phase phase_of(peak_point point) {
    switch (point) {
        case peak_point::optimizer_step:
            return phase::optimizer;
        case peak_point::adapter_forward:
        case peak_point::layers_forward:
            return phase::forward;
        case peak_point::loss_forward:
        case peak_point::loss_gradient:
        case peak_point::head_backward:
        case peak_point::logits_returned:
            return phase::loss;
        default:
            return phase::backward;
    }
}

/// Adds a point of a step to its fullest moments by pass. The gradient of the logits is the first of the backward pass.
constexpr void take(training_passes& passes, peak_point point, byte_count size) {
    byte_count& most = point == peak_point::optimizer_step                                         ? passes.step
                       : phase_of(point) == phase::forward                                         ? passes.forward
                       : point == peak_point::loss_forward || point == peak_point::logits_returned ? passes.loss
                                                                                                   : passes.backward;
    if (size > most) most = size;
}

/// The tensors of a stage at one point of the step.
struct peak_candidate {
    peak_point point{};
    std::int32_t kind = 0;  ///< of the layer, where the point is one of each kind of layer
    tensor_memory tensors{};
    byte_count other_streams{};  ///< of `tensors.communication`, what streams beside the computation's allocate
};

/// What the candidates of one stage are computed from: which rules apply, and what several candidates hold alike.
struct stage_step {
    const folded_job& folded;
    const training_stage& stage;
    bool shards_weights;        ///< ZeRO 3: weights are gathered for each unit
    bool shards_by_parameter;   ///< as FSDP2 does
    bool accumulates;           ///< gradients exist before the backward pass: of earlier micro-batches, or in a buffer
    bool steps_in_backward;     ///< each tensor is updated, in fp32, as soon as its gradient exists
    byte_count residual;        ///< the tensor that layers hand on
    byte_count head_gradients;  ///< of the weights after the layers, when the layers' backward pass begins
    gathering gathered;         ///< FSDP2's buffers
    byte_count resident;        ///< communication buffers that exist throughout the step
    byte_count gathered_in_loss;      ///< weights that are gathered while the loss is computed, and `resident`
    byte_count gathered_in_backward;  ///< weights of the unit that is differentiated and of the prefetched one, and
                                      ///< `resident`
    byte_count backward_communication;
    byte_count backward_streams;  ///< of it, what other streams allocate
    tensor_memory held{};         ///< weights and optimizer states, from the forward pass to the last gradient
};

/// Weights that are gathered during the loss, and during the backward pass. The root unit's stay from the forward pass
/// to the last gradient.
struct gathered_units {
    byte_count in_loss{};
    byte_count in_backward{};
};
constexpr gathered_units gathered_units_of(const folded_job& f, const training_stage& s, const gathering& by_parameter,
                                           bool shards_by_parameter) {
    const llmres::runtime& runtime = f.context.runtime;
    const byte_count two_units = f.widest.gathered * 2;
    gathered_units units;
    if (!runtime.sharding.reshards_after_forward)
        units = {s.weights.all.gathered, s.weights.all.gathered};
    else if (shards_by_parameter)
        units = {by_parameter.after_forward, two_units + by_parameter.throughout};
    else if (runtime.sharding.keeps_frozen_gathered && f.context.frozen)
        units = {s.weights.ends.gathered, s.weights.all.gathered + two_units};
    else
        units = {s.weights.ends.gathered, two_units + s.weights.ends.gathered};
    if (runtime.sharding.code == sharding_code::deepspeed) units.in_loss = units.in_backward;
    return units;
}

constexpr stage_step stage_step_of(const folded_job& f, const training_stage& s) {
    const job& j = f.job;
    const layout& l = f.layout;
    const llmres::runtime& runtime = f.context.runtime;
    const bool shards = l.zero >= 3 && (l.dense_shard_ranks() > 1 || j.offload.parameters != offload_place::none);
    const bool by_parameter = shards && runtime.sharding.code == sharding_code::fsdp2;
    const byte_count dummies =
        runtime.kernels.linear == linear_code::accumulates_beside ? s.weights.all.dummies : byte_count{};
    stage_step in{
        .folded = f,
        .stage = s,
        .shards_weights = shards,
        .shards_by_parameter = by_parameter,
        .accumulates = runtime.sharding.keeps_gradients || f.micro_batches > 1,
        .steps_in_backward = llmres::steps_in_backward(j.optimizer) && !f.context.frozen,
        .residual = size_of(f.context.formats.stream, f.context.tokens.all(), j.model.hidden),
        .head_gradients = j.model.tied_head && s.last ? s.weights.ends.gradients.kept - s.encoder.gradients
                                                      : s.weights.output.gradients.kept,
        .gathered = {},
        .resident = dummies + s.zero.throughout,
        .gathered_in_loss = {},
        .gathered_in_backward = {},
        .backward_communication = {},
        .backward_streams = s.zero.joined,
        .held = {.weights = s.weights.all.weights,
                 .adapter = s.weights.all.adapter,
                 .optimizer = j.steps == 1 && j.offload.optimizer == offload_place::none
                                  ? states_before_first_step(j, l, s.holds)
                                  : s.weights.all.optimizer.states,
                 .maybe_more = s.saved.maybe_more,
                 .reduced = s.weights.all.gradients.whole,
                 .gathered = f.context.frozen && l.zero < 3 ? s.weights.all.gradients.whole : s.weights.all.gathered,
                 .updated = s.updated,
                 .buckets = s.zero.throughout + s.zero.backward + s.zero.joined}};
    if (by_parameter)
        in.gathered =
            gathering_of(f.context, s.weights.input, s.weights.output, s.weights.ends, f.widest, j.model.tied_head);
    const gathered_units units = shards ? gathered_units_of(f, s, in.gathered, by_parameter) : gathered_units{};
    in.gathered_in_loss = in.resident + units.in_loss;
    in.gathered_in_backward = in.resident + units.in_backward;
    in.backward_communication = in.gathered_in_backward + (shards ? f.widest.gradients.whole : byte_count{}) +
                                in.gathered.reduced + s.zero.backward + s.zero.joined;
    if (by_parameter && runtime.sharding.separate_streams && runtime.sharding.reshards_after_forward)
        in.backward_streams = f.widest.gathered;
    return in;
}

// ---- the candidates -------------------------------------------------------------------------------------------------

/// The optimizer's step: all gradients and states, and what the optimizer makes for the tensors that it updates.
constexpr peak_candidate at_optimizer_step(const stage_step& in) {
    const training_stage& s = in.stage;
    tensor_memory t = in.held;
    t.gradients = s.weights.all.gradients.kept;
    t.optimizer = s.weights.all.optimizer.states;
    t.communication = in.resident + s.stepping;
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
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        b.gradients += f.layers[k].state.gradients.kept * later[k];
        b.saved -= f.layers[k].kept * later[k];
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

/// When the first layer of a kind begins its backward pass: the activations of this layer and of those before it are
/// left, and all later gradients exist.
constexpr backward_state before_first_layer(const stage_step& in, std::size_t kind) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    const training_layer& layer = f.layers[kind];
    backward_state b;
    if (f.kinds() == 1) {
        b = {in.head_gradients + layer.state.gradients.kept * (s.holds.counts[kind] - 1),
             layer.kept + s.saved.before - (s.saved.cut < layer.kept ? s.saved.cut : layer.kept)};
    } else {
        const layer_stack& layers = f.by_stage;
        const stage_range span = span_of(layers, static_cast<std::int32_t>(kind), s.holds.layers);
        const kind_counts earlier = layers.counts(s.holds.layers.first, span.first);
        b = {in.head_gradients - layer.state.gradients.kept, layer.kept + s.saved.before};
        for (std::size_t k = 0; k < f.kinds(); ++k) {
            b.gradients += f.layers[k].state.gradients.kept * (s.holds.counts[k] - earlier[k]);
            b.saved += f.layers[k].kept * earlier[k];
        }
    }
    // The last layer's input gradient is no leaf's, and the first layer's is being made.
    if (keeps_input_gradients(in)) b.saved = s.saved.all + f.layers[0].checkpoint * (s.holds.layers.size() - 2);
    return b;
}

/// The backward pass of a kind's last or first layer.
constexpr peak_candidate at_layer_backward(const stage_step& in, peak_point point, std::size_t kind) {
    const training_stage& s = in.stage;
    const training_layer& layer = in.folded.layers[kind];
    const backward_state b =
        point == peak_point::last_layer_backward ? before_last_layer(in, kind) : before_first_layer(in, kind);
    tensor_memory t = in.held;
    // Gradients that are offloaded as they are made do not add up.
    t.gradients =
        in.accumulates || b.gradients > s.weights.all.gradients.kept ? s.weights.all.gradients.kept : b.gradients;
    t.activations = b.saved + ((in.accumulates ? layer.peak : layer.fresh_peak) - layer.kept);
    t.communication =
        in.steps_in_backward ? in.gathered_in_backward + layer.state.optimizer.largest_step : in.backward_communication;
    return {point, static_cast<std::int32_t>(kind), t, in.backward_streams};
}

/// Communication buffers when the backward pass has left the layers. An optimizer that steps in the backward pass still
/// has the temporaries of a layer.
constexpr byte_count communication_after_layers(const stage_step& in) {
    byte_count held = in.backward_communication;
    for (std::size_t k = 0; in.steps_in_backward && k < in.folded.kinds(); ++k)
        if (in.stage.holds.counts[k] > 0)
            held = in.gathered_in_backward + in.folded.layers[k].state.optimizer.largest_step;
    return held;
}

/// A second gradient of a weight that is read twice: the embedding's, where the head is tied to it.
constexpr byte_count second_gradient(const stage_step& in) {
    const training_context& context = in.folded.context;
    const model& m = in.folded.job.model;
    if (context.frozen || context.runtime.kernels.linear != linear_code::plain || in.folded.layout.pipeline > 1 ||
        !m.tied_head)
        return {};
    return size_of(gradients_of(in.folded.job), ceil_quotient(m.vocabulary, in.folded.layout.tensor),
                   embedding_width_of(m));
}

/// With tied weights the head's gradient comes first, then the embedding's. Autograd adds the two out of place
/// (torch/csrc/autograd/input_buffer.cpp), so that a third is made for the sum, unless the first comes from a cast or
/// is itself a sum: of a chunked loss's parts.
constexpr byte_count summed_gradients(const stage_step& in) {
    const training_context& context = in.folded.context;
    return second_gradient(in) *
           (casts_head(context) || context.runtime.kernels.loss.code == loss_code::chunked ? 1 : 2);
}

/// The last gradient: the embedding's, beside the gradient of the embedding's output.
constexpr peak_candidate at_embedding_gradient(const stage_step& in) {
    const encoder_memory& encoder = in.stage.encoder;
    tensor_memory t = in.held;
    t.gradients = in.stage.weights.all.gradients.kept + (encoder.kept == byte_count{} ? summed_gradients(in)
                                                         : encoder.reads_tokens       ? second_gradient(in)
                                                                                      : byte_count{});
    t.activations = in.residual;
    t.communication = communication_after_layers(in) + in.gathered.last;
    return {peak_point::embedding_gradient, 0, t, in.backward_streams};
}

/// The backward pass of an encoder-decoder, from the decoder's embedding to the encoder's first layer. The encoder's
/// output is freed with the decoder's activations.
constexpr peak_candidate at_encoder_backward(const stage_step& in, peak_point point) {
    const encoder_memory& encoder = in.stage.encoder;
    const byte_count all = in.stage.weights.all.gradients.kept;
    const auto without = [&](byte_count part) { return all > part ? all - part : byte_count{}; };
    tensor_memory t = in.held;
    t.communication = communication_after_layers(in);
    if (point == peak_point::decoder_embedding_gradient) {
        t.gradients = without(encoder.gradients) + summed_gradients(in);
        t.activations = encoder.kept + encoder.output;
    } else if (point == peak_point::encoder_last_layer_backward) {
        t.gradients = without(encoder.gradients);
        t.activations = encoder.kept + encoder.above;
    } else {
        t.gradients = without(encoder.first_gradients);
        t.activations = encoder.kept - encoder.behind + encoder.above;
    }
    return {point, 0, t, in.backward_streams};
}

/// What adapters make in a forward pass: of the last layer, or of a layer that is recomputed.
constexpr peak_candidate at_adapter_forward(const stage_step& in, std::size_t kind) {
    const training_stage& s = in.stage;
    const training_layer& layer = in.folded.layers[kind];
    const bool recomputes = in.folded.context.recomputes;
    tensor_memory t = in.held;
    t.gradients = in.accumulates ? s.weights.all.gradients.kept
                  : recomputes   ? s.weights.all.gradients.kept - layer.state.gradients.kept
                                 : byte_count{};
    t.activations = s.saved.all + (layer.saved - layer.kept) + layer.forward;
    t.communication = communication_after_layers(in);
    return {recomputes ? peak_point::adapter_recomputation : peak_point::adapter_forward,
            static_cast<std::int32_t>(kind), t, in.backward_streams};
}

/// Casts of weights that autocast keeps from the forward pass to the end of the loss, though what is recomputed does
/// not save them: it caches the cast of every leaf that requires a gradient until its context is left
/// (aten/src/ATen/autocast_mode.cpp, cached_cast).
constexpr byte_count cached_casts(const stage_step& in) {
    const folded_job& f = in.folded;
    const job& j = f.job;
    byte_count casts;
    // torchao's float8 layers cast inside an operation of their own.
    if (linear_arithmetic_of(j) == arithmetic_kind::fp8) return casts;
    const bool whole = j.recompute == recompute::full;
    const stage_range here = in.stage.holds.layers;
    const bool offloads = j.offload.activations != offload_place::none && here.size() > 2;  // casts among the saved
    if (!f.context.autocast || !(whole || keeps_by_product(j) || offloads)) return casts;
    for (std::int32_t i = here.first; i < here.last; ++i)
        if (!whole || offloads || (i + 1) % j.recompute_every == 0)
            casts += f.layers[f.by_stage.order[static_cast<std::size_t>(i)]].state.casts.cached;
    return whole ? casts + in.stage.encoder.casts : casts;
}

/// What the final norm holds beside what it and the head save: the streams before and after the layers, which the
/// model's code still refers to, and an RMS norm's product in fp32.
constexpr byte_count at_final_norm(const stage_step& in) {
    const training_context& context = in.folded.context;
    const bool rms = in.folded.job.model.final_norm == norm_kind::rms;
    const bool eager = rms && !context.runtime.kernels.fuses_norms();
    if (eager && context.formats.fp32_stream) return {};
    return in.residual * 2 + (eager ? size_of(fp32, context.tokens.all(), in.folded.job.model.hidden) : byte_count{});
}

/// The forward pass when its last layer has been computed: what its layers and the final norm save.
constexpr peak_candidate at_layers_forward(const stage_step& in, const loss_memory& loss,
                                           byte_count output_activations) {
    const training_stage& s = in.stage;
    const training_context& context = in.folded.context;
    tensor_memory t = in.held;
    t.gradients = in.accumulates ? s.weights.all.gradients.kept : byte_count{};
    t.activations = s.saved.all + cached_casts(in) + output_activations + loss.saved + at_final_norm(in);
    if (casts_head(context) && in.folded.job.model.vocabulary > 0)  // the head's own cast is made by the head
        t.activations -=
            size_of(context.formats.compute, ceil_quotient(in.folded.job.model.vocabulary, in.folded.layout.tensor),
                    embedding_width_of(in.folded.job.model));
    t.communication = in.gathered_in_loss;
    return {peak_point::layers_forward, 0, t};
}

/// The forward pass of the last layer of an encoder.
constexpr peak_candidate at_encoder_forward(const stage_step& in) {
    tensor_memory t = in.held;
    t.gradients = in.accumulates ? in.stage.weights.all.gradients.kept : byte_count{};
    t.activations = in.stage.encoder.kept + in.stage.encoder.forward;
    t.communication = in.gathered_in_loss;
    return {peak_point::layers_forward, 0, t};
}

/// The forward pass of the last layer of a kind: attention's scores, or all that a recomputed layer holds.
constexpr peak_candidate at_layer_forward(const stage_step& in, std::size_t kind) {
    const training_stage& s = in.stage;
    const training_layer& layer = in.folded.layers[kind];
    tensor_memory t = in.held;
    t.gradients = in.accumulates ? s.weights.all.gradients.kept : byte_count{};
    t.activations = s.saved.all + cached_casts(in);
    const byte_count at_mixer =
        layer.forwards.at_mixer > layer.kept ? layer.forwards.at_mixer - layer.kept : byte_count{};
    const byte_count alive = layer.forwards.after_saved > at_mixer ? layer.forwards.after_saved : at_mixer;
    t.activations += in.folded.context.recomputes ? layer.forwards.recomputed : alive;
    t.communication = in.gathered_in_loss;
    return {peak_point::layers_forward, static_cast<std::int32_t>(kind), t};
}

/// The loss, forward or its gradient: all activations are saved, and the logits exist.
constexpr peak_candidate at_loss(const stage_step& in, peak_point point, const loss_memory& loss,
                                 byte_count output_activations) {
    const training_stage& s = in.stage;
    tensor_memory t = in.held;
    t.gradients = in.accumulates ? s.weights.all.gradients.kept : byte_count{};
    t.activations = s.saved.all + output_activations + loss.saved;
    if (point == peak_point::loss_forward) t.activations += cached_casts(in);
    t.logits =
        loss.kept + (point == peak_point::loss_forward ? loss.forward : loss.gradient) + s.weights.prediction.logits;
    t.communication = in.gathered_in_loss;
    return {point, 0, t};
}

/// The head's product is differentiated.
constexpr peak_candidate at_head_backward(const stage_step& in, const loss_memory& loss,
                                          byte_count output_activations) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    const training_context& context = f.context;
    const model& m = f.job.model;
    const bool plain = context.runtime.kernels.linear == linear_code::plain;
    tensor_memory t = at_loss(in, peak_point::loss_gradient, loss, output_activations).tensors;
    t.logits = loss.head + s.weights.prediction.logits;
    if (plain && !in.accumulates) t.gradients = in.head_gradients;
    if (!context.frozen) {
        if (f.job.optimizer.in_backward)
            t.communication += m.tied_head ? s.weights.input.gradients.whole : s.weights.output.gradients.whole;
        if (context.runtime.kernels.loss.code == loss_code::chunked)
            t.communication += s.weights.ends.largest;  // one part's, to be added
        if (in.shards_by_parameter)
            t.communication += s.weights.output.gathered;  // the gradient, before it is scattered
        if (!plain) t.communication += s.weights.ends.largest;
    }
    if (casts_head(context) && !context.frozen && !in.accumulates && plain && f.layout.zero < 2) {
        // The gradient is made in 16 bits beside that of the logits, and cast to fp32 when they are freed: the cast
        // and the logits' gradient are not alive together.
        const byte_count in_16_bits =
            size_of(context.formats.compute, ceil_quotient(m.vocabulary, f.layout.tensor), embedding_width_of(m));
        if (loss.head < in_16_bits)
            t.logits = {};
        else if (t.gradients >= in_16_bits)  // an optimizer that steps in the backward pass keeps none
            t.gradients -= in_16_bits;
    }
    return {peak_point::head_backward, 0, t};
}

/// An optimizer that steps in the backward pass updates an untied head when the final norm's gradient is made: the
/// logits are freed.
constexpr peak_candidate at_head_step(const stage_step& in, const loss_memory& loss, byte_count output_activations) {
    tensor_memory t = at_head_backward(in, loss, output_activations).tensors;
    t.logits = {};
    t.communication = in.gathered_in_loss + in.stage.weights.output.optimizer.largest_step + in.residual;
    return {peak_point::head_step, 0, t};
}

/// A naive pipeline's last GPU hands the logits to the first, which casts them to fp32 (accelerate: AlignDevicesHook,
/// convert_to_fp32).
constexpr peak_candidate at_logits_returned(const stage_step& in) {
    const training_context& context = in.folded.context;
    const model& m = in.folded.job.model;
    tensor_memory t = in.held;
    t.gradients = in.accumulates ? in.stage.weights.all.gradients.kept : byte_count{};
    t.activations = in.stage.saved.all;
    t.logits = size_of(context.formats.compute, context.tokens.all(), m.vocabulary);
    if (!context.formats.fp32_compute) t.logits += size_of(fp32, context.tokens.all(), m.vocabulary);
    t.communication = in.gathered_in_loss;
    return {peak_point::logits_returned, 0, t};
}

/// Calls visit(peak_candidate) for each candidate of a stage. No candidate depends on another, nor on the order.
template <class Visit>
constexpr void for_each_peak_candidate(const stage_step& in, const loss_memory& loss, Visit&& visit) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    visit(at_optimizer_step(in));
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        if (s.holds.counts[k] == 0) continue;
        visit(at_layer_backward(in, peak_point::last_layer_backward, k));
        visit(at_layer_backward(in, peak_point::first_layer_backward, k));
        if (f.context.adapter.low_rank()) visit(at_adapter_forward(in, k));
    }
    if (s.encoder.kept > byte_count{})
        for (const peak_point point : {peak_point::decoder_embedding_gradient, peak_point::encoder_last_layer_backward,
                                       peak_point::encoder_first_layer_backward})
            visit(at_encoder_backward(in, point));
    visit(at_embedding_gradient(in));
    if (s.last) {
        byte_count after_layers;
        for_each_output_activation(f.job.model, f.context,
                                   [&](const activation& a) { after_layers += local_bytes(a, f.layout); });
        visit(at_loss(in, peak_point::loss_forward, loss, after_layers));
        visit(at_loss(in, peak_point::loss_gradient, loss, after_layers));
        visit(at_head_backward(in, loss, after_layers));
        if (in.steps_in_backward && !f.job.model.tied_head) visit(at_head_step(in, loss, after_layers));
    }
    if (s.first && !s.last && s.naive_pipeline) visit(at_logits_returned(in));
}

/// The most that the forward pass holds before the head. The loss, or the recomputation of a layer, holds more.
constexpr byte_count forward_peak(const stage_step& in, const loss_memory& loss) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    byte_count most;
    const auto consider_size = [&](const peak_candidate& c) {
        if (const byte_count size = c.tensors.all(); size > most) most = size;
    };
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (s.holds.counts[k] > 0) consider_size(at_layer_forward(in, k));
    if (s.encoder.kept > byte_count{}) consider_size(at_encoder_forward(in));
    if (!s.last) return most;
    byte_count after_layers;
    for_each_output_activation(f.job.model, f.context,
                               [&](const activation& a) { after_layers += local_bytes(a, f.layout); });
    consider_size(at_layers_forward(in, loss, after_layers));
    return most;
}

// ---- the largest of them --------------------------------------------------------------------------------------------

/// The largest candidate of one stage or of several, and what the allocator's blocks are counted from.
struct stage_peak {
    std::int32_t stage = 0;
    peak_point point{};
    std::int32_t kind = 0;
    tensor_memory tensors{};
    byte_count size{};         ///< of `tensors`
    byte_count reserved{};     ///< by an allocator whose blocks of one phase do not serve the other
    byte_count transient{};    ///< most of all that is allocated and freed in each step
    byte_count logits{};       ///< most of the logits, and of what the loss makes of them
    byte_count activations{};  ///< most of the activations
    byte_count wrapping{};     ///< blocks that FSDP1's wrapping of the model leaves, beside its shards
    training_passes passes{};  ///< most of each pass
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
    peak.wrapping = most(first.wrapping, other.wrapping);
    peak.passes = {most(first.passes.forward, other.passes.forward), most(first.passes.loss, other.passes.loss),
                   most(first.passes.backward, other.passes.backward), most(first.passes.step, other.passes.step)};
    return peak;
}

/// Gradients and optimizer temporaries whose blocks activations cannot use: PyTorch's allocator keeps a pool of blocks
/// for each stream, and rarely splits one for a much smaller tensor.
constexpr byte_count blocks_of_other_phases(const stage_step& in) {
    const training_stage& s = in.stage;
    const llmres::runtime& runtime = in.folded.context.runtime;
    if (in.folded.job.runtime.allocator.caches_freed_blocks)
        return s.weights.all.gradients.kept + s.stepping + s.zero.joined + s.zero.in_pieces;
    if (runtime.sharding.separate_streams && in.folded.layout.zero >= 2)
        return s.weights.all.gradients.kept + in.gathered.buffers;
    return {};
}

/// Blocks left by FSDP1's wrapping, of which weights that are gathered on another stream do not use any.
constexpr byte_count blocks_of_wrapping(const stage_step& in) {
    const llmres::runtime& runtime = in.folded.context.runtime;
    if (!in.shards_weights || !in.folded.job.runtime.allocator.caches_freed_blocks ||
        runtime.sharding.code != sharding_code::fsdp1)
        return {};
    // Weights lie there in the format that they are stored in, even if they are gathered in one of fewer bits.
    const auto whole = [&](const training_state& unit) {
        const byte_count stored =
            in.folded.context.quantised.four_bit ? byte_count{} : unit.weights * in.folded.layout.dense_shard_ranks();
        return stored > unit.gathered ? stored : unit.gathered;
    };
    return left_by_wrapping(whole(in.stage.weights.ends), whole(in.folded.widest));
}

/// The peak of one stage.
constexpr stage_peak peak_of(const folded_job& f, const training_stage& s) {
    const stage_step in = stage_step_of(f, s);
    const loss_memory loss = s.last ? loss_memory_of(f.job.model, f.context, f.layout) : loss_memory{};
    stage_peak peak{.stage = s.holds.stage};
    peak.passes.forward = forward_peak(in, loss);
    byte_count beside_gradients;  // most that the computation's own stream allocates but for gradients
    byte_count loss_forward;
    for_each_peak_candidate(in, loss, [&](const peak_candidate& c) {
        const byte_count size = c.tensors.all();
        consider(peak, c, size);
        if (f.job.optimizer.in_backward && c.point == peak_point::optimizer_step) {  // there is none of its own
            take(peak.passes, peak_point::embedding_gradient, size);
            take(peak.passes, c.point, in.held.all());
        } else {
            take(peak.passes, c.point, size);
        }
        if (c.point == peak_point::optimizer_step) return;
        const byte_count own = size - c.tensors.gradients - c.other_streams;
        if (own > beside_gradients) beside_gradients = own;
        if (c.point == peak_point::loss_forward) loss_forward = size;
    });
    const auto reserve = [&](byte_count size) {
        if (size > peak.reserved) peak.reserved = size;
    };
    reserve(beside_gradients + blocks_of_other_phases(in));
    // Logits and their gradients are the widest tensors: neither pass of the loss uses the other's blocks.
    if (f.job.runtime.allocator.caches_freed_blocks && s.last) reserve(loss_forward + loss.kept + loss.gradient);
    const byte_count standing = s.weights.all.weights + s.weights.all.adapter + s.weights.all.optimizer.states;
    if (beside_gradients > standing) peak.transient = beside_gradients - standing;
    if (peak.wrapping = blocks_of_wrapping(in); peak.wrapping > byte_count{}) {
        // Nor do the small tensors of adapters use them.
        const byte_count of_adapters = f.context.frozen
                                           ? s.weights.all.optimizer.states + s.weights.all.gradients.kept + s.stepping
                                           : byte_count{};
        reserve(s.weights.all.weights + s.weights.all.adapter + peak.wrapping + of_adapters + in.gathered_in_backward);
    }
    return peak;
}

}  // namespace llmres::inline v0::detail
