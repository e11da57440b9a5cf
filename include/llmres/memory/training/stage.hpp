// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/layers/delta_net.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/loss.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/deferred_gradients.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/layer/activations.hpp>
#include <llmres/memory/training/layer/masks.hpp>
#include <llmres/memory/training/layer/recomputation.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/micro_batches.hpp>
#include <llmres/memory/training/prediction.hpp>
#include <llmres/memory/training/remembered.hpp>
#include <llmres/memory/training/weights.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What one pipeline stage holds on a GPU: its weights, and what its micro-batches save for their backward passes.
namespace llmres::inline v0::detail {

/// Tensors of the final norm's own when it is differentiated: of a layer norm's kernel the gradients of its output and
/// input, of a norm of several operations those that these make. One kernel of an RMS norm takes less than the layer
/// before it, whose activations are all there.
constexpr byte_count final_norm_backward(const model& m, const training_context& context, const layer_split& l) {
    byte_count held;
    if (m.final_norm == norm_kind::layer) {
        for (const precision* of : {&context.normed(m.final_norm), &context.formats.stream})
            held += local_bytes(
                {activation_role::gradient, context.tokens.all() * m.hidden, *of, activation_split::sequence}, l);
        return held;
    }
    if (m.final_norm != norm_kind::rms || context.runtime.kernels.fuses_norms()) return held;
    const auto add = [&](const activation& a) {
        if (a.until == backward_point::norm) held += local_bytes(a, l);
    };
    const auto added = visiting<activation>(add);
    const layer_writer hold{context, added};
    // What its weight multiplies is freed with the gradient of the weight.
    hold.norm(context.tokens.all(), m.hidden, m.final_norm, activation_split::sequence, backward_point::norm,
              backward_point::inner);
    hold.put(activation_role::gradient, norm_gradients * context.tokens.all() * m.hidden, fp32,
             activation_split::sequence, backward_point::norm);
    return held;
}

/// What one micro-batch makes before and after the layers, on the stages that hold the embedding and the head.
constexpr end_activations end_activations_of(const model& m, const training_context& context, const layer_split& l) {
    end_activations ends{.loss = loss_memory_of(m, context, l),
                         .norm_backward = final_norm_backward(m, context, l),
                         .masks = masks_made(m, context)};
    for_each_input_activation(m, context, [&](const activation& a) {
        (a.role == activation_role::query ? ends.rotary_tables : ends.before_layers) += local_bytes(a, l);
    });
    for_each_output_activation(m, context, [&](const activation& a) { ends.after_layers += local_bytes(a, l); });
    return ends;
}

/// A job with each kind of its layers folded once, for all stages.
struct folded_job {
    training_folds own{};  ///< of a layout that is evaluated alone
    const llmres::job& job;
    const llmres::layout& layout;
    layer_split split;            ///< of `layout`
    const layer_stack& by_stage;  ///< the job's layers in the order of the stages
    training_context context;
    layer_fold fold;  ///< what the folds over layers depend on
    weight_training weights;
    by_kind<training_layer> layers;
    end_activations ends;
    training_state widest{};     ///< of the kind of layer that ZeRO 3 gathers most of
    byte_count last_step{};      ///< of the layers' weights: optimizer_memory::last_step
    std::int64_t micro_batches;  ///< of each rank in a step
    training_folds& folds;       ///< what layouts of the same job have in common
    forward_moments asked;       ///< of the layers' forward passes; where folds are kept, those of peaks

    /// Key of the activations of a kind of layer, or of a place beside the layers.
    constexpr layer_fold fold_of_layer(std::int32_t of) const {
        layer_fold one = fold;
        one.of = of;
        return one;
    }
    /// Key of a kind of layer with its weights.
    constexpr state_fold fold_of(std::int32_t of) const { return {fold_of_layer(of), weights.shards}; }
    /// Key of the weights of a kind of layer alone.
    constexpr state_fold fold_of_states(std::int32_t of) const {
        state_fold one = fold_of(of);
        // Tokens of a rank matter to adapters, and to the gradient of a class token.
        if (!context.frozen && !context.code.class_token) one.layer.split.context_parallel = 1;
        one.layer.split.sequence_parallel = one.layer.split.has_stages = false;
        return one;
    }

