// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/dense.hpp>
#include <llmres/io/hf/vision/towers.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Models that read images with a tower of their own. From transformers 5.17, src/transformers/models/*/modeling_*.py.
namespace llmres::inline v0::detail::hf {

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
    m.add(projection(out, out, bias_term::none));
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

/// The images of the most and of the fewest pixels that Qwen's processors allow: 12 845 056 and 3 136 in patches of 14,
/// 16 777 216 and 65 536 in patches of 16.
inline constexpr std::int64_t qwen_patches = 65536;
inline void admit_qwen_images(model& m, std::int64_t merged, std::int64_t least) {
    admit_images(m, qwen_patches, qwen_patches / merged);
    m.encoders[0].resize = image_resize::to_area;
    m.encoders[0].least_image_tokens = tokens(least);
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
    admit_qwen_images(m, merged(v), 4);
    m.add(patch_embedding(v, t.hidden, 14, bias_term::none, v.number_or("temporal_patch_size", 2, 1, 64)));
    add_normed_projector(m, t.hidden, joined, joined, feature_count(v, "hidden_size", m.hidden));
}

/// Qwen2.5-VL and EXAONE 4.5: a tower with gated feed-forwards and RMS norms. `kv_heads`: of a file that does not say;
/// 0: as many as heads.
inline void add_gated_qwen_tower(config_fields& c, model& m, std::int64_t kv_heads) {
    vision_fields v{c};
    const tower_shape t = read_tower_shape(v, {.hidden = 3584, .width = 3420, .layers = 32, .heads = 16});
    layer block = transformer_layer(t.heads, t.hidden, t.width);
    block.feed_forward.kind = feed_forward_kind::gated;
    block.norm = norm_kind::rms;
    block.attention.kv_heads = v.number_or(kv_heads_field, kv_heads > 0 ? kv_heads : t.heads, 1, t.heads);
    const std::int64_t joined = merged(v) * t.hidden;
    m.encoders[0] = tower_of(t, block);
    admit_qwen_images(m, merged(v), 4);
    const nlohmann::json* whole = v.list("fullatt_block_indexes");  // of four layers where a file does not say
    const std::int64_t window = v.number_or("window_size", 112, 1, 65536) / v.number_or("patch_size", 14, 1, 1024);
    const std::int64_t seeing_all = whole != nullptr ? static_cast<std::int64_t>(whole->size()) : 4;
    m.encoders[0].window_patches = tokens(window * window);
    m.encoders[0].windowed_layers = static_cast<std::int32_t>(t.layers > seeing_all ? t.layers - seeing_all : 0);
    m.add(patch_embedding(v, t.hidden, 14, bias_term::none, v.number_or("temporal_patch_size", 2, 1, 64)));
    m.add({.role = weight_role::norm, .columns = t.hidden});
    add_normed_projector(m, 0, joined, joined, feature_count(v, "out_hidden_size", m.hidden));
}
/// In jina-embeddings-v4, with a projection of each token's features to those of one vector of many.
inline void add_qwen2_5_vision(config_fields& c, model& m) {
    add_gated_qwen_tower(c, m, 0);
    if (!c.has("multi_vector_projector_dim")) return;
    m.add({.role = weight_role::classifier,
           .part = model_part::output,
           .bias = true,
           .rows = feature_count(c, "multi_vector_projector_dim"),
           .columns = m.hidden});
}
inline void add_exaone4_5_vision(config_fields& c, model& m) { add_gated_qwen_tower(c, m, 8); }

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
    admit_qwen_images(m, merged(v), 64);
    m.add(patch_embedding(v, t.hidden, 16, bias_term::added, v.number_or("temporal_patch_size", 2, 1, 64)));
    m.add(positions(feature_count(v, "num_position_embeddings", 2304), t.hidden));
    add_normed_projector(m, t.hidden, joined, joined, out);
    if (mergers == 0) return;
    m.add({.role = weight_role::norm, .columns = joined, .copies = 2 * mergers});
    m.add({.role = weight_role::projector, .bias = true, .rows = joined, .columns = joined, .copies = mergers});
    m.add({.role = weight_role::projector, .bias = true, .rows = out, .columns = joined, .copies = mergers});
}

