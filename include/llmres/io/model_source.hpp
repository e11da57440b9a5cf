// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <llmres/io/hf/published.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/model_head.hpp>
#include <llmres/io/json/shape.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// The MODEL of a job or a command: a preset's name, or what a file says. Nothing is opened here: io/files.hpp does
/// that.
namespace llmres::inline v0 {

/// A model, and the mix of types of the GGUF file that it was read from, if it was.
struct model_source {
    llmres::model model{};   ///< the model
    maybe<gguf_mix> gguf{};  ///< only of a GGUF file
    /// What a person should know of how it was read; empty: nothing.
    std::string warning{};
    maybe<llmres::adapter> adapter{};  ///< only of a folder that holds an adapter, whose base the model is
    std::string_view library{};        ///< the runtime whose library has a model by that name and tag; empty: none
};

/// How a MODEL, as a document or a command line names it, becomes a model.
using model_finder = std::function<result<model_source>(std::string_view name)>;

/// The model_finder that opens no file: a preset, as find_model() understands names, or a repository of
/// io/hf/published.hpp. A path is refused.
inline result<model_source> find_preset(std::string_view name);

/// A MODEL as JSON: its name; or what a config.json of transformers holds, as an object with "model_type"; or {"from":
/// NAME} with what is other than in that model: "layers": n cuts it to its first n layers, "max_position_embeddings" is
/// another longest context (RoPE scaling), "tie_word_embeddings": false says that the head is loaded beside the
/// embedding, and "head" says what the model makes of its last layer (io/json/model_head.hpp). A shape, {"hidden",
/// "vocabulary", "layers", "attention": {...}, "feed_forward": {...}, ...}, has the names of models/layer.hpp's fields.
inline result<model_source> read_model_source(const nlohmann::json& value, const model_finder& find = find_preset);

/// The mix of a GGUF file by the name that llama.cpp's quantiser gives it, in either case: q4_k_m. A name that is a
/// format as well (q8_0) means the file, since nothing else is stored in it; bf16, fp16, fp32 and mxfp4 mean the format
/// (the file is mxfp4_moe).
inline maybe<gguf_mix> find_file_mix(std::string_view name);

/// The denoising network of a diffusion model that comes with the library, under its name in any spelling ("SDXL",
/// "FLUX.1-dev"); nothing for another name.
inline maybe<denoiser> find_denoiser_preset(std::string_view name);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Whether a MODEL is spelled as a file or folder and not as a name.
inline bool looks_like_a_path(std::string_view source) {
    for (const std::string_view ending : {".json", ".gguf", ".safetensors"})
        if (source.ends_with(ending)) return true;
    return source.starts_with('.') || source.starts_with('/');
}

/// Refuses what neither names a model nor a file.
inline status validate_source(std::string_view source) {
    if (source.find('\0') == std::string_view::npos && !source.empty()) return done{};
    return refused(error_code::malformed, "model", source.empty() ? "empty" : "a name with a zero byte",
                   "a name or a path");
}

/// The runtime whose library has names of the form "llama3.1:8b".
inline constexpr std::string_view ollama_library = "ollama";

/// Models of Ollama's library whose tag says another model than its words.
inline constexpr std::array<std::array<std::string_view, 2>, 9> ollama_names{
    {{"deepseek-r1:1.5b", "deepseek-r1-distill-qwen-1.5b"},
     {"deepseek-r1:7b", "deepseek-r1-distill-qwen-7b"},
     {"deepseek-r1:8b", "qwen3-8b"},  // DeepSeek-R1-0528-Qwen3-8B
     {"deepseek-r1:14b", "deepseek-r1-distill-qwen-14b"},
     {"deepseek-r1:32b", "deepseek-r1-distill-qwen-32b"},
     {"deepseek-r1:70b", "deepseek-r1-distill-llama-70b"},
     {"deepseek-r1:671b", "deepseek-r1"},
     {"mistral:7b", "mistral-7b-v0.3"},
     {"phi3:mini", "phi-3-mini-4k"}}};

/// Models of Ollama's library whose tag `latest` is another than the only one of that name here, with that tag
/// (ollama.com/library).
inline constexpr std::array<std::array<std::string_view, 2>, 31> ollama_latest{{
    {"deepseek-r1", "8b"}, {"llama3.1", "8b"},      {"llama3.2", "3b"},     {"llama3.3", "70b"},
    {"llama3", "8b"},      {"llama2", "7b"},        {"qwen3", "8b"},        {"qwen2.5", "7b"},
    {"qwen2", "7b"},       {"qwen2.5-coder", "7b"}, {"gemma3", "4b"},       {"gemma2", "9b"},
    {"mistral", "7b"},     {"mixtral", "8x7b"},     {"phi3", "mini"},       {"gpt-oss", "20b"},
    {"qwq", "32b"},        {"codellama", "7b"},     {"tinyllama", "1.1b"},  {"mistral-small", "24b"},
    {"olmo2", "7b"},       {"mistral-nemo", "12b"}, {"gemma", "7b"},        {"gemma3n", "e4b"},
    {"qwen2.5vl", "7b"},   {"qwen3-vl", "8b"},      {"qwen3-coder", "30b"}, {"granite3.3", "8b"},
    {"smollm2", "1.7b"},   {"falcon3", "7b"},       {"ministral-3", "8b"},
}};

/// The name with the tag that it has in Ollama's library where it has none.
inline std::string with_latest_tag(std::string_view name) {
    for (const auto& [known, tag] : ollama_latest)
        if (llmres::detail::same_letters(known, name)) return std::string{name} + ":" + std::string{tag};
    return std::string{name};
}

/// The mix that a repository of GGUF files, or Ollama's library (`of_ollama`), gives of a model where none is named:
/// MXFP4 as published for gpt-oss, which repositories have with q8_0 beside it, Ollama with bf16 (61,223 MiB of the
/// 120B in its log); else Q4_K_M (llama.cpp's common/arg.cpp, `-hf`; Ollama's library). Nothing for weights that are
/// published quantised otherwise, but in 8-bit floats: such files are made from those that are not.
inline maybe<gguf_mix> usual_mix(const model& m, bool of_ollama) {
    if (m.weights == mxfp4) return gguf_mix{.quantisation = gguf_quantisation::MXFP4_MOE, .published_rest = of_ollama};
    if (!is_wide(m.weights) && family_of(m.weights) != format_family::eight_bit_float) return {};
    return gguf_mix{.quantisation = gguf_quantisation::Q4_K_M};
}

/// A model by a name: of hf::published_configs, or as find_model() understands it, or a quantised copy of the former.
inline result<model> find_named(std::string_view name) {
    if (const maybe<model> published = hf::find_published(name)) return *published;
    const result<model> preset = find_model(name);
    if (preset) return preset;
    if (const maybe<model> spelled = hf::find_published_by_words(name)) return *spelled;
    if (const maybe<model> copy = models::detail::quantised_copy(name, hf::find_published)) return *copy;
    return refused(preset.error().code, "model", name, such_as("a model", hf::search_models_and_published(name)));
}

/// What a repository of GGUF files ("Qwen/Qwen3-8B-GGUF:Q4_K_M", as llama.cpp's `-hf` takes it) or a tag of Ollama's
/// library ("llama3.1:8b", "qwen3:8b-q8_0") means; nothing for a name of another form.
inline std::optional<result<model_source>> find_gguf_repository(std::string_view name) {
    const std::size_t colon = name.find(':');
    std::string_view base = name.substr(0, colon);
    std::string_view tag = colon == std::string_view::npos ? std::string_view{} : name.substr(colon + 1);
    constexpr std::string_view ending = "-GGUF";
    const bool repository =
        base.size() > ending.size() && llmres::detail::same_letters(base.substr(base.size() - ending.size()), ending);
    if (!repository && (colon == std::string_view::npos || base.find('/') != std::string_view::npos)) return {};
    std::string wanted{repository ? base.substr(0, base.size() - ending.size()) : name};
    maybe<gguf_mix> mix = find_file_mix(tag);
    if (!repository) {
        const std::size_t dash = tag.find_last_of('-');
        if (dash != std::string_view::npos)
            if (const maybe<gguf_mix> named = find_file_mix(tag.substr(dash + 1))) {
                mix = named;
                wanted = std::string{base} + ":" + std::string{tag.substr(0, dash)};
            }
        for (const auto& [typed, id] : ollama_names)
            if (llmres::detail::same_letters(typed, wanted)) wanted = id;
    } else if (!tag.empty() && !mix) {
        return result<model_source>{refused(error_code::unknown, "model", name,
                                            "a GGUF quantisation behind the colon, such as Q4_K_M, Q8_0 or IQ3_XXS")};
    }
    const result<model> found = find_named(wanted);
    if (!found) return result<model_source>{refused(found.error().code, "model", name, found.error().expected)};
    return result<model_source>{model_source{.model = *found,
                                             .gguf = mix ? mix : usual_mix(*found, !repository),
                                             .library = repository ? std::string_view{} : ollama_library}};
}

/// Products of a repository whose model is no language model ("images"); empty for another name.
inline std::string_view product_of(std::string_view name) {
    const models::detail::words asked{name};
    for (const models::hub_other& other : models::hub_others)
        if (asked.joined_up().view().starts_with(models::detail::words{other.begins}.joined_up().view()))
            return other.makes;
    return {};
}

/// A preset by its name, or the model that Ollama's library has under a name that nobody else has ("qwen3": 8B);
/// `expected` says what else could have been given where the name resembles none.
inline result<model_source> preset_or(std::string_view name, std::string_view expected) {
    if (const std::optional<result<model_source>> file = find_gguf_repository(name)) return *file;
    const result<model> preset = find_named(name);
    if (preset) return model_source{.model = *preset};
    if (const std::string tagged = with_latest_tag(name); tagged != name) return preset_or(tagged, expected);
    error refusal = preset.error();
    if (find_denoiser_preset(name))
        return refused(error_code::unsupported, "model", name,
                       "a language model: of an image model, `llmres model` counts the weights");
    if (const std::string_view makes = product_of(name); !makes.empty())
        return refused(error_code::unsupported, "model", name,
                       "a language model: this one makes " + std::string{makes} + ", and is not described");
    if (refusal.expected == "a model") refusal.expected = expected;
    return refusal;
}

/// A config.json of transformers that stands in a document itself.
inline result<model_source> inline_config(const nlohmann::json& config) {
    const result<model> read = hf::read_config(config);
    if (read) return model_source{.model = *read};
    text<63> field{"model."};
    field.append(read.error().field);
    return refused(read.error().code, field, read.error().value, read.error().expected);
}

/// A model and what differs from it.
inline result<model_source> altered_model(const nlohmann::json& value, const model_finder& find) {
    config_fields fields{value, "model"};
    for (const auto& [key, unused] : value.items())
        if (key != "from" && key != "layers" && key != "head" && key != "labels" && key != "max_position_embeddings" &&
            key != "tie_word_embeddings")
            return refused(error_code::unknown, "model." + key, shown(unused),
                           "from, layers, head, labels, max_position_embeddings or tie_word_embeddings");
    const std::string_view from = fields.text_or("from", "");
    if (!fields.ok()) return fields.error();
    if (from.empty()) return refused(error_code::missing, "model.from", "absent", "a name or a path");
    result<model_source> found = find(from);
    if (!found) return found;
    model& m = found->model;
    const std::int64_t kept = fields.number_or("layers", m.layers.size, 1, m.layers.size);
    m.max_context = tokens(fields.number_or("max_position_embeddings", m.max_context.in(tokens), 1, 1LL << 40));
    m.tied_head = fields.flag_or("tie_word_embeddings", m.tied_head);
    if (!fields.ok()) return fields.error();
    m.layers = m.layers.first(static_cast<std::int32_t>(kept));
    if (const status s = take_head(fields, m); !s) return s.error();
    return found;
}

}  // namespace detail

