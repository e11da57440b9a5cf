// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/hf/dense.hpp>
#include <llmres/io/hf/encoders/encoders.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string_view>

/// Vision towers: what a multimodal config.json adds to its text model. A tower is an `encoder` of the model; its patch
/// embedding, positions and projector are extra tensors.
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
        const std::int64_t patches = feature_count(v, {"num_patches", "num_image_tokens"}, side * side);
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
    bool pooling_head = true;  ///< a head pools by attention
};
/// SigLIP of Idefics 3 and Aria.
inline constexpr siglip_form idefics3_siglip{
    .shape = {.hidden = 1152, .width = 3072, .layers = 12, .heads = 16}, .patch = 32, .pooling_head = false};

/// SigLIP: patch embedding with bias, learned positions, a final norm; in some files a head that pools by attention.
inline tower_shape add_siglip(config_fields& v, model& m, const siglip_form& form = {}) {
    const tower_shape t = add_tower(v, m, {.shape = form.shape, .patch = form.patch});
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
                       .head_dim = v.number_or("head_dim", v.ok() ? t.hidden / t.heads : 1, 1, most_heads)};
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

// ---- the multimodal families

inline void add_gemma3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m);
    m.encoders[0].output = tokens(feature_count(c, "mm_tokens_per_image", 256));
    m.encoders[0].image_tokens = m.encoders[0].output;
    m.add(projection(m.hidden, t.hidden, bias_term::none));
    m.add({.role = weight_role::norm, .columns = t.hidden});
}

/// PaliGemma: SigLIP and one linear layer as projector.
inline void add_paligemma_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m);
    const std::int64_t width = feature_count(c, "projection_dim", m.hidden);
    m.add(projection(feature_count(v, "projection_dim", width), t.hidden));
}

/// LLaVA: a projector of two linear layers, from the features of one layer of the tower, or of several concatenated.
inline void add_llava_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_named_tower(v, m);
    const bias_term bias{c.flag_or("multimodal_projector_bias", true)};
    const std::int64_t layers =
        c.holds_list("vision_feature_layer") ? static_cast<std::int64_t>(c.list("vision_feature_layer")->size()) : 1;
    m.add(projection(m.hidden, layers * t.hidden, bias));
    m.add(projection(m.hidden, m.hidden, bias));
}

/// LLaVA-NeXT and LLaVA-OneVision: as LLaVA, with a learned token that ends a row of patches.
inline void add_llava_next_vision(config_fields& c, model& m) {
    add_llava_vision(c, m);
    m.add({.role = weight_role::values, .columns = m.hidden});
}

/// Mistral 3: Pixtral with a projector that first merges squares of patches.
inline void add_mistral3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_pixtral(v, m);
    const bias_term bias{c.flag_or("multimodal_projector_bias", false)};
    // A token for each square of patches, and one at the end of each row of squares.
    const std::int64_t patches = patch_count(v, 1024, 16), squares = patches / merged(c);
    std::int64_t rows = 0;
    while (rows * rows < squares) ++rows;
    admit_images(m, patches, squares + rows);
    m.add({.role = weight_role::norm, .columns = t.hidden});
    m.add(projection(t.hidden, merged(c) * t.hidden, bias_term::none));
    m.add(projection(m.hidden, t.hidden, bias));
    m.add(projection(m.hidden, m.hidden, bias));
}

/// Llama 4: patches embedded by a linear layer, positions for patches and a class token, norms before the first and
/// after the last layer, two linear layers after pixel shuffling.
inline void add_llama4_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = read_tower_shape(v, {.hidden = 768, .width = 5632, .layers = 34, .heads = 16});
    m.encoders[0] = tower_of(t, transformer_layer(t.heads, t.hidden, t.width));
    // 16 tiles and the whole image; pixel_shuffle_ratio 0.5 leaves a quarter of the patches.
    admit_images(m, 17 * (patch_count(v, 448, 14) + 1), 17 * (patch_count(v, 448, 14) / 4));
    m.add(patch_embedding(v, t.hidden, 14, bias_term::none));
    m.add(positions(patch_count(v, 448, 14) + 2, t.hidden));
    m.add(layer_norm(t.hidden));
    m.add(layer_norm(t.hidden));
    const std::int64_t in = feature_count(v, "projector_input_dim", 4096);
    const std::int64_t out = feature_count(v, "projector_output_dim", 4096);
    m.add(projection(in, t.width, bias_term::none));
    m.add(projection(out, in, bias_term::none));
    m.add(projection(m.hidden, feature_count(v, "vision_output_dim", 7680), bias_term::none));
}