inline void add_qwen3_vision(config_fields& c, model& m) { add_qwen3_tower(c, m, 3); }
inline void add_qwen3_5_vision(config_fields& c, model& m) { add_qwen3_tower(c, m, 0); }

/// InternVL and Qianfan-OCR: a class token, scales of both halves of a layer; a norm and two linear layers over squares
/// of patches. `biases`: of queries, keys and values, where a file does not say.
inline void add_internvl_tower(config_fields& c, model& m, bias_term biases) {
    vision_fields v{c};
    const bool full = v.flag_or("use_qk_norm", false);
    if (full || v.flag_or("use_mask_token", false)) c.fail(error_code::unsupported, "use_qk_norm", "false");
    if (v.text_or("norm_type", "layer_norm") != "layer_norm")
        v.fail(error_code::unsupported, "norm_type", "layer_norm");
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1024, .width = 4096, .layers = 24, .heads = 16},
                                     .image = 448,
                                     .positions = tower_positions::table_and_class,
                                     .attention_bias = v.flag_or("attention_bias", biases == bias_term::added),
                                     .layer_scales = true,
                                     .norms = v.flag_or("use_mean_pooling", true) ? 0 : 1});
    const double ratio = c.real_or("downsample_ratio", 0.5, 0.01, 1);
    const auto squares = static_cast<std::int64_t>(1 / (ratio * ratio) + 0.5);
    add_normed_projector(m, squares * t.hidden, squares * t.hidden, m.hidden, m.hidden);
    merge_patches(m, squares);
}
inline void add_internvl_vision(config_fields& c, model& m) { add_internvl_tower(c, m, bias_term::none); }
inline void add_qianfan_vision(config_fields& c, model& m) { add_internvl_tower(c, m, bias_term::added); }

/// GLM-4.1V and its successors: gated feed-forwards, patches over two frames, a convolution that merges squares, and a
/// gated projector. GLM-OCR's has biases, and norms of queries and keys, but no positions.
inline void add_glm_tower(config_fields& c, model& m, generation which) {
    const bool second = which == generation::second;
    vision_fields v{c};
    const bool bias = v.flag_or("attention_bias", second);
    tower_form form{.shape = {.hidden = second ? 1024 : 1536, .width = 0, .layers = 24, .heads = 12},
                    .image = 336,
                    .frames = 2,
                    .positions = second ? tower_positions::none : tower_positions::table,
                    .feed_forward = feed_forward_kind::gated,
                    .attention_bias = bias,
                    .output_bias = second && bias,
                    .feed_forward_bias = second && bias,
                    .query_key_norm = second,
                    .norms = second ? 1 : 2};
    const std::int64_t out = feature_count(v, "out_hidden_size", second ? 1536 : 4096);
    const std::int64_t width = feature_count(v, "intermediate_size", second ? 4096 : 13696);
    form.shape.width = width;
    const tower_shape t = add_tower(v, m, form);
    // The first family's towers have the projector's width in the file, and feed-forwards as wide as their output.
    if (!second) m.encoders[0].block.feed_forward.width = out;
    const std::int64_t inner =
        second ? feature_count(c, "projector_intermediate_size", out * v.number_or("in_channels", 3, 1, 64)) : width;
    m.add({.role = weight_role::conv, .bias = true, .rows = out, .columns = t.hidden * merged(v)});
    m.add(projection(out, out, bias_term::none));
    m.add(layer_norm(out));
    m.add({.role = weight_role::projector, .rows = inner, .columns = out, .copies = 2});
    m.add(projection(out, inner, bias_term::none));
    if (form.positions != tower_positions::none) merge_patches(m, merged(v));
}
inline void add_glm4v_vision(config_fields& c, model& m) { add_glm_tower(c, m, generation::first); }
inline void add_glm_ocr_vision(config_fields& c, model& m) { add_glm_tower(c, m, generation::second); }

