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
#include <llmres/training/loss.hpp>
#include <llmres/training/saved.hpp>
#include <llmres/training/state.hpp>
#include <llmres/training/step.hpp>

/// Memory of a training step: weights, gradients, optimizer states and activations, at the fullest of its phases.
namespace llmres {

/// Micro-batches a data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, at_once) : 1;
}

/// What a training job cannot do in this layout on this GPU: batches that do not go round, ZeRO 3 across pipeline stages
/// (DeepSpeed's PipelineEngine asserts stage 1 at most; FSDP gathers at every micro-batch), fp8 without the units,
/// layers whose backward pass no inventory describes.
constexpr status validate_training(const job& j, const layout& l, const gpu& card) {
    if (!trains(j)) return done{};
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    if (j.global_batch > 0 && j.global_batch % at_once != 0) {
        text<191> expected{"a multiple of micro_batch x data x replicas, "};
        expected.append(detail::digits(at_once));
        return refused(error_code::inconsistent, "global_batch", j.global_batch, expected);
    }
    if (l.zero >= 2 && l.pipeline > 1 && j.runtime.training.sharding == sharding_code::deepspeed)
        return refused(error_code::unsupported, "layout.zero", l.zero, "at most 1 with pipeline stages under DeepSpeed");
    if (j.compute.arithmetic == arithmetic_kind::fp8 && !has_fp8(card))
        return refused(error_code::unsupported, "compute", j.compute.name.view(), "a GPU with fp8 units to train in fp8");
    for (std::int32_t k = 0; k < j.model.layers.kind_count; ++k) {
        const layer& kind = j.model.layers.kinds[static_cast<std::size_t>(k)];
        if (kind.recurrent.kind != recurrent_kind::none || kind.attention.cross != cross_attention::none)
            return refused(error_code::unsupported, "layers", kind_name(kind).view(), "layers of self-attention and feed-forward to train");
    }
    return done{};
}

/// The fullest moment of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown training_memory(const job& j, const layout& l);
/// ... of one pipeline stage.
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage);

/// Weights, gradients and optimizer states on a GPU of one stage.
constexpr weight_state training_state(const job& j, const layout& l, std::int32_t stage = 0);

/// Main memory that offloading takes for one GPU: weights, states and gradients, without the engine's pinned buffers.
constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage = 0);

/// What one micro-batch keeps from its forward pass to its backward pass on a GPU of one stage.
constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage = 0);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct training_layer {
    weight_state state{};
    byte_count saved{};       ///< of one micro-batch until the backward pass, nothing recomputed
    byte_count checkpoint{};  ///< the layer's input
    byte_count kept{};        ///< what of the two the job keeps
    byte_count peak{};        ///< of the layer's backward pass, with all it saved
};

constexpr training_layer training_layer_of(const layer& kind, const job& j, const layout& l, const training_step& step,
                                           const weight_state& state) {
    training_layer t{.state = state};
    std::array<byte_count, backward_points> held{};
    byte_count core;  // what selective recomputation drops: attention's own scores
    for_each_saved_activation(kind, j.model.hidden, step, [&](const activation& a) {
        const byte_count size = local_bytes(a, l);
        t.saved += size;
        if (a.role == activation_role::probabilities) core += size;
        for (std::size_t p = 0; p <= static_cast<std::size_t>(a.until); ++p) held[p] += size;
    });
    for_each_gradient_activation(kind, j.model.hidden, step,
                                 [&](const activation& a) { held[static_cast<std::size_t>(a.until)] += local_bytes(a, l); });
    // A quantised weight is expanded for each product.
    if (step.frozen && !(weights_of(j) == step.compute)) held[static_cast<std::size_t>(backward_point::inner)] += state.largest;
    for (const byte_count at : held)
        if (at > t.peak) t.peak = at;
    if (step.engine.recomputes_in_fp32 && step.frozen && j.recompute == recompute::full) t.peak = t.peak * 2;
    t.saved += state.casts;
    t.peak += state.casts;
    t.checkpoint = local_bytes({activation_role::residual, step.tokens.all() * j.model.hidden, step.stream, activation_split::sequence}, l);
    switch (j.recompute) {
        case recompute::none: t.kept = t.saved; break;
        case recompute::selective:
            t.kept = step.engine.recomputes_half ? div_up(t.saved + t.checkpoint, 2) : t.saved - core;
            break;
        case recompute::full: t.kept = t.checkpoint; break;
    }
    return t;
}

/// What the first layer does not keep of a frozen model: nothing before its first adapters passes gradients on. (Engines
/// that recompute have the embedding's output ask for them.)
constexpr byte_count cut_off(const job& j, const layout& l, const training_step& step) {
    const layer& first = j.model.layers[0];
    byte_count kept;
    if (!step.frozen || j.recompute == recompute::full || !first.norm_before_attention) return kept;
    const auto count = [&](const activation& a) { kept += local_bytes(a, l); };
    const layer_writer<const decltype(count)> save{step, count};
    save.norm(step.tokens.all(), j.model.hidden, first.norm, activation_split::sequence, backward_point::attention_norm,
              backward_point::attention_norm);
    if (step.adapter.dropout > 0)
        for (const weight_role role : {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj})
            if (step.adapter.adapts(role))
                save.put(activation_role::mask, step.tokens.all() * j.model.hidden, int8, activation_split::sequence, backward_point::attention);
    return kept;
}

