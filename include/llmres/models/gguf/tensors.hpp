// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/families.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/rules.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <utility>

/// Which tensors will a GGUF file hold, and how many bytes? Not counted: the header (metadata and tokenizer), vision
/// and audio towers (a file of their own, `mmproj`).
namespace llmres::inline v0 {

/// Calls visit(gguf_tensor) for each tensor of one layer.
template <class Visit>
constexpr void for_each_gguf_tensor(const model& m, const gguf_mix& mix, std::int32_t layer_index, Visit&& visit);

/// Calls visit(gguf_tensor) for each tensor before the layers: token_embd and its norm, learned positions and the
/// rotary factors.
template <class Visit>
constexpr void for_each_gguf_input_tensor(const model& m, const gguf_mix& mix, Visit&& visit);
/// Calls visit(gguf_tensor) for each tensor after the layers: output_norm and output. A tied output has no tensor.
template <class Visit>
constexpr void for_each_gguf_output_tensor(const model& m, const gguf_mix& mix, Visit&& visit);

/// Bytes of one layer's tensors.
constexpr byte_count gguf_layer_bytes(const model& m, const gguf_mix& mix, std::int32_t layer_index);
/// Bytes of the tensors before the layers.
constexpr byte_count gguf_input_bytes(const model& m, const gguf_mix& mix);
/// Bytes of the tensors after the layers.
constexpr byte_count gguf_output_bytes(const model& m, const gguf_mix& mix);
/// Bytes of all tensors, each padded to 32: the file without its header.
constexpr byte_count gguf_tensor_bytes(const model& m, const gguf_mix& mix);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::gguf {

/// Where a layer stands.
struct layer_place {
    std::int32_t index = 0;
    counters at{};  ///< behind a matrix of the layer, its tensors up to there included

    /// The type of the layer's next matrix.
    constexpr gguf_type type_of(const gguf_mix& mix, const traits& of, const gguf_tensor& tensor) {
        const gguf_type type = matrix_type(mix, of, tensor, index, at);
        if (tensor.role == weight_role::down_proj) ++at.down_tensors;
        return type;
    }
};

/// What the type of a tensor follows from.
enum class typed_by : bool { role, place };

/// Calls visit(gguf_tensor, typed_by) for each tensor that the converter makes of the weights of a layer.
template <class Visit>
constexpr void visit_layer(const model& m, const gguf_mix& mix, const traits& of, layer_place place, Visit&& visit) {
    const auto matrix = [&](gguf_tensor tensor) {
        tensor.type = place.type_of(mix, of, tensor);
        visit(tensor, typed_by::place);
    };
    const layer& l = m.layers[place.index];
    std::int64_t fused_rows = 0;
    for_each_weight(l, m.hidden, [&](weight w) {
        // Attention that a search replaced by one square matrix (Nemotron 51B) is described as values; its tensor is
        // attn_output.
        if (w.role == weight_role::values && l.attention.kind == attention_kind::none &&
            w.columns == m.hidden * m.hidden)
            w = {.role = weight_role::o_proj, .rows = m.hidden, .columns = m.hidden, .quantised = true};
        if (stays_wide(w)) {
            const bool half =
                w.role == weight_role::router && mix.router_in_16_bits && base_of(mix.quantisation) != t::F32;
            const gguf_type type = half ? t::F16 : t::F32;
            // The biases of the routed experts are one tensor, the rest are vectors.
            const std::int64_t tensors = w.routed ? 1 : w.copies;
            for (std::int64_t i = 0; i < tensors; ++i)
                visit(
                    gguf_tensor{
                        .role = w.role, .rows = w.rows * (w.copies / tensors), .columns = w.columns, .type = type},
                    typed_by::role);
            return;
        }
        gguf_tensor tensor{
            .role = w.role, .stacked = w.routed, .rows = w.rows * (w.routed ? w.copies : 1), .columns = w.columns};
        if (of.family.joined_heads && is_any(w.role, weight_role::q_proj, weight_role::k_proj, weight_role::v_proj)) {
            fused_rows += w.rows;
            if (w.role != weight_role::v_proj) return;
            tensor.rows = std::exchange(fused_rows, 0);
            tensor.fused_qkv = true;
        }
        if (w.role == weight_role::kv_b_proj && !mix.latent_expansion_whole) {
            // The part for keys is transposed, so that it maps queries to the compressed space; the part for values is
            // not.
            const attention& a = l.attention;
            matrix({.role = w.role, .stacked = true, .rows = a.kv_rank * a.heads, .columns = a.head_dim});
            tensor = {.role = w.role, .stacked = true, .rows = a.value_width() * a.heads, .columns = a.kv_rank};
        }
        for (std::int64_t i = 0; i < (w.routed ? 1 : w.copies); ++i) matrix(tensor);
    });
}

/// The layers of a file in groups of equal tensors, numbered in the order of their first layers.
class layer_groups {
public:
    static constexpr std::size_t max_groups = layer_classes * layer_stack::max_kinds;

    constexpr layer_groups() {}  ///< of no layers
    constexpr layer_groups(const model& m, const gguf_mix& mix, const traits& of) {
        std::uint8_t numbers[max_groups]{};  // from 1, by kind and class
        counters steps[layer_stack::max_kinds]{};
        for (std::size_t k = 0; k < m.layers.distinct().size(); ++k) steps[k] = after({}, m.layers.kinds[k], mix);
        const class_rules rules{mix.quantisation, of};
        const std::uint8_t* const kinds = m.layers.order.data();
        const std::uint8_t* const stored = mix.stored.count > 0 ? mix.stored.of_layer.data() : nullptr;
        const std::int32_t layers = m.layers.size;
        counters at;
        for (std::int32_t i = 0; i < layers; ++i) {
            const std::size_t kind = kinds[i];
            std::uint8_t& number = numbers[kind * layer_classes + (stored ? stored[i] : rules.class_of(i, at))];
            if (number == 0) {
                firsts_[count_] = slot<layer_place>{{i, at}};
                number = static_cast<std::uint8_t>(++count_);
            }
            groups_[i] = static_cast<std::uint8_t>(number - 1);
            at.value_tensors += steps[kind].value_tensors;
            at.down_tensors += steps[kind].down_tensors;
        }
    }

    constexpr std::size_t size() const { return count_; }
    constexpr std::size_t of_layer(std::int32_t index) const { return groups_[index]; }
    /// Where the first layer of a group stands.
    constexpr const layer_place& first_of(std::size_t group) const { return firsts_[group].value; }
    /// Calls visit(gguf_tensor, typed_by) for each tensor of any layer in a group.
    template <class Visit>
    constexpr void for_each_tensor(const model& m, const gguf_mix& mix, const traits& of, std::size_t group,
                                   Visit&& visit) const {
        visit_layer(m, mix, of, first_of(group), visit);
    }

private:
    std::uint8_t groups_[layer_stack::max_layers]{};
    std::array<slot<layer_place>, max_groups> firsts_;  ///< the first `count_` are set
    std::size_t count_ = 0;
};

/// The type of a table of tokens that is no output.
constexpr gguf_type type_of_table(const gguf_mix& mix, std::int64_t columns) {
    if (mix.stored.embedding) return *mix.stored.embedding;
    if (mix.embedding) return *mix.embedding;
    const gguf_type base = base_of(mix.quantisation);
    return is_any(mix.quantisation, q::F32, q::F16, q::BF16) ? base : fitting(embedding_type(mix, base), columns);
}
constexpr gguf_tensor embedding(const model& m, const gguf_mix& mix) {
    gguf_tensor tensor{
        .role = weight_role::embed_tokens, .rows = m.tokenizer > 0 ? m.tokenizer : m.vocabulary, .columns = m.hidden};
    const bool serves_as_output = m.tied_head && !mix.tied_head_stored;
    const bool as_table =
        mix.stored.embedding || mix.embedding || !serves_as_output || is_any(mix.quantisation, q::F32, q::F16, q::BF16);
    tensor.type =
        as_table
            ? type_of_table(mix, m.hidden)
            : fitting(output_type(mix, family_of(m).gguf.falcon_types, base_of(mix.quantisation), m.hidden), m.hidden);
    return tensor;
}

constexpr gguf_tensor output(const model& m, const gguf_mix& mix) {
    gguf_tensor tensor{.role = weight_role::lm_head, .rows = m.vocabulary, .columns = m.hidden};
    const gguf_type base = base_of(mix.quantisation);
    if (mix.stored.output) {
        tensor.type = *mix.stored.output;
        return tensor;
    }
    const bool plain = is_any(mix.quantisation, q::F32, q::F16, q::BF16);
    tensor.type = plain && !mix.output
                      ? base
                      : fitting(output_type(mix, family_of(m).gguf.falcon_types, base, m.hidden), m.hidden);
    return tensor;
}

/// The type that most layers of a file store a matrix in; nothing where no layer has it, or the rules decide.
constexpr maybe<gguf_type> usual_type(const model& m, const gguf_stored_types& stored, weight_role role, bool stacked) {
    maybe<gguf_type> usual{};
    std::int32_t most = 0;
    for (std::int32_t i = 0; stored.count > 0 && i < m.layers.size; ++i) {
        const maybe<gguf_type> own = stored.type_of(i, role, stacked);
        std::int32_t alike = 0;
        for (std::int32_t k = i; own && k < m.layers.size; ++k)
            if (const maybe<gguf_type> other = stored.type_of(k, role, stacked); other && *other == *own) ++alike;
        if (alike > most) usual = own, most = alike;
    }
    return usual;
}
/// The type of matrices of that role that are no stacks, where a file has stacks of routed experts and a quantiser may
/// store these in another type; nothing where it treats both alike, or there are no stacks.
constexpr maybe<gguf_type> type_beside_stacks(const model& m, const gguf_mix& mix, weight_role role) {
    if (mix.stored.count > 0) {
        const bool stacked = true;
        return usual_type(m, mix.stored, weight_role::down_proj, stacked) ? usual_type(m, mix.stored, role, !stacked)
                                                                          : maybe<gguf_type>{};
    }
    if (mix.quantisation != q::MXFP4_MOE) return {};
    return matrix_type(mix, traits_of(m, mix), {.role = role, .columns = m.hidden}, 0, {});
}

}  // namespace detail::gguf

template <class Visit>
constexpr void for_each_gguf_tensor(const model& m, const gguf_mix& mix, std::int32_t layer_index, Visit&& visit) {
    detail::gguf::counters at;
    for (std::int32_t i = 0; i < layer_index; ++i) at = detail::gguf::after(at, m.layers[i], mix);
    detail::gguf::visit_layer(m, mix, detail::gguf::traits_of(m, mix), {layer_index, at},
                              [&](const gguf_tensor& tensor, auto) { visit(tensor); });
}

constexpr byte_count gguf_layer_bytes(const model& m, const gguf_mix& mix, std::int32_t layer_index) {
    byte_count total;
    for_each_gguf_tensor(m, mix, layer_index, [&](const gguf_tensor& tensor) { total += tensor.size(); });
    return total;
}

template <class Visit>
constexpr void for_each_gguf_input_tensor(const model& m, const gguf_mix& mix, Visit&& visit) {
    if (m.vocabulary > 0) visit(detail::gguf::embedding(m, mix));
    for (std::int32_t i = 0; i < m.rope.vectors; ++i)
        visit(gguf_tensor{.role = weight_role::values, .columns = m.rope.width});
    bool towers = false;  // towers and their positions are in a file of their own
    for (const encoder& e : m.encoders) towers = towers || e.layers > 0;
    for (const extra_weight& e : m.extra_weights()) {
        if (towers || e.part != model_part::input || e.role == weight_role::embed_tokens) continue;
        const bool matrix = e.role == weight_role::projector && mix.quantisation != gguf_quantisation::F32;
        if (!matrix && !detail::gguf::is_any(e.role, weight_role::positions, weight_role::norm)) continue;
        // llama-quant.cpp quantises no per_layer_model_proj and no altup_proj.
        for (std::int64_t copy = 0; copy < e.copies; ++copy)
            visit(gguf_tensor{.role = e.role,
                              .rows = e.rows,
                              .columns = e.columns,
                              .type = matrix ? gguf_type::F16 : gguf_type::F32});
    }
    for (const extra_weight& e : m.extra_weights())  // tables of tokens for every layer (per_layer_token_embd)
        if (e.role == weight_role::embed_tokens)
            visit(gguf_tensor{.role = e.role,
                              .rows = e.rows,
                              .columns = e.columns,
                              .type = detail::gguf::type_of_table(mix, e.columns)});
}

template <class Visit>
constexpr void for_each_gguf_output_tensor(const model& m, const gguf_mix& mix, Visit&& visit) {
    for_each_output_weight(m, [&](const weight& w) {
        if (!detail::gguf::stays_wide(w)) return;
        for (std::int64_t i = 0; i < w.copies; ++i)
            visit(gguf_tensor{.role = w.role, .rows = w.rows, .columns = w.columns});
    });
    if (m.vocabulary > 0 && (!m.tied_head || mix.tied_head_stored)) visit(detail::gguf::output(m, mix));
}

constexpr byte_count gguf_input_bytes(const model& m, const gguf_mix& mix) {
    byte_count total;
    for_each_gguf_input_tensor(m, mix, [&](const gguf_tensor& tensor) { total += tensor.size(); });
    return total;
}
constexpr byte_count gguf_output_bytes(const model& m, const gguf_mix& mix) {
    byte_count total;
    for_each_gguf_output_tensor(m, mix, [&](const gguf_tensor& tensor) { total += tensor.size(); });
    return total;
}

constexpr byte_count gguf_tensor_bytes(const model& m, const gguf_mix& mix) {
    const detail::gguf::traits of = detail::gguf::traits_of(m, mix);
    const detail::gguf::layer_groups groups{m, mix, of};
    std::array<std::int64_t, detail::gguf::layer_groups::max_groups> layers{};
    for (std::int32_t i = 0; i < m.layers.size; ++i) ++layers[groups.of_layer(i)];
    byte_count total = gguf_input_bytes(m, mix) + gguf_output_bytes(m, mix);
    for (std::size_t g = 0; g < groups.size(); ++g)
        groups.for_each_tensor(m, mix, of, g,
                               [&](const gguf_tensor& tensor, auto) { total += tensor.size() * layers[g]; });
    return total;
}

}  // namespace llmres::inline v0
