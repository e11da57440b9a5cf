// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/units.hpp>

/// The inventory of a model's weight tensors. Counting, shards, adapters, gradients and optimizer states are folds
/// over it; models/weight_formats.hpp gives the bytes.
namespace llmres::inline v0 {

/// How tensor parallelism cuts a weight.
enum class weight_split : std::uint8_t {
    replicated,
    rows,     ///< output features: heads, inner width, vocabulary (a column-parallel linear)
    columns,  ///< input features (a row-parallel linear)
};

/// Weight tensors of one shape.
struct weight {
    weight_role role = weight_role::norm;
    std::int64_t rows = 1;     ///< output features; 1 for a vector
    std::int64_t columns = 1;  ///< input features
    std::int64_t copies = 1;   ///< tensors of this shape: the routed experts
    std::int64_t active = 1;   ///< of them, how many one token passes
    weight_split split = weight_split::replicated;
    std::int64_t granule = 1;  ///< rows (columns) that stay together when split: a head
    bool routed = false;       ///< one of the routed experts: spread over the expert ranks
    bool quantised = false;    ///< a matrix inside a layer, which quantised checkpoints store in the low format

    constexpr parameter_count count() const { return parameters(rows) * columns * copies; }
    constexpr parameter_count active_count() const { return parameters(rows) * columns * active; }
};

// ---- the inventory, part by part
// ---------------------------------------------------------------------------------------

namespace detail {

/// Any visitor: the parts that few models have are compiled once for it, not again for each visitor.
struct weight_visitor {
    constexpr virtual void operator()(const weight& w) const = 0;

protected:
    constexpr ~weight_visitor() = default;
};

template <class Visit>
struct visitor_of final : weight_visitor {
    Visit& visit;
    constexpr explicit visitor_of(Visit& calls) : visit{calls} {}
    constexpr void operator()(const weight& w) const override { visit(w); }
};

/// A vector of `width` for each norm; LayerNorm has a bias as well.
template <class Visit>
constexpr void visit_norm(norm_kind kind, std::int64_t width, std::int64_t how_many, Visit& visit) {
    const std::int64_t vectors = (kind == norm_kind::none ? 0 : kind == norm_kind::layer ? 2 : 1) * how_many;
    if (vectors > 0) visit(weight{.role = weight_role::norm, .columns = width, .copies = vectors, .active = vectors});
}

/// A matrix, and the bias on its output where it has one. A bias is cut as the output it is added to.
template <class Visit>
constexpr void visit_linear(const weight& w, bool bias, Visit& visit) {
    visit(w);
    if (!bias) return;
    const bool cut = w.split == weight_split::rows;
    visit(weight{.role = weight_role::bias,
                 .columns = w.rows,
                 .copies = w.copies,
                 .active = w.active,
                 .split = cut ? weight_split::columns : weight_split::replicated,
                 .granule = w.granule,
                 .routed = w.routed});
}

/// A matrix cut by heads: each head's `width` rows stay together.
template <class Visit>
constexpr void visit_heads(weight_role role, std::int64_t heads, std::int64_t width, std::int64_t from, bool bias,
                           Visit& visit) {
    visit_linear(weight{.role = role,
                        .rows = heads * width,
                        .columns = from,
                        .split = weight_split::rows,
                        .granule = width,
                        .quantised = true},
                 bias, visit);
}

/// Vectors that no rank shares out with others.
template <class Visit>
constexpr void visit_values(weight_role role, std::int64_t values, Visit& visit) {
    if (values > 0) visit(weight{.role = role, .columns = values});
}

/// The projections of grouped attention, keys and values read from `source` features.
template <class Visit>
constexpr void visit_grouped(const attention& a, std::int64_t hidden, std::int64_t source, Visit& visit) {
    visit_heads(weight_role::q_proj, a.heads, a.head_dim, hidden, a.qkv_bias, visit);
    if (a.kv == kv_source::shared) return;
    visit_heads(weight_role::k_proj, a.kv_heads, a.head_dim, source, a.qkv_bias && a.keys != key_projection::unbiased,
                visit);
    if (a.keys != key_projection::also_values)
        visit_heads(weight_role::v_proj, a.kv_heads, a.value_width(), source, a.qkv_bias, visit);
}

/// Latent attention: queries and keys-with-values, each compressed, normed and expanded.
constexpr void visit_latent(const attention& a, std::int64_t hidden, const weight_visitor& visit) {
    const auto compress = [&](weight_role role, std::int64_t rank, std::int64_t normed) {
        visit_linear(weight{.role = role, .rows = rank, .columns = hidden, .quantised = true}, a.qkv_bias, visit);
        visit_norm(norm_kind::rms, normed, 1, visit);
    };
    if (a.q_rank > 0) {
        compress(weight_role::q_a_proj, a.q_rank, a.q_rank);
        visit_heads(weight_role::q_b_proj, a.heads, a.query_width(), a.q_rank, false, visit);
    } else {
        visit_heads(weight_role::q_proj, a.heads, a.query_width(), hidden, false, visit);
    }
    compress(weight_role::kv_a_proj, a.kv_rank + a.rope_dim, a.kv_rank);
    visit_heads(weight_role::kv_b_proj, a.heads, a.head_dim + a.value_width(), a.kv_rank, false, visit);
}

template <class Visit>
constexpr void visit_output(const attention& a, std::int64_t hidden, Visit& visit) {
    visit_linear(weight{.role = weight_role::o_proj,
                        .rows = hidden,
                        .columns = a.heads * a.value_width(),
                        .split = weight_split::columns,
                        .granule = a.value_width(),
                        .quantised = true},
                 a.output_bias, visit);
}

template <class Visit>
constexpr void visit_qk_norm(const attention& a, Visit& visit) {
    const bool own_keys = a.kv != kv_source::shared;
    if (a.qk_norm == query_key_norm::shared) visit_norm(norm_kind::rms, a.head_dim, own_keys ? 2 : 1, visit);
    if (a.qk_norm == query_key_norm::full) {
        const auto over_heads = [&](std::int64_t heads) {
            visit(weight{.role = weight_role::norm,
                         .columns = heads * a.head_dim,
                         .split = weight_split::columns,
                         .granule = a.head_dim});
        };
        over_heads(a.heads);
        if (own_keys) over_heads(a.kv_heads);
    }
}

/// The indexer is small and every rank holds all of it. Its key norm is a LayerNorm.
constexpr void visit_indexer(const attention& a, std::int64_t hidden, const weight_visitor& visit) {
    const indexer& x = a.indexer;
    const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool quantised) {
        visit(weight{.role = weight_role::indexer, .rows = rows, .columns = columns, .quantised = quantised});
    };
    matrix(x.heads * x.head_dim, a.q_rank > 0 ? a.q_rank : hidden, true);
    matrix(x.head_dim, hidden, true);
    matrix(x.heads, hidden, false);
    visit_norm(norm_kind::layer, x.head_dim, 1, visit);
}

template <class Visit>
constexpr void visit_attention(const attention& a, std::int64_t hidden, Visit& visit) {
    if (a.kind == attention_kind::none) return;
    const std::int64_t source = a.cross_width > 0 ? a.cross_width : hidden;
    if (a.kind == attention_kind::latent)
        visit_latent(a, hidden, visitor_of{visit});
    else
        visit_grouped(a, hidden, a.cross == cross_attention::instead ? source : hidden, visit);
    visit_output(a, hidden, visit);
    visit_qk_norm(a, visit);
    if (a.gate == output_gate::features)
        visit_heads(weight_role::attn_gate, a.heads, a.value_width(), hidden, a.qkv_bias, visit);
    if (a.gate == output_gate::heads) visit_heads(weight_role::attn_gate, a.heads, 1, hidden, false, visit);
    if (a.sinks) visit(weight{.role = weight_role::values, .columns = a.heads, .split = weight_split::columns});
    if (a.indexer.heads > 0) visit_indexer(a, hidden, visitor_of{visit});
    if (a.cross == cross_attention::beside) {
        visit_grouped(a, hidden, source, visit);
        visit_output(a, hidden, visit);
    }
}

// ---- recurrences: inner channels are shared out over the tensor ranks, heads whole
// ------------------------------------

/// A vector or table with one row an inner channel or head.
constexpr void visit_channels(weight_role role, std::int64_t channels, std::int64_t columns, std::int64_t granule,
                              const weight_visitor& visit) {
    visit(weight{.role = role, .rows = channels, .columns = columns, .split = weight_split::rows, .granule = granule});
}

constexpr void visit_in(const recurrent& r, std::int64_t rows, std::int64_t hidden, const weight_visitor& visit) {
    visit_linear(weight{.role = weight_role::in_proj,
                        .rows = rows,
                        .columns = hidden,
                        .split = weight_split::rows,
                        .quantised = true},
                 r.bias, visit);
}

constexpr void visit_out(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_linear(weight{.role = weight_role::out_proj,
                        .rows = hidden,
                        .columns = r.inner(),
                        .split = weight_split::columns,
                        .granule = r.head_dim,
                        .quantised = true},
                 r.bias, visit);
}

constexpr void visit_conv(const recurrent& r, const weight_visitor& visit) {
    if (r.kernel == 0) return;
    visit_channels(weight_role::conv, r.conv_channels(), r.kernel, 1, visit);
    if (r.conv_bias)
        visit(weight{.role = weight_role::bias, .columns = r.conv_channels(), .split = weight_split::columns});
}

constexpr void visit_mamba(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_in(r, 2 * r.inner(), hidden, visit);
    visit_conv(r, visit);
    visit(weight{.role = weight_role::in_proj,  // the time step's rank, B and C
                 .rows = r.rank + 2 * r.state,
                 .columns = r.inner(),
                 .split = weight_split::columns,
                 .quantised = true});
    visit_linear(weight{.role = weight_role::in_proj,
                        .rows = r.inner(),
                        .columns = r.rank,
                        .split = weight_split::rows,
                        .quantised = true},
                 true, visit);
    visit_channels(weight_role::state, r.inner(), r.state, 1, visit);  // decay
    visit_channels(weight_role::state, r.inner(), 1, 1, visit);        // skip
    if (r.inner_norms) visit_values(weight_role::norm, r.rank + 2 * r.state, visit);
    visit_out(r, hidden, visit);
}

constexpr void visit_mamba2(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_in(r, 2 * r.inner() + 2 * r.key_heads * r.state + r.heads, hidden, visit);
    visit_conv(r, visit);
    visit_channels(weight_role::state, r.heads, 3, 1, visit);  // decay, skip, bias of the time step
    visit_channels(weight_role::norm, r.inner(), 1, r.head_dim, visit);
    visit_out(r, hidden, visit);
}

constexpr void visit_delta_net(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_in(r, 2 * r.key_heads * r.state + 2 * r.inner(), hidden, visit);  // queries, keys, values, output gate
    visit_in(r, 2 * r.heads, hidden, visit);                                // step and decay of each head
    visit_conv(r, visit);
    visit_channels(weight_role::state, r.heads, 2, 1, visit);
    visit_norm(norm_kind::rms, r.head_dim, 1, visit);
    visit_out(r, hidden, visit);
}

constexpr void visit_lightning(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_in(r, 3 * r.inner(), hidden, visit);
    visit_heads(weight_role::attn_gate, r.heads, r.head_dim, hidden, false, visit);
    visit_channels(weight_role::norm, r.inner(), 1, r.head_dim, visit);
    visit_out(r, hidden, visit);
}

constexpr void visit_short_conv(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_in(r, 3 * r.inner(), hidden, visit);
    visit_conv(r, visit);
    visit_out(r, hidden, visit);
}

/// RWKV-5: receptance, key, value and gate in, output back, decay and bonus a channel, a norm over the heads; the mixes
/// with the token before (four here, two in channel mixing) and channel mixing's receptance.
constexpr void visit_rwkv(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    visit_in(r, 4 * r.inner(), hidden, visit);
    visit_channels(weight_role::state, r.inner(), 2, r.head_dim, visit);
    visit_norm(norm_kind::layer, r.inner(), 1, visit);
    visit_out(r, hidden, visit);
    visit_values(weight_role::values, 6 * hidden, visit);
    visit(weight{.role = weight_role::gate_proj, .rows = hidden, .columns = hidden, .quantised = true});
}

constexpr void visit_recurrent(const recurrent& r, std::int64_t hidden, const weight_visitor& visit) {
    switch (r.kind) {
        case recurrent_kind::none:
            return;
        case recurrent_kind::mamba:
            return visit_mamba(r, hidden, visit);
        case recurrent_kind::mamba2:
            return visit_mamba2(r, hidden, visit);
        case recurrent_kind::delta_net:
            return visit_delta_net(r, hidden, visit);
        case recurrent_kind::lightning:
            return visit_lightning(r, hidden, visit);
        case recurrent_kind::short_conv:
            return visit_short_conv(r, hidden, visit);
        case recurrent_kind::rwkv:
            return visit_rwkv(r, hidden, visit);
    }
}

// ---- feed-forward
// -----------------------------------------------------------------------------------------------------

/// One feed-forward of the given inner width, or `copies` of them as routed experts.
template <class Visit>
constexpr void visit_mlp(const feed_forward& f, std::int64_t hidden, std::int64_t width, std::int64_t copies,
                         std::int64_t active, bool routed, Visit& visit) {
    const auto matrix = [&](weight_role role, std::int64_t rows, std::int64_t columns, weight_split split) {
        visit_linear(weight{.role = role,
                            .rows = rows,
                            .columns = columns,
                            .copies = copies,
                            .active = active,
                            .split = split,
                            .routed = routed,
                            .quantised = true},
                     f.bias, visit);
    };
    if (f.kind == feed_forward_kind::gated) matrix(weight_role::gate_proj, width, hidden, weight_split::rows);
    matrix(weight_role::up_proj, width, hidden, weight_split::rows);
    matrix(weight_role::down_proj, hidden, width, weight_split::columns);
}

template <class Visit>
constexpr void visit_feed_forward(const feed_forward& f, std::int64_t hidden, Visit& visit) {
    if (f.kind == feed_forward_kind::none) return;
    if (!f.routed()) return visit_mlp(f, hidden, f.width, 1, 1, false, visit);
    const experts& e = f.experts;
    visit_linear(weight{.role = weight_role::router, .rows = e.count + e.idle, .columns = hidden}, e.router_bias,
                 visit);
    if (e.score_bias) visit(weight{.role = weight_role::bias, .columns = e.count + e.idle});
    if (e.latent > 0) {
        visit(weight{.role = weight_role::projector, .rows = e.latent, .columns = hidden, .quantised = true});
        visit(weight{.role = weight_role::projector, .rows = hidden, .columns = e.latent, .quantised = true});
    }
    visit_mlp(f, e.features(hidden), e.width, e.count, e.per_token, true, visit);
    if (e.shared_width > 0) visit_mlp(f, hidden, e.shared_width, 1, 1, false, visit);
    if (e.shared_gate) visit(weight{.role = weight_role::shared_gate, .columns = hidden});
}

}  // namespace detail

