// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What is asked of llama.cpp's quantiser? Q4_K_M and the like are mixes: the type of each tensor of a GGUF file
/// depends on its role, its layer and the model. models/gguf/rules.hpp has the rules, models/gguf/tensors.hpp the
/// tensors that follow for a model.
namespace llmres::inline v0 {

/// The types in which a file stores the matrices of its layers, embedding and output: with them a plan is of that very
/// file, whatever its quantiser's name for the mix. Layers whose matrices have the same types share a pattern.
struct gguf_stored_types {
    static constexpr std::size_t most_patterns = 16;  ///< different layers at most
    /// Types of one layer's matrices, as the type's number plus one; 0: the file has no such matrix. The second half is
    /// for matrices that are stacked (routed experts).
    using pattern = std::array<std::uint8_t, 2 * names_of<weight_role>.size()>;

    std::array<pattern, most_patterns> patterns{};                 ///< the first `count` are in use
    std::array<std::uint8_t, layer_stack::max_layers> of_layer{};  ///< the pattern of each layer
    std::uint8_t count = 0;                                        ///< patterns in use; 0: nothing is known
    maybe<gguf_type> embedding{};                                  ///< the type of token_embd
    maybe<gguf_type> output{};                                     ///< the type of output

    /// Where a pattern holds the type of a matrix.
    static constexpr std::size_t place(weight_role role, bool stacked) {
        return static_cast<std::size_t>(role) + (stacked ? names_of<weight_role>.size() : 0);
    }
    /// The stored type of a matrix of layer `i`, where it is known.
    constexpr maybe<gguf_type> type_of(std::int32_t i, weight_role role, bool stacked) const {
        if (count == 0) return {};
        const pattern& own = patterns[of_layer[static_cast<std::size_t>(i)]];
        const std::uint8_t stored = own[place(role, stacked)];
        return stored == 0 ? maybe<gguf_type>{} : static_cast<gguf_type>(stored - 1);
    }
};

/// A quantisation, and the options and versions that change the type of a tensor.
struct gguf_mix {
    gguf_quantisation quantisation = gguf_quantisation::Q4_K_M;  ///< what the quantiser was asked for
    /// Quantised with an importance matrix (`--imatrix`). In Q4_0, for example, the first eighth of ffn_down is then
    /// q4_1.
    bool importance_matrix = false;
    maybe<gguf_type> embedding{};   ///< --token-embedding-type
    maybe<gguf_type> output{};      ///< --output-tensor-type; also of a tied embedding
    bool tied_head_stored = false;  ///< the file repeats a tied embedding as its output
    /// MXFP4_MOE: what stands beside the experts is in bf16, as gpt-oss is published, not in q8_0. (Ollama's library.)
    bool published_rest = false;
    // Earlier and later versions of converter and quantiser.
    bool before_2024 = false;        ///< until January 2024: Q2_K stored ffn_gate and ffn_up in Q3_K
    bool router_in_16_bits = false;  ///< until mid 2024: routers kept the source's 16 bits
    /// Until April 2025: latent attention had attn_kv_b, not attn_k_b and attn_v_b.
    bool latent_expansion_whole = false;
    bool fused_as_values = false;  ///< since early 2026: attn_qkv and attn_kv_b get the type of attn_v
    gguf_stored_types stored{};    ///< of a file that was read; takes the place of the rules
};

/// The mix of that name in upper or lower case: Q4_K_M, IQ3_XXS, MXFP4_MOE, the `_L` and `_XL` that keep embedding and
/// output in q8_0 (Q2_K_L, Q3_K_XL, Q4_K_L, Q5_K_L, Q6_K_L), and MXFP4_MOE_BF16, Ollama's of gpt-oss. Another name is
/// an `unknown` error on `field`.
constexpr result<gguf_mix> find_gguf_mix(std::string_view field, std::string_view name);

/// One tensor of a GGUF file.
struct gguf_tensor {
    weight_role role = weight_role::norm;  ///< what it is for
    bool fused_qkv = false;                ///< queries, keys and values in one tensor, whose `role` is v_proj
    /// Of more than two dimensions: routed experts, the split expansion of latent attention.
    bool stacked = false;
    std::int64_t rows = 1;            ///< rows of all matrices that it stacks
    std::int64_t columns = 1;         ///< elements of a row
    gguf_type type = gguf_type::F32;  ///< the type it is stored in

    constexpr byte_count size() const;      ///< bytes with the padding to the file's alignment of 32
    constexpr byte_count unpadded() const;  ///< bytes without padding
};

// ---- detail ---------------------------------------------------------------------------------------------------------

constexpr byte_count gguf_tensor::unpadded() const {
    return size_of(detail::gguf::types[detail::gguf::index_of(type)].format, rows, columns);
}
constexpr byte_count gguf_tensor::size() const { return aligned_up(unpadded(), bytes(32)); }

namespace detail::gguf {

/// A mix that differs from one of the quantiser's own.
struct extended_mix {
    std::string_view name;        ///< "Q4_K_L"
    std::string_view base;        ///< the quantiser's own: "Q4_K_M"
    maybe<gguf_type> ends{};      ///< of embedding and output
    bool published_rest = false;  ///< as gguf_mix has it

    /// True if a mix has the options that this one adds to its base.
    constexpr bool is_of(const gguf_mix& mix) const {
        return mix.embedding == ends && mix.output == ends && mix.published_rest == published_rest;
    }
};
inline constexpr std::array extended_mixes{
    extended_mix{"Q2_K_L", "Q2_K", gguf_type::Q8_0},
    extended_mix{"Q3_K_XL", "Q3_K_L", gguf_type::Q8_0},
    extended_mix{"Q4_K_L", "Q4_K_M", gguf_type::Q8_0},
    extended_mix{"Q5_K_L", "Q5_K_M", gguf_type::Q8_0},
    extended_mix{"Q6_K_L", "Q6_K", gguf_type::Q8_0},
    extended_mix{.name = "MXFP4_MOE_BF16", .base = "MXFP4_MOE", .published_rest = true}};

}  // namespace detail::gguf

constexpr result<gguf_mix> find_gguf_mix(std::string_view field, std::string_view name) {
    text<31> upper{name};
    for (char& c : upper.characters)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    std::string_view wanted = upper.view();
    gguf_mix mix;
    for (const detail::gguf::extended_mix& e : detail::gguf::extended_mixes)
        if (wanted == e.name) {
            wanted = e.base;
            mix.embedding = mix.output = e.ends;
            mix.published_rest = e.published_rest;
            break;
        }
    // People write Q4KM and Q4-K-M for Q4_K_M.
    const auto letters = [](std::string_view of_name) {
        text<31> squeezed{};
        std::size_t length = 0;
        for (const char c : of_name)
            if (c != '_' && c != '-') squeezed.characters[length++] = c;
        return squeezed;
    };
    if (wanted == "FP16") wanted = "F16";
    if (wanted == "FP32") wanted = "F32";
    for (const auto& known : detail::gguf::quantisations)
        if (known.name == wanted || (wanted.starts_with("Q") && letters(known.name) == letters(wanted))) {
            mix.quantisation = known.quantisation;
            return mix;
        }
    return refused(error_code::unknown, field, name,
                   "a GGUF quantisation, such as Q4_K_M, Q8_0, IQ3_XXS, TQ2_0 or BF16");
}

}  // namespace llmres::inline v0
