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
    projected,  ///< of a recurrence: the output of its first projection
    scanned,    ///< ... and what its second one reads
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
    std::int64_t width = 0;
    activation_split split = activation_split::sequence;
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

/// A tensor that tensor parallelism cuts by heads or inner width, and one that it does not cut.
constexpr operand split_operand(operand_name name, std::int64_t width) {
    return {name, width, activation_split::tensor};
}
constexpr operand whole_operand(operand_name name, std::int64_t width) {
    return {name, width, activation_split::sequence};
}

/// Features of the output of a Mamba 2 mixer's first projection: gate, inputs, B, C and a step of each head.
constexpr std::int64_t projected(const recurrent& r) { return 2 * r.inner() + 2 * r.key_heads * r.state + r.heads; }

/// Queries with keys, and probabilities with values: keys and values of `kv_heads`, or in latent attention of all
/// heads.
constexpr layer_operation attention_core(const attention& a) {
    using enum layer_part;
    const bool latent = a.kind == attention_kind::latent;
    const std::int64_t kv_heads = latent ? a.heads : a.kv_heads;
    return {.code = operation_code::attention,
            .at = backward_point::attention,
            .parts = {core_attn, core_attn, latent ? layer_part_set{mla_up_proj} : layer_part_set{}},
            .reads = {split_operand(operand_name::query, a.heads * a.query_width()),
                      split_operand(operand_name::key, kv_heads * a.query_width()),
                      split_operand(operand_name::value, kv_heads * a.value_width())},
            .writes = {split_operand(operand_name::attended, a.heads * a.value_width())}};
}

/// Attention's last product.
constexpr layer_operation attention_output(const attention& a, std::int64_t hidden) {
    return {.code = operation_code::products,
            .at = backward_point::norm,
            .parts = {{}, layer_part::attn_proj, {}},
            .reads = {split_operand(operand_name::attended, a.heads * a.value_width())},
            .writes = {whole_operand(operand_name::mixed, hidden)},
            .weights = {weight_role::o_proj}};
}

/// Calls visit(operation) for latent attention (arXiv 2405.04434 section 2.1): queries and keys-with-values, each
/// compressed, normed and expanded.
template <class Visit>
constexpr void for_each_latent_operation(const attention& a, const operand& input, Visit& visit) {
    using enum layer_part;
    const auto compress = [&](weight_role role, std::int64_t rows, bool again) {
        visit(layer_operation{.code = operation_code::products,
                              .reads_again = again,
                              .parts = {{}, qkv_linear, layernorm},
                              .reads = {input},
                              .writes = {whole_operand(operand_name::latent, rows)},
                              .weights = {role}});
    };
    const auto expand = [&](weight_role role, std::int64_t rank, const operand& heads) {
        const operand latent = whole_operand(operand_name::latent, rank);
        const operation_parts parts{mla_up_proj, {}, mla_up_proj};
        visit(
            layer_operation{.code = operation_code::head_norm, .parts = parts, .reads = {latent}, .writes = {latent}});
        visit(layer_operation{
            .code = operation_code::products, .parts = parts, .reads = {latent}, .writes = {heads}, .weights = {role}});
    };
    const operand queries = split_operand(operand_name::query, a.heads * a.query_width());
    if (a.q_rank > 0) {
        compress(weight_role::q_a_proj, a.q_rank, false);
        expand(weight_role::q_b_proj, a.q_rank, queries);
    } else {
        visit(layer_operation{.code = operation_code::products,
                              .parts = {{}, qkv_linear, layernorm},
                              .reads = {input},
                              .writes = {queries},
                              .weights = {weight_role::q_proj}});
    }
    compress(weight_role::kv_a_proj, a.kv_rank + a.rope_dim, true);
    // Its product makes keys and values at once.
    expand(weight_role::kv_b_proj, a.kv_rank,
           split_operand(operand_name::key, a.heads * (a.head_dim + a.value_width())));
}

