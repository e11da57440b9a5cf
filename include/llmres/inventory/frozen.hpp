// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/attention.hpp>
#include <llmres/inventory/layers/operation.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What a frozen model does not save: autograd follows nothing before the first adapters, so the operations up to them
/// keep nothing. Engines that compute layers again have the embedding's output ask for gradients, and save it all
/// (peft, `prepare_model_for_kbit_training`; transformers, `enable_input_require_grads`).
namespace llmres::inline v0::detail {

/// Linear layers that read what the norm before attention puts out, and those that read what follows a norm of their
/// own.
inline constexpr std::array first_readers{weight_role::q_proj,   weight_role::k_proj,    weight_role::v_proj,
                                          weight_role::q_a_proj, weight_role::kv_a_proj, weight_role::in_proj};
inline constexpr std::array gate_and_up{weight_role::gate_proj, weight_role::up_proj};

constexpr bool holds_role(const layer& l, weight_role role) {
    bool found = false;
    for_each_weight(l, 2, [&](const weight& w) { found = found || (w.role == role && !w.routed); });
    return found;
}

/// The layer's token mixer without its feed-forward.
constexpr layer mixer_of(const layer& whole) {
    layer l = whole;
    l.feed_forward.kind = feed_forward_kind::none;
    l.feed_forward.experts = {};
    l.norm_before_feed_forward = l.norm_after_feed_forward = false;
    return l;
}

constexpr layer feed_forward_of(const layer& whole) {
    layer l = whole;
    l.attention.kind = attention_kind::none;
    l.attention.cross = cross_attention::none;
    l.recurrent = {};
    l.norm_before_attention = l.norm_after_attention = false;
    return l;
}

/// Bytes that a layer would save if gradients reached its input, and does not; `goes_on`: nor do they reach its output.
struct unsaved {
    byte_count size{};
    bool goes_on = false;
};

constexpr unsaved unsaved_by(const layer& first, std::int64_t hidden, const training_context& context,
                             const layout& l) {
    unsaved cut;
    const auto count = [&](const activation& a) { cut.size += local_bytes(a, l); };
    const layer_writer<const decltype(count)> save{context, count, &first, hidden};
    const llmres::adapter& adapter = context.adapter;
    const std::int64_t n = context.tokens.all();
    // An input that asks for no gradient: no mask of its dropout, and no copy of the A that would pass its gradient on.
    const auto reads = [&](weight_role role, std::int64_t width) {
        if (!adapter.adapts(role) || shares_input_matrix(role, context.code) || !holds_role(first, role)) return;
        if (adapter.dropout > 0)
            save.put(activation_role::mask, n * width, int8, activation_split::sequence, backward_point::attention);
        if (context.autocast && !(context.formats.adapters == context.formats.compute))
            save.put(activation_role::weight, adapter.rank * width, context.formats.compute, activation_split::whole,
                     backward_point::attention);
        if (adapter.kind == adapter_kind::dora)
            save.put(activation_role::adapter, save.outputs(role), context.formats.adapters, activation_split::tensor,
                     backward_point::attention);
    };
    const auto norm = [&](bool own_input) {
        save.norm(n, hidden, first.norm, activation_split::sequence, backward_point::norm, backward_point::norm,
                  own_input);
    };
    const auto adapts = [&](const layer& part) {
        bool any = false;
        for_each_weight(part, hidden, [&](const weight& w) { any = any || adapter.touches(w.role); });
        return any;
    };
    const layer mixer = mixer_of(first);
    const layer feed_forward = feed_forward_of(first);
    if (!adapts(mixer)) {
        if (!adapts(first)) {
            for_each_saved_activation(first, hidden, context, count);
            cut.goes_on = true;
            return cut;
        }
        for_each_saved_activation(mixer, hidden, context, count);
        if (first.norm_before_feed_forward && !context.code.norms.after_sum) norm(true);
        for (const weight_role role : gate_and_up) reads(role, hidden);
        return cut;
    }
    if (first.norm_before_attention && !context.code.norms.after_sum) norm(true);
    for (const weight_role role : first_readers) reads(role, hidden);
    const attention& a = first.attention;
    if (a.kind == attention_kind::latent) {
        if (a.q_rank > 0 && !adapter.adapts(weight_role::q_a_proj)) {
            save.narrow_norm(n, a.q_rank, activation_split::sequence, backward_point::attention);
            reads(weight_role::q_b_proj, a.q_rank);
        }
        if (!adapter.adapts(weight_role::kv_a_proj)) {
            save.narrow_norm(n, a.kv_rank, activation_split::sequence, backward_point::attention);
            reads(weight_role::kv_b_proj, a.kv_rank);
        }
    } else if (a.kind != attention_kind::none && a.qk_norm != query_key_norm::none) {
        if (!adapter.touches(weight_role::q_proj))
            save.narrow_norm(n, a.heads * a.head_dim, activation_split::tensor, backward_point::attention, a.head_dim);
        if (!adapter.touches(weight_role::k_proj))
            save.narrow_norm(n, a.kv_heads * a.head_dim, activation_split::tensor, backward_point::attention,
                             a.head_dim);
    }
    if (a.kind == attention_kind::grouped &&
        score_code_of(a, context) == score_code::by_pair) {  // a product of two keeps one for the other
        if (!adapter.touches(weight_role::k_proj))
            save.put(activation_role::query, n * a.heads * a.query_width(), context.formats.compute,
                     activation_split::tensor, backward_point::attention);
        if (!adapter.touches(weight_role::q_proj))
            save.put(activation_role::key, n * a.heads * a.query_width(), context.formats.compute,
                     activation_split::tensor, backward_point::attention);
    }
    if (context.code.norms.one_input && !adapts(feed_forward)) {
        for_each_saved_activation(feed_forward, hidden, context, count);
    } else if (context.code.norms.one_input) {
        norm(context.widens_stream(first.norm));
        for (const weight_role role : gate_and_up) reads(role, hidden);
    }
    return cut;
}

}  // namespace llmres::inline v0::detail
