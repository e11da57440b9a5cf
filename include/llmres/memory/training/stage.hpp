// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/ends.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/pipeline.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/deferred_gradients.hpp>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/memory/training/layer.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/memory/training/micro_batches.hpp>
#include <llmres/memory/training/prediction.hpp>
#include <llmres/memory/training/stage_weights.hpp>
#include <llmres/memory/training/state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What one pipeline stage holds on a GPU, whatever the moment of the step.
namespace llmres::inline v0::detail {

/// A job's layers, each kind folded once for all stages.
struct folded_step {
    const job& of;
    const layout& over;
    training_context context;
    state_fold fold;
    std::array<training_layer, layer_stack::max_kinds> layers{};
    weight_state widest{};  ///< that ZeRO 3 gathers
    std::int64_t rounds;    ///< micro-batches of each rank

    constexpr folded_step(const job& j, const layout& l, bool cudnn = false)
        : of{j}, over{l}, context{j, l, cudnn}, fold{j, l, context}, rounds{micro_batches(j, l)} {
        for (std::size_t k = 0; k < kinds(); ++k) {
            fold.sum = {};
            for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
            layers[k] = training_layer_of(j.model.layers.kinds[k], j, l, context, fold.sum);
            if (fold.sum.gathered > widest.gathered) widest = fold.sum;
        }
    }
    folded_step(const folded_step&) = delete;  // `fold` looks at `step`

    constexpr std::size_t kinds() const { return static_cast<std::size_t>(of.model.layers.kind_count); }
};

struct training_stage {
    placement holds{};  ///< the weights that lie there
    std::int32_t index = 0;
    bool first = false;
    bool last = false;
    bool naive_pipeline = false;  ///< stages work one at a time, micro-batch by micro-batch
    stage_range range{};
    kind_counts counts{};
    weight_state input{};   ///< weights before the layers
    weight_state output{};  ///< ... and after them
    weight_state ends{};    ///< of both
    weight_state state{};   ///< of all
    prediction_memory ahead{};
    encoder_memory encoder{};
    byte_count saved{};       ///< by all micro-batches in flight
    byte_count before{};      ///< of that, by what stands before the layers, until the end
    byte_count cut{};         ///< what the first layers save less than others
    byte_count maybe_more{};  ///< tokens of busier experts than the mean, in all that is in flight; a part on its way
                              ///< to main memory
    byte_count stepping{};    ///< what the optimizer makes while it steps
    zero_buffers zero{};      ///< DeepSpeed's own
};

/// Whether a stage is no fuller than an equal one before it, which has more in flight.
constexpr bool repeats_stage_before(const layer_stack& layers, const layout& l, std::int32_t stage, stage_range here) {
    if (stage <= 1 || stage == l.last_stage()) return false;
    const stage_range before = stage_layers(layers.size, l.pipeline, stage - 1);
    return before.size() == here.size() && layers.alike(before.first, here.first, here.size());
}

/// Weights before and after the layers, and of both.
constexpr void add_ends(training_stage& s, folded_step& f) {
    const model& m = f.of.model;
    const bool predicts = s.holds.predictions > 0;
    if (predicts) s.ahead = prediction_memory_of(f.of, f.over, f.context, f.fold);
    s.input = input_state(m, f.fold, s.holds);
    s.output = output_state(m, f.fold, s.holds);
    if (predicts) s.output.add(s.ahead.state, 1);
    s.ends = s.input;
    s.ends.add(s.output, 1);
}

/// Tokens of busier experts than the mean, where a layout spreads experts and the job names no load.
constexpr byte_count uneven_tokens(const training_stage& s, const folded_step& f, double batches) {
    byte_count uneven;
    if (f.over.expert == 1 || f.of.expert_load != 1.0) return uneven;
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        if (s.counts[k] == 0) continue;
        const byte_count routed = routed_bytes(f.of.model.layers.kinds[k], f.of.model.hidden, f.over, f.context);
        const bool kept =
            f.layers[k].kept + routed >= f.layers[k].saved && f.of.offload.activations == offload_place::none;
        uneven +=
            kept ? scaled_up(routed * s.counts[k], worst_imbalance * batches) : scaled_up(routed, worst_imbalance);
    }
    return uneven;
}

