// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <string_view>

/// Small trained weights beside a frozen model.
namespace llmres::inline v0 {

enum class adapter_kind : std::uint8_t {
    none,
    lora,              ///< W x + B A x, A of rank x in, B of out x rank (arXiv 2106.09685)
    rslora,            ///< the same, scaled by the square root of the rank (arXiv 2312.03732)
    dora,              ///< and a trained magnitude of each output (arXiv 2402.09353)
    ia3,               ///< a trained scale of keys, values and the feed-forward's inner features (arXiv 2205.05638)
    prompt,            ///< `rank` trained tokens before each sequence (arXiv 2104.08691)
    llama_adapter,     ///< ... before the keys of each layer but the first two, with a gate a head (arXiv 2303.16199)
    llama_adapter_v2,  ///< and a trained scale and shift of what each linear layer puts out, and the norms (arXiv
                       ///< 2304.15010)
};
inline constexpr std::array<std::string_view, 8> adapter_kind_names{
    "none", "lora", "rslora", "dora", "ia3", "prompt", "llama_adapter", "llama_adapter_v2"};
constexpr std::string_view name_of(adapter_kind k) { return adapter_kind_names[static_cast<std::size_t>(k)]; }

/// A set of weight roles: which linear layers get an adapter.
struct role_set {
    std::uint64_t bits = 0;

    constexpr role_set() = default;
    constexpr role_set(std::initializer_list<weight_role> roles) {
        for (const weight_role r : roles) insert(r);
    }
    constexpr void insert(weight_role r) { bits |= std::uint64_t{1} << static_cast<unsigned>(r); }
    constexpr bool contains(weight_role r) const { return (bits >> static_cast<unsigned>(r) & 1) != 0; }
    constexpr bool empty() const { return bits == 0; }
    friend constexpr bool operator==(const role_set&, const role_set&) = default;
};

inline constexpr role_set attention_linears{weight_role::q_proj,    weight_role::k_proj,   weight_role::v_proj,
                                            weight_role::o_proj,    weight_role::q_a_proj, weight_role::q_b_proj,
                                            weight_role::kv_a_proj, weight_role::kv_b_proj};
/// Every linear layer inside the layers (PEFT's "all-linear"): not the head, not routers.
inline constexpr role_set all_linears{weight_role::q_proj,    weight_role::k_proj,    weight_role::v_proj,
                                      weight_role::o_proj,    weight_role::q_a_proj,  weight_role::q_b_proj,
                                      weight_role::kv_a_proj, weight_role::kv_b_proj, weight_role::gate_proj,
                                      weight_role::up_proj,   weight_role::down_proj, weight_role::in_proj,
                                      weight_role::out_proj};

struct adapter {
    adapter_kind kind = adapter_kind::none;
    std::int64_t rank = 0;
    role_set targets = all_linears;
    double dropout = 0;  ///< of the adapter's input; above zero it costs a mask and a copy

    constexpr bool low_rank() const {
        return kind == adapter_kind::lora || kind == adapter_kind::rslora || kind == adapter_kind::dora;
    }
    constexpr bool trains() const { return kind != adapter_kind::none; }
    constexpr bool prompts_layers() const {
        return kind == adapter_kind::llama_adapter || kind == adapter_kind::llama_adapter_v2;
    }
    /// Whether this role's linear layers have an A and a B.
    constexpr bool adapts(weight_role role) const { return low_rank() && targets.contains(role); }
    /// Whether something trained stands beside this role's linear layers.
    constexpr bool touches(weight_role role) const {
        const bool scaled =
            role == weight_role::k_proj || role == weight_role::v_proj || role == weight_role::down_proj;
        return adapts(role) || (kind == adapter_kind::ia3 && scaled);
    }
    friend constexpr bool operator==(const adapter&, const adapter&) = default;
};

/// Roles by the names of their modules: "all-linear", "attention", or names separated by commas or spaces.
constexpr result<role_set> find_roles(std::string_view names, std::string_view field = "adapter.targets") {
    if (names == "all-linear" || names == "all_linear") return all_linears;
    if (names == "attention") return attention_linears;
    role_set found;
    while (!names.empty()) {
        const std::size_t end = names.find_first_of(", ");
        const std::string_view name = names.substr(0, end);
        names = end == std::string_view::npos ? std::string_view{} : names.substr(end + 1);
        if (name.empty()) continue;
        bool known = false;
        for (std::size_t i = 0; i < weight_role_names.size(); ++i)
            if (weight_role_names[i] == name) found.insert(static_cast<weight_role>(i)), known = true;
        if (!known)
            return refused(error_code::unknown, field, name, "all-linear, attention, or modules: q_proj, v_proj, ...");
    }
    return found;
}

}  // namespace llmres::inline v0
