// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory_breakdown.hpp>
#include <llmres/optimizer.hpp>
#include <llmres/parameters.hpp>
#include <llmres/weight_formats.hpp>

/// Memory of a training step: weights, gradients, optimizer states and activations, at the fullest of its phases.
namespace llmres {

/// Micro-batches a data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    const std::int64_t at_once = j.micro_batch * l.data * l.replicas;
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, at_once) : 1;
}

/// The fullest moment of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown training_memory(const job& j, const layout& l);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// What the weights of one place in the model take on one GPU, with what training adds to them.
struct weight_state {
    byte_count weights{};
    byte_count gathered{};  ///< what ZeRO 3 gathers to compute with them
    byte_count gradients{};
    byte_count optimizer{};

    constexpr weight_state& add(const weight_state& o, std::int64_t times) {
        weights += o.weights * times;
        gradients += o.gradients * times;
        optimizer += o.optimizer * times;
        return *this;
    }
};

/// Sums weights, gradients and optimizer states over the weights it is called with. Made once a plan: it holds the
/// job's formats, resolved.
struct weight_fold {
    const job& of;
    const layout& over;
    weight_formats formats;
    precision gradients;
    maybe<precision> master;
    weight_state sum{};

    constexpr weight_fold(const job& j, const layout& l)
        : of{j}, over{l}, formats{formats_for(weights_of(j), j.compute)}, gradients{gradients_of(j)}, master{master_weights_of(j)} {}

    constexpr void operator()(const weight& whole) {
        const weight w = local_part(whole, over);
        const byte_count size = size_of(w, formats);
        const std::int64_t ranks = w.routed ? over.expert_data_ranks() : over.dense_data_ranks();
        const auto sharded = [&](byte_count bytes, bool shard) { return shard ? div_up(bytes, ranks) : bytes; };
        sum.weights += sharded(size, over.zero >= 3);
        sum.gathered += size;
        sum.gradients += sharded(size_of(gradients, w.rows, w.columns) * w.copies, over.zero >= 2);
        const byte_count states = state_bytes(of.optimizer, of.optimizer_states, w.rows, w.columns) +
                                  (master ? size_of(*master, w.rows, w.columns) : byte_count{});
        sum.optimizer += sharded(states * w.copies, over.zero >= 1);
    }
};

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct training_layer {
    weight_state state{};
    byte_count saved{};  ///< activations of one micro-batch kept until the backward pass
    byte_count live{};   ///< all that the layer's backward pass needs
};

constexpr byte_count saved_bytes(const layer& kind, const job& j, const layout& l, const token_shape& s, attention_kernel kernel) {
    byte_count sum;
    for_each_saved_activation(kind, j.model.hidden, s, kernel, j.compute, [&](const activation& a) { sum += local_bytes(a, l); });
    return sum;
}

/// The layer's input alone: what full recomputation keeps.
constexpr byte_count checkpoint_bytes(const job& j, const layout& l, const token_shape& s) {
    return local_bytes({activation_role::residual, s.all() * j.model.hidden, j.compute, activation_split::sequence}, l);
}

constexpr training_layer training_layer_of(const layer& kind, const job& j, const layout& l, const token_shape& s) {
    training_layer share;
    share.live = saved_bytes(kind, j, l, s, j.attention);
    switch (j.recompute) {
        case recompute::none: share.saved = share.live; break;
        case recompute::selective: share.saved = saved_bytes(kind, j, l, s, attention_kernel::flash); break;
        case recompute::full: share.saved = checkpoint_bytes(j, l, s); break;
    }
    return share;
}

/// Micro-batches whose activations a stage holds at once: 1F1B holds one for each stage still ahead (arXiv 2104.04473
/// section 2.2.1); interleaving `virtual_pipeline` chunks adds (p-1)/(p v) of them (arXiv 2205.05198 equation 5).
constexpr double in_flight(const layout& l, std::int32_t stage, std::int64_t micro_batches) {
    const auto ahead = static_cast<double>(l.pipeline - stage);
    const double held = l.virtual_pipeline == 1 ? ahead
                                                : ahead + static_cast<double>(l.pipeline - 1) / l.virtual_pipeline;
    return held < static_cast<double>(micro_batches) ? held : static_cast<double>(micro_batches);
}

/// Weights before the first layer and after the last, on the stages that hold them. A tied head on another stage than
/// the embedding is a copy of it.
constexpr weight_state end_state(const model& m, weight_fold& fold, bool first, bool last) {
    fold.sum = {};
    if (first || (last && m.tied_head)) for_each_input_weight(m, fold);
    if (last) for_each_output_weight(m, fold);
    return fold.sum;
}

}  // namespace detail

constexpr memory_breakdown training_memory(const job& j, const layout& l) {
    const model& m = j.model;
    const std::int64_t length = detail::ceil_quotient(sequence_of(j).in(tokens), l.context_parallel);
    const token_shape shape{j.micro_batch, length, sequence_of(j).in(tokens)};

    detail::weight_fold fold{j, l};
    std::array<detail::training_layer, layer_stack::max_kinds> layers{};
    byte_count widest_gather;
    for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
        layers[k] = detail::training_layer_of(m.layers.kinds[k], j, l, shape);
        fold.sum = {};
        for_each_weight(m.layers.kinds[k], m.hidden, fold);
        layers[k].state = fold.sum;
        if (fold.sum.gathered > widest_gather) widest_gather = fold.sum.gathered;
    }

    tensor_memory fullest;
    const auto consider = [&](const tensor_memory& moment) {
        if (moment.all() > fullest.all()) fullest = moment;
    };
    const std::int64_t rounds = micro_batches(j, l);
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        const bool last = stage == l.pipeline - 1;
        const stage_range range = stage_layers(m.layers.size, l.pipeline, stage);
        const auto counts = m.layers.counts(range.first, range.last);

        detail::weight_state state = detail::end_state(m, fold, stage == 0, last);
        byte_count saved;
        byte_count live;
        for (std::size_t k = 0; k < static_cast<std::size_t>(m.layers.kind_count); ++k) {
            if (counts[k] == 0) continue;
            state.add(layers[k].state, counts[k]);
            saved += layers[k].saved * counts[k];
            if (layers[k].live > live) live = layers[k].live;
        }
        saved = scaled_up(saved, detail::in_flight(l, stage, rounds));

        tensor_memory t{.weights = state.weights, .gradients = state.gradients, .optimizer = state.optimizer, .stage = stage};
        // ZeRO 3 computes one layer while it fetches the next.
        if (l.zero >= 3) t.communication = widest_gather * 2;
        t.phase = phase::optimizer;
        consider(t);

        t.phase = phase::backward;
        t.activations = j.recompute == recompute::none ? live : saved + live;
        consider(t);

        t.phase = phase::loss;
        t.activations = saved;
        if (rounds == 1) t.gradients = {};  // none accumulated yet
        if (last)
            for_each_loss_activation(m, shape.all(), j.compute, [&](const activation& a) { t.logits += local_bytes(a, l); });
        consider(t);
    }
    return with_runtime(fullest, j, l);
}

}  // namespace llmres