/// What is saved from forward to backward passes.
constexpr void add_saved(training_stage& s, folded_step& f) {
    const job& j = f.of;
    const layout& l = f.over;
    const model& m = j.model;
    byte_count saved;
    byte_count two_layers;
    byte_count passes_by;  // of what goes to main memory by the part: one layer's, as it leaves or comes
    for (std::size_t k = 0; k < f.kinds(); ++k) {
        if (s.counts[k] == 0) continue;
        const training_layer& of = f.layers[k];
        saved += of.kept * s.counts[k];
        if (of.kept * 2 > two_layers) two_layers = of.kept * 2;
        if (of.away > passes_by) passes_by = of.away;
    }
    if (j.recompute == recompute::full && j.recompute_every > 1) saved += kept_whole(j, f.layers, s.range);

    const auto count = [&](const activation& a) { s.before += local_bytes(a, l); };
    if (s.first) for_each_input_activation(m, f.context, count);
    if (s.first && m.encoders[0].layers > 0) s.encoder = encoder_memory_of(j, l, f.context, f.fold);
    s.before += s.encoder.kept + mask_bytes(m, f.context);
    if (s.last && f.context.runtime.kernels.loss.code == loss_code::mean)
        s.before += size_of(fp32, f.context.tokens.all(), m.vocabulary);

    s.cut = s.first ? cut_off(j, l, f.context, f.layers[0].kept) : byte_count{};
    if (s.cut > saved) s.cut = saved;  // a first GPU that holds none of those layers
    const bool leaves = j.offload.activations != offload_place::none;
    if (leaves && f.context.runtime.kernels.checkpointing.offloads_at_once)
        saved = s.cut = {};
    else if (leaves && s.range.size() > 2)
        saved = two_layers;  // one leaves or comes while the next is computed
    const double batches = s.naive_pipeline   ? 1.0
                           : l.deals_evenly() ? in_flight(l, s.index, f.rounds)
                                              : in_flight_unevenly(m.layers, l, s.range, s.index, f.rounds, f.layers);
    s.saved = scaled_up(saved - s.cut, batches) + s.before + passes_by;
    if (f.context.runtime.pipeline.keeps_stage_outputs && l.pipeline > 1 && !s.last)
        s.saved += scaled_up(local_bytes({activation_role::residual, f.context.tokens.all() * m.hidden,
                                          f.context.formats.stream, activation_split::sequence},
                                         l),
                             batches);
    if (puts_off_weights(l.schedule))
        for (std::size_t k = 0; k < f.kinds(); ++k)
            s.saved += scaled_up(needed_by_weights(m.layers.kinds[k], m.hidden, f.context, l) * s.counts[k],
                                 put_off(l, s.index, f.rounds));
    s.saved += s.ahead.kept * predictions_in_flight(l, f.rounds);
    if (f.context.runtime.pipeline.defer_embedding_wgrad_compute && s.last && l.pipeline > 1) {
        const byte_count head = put_off_head(m, f.context, l, f.rounds);
        s.before += head;
        s.saved += head;
    }
    // One layer's part may still leave while the next is made: the copy has a stream of its own, which holds on to what
    // it reads (Megatron-Core, fine_grained_activation_offload.py, bulk_offload_group: record_stream).
    s.maybe_more = uneven_tokens(s, f, batches) + passes_by;
}

/// Cosines and sines of rotary positions, where each layer has its own: in the format that the weights were loaded in.
constexpr byte_count rotary_table(const folded_step& f, const layer& kind) {
    if (f.of.runtime.loading.rope != rope_tables::own || !f.context.code.attention.rotary) return {};
    return size_of(f.fold.formats.rest, 2 * f.of.model.max_context.in(tokens), kind.attention.rotated_width());
}

/// What training keeps of the weights of a stage, its gradients whole: offloaded ones too.
constexpr byte_count kept_gradients(const training_stage& s, const folded_step& f) {
    byte_count all = s.ends.gradients;
    for (std::size_t k = 0; k < f.kinds(); ++k) all += f.layers[k].state.gradients * s.counts[k];
    return all;
}

/// Whether gradients on their way to main memory are there by the bucket, and not all at once.
constexpr bool in_buckets(const training_stage& s, const folded_step& f) {
    return s.state.gradients != kept_gradients(s, f);
}

constexpr training_stage training_stage_of(folded_step& f, const placement& here) {
    const job& j = f.of;
    const layout& l = f.over;
    training_stage s{.holds = here,
                     .index = here.stage,
                     .first = here.stage == 0,
                     .last = here.stage == l.last_stage(),
                     .naive_pipeline = takes_turns(j, l),
                     .range = here.layers,
                     .counts = here.counts};
    add_ends(s, f);
    s.state = s.ends;
    for (std::size_t k = 0; k < f.kinds(); ++k)
        if (s.counts[k] > 0) s.state.add(f.layers[k].state, s.counts[k]);
    add_saved(s, f);
    for (std::size_t k = 0; k < f.kinds(); ++k)
        s.state.weights += rotary_table(f, j.model.layers.kinds[k]) * s.counts[k];
    if (f.context.runtime.optimizer.layer_wise && deals_tensors(j, l) && j.offload.optimizer == offload_place::none)
        s.state.optimizer = dealt_optimizer(j, l, f.context, s.holds);
    if (f.context.runtime.sharding.code == sharding_code::deepspeed) {
        // It hands gradients to the host by the bucket, of which there are two (contiguous_gradients, overlap_comm).
        const byte_count buckets = size_of(gradients_of(j), f.context.runtime.sharding.reduce_bucket_size, 2);
        if (j.offload.optimizer != offload_place::none && s.state.gradients > buckets) s.state.gradients = buckets;
        s.zero = zero_buffers_of(j, l, f.context, s.state);
    }

    s.stepping = s.state.temporaries + s.state.stepped + s.zero.stepping;
    if (j.optimizer.rank > 0 &&
        !f.context.frozen) {  // matrices come last: the first one's projection stands beside what the head left
        const byte_count first_matrix = f.fold.last_stepped + f.layers[0].state.first_projection;
        if (first_matrix > s.stepping) s.stepping = first_matrix;
    }
    return s;
}

}  // namespace llmres::inline v0::detail