/// Kimi K2.5: MoonViT, with a table of positions that is stretched to the image; a norm and two linear layers over
/// squares of patches.
inline void add_kimi_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_tower(
        v, m,
        {.shape = {.hidden = 1152, .width = 4304, .layers = 27, .heads = 16}, .positions = tower_positions::none});
    m.add(positions(v.number_or({"pos_emb_height", "init_pos_emb_height"}, 64, 1, 65536) *
                        v.number_or({"pos_emb_width", "init_pos_emb_width"}, 64, 1, 65536),
                    t.hidden));
    const nlohmann::json* kernel = v.list("merge_kernel_size");
    std::int64_t squares = 1;
    for (std::size_t i = 0; kernel != nullptr && i < kernel->size(); ++i)
        squares *= v.number_at("merge_kernel_size", i, 1, 64);
    if (kernel == nullptr) squares = 4;
    const std::int64_t joined = squares * t.hidden;
    add_normed_projector(m, feature_count(c, "projection_hidden_size", t.hidden), joined, joined, m.hidden);
}

/// Kimi-K3: MoonViT of its second generation, without biases, whose heads are wider together than its features; patches
/// of two by two through two linear layers and a norm.
inline void add_kimi_k3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const std::int64_t features = feature_count(v, "vt_hidden_size"),
                       heads = v.number("vt_num_attention_heads", 1, 4096);
    layer block = transformer_layer(heads, features, feature_count(v, "vt_intermediate_size"));
    block.norm = norm_kind::rms;
    block.attention.qkv_bias = block.attention.output_bias = v.flag_or("attn_bias", false);
    block.feed_forward.bias = v.flag_or("linear_bias", false);
    block.attention.head_dim = v.ok() ? feature_count(v, "qkv_hidden_size", features) / heads : 1;
    m.encoders[0] = {.hidden = features,
                     .layers = static_cast<std::int32_t>(v.number("vt_num_hidden_layers", 1, layer_stack::max_layers)),
                     .block = block,
                     .quantised = false};
    m.add(patch_embedding(v, features, 14,
                          v.flag_or("patch_embed_proj_bias", false) ? bias_term::added : bias_term::none));
    m.add(positions(v.number_or("init_pos_emb_height", 64, 1, 65536) * v.number_or("init_pos_emb_width", 64, 1, 65536),
                    features));
    m.add({.role = weight_role::norm, .columns = features});
    const std::int64_t joined = 4 * features;
    m.add(projection(joined, joined, bias_term::none));
    m.add(projection(m.hidden, joined, bias_term::none));
    m.add({.role = weight_role::norm, .columns = m.hidden});
}

/// Muse Glimmer: patches over two frames through a linear layer, norms before and after the layers; three linear layers
/// without biases as projector.
inline void add_muse_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1536, .width = 8960, .layers = 50, .heads = 16},
                                     .frames = v.number_or("patch_temporal", 2, 1, 64),
                                     .patch_bias = false,
                                     .positions = tower_positions::none,
                                     .norms = 2});
    m.add(
        positions(v.number_or("pos_emb_height", 32, 1, 65536) * v.number_or("pos_emb_width", 32, 1, 65536), t.hidden));
    const std::int64_t inner = feature_count(c, "projector_hidden_size", 4096);
    const std::int64_t side = v.number_or("merge_size", 2, 1, 64);
    m.add(projection(inner, feature_count(c, "out_hidden_size", side * side * t.hidden), bias_term::none));
    m.add(projection(inner, inner, bias_term::none));
    m.add(projection(m.hidden, inner, bias_term::none));
}

/// MiniMax-M3: patches over two frames without a bias, one norm before the layers; two projectors, of patches and of
/// merged patches.
inline void add_minimax_m3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1280, .width = 5120, .layers = 32, .heads = 16},
                                     .frames = 2,
                                     .patch_bias = false,
                                     .positions = tower_positions::none});
    const std::int64_t inner = feature_count(c, "projector_hidden_size", 6144);
    add_normed_projector(m, 0, t.hidden, inner, m.hidden);
    add_normed_projector(m, 0, feature_count(c, "merged_hidden_size", merged(v) * m.hidden), inner, m.hidden);
}

