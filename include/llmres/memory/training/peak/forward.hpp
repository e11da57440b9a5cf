// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
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
#include <llmres/memory/training/remembered.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The most that a stage holds in the forward pass and at the loss: a candidate for each point.
namespace llmres::inline v0::detail {

/// Casts of weights that autocast keeps from the forward pass to the end of the loss, though what is recomputed does
/// not save them: it caches the cast of every leaf that requires a gradient until its context is left
/// (aten/src/ATen/autocast_mode.cpp, cached_cast).
/// `left_out`: layers at the stage's end that have not made theirs yet.
constexpr byte_count cached_casts(const stage_step& in, std::int32_t left_out = 0) {
    const folded_job& f = in.folded;
    const job& j = f.job;
    byte_count casts;
    // torchao's float8 layers cast inside an operation of their own.
    if (linear_arithmetic_of(j) == arithmetic_kind::fp8) return casts;
    const bool whole = j.recompute == recompute::full;
    const stage_range here = in.stage.holds.layers;
    const bool offloads = j.offload.activations != offload_place::none && here.size() > 2;  // casts among the saved
    if (!f.context.autocast || !(whole || keeps_by_product(j) || offloads)) return casts;
    for (std::int32_t i = here.first; i < here.last - left_out; ++i)
        if (!whole || offloads || (i + 1) % j.recompute_every == 0)
            casts += f.layers[f.by_stage.order[static_cast<std::size_t>(i)]].state.casts.cached;
    return whole ? casts + in.stage.encoder.casts : casts;
}

/// The encoder's output, unless autograd keeps it for every layer's keys and values.
constexpr byte_count encoder_output(const stage_step& in) {
    const training_context& context = in.folded.context;
    if (keeps_encoder_output(context)) return {};
    return size_of(context.normed(in.folded.job.model.final_norm), context.tokens.sequences,
                   product(context.encoder_tokens, in.folded.job.model.hidden));
}

/// Whether autograd records a forward pass: a reference's it does not.
enum class recorded : bool { no, yes };

/// What the model's code refers to throughout the forward pass, though autograd does not keep it: embeddings before
/// their sum or dropout, or the first layer's input; masks; the bias that every layer adds to its scores; and what an
/// encoder puts out. Of a pass that is recorded, layers that are recomputed keep what they read.
constexpr byte_count model_frames(const stage_step& in, recorded pass = recorded::yes) {
    const bool records = pass == recorded::yes;
    const folded_job& f = in.folded;
    const model& m = f.job.model;
    const training_context& context = f.context;
    const layer& block = m.layers.kinds[0];
    const saved_tensors becomes = saved_tensors_of(f.job, context);
    const bool kept = records && (becomes == saved_tensors::recomputed ||
                                  (becomes == saved_tensors::stay && keeps_input(block, context)));
    const std::int32_t embeddings = context.code.frames.embeddings;
    // PEFT has the embedding's output require a gradient, and autograd holds it (inventory/layers/ends.hpp).
    const bool leaf = records && context.frozen && context.recomputes && embeddings > 0;
    const bool normed = context.code.norms.after_sum && context.widens(block.norm);
    const byte_count stream = in.residual * (normed && !context.formats.fp32_stream ? 2 : 1);  // fp32 beside 16 bits
    byte_count held = stream * (embeddings > 0 ? embeddings - leaf : kept ? 0 : 1);
    if (context.code.frames.shared_positions) held -= in.residual - div_up(in.residual, context.tokens.sequences);
    if (context.recomputes && records) return held;
    if ((becomes == saved_tensors::moved || !records) && in.stage.first) held += f.ends.rotary_tables;
    held += f.ends.masks;
    if (m.encoders[0].layers > 0) held += encoder_output(in);
    if (!context.code.attention.biased_scores) return held;
    const std::int64_t pairs = product(block.attention.heads, product(context.tokens.length, context.tokens.keys));
    held += size_of(context.formats.stream, 1, pairs);
    if (context.attention.kernel == attention_kernel::eager)
        held += size_of(context.formats.compute, context.tokens.length,
                        product(block.attention.heads, context.encoder_tokens));
    return held;
}

/// What the final norm holds beside what it and the head save: the stream before it, unless it keeps that, and the
/// product in fp32 of an RMS norm, or of one that is written out in it.
constexpr byte_count at_final_norm(const stage_step& in) {
    const training_context& context = in.folded.context;
    const norm_kind kind = in.folded.job.model.final_norm;
    if (context.code.norms.after_sum || keeps_stream(kind, context)) return {};
    const bool multiplies = kind == norm_kind::rms || context.code.norms.form == norm_form::wide_mean;
    const bool written_out = multiplies && !context.runtime.kernels.fuses_norms();
    return in.residual + (written_out ? tokens_in(in.folded, fp32) : byte_count{});
}

/// What the model's code refers to while the loss is computed: what its head reads, and its encoder's output, unless
/// autograd keeps them.
constexpr byte_count loss_frames(const stage_step& in) {
    const training_context& context = in.folded.context;
    const model& m = in.folded.job.model;
    const bool reads_all = scored_vocabulary(m) > 0 || m.head.kind == head_kind::pooled;
    const loss_code loss = context.runtime.kernels.loss.code;
    if (!reads_all || loss == loss_code::fused_linear || loss == loss_code::fused_log_probabilities) return {};
    byte_count held;
    if (context.frozen || context.casts(m.final_norm)) held += tokens_in(in.folded, context.normed(m.final_norm));
    if (m.encoders[0].layers > 0 && !context.recomputes) held += encoder_output(in);
    return held;
}

/// The forward pass when its last layer has been computed: what its layers and the final norm save.
constexpr peak_candidate at_layers_forward(const stage_step& in) {
    const training_stage& s = in.stage;
    const end_activations& ends = in.folded.ends;
    const training_context& context = in.folded.context;
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.activations =
        s.saved.all + cached_casts(in) + ends.after_layers + ends.loss.saved + at_final_norm(in) + model_frames(in);
    t.logits = {};
    if (casts_head(in.folded.job.model, context))  // the head's own cast is made by the head
        t.activations -= head_in(in.folded, context.formats.compute);
    t.communication = in.gathered_in_loss;
    return {peak_point::layers_forward, 0, t};
}

/// The forward pass of the last layer of an encoder.
constexpr peak_candidate at_encoder_forward(const stage_step& in) {
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.activations = in.stage.encoder.kept + in.stage.encoder.forward;
    t.logits = {};
    if (in.folded.context.recomputes) t.activations += in.stage.encoder.casts;
    t.communication = in.gathered_in_loss;
    return {peak_point::layers_forward, 0, t};
}

/// The forward pass of the last layer of a kind.
constexpr peak_candidate at_layer_forward(const stage_step& in, std::size_t kind) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    const stage_range here = s.holds.layers;
    const std::int32_t last =
        f.kinds() == 1 ? here.last : span_of(f.by_stage, static_cast<std::int32_t>(kind), here).last;
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.logits = {};
    // The layer's own casts are part of its forward pass.
    t.activations = s.saved.all - counted_beyond(s.saved, f.layers[kind].kept) +
                    cached_casts(in, here.last - last + 1) + model_frames(in);
    const bool kept_whole = f.context.recomputes && last % f.job.recompute_every != 0;
    if (!kept_whole) t.activations += f.layers[kind].in_forward;
    if (last < here.last && !s.saved.moves) {
        const kind_counts later = f.by_stage.counts(last, here.last);
        for (std::size_t k = 0; k < f.kinds(); ++k) t.activations -= f.layers[k].kept * later[k];
    }
    t.communication = in.gathered_in_loss;
    if (!is_differentiated(in, kind))  // nothing is saved until then
        t.activations = s.saved.before + model_frames(in) + f.layers[kind].unrecorded;
    return {peak_point::layers_forward, static_cast<std::int32_t>(kind), t};
}

