// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/attention.hpp>
#include <llmres/inventory/layers/delta_net.hpp>
#include <llmres/inventory/layers/feed_forward.hpp>
#include <llmres/inventory/layers/mamba2.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/visitor.hpp>

/// The inventory of activations: what is alive in a forward pass, what autograd saves from it, and what a backward pass
/// makes, all folds over the one list of a layer's operations (layers/operations.hpp). What is saved was read off
/// PyTorch 2.11 running the modules of transformers 5.17 (tests/validation/pytorch), Megatron-Core's fused operations
/// and Liger's kernels; arXiv 2205.05198 section 4 counts the same for a GPT layer.
namespace llmres::inline v0 {

/// Calls visit(activation, layer_half) for every tensor alive at the fullest moment of each half of a layer's forward
/// pass: the residual stream and the norm's output, which callers hold, and what attention, or the feed-forward's
/// activation, reads and writes; of routed experts their outputs, too. `compute`: the format of all but eager
/// attention's probabilities, which are fp32.
template <class Visit>
constexpr void for_each_live_activation(const layer& l, std::int64_t hidden, const token_shape& s,
                                        attention_kernel kernel, const precision& compute, Visit&& visit) {
    using enum activation_role;
    using detail::operand;
    const std::int64_t n = s.all();
    for (const layer_half half : {layer_half::attention, layer_half::feed_forward})
        for (const activation_role held : {residual, linear_input})
            visit(
                activation{held, n * hidden * (held == residual ? l.streams : 1), compute, activation_split::sequence},
                half);
    const auto show = [&](const operand& t, activation_role role, std::int64_t positions, layer_half half) {
        if (t.width > 0) visit(activation{role, positions * t.width, compute, t.split}, half);
    };
    if (l.attention.kind != attention_kind::none) {
        const detail::layer_operation core = detail::attention_core(l.attention);
        show(core.reads[0], query, n, core.half);
        show(core.reads[1], key, n, core.half);
        show(core.reads[2], value, n, core.half);
        show(core.writes[0], attention_output, n, core.half);
        if (kernel == attention_kernel::eager)
            visit(activation{probabilities,
                             detail::product(detail::product(s.sequences, l.attention.heads),
                                             detail::product(s.length, s.keys)),
                             fp32, activation_split::tensor},
                  core.half);
    }
    const feed_forward& f = l.feed_forward;
    if (f.kind == feed_forward_kind::none) return;
    const bool routed = f.routed();
    const std::int64_t positions = routed ? n * f.experts.per_token : n;
    const detail::layer_operation inner = detail::activation_of(
        f, routed ? f.experts.width : f.width, routed ? detail::expert_group::routed : detail::expert_group::none);
    show(inner.reads[1], gate, positions, inner.half);
    show(inner.reads[0], up, positions, inner.half);
    show(inner.writes[0], product, positions, inner.half);
    if (routed)
        show(detail::whole_operand(detail::operand_name::expert_output, hidden), expert_output, positions, inner.half);
}

namespace detail {

/// Shows what each operation of a layer saves from its forward pass until its backward pass, recomputing nothing.
struct saved_fold {
    const layer& of_layer;
    std::int64_t hidden;
    const training_context& context;
    const activation_visitor& visit;
    gradient_flow flow;
    bool input_saved = false;  ///< as it is: what the products of this half read

