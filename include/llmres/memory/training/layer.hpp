// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/frozen.hpp>
#include <llmres/inventory/layers/attention.hpp>
#include <llmres/inventory/layers/by_kind.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/named_parts.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/training/layer_forward.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
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
};

/// Sizes at each point of a layer's backward pass.
using sizes_at_points = std::array<byte_count, backward_points>;

/// Gradients of a layer's weights that are there at each point of its backward pass: from the last product back.
constexpr sizes_at_points gradients_so_far(const training_state& s) {
    return {byte_count{},    s.gradients.down, s.gradients.down, s.gradients.feed_forward, s.gradients.feed_forward,
            s.gradients.kept};
}

/// Whether a role's product adds a bias.
constexpr bool adds_bias(const layer& l, weight_role role) {
    if (role == weight_role::o_proj) return l.attention.output_bias;
    return is_feed_forward(role) ? l.feed_forward.bias : l.attention.qkv_bias;
}

/// What selective recomputation by operation keeps of a layer: its input, attention's output, products or every second
/// one, and what experts exchange.
constexpr byte_count products_kept(const layer& kind, std::int64_t hidden, const layout& l,
                                   const training_context& context) {
    const std::int64_t n = context.tokens.all();
    byte_count kept;
    const auto keep = [&](activation_role role, std::int64_t elements, const precision& format,
                          activation_split split) { kept += local_bytes({role, elements, format, split}, l); };
    keep(activation_role::residual, n * hidden, context.residual(kind.norm), activation_split::sequence);
    std::int32_t products = 0;
    const bool every = context.runtime.kernels.checkpointing.selective == selective_code::all_but_products;
    const bool cudnn_recomputed =
        context.runtime.kernels.checkpointing.recomputes_cudnn && context.attention.kernel == attention_kernel::cudnn;
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) {
        if (o.code == operation_code::attention && !o.crosses && !cudnn_recomputed) {
            keep(activation_role::attention_output, n * o.writes[0].width, context.formats.compute, o.writes[0].split);
            keep(activation_role::softmax_statistics, n * kind.attention.heads, fp32, o.writes[0].split);
        }
        // What all-to-all brings to the experts, and back (torchtitan/distributed/activation_checkpoint.py,
        // _op_sac_save_list).
        if (o.code == operation_code::combine && l.expert > 1)
            keep(activation_role::expert_output, 2 * n * kind.feed_forward.experts.per_token * o.reads[0].width,
                 context.formats.compute, o.reads[0].split);
        for (std::size_t i = 0; i < o.products() && !o.routed; ++i) {
            const weight_role role = o.weights[i];
            // With a bias it is another operator, aten::addmm, which is not kept.
            if (role == weight_role::router || adds_bias(kind, role) || (++products % 2 == 0 && !every)) continue;
            // No gradient needs the output of the last product.
            if ((context.runtime.kernels.compilation.layers || every) && role == weight_role::down_proj) continue;
            keep(activation_role::product, n * o.writes[i].width, context.formats.compute, o.writes[i].split);
        }
    });
    return kept;
}

/// What the products of a layer read, but for those of routed experts.
constexpr byte_count product_inputs(const layer& kind, std::int64_t hidden, const layout& l,
                                    const training_context& context) {
    byte_count all;
    for_each_layer_operation(kind, hidden, context.code, [&](const layer_operation& o) {
        if (o.products() == 0 || o.routed || o.reads_again || o.weights[0] == weight_role::router) return;
        all += local_bytes({activation_role::linear_input, context.tokens.all() * o.reads[0].width,
                            context.formats.compute, o.reads[0].split},
                           l);
    });
    return all;
}

/// What a layer saves, by the last point that needs it, and what its backward pass makes, by the point where that
/// lives.
struct layer_sums {
    sizes_at_points saved{};
    sizes_at_points routed{};  ///< of `saved`, what routed experts save of the tokens that come to them
    sizes_at_points made{};
    named_parts parts{};
    layer_forward forward{};
    layer_forward again{};  ///< with adapters: when the layer is recomputed
};

