// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/attention.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/mamba2.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>

/// The inventory of what autograd saves: what each operation of a layer keeps from its forward pass until its backward
/// pass. Read off PyTorch 2.11 running the modules of transformers 5.17 (tests/validation/pytorch), Megatron-Core's
/// fused operations and Liger's kernels; arXiv 2205.05198 section 4 counts the same for a GPT layer.
namespace llmres::inline v0 {

namespace detail {

template <class Visit>
struct activation_writer {
    Visit& visit;
    const precision& compute;

    constexpr void whole(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, compute, activation_split::sequence});
    }
    constexpr void split(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, compute, activation_split::tensor});
    }
    constexpr void split_fp32(activation_role role, std::int64_t elements) const {
        visit(activation{role, elements, fp32, activation_split::tensor});
    }
};

}  // namespace detail

/// Where in a layer: the two halves do not overlap, so the larger one counts.
enum class layer_half : std::uint8_t { attention, feed_forward };

/// Calls visit(activation, layer_half) for every tensor alive at the fullest moment of that half.
template <class Visit>
constexpr void for_each_live_activation(const layer& l, std::int64_t hidden, const token_shape& s,
                                        attention_kernel kernel, const precision& compute, Visit&& visit) {
    const std::int64_t n = s.all();
    const auto in_half = [&](layer_half half, auto&& write) {
        const auto to_half = [&](const activation& a) { visit(a, half); };
        const detail::activation_writer<const decltype(to_half)> live{to_half, compute};
        live.whole(activation_role::residual, n * hidden);
        live.whole(activation_role::linear_input, n * hidden);
        write(live);
    };
    in_half(layer_half::attention, [&](const auto& live) {
        const attention& a = l.attention;
        if (a.kind == attention_kind::none) return;
        const std::int64_t kv_heads = a.kind == attention_kind::latent ? a.heads : a.kv_heads;
        live.split(activation_role::query, n * a.heads * a.query_width());
        live.split(activation_role::key, n * kv_heads * a.query_width());
        live.split(activation_role::value, n * kv_heads * a.value_width());
        live.split(activation_role::attention_output, n * a.heads * a.value_width());
        if (kernel == attention_kernel::eager)
            live.split_fp32(activation_role::probabilities,
                            detail::product(detail::product(s.sequences, a.heads), detail::product(s.length, s.keys)));
    });
    in_half(layer_half::feed_forward, [&](const auto& live) {
        const feed_forward& f = l.feed_forward;
        if (f.kind == feed_forward_kind::none) return;
        const std::int64_t per_token = f.routed() ? f.experts.per_token : 1;
        const std::int64_t width = f.routed() ? f.experts.width : f.width;
        if (f.kind == feed_forward_kind::gated) live.split(activation_role::gate, n * per_token * width);
        live.split(activation_role::up, n * per_token * width);
        live.split(activation_role::product, n * per_token * width);
        if (f.routed()) live.whole(activation_role::expert_output, n * per_token * hidden);
    });
}

/// Calls visit(activation) for the scores of the next token of each sequence: in the compute format, and in fp32 for
/// sampling.
template <class Visit>
constexpr void for_each_sampled_activation(const model& m, std::int64_t sequences, const precision& compute,
                                           Visit&& visit) {
    const detail::activation_writer<Visit> live{visit, compute};
    live.split(activation_role::logits, sequences * m.vocabulary);
    live.split_fp32(activation_role::logits_fp32, sequences * m.vocabulary);
}

/// Calls visit(activation) for every tensor that one layer saves until its backward pass, recomputing nothing.
template <class Visit>
constexpr void for_each_saved_activation(const layer& l, std::int64_t hidden, const training_context& context,
                                         Visit&& visit) {
    using enum backward_point;
    const detail::layer_writer<Visit> save{context, visit, &l, hidden};
    const std::int64_t n = context.tokens.all();
    constexpr auto split = activation_split::sequence;
    if (l.norm_before_attention) save.norm(n, hidden, l.norm, split, attention_norm, attention);
    if (l.attention.kind != attention_kind::none) detail::save_attention(l.attention, hidden, l.norm, save);
    if (l.recurrent.kind == recurrent_kind::mamba2) detail::save_scan(l.recurrent, hidden, l.norm, save);
    if (l.attention.cross == cross_attention::beside) detail::save_cross_attention(l, hidden, save);
    if (l.norm_after_attention) save.norm(n, hidden, l.norm, split, norm, norm);
    if (l.norm_before_feed_forward)
        save.norm(n, hidden, l.norm, split, norm, inner,
                  !context.code.norms.one_input || context.widens_stream(l.norm));
    const feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        // One norm before both halves: its output is kept already.
        const bool mixes = l.attention.kind != attention_kind::none || l.recurrent.kind != recurrent_kind::none;
        const bool own_input = l.norm_before_feed_forward || !l.norm_before_attention || !mixes;
        if (f.routed())
            detail::save_experts(f, hidden, save);
        else
            detail::save_mlp(f.kind, own_input ? hidden : 0, n, f.width, context.casts(l.norm), split, save);
        if (context.dropout) save.put(activation_role::mask, n * hidden, int8, split, output);
    }
    if (l.norm_after_feed_forward) save.norm(n, hidden, l.norm, split, output, output);
}

