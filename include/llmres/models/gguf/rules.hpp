// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/models/families.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <string_view>

/// Which type does a tensor of a GGUF file get? The rules are those of llama-quant.cpp (llama_tensor_get_type,
/// llama_ftype_get_default_type, tensor_allows_quantization) and convert_hf_to_gguf.py, and give the published sizes to
/// the byte (tests/validation/gguf_sizes.cpp).
namespace llmres::inline v0 {

// ---- detail: what the rules ask -------------------------------------------------------------------------------------

namespace detail::gguf {

template <class Value, class... Values>
constexpr bool is_any(Value value, Values... of) {
    return ((value == of) || ...);
}

/// llama.cpp's use_more_bits of so many layers: the first and last eighth of them, and every third between.
struct more_bits {
    std::int32_t first = 0;  ///< behind the first eighth
    std::int32_t last = 0;   ///< the last eighth's first

    constexpr more_bits() = default;
    constexpr explicit more_bits(std::int32_t layers) : first{layers / 8}, last{7 * layers / 8} {}
    constexpr bool of(std::int32_t i) const { return i < first || i >= last || (i - first) % 3 == 2; }
};

/// Properties of the model that the rules depend on.
struct traits {
    std::int32_t layers = 0;
    std::int32_t value_tensors = 0;  ///< how many tensors carry values: attn_v, attn_qkv or attn_kv_b
    std::int64_t shared_heads = 0;   ///< queries to a key, in the first layer
    std::int64_t experts = 0;
    more_bits in_layers{};  ///< by layer
    more_bits in_values{};  ///< by the tensors that carry values
    gguf_family family{};
    gguf_type base{};        ///< of the quantisation
    bool plain = false;      ///< the quantisation is a plain format
    bool few_bits = false;   ///< it has fewer than 2.6 bits
    bool seventy_b = false;  ///< llama.cpp's name for eighty layers of grouped-query attention in these families
};

/// How many tensors of a sort there are in earlier layers: some rules count tensors, not layers.
struct counters {
    std::int32_t value_tensors = 0;
    std::int32_t down_tensors = 0;
};

constexpr bool has_values(const layer& l, const gguf_mix& mix) {
    const attention& a = l.attention;
    return (a.kind == attention_kind::grouped && a.kv != kv_source::shared && a.keys != key_projection::also_values) ||
           (a.kind == attention_kind::latent && mix.latent_expansion_whole);
}
constexpr counters after(counters before, const layer& l, const gguf_mix& mix) {
    before.value_tensors += has_values(l, mix) ? 1 : 0;
    if (l.feed_forward.kind != feed_forward_kind::none)
        before.down_tensors += l.feed_forward.routed() && l.feed_forward.experts.shared_width > 0 ? 2 : 1;
    return before;
}

constexpr traits traits_of(const model& m, const gguf_mix& mix) {
    traits found;
    found.layers = m.layers.size;
    found.family = family_of(m).gguf;
    const auto counts = m.layers.counts();
    for (std::size_t k = 0; k < m.layers.distinct().size(); ++k) {
        const layer& l = m.layers.kinds[k];
        found.value_tensors += has_values(l, mix) ? counts[k] : 0;
        if (l.feed_forward.experts.count > found.experts) found.experts = l.feed_forward.experts.count;
    }
    if (m.layers.size > 0) {
        const attention& first = m.layers[0].attention;
        if (first.kind == attention_kind::grouped) found.shared_heads = first.heads / first.kv_heads;
        // One stored vector serves all heads; the files with attn_kv_b counted a key a head.
        if (first.kind == attention_kind::latent) found.shared_heads = mix.latent_expansion_whole ? 1 : first.heads;
    }
    found.seventy_b = m.layers.size == 80 && found.shared_heads != 1 && found.family.wider_values_at_80;
    found.base = base_of(mix.quantisation);
    found.plain = is_any(mix.quantisation, q::F32, q::F16, q::BF16);
    found.few_bits = is_any(mix.quantisation, q::IQ1_S, q::IQ1_M, q::IQ2_XXS, q::IQ2_XS, q::IQ2_S, q::IQ2_M);
    found.in_layers = more_bits{found.layers};
    found.in_values = more_bits{found.value_tensors};
    return found;
}

// ---- detail: the rules, one function a sort of tensor ---------------------------------------------------------------

/// The output, or the tied embedding in its place.
constexpr gguf_type output_type(const gguf_mix& mix, bool falcon, gguf_type base, std::int64_t columns) {
    if (mix.output) return *mix.output;
    const auto quantisation = mix.quantisation;
    if (mix.published_rest) return t::BF16;
    if (quantisation == q::MXFP4_MOE || falcon || columns % block_of(base) != 0) return t::Q8_0;
    if (is_any(quantisation, q::IQ1_S, q::IQ1_M, q::IQ2_XXS, q::IQ2_XS, q::IQ2_S, q::IQ2_M, q::IQ3_XXS)) return t::Q5_K;
    return base == t::Q8_0 ? base : t::Q6_K;
}

/// The embedding of a model whose output is a tensor of its own.
constexpr gguf_type embedding_type(const gguf_mix& mix, gguf_type base) {
    switch (mix.quantisation) {
        case q::IQ1_S:
        case q::IQ1_M:
        case q::IQ2_XXS:
        case q::IQ2_XS: return t::Q2_K;
        case q::IQ2_S:
        case q::IQ2_M:
        case q::IQ3_XXS: return t::IQ3_S;
        case q::TQ1_0:
        case q::TQ2_0: return t::Q4_K;
        case q::Q4_0_4_4:
        case q::Q4_0_4_8:
        case q::Q4_0_8_8: return t::Q4_0;
        case q::MXFP4_MOE: return mix.published_rest ? t::BF16 : t::Q8_0;
        default: return base;
    }
}

/// attn_qkv in versions that did not treat it as values.
constexpr gguf_type fused_type(const gguf_mix& mix, gguf_type base) {
    switch (mix.quantisation) {
        case q::Q3_K_M:
        case q::Q3_K_L:
        case q::IQ3_M: return t::Q4_K;
        case q::Q4_K_M: return t::Q5_K;
        case q::Q5_K_M: return t::Q6_K;
        default: return base;
    }
}

/// attn_v, and since 2026 attn_qkv and attn_kv_b. `i` counts these tensors.
constexpr gguf_type value_type(const gguf_mix& mix, const traits& of, gguf_type base, std::int32_t i) {
    gguf_type type = base;
    const bool shared = of.shared_heads >= 4;
    switch (mix.quantisation) {
        case q::Q2_K: type = shared ? t::Q4_K : t::Q3_K; break;
        case q::Q2_K_S: type = shared ? t::Q4_K : base; break;
        case q::IQ3_XXS: type = shared ? t::Q4_K : mix.importance_matrix ? t::IQ3_XXS : t::IQ3_S; break;
        case q::IQ3_XS:
        case q::IQ3_S: type = shared ? t::Q4_K : base; break;
        case q::IQ3_M: type = t::Q4_K; break;
        case q::Q3_K_M: type = i < 2 ? t::Q5_K : t::Q4_K; break;
        case q::Q3_K_L: type = t::Q5_K; break;
        case q::IQ4_NL:
        case q::IQ4_XS: type = shared ? t::Q5_K : base; break;
        case q::Q4_K_S: type = i < 4 ? t::Q5_K : base; break;
        case q::Q4_K_M:
        case q::Q5_K_M: type = of.in_values.of(i) ? t::Q6_K : base; break;
        default: break;
    }
    if (of.seventy_b && is_any(type, t::Q3_K, t::Q4_K)) type = t::Q5_K;
    return of.experts == 8 ? t::Q8_0 : type;
}

/// attn_q and attn_k.
constexpr gguf_type query_key_type(const gguf_mix& mix, const traits& of, gguf_type base, weight_role role) {
    if (role == weight_role::k_proj && of.experts == 8) return t::Q8_0;
    if (mix.quantisation == q::IQ3_XS) return t::IQ3_XXS;
    return mix.quantisation == q::IQ3_XXS ? t::IQ2_S : base;
}

constexpr gguf_type attention_output_type(const gguf_mix& mix, const traits& of, gguf_type base) {
    const auto quantisation = mix.quantisation;
    if (of.family.falcon_types) return quantisation == q::Q3_K_L ? t::Q4_K : base;
    if (of.experts == 8)
        return is_any(quantisation, q::Q2_K, q::IQ3_XS, q::IQ3_XXS, q::Q3_K_S, q::Q3_K_M, q::IQ4_NL, q::Q4_K_S,
                      q::Q4_K_M, q::IQ3_S, q::IQ3_M, q::IQ4_XS)
                   ? t::Q5_K
                   : base;
    switch (quantisation) {
        case q::Q2_K: return t::Q3_K;
        case q::IQ3_XXS: return t::IQ3_S;
        case q::Q3_K_M:
        case q::IQ3_M: return t::Q4_K;
        case q::Q3_K_L: return t::Q5_K;
        default: return base;
    }
}

/// ffn_down. `i` is the layer, or in a model without experts the count of these tensors.
constexpr gguf_type down_type(const gguf_mix& mix, const traits& of, gguf_type base, std::int32_t i) {
    const bool early = i < of.layers / 8;
    const bool more = of.in_layers.of(i);
    switch (mix.quantisation) {
        case q::Q2_K: return t::Q3_K;
        case q::Q2_K_S: return early ? t::Q4_K : base;
        case q::IQ3_XXS: return mix.importance_matrix ? base : early ? t::Q4_K : t::Q3_K;
        case q::Q3_K_M: return i < of.layers / 16 ? t::Q5_K : !of.family.falcon_types || more ? t::Q4_K : t::Q3_K;
        case q::IQ3_M: return early || (of.experts == 8 && more) ? t::Q4_K : base;
        case q::Q3_K_L: return of.family.falcon_types ? t::Q4_K : t::Q5_K;
        case q::Q4_K_M:
            if (of.family.falcon_types) return i < of.layers / 16 ? t::Q6_K : more ? t::Q5_K : base;
            return more ? t::Q6_K : base;
        case q::IQ4_NL:
        case q::IQ4_XS: return early && !mix.importance_matrix ? t::Q5_K : base;
        case q::Q5_K_M: return more ? t::Q6_K : base;
        case q::Q4_K_S: return early && !of.family.falcon_types ? t::Q5_K : base;
        case q::Q4_0: return early && mix.importance_matrix ? t::Q4_1 : base;
        case q::Q5_0: return early && mix.importance_matrix ? t::Q5_1 : base;
        default: return base;
    }
}

/// ffn_gate and ffn_up.
constexpr gguf_type gate_up_type(const gguf_mix& mix, const traits& of, gguf_type base, std::int32_t i) {
    if (mix.before_2024 && mix.quantisation == q::Q2_K) return t::Q3_K;
    const bool middle = i >= of.layers / 8 && i < 7 * of.layers / 8;
    return mix.quantisation == q::IQ3_XS && middle ? t::IQ3_XXS : base;
}

/// Every matrix in the quantisations below 2.6 bits, which have rules of their own.
constexpr gguf_type smallest_type(const gguf_mix& mix, const traits& of, gguf_type base, const gguf_tensor& tensor,
                                  const counters& at) {
    const bool larger = is_any(mix.quantisation, q::IQ2_S, q::IQ2_M);
    if (tensor.role == weight_role::v_proj || tensor.role == weight_role::kv_b_proj)
        return of.shared_heads >= 4 || of.experts >= 4 ? t::Q4_K : larger ? t::IQ3_S : t::Q2_K;
    switch (tensor.role) {
        case weight_role::k_proj: return of.experts == 8 ? t::Q4_K : base;
        case weight_role::down_proj: return at.down_tensors >= of.layers / 8 ? base : larger ? t::IQ3_S : t::Q2_K;
        case weight_role::o_proj:
            if (of.experts == 8) return t::Q5_K;
            if (is_any(mix.quantisation, q::IQ1_S, q::IQ1_M)) return t::IQ2_XXS;
            return larger ? t::IQ3_S : base;
        default: return base;
    }
}

/// The type that llama.cpp falls back to where a row is not a whole number of blocks (tensor_type_fallback).
constexpr gguf_type fitting(gguf_type type, std::int64_t columns) {
    if (columns % block_of(type) == 0) return type;
    switch (type) {
        case t::Q2_K:
        case t::Q3_K:
        case t::TQ1_0:
        case t::TQ2_0: type = t::Q4_0; break;
        case t::Q4_K: type = t::Q5_0; break;
        case t::Q5_K: type = t::Q5_1; break;
        case t::Q6_K: type = t::Q8_0; break;
        case t::IQ1_S:
        case t::IQ1_M:
        case t::IQ2_XXS:
        case t::IQ2_XS:
        case t::IQ2_S:
        case t::IQ3_XXS:
        case t::IQ3_S:
        case t::IQ4_XS: type = t::IQ4_NL; break;
        default: return t::F16;
    }
    return columns % block_of(type) == 0 ? type : t::F16;
}

/// The type of a matrix in layer `i`.
constexpr gguf_type matrix_type(const gguf_mix& mix, const traits& of, const gguf_tensor& tensor, std::int32_t i,
                                const counters& at) {
    if (const maybe<gguf_type> stored = mix.stored.type_of(i, tensor.role, tensor.stacked)) return *stored;
    const gguf_type base = of.base;
    if (of.plain) return base;
    if (mix.quantisation == q::MXFP4_MOE)
        return fitting(tensor.stacked ? t::MXFP4 : mix.published_rest ? t::BF16 : t::Q8_0, tensor.columns);
    gguf_type type = base;
    if (tensor.role == weight_role::kv_b_proj && (tensor.stacked || !mix.fused_as_values)) {
        // attn_k_b and attn_v_b: no rule names them, nor of old attn_kv_b.
    } else if (tensor.fused_qkv && !mix.fused_as_values) {
        if (!of.few_bits) type = fused_type(mix, base);
    } else if (of.few_bits) {
        type = smallest_type(mix, of, base, tensor, at);
    } else {
        switch (tensor.role) {
            case weight_role::v_proj:
            case weight_role::kv_b_proj: type = value_type(mix, of, base, at.value_tensors); break;
            case weight_role::q_proj:
            case weight_role::k_proj: type = query_key_type(mix, of, base, tensor.role); break;
            case weight_role::o_proj: type = attention_output_type(mix, of, base); break;
            case weight_role::gate_proj:
            case weight_role::up_proj: type = gate_up_type(mix, of, base, i); break;
            case weight_role::down_proj: type = down_type(mix, of, base, of.experts > 1 ? i : at.down_tensors); break;
            default: break;
        }
    }
    return fitting(type, tensor.columns);
}

/// Whether a weight is a vector, or a matrix that llama.cpp never quantises.
constexpr bool stays_wide(const weight& w) {
    if (w.role == weight_role::indexer && !w.quantised) return true;  // indexer.proj (conversion/base.py: in F32)
    return w.rows == 1 || w.columns == 1 ||
           is_any(w.role, weight_role::norm, weight_role::bias, weight_role::router, weight_role::conv,
                  weight_role::state, weight_role::positions, weight_role::values);
}

/// Which of the tensors of a sort, or of the layers, the rules tell from others: the first or the last ones, every
/// third of those between, or none.
struct told_apart {
    std::int32_t first = 0;
    std::int32_t last = INT32_MAX;
    bool thirds = false;