inline result<model_source> find_preset(std::string_view name) {
    if (const status s = detail::validate_source(name); !s) return s.error();
    if (detail::looks_like_a_path(name))
        return refused(error_code::unsupported, "model", name, "a model of `llmres models`: no file is opened here");
    return detail::preset_or(name, "a model of `llmres models`");
}

inline result<model_source> read_model_source(const nlohmann::json& value, const model_finder& find) {
    if (value.is_string()) return find(value.get_ref<const std::string&>());
    if (!value.is_object())
        return refused(error_code::malformed, "model", detail::shown(value),
                       "a name, a path, a config.json, a shape, or {\"from\": MODEL, \"layers\": n}");
    if (value.contains("model_type") && !value.contains("from")) return detail::inline_config(value);
    if (value.contains("hidden")) {
        const result<model> described = detail::shape_reader{value}.read();
        return described ? result<model_source>{model_source{.model = *described}}
                         : result<model_source>{described.error()};
    }
    return detail::altered_model(value, find);
}

inline maybe<gguf_mix> find_file_mix(std::string_view name) {
    for (const precision& format : {bf16, fp16, fp32, mxfp4})
        if (name.empty() || name == format.name.view()) return {};
    const result<gguf_mix> mix = find_gguf_mix("weights", name);
    return mix ? maybe<gguf_mix>{*mix} : maybe<gguf_mix>{};
}