    /// is_described()
    constexpr bool described() const { return folds.described; }

    /// A kind of layer.
    constexpr training_layer layer_of(std::int32_t k) const {
        const layer& kind = job.model.layers.kinds[static_cast<std::size_t>(k)];
        const auto of_weights = [&] { return training_state_of(kind, job.model.hidden, weights, last_step); };
        const auto activations = [&] { return layer_activations_of(kind, job, split, context, asked); };
        return training_layer_of(kind, job, split, context, folds.activations.get(fold_of_layer(k), activations),
                                 folds.states.get(fold_of_states(k), of_weights));
    }

    constexpr folded_job(const llmres::job& j, const llmres::layout& l, const layer_stack& in_stage_order,
                         sdpa_backend sdpa, training_folds& kept)
        : folded_job{j, l, in_stage_order, sdpa, &kept, forward_moments::of_peaks} {}
    constexpr folded_job(const llmres::job& j, const llmres::layout& l, const layer_stack& in_stage_order,
                         sdpa_backend sdpa = sdpa_backend::flash, forward_moments forward = forward_moments::of_peaks)
        : folded_job{j, l, in_stage_order, sdpa, &own, forward} {}
    constexpr folded_job(const llmres::job& j, const llmres::layout& l, sdpa_backend sdpa = sdpa_backend::flash)
        : folded_job{j, l, j.model.layers, sdpa} {}
    folded_job(const folded_job&) = delete;  // `weights` refers to `context`

    constexpr std::size_t kinds() const { return static_cast<std::size_t>(job.model.layers.kind_count); }

private:
    constexpr folded_job(const llmres::job& j, const llmres::layout& l, const layer_stack& in_stage_order,
                         sdpa_backend sdpa, training_folds* of_layouts, forward_moments forward)
        : job{j},
          layout{l},
          split{l},
          by_stage{in_stage_order},
          context{j, split, sdpa, of_layouts->code_of(j.model)},
          fold{split, 0, sdpa, context.formats.weights.element_bytes, !(j.offload == offload{})},
          weights{j, split, l, context},
          ends{of_layouts->ends.get(fold_of_layer(0), [&] { return end_activations_of(j.model, context, split); })},
          micro_batches{llmres::micro_batches(j, l)},
          folds{*of_layouts},
          asked{forward} {
        for (std::size_t k = 0; k < kinds(); ++k) {
            const auto kind = static_cast<std::int32_t>(k);
            layers.set(k, folds.layers.get(fold_of(kind), [&] { return layer_of(kind); }));
            const training_state& state = layers[k].state;
            if (state.gathered > widest.gathered) widest = state;
            last_step = state.optimizer.last_step;
        }
    }
};

/// What stands on a stage beside the layers, as a number.
constexpr std::int32_t number_of_place(const placement& here) {
    const bool predicts = here.predictions > 0;
    return ((here.embeddings * 2 + here.beside_embedding) * 2 + predicts) * 2 + here.output;
}

/// What training keeps of the weights of a stage beside its layers, but for layers that predict further tokens.
constexpr end_states states_of_ends(const folded_job& f, const placement& here) {
    const auto folded = [&] {
        end_states made{.input = state_before_layers(f.weights, here),
                        .output = state_after_layers(f.weights, here, f.last_step)};
        made.ends = made.input;
        made.ends.add(made.output, 1);
        return made;
    };
    return f.folds.end_states.get(f.fold_of_states(number_of_place(here)), folded);
}

/// What training keeps of the weights of a stage. Layers that predict further tokens count as `output`.
struct stage_weights : end_states {
    prediction_memory prediction;
    training_state all;

