// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

/// Denoising networks from the config.json of diffusers repositories.
namespace llmres::inline v0::detail::hf {

inline void require_class(config_fields& c, std::string_view name) {
    constexpr field_names field{"_class_name"};
    const std::string_view given = c.text_or(field, "");
    if (given != name) c.fail({given.empty() ? error_code::missing : error_code::unknown, c.label(field), given, name});
}

/// The number that a level of a UNet has: a list gives one for each level, a single number is that of all.
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

/// Channels and transformer depths of each level, and of the middle.
inline void read_levels(config_fields& c, unet& u) {
    const nlohmann::json* levels = c.list("block_out_channels");
    u.levels = levels == nullptr ? 0 : static_cast<std::int32_t>(levels->size() < 100 ? levels->size() : 100);
    if (c.ok() && (u.levels < 1 || u.levels > static_cast<std::int32_t>(unet::max_levels)))
        c.fail(error_code::out_of_range, "block_out_channels", "a list of 1 to 6 widths");
    for (std::size_t level = 0; c.ok() && level < static_cast<std::size_t>(u.levels); ++level) {
        u.channels[level] = c.number_at("block_out_channels", level, 1, 1 << 20);
        if (attends(c, level))
            u.depth[level] = static_cast<std::int32_t>(number_of_level(c, "transformer_layers_per_block", level, 1));
    }
    if (!c.ok()) return;
    // The middle is as deep as the lowest level, whether that attends or not.
    const auto lowest = static_cast<std::size_t>(u.levels - 1);
    u.middle_depth = static_cast<std::int32_t>(number_of_level(c, "transformer_layers_per_block", lowest, 1));
}

inline result<unet> read_unet(const nlohmann::json& document) {
    config_fields c{document};
    require_class(c, "UNet2DConditionModel");
    unet u;
    u.name = "unet";
    u.in_channels = c.number_or("in_channels", 4, 1, 65536);
    u.out_channels = c.number_or("out_channels", 4, 1, 65536);
    read_levels(c, u);
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

inline result<flow_transformer> read_flow_transformer(const nlohmann::json& document) {
    config_fields c{document};
    require_class(c, "FluxTransformer2DModel");
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

}  // namespace llmres::inline v0::detail::hf
