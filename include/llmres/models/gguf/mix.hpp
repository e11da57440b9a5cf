// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// llama.cpp's quantisations (Q4_K_M and the like) are mixes: each tensor of a GGUF file gets a type by what it is, in
/// which layer it stands and what the model is like. By which rules, says models/gguf/rules.hpp; what they make of a
/// model, models/gguf/tensors.hpp.
namespace llmres::inline v0 {

/// A quantisation, and what else decides the type of a tensor.
struct gguf_mix {
    gguf_quantisation quantisation = gguf_quantisation::Q4_K_M;
    /// Quantised with an importance matrix (`--imatrix`): the first eighth of ffn_down then is q4_1 in Q4_0, for one.
    bool importance_matrix = false;
    maybe<gguf_type> embedding{};   ///< --token-embedding-type
    maybe<gguf_type> output{};      ///< --output-tensor-type; of a tied embedding as well
    bool tied_head_stored = false;  ///< the file repeats a tied embedding as its output
    // What converter and quantiser did at other times.
    bool before_2024 = false;        ///< until January 2024: Q2_K held ffn_gate and ffn_up in Q3_K
    bool router_in_16_bits = false;  ///< until mid 2024: routers kept the 16 bits of the source
    bool latent_expansion_whole =
        false;                     ///< until April 2025: latent attention had attn_kv_b, not attn_k_b and attn_v_b
    bool fused_as_values = false;  ///< since early 2026: attn_qkv and attn_kv_b get what attn_v gets
};

/// The mix of that name in either case: Q4_K_M, IQ3_XXS, MXFP4_MOE, and the `_L` and `_XL` that keep embedding and
/// output in q8_0 (Q2_K_L, Q3_K_XL, Q4_K_L, Q5_K_L, Q6_K_L).
constexpr result<gguf_mix> find_gguf_mix(std::string_view field, std::string_view name);

/// One tensor of the file.
struct gguf_tensor {
    weight_role role = weight_role::norm;
    bool fused_qkv = false;  ///< queries, keys and values in one tensor: `role` is v_proj
    bool stacked = false;    ///< of more than two dimensions: routed experts, latent attention's split expansion
    std::int64_t rows = 1;   ///< of all that is stacked
    std::int64_t columns = 1;
    gguf_type type = gguf_type::F32;

    /// With the padding to the file's alignment of 32, and without.
    constexpr byte_count size() const;
    constexpr byte_count unpadded() const;
};

// ---- detail ---------------------------------------------------------------------------------------------------------

constexpr byte_count gguf_tensor::unpadded() const {
    return size_of(detail::gguf::types[detail::gguf::index_of(type)].format, rows, columns);
}
constexpr byte_count gguf_tensor::size() const { return aligned_up(unpadded(), bytes(32)); }

constexpr result<gguf_mix> find_gguf_mix(std::string_view field, std::string_view name) {
    text<31> upper{name};
    for (char& c : upper.characters)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    std::string_view wanted = upper.view();
    gguf_mix mix;
    for (const auto& [large, small] : std::array<std::array<std::string_view, 2>, 5>{{{"Q2_K_L", "Q2_K"},
                                                                                      {"Q3_K_XL", "Q3_K_L"},
                                                                                      {"Q4_K_L", "Q4_K_M"},
                                                                                      {"Q5_K_L", "Q5_K_M"},
                                                                                      {"Q6_K_L", "Q6_K"}}})
        if (wanted == large) {
            wanted = small;
            mix.embedding = mix.output = gguf_type::Q8_0;
            break;
        }
    if (wanted == "FP16") wanted = "F16";
    if (wanted == "FP32") wanted = "F32";
    if (wanted == "MXFP4") wanted = "MXFP4_MOE";
    for (const auto& known : detail::gguf::quantisations)
        if (known.name == wanted) {
            mix.quantisation = known.quantisation;
            return mix;
        }
    return refused(error_code::unknown, field, name,
                   "a GGUF quantisation, such as Q4_K_M, Q8_0, IQ3_XXS, TQ2_0 or BF16");
}

}  // namespace llmres::inline v0