/// Step 3.7: feed-forwards as wide as `mlp_ratio` says, scales of both halves of a layer, a norm before the first; two
/// convolutions that halve the sides, one linear layer.
inline void add_step3p7_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const std::int64_t hidden = feature_count(v, "hidden_size", 1536);
    const double ratio = v.real_or("mlp_ratio", 8960.0 / 1536, 0.01, 64);
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1536, .width = 8960, .layers = 47, .heads = 16},
                                     .image = 728,
                                     .patch_bias = false,
                                     .layer_scales = true});
    m.encoders[0].block.feed_forward.width = static_cast<std::int64_t>(ratio * static_cast<double>(hidden));
    m.add({.role = weight_role::conv, .bias = true, .rows = 2 * t.hidden, .columns = 9 * t.hidden});
    m.add({.role = weight_role::conv, .bias = true, .rows = 4 * t.hidden, .columns = 18 * t.hidden});
    m.add(projection(m.hidden, 4 * t.hidden, bias_term{c.flag_or("projector_bias", false)}));
    merge_patches(m, 16);
}

/// Ovis 2: gated layers without biases, a norm of the patches and one at the end; a head over visual words, of which
/// the text model has a table.
inline void add_ovis2_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const bool bias = v.flag_or("qkv_bias", false);
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1024, .width = 2816, .layers = 24, .heads = 8},
                                     .feed_forward = feed_forward_kind::gated,
                                     .attention_bias = bias,
                                     .output_bias = bias,
                                     .feed_forward_bias = v.flag_or("mlp_bias", false),
                                     .norms = 2});
    const std::int64_t words = v.number_or("vocab_size", 16384, 2, most_features);
    const std::int64_t indicators = v.number_or("num_visual_indicator_tokens", 5, 0, words - 1);
    const std::int64_t stride = v.number_or("hidden_stride", 1, 1, 64);
    m.add(projection(words - indicators, stride * stride * t.hidden, bias_term::none));
    m.add(layer_norm(words - indicators));
    m.add({.role = weight_role::embed_tokens, .rows = words, .columns = feature_count(c, "hidden_size", m.hidden)});
}

/// Fuyu: no tower; patches go through a linear layer into the text model.
inline void add_fuyu_vision(config_fields& c, model& m) {
    const std::int64_t side = c.number_or("patch_size", 30, 1, 4096);
    m.add(projection(m.hidden, c.number_or("num_channels", 3, 1, 1024) * side * side));
}

/// Gemma 4: layers of Gemma 3's form without windows, a table of positions for rows and one for columns, one linear
/// layer. Smaller models have no tower.
inline void add_gemma4_vision(config_fields& c, model& m) {
    if (!c.has(vision_field)) return;
    vision_fields v{c};
    const tower_shape t = read_tower_shape(v, {.hidden = 768, .width = 3072, .layers = 16, .heads = 12});
    layer block;
    block.attention = {.heads = t.heads,
                       .kv_heads = v.number_or(kv_heads_field, t.heads, 1, t.heads),
                       .head_dim = v.number_or("head_dim", 64, 1, most_heads)};
    block.attention.qk_norm = query_key_norm::shared;
    block.feed_forward.width = t.width;
    block.norm_after_attention = block.norm_after_feed_forward = true;
    if (v.flag_or("use_clipped_linears", false))
        block.more_values = std::int64_t{7} * 4;  // the bounds of each product's input and output, which files store
    m.encoders[0] = tower_of(t, block);
    m.add(patch_embedding(v, t.hidden, 16, bias_term::none));
    m.add(positions(2 * feature_count(v, "position_embedding_size", 10240), t.hidden));
    if (v.flag_or("standardize", false)) m.add({.role = weight_role::values, .columns = 2 * t.hidden});
    m.add(projection(m.hidden, t.hidden, bias_term::none));
}

struct conformer_shape {
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t layers = 0;
    std::int64_t kernel = 0;  ///< of the convolution along time
};

