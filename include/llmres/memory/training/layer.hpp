// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/frozen.hpp>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer/activations.hpp>
#include <llmres/memory/training/layer/backward.hpp>
#include <llmres/memory/training/layer/forward.hpp>
#include <llmres/memory/training/layer/recomputation.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What one layer takes while it is trained: what is kept of its weights, what it saves, and the peaks of its two
/// passes.
namespace llmres::inline v0::detail {

/// The layers of one kind on one GPU: folded once, then counted per stage.
struct training_layer {
    training_state state{};
    byte_count saved{};       ///< by one micro-batch until its backward pass, if nothing is recomputed or offloaded
    byte_count routed{};      ///< by routed experts of the tokens that come to them
    byte_count checkpoint{};  ///< the layer's input
    byte_count kept{};        ///< what the job's recomputation and offloading leave of both on the GPU
    byte_count away{};        ///< what is offloaded to main memory of what the layer saves
    byte_count peak{};        ///< of the layer's backward pass, with all that it saved
    byte_count fresh_peak{};  ///< the peak with the gradients of the layer's weights as they are made
    byte_count added_peak{};  ///< the peak with the one gradient that is made, and added to an earlier one
    byte_count recomputed{};  ///< with adapters: the fullest moment when it is recomputed, beyond all that it saves
    byte_count in_forward{};  ///< the fullest moment of the forward pass, beyond what the layer keeps; where followed
    byte_count unrecorded{};  ///< that moment where no gradient reaches the layer, or a reference's, with its input
};

/// The fullest moment of a layer's forward pass, with what is made of its weights: autocast's copies, each from its
/// product on, and the tensors that DoRA takes norms of. `copies`: all of autocast's where autograd saves what products
/// read, frozen weights' among them; else those that stay cached.
constexpr byte_count forward_of(const layer_forward& f, const training_context& context, const training_state& state,
                                byte_count copies) {
    const bool casts = !context.quantised.scaled;  // made and freed inside of the product
    const byte_count all = casts ? copies : byte_count{};
    const bool leaves = casts && !context.frozen;
    byte_count most = f.last_product + all;
    const auto consider = [&](byte_count alive, byte_count later) {
        if (alive += all - (leaves ? later : byte_count{}); alive > most) most = alive;
    };
    consider(f.mixer, state.casts.feed_forward);
    consider(f.feed_forward, state.casts.down);
    if (context.adapter.kind != adapter_kind::dora) return most;
    const byte_count other = f.beside_magnitudes + state.magnitudes.other + all;
    const byte_count down = f.beside_last_magnitudes + state.magnitudes.down + all;
    const byte_count adapted = other > down ? other : down;
    return adapted > most ? adapted : most;
}

/// What a layer takes that has these activations, and of whose weights that is kept.
constexpr training_layer training_layer_of(const layer& kind, const job& j, const layer_split& l,
                                           const training_context& context, const layer_activations& a,
                                           const training_state& state) {
    training_layer t{.state = state};
    const backward_peaks peaks = backward_peaks_of(kind, j, l, context, a, state);
    t.peak = peaks.all, t.fresh_peak = peaks.fresh, t.added_peak = peaks.added;
    t.saved = sum_of(a.sums.saved);
    t.routed = sum_of(a.sums.routed);
    t.saved += state.casts.all;
    if (const byte_count again = forward_of(a.sums.again, context, state, state.casts.all); again > t.saved)
        t.recomputed = again - t.saved;
    t.checkpoint = a.checkpoint;
    if (context.recomputes) {
        t.kept = a.checkpoint + a.products;
    } else {
        t.kept = a.by_product ? a.products : t.saved - a.sums.parts.recomputed - a.sums.parts.offloaded;
        t.away = a.sums.parts.offloaded;
    }
    if (!a.follows_forward) return t;
    const bool stays = saved_tensors_of(j, context) == saved_tensors::stay;
    const byte_count alive = forward_of(a.sums.forward, context, state, stays ? state.casts.all : state.casts.cached);
    t.in_forward = beyond(alive, stays ? t.kept : byte_count{});
    if (begins_late(context) || computes_reference(j))
        t.unrecorded = forward_of(a.sums.unrecorded, context, state, state.casts.cached) + a.output_gradient;
    return t;
}

constexpr training_layer training_layer_of(const layer& kind, const job& j, const layer_split& l,
                                           const training_context& context, const training_state& state) {
    return training_layer_of(kind, j, l, context, layer_activations_of(kind, j, l, context, forward_moments::all),
                             state);
}

/// What those layers of a range keep beyond their input that `recompute_every` passes over.
constexpr byte_count kept_whole(const job& j, const by_kind<training_layer>& layers, const stage_range& range) {
    byte_count more;
    for (std::int32_t i = range.first; i < range.last; ++i) {
        const training_layer& of = layers[j.model.layers.order[static_cast<std::size_t>(i)]];
        if ((i + 1) % j.recompute_every != 0) more += of.saved - of.kept;
    }
    return more;
}

/// What the first layers save less than others: a frozen model's, before its first adapters.
constexpr byte_count cut_off(const job& j, const layout& l, const training_context& context, byte_count layer_keeps) {
    byte_count size;
    if (context.recomputes && context.code.fp32_residual &&
        !context.formats.fp32_stream)  // the first layer's input is the embedding's output
        return size_of(fp32, context.tokens.all(), j.model.hidden) -
               size_of(context.formats.stream, context.tokens.all(), j.model.hidden);
    if (context.input_requires_grad || context.adapter.kind == adapter_kind::llama_adapter_v2)
        return size;  // the first norm is trained
    if (context.adapter.kind == adapter_kind::llama_adapter) {
        const std::int32_t here = stage_layers(j.model.layers.size, l.pipeline, 0).size();
        return layer_keeps * (here < unprompted_layers ? here : unprompted_layers);
    }
    const std::int32_t unreached = unreached_layers(j.model, context);
    for (std::int32_t i = 0; i < j.model.layers.size && i <= unreached; ++i)
        size += unsaved_by(j.model.layers[i], j, j.model.hidden, context, l);
    return size;
}

}  // namespace llmres::inline v0::detail