    constexpr stage_weights(const folded_job& f, const placement& here)
        : end_states{states_of_ends(f, here)},
          prediction{here.predictions > 0 ? prediction_memory_of(f.job, f.split, f.context, f.weights, f.last_step)
                                          : prediction_memory{}},
          all{ends} {
        if (here.predictions > 0) {
            output.add(prediction.state, 1);
            ends.add(prediction.state, 1);
            all = ends;
        }
        for (std::size_t k = 0; k < f.kinds(); ++k)
            if (here.counts[k] > 0) all.add(f.layers[k].state, here.counts[k]);
        if (shards_whole_tensors(f.job, f.layout) && f.job.offload.optimizer == offload_place::none)
            all.optimizer.states = sharded_whole_tensors(f.job, f.layout, f.context, here);
    }
};

/// What the layers of a stage save of one micro-batch.
struct saved_layers {
    byte_count all{};
    byte_count cut{};  ///< what the first layers save less than others, to be taken off
};

constexpr saved_layers saved_by_layers(const folded_job& f, const placement& here) {
    const job& j = f.job;
    saved_layers saved;
    for (std::size_t k = 0; k < f.kinds(); ++k) saved.all += f.layers[k].kept * here.counts[k];
    if (j.recompute == recompute::full && j.recompute_every > 1) {
        if (is_naive_pipeline(j, f.layout))
            saved.all += kept_whole(j, f.layers, here.layers);
        else
            for_each_chunk(f.layout, j.model.layers.size, here.stage,
                           [&](stage_range chunk, std::int32_t) { saved.all += kept_whole(j, f.layers, chunk); });
    }
    if (here.stage == 0) saved.cut = cut_off(j, f.layout, f.context, f.layers[0].kept);
    if (saved.cut > saved.all) saved.cut = saved.all;  // a first GPU that holds none of those layers
    return saved;
}

/// What stands before the layers and is saved until the end of the backward pass: embeddings, masks, an encoder.
constexpr byte_count saved_before_layers(const folded_job& f, const placement& here, const encoder_memory& encoder) {
    byte_count saved = encoder.kept;
    // No operation keeps masks, but recomputed layers do.
    if (here.layers.size() > 0 && f.context.recomputes) saved += f.ends.masks;
    if (here.stage > 0) return saved;
    saved += f.ends.before_layers;
    // Where layers offload what they save, the tables of positions that they all read are among it.
    if (saved_tensors_of(f.job, f.context) != saved_tensors::moved) saved += f.ends.rotary_tables;
    return saved;
}

/// Micro-batches whose activations a stage holds at once, as copies of all its layers.
constexpr held_micro_batches micro_batches_held(const folded_job& f, const placement& here) {
    if (is_naive_pipeline(f.job, f.layout)) return {1.0, 1.0};
    if (f.layout.deals_evenly()) {
        const double held = in_flight(f.layout, here.stage, f.micro_batches);
        return {held, held};
    }
    return in_flight_unevenly(f.by_stage, f.layout, here.layers, here.stage, f.micro_batches, f.layers);
}

/// What a stage saves from forward to backward passes.
struct saved_memory {
    byte_count all{};     ///< of all micro-batches in flight
    byte_count before{};  ///< of `all`, what stands before the layers and stays until the end of the backward pass
    byte_count cut{};     ///< what the first layers save less than others
    /// Layers' tensors leave the GPU as they are made, so that `all` has no more of them than what is being copied.
    bool moves = false;
    byte_count each{};         ///< where layers move: what each of the two that are on the GPU is counted with
    byte_count not_at_loss{};  ///< of `all`, what is not held while the loss is computed and differentiated
    /// Tokens of busier experts than the mean; what older code of gated delta nets keeps; what is being copied to main
    /// memory.
    byte_count maybe_more{};
};

/// Where layers move, one of the two that are on the GPU is the one that is computed, or differentiated: what is
/// counted beyond what it keeps, be it of another kind than the widest.
constexpr byte_count counted_beyond(const saved_memory& saved, byte_count kept) { return beyond(saved.each, kept); }

/// What one pipeline stage holds, whatever the point of the step.
struct training_stage {
    placement holds;
    bool first;
    bool last;
    bool naive_pipeline;  ///< stages work one at a time, micro-batch by micro-batch
    stage_weights weights;
    encoder_memory encoder{};
    saved_memory saved{};
    byte_count stepping{};  ///< what the optimizer makes while it steps
    byte_count updated{};   ///< what the optimizer's step reads and writes
    zero_buffers zero{};    ///< DeepSpeed's buffers

