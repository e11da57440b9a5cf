// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/layout.hpp>
#include <llmres/model.hpp>
#include <string_view>

/// The inventory of a model's weight tensors. Counting, shards, adapters, gradients and optimizer states are folds
/// over it; weight_formats.hpp gives the bytes.
namespace llmres {

/// What a weight is for, in the names Hugging Face gives the modules.
enum class weight_role : std::uint8_t {
    embed_tokens,
    q_proj,
    k_proj,
    v_proj,
    o_proj,
    q_a_proj,   ///< latent attention: compresses the query
    q_b_proj,   ///< expands it to heads
    kv_a_proj,  ///< compresses keys and values, and projects the shared key's position part
    kv_b_proj,  ///< expands them to heads
    gate_proj,
    up_proj,
    down_proj,
    router,
    shared_gate,
    bias,
    norm,
    lm_head,
};
inline constexpr std::array<std::string_view, 17> weight_role_names{
    "embed_tokens", "q_proj",    "k_proj",  "v_proj",    "o_proj", "q_a_proj",    "q_b_proj", "kv_a_proj", "kv_b_proj",
    "gate_proj",    "up_proj",   "down_proj", "router",  "shared_gate", "bias", "norm", "lm_head"};

constexpr std::string_view name_of(weight_role role) { return weight_role_names[static_cast<std::size_t>(role)]; }

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

// ---- the inventory, part by part ---------------------------------------------------------------------------------------

namespace detail {

/// A vector of `width` for each norm; LayerNorm has a bias as well.
template <class Visit>
constexpr void visit_norm(norm_kind kind, std::int64_t width, std::int64_t how_many, Visit& visit) {
    const std::int64_t vectors = (kind == norm_kind::none ? 0 : kind == norm_kind::layer ? 2 : 1) * how_many;
    if (vectors > 0) visit(weight{.role = weight_role::norm, .columns = width, .copies = vectors, .active = vectors});
}

/// A matrix, and the bias on its output where it has one. A bias is cut as the output it is added to.
template <class Visit>
constexpr void visit_linear(weight w, bool bias, Visit& visit) {
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

template <class Visit>
constexpr void visit_attention(const attention& a, std::int64_t hidden, Visit& visit) {
    if (a.kind == attention_kind::none) return;
    const auto heads_out = [&](weight_role role, std::int64_t heads, std::int64_t width, std::int64_t from, bool bias) {
        visit_linear(weight{.role = role,
                            .rows = heads * width,
                            .columns = from,
                            .split = weight_split::rows,
                            .granule = width,
                            .quantised = true},
                     bias, visit);
    };
    const auto compress = [&](weight_role role, std::int64_t rank, std::int64_t normed) {
        visit_linear(weight{.role = role, .rows = rank, .columns = hidden, .quantised = true}, a.qkv_bias, visit);
        visit_norm(norm_kind::rms, normed, 1, visit);
    };
    if (a.kind == attention_kind::grouped) {
        heads_out(weight_role::q_proj, a.heads, a.head_dim, hidden, a.qkv_bias);
        heads_out(weight_role::k_proj, a.kv_heads, a.head_dim, hidden, a.qkv_bias);
        heads_out(weight_role::v_proj, a.kv_heads, a.value_width(), hidden, a.qkv_bias);
    } else {
        if (a.q_rank > 0) {
            compress(weight_role::q_a_proj, a.q_rank, a.q_rank);
            heads_out(weight_role::q_b_proj, a.heads, a.query_width(), a.q_rank, false);
        } else {
            heads_out(weight_role::q_proj, a.heads, a.query_width(), hidden, false);
        }
        compress(weight_role::kv_a_proj, a.kv_rank + a.rope_dim, a.kv_rank);
        heads_out(weight_role::kv_b_proj, a.heads, a.head_dim + a.value_width(), a.kv_rank, false);
    }
    visit_linear(weight{.role = weight_role::o_proj,
                        .rows = hidden,
                        .columns = a.heads * a.value_width(),
                        .split = weight_split::columns,
                        .granule = a.value_width(),
                        .quantised = true},
                 a.output_bias, visit);
    if (a.qk_norm == query_key_norm::shared) visit_norm(norm_kind::rms, a.head_dim, 2, visit);
    if (a.qk_norm == query_key_norm::full) {
        for (const std::int64_t heads : {a.heads, a.kv_heads})
            visit(weight{.role = weight_role::norm,
                         .columns = heads * a.head_dim,
                         .split = weight_split::columns,
                         .granule = a.head_dim});
    }
}

/// One feed-forward of the given inner width, or `copies` of them as routed experts.
template <class Visit>
constexpr void visit_mlp(const feed_forward& f, std::int64_t hidden, std::int64_t width, std::int64_t copies,
                         std::int64_t active, bool routed, Visit& visit) {
    const weight up{.role = weight_role::up_proj,
                    .rows = width,
                    .columns = hidden,
                    .copies = copies,
                    .active = active,
                    .split = weight_split::rows,
                    .routed = routed,
                    .quantised = true};
    if (f.kind == feed_forward_kind::gated) {
        weight gate = up;
        gate.role = weight_role::gate_proj;
        visit_linear(gate, f.bias, visit);
    }
    visit_linear(up, f.bias, visit);
    weight down = up;
    down.role = weight_role::down_proj;
    down.rows = hidden;
    down.columns = width;
    down.split = weight_split::columns;
    visit_linear(down, f.bias, visit);
}

template <class Visit>
constexpr void visit_feed_forward(const feed_forward& f, std::int64_t hidden, Visit& visit) {
    if (f.kind == feed_forward_kind::none) return;
    if (!f.routed()) return visit_mlp(f, hidden, f.width, 1, 1, false, visit);
    const experts& e = f.experts;
    visit(weight{.role = weight_role::router, .rows = e.count, .columns = hidden});
    if (e.score_bias) visit(weight{.role = weight_role::bias, .columns = e.count});
    visit_mlp(f, hidden, e.width, e.count, e.per_token, true, visit);
    if (e.shared_width > 0) visit_mlp(f, hidden, e.shared_width, 1, 1, false, visit);
    if (e.shared_gate) visit(weight{.role = weight_role::shared_gate, .columns = hidden});
}

}  // namespace detail

/// Calls visit(weight) for every tensor shape of one layer.
template <class Visit>
constexpr void for_each_weight(const layer& l, std::int64_t hidden, Visit&& visit) {
    detail::visit_attention(l.attention, hidden, visit);
    detail::visit_feed_forward(l.feed_forward, hidden, visit);
    detail::visit_norm(l.norm, hidden, l.norms(), visit);
}

/// ... of what stands before the layers: the token embedding.
template <class Visit>
constexpr void for_each_input_weight(const model& m, Visit&& visit) {
    visit(weight{.role = weight_role::embed_tokens, .rows = m.vocabulary, .columns = m.hidden, .split = weight_split::rows});
}

/// ... and after them: final norm and head. A tied head is not visited: it is the embedding.
template <class Visit>
constexpr void for_each_output_weight(const model& m, Visit&& visit) {
    detail::visit_norm(m.final_norm, m.hidden, 1, visit);
    const weight head{
        .role = weight_role::lm_head, .rows = m.vocabulary, .columns = m.hidden, .split = weight_split::rows};
    if (!m.tied_head) visit(head);
    if (m.head_bias)
        visit(weight{.role = weight_role::bias, .columns = m.vocabulary, .split = weight_split::columns});
}

// ---- folds -------------------------------------------------------------------------------------------------------------

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

/// The largest part of a weight that one GPU of the layout holds (ZeRO apart). Heads stay whole; where there are fewer
/// of them than ranks, ranks hold copies.
constexpr weight local_part(weight w, const layout& l) {
    const std::int64_t ranks = w.routed ? l.expert_tensor_ranks() : l.tensor;
    if (w.routed) {
        w.copies = detail::ceil_quotient(w.copies, l.expert);
        w.active = w.active < w.copies ? w.active : w.copies;
    }
    if (ranks == 1) return w;
    const auto part = [&](std::int64_t size) {
        const std::int64_t most = detail::ceil_quotient(detail::ceil_quotient(size, w.granule), ranks) * w.granule;
        return most < size ? most : size;
    };
    if (w.split == weight_split::rows) w.rows = part(w.rows);
    if (w.split == weight_split::columns) w.columns = part(w.columns);
    return w;
}

}  // namespace llmres