/// The loss, forward or its gradient: all activations are saved, and the logits exist.
constexpr peak_candidate at_loss(const stage_step& in, peak_point point) {
    const training_stage& s = in.stage;
    const loss_memory& loss = in.folded.ends.loss;
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.activations = s.saved.all - s.saved.not_at_loss + in.folded.ends.after_layers + loss.saved;
    // A teacher has computed since the student's casts were freed.
    const bool follows_student = in.folded.context.divergence == divergence_kind::none;
    if (point == peak_point::loss_forward && follows_student) t.activations += cached_casts(in) + loss_frames(in);
    t.logits = loss.kept + (point == peak_point::loss_forward ? loss.forward : loss.gradient + loss.held) +
               s.weights.prediction.logits;
    t.communication = in.gathered_in_loss;
    return {point, 0, t};
}

/// The fullest moment of the loss in the forward pass. A frozen head reads under autocast a cast of the last norm's
/// fp32 output, which nothing keeps: where logits are few, the product that makes them all at once holds more than the
/// loss.
constexpr peak_candidate at_loss_forward(const stage_step& in) {
    const training_context& context = in.folded.context;
    const model& m = in.folded.job.model;
    const peak_candidate at_the_loss = at_loss(in, peak_point::loss_forward);
    const loss_code loss = context.runtime.kernels.loss.code;
    const bool in_parts = scored_vocabulary(m) == 0 || loss == loss_code::fused_linear || loss == loss_code::chunked ||
                          loss == loss_code::fused_log_probabilities;
    const bool distils = context.divergence != divergence_kind::none;
    if (in_parts || distils || !context.frozen || !context.casts(m.final_norm)) return at_the_loss;
    const std::int64_t rows = ceil_quotient(scored_vocabulary(m), in.folded.layout.tensor);
    peak_candidate at_head = at_the_loss;
    at_head.tensors.activations += size_of(context.formats.compute, context.tokens.all(), m.hidden);
    at_head.tensors.logits =
        size_of(context.formats.compute, context.tokens.all(), rows) + in.stage.weights.prediction.logits;
    return at_head.tensors.all() > at_the_loss.tensors.all() ? at_head : at_the_loss;
}