/// Calls visit(weight) for every tensor shape of one layer.
template <class Visit>
constexpr void for_each_weight(const layer& l, std::int64_t hidden, Visit&& visit) {
    // Weights are handed on as they are but where the layer keeps one wide: copying each costs more than all else here.
    const auto wide = [&](weight w) {
        w.quantised = false;
        visit(w);
    };
    auto mixing = [&](const weight& w) {
        w.quantised && !quantises(l.quantised, quantised_part::mixers) ? wide(w) : visit(w);
    };
    auto feeding = [&](const weight& w) {
        const quantised_part part = w.routed ? quantised_part::experts : quantised_part::dense;
        w.quantised && !quantises(l.quantised, part) ? wide(w) : visit(w);
    };
    detail::visit_attention(l.attention, hidden, mixing);
    if (l.recurrent.kind != recurrent_kind::none)
        detail::visit_recurrent(l.recurrent, hidden, detail::visitor_of{mixing});
    detail::visit_feed_forward(l.feed_forward, hidden, feeding);
    detail::visit_norm(l.norm, hidden, l.norms(), visit);
    detail::visit_values(weight_role::values, l.more_values, visit);
}

namespace detail {

/// The extra tensors of one part of the model.
template <class Visit>
constexpr void visit_extras(const model& m, model_part part, Visit& visit) {
    for (std::int32_t i = 0; i < m.extra_count; ++i) {
        const extra_weight& e = m.extras[static_cast<std::size_t>(i)];
        if (e.part != part) continue;
        visit_linear(
            weight{.role = e.role, .rows = e.rows, .columns = e.columns, .copies = e.copies, .active = e.copies},
            e.bias, visit);
    }
}

/// An encoder's layers, as copies.
template <class Visit>
constexpr void visit_encoder(const encoder& e, Visit& visit) {
    if (e.layers == 0) return;
    const auto of_every_layer = [&](weight w) {
        w.copies *= e.layers;
        w.active *= e.layers;
        w.quantised = w.quantised && e.quantised;
        visit(w);
    };
    for_each_weight(e.block, e.hidden, static_cast<const weight_visitor&>(visitor_of{of_every_layer}));
}

}  // namespace detail