    constexpr void operator()(const layer_operation& o) {
        const bool drops_nothing = o.code == operation_code::residual_sum && !context.dropout;
        if (!drops_nothing && (o.code == operation_code::products || flow.reaches_any(o.reads))) save(o);
        flow.pass(o, context.adapter);
    }

private:
    constexpr layer_writer writer_of(const layer_operation& o) const {
        return {context, visit, o.parts, o.routed, flow.reaches_any(o.reads)};
    }
    constexpr bool touches_any(const layer_operation& o) const {
        for (std::size_t i = 0; i < o.products(); ++i)
            if (context.adapter.touches(o.weights[i], o.routed)) return true;
        return false;
    }
    constexpr void save(const layer_operation& o) {
        const layer_writer out = writer_of(o);
        const std::int64_t n = context.tokens.all();
        switch (o.code) {
            case operation_code::norm: return save_norm(o, out);
            case operation_code::head_norm: return out.head_norm(n, o);
            case operation_code::products: return save_products(o, out);
            case operation_code::attention: {
                const std::int64_t keys = o.crosses ? context.encoder_tokens : context.tokens.keys;
                const attended_tokens seen{.own_keys = o.crosses ? keys : context.tokens.length,
                                           .keys = keys,
                                           .what = o.crosses ? attention_to::encoder : attention_to::itself};
                detail::save_attention(of_layer.attention, seen, flow, out);
                if (!o.crosses) save_beside_attention(of_layer.attention, hidden, layer_writer{context, visit});
                return;
            }
            case operation_code::output_gate:
                if (o.shared)  // what the shared experts put out, and the gate's sigmoid
                    out.put(activation_role::gate, n * (o.reads[0].width + o.reads[1].width), context.formats.compute,
                            o.reads[0].split, o.at);
                else if (of_layer.attention.gate != output_gate::heads)
                    out.put(activation_role::gate, 2 * n * o.reads[0].width, context.formats.compute, o.reads[0].split,
                            o.at);
                return;
            case operation_code::scan:
                if (of_layer.recurrent.kind == recurrent_kind::mamba2)
                    save_scan(of_layer.recurrent, of_layer.norm, out);
                else if (is_gated_delta(of_layer.recurrent))
                    save_delta_net(of_layer.recurrent, out);
                return;
            case operation_code::activation: return save_inner(o, out);
            case operation_code::route: return save_route(of_layer.feed_forward, out);
            case operation_code::combine: return save_combine(of_layer.feed_forward, o, out);
            case operation_code::residual_sum:
                // What a recurrence adds is not dropped.
                if (context.dropout &&
                    (o.half == layer_half::feed_forward || of_layer.attention.kind != attention_kind::none))
                    out.put(activation_role::mask, n * o.reads[0].width, int8, o.reads[0].split, o.at);
                return;
        }
    }

    /// The norm before the feed-forward is over before the products that read it differentiate its weight.
    constexpr void save_norm(const layer_operation& o, const layer_writer& out) const {
        using enum backward_point;
        const backward_point weight_at = o.at == attention_norm                               ? attention
                                         : o.at == norm && o.half == layer_half::feed_forward ? inner
                                                                                              : o.at;
        out.norm(context.tokens.all(), o.reads[0].width, of_layer.norm, o.reads[0].split, o.at, weight_at,
                 !o.reads_again || context.widens_stream(of_layer.norm), o.reads[0].name != operand_name::stream);
    }

    constexpr void save_products(const layer_operation& o, const layer_writer& out) {
        const std::int64_t n = context.tokens.all();
        const operand& read = o.reads[0];
        if (!flow.reaches_any(o.reads) && !touches_any(o)) return;
        switch (o.weights[0]) {
            case weight_role::router: return save_router_input(of_layer.feed_forward, read.width, out);
            case weight_role::projector:  // into latent features it reads what the router does
                if (!context.frozen && !o.reads_again)
                    out.put_input(activation_role::linear_input, n * read.width, context.formats.compute, read.split,
                                  backward_point::output);
                return;
            case weight_role::o_proj: return save_output_projection(of_layer.attention, o, out);
            case weight_role::out_proj:  // inside mamba-ssm's kernel, unless that ends at the gate
                if (context.runtime.kernels.scan != scan_code::fused ||
                    of_layer.recurrent.kind != recurrent_kind::mamba2)
                    out.products(o, {.elements = n * read.width, .n = n});
                return;
            case weight_role::down_proj: return save_last_product(o, out);
            default: break;
        }
        if (o.routed) return save_routed_input(of_layer.feed_forward, o, out);
        layer_writer::input_tensor in{.elements = n * read.width, .n = n};
        if (read.name == operand_name::latent) {
            in.casts = context.formats.fp32_outputs;
        } else if (read.name == operand_name::encoded) {  // one for all layers, unless each casts it
            if (!context.autocast && !context.frozen) return;
            in.n = context.tokens.sequences * context.encoder_tokens;
            in.elements = in.n * read.width;
            in.casts = context.casts(of_layer.norm);
        } else {
            const bool with_queries = o.weights[0] == weight_role::attn_gate && context.code.attention.gated_queries;
            if (with_queries || (o.reads_again && !saves_again(o))) in.elements = 0;
            in.casts = context.casts(o.shared ? norm_kind::rms : of_layer.norm);
            in.joined = is_joined(o, context);
            in.kept = o.reads_again && !o.shared && input_saved;
        }
        input_saved = out.products(o, in);
        // What its scales multiply (peft/tuners/ia3/layer.py).
        if (context.adapter.kind == adapter_kind::ia3 && o.products() == 3)
            out.put(activation_role::adapter, n * (o.writes[1].width + o.writes[2].width), context.formats.outputs,
                    o.writes[1].split, o.at);
    }

