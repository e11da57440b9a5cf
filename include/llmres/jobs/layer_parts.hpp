// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which parts of a layer can be recomputed or offloaded by name? Those of Megatron-Core (recompute-modules,
/// offload-modules).
namespace llmres::inline v0 {

/// A part of a layer, named as in Megatron-Core.
enum class layer_part : std::uint8_t {
    core_attn,       ///< attention scores, their softmax, and the product with the values
    layernorm,       ///< recomputed: the outputs of both norms
    mla_up_proj,     ///< latent attention: queries, keys and values, expanded from the compressed ones
    moe_act,         ///< the activation inside routed experts
    mlp,             ///< a dense feed-forward
    moe,             ///< routed experts, with the exchange of their tokens
    shared_experts,  ///< shared experts
    attn_norm,       ///< offloaded: the input of the norm before attention
    qkv_linear,      ///< offloaded: the input of the query, key and value projections
    attn_proj,       ///< offloaded: the input of attention's output projection
    mlp_norm,        ///< offloaded: the input of the norm before the feed-forward
    expert_fc1,      ///< offloaded: the tokens that routed experts read
};
/// The names of the parts, in their order.
template <>
inline constexpr std::array<std::string_view, 12> names_of<layer_part>{
    "core_attn",      "layernorm", "mla_up_proj", "moe_act",   "mlp",      "moe",
    "shared_experts", "attn_norm", "qkv_linear",  "attn_proj", "mlp_norm", "expert_fc1"};

/// A set of parts.
struct layer_part_set {
    std::uint16_t bits = 0;  ///< one bit for each part

    constexpr layer_part_set() = default;  ///< no part
    /// These parts.
    template <class... More>
    explicit(false) constexpr layer_part_set(layer_part first, More... more)
        : bits{static_cast<std::uint16_t>((bit(first) | ... | bit(more)))} {}
    /// Whether a part is in the set.
    constexpr bool has(layer_part m) const { return (bits & bit(m)) != 0; }
    /// Whether a part is in both sets.
    constexpr bool meets(const layer_part_set& other) const { return (bits & other.bits) != 0; }
    /// Whether no part is in the set.
    constexpr bool empty() const { return bits == 0; }
    friend constexpr bool operator==(const layer_part_set&, const layer_part_set&) = default;

private:
    static constexpr unsigned bit(layer_part m) { return 1u << static_cast<unsigned>(m); }
};

/// Parts that recomputation can name.
inline constexpr layer_part_set recomputed_parts{
    layer_part::core_attn, layer_part::layernorm, layer_part::mla_up_proj,   layer_part::moe_act,
    layer_part::mlp,       layer_part::moe,       layer_part::shared_experts};
/// Parts whose inputs can be offloaded.
inline constexpr layer_part_set offloaded_parts{layer_part::attn_norm, layer_part::qkv_linear, layer_part::core_attn,
                                                layer_part::attn_proj, layer_part::mlp_norm,   layer_part::expert_fc1,
                                                layer_part::moe_act};

}  // namespace llmres::inline v0
