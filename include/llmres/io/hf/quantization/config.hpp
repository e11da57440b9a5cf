// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <llmres/io/hf/quantization/layers.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/precision.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// The formats that the `quantization_config` of a config.json gives the weights of a checkpoint.
namespace llmres::inline v0::detail {

/// Puts the formats of a `quantization_config` object into the model: `weights`, what the checkpoint mixes with it
/// (`mixed`), and what it does not quantise, layer by layer (`layer::quantised`). `stored` is the format of what is not
/// quantised (its `torch_dtype`).
///
/// Understood: fp8 and fbgemm_fp8, gptq (with `dynamic`), awq, bitsandbytes (8 bit, nf4, fp4, double quantisation),
/// compressed-tensors (pack-quantized, int-quantized, float-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized),
/// modelopt (FP8, NVFP4, MXFP8 and mixtures of them), mlx, mxfp4, hqq, exl2, exl3, eetq, bitnet. Other methods are
/// refused by name, and so are lists with names of unknown modules, projections left out in some layers only, and two
/// formats for one sort of weight (attention and recurrences, dense feed-forwards, routed experts). Vision and audio
/// towers are taken as not quantised. The format of a cache that modelopt or compressed-tensors calibrated goes into
/// `mixed_formats::cache`. Not counted: small projections of a recurrent layer that stay in 16 bits
/// (in_proj_a and in_proj_b of Qwen3.5: 0.1 % of the layer).
inline status read_quantization_config(const nlohmann::json& object, const precision& stored, model& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace quantization {

using json = nlohmann::json;

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
        if (const status given = formats_.give(model_, last_list_, stored_); !given) return given;
        read_cache();
        if (!fields_.ok()) return fields_.error();
        return done{};
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
    /// Gives the modules of that name a format; none leaves them in the format that is not quantised.
    void assign(const char* field, std::string_view name, const maybe<precision>& format) {
        last_list_ = fields_.label(field);
        if (!formats_.put(name, format))
            fields_.fail({error_code::unsupported, last_list_, name,
                          "names of modules of the layers, such as mlp.experts or q_proj"});
    }

    void unknown(std::string_view method) {
        for (const std::string_view refused_method :
             {"aqlm", "quip", "quip_sharp", "vptq", "spqr", "higgs", "quanto", "torchao", "auto-round", "quark",
              "fp_quant", "marlin", "squeezellm", "ptpc_fp8", "sinq"})
            if (method == refused_method)
                return unsupported("quant_method", "a method whose sizes are described, such as gptq or fp8");
        fields_.fail(error_code::unknown, "quant_method", such_as("a quantisation method,", nearest(method, methods)));
    }

    /// Bits of a weight, of which several are packed into a 32-bit word.
    std::int32_t packed_bits(const field_names& field) {
        const std::int64_t width = fields_.number(field, 2, 8);
        if (fields_.ok() && width != 2 && width != 3 && width != 4 && width != 8)
            fields_.fail(error_code::unsupported, field, "2, 3, 4 or 8 bits");
        return static_cast<std::int32_t>(width);
    }
    /// The inputs of a group with one scale; -1 means the whole row.
    std::int32_t group(const field_names& field, std::int64_t fallback) {
        const std::int64_t size = fields_.number_or(field, fallback, -1, 1 << 20);
        if (size == 0) fields_.fail(error_code::out_of_range, field, "a positive group size, or -1 for whole rows");
        return size < 0 ? whole_row : static_cast<std::int32_t>(size);
    }

    /// E4M3 with one fp32 scale for each block of rows x columns.
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
        // GPTQModel: "-:EXPRESSION" is not quantised, "+:EXPRESSION" or EXPRESSION has settings of its own.
        const json* dynamic = fields_.object("dynamic");
        if (dynamic == nullptr) return;
        for (const auto& [key, settings] : dynamic->items()) {
            std::string_view name = key;
            if (taken(name, "-:")) {
                assign("dynamic", name, {});
                continue;
            }
            taken(name, "+:");
            config_fields own{settings.is_object() ? settings : object_, "quantization_config.dynamic"};
            const std::int64_t own_width = own.number_or("bits", width, 2, 8);
            const std::int64_t own_size = own.number_or("group_size", size == whole_row ? -1 : size, -1, 1 << 20);
            if (!own.ok()) return fields_.fail(own.error());
            if (own_size == 0 || own_width == 5 || own_width == 6 || own_width == 7)
                return unsupported("dynamic", "2, 3, 4 or 8 bits, in groups of at least one");
            assign("dynamic", name,
                   gptq(static_cast<std::int32_t>(own_width),
                        own_size < 0 ? whole_row : static_cast<std::int32_t>(own_size)));
        }
    }
    void awq_method() {
        const std::int64_t width = fields_.number({"bits", "w_bit"}, 4, 4);
        quantised(awq(static_cast<std::int32_t>(width), group({"group_size", "q_group_size"}, 128)));
    }
    /// MLX (mlx-lm's utils.py: quantize_model): what the whole model has, and modules of their own settings by name, of
    /// which false is not quantised.
    void mlx_method() {
        const precision whole = mlx_format(fields_);
        if (!fields_.ok()) return;
        quantised(whole);
        for (const auto& [name, own] : object_.items()) {
            if (own.is_boolean() && !own.get<bool>()) assign(name.c_str(), name, {});
            if (!own.is_object()) continue;
            config_fields settings{own, "quantization"};
            const precision format = mlx_format(settings);
            if (!settings.ok()) return fields_.fail(settings.error());
            if (!(format == whole)) assign(name.c_str(), name, format);
        }
    }
    static precision mlx_format(config_fields& c) {
        // The other modes (mxfp4, mxfp8, nvfp4) quantise the embedding as well, which those formats do not say here.
        if (c.text_or("mode", "affine") != "affine") c.fail(error_code::unsupported, "mode", "affine");
        const std::int64_t width = c.number("bits", 2, 8), size = c.number("group_size", 32, 128);
        if (c.ok() && width == 7) c.fail(error_code::unsupported, "bits", "2, 3, 4, 5, 6 or 8 bits");
        return mlx(static_cast<std::int32_t>(width), static_cast<std::int32_t>(size));
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
                                        strategy == "channel" ? whole_row : static_cast<std::int32_t>(size),
                                        {.zero_points = !symmetric, .group_index = reordered});
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

    /// "Linear" as a target includes the head, unless an ignore list names it.
    void compressed_tensors() { groups(head::quantised); }
    enum class head : bool { left, quantised };
    void groups(head of_linear) {
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
                if (of_linear == head::quantised) formats_.set_head(found.format);
            } else {
                listed.push_back(std::move(found));
            }
        }
        // Modules that no group targets are not quantised.
        for (const auto& [format, names] : listed)
            for (const std::string_view name : names) assign("config_groups", name, format);
    }

    maybe<precision> algorithm(std::string_view name, const char* field) {
        struct named_format {
            std::string_view name;
            precision format;
        };
        static constexpr std::array known{
            named_format{"FP8", fp8_tensor_static}, named_format{"FP8_PER_CHANNEL_PER_TOKEN", fp8_channel},
            named_format{"FP8_PB_WO", fp8_block},   named_format{"FP8_PB_REAL", fp8_block},
            named_format{"NVFP4", nvfp4_static},    named_format{"NVFP4_AWQ", nvfp4},
            named_format{"W4A16_NVFP4", nvfp4},     named_format{"MXFP8", mxfp8},
            named_format{"MXFP4", mxfp4},           named_format{"W4A8_MXFP4_FP8", mxfp4}};
        for (const auto& [called, format] : known)
            if (called == name) return format;
        fields_.fail({error_code::unsupported, fields_.label(field), name, "FP8, NVFP4, MXFP8 or MXFP4"});
        return {};
    }
    void modelopt() {
        const std::string_view name = fields_.text_or("quant_algo", "");
        if (name.empty() && fields_.has("config_groups")) return groups(head::left);
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

    /// The lists of modules that are not quantised.
    void exceptions() {
        for (const char* field : {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules",
                                  "llm_int8_skip_modules", "skip_modules"}) {
            const json* list = fields_.list(field);
            if (list == nullptr) continue;
            for (const json& entry : *list) {
                const auto* name = entry.get_ptr<const json::string_t*>();
                if (name == nullptr) return fields_.fail(error_code::malformed, field, "a list of names");
                if (std::string_view{*name}.find_first_not_of(name->starts_with("re:") ? "re:.*" : ".*") ==
                    std::string::npos)
                    return unsupported(field,
                                       "names of modules: a wildcard for all of them would leave nothing quantised");
                assign(field, *name, {});
                if (!fields_.ok()) return;
            }
        }
    }

    /// The format of the cache that the checkpoint has scales for: fp8, or none. Caches of other formats, and those
    /// whose scales are computed while they are filled, are taken as not calibrated.
    void read_cache() {
        // Engines ask the method that is stated: one without is not applied (vLLM, get_kv_cache_quant_algo_string).
        const std::string_view method = fields_.text_or("quant_method", "");
        const cache_calibrator by = method.starts_with("modelopt")   ? cache_calibrator::modelopt
                                    : method == "compressed-tensors" ? cache_calibrator::compressed_tensors
                                                                     : cache_calibrator::none;
        if (by == cache_calibrator::none) return;
        bool fp8 = false;
        const auto scheme = object_.find("kv_cache_scheme");
        if (scheme != object_.end() && scheme->is_object()) {
            config_fields c{*scheme, "quantization_config.kv_cache_scheme"};
            fp8 = c.number_or("num_bits", 8, 1, 32) == 8 && c.text_or("type", "int") == "float" &&
                  !c.flag_or("dynamic", false);
            if (!c.ok()) return fields_.fail(c.error());
        } else if (by == cache_calibrator::modelopt) {
            const std::string_view named = fields_.text_or(
                scheme != object_.end() && scheme->is_string() ? "kv_cache_scheme" : "kv_cache_quant_algo", "");
            fp8 = named == "FP8" || named == "fp8";
        }
        if (fp8) model_.mixed.cache = {by, fp8_e4m3};
    }

    static constexpr std::array<named_method, 14> methods{{{"fp8", &reader::fp8},
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
                                                           {"bitnet", &reader::bitnet},
                                                           {"mlx", &reader::mlx_method}}};

    const json& object_;
    config_fields fields_;
    precision stored_;
    model& model_;
    assignment formats_;
    text<63> last_list_{"quantization_config"};  ///< the list that was read last, which an error of the whole names
};

}  // namespace quantization

inline status read_quantization_config(const nlohmann::json& object, const precision& stored, model& m) {
    return quantization::reader{object, stored, m}.read();
}

}  // namespace llmres::inline v0::detail