/// The causal mask, where attention needs it as a tensor: one for all layers.
constexpr byte_count mask_bytes(const model& m, const training_step& step) {
    const llmres::attention& a = m.layers[0].attention;
    const bool bites = a.window > token_count{} && a.window.in(tokens) <= step.tokens.keys;
    const bool made = step.kernel == attention_kernel::eager || (step.kernel == attention_kernel::sdpa && bites);
    if (!made || a.kind == attention_kind::none || step.engine.norm == norm_code::fused) return {};
    return size_of(step.stream, step.tokens.sequences, product(step.tokens.length, step.tokens.keys));
}

/// Micro-batches whose activations a stage holds at once: 1F1B holds one for each stage still ahead (arXiv 2104.04473
/// section 2.2.1); interleaving `virtual_pipeline` chunks adds (p-1)/(p v) of them (arXiv 2205.05198 equation 5).
constexpr double in_flight(const layout& l, std::int32_t stage, std::int64_t rounds) {
    const auto ahead = static_cast<double>(l.pipeline - stage);
    if (l.virtual_pipeline == 1 || l.pipeline == 1) {
        const auto all = static_cast<double>(rounds);
        return ahead < all ? ahead : all;
    }
    // Megatron-Core, schedules.py: (p - i - 1) 2 + (v - 1) p chunks of warm-up, and the one under way.
    const double chunks = 2.0 * (ahead - 1) + static_cast<double>((l.virtual_pipeline - 1) * l.pipeline) + 1;
    const double all = static_cast<double>(rounds) * l.virtual_pipeline;
    return (chunks < all ? chunks : all) / l.virtual_pipeline;
}

/// Weights before the first layer and after the last, on the stages that hold them. A tied head on another stage than
/// the embedding is a copy of it.
constexpr weight_state end_state(const model& m, state_fold& fold, bool first, bool last) {
    fold.sum = {};
    const auto outer = [&](const weight& w) { fold(w, false); };
    if (first || (last && m.tied_head)) for_each_input_weight(m, outer);
    if (last) for_each_output_weight(m, outer);
    return fold.sum;
}

constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t first_stage, std::int32_t end_stage) {
    const model& m = j.model;
    const training_step step{j, l};
    const training_engine& engine = step.engine;

    state_fold fold{j, l, step};
    std::array<training_layer, layer_stack::max_kinds> layers{};
    byte_count matrix;  // the largest
    std::int64_t longest = m.hidden;
    weight_state unit;  // the widest that ZeRO 3 gathers
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        layers[k] = training_layer_of(m.layers.kinds[k], j, l, step, fold.sum);
        if (fold.sum.gathered > unit.gathered) unit = fold.sum;
        if (fold.sum.largest > matrix) matrix = fold.sum.largest;
        if (m.layers.kinds[k].feed_forward.width > longest) longest = m.layers.kinds[k].feed_forward.width;
    }

    tensor_memory fullest;
    byte_count hoarded;
    byte_count most;
    const auto consider = [&](const tensor_memory& moment) {
        const byte_count all = moment.all();
        if (all > most) fullest = moment, most = all;
    };
    const std::int64_t rounds = micro_batches(j, l);
    for (std::int32_t stage = first_stage; stage < end_stage; ++stage) {
        const bool first = stage == 0;
        const bool last = stage == l.pipeline - 1;
        const stage_range range = stage_layers(m.layers.size, l.pipeline, stage);
        const auto counts = m.layers.counts(range.first, range.last);

        const weight_state ends = end_state(m, fold, first, last);
        weight_state state = ends;
        byte_count saved;
        byte_count above;    // what the fullest layer's backward pass holds beyond what that layer keeps
        byte_count recent;   // what the last layer keeps
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            state.add(layers[k].state, counts[k]);
            saved += layers[k].kept * counts[k];
            const byte_count more = layers[k].peak - layers[k].kept;
            if (more > above) above = more, recent = layers[k].kept;
        }
        if (j.recompute == recompute::full && j.recompute_every > 1) {
            byte_count whole;
            for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) whole += layers[k].saved * counts[k];
            saved = div_up(saved, j.recompute_every) + whole - div_up(whole, j.recompute_every);
        }
        if (first) saved -= cut_off(j, l, step);
        const byte_count all_saved = scaled_up(saved, in_flight(l, stage, rounds)) + mask_bytes(m, step);

        // DeepSpeed hands gradients to the host by the bucket: two of 5e8 values (reduce_bucket_size, contiguous_gradients).
        const byte_count buckets = gb(2);
        if (j.offload.optimizer != offload_place::none && engine.sharding == sharding_code::deepspeed && state.gradients > buckets)
            state.gradients = buckets;
        tensor_memory t{.weights = state.weights,
                        .adapter = state.adapter,
                        .optimizer = state.optimizer,
                        .reduced = state.whole_gradients,
                        .gathered = step.frozen && l.zero < 3 ? state.whole_gradients : state.gathered,
                        .stage = stage};
        const bool fetches = j.offload.parameters != offload_place::none;
        const bool sharded = l.zero >= 3 && (l.dense_data_ranks() > 1 || fetches);
        const byte_count resident = engine.linear == linear_code::accumulates_beside ? state.dummies : byte_count{};
        const bool accumulated = engine.keeps_gradients || rounds > 1;

        t.phase = phase::optimizer;
        t.gradients = state.gradients;
        t.communication = resident + state.temporaries + state.stepped * j.optimizer.tensor_temporaries;
        consider(t);

        // A unit under way and the one fetched ahead of it; the root's weights, gathered from first to last.
        byte_count fetched = resident;
        if (sharded && engine.keeps_frozen_gathered && step.frozen)
            fetched += state.gathered;
        else if (sharded)
            fetched += unit.gathered * 2 + ends.gathered;

        t.phase = phase::backward;
        t.gradients = state.gradients;
        t.communication = fetched + (sharded ? unit.whole_gradients : byte_count{});
        t.activations = above + recent;
        consider(t);
        t.gradients = accumulated ? state.gradients : ends.gradients;
        t.activations = all_saved + above;
        consider(t);

        if (step.adapter.kind == adapter_kind::dora) {
            // The norm of W + B A: four fp32 tensors of W's shape, and the identity that B A is applied to
            // (peft/tuners/lora/dora.py, get_weight_norm of A's width squared).
            t.phase = phase::forward;
            t.gradients = accumulated ? state.gradients : byte_count{};
            t.activations = all_saved + matrix * 8 + size_of(step.compute, longest, longest);
            consider(t);
        }

        if (!last) continue;
        std::array<byte_count, 4> loss{};
        for_each_loss_activation(m, step, [&](const activation& a, loss_point at) { loss[static_cast<std::size_t>(at)] += local_bytes(a, l); });
        t.phase = phase::loss;
        t.communication = fetched;
        t.gradients = accumulated ? state.gradients : byte_count{};
        t.activations = all_saved + loss[0];
        t.logits = loss[1] > loss[2] ? loss[1] : loss[2];
        if (engine.hoards_logits) hoarded = loss[1] > loss[2] ? loss[2] : loss[1];
        consider(t);
        t.logits = loss[3];
        if (engine.linear == linear_code::plain)
            t.gradients = accumulated ? state.gradients : ends.gradients;
        else if (!step.frozen)
            t.communication += ends.largest;
        consider(t);
    }
    return with_runtime(fullest, j, l, hoarded);
}

}  // namespace detail

constexpr memory_breakdown training_memory(const job& j, const layout& l) {
    return detail::training_memory(j, l, 0, l.pipeline);
}
constexpr memory_breakdown training_memory(const job& j, const layout& l, std::int32_t stage) {
    return detail::training_memory(j, l, stage, stage + 1);
}

constexpr weight_state training_state(const job& j, const layout& l, std::int32_t stage) {
    const training_step step{j, l};
    state_fold fold{j, l, step};
    weight_state state = detail::end_state(j.model, fold, stage == 0, stage == l.pipeline - 1);
    const stage_range range = stage_layers(j.model.layers.size, l.pipeline, stage);
    const auto counts = j.model.layers.counts(range.first, range.last);
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
        state.add(fold.sum, counts[k]);
    }
    return state;
}

constexpr byte_count host_memory(const job& j, const layout& l, std::int32_t stage) {
    return training_state(j, l, stage).host;
}

constexpr byte_count saved_activations(const job& j, const layout& l, std::int32_t stage) {
    const training_step step{j, l};
    const stage_range range = stage_layers(j.model.layers.size, l.pipeline, stage);
    const auto counts = j.model.layers.counts(range.first, range.last);
    byte_count total;
    state_fold fold{j, l, step};
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        fold.sum = {};
        for_each_weight(j.model.layers.kinds[k], j.model.hidden, fold);
        total += detail::training_layer_of(j.model.layers.kinds[k], j, l, step, fold.sum).kept * counts[k];
    }
    if (stage == 0) total -= detail::cut_off(j, l, step);
    total += detail::mask_bytes(j.model, step);
    if (stage == l.pipeline - 1)
        for_each_loss_activation(j.model, step, [&](const activation& a, loss_point at) {
            const bool between = at == loss_point::gradient && a.role == activation_role::log_probabilities;
            if (at == loss_point::saved || between) total += local_bytes(a, l);
        });
    return total;
}

}  // namespace llmres