/// ... of the token embedding alone: what a tied head is a copy of, where it is on another GPU.
template <class Visit>
constexpr void for_each_embedding_weight(const model& m, Visit&& visit) {
    const std::int64_t width = embedding_width_of(m);
    if (m.vocabulary > 0)
        visit(weight{
            .role = weight_role::embed_tokens, .rows = m.vocabulary, .columns = width, .split = weight_split::rows});
}

/// Calls visit(weight) for what stands before the layers beside the token embedding: positions, projections, towers and
/// encoders.
template <class Visit>
constexpr void for_each_weight_beside_embedding(const model& m, Visit&& visit) {
    if (m.embedding_width > 0)
        visit(weight{.role = weight_role::projector, .rows = m.hidden, .columns = m.embedding_width});
    for (const encoder& e : m.encoders) detail::visit_encoder(e, visit);
    detail::visit_extras(m, model_part::input, visit);
}

/// Calls visit(weight) for all that stands before the layers.
template <class Visit>
constexpr void for_each_input_weight(const model& m, Visit&& visit) {
    for_each_embedding_weight(m, visit);
    for_each_weight_beside_embedding(m, visit);
}

/// ... and after them: final norm and head. A tied head is not visited: it is the embedding.
template <class Visit>
constexpr void for_each_output_weight(const model& m, Visit&& visit) {
    const std::int64_t width = embedding_width_of(m);
    detail::visit_norm(m.final_norm, m.hidden, 1, visit);
    if (m.embedding_width > 0) visit(weight{.role = weight_role::projector, .rows = width, .columns = m.hidden});
    if (!m.tied_head)
        visit(
            weight{.role = weight_role::lm_head, .rows = m.vocabulary, .columns = width, .split = weight_split::rows});
    if (m.head_bias) visit(weight{.role = weight_role::bias, .columns = m.vocabulary, .split = weight_split::columns});
    detail::visit_extras(m, model_part::output, visit);
}