/// ... for attention to the sequence itself.
template <class Visit>
constexpr void for_each_attention_operation(const attention& a, const operand& input, Visit& visit) {
    using enum layer_part;
    const operand queries = split_operand(operand_name::query, a.heads * a.query_width());
    const operand keys = split_operand(operand_name::key, a.kv_heads * a.query_width());
    if (a.kind == attention_kind::latent) {
        for_each_latent_operation(a, input, visit);
    } else {
        visit(
            layer_operation{.code = operation_code::products,
                            .parts = {{}, qkv_linear, layernorm},
                            .reads = {input},
                            .writes = {queries, keys, split_operand(operand_name::value, a.kv_heads * a.value_width())},
                            .weights = {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj}});
        if (a.qk_norm != query_key_norm::none)
            for (const operand& normed : {queries, keys})
                visit(layer_operation{
                    .code = operation_code::head_norm, .reads = {normed}, .writes = {normed}, .group = a.head_dim});
    }
    if (a.gate != output_gate::none)
        visit(layer_operation{
            .code = operation_code::products,
            .reads_again = true,
            .parts = {{}, qkv_linear, layernorm},
            .reads = {input},
            .writes = {split_operand(operand_name::gate,
                                     a.gate == output_gate::features ? a.heads * a.value_width() : a.heads)},
            .weights = {weight_role::attn_gate}});
    visit(attention_core(a));
    if (a.gate != output_gate::none) {
        const operand attended = split_operand(operand_name::attended, a.heads * a.value_width());
        visit(layer_operation{.code = operation_code::output_gate,
                              .at = backward_point::norm,
                              .reads = {attended, whole_operand(operand_name::gate, attended.width)},
                              .writes = {attended}});
    }
    visit(attention_output(a, input.width));
}

/// ... for attention to the encoder's output, which keys and values are made of.
template <class Visit>
constexpr void for_each_cross_attention_operation(const layer& l, std::int64_t hidden, Visit& visit) {
    using enum layer_part;
    const attention& a = l.attention;
    visit(layer_operation{.code = operation_code::norm,
                          .at = backward_point::attention_norm,
                          .crosses = true,
                          .parts = {{}, attn_norm, {}},
                          .reads = {whole_operand(operand_name::stream, hidden)},
                          .writes = {whole_operand(operand_name::normed, hidden)}});
    visit(layer_operation{.code = operation_code::products,
                          .parts = {{}, qkv_linear, layernorm},
                          .reads = {whole_operand(operand_name::normed, hidden)},
                          .writes = {split_operand(operand_name::query, a.heads * a.query_width())},
                          .weights = {weight_role::q_proj}});
    visit(layer_operation{.code = operation_code::products,
                          .crosses = true,
                          .parts = {{}, qkv_linear, {}},
                          .reads = {whole_operand(operand_name::encoded, hidden)},
                          .writes = {split_operand(operand_name::key, a.kv_heads * a.query_width()),
                                     split_operand(operand_name::value, a.kv_heads * a.value_width())},
                          .weights = {weight_role::k_proj, weight_role::v_proj}});
    layer_operation core = attention_core(a);
    core.crosses = true;
    visit(core);
    layer_operation output = attention_output(a, hidden);
    output.crosses = true;
    visit(output);
}