/// Casts of a reference's weights that autocast keeps until the reference is done: it asks of a leaf whether it
/// requires a gradient, not whether autograd records (aten/src/ATen/autocast_mode.cpp, cached_cast), and trl's
/// reference is a model as from_pretrained() leaves it (trainer/dpo_trainer.py). LLaMA-Factory's requires none
/// (model/loader.py). `left_out`: layers at the stage's end that have not made theirs yet.
constexpr byte_count reference_casts(const stage_step& in, std::int32_t left_out = 0) {
    const folded_job& f = in.folded;
    byte_count casts;
    if (!f.context.autocast || !loads_reference(f.job) ||
        f.context.runtime.kernels.loss.code != loss_code::fused_log_probabilities)
        return casts;
    const stage_range here = in.stage.holds.layers;
    for (std::int32_t i = here.first; i < here.last - left_out; ++i) {
        const cast_memory& layer = f.layers[f.by_stage.order[static_cast<std::size_t>(i)]].state.casts;
        casts += f.context.frozen ? layer.all : layer.cached;
    }
    return casts;
}

/// All logits in fp32, of which log-probabilities are taken; zero where they are made in tiles or parts.
constexpr byte_count whole_logits(const stage_step& in) {
    const folded_job& f = in.folded;
    if (f.context.runtime.kernels.loss.code > loss_code::triton) return {};
    const std::int64_t scores = product(f.context.tokens.all(), scored_vocabulary(f.job.model));
    return local_bytes({activation_role::logits_fp32, scores, fp32, activation_split::tensor}, f.split);
}

/// While a reference is computed: all that the trained model saved, and what is left of its logits. Where these are
/// made whole, they are returned in fp32 beside the log-probabilities, for the mean of what is logged (LLaMA-Factory,
/// train/dpo/trainer.py, concatenated_forward).
constexpr tensor_memory beside_reference(const stage_step& in) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    const loss_memory& loss = f.ends.loss;
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.activations = s.saved.all - s.saved.not_at_loss;
    t.communication = in.gathered_in_loss;
    t.logits = {};
    if (!s.last) return t;
    t.activations += f.ends.after_layers + loss.saved;
    t.logits = loss.kept + whole_logits(in);
    return t;
}

/// The reference computes the last layer of a kind.
constexpr peak_candidate at_reference_forward(const stage_step& in, std::size_t kind) {
    const folded_job& f = in.folded;
    const stage_range here = in.stage.holds.layers;
    const std::int32_t last =
        f.kinds() == 1 ? here.last : span_of(f.by_stage, static_cast<std::int32_t>(kind), here).last;
    tensor_memory t = beside_reference(in);
    t.activations +=
        model_frames(in, recorded::no) + f.layers[kind].unrecorded + reference_casts(in, here.last - last + 1);
    return {peak_point::reference_forward, static_cast<std::int32_t>(kind), t};
}

/// The reference's log-probabilities are computed: the product that whole logits were cast from is gone by then.
constexpr peak_candidate at_reference_loss(const stage_step& in) {
    const loss_memory& loss = in.folded.ends.loss;
    const byte_count whole = whole_logits(in);
    tensor_memory t = beside_reference(in);
    t.activations += reference_casts(in) + loss_frames(in);
    t.logits += loss.kept + (whole > byte_count{} ? whole : loss.forward);
    return {peak_point::reference_loss, 0, t};
}

