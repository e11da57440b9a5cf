// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <filesystem>
#include <fstream>
#include <llmres/io/files/adapter_folder.hpp>
#include <llmres/io/files/checkpoint_stored.hpp>
#include <llmres/io/files/gguf_parts.hpp>
#include <llmres/io/files/open.hpp>
#include <llmres/io/files/quantization_beside.hpp>
#include <llmres/io/files/safetensors_index.hpp>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/cluster/device_reader.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/io/logs/reader.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

/// Everything that opens a file, and the only public header that does: jobs, models, checkpoints and devices by their
/// path. Each function reads the bytes and leaves what they mean to the header that parses them without a file system.
namespace llmres::inline v0 {

/// A job document, as read_job() of io/job_json.hpp reads it; the models, drafts and device files that it names by a
/// path are opened. Relative paths start from `folder`, that of the document; from the working directory if it is
/// empty.
template <std::same_as<nlohmann::json> Json>
result<plan_request> read_job(const Json& document, const std::filesystem::path& folder);
inline result<plan_request> read_job(std::string_view document, const std::filesystem::path& folder);

/// The job_sources with which these read.
inline job_sources sources_in(const std::filesystem::path& folder);

/// A preset, as find_model() understands names; a config.json or its folder; a .gguf file; a .safetensors file or
/// index, described by the config.json beside it; or an adapter's folder as peft saves it, which is its base. What
/// names a file is read as one: it exists, or has a known ending. A name that nobody knows is refused with the nearest
/// three.
inline result<model_source> find_model_source(std::string_view source, const std::filesystem::path& folder = {});

/// The text of a job document: a regular file of at most 16 MiB. Pipes, folders and devices are refused.
inline result<std::string> read_job_text(const std::filesystem::path& path);

/// The model of a config.json, or of the one in a folder, named after its folder (after the file, if that is called
/// otherwise).
inline result<model> load_hf_config(const std::filesystem::path& path);

/// The denoising network that comes with the library under that name, or that a diffusers config.json (or its folder)
/// describes; nothing if the source is neither, and then it may name another model.
inline result<maybe<denoiser>> find_denoiser(std::string_view source);

/// The header of a GGUF file. Of a split model name any part: the others lie beside it (`-00001-of-00005.gguf`).
inline result<gguf_file> load_gguf(const std::filesystem::path& path);

/// The headers of a safetensors file, of all files that an index (`*.safetensors.index.json`) names, or of the
/// checkpoint in a folder.
inline result<safetensors_checkpoint> load_safetensors(const std::filesystem::path& path);

/// The header of a .gguf or .safetensors file (with its other parts), held against the model that it is said to be.
inline result<stored_weights> read_stored_weights(const std::filesystem::path& path, const model_source& said);

/// Whether read_stored_weights() reads a file of that name.
inline bool holds_weights(const std::filesystem::path& path);

/// The devices in a file that `llmres-probe describe` or `calibrate` wrote; one that cannot be read is `io`.
inline result<device_file> read_device_file(const std::filesystem::path& path);

/// A runtime profile by its name, or in a file that ends in .json; relative paths start from `folder`.
inline result<runtime_profile> find_profile(std::string_view name, const std::filesystem::path& folder = {});

/// What an engine printed, from its log: read in pieces, so that a log of any length takes no more memory. `io` is one
/// that cannot be read; else as logs::reader says.
inline result<logs::engine_log> load_engine_log(const std::filesystem::path& path);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A path of a document, from its folder.
inline std::filesystem::path from_folder(const std::filesystem::path& folder, std::string_view path) {
    const std::filesystem::path named{std::string{path}};
    return named.is_relative() && !folder.empty() ? folder / named : named;
}

/// The same request, with the path of its device file as it was opened.
inline result<plan_request> with_device_path(result<plan_request> read, const std::filesystem::path& folder) {
    if (read && !read->device.empty()) read->device = from_folder(folder, read->device).string();
    return read;
}

/// The config.json of a path, with what files beside it say of its quantisation.
inline result<nlohmann::json> read_config_document(const std::filesystem::path& file) {
    const result<std::string> content = read_config_text(file);
    if (!content) return content.error();
    result<json_document> document = parse_json_object(*content);
    if (!document) return document.error();
    nlohmann::json root = std::move(document->root);
    if (const status s = add_quantization_beside(file, root); !s) return s.error();
    return root;
}

/// Whether the modules.json of sentence-transformers beside a config.json pools what the model outputs. Its class may
/// be that of a model which generates, as Qwen3-Embedding's is. (vLLM, transformers_utils/config.py:
/// get_pooling_config.)
inline bool has_pooling_beside(const std::filesystem::path& config) {
    const result<std::string> text = read_text("modules.json", config.parent_path() / "modules.json", 1u << 20, "");
    return text && text->find("sentence_transformers.models.Pooling") != std::string::npos;
}

/// The model under the name of its config.json's place.
inline model named_after(model m, const std::filesystem::path& file) {
    const std::string name = config_name(file);
    if (!name.empty()) m.name = std::string_view{printable(name)};
    return m;
}

/// The checkpoint beside a config.json: the headers of its files, or their index where these are not there.
inline result<safetensors_checkpoint> checkpoint_beside(const std::filesystem::path& config) {
    const std::filesystem::path folder = config.parent_path();
    result<safetensors_checkpoint> whole = load_safetensors(folder.empty() ? "." : folder);
    const std::filesystem::path index = folder / "model.safetensors.index.json";
    std::error_code failed;
    if (whole || whole.error().code != error_code::io || !std::filesystem::exists(index, failed)) return whole;
    return safetensors::load_index(index, safetensors::index_files::none);
}

/// The model that the tensors beside a config.json make, whose `model_type` or structure no formula describes; the
/// refusal of the config.json where there are none.
inline result<model_source> model_from_tensors(const std::filesystem::path& config, const error& refusal) {
    const bool undescribed = refusal.code == error_code::unknown || refusal.code == error_code::unsupported;
    if (!undescribed || config.filename() != "config.json") return refusal;
    const result<safetensors_checkpoint> checkpoint = checkpoint_beside(config);
    if (!checkpoint) return checkpoint.error().code == error_code::io ? refusal : checkpoint.error();
    const result<nlohmann::json> document = read_config_document(config);
    if (!document) return document.error();
    const result<model> read = safetensors::stored_reader{*document, *checkpoint}.read();
    if (!read) return read.error();
    return model_source{.model = named_after(*read, config)};
}

}  // namespace detail

