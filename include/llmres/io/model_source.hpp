// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <llmres/io/gguf.hpp>
#include <llmres/io/gguf_model.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/io/safetensors_model.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// The MODEL of a job or a command: a preset's id, or a file that describes one.
namespace llmres::inline v0 {

/// A model, and the mix of types of the GGUF file that it was read from, if it was.
struct model_source {
    llmres::model model{};
    maybe<gguf_mix> gguf{};  ///< of a GGUF file
};

/// A preset, as find_model() understands names; a config.json or its folder; a .gguf file; a .safetensors
/// file or index, described by the config.json beside it. What names a file is read as one: it exists, or has a known
/// ending. A name that nobody knows is refused with the nearest three.
inline result<model_source> find_model_source(std::string_view source, const std::filesystem::path& here = {});

/// As JSON: such a string, or {"from": MODEL, "layers": n}, the model cut to its first n layers.
inline result<model_source> read_model_source(const nlohmann::json& value, const std::filesystem::path& here = {});

/// What llama.cpp's quantiser calls the name, in either case: q4_k_m. A name that is a format as well (q8_0) means the
/// file, for nothing else is stored so; bf16, fp16 and fp32 do not.
inline maybe<gguf_mix> find_file_mix(std::string_view name) {
    if (name == bf16.name.view() || name == fp16.name.view() || name == fp32.name.view()) return {};
    const result<gguf_mix> mix = find_gguf_mix("weights", name);
    return mix ? maybe<gguf_mix>{*mix} : maybe<gguf_mix>{};
}

/// Bytes of one sort of weight that were predicted and are stored.
struct stored_difference {
    std::string what{};       ///< a role's name, or a tensor's where it has none
    std::int32_t layer = -1;  ///< -1: outside the layers, or all of them
    byte_count predicted{};
    byte_count stored{};
};

/// What a file of weights really holds.
struct stored_weights {
    byte_count files{};    ///< with their headers
    byte_count tensors{};  ///< without padding
    std::map<std::string, byte_count> by_role{};
    std::vector<stored_difference> differences{};  ///< from what the model's description predicts
};

/// The header of a .gguf or .safetensors file (with its other parts), held against the model that it is said to be.
inline result<stored_weights> read_stored_weights(const std::filesystem::path& path, const model_source& said);

/// Whether read_stored_weights() reads a file of that name.
inline bool holds_weights(const std::filesystem::path& path);

// ---- detail ---------------------------------------------------------------------------------------------------------

inline bool holds_weights(const std::filesystem::path& path) {
    return path.extension() == ".gguf" || path.extension() == ".safetensors" ||
           path.filename().string().ends_with(".safetensors.index.json");
}

inline result<model_source> find_model_source(std::string_view source, const std::filesystem::path& here) {
    if (source.find('\0') != std::string_view::npos || source.empty())
        return refused(error_code::malformed, "model", source.empty() ? "empty" : "a name with a zero byte",
                       "a name or a path");
    const std::filesystem::path path = here / std::filesystem::path{std::string{source}};
    std::error_code ignored;
    const bool names_a_file =
        path.extension() == ".json" || holds_weights(path) || source.front() == '.' || source.front() == '/';
    if (!names_a_file && !std::filesystem::exists(path, ignored)) {
        const result<model> preset = find_model(source);
        if (preset) return model_source{.model = *preset};
        error refusal = preset.error();
        if (refusal.expected == "a model")
            refusal.expected = "a model of `llmres models`, a config.json or its folder, or a .gguf file";
        return refusal;
    }
    if (path.extension() == ".gguf") {
        const result<gguf_file> file = load_gguf(path);
        if (!file) return file.error();
        const result<model> described = describe_gguf(*file);
        if (!described) return described.error();
        const result<gguf_mix> mix = gguf_mix_of(*file);
        if (!mix) return mix.error();
        return model_source{.model = *described, .gguf = *mix};
    }
    if (holds_weights(path) && !std::filesystem::exists(path, ignored))
        return refused(error_code::io, "model", path.string(), "a file that can be read");
    const std::filesystem::path config = holds_weights(path) ? path.parent_path() / "config.json"
                                         : std::filesystem::is_directory(path, ignored) ? path / "config.json"
                                                                                        : path;
    const result<model> described = load_hf_config(config);
    if (!described) return described.error();
    return model_source{.model = *described};
}

inline result<model_source> read_model_source(const nlohmann::json& value, const std::filesystem::path& here) {
    if (value.is_string()) return find_model_source(value.get_ref<const std::string&>(), here);
    if (!value.is_object())
        return refused(error_code::malformed, "model", value.dump(),
                       "a name, a path, or {\"from\": MODEL, \"layers\": n}");
    detail::config_fields fields{value, "model"};
    for (const auto& [key, unused] : value.items())
        if (key != "from" && key != "layers")
            return refused(error_code::unknown, "model." + key, unused.dump(), "from or layers");
    const std::string_view from = fields.text_or("from", "");
    if (!fields.ok()) return fields.error();
    if (from.empty()) return refused(error_code::missing, "model.from", "absent", "a name or a path");
    result<model_source> whole = find_model_source(from, here);
    if (!whole) return whole;
    layer_stack& layers = whole->model.layers;
    const std::int64_t kept = fields.number_or("layers", layers.size, 1, layers.size);
    if (!fields.ok()) return fields.error();
    layers = layers.first(static_cast<std::int32_t>(kept));
    return whole;
}

inline result<stored_weights> read_stored_weights(const std::filesystem::path& path, const model_source& said) {
    stored_weights found;
    if (path.extension() == ".gguf") {
        const result<gguf_file> file = load_gguf(path);
        if (!file) return file.error();
        found.files = file->size;
        for (const gguf_tensor_info& tensor : file->tensors) found.tensors += tensor.size;
        for (const auto& [role, size] : gguf_bytes_by_role(*file)) found.by_role[std::string{role}] = size;
        if (said.gguf)
            for (const gguf_difference& d : compare_gguf(*file, said.model, *said.gguf))
                found.differences.push_back({d.what, d.layer, d.predicted, d.stored});
        return found;
    }
    const result<safetensors_checkpoint> checkpoint = load_safetensors(path);
    if (!checkpoint) return checkpoint.error();
    found.files = checkpoint->size;
    found.tensors = checkpoint->tensor_bytes();
    for (const auto& [role, size] : safetensors_bytes_by_role(*checkpoint)) found.by_role[std::string{role}] = size;
    for (const safetensors_difference& d : compare_safetensors(*checkpoint, said.model, formats_of(said.model)))
        found.differences.push_back({d.what, -1, d.predicted, d.stored});
    return found;
}

}  // namespace llmres::inline v0