inline maybe<denoiser> find_denoiser_preset(std::string_view name) {
    struct named_denoiser {
        std::string_view name;
        denoiser network;
    };
    static const std::array known{named_denoiser{"sdxl", models::stable_diffusion_xl},
                                  named_denoiser{"stable diffusion xl", models::stable_diffusion_xl},
                                  named_denoiser{"stable diffusion xl 1.0", models::stable_diffusion_xl},
                                  named_denoiser{"sd 1.5", models::stable_diffusion_1_5},
                                  named_denoiser{"stable diffusion 1.5", models::stable_diffusion_1_5},
                                  named_denoiser{"stable diffusion v1 5", models::stable_diffusion_1_5},
                                  named_denoiser{"flux.1 dev", models::flux_1_dev},
                                  named_denoiser{"flux 1 dev", models::flux_1_dev},
                                  named_denoiser{"flux dev", models::flux_1_dev},
                                  named_denoiser{"flux.1 schnell", models::flux_1_schnell},
                                  named_denoiser{"flux 1 schnell", models::flux_1_schnell},
                                  named_denoiser{"flux schnell", models::flux_1_schnell}};
    const models::detail::words asked{name};
    for (const auto& [spelling, network] : known)
        if (models::detail::words{spelling}.joined_up() == asked.joined_up()) return network;
    return {};
}

}  // namespace llmres::inline v0
