// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/error.hpp>
#include <llmres/io/config_fields.hpp>
#include <llmres/io/hf_config_decoders.hpp>
#include <llmres/model.hpp>
#include <llmres/nearest.hpp>
#include <llmres/parameters.hpp>
#include <string>
#include <string_view>
#include <system_error>

/// A model from the `config.json` that Hugging Face repositories carry. What changes the count and is not understood is
/// refused by name: no model is guessed. Errors name the field as the file spells it.
namespace llmres {

/// Reads the text of a config.json.
inline result<model> read_hf_config(std::string_view json_text);

/// Reads a config.json, or the one in a folder. The model is named after its folder (or file, if it is called otherwise).
inline result<model> load_hf_config(const std::filesystem::path& path);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::hf {

/// How each `model_type` is read.
struct family {
    std::string_view model_type;
    model (*read)(config_fields&);
    constexpr operator std::string_view() const { return model_type; }  // NOLINT(google-explicit-constructor)
};

inline constexpr std::array families{
    family{"llama", read_llama},
    family{"mistral", read_mistral},
    family{"ministral", read_mistral},
    family{"ministral3", read_mistral},
    family{"qwen2", read_qwen2},
    family{"qwen3", read_qwen3},
    family{"gemma", read_gemma},
    family{"gemma2", read_gemma2},
    family{"gemma3_text", read_gemma3_text},
    family{"phi3", read_mistral},  // fused projections: the same counts as llama, and a window where the file has one
    family{"mixtral", read_mixtral},
    family{"qwen2_moe", read_qwen2_moe},
    family{"qwen3_moe", read_qwen3_moe},
    family{"deepseek", read_deepseek},
    family{"deepseek_v2", read_deepseek_latent},
    family{"deepseek_v3", read_deepseek_v3},
};

inline constexpr field_names nested_field{"text_config", "llm_config", "language_config"};

/// Names that torch gives the formats of stored weights.
inline precision read_dtype(config_fields& c, const precision& fallback) {
    constexpr field_names field{"torch_dtype", "dtype"};
    std::string_view name = c.text_or(field, "");
    if (name.substr(0, 6) == "torch.") name.remove_prefix(6);
    if (name.empty()) return fallback;
    if (name == "bfloat16") return bf16;
    if (name == "float16" || name == "half") return fp16;
    if (name == "float32" || name == "float") return fp32;
    if (name == "float64") return fp64;
    if (name == "float8_e4m3fn") return fp8_e4m3;
    if (name == "float8_e5m2") return fp8_e5m2;
    c.fail(error_code::unknown, field, "bfloat16, float16 or float32");
    return fallback;
}

/// The format that `quantization_config` gives the matrices inside the layers.
inline precision read_quantization(const nlohmann::json& object, config_fields& outer, const precision& unquantised) {
    config_fields c{object, "quantization_config"};
    precision format = unquantised;
    const std::string_view method = c.text_or("quant_method", "");
    if (method == "fp8") {
        format = fp8_e4m3;
        if (c.has("weight_block_size")) {
            tile scale{};
            scale.rows = static_cast<std::int32_t>(c.number_at("weight_block_size", 0, 1, 65536));
            scale.columns = static_cast<std::int32_t>(c.number_at("weight_block_size", 1, 1, 65536));
            scale.bytes = 4;
            format = fp8_block;
            format.parts[1] = scale;
        }
    } else if (c.ok()) {
        c.fail(method.empty() ? error_code::missing : error_code::unsupported, "quant_method", "fp8");
    }
    outer.keep(c.ok() ? status{done{}} : status{c.error()});
    return format;
}

inline const family* find_family(std::string_view model_type) {
    for (const family& f : families)
        if (f.model_type == model_type) return &f;
    return nullptr;
}

inline result<model> read_config(const nlohmann::json& document) {
    config_fields outer{document};
    const std::string_view outer_type = outer.text_or("model_type", "");
    const nlohmann::json* nested = outer.object(nested_field);
    if (!outer.ok()) return outer.error();

    std::string_view type = outer_type;
    config_fields inner = outer;
    if (nested != nullptr) {
        inner = config_fields{*nested, outer.label(nested_field), true};
        const std::string_view inner_type = inner.text_or("model_type", "");
        if (!inner_type.empty()) type = inner_type;
    }
    const family* found = find_family(type);
    if (found == nullptr)
        return refused(type.empty() ? error_code::missing : error_code::unknown, "model_type", type,
                       such_as("a model_type that is described,", nearest(type, families)));
    model m = found->read(inner);
    if (!inner.ok()) return inner.error();
    if (nested != nullptr && !inner.has("tie_word_embeddings") && outer.has("tie_word_embeddings"))
        m.tied_head = outer.flag_or("tie_word_embeddings", false);

    m.architecture = outer_type.empty() ? type : outer_type;
    const std::string_view full_name = outer.text_or("_name_or_path", outer_type);
    m.name = full_name.substr(full_name.find_last_of('/') + 1);
    m.weights = read_dtype(outer, read_dtype(inner, m.weights));
    if (const nlohmann::json* quantization = outer.object("quantization_config"))
        m.weights = read_quantization(*quantization, outer, m.weights);
    if (!inner.ok()) return inner.error();
    if (!outer.ok()) return outer.error();
    if (const status valid = validate(m); !valid) return valid.error();
    if (is_saturated(count_parameters(m)))
        return refused(error_code::overflow, inner.largest_field(), inner.largest_value(), "fewer than 2^63 parameters in all");
    return m;
}

}  // namespace detail::hf

inline result<model> read_hf_config(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    if (!document) return document.error();
    return detail::hf::read_config(document->root);
}

inline result<model> load_hf_config(const std::filesystem::path& path) {
    constexpr std::uintmax_t largest = 16u << 20;  // the largest config.json seen is below 1 MB
    std::error_code failed;
    const bool folder = std::filesystem::is_directory(path, failed);
    const std::filesystem::path file = folder ? path / "config.json" : path;
    const std::string shown = file.generic_string();
    const std::uintmax_t size = std::filesystem::file_size(file, failed);
    if (failed) return refused(error_code::io, "config", shown, "a config.json that can be read");
    if (size > largest) return refused(error_code::io, "config", shown, "a config.json of at most 16 MiB");
    std::ifstream stream{file, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
    if (!stream) return refused(error_code::io, "config", shown, "a config.json that can be read");
    result<model> read = read_hf_config(content);
    if (!read) return read;
    model named = *read;
    const std::filesystem::path whole = std::filesystem::absolute(file, failed);
    const std::string name =
        file.filename() == "config.json" ? whole.parent_path().filename().string() : file.stem().string();
    if (!name.empty()) named.name = std::string_view{name};
    return named;
}

}  // namespace llmres