    /// Whether products save a tensor that others read before. What the router reads is saved for shared experts, too,
    /// but for what adapters or casts make of it; keys' and values' compression reads what queries do.
    constexpr bool saves_again(const layer_operation& o) const {
        if (o.half == layer_half::attention) return true;
        if (!o.shared) return context.frozen || context.casts(of_layer.norm);  // one norm before both halves
        return context.frozen || (transformers_experts(context) && (widens_router(context) || context.autocast));
    }

    constexpr void save_inner(const layer_operation& o, const layer_writer& out) const {
        const feed_forward& f = of_layer.feed_forward;
        const std::int64_t positions = o.routed ? routed_tokens(f, context) : context.tokens.all();
        if (o.routed && transformers_experts(context)) return save_stacked_activation(f, positions, out);
        save_activation(f.kind, positions, o.writes[0].width, flow, out);
    }

    /// The input of a feed-forward's last product; transformers' routed experts have it with the activation.
    constexpr void save_last_product(const layer_operation& o, const layer_writer& out) const {
        const feed_forward& f = of_layer.feed_forward;
        if (o.routed && transformers_experts(context)) return;
        const std::int64_t positions = o.routed ? routed_tokens(f, context) : context.tokens.all();
        const bool fp32_input = context.formats.fp32_outputs || widens_activation(f.kind, context);
        out.products(
            o, {.elements = positions * o.reads[0].width, .n = positions, .casts = context.autocast && fp32_input});
    }
};

/// Shows what a layer saves where its input, and so its other tensors, require a gradient as `flow` says; returns what
/// of its output does.
constexpr gradient_flow show_saved(const layer& l, std::int64_t hidden, const training_context& context,
                                   gradient_flow flow, const activation_visitor& visit) {
    saved_fold fold{l, hidden, context, visit, flow};
    for_each_layer_operation(l, hidden, context.code, fold);
    return fold.flow;
}

/// Fp32 tensors that the backward pass of x.pow(2).mean() makes, which PyTorch differentiates step by step: the input's
/// gradient by the product, the mean's, the input to the power of one, twice that, and its product with the mean's
/// (torch/csrc/autograd/FunctionsManual.cpp, pow_backward).
inline constexpr std::int64_t norm_gradients = 5;

/// What a norm's backward pass holds beside what it saved. What it reads has the residual's gradient, too, to which a
/// stream that is fp32 adds the first of its own at once. Of a norm of the feed-forward's output, what its weight
/// multiplied counts as saved, but is freed with the weight's gradient, before all of them exist.
constexpr void pass_back_norm(const layer_operation& o, norm_kind kind, const layer_writer& hold) {
    const training_context& context = hold.context;
    const std::int64_t values = context.tokens.all() * o.reads[0].width;
    const auto put = [&](std::int64_t elements, const precision& format) {
        hold.put(activation_role::gradient, elements, format, activation_split::sequence, o.at);
    };
    if (context.runtime.kernels.fuses_norms() || kind != norm_kind::rms) return put(2 * values, context.formats.stream);
    const bool of_output = o.at == backward_point::fed;
    if (!of_output || context.frozen)
        return put((norm_gradients - (!of_output && context.formats.fp32_stream ? 1 : 0)) * values, fp32);
    put((norm_gradients - 1) * values, fp32);
    if (!multiplies_in_fp32(context.code.norms.form) && !context.formats.fp32_outputs)
        put(values, context.formats.outputs);
}

/// Shows what each operation makes in its backward pass.
struct backward_fold {
    const layer& of_layer;
    const training_context& context;
    const activation_visitor& visit;

