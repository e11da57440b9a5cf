// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/io/config_fields.hpp>
#include <llmres/maybe.hpp>
#include <llmres/model.hpp>
#include <llmres/nearest.hpp>
#include <llmres/parameters.hpp>
#include <llmres/precision.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// The formats that a config.json's `quantization_config` gives a checkpoint's weights, and what it leaves as it was.
namespace llmres {

/// Puts the formats of a `quantization_config` object into the model: `weights`, what the checkpoint mixes with it
/// (`mixed`), and what it does not quantise, layer by layer (`layer::quantised`). `stored` is the format of what is not
/// quantised (its `torch_dtype`).
///
/// Understood: fp8 and fbgemm_fp8, gptq (with `dynamic`), awq, bitsandbytes (8 bit, nf4, fp4, double quantisation),
/// compressed-tensors (pack-quantized, int-quantized, float-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized), modelopt
/// (FP8, NVFP4, MXFP8 and mixtures of them), mxfp4, hqq, exl2, exl3, eetq, bitnet. Other methods are refused by name, and so
/// are lists of modules in words that are not known, projections left out in some layers only, and two formats for one sort
/// of weight (attention and recurrences, dense feed-forwards, routed experts). Vision and audio towers are taken as not
/// quantised. Not counted: modules of a few rows in a recurrent layer that stay wide (in_proj_a, in_proj_b of Qwen3.5: 0.1 %
/// of it).
inline status read_quantization_config(const nlohmann::json& object, const precision& stored, model& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::quantization {

using json = nlohmann::json;

/// The weights that a module's name means: sorts of module, a bit each ...
enum place : unsigned {
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

/// ... and where. A pattern is what ignore lists and targets hold: a path, a glob (`*.mlp*`) or an expression (`re:.*`).
struct module_pattern {
    unsigned places = nowhere;
    std::uint64_t roles = 0;   ///< a bit a weight_role: these projections of the places only; 0: all
    std::int64_t layer = -1;   ///< the layer, where the pattern names one
    bool layer_begins = false;  ///< ... or every layer whose number begins so (`layers.1*`)
    bool prediction = false;   ///< of the layers that predict ahead
    std::int64_t expert = -1;  ///< one expert of many
    bool understood = true;
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

/// Names of modules, the longer ones of those that contain each other first, and the projections in them.
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

/// Reads the layer's number behind "layers." or its like; false where it is an expression that is not followed.
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

/// Whether what follows a place's name means all of it: nothing, or a wildcard.
inline bool ends_whole(std::string_view tail) {
    if (tail.starts_with("s")) tail.remove_prefix(1);
    return tail.empty() || tail.starts_with("*") || tail.starts_with(".*") || tail == "." || tail == "$" || tail.starts_with("\\..*");
}

inline module_pattern read_pattern(std::string_view name) {
    module_pattern found;
    // Never quantised, whatever a list says: what is no matrix of a layer, and what routes (`mlp.gate`, not `gate_proj`).
    const std::size_t gate = name.find(".gate");
    const bool routes = gate != std::string_view::npos && !name.substr(gate).starts_with(".gate_");
    if (contains_any(name, "visual", "vision", "projector", "multi_modal", "patch", "audio", "eh_proj", "enorm", "hnorm", "shared_head",
                     "embed", "norm", "rotary", "conv1d", "in_proj_a", "in_proj_b", "indexers_proj", "weights_proj", "router",
                     "shared_expert_gate", "e_score", "wte", "wpe", "mtp.fc") ||
        routes)
        return found;
    if (contains_any(name, "lm_head", "output_layer", "embed_out") || name == "head") {
        found.places = head_place;
        return found;
    }
    found.prediction = contains(name, "mtp");
    std::string_view behind;
    found.understood = read_layer(name, found, behind);
    struct named_place {
        std::string_view name;
        unsigned places;
    };
    // A mixer may be whatever its layer is (Nemotron-H), an mlp may hold the experts.
    constexpr std::array named{named_place{"shared_expert", shared},
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
    for (const auto& [word, places] : named) {
        const std::size_t at = name.find(word);
        if (at == std::string_view::npos) continue;
        std::string_view tail = name.substr(at + word.size());
        found.places = places;
        if (places == routed && tail.starts_with(".")) {
            std::string_view number = tail.substr(1);
            found.expert = detail::taken_number(number);
            if (found.expert >= 0) tail = number;
        }
        found.roles = (places & (attention_place | recurrence)) != 0 ? roles_in(tail, mixer_modules) : 0;
        if ((places & experts_block) != 0 && found.roles == 0) {
            found.roles = roles_in(tail, feed_forward_modules);
            // A projection right in an mlp is the dense one's: experts have names of their own between.
            if (found.roles != 0 && places == experts_block) found.places = dense;
        }
        if (found.roles == 0 && !ends_whole(tail)) found.understood = false;
        return found;
    }
    // A bare projection's name stands for it everywhere.
    if (const std::uint64_t roles = roles_in(behind, feed_forward_modules); roles != 0) {
        found.places = experts_block;
        found.roles = roles;
    } else if (const std::uint64_t mixing = roles_in(behind, mixer_modules); mixing != 0) {
        found.places = attention_place | recurrence;
        found.roles = mixing;
    } else if ((found.layer >= 0 || found.prediction) && (ends_whole(behind) || (found.prediction && found.layer < 0))) {
        found.places = everything;
    } else {
        found.understood = false;
    }
    return found;
}

/// Calls visit(pattern) for the name, or for each choice of one group of alternatives in it: `(q|k)_proj`.
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

/// Which format each projection of each layer is in: filled from the lists of a config, then put into the model.
class assignment {
public:
    /// Nothing is in any, at first.
    explicit assignment(const model& m) : of_{m}, table_(static_cast<std::size_t>(m.layers.size) + 1) {}

    /// Everything in the layers is in this format, until other words are read.
    void fill(const precision& format) {
        const std::uint8_t index = index_of(format);
        for (slot& of_layer : table_)
            for (auto& roles : of_layer) roles.fill(index);
    }
    void set_head(const maybe<precision>& format) { head_ = format; }

    /// Puts what the pattern names into the format; no format: leaves it as it was. False if the pattern is not understood.
    bool put(std::string_view name, const maybe<precision>& format) {
        bool understood = true;
        for_each_pattern(name, [&](const module_pattern& p) {
            understood = understood && p.understood;
            if (p.understood) put(p, format);
        });
        return understood;
    }

    /// Gives the model its formats; the error names the list that all was read from last.
    status give(model& m, std::string_view field, const precision& stored) const;

private:
    static constexpr std::array sorts{quantised_part::mixers, quantised_part::dense, quantised_part::experts};
    using slot = std::array<std::array<std::uint8_t, weight_role_names.size()>, layer_places>;  ///< by place and role: an index into formats_

    /// What was found of a sort of weight in all layers.
    struct found_sort {
        std::uint8_t format = 0;
        bool two_formats = false;
    };

    std::uint8_t index_of(const precision& format) {
        for (std::size_t i = 1; i < formats_.size(); ++i)
            if (formats_[i] == format) return static_cast<std::uint8_t>(i);
        if (formats_.size() < 255) formats_.push_back(format);
        return static_cast<std::uint8_t>(formats_.size() - 1);
    }

    void put(const module_pattern& p, const maybe<precision>& format) {
        if (p.places == nowhere) return;
        if (p.places == head_place) {
            head_ = format;
            return;
        }
        const std::uint8_t index = format ? index_of(*format) : std::uint8_t{0};
        // Words that give the same format may be said in any order, and twice.
        if (index != last_index_) said_.clear();
        last_index_ = index;
        if (p.layer < 0 && p.expert < 0 && !said_.insert({p.places, p.prediction, p.roles}).second) return;
        // Lists name thousands of experts, one by one: a layer's are one sort, named when all of them are.
        if (p.expert >= 0) {
            auto& named = experts_named_[{p.layer, p.prediction, p.roles, index}];
            named.insert(p.expert);
            if (static_cast<std::int64_t>(named.size()) != experts_in(p.layer, p.prediction)) return;
        }
        const std::size_t layers = table_.size() - 1;
        for (std::size_t s = 0; s < table_.size(); ++s) {
            const bool predicts = s == layers;
            if (p.prediction ? !predicts : p.layer >= 0 && !matches(p, s, predicts)) continue;
            for (unsigned place = 0; place < layer_places; ++place) {
                if ((p.places >> place & 1) == 0) continue;
                for (std::size_t role = 0; role < weight_role_names.size(); ++role)
                    if (p.roles == 0 || (p.roles >> role & 1) != 0) table_[s][place][role] = index;
            }
        }
    }
    /// Files number the layers that predict ahead on behind the others.
    static bool matches(const module_pattern& p, std::size_t slot_index, bool predicts) {
        const auto index = static_cast<std::int64_t>(slot_index);
        if (predicts) return p.layer >= index;
        if (p.layer_begins)
            for (std::int64_t rest = index; rest > 0; rest /= 10)
                if (rest == p.layer) return true;
        return index == p.layer;
    }
    std::int64_t experts_in(std::int64_t layer, bool predicts) const {
        const std::int64_t layers = of_.layers.size;
        if (predicts || layer >= layers) return of_.prediction.block.feed_forward.experts.count;
        return of_.layers[static_cast<int>(layer < 0 ? layers - 1 : layer)].feed_forward.experts.count;
    }

    /// Calls visit(sort, role, format) for the matrices of a layer that are quantised at all.
    template <class Visit>
    void for_each_matrix(const layer& l, const slot& formats, Visit visit) const {
        const auto from = [&formats, &visit](std::size_t place, std::size_t sort) {
            return [&formats, &visit, place, sort](const weight& w) {
                constexpr std::size_t experts_place = 4;
                constexpr std::size_t experts_sort = 2;
                if (w.quantised)
                    visit(w.routed ? experts_sort : sort, w.role,
                          formats[w.routed ? experts_place : place][static_cast<std::size_t>(w.role)]);
            };
        };
        auto mixing = from(0, 0);
        auto recurring = from(1, 0);
        auto feeding = from(l.feed_forward.routed() ? 3 : 2, 1);
        visit_attention(l.attention, of_.hidden, mixing);
        visit_recurrent(l.recurrent, of_.hidden, visitor_of{recurring});
        visit_feed_forward(l.feed_forward, of_.hidden, feeding);
    }
    /// Which sorts of the layer's matrices are quantised; their formats go into `found`.
    quantised_part part_of(const layer& l, const slot& formats, std::array<found_sort, sorts.size()>& found) const {
        quantised_part part = quantised_part::none;
        std::array<bool, sorts.size()> seen{};
        for_each_matrix(l, formats, [&](std::size_t sort, weight_role, std::uint8_t format) {
            seen[sort] = true;
            if (format == 0) return;
            part = part | sorts[sort];
            if (found[sort].format != 0 && found[sort].format != format) found[sort].two_formats = true;
            found[sort].format = format;
        });
        // What the layer has none of says nothing, least of all that something is left out.
        bool all = true;
        for (std::size_t sort = 0; sort < sorts.size(); ++sort) all = all && (!seen[sort] || quantises(part, sorts[sort]));
        return all ? quantised_part::matrices : part;
    }

    const model& of_;
    std::vector<slot> table_;  ///< a slot a layer, and one for the layers that predict ahead
    std::vector<precision> formats_{precision{}};
    maybe<precision> head_{};
    std::uint8_t last_index_ = 0;
    std::set<std::tuple<unsigned, bool, std::uint64_t>> said_{};
    std::map<std::tuple<std::int64_t, bool, std::uint64_t, std::uint8_t>, std::set<std::int64_t>> experts_named_{};
};

inline status assignment::give(model& m, std::string_view field, const precision& stored) const {
    for (const auto& [key, named] : experts_named_) {
        const auto& [layer, predicts, roles, index] = key;
        const std::int64_t count = experts_in(layer, predicts);
        if (count > 0 && static_cast<std::int64_t>(named.size()) < count)
            return refused(error_code::unsupported, field, "some of a layer's experts", "all experts of a layer, or none");
    }
    std::array<found_sort, sorts.size()> found{};
    layer_stack stack;
    prediction ahead = m.prediction;
    for (std::int32_t i = 0; i < m.layers.size; ++i) {
        layer l = m.layers[i];
        l.quantised = part_of(l, table_[static_cast<std::size_t>(i)], found);
        if (!stack.append(1, l))
            return refused(error_code::unsupported, field, "too many sorts of layer", "at most 12 different kinds of layer");
    }
    if (ahead.layers > 0) ahead.block.quantised = part_of(ahead.block, table_.back(), found);
    for (const found_sort& sort : found)
        if (sort.two_formats)
            return refused(error_code::unsupported, field, "two formats for one sort of weight",
                           "one format for each of attention, dense feed-forwards and experts");

    // Projections left wide in a sort that is quantised are so in all layers.
    std::uint64_t wide = 0;
    std::uint64_t low = 0;
    const auto sort_out = [&](const layer& l, const slot& formats) {
        for_each_matrix(l, formats, [&](std::size_t sort, weight_role role, std::uint8_t format) {
            if (quantises(l.quantised, sorts[sort])) (format == 0 ? wide : low) |= bit(role);
        });
    };
    for (std::int32_t i = 0; i < m.layers.size; ++i) sort_out(stack[i], table_[static_cast<std::size_t>(i)]);
    if (ahead.layers > 0) sort_out(ahead.block, table_.back());
    for (std::size_t role = 0; role < weight_role_names.size(); ++role)
        if ((wide & low) >> role & 1) {
            text<95> which{weight_role_names[role]};
            which.append(" of some layers only");
            return refused(error_code::unsupported, field, which, "the same projections in all layers");
        }

    const auto format_of = [&](std::size_t sort) {
        return found[sort].format == 0 ? maybe<precision>{} : maybe<precision>{formats_[found[sort].format]};
    };
    const maybe<precision> mixers = format_of(0);
    const maybe<precision> dense_ones = format_of(1);
    const maybe<precision> experts = format_of(2);
    const maybe<precision> most = experts ? experts : dense_ones ? dense_ones : mixers;
    m.layers = stack;
    m.prediction = ahead;
    m.weights = most.value_or(stored);
    m.mixed = {};
    if (mixers && !(*mixers == m.weights)) m.mixed.attention = mixers;
    if (dense_ones && !(*dense_ones == m.weights)) m.mixed.feed_forward = dense_ones;
    if (!m.tied_head) m.mixed.head = head_;
    if (size_of(stored, 1, 1) != bytes(2)) m.mixed.rest = stored;
    m.mixed.wide_roles = wide;
    return done{};
}

/// Reads one quantization_config.
class reader {
public:
    reader(const json& object, const precision& stored, model& m)
        : object_{object}, fields_{object, "quantization_config"}, stored_{stored}, model_{m}, formats_{m} {}

    status read() {
        std::string_view method = fields_.text_or("quant_method", "");
        const bool by_modelopt = fields_.has("quant_algo") && (method.empty() || method == "fp8");
        if (by_modelopt || method == "modelopt_fp4") method = "modelopt";
        if (!fields_.ok()) return fields_.error();
        if (method.empty()) fields_.fail(error_code::missing, "quant_method", "the name of a quantisation method");
        bool known = false;
        for (const auto& [name, read_method] : methods)
            if (name == method) {
                known = true;
                (this->*read_method)();
            }
        if (!known && fields_.ok()) unknown(method);
        if (fields_.ok()) exceptions();
        if (!fields_.ok()) return fields_.error();
        return formats_.give(model_, last_list_, stored_);
    }

private:
    struct named_method {
        std::string_view name;
        void (reader::*read)();
        constexpr operator std::string_view() const { return name; }  // NOLINT(google-explicit-constructor)
    };

    void quantised(const precision& low) { formats_.fill(low); }
    void unsupported(const char* field, std::string_view expected) {
        fields_.fail(error_code::unsupported, field, expected);
    }
    /// Gives the modules of that name a format, or none.
    void assign(const char* field, std::string_view name, const maybe<precision>& format) {
        last_list_ = fields_.label(field);
        if (!formats_.put(name, format))
            fields_.fail({error_code::unsupported, last_list_, name, "modules of a described place"});
    }

    void unknown(std::string_view method) {
        for (const std::string_view refused_method :
             {"aqlm", "quip", "quip_sharp", "vptq", "spqr", "higgs", "quanto", "torchao", "auto-round", "quark",
              "fp_quant", "marlin", "squeezellm", "ptpc_fp8", "sinq"})
            if (method == refused_method)
                return unsupported("quant_method", "a method whose sizes are described, such as gptq or fp8");
        fields_.fail(error_code::unknown, "quant_method", such_as("a quantisation method,", nearest(method, methods)));
    }

    /// Bits that pack into 32-bit words.
    std::int32_t packed_bits(const field_names& field) {
        const std::int64_t width = fields_.number(field, 2, 8);
        if (fields_.ok() && width != 2 && width != 3 && width != 4 && width != 8)
            fields_.fail(error_code::unsupported, field, "2, 3, 4 or 8 bits");
        return static_cast<std::int32_t>(width);
    }
    /// A group's inputs; -1 stands for the whole row.
    std::int32_t group(const field_names& field, std::int64_t fallback) {
        const std::int64_t size = fields_.number_or(field, fallback, -1, 1 << 20);
        if (size == 0) fields_.fail(error_code::out_of_range, field, "a positive group size, or -1 for whole rows");
        return size < 0 ? whole_row : static_cast<std::int32_t>(size);
    }

    /// E4M3 with one fp32 scale a block of rows x columns.
    static precision blocks(config_fields& c, const char* field) {
        const std::int64_t rows = c.number_at(field, 0, 1, 65536);
        const std::int64_t columns = c.number_at(field, 1, 1, 65536);
        precision block = fp8_block;
        block.parts[1] = {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), 4};
        if (rows != 128 || columns != 128) {
            block.name = "fp8_block";
            block.name.append(digits(rows));
            block.name.append("x");
            block.name.append(digits(columns));
        }
        return block;
    }
    void fp8() {
        if (fields_.has("weight_block_size")) return quantised(blocks(fields_, "weight_block_size"));
        const bool fixed = fields_.text_or("activation_scheme", "dynamic") == "static";
        quantised(fixed ? fp8_tensor_static : fp8_tensor);
    }
    void fbgemm() { quantised(fp8_channel); }
    void mxfp4_method() { quantised(mxfp4); }

    void gptq_method() {
        const std::int32_t width = packed_bits("bits");
        const std::int32_t size = group("group_size", 128);
        const std::string_view layout = fields_.text_or("checkpoint_format", "gptq");
        if (layout != "gptq" && layout != "gptq_v2") return unsupported("checkpoint_format", "gptq or gptq_v2");
        if (!fields_.ok()) return;
        const precision format = gptq(width, size);
        if (fields_.has("modules_in_block_to_quantize")) {
            if (const json* modules = fields_.list("modules_in_block_to_quantize"); modules != nullptr)
                for (const json& together : *modules)
                    for (const json& module : together.is_array() ? together : json::array({together})) {
                        const auto* name = module.get_ptr<const json::string_t*>();
                        if (name == nullptr) return unsupported("modules_in_block_to_quantize", "lists of names");
                        assign("modules_in_block_to_quantize", *name, format);
                    }
        } else {
            quantised(format);
        }
        if (fields_.flag_or("lm_head", false)) formats_.set_head(format);
        // GPTQModel: "-:EXPRESSION" is left as it was, "+:EXPRESSION" or EXPRESSION has settings of its own.
        const json* dynamic = fields_.object("dynamic");
        if (dynamic == nullptr) return;
        for (const auto& [key, settings] : dynamic->items()) {
            std::string_view name = key;
            if (detail::taken(name, "-:")) {
                assign("dynamic", name, {});
                continue;
            }
            detail::taken(name, "+:");
            config_fields own{settings.is_object() ? settings : object_, "quantization_config.dynamic"};
            const std::int64_t own_width = own.number_or("bits", width, 2, 8);
            const std::int64_t own_size = own.number_or("group_size", size == whole_row ? -1 : size, -1, 1 << 20);
            if (!own.ok()) return fields_.fail(own.error());
            if (own_size == 0 || own_width == 5 || own_width == 6 || own_width == 7)
                return unsupported("dynamic", "2, 3, 4 or 8 bits, in groups of at least one");
            assign("dynamic", name,
                   gptq(static_cast<std::int32_t>(own_width), own_size < 0 ? whole_row : static_cast<std::int32_t>(own_size)));
        }
    }
    void awq_method() {
        const std::int64_t width = fields_.number({"bits", "w_bit"}, 4, 4);
        quantised(awq(static_cast<std::int32_t>(width), group({"group_size", "q_group_size"}, 128)));
    }
    void bitsandbytes() {
        const bool eight = fields_.flag_or({"load_in_8bit", "_load_in_8bit"}, false);
        const bool four = fields_.flag_or({"load_in_4bit", "_load_in_4bit"}, false);
        if (eight == four)
            return fields_.fail(error_code::inconsistent, "load_in_4bit", "one of load_in_4bit and load_in_8bit");
        if (eight) return quantised(bnb_int8);
        const std::string_view type = fields_.text_or("bnb_4bit_quant_type", "fp4");
        const bool twice = fields_.flag_or("bnb_4bit_use_double_quant", false);
        if (type == "nf4") return quantised(twice ? nf4_double : nf4);
        if (type == "fp4") return quantised(twice ? fp4_double : fp4);
        fields_.fail(error_code::unknown, "bnb_4bit_quant_type", "nf4 or fp4");
    }
    void hqq_method() {
        const json* outer = fields_.object("quant_config");
        const json* parameters_of = nullptr;
        if (outer != nullptr)
            if (const auto found = outer->find("weight_quant_params"); found != outer->end() && found->is_object())
                parameters_of = &*found;
        if (parameters_of == nullptr) return unsupported("quant_config", "weight_quant_params for all modules");
        config_fields inner{*parameters_of, "quantization_config.quant_config.weight_quant_params"};
        const std::int64_t width = inner.number("nbits", 1, 8);
        const std::int64_t size = inner.number("group_size", 1, 1 << 20);
        if (inner.ok() && (width == 5 || width == 6 || width == 7))
            inner.fail(error_code::unsupported, "nbits", "1, 2, 3, 4 or 8 bits");
        if (!inner.ok()) return fields_.fail(inner.error());
        quantised(hqq(static_cast<std::int32_t>(width), static_cast<std::int32_t>(size)));
    }
    std::int32_t millibits(const char* field, double fallback) {
        const auto found = object_.find(field);
        const double width = found == object_.end() ? fallback : found->is_number() ? found->get<double>() : 0;
        if (!(width >= 1 && width <= 8)) fields_.fail(error_code::out_of_range, field, "from 1 to 8 bits a weight");
        return fields_.ok() ? static_cast<std::int32_t>(std::lround(width * 1000)) : 1000;
    }
    void exl2_method() {
        if (!fields_.has("bits")) return fields_.fail(error_code::missing, "bits", "bits a weight");
        quantised(exl2(millibits("bits", 4)));
        formats_.set_head(exl2(millibits("head_bits", 6)));
    }
    void exl3_method() {
        if (!fields_.has("bits")) return fields_.fail(error_code::missing, "bits", "bits a weight");
        quantised(exl3(millibits("bits", 4)));
        formats_.set_head(exl3(millibits("head_bits", 6)));
    }
    void eetq() { quantised(int8_channel_s16); }
    void bitnet() {
        if (fields_.text_or("quantization_mode", "offline") != "offline")
            return unsupported("quantization_mode", "offline: weights stored in two bits");
        quantised(ternary);
    }

    /// The format of one group of compressed-tensors or modelopt.
    maybe<precision> group_format(const json& group_object, std::string_view label) {
        config_fields outer{group_object, label};
        const json* weights = outer.object("weights");
        if (weights == nullptr) {
            outer.fail(error_code::missing, "weights", "how the weights are stored");
            fields_.fail(outer.error());
            return {};
        }
        const json* inputs = outer.object("input_activations");
        config_fields w{*weights, label};
        const std::int64_t width = w.number("num_bits", 2, 8);
        const std::string_view type = w.text_or("type", "int");
        const std::int64_t size = w.number_or("group_size", -1, -1, 1 << 20);
        const std::string_view strategy = w.text_or("strategy", size > 0 ? "group" : "tensor");
        const bool reordered = w.has("actorder") && w.text_or("actorder", "") == "group";
        const bool symmetric = w.flag_or("symmetric", true);
        const std::string_view layout = outer.text_or("format", fields_.text_or("format", ""));
        const bool packed = contains(layout, "pack") || (layout.empty() && inputs == nullptr);
        const bool fixed = inputs != nullptr && !config_fields{*inputs, label}.flag_or("dynamic", false);
        maybe<precision> format;
        if (w.ok() && outer.ok()) {
            if (type == "float" && width == 8) {
                if (strategy == "tensor") format = fixed ? fp8_tensor_static : fp8_tensor;
                if (strategy == "channel") format = fp8_channel_s16;
                if (strategy == "block") format = w.has("block_structure") ? blocks(w, "block_structure") : fp8_block;
                if (strategy == "group" && size == 32) format = mxfp8;
            } else if (type == "float" && width == 4) {
                const bool micro = contains(layout, "mxfp4") || size == 32;
                if (micro) format = mxfp4;
                if (!micro && (strategy == "tensor_group" || size == 16))
                    format = inputs != nullptr ? nvfp4_static : nvfp4;
            } else if (type == "int" && (width == 2 || width == 3 || width == 4 || (width == 8 && packed))) {
                if (strategy == "group" || strategy == "channel")
                    format = packed_int(static_cast<std::int32_t>(width),
                                        strategy == "channel" ? whole_row : static_cast<std::int32_t>(size), !symmetric,
                                        reordered);
            } else if (type == "int" && width == 8) {
                if (strategy == "channel") format = int8_channel_s16;
                if (strategy == "tensor") format = int8_tensor;
            }
            if (!format)
                w.fail(error_code::unsupported, "num_bits",
                       "a described combination of type, bits, strategy and format");
        }
        fields_.keep(w.ok() ? status{done{}} : status{w.error()});
        fields_.keep(outer.ok() ? status{done{}} : status{outer.error()});
        return format;
    }

    /// Everything linear includes the head, unless the list of exceptions names it.
    void compressed_tensors() { groups(true); }
    void groups(bool with_head) {
        const json* all = fields_.object("config_groups");
        if (all == nullptr || all->empty())
            return fields_.fail(error_code::missing, "config_groups", "how the weights are stored");
        last_list_ = fields_.label("config_groups");
        struct targeted {
            precision format;
            std::vector<std::string_view> names;
        };
        std::vector<targeted> listed;
        bool general = false;
        for (const auto& [name, object] : all->items()) {
            if (!object.is_object()) return fields_.fail(error_code::malformed, "config_groups", "an object a group");
            const maybe<precision> format = group_format(object, "quantization_config.config_groups." + name);
            if (!format) return;
            bool linear = true;
            targeted found{*format, {}};
            if (const auto targets = object.find("targets"); targets != object.end() && targets->is_array()) {
                linear = targets->empty();
                for (const json& target : *targets) {
                    const auto* text = target.get_ptr<const json::string_t*>();
                    if (text == nullptr)
                        return fields_.fail(error_code::malformed, "config_groups", "targets that are names");
                    if (*text == "Linear" || *text == "Linear*" || contains(*text, "FusedMoE"))
                        linear = true;
                    else
                        found.names.emplace_back(*text);
                }
            }
            if (linear) {
                if (general) return unsupported("config_groups", "one group for all linear layers");
                general = true;
                quantised(found.format);
                if (with_head) formats_.set_head(found.format);
            } else {
                listed.push_back(std::move(found));
            }
        }
        // What no group targets stays as it was.
        for (const auto& [format, names] : listed)
            for (const std::string_view name : names) assign("config_groups", name, format);
    }

    maybe<precision> algorithm(std::string_view name, const char* field) {
        struct named_format {
            std::string_view name;
            precision format;
        };
        static constexpr std::array known{
            named_format{"FP8", fp8_tensor_static},  named_format{"FP8_PER_CHANNEL_PER_TOKEN", fp8_channel},
            named_format{"FP8_PB_WO", fp8_block},    named_format{"FP8_PB_REAL", fp8_block},
            named_format{"NVFP4", nvfp4_static},     named_format{"NVFP4_AWQ", nvfp4},
            named_format{"W4A16_NVFP4", nvfp4},      named_format{"MXFP8", mxfp8},
            named_format{"MXFP4", mxfp4},            named_format{"W4A8_MXFP4_FP8", mxfp4}};
        for (const auto& [called, format] : known)
            if (called == name) return format;
        fields_.fail({error_code::unsupported, fields_.label(field), name, "FP8, NVFP4, MXFP8 or MXFP4"});
        return {};
    }
    void modelopt() {
        const std::string_view name = fields_.text_or("quant_algo", "");
        if (name.empty() && fields_.has("config_groups")) return groups(false);
        if (name != "MIXED_PRECISION") {
            if (const maybe<precision> format = algorithm(name, "quant_algo")) quantised(*format);
            return;
        }
        const json* by_module = fields_.object("quantized_layers");
        if (by_module == nullptr)
            return fields_.fail(error_code::missing, "quantized_layers", "the algorithm of each module");
        for (const auto& [module, object] : by_module->items()) {
            const auto found = object.is_object() ? object.find("quant_algo") : object.end();
            if (!object.is_object() || found == object.end() || !found->is_string())
                return fields_.fail(error_code::malformed, "quantized_layers", "a quant_algo for each module");
            const maybe<precision> format = algorithm(found->get_ref<const std::string&>(), "quantized_layers");
            if (!format) return;
            assign("quantized_layers", module, format);
            if (!fields_.ok()) return;
        }
    }

    /// What the method's lists leave as it was.
    void exceptions() {
        for (const char* field : {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules",
                                  "llm_int8_skip_modules", "skip_modules"}) {
            const json* list = fields_.list(field);
            if (list == nullptr) continue;
            for (const json& entry : *list) {
                const auto* name = entry.get_ptr<const json::string_t*>();
                if (name == nullptr) return fields_.fail(error_code::malformed, field, "a list of names");
                if (std::string_view{*name}.find_first_not_of(name->starts_with("re:") ? "re:.*" : ".*") == std::string::npos)
                    return unsupported(field, "a list that leaves something quantised");
                assign(field, *name, {});
                if (!fields_.ok()) return;
            }
        }
    }

    static constexpr std::array<named_method, 13> methods{{{"fp8", &reader::fp8},
                                                           {"fbgemm_fp8", &reader::fbgemm},
                                                           {"mxfp4", &reader::mxfp4_method},
                                                           {"gptq", &reader::gptq_method},
                                                           {"awq", &reader::awq_method},
                                                           {"bitsandbytes", &reader::bitsandbytes},
                                                           {"compressed-tensors", &reader::compressed_tensors},
                                                           {"modelopt", &reader::modelopt},
                                                           {"hqq", &reader::hqq_method},
                                                           {"exl2", &reader::exl2_method},
                                                           {"exl3", &reader::exl3_method},
                                                           {"eetq", &reader::eetq},
                                                           {"bitnet", &reader::bitnet}}};

    const json& object_;
    config_fields fields_;
    precision stored_;
    model& model_;
    assignment formats_;
    text<63> last_list_{"quantization_config"};  ///< what an error of the whole names
};

}  // namespace detail::quantization

inline status read_quantization_config(const nlohmann::json& object, const precision& stored, model& m) {
    return detail::quantization::reader{object, stored, m}.read();
}

}  // namespace llmres
