// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/fsdp.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// The points of a training step at which memory may peak, and what the candidates of one stage share.
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
    embedding_gradient,           ///< the last gradient of a backward pass
    last_adapter_recomputation,   ///< forward pass of a kind's last layer with adapters, while it is recomputed
    first_adapter_recomputation,  ///< the same of its first layer
    layers_forward,               ///< a layer is computed, or the last one has been, and the head not yet
    loss_forward,                 ///< the loss is computed from the logits
    loss_gradient,                ///< the gradient of the logits is computed
    head_backward,                ///< the head's product is differentiated
    final_norm_backward,          ///< the norm after the layers is differentiated, step by step
    head_step,                    ///< an optimizer that steps in the backward pass updates the head
    logits_returned,              ///< naive pipeline: the last GPU hands the logits to the first
    reference_forward,            ///< preference tuning: a layer of the reference, or of the teacher, is computed
    reference_loss,               ///< preference tuning: the reference's log-probabilities are, or the teacher's logits
};

/// The part of a step that a plan names for a point.
constexpr phase phase_of(peak_point point) {
    switch (point) {
        case peak_point::optimizer_step: return phase::optimizer;
        case peak_point::layers_forward: return phase::forward;
        case peak_point::loss_forward:
        case peak_point::loss_gradient:
        case peak_point::head_backward:
        case peak_point::logits_returned: return phase::loss;
        case peak_point::reference_forward:
        case peak_point::reference_loss: return phase::reference;
        default: return phase::backward;
    }
}

/// Adds a point of a step to its fullest moments by pass. The gradient of the logits is the first of the backward pass.
constexpr void take(training_passes& passes, peak_point point, byte_count size) {
    byte_count& most = point == peak_point::optimizer_step                                         ? passes.step
                       : phase_of(point) == phase::forward                                         ? passes.forward
                       : point == peak_point::loss_forward || point == peak_point::logits_returned ? passes.loss
                       : phase_of(point) == phase::reference                                       ? passes.loss
                                                                                                   : passes.backward;
    if (size > most) most = size;
    if (phase_of(point) == phase::reference && size > passes.reference) passes.reference = size;
}

/// The tensors of a stage at one point of the step.
struct peak_candidate {
    peak_point point{};
    std::int32_t kind = 0;  ///< of the layer, where the point is one of each kind of layer
    tensor_memory tensors{};
    byte_count other_streams{};  ///< of `tensors.communication`, what streams beside the computation's allocate
    byte_count free_unit{};      ///< a unit's blocks on the stream that gathers, which no unit fills at this point
};

/// What the candidates of one stage are computed from: which rules apply, and what several candidates hold alike.
struct stage_step {
    const folded_job& folded;
    const training_stage& stage;
    bool shards_weights;        ///< ZeRO 3: weights are gathered for each unit
    bool shards_by_parameter;   ///< as FSDP2 does
    bool shards_tensors;        ///< as DeepSpeed does
    bool accumulates;           ///< gradients exist before the backward pass: of earlier micro-batches, or in a buffer
    bool adds_gradients;        ///< of `accumulates`: each gradient is made, then added to that of earlier ones
    byte_count unsharded;       ///< of gradients, what a backward pass holds beyond what stays for the optimizer's step
    bool steps_in_backward;     ///< each tensor is updated, in fp32, as soon as its gradient exists
    byte_count residual;        ///< the tensor that layers hand on
    byte_count head_gradients;  ///< of the weights after the layers, when the layers' backward pass begins
    gathering gathered;         ///< FSDP2's buffers
    byte_count resident;        ///< buffers that exist throughout the step: of communication, and `details.dummies`
    byte_count gathered_in_loss;      ///< weights that are gathered while the loss is computed, and `resident`
    byte_count gathered_in_backward;  ///< weights of the unit that is differentiated and of the prefetched one, and
                                      ///< `resident`
    byte_count ahead_in_backward;     ///< FSDP1: of these, the unit that is gathered ahead of its layer's backward pass
    byte_count backward_communication;
    byte_count backward_streams;  ///< of it, what other streams allocate
    tensor_memory held{};         ///< weights and optimizer states; and logits that the caller holds after the loss
    tensor_details details{};     ///< of the tensors at any point
};