namespace detail {

/// What a norm's backward pass holds beside what it saved: six fp32 tensors as PyTorch differentiates them one by one.
template <class Visit>
constexpr void pass_back_norm(std::int64_t n, std::int64_t hidden, norm_kind kind, backward_point at,
                              const layer_writer<Visit>& hold) {
    const bool one_kernel = hold.context.runtime.kernels.fuses_norms() || kind != norm_kind::rms;
    if (one_kernel)
        hold.put(activation_role::gradient, 2 * n * hidden, hold.context.formats.stream, activation_split::sequence,
                 at);
    else
        hold.put(activation_role::gradient, 5 * n * hidden, fp32, activation_split::sequence, at);
}

}  // namespace detail

/// Calls visit(activation) for what the backward pass of the layer makes, `until` being the one point where it lives.
template <class Visit>
constexpr void for_each_gradient_activation(const layer& l, std::int64_t hidden, const training_context& context,
                                            Visit&& visit) {
    using enum backward_point;
    const detail::layer_writer<Visit> hold{context, visit};
    const std::int64_t n = context.tokens.all();
    for (std::size_t i = 0; i < backward_points; ++i)  // the gradient of the layer's output, for the residual sum
        hold.put(activation_role::gradient, n * hidden, context.formats.stream, activation_split::sequence,
                 static_cast<backward_point>(i));
    const feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        const std::int64_t rows = detail::rows_passed_back(f, context);
        const std::int64_t width = f.routed() ? f.experts.width : f.width;
        const std::int64_t made_inside = detail::inner_gradients(f) * rows * width;
        hold.put(activation_role::gradient, rows * width, context.formats.compute, activation_split::tensor, output);
        hold.put(activation_role::gradient, made_inside, context.formats.compute, activation_split::tensor, inner);
        if (f.routed() && context.runtime.kernels.experts == expert_code::batched) {
            const std::int64_t stacks = detail::inner_gradients(f) - 1;
            hold.put(activation_role::gradient, detail::product(rows, width * hidden), context.formats.stream,
                     activation_split::whole, output);
            hold.put(activation_role::gradient, detail::product(rows, stacks * width * hidden), context.formats.stream,
                     activation_split::whole, inner);
        }
        if (f.routed())
            hold.put(activation_role::gradient, rows * f.experts.features(hidden), context.formats.compute,
                     activation_split::sequence, inner);
    }
    if (l.norm_before_feed_forward) detail::pass_back_norm(n, hidden, l.norm, norm, hold);
    const llmres::attention& a = l.attention;
    if (a.kind != attention_kind::none) {
        constexpr auto split = activation_split::tensor;
        if (context.attention.kernel == attention_kernel::eager) {
            const std::int64_t pairs = detail::product(detail::product(context.tokens.sequences, a.heads),
                                                       detail::product(context.tokens.length, context.tokens.keys));
            hold.put(activation_role::gradient, detail::product<std::int64_t>(2, pairs),
                     detail::widens_scores(context) ? fp32 : context.formats.compute, split, attention);
            hold.put(activation_role::gradient, n * a.heads * a.value_width(), context.formats.compute, split,
                     attention);
        } else {
            const std::int64_t made = 2 * n * a.heads * (a.query_width() + a.value_width());
            hold.put(activation_role::gradient, made, context.formats.compute, split, attention);
            if (context.attention.context_ranks > 1) detail::exchange_keys(a, made, hold);
        }
    }
    if (l.recurrent.kind == recurrent_kind::mamba2) detail::pass_back_scan(l.recurrent, hold);
    if (l.norm_before_attention) detail::pass_back_norm(n, hidden, l.norm, attention_norm, hold);
}

}  // namespace llmres::inline v0
