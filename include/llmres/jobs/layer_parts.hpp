// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <llmres/values/nearest.hpp>
#include <string_view>

/// Which parts of a layer can be recomputed or offloaded by name? Those of Megatron-Core (recompute-modules,
/// offload-modules).
namespace llmres::inline v0 {

/// A part of a layer, named as in Megatron-Core.
enum class layer_module : std::uint8_t {
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
inline constexpr std::array<std::string_view, 12> layer_module_names{
    "core_attn",      "layernorm", "mla_up_proj", "moe_act",   "mlp",      "moe",
    "shared_experts", "attn_norm", "qkv_linear",  "attn_proj", "mlp_norm", "expert_fc1"};
/// The name of a part: "core_attn".
constexpr std::string_view name_of(layer_module m) { return layer_module_names[static_cast<std::size_t>(m)]; }

/// A set of parts.
struct layer_module_set {
    std::uint16_t bits = 0;  ///< one bit for each part

    constexpr layer_module_set() = default;  ///< no part
    /// These parts.
    template <class... More>
    constexpr layer_module_set(layer_module first, More... more)
        : bits{static_cast<std::uint16_t>((bit(first) | ... | bit(more)))} {}
    /// Whether a part is in the set.
    constexpr bool has(layer_module m) const { return (bits & bit(m)) != 0; }
    /// Whether no part is in the set.
    constexpr bool empty() const { return bits == 0; }
    friend constexpr bool operator==(const layer_module_set&, const layer_module_set&) = default;

private:
    static constexpr unsigned bit(layer_module m) { return 1u << static_cast<unsigned>(m); }
};

/// Parts that recomputation can name.
inline constexpr layer_module_set recomputed_modules{
    layer_module::core_attn, layer_module::layernorm, layer_module::mla_up_proj,   layer_module::moe_act,
    layer_module::mlp,       layer_module::moe,       layer_module::shared_experts};
/// Parts whose inputs can be offloaded.
inline constexpr layer_module_set offloaded_modules{
    layer_module::attn_norm, layer_module::qkv_linear, layer_module::core_attn, layer_module::attn_proj,
    layer_module::mlp_norm,  layer_module::expert_fc1, layer_module::moe_act};

/// The parts of `among` with these names, separated by commas. Another name is an `unknown` error on `field`, which
/// lists the nearest.
constexpr result<layer_module_set> find_modules(std::string_view names, layer_module_set among,
                                                std::string_view field) {
    layer_module_set found;
    while (!names.empty()) {
        const std::size_t comma = names.find(',');
        const std::string_view name = names.substr(0, comma);
        names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
        bool known = false;
        for (std::size_t i = 0; i < layer_module_names.size() && !known; ++i) {
            const auto m = static_cast<layer_module>(i);
            known = layer_module_names[i] == name && among.has(m);
            if (known) found.bits = static_cast<std::uint16_t>(found.bits | layer_module_set{m}.bits);
        }
        if (!known)
            return refused(error_code::unknown, field, name, such_as("modules", nearest(name, layer_module_names)));
    }
    return found;
}

}  // namespace llmres::inline v0