inline job_sources sources_in(const std::filesystem::path& folder) {
    return {.model = [folder](std::string_view name) { return find_model_source(name, folder); },
            .device =
                [folder](std::string_view path) {
                    const std::filesystem::path file = detail::from_folder(folder, path);
                    const result<device_file> read = read_device_file(file);
                    if (read || read.error().field != "device file") return read;
                    error refusal = read.error();  // of the file as a whole: its path says more than its first bytes
                    refusal.value = std::string_view{file.string()};
                    return result<device_file>{refusal};
                },
            .runtime = [folder](std::string_view name) { return find_profile(name, folder); }};
}

template <std::same_as<nlohmann::json> Json>
result<plan_request> read_job(const Json& document, const std::filesystem::path& folder) {
    return detail::with_device_path(read_job(document, sources_in(folder)), folder);
}

/// Reads a document as text; relative paths in it start from `folder`.
inline result<plan_request> read_job(std::string_view document, const std::filesystem::path& folder) {
    return detail::with_device_path(read_job(document, sources_in(folder)), folder);
}

inline result<runtime_profile> find_profile(std::string_view name, const std::filesystem::path& folder) {
    if (!name.ends_with(".json")) return find_compiled_profile(name);
    const std::filesystem::path file = detail::from_folder(folder, name);
    const result<std::string> content =
        detail::read_text("runtime", file, 1u << 20, "a profile that can be read, of at most 1 MiB");
    if (!content) return content.error();
    // A file's base is a compiled profile: files that name each other would have no end.
    return read_runtime_profile(*content, find_compiled_profile);
}

inline result<logs::engine_log> load_engine_log(const std::filesystem::path& path) {
    const auto refuse = [&] {
        return refused(error_code::io, "log", path.generic_string(), "a file that can be read");
    };
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return refuse();  // opening a pipe waits until someone writes
    std::ifstream stream{path, std::ios::binary};
    if (!stream) return refuse();
    logs::reader reader;
    std::vector<char> piece(std::size_t{1} << 16);
    while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())), stream.gcount() > 0)
        reader.feed({piece.data(), static_cast<std::size_t>(stream.gcount())});
    if (stream.bad()) return refuse();
    return reader.finish();
}

namespace detail {

/// A MODEL that is no adapter's folder.
inline result<model_source> find_whole_model(std::string_view source, const std::filesystem::path& folder) {
    if (const status s = detail::validate_source(source); !s) return s.error();
    const std::filesystem::path path = folder / std::filesystem::path{std::string{source}};
    std::error_code ignored;
    const bool exists = std::filesystem::exists(path, ignored);
    if (!exists && !detail::looks_like_a_path(source))
        return detail::preset_or(source, "a model of `llmres models`, a config.json or its folder, or a .gguf file");
    if (path.extension() == ".gguf") {
        const result<gguf_file> file = load_gguf(path);
        return file ? model_source_of(*file) : result<model_source>{file.error()};
    }
    if (holds_weights(path) && !exists)
        return refused(error_code::io, "model", path.string(), "a file that can be read");
    const std::filesystem::path config =
        detail::config_file(holds_weights(path) ? path.parent_path() / "config.json" : path);
    const result<model> described = load_hf_config(config);
    if (!described) return detail::model_from_tensors(config, described.error());
    return model_source{.model = *described, .warning = detail::warning_of_name(*described)};
}

/// The model that an adapter's folder names, with the adapter.
inline result<model_source> find_adapted_model(const std::filesystem::path& folder) {
    const result<adapter_folder> read = read_adapter_folder(folder);
    if (!read) return read.error();
    result<model_source> base = find_whole_model(read->base, folder);
    if (!base)
        return refused(base.error().code, "base_model_name_or_path", printable(read->base),
                       "a model of `llmres models`, or the path of its folder: give that model with --max_loras 1");
    base->adapter = read->adapter;
    base->warning = "planned as " + std::string{base->model.name.view()} + " with the folder's adapter of rank " +
                    std::to_string(read->adapter.rank);
    return base;
}

}  // namespace detail

