// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/layer/activations.hpp>
#include <llmres/memory/training/peak/forward.hpp>
#include <llmres/memory/training/peak/step.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>

/// The most that a step of distillation holds while a teacher computes: a candidate for its layers and one for its
/// head.
namespace llmres::inline v0::detail {

/// A teacher's forward pass, of which nothing is saved.
struct teacher_pass {
    byte_count layer{};      ///< the fullest moment of a layer, with its input and what the model's code refers to
    byte_count casts{};      ///< copies of a layer's weights that autocast keeps until the pass is done
    byte_count head_cast{};  ///< the same of the head's weight
    std::int64_t layers = 0;
    byte_count gathered{};  ///< weights that ZeRO 3 gathers
};

constexpr teacher_pass teacher_pass_of(const folded_job& student) {
    const job taught = job_of_teacher(student.job);
    const folded_job f{taught, student.layout, taught.model.layers, student.context.attention.sdpa,
                       forward_moments::all};
    const training_stage s{f, placement_of(taught, student.layout, 0)};
    const stage_step in = stage_step_of(f, s);
    const training_layer& one = f.layers[0];
    teacher_pass t{.layer = model_frames(in, recorded::no) + one.unrecorded, .layers = taught.model.layers.size};
    if (f.context.autocast) t.casts = one.state.casts.cached;
    if (casts_head(taught.model, f.context)) t.head_cast = head_in(f, f.context.formats.compute);
    if (in.shards_tensors) t.gathered = live_weights_of(f.context, s.weights.all.gathered, f.widest.gathered).now;
    return t;
}

/// All logits of a model on one GPU, in a format.
constexpr byte_count logits_in(const stage_step& in, const precision& format) {
    const std::int64_t scores = product(in.folded.context.tokens.all(), scored_vocabulary(in.folded.job.model));
    return local_bytes({activation_role::logits, scores, format, activation_split::tensor}, in.folded.split);
}

/// All logits of a model as the trainer holds them: accelerate casts to fp32 what a model under autocast returns
/// (accelerate/utils/operations.py, convert_outputs_to_fp32).
constexpr byte_count returned_logits(const stage_step& in) {
    return logits_in(in, in.folded.context.autocast ? fp32 : in.folded.context.formats.compute);
}

/// What is alive while a teacher computes, but for its own: all that the student saved, and its logits.
constexpr tensor_memory beside_teacher(const stage_step& in) {
    const folded_job& f = in.folded;
    const training_stage& s = in.stage;
    tensor_memory t = in.held;
    t.gradients = earlier_gradients(in);
    t.activations = s.saved.all - s.saved.not_at_loss + f.ends.after_layers + f.ends.loss.saved;
    t.communication = in.gathered_in_loss;
    t.logits = returned_logits(in);
    if (f.context.code.loss.caps_logits) t.logits += logits_in(in, f.context.formats.compute);  // autograd saves a tanh
    return t;
}

/// A head makes its logits, and then these are cast or capped: autocast's `casts` of weights are freed in between.
/// `t`: what is alive beside them.
constexpr tensor_memory at_head(const stage_step& in, tensor_memory t, byte_count casts) {
    const training_context& context = in.folded.context;
    const byte_count made = logits_in(in, context.formats.compute);
    const byte_count cast = context.autocast                ? returned_logits(in)
                            : context.code.loss.caps_logits ? made
                                                            : byte_count{};
    t.logits += made + (cast > casts ? cast : byte_count{});
    if (casts >= cast) t.activations += casts;
    return t;
}

/// The student's head has made its logits. Autocast keeps casts of its weights until it has returned them.
constexpr peak_candidate at_student_head(const stage_step& in) {
    tensor_memory t = beside_teacher(in);
    t.activations += loss_frames(in);
    t.logits -= returned_logits(in);
    return {peak_point::loss_forward, 0, at_head(in, t, cached_casts(in))};
}

/// The teacher computes its last layer.
constexpr peak_candidate at_teacher_forward(const stage_step& in, const teacher_pass& taught) {
    tensor_memory t = beside_teacher(in);
    t.activations += taught.layer + taught.casts * (taught.layers - 1);
    t.communication += taught.gathered;
    return {peak_point::reference_forward, 0, t};
}

/// The teacher's head makes its logits.
constexpr peak_candidate at_teacher_head(const stage_step& in, const teacher_pass& taught) {
    tensor_memory t = beside_teacher(in);
    t.communication += taught.gathered;
    return {peak_point::reference_loss, 0, at_head(in, t, taught.casts * taught.layers + taught.head_cast)};
}

/// The candidates of a stage that has a teacher.
template <class Visit>
constexpr void for_each_teacher_candidate(const stage_step& in, Visit&& visit) {
    const teacher_pass taught = teacher_pass_of(in.folded);
    visit(at_student_head(in));
    visit(at_teacher_forward(in, taught));
    visit(at_teacher_head(in, taught));
}

}  // namespace llmres::inline v0::detail
