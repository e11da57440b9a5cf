// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <llmres/io/files/config_text.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json_document.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/values/maybe.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

/// Denoising networks from the `config.json` that diffusers repositories carry.
namespace llmres::inline v0 {

/// A UNet2DConditionModel.
inline result<unet> read_hf_unet(std::string_view json_text);

/// A FluxTransformer2DModel.
inline result<flow_transformer> read_hf_flow_transformer(std::string_view json_text);

/// What a diffusion model denoises with.
using denoiser = std::variant<unet, flow_transformer>;

/// Either, as `_class_name` says.
inline result<denoiser> read_hf_denoiser(std::string_view json_text);

/// The denoiser that comes with the library under that name, in any spelling ("SDXL", "FLUX.1-dev"), or that a
/// diffusers config.json (or its folder) describes; nothing if the source is neither, and then it may name another
/// model.
inline result<maybe<denoiser>> find_denoiser(std::string_view source);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail::hf {

inline void require_class(config_fields& c, std::string_view name) {
    constexpr field_names field{"_class_name"};
    const std::string_view given = c.text_or(field, "");
    if (given != name) c.fail({given.empty() ? error_code::missing : error_code::unknown, c.label(field), given, name});
}

/// A number for every level: one for all of them, or a list.
inline std::int64_t number_of_level(config_fields& c, const field_names& field, std::size_t level,
                                    std::int64_t fallback) {
    return c.holds_list(field) ? c.number_at(field, level, 0, 1 << 20) : c.number_or(field, fallback, 0, 1 << 20);
}

/// Whether the blocks of a level attend, by their class.
inline bool attends(config_fields& c, std::size_t level) {
    const std::string_view kind = c.text_at("down_block_types", level);
    if (kind != "CrossAttnDownBlock2D" && kind != "DownBlock2D" && c.ok())
        c.fail({error_code::unsupported, c.label("down_block_types"), kind, "CrossAttnDownBlock2D or DownBlock2D"});
    return kind == "CrossAttnDownBlock2D";
}

}  // namespace detail::hf

inline result<unet> read_hf_unet(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    if (!document) return document.error();
    detail::config_fields c{document->root};
    detail::hf::require_class(c, "UNet2DConditionModel");
    unet u;
    u.name = "unet";
    u.in_channels = c.number_or("in_channels", 4, 1, 65536);
    u.out_channels = c.number_or("out_channels", 4, 1, 65536);
    const nlohmann::json* levels = c.list("block_out_channels");
    u.levels = levels == nullptr ? 0 : static_cast<std::int32_t>(levels->size() < 100 ? levels->size() : 100);
    if (c.ok() && (u.levels < 1 || u.levels > static_cast<std::int32_t>(unet::max_levels)))
        c.fail(error_code::out_of_range, "block_out_channels", "a list of 1 to 6 widths");
    for (std::size_t level = 0; c.ok() && level < static_cast<std::size_t>(u.levels); ++level) {
        u.channels[level] = c.number_at("block_out_channels", level, 1, 1 << 20);
        if (detail::hf::attends(c, level))
            u.depth[level] =
                static_cast<std::int32_t>(detail::hf::number_of_level(c, "transformer_layers_per_block", level, 1));
    }
    // The middle is as deep as the lowest level, whether that attends or not.
    if (c.ok())
        u.middle_depth = static_cast<std::int32_t>(
            detail::hf::number_of_level(c, "transformer_layers_per_block", static_cast<std::size_t>(u.levels - 1), 1));
    u.blocks = static_cast<std::int32_t>(c.number_or("layers_per_block", 2, 1, 16));
    u.context_width = c.number_or("cross_attention_dim", 1280, 1, 1 << 20);
    if (c.has("addition_embed_type")) u.added_embedding = c.number("projection_class_embeddings_input_dim", 1, 1 << 20);
    for (const char* other : {"class_embed_type", "encoder_hid_dim", "time_cond_proj_dim", "attention_type"})
        if (c.says_something(other) && c.text_or(other, "default") != "default")
            c.fail(error_code::unsupported, other, "absent: UNets are described without it");
    if (!c.ok()) return c.error();
    if (const status valid = validate(u); !valid) return valid.error();
    return u;
}

inline result<flow_transformer> read_hf_flow_transformer(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    if (!document) return document.error();
    detail::config_fields c{document->root};
    detail::hf::require_class(c, "FluxTransformer2DModel");
    flow_transformer f;
    f.name = "flux";
    f.in_channels = c.number_or("in_channels", 64, 1, 65536);
    f.heads = c.number_or("num_attention_heads", 24, 1, 65536);
    f.head_dim = c.number_or("attention_head_dim", 128, 1, 4096);
    f.double_blocks = static_cast<std::int32_t>(c.number_or("num_layers", 19, 0, 1024));
    f.single_blocks = static_cast<std::int32_t>(c.number_or("num_single_layers", 38, 0, 1024));
    f.context_width = c.number_or("joint_attention_dim", 4096, 1, 1 << 20);
    f.pooled_width = c.number_or("pooled_projection_dim", 768, 1, 1 << 20);
    f.guidance = c.flag_or("guidance_embeds", false);
    if (!c.ok()) return c.error();
    if (const status valid = validate(f); !valid) return valid.error();
    return f;
}

inline result<denoiser> read_hf_denoiser(std::string_view json_text) {
    const result<json_document> document = parse_json_object(json_text);
    if (!document) return document.error();
    detail::config_fields c{document->root};
    const std::string_view name = c.text_or("_class_name", "");
    if (name == "UNet2DConditionModel") {
        const result<unet> read = read_hf_unet(json_text);
        return read ? result<denoiser>{*read} : result<denoiser>{read.error()};
    }
    if (name == "FluxTransformer2DModel") {
        const result<flow_transformer> read = read_hf_flow_transformer(json_text);
        return read ? result<denoiser>{*read} : result<denoiser>{read.error()};
    }
    return refused(name.empty() ? error_code::missing : error_code::unsupported, "_class_name", name,
                   "UNet2DConditionModel or FluxTransformer2DModel");
}

inline result<maybe<denoiser>> find_denoiser(std::string_view source) {
    struct named_denoiser {
        std::string_view name;
        denoiser network;
    };
    static const std::array named{named_denoiser{"sdxl", models::stable_diffusion_xl},
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
    const models::detail::words asked{source};
    for (const auto& [name, network] : named)
        if (models::detail::words{name}.joined_up() == asked.joined_up()) return maybe<denoiser>{network};

    std::error_code ignored;
    const std::filesystem::path path{std::string{source.substr(0, source.find('\0'))}};
    const bool folder = std::filesystem::is_directory(path, ignored);
    const std::filesystem::path file = folder ? path / "config.json" : path;
    if (file.extension() != ".json" || !std::filesystem::is_regular_file(file, ignored)) return maybe<denoiser>{};
    const result<std::string> content = detail::read_config_text(file);
    if (!content) return content.error();
    const result<json_document> document = parse_json_object(*content);
    if (!document || !document->root.contains("_class_name")) return maybe<denoiser>{};
    const result<denoiser> read = read_hf_denoiser(*content);
    if (!read) return read.error();
    denoiser named_after = *read;
    const std::string name = detail::config_name(file);
    if (!name.empty()) std::visit([&](auto& network) { network.name = std::string_view{name}; }, named_after);
    return maybe<denoiser>{named_after};
}

}  // namespace llmres::inline v0
