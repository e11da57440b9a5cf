// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/values/visitor.hpp>

/// A layer, written once: its operations in the order of the forward pass, each with the tensors that it reads and
/// writes, the weights that it multiplies by, the parts of the layer that it belongs to, and the point of the backward
/// pass at which it is differentiated. What is alive, saved, recomputed, offloaded, exchanged, timed or laid out are
/// folds over this list.
namespace llmres::inline v0::detail {

enum class operation_code : std::uint8_t {
    norm,         ///< over the hidden width
    head_norm,    ///< an RMS norm of a linear layer's output: of each head, or of a compressed vector
    products,     ///< up to three matrix products that read one tensor
    attention,    ///< queries with keys, softmax, probabilities with values
    output_gate,  ///< a learned gate on attention's output
    scan,         ///< a recurrence between its two projections
    activation,   ///< of the gate, and its product with `up`; of `up` alone in a feed-forward without a gate
    route,        ///< the router's softmax and choice: each token is copied for each of its experts
    combine,      ///< experts' outputs are weighed by the router's scores and summed
    residual_sum,
};

/// The tensors between a layer's operations.
enum class operand_name : std::uint8_t {
    none,
    stream,   ///< the residual stream
    normed,   ///< what the products of a half of the layer read
    encoded,  ///< the encoder's output
    latent,   ///< compressed queries, or keys and values; tokens in the experts' latent features
    query,
    key,
    value,
    attended,   ///< attention's output before its projection
    projected,  ///< the output of a recurrence's first projection
    scanned,    ///< what a recurrence's last projection reads
    logits_of_experts,
    gate,
    up,
    activated,
    expert_output,
    mixed,  ///< the output of the layer's token mixer
    fed,    ///< the output of its feed-forward
};

/// One of them: `width` features of each position.
struct operand {
    operand_name name = operand_name::none;
    activation_split split = activation_split::sequence;
    std::int64_t width = 0;
};

/// Which parts of a layer (jobs/layer_parts.hpp) an operation belongs to.
struct operation_parts {
    layer_part_set inside{};         ///< whose recomputation makes the operation's inner tensors again
    layer_part_set input_of{};       ///< whose input the operation reads
    layer_part_set input_made_by{};  ///< whose recomputation makes what the operation reads again
};

struct layer_operation {
    operation_code code = operation_code::norm;
    layer_half half = layer_half::attention;
    backward_point at = backward_point::attention;  ///< where the backward pass differentiates it
    bool routed = false;       ///< over the tokens of routed experts, each counted once for each of its experts
    bool shared = false;       ///< of shared experts, beside the routed ones
    bool crosses = false;      ///< attention to the encoder's output
    bool reads_again = false;  ///< an earlier operation reads the same tensor, or made it for the layer's other half
    operation_parts parts{};
    std::array<operand, 3> reads{};
    std::array<operand, 3> writes{};
    std::array<weight_role, 3> weights{};  ///< of products: one for each tensor that is written
    std::int64_t group = 0;                ///< of head norms: features that are normed together; 0: all

