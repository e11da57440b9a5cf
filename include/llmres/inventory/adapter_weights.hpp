// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/adapter.hpp>
#include <llmres/models/families.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// The tensors that an adapter trains beside the weights of a model.
namespace llmres::inline v0 {

/// The first layers that LLaMA-Adapter leaves as they are (lit-gpt's adapter_start_layer).
inline constexpr std::int32_t unprompted_layers = 2;

namespace detail {

/// Whether this role's weight is one layer with the one before it: its adapter has no A of its own.
constexpr bool shares_input_matrix(weight_role role, const adapter& a, const modeling& code) {
    return ((code.attention.joined_heads || a.joined_heads) &&
            (role == weight_role::k_proj || role == weight_role::v_proj)) ||
           (code.attention.gated_queries && role == weight_role::attn_gate) ||
           (code.feed_forward.joined && role == weight_role::up_proj);
}

}  // namespace detail

/// Calls visit(weight) for the trained tensors that the adapter puts beside one weight of a layer. A's input and B's
/// output are cut as the weight's own; the rank is not.
template <class Visit>
constexpr void for_each_adapter_weight(const adapter& a, const modeling& code, const weight& w, Visit&& visit) {
    if (a.prompts_layers()) {
        const bool matrix = w.columns > 1 && w.rows > 1;
        weight added = w;
        added.quantised = false;
        if (matrix && w.role == weight_role::q_proj) {  // the gates, one a head, are too few to count
            added.rows = a.rank;
            added.split = weight_split::replicated;
            visit(added);
        }
        if (a.kind != adapter_kind::llama_adapter_v2) return;
        added = w;
        added.quantised = false;
        if (matrix) added.columns = 1, added.copies *= 2;
        if (matrix || w.role == weight_role::norm) visit(added);
        return;
    }
    if (w.columns <= 1 || w.rows <= 1) return;
    // peft leaves the scores of a classifier to be trained as they are (utils/constants.py: SEQ_CLS_HEAD_NAMES).
    if (w.role == weight_role::classifier && w.rows != w.columns) return;
    if (a.adapts(w.role, w.routed)) {
        if (!detail::shares_input_matrix(w.role, a, code)) {
            weight down = w;
            down.rows = a.rank;
            down.quantised = false;
            if (w.split == weight_split::rows) down.split = weight_split::replicated;
            if (code.separate_projections && w.role == weight_role::in_proj) down.copies *= 2;  // two layers each
            visit(down);
        }
        weight up = w;
        up.columns = a.rank;
        up.quantised = false;
        if (w.split == weight_split::columns) up.split = weight_split::replicated;
        visit(up);
        if (a.kind == adapter_kind::dora) {
            up.columns = 1;
            visit(up);
        }
    }
    if (a.kind == adapter_kind::ia3 && (w.role == weight_role::k_proj || w.role == weight_role::v_proj)) {
        weight scale = w;
        scale.columns = 1;
        scale.quantised = false;
        visit(scale);
    }
    if (a.kind == adapter_kind::ia3 && w.role == weight_role::down_proj) {
        weight scale = w;
        scale.rows = 1;
        scale.quantised = false;
        visit(scale);
    }
}

/// Trained parameters of the adapter in the whole model.
constexpr parameter_count count_parameters(const adapter& a, const model& m) {
    parameter_count total;
    if (a.kind == adapter_kind::prompt) return parameters(a.rank) * m.hidden;
    const auto counts = m.layers.counts();
    for (std::int32_t k = 0; k < m.layers.kind_count; ++k)
        for_each_weight(m.layers.kinds[static_cast<std::size_t>(k)], m.hidden, [&](const weight& w) {
            for_each_adapter_weight(a, modeling_of(m), w, [&](const weight& added) {
                total += added.count() * std::int64_t{counts[static_cast<std::size_t>(k)]};
            });
        });
    if (a.prompts_layers()) {
        total += parameters(m.layers[0].attention.heads) * (m.layers.size - unprompted_layers);
        total -= parameters(a.rank) * m.hidden * unprompted_layers;
    }
    if (a.kind == adapter_kind::llama_adapter_v2)
        total += parameters(2) * m.vocabulary + parameters(m.final_norm == norm_kind::layer ? 2 : 1) * m.hidden;
    return total;
}

}  // namespace llmres::inline v0