constexpr byte_count sum_of(const sizes_at_points& sizes) {
    byte_count sum;
    for (const byte_count size : sizes) sum += size;
    return sum;
}

/// What becomes of the tensors that a job's layers save.
constexpr saved_tensors saved_tensors_of(const job& j, const training_context& context) {
    const bool moves_inputs = context.recomputes && j.offload.activations != offload_place::none &&
                              context.runtime.kernels.checkpointing.offloads_at_once;
    return moves_inputs                                   ? saved_tensors::inputs_moved
           : context.recomputes || keeps_by_product(j)    ? saved_tensors::recomputed
           : j.offload.activations != offload_place::none ? saved_tensors::moved
                                                          : saved_tensors::stay;
}

/// Whether the forward pass may be the fullest moment of a step. A frozen layer's backward pass makes few gradients,
/// while adapters' temporaries are beside what all layers save. Autocast keeps casts of all weights (peak/forward.hpp,
/// cached_casts), of which the backward pass of a layer that is recomputed or comes from main memory has its own alone.
/// Offloaded tensors are on the GPU when they are made, and come back one by one. And eager attention's scores, biases
/// that all layers add to theirs, and what an encoder puts out are referred to by the model's code. And of several
/// stages only the last one computes a loss when its layers have saved all.
constexpr bool forward_may_be_fullest(const job& j, const layout& l, const training_context& context) {
    if (l.pipeline > 1 || context.frozen || context.autocast || j.offload.activations != offload_place::none)
        return true;
    const bool eager = context.attention.kernel == attention_kernel::eager;
    return j.model.encoders[0].layers > 0 || context.code.attention.biased_scores ||
           (eager && j.recompute != recompute::none);
}

/// Which moments of a layer's forward pass are asked for.
enum class forward_moments : bool {
    of_peaks,  ///< those that may be the fullest of a step
    all,
};

/// Whether a layer's forward pass is followed, operation by operation: also where blocks that it leaves are asked for.
constexpr bool follows_forward(const job& j, const layout& l, const training_context& context, forward_moments asked) {
    return asked == forward_moments::all || context.runtime.allocator.gaps_by_step ||
           forward_may_be_fullest(j, l, context);
}

constexpr layer_sums layer_sums_of(const layer& kind, const job& j, const layout& l, const training_context& context,
                                   forward_moments asked) {
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
    const saved_so_far none;
    walk([&](const layer_operation& o, bool input) {
        saved.input = input;
        if (follows) sweep(o, becomes == saved_tensors::stay ? saved : none);
        if (follows_again) again(o, saved);
        saved.before = saved.all, saved.late = {};
    });
    s.forward = sweep.most();
    s.again = again.most();
    return s;
}

