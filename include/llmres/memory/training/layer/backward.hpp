// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer/activations.hpp>
#include <llmres/memory/training/layer/forward.hpp>
#include <llmres/memory/training/layer/recomputation.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// The fullest moments of one layer's backward pass.
namespace llmres::inline v0::detail {

/// What a layer holds at the fullest moments of its backward pass.
struct backward_peaks {
    byte_count all{};    ///< with all that it saved
    byte_count fresh{};  ///< with the gradients of its weights as they are made
    byte_count added{};  ///< with the one gradient that is made, and added to an earlier one

    /// A moment beside the points of the pass, and the gradients of weights that are there.
    constexpr void consider(byte_count held, byte_count gradients) {
        if (held > all) all = held;
        if (held + gradients > fresh) fresh = held + gradients;
    }
};

/// Gradients of a layer's weights that are there at each point of its backward pass: from the last product back.
constexpr sizes_at_points gradients_so_far(const training_state& s) {
    return {byte_count{},    s.gradients.down, s.gradients.down, s.gradients.feed_forward, s.gradients.feed_forward,
            s.gradients.kept};
}

/// What a layer holds at each point of its backward pass, but for the gradients of its weights: what that point or a
/// later one needs, what the point makes, and what is there `throughout`: the gradient of the layer's output, for the
/// residual sum. `reads_back`: tensors come back from main memory one by one, each for its operation, so that what
/// later points need is not there.
constexpr sizes_at_points held_at_points(const layer_sums& s, byte_count throughout, bool reads_back = false) {
    sizes_at_points held = s.made;
    byte_count needed = throughout;
    for (std::size_t left = backward_points; left > 0; --left) {
        const std::size_t p = left - 1;
        held[p] += needed + s.saved[p];
        if (!reads_back) needed += s.saved[p];
    }
    return held;
}

/// Of what the activation of a feed-forward and its first products save, what the activation's own gradient does not
/// read: of a gated one it reads both factors, of another its input.
constexpr byte_count beside_activation(const layer& kind, const layer_split& l, const training_context& context,
                                       byte_count saved) {
    const feed_forward& f = kind.feed_forward;
    const std::int64_t factors = f.kind == feed_forward_kind::gated ? 2 : 1;
    const byte_count read = local_bytes({activation_role::gate, factors * context.tokens.all() * f.width,
                                         activated_format(f.kind, context), activation_split::tensor},
                                        l);
    return f.routed() ? byte_count{} : beyond(saved, read);
}

/// The peak of a loop over experts, at the next to last expert of the backward pass, beside what is counted between
/// their linear layers: a slice of the stacked weights returns a gradient as large as the stack, to be added to the
/// others', so two stacks and a slice are alive; the tokens of all experts but two; and of the gradients inside this
/// one, none.
constexpr byte_count beside_next_to_last_expert(const layer& kind, const layer_split& l,
                                                const training_context& context, const training_state& state,
                                                const sizes_at_points& routed) {
    const feed_forward& f = kind.feed_forward;
    const byte_count tokens = sum_of(routed);
    const byte_count counted =
        tokens - routed[static_cast<std::size_t>(backward_point::output)] +
        local_bytes(
            {activation_role::gradient, inner_gradients(f, context) * rows_passed_back(f, context) * f.experts.width,
             context.formats.compute, activation_split::tensor},
            l);
    const byte_count stack = state.gradients.feed_forward - state.gradients.down;
    return state.gradients.down + stack * 2 + div_up(stack, f.experts.count) + tokens -
           div_up(tokens, f.experts.count) * 2 - counted;
}

/// What the first products of a feed-forward keep until they are differentiated, when all else of it is freed: what
/// they read, in the compute format, and what the weight of the norm before them multiplies.
constexpr byte_count read_by_first_products(const layer& kind, std::int64_t hidden, const layer_split& l,
                                            const training_context& context) {
    if (context.frozen) return {};
    const auto size = [&](const precision& format) {
        return local_bytes(
            {activation_role::linear_input, context.tokens.all() * hidden, format, activation_split::sequence}, l);
    };
    const bool normalises = kind.norm == norm_kind::rms && !context.runtime.kernels.fuses_norms();
    const bool wide = multiplies_in_fp32(context.code.norms.form);
    return size(context.formats.compute) + (normalises ? size(wide ? fp32 : context.formats.stream) : byte_count{});
}

/// When the first product of a feed-forward is differentiated whose weights are scaled for each product (torchao): the
/// weight as it is scaled, the gradient of the product's output, in 8 bits, too, and with a gate that of its input from
/// the product beside it, which was differentiated first.
constexpr byte_count at_scaled_gradient(const layer& kind, std::int64_t hidden, const layer_split& l,
                                        const training_context& context, const sizes_at_points& saved,
                                        byte_count output_gradient) {
    using enum backward_point;
    const feed_forward& f = kind.feed_forward;
    const auto size = [&](std::int64_t width, const precision& format, activation_split split) {
        return local_bytes({activation_role::gradient, context.tokens.all() * width, format, split}, l);
    };
    const operand read = whole_operand(operand_name::normed, hidden), made = split_operand(operand_name::up, f.width);
    byte_count needed = output_gradient + read_by_first_products(kind, hidden, l, context) +
                        size(f.width, context.formats.compute, activation_split::tensor) +
                        size(f.width, int8, activation_split::tensor) + scaled_weight(read, made, context, l);
    if (f.kind == feed_forward_kind::gated) needed += size(hidden, context.formats.compute, activation_split::sequence);
    for (const backward_point p : {norm, attention, attention_norm}) needed += saved[static_cast<std::size_t>(p)];
    return needed;
}

/// When the first product of stacked experts is differentiated, gate and up being one weight: its gradient, and those
/// of its output and its input, beside that input; autograd has freed what its output was saved for. Shared experts
/// that were computed later are differentiated earlier: the gradient of what they read is there. All that earlier ones
/// save is.
constexpr byte_count at_stacked_gradient(const layer& kind, std::int64_t hidden, const layer_split& l,
                                         const training_context& context, const sizes_at_points& saved,
                                         const sizes_at_points& routed, byte_count output_gradient) {
    using enum backward_point;
    const feed_forward& f = kind.feed_forward;
    const std::int64_t tokens = routed_tokens(f, context);
    const std::int64_t products = f.kind == feed_forward_kind::gated ? 2 : 1;
    const auto size = [&](std::int64_t width) {
        return local_bytes(
            {activation_role::gradient, tokens * width, routed_format(context), activation_split::tensor}, l);
    };
    const byte_count read = read_by_first_products(kind, hidden, l, context);
    byte_count needed = output_gradient + size(products * f.experts.width + 2 * hidden) + read;
    if (f.experts.shared_width > 0 && context.code.feed_forward.shared_first) {
        needed -= read;  // as they do
        for (const backward_point p : {output, inner})
            needed += saved[static_cast<std::size_t>(p)] - routed[static_cast<std::size_t>(p)];
    } else if (f.experts.shared_width > 0) {
        needed += output_gradient;
    }
    for (const backward_point p : {norm, attention, attention_norm}) needed += saved[static_cast<std::size_t>(p)];
    return needed;
}

/// The gradients of shared experts that are differentiated after the routed ones, as a part of the feed-forward's.
constexpr byte_count made_later(const layer& kind, const training_context& context, const training_state& state) {
    const experts& e = kind.feed_forward.experts;
    if (!context.code.feed_forward.shared_first || e.shared_width == 0) return {};
    const std::int64_t all = product(e.count, e.width) + e.shared_width;
    return scaled_down(state.gradients.feed_forward, static_cast<double>(e.shared_width) / static_cast<double>(all));
}

/// Whether PEFT adds adapters in a wider format to the feed-forward's first products, and casts the sums back
/// (tuners/lora/layer.py, Linear.forward); beside bitsandbytes' layers it casts the adapter's output alone (bnb.py).
constexpr bool widens_adapted_products(const layer& kind, const training_context& context) {
    const bool gated = kind.feed_forward.kind == feed_forward_kind::gated;
    return context.adapter.low_rank() && context.adapter.kind != adapter_kind::dora && context.copies_adapter_inputs &&
           !context.autocast && !context.quantised.expanded && !kind.feed_forward.routed() &&
           kind.feed_forward.width > 0 && context.adapter.adapts(gated ? weight_role::gate_proj : weight_role::up_proj);
}

/// When the gradient of such a sum reaches its adapter: the gradient in the adapter's format, the same scaled, and its
/// cast for the product; with two products, the gradient of the other's output. What the activation saved is freed.
constexpr byte_count at_adapter_gradient(const layer& kind, const layer_split& l, const training_context& context,
                                         const sizes_at_points& saved, byte_count throughout) {
    using enum backward_point;
    const feed_forward& f = kind.feed_forward;
    const bool gated = f.kind == feed_forward_kind::gated;
    const bool joined = gated && context.code.feed_forward.joined;
    const auto size = [&](std::int64_t width, const precision& format) {
        return local_bytes({activation_role::gradient, context.tokens.all() * width, format, activation_split::tensor},
                           l);
    };
    byte_count freed;
    const auto free = [&](const activation& a) {
        if (a.until == inner) freed += local_bytes(a, l);
    };
    const auto seen = visiting<activation>(free);
    save_activation(f.kind, context.tokens.all(), f.width, gradient_flow{input_gradient::required},
                    layer_writer{context, seen});
    const std::int64_t width = f.width * (joined ? 2 : 1);
    byte_count needed = throughout + size(width, context.formats.adapters) * 2 + size(width, context.formats.compute) -
                        freed + (gated && !joined ? size(width, context.formats.compute) : byte_count{});
    for (const backward_point p : {inner, norm, attention, attention_norm})
        needed += saved[static_cast<std::size_t>(p)];
    return needed;
}

/// The products before the feed-forward's last one, if autocast has their weights' gradients cast.
constexpr std::int64_t casts_gradients(const layer& kind, const training_context& context) {
    const bool joined = context.code.feed_forward.joined;
    if (!context.autocast || context.frozen || kind.feed_forward.routed()) return 0;
    return kind.feed_forward.kind == feed_forward_kind::gated && !joined ? 2 : 1;
}

/// When autocast casts the gradient of the feed-forward's first product: what the norm and the mixer need, what the
/// weight of that norm multiplies, and the gradients of what the products read, of the other one in the format of the
/// norm's output and of this one as it is made. torch/csrc/autograd/engine.cpp runs what is ready by its number, and
/// the cast of a weight is younger than that of the product's input.
constexpr byte_count at_first_cast(const layer& kind, std::int64_t hidden, const layer_split& l,
                                   const training_context& context, const sizes_at_points& saved,
                                   byte_count throughout) {
    using enum backward_point;
    const auto size = [&](const precision& format) {
        return local_bytes(
            {activation_role::gradient, context.tokens.all() * hidden, format, activation_split::sequence}, l);
    };
    const bool two = kind.feed_forward.kind == feed_forward_kind::gated && !context.code.feed_forward.joined;
    byte_count needed = throughout + read_by_first_products(kind, hidden, l, context) +
                        (two ? size(context.normed(kind.norm)) : byte_count{});
    for (const backward_point p : {norm, attention, attention_norm}) needed += saved[static_cast<std::size_t>(p)];
    return needed;
}

/// What the last product of a feed-forward saved that the activation before it reads, too.
constexpr byte_count own_output(const layer& kind, const layer_split& l, const training_context& context) {
    if (!keeps_own_output(kind.feed_forward, context)) return {};
    return local_bytes({activation_role::linear_input, context.tokens.all() * kind.feed_forward.width,
                        context.formats.compute, activation_split::tensor},
                       l);
}

/// Under autocast the gradient of a weight is made in the format of the products, and cast: of the feed-forward's last
/// product when what it saved is freed, and its weight in the narrow format. `last`, `first`: what is held when that of
/// its last product is cast, and of its first of `products` others.
constexpr void set_cast_peaks(backward_peaks& peaks, const training_state& state, byte_count last, byte_count first,
                              std::int64_t products) {
    const auto at_output = static_cast<std::size_t>(backward_point::output);
    const sizes_at_points fresh = gradients_so_far(state);
    const auto consider = [&](byte_count others, byte_count added, byte_count size) {
        if (size + others > peaks.fresh) peaks.fresh = size + others;
        if (size + added > peaks.added) peaks.added = size + added;
    };
    consider(fresh[at_output], fresh[at_output], last);
    const cast_memory& casts = state.casts;
    const byte_count later = state.gradients.feed_forward - state.gradients.down;
    consider(state.gradients.feed_forward, div_up(later, products),
             first + div_up(casts.feed_forward - casts.down, products));
}

/// The fullest points of the backward pass. `made_last`: the gradient of the feed-forward's last weight as its product
/// makes it.
constexpr void set_peaks(backward_peaks& peaks, const training_state& state, const sizes_at_points& held,
                         byte_count made_last) {
    sizes_at_points fresh = gradients_so_far(state);
    const auto at_output = static_cast<std::size_t>(backward_point::output);
    fresh[at_output] = made_last;
    for (std::size_t p = 0; p < backward_points; ++p) {
        peaks.consider(held[p], fresh[p]);
    }
    if (held[at_output] + made_last > peaks.added) peaks.added = held[at_output] + made_last;
}

/// What the backward pass makes of weights: in the format that they multiply in.
constexpr void add_weights(sizes_at_points& held, const training_context& context, const training_state& state) {
    // A quantised weight is expanded for each product; the activation between them is not one.
    if (context.frozen && context.quantised.expanded && !context.quantised.saves_weights)
        held[static_cast<std::size_t>(backward_point::output)] += state.largest;
    if (!context.autocast) return;
    const byte_count mixer = state.casts.all - state.casts.feed_forward;  // copies of weights go with their products
    const sizes_at_points casts{state.casts.all, state.casts.all, state.casts.all - state.casts.down,
                                mixer,           mixer,           byte_count{}};
    for (std::size_t p = 0; p < backward_points; ++p) held[p] += casts[p];
}

/// The peaks when the feed-forward's first products are differentiated, where that takes more than the activation
/// between them and the last one.
constexpr void set_first_product_peaks(backward_peaks& peaks, const training_state& state, const layer& kind,
                                       std::int64_t hidden, const layer_split& l, const training_context& context,
                                       const sizes_at_points& saved, byte_count throughout) {
    if (kind.feed_forward.width > 0 && context.quantised.scaled && !context.frozen) {
        const byte_count scaled = at_scaled_gradient(kind, hidden, l, context, saved, throughout);
        const std::int64_t products = kind.feed_forward.kind == feed_forward_kind::gated ? 2 : 1;
        const byte_count later = state.gradients.feed_forward - state.gradients.down;
        peaks.consider(scaled, state.gradients.feed_forward - div_up(later, products));
    }
    if (widens_adapted_products(kind, context)) {
        const byte_count adapted = at_adapter_gradient(kind, l, context, saved, throughout);
        peaks.consider(adapted, state.gradients.down);
    }
}

/// The peaks of a layer that has these activations, and of whose weights `state` is kept.
constexpr backward_peaks backward_peaks_of(const layer& kind, const job& j, const layer_split& l,
                                           const training_context& context, const layer_activations& a,
                                           const training_state& state) {
    backward_peaks peaks;
    const bool reads_back = reads_back_by_tensor(j, context);
    const byte_count throughout = a.output_gradient + input_beside_saved(kind, j, context, a.checkpoint) +
                                  output_beside_saved(context, a.checkpoint);
    sizes_at_points held = held_at_points(a.sums, throughout, reads_back);
    constexpr auto inner = static_cast<std::size_t>(backward_point::inner);
    if (reads_back) held[inner] -= beside_activation(kind, l, context, a.sums.saved[inner]);
    add_weights(held, context, state);
    if (const std::int64_t products = casts_gradients(kind, context); products > 0) {
        const byte_count first = at_first_cast(kind, j.model.hidden, l, context, a.sums.saved, throughout) +
                                 (state.casts.all - state.casts.feed_forward);
        constexpr auto output = static_cast<std::size_t>(backward_point::output);
        const byte_count last = held[output] - a.sums.saved[output] + own_output(kind, l, context);
        set_cast_peaks(peaks, state, last, first, products);
        set_peaks(peaks, state, held, state.casts.down);
    } else {
        set_peaks(peaks, state, held, state.gradients.down);
    }
    set_first_product_peaks(peaks, state, kind, j.model.hidden, l, context, a.sums.saved, throughout);
    const bool trains_experts = kind.feed_forward.routed() && !context.frozen;
    if (trains_experts && context.runtime.kernels.experts == expert_code::loop)
        peaks.consider(held[inner] + beside_next_to_last_expert(kind, l, context, state, a.sums.routed), {});
    if (trains_experts && context.runtime.kernels.experts == expert_code::grouped) {
        const byte_count casts = context.autocast ? state.casts.all - state.casts.feed_forward : byte_count{};
        const byte_count stacked =
            at_stacked_gradient(kind, j.model.hidden, l, context, a.sums.saved, a.sums.routed, a.output_gradient) +
            throughout - a.output_gradient + casts;
        const byte_count others =
            state.gradients.feed_forward - state.gradients.down - made_later(kind, context, state);
        peaks.consider(stacked + others, state.gradients.down);
    }
    if (peaks.all > peaks.added) peaks.added = peaks.all;
    return peaks;
}

}  // namespace llmres::inline v0::detail
