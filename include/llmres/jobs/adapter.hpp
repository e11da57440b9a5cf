// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// What is an adapter? Small trained weights beside a frozen model.
namespace llmres::inline v0 {

/// Which weights are trained beside a frozen model.
enum class adapter_kind : std::uint8_t {
    none,    ///< no adapter: the model itself is trained
    lora,    ///< W x + B A x, A of rank x in, B of out x rank (arXiv 2106.09685)
    rslora,  ///< LoRA, scaled by the square root of the rank (arXiv 2312.03732)
    dora,    ///< LoRA with a trained magnitude of each output (arXiv 2402.09353)
    ia3,     ///< a trained scale of keys, values and the feed-forward's inner features (arXiv 2205.05638)
    prompt,  ///< `rank` trained tokens before each sequence (arXiv 2104.08691)
    /// `rank` trained tokens before the keys of each layer but the first two, with a gate for each head (arXiv
    /// 2303.16199).
    llama_adapter,
    /// LLaMA-Adapter with a trained scale and shift of the output of each linear layer, and trained norms (arXiv
    /// 2304.15010).
    llama_adapter_v2,
};
/// The names of the kinds, in their order.
template <>
inline constexpr std::array<std::string_view, 8> names_of<adapter_kind>{
    "none", "lora", "rslora", "dora", "ia3", "prompt", "llama_adapter", "llama_adapter_v2"};

/// A set of weight roles.
struct role_set {
    std::uint64_t bits = 0;  ///< one bit for each role

    constexpr role_set() = default;  ///< no role
    /// These roles.
    constexpr role_set(std::initializer_list<weight_role> roles) {
        for (const weight_role r : roles) insert(r);
    }
    /// Adds a role.
    constexpr void insert(weight_role r) { bits |= std::uint64_t{1} << static_cast<unsigned>(r); }
    /// Adds the roles of another set.
    constexpr void insert(const role_set& others) { bits |= others.bits; }
    /// Whether a role is in the set.
    constexpr bool contains(weight_role r) const { return (bits >> static_cast<unsigned>(r) & 1) != 0; }
    /// Whether no role is in the set.
    constexpr bool empty() const { return bits == 0; }
    friend constexpr bool operator==(const role_set&, const role_set&) = default;
};

/// The linear layers of attention.
inline constexpr role_set attention_linears{weight_role::q_proj,    weight_role::k_proj,   weight_role::v_proj,
                                            weight_role::o_proj,    weight_role::q_a_proj, weight_role::q_b_proj,
                                            weight_role::kv_a_proj, weight_role::kv_b_proj};
/// Every linear layer inside the layers (PEFT's "all-linear"): not the head, not routers.
inline constexpr role_set all_linears{weight_role::q_proj,    weight_role::k_proj,    weight_role::v_proj,
                                      weight_role::o_proj,    weight_role::q_a_proj,  weight_role::q_b_proj,
                                      weight_role::kv_a_proj, weight_role::kv_b_proj, weight_role::gate_proj,
                                      weight_role::up_proj,   weight_role::down_proj, weight_role::in_proj,
                                      weight_role::out_proj};

/// An adapter, and the linear layers that get one.
struct adapter {
    adapter_kind kind = adapter_kind::none;  ///< which weights are trained
    std::int64_t rank = 0;                   ///< rank of the factors; of prompts: trained tokens
    role_set targets = all_linears;          ///< linear layers that get an adapter
    /// Whether the targets' layers of routed experts get one; default: where each is a module of its own (peft's
    /// target_parameters adapts those that transformers 5 stacks in bare parameters, and all-linear does not).
    maybe<bool> experts{};
    double dropout = 0;  ///< dropout of the adapter's input; above zero it costs a mask and a copy
    /// Queries, keys and values are one layer in the model's code, whose name is among the targets: one A, one B.
    bool joined_heads = false;

    /// Whether it consists of factors A and B.
    constexpr bool low_rank() const {
        return kind == adapter_kind::lora || kind == adapter_kind::rslora || kind == adapter_kind::dora;
    }
    /// Whether there is one.
    constexpr bool trains() const { return kind != adapter_kind::none; }
    /// Whether trained tokens stand before the keys of layers.
    constexpr bool prompts_layers() const {
        return kind == adapter_kind::llama_adapter || kind == adapter_kind::llama_adapter_v2;
    }
    /// Whether this role's linear layers have an A and a B; `routed`: those of routed experts.
    constexpr bool adapts(weight_role role, bool routed = false) const {
        return low_rank() && targets.contains(role) && (!routed || experts.value_or(true));
    }
    /// Whether this role's linear layers have trained weights beside them; `routed`: those of routed experts.
    constexpr bool touches(weight_role role, bool routed = false) const {
        const bool scaled =
            role == weight_role::k_proj || role == weight_role::v_proj || role == weight_role::down_proj;
        return adapts(role, routed) || (kind == adapter_kind::ia3 && scaled && (!routed || experts.value_or(true)));
    }
    friend constexpr bool operator==(const adapter&, const adapter&) = default;
};

/// The projections that make queries, keys and values.
inline constexpr role_set joined_head_roles{weight_role::q_proj, weight_role::k_proj, weight_role::v_proj};

/// What models' code calls one layer that makes queries, keys and values (ms-swift's swift/llm/utils/model.py, LoRATM;
/// phi3's is qkv_proj). The first is what answers call it.
inline constexpr std::array<std::string_view, 6> joined_heads_names{
    "qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "wqkv"};

/// Whether a module's name is that of one layer for queries, keys and values.
constexpr bool is_joined_heads(std::string_view name) {
    for (const std::string_view joined : joined_heads_names)
        if (name == joined) return true;
    return false;
}

/// Whether one of the names of modules, separated by commas or spaces, is of one layer for queries, keys and values.
constexpr bool name_joined_heads(std::string_view names) {
    while (!names.empty())
        if (is_joined_heads(detail::taken_before(names, ", "))) return true;
    return false;
}

/// Roles by the names of their modules: "all-linear", "attention", or names separated by commas or spaces. Another name
/// is an `unknown` error on `field`.
constexpr result<role_set> find_roles(std::string_view names, std::string_view field = "adapter.targets") {
    if (names == "all-linear" || names == "all_linear") return all_linears;
    if (names == "attention") return attention_linears;
    role_set found;
    while (!names.empty()) {
        const std::string_view name = detail::taken_before(names, ", ");
        if (name.empty()) continue;
        bool known = is_joined_heads(name);
        if (known) found.insert(joined_head_roles);
        for (std::size_t i = 0; i < names_of<weight_role>.size(); ++i)
            if (name_of(static_cast<weight_role>(i)) == name) found.insert(static_cast<weight_role>(i)), known = true;
        if (!known)
            return refused(error_code::unknown, field, name, "all-linear, attention, or modules: q_proj, v_proj, ...");
    }
    return found;
}

}  // namespace llmres::inline v0