    constexpr told_apart() = default;
    constexpr explicit told_apart(std::int32_t first_ones) : first{first_ones} {}
    constexpr explicit told_apart(const more_bits& more) : first{more.first}, last{more.last}, thirds{true} {}
    constexpr unsigned of(std::int32_t i) const {
        return i < first || i >= last || (thirds && (i - first) % 3 == 2) ? 1U : 0U;
    }
};

/// What the rules ask about the position of a layer, one bit for each question that the quantisation asks. Layers of
/// one kind and class hold the same tensors.
struct class_rules {
    told_apart values{};
    told_apart downs{};
    told_apart other_downs{};
    bool downs_by_layer = false;  ///< not by the count of these tensors

    constexpr class_rules(gguf_quantisation quantisation, const traits& of) : downs_by_layer{of.experts > 1} {
        const std::int32_t eighth = of.layers / 8;
        switch (quantisation) {
            case q::Q3_K_M:
                values = told_apart{2};
                downs = told_apart{of.layers / 16};
                if (of.family.falcon_types) other_downs = told_apart{of.in_layers};
                return;
            case q::Q4_K_S:
                values = told_apart{4};
                downs = told_apart{eighth};
                return;
            case q::Q4_K_M:
            case q::Q5_K_M:
                values = told_apart{of.in_values};
                downs = told_apart{of.in_layers};
                if (of.family.falcon_types) other_downs = told_apart{of.layers / 16};
                return;
            case q::IQ3_M:
                downs = told_apart{eighth};
                if (of.experts == 8) other_downs = told_apart{of.in_layers};
                return;
            case q::IQ3_XS:  // gate and up
                downs_by_layer = true;
                downs = told_apart{eighth};
                other_downs = told_apart{7 * of.layers / 8};
                return;
            case q::Q2_K_S:
            case q::IQ3_XXS:
            case q::IQ4_NL:
            case q::IQ4_XS:
            case q::Q4_0:
            case q::Q5_0: downs = told_apart{eighth}; return;
            case q::IQ1_S:
            case q::IQ1_M:
            case q::IQ2_XXS:
            case q::IQ2_XS:
            case q::IQ2_S:
            case q::IQ2_M:  // a layer may hold two of them
                downs_by_layer = false;
                downs = told_apart{eighth};
                other_downs = told_apart{eighth - 1};
                return;
            default: return;
        }
    }

    constexpr unsigned class_of(std::int32_t i, const counters& at) const {
        const std::int32_t down = downs_by_layer ? i : at.down_tensors;
        return values.of(at.value_tensors) | downs.of(down) << 1U | other_downs.of(down) << 2U;
    }
};
constexpr std::size_t layer_classes = gguf_stored_types::most_patterns;  // of the rules, eight

}  // namespace detail::gguf

}  // namespace llmres::inline v0
