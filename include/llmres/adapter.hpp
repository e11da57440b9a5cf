// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/modules.hpp>
#include <llmres/parameters.hpp>
#include <string_view>

/// Small trained weights beside a frozen model.
namespace llmres {

enum class adapter_kind : std::uint8_t {
    none,
    lora,    ///< W x + B A x, A of rank x in, B of out x rank (arXiv 2106.09685)
    rslora,  ///< the same, scaled by the square root of the rank (arXiv 2312.03732)
    dora,    ///< and a trained magnitude of each output (arXiv 2402.09353)
    ia3,     ///< a trained scale of keys, values and the feed-forward's inner features (arXiv 2205.05638)
    prompt,  ///< `rank` trained tokens before each sequence (arXiv 2104.08691)
    llama_adapter,     ///< ... before the keys of each layer but the first two, with a gate a head (arXiv 2303.16199)
    llama_adapter_v2,  ///< and a trained scale and shift of what each linear layer puts out, and the norms (arXiv 2304.15010)
};
inline constexpr std::array<std::string_view, 8> adapter_kind_names{"none", "lora",   "rslora",        "dora",
                                                                    "ia3",  "prompt", "llama_adapter", "llama_adapter_v2"};
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

inline constexpr role_set attention_linears{weight_role::q_proj,   weight_role::k_proj,    weight_role::v_proj,
                                            weight_role::o_proj,   weight_role::q_a_proj,  weight_role::q_b_proj,
                                            weight_role::kv_a_proj, weight_role::kv_b_proj};
/// Every linear layer inside the layers (PEFT's "all-linear"): not the head, not routers.
inline constexpr role_set all_linears{weight_role::q_proj,   weight_role::k_proj,    weight_role::v_proj,
                                      weight_role::o_proj,   weight_role::q_a_proj,  weight_role::q_b_proj,
                                      weight_role::kv_a_proj, weight_role::kv_b_proj, weight_role::gate_proj,
                                      weight_role::up_proj,  weight_role::down_proj, weight_role::in_proj,
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
    constexpr bool prompts_layers() const { return kind == adapter_kind::llama_adapter || kind == adapter_kind::llama_adapter_v2; }
    /// Whether this role's linear layers have an A and a B.
    constexpr bool adapts(weight_role role) const { return low_rank() && targets.contains(role); }
    /// Whether something trained stands beside this role's linear layers.
    constexpr bool touches(weight_role role) const {
        const bool scaled = role == weight_role::k_proj || role == weight_role::v_proj || role == weight_role::down_proj;
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
        if (!known) return refused(error_code::unknown, field, name, "all-linear, attention, or modules: q_proj, v_proj, ...");
    }
    return found;
}

/// The first layers that LLaMA-Adapter leaves as they are (lit-gpt's adapter_start_layer).
inline constexpr std::int32_t unprompted_layers = 2;

namespace detail {

/// Whether this role's weight is one layer with the one before it: its adapter has no A of its own.
constexpr bool shares_input_matrix(weight_role role, const module_code& code) {
    return (code.joined_heads && (role == weight_role::k_proj || role == weight_role::v_proj)) ||
           (code.joined_gate && role == weight_role::up_proj);
}

}  // namespace detail

/// Calls visit(weight) for the trained tensors that the adapter puts beside one weight of a layer. A's input and B's
/// output are cut as the weight's own; the rank is not.
template <class Visit>
constexpr void for_each_adapter_weight(const adapter& a, const module_code& code, const weight& w, Visit&& visit) {
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
    if (a.adapts(w.role)) {
        if (!detail::shares_input_matrix(w.role, code)) {
            weight down = w;
            down.rows = a.rank;
            down.quantised = false;
            if (w.split == weight_split::rows) down.split = weight_split::replicated;
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
            for_each_adapter_weight(a, module_code_of(m), w, [&](const weight& added) {
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

/// An adapter of no rank, or one that touches nothing of this model.
constexpr status validate(const adapter& a, const model& m) {
    if (!a.trains()) return done{};
    if (a.kind != adapter_kind::ia3)
        if (const status s = in_range("adapter.rank", a.rank, 1, 65536); !s) return s;
    if (!(a.dropout >= 0 && a.dropout < 1)) return refused(error_code::out_of_range, "adapter.dropout", "not in [0, 1)", "a part of 1");
    if (count_parameters(a, m) == parameter_count{})
        return refused(error_code::inconsistent, "adapter.targets", "no tensor", "linear layers that the model has");
    return done{};
}

}  // namespace llmres
