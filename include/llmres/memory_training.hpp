// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/gpu.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory_breakdown.hpp>
#include <llmres/parameters.hpp>
#include <llmres/training/checks.hpp>
#include <llmres/training/device_map.hpp>
#include <llmres/training/encoder_memory.hpp>
#include <llmres/training/gathers.hpp>
#include <llmres/training/in_flight.hpp>
#include <llmres/training/layer_memory.hpp>
#include <llmres/training/loss.hpp>
#include <llmres/training/outer.hpp>
#include <llmres/training/put_off.hpp>
#include <llmres/training/saved.hpp>
#include <llmres/training/stage_weights.hpp>
#include <llmres/training/state.hpp>
#include <llmres/training/step.hpp>
#include <llmres/training/varied.hpp>
#include <utility>

/// Memory of a training step: weights, gradients, optimizer states and activations, at the fullest of its phases.
namespace llmres {

/// The fullest moment of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown training_memory(const job& j, const layout& l);
/// ... with the attention kernel that PyTorch chooses on this GPU.
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card);
/// ... of one pipeline stage.
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage);

/// Weights, gradients and optimizer states on a GPU of one stage.
constexpr weight_state training_state(const job& j, const layout& l, std::int32_t stage = 0);

/// Main memory that offloading takes for one GPU: weights, states, gradients and saved activations, without the engine's buffers.
constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage = 0);

/// ... for a node with so many GPUs of the busiest stage. High: what is pinned may be twice as large.
constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus);