/// The fullest moment of a layer's forward pass, with what is made of its weights: autocast's copies, each from its
/// product on, and the tensors that DoRA takes norms of. `stays`: what autograd saves, frozen weights' copies among it.
constexpr byte_count forward_of(const layer_forward& f, const training_context& context, const training_state& state,
                                bool stays) {
    const bool casts = !context.quantised.scaled;  // made and freed inside of the product
    const byte_count all = !casts ? byte_count{} : stays ? state.casts.all : state.casts.cached;
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
constexpr byte_count beside_activation(const layer& kind, const layout& l, const training_context& context,
                                       byte_count saved) {
    const feed_forward& f = kind.feed_forward;
    const std::int64_t factors = f.kind == feed_forward_kind::gated ? 2 : 1;
    const byte_count read = local_bytes({activation_role::gate, factors * context.tokens.all() * f.width,
                                         activated_format(factors > 1, context), activation_split::tensor},
                                        l);
    return !f.routed() && saved > read ? saved - read : byte_count{};
}

/// Whether what layers save comes back tensor by tensor. Recomputed layers are whole on the GPU: their input alone was
/// offloaded.
constexpr bool reads_back_by_tensor(const job& j, const training_context& context) {
    return saved_tensors_of(j, context) == saved_tensors::moved &&
           context.runtime.kernels.checkpointing.offloads_at_once;
}

/// The peak of a loop over experts, at the next to last expert of the backward pass, beside what is counted between
/// their linear layers: a slice of the stacked weights returns a gradient as large as the stack, to be added to the
/// others', so two stacks and a slice are alive; the tokens of all experts but two; and of the gradients inside this
/// one, none.
constexpr byte_count beside_next_to_last_expert(const layer& kind, const layout& l, const training_context& context,
                                                const training_state& state, const sizes_at_points& routed) {
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
constexpr byte_count read_by_first_products(const layer& kind, std::int64_t hidden, const layout& l,
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
constexpr byte_count at_scaled_gradient(const layer& kind, std::int64_t hidden, const layout& l,
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
constexpr byte_count at_stacked_gradient(const layer& kind, std::int64_t hidden, const layout& l,
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
constexpr byte_count at_adapter_gradient(const layer& kind, const layout& l, const training_context& context,
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
    save_activation(f.kind, context.tokens.all(), f.width, gradient_flow{true}, layer_writer{context, seen});
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
constexpr byte_count at_first_cast(const layer& kind, std::int64_t hidden, const layout& l,
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
constexpr byte_count own_output(const layer& kind, const layout& l, const training_context& context) {
    if (!keeps_own_output(kind.feed_forward, context)) return {};
    return local_bytes({activation_role::linear_input, context.tokens.all() * kind.feed_forward.width,
                        context.formats.compute, activation_split::tensor},
                       l);
}

/// Under autocast the gradient of a weight is made in the format of the products, and cast: of the feed-forward's last
/// product when what it saved is freed, and its weight in the narrow format. `last`, `first`: what is held when that of
/// its last product is cast, and of its first of `products` others.
constexpr void set_cast_peaks(training_layer& t, byte_count last, byte_count first, std::int64_t products) {
    const auto at_output = static_cast<std::size_t>(backward_point::output);
    const sizes_at_points fresh = gradients_so_far(t.state);
    const auto consider = [&](byte_count others, byte_count added, byte_count size) {
        if (size + others > t.fresh_peak) t.fresh_peak = size + others;
        if (size + added > t.added_peak) t.added_peak = size + added;
    };
    consider(fresh[at_output], fresh[at_output], last);
    const cast_memory& casts = t.state.casts;
    const byte_count later = t.state.gradients.feed_forward - t.state.gradients.down;
    consider(t.state.gradients.feed_forward, div_up(later, products),
             first + div_up(casts.feed_forward - casts.down, products));
}

/// The fullest points of the backward pass. `made_last`: the gradient of the feed-forward's last weight as its product
/// makes it.
constexpr void set_peaks(training_layer& t, const sizes_at_points& held, byte_count made_last) {
    sizes_at_points fresh = gradients_so_far(t.state);
    const auto at_output = static_cast<std::size_t>(backward_point::output);
    fresh[at_output] = made_last;
    for (std::size_t p = 0; p < backward_points; ++p) {
        if (held[p] > t.peak) t.peak = held[p];
        if (held[p] + fresh[p] > t.fresh_peak) t.fresh_peak = held[p] + fresh[p];
    }
    if (held[at_output] + made_last > t.added_peak) t.added_peak = held[at_output] + made_last;
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

/// What a layer's activations take, whatever is kept of its weights and wherever that lies.
struct layer_activations {
    layer_sums sums{};
    byte_count output_gradient{};  ///< the gradient of the layer's output
    byte_count checkpoint{};       ///< the layer's input
    byte_count products{};    ///< where `by_product`: what recomputation by operation keeps, or 4-bit products hold
    bool by_product = false;  ///< `products` is what is kept beside the checkpoint, or instead of all that is saved
    bool follows_forward = false;  ///< `sums` has the forward pass
};

constexpr layer_activations layer_activations_of(const layer& kind, const job& j, const layout& l,
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

/// What a recomputed layer holds throughout its backward pass beside all that it saves: its input, unless the layer
/// saves it as it is. The checkpoint keeps it with the graph (torch/utils/checkpoint.py, _NoopSaveInputs), or in its
/// own backward pass (CheckpointFunction.backward, detached_inputs); the former lets go of one that comes from main
/// memory when the layer has been recomputed.
constexpr byte_count input_beside_saved(const layer& kind, const job& j, const training_context& context,
                                        byte_count checkpoint) {
    const bool goes_back =
        j.offload.activations != offload_place::none && !context.runtime.kernels.checkpointing.reentrant;
    return context.recomputes && !goes_back && !keeps_input(kind, context) ? checkpoint : byte_count{};
}

/// The peaks when the feed-forward's first products are differentiated, where that takes more than the activation
/// between them and the last one.
constexpr void set_first_product_peaks(training_layer& t, const layer& kind, std::int64_t hidden, const layout& l,
                                       const training_context& context, const sizes_at_points& saved,
                                       byte_count throughout) {
    const training_state& state = t.state;
    if (kind.feed_forward.width > 0 && context.quantised.scaled && !context.frozen) {
        const byte_count scaled = at_scaled_gradient(kind, hidden, l, context, saved, throughout);
        const std::int64_t products = kind.feed_forward.kind == feed_forward_kind::gated ? 2 : 1;
        const byte_count later = state.gradients.feed_forward - state.gradients.down;
        if (scaled > t.peak) t.peak = scaled;
        if (const byte_count fresh = scaled + state.gradients.feed_forward - div_up(later, products);
            fresh > t.fresh_peak)
            t.fresh_peak = fresh;
    }
    if (widens_adapted_products(kind, context)) {
        const byte_count adapted = at_adapter_gradient(kind, l, context, saved, throughout);
        if (adapted > t.peak) t.peak = adapted;
        if (adapted + state.gradients.down > t.fresh_peak) t.fresh_peak = adapted + state.gradients.down;
    }
}

/// What a recomputed layer put out, as large as its input: a reentrant checkpoint refers to it until its backward pass
/// is done (torch/utils/checkpoint.py, CheckpointFunction.backward, `outputs`); another one drops it.
constexpr byte_count output_beside_saved(const training_context& context, byte_count checkpoint) {
    return context.recomputes && context.runtime.kernels.checkpointing.reentrant ? checkpoint : byte_count{};
}

/// What a layer takes that has these activations, and of whose weights that is kept.
constexpr training_layer training_layer_of(const layer& kind, const job& j, const layout& l,
                                           const training_context& context, const layer_activations& a,
                                           const training_state& state) {
    training_layer t{.state = state};
    const bool reads_back = reads_back_by_tensor(j, context);
    const byte_count throughout = a.output_gradient + input_beside_saved(kind, j, context, a.checkpoint) +
                                  output_beside_saved(context, a.checkpoint);
    sizes_at_points held = held_at_points(a.sums, throughout, reads_back);
    constexpr auto inner = static_cast<std::size_t>(backward_point::inner);
    if (reads_back) held[inner] -= beside_activation(kind, l, context, a.sums.saved[inner]);
    t.saved = sum_of(a.sums.saved);
    t.routed = sum_of(a.sums.routed);
    add_weights(held, context, state);
    if (const std::int64_t products = casts_gradients(kind, context); products > 0) {
        const byte_count first = at_first_cast(kind, j.model.hidden, l, context, a.sums.saved, throughout) +
                                 (state.casts.all - state.casts.feed_forward);
        constexpr auto output = static_cast<std::size_t>(backward_point::output);
        const byte_count last = held[output] - a.sums.saved[output] + own_output(kind, l, context);
        set_cast_peaks(t, last, first, products);
        set_peaks(t, held, state.casts.down);
    } else {
        set_peaks(t, held, state.gradients.down);
    }
    set_first_product_peaks(t, kind, j.model.hidden, l, context, a.sums.saved, throughout);
    if (kind.feed_forward.routed() && context.runtime.kernels.experts == expert_code::loop && !context.frozen) {
        const byte_count looped = held[static_cast<std::size_t>(backward_point::inner)] +
                                  beside_next_to_last_expert(kind, l, context, state, a.sums.routed);
        if (looped > t.peak) t.peak = looped;
        if (looped > t.fresh_peak) t.fresh_peak = looped;
    }
    if (kind.feed_forward.routed() && context.runtime.kernels.experts == expert_code::grouped && !context.frozen) {
        const byte_count stacked =
            at_stacked_gradient(kind, j.model.hidden, l, context, a.sums.saved, a.sums.routed, a.output_gradient) +
            throughout - a.output_gradient +
            (context.autocast ? state.casts.all - state.casts.feed_forward : byte_count{});
        const byte_count made = state.gradients.feed_forward - made_later(kind, context, state);
        const byte_count up = made - state.gradients.down;
        if (stacked + up > t.peak) t.peak = stacked + up;
        if (stacked + made > t.fresh_peak) t.fresh_peak = stacked + made;
    }
    if (t.peak > t.added_peak) t.added_peak = t.peak;
    t.saved += state.casts.all;
    if (const byte_count again = forward_of(a.sums.again, context, state, true); again > t.saved)
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
    const byte_count alive = forward_of(a.sums.forward, context, state, stays);
    const byte_count counted = stays ? t.kept : byte_count{};
    if (alive > counted) t.in_forward = alive - counted;
    return t;
}

constexpr training_layer training_layer_of(const layer& kind, const job& j, const layout& l,
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
    unsaved cut{.goes_on = true};
    for (std::int32_t i = 0; i < j.model.layers.size && cut.goes_on; ++i) {
        cut = unsaved_by(j.model.layers[i], j, j.model.hidden, context, l);
        size += cut.size;
    }
    return size;
}

/// The mask that a layer's attention needs as a tensor, if it does. Eager attention adds its mask, sdpa's is of bytes.
constexpr byte_count mask_of(const layer& kind, const training_context& context) {
    const bool eager = context.attention.kernel == attention_kernel::eager;
    const attention& a = kind.attention;
    if (!context.code.attention.causal || context.runtime.kernels.fuses_norms() || a.kind == attention_kind::none ||
        context.attention.kernel == attention_kernel::flash ||
        (!eager && !is_masked(a, context) && !context.code.attention.given.mask))
        return {};
    return size_of(eager ? context.formats.embedding : int8, context.tokens.sequences,
                   product(context.tokens.length, context.tokens.keys));
}

/// Masks by the layers that read one: those without a window, and those with one.
using masks_by_window = std::array<byte_count, 2>;

/// The masks of those layers of a model whose kinds are `here`.
template <class Here>
constexpr masks_by_window masks_of(const model& m, const training_context& context, Here&& here) {
    masks_by_window masks{};
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k) {
        const layer& kind = m.layers.kinds[static_cast<std::size_t>(k)];
        if (const byte_count mask = mask_of(kind, context); mask > byte_count{} && here(k))
            masks[kind.attention.window > token_count{} ? 1U : 0U] = mask;
    }
    return masks;
}

/// All masks of a model.
constexpr byte_count masks_made(const model& m, const training_context& context) {
    const masks_by_window masks = masks_of(m, context, [](std::int32_t) { return true; });
    return masks[0] + masks[1];
}

}  // namespace llmres::inline v0::detail