/// ... of the layers that predict further ahead, one of them: its block, the projection of embedding and hidden state,
/// norms, and the copies of embedding and head that some files store.
template <class Visit>
constexpr void for_each_prediction_weight(const model& m, Visit&& visit) {
    const prediction& p = m.prediction;
    if (p.layers == 0) return;
    for_each_weight(p.block, m.hidden, static_cast<const detail::weight_visitor&>(detail::visitor_of{visit}));
    visit(weight{.role = weight_role::projector, .rows = m.hidden, .columns = 2 * m.hidden});
    detail::visit_norm(p.block.norm, m.hidden, p.norms, visit);
    const weight table{
        .role = weight_role::embed_tokens, .rows = m.vocabulary, .columns = m.hidden, .split = weight_split::rows};
    if (p.own_embedding) visit(table);
    if (p.own_head) {
        weight head = table;
        head.role = weight_role::lm_head;
        visit(head);
    }
}

// ---- folds
// -------------------------------------------------------------------------------------------------------------

/// Calls visit(weight, layers) for every tensor shape of the model, `layers` being how many layers have it.
template <class Visit>
constexpr void for_each_weight(const model& m, Visit&& visit) {
    for_each_input_weight(m, [&](const weight& w) { visit(w, std::int64_t{1}); });
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k)
        for_each_weight(m.layers.kinds[static_cast<std::size_t>(k)], m.hidden,
                        [&](const weight& w) { visit(w, std::int64_t{counts[static_cast<std::size_t>(k)]}); });
    for_each_output_weight(m, [&](const weight& w) { visit(w, std::int64_t{1}); });
}

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
    const auto add = [&](const weight& w) { total += w.count(); };
    detail::visit_extras(m, model_part::apart, add);
    return total;
}
/// The elements of all weights in the published file.
constexpr parameter_count count_stored_parameters(const model& m) {
    return count_parameters(m) + count_apart_parameters(m);
}

}  // namespace llmres::inline v0