/// What one micro-batch keeps from its forward pass to its backward pass on a GPU of one stage.
/// `cudnn`: where PyTorch prefers that attention.
constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage = 0, bool cudnn = false);
/// ... and of that, its layers: what offloading takes to the host.
constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage = 0, bool cudnn = false);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr memory_breakdown memory_of_stages(const job& j, const layout& l, std::int32_t first_stage, std::int32_t end_stage, bool cudnn) {
    const model& m = j.model;
    const training_step step{j, l, cudnn};
    const training_engine& engine = step.engine;

    state_fold fold{j, l, step};
    std::array<training_layer, layer_stack::max_kinds> layers{};
    weight_state unit;  // the widest that ZeRO 3 gathers
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        layers[k] = training_layer_of(m.layers.kinds[k], j, l, step, fold.sum);
        if (fold.sum.gathered > unit.gathered) unit = fold.sum;
    }

    tensor_memory fullest;
    byte_count most;
    byte_count held;    // by an allocator that keeps the blocks of one phase while the next asks for others
    byte_count beside;  // gradients, at any moment but the optimizer's
    byte_count passing;  // of that, what comes and goes
    byte_count scores;   // ... as logits
    byte_count most_active;  // activations at any moment
    byte_count coming;   // in `communication`, what another stream gathers
    const auto consider = [&](const tensor_memory& moment) {
        const byte_count all = moment.all();
        if (all > most) fullest = moment, most = all;
        if (all - moment.gradients - coming > beside) beside = all - moment.gradients - coming;
        if (moment.logits > scores) scores = moment.logits;
        if (moment.activations > most_active) most_active = moment.activations;
    };
    const std::int64_t rounds = micro_batches(j, l);
    const bool evenly = l.deals_evenly();
    const bool turns = takes_turns(j, l);
    for (std::int32_t stage = first_stage; stage < end_stage; ++stage) {
        const bool first = stage == 0;
        const bool last = stage == l.last_stage();
        const stage_range range = turns ? layers_by_bytes(j, l, stage)
                                  : evenly ? stage_layers(m.layers.size, l.pipeline, stage) : layers_of_stage(l, m.layers.size, stage);
        if (evenly && !turns && stage > first_stage && stage > 1 && !last) {  // no fuller than an equal stage before it, which has more in flight
            const stage_range before_it = stage_layers(m.layers.size, l.pipeline, stage - 1);
            if (before_it.size() == range.size() && m.layers.alike(before_it.first, range.first, range.size())) continue;
        }
        const auto counts = m.layers.counts(range.first, range.last);

        prediction_memory ahead;
        const bool predicts = j.mtp_layers > 0 && stage == prediction_stage(l);
        if (predicts) ahead = prediction_memory_of(j, l, step, fold);
        const weight_state input = input_state(m, fold, first || predicts, last);
        weight_state output = output_state(m, fold, last);
        if (predicts) output.add(ahead.state, 1);
        weight_state ends = input;
        ends.add(output, 1);
        weight_state state = ends;
        byte_count saved;
        byte_count two_layers;
        byte_count passes_by;  // of what goes to main memory by the part: one layer's, as it leaves or comes
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            state.add(layers[k].state, counts[k]);
            saved += layers[k].kept * counts[k];
            if (layers[k].kept * 2 > two_layers) two_layers = layers[k].kept * 2;
            if (layers[k].away > passes_by) passes_by = layers[k].away;
        }
        if (j.recompute == recompute::full && j.recompute_every > 1) saved += kept_whole(j, layers, range);
        byte_count before;  // kept by what stands before the layers, until the end
        if (first) for_each_input_activation(m, step, [&](const activation& a) { before += local_bytes(a, l); });
        encoder_memory read;
        if (first && m.encoders[0].layers > 0) read = encoder_memory_of(j, l, step, fold);
        before += read.kept + mask_bytes(m, step);
        if (last && engine.loss == loss_code::mean) before += size_of(fp32, step.tokens.all(), m.vocabulary);
        // What is offloaded passes through two layers' worth of memory: one leaves or comes while the next is computed.
        byte_count cut = first ? cut_off(j, l, step, layers[0].kept) : byte_count{};
        if (cut > saved) cut = saved;  // a first GPU that holds none of those layers
        const bool leaves = j.offload.activations != offload_place::none;
        if (leaves && engine.offloads_at_once)
            saved = cut = {};
        else if (leaves && range.size() > 2)
            saved = two_layers;
        const double batches = turns ? 1.0 : evenly ? in_flight(l, stage, rounds) : in_flight_unevenly(m.layers, l, range, stage, rounds, layers);
        byte_count all_saved = scaled_up(saved - cut, batches) + before;
        if (puts_off_weights(l.schedule))
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k)
                all_saved += scaled_up(needed_by_weights(m.layers.kinds[k], m.hidden, step, l) * counts[k], put_off(l, stage, rounds));

        all_saved += passes_by;
        if (predicts) all_saved += ahead.kept * predictions_in_flight(l, rounds);
        if (engine.defer_embedding_wgrad_compute && last && l.pipeline > 1) before += put_off_head(m, step, l, rounds), all_saved += put_off_head(m, step, l, rounds);
        if (engine.layer_wise_optimizer && deals_tensors(j, l) && j.offload.optimizer == offload_place::none)
            state.optimizer = dealt_optimizer(j, l, step, counts, stage);

        byte_count uneven;  // tokens of busier experts than the mean, in all that is in flight
        if (l.expert > 1 && j.expert_load == 1.0) {
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
                if (counts[k] == 0) continue;
                const byte_count routed = routed_bytes(m.layers.kinds[k], m.hidden, l, step);
                const bool kept = layers[k].kept + routed >= layers[k].saved && j.offload.activations == offload_place::none;
                uneven += kept ? scaled_up(routed * counts[k], worst_imbalance * batches) : scaled_up(routed, worst_imbalance);
            }
        }

        // DeepSpeed hands gradients to the host by the bucket: two of 5e8 values (reduce_bucket_size, contiguous_gradients).
        const byte_count buckets = gb(2);
        if (j.offload.optimizer != offload_place::none && engine.sharding == sharding_code::deepspeed && state.gradients > buckets)
            state.gradients = buckets;
        tensor_memory t{.weights = state.weights,
                        .adapter = state.adapter,
                        .optimizer = state.optimizer,
                        .maybe_more = uneven,
                        .reduced = state.whole_gradients,
                        .gathered = step.frozen && l.zero < 3 ? state.whole_gradients : state.gathered,
                        .stage = stage};
        const bool fetches = j.offload.parameters != offload_place::none;
        const bool sharded = l.zero >= 3 && (l.dense_shard_ranks() > 1 || fetches);
        const byte_count resident = engine.linear == linear_code::accumulates_beside ? state.dummies : byte_count{};
        const bool accumulated = engine.keeps_gradients || rounds > 1;

        const bool updates = j.optimizer.in_backward && j.optimizer.widens && !step.frozen;
        t.phase = phase::optimizer;
        t.gradients = state.gradients;
        byte_count stepping = state.temporaries + state.stepped;
        if (j.optimizer.rank > 0 && !step.frozen) {  // matrices come last: the first one's projection stands beside what the head left
            const byte_count first_matrix = fold.last_stepped + layers[0].state.first_projection;
            if (first_matrix > stepping) stepping = first_matrix;
        }
        t.communication = resident + stepping;
        if (t.all() > most) fullest = t, most = t.all();
        beside = {};
        if (j.steps == 1 && j.offload.optimizer == offload_place::none) t.optimizer = before_first_step(j, l, counts, stage);

        // A unit under way and the one fetched ahead of it; the root's weights, gathered from first to last.
        byte_count fetched = resident;
        byte_count root = resident;  // while the loss is computed: layers were let go after their forward pass
        if (sharded && !engine.reshards_after_forward)
            root = fetched += state.gathered;
        else if (sharded && engine.keeps_frozen_gathered && step.frozen)
            root += ends.gathered, fetched += state.gathered + unit.gathered * 2;
        else if (sharded)
            root += ends.gathered, fetched += unit.gathered * 2 + ends.gathered;
        if (engine.sharding == sharding_code::deepspeed) root = fetched;
        const bool by_parameter = sharded && engine.sharding == sharding_code::fsdp2;
        gathering gathers;
        if (by_parameter) {
            gathers = gathering_of(step, input, output, ends, unit, m.tied_head);
            if (engine.reshards_after_forward) {
                root = resident + gathers.after_forward;
                fetched = resident + unit.gathered * 2 + gathers.throughout;
            }
        }

        // Each layer's input gradient but the last layer's, whose backward pass started it all, and the one being made.
        const bool held_back = sharded && step.frozen && engine.sharding == sharding_code::fsdp1 && engine.reentrant_checkpoints &&
                               j.recompute == recompute::full && range.size() > 2;
        const byte_count gradients_of_inputs = held_back ? layers[0].checkpoint * (range.size() - 2) : byte_count{};

        // Backward, as far as each kind of layer's last, then its first: gradients of what follows are there, and what
        // it and the layers before it keep.
        t.phase = phase::backward;
        t.communication = fetched + (sharded ? unit.whole_gradients : byte_count{}) + gathers.reduced;
        coming = by_parameter && engine.streams_apart && engine.reshards_after_forward ? unit.gathered : byte_count{};
        const byte_count first_gradients = m.tied_head && last ? ends.gradients - read.gradients : output.gradients;
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            const training_layer& of = layers[k];
            const byte_count above = (accumulated ? of.peak : of.fresh_peak) - of.kept;
            std::array<byte_count, 2> gradients{first_gradients, first_gradients + of.state.gradients * (counts[k] - 1)};
            std::array<byte_count, 2> kept{all_saved, of.kept + before - (cut < of.kept ? cut : of.kept)};
            if (m.layers.kind_count > 1) {
                const stage_range span = span_of(m.layers, static_cast<std::int32_t>(k), range);
                const auto later = m.layers.counts(span.last, range.last);
                const auto earlier = m.layers.counts(range.first, span.first);
                gradients[1] = state.gradients - ends.gradients + first_gradients - of.state.gradients;
                kept[1] = of.kept + before;
                for (std::size_t o = 0; o < static_cast<std::size_t>(m.layers.kind_count); ++o) {
                    gradients[0] += layers[o].state.gradients * later[o];
                    kept[0] -= layers[o].kept * later[o];
                    gradients[1] -= layers[o].state.gradients * earlier[o];
                    kept[1] += layers[o].kept * earlier[o];
                }
            }
            if (held_back) kept[1] = all_saved + gradients_of_inputs;
            for (std::size_t i = 0; i < 2; ++i) {
                t.gradients = accumulated ? state.gradients : gradients[i];
                t.activations = kept[i] + above;
                if (updates) t.communication = fetched + of.state.stepped;
                consider(t);
            }
        }
        // The last gradient: the embedding's, beside that of what it put out. One that is read twice is summed apart:
        // a product's gradient is a transposed view, which torch/csrc/autograd/input_buffer.cpp does not add to; that of a cast is not.
        const byte_count stream = size_of(step.stream, step.tokens.all(), m.hidden);
        byte_count summed;
        if (!step.frozen && engine.linear == linear_code::plain && l.pipeline == 1 && m.tied_head)
            summed = size_of(gradients_of(j), m.vocabulary, m.embedding_width > 0 ? m.embedding_width : m.hidden) *
                     (casts_head(step) || engine.loss == loss_code::chunked ? 1 : 2);  // the parts' sum is added to
        if (read.kept > byte_count{}) {
            // The decoder's embedding, before any of the encoder; then the encoder's last layer, and its first. What the
            // encoder put out is let go with the decoder.
            const byte_count left = before - (keeps_encoder_output(step) ? read.output : byte_count{});
            t.gradients = state.gradients - read.gradients + summed;
            t.activations = left + stream + read.output;
            consider(t);
            t.gradients = state.gradients - read.gradients;
            t.activations = left + read.above;
            consider(t);
            t.gradients = state.gradients - read.first_gradients;
            t.activations = left - read.behind + read.above;
            consider(t);
            if (!read.reads_tokens) summed = {};
        }
        t.gradients = state.gradients + summed;
        t.activations = stream;
        t.communication += gathers.last;
        consider(t);
        t.communication -= gathers.last;

        if (step.adapter.low_rank()) {
            t.phase = step.recomputes ? phase::backward : phase::forward;
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
                if (counts[k] == 0) continue;
                t.gradients = accumulated ? state.gradients : step.recomputes ? state.gradients - layers[k].state.gradients : byte_count{};
                t.activations = all_saved + (layers[k].saved - layers[k].kept) + layers[k].forward;
                consider(t);
            }
        }

        if (last) {
            std::array<byte_count, 5> loss{};
            for_each_loss_activation(m, step, [&](const activation& a, loss_point at) { loss[static_cast<std::size_t>(at)] += local_bytes(a, l); });
            t.phase = phase::loss;
            t.communication = root;
            coming = {};
            byte_count after;
            for_each_output_activation(m, step, [&](const activation& a) { after += local_bytes(a, l); });
            t.gradients = accumulated ? state.gradients : byte_count{};
            t.activations = all_saved + after + loss[0];
            const byte_count computed = loss[1] + loss[2];
            const byte_count differentiated = loss[1] + loss[3];
            t.logits = (computed > differentiated ? computed : differentiated) + ahead.scores;
            const byte_count both = t.all() + (computed > differentiated ? differentiated : computed);
            if (j.runtime.hoards && both > held) held = both;
            consider(t);
            t.logits = loss[4] + ahead.scores;
            if (j.optimizer.in_backward && !step.frozen) t.communication += m.tied_head ? input.whole_gradients : output.whole_gradients;
            if (engine.loss == loss_code::chunked && !step.frozen) t.communication += ends.largest;  // each part's, to be added
            if (by_parameter && !step.frozen) t.communication += output.gathered;  // its gradient, before it is scattered
            if (engine.linear == linear_code::plain)
                t.gradients = accumulated ? state.gradients : m.tied_head ? first_gradients : output.gradients;
            else if (!step.frozen)
                t.communication += ends.largest;
            if (casts_head(step) && !step.frozen && !accumulated && engine.linear == linear_code::plain && l.zero < 2) {
                // Its gradient is narrow beside that of the logits, and widened when they are gone: with one the cast goes.
                const byte_count narrow = size_of(step.compute, detail::ceil_quotient(m.vocabulary, l.tensor), m.embedding_width > 0 ? m.embedding_width : m.hidden);
                if (loss[4] < narrow)
                    t.logits = {};
                else
                    t.gradients -= narrow;
            }
            consider(t);
            if (updates && !m.tied_head) {  // the head, when the final norm's gradient comes: the logits are gone
                t.phase = phase::backward;
                t.logits = {};
                t.communication = root + output.stepped + size_of(step.stream, step.tokens.all(), m.hidden);
                consider(t);
            }
        }
        if (first && !last && turns) {
            // The last GPU's logits are handed back to the first, and widened there (accelerate: AlignDevicesHook, convert_to_fp32).
            t.phase = phase::loss;
            t.communication = root;
            t.gradients = accumulated ? state.gradients : byte_count{};
            t.activations = all_saved;
            t.logits = size_of(step.compute, step.tokens.all(), m.vocabulary);
            if (!step.wide) t.logits += size_of(fp32, step.tokens.all(), m.vocabulary);
            consider(t);
        }
        // Blocks of gradients that another stream made, or of what the optimizer makes while it steps.
        const byte_count apart = j.runtime.hoards ? state.gradients + stepping
                                 : engine.streams_apart && l.zero >= 2 ? state.gradients + gathers.buffers : byte_count{};
        if (beside + apart > held) held = beside + apart;
        const byte_count standing = state.weights + state.adapter + state.optimizer;
        if (beside - standing > passing) passing = beside - standing;
    }
    const byte_count unused = held > most ? held - most : byte_count{};
    interval<byte_count> hoarded{byte_count{}, unused, unused};
    interval<byte_count> apart{};
    if (!j.runtime.hoards) std::swap(hoarded, apart), apart.low = apart.expected;
    if (j.runtime.hoards && most_active > fullest.activations)  // gaps between activations that are gone at the fullest moment
        hoarded.high += scaled_up(most_active - fullest.activations, j.runtime.churn.high);
    // FSDP1 gathers units on a stream of its own (torch/distributed/fsdp/_runtime_utils.py, _unshard_stream), two at a time.
    if (j.runtime.hoards && engine.sharding == sharding_code::fsdp1 && l.zero >= 3 && fullest.phase != phase::backward)
        hoarded.high += unit.gathered * 2;
    if (j.varied_lengths) {
        const varied_blocks more = blocks_of_varied_lengths(passing, scores);
        if (more.idle.expected > hoarded.expected) hoarded.expected = more.idle.expected;  // one phase's serve the other, too
        if (more.idle.high > hoarded.high) hoarded.high = more.idle.high;
        apart += more.stuck;
    }
    memory_breakdown sized = with_runtime(fullest, j, l, hoarded, apart);
    if (engine.sharding == sharding_code::deepspeed && l.zero >= 3 && l.dense_shard_ranks() > 1) {
        // Between ranks, DeepSpeed's defaults let 1e9 values of gathered weights live, and fill two buckets of 5e8 values of gradients
        // (stage3_max_live_parameters; reduce_bucket_size under overlap_comm). Transformers' "auto" asks for less.
        const auto at_most = [](byte_count all) { return all < gb(2) ? all : gb(2); };
        const byte_count more = at_most(fullest.gathered) + at_most(fullest.reduced);
        sized[memory_term::communication].high += more;
        sized.allocated.high += more;
        sized.reserved.high += more;
    }
    return sized;
}

constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t first_stage, std::int32_t end_stage, bool cudnn = false) {
    if (l.deals_evenly()) return memory_of_stages(j, l, first_stage, end_stage, cudnn);
    job by_stage = j;
    by_stage.model.layers = ordered_by_stage(j.model.layers, l);
    return memory_of_stages(by_stage, l, first_stage, end_stage, cudnn);
}

}  // namespace detail

constexpr memory_breakdown training_memory(const job& j, const layout& l) {
    return detail::training_memory(j, l, 0, l.pipeline);
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, const gpu& card) {
    return detail::training_memory(j, l, 0, l.pipeline, prefers_cudnn_attention(card));
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage) {
    return detail::training_memory(j, l, stage, stage + 1);
}

constexpr weight_state training_state(const job& j, const layout& l, std::int32_t stage) {
    const training_step step{j, l};
    state_fold fold{j, l, step};
    const bool predicts = j.mtp_layers > 0 && stage == detail::prediction_stage(l);
    weight_state state = detail::input_state(j.model, fold, stage == 0 || predicts, stage == l.last_stage());
    state.add(detail::output_state(j.model, fold, stage == l.last_stage()), 1);
    if (predicts) state.add(detail::prediction_memory_of(j, l, step, fold).state, 1);
    const auto counts = detail::training_counts(j, l, stage);
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
        state.add(fold.sum, counts[k]);
    }
    if (detail::deals_tensors(j, l) && j.offload.optimizer == offload_place::none) state.optimizer = detail::dealt_optimizer(j, l, step, counts, stage);
    return state;
}

constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage) {
    byte_count held = training_state(j, l, stage).host;
    if (!j.offload.modules.empty()) {
        const training_step step{j, l};
        const auto counts = detail::stage_counts(j.model.layers, l, stage);
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k)
            held += scaled_up(detail::named_parts_of(j.model.layers.kinds[k], j, l, step).away * counts[k], detail::in_flight(l, stage, micro_batches(j, l)));
    }
    if (j.offload.activations == offload_place::host)
        held += detail::takes_turns(j, l) ? saved_by_layers(j, l, stage)
                                          : scaled_up(saved_by_layers(j, l, stage), detail::in_flight(l, stage, micro_batches(j, l)));
    return held;
}

constexpr interval<byte_count> host_memory_of_node(const job& j, const layout& l, std::int32_t gpus) {
    byte_count most;
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const byte_count held = host_memory(j, l, stage) * (gpus < l.gpus() ? gpus : l.gpus());
        if (held > most) most = held;
    }
    return {most, most, j.offload.pinned ? most * 2 : most};
}

constexpr byte_count saved_by_layers(const job& j, const layout& l, std::int32_t stage, bool cudnn) {
    const training_step step{j, l, cudnn};
    const auto counts = detail::training_counts(j, l, stage);
    state_fold fold{j, l, step};
    std::array<detail::training_layer, layer_stack::max_kinds> layers{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
        layers[k] = detail::training_layer_of(j.model.layers.kinds[k], j, l, step, fold.sum);
    }
    byte_count all;
    for (std::size_t k = 0; k < layers.size(); ++k) all += layers[k].kept * counts[k];
    if (j.recompute == recompute::full && j.recompute_every > 1)
        for_each_chunk(l, j.model.layers.size, stage, [&](stage_range here, std::int32_t) { all += detail::kept_whole(j, layers, here); });
    return stage == 0 ? all - detail::cut_off(j, l, step, layers[0].kept) : all;
}

constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage, bool cudnn) {
    const training_step step{j, l, cudnn};
    state_fold fold{j, l, step};
    byte_count total = saved_by_layers(j, l, stage, cudnn);
    const auto count = [&](const activation& a) { total += local_bytes(a, l); };
    if (stage == 0) {
        for_each_input_activation(j.model, step, count);
        if (j.model.encoders[0].layers > 0) total += detail::encoder_memory_of(j, l, step, fold).kept;
    }
    total += detail::mask_bytes(j.model, step);
    if (j.mtp_layers > 0 && stage == detail::prediction_stage(l)) {
        const detail::prediction_memory ahead = detail::prediction_memory_of(j, l, step, fold);
        total += ahead.kept + ahead.scores;
    }
    if (stage == l.last_stage()) {
        for_each_output_activation(j.model, step, count);
        for_each_loss_activation(j.model, step, [&](const activation& a, loss_point at) {
            if (at == loss_point::saved || at == loss_point::kept) total += local_bytes(a, l);
        });
    }
    return total;
}

}  // namespace llmres