    constexpr training_stage(const folded_job& f, const placement& here)
        : holds{here},
          first{here.stage == 0},
          last{here.stage == f.layout.last_stage()},
          naive_pipeline{is_naive_pipeline(f.job, f.layout)},
          weights{f, here} {}
};

/// Whether as many layers of a stage keep their activations whole as of the one before it, which has as many layers:
/// which ones `recompute_every` passes over follows from their numbers in the model.
constexpr bool recomputes_alike(const folded_job& f, std::int32_t stage) {
    const std::int32_t every = f.job.recompute == recompute::full ? f.job.recompute_every : 1;
    return every == 1 || stage_layers(f.job.model.layers.size, f.layout.pipeline, stage - 1).size() % every == 0;
}

/// Whether the first stage surely holds all that one of as many equal layers behind it does, and embeddings beside: its
/// first layers save no less than others, and nothing depends on how unequal its weights are.
constexpr bool holds_more_first(const folded_job& f) {
    const job& j = f.job;
    return !f.context.frozen && !f.context.code.fp32_residual && j.steps != 1 && f.layout.zero < 3 &&
           j.mtp_layers == 0 && j.model.encoders[0].layers == 0 && !shards_whole_tensors(j, f.layout);
}

/// Whether a stage holds no more than the one before it, which has as many equal layers and more micro-batches: in main
/// memory as on its GPUs. Where gradients of weights are deferred, later stages hold more of these.
constexpr bool repeats_stage_before(const folded_job& f, std::int32_t stage) {
    const layout& l = f.layout;
    if (stage < 1 || stage == l.last_stage() || is_naive_pipeline(f.job, l) || defers_weight_gradients(l.schedule))
        return false;
    if (stage == 1 && !holds_more_first(f)) return false;
    // Stages of several chunks hold micro-batches by the sizes of these, and a list may place prediction anywhere.
    const bool simple = l.stages.chunks == 0 && l.virtual_pipeline == 1 && f.job.recompute_every == 1 &&
                        l.schedule == pipeline_schedule::one_forward_one_backward;
    return ((l.deals_evenly() && recomputes_alike(f, stage)) || simple) &&
           repeats_layers_before(f.job.model.layers, l, stage);
}

/// Calls visit(placement) for the stages of a range that may be the busiest.
template <class Visit>
constexpr void for_each_stage(const folded_job& f, std::int32_t first, std::int32_t end, Visit&& visit) {
    for (std::int32_t stage = first; stage < end; ++stage)
        if (stage == first || !repeats_stage_before(f, stage)) visit(placement_of(f.job, f.layout, stage));
}

/// Tokens of experts that are busier than the mean, where a layout spreads experts and the job names no load.
constexpr byte_count uneven_tokens(const folded_job& f, const placement& here, double batches) {
    byte_count uneven;
    const job& j = f.job;
    if (f.layout.expert == 1 || j.expert_load != 1.0) return uneven;
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        if (here.counts[k] == 0) continue;
        const byte_count routed = f.layers[k].routed;
        const bool kept =
            f.layers[k].kept + routed >= f.layers[k].saved && j.offload.activations == offload_place::none;
        uneven +=
            kept ? scaled_up(routed * here.counts[k], worst_imbalance * batches) : scaled_up(routed, worst_imbalance);
    }
    return uneven;
}

/// Bytes that gated delta nets in plain PyTorch keep more before transformers 5.17, which profiles do not tell apart.
/// Where layers are computed anew there is one at a time.
constexpr byte_count kept_by_rows(const folded_job& f, const placement& here, double batches) {
    byte_count more;
    if (f.context.runtime.kernels.scan != scan_code::plain) return more;
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        const recurrent& r = f.job.model.layers.kinds[k].recurrent;
        if (here.counts[k] == 0 || !is_gated_delta(r)) continue;
        const delta_shape s{r, f.context.tokens};
        const byte_count layer = div_up(
            size_of(fp32, product(f.context.tokens.sequences * s.chunks, s.heads), solved_by_rows()), f.layout.tensor);
        if (f.context.recomputes)
            more = more > layer ? more : layer;
        else
            more += scaled_up(layer * here.counts[k], batches);
    }
    return more;
}

/// Whether what layers save leaves the GPU: each tensor as it is made, or the layers but for two.
constexpr bool moves_layers(const folded_job& f, const placement& here) {
    return f.job.offload.activations != offload_place::none &&
           (f.context.runtime.kernels.checkpointing.offloads_at_once || here.layers.size() > 2);
}