/// The shape that a file of Gemma 3n or 4 gives its audio tower, or its class has.
inline conformer_shape read_conformer(config_fields& a, std::int64_t hidden, const field_names& heads,
                                      const field_names& layers, const field_names& kernel) {
    const conformer_shape read{.hidden = hidden,
                               .heads = a.number_or(heads, 8, 1, hidden),
                               .layers = a.number_or(layers, 12, 1, layer_stack::max_layers),
                               .kernel = a.number_or(kernel, 5, 1, 64)};
    check_heads(a, heads, read.heads, hidden);
    return read;
}

/// A Conformer (Universal Speech Model): two convolutions that halve the sides of a spectrogram of 128 channels, each
/// with a norm, and a linear layer; in each layer a feed-forward, attention with relative positions and a scale for
/// each feature of a head, a gated convolution along time, another feed-forward, and nine norms.
inline void add_conformer(model& m, const conformer_shape& t) {
    layer block = transformer_layer(t.heads, t.hidden, 4 * t.hidden);
    block.norm = norm_kind::rms;
    block.attention.qkv_bias = block.attention.output_bias = block.feed_forward.bias = false;
    block.more_norms = 7;
    // Relative positions, the gated convolution's linear layers in and out, and the other feed-forward.
    block.more_features = (1 + 3 + 8) * t.hidden;
    block.more_values = t.hidden / t.heads + t.kernel * t.hidden;
    m.encoders[1] = {
        .hidden = t.hidden, .layers = static_cast<std::int32_t>(t.layers), .block = block, .quantised = false};
    constexpr std::int64_t first = 128, second = 32, channels = 128;
    m.add({.role = weight_role::conv, .rows = first, .columns = 9});
    m.add({.role = weight_role::conv, .rows = second, .columns = 9 * first});
    m.add({.role = weight_role::norm, .columns = first + second});
    m.add(projection(t.hidden, second * (channels / 4), bias_term::none));
}

/// Gemma 4: the tower of images, and in the smaller models a Conformer for audio with a linear layer behind it. The
/// bounds of the Conformer's clipped products are not counted, as they are not in the published totals.
inline void add_gemma4_towers(config_fields& c, model& m) {
    add_gemma4_vision(c, m);
    if (!c.has(audio_field)) return;
    nested_fields a{c, audio_field};
    const std::int64_t hidden = feature_count(a, "hidden_size", 1024), out = feature_count(a, "output_proj_dims", 1536);
    add_conformer(m, read_conformer(a, hidden, "num_attention_heads", "num_hidden_layers", "conv_kernel_size"));
    m.add(projection(out, hidden));
    m.add(projection(m.hidden, out, bias_term::none));
}

/// Gemma 3n: images by timm's MobileNet V5, audio by a Conformer; for each a table of tokens of its own, two norms and
/// a linear layer.
inline void add_gemma3n_towers(config_fields& c, model& m) {
    const auto embed = [&](config_fields& of, std::int64_t by_default) {
        const std::int64_t hidden = feature_count(of, "hidden_size", by_default);
        m.add(positions(feature_count(of, "vocab_size", 128), hidden));
        m.add({.role = weight_role::norm, .columns = hidden, .copies = 2});
        m.add(projection(m.hidden, hidden, bias_term::none));
        return hidden;
    };
    {
        vision_fields v{c};
        constexpr std::string_view tower = "mobilenetv5_300m_enc";
        if (v.text_or("architecture", tower) != tower) v.fail(error_code::unsupported, "architecture", tower);
        embed(v, 2048);
        // timm 1.0.31, mobilenetv5_300m_enc: convolutions (of which the first has a bias), norms and scales of layers
        // in 84 blocks and the adapter that joins two resolutions.
        m.add({.role = weight_role::conv, .rows = 64, .columns = 4'591'274});
        m.add({.role = weight_role::norm, .columns = 210'496});
        m.add({.role = weight_role::values, .columns = 74'880});
    }
    {
        nested_fields a{c, audio_field};
        const std::int64_t hidden = embed(a, 1536);
        add_conformer(m, read_conformer(a, hidden, "conf_num_attention_heads", "conf_num_hidden_layers",
                                        "conf_conv_kernel_size"));
    }
}

}  // namespace llmres::inline v0::detail::hf