/// True if a gradient reaches a layer of that kind on this stage: all of them may be before the first adapters.
constexpr bool is_differentiated(const stage_step& in, std::size_t kind) {
    const folded_job& f = in.folded;
    // With a virtual pipeline a stage's layers are not those that the model begins with.
    if (!in.stage.first || !begins_late(f.context) || f.layout.virtual_pipeline > 1) return true;
    const stage_range span = span_of(f.by_stage, static_cast<std::int32_t>(kind), in.stage.holds.layers);
    return span.last > unreached_layers(f.job.model, f.context);
}

/// Weights that are gathered during the loss, and during the backward pass. The root unit's stay from the forward pass
/// to the last gradient.
struct gathered_units {
    byte_count in_loss{};
    byte_count in_backward{};  ///< at most
    byte_count ahead{};        ///< of those, FSDP1's unit that is gathered ahead of its layer's backward pass
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
    else
        units = {s.weights.ends.gathered, two_units + s.weights.ends.gathered,
                 runtime.sharding.code == sharding_code::fsdp1 ? f.widest.gathered : byte_count{}};
    if (runtime.sharding.code == sharding_code::deepspeed) {
        const byte_count live = live_weights_of(f.context, s.weights.all.gathered, f.widest.gathered).now;
        units = {live, live};
    }
    return units;
}

/// A tensor of the model's width for each token, in a format: under sequence parallelism a rank's tokens of it.
constexpr byte_count tokens_in(const folded_job& f, const precision& format) {
    return local_bytes({activation_role::residual, product(f.context.tokens.all(), f.job.model.hidden), format,
                        activation_split::sequence},
                       f.split);
}

/// A tensor of a tensor rank's part of the head that scores tokens, which may be the embedding's, in a format.
constexpr byte_count head_in(const folded_job& f, const precision& format) {
    const model& m = f.job.model;
    return size_of(format, ceil_quotient(scored_vocabulary(m), f.layout.tensor), embedding_width_of(m));
}

/// Transformer Engine's dummies of gradients, where products add to a buffer beside.
constexpr byte_count dummies_of(const folded_job& f, const training_stage& s) {
    const bool beside = f.context.runtime.kernels.linear == linear_code::accumulates_beside;
    return beside ? s.weights.all.dummies : byte_count{};
}

/// Of a stage's gradients, what a backward pass holds beyond what stays for the optimizer's step: all that are whole
/// between micro-batches, or a rank's part of those of frozen weights.
constexpr byte_count unsharded_gradients(const folded_job& f, const training_stage& s) {
    const bool mixed = has_mixed_units(f.context, f.layout);
    const bool whole = shares_last_gradients(f.job, f.layout);
    if (!whole && !mixed) return {};
    byte_count all = whole_gradient_of(s.weights.ends, f.context, f.layout);
    for (std::size_t k = 0; k < f.kinds(); ++k)
        all += whole_gradient_of(f.layers[k].state, f.context, f.layout) * s.holds.counts[k];
    return beyond(whole ? all : div_up(all, f.layout.dense_shard_ranks()), s.weights.all.gradients.kept);
}

/// Buckets of DDP beside the gradients.
constexpr byte_count ddp_buckets(const folded_job& f, const training_stage& s) {
    const bool copies =
        !f.context.runtime.sharding.gradient_as_bucket_view && f.layout.zero < 2 && f.layout.dense_data_ranks() > 1;
    return copies ? s.weights.all.gradients.whole : byte_count{};
}

/// Gradients of the head, and of a table that is the head's too; in buckets, no more than a stage keeps.
constexpr byte_count head_gradients_of(const folded_job& f, const training_stage& s) {
    const bool tied = shares_embedding(f.job.model) && s.last;
    const byte_count made =
        s.weights.output.gradients.kept + (tied ? table_gradient(f.weights, s.holds) : byte_count{});
    const byte_count kept = s.weights.all.gradients.kept;
    return in_buckets(f, s) && made > kept ? kept : made;
}

