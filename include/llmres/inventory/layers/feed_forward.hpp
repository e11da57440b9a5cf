// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/layers/saved.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What a feed-forward saves for its backward pass, be it one or the routed experts of a layer.
namespace llmres::inline v0::detail {

/// Whether routed experts are computed as transformers does, their weights stacked or not: tokens are sorted by expert
/// and copied (integrations/moe.py).
constexpr bool transformers_experts(const training_context& context) {
    return is_of_transformers(context.runtime.kernels.experts);
}

/// Products over a stack of experts' weights do not know autocast.
constexpr const precision& routed_format(const training_context& context) {
    const expert_code code = context.runtime.kernels.experts;
    return code == expert_code::modules || code == expert_code::loop ? context.formats.compute : context.formats.stream;
}

/// Tokens on a rank's experts, each counted as often as it goes to one: as many as it sends away, times the load of the
/// busiest.
constexpr std::int64_t routed_tokens(const feed_forward& f, const training_context& context) {
    return static_cast<std::int64_t>(static_cast<double>(context.tokens.all() * f.experts.per_token) *
                                     context.experts.load);
}

constexpr activation_form activation_form_of(feed_forward_kind kind, const training_context& context) {
    const feed_forward_modeling& code = context.code.feed_forward;
    const activation_form written = kind == feed_forward_kind::gated ? code.activation : code.plain_activation;
    const bool own = context.runtime.kernels.modules == module_code::own;
    return own && written == activation_form::composed ? activation_form::from_input : written;
}

/// Whether the activation takes a power, which autocast does in fp32 (autocast_mode.h, AT_FORALL_FP32: pow).
constexpr bool widens_activation(feed_forward_kind kind, const training_context& context) {
    const activation_form form = activation_form_of(kind, context);
    return form == activation_form::composed || form == activation_form::squared;
}

/// The format of an activation's output: fp32 after a power under autocast.
constexpr const precision& activated_format(feed_forward_kind kind, const training_context& context) {
    return widens_activation(kind, context) && context.autocast ? fp32 : context.formats.outputs;
}

/// The activation of `width` features over n positions, and its product with the other factor where it is gated.
constexpr void save_activation(feed_forward_kind kind, std::int64_t n, std::int64_t width, const gradient_flow& flow,
                               const layer_writer& save) {
    using enum backward_point;
    using form = activation_form;
    const training_context& context = save.context;
    constexpr auto split = activation_split::tensor;
    const bool gated = kind == feed_forward_kind::gated;
    const bool fused = context.runtime.kernels.fuses_gates();
    const activation_role role = gated ? activation_role::gate : activation_role::up;
    const form code = activation_form_of(kind, context);
    const precision& made = activated_format(kind, context);
    // One factor of the gated product is saved for the other's gradient; one kernel saves both.
    const bool to_gate = !gated || fused || flow.reaches(operand_name::gate);
    const bool to_up = fused || flow.reaches(operand_name::up);
    if (to_gate && (code != form::from_output || gated || context.frozen))
        save.put_input(role, n * width, context.formats.outputs, split, inner);
    // Half of the input, tanh, one plus tanh.
    if (to_gate && code == form::composed) save.put_input(role, 3 * n * width, made, split, inner);
    // The fp32 copy of a relu's output that is squared.
    if (to_gate && code == form::squared && !(made == context.formats.outputs))
        save.put_input(role, n * width, made, split, inner);
    if (gated) {
        layer_writer inside = save;
        inside.parts.input_of = {};
        if (!fused && code != form::from_output && to_up)
            inside.put(activation_role::gate_activation, n * width, made, split, inner);
        if (to_gate) save.put_input(activation_role::up, n * width, context.formats.outputs, split, inner);
    }
    if (context.dropout && context.code.dropout.inner)
        save.put(activation_role::mask, n * width, int8, split, backward_point::output);
    if (context.adapter.kind == adapter_kind::ia3)
        save.put(activation_role::adapter, n * width, context.formats.adapters, split, backward_point::output);
}

/// The same in transformers' routed experts, gate and up being one tensor; what the last product reads; and copies of
/// the experts' weights for each token where products are batched. Weights of all experts are one tensor, which
/// autocast does not know to cast.
constexpr void save_stacked_activation(const feed_forward& f, std::int64_t routed, const layer_writer& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const std::int64_t values = routed * f.experts.width;
    const precision& format = routed_format(context);
    constexpr auto by_tensor = activation_split::tensor;
    const bool gated = f.kind == feed_forward_kind::gated;
    save.put_input(gated ? role::gate : role::up, (gated ? 2 : 1) * values, format, by_tensor, inner);
    layer_writer inside = save;
    inside.parts.input_of = {};
    // gpt-oss: the clamped gate, its sigmoid, their product, and up plus one.
    const std::int64_t activated = context.code.feed_forward.clamped_experts ? 4 : 1;
    if (gated) inside.put(role::gate_activation, activated * values, format, by_tensor, inner);
    if (!context.frozen) inside.put(role::product, values, format, by_tensor, output);
}

/// The weights of its experts that each token has copied for a batched product.
constexpr void save_copied_weights(const feed_forward& f, const layer_operation& o, std::int64_t routed,
                                   const layer_writer& save) {
    using enum backward_point;
    if (save.context.runtime.kernels.experts != expert_code::batched) return;
    const std::int64_t copied = product(routed, f.experts.width * o.reads[0].width);
    layer_writer weights = save;
    weights.routed = false;
    const precision& format = routed_format(save.context);
    weights.put(activation_role::weight, copied, format, activation_split::whole, output);
    weights.put(activation_role::weight, product<std::int64_t>(copied, f.kind == feed_forward_kind::gated ? 2 : 1),
                format, activation_split::whole, inner);
}

/// Whether the router reads fp32 copies of the tokens and of its weight.
constexpr bool widens_router(const training_context& context) {
    return transformers_experts(context) && context.code.feed_forward.fp32_router && !context.autocast &&
           !context.formats.fp32_stream;
}

/// The router's product: its input, which transformers' code may widen with its weight.
constexpr void save_router_input(const feed_forward& f, std::int64_t hidden, const layer_writer& save) {
    const training_context& context = save.context;
    if (context.frozen) return;
    const bool widens = widens_router(context);
    if (widens)
        save.put(activation_role::weight, hidden * f.experts.count, fp32, activation_split::whole,
                 backward_point::inner);
    save.put_input(activation_role::linear_input, context.tokens.all() * hidden,
                   widens ? fp32 : context.formats.compute, activation_split::sequence, backward_point::inner);
}

/// The router's softmax and choice.
constexpr void save_route(const feed_forward& f, const layer_writer& save) {
    const experts& e = f.experts;
    const std::int64_t n = save.context.tokens.all();
    const auto put = [&](std::int64_t elements, const precision& format) {
        save.put(activation_role::router, elements, format, activation_split::sequence, backward_point::inner);
    };
    if (!transformers_experts(save.context)) return put(2 * n * e.count, fp32);  // scores and their softmax
    put(n * e.count, fp32);                                                      // the scores' softmax
    put(2 * n * e.per_token, fp32);                                              // those chosen, scaled
    put(8 * (n * e.per_token + 3 * routed_tokens(f, save.context)), int8);       // their places, and back
}

/// The first products of routed experts. Adapters of routed experts are counted without their inputs' copies.
constexpr void save_routed_input(const feed_forward& f, const layer_operation& o, const layer_writer& save) {
    const training_context& context = save.context;
    const std::int64_t routed = routed_tokens(f, context);
    const std::int64_t values = routed * o.reads[0].width;
    const auto put = [&](std::int64_t elements, const precision& format) {
        if (!context.frozen)
            save.put_input(activation_role::linear_input, elements, format, activation_split::sequence, o.at);
    };
    if (transformers_experts(context)) {
        put(values, routed_format(context));
        return save_copied_weights(f, o, routed, save);
    }
    save.products(o, {.elements = 0, .n = routed, .joined = is_joined(o, context)});
    put(values * context.experts.tensor_ranks, context.formats.inputs);
    // What was exchanged is sorted once more.
    if (context.runtime.kernels.experts == expert_code::dispatched) put(values, context.formats.compute);
}

/// The sum of the experts' outputs, weighed by the router's scores. Megatron-Core weighs the inner features instead: in
/// the kernel of the activation where that is gated, else apart.
constexpr void save_combine(const feed_forward& f, const layer_operation& o, const layer_writer& save) {
    const training_context& context = save.context;
    const std::int64_t routed = routed_tokens(f, context);
    const std::int64_t values = routed * o.reads[0].width;
    // Experts one by one are differentiated whole, each with its part of the sum.
    const bool together = transformers_experts(context) && computes_together(context.runtime.kernels.experts);
    const auto put = [&](std::int64_t elements, const precision& format) {
        save.put(activation_role::expert_output, elements, format, activation_split::sequence,
                 together ? o.at : backward_point::output);
    };
    if (transformers_experts(context))
        return put(values * (context.runtime.kernels.experts == expert_code::loop ? 2 : 1), routed_format(context));
    if (context.runtime.kernels.fuses_gates() && f.kind == feed_forward_kind::plain &&
        !context.runtime.kernels.use_fused_weighted_squared_relu) {
        layer_writer inside = save;
        inside.parts.inside = {layer_part::moe_act, layer_part::moe};
        inside.put(activation_role::gate_activation, routed * f.experts.width, context.formats.compute,
                   activation_split::tensor, backward_point::output);
    }
    if (context.runtime.kernels.experts == expert_code::dispatched)
        put(values, fp32);  // what comes back is weighed in fp32
}

/// The format in which the router's scores weigh the outputs of transformers' experts. Autocast computes the scores in
/// 16 bits, even if their code widens what they are made of. Experts one by one add to a sum in the format of the
/// tokens.
constexpr const precision& weighed_format(const training_context& context) {
    const feed_forward_modeling& code = context.code.feed_forward;
    const bool wide = code.fp32_scores && !(context.autocast && code.fp32_router) &&
                      context.runtime.kernels.experts != expert_code::loop;
    return wide ? fp32 : routed_format(context);
}

/// What the weighing of the outputs of transformers' experts makes in its backward pass (integrations/moe.py,
/// grouped_mm_experts_forward): the sum's gradient is copied for each expert of a token and put in the order of the
/// experts, in a tensor of zeros and a copy of it; then the gradients of both factors stand beside that, and the
/// output's cast to its own format. What a recomputed layer saved is freed before that cast, when the product's
/// function returns: the graph has but a handle of it (torch/utils/checkpoint.py, _checkpoint_hook).
constexpr void pass_back_weighing(const feed_forward& f, const layer_operation& o, const layer_writer& hold) {
    const training_context& context = hold.context;
    if (!transformers_experts(context) || !computes_together(context.runtime.kernels.experts)) return;
    const std::int64_t values = routed_tokens(f, context) * o.reads[0].width;
    const precision& weighed = weighed_format(context);
    hold.put(activation_role::gradient, 3 * values, weighed, activation_split::sequence, o.at);
    const bool freed = context.recomputes && !context.runtime.kernels.checkpointing.reentrant;
    if (!(weighed == routed_format(context)) && !freed)
        hold.put(activation_role::gradient, values, routed_format(context), activation_split::sequence, o.at);
}

/// Rows that a feed-forward passes back at once. One expert after the other: the gradients of each are gone before the
/// next one's.
constexpr std::int64_t rows_passed_back(const feed_forward& f, const training_context& context) {
    if (!f.routed()) return context.tokens.all();
    const bool one_by_one = !computes_together(context.runtime.kernels.experts);
    return ceil_quotient(context.tokens.all() * f.experts.per_token, one_by_one ? f.experts.count : 1);
}

/// Whether the activation between two linear layers is written as products of a power: the gradients of two of its
/// factors live beside that of its output, all in its format (activations.py, NewGELUActivation).
constexpr bool composes_activation(const feed_forward& f, const training_context& context) {
    return f.kind != feed_forward_kind::gated && activation_form_of(f.kind, context) == activation_form::composed;
}

/// Whether the activation between two linear layers is differentiated from its output, which the last product saves:
/// the tensor is there until both are differentiated (derivatives.yaml, relu: result).
constexpr bool keeps_own_output(const feed_forward& f, const training_context& context) {
    return f.kind != feed_forward_kind::gated && !f.routed() && !context.frozen &&
           activation_form_of(f.kind, context) == activation_form::from_output;
}

/// Gradients that live at once between a feed-forward's linear layers, with the output that is still read.
constexpr std::int64_t inner_gradients(const feed_forward& f, const training_context& context) {
    if (f.kind != feed_forward_kind::gated)
        return composes_activation(f, context) || keeps_own_output(f, context) ? 3 : 2;
    return context.runtime.kernels.gate == gate_code::in_place && !f.routed() ? 1 : 3;
}

/// Tokens of the busiest experts over the mean, less one, that a balanced router is known to reach: 0.72 where a loss
/// balances it, 0.04 where biases do (arXiv 2408.15664 table 2, MaxVio of the whole validation set by its equation 4, 1
/// B parameters; 0.52 and 0.04 of 3 B).
inline constexpr double worst_imbalance = 0.72;

/// What the gradient of an adapter's input takes under autocast with dropout, as elements of the adapter's format
/// beside all that is saved: before and after dropout. What the adapter's product read, and the copies of its two
/// matrices in the compute format, are freed by then.
constexpr std::int64_t dropped_gradients(std::int64_t rows, std::int64_t width, std::int64_t output,
                                         const training_context& context) {
    const std::int64_t values = rows * width;
    if (context.formats.adapters == context.formats.compute) return values;
    const std::int64_t freed = values + context.adapter.rank * (width + output);
    const double narrower = bits_per_element(context.formats.compute) / bits_per_element(context.formats.adapters);
    const std::int64_t left = 2 * values - static_cast<std::int64_t>(static_cast<double>(freed) * narrower);
    return left > values ? left : values;
}

/// What the products and the activation of a feed-forward make in their backward pass; a batched product differentiates
/// the copies of weights that each token has.
constexpr void pass_back_feed_forward(const feed_forward& f, const layer_operation& o, const layer_writer& hold) {
    const training_context& context = hold.context;
    const std::int64_t rows = rows_passed_back(f, context);
    const bool stacked =
        o.routed && transformers_experts(context) && computes_together(context.runtime.kernels.experts);
    const precision& format = stacked ? routed_format(context) : context.formats.compute;
    const auto put = [&](std::int64_t elements, activation_split split) {
        hold.put(activation_role::gradient, elements, format, split, o.at);
    };
    const std::int64_t width = o.reads[0].width;
    const bool last = o.code == operation_code::products && o.at == backward_point::output;
    const bool adapted = !o.routed && context.adapter.low_rank();
    if (o.code == operation_code::activation) {
        // DoRA's magnitude multiplies in fp32, and is differentiated by three such products (tuners/lora/dora.py).
        if (adapted && context.adapter.kind == adapter_kind::dora && context.adapter.adapts(weight_role::up_proj))
            return hold.put(activation_role::gradient, 4 * rows * width, fp32, activation_split::tensor, o.at);
        return hold.put(activation_role::gradient, inner_gradients(f, context) * rows * width,
                        composes_activation(f, context) ? activated_format(f.kind, context) : format,
                        activation_split::tensor, o.at);
    }
    if (last && adapted && context.adapter.adapts(weight_role::down_proj) && context.copies_adapter_inputs &&
        (!context.autocast || context.adapter.dropout > 0))  // of the adapter's own copy
        hold.put(activation_role::gradient,
                 context.autocast ? dropped_gradients(rows, width, o.writes[0].width, context) : rows * width,
                 context.formats.adapters, activation_split::tensor, o.at);
    else if (last)
        put(rows * width, activation_split::tensor);
    if (!o.routed) return;
    if (stacked && last) put(rows * o.writes[0].width, activation_split::sequence);  // of its output
    if (!stacked && !last) put(rows * width, activation_split::sequence);
    if (context.runtime.kernels.experts == expert_code::batched)
        hold.put(activation_role::gradient,
                 product(rows, (last ? 1 : inner_gradients(f, context) - 1) * width * o.writes[0].width),
                 context.formats.stream, activation_split::whole, o.at);
}

}  // namespace llmres::inline v0::detail