/// Of what layers save, what stays on the GPU: all, or the layers that are being copied to main memory and back.
constexpr saved_layers left_on_gpu(const folded_job& f, const placement& here) {
    saved_layers saved = saved_by_layers(f, here);
    if (!moves_layers(f, here)) return saved;
    saved = {};
    if (f.context.runtime.kernels.checkpointing.offloads_at_once) return saved;
    // One is copied while the next is computed: the last ones, which save all that others do.
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (here.counts[k] > 0 && f.layers[k].kept * 2 > saved.all) saved.all = f.layers[k].kept * 2;
    return saved;
}

/// Of parts of layers that are offloaded by name, one layer's: what is being copied.
constexpr byte_count copied_parts(const folded_job& f, const placement& here) {
    byte_count most;
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (here.counts[k] > 0 && f.layers[k].away > most) most = f.layers[k].away;
    return most;
}

/// What pipeline schedules keep of a stage's micro-batches beside the layers' activations.
constexpr byte_count kept_by_schedule(const folded_job& f, const placement& here, double batches) {
    const model& m = f.job.model;
    const layout& l = f.layout;
    byte_count kept;
    if (f.context.runtime.pipeline.keeps_stage_outputs && l.pipeline > 1 && here.stage != l.last_stage())
        kept += scaled_up(local_bytes({activation_role::residual, f.context.tokens.all() * m.hidden,
                                       f.context.formats.stream, activation_split::sequence},
                                      f.split),
                          batches);
    if (defers_weight_gradients(l.schedule))
        for (std::size_t k = 0; k < f.kinds(); ++k)
            kept += scaled_up(needed_by_weights(m.layers.kinds[k], m.hidden, f.context, f.split) * here.counts[k],
                              deferred_micro_batches(l, here.stage, f.micro_batches));
    return kept;
}

constexpr saved_memory saved_memory_of(const folded_job& f, const placement& here, const encoder_memory& encoder,
                                       const prediction_memory& prediction) {
    const job& j = f.job;
    const layout& l = f.layout;
    const model& m = j.model;
    const bool last = here.stage == l.last_stage();
    const held_micro_batches held = micro_batches_held(f, here);
    const double batches = held.most;
    const saved_layers layers = left_on_gpu(f, here);
    const byte_count copied = copied_parts(f, here);
    saved_memory saved{
        .before = saved_before_layers(f, here, encoder), .cut = layers.cut, .moves = moves_layers(f, here)};
    if (saved.moves) saved.each = div_up(layers.all, 2);
    saved.all = scaled_up(layers.all - layers.cut, batches) + saved.before + copied +
                kept_by_schedule(f, here, batches) + prediction.kept * predictions_in_flight(l, f.micro_batches);
    saved.not_at_loss =
        scaled_up(layers.all - layers.cut, held.most) - scaled_up(layers.all - layers.cut, held.at_loss);
    if (f.context.runtime.pipeline.defer_embedding_wgrad_compute && last && l.pipeline > 1) {
        const byte_count head = deferred_head(m, f.context, f.split, f.micro_batches);
        saved.before += head;
        saved.all += head;
    }
    // One layer's part may still be copied while the next layer is computed: the copy has a stream of its own, which
    // holds on to what it reads (Megatron-Core, fine_grained_activation_offload.py, bulk_offload_group: record_stream).
    saved.maybe_more = uneven_tokens(f, here, batches) + kept_by_rows(f, here, batches) + copied;
    return saved;
}

/// A layer's own table of cosines and sines, where it has one: in the format that the weights were loaded in.
constexpr byte_count rotary_table(const folded_job& f, const layer& kind) {
    if (f.job.runtime.loading.rope != rope_tables::own || !f.context.code.attention.rotary) return {};
    return size_of(*f.weights.formats.rest, 2 * f.job.model.max_context.in(tokens), kind.attention.rotated_width());
}

/// Gradients of all weights of a stage, whether they stay on the GPU or are offloaded as they are made.
constexpr byte_count gradients_of_stage(const folded_job& f, const training_stage& s) {
    byte_count all = s.weights.ends.gradients.kept;
    for (std::size_t k = 0; k < f.kinds(); ++k) all += f.layers[k].state.gradients.kept * s.holds.counts[k];
    return all;
}