/// Llama 3.2 Vision: gated embeddings of positions and tiles; local and gated global layers, five of whose outputs are
/// concatenated.
inline void add_mllama_vision(config_fields& c, model& m) {
    if (is_architecture(c, "ForCausalLM")) {  // the text model alone
        (void)c.has(vision_field);
        return;
    }
    vision_fields v{c};
    tower_shape t = read_tower_shape(v, {.hidden = 1280, .width = 5120, .layers = 32, .heads = 16});
    const std::int64_t global = v.number_or("num_global_layers", 8, 0, 128);
    t.layers += global;
    layer block = transformer_layer(t.heads, t.hidden, t.width);
    block.attention.qkv_bias = block.attention.output_bias = false;
    m.encoders[0] = tower_of(t, block);
    const std::int64_t rows = patch_count(v, 448, 14) + 1;
    const std::int64_t tiles = v.number_or("max_num_tiles", 4, 1, 1024);
    const nlohmann::json* given = v.list("supported_aspect_ratios");
    const std::int64_t ratios = 1 + (given != nullptr ? static_cast<std::int64_t>(given->size()) : 8);
    m.encoders[0].output = tokens(rows * tiles);
    m.add(patch_embedding(v, t.hidden, 14, bias_term::none));
    m.add(positions(rows + 1, t.hidden));  // with the class token
    m.add(positions(ratios, tiles * rows * t.hidden));
    m.add(positions(ratios, tiles * t.hidden, 2));
    m.add({.role = weight_role::values, .columns = 3 + 2 * global});  // gates of positions, tiles and global layers
    m.add(layer_norm(t.hidden));
    m.add(layer_norm(t.hidden));
    m.add(projection(m.hidden, feature_count(v, "vision_output_dim", 7680)));
}

/// Llama 3.2 Vision's text model: some layers attend to the image instead of the text; the embedding has eight rows
/// more than the head.
inline model read_mllama_text(config_fields& c) {
    model m = read_frame(c);
    layer self = read_llama_layer(c, m.hidden);
    layer cross = self;
    cross.attention.cross = cross_attention::instead;
    cross.attention.qk_norm = query_key_norm::shared;
    cross.more_values = 2;
    read_layers(c, m, layer_count(c),
                [&](std::int64_t i) { return c.lists("cross_attention_layers", i) ? cross : self; });
    m.add({.role = weight_role::embed_tokens, .rows = 8, .columns = m.hidden});
    return m;
}

/// The image of the most pixels that Qwen's processors allow: 12 845 056 in patches of 14, 16 777 216 in patches of 16.
inline constexpr std::int64_t qwen_patches = 65536;
inline void admit_qwen_images(model& m, std::int64_t merged) {
    admit_images(m, qwen_patches, qwen_patches / merged);
    m.encoders[0].position_axes = 3;
}

/// Qwen2-VL: patches over two frames, LayerNorms, a merger of two linear layers. `hidden_size` of the vision part is
/// the text model's.
inline void add_qwen2_vision(config_fields& c, model& m) {
    vision_fields v{c};
    tower_shape t;
    t.hidden = feature_count(v, "embed_dim", 1280);
    t.layers = v.number_or("depth", 32, 1, layer_stack::max_layers);
    t.heads = v.number_or("num_heads", 16, 1, most_heads);
    t.width = v.number_or("mlp_ratio", 4, 1, 64) * t.hidden;
    const std::int64_t joined = merged(v) * t.hidden;
    m.encoders[0] = tower_of(t, transformer_layer(t.heads, t.hidden, t.width));
    admit_qwen_images(m, merged(v));
    m.add(patch_embedding(v, t.hidden, 14, bias_term::none, v.number_or("temporal_patch_size", 2, 1, 64)));
    m.add(layer_norm(t.hidden));
    m.add(projection(joined, joined));
    m.add(projection(feature_count(v, "hidden_size", m.hidden), joined));
}

