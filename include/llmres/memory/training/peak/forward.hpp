// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak/step.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The most that a stage holds in the forward pass and at the loss: a candidate for each point.
namespace llmres::inline v0::detail {

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

}  // namespace llmres::inline v0::detail
