// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/hf/diffusion.hpp>
#include <llmres/io/hf/families.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <string_view>
#include <variant>

/// Models from the text of the `config.json` that Hugging Face repositories carry. What changes a count and is not
/// understood is refused by name: no model is guessed. Errors name the field as the file spells it. (io/files.hpp has
/// load_hf_config(path).)
namespace llmres::inline v0 {

/// A language model, with its vision tower where it has one, from the text of a config.json of transformers.
inline result<model> read_hf_config(std::string_view json_text);

/// A UNet2DConditionModel, from the text of a config.json of diffusers.
inline result<unet> read_hf_unet(std::string_view json_text);

/// A FluxTransformer2DModel, from the text of a config.json of diffusers.
inline result<flow_transformer> read_hf_flow_transformer(std::string_view json_text);

/// The network that a diffusion model denoises with.
using denoiser = std::variant<unet, flow_transformer>;

/// The denoising network that `_class_name` says, from the text of a config.json of diffusers.
inline result<denoiser> read_hf_denoiser(std::string_view json_text);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::hf {

inline result<denoiser> read_denoiser(const nlohmann::json& document) {
    config_fields c{document};
    const std::string_view name = c.text_or("_class_name", "");
    if (name == "UNet2DConditionModel") {
        const result<unet> read = read_unet(document);
        return read ? result<denoiser>{*read} : result<denoiser>{read.error()};
    }
    if (name == "FluxTransformer2DModel") {
        const result<flow_transformer> read = read_flow_transformer(document);
        return read ? result<denoiser>{*read} : result<denoiser>{read.error()};
    }
    return refused(name.empty() ? error_code::missing : error_code::unsupported, "_class_name", name,
                   "UNet2DConditionModel or FluxTransformer2DModel");
}

}  // namespace detail::hf

inline result<model> read_hf_config(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    return document ? detail::hf::read_config(document->root) : result<model>{document.error()};
}

inline result<unet> read_hf_unet(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    return document ? detail::hf::read_unet(document->root) : result<unet>{document.error()};
}

inline result<flow_transformer> read_hf_flow_transformer(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    return document ? detail::hf::read_flow_transformer(document->root) : result<flow_transformer>{document.error()};
}

inline result<denoiser> read_hf_denoiser(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    return document ? detail::hf::read_denoiser(document->root) : result<denoiser>{document.error()};
}

}  // namespace llmres::inline v0
