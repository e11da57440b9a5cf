// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What a feed-forward saves for its backward pass, be it one or the routed experts of a layer.
namespace llmres::inline v0::detail {

/// A feed-forward of inner width `width` over n positions; `casts`: its input is wider than it computes in.
template <class Visit>
constexpr void save_mlp(feed_forward_kind kind, std::int64_t hidden, std::int64_t n, std::int64_t width, bool casts,
                        activation_split in_split, const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = weight_role;
    using form = activation_form;
    const training_context& context = save.context;
    constexpr auto split = activation_split::tensor;
    const bool gated = kind == feed_forward_kind::gated;
    if (gated)
        save.inputs(std::array{role::gate_proj, role::up_proj}, n * hidden, n, casts, in_split, inner,
                    context.code.feed_forward.joined);
    else
        save.inputs(std::array{role::up_proj}, n * hidden, n, casts, in_split, inner);
    const activation_role activated = gated ? activation_role::gate : activation_role::up;
    const precision* product = &context.formats.outputs;
    bool wide_product = context.formats.fp32_outputs;
    switch (gated ? context.code.feed_forward.activation : context.code.feed_forward.plain_activation) {
        case form::from_input:
            save.put(activated, n * width, context.formats.outputs, split, inner);
            break;
        case form::from_output:
            if (gated || context.frozen) save.put(activated, n * width, context.formats.outputs, split, inner);
            break;
        case form::composed: {
            // Half of the input, the input, tanh, one plus tanh: autocast cubes in fp32, and what follows is.
            const precision& cubed = context.autocast ? fp32 : context.formats.outputs;
            product = &cubed;
            wide_product = wide_product || context.autocast;
            save.put(activated, n * width, context.formats.outputs, split, inner);
            save.put(activated, 3 * n * width, cubed, split, inner);
            break;
        }
    }
    if (gated) {
        const bool again = context.code.feed_forward.activation != form::from_output;
        if (!context.runtime.kernels.fuses_gates() && again)
            save.put(activation_role::gate_activation, n * width, *product, split, inner);
        save.put(activation_role::up, n * width, context.formats.outputs, split, inner);
    }
    if (context.dropout && context.code.dropout.inner) save.put(activation_role::mask, n * width, int8, split, output);
    if (context.adapter.kind == adapter_kind::ia3)
        save.put(activation_role::adapter, n * width, context.formats.adapters, split, output);
    save.inputs(std::array{role::down_proj}, n * width, n, context.autocast && wide_product, split, output);
}

/// Tokens on a rank's experts, each counted as often as it goes to one: as many as it sends away, times the load of the
/// busiest.
constexpr std::int64_t routed_tokens(const feed_forward& f, const training_context& context) {
    return static_cast<std::int64_t>(static_cast<double>(context.tokens.all() * f.experts.per_token) *
                                     context.experts.load);
}

/// Products over a stack of experts' weights do not know autocast.
constexpr const precision& routed_format(const training_context& context) {
    const expert_code code = context.runtime.kernels.experts;
    return code == expert_code::modules || code == expert_code::loop ? context.formats.compute : context.formats.stream;
}

/// Of the tokens that go to transformers' experts, each counted as often as it goes to one and of the `features` that
/// experts read.
template <class Visit>
constexpr void save_routed_tokens(const feed_forward& f, std::int64_t features, std::int64_t routed,
                                  const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const std::int64_t inner_width = routed * f.experts.width;
    const precision& format = routed_format(context);
    constexpr auto by_sequence = activation_split::sequence;
    constexpr auto by_tensor = activation_split::tensor;
    if (!context.frozen) save.put(role::linear_input, routed * features, format, by_sequence, inner);
    if (f.kind == feed_forward_kind::gated) {
        save.put(role::gate, 2 * inner_width, format, by_tensor, inner);
        save.put(role::gate_activation, inner_width, format, by_tensor, inner);
    } else {
        save.put(role::up, inner_width, format, by_tensor, inner);
    }
    if (!context.frozen) save.put(role::product, inner_width, format, by_tensor, output);
    save.put(role::expert_output, routed * features * (context.runtime.kernels.experts == expert_code::loop ? 2 : 1),
             format, by_sequence, output);
}

/// Routed experts in transformers: tokens are sorted by expert and copied, weights of all experts are one tensor, which
/// autocast does not know to cast (integrations/moe.py).
template <class Visit>
constexpr void save_transformers_experts(const feed_forward& f, std::int64_t hidden, std::int64_t routed,
                                         const layer_writer<Visit>& save) {
    using enum backward_point;
    using role = activation_role;
    const training_context& context = save.context;
    const experts& e = f.experts;
    const std::int64_t n = context.tokens.all();
    const expert_code code = context.runtime.kernels.experts;
    constexpr auto by_sequence = activation_split::sequence;
    save.put(role::router, n * e.count, fp32, by_sequence, inner);                         // the scores' softmax
    save.put(role::router, 2 * n * e.per_token, fp32, by_sequence, inner);                 // those chosen, scaled
    save.put(role::router, 8 * (n * e.per_token + 3 * routed), int8, by_sequence, inner);  // their places, and back
    const bool widens = context.code.feed_forward.fp32_router && !context.autocast && !context.formats.fp32_stream;
    if (!context.frozen) {
        if (widens) save.put(role::weight, hidden * e.count, fp32, activation_split::whole, inner);
        save.put(role::linear_input, n * hidden, widens ? fp32 : context.formats.compute, by_sequence, inner);
    }
    save_routed_tokens(f, e.features(hidden), routed, save);
    if (code == expert_code::batched) {  // each token has its experts' weights copied
        const std::int64_t copied = product(routed, e.width * e.features(hidden));
        save.put(role::weight, copied, routed_format(context), activation_split::whole, output);
        save.put(role::weight, product<std::int64_t>(copied, f.kind == feed_forward_kind::gated ? 2 : 1),
                 routed_format(context), activation_split::whole, inner);
    }
    const bool own_input = context.frozen || widens || context.autocast;
    if (e.shared_width > 0)
        save_mlp(f.kind, own_input ? hidden : 0, n, e.shared_width, context.casts(norm_kind::rms), by_sequence, save);
}

/// Routed experts: tokens are copied for each expert they go to.
template <class Visit>
constexpr void save_experts(const feed_forward& f, std::int64_t hidden, const layer_writer<Visit>& save) {
    using enum backward_point;
    const training_context& context = save.context;
    const experts& e = f.experts;
    const std::int64_t n = context.tokens.all();
    const std::int64_t routed = routed_tokens(f, context);
    const std::int64_t features = e.features(hidden);
    const bool dispatches = context.runtime.kernels.experts == expert_code::dispatched;
    // What the projection back from the latent features reads (Megatron-Core, moe_layer.py, fc2_latent_proj).
    if (!context.frozen)
        save.put(activation_role::linear_input, n * e.latent, context.formats.compute, activation_split::sequence,
                 output);
    if (is_of_transformers(context.runtime.kernels.experts)) return save_transformers_experts(f, hidden, routed, save);
    save.put(activation_role::router, 2 * n * e.count, fp32, activation_split::sequence,
             inner);  // scores and their softmax
    if (!context.frozen)
        save.put(activation_role::linear_input, n * hidden, context.formats.compute, activation_split::sequence, inner);
    save_mlp(f.kind, 0, routed, e.width, false, activation_split::sequence, save);
    // The score weighs the inner features: in the same kernel where the activation is gated, else apart.
    if (context.runtime.kernels.fuses_gates() && f.kind == feed_forward_kind::plain &&
        !context.runtime.kernels.use_fused_weighted_squared_relu)
        save.put(activation_role::gate_activation, routed * e.width, context.formats.compute, activation_split::tensor,
                 output);
    if (!context.frozen)
        save.put(activation_role::linear_input, routed * features * context.experts.tensor_ranks,
                 context.formats.inputs, activation_split::sequence, inner);
    if (dispatches) {  // what was exchanged is sorted once more, and what comes back is weighed in fp32
        save.put(activation_role::linear_input, context.frozen ? 0 : routed * features, context.formats.compute,
                 activation_split::sequence, inner);
        save.put(activation_role::expert_output, routed * features, fp32, activation_split::sequence, output);
    }
    if (e.shared_width > 0)  // its input is kept already where weights are trained
        save_mlp(f.kind, context.frozen ? hidden : 0, n, e.shared_width, context.casts(norm_kind::rms),
                 activation_split::sequence, save);
}

/// Rows that a feed-forward passes back at once. One expert after the other: the gradients of each are gone before the
/// next one's.
constexpr std::int64_t rows_passed_back(const feed_forward& f, const training_context& context) {
    if (!f.routed()) return context.tokens.all();
    const bool one_by_one = !computes_together(context.runtime.kernels.experts);
    return ceil_quotient(context.tokens.all() * f.experts.per_token, one_by_one ? f.experts.count : 1);
}

/// Gradients that live at once between a feed-forward's linear layers.
constexpr std::int64_t inner_gradients(const feed_forward& f) { return f.kind == feed_forward_kind::gated ? 3 : 2; }

/// Tokens of the busiest experts over the mean, less one, that a balanced router is known to reach: 0.72 where a loss
/// balances it, 0.04 where biases do (arXiv 2408.15664 table 2, MaxVio of the whole validation set by its equation 4, 1
/// B parameters; 0.52 and 0.04 of 3 B).
inline constexpr double worst_imbalance = 0.72;

/// What routed experts save of the tokens that come to them.
constexpr byte_count routed_bytes(const layer& kind, std::int64_t hidden, const layout& l,
                                  const training_context& context) {
    byte_count size;
    if (!kind.feed_forward.routed()) return size;
    const auto count = [&](const activation& a) { size += local_bytes(a, l); };
    const layer_writer<const decltype(count)> save{context, count, &kind, hidden};
    const std::int64_t routed = context.tokens.all() * kind.feed_forward.experts.per_token;
    save_mlp(kind.feed_forward.kind, 0, routed, kind.feed_forward.experts.width, false, activation_split::sequence,
             save);
    if (!context.frozen)
        save.put(activation_role::linear_input,
                 routed * kind.feed_forward.experts.features(hidden) * context.experts.tensor_ranks,
                 context.formats.compute, activation_split::sequence, backward_point::inner);
    return size;
}

}  // namespace llmres::inline v0::detail