    constexpr std::size_t products() const {
        return code != operation_code::products ? 0U : writes[2].width > 0 ? 3U : writes[1].width > 0 ? 2U : 1U;
    }
};

/// Receives operations.
using operation_visitor = visitor<layer_operation>;

/// A tensor that tensor parallelism cuts by heads or inner width, and one that it does not cut.
constexpr operand split_operand(operand_name name, std::int64_t width) {
    return {name, activation_split::tensor, width};
}
constexpr operand whole_operand(operand_name name, std::int64_t width) {
    return {name, activation_split::sequence, width};
}

/// Features of the output of a Mamba 2 mixer's first projection: gate, inputs, B, C and a step of each head.
constexpr std::int64_t projected(const recurrent& r) { return 2 * r.inner() + 2 * r.key_heads * r.state + r.heads; }

using operands = std::array<operand, 3>;
using product_roles = std::array<weight_role, 3>;

/// Products of what `from` holds with one weight for each tensor of `to`.
constexpr layer_operation products_of(const operation_parts& parts, const operand& from, const operands& to,
                                      const product_roles& roles) {
    return {.code = operation_code::products, .parts = parts, .reads = {from}, .writes = to, .weights = roles};
}
/// (These change what they are given, which copies nothing.)
constexpr layer_operation&& read_again(layer_operation&& o) {
    o.reads_again = true;
    return static_cast<layer_operation&&>(o);
}
constexpr layer_operation&& crossing(layer_operation&& o) {
    o.crosses = true;
    return static_cast<layer_operation&&>(o);
}
constexpr layer_operation&& at_point(backward_point at, layer_operation&& o) {
    o.at = at;
    return static_cast<layer_operation&&>(o);
}

/// An operation that is neither products nor attention.
constexpr layer_operation operation_of(operation_code code, const operation_parts& parts, const operands& from,
                                       const operand& to) {
    return {.code = code, .parts = parts, .reads = from, .writes = {to}};
}
constexpr layer_operation head_norm_of(const operation_parts& parts, const operand& normed, std::int64_t group) {
    return {.code = operation_code::head_norm, .parts = parts, .reads = {normed}, .writes = {normed}, .group = group};
}

/// The projections to queries, keys and values, which read the norm's output.
inline constexpr operation_parts head_projections{{}, layer_part::qkv_linear, layer_part::layernorm};

constexpr operand queries_of(const attention& a) {
    return split_operand(operand_name::query, a.heads * a.query_width());
}
constexpr operand attended_by(const attention& a) {
    return split_operand(operand_name::attended, a.heads * a.value_width());
}
/// Keys or values; latent attention has them for all heads.
constexpr operand keys_of(const attention& a) {
    return split_operand(operand_name::key,
                         (a.kind == attention_kind::latent ? a.heads : a.kv_heads) * a.query_width());
}
constexpr operand values_of(const attention& a) {
    return split_operand(operand_name::value,
                         (a.kind == attention_kind::latent ? a.heads : a.kv_heads) * a.value_width());
}

/// Queries with keys, and probabilities with values.
constexpr layer_operation attention_core(const attention& a) {
    using enum layer_part;
    const bool latent = a.kind == attention_kind::latent;
    return {.code = operation_code::attention,
            .parts = {core_attn, core_attn, latent ? layer_part_set{mla_up_proj} : layer_part_set{}},
            .reads = {queries_of(a), keys_of(a), values_of(a)},
            .writes = {attended_by(a)}};
}

/// Attention's last product.
constexpr layer_operation attention_output(const attention& a, std::int64_t hidden) {
    return at_point(backward_point::norm,
                    products_of({{}, layer_part::attn_proj, {}}, attended_by(a),
                                {whole_operand(operand_name::mixed, hidden)}, {weight_role::o_proj}));
}

/// Shows the operations of latent attention (arXiv 2405.04434 section 2.1): queries and keys-with-values, each
/// compressed, normed and expanded.
constexpr void list_latent_operations(const attention& a, const operand& input, const operation_visitor& visit) {
    const auto expand = [&](weight_role role, std::int64_t rank, const operand& heads) {
        const operand latent = whole_operand(operand_name::latent, rank);
        const operation_parts parts{layer_part::mla_up_proj, {}, layer_part::mla_up_proj};
        visit(head_norm_of(parts, latent, 0));
        visit(products_of(parts, latent, {heads}, {role}));
    };
    if (a.q_rank > 0) {
        visit(products_of(head_projections, input, {whole_operand(operand_name::latent, a.q_rank)},
                          {weight_role::q_a_proj}));
        expand(weight_role::q_b_proj, a.q_rank, queries_of(a));
    } else {
        visit(products_of(head_projections, input, {queries_of(a)}, {weight_role::q_proj}));
    }
    visit(read_again(products_of(head_projections, input, {whole_operand(operand_name::latent, a.kv_rank + a.rope_dim)},
                                 {weight_role::kv_a_proj})));
    // Its product makes keys and values at once.
    expand(weight_role::kv_b_proj, a.kv_rank,
           split_operand(operand_name::key, a.heads * (a.head_dim + a.value_width())));
}

/// Shows the operations of attention to the sequence itself.
constexpr void list_attention_operations(const attention& a, const operand& input, const operation_visitor& visit) {
    if (a.kind == attention_kind::latent) {
        list_latent_operations(a, input, visit);
    } else {
        // Keys that serve as values have no product for these.
        const operand values = a.keys == key_projection::also_values ? operand{} : values_of(a);
        visit(products_of(head_projections, input, {queries_of(a), keys_of(a), values},
                          {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj}));
        if (a.qk_norm != query_key_norm::none)
            for (const operand& normed : {queries_of(a), keys_of(a)}) visit(head_norm_of({}, normed, a.head_dim));
    }
    const std::int64_t gates = a.gate == output_gate::heads ? a.heads : a.heads * a.value_width();
    const operand gate = split_operand(operand_name::gate, gates);
    if (a.gate != output_gate::none)
        visit(read_again(products_of(head_projections, input, {gate}, {weight_role::attn_gate})));
    visit(attention_core(a));
    if (a.gate != output_gate::none)
        visit(at_point(backward_point::norm,
                       operation_of(operation_code::output_gate, {}, {attended_by(a), gate}, attended_by(a))));
    visit(attention_output(a, input.width));
}

/// Shows the operations of attention to the encoder's output, which keys and values are made of.
constexpr void list_cross_attention_operations(const attention& a, std::int64_t hidden,
                                               const operation_visitor& visit) {
    const operand normed = whole_operand(operand_name::normed, hidden);
    visit(crossing(
        at_point(backward_point::attention_norm, operation_of(operation_code::norm, {{}, layer_part::attn_norm, {}},
                                                              {whole_operand(operand_name::stream, hidden)}, normed))));
    visit(products_of(head_projections, normed, {queries_of(a)}, {weight_role::q_proj}));
    visit(crossing(products_of({{}, layer_part::qkv_linear, {}}, whole_operand(operand_name::encoded, hidden),
                               {keys_of(a), values_of(a)}, {weight_role::k_proj, weight_role::v_proj})));
    visit(crossing(attention_core(a)));
    visit(crossing(attention_output(a, hidden)));
}

/// Shows the first products of a gated delta net: queries, keys, values and gate, and a step and a decay of each head,
/// or each of these by a product of its own.
constexpr void list_delta_products(const recurrent& r, const operand& input, bool separate,
                                   const operation_visitor& visit) {
    const std::int64_t first = r.conv_channels() + (separate ? 0 : r.inner());
    visit(products_of({}, input, {split_operand(operand_name::projected, first)}, {weight_role::in_proj}));
    const auto again = [&](std::int64_t width) {
        visit(read_again(products_of({}, input, {split_operand(operand_name::gate, width)}, {weight_role::in_proj})));
    };
    if (!separate) return again(2 * r.heads);
    again(r.inner());
    again(r.heads);
    again(r.heads);
}

/// Shows the operations of the mixer of Mamba 2 or of a gated delta net. Other recurrences, which are not trained yet,
/// are one operation.
constexpr void list_recurrent_operations(const recurrent& r, const operand& input, const modeling& code,
                                         const operation_visitor& visit) {
    const operand mixed = whole_operand(operand_name::mixed, input.width);
    const operand inner = split_operand(operand_name::projected, projected(r));
    const operand scanned = split_operand(operand_name::scanned, r.inner());
    if (r.kind == recurrent_kind::mamba2)
        visit(products_of({}, input, {inner}, {weight_role::in_proj}));
    else if (is_gated_delta(r))
        list_delta_products(r, input, code.separate_projections, visit);
    else
        return visit(operation_of(operation_code::scan, {}, {input}, mixed));
    visit(operation_of(operation_code::scan, {}, {inner}, scanned));
    visit(at_point(backward_point::norm, products_of({}, scanned, {mixed}, {weight_role::out_proj})));
}

/// Which experts a feed-forward is: it alone, the routed ones, or those that every token passes.
enum class expert_group : std::uint8_t { none, routed, shared };

/// The parts that a feed-forward is inside of.
constexpr layer_part_set parts_around(expert_group group) {
    using enum layer_part;
    return group == expert_group::routed   ? layer_part_set{moe}
           : group == expert_group::shared ? layer_part_set{shared_experts, moe}
                                           : layer_part_set{mlp};
}
constexpr layer_part_set parts_around_activation(expert_group group) {
    return group == expert_group::routed ? layer_part_set{layer_part::moe_act, layer_part::moe} : parts_around(group);
}

constexpr layer_operation&& in_feed_forward(expert_group group, backward_point at, layer_operation&& o) {
    o.half = layer_half::feed_forward;
    o.at = at;
    o.routed = group == expert_group::routed;
    o.shared = group == expert_group::shared;
    return static_cast<layer_operation&&>(o);
}

/// The activation of a feed-forward of inner width `width`, and its product with `up` where it is gated.
constexpr layer_operation activation_of(const feed_forward& f, std::int64_t width, expert_group group) {
    const layer_part_set offloaded =
        group == expert_group::routed ? layer_part_set{layer_part::moe_act} : layer_part_set{};
    const std::int64_t gates = f.kind == feed_forward_kind::gated ? width : 0;
    return in_feed_forward(group, backward_point::inner,
                           {.code = operation_code::activation,
                            .parts = {parts_around_activation(group), offloaded, parts_around(group)},
                            .reads = {split_operand(operand_name::up, width), split_operand(operand_name::gate, gates)},
                            .writes = {split_operand(operand_name::activated, width)}});
}

/// Shows the operations of one feed-forward of inner width `width`: two or three products and an activation.
constexpr void list_mlp_operations(const feed_forward& f, const operand& input, std::int64_t width, expert_group group,
                                   const operation_visitor& visit) {
    const bool routed = group == expert_group::routed;
    const layer_part_set inside = parts_around(group);
    const operand gate = split_operand(operand_name::gate, width), up = split_operand(operand_name::up, width);
    const operation_parts parts{inside, routed ? layer_part_set{layer_part::expert_fc1} : layer_part_set{},
                                group == expert_group::none ? layer_part_set{layer_part::layernorm} : inside};
    visit(in_feed_forward(group, backward_point::inner,
                          f.kind == feed_forward_kind::gated
                              ? products_of(parts, input, {gate, up}, {weight_role::gate_proj, weight_role::up_proj})
                              : products_of(parts, input, {up}, {weight_role::up_proj})));
    visit(activation_of(f, width, group));
    visit(in_feed_forward(
        group, backward_point::output,
        products_of({inside, {}, parts_around_activation(group)}, split_operand(operand_name::activated, width),
                    {whole_operand(routed ? operand_name::expert_output : operand_name::fed, input.width)},
                    {weight_role::down_proj})));
}

/// Shows the operations of routed experts, with the projections to their latent features and back (Megatron-Core,
/// moe_layer.py), and for the shared ones, which read what the router does, and may come first.
constexpr void list_expert_operations(const feed_forward& f, const operand& input, bool shared_first,
                                      const operation_visitor& visit) {
    using enum layer_part;
    using enum backward_point;
    const experts& e = f.experts;
    const std::int64_t features = e.features(input.width);
    const operand logits = whole_operand(operand_name::logits_of_experts, e.count + e.idle);
    const operand latent = whole_operand(operand_name::latent, e.latent);
    const operand output_of_experts = whole_operand(operand_name::expert_output, features);
    const operation_parts routing{moe, {}, layernorm}, inside{moe, {}, moe};
    const auto show = [&](expert_group group, backward_point at, layer_operation&& o) {
        visit(in_feed_forward(group, at, static_cast<layer_operation&&>(o)));
    };
    const auto share = [&] {
        const auto shared = [&](const layer_operation& o) {
            o.reads[0].name == input.name ? visit(read_again(layer_operation{o})) : visit(o);
        };
        if (e.shared_width > 0)
            list_mlp_operations(f, input, e.shared_width, expert_group::shared, visiting<layer_operation>(shared));
        if (e.shared_width == 0 || !e.shared_gate) return;
        const operand fed = whole_operand(operand_name::fed, input.width), gate = whole_operand(operand_name::gate, 1);
        show(expert_group::shared, output, read_again(products_of(inside, input, {gate}, {weight_role::shared_gate})));
        show(expert_group::shared, output, operation_of(operation_code::output_gate, inside, {fed, gate}, fed));
    };
    if (shared_first) share();
    show(expert_group::none, inner, products_of(routing, input, {logits}, {weight_role::router}));
    if (e.latent > 0)
        show(expert_group::none, inner, read_again(products_of(routing, input, {latent}, {weight_role::projector})));
    show(expert_group::none, inner, operation_of(operation_code::route, inside, {logits}, {}));
    list_mlp_operations(f, e.latent > 0 ? latent : input, e.width, expert_group::routed, visit);
    show(
        expert_group::routed, backward_point::fed,
        operation_of(operation_code::combine, inside, {output_of_experts}, whole_operand(operand_name::fed, features)));
    if (e.latent > 0)
        show(expert_group::none, output,
             products_of(inside, output_of_experts, {whole_operand(operand_name::fed, input.width)},
                         {weight_role::projector}));
    if (!shared_first) share();
}

/// A norm over the hidden width. No part of a recurrence has a name (Megatron-Core, core/ssm/mamba_layer.py).
constexpr layer_operation norm_of(const layer& l, layer_half half, backward_point at, const operand& from,
                                  const operand& to) {
    const bool first = at == backward_point::attention_norm;
    const bool named = first ? l.attention.kind != attention_kind::none : at == backward_point::norm;
    return {.code = operation_code::norm,
            .half = half,
            .at = at,
            .parts = {{},
                      !named  ? layer_part_set{}
                      : first ? layer_part_set{layer_part::attn_norm}
                              : layer_part_set{layer_part::mlp_norm},
                      {}},
            .reads = {from},
            .writes = {to}};
}

constexpr layer_operation residual_sum(layer_half half, const operand& added, const operand& stream) {
    return {.code = operation_code::residual_sum,
            .half = half,
            .at = half == layer_half::attention ? backward_point::norm : backward_point::output,
            .reads = {added, stream},
            .writes = {stream}};
}

/// Residual sums of what mixes tokens: attention and a recurrence side by side are one; attention to an encoder has its
/// own.
constexpr int mixing_sums(const layer& l) {
    return (l.attention.kind != attention_kind::none || l.recurrent.kind != recurrent_kind::none) +
           (l.attention.cross == cross_attention::beside);
}

/// Shows the operations of what mixes tokens: norms, attention or a recurrence or both, and attention to an encoder.
constexpr void list_mixing_operations(const layer& l, std::int64_t hidden, const modeling& code,
                                      const operation_visitor& visit) {
    using enum layer_half;
    const norm_modeling& norms = code.norms;
    const operand stream = whole_operand(operand_name::stream, hidden);
    const operand mixed = whole_operand(operand_name::mixed, hidden);
    const bool norms_input = l.norm_before_attention && !norms.after_sum;
    const operand input = norms_input ? whole_operand(operand_name::normed, hidden) : stream;
    const bool attends = l.attention.kind != attention_kind::none;
    const bool recurs = l.recurrent.kind != recurrent_kind::none;
    if (norms_input) visit(norm_of(l, attention, backward_point::attention_norm, stream, input));
    if (attends) list_attention_operations(l.attention, input, visit);
    if (recurs) list_recurrent_operations(l.recurrent, input, code, visit);
    if (l.norm_after_attention) visit(norm_of(l, attention, backward_point::norm, mixed, mixed));
    if ((attends || recurs) && !norms.one_input) visit(residual_sum(attention, mixed, stream));
    if (l.norm_before_attention && norms.after_sum)
        visit(norm_of(l, attention, backward_point::attention_norm, stream, stream));
    if (l.attention.cross == cross_attention::beside) {
        list_cross_attention_operations(l.attention, hidden, visit);
        visit(residual_sum(attention, mixed, stream));
    }
}

/// Shows every operation of one layer, in the order of the forward pass.
constexpr void list_layer_operations(const layer& l, std::int64_t hidden, const modeling& code,
                                     const operation_visitor& visit) {
    using enum layer_half;
    const norm_modeling& norms = code.norms;
    const operand stream = whole_operand(operand_name::stream, hidden);
    const operand normed = whole_operand(operand_name::normed, hidden);
    const operand fed = whole_operand(operand_name::fed, hidden);
    const bool mixes = l.attention.kind != attention_kind::none || l.recurrent.kind != recurrent_kind::none;
    list_mixing_operations(l, hidden, code, visit);
    layer_operation norm = norm_of(l, feed_forward, backward_point::norm, stream, norms.after_sum ? stream : normed);
    norm.reads_again = norms.one_input;
    if (l.norm_before_feed_forward && !norms.after_sum) visit(norm);
    const llmres::feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        const bool norms_input = !norms.after_sum && (l.norm_before_feed_forward || l.norm_before_attention);
        // Where one norm stands before both halves, the other half's products read its output too.
        const bool again = !l.norm_before_feed_forward && l.norm_before_attention && mixes;
        const operand input = norms_input ? normed : stream;
        const auto show = [&](const layer_operation& o) {
            again&& o.reads[0].name == input.name ? visit(read_again(layer_operation{o})) : visit(o);
        };
        if (f.routed())
            list_expert_operations(f, input, code.feed_forward.shared_first, visit);
        else
            list_mlp_operations(f, input, f.width, expert_group::none, visiting<layer_operation>(show));
    }
    if (l.norm_after_feed_forward) visit(norm_of(l, feed_forward, backward_point::fed, fed, fed));
    if (mixes && norms.one_input) visit(residual_sum(attention, whole_operand(operand_name::mixed, hidden), stream));
    if (f.kind != feed_forward_kind::none) visit(residual_sum(feed_forward, fed, stream));
    if (l.norm_before_feed_forward && norms.after_sum) visit(norm);
}

/// Calls visit(operation) for every operation of one layer. `code` says where an architecture norms the stream (before
/// each half, after the sums, or once for both halves), and which of its experts it computes first.
template <class Visit>
constexpr void for_each_layer_operation(const layer& l, std::int64_t hidden, const modeling& code, Visit&& visit) {
    list_layer_operations(l, hidden, code, visiting<layer_operation>(visit));
}

}  // namespace llmres::inline v0::detail
