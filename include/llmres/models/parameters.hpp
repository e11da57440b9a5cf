// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// Which weight tensors does a model have, and of which shapes? Counting, sharding, adapters, gradients and optimizer
/// states are sums over this list; models/weight_formats.hpp gives the bytes.
namespace llmres::inline v0 {

/// How tensor parallelism cuts a weight.
enum class weight_split : std::uint8_t {
    replicated,  ///< every rank holds all of it
    rows,        ///< by output features: heads, inner width, vocabulary (a column-parallel linear layer)
    columns,     ///< by input features (a row-parallel linear layer)
};

/// Weight tensors of one shape.
struct weight {
    weight_role role = weight_role::norm;           ///< what the weight is for
    std::int64_t rows = 1;                          ///< output features; 1 for a vector
    std::int64_t columns = 1;                       ///< input features
    std::int64_t copies = 1;                        ///< tensors of this shape: as many as there are routed experts
    std::int64_t active = 1;                        ///< how many of the copies one token passes
    weight_split split = weight_split::replicated;  ///< how tensor parallelism cuts it
    std::int64_t granule = 1;  ///< rows (or columns) that stay together when it is cut: those of a head
    bool routed = false;       ///< a routed expert's weight, which expert parallelism spreads over ranks
    bool quantised = false;    ///< a matrix that quantised checkpoints store in the low format
    bool fp32 = false;         ///< stored in fp32 whatever the format of the rest
    bool buffer = false;       ///< published with the weights, but never trained by a gradient: a module's buffer

    /// Parameters of all copies.
    constexpr parameter_count count() const { return parameters(rows) * columns * copies; }
    /// Parameters of the copies that one token passes.
    constexpr parameter_count active_count() const { return parameters(rows) * columns * active; }
};

// ---- visiting the weights -------------------------------------------------------------------------------------------

namespace detail {

/// Receives the weights that the lists below show.
using weight_visitor = visitor<weight>;

constexpr void list_layer(const layer& l, std::int64_t hidden, const weight_visitor& visit);
constexpr void list_embedding(const model& m, const weight_visitor& visit);
constexpr void list_beside_embedding(const model& m, const weight_visitor& visit);
constexpr void list_output(const model& m, const weight_visitor& visit);
constexpr void list_prediction(const model& m, const weight_visitor& visit);
constexpr void list_extras(const model& m, model_part part, const weight_visitor& visit);
constexpr void list_towers(const model& m, const weight_visitor& visit);

}  // namespace detail

/// Calls visit(weight) for every tensor shape of one layer in a model of `hidden` features.
template <class Visit>
constexpr void for_each_weight(const layer& l, std::int64_t hidden, Visit&& visit) {
    detail::list_layer(l, hidden, visiting<weight>(visit));
}

/// Calls visit(weight) for the token embedding alone. Where embedding and head are tied, it is what the head's GPU
/// holds a copy of.
template <class Visit>
constexpr void for_each_embedding_weight(const model& m, Visit&& visit) {
    detail::list_embedding(m, visiting<weight>(visit));
}

/// Calls visit(weight) for all that stands before the layers.
template <class Visit>
constexpr void for_each_input_weight(const model& m, Visit&& visit) {
    const auto visitor = visiting<weight>(visit);
    detail::list_embedding(m, visitor);
    detail::list_beside_embedding(m, visitor);
}

/// Calls visit(weight) for what stands after the layers: final norm and head. A tied head is left out: it is the
/// embedding.
template <class Visit>
constexpr void for_each_output_weight(const model& m, Visit&& visit) {
    detail::list_output(m, visiting<weight>(visit));
}

/// Calls visit(weight) for one of the layers that predict further tokens ahead: its block, the projection of embedding
/// and hidden state, norms, and the copies of embedding and head that some files store.
template <class Visit>
constexpr void for_each_prediction_weight(const model& m, Visit&& visit) {
    detail::list_prediction(m, visiting<weight>(visit));
}

/// Calls visit(weight) for the towers that see or hear, with what leads from them to the decoder.
template <class Visit>
constexpr void for_each_tower_weight(const model& m, Visit&& visit) {
    detail::list_towers(m, visiting<weight>(visit));
}

/// Calls visit(weight) for what the published file stores beside the model and its prediction layers: pretraining
/// heads.
template <class Visit>
constexpr void for_each_apart_weight(const model& m, Visit&& visit) {
    detail::list_extras(m, model_part::apart, visiting<weight>(visit));
}

/// Calls visit(weight, layers) for every tensor shape of the model, `layers` being how many layers have it.
template <class Visit>
constexpr void for_each_weight(const model& m, Visit&& visit) {
    std::int64_t layers = 1;
    const auto each = [&](const weight& w) { visit(w, layers); };
    const auto visitor = visiting<weight>(each);
    detail::list_embedding(m, visitor);
    detail::list_beside_embedding(m, visitor);
    const auto counts = m.layers.counts();
    for (std::size_t k = 0; k < m.layers.distinct().size(); ++k) {
        layers = counts[k];
        detail::list_layer(m.layers.kinds[k], m.hidden, visitor);
    }
    layers = 1;
    detail::list_output(m, visitor);
}

// ---- counting -------------------------------------------------------------------------------------------------------

/// Unique parameters: tied weights once, no buffers.
constexpr parameter_count count_parameters(const model& m) {
    parameter_count total;
    for_each_weight(m, [&](const weight& w, std::int64_t layers) { total += w.count() * layers; });
    return total;
}
/// Parameters that one token passes: of the routed experts only those it is routed to.
constexpr parameter_count count_active_parameters(const model& m) {
    parameter_count total;
    for_each_weight(m, [&](const weight& w, std::int64_t layers) { total += w.active_count() * layers; });
    return total;
}

/// Parameters of the layers that predict further ahead: in the published file, but not in the headline total.
constexpr parameter_count count_prediction_parameters(const model& m) {
    parameter_count total;
    for_each_prediction_weight(m, [&](const weight& w) { total += w.count() * m.prediction.layers; });
    return total;
}
/// What the published file stores beside the model: prediction layers and pretraining heads. Which files store a tied
/// head twice, or buffers, follows from no shape, and is not counted.
constexpr parameter_count count_apart_parameters(const model& m) {
    parameter_count total = count_prediction_parameters(m);
    for_each_apart_weight(m, [&](const weight& w) { total += w.count(); });
    return total;
}
/// The elements of all weights in the published file.
constexpr parameter_count count_stored_parameters(const model& m) {
    return count_parameters(m) + count_apart_parameters(m);
}

// ---- detail: the list of weights, part by part ----------------------------------------------------------------------

namespace detail {

/// Makes the weights of one part of a model and hands them to a visitor.
struct weight_list {
    const weight_visitor& visit;
    std::int64_t hidden = 0;  ///< features of the residual stream
    bool quantised = true;    ///< quantised checkpoints store this part's matrices in the low format