/// Qwen2.5-VL and EXAONE 4.5: a tower with gated feed-forwards and RMS norms.
inline void add_qwen2_5_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = read_tower_shape(v, {.hidden = 3584, .width = 3420, .layers = 32, .heads = 16});
    layer block = transformer_layer(t.heads, t.hidden, t.width);
    block.feed_forward.kind = feed_forward_kind::gated;
    block.norm = norm_kind::rms;
    block.attention.kv_heads = v.number_or(kv_heads_field, t.heads, 1, t.heads);
    const std::int64_t joined = merged(v) * t.hidden;
    m.encoders[0] = tower_of(t, block);
    admit_qwen_images(m, merged(v));
    m.add(patch_embedding(v, t.hidden, 14, bias_term::none, v.number_or("temporal_patch_size", 2, 1, 64)));
    m.add({.role = weight_role::norm, .columns = t.hidden});
    m.add(projection(joined, joined));
    m.add(projection(feature_count(v, "out_hidden_size", m.hidden), joined));
}

/// Adds the tower of audio that Qwen's Omni models have beside the tower of images: Whisper's encoder, and what makes
/// its features the text model's.
inline void add_qwen2_5_omni(config_fields& c, model& m) {
    add_qwen2_5_vision(c, m);
    nested_fields a{c, "audio_config"};
    const std::int64_t hidden = feature_count(a, "d_model", 1280);
    const std::int64_t heads = a.number_or("encoder_attention_heads", 20, 1, hidden);
    encoder& audio = m.encoders[1];
    audio = {.hidden = hidden,
             .layers = static_cast<std::int32_t>(a.number_or("encoder_layers", 32, 1, layer_stack::max_layers)),
             .block = transformer_layer(heads, hidden, feature_count(a, "encoder_ffn_dim", 5120)),
             .quantised = false};
    audio.block.attention.keys = key_projection::unbiased;
    const std::int64_t out = feature_count(a, "output_dim", m.hidden);
    m.add({.role = weight_role::conv,
           .bias = true,
           .rows = hidden,
           .columns = 3 * a.number_or("num_mel_bins", 128, 1, 65536)});
    m.add({.role = weight_role::conv, .bias = true, .rows = hidden, .columns = 3 * hidden});
    m.add(positions(2, out));
    m.add(layer_norm(hidden));
    m.add(projection(out, hidden));
}

/// Qwen3-VL and Qwen3.5: learned positions, a merger, and one more merger for each layer of the tower whose output is
/// added in the first layers of the text model.
inline void add_qwen3_tower(config_fields& c, model& m, std::int64_t mergers_by_default) {
    vision_fields v{c};
    const tower_shape t = read_tower_shape(v, {.hidden = 1152, .width = 4304, .layers = 27, .heads = 16});
    const std::int64_t joined = merged(v) * t.hidden;
    const std::int64_t out = feature_count(v, "out_hidden_size", m.hidden);
    const nlohmann::json* deep = v.list("deepstack_visual_indexes");
    const std::int64_t mergers = deep != nullptr ? static_cast<std::int64_t>(deep->size()) : mergers_by_default;
    m.encoders[0] = tower_of(t, transformer_layer(t.heads, t.hidden, t.width));
    admit_qwen_images(m, merged(v));
    m.add(patch_embedding(v, t.hidden, 16, bias_term::added, v.number_or("temporal_patch_size", 2, 1, 64)));
    m.add(positions(feature_count(v, "num_position_embeddings", 2304), t.hidden));
    m.add(layer_norm(t.hidden));
    m.add(projection(joined, joined));
    m.add(projection(out, joined));
    if (mergers == 0) return;
    m.add({.role = weight_role::norm, .columns = joined, .copies = 2 * mergers});
    m.add({.role = weight_role::projector, .bias = true, .rows = joined, .columns = joined, .copies = mergers});
    m.add({.role = weight_role::projector, .bias = true, .rows = out, .columns = joined, .copies = mergers});
}