constexpr stage_step stage_step_of(const folded_job& f, const training_stage& s) {
    const job& j = f.job;
    const layout& l = f.layout;
    const llmres::runtime& runtime = f.context.runtime;
    const bool shards = l.zero >= 3 && (l.dense_shard_ranks() > 1 || j.offload.parameters != offload_place::none);
    const bool by_parameter = shards && runtime.sharding.code == sharding_code::fsdp2;
    const bool by_tensor = shards && runtime.sharding.code == sharding_code::deepspeed;
    const byte_count dummies = dummies_of(f, s), bucketed = ddp_buckets(f, s);
    stage_step in{
        .folded = f,
        .stage = s,
        .shards_weights = shards,
        .shards_by_parameter = by_parameter,
        .shards_tensors = by_tensor,
        // DeepSpeed's ZeRO 3 has a rank's gradients in one buffer (stage3.py, grad_partitions_flat_buffer).
        .accumulates = runtime.sharding.keeps_gradients || f.micro_batches > 1 ||
                       (by_tensor && j.offload.optimizer == offload_place::none),
        // DeepSpeed's BF16_Optimizer clears the bf16 gradients before each backward pass (bf16_optimizer.py, backward).
        .adds_gradients = f.micro_batches > 1 && l.zero < 2 && runtime.kernels.linear == linear_code::plain &&
                          !f.context.frozen && !(gradients_of(j) == bf16_and_fp32),
        .unsharded = unsharded_gradients(f, s),
        .steps_in_backward = llmres::steps_in_backward(j.optimizer) && !f.context.frozen,
        .residual = tokens_in(f, f.context.formats.stream),
        .head_gradients = head_gradients_of(f, s),
        .gathered = {},
        .resident = dummies + bucketed + s.zero.throughout,
        .gathered_in_loss = {},
        .gathered_in_backward = {},
        .ahead_in_backward = {},
        .backward_communication = {},
        .backward_streams = s.zero.joined,
        .held = {.weights = s.weights.all.weights,
                 .adapter = s.weights.all.adapter,
                 .optimizer = j.steps == 1 && j.offload.optimizer == offload_place::none
                                  ? states_before_first_step(j, l, s.holds)
                                  : s.weights.all.optimizer.states,
                 .paged = j.steps == 1 ? byte_count{} : s.weights.all.optimizer.paged,
                 .reference = reference_beside(j, l, s.weights.all.weights)},
        .details = {.maybe_more = s.saved.maybe_more,
                    .reduced = s.weights.all.gradients.whole,
                    .gathered = f.context.frozen && l.zero < 3 ? s.weights.all.gradients.whole : s.weights.all.gathered,
                    .updated = s.updated,
                    .buckets = s.zero.throughout + s.zero.backward + s.zero.joined,
                    .dummies = dummies,
                    .bucketed = bucketed}};
    if (by_parameter)
        in.gathered = gathering_of(f.context, s.weights.input, s.weights.output, s.weights.ends, f.widest,
                                   shares_embedding(j.model));
    const gathered_units units = shards ? gathered_units_of(f, s, in.gathered, by_parameter) : gathered_units{};
    in.gathered_in_loss = in.resident + units.in_loss;
    in.gathered_in_backward = in.resident + units.in_backward;
    in.ahead_in_backward = units.ahead;
    // Of DeepSpeed's, one tensor's gradient, until it is copied into the bucket.
    const byte_count fresh =
        in.shards_tensors && f.widest.largest < f.widest.gradients.whole ? f.widest.largest : f.widest.gradients.whole;
    in.backward_communication = in.gathered_in_backward + (shards ? fresh : byte_count{}) + in.gathered.reduced +
                                s.zero.backward + s.zero.joined;
    if (by_parameter && runtime.sharding.separate_streams && runtime.sharding.reshards_after_forward)
        in.backward_streams = f.widest.gathered;
    return in;
}

/// Gradients of all weights when a backward pass has made them, and between micro-batches.
constexpr byte_count gradients_of_all(const stage_step& in) {
    return in.stage.weights.all.gradients.kept + in.unsharded;
}
/// Gradients during a forward pass: those of earlier micro-batches.
constexpr byte_count earlier_gradients(const stage_step& in) {
    return in.accumulates ? gradients_of_all(in) : byte_count{};
}
/// Gradients during a backward pass that has made so many; those that are offloaded as they are made do not add up.
constexpr byte_count gradients_with(const stage_step& in, byte_count made) {
    const byte_count kept = in.stage.weights.all.gradients.kept;
    return in.accumulates || made > kept ? gradients_of_all(in) : made + in.unsharded;
}

/// Communication buffers when the backward pass has left the layers. An optimizer that steps in the backward pass still
/// has the temporaries of a layer, the last kind's of the stage.
constexpr void leave_layers(const stage_step& in, tensor_memory& t) {
    t.communication = in.backward_communication;
    for (std::size_t k = 0; in.steps_in_backward && k < in.folded.kinds(); ++k)
        if (in.stage.holds.counts[k] > 0) {
            t.communication = in.gathered_in_backward;
            t.optimizer_scratch = in.folded.layers[k].state.optimizer.largest_step;
        }
}

}  // namespace llmres::inline v0::detail
