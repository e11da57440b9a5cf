// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/model.hpp>
#include <llmres/training/step.hpp>

/// The inventory of what autograd saves: what each operation of a layer keeps from its forward pass until its backward
/// pass. Read off PyTorch 2.11 running the modules of transformers 5.17 (tests/validation/pytorch), Megatron-Core's
/// fused operations and Liger's kernels; arXiv 2205.05198 section 4 counts the same for a GPT layer.
namespace llmres {

namespace detail {

template <class Visit>
constexpr void save_heads(const attention& a, const layer_writer<Visit>& save) {
    using enum backward_point;
    const training_step& step = save.step;
    const std::int64_t n = step.tokens.all();
    // torch has no fp32 kernel for shared heads: it multiplies score by score.
    const bool by_hand = step.kernel == attention_kernel::sdpa && step.engine.shared_heads && step.wide &&
                         a.kind == attention_kind::grouped && a.kv_heads != a.heads;
    const bool eager = step.kernel == attention_kernel::eager || by_hand;
    // Kernels that know of shared heads read keys and values without a copy for every query head.
    // (None does that takes a mask, which a window that bites needs.)
    const bool masked = a.window > token_count{} && a.window.in(tokens) <= step.tokens.keys;
    const bool shares = a.kind == attention_kind::grouped && !eager &&
                        (step.kernel == attention_kernel::flash || (step.engine.shared_heads && !masked));
    const std::int64_t kv_heads = shares ? a.kv_heads : a.heads;
    constexpr auto split = activation_split::tensor;
    save.put(activation_role::query, n * a.heads * a.query_width(), step.compute, split, attention);
    save.put(activation_role::key, n * kv_heads * a.query_width(), step.compute, split, attention);
    save.put(activation_role::value, n * kv_heads * a.value_width(), step.compute, split, eager ? norm : attention);
    if (eager) {
        const std::int64_t pairs = product(product(step.tokens.sequences, a.heads), product(step.tokens.length, step.tokens.keys));
        const bool one_kernel = step.engine.norm == norm_code::fused && !(step.engine == training_engine{});
        if (!one_kernel || step.wide) save.put(activation_role::probabilities, pairs, fp32, split, attention);
        if (!step.wide)
            save.put(activation_role::probabilities, pairs, step.compute, split, one_kernel ? attention : norm);
        if (step.dropout) {
            save.put(activation_role::mask, pairs, int8, split, attention);
            save.put(activation_role::probabilities, pairs, step.compute, split, norm);
        }
    } else {
        save.put(activation_role::softmax_statistics, n * a.heads, fp32, split, attention);
    }
    save.put(activation_role::attention_output, n * a.heads * a.value_width(), step.compute, split, eager ? norm : attention);
}

template <class Visit>
constexpr void save_attention(const llmres::attention& a, std::int64_t hidden, norm_kind kind, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    const training_step& step = save.step;
    const std::int64_t n = step.tokens.all();
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto by_tensor = activation_split::tensor;
    if (a.kind == attention_kind::latent) {
        if (a.q_rank > 0) {
            save.inputs(std::array{role::q_a_proj, role::kv_a_proj}, n * hidden, n, true, by_sequence, attention);
            save.norm(n, a.q_rank, norm_kind::rms, by_sequence, attention, attention);
            save.inputs(std::array{role::q_b_proj}, n * a.q_rank, n, true, by_sequence, attention);
        } else {
            save.inputs(std::array{role::q_proj, role::kv_a_proj}, n * hidden, n, true, by_sequence, attention);
        }
        save.norm(n, a.kv_rank, norm_kind::rms, by_sequence, attention, attention);
        save.inputs(std::array{role::kv_b_proj}, n * a.kv_rank, n, true, by_sequence, attention);
    } else {
        save.inputs(std::array{role::q_proj, role::k_proj, role::v_proj}, n * hidden, n, true, by_sequence, attention);
        const norm_kind of_heads = a.qk_norm == query_key_norm::none ? norm_kind::none : norm_kind::rms;
        save.norm(n, a.heads * a.head_dim, of_heads, by_tensor, attention, attention);
        save.norm(n, a.kv_heads * a.head_dim, of_heads, by_tensor, attention, attention);
    }
    save_heads(a, save);
    if (a.gate == output_gate::features) {
        save.put(activation_role::gate, 2 * n * a.heads * a.value_width(), step.compute, by_tensor, norm);
    }
    // The output projection reads attention's own output: only what adapters make of it is more.
    if (step.adapter.adapts(role::o_proj)) save.inputs(std::array{role::o_proj}, n * a.heads * a.value_width(), n, false, by_tensor, norm);
    if (step.dropout) save.put(activation_role::mask, n * hidden, int8, by_sequence, norm);
    (void)kind;
}

/// A feed-forward of inner width `width` over n positions; `from_stream`: its input is not a copy made for it.
template <class Visit>
constexpr void save_mlp(feed_forward_kind kind, std::int64_t hidden, std::int64_t n, std::int64_t width, bool from_stream,
                        activation_split in_split, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    const training_step& step = save.step;
    constexpr auto split = activation_split::tensor;
    if (kind == feed_forward_kind::gated) {
        save.inputs(std::array{role::gate_proj, role::up_proj}, n * hidden, n, from_stream, in_split, inner);
        save.put(activation_role::gate, n * width, step.compute, split, inner);
        if (step.engine.gate == gate_code::eager) save.put(activation_role::gate_activation, n * width, step.compute, split, inner);
    } else {
        save.inputs(std::array{role::up_proj}, n * hidden, n, from_stream, in_split, inner);
    }
    save.put(activation_role::up, n * width, step.compute, split, inner);
    save.inputs(std::array{role::down_proj}, n * width, n, false, split, output);
}

/// Routed experts: tokens are copied for each expert they go to, and each rank computes as many as it sends away, times
/// the load of the busiest.
template <class Visit>
constexpr void save_experts(const feed_forward& f, std::int64_t hidden, const layer_writer<Visit>& save) {
    using enum backward_point;
    const training_step& step = save.step;
    const experts& e = f.experts;
    const std::int64_t n = step.tokens.all();
    const std::int64_t routed = static_cast<std::int64_t>(static_cast<double>(n * e.per_token) * step.expert_load);
    save.put(activation_role::router, 2 * n * e.count, fp32, activation_split::sequence, inner);  // scores and their softmax
    if (!step.frozen) save.put(activation_role::linear_input, n * hidden, step.compute, activation_split::sequence, inner);
    save_mlp(f.kind, 0, routed, e.width, false, activation_split::sequence, save);
    if (!step.frozen)
        save.put(activation_role::linear_input, routed * hidden * step.expert_gather, step.compute, activation_split::sequence, inner);
    // The score weighs the inner features: in the same kernel where the activation is gated, else apart.
    if (step.engine.gate == gate_code::fused && f.kind == feed_forward_kind::plain)
        save.put(activation_role::gate_activation, routed * e.width, step.compute, activation_split::tensor, output);
    // Without kernels that weigh the inner features, each expert's output waits for the score that weighs it.
    if (step.engine.norm == norm_code::eager)
        save.put(activation_role::expert_output, routed * hidden, step.compute, activation_split::sequence, output);
    if (e.shared_width > 0) {
        if (step.frozen)
            save_mlp(f.kind, hidden, n, e.shared_width, true, activation_split::sequence, save);
        else
            save_mlp(f.kind, 0, n, e.shared_width, true, activation_split::sequence, save);  // its input is kept already
    }
}

}  // namespace detail

/// Calls visit(activation) for every tensor that one layer saves until its backward pass, recomputing nothing.
template <class Visit>
constexpr void for_each_saved_activation(const layer& l, std::int64_t hidden, const training_step& step, Visit&& visit) {
    using enum backward_point;
    const detail::layer_writer<Visit> save{step, visit, &l, hidden};
    const std::int64_t n = step.tokens.all();
    constexpr auto split = activation_split::sequence;
    if (l.norm_before_attention) save.norm(n, hidden, l.norm, split, attention_norm, attention);
    if (l.attention.kind != attention_kind::none) detail::save_attention(l.attention, hidden, l.norm, save);
    if (l.norm_after_attention) save.norm(n, hidden, l.norm, split, norm, norm);
    if (l.norm_before_feed_forward) save.norm(n, hidden, l.norm, split, norm, inner);
    const feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        // One norm before both halves: its output is kept already.
        const bool own_input = l.norm_before_feed_forward || !l.norm_before_attention;
        if (f.routed())
            detail::save_experts(f, hidden, save);
        else
            detail::save_mlp(f.kind, own_input ? hidden : 0, n, f.width, true, split, save);
        if (step.dropout) save.put(activation_role::mask, n * hidden, int8, split, output);
    }
    if (l.norm_after_feed_forward) save.norm(n, hidden, l.norm, split, output, output);
}

