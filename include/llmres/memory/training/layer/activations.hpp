// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/frozen.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/memory/training/layer/forward.hpp>
#include <llmres/memory/training/layer/recomputation.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/values/units.hpp>

/// What the activations of one layer take: folds over its operations, point by point of the backward pass.
namespace llmres::inline v0::detail {

/// Sizes at each point of a layer's backward pass.
using sizes_at_points = std::array<byte_count, backward_points>;

/// What a layer saves, by the last point that needs it, and what its backward pass makes, by the point where that
/// lives.
struct layer_sums {
    sizes_at_points saved{};
    sizes_at_points routed{};  ///< of `saved`, what routed experts save of the tokens that come to them
    sizes_at_points made{};
    named_parts parts{};
    layer_forward forward{};
    layer_forward again{};       ///< with adapters: when the layer is recomputed
    layer_forward unrecorded{};  ///< where autograd records nothing, beyond the layer's input
};

constexpr byte_count sum_of(const sizes_at_points& sizes) {
    byte_count sum;
    for (const byte_count size : sizes) sum += size;
    return sum;
}

/// Whether the forward pass may be the fullest moment of a step. A frozen layer's backward pass makes few gradients,
/// while adapters' temporaries are beside what all layers save. Autocast keeps casts of all weights (peak/forward.hpp,
/// cached_casts), of which the backward pass of a layer that is recomputed or comes from main memory has its own alone.
/// Offloaded tensors are on the GPU when they are made, and come back one by one. And eager attention's scores, biases
/// that all layers add to theirs, and what an encoder puts out are referred to by the model's code. And of several
/// stages only the last one computes a loss when its layers have saved all. A reference computes its layers beside
/// them.
constexpr bool forward_may_be_fullest(const job& j, const layer_split& l, const training_context& context) {
    if (l.has_stages || context.frozen || context.autocast || j.offload.activations != offload_place::none ||
        computes_reference(j))
        return true;
    return j.model.encoders[0].layers > 0 || context.code.attention.biased_scores ||
           context.attention.kernel == attention_kernel::eager;
}

/// Which moments of a layer's forward pass are asked for.
enum class forward_moments : bool {
    of_peaks,  ///< those that may be the fullest of a step
    all,
};

/// Whether a layer's forward pass is followed, operation by operation: also where blocks that it leaves are asked for.
constexpr bool follows_forward(const job& j, const layer_split& l, const training_context& context,
                               forward_moments asked) {
    return asked == forward_moments::all || context.runtime.allocator.gaps_by_step ||
           forward_may_be_fullest(j, l, context);
}

constexpr layer_sums layer_sums_of(const layer& kind, const job& j, const layer_split& l,
                                   const training_context& context, forward_moments asked) {
    layer_sums s;
    const bool by_parts = recomputes_or_offloads_parts(j);
    saved_so_far saved{.parts = j.recompute == recompute::selective};
    const auto save = [&](const activation& a) {
        const byte_count size = local_bytes(a, l);
        const auto point = static_cast<std::size_t>(a.until);
        s.saved[point] += size;
        saved.all += size;
        if (a.role == activation_role::probabilities && a.until == backward_point::norm) saved.late += size;
        if (a.routed) s.routed[point] += size;
        if (by_parts) s.parts.add(a, size, j);
    };
    const auto make = [&](const activation& a) { s.made[static_cast<std::size_t>(a.until)] += local_bytes(a, l); };
    const auto walk = [&](const auto& after) {
        for_each_training_activation(kind, j.model.hidden, context, save, make, after);
    };
    const bool follows = follows_forward(j, l, context, asked);
    const bool follows_again = context.recomputes && context.adapter.low_rank();
    if (!follows && !follows_again) {
        walk([](const layer_operation&, bool) {});
        return s;
    }
    const saved_tensors becomes = saved_tensors_of(j, context);
    forward_sweep sweep{kind, j.model.hidden, context, l, becomes};
    forward_sweep again{kind, j.model.hidden, context, l, saved_tensors::stay};
    training_context without_adapters{context};  // a reference's are switched off, and what trains begins behind them
    if (computes_reference(j)) without_adapters.adapter = {};
    forward_sweep unrecorded{kind, j.model.hidden, without_adapters, l, saved_tensors::recomputed};
    const bool may_be_unrecorded = follows && (begins_late(context) || computes_reference(j));
    const saved_so_far none;
    walk([&](const layer_operation& o, bool input) {
        saved.input = input;
        if (follows) sweep(o, becomes == saved_tensors::stay ? saved : none);
        if (follows_again) again(o, saved);
        if (may_be_unrecorded) unrecorded(o, none);
        saved.before = saved.all, saved.late = {};
    });
    s.forward = sweep.most();
    s.again = again.most();
    s.unrecorded = unrecorded.most();
    return s;
}

/// What a layer's activations take, whatever is kept of its weights and wherever that lies.
struct layer_activations {
    layer_sums sums{};
    byte_count output_gradient{};  ///< the gradient of the layer's output
    byte_count checkpoint{};       ///< the layer's input
    byte_count products{};    ///< where `by_product`: what recomputation by operation keeps, or 4-bit products hold
    bool by_product = false;  ///< `products` is what is kept beside the checkpoint, or instead of all that is saved
    bool follows_forward = false;  ///< `sums` has the forward pass
};

constexpr layer_activations layer_activations_of(const layer& kind, const job& j, const layer_split& l,
                                                 const training_context& context, forward_moments asked) {
    const std::int64_t stream = context.tokens.all() * j.model.hidden;
    layer_activations a{.sums = layer_sums_of(kind, j, l, context, asked)};
    a.follows_forward = follows_forward(j, l, context, asked);
    a.output_gradient =
        local_bytes({activation_role::gradient, stream, context.formats.stream, activation_split::sequence}, l);
    a.checkpoint =
        local_bytes({activation_role::residual, stream, context.residual(kind.norm), activation_split::sequence}, l);
    if (context.recomputes) {
        // bitsandbytes' MatMul4Bit holds its input itself, where hooks on saved tensors do not see it
        // (autograd/_functions.py, ctx.tensors).
        a.by_product = context.quantised.keeps_inputs && !context.runtime.kernels.checkpointing.reentrant;
        if (a.by_product) a.products = product_inputs(kind, j.model.hidden, l, context);
    } else if (a.by_product = keeps_by_product(j); a.by_product) {
        a.products = products_kept(kind, j.model.hidden, l, context);
    }
    return a;
}

}  // namespace llmres::inline v0::detail
