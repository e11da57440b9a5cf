// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/io/config_fields.hpp>
#include <llmres/model.hpp>
#include <llmres/precision.hpp>
#include <string>
#include <string_view>

/// In which format the weights of a config.json are stored: `torch_dtype`, and `quantization_config` in the words of each
/// method. Files that mix formats are refused: one format would be wrong for some of their weights.
namespace llmres::detail::hf {

/// Names that torch gives the formats of stored weights.
inline precision read_dtype(config_fields& c, const precision& fallback) {
    constexpr field_names field{"torch_dtype", "dtype"};
    std::string_view name = c.text_or(field, "");
    if (name.substr(0, 6) == "torch.") name.remove_prefix(6);
    if (name.empty() || name == "auto") return fallback;
    if (name == "bfloat16") return bf16;
    if (name == "float16" || name == "half") return fp16;
    if (name == "float32" || name == "float") return fp32;
    if (name == "float64") return fp64;
    if (name == "float8_e4m3fn") return fp8_e4m3;
    if (name == "float8_e5m2") return fp8_e5m2;
    c.fail(error_code::unknown, field, "bfloat16, float16 or float32");
    return fallback;
}

/// E4M3 with one fp32 scale a block of rows x columns.
inline precision fp8_blocks(config_fields& c, const char* field) {
    const auto rows = static_cast<std::int32_t>(c.number_at(field, 0, 1, 65536));
    const auto columns = static_cast<std::int32_t>(c.number_at(field, 1, 1, 65536));
    if (rows == 128 && columns == 128) return fp8_block;
    precision format = fp8_block;
    format.name = "fp8_block";
    format.name.append(digits(rows));
    format.name.append("x");
    format.name.append(digits(columns));
    format.parts[1].rows = rows;
    format.parts[1].columns = columns;
    return format;
}

/// One group of compressed-tensors or ModelOpt: what `weights` says.
inline precision read_weight_scheme(config_fields& c, const nlohmann::json& group) {
    static const nlohmann::json nothing = nlohmann::json::object();
    config_fields g{group, "quantization_config.config_groups", true};
    const nlohmann::json* weights = g.object("weights");
    const nlohmann::json* activations = g.object("input_activations");
    config_fields w{weights != nullptr ? *weights : nothing, "quantization_config.config_groups.weights", true};
    config_fields a{activations != nullptr ? *activations : nothing,
                    "quantization_config.config_groups.input_activations", true};
    constexpr field_names bits_field{"num_bits"};
    constexpr field_names size_field{"group_size"};
    const std::int64_t bits = w.number(bits_field, 1, 16);
    const std::int64_t size = w.number_or(size_field, -1, -1, 65536);
    const std::string_view type = w.text_or("type", "int");
    const std::string_view strategy = w.text_or("strategy", size > 0 ? "group" : "tensor");
    const bool fixed_input = activations != nullptr && !a.flag_or("dynamic", false);
    const auto width = static_cast<std::int32_t>(bits);
    const auto columns = static_cast<std::int32_t>(size > 0 ? size : whole_row);
    precision format = bf16;
    if (type == "float" && bits == 8) {
        format = strategy == "block"     ? fp8_blocks(w, "block_structure")
                 : strategy == "channel" ? fp8_channel_s16
                 : fixed_input           ? fp8_tensor_static
                                         : fp8_tensor;
    } else if (type == "float" && bits == 4 && size == 16) {
        format = fixed_input ? nvfp4_static : nvfp4;
    } else if (type == "float" && bits == 4 && size == 32) {
        format = mxfp4;
    } else if (type == "int" && bits == 8 && size <= 0 && activations != nullptr) {
        format = strategy == "channel" ? int8_channel_s16 : int8_tensor;
    } else if (type == "int" && (bits == 4 || bits == 8)) {
        format = packed_int(width, columns, !w.flag_or("symmetric", true),
                            w.has("actorder") && w.text_or("actorder", "") == "group");
    } else if (w.ok()) {
        w.fail(error_code::unsupported, bits_field, "float of 8 or 4 bits, or int of 8 or 4 bits");
    }
    for (const config_fields* part : {&g, &w, &a})
        if (!part->ok()) c.fail(part->error());
    return format;
}

/// The one scheme of all groups.
inline precision read_groups(config_fields& c) {
    constexpr field_names field{"config_groups"};
    const nlohmann::json* groups = c.object(field);
    precision format = bf16;
    bool first = true;
    if (groups != nullptr) {
        for (const nlohmann::json& group : *groups) {
            if (!group.is_object()) continue;
            const precision one = read_weight_scheme(c, group);
            if (!first && c.ok() && !(one == format))
                c.fail(error_code::unsupported, field, "the same format for all weights that are quantised");
            format = one;
            first = false;
        }
    }
    if (first) c.fail(error_code::missing, field, "how weights are quantised");
    return format;
}

/// Whether a list of modules that stay as they are names a whole module: its name ends there, or in a wildcard, or goes on
/// with one of its parts that would not be left out alone.
inline bool leaves_out(config_fields& c, std::string_view module) {
    for (const char* field : {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"}) {
        const nlohmann::json* names = c.holds_list(field) ? c.list(field) : nullptr;
        if (names == nullptr) continue;
        for (const nlohmann::json& entry : *names) {
            const auto* name = entry.get_ptr<const nlohmann::json::string_t*>();
            if (name == nullptr || name->find("vis") != std::string::npos) continue;
            const std::size_t at = name->find(module);
            if (at == std::string::npos) continue;
            const std::string_view rest = std::string_view{*name}.substr(at + module.size());
            for (const std::string_view whole : {"", "*", ".*", "s", "s*", "s.*", "s.*.*", ".q_proj", ".qkv_proj",
                                                 ".q_a_proj", ".gate_proj", "s.gate_proj", ".out_proj"})
                if (rest == whole) return true;
        }
    }
    return false;
}

/// Puts the format of `quantization_config` into the model.
inline void read_quantization(const nlohmann::json& object, config_fields& outer, model& m) {
    config_fields c{object, "quantization_config"};
    constexpr field_names method_field{"quant_method"};
    constexpr field_names algorithm_field{"quant_algo"};
    const std::string_view given = c.text_or(method_field, "");
    const std::string_view algorithm = c.text_or(algorithm_field, "");
    const std::string_view method = given.empty() && !algorithm.empty() ? std::string_view{"modelopt"} : given;
    const auto bits = [&](const field_names& field) { return static_cast<std::int32_t>(c.number(field, 2, 8)); };
    const auto group = [&](const field_names& field) {
        const std::int64_t size = c.number_or(field, -1, -1, 65536);
        return static_cast<std::int32_t>(size > 0 ? size : whole_row);
    };
    precision format = m.weights;
    quantised_part part = quantised_part::matrices;
    if (algorithm == "MIXED_PRECISION") {
        c.fail(error_code::unsupported, algorithm_field, "the same format for all weights that are quantised");
    } else if (method == "fp8") {
        const bool fixed_input = c.text_or("activation_scheme", "dynamic") == "static";
        format = c.has("weight_block_size") ? fp8_blocks(c, "weight_block_size")
                 : fixed_input              ? fp8_tensor_static
                                            : fp8_tensor;
    } else if (method == "fbgemm_fp8") {
        format = fp8_channel;
    } else if (method == "compressed-tensors") {
        format = read_groups(c);
    } else if (method == "modelopt" || method == "modelopt_fp4") {
        format = c.has("config_groups") ? read_groups(c) : algorithm == "NVFP4" ? nvfp4_static : fp8_tensor_static;
        if (!c.has("config_groups") && algorithm != "NVFP4" && algorithm != "FP8")
            c.fail(error_code::unsupported, algorithm_field, "FP8 or NVFP4");
    } else if (method == "gptq") {
        format = gptq(bits("bits"), group("group_size"));
    } else if (method == "awq") {
        format = awq(bits({"bits", "w_bit"}), group({"group_size", "q_group_size"}));
    } else if (method == "bitsandbytes") {
        const std::string_view type = c.text_or("bnb_4bit_quant_type", "fp4");
        const bool twice = c.flag_or("bnb_4bit_use_double_quant", false);
        if (c.flag_or({"load_in_8bit", "_load_in_8bit"}, false))
            format = bnb_int8;
        else if (type == "nf4")
            format = twice ? nf4_double : nf4;
        else if (type == "fp4")
            format = twice ? fp4_double : fp4;
        else
            c.fail(error_code::unsupported, "bnb_4bit_quant_type", "nf4 or fp4");
    } else if (method == "mxfp4") {
        format = mxfp4;
        part = quantised_part::experts;
    } else if (method == "bitnet") {
        format = ternary;
    } else if (c.ok()) {
        c.fail(method.empty() ? error_code::missing : error_code::unsupported, method_field,
               "fp8, fbgemm_fp8, compressed-tensors, modelopt, gptq, awq, bitsandbytes, mxfp4 or bitnet");
    }
    if (leaves_out(c, "self_attn") || leaves_out(c, "linear_attn"))
        part = leaves_out(c, "shared_expert") || part == quantised_part::experts ? quantised_part::experts
                                                                                 : quantised_part::feed_forward;
    m.weights = format;
    for (layer& l : m.layers.kinds) l.quantised = part;
    m.prediction.block.quantised = part;
    if (!c.ok()) outer.fail(c.error());
}

}  // namespace llmres::detail::hf
