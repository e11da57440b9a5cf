// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/hf/encoders/encoders.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string_view>

/// Vision towers, and what projects their features: what a multimodal config.json adds to its text model. A tower is an
/// `encoder` of the model; its patch embedding, positions and projector are extra tensors.
namespace llmres::inline v0::detail::hf {

inline constexpr field_names vision_field{"vision_config"};
inline constexpr field_names audio_field{"audio_config"};

/// The vision part of a multimodal config, which must be there.
struct vision_fields : nested_fields {
    explicit vision_fields(config_fields& c) : nested_fields{c, vision_field} {
        if (!given())
            c.fail({error_code::missing, c.label(vision_field), "absent", "the description of the vision tower"});
    }
};

struct tower_shape {
    std::int64_t hidden = 0;
    std::int64_t width = 0;
    std::int64_t layers = 0;
    std::int64_t heads = 0;
};

inline tower_shape read_tower_shape(config_fields& v, const tower_shape& d) {
    tower_shape t;
    t.hidden = v.number_nested({"hidden_size", "embed_dim"}, d.hidden, 1, most_features);
    t.width = v.number_nested({"intermediate_size", "mlp_dim"}, d.width, 1, most_features);
    t.layers = v.number_nested({"num_hidden_layers", "depth"}, d.layers, 1, layer_stack::max_layers);
    constexpr field_names heads{"num_attention_heads", "num_heads", "attention_heads"};
    t.heads = v.number_nested(heads, d.heads, 1, most_heads);
    check_heads(v, heads, t.heads, t.hidden);
    return t;
}

inline encoder tower_of(const tower_shape& t, const layer& block) {
    return {.hidden = t.hidden, .layers = static_cast<std::int32_t>(t.layers), .block = block, .quantised = false};
}

/// A square of patches that is merged into one token.
inline std::int64_t merged(config_fields& v, std::int64_t by_default = 2) {
    const std::int64_t side = v.number_or("spatial_merge_size", by_default, 1, 64);
    return side * side;
}

/// A linear layer of a projector, with a bias as torch.nn.Linear has one unless it is told otherwise.
inline extra_weight projection(std::int64_t rows, std::int64_t columns, bias_term bias = bias_term::added) {
    return {.role = weight_role::projector, .bias = bias == bias_term::added, .rows = rows, .columns = columns};
}

/// The largest image that a tower takes: its patches, and the tokens that the text model gets for it.
inline void admit_images(model& m, std::int64_t patches, std::int64_t left) {
    m.encoders[0].image_patches = tokens(patches);
    m.encoders[0].image_tokens = tokens(left);
}

// ---- towers

/// Positions of a tower's patches.
enum class tower_positions : std::uint8_t { none, table, table_and_class };

/// What a tower has beside its layers and its projector.
struct tower_form {
    tower_shape shape{};                                        ///< of a file that does not say
    std::int64_t patch = 14;                                    ///< pixels a side of a patch
    std::int64_t image = 224;                                   ///< pixels a side of an image
    std::int64_t patches = 0;                                   ///< 0: those of an image
    std::int64_t frames = 1;                                    ///< frames of a patch
    bool patch_bias = true;                                     ///< the patch embedding has a bias
    tower_positions positions = tower_positions::table;         ///< learned positions
    feed_forward_kind feed_forward = feed_forward_kind::plain;  ///< gated: of RMS norms
    bool attention_bias = true;                                 ///< projections of attention have biases
    bool output_bias = true;                                    ///< attention's output projection has a bias
    bool feed_forward_bias = true;                              ///< the feed-forward has biases
    bool query_key_norm = false;                                ///< norms of queries and keys
    bool layer_scales = false;                                  ///< a vector scales the output of each half of a layer
    std::int64_t norms = 1;                                     ///< norms before the first and after the last layer
};

/// The first number of a field that holds one number or a list of a number for each side.
inline std::int64_t side_of(config_fields& v, const field_names& field, std::int64_t fallback) {
    return v.holds_list(field) ? v.number_at(field, 0, 1, 65536) : v.number_or(field, fallback, 1, 65536);
}

/// Adds the layers, patches, positions and norms of a tower, whose shape is then known.
inline tower_shape add_tower(config_fields& v, model& m, const tower_form& form, std::size_t place = 0) {
    const tower_shape t = read_tower_shape(v, form.shape);
    layer block = transformer_layer(t.heads, t.hidden, t.width);
    block.attention.qkv_bias = form.attention_bias;
    block.attention.output_bias = form.output_bias;
    block.feed_forward.kind = form.feed_forward;
    block.feed_forward.bias = form.feed_forward_bias;
    if (form.query_key_norm) block.attention.qk_norm = query_key_norm::shared;
    const bool rms = form.feed_forward == feed_forward_kind::gated;
    if (rms) block.norm = norm_kind::rms;
    if (form.layer_scales) block.more_values = 2 * t.hidden;
    m.encoders[place] = tower_of(t, block);
    const std::int64_t patch = side_of(v, {"patch_size", "spatial_patch_size"}, form.patch);
    const std::int64_t channels = v.number_or({"num_channels", "in_channels", "in_chans"}, 3, 1, 1024);
    const std::int64_t frames = v.number_or("temporal_patch_size", form.frames, 1, 64);
    m.add({.role = weight_role::conv,
           .bias = form.patch_bias,
           .rows = t.hidden,
           .columns = channels * frames * patch * patch});
    if (form.positions != tower_positions::none) {
        const std::int64_t side = side_of(v, "image_size", form.image) / patch;
        const std::int64_t patches =
            feature_count(v, {"num_patches", "num_image_tokens"}, form.patches > 0 ? form.patches : side * side);
        if (v.ok() && (patches < 1 || patches > std::int64_t{4096} * 4096))
            v.fail(error_code::out_of_range, "image_size", "1 to 4096 patches a side");
        const std::int64_t more = form.positions == tower_positions::table_and_class ? 2 : 0;
        m.add(positions(patches + more, t.hidden));
        m.encoders[place].image_patches = m.encoders[place].image_tokens = m.encoders[place].output = tokens(patches);
    }
    if (form.norms > 0) m.add({.role = weight_role::norm, .columns = t.hidden, .copies = (rms ? 1 : 2) * form.norms});
    return t;
}

/// What SigLIP is where a file does not say.
struct siglip_form {
    tower_shape shape{.hidden = 768, .width = 3072, .layers = 12, .heads = 12};
    std::int64_t patch = 16;   ///< pixels a side of a patch
    std::int64_t image = 224;  ///< pixels a side of an image
    bool pooling_head = true;  ///< a head pools by attention
    std::int64_t patches = 0;  ///< 0: those of an image
};
/// SigLIP of Idefics 3 and Aria.
inline constexpr siglip_form idefics3_siglip{
    .shape = {.hidden = 1152, .width = 3072, .layers = 12, .heads = 16}, .patch = 32, .pooling_head = false};

/// SigLIP: patch embedding with bias, learned positions, a final norm; in some files a head that pools by attention.
inline tower_shape add_siglip(config_fields& v, model& m, const siglip_form& form = {}) {
    const tower_shape t =
        add_tower(v, m, {.shape = form.shape, .patch = form.patch, .image = form.image, .patches = form.patches});
    if (v.flag_or("vision_use_head", form.pooling_head)) {
        m.add(positions(1, t.hidden));
        m.add(projection(4 * t.hidden, t.hidden));
        m.add(projection(t.width, t.hidden));
        m.add(projection(t.hidden, t.width));
        m.add(layer_norm(t.hidden));
    }
    return t;
}

/// CLIP: a class token, patch embedding without bias, norms before the first and after the last layer.
inline tower_shape add_clip(config_fields& v, model& m) {
    return add_tower(v, m,
                     {.shape = {.hidden = 768, .width = 3072, .layers = 12, .heads = 12},
                      .patch = 32,
                      .patch_bias = false,
                      .positions = tower_positions::table_and_class,
                      .norms = 2});
}

/// Pixtral: layers of the llama layout without biases, a norm before the first, rotary positions.
inline tower_shape add_pixtral(config_fields& v, model& m) {
    const tower_shape t = read_tower_shape(v, {.hidden = 1024, .width = 4096, .layers = 24, .heads = 16});
    layer block;
    block.attention = {.heads = t.heads,
                       .kv_heads = t.heads,
                       .head_dim = v.ok() ? t.hidden / t.heads : 1};  // whatever `head_dim` says
    block.feed_forward.width = t.width;
    m.encoders[0] = tower_of(t, block);
    m.add(patch_embedding(v, t.hidden, 16, bias_term::none));
    m.add({.role = weight_role::norm, .columns = t.hidden});
    return t;
}

/// Adds the tower that the vision part names: SigLIP, CLIP or Pixtral.
inline tower_shape add_named_tower(config_fields& v, model& m) {
    const std::string_view type = v.text_or("model_type", "clip_vision_model");
    if (type == "siglip_vision_model") return add_siglip(v, m);
    if (type == "clip_vision_model") return add_clip(v, m);
    if (type == "pixtral") return add_pixtral(v, m);
    v.fail({error_code::unsupported, "vision_config.model_type", type,
            "siglip_vision_model, clip_vision_model or pixtral"});
    return {};
}

/// The tower of Segment Anything (SAM): biases by relative position in windows and over the whole image, a neck of two
/// convolutions; two more halve the sides.
inline std::int64_t add_sam(config_fields& v, model& m, std::size_t place, std::int64_t image = 1024) {
    const tower_shape t = read_tower_shape(v, {.hidden = 768, .width = 3072, .layers = 12, .heads = 12});
    layer block = transformer_layer(t.heads, t.hidden, t.width);
    block.feed_forward.width = feature_count(v, "mlp_dim", t.width);
    block.attention.qkv_bias = v.flag_or("qkv_bias", true);
    m.encoders[place] = tower_of(t, block);
    const std::int64_t side = v.number_or("image_size", image, 1, 65536) / v.number_or("patch_size", 16, 1, 65536);
    m.add(patch_embedding(v, t.hidden, 16, bias_term::added));
    if (v.flag_or("use_abs_pos", true)) m.add(positions(side * side, t.hidden));
    if (v.flag_or("use_rel_pos", true)) {
        const nlohmann::json* listed = v.list("global_attn_indexes");
        std::int64_t global = 0;
        for (const std::int64_t layer_of_class : {2, 5, 8, 11})
            if (listed == nullptr && layer_of_class < t.layers) ++global;
        for (std::size_t i = 0; listed != nullptr && i < listed->size(); ++i)
            if (v.number_at("global_attn_indexes", i, 0, most_features) < t.layers) ++global;
        const std::int64_t window = v.number_or("window_size", 14, 1, 65536);
        const std::int64_t width = block.attention.head_dim;
        if (t.layers > global) m.add(positions(2 * window - 1, width, 2 * (t.layers - global)));
        if (global > 0) m.add(positions(2 * side - 1, width, 2 * global));
    }
    const std::int64_t neck = feature_count(v, "output_channels", 256);
    m.add({.role = weight_role::conv, .rows = neck, .columns = t.hidden});
    m.add({.role = weight_role::conv, .rows = neck, .columns = 9 * neck});
    m.add({.role = weight_role::norm, .columns = neck, .copies = 4});
    m.encoders[place].image_patches = tokens(side * side);
    m.encoders[place].image_tokens = m.encoders[place].output = tokens(side * side / 16);
    return neck;
}

// ---- projectors

/// Adds a LayerNorm and two linear layers with biases: what many projectors are.
inline void add_normed_projector(model& m, std::int64_t normed, std::int64_t in, std::int64_t inner, std::int64_t out) {
    if (normed > 0) m.add(layer_norm(normed));
    m.add(projection(inner, in));
    m.add(projection(out, inner));
}

/// Tokens that are left of an image after squares of patches were merged.
inline void merge_patches(model& m, std::int64_t squares) {
    encoder& e = m.encoders[0];
    e.image_tokens = e.output = tokens(e.image_patches.in(tokens) / squares);
}

}  // namespace llmres::inline v0::detail::hf