inline result<model_source> find_model_source(std::string_view source, const std::filesystem::path& folder) {
    if (const status s = detail::validate_source(source); !s) return s.error();
    const std::filesystem::path path = folder / std::filesystem::path{std::string{source}};
    return detail::holds_adapter_alone(path) ? detail::find_adapted_model(path)
                                             : detail::find_whole_model(source, folder);
}

inline result<std::string> read_job_text(const std::filesystem::path& path) {
    return detail::read_text("JOB", path, 16u << 20, "a file that can be read, of at most 16 MiB");
}

inline result<model> load_hf_config(const std::filesystem::path& path) {
    const std::filesystem::path file = detail::config_file(path);
    const result<nlohmann::json> document = detail::read_config_document(file);
    if (!document) return document.error();
    const result<model> read = detail::hf::read_config(*document);
    if (!read) return read;
    const model named = detail::named_after(*read, file);
    return generates(named) && detail::has_pooling_beside(file) ? pooled(named) : named;
}

inline result<maybe<denoiser>> find_denoiser(std::string_view source) {
    if (const maybe<denoiser> preset = find_denoiser_preset(source)) return preset;
    std::error_code ignored;
    const std::filesystem::path file = detail::config_file(std::string{source.substr(0, source.find('\0'))});
    if (file.extension() != ".json" || !std::filesystem::is_regular_file(file, ignored)) return maybe<denoiser>{};
    const result<std::string> content = detail::read_config_text(file);
    if (!content) return content.error();
    if (content->find("_class_name") == std::string::npos) return maybe<denoiser>{};
    const result<json_document> document = parse_json_object(*content);
    if (!document || !document->root.contains("_class_name")) return maybe<denoiser>{};
    const result<denoiser> read = detail::hf::read_denoiser(document->root);
    if (!read) return read.error();
    denoiser named = *read;
    const std::string name = detail::config_name(file);
    if (!name.empty()) std::visit([&](auto& network) { network.name = std::string_view{name}; }, named);
    return maybe<denoiser>{named};
}

inline result<gguf_file> load_gguf(const std::filesystem::path& path) {
    result<gguf_file> first = detail::gguf::load_one(path);
    if (!first) return first;
    const std::int64_t parts = first->integer_or("split.count", 1);
    if (parts <= 1) return first;
    if (parts > static_cast<std::int64_t>(gguf_limits::files))
        return refused(error_code::out_of_range, "split.count", parts, "at most 1000 parts");
    return detail::gguf::load_parts(path, static_cast<std::uint64_t>(parts));
}

inline result<safetensors_checkpoint> load_safetensors(const std::filesystem::path& path) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) {
        for (const char* name : {"model.safetensors.index.json", "model.safetensors"})
            if (std::filesystem::exists(path / name, failed)) return load_safetensors(path / name);
        return refused(error_code::io, "safetensors", path.generic_string(),
                       "a folder with model.safetensors or its index");
    }
    return path.extension() == ".json" ? detail::safetensors::load_index(path) : detail::safetensors::load_one(path);
}

inline result<stored_weights> read_stored_weights(const std::filesystem::path& path, const model_source& said) {
    if (path.extension() == ".gguf") {
        const result<gguf_file> file = load_gguf(path);
        return file ? result<stored_weights>{weights_in(*file, said)} : result<stored_weights>{file.error()};
    }
    const result<safetensors_checkpoint> checkpoint = load_safetensors(path);
    return checkpoint ? result<stored_weights>{weights_in(*checkpoint, said)}
                      : result<stored_weights>{checkpoint.error()};
}

inline bool holds_weights(const std::filesystem::path& path) {
    return path.extension() == ".gguf" || path.extension() == ".safetensors" ||
           path.filename().string().ends_with(".safetensors.index.json");
}

inline result<device_file> read_device_file(const std::filesystem::path& path) {
    const result<std::string> written =
        detail::read_text("device file", path, 16u << 20, "a file that can be read, of at most 16 MiB");
    return written ? parse_device_file(*written) : result<device_file>{written.error()};
}

}  // namespace llmres::inline v0