    constexpr weight matrix(weight_role role, std::int64_t rows, std::int64_t columns,
                            weight_split split = weight_split::replicated) const {
        return {.role = role, .rows = rows, .columns = columns, .split = split, .quantised = quantised};
    }
    /// A matrix with `width` rows for each head, which stay together when it is cut.
    constexpr weight heads(weight_role role, std::int64_t count, std::int64_t width, std::int64_t inputs) const {
        weight w = matrix(role, count * width, inputs, weight_split::rows);
        w.granule = width;
        return w;
    }

    /// A matrix, and the bias on its output unless it has none. A bias is cut as the output that it is added to.
    constexpr void linear(const weight& w, bool has_bias = true) const {
        visit(w);
        if (!has_bias) return;
        const bool cut = w.split == weight_split::rows;
        visit(weight{.role = weight_role::bias,
                     .columns = w.rows,
                     .copies = w.copies,
                     .active = w.active,
                     .split = cut ? weight_split::columns : weight_split::replicated,
                     .granule = w.granule,
                     .routed = w.routed});
    }
    /// A vector of `width` for each norm; LayerNorm has a bias as well.
    constexpr void norms(norm_kind kind, std::int64_t width, std::int64_t count) const {
        const std::int64_t vectors = (kind == norm_kind::none ? 0 : kind == norm_kind::layer ? 2 : 1) * count;
        if (vectors > 0)
            visit(weight{.role = weight_role::norm, .columns = width, .copies = vectors, .active = vectors});
    }
    /// A vector that every rank holds.
    constexpr void vector(weight_role role, std::int64_t values) const {
        if (values > 0) visit(weight{.role = role, .columns = values});
    }
    /// A vector or table with a row for each inner channel (or head) of a recurrence. Tensor ranks share out channels.
    constexpr void channels(weight_role role, std::int64_t count, std::int64_t columns,
                            std::int64_t granule = 1) const {
        visit(weight{.role = role, .rows = count, .columns = columns, .split = weight_split::rows, .granule = granule});
    }
};

// ---- attention

/// The weights that pool `ratio` tokens into one entry of `width` features: a projection to contents and gates of each
/// window, positions in fp32, and a norm. Checkpoints keep it in 16 bits.
constexpr void list_compressor(const weight_list& list, const compressed_keys& c, std::int64_t width) {
    list.visit(weight{.role = weight_role::kv_a_proj, .rows = 2 * c.windows * width, .columns = list.hidden});
    list.visit(weight{.role = weight_role::positions, .columns = c.ratio * c.windows * width, .fp32 = true});
    list.norms(norm_kind::rms, width, 1);
}

/// The projections of grouped attention; keys and values are read from `source` features.
constexpr void list_grouped(const weight_list& list, const attention& a, std::int64_t source) {
    list.linear(list.heads(weight_role::q_proj, a.heads, a.head_dim, list.hidden), a.qkv_bias);
    if (a.kv == kv_source::shared) return;
    list.linear(list.heads(weight_role::k_proj, a.kv_heads, a.head_dim, source),
                a.qkv_bias && a.keys != key_projection::unbiased);
    if (a.keys != key_projection::also_values)
        list.linear(list.heads(weight_role::v_proj, a.kv_heads, a.value_width(), source), a.qkv_bias);
}

/// Latent attention: queries, and keys with values, are each compressed, normed and expanded.
constexpr void list_latent(const weight_list& list, const attention& a) {
    const auto compress = [&](weight_role role, std::int64_t rank, std::int64_t normed) {
        list.linear(list.matrix(role, rank, list.hidden), a.qkv_bias);
        list.norms(norm_kind::rms, normed, 1);
    };
    const auto expand = [&](weight_role role, std::int64_t width, std::int64_t rank) {
        list.visit(list.heads(role, a.heads, width, rank));
    };
    if (a.q_rank > 0) {
        compress(weight_role::q_a_proj, a.q_rank, a.q_rank);
        expand(weight_role::q_b_proj, a.query_width(), a.q_rank);
    } else {
        expand(weight_role::q_proj, a.query_width(), list.hidden);
    }
    compress(weight_role::kv_a_proj, a.kv_rank + a.rope_dim, a.kv_rank);
    expand(weight_role::kv_b_proj, a.head_dim + a.value_width(), a.kv_rank);
}

/// Compressed attention: queries through a lower rank, one key that is the value, and what pools `ratio` tokens into an
/// entry: a projection to contents and gates, positions within the entry and a norm.
constexpr void list_compressed(const weight_list& list, const attention& a) {
    list.visit(list.matrix(weight_role::q_a_proj, a.q_rank, list.hidden));
    list.norms(norm_kind::rms, a.q_rank, 1);
    list.visit(list.heads(weight_role::q_b_proj, a.heads, a.head_dim, a.q_rank));
    list.visit(list.matrix(weight_role::kv_a_proj, a.head_dim, list.hidden));
    list.norms(norm_kind::rms, a.head_dim, 1);
    if (a.compressed.ratio > 0) list_compressor(list, a.compressed, a.head_dim);
}

/// The output of compressed attention: each group of heads to a lower rank, and all of these to the hidden features.
constexpr void list_grouped_output(const weight_list& list, const attention& a) {
    const compressed_keys& c = a.compressed;
    weight groups = list.matrix(weight_role::o_proj, c.output_groups * c.output_rank,
                                a.heads * a.head_dim / c.output_groups, weight_split::rows);
    groups.granule = c.output_rank;
    list.visit(groups);
    weight joined =
        list.matrix(weight_role::o_proj, list.hidden, c.output_groups * c.output_rank, weight_split::columns);
    joined.granule = c.output_rank;
    list.visit(joined);
}

constexpr void list_attention_output(const weight_list& list, const attention& a) {
    if (a.kind == attention_kind::compressed) return list_grouped_output(list, a);
    weight w = list.matrix(weight_role::o_proj, list.hidden, a.heads * a.value_width(), weight_split::columns);
    w.granule = a.value_width();
    list.linear(w, a.output_bias);
}

constexpr void list_query_key_norms(const weight_list& list, const attention& a) {
    const bool own_keys = a.kv != kv_source::shared;
    if (a.qk_norm == query_key_norm::shared) list.norms(norm_kind::rms, a.head_dim, own_keys ? 2 : 1);
    if (a.qk_norm != query_key_norm::full) return;
    const auto norm_of_heads = [&](std::int64_t heads) {
        list.visit(weight{.role = weight_role::norm,
                          .columns = heads * a.head_dim,
                          .split = weight_split::columns,
                          .granule = a.head_dim});
    };
    norm_of_heads(a.heads);
    if (own_keys) norm_of_heads(a.kv_heads);
}

/// The indexer of sparse attention. It is small, and every rank holds all of it. Its key norm is a LayerNorm; the
/// matrix that weighs its heads is never quantised. Where entries are pooled from tokens, its keys are, too.
constexpr void list_indexer(const weight_list& list, const attention& a) {
    const indexer& x = a.indexer;
    const std::int64_t query_inputs = a.q_rank > 0 ? a.q_rank : list.hidden;
    list.visit(list.matrix(weight_role::indexer, x.heads * x.head_dim, query_inputs));
    if (a.compressed.ratio == 0) list.visit(list.matrix(weight_role::indexer, x.head_dim, list.hidden));
    if (x.weighed) list.visit(weight{.role = weight_role::indexer, .rows = x.heads, .columns = list.hidden});
    if (a.compressed.ratio > 0) return list_compressor(list, a.compressed, x.head_dim);
    list.norms(norm_kind::layer, x.head_dim, 1);
}

constexpr void list_attention(const weight_list& list, const attention& a, std::int64_t cross_width) {
    if (a.kind == attention_kind::none) return;
    const std::int64_t source = cross_width > 0 ? cross_width : list.hidden;
    if (a.kind == attention_kind::latent)
        list_latent(list, a);
    else if (a.kind == attention_kind::compressed)
        list_compressed(list, a);
    else
        list_grouped(list, a, a.cross == cross_attention::instead ? source : list.hidden);
    list_attention_output(list, a);
    list_query_key_norms(list, a);
    if (a.gate == output_gate::features || a.gate == output_gate::unbiased_features)
        list.linear(list.heads(weight_role::attn_gate, a.heads, a.value_width(), list.hidden),
                    a.qkv_bias && a.gate == output_gate::features);
    if (a.gate == output_gate::heads) list.visit(list.heads(weight_role::attn_gate, a.heads, 1, list.hidden));
    if (a.sinks) list.visit(weight{.role = weight_role::values, .columns = a.heads, .split = weight_split::columns});
    if (a.indexer.heads > 0) list_indexer(list, a);
    if (a.cross == cross_attention::beside) {
        list_grouped(list, a, source);
        list_attention_output(list, a);
    }
}

// ---- recurrences

constexpr void list_in_proj(const weight_list& list, const recurrent& r, std::int64_t rows) {
    list.linear(list.matrix(weight_role::in_proj, rows, list.hidden, weight_split::rows), r.bias);
}

constexpr void list_out_proj(const weight_list& list, const recurrent& r) {
    weight w = list.matrix(weight_role::out_proj, list.hidden, r.inner(), weight_split::columns);
    w.granule = r.head_dim;
    list.linear(w, r.bias);
}

constexpr void list_convolution(const weight_list& list, const recurrent& r) {
    if (r.kernel == 0) return;
    list.channels(weight_role::conv, r.conv_channels(), r.kernel);
    if (r.conv_bias)
        list.visit(weight{.role = weight_role::bias, .columns = r.conv_channels(), .split = weight_split::columns});
}

constexpr void list_mamba(const weight_list& list, const recurrent& r) {
    list_in_proj(list, r, 2 * r.inner());
    list_convolution(list, r);
    // x_proj: the time step's low rank, B and C; then dt_proj.
    list.visit(list.matrix(weight_role::in_proj, r.rank + 2 * r.state, r.inner(), weight_split::columns));
    list.linear(list.matrix(weight_role::in_proj, r.inner(), r.rank, weight_split::rows));
    list.channels(weight_role::state, r.inner(), r.state);  // A: the decay of each state
    list.channels(weight_role::state, r.inner(), 1);        // D: the skip connection
    if (r.inner_norms) list.vector(weight_role::norm, r.rank + 2 * r.state);
    list_out_proj(list, r);
}

constexpr void list_mamba2(const weight_list& list, const recurrent& r) {
    list_in_proj(list, r, 2 * r.inner() + 2 * r.key_heads * r.state + r.heads);
    list_convolution(list, r);
    list.channels(weight_role::state, r.heads, 3);  // decay, skip connection, bias of the time step
    if (r.output_norm) list.channels(weight_role::norm, r.inner(), 1, r.head_dim);
    list_out_proj(list, r);
}

/// A projection from the hidden features to the inner ones through `rank` features, which every rank holds.
constexpr void list_low_rank(const weight_list& list, const recurrent& r) {
    list.visit(list.matrix(weight_role::in_proj, r.rank, list.hidden));
    list.visit(list.matrix(weight_role::in_proj, r.inner(), r.rank, weight_split::rows));
}

constexpr void list_delta_net(const weight_list& list, const recurrent& r) {
    const std::int64_t queries_and_keys = 2 * r.key_heads * r.state;
    if (r.rank > 0) {
        list_in_proj(list, r, queries_and_keys + r.inner());
        list_in_proj(list, r, r.heads);  // step of each head
        list_low_rank(list, r);          // decay of each feature
        if (r.whole_gate)
            list_in_proj(list, r, r.inner());
        else
            list_low_rank(list, r);  // output gate
        list.channels(weight_role::state, r.inner(), 1, r.head_dim);
        list.channels(weight_role::state, r.heads, 1);
    } else {
        list_in_proj(list, r, queries_and_keys + 2 * r.inner());  // queries, keys, values, output gate
        list_in_proj(list, r, 2 * r.heads);                       // step and decay of each head
        list.channels(weight_role::state, r.heads, 2);
    }
    list_convolution(list, r);
    list.norms(norm_kind::rms, r.head_dim, 1);
    list_out_proj(list, r);
}

constexpr void list_lightning(const weight_list& list, const recurrent& r) {
    list_in_proj(list, r, 2 * r.heads * r.state + r.inner());
    list.visit(list.heads(weight_role::attn_gate, r.heads, r.head_dim, list.hidden));
    list.channels(weight_role::norm, r.inner(), 1, r.head_dim);
    list_out_proj(list, r);
}

constexpr void list_short_convolution(const weight_list& list, const recurrent& r) {
    list_in_proj(list, r, 3 * r.inner());
    list_convolution(list, r);
    list_out_proj(list, r);
}

/// RWKV-5. Time mixing: receptance, key, value and gate in, the output projection, a decay and a bonus for each
/// channel, and a norm over heads. Channel mixing: its receptance is a matrix here, its two others are the
/// feed-forward. Six vectors mix a token with the one before it, four in time mixing and two in channel mixing.
/// RWKV-4, whose heads are channels, has neither gate nor norm, and five such vectors.
constexpr void list_rwkv(const weight_list& list, const recurrent& r) {
    const bool fourth = r.head_dim == 1;
    list_in_proj(list, r, (fourth ? 3 : 4) * r.inner());
    list.channels(weight_role::state, r.inner(), 2, r.head_dim);
    if (!fourth) list.norms(norm_kind::layer, r.inner(), 1);
    list_out_proj(list, r);
    list.vector(weight_role::values, (fourth ? 5 : 6) * list.hidden);
    list.visit(list.matrix(weight_role::gate_proj, list.hidden, list.hidden));
}

/// Two branches in, one of them through a convolution and the recurrence; its two gates are matrices of blocks, one for
/// each of `key_heads`, with biases.
constexpr void list_gated_linear(const weight_list& list, const recurrent& r) {
    list_in_proj(list, r, 2 * r.inner());
    list_convolution(list, r);
    const std::int64_t block = r.inner() / r.key_heads;
    list.visit(weight{.role = weight_role::state,
                      .rows = block,
                      .columns = block,
                      .copies = 2 * r.key_heads,
                      .active = 2 * r.key_heads});
    list.channels(weight_role::state, r.inner(), 3);  // biases of both gates, decay
    list_out_proj(list, r);
}

constexpr void list_recurrence(const weight_list& list, const recurrent& r) {
    switch (r.kind) {
        case recurrent_kind::none:
        case recurrent_kind::undescribed: return;
        case recurrent_kind::mamba: return list_mamba(list, r);
        case recurrent_kind::mamba2: return list_mamba2(list, r);
        case recurrent_kind::delta_net: return list_delta_net(list, r);
        case recurrent_kind::lightning: return list_lightning(list, r);
        case recurrent_kind::short_conv: return list_short_convolution(list, r);
        case recurrent_kind::rwkv: return list_rwkv(list, r);
        case recurrent_kind::convolution: return list_convolution(list, r);
        case recurrent_kind::gated_linear: return list_gated_linear(list, r);
    }
}

// ---- feed-forward

/// The two or three matrices of a feed-forward, or of a stack of experts: `each` says how many, and whether routed.
constexpr void list_mlp(const weight_list& list, const feed_forward& f, std::int64_t inputs, std::int64_t width,
                        const weight& each) {
    const auto matrix = [&](weight_role role, std::int64_t rows, std::int64_t columns, weight_split split) {
        weight w = list.matrix(role, rows, columns, split);
        w.copies = each.copies;
        w.active = each.active;
        w.routed = each.routed;
        list.linear(w, f.bias);
    };
    if (f.kind == feed_forward_kind::gated) matrix(weight_role::gate_proj, width, inputs, weight_split::rows);
    matrix(weight_role::up_proj, width, inputs, weight_split::rows);
    matrix(weight_role::down_proj, inputs, width, weight_split::columns);
}

/// A feed-forward: `routed` lists its routed experts, `dense` everything else. They differ in what is quantised.
constexpr void list_feed_forward(const weight_list& dense, const weight_list& routed, const feed_forward& f) {
    if (f.kind == feed_forward_kind::none) return;
    const std::int64_t hidden = dense.hidden;
    if (!f.routed()) return list_mlp(dense, f, hidden, f.width, {});
    const experts& e = f.experts;
    const std::int64_t choices = e.count + e.idle;
    dense.linear(weight{.role = weight_role::router, .rows = choices, .columns = hidden}, e.router_bias);
    if (e.score_bias) dense.visit(weight{.role = weight_role::bias, .columns = choices, .buffer = true});
    if (e.latent > 0) {
        dense.visit(dense.matrix(weight_role::projector, e.latent, hidden));
        dense.visit(dense.matrix(weight_role::projector, hidden, e.latent));
    }
    list_mlp(routed, f, e.features(hidden), e.width, {.copies = e.count, .active = e.per_token, .routed = true});
    if (e.shared_width > 0) list_mlp(dense, f, hidden, e.shared_width, {});
    if (e.shared_gate) dense.visit(weight{.role = weight_role::shared_gate, .columns = hidden});
}

// ---- layers, and what stands around them

constexpr weight_list list_of_part(const layer& l, std::int64_t hidden, const weight_visitor& visit,
                                   quantised_part which) {
    return {.visit = visit, .hidden = hidden, .quantised = quantises(l.quantised, which)};
}

/// The weights that mix the copies of the residual stream before and after attention and feed-forward: matrices that
/// make the weights of the mix from all streams together, a bias for each, and a scale for each of its parts.
constexpr void list_hyper_connections(const weight_list& list, stream_mix mix, std::int64_t streams) {
    if (mix == stream_mix::none) return;
    const bool between = mix == stream_mix::between_too;
    const std::int64_t mixed = (between ? 2 + streams : 2) * streams;
    list.visit(weight{.role = weight_role::values,
                      .rows = mixed,
                      .columns = streams * list.hidden,
                      .copies = 2,
                      .active = 2,
                      .fp32 = true});
    list.visit(weight{
        .role = weight_role::values, .columns = mixed + (between ? 3 : 2), .copies = 2, .active = 2, .fp32 = true});
}

/// A layer's attention and recurrence, which other kinds of layers may have too.
constexpr void list_mixers(const layer& l, std::int64_t hidden, const weight_visitor& visit) {
    const weight_list mixers = list_of_part(l, hidden, visit, quantised_part::mixers);
    list_attention(mixers, l.attention, l.cross_width);
    if (l.recurrent.kind != recurrent_kind::none) list_recurrence(mixers, l.recurrent);
}
constexpr void list_behind_mixers(const layer& l, std::int64_t hidden, const weight_visitor& visit) {
    const weight_list mixers = list_of_part(l, hidden, visit, quantised_part::mixers);
    list_feed_forward(list_of_part(l, hidden, visit, quantised_part::dense),
                      list_of_part(l, hidden, visit, quantised_part::experts), l.feed_forward);
    mixers.norms(l.norm, hidden, l.norms());
    list_hyper_connections(mixers, l.mixes, l.streams);
    if (l.more_features > 0) mixers.visit(mixers.matrix(weight_role::projector, l.more_features, hidden));
    mixers.vector(weight_role::values, l.more_values);
}
constexpr void list_layer(const layer& l, std::int64_t hidden, const weight_visitor& visit) {
    list_mixers(l, hidden, visit);
    list_behind_mixers(l, hidden, visit);
}

/// Whether the mixers of two kinds of layers have the same weights: a window changes none.
constexpr bool same_mixer_weights(const layer& a, const layer& b) {
    if (a.recurrent != b.recurrent || a.cross_width != b.cross_width ||
        quantises(a.quantised, quantised_part::mixers) != quantises(b.quantised, quantised_part::mixers))
        return false;
    attention unbounded = a.attention;
    unbounded.window = b.attention.window;
    return unbounded == b.attention;
}

/// Tensors that a model has beside what its layers say, those of one part of it.
constexpr void list_extras(const model& m, model_part part, const weight_visitor& visit) {
    const weight_list list{.visit = visit, .hidden = m.hidden};
    for (const extra_weight& e : m.extra_weights()) {
        if (e.part != part) continue;
        list.linear(
            weight{.role = e.role, .rows = e.rows, .columns = e.columns, .copies = e.copies, .active = e.copies},
            e.bias);
    }
}

/// The layers of an encoder, as copies of one.
constexpr void list_encoder(const encoder& e, const weight_visitor& visit) {
    if (e.layers == 0) return;
    const auto in_every_layer = [&](weight w) {
        w.copies *= e.layers;
        w.active *= e.layers;
        w.quantised = w.quantised && e.quantised;
        visit(w);
    };
    list_layer(e.block, e.hidden, visiting<weight>(in_every_layer));
}

/// Encoders and what stands before the layers, token tables aside; nothing of a model without an encoder.
constexpr void list_towers(const model& m, const weight_visitor& visit) {
    if (m.encoders[0].layers == 0) return;
    for (const encoder& e : m.encoders) list_encoder(e, visit);
    const auto beside = [&](const weight& w) {
        if (w.role != weight_role::embed_tokens) visit(w);
    };
    list_extras(m, model_part::input, visiting<weight>(beside));
}

constexpr void list_embedding(const model& m, const weight_visitor& visit) {
    if (m.vocabulary > 0)
        visit(weight{.role = weight_role::embed_tokens,
                     .rows = m.vocabulary,
                     .columns = embedding_width_of(m),
                     .split = weight_split::rows});
}

constexpr void list_beside_embedding(const model& m, const weight_visitor& visit) {
    if (m.embedding_width > 0)
        visit(weight{.role = weight_role::projector, .rows = m.hidden, .columns = m.embedding_width});
    for (const encoder& e : m.encoders) list_encoder(e, visit);
    list_extras(m, model_part::input, visit);
}

constexpr void list_output(const model& m, const weight_visitor& visit) {
    const std::int64_t width = embedding_width_of(m);
    weight_list{.visit = visit, .hidden = m.hidden}.norms(m.final_norm, m.hidden, 1);
    if (m.embedding_width > 0) visit(weight{.role = weight_role::projector, .rows = width, .columns = m.hidden});
    if (!m.tied_head)
        visit(
            weight{.role = weight_role::lm_head, .rows = m.vocabulary, .columns = width, .split = weight_split::rows});
    if (m.head.bias) visit(weight{.role = weight_role::bias, .columns = m.vocabulary, .split = weight_split::columns});
    list_extras(m, model_part::output, visit);
}

constexpr void list_prediction(const model& m, const weight_visitor& visit) {
    const prediction& p = m.prediction;
    if (p.layers == 0) return;
    list_layer(p.block, m.hidden, visit);
    visit(weight{.role = weight_role::projector, .rows = m.hidden, .columns = 2 * m.hidden});
    weight_list{.visit = visit, .hidden = m.hidden}.norms(p.block.norm, m.hidden, p.norms);
    weight table{
        .role = weight_role::embed_tokens, .rows = m.vocabulary, .columns = m.hidden, .split = weight_split::rows};
    if (p.own_embedding) visit(table);
    table.role = weight_role::lm_head;
    if (p.own_head) visit(table);
}

}  // namespace detail

}  // namespace llmres::inline v0
