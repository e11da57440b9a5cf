// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <llmres/io/files/open.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// What says how a checkpoint is quantised where its config.json does not: files beside it, and its name.
namespace llmres::inline v0::detail {

/// What AutoGPTQ, AutoAWQ and ModelOpt write beside a config.json that says nothing of it, as the quantization_config
/// that it would be.
inline status add_quantization_beside(const std::filesystem::path& config, nlohmann::json& root) {
    struct sidecar {
        const char* file;
        const char* method;
    };
    constexpr std::array sidecars{sidecar{"hf_quant_config.json", "modelopt"}, sidecar{"quantize_config.json", "gptq"},
                                  sidecar{"quant_config.json", "awq"}};
    if (root.contains("quantization_config") && !root["quantization_config"].is_null()) return done{};
    if (const auto older = root.find("compression_config"); older != root.end() && older->is_object()) {
        root["quantization_config"] = *older;  // compressed-tensors before its field was renamed
        root["quantization_config"].emplace("quant_method", "compressed-tensors");
        return done{};
    }
    if (const auto text = root.find("text_config");
        text != root.end() && text->is_object() && text->contains("quantization_config"))
        return done{};
    std::error_code failed;
    for (const auto& [name, method] : sidecars) {
        const std::filesystem::path beside = config.parent_path() / name;
        if (config.filename() != "config.json" || !std::filesystem::exists(beside, failed)) continue;
        const result<json_document> document =
            read_object(name, beside, 16u << 20, "a file of at most 16 MiB that can be read");
        if (!document) return document.error();
        // ModelOpt puts its settings into an object of their own.
        const auto inner = document->root.find("quantization");
        nlohmann::json settings = inner != document->root.end() && inner->is_object() ? *inner : document->root;
        settings.emplace("quant_method", method);
        root["quantization_config"] = std::move(settings);
        return done{};
    }
    return done{};
}

/// A warning where a model's name says that its weights are quantised and no file says how.
inline std::string warning_of_name(const model& m) {
    if (!is_wide(m.weights)) return {};
    const models::detail::words words{m.name.view()};
    for (const std::string_view format :
         {"fp8", "nvfp4", "fp4", "awq", "gptq", "int4", "int8", "w4a16", "w8a8", "4bit"})
        if (words.has(format))
            return "the name says " + std::string{format} +
                   ", but no file says how the weights are quantised: " + std::string{m.weights.name.view()} +
                   " is planned";
    return {};
}

}  // namespace llmres::inline v0::detail
