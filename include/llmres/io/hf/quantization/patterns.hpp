// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/models/model.hpp>
#include <string>
#include <string_view>

/// Which weights the name of a module means, as the lists of a `quantization_config` write them.
namespace llmres::inline v0::detail::quantization {

/// The parts of a model whose weights the name of a module may mean, a bit each.
enum place : unsigned {  // NOLINT(performance-enum-size): sets of them are unsigned
    nowhere = 0,
    attention_place = 1,
    recurrence = 2,
    dense = 4,
    shared = 8,
    routed = 16,
    experts_block = dense | shared | routed,
    everything = 31,
    head_place = 32
};
inline constexpr std::size_t layer_places = 5;

/// The weights that an entry of an ignore list or a list of targets means. The entry is a path, a glob (`*.mlp*`) or a
/// regular expression (`re:.*`).
struct module_pattern {
    unsigned places = nowhere;
    std::uint64_t roles = 0;    ///< a bit for each weight_role: only these projections of the places; 0: all
    std::int64_t layer = -1;    ///< the layer, where the entry names one
    bool layer_begins = false;  ///< every layer whose number begins with `layer` is meant (`layers.1*`)
    bool prediction = false;    ///< the layers of multi-token prediction are meant
    std::int64_t expert = -1;   ///< the expert, where the entry names one
    bool understood = true;     ///< false for an entry whose meaning is not clear
};

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
template <class... Parts>
bool contains_any(std::string_view text, Parts... parts) {
    return (contains(text, parts) || ...);
}
constexpr std::uint64_t bit(weight_role role) { return std::uint64_t{1} << static_cast<unsigned>(role); }
template <class... Roles>
constexpr std::uint64_t bits(Roles... roles) {
    return (bit(roles) | ...);
}

/// The names of modules with the projections in them. Of two names of which one contains the other, the longer stands
/// first.
struct module_roles {
    std::string_view name;
    std::uint64_t roles;
};
inline constexpr auto mixer_modules = [] {
    using enum weight_role;
    return std::array{module_roles{"fused_qkv_a_proj", bits(q_a_proj, kv_a_proj)},
                      module_roles{"kv_a_proj", bits(kv_a_proj)},
                      module_roles{"kv_b_proj", bits(kv_b_proj)},
                      module_roles{"in_proj", bits(in_proj)},
                      module_roles{"q_a_proj", bits(q_a_proj)},
                      module_roles{"q_b_proj", bits(q_b_proj)},
                      module_roles{"index", bits(indexer)},
                      module_roles{"qkv", bits(q_proj, k_proj, v_proj)},
                      module_roles{"query_key_value", bits(q_proj, k_proj, v_proj)},
                      module_roles{"W_pack", bits(q_proj, k_proj, v_proj)},
                      module_roles{"c_attn", bits(q_proj, k_proj, v_proj)},
                      module_roles{"q_proj", bits(q_proj)},
                      module_roles{"k_proj", bits(k_proj)},
                      module_roles{"v_proj", bits(v_proj)},
                      module_roles{"g_proj", bits(attn_gate)},
                      module_roles{"o_proj", bits(o_proj)},
                      module_roles{"c_proj", bits(o_proj)},
                      module_roles{"out_proj", bits(o_proj, out_proj)},
                      module_roles{"x_proj", bits(in_proj)},
                      module_roles{"dt_proj", bits(in_proj)}};
}();
inline constexpr auto feed_forward_modules = [] {
    using enum weight_role;
    return std::array{module_roles{"gate_up_proj", bits(gate_proj, up_proj)},
                      module_roles{"gate_proj", bits(gate_proj)},
                      module_roles{"up_proj", bits(up_proj)},
                      module_roles{"down_proj", bits(down_proj)},
                      module_roles{"w1", bits(gate_proj)},
                      module_roles{"w3", bits(up_proj)},
                      module_roles{"w2", bits(down_proj)},
                      module_roles{"c_fc", bits(up_proj)},
                      module_roles{"c_proj", bits(down_proj)},
                      module_roles{"fc1", bits(up_proj)},
                      module_roles{"fc2", bits(down_proj)},
                      module_roles{"dense_h_to_4h", bits(up_proj)},
                      module_roles{"dense_4h_to_h", bits(down_proj)}};
}();

/// The projections that the first known module in the name has; 0: no module is named.
template <class Modules>
std::uint64_t roles_in(std::string_view name, const Modules& modules) {
    for (const module_roles& m : modules)
        if (contains(name, m.name)) return m.roles;
    return 0;
}

/// Reads the layer's number after "layers." or a similar word; false where a regular expression stands there that is
/// not evaluated.
inline bool read_layer(std::string_view name, module_pattern& found, std::string_view& behind) {
    behind = name;
    for (const std::string_view stack : {"layers.", "layers\\.", "blocks.", ".h.", "layer."}) {
        const std::size_t at = name.find(stack);
        if (at == std::string_view::npos) continue;
        behind = name.substr(at + stack.size());
        const std::int32_t number = detail::taken_number(behind);
        if (number >= 0) {
            found.layer = number;
            found.layer_begins = behind.starts_with("*");
        }
        return number >= 0 || !(behind.starts_with("[") || behind.starts_with("("));
    }
    return true;
}

/// Whether what follows the name of a part means the whole part: nothing, or a wildcard.
inline bool ends_whole(std::string_view tail) {
    if (tail.starts_with("s")) tail.remove_prefix(1);
    return tail.empty() || tail.starts_with("*") || tail.starts_with(".*") || tail == "." || tail == "$" ||
           tail.starts_with("\\..*");
}

/// Whether the name is of something that is never quantised, whatever a list says: no matrix of a layer, or what routes
/// tokens to experts (`mlp.gate`, not `gate_proj`).
inline bool is_never_quantised(std::string_view name) {
    const std::size_t gate = name.find(".gate");
    const bool routes = name == "gate" || name.ends_with(".*gate$") ||
                        (gate != std::string_view::npos && !name.substr(gate).starts_with(".gate_"));
    return routes || contains_any(name, "visual", "vision", "projector", "multi_modal", "patch", "audio", "eh_proj",
                                  "enorm", "hnorm", "shared_head", "embed", "norm", "rotary", "conv1d", "in_proj_a",
                                  "in_proj_b", "indexers_proj", "weights_proj", "router", "shared_expert_gate",
                                  "e_score", "wte", "wpe", "mtp.fc");
}

struct named_place {
    std::string_view name;
    unsigned places;
};
/// Parts of a layer by their modules' names. A mixer may be whatever its layer is (Nemotron-H), an mlp may hold
/// experts.
inline constexpr std::array named_places{named_place{"shared_expert", shared},
                                         named_place{"experts", routed},
                                         named_place{"linear_attn", recurrence},
                                         named_place{"self_attn", attention_place},
                                         named_place{"mamba", recurrence},
                                         named_place{"attention", attention_place},
                                         named_place{"attn", attention_place},
                                         named_place{"mixer", everything},
                                         named_place{"block_sparse_moe", experts_block},
                                         named_place{"feed_forward", experts_block},
                                         named_place{"ffn", experts_block},
                                         named_place{"mlp", experts_block}};

/// Reads what follows the name of a part: the number of an expert, and the projection.
inline void read_part(unsigned places, std::string_view tail, module_pattern& found) {
    found.places = places;
    if (places == routed && tail.starts_with(".")) {
        std::string_view number = tail.substr(1);
        found.expert = detail::taken_number(number);
        if (found.expert >= 0) tail = number;
    }
    found.roles = (places & (attention_place | recurrence)) != 0 ? roles_in(tail, mixer_modules) : 0;
    if ((places & experts_block) != 0 && found.roles == 0) {
        found.roles = roles_in(tail, feed_forward_modules);
        // A projection directly in an mlp is the dense one's: experts have names of their own between.
        if (found.roles != 0 && places == experts_block) found.places = dense;
    }
    if (found.roles == 0 && !ends_whole(tail)) found.understood = false;
}

/// Reads what follows a layer's number where no part is named: a projection's name alone means it in every part.
inline void read_without_part(std::string_view behind, module_pattern& found) {
    if (const std::uint64_t roles = roles_in(behind, feed_forward_modules); roles != 0) {
        found.places = experts_block;
        found.roles = roles;
    } else if (const std::uint64_t mixing = roles_in(behind, mixer_modules); mixing != 0) {
        found.places = attention_place | recurrence;
        found.roles = mixing;
    } else if ((found.layer >= 0 || found.prediction) &&
               (ends_whole(behind) || (found.prediction && found.layer < 0))) {
        found.places = everything;
    } else {
        found.understood = false;
    }
}

inline module_pattern read_pattern(std::string_view name) {
    module_pattern found;
    if (is_never_quantised(name)) return found;
    if (contains_any(name, "lm_head", "output_layer", "embed_out") || name == "head") {
        found.places = head_place;
        return found;
    }
    found.prediction = contains(name, "mtp");
    std::string_view behind;
    found.understood = read_layer(name, found, behind);
    for (const auto& [word, places] : named_places) {
        const std::size_t at = name.find(word);
        if (at == std::string_view::npos) continue;
        read_part(places, name.substr(at + word.size()), found);
        return found;
    }
    read_without_part(behind, found);
    return found;
}

/// Calls visit(pattern) for the name, or for each alternative of the one group that it may have: `(q|k)_proj`.
template <class Visit>
void for_each_pattern(std::string_view name, Visit visit) {
    constexpr std::size_t longest = 256;
    const std::size_t open = name.find('(');
    const std::size_t close = name.find(')', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos) return visit(read_pattern(name));
    if (close == std::string_view::npos || name.size() > longest || name.find('(', open + 1) != std::string_view::npos)
        return visit(module_pattern{.understood = false});
    std::string_view choices = name.substr(open + 1, close - open - 1);
    if (choices.starts_with("?:")) choices.remove_prefix(2);
    while (true) {
        const std::size_t end = choices.find('|');
        const std::string whole =
            std::string{name.substr(0, open)}.append(choices.substr(0, end)).append(name.substr(close + 1));
        visit(read_pattern(whole));
        if (end == std::string_view::npos) return;
        choices.remove_prefix(end + 1);
    }
}

}  // namespace llmres::inline v0::detail::quantization
