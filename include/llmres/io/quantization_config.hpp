// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/io/config_fields.hpp>
#include <llmres/maybe.hpp>
#include <llmres/nearest.hpp>
#include <llmres/parameters.hpp>
#include <llmres/precision.hpp>
#include <llmres/weight_formats.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// The formats that a config.json's `quantization_config` gives a checkpoint's weights, and what it leaves in 16 bits.
namespace llmres {

/// The formats of a checkpoint. `config` is the whole config.json; `stored` the format of what is not quantised (its
/// `torch_dtype`). Without a `quantization_config` everything is in `stored`.
///
/// Understood: fp8 and fbgemm_fp8, gptq, awq, bitsandbytes (8 bit, nf4, fp4, double quantisation), compressed-tensors
/// (pack-quantized, int-quantized, float-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized), modelopt (FP8, NVFP4, MXFP8
/// and mixtures of them), mxfp4, hqq, exl2, exl3, eetq, bitnet. Other methods are refused by name, and so is a checkpoint
/// that quantises a module in some layers and not in others. Vision and audio towers are taken as not quantised.
/// Not counted: modules of a few rows in a recurrent layer that stay wide (in_proj_a, in_proj_b of Qwen3.5: 0.1 % of it).
inline result<weight_formats> read_quantization_config(const nlohmann::json& config, const precision& stored);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::quantization {

using json = nlohmann::json;

/// The weights that a module's name means.
enum class place : std::uint8_t { none, attention, feed_forward, routed, head, whole_layer, other };
inline constexpr std::size_t places = 7;

/// A pattern of module names, as ignore lists and targets hold them: a path, a glob (`*.mlp*`) or an expression (`re:.*`).
struct module_pattern {
    place where = place::other;
    maybe<weight_role> role{};  ///< one projection of the place only
    std::int64_t layer = -1;    ///< the layer, where the pattern names one
};

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
template <class... Parts>
bool contains_any(std::string_view text, Parts... parts) {
    return (contains(text, parts) || ...);
}

inline module_pattern read_pattern(std::string_view name) {
    module_pattern found;
    // The layer: digits between dots after "layers", "h" or "blocks"
    for (const std::string_view stack : {"layers.", "layers\\.", "blocks."}) {
        const std::size_t at = name.find(stack);
        if (at == std::string_view::npos) continue;
        std::string_view rest = name.substr(at + stack.size());
        const std::int32_t number = detail::taken_number(rest);
        if (number < 0) continue;
        found.layer = number;
        if (rest.empty() || rest == "*" || rest == "." || rest == ".*") {
            found.where = place::whole_layer;
            return found;
        }
    }
    if (contains_any(name, "visual", "vision", "mm_projector", "multi_modal", "patch", "audio", "mtp", "eh_proj",
                     "enorm", "hnorm", "shared_head", "embed", "norm", "rotary", "conv1d", "in_proj_a", "in_proj_b",
                     "indexer")) {
        found.where = place::none;
        return found;
    }
    if (contains_any(name, "lm_head", "output_layer") || name == "head") {
        found.where = place::head;
        return found;
    }
    // Routers and gates are wide whatever a list says.
    if (contains_any(name, "router", "shared_expert_gate", "e_score") || name.ends_with(".gate") ||
        name.ends_with("moe.gate")) {
        found.where = place::none;
        return found;
    }
    if (contains_any(name, "attn", "attention", "mixer", "mamba"))
        found.where = place::attention;
    else if (contains(name, "shared_expert"))
        found.where = place::feed_forward;
    else if (contains(name, "experts"))
        found.where = place::routed;
    else if (contains_any(name, "mlp", "ffn", "feed_forward"))
        found.where = place::feed_forward;
    constexpr std::array attention_roles{weight_role::q_proj,   weight_role::k_proj,   weight_role::v_proj,
                                         weight_role::o_proj,   weight_role::q_a_proj, weight_role::q_b_proj,
                                         weight_role::kv_b_proj};
    constexpr std::array mlp_roles{weight_role::gate_proj, weight_role::up_proj, weight_role::down_proj};
    if (found.where == place::attention)
        for (const weight_role role : attention_roles)
            if (contains(name, name_of(role))) found.role = role;
    if (contains(name, "kv_a_proj")) found.role = weight_role::kv_a_proj;
    if (found.where == place::feed_forward) {
        for (const weight_role role : mlp_roles)
            if (contains(name, name_of(role))) found.role = role;
        if (contains(name, "gate_up_proj")) found.role = weight_role::up_proj;
    }
    // A bare projection's name stands for it everywhere.
    if (found.where == place::other) {
        for (const weight_role role : attention_roles)
            if (name.ends_with(name_of(role))) found = {place::attention, role, found.layer};
        for (const weight_role role : mlp_roles)
            if (name.ends_with(name_of(role))) found = {place::feed_forward, role, found.layer};
    }
    return found;
}

/// Which places a list of patterns covers: in all layers, or in which ones.
class coverage {
public:
    void add(std::string_view name) {
        const module_pattern pattern = read_pattern(name);
        const auto index = static_cast<std::size_t>(pattern.where);
        if (pattern.role) {
            if (pattern.layer < 0)
                everywhere_roles_.insert(*pattern.role);
            else
                roles_[*pattern.role].insert(pattern.layer);
        } else if (pattern.layer < 0) {
            everywhere_[index] = true;
        } else {
            layers_[index].insert(pattern.layer);
        }
        if (pattern.where == place::other && first_other_.empty()) first_other_ = name;
    }

    bool all(place where) const { return everywhere_[static_cast<std::size_t>(where)]; }
    const std::set<std::int64_t>& layers(place where) const { return layers_[static_cast<std::size_t>(where)]; }
    const std::string& first_other() const { return first_other_; }

    bool names(weight_role role) const { return everywhere_roles_.count(role) != 0 || roles_.count(role) != 0; }
    /// Whether the role is listed in every layer.
    bool covers(weight_role role, std::int64_t count) const {
        const auto found = roles_.find(role);
        return everywhere_roles_.count(role) != 0 || (found != roles_.end() && covers(found->second, count));
    }
    /// Whether the place, or a whole layer, is listed in each of `count` layers.
    bool covers(const std::set<std::int64_t>& listed, std::int64_t count) const {
        const auto& whole = layers(place::whole_layer);
        for (std::int64_t i = 0; i < count; ++i)
            if (listed.count(i) == 0 && whole.count(i) == 0) return false;
        return count > 0;
    }

private:
    std::array<bool, places> everywhere_{};
    std::array<std::set<std::int64_t>, places> layers_{};
    std::set<weight_role> everywhere_roles_{};
    std::map<weight_role, std::set<std::int64_t>> roles_{};
    std::string first_other_{};
};

/// Reads one quantization_config.
class reader {
public:
    reader(const json& object, const precision& stored, std::int64_t layers)
        : object_{object}, fields_{object, "quantization_config"}, stored_{stored}, layers_{layers} {}

    result<weight_formats> read() {
        formats_ = formats_for(stored_, stored_);
        std::string_view method = fields_.text_or("quant_method", "");
        const bool by_modelopt = fields_.has("quant_algo") && (method.empty() || method == "fp8");
        if (by_modelopt) method = "modelopt";
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
        return formats_;
    }

private:
    struct named_method {
        std::string_view name;
        void (reader::*read)();
        constexpr operator std::string_view() const { return name; }  // NOLINT(google-explicit-constructor)
    };

    void quantised(const precision& low) { formats_.matrices = low; }
    void unsupported(const char* field, std::string_view expected) {
        fields_.fail(error_code::unsupported, field, expected);
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

    void fp8() {
        if (!fields_.has("weight_block_size")) {
            const bool fixed = fields_.text_or("activation_scheme", "dynamic") == "static";
            return quantised(fixed ? fp8_tensor_static : fp8_tensor);
        }
        const std::int64_t rows = fields_.number_at("weight_block_size", 0, 1, 65536);
        const std::int64_t columns = fields_.number_at("weight_block_size", 1, 1, 65536);
        precision block = fp8_block;
        block.parts[1] = {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), 4};
        if (rows != 128 || columns != 128) {
            block.name = "fp8_block";
            block.name.append(digits(rows));
            block.name.append("x");
            block.name.append(digits(columns));
        }
        quantised(block);
    }
    void fbgemm() { quantised(fp8_channel); }
    void mxfp4_method() { quantised(mxfp4); }

    void gptq_method() {
        const std::int32_t width = packed_bits("bits");
        const std::int32_t size = group("group_size", 128);
        const std::string_view layout = fields_.text_or("checkpoint_format", "gptq");
        if (layout != "gptq" && layout != "gptq_v2") return unsupported("checkpoint_format", "gptq or gptq_v2");
        if (const json* dynamic = fields_.object("dynamic"); dynamic != nullptr && !dynamic->empty())
            return unsupported("dynamic", "the same bits in all modules");
        quantised(gptq(width, size));
        if (fields_.flag_or("lm_head", false)) formats_.head = formats_.matrices;
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
        formats_.head = exl2(millibits("head_bits", 6));
    }
    void exl3_method() {
        if (!fields_.has("bits")) return fields_.fail(error_code::missing, "bits", "bits a weight");
        quantised(exl3(millibits("bits", 4)));
        formats_.head = exl3(millibits("head_bits", 6));
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
        const bool fixed = inputs != nullptr && !config_fields{*inputs, label}.flag_or("dynamic", false);
        maybe<precision> format;
        if (w.ok() && outer.ok()) {
            if (type == "float" && width == 8) {
                if (strategy == "tensor") format = fixed ? fp8_tensor_static : fp8_tensor;
                if (strategy == "channel") format = fp8_channel_s16;
                if (strategy == "block") format = fp8_block;
                if (strategy == "group" && size == 32) format = mxfp8;
            } else if (type == "float" && width == 4) {
                const bool micro = contains(layout, "mxfp4") || size == 32;
                if (micro) format = mxfp4;
                if (!micro && (strategy == "tensor_group" || size == 16))
                    format = inputs != nullptr ? nvfp4_static : nvfp4;
            } else if (type == "int" && contains(layout, "pack") &&
                       (width == 2 || width == 3 || width == 4 || width == 8)) {
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

    /// Gives a place its format.
    void assign(place where, const precision& format) {
        if (where == place::attention) formats_.attention = format;
        if (where == place::feed_forward) formats_.feed_forward = format;
        if (where == place::routed) formats_.matrices = format;
        if (where == place::head) formats_.head = format;
    }

    /// Everything linear includes the head, unless the list of exceptions names it.
    void compressed_tensors() {
        groups();
        if (general_ > 0 && !formats_.head) formats_.head = formats_.matrices;
    }
    void groups() {
        const json* all = fields_.object("config_groups");
        if (all == nullptr || all->empty())
            return fields_.fail(error_code::missing, "config_groups", "how the weights are stored");
        struct targeted {
            precision format;
            coverage targets;
        };
        std::vector<targeted> listed;
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
                        found.targets.add(*text);
                }
            }
            if (linear) {
                if (++general_ > 1) return unsupported("config_groups", "one group for all linear layers");
                quantised(found.format);
            } else {
                listed.push_back(found);
            }
        }
        if (general_ == 0) {
            // What no group targets stays wide.
            formats_.attention = formats_.feed_forward = stored_;
        }
        for (const auto& [format, targets] : listed) {
            for (const place where : {place::attention, place::feed_forward, place::routed, place::head})
                if (targets.all(where) || !targets.layers(where).empty()) assign(where, format);
            // Groups that divide a layer list all projections of attention, or of the feed-forward.
            if (targets.names(weight_role::q_proj) || targets.names(weight_role::o_proj))
                assign(place::attention, format);
            if (targets.names(weight_role::up_proj) || targets.names(weight_role::down_proj))
                assign(place::feed_forward, format);
            if (!targets.first_other().empty()) return unsupported("config_groups", "targets of a described place");
        }
    }

    void algorithm(std::string_view name, precision& to, const char* field) {
        if (name == "FP8")
            to = fp8_tensor_static;
        else if (name == "FP8_PER_CHANNEL_PER_TOKEN")
            to = fp8_channel;
        else if (name == "FP8_PB_WO" || name == "FP8_PB_REAL")
            to = fp8_block;
        else if (name == "NVFP4")
            to = nvfp4_static;
        else if (name == "NVFP4_AWQ" || name == "W4A16_NVFP4")
            to = nvfp4;
        else if (name == "MXFP8")
            to = mxfp8;
        else if (name == "MXFP4" || name == "W4A8_MXFP4_FP8")
            to = mxfp4;
        else
            fields_.fail(error_code::unsupported, field, "FP8, NVFP4, MXFP8 or MXFP4");
    }
    void modelopt() {
        const std::string_view name = fields_.text_or("quant_algo", "");
        if (name != "MIXED_PRECISION") {
            if (name.empty() && fields_.has("config_groups")) return groups();
            return algorithm(name, formats_.matrices, "quant_algo");
        }
        const json* by_module = fields_.object("quantized_layers");
        if (by_module == nullptr)
            return fields_.fail(error_code::missing, "quantized_layers", "the algorithm of each module");
        std::array<std::set<std::string>, places> names;
        for (const auto& [module, object] : by_module->items()) {
            const auto found = object.is_object() ? object.find("quant_algo") : object.end();
            if (!object.is_object() || found == object.end() || !found->is_string())
                return fields_.fail(error_code::malformed, "quantized_layers", "a quant_algo for each module");
            names[static_cast<std::size_t>(read_pattern(module).where)].insert(found->get<std::string>());
        }
        formats_.attention = formats_.feed_forward = stored_;
        for (const place where : {place::attention, place::feed_forward, place::routed, place::head}) {
            const auto& found = names[static_cast<std::size_t>(where)];
            if (found.empty()) continue;
            if (found.size() > 1)
                return unsupported("quantized_layers", "one algorithm for each of attention, feed-forward and experts");
            precision format = stored_;
            algorithm(*found.begin(), format, "quantized_layers");
            assign(where, format);
        }
    }

    /// What the method's list leaves in 16 bits.
    void exceptions() {
        coverage kept;
        for (const char* field : {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules",
                                  "llm_int8_skip_modules", "skip_modules"}) {
            const json* list = fields_.list(field);
            if (list == nullptr) continue;
            for (const json& entry : *list) {
                const auto* text = entry.get_ptr<const json::string_t*>();
                if (text == nullptr) return fields_.fail(error_code::malformed, field, "a list of names");
                if (text->find_first_not_of(".*") == std::string::npos)
                    return unsupported(field, "a list that leaves something quantised");
                kept.add(*text);
            }
            if (!kept.first_other().empty())
                return fields_.fail(error{error_code::unsupported, fields_.label(field),
                                          std::string_view{kept.first_other()}, "modules of a described place"});
            keep(kept, field);
        }
    }
    void keep(const coverage& kept, const char* field) {
        const auto partly = [&](std::int64_t layer) {
            text<95> where{"layer "};
            where.append(digits(layer));
            where.append(" and not every other");
            fields_.fail({error_code::unsupported, fields_.label(field), where, "the same modules in all layers"});
        };
        bool any = false;
        for (const place where : {place::attention, place::feed_forward, place::routed}) {
            const auto& listed = kept.layers(where);
            const bool all = kept.all(where) || (!listed.empty() && (kept.covers(listed, layers_) || layers_ == 0));
            if (!all && !listed.empty()) {
                return partly(*listed.begin());
            }
            if (!all) continue;
            any = true;
            if (where == place::routed && !formats_.feed_forward) formats_.feed_forward = formats_.matrices;
            if (where == place::routed && !formats_.attention) formats_.attention = formats_.matrices;
            assign(where, stored_);
        }
        if (kept.all(place::head)) formats_.head = {};
        using enum weight_role;
        if (kept.names(gate_proj) || kept.names(up_proj) || kept.names(down_proj)) {
            if (!kept.covers(up_proj, layers_) || !kept.covers(down_proj, layers_))
                return unsupported(field, "all projections of a feed-forward, in all layers");
            any = true;
            assign(place::feed_forward, stored_);
        }
        for (const weight_role role : {q_proj, k_proj, v_proj, o_proj, q_a_proj, q_b_proj, kv_a_proj, kv_b_proj}) {
            if (!kept.names(role)) continue;
            if (!kept.covers(role, layers_)) return unsupported(field, "the same projections in all layers");
            formats_.keep_wide(role);
        }
        // Layers left whole are those of no other kind: dense ones in front, predicted ones behind the last.
        const auto& whole = kept.layers(place::whole_layer);
        if (!whole.empty() && !any && !(layers_ > 0 && *whole.begin() >= layers_)) partly(*whole.begin());
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
    std::int64_t layers_ = 0;
    weight_formats formats_{};
    int general_ = 0;  ///< groups for all linear layers
};

}  // namespace detail::quantization

inline result<weight_formats> read_quantization_config(const nlohmann::json& config, const precision& stored) {
    const auto object_in = [](const nlohmann::json& outer, const char* name) -> const nlohmann::json* {
        const auto found = outer.is_object() ? outer.find(name) : outer.end();
        return outer.is_object() && found != outer.end() && found->is_object() ? &*found : nullptr;
    };
    const nlohmann::json* inner = object_in(config, "text_config");
    const nlohmann::json* object = nullptr;
    for (const nlohmann::json* outer : {&config, inner}) {
        if (outer == nullptr || object != nullptr || !outer->is_object()) continue;
        const auto found = outer->find("quantization_config");
        if (found == outer->end() || found->is_null()) continue;
        if (!found->is_object())
            return refused(error_code::malformed, "quantization_config", found->type_name(), "an object");
        object = &*found;
    }
    if (object == nullptr) return formats_for(stored, stored);
    std::int64_t layers = 0;
    for (const nlohmann::json* outer : {&config, inner})
        if (outer != nullptr)
            for (const char* name : {"num_hidden_layers", "n_layer", "n_layers", "num_layers"})
                if (const auto found = outer->find(name);
                    found != outer->end() && found->is_number_unsigned() && layers == 0)
                    layers = static_cast<std::int64_t>(found->get<std::uint64_t>() & 0xffff);
    return detail::quantization::reader{*object, stored, layers}.read();
}

}  // namespace llmres