/// Whether gradients are handed to main memory by the bucket, so that they do not exist all at once.
constexpr bool in_buckets(const folded_job& f, const training_stage& s) {
    return s.weights.all.gradients.kept != gradients_of_stage(f, s);
}

/// What the optimizer makes while it steps.
constexpr byte_count stepping_of(const folded_job& f, const training_stage& s) {
    const optimizer_memory& o = s.weights.all.optimizer;
    // The first layer's first tensor is updated after the embedding; an encoder's layers stand between them.
    const training_layer& first = f.layers[f.by_stage.order[static_cast<std::size_t>(s.holds.layers.first)]];
    const byte_count after_embedding =
        s.encoder.layers > 0
            ? byte_count{}
            : beside_last_step(f.job.optimizer, first.state.optimizer.first_step, s.weights.input.optimizer.last_step);
    const byte_count largest = after_embedding > o.largest_step ? after_embedding : o.largest_step;
    const byte_count stepping = o.temporaries + largest + s.zero.stepping;
    if (f.job.optimizer.rank == 0 || f.context.frozen) return stepping;
    // Matrices come last: the first one's projection stands beside the temporaries of the last tensor before them.
    const byte_count before = s.encoder.layers > 0 ? s.encoder.last_step : s.weights.output.optimizer.last_step;
    const byte_count first_matrix = before + f.layers[0].state.optimizer.first_projection;
    return first_matrix > stepping ? first_matrix : stepping;
}

/// The table that says of every pair of positions whether one sees the other, where the model's code has it as a
/// buffer, or each layer has one.
constexpr byte_count mask_table(const folded_job& f, const placement& here) {
    const std::int64_t positions = f.job.model.max_context.in(tokens);
    const mask_buffer code = f.context.code.mask_table;
    const std::int64_t tables = code == mask_buffer::none ? 0 : code == mask_buffer::one ? 1 : here.layers.size();
    return size_of(int8, positions, positions) * tables;
}

/// What the optimizer's step reads and writes: it reads gradients and states, and writes weights and states; once, or
/// all that is trained in each operation of a foreach implementation. `master`: the format of master weights, if any.
constexpr byte_count updated_by_step(const job& j, const layout& l, const training_state& kept,
                                     const maybe<precision>& master) {
    if (j.optimizer.passes > 0 && j.runtime.optimizer.foreach_tensors)
        return div_up(kept.optimizer.states, j.optimizer.moments + (master ? 1 : 0)) * j.optimizer.passes;
    const byte_count gradients = div_up(kept.gradients.whole, l.zero > 0 ? l.dense_shard_ranks() : 1);
    return kept.optimizer.states * 2 + gradients + (j.adapter.trains() ? kept.adapter : kept.weights);
}

/// Adds all that a stage holds beside its weights.
constexpr void complete(training_stage& s, const folded_job& f) {
    const job& j = f.job;
    const layout& l = f.layout;
    if (s.first && j.model.encoders[0].layers > 0)
        s.encoder = encoder_memory_of(j, f.split, f.context, f.weights, s.weights.output.optimizer.last_step);
    s.saved = saved_memory_of(f, s.holds, s.encoder, s.weights.prediction);
    training_state& all = s.weights.all;
    s.updated = updated_by_step(j, l, all, f.weights.master);  // tables of positions are no weights
    for (std::size_t k = 0; k < f.kinds(); ++k)
        all.weights += rotary_table(f, j.model.layers.kinds[k]) * s.holds.counts[k];
    all.weights += mask_table(f, s.holds);
    if (f.context.runtime.sharding.code == sharding_code::deepspeed) {
        // It hands gradients to the host by the bucket, of which there are two (contiguous_gradients, overlap_comm).
        const byte_count buckets = size_of(gradients_of(j), f.context.runtime.sharding.deepspeed.reduce_bucket_size, 2);
        if (j.offload.optimizer != offload_place::none && all.gradients.kept > buckets) all.gradients.kept = buckets;
        s.zero = zero_buffers_of(j, l, f.context, all);
    }
    s.stepping = stepping_of(f, s);
}

constexpr training_stage training_stage_of(const folded_job& f, const placement& here) {
    training_stage s{f, here};
    complete(s, f);
    return s;
}

}  // namespace llmres::inline v0::detail
