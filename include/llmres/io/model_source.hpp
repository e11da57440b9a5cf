// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <llmres/error.hpp>
#include <llmres/io/config_fields.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/model.hpp>
#include <llmres/models.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

/// The MODEL of a job or a command: a preset's id, or a file that describes one.
namespace llmres {

/// A preset id, a config.json, or the folder that holds one. What names a file is read as one: it exists, or it has a
/// folder or a known ending in it.
inline result<model> find_model_source(std::string_view source, const std::filesystem::path& here = {}) {
    const std::filesystem::path path = here / std::filesystem::path{std::string{source}};
    std::error_code ignored;
    const bool names_a_file = source.find('/') != std::string_view::npos || path.extension() == ".json";
    if (names_a_file || std::filesystem::exists(path, ignored)) return load_hf_config(path);
    return find_model(source);
}

/// As JSON: such a string, or {"from": MODEL, "layers": n}, the model cut to its first n layers.
inline result<model> read_model_source(const nlohmann::json& value, const std::filesystem::path& here = {}) {
    if (value.is_string()) return find_model_source(value.get_ref<const std::string&>(), here);
    if (!value.is_object())
        return refused(error_code::malformed, "model", value.dump(), "a name, a path, or {\"from\": MODEL, \"layers\": n}");
    config_fields fields{value, "model"};
    for (const auto& [key, unused] : value.items())
        if (key != "from" && key != "layers") return refused(error_code::unknown, "model." + key, unused.dump(), "from or layers");
    const std::string_view from = fields.text_or("from", "");
    if (!fields.ok()) return fields.error();
    if (from.empty()) return refused(error_code::missing, "model.from", "absent", "a name or a path");
    result<model> whole = find_model_source(from, here);
    if (!whole) return whole;
    const std::int64_t layers = fields.number_or("layers", whole->layers.size, 1, whole->layers.size);
    if (!fields.ok()) return fields.error();
    whole->layers = whole->layers.first(static_cast<std::int32_t>(layers));
    return whole;
}

}  // namespace llmres