/// The head's product is differentiated.
constexpr peak_candidate at_head_backward(const stage_step& in) {
    const folded_job& f = in.folded;
    const loss_memory& loss = f.ends.loss;
    const training_stage& s = in.stage;
    const training_context& context = f.context;
    const model& m = f.job.model;
    const bool plain = context.runtime.kernels.linear == linear_code::plain;
    tensor_memory t = at_loss(in, peak_point::loss_gradient).tensors;
    t.logits = loss.head + loss.held + s.weights.prediction.logits;
    if (plain && !in.accumulates) t.gradients = in.head_gradients;
    byte_count beside;  // gradients of the head beside the one that is kept
    if (!context.frozen) {
        if (f.job.optimizer.in_backward)
            beside += shares_embedding(m) ? s.weights.input.gradients.whole : s.weights.output.gradients.whole;
        if (context.runtime.kernels.loss.code == loss_code::chunked) {
            // One part's gradient of the head, to be added. The first sum is a tensor of its own, when the logits'
            // gradients of two parts are gone.
            const std::int64_t parts = loss_parts(context);
            const byte_count others = parts > 2 ? div_up(loss.head * (parts - 2), parts) : byte_count{};
            beside += s.weights.ends.largest;
            if (others + s.weights.ends.largest > loss.head) {
                t.logits = others + s.weights.prediction.logits + beside + s.weights.ends.largest;
                if (casts_head(m, context) && !in.accumulates && plain)  // 16 bits until the last sum
                    t.gradients -= div_up(t.gradients, 2);
                return {peak_point::head_backward, 0, t};
            }
        }
        if (in.shards_by_parameter)
            t.communication += s.weights.output.gathered;  // the gradient, before it is scattered
        if (in.shards_tensors) t.communication += s.weights.output.gradients.whole;
        if (!plain) beside += s.weights.ends.largest;
    }
    if (!context.frozen && f.micro_batches > 1 && plain && f.layout.zero < 2 && scored_vocabulary(m) > 0) {
        // Beside the gradient of earlier micro-batches this one's is made: under autocast in 16 bits, and cast to fp32
        // when the logits' gradient and the cast of the head are freed.
        const byte_count made = head_in(f, context.formats.compute);
        const byte_count cast = head_in(f, gradients_of(f.job));
        t.logits += made;
        if (casts_head(m, context) && cast > t.logits) t.logits = cast;
    }
    if (casts_head(m, context) && !context.frozen && !in.accumulates && plain && f.layout.zero < 2) {
        // The gradient is made in 16 bits beside that of the logits, and cast to fp32 when they are freed: the cast
        // and the logits' gradient are not alive together.
        const byte_count in_16_bits = head_in(f, context.formats.compute);
        if (loss.head < in_16_bits)
            t.logits = loss.held;
        else if (t.gradients >= in_16_bits)  // an optimizer that steps in the backward pass keeps none
            t.gradients -= in_16_bits;
    }
    t.logits += beside;
    return {peak_point::head_backward, 0, t};
}

/// An optimizer that steps in the backward pass updates an untied head when the final norm's gradient is made: the
/// logits are freed.
constexpr peak_candidate at_head_step(const stage_step& in) {
    tensor_memory t = at_head_backward(in).tensors;
    t.logits = in.folded.ends.loss.held;
    t.activations += in.residual;
    t.communication = in.gathered_in_loss;
    t.optimizer_scratch = in.stage.weights.output.optimizer.largest_step;
    return {peak_point::head_step, 0, t};
}

/// A naive pipeline's last GPU hands the logits to the first, which casts them to fp32 (accelerate: AlignDevicesHook,
/// convert_to_fp32).
constexpr peak_candidate at_logits_returned(const stage_step& in) {
    const training_context& context = in.folded.context;
    const model& m = in.folded.job.model;
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.activations = in.stage.saved.all;
    t.logits = size_of(context.formats.compute, context.tokens.all(), scored_vocabulary(m));
    if (!context.formats.fp32_compute) t.logits += size_of(fp32, context.tokens.all(), scored_vocabulary(m));
    t.communication = in.gathered_in_loss;
    return {peak_point::logits_returned, 0, t};
}

}  // namespace llmres::inline v0::detail