inline void add_qwen3_vision(config_fields& c, model& m) { add_qwen3_tower(c, m, 3); }
inline void add_qwen3_5_vision(config_fields& c, model& m) { add_qwen3_tower(c, m, 0); }

/// Idefics 3 and SmolVLM: SigLIP, pixel shuffling, one linear layer.
inline void add_idefics3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m, idefics3_siglip);
    const std::int64_t scale = c.number_or("scale_factor", 2, 1, 64);
    m.add(projection(m.hidden, t.hidden * scale * scale, bias_term::none));
}

/// Phi-3-Vision: Phi-3 with CLIP ViT-L/14 at 336 pixels, of which the file gives the name only; a projector of squares
/// of four patches, and two separator tokens.
inline model read_phi3_vision(config_fields& c) {
    model m = read_mistral(c);
    constexpr field_names processor_field{"img_processor"};
    const nlohmann::json* processor = c.object(processor_field);
    const auto name = processor != nullptr ? processor->find("name") : nlohmann::json::const_iterator{};
    if (processor == nullptr || name == processor->end() || !says(*name, "clip_vision_model")) {
        c.fail({error_code::unsupported, "img_processor.name", "another tower", "clip_vision_model"});
        return m;
    }
    static const nlohmann::json clip_large_336 = own_json(
        R"({"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
            "image_size": 336, "patch_size": 14})");
    config_fields v{clip_large_336, "img_processor"};
    const tower_shape t = add_clip(v, m);
    m.add(projection(m.hidden, 4 * t.hidden));
    m.add(projection(m.hidden, m.hidden));
    m.add(positions(2, 4 * t.hidden));
    return m;
}

// ---- encoders of images and of texts

/// The image encoder of CLIP or SigLIP alone: its tower is the model.
inline model tower_alone(model m) {
    m.hidden = m.encoders[0].hidden;
    m.layers.append(m.encoders[0].layers, m.encoders[0].block);
    m.encoders[0] = {};
    m.tied_head = true;
    m.final_norm = norm_kind::none;
    return m;
}
inline model read_clip_vision(config_fields& c) {
    model m;
    add_clip(c, m);
    return tower_alone(m);
}
inline model read_siglip_vision(config_fields& c) {
    model m;
    add_siglip(c, m);
    return tower_alone(m);
}

/// CLIP: the text encoder is the layers of the model, the image encoder its tower; both are projected to a common
/// width.
inline model read_clip_text(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = true;
    m.final_norm = norm_kind::layer;
    const std::int64_t heads = read_head_count(c, heads_field, m.hidden);
    m.add(positions(feature_count(c, context_field), m.hidden));
    return stack_of(c, m, transformer_layer(heads, m.hidden, feature_count(c, width_field)));
}
inline void add_clip_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_clip(v, m);
    const std::int64_t common = feature_count(c, "projection_dim", 512);
    m.add(projection(common, t.hidden, bias_term::none));
    m.add(projection(common, m.hidden, bias_term::none));
    m.add({.role = weight_role::values});
}

/// SigLIP: as CLIP, but the projection of texts has a bias, and images are pooled by attention; a learned scale and
/// bias of the similarity.
inline model read_siglip_text(config_fields& c) {
    model m = read_clip_text(c);
    m.add(projection(feature_count(c, "projection_size", m.hidden), m.hidden));
    return m;
}
inline void add_siglip_vision(config_fields& c, model& m) {
    vision_fields v{c};
    add_siglip(v, m);
    m.add({.role = weight_role::values, .columns = 2});
}

}  // namespace llmres::inline v0::detail::hf