namespace detail {

/// What a norm's backward pass holds beside what it saved: six fp32 tensors as PyTorch differentiates them one by one.
template <class Visit>
constexpr void pass_back_norm(std::int64_t n, std::int64_t hidden, norm_kind kind, backward_point at, const layer_writer<Visit>& hold) {
    const bool one_kernel = hold.step.engine.norm == norm_code::fused || kind != norm_kind::rms;
    if (one_kernel)
        hold.put(activation_role::gradient, 2 * n * hidden, hold.step.stream, activation_split::sequence, at);
    else
        hold.put(activation_role::gradient, 5 * n * hidden, fp32, activation_split::sequence, at);
}

}  // namespace detail

/// Calls visit(activation) for what the backward pass of the layer makes, `until` being the one point where it lives.
template <class Visit>
constexpr void for_each_gradient_activation(const layer& l, std::int64_t hidden, const training_step& step, Visit&& visit) {
    using enum backward_point;
    const detail::layer_writer<Visit> hold{step, visit};
    const std::int64_t n = step.tokens.all();
    for (std::size_t i = 0; i < backward_points; ++i)  // the gradient of the layer's output, for the residual sum
        hold.put(activation_role::gradient, n * hidden, step.stream, activation_split::sequence, static_cast<backward_point>(i));
    const feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        const std::int64_t rows = f.routed() ? n * f.experts.per_token : n;
        const std::int64_t width = f.routed() ? f.experts.width : f.width;
        const int inner_tensors = f.kind == feed_forward_kind::gated ? 3 : 2;
        hold.put(activation_role::gradient, rows * width, step.compute, activation_split::tensor, output);
        hold.put(activation_role::gradient, inner_tensors * rows * width, step.compute, activation_split::tensor, inner);
        if (f.routed()) hold.put(activation_role::gradient, rows * hidden, step.compute, activation_split::sequence, inner);
    }
    if (l.norm_before_feed_forward) detail::pass_back_norm(n, hidden, l.norm, norm, hold);
    const llmres::attention& a = l.attention;
    if (a.kind != attention_kind::none) {
        constexpr auto split = activation_split::tensor;
        if (step.kernel == attention_kernel::eager) {
            const std::int64_t pairs = detail::product(detail::product(step.tokens.sequences, a.heads),
                                                       detail::product(step.tokens.length, step.tokens.keys));
            const bool one_kernel = step.engine.norm == norm_code::fused && !(step.engine == training_engine{});
            hold.put(activation_role::gradient, 2 * pairs, one_kernel ? step.compute : fp32, split, attention);
            hold.put(activation_role::gradient, n * a.heads * a.value_width(), step.compute, split, attention);
        } else {
            hold.put(activation_role::gradient, 2 * n * a.heads * (a.query_width() + a.value_width()), step.compute, split, attention);
        }
    }
    if (l.norm_before_attention) detail::pass_back_norm(n, hidden, l.norm, attention_norm, hold);
}

}  // namespace llmres
