// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/activations.hpp>
#include <llmres/model.hpp>
#include <llmres/training/scan.hpp>
#include <llmres/training/step.hpp>

/// The inventory of what autograd saves: what each operation of a layer keeps from its forward pass until its backward
/// pass. Read off PyTorch 2.11 running the modules of transformers 5.17 (tests/validation/pytorch), Megatron-Core's
/// fused operations and Liger's kernels; arXiv 2205.05198 section 4 counts the same for a GPT layer.
namespace llmres {

namespace detail {

/// Which of PyTorch's kernels computes attention (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
enum class score_code : std::uint8_t {
    by_pair,  ///< scores of every pair of tokens are a tensor
    flash,
    tiled,    ///< memory-efficient, or cuDNN's: takes masks, and heads of different widths
};

/// A window that bites needs a mask.
constexpr bool is_masked(const attention& a, const training_step& step) {
    return a.window > token_count{} && a.window.in(tokens) <= step.tokens.keys;
}

/// Whether keys and values are repeated for every query head. (transformers repeats where a mask is needed, and one
/// single head as a view.)
constexpr bool repeats_heads(const attention& a, const training_step& step) {
    if (a.kind == attention_kind::latent) return true;
    if (a.kv_heads == 1 || step.kernel == attention_kernel::flash) return false;
    return step.kernel == attention_kernel::eager || !step.engine.shared_heads || is_masked(a, step);
}

constexpr score_code score_code_of(const attention& a, const training_step& step) {
    if (step.kernel == attention_kernel::eager) return score_code::by_pair;
    if (step.kernel == attention_kernel::flash) return score_code::flash;
    if (step.kernel == attention_kernel::cudnn) return score_code::tiled;
    const bool one_width = a.query_width() == a.value_width();
    if (!step.wide && one_width && !step.code.biased_scores && !is_masked(a, step) && a.query_width() <= 256) return score_code::flash;
    // Kernels for fp32 know nothing of shared heads.
    const bool shares = a.kind == attention_kind::grouped && a.kv_heads != a.heads && !repeats_heads(a, step) && !is_masked(a, step);
    return shares ? score_code::by_pair : score_code::tiled;
}

/// Whether eager attention's softmax is fp32 beside narrower products: as written, or as autocast has it.
constexpr bool widens_scores(const training_step& step) {
    const bool one_kernel = step.engine.fuses_norms();
    return !one_kernel && (step.code.fp32_softmax || step.autocast || step.wide);
}

template <class Visit>
constexpr void save_scores(std::int64_t pairs, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_step& step = save.step;
    constexpr auto split = activation_split::tensor;
    const bool drops = step.dropout && step.code.drops_probabilities;
    if (step.code.caps_scores && step.kernel == attention_kernel::eager) save.put(role::probabilities, pairs, step.compute, split, attention);
    const bool widens = widens_scores(step);
    save.put(role::probabilities, pairs, widens ? fp32 : step.compute, split, attention);
    if (drops) save.put(role::probabilities, pairs, int8, split, attention);  // which of them: a part of the core that is computed again
    // What multiplies the values: dropped out, or returned to the compute format.
    if (drops || (widens && !step.wide)) save.put(role::probabilities, pairs, step.compute, split, norm);
}

/// `own_keys`: tokens of a sequence whose keys and values are here, of the `keys` that are attended to. True if what the
/// output projection reads is kept.
template <class Visit>
constexpr bool save_heads(const attention& a, std::int64_t own_keys, std::int64_t keys, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_step& step = save.step;
    const std::int64_t n = step.tokens.all();
    const std::int64_t m = step.tokens.sequences * own_keys;
    const score_code scores = score_code_of(a, step);
    const bool eager = scores == score_code::by_pair;
    const bool repeats = repeats_heads(a, step) || (eager && (a.kv_heads != 1 || step.kernel != attention_kernel::eager));
    const std::int64_t kv_heads = repeats ? a.heads : a.kv_heads;
    // One head is repeated as a view, which a cast of turned keys, or of wide values, makes whole.
    const bool viewed = a.kv_heads == 1 && !repeats && (eager || is_masked(a, step));
    const std::int64_t key_heads = viewed && step.autocast && step.wide_stream ? a.heads : kv_heads;
    const std::int64_t value_heads = viewed && step.wide_inner ? a.heads : kv_heads;
    constexpr auto split = activation_split::tensor;
    const backward_point of_values = eager ? norm : attention;
    // Views of one product keep all of it, unless they are cast, or copied to lie head by head.
    const bool casts = step.wide_inner;
    const bool joined = step.joined_heads && !casts && !(eager && step.tokens.sequences > 1);
    const std::int64_t query = n * a.heads * a.query_width();
    if (step.code.rotary || !joined) {
        save.put(role::query, query, step.compute, split, attention);
        save.put(role::key, m * key_heads * a.query_width(), step.compute, split, attention);
    }
    if (joined)
        save.put(role::value, query + m * a.kv_heads * (a.query_width() + a.value_width()), step.compute, split, of_values);
    else if (a.kind == attention_kind::latent && step.engine.norm == norm_code::eager)  // views of one product
        save.put(role::value, m * a.heads * (a.head_dim + a.value_width()), step.compute, split, of_values);
    else
        save.put(role::value, m * value_heads * a.value_width(), step.compute, split, of_values);
    if (eager) {
        save_scores(product(product(step.tokens.sequences, a.heads), product(step.tokens.length, keys)), save);
    } else {
        save.put(role::softmax_statistics, n * a.heads, fp32, split, attention);
        // The mask becomes one to add, for each layer.
        if (step.kernel != attention_kernel::flash && is_masked(a, step) && step.engine.shared_heads)
            save.put(role::mask, product(n, keys), step.compute, activation_split::whole, attention);
        save.put(role::attention_output, n * a.heads * a.value_width(), step.compute, split, attention);
    }
    // The output projection reads attention's own output, or the copy that puts a token's heads side by side.
    // (cuDNN's output lies as the queries do, and those of two parts are joined head by head: Attention.cpp, alloc_with_matching_layout.)
    const bool by_heads = a.kind == attention_kind::latent && step.cudnn_attention && step.kernel == attention_kernel::sdpa;
    const bool copied = eager || (scores == score_code::flash && step.code.heads_first) || by_heads;
    const bool reads = !step.frozen || step.keeps_inputs;
    if ((copied || step.narrows()) && reads) save.put(role::attention_output, n * a.heads * a.value_width(), step.kept, split, norm);
    return !copied || reads;
}

template <class Visit>
constexpr void save_attention(const llmres::attention& a, std::int64_t hidden, norm_kind kind, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    const training_step& step = save.step;
    const std::int64_t n = step.tokens.all();
    const bool casts = step.casts(kind);
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto by_tensor = activation_split::tensor;
    if (a.kind == attention_kind::latent) {
        if (a.q_rank > 0) {
            save.inputs(std::array{role::q_a_proj, role::kv_a_proj}, n * hidden, n, casts, by_sequence, attention);
            save.narrow_norm(n, a.q_rank, by_sequence, attention);
            save.inputs(std::array{role::q_b_proj}, n * a.q_rank, n, step.wide_inner, by_sequence, attention);
        } else {
            save.inputs(std::array{role::q_proj, role::kv_a_proj}, n * hidden, n, casts, by_sequence, attention);
        }
        save.narrow_norm(n, a.kv_rank, by_sequence, attention);
        save.inputs(std::array{role::kv_b_proj}, n * a.kv_rank, n, step.wide_inner, by_sequence, attention);
    } else {
        save.inputs(std::array{role::q_proj, role::k_proj, role::v_proj}, n * hidden, n, casts, by_sequence, attention, step.joined_heads);
        if (step.adapter.kind == adapter_kind::ia3)  // what its scales multiply (peft/tuners/ia3/layer.py)
            save.put(activation_role::adapter, n * a.kv_heads * (a.query_width() + a.value_width()), step.inner, by_tensor, attention);
        if (a.qk_norm != query_key_norm::none) {
            save.narrow_norm(n, a.heads * a.head_dim, by_tensor, attention, a.head_dim);
            save.narrow_norm(n, a.kv_heads * a.head_dim, by_tensor, attention, a.head_dim);
        }
    }
    const bool kept = save_heads(a, step.tokens.length, step.tokens.keys, save);
    if (step.code.biased_scores && score_code_of(a, step) != score_code::by_pair) {
        // One bias for all layers, but each casts it, and each of a decoder masks it.
        const std::int64_t pairs = product(step.tokens.length, step.tokens.keys);
        const bool masks = a.cross != cross_attention::none;
        if (masks || (step.autocast && step.wide_stream)) save.put(activation_role::mask, product(pairs, a.heads), step.compute, by_tensor, attention);
        if (masks && !step.frozen) save.put(activation_role::mask, pairs, int8, activation_split::whole, attention);
    }
    if (a.gate == output_gate::features) {
        save.put(activation_role::gate, 2 * n * a.heads * a.value_width(), step.compute, by_tensor, norm);
    }
    // The output projection reads attention's own output: only what adapters make of it is more.
    if (step.adapter.adapts(role::o_proj)) save.inputs(std::array{role::o_proj}, n * a.heads * a.value_width(), n, false, by_tensor, norm, false, kept);
    if (step.dropout) save.put(activation_role::mask, n * hidden, int8, by_sequence, norm);
    if (step.adapter.prompts_layers()) {
        // What its gate multiplies; a sum of two, which 4-bit products keep; what a scale multiplies.
        const std::int64_t output = n * a.heads * a.value_width();
        save.put(activation_role::adapter, output * (step.keeps_inputs ? 2 : 1), step.compute, by_tensor, norm);
        if (step.adapter.kind == adapter_kind::llama_adapter_v2) save.put(activation_role::adapter, n * hidden, step.compute, by_sequence, norm);
    }
}

/// Attention to what the encoder put out: keys and values are of its tokens. (Its output itself is one for all layers.)
template <class Visit>
constexpr void save_cross_attention(const layer& l, std::int64_t hidden, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    const training_step& step = save.step;
    const llmres::attention& a = l.attention;
    const std::int64_t n = step.tokens.all();
    const std::int64_t m = step.tokens.sequences * step.read;
    constexpr auto split = activation_split::sequence;
    save.norm(n, hidden, l.norm, split, attention_norm, attention);
    save.inputs(std::array{role::q_proj}, n * hidden, n, step.casts(l.norm), split, attention);
    const bool own = step.autocast || step.frozen;
    if (own) save.inputs(std::array{role::k_proj, role::v_proj}, m * hidden, m, step.casts(l.norm), split, attention);
    const bool kept = save_heads(a, step.read, step.read, save);
    if (step.adapter.adapts(role::o_proj)) save.inputs(std::array{role::o_proj}, n * a.heads * a.value_width(), n, false, activation_split::tensor, norm, false, kept);
    if (step.dropout) save.put(activation_role::mask, n * hidden, int8, split, norm);
}

/// A feed-forward of inner width `width` over n positions; `casts`: its input is wider than it computes in.
template <class Visit>
constexpr void save_mlp(feed_forward_kind kind, std::int64_t hidden, std::int64_t n, std::int64_t width, bool casts,
                        activation_split in_split, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    using form = activation_form;
    const training_step& step = save.step;
    constexpr auto split = activation_split::tensor;
    const bool gated = kind == feed_forward_kind::gated;
    if (gated)
        save.inputs(std::array{role::gate_proj, role::up_proj}, n * hidden, n, casts, in_split, inner, step.code.joined_gate);
    else
        save.inputs(std::array{role::up_proj}, n * hidden, n, casts, in_split, inner);
    const activation_role activated = gated ? activation_role::gate : activation_role::up;
    const precision* product = &step.inner;
    bool wide_product = step.wide_inner;
    switch (gated ? step.code.activation : step.code.plain_activation) {
        case form::from_input: save.put(activated, n * width, step.inner, split, inner); break;
        case form::from_output:
            if (gated || step.frozen) save.put(activated, n * width, step.inner, split, inner);
            break;
        case form::composed: {
            // Half of the input, the input, tanh, one plus tanh: autocast cubes in fp32, and what follows is.
            const precision& cubed = step.autocast ? fp32 : step.inner;
            product = &cubed;
            wide_product = wide_product || step.autocast;
            save.put(activated, n * width, step.inner, split, inner);
            save.put(activated, 3 * n * width, cubed, split, inner);
            break;
        }
    }
    if (gated) {
        const bool again = step.code.activation != form::from_output;
        if (!step.engine.fuses_gates() && again) save.put(activation_role::gate_activation, n * width, *product, split, inner);
        save.put(activation_role::up, n * width, step.inner, split, inner);
    }
    if (step.dropout && step.code.drops_inner) save.put(activation_role::mask, n * width, int8, split, output);
    if (step.adapter.kind == adapter_kind::ia3) save.put(activation_role::adapter, n * width, step.adapted, split, output);
    save.inputs(std::array{role::down_proj}, n * width, n, step.autocast && wide_product, split, output);
}

/// Tokens on a rank's experts, each counted as often as it goes to one: as many as it sends away, times the load of the busiest.
constexpr std::int64_t routed_tokens(const feed_forward& f, const training_step& step) {
    return static_cast<std::int64_t>(static_cast<double>(step.tokens.all() * f.experts.per_token) * step.expert_load);
}

/// Products over a stack of experts' weights do not know autocast.
constexpr const precision& routed_format(const training_step& step) {
    const expert_code code = step.engine.experts;
    return code == expert_code::modules || code == expert_code::loop ? step.compute : step.stream;
}

/// Of the tokens that go to transformers' experts, each counted as often as it goes to one and of the `features` that experts read.
template <class Visit>
constexpr void save_routed_tokens(const feed_forward& f, std::int64_t features, std::int64_t routed, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_step& step = save.step;
    const std::int64_t inner_width = routed * f.experts.width;
    const precision& format = routed_format(step);
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto by_tensor = activation_split::tensor;
    if (!step.frozen) save.put(role::linear_input, routed * features, format, by_sequence, inner);
    if (f.kind == feed_forward_kind::gated) {
        save.put(role::gate, 2 * inner_width, format, by_tensor, inner);
        save.put(role::gate_activation, inner_width, format, by_tensor, inner);
    } else {
        save.put(role::up, inner_width, format, by_tensor, inner);
    }
    if (!step.frozen) save.put(role::product, inner_width, format, by_tensor, output);
    save.put(role::expert_output, routed * features * (step.engine.experts == expert_code::loop ? 2 : 1), format, by_sequence, output);
}

/// Routed experts in transformers: tokens are sorted by expert and copied, weights of all experts are one tensor, which
/// autocast does not know to cast (integrations/moe.py).
template <class Visit>
constexpr void save_transformers_experts(const feed_forward& f, std::int64_t hidden, std::int64_t routed, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_step& step = save.step;
    const experts& e = f.experts;
    const std::int64_t n = step.tokens.all();
    const expert_code code = step.engine.experts;
    constexpr auto by_sequence = activation_split::sequence;
    save.put(role::router, n * e.count, fp32, by_sequence, inner);                                // the scores' softmax
    save.put(role::router, 2 * n * e.per_token, fp32, by_sequence, inner);                        // those chosen, scaled
    save.put(role::router, 8 * (n * e.per_token + 3 * routed), int8, by_sequence, inner);         // their places, and back
    const bool widens = step.code.fp32_router && !step.autocast && !step.wide_stream;
    if (!step.frozen) {
        if (widens) save.put(role::weight, hidden * e.count, fp32, activation_split::whole, inner);
        save.put(role::linear_input, n * hidden, widens ? fp32 : step.compute, by_sequence, inner);
    }
    save_routed_tokens(f, e.features(hidden), routed, save);
    if (code == expert_code::batched) {  // each token has its experts' weights copied
        const std::int64_t copied = product(routed, e.width * e.features(hidden));
        save.put(role::weight, copied, routed_format(step), activation_split::whole, output);
        save.put(role::weight, product<std::int64_t>(copied, f.kind == feed_forward_kind::gated ? 2 : 1), routed_format(step), activation_split::whole, inner);
    }
    const bool own_input = step.frozen || widens || step.autocast;
    if (e.shared_width > 0) save_mlp(f.kind, own_input ? hidden : 0, n, e.shared_width, step.casts(norm_kind::rms), by_sequence, save);
}

/// Routed experts: tokens are copied for each expert they go to.
template <class Visit>
constexpr void save_experts(const feed_forward& f, std::int64_t hidden, const layer_writer<Visit>& save) {
    using enum backward_point;
    const training_step& step = save.step;
    const experts& e = f.experts;
    const std::int64_t n = step.tokens.all();
    const std::int64_t routed = routed_tokens(f, step);
    const std::int64_t features = e.features(hidden);
    const bool dispatches = step.engine.experts == expert_code::dispatched;
    // What the projection back from the latent features reads (Megatron-Core, moe_layer.py, fc2_latent_proj).
    if (!step.frozen) save.put(activation_role::linear_input, n * e.latent, step.compute, activation_split::sequence, output);
    if (step.engine.norm == norm_code::eager && !dispatches) return save_transformers_experts(f, hidden, routed, save);
    save.put(activation_role::router, 2 * n * e.count, fp32, activation_split::sequence, inner);  // scores and their softmax
    if (!step.frozen) save.put(activation_role::linear_input, n * hidden, step.compute, activation_split::sequence, inner);
    save_mlp(f.kind, 0, routed, e.width, false, activation_split::sequence, save);
    // The score weighs the inner features: in the same kernel where the activation is gated, else apart.
    if (step.engine.fuses_gates() && f.kind == feed_forward_kind::plain && !step.engine.use_fused_weighted_squared_relu)
        save.put(activation_role::gate_activation, routed * e.width, step.compute, activation_split::tensor, output);
    if (!step.frozen)
        save.put(activation_role::linear_input, routed * features * step.expert_gather, step.kept, activation_split::sequence, inner);
    if (dispatches) {  // what was exchanged is sorted once more, and what comes back is weighed in fp32
        save.put(activation_role::linear_input, step.frozen ? 0 : routed * features, step.compute, activation_split::sequence, inner);
        save.put(activation_role::expert_output, routed * features, fp32, activation_split::sequence, output);
    }
    if (e.shared_width > 0)  // its input is kept already where weights are trained
        save_mlp(f.kind, step.frozen ? hidden : 0, n, e.shared_width, step.casts(norm_kind::rms), activation_split::sequence, save);
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
    if (l.recurrent.kind == recurrent_kind::mamba2) detail::save_scan(l.recurrent, hidden, l.norm, save);
    if (l.attention.cross == cross_attention::beside) detail::save_cross_attention(l, hidden, save);
    if (l.norm_after_attention) save.norm(n, hidden, l.norm, split, norm, norm);
    if (l.norm_before_feed_forward) save.norm(n, hidden, l.norm, split, norm, inner, !step.code.one_norm_input || step.widens_stream(l.norm));
    const feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        // One norm before both halves: its output is kept already.
        const bool mixes = l.attention.kind != attention_kind::none || l.recurrent.kind != recurrent_kind::none;
        const bool own_input = l.norm_before_feed_forward || !l.norm_before_attention || !mixes;
        if (f.routed())
            detail::save_experts(f, hidden, save);
        else
            detail::save_mlp(f.kind, own_input ? hidden : 0, n, f.width, step.casts(l.norm), split, save);
        if (step.dropout) save.put(activation_role::mask, n * hidden, int8, split, output);
    }
    if (l.norm_after_feed_forward) save.norm(n, hidden, l.norm, split, output, output);
}

namespace detail {

/// What a norm's backward pass holds beside what it saved: six fp32 tensors as PyTorch differentiates them one by one.
template <class Visit>
constexpr void pass_back_norm(std::int64_t n, std::int64_t hidden, norm_kind kind, backward_point at, const layer_writer<Visit>& hold) {
    const bool one_kernel = hold.step.engine.fuses_norms() || kind != norm_kind::rms;
    if (one_kernel)
        hold.put(activation_role::gradient, 2 * n * hidden, hold.step.stream, activation_split::sequence, at);
    else
        hold.put(activation_role::gradient, 5 * n * hidden, fp32, activation_split::sequence, at);
}

}  // namespace detail

namespace detail {

/// What context-parallel ranks exchange for one attention, beside what it makes on one rank (Transformer Engine,
/// dot_product_attention/context_parallel.py): a ring holds each part of keys and values that came by in the forward pass, and
/// what it put out for each; in the backward pass two pairs of keys and values with their gradients, and one sum of the queries'.
template <class Visit>
constexpr void exchange_keys(const attention& a, std::int64_t made, const layer_writer<Visit>& hold) {
    const training_step& step = hold.step;
    const std::int64_t n = step.tokens.all();
    const std::int64_t kv_heads = a.kind == attention_kind::latent ? a.heads : a.kv_heads;
    const std::int64_t queries = n * a.heads * a.query_width();
    const std::int64_t keys = n * kv_heads * (a.query_width() + a.value_width());
    const std::int64_t output = n * a.heads * a.value_width();
    std::int64_t held = 0;
    switch (step.exchange) {
        case cp_communication::p2p: {
            const std::int64_t forward = product(step.context_ranks, keys + output) - made;
            held = forward > 4 * keys + queries ? forward : 4 * keys + queries;
            break;
        }
        case cp_communication::all_gather: held = 2 * product(step.context_ranks, keys); break;  // and their gradients, before they are summed
        case cp_communication::a2a: held = queries + keys + output; break;                       // as they came, and as they go
    }
    hold.put(activation_role::gradient, held, step.compute, activation_split::tensor, backward_point::attention);
}

/// Rows that a feed-forward passes back at once. One expert after the other: the gradients of each are gone before the next one's.
constexpr std::int64_t rows_passed_back(const feed_forward& f, const training_step& step) {
    if (!f.routed()) return step.tokens.all();
    const bool one_by_one = step.engine.experts <= expert_code::loop;
    return ceil_quotient(step.tokens.all() * f.experts.per_token, one_by_one ? f.experts.count : 1);
}

/// Gradients that live at once between a feed-forward's linear layers.
constexpr std::int64_t inner_gradients(const feed_forward& f) {
    return f.kind == feed_forward_kind::gated ? 3 : 2;
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
        const std::int64_t rows = detail::rows_passed_back(f, step);
        const std::int64_t width = f.routed() ? f.experts.width : f.width;
        const std::int64_t made_inside = detail::inner_gradients(f) * rows * width;
        hold.put(activation_role::gradient, rows * width, step.compute, activation_split::tensor, output);
        hold.put(activation_role::gradient, made_inside, step.compute, activation_split::tensor, inner);
        if (f.routed() && step.engine.experts == expert_code::batched) {
            const std::int64_t stacks = detail::inner_gradients(f) - 1;
            hold.put(activation_role::gradient, detail::product(rows, width * hidden), step.stream, activation_split::whole, output);
            hold.put(activation_role::gradient, detail::product(rows, stacks * width * hidden), step.stream, activation_split::whole, inner);
        }
        if (f.routed()) hold.put(activation_role::gradient, rows * f.experts.features(hidden), step.compute, activation_split::sequence, inner);
    }
    if (l.norm_before_feed_forward) detail::pass_back_norm(n, hidden, l.norm, norm, hold);
    const llmres::attention& a = l.attention;
    if (a.kind != attention_kind::none) {
        constexpr auto split = activation_split::tensor;
        if (step.kernel == attention_kernel::eager) {
            const std::int64_t pairs = detail::product(detail::product(step.tokens.sequences, a.heads),
                                                       detail::product(step.tokens.length, step.tokens.keys));
            hold.put(activation_role::gradient, detail::product<std::int64_t>(2, pairs), detail::widens_scores(step) ? fp32 : step.compute, split, attention);
            hold.put(activation_role::gradient, n * a.heads * a.value_width(), step.compute, split, attention);
        } else {
            const std::int64_t made = 2 * n * a.heads * (a.query_width() + a.value_width());
            hold.put(activation_role::gradient, made, step.compute, split, attention);
            if (step.context_ranks > 1) detail::exchange_keys(a, made, hold);
        }
    }
    if (l.recurrent.kind == recurrent_kind::mamba2) detail::pass_back_scan(l.recurrent, hold);
    if (l.norm_before_attention) detail::pass_back_norm(n, hidden, l.norm, attention_norm, hold);
}

}  // namespace llmres