    constexpr void operator()(const layer_operation& o) const {
        const bool lower_gradient =
            o.code == operation_code::products && !o.routed && o.weights[0] != weight_role::down_proj;
        if (!lower_gradient && !o.crosses && !o.shared && o.code != operation_code::residual_sum) pass_back(o);
    }

private:
    constexpr void pass_back(const layer_operation& o) const {
        const layer_writer hold{context, visit};
        switch (o.code) {
            case operation_code::norm:  // those of attention's output, and before an encoder's, are lower than these
                if (o.reads[0].name == operand_name::stream || o.at == backward_point::fed)
                    pass_back_norm(o, of_layer.norm, hold);
                return;
            case operation_code::combine: return pass_back_weighing(of_layer.feed_forward, o, hold);
            case operation_code::attention: return pass_back_attention(of_layer.attention, hold);
            case operation_code::scan:
                if (of_layer.recurrent.kind == recurrent_kind::mamba2)
                    pass_back_scan(of_layer.recurrent, hold);
                else if (is_gated_delta(of_layer.recurrent))
                    pass_back_delta_net(of_layer.recurrent, hold);
                return;
            case operation_code::products:
            case operation_code::activation: return pass_back_feed_forward(of_layer.feed_forward, o, hold);
            default: return;
        }
    }
};

}  // namespace detail

/// Calls visit(activation) for every tensor that one layer saves until its backward pass, recomputing nothing.
template <class Visit>
constexpr void for_each_saved_activation(const layer& l, std::int64_t hidden, const training_context& context,
                                         Visit&& visit) {
    detail::show_saved(l, hidden, context, detail::gradient_flow{detail::input_gradient::required},
                       visiting<activation>(visit));
}

/// Calls saved(activation) and made(activation) for what one layer saves and for what its backward pass makes, `until`
/// of the latter being the one point where it lives: both at the price of one walk over the layer. The gradient of the
/// layer's output, which lives throughout, is not among them. after(operation, kept) is called when an operation's are
/// through; `kept`: the products that read the norm's output save it as it is.
template <class Saved, class Made, class After>
constexpr void for_each_training_activation(const layer& l, std::int64_t hidden, const training_context& context,
                                            Saved&& saved, Made&& made, After&& after) {
    const auto of_saved = visiting<activation>(saved);
    const auto of_made = visiting<activation>(made);
    detail::saved_fold save{l, hidden, context, of_saved, detail::gradient_flow{detail::input_gradient::required}};
    const detail::backward_fold pass_back{l, context, of_made};
    detail::for_each_layer_operation(l, hidden, context.code, [&](const detail::layer_operation& o) {
        save(o);
        pass_back(o);
        after(o, save.input_saved);
    });
}

/// Calls visit(activation) for what the backward pass of the layer makes, the gradient of its output once for each
/// point.
template <class Visit>
constexpr void for_each_gradient_activation(const layer& l, std::int64_t hidden, const training_context& context,
                                            Visit&& visit) {
    for (std::size_t i = 0; i < backward_points; ++i)
        visit(activation{activation_role::gradient, context.tokens.all() * hidden, context.formats.stream,
                         activation_split::sequence, static_cast<backward_point>(i)});
    for_each_training_activation(
        l, hidden, context, [](const activation&) {}, visit, [](const detail::layer_operation&, bool) {});
}

}  // namespace llmres::inline v0