/// ... for a Mamba 2 mixer. Other recurrences, which are not trained yet, are one operation.
template <class Visit>
constexpr void for_each_recurrent_operation(const recurrent& r, const operand& input, Visit& visit) {
    if (r.kind != recurrent_kind::mamba2) {
        visit(layer_operation{.code = operation_code::scan,
                              .reads = {input},
                              .writes = {whole_operand(operand_name::mixed, input.width)}});
        return;
    }
    const operand inner = split_operand(operand_name::projected, projected(r));
    const operand scanned = split_operand(operand_name::scanned, r.inner());
    visit(layer_operation{
        .code = operation_code::products, .reads = {input}, .writes = {inner}, .weights = {weight_role::in_proj}});
    visit(layer_operation{.code = operation_code::scan, .reads = {inner}, .writes = {scanned}});
    visit(layer_operation{.code = operation_code::products,
                          .at = backward_point::norm,
                          .reads = {scanned},
                          .writes = {whole_operand(operand_name::mixed, input.width)},
                          .weights = {weight_role::out_proj}});
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

/// The activation of a feed-forward of inner width `width`, and its product with `up` where it is gated.
constexpr layer_operation activation_of(const feed_forward& f, std::int64_t width, expert_group group) {
    const bool routed = group == expert_group::routed;
    return {.code = operation_code::activation,
            .half = layer_half::feed_forward,
            .at = backward_point::inner,
            .routed = routed,
            .shared = group == expert_group::shared,
            .parts = {parts_around_activation(group), routed ? layer_part_set{layer_part::moe_act} : layer_part_set{},
                      parts_around(group)},
            .reads = {split_operand(operand_name::up, width),
                      split_operand(operand_name::gate, f.kind == feed_forward_kind::gated ? width : 0)},
            .writes = {split_operand(operand_name::activated, width)}};
}

/// What one feed-forward's two or three products do, of inner width `width`.
template <class Visit>
constexpr void for_each_mlp_operation(const feed_forward& f, const operand& input, std::int64_t width,
                                      expert_group group, bool reads_again, Visit& visit) {
    using enum layer_part;
    const bool routed = group == expert_group::routed, shared = group == expert_group::shared;
    const layer_part_set inside = parts_around(group);
    const bool gated = f.kind == feed_forward_kind::gated;
    const operand gate = split_operand(operand_name::gate, gated ? width : 0),
                  up = split_operand(operand_name::up, width);
    const operand activated = split_operand(operand_name::activated, width);
    layer_operation o{.code = operation_code::products,
                      .half = layer_half::feed_forward,
                      .at = backward_point::inner,
                      .routed = routed,
                      .shared = shared,
                      .reads_again = reads_again,
                      .parts = {inside, routed ? layer_part_set{expert_fc1} : layer_part_set{},
                                group == expert_group::none ? layer_part_set{layernorm} : inside},
                      .reads = {input},
                      .writes = {up},
                      .weights = {weight_role::up_proj}};
    if (gated) {
        o.writes = {gate, up};
        o.weights = {weight_role::gate_proj, weight_role::up_proj};
    }
    visit(o);
    visit(activation_of(f, width, group));
    visit(layer_operation{
        .code = operation_code::products,
        .half = layer_half::feed_forward,
        .at = backward_point::output,
        .routed = routed,
        .shared = shared,
        .parts = {inside, {}, parts_around_activation(group)},
        .reads = {activated},
        .writes = {whole_operand(routed ? operand_name::expert_output : operand_name::fed, input.width)},
        .weights = {weight_role::down_proj}});
}

/// Routed experts, with the projections to their latent features and back (Megatron-Core, moe_layer.py), and the
/// shared ones.
template <class Visit>
constexpr void for_each_expert_operation(const feed_forward& f, const operand& input, Visit& visit) {
    using enum layer_part;
    const experts& e = f.experts;
    const std::int64_t hidden = input.width;
    const operand latent = whole_operand(operand_name::latent, e.latent);
    const operand output = whole_operand(operand_name::expert_output, e.features(hidden));
    layer_operation o{.half = layer_half::feed_forward, .at = backward_point::inner, .parts = {moe, {}, layernorm}};
    const auto product = [&](weight_role role, const operand& from, const operand& to, bool again) {
        o.code = operation_code::products;
        o.reads_again = again;
        o.reads = {from};
        o.writes = {to};
        o.weights = {role};
        visit(o);
    };
    product(weight_role::router, input, whole_operand(operand_name::logits_of_experts, e.count + e.idle), false);
    if (e.latent > 0) product(weight_role::projector, input, latent, true);
    o = {.code = operation_code::route,
         .half = layer_half::feed_forward,
         .at = backward_point::inner,
         .parts = {moe, {}, moe},
         .reads = {whole_operand(operand_name::logits_of_experts, e.count + e.idle)}};
    visit(o);
    for_each_mlp_operation(f, e.latent > 0 ? latent : input, e.width, expert_group::routed, false, visit);
    o.code = operation_code::combine;
    o.at = backward_point::output;
    o.routed = true;
    o.reads = {output};
    o.writes = {whole_operand(operand_name::fed, e.features(hidden))};
    visit(o);
    o.routed = false;
    if (e.latent > 0) product(weight_role::projector, output, whole_operand(operand_name::fed, hidden), false);
    if (e.shared_width > 0) for_each_mlp_operation(f, input, e.shared_width, expert_group::shared, true, visit);
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

/// Calls visit(operation) for what mixes tokens: norms, attention or a recurrence or both, and attention to an encoder.
template <class Visit>
constexpr void for_each_mixing_operation(const layer& l, std::int64_t hidden, const norm_modeling& norms,
                                         Visit& visit) {
    using enum layer_half;
    const operand stream = whole_operand(operand_name::stream, hidden);
    const operand mixed = whole_operand(operand_name::mixed, hidden);
    const bool norms_input = l.norm_before_attention && !norms.after_sum;
    const operand input = norms_input ? whole_operand(operand_name::normed, hidden) : stream;
    const bool attends = l.attention.kind != attention_kind::none;
    const bool recurs = l.recurrent.kind != recurrent_kind::none;
    if (norms_input) visit(norm_of(l, attention, backward_point::attention_norm, stream, input));
    if (attends) for_each_attention_operation(l.attention, input, visit);
    if (recurs) for_each_recurrent_operation(l.recurrent, input, visit);
    if (l.norm_after_attention) visit(norm_of(l, attention, backward_point::norm, mixed, mixed));
    if ((attends || recurs) && !norms.one_input) visit(residual_sum(attention, mixed, stream));
    if (l.norm_before_attention && norms.after_sum)
        visit(norm_of(l, attention, backward_point::attention_norm, stream, stream));
    if (l.attention.cross == cross_attention::beside) {
        for_each_cross_attention_operation(l, hidden, visit);
        visit(residual_sum(attention, mixed, stream));
    }
}

/// Calls visit(operation) for every operation of one layer. `norms` says where an architecture norms the stream: before
/// each half, after the sums, or once for both halves.
template <class Visit>
constexpr void for_each_layer_operation(const layer& l, std::int64_t hidden, const norm_modeling& norms,
                                        Visit&& visit) {
    using enum layer_half;
    const operand stream = whole_operand(operand_name::stream, hidden);
    const operand normed = whole_operand(operand_name::normed, hidden);
    const operand fed = whole_operand(operand_name::fed, hidden);
    const bool mixes = l.attention.kind != attention_kind::none || l.recurrent.kind != recurrent_kind::none;
    for_each_mixing_operation(l, hidden, norms, visit);
    layer_operation norm = norm_of(l, feed_forward, backward_point::norm, stream, norms.after_sum ? stream : normed);
    norm.reads_again = norms.one_input;
    if (l.norm_before_feed_forward && !norms.after_sum) visit(norm);
    const llmres::feed_forward& f = l.feed_forward;
    if (f.kind != feed_forward_kind::none) {
        const bool norms_input = !norms.after_sum && (l.norm_before_feed_forward || l.norm_before_attention);
        // Where one norm stands before both halves, the other half's products read its output too.
        const bool again = !l.norm_before_feed_forward && l.norm_before_attention && mixes;
        if (f.routed())
            for_each_expert_operation(f, norms_input ? normed : stream, visit);
        else
            for_each_mlp_operation(f, norms_input ? normed : stream, f.width, expert_group::none, again, visit);
    }
    if (l.norm_after_feed_forward) visit(norm_of(l, feed_forward, backward_point::output, fed, fed));
    if (mixes && norms.one_input) visit(residual_sum(attention, whole_operand(operand_name::mixed, hidden), stream));
    if (f.kind != feed_forward_kind::none) visit(residual_sum(feed_forward, fed, stream));
    if (l.norm_before_feed_forward && norms.after_sum) visit(norm);
}

}  // namespace llmres::inline v0::detail
