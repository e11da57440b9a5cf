// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/io/hf/vision/vision.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// More models that read images: a tower, described by what it departs in from one form, and a projector. From
/// transformers 5.17, src/transformers/models/*/modeling_*.py.
namespace llmres::inline v0::detail::hf {

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

// ---- projectors on known towers

inline void add_vipllava_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_named_tower(v, m);
    const nlohmann::json* listed = c.list("vision_feature_layers");
    const std::int64_t layers = listed != nullptr ? static_cast<std::int64_t>(listed->size()) : 5;
    add_normed_projector(m, layers * t.hidden, layers * t.hidden, m.hidden, m.hidden);
}

/// Video-LLaVA: a tower for images and an equal one for videos.
inline void add_video_llava_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_named_tower(v, m);
    const encoder images = m.encoders[0];
    (void)add_named_tower(v, m);
    m.encoders[1] = images;
    add_normed_projector(m, 0, t.hidden, m.hidden, m.hidden);
}

/// DeepSeek-VL: SigLIP and two linear layers.
inline void add_deepseek_vl_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m);
    add_normed_projector(m, 0, t.hidden, m.hidden, m.hidden);
}

/// Command A Vision: SigLIP; squares of patches go through a gated linear layer.
inline void add_cohere2_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m);
    const std::int64_t side = c.number_or("downsample_factor", 2, 1, 64);
    const std::int64_t inner = c.number_or("alignment_intermediate_size", 36864, 2, most_features);
    m.add(projection(inner, t.hidden * side * side));
    m.add(projection(m.hidden, inner / 2));
    merge_patches(m, side * side);
}

/// LFM2-VL: SigLIP 2, a projector whose norm is optional.
inline void add_lfm2_vl_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m);
    const std::int64_t side = c.number_or("downsample_factor", 2, 1, 64);
    const std::int64_t joined = side * side * t.hidden;
    const bias_term bias{c.flag_or("projector_bias", true)};
    const std::int64_t inner = feature_count(c, "projector_hidden_size", 2560);
    if (c.flag_or({"projector_use_layernorm", "projector_use_layer_norm"}, true)) m.add(layer_norm(joined));
    m.add(projection(inner, joined, bias));
    m.add(projection(m.hidden, inner, bias));
    merge_patches(m, side * side);
}

/// Cosmos 3 Edge: SigLIP 2 without its head, a norm of patches, two linear layers.
inline void add_cosmos3_edge_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m, {.pooling_head = false});
    const std::int64_t joined = merged(v) * t.hidden;
    add_normed_projector(m, t.hidden, joined, feature_count(c, "projector_hidden_size", 11520), m.hidden);
    merge_patches(m, merged(v));
}

/// PaddleOCR-VL: SigLIP, a norm of patches, two linear layers over merged patches.
inline void add_paddleocr_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t =
        add_tower(v, m, {.shape = {.hidden = 1152, .width = 4304, .layers = 27, .heads = 16}, .image = 384});
    const std::int64_t joined = merged(v) * t.hidden;
    add_normed_projector(m, t.hidden, joined, joined, m.hidden);
    merge_patches(m, merged(v));
}

/// VideoLLaMA 3: SigLIP with rotary positions, two linear layers.
inline void add_video_llama3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 768, .width = 3072, .layers = 12, .heads = 12},
                                     .patch = 16,
                                     .positions = tower_positions::none});
    add_normed_projector(m, 0, t.hidden, m.hidden, m.hidden);
}

/// Aria: SigLIP; queries attend to patches through two sets of projections, and a gated feed-forward leads to the text.
inline void add_aria_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m, idefics3_siglip);
    // The largest number of queries that a number of patches is mapped to.
    std::int64_t queries = 256;
    if (const nlohmann::json* map = c.object("projector_patch_to_query_dict"))
        for (const auto& [patches, count] : map->items())
            if (count.is_number_integer()) queries = (std::max)(queries, count.get<std::int64_t>());
    m.add(positions(queries, t.hidden));
    m.add({.role = weight_role::projector, .rows = t.hidden, .columns = t.hidden, .copies = 3});
    m.add({.role = weight_role::projector, .bias = true, .rows = t.hidden, .columns = t.hidden, .copies = 5});
    m.add({.role = weight_role::norm, .columns = t.hidden, .copies = 6});
    m.add(projection(m.hidden, t.hidden, bias_term::none));
    m.add(projection(m.hidden, m.hidden, bias_term::none));
}

/// Idefics 2: SigLIP, a gated projection, and a resampler of a few layers that attend from learned latents.
inline void add_idefics2_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m, {.patch = 32, .pooling_head = false});
    nested_fields p{c, "perceiver_config"};
    const std::int64_t width = m.layers.size > 0 ? m.layers[0].feed_forward.width : 1;
    m.add({.role = weight_role::projector, .rows = width, .columns = t.hidden, .copies = 2});
    m.add(projection(m.hidden, width, bias_term::none));
    const std::int64_t heads = p.number_or("resampler_n_heads", 16, 1, most_heads);
    encoder& resampler = m.encoders[1];
    resampler = {.hidden = feature_count(p, "hidden_size", 4096),
                 .layers = static_cast<std::int32_t>(p.number_or("resampler_depth", 3, 1, layer_stack::max_layers)),
                 .quantised = false};
    resampler.block.attention = {.heads = heads,
                                 .kv_heads = p.number_or(kv_heads_field, 4, 1, heads),
                                 .head_dim = p.number_or("resampler_head_dim", 96, 1, most_heads)};
    resampler.block.feed_forward.width = 4 * resampler.hidden;
    resampler.block.more_norms = 1;
    resampler.output = tokens(feature_count(p, "resampler_n_latents", 64));
    m.add(positions(resampler.output.in(tokens), resampler.hidden));
    m.add({.role = weight_role::norm, .columns = resampler.hidden});
    merge_patches(m, 1);
    m.encoders[0].image_tokens = m.encoders[0].output = resampler.output;
}

// ---- towers of their own

/// InternVL and Qianfan-OCR: a class token, scales of both halves of a layer; a norm and two linear layers over squares
/// of patches.
inline void add_internvl_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const bool full = v.flag_or("use_qk_norm", false);
    if (full || v.flag_or("use_mask_token", false)) c.fail(error_code::unsupported, "use_qk_norm", "false");
    if (v.text_or("norm_type", "layer_norm") != "layer_norm")
        v.fail(error_code::unsupported, "norm_type", "layer_norm");
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1024, .width = 4096, .layers = 24, .heads = 16},
                                     .image = 448,
                                     .positions = tower_positions::table_and_class,
                                     .attention_bias = v.flag_or("attention_bias", false),
                                     .layer_scales = true,
                                     .norms = v.flag_or("use_mean_pooling", true) ? 0 : 1});
    const double ratio = c.real_or("downsample_ratio", 0.5, 0.01, 1);
    const auto squares = static_cast<std::int64_t>(1 / (ratio * ratio) + 0.5);
    add_normed_projector(m, squares * t.hidden, squares * t.hidden, m.hidden, m.hidden);
    merge_patches(m, squares);
}

/// GLM-4.1V and its successors: gated feed-forwards, patches over two frames, a convolution that merges squares, and a
/// gated projector. GLM-OCR's has biases, and norms of queries and keys, but no positions.
inline void add_glm_tower(config_fields& c, model& m, generation which) {
    const bool second = which == generation::second;
    vision_fields v{c};
    const bool bias = v.flag_or("attention_bias", second);
    tower_form form{.shape = {.hidden = 1536, .width = 0, .layers = 24, .heads = 12},
                    .image = 336,
                    .frames = 2,
                    .positions = second ? tower_positions::none : tower_positions::table,
                    .feed_forward = feed_forward_kind::gated,
                    .attention_bias = bias,
                    .output_bias = second && bias,
                    .feed_forward_bias = second,
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

/// Step 3.7: scales of both halves of a layer, a norm before the first; two convolutions that halve the sides, one
/// linear layer.
inline void add_step3p7_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1536, .width = 8960, .layers = 47, .heads = 16},
                                     .image = 728,
                                     .patch_bias = false,
                                     .layer_scales = true});
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

/// MiniCPM-V 4.6: SigLIP; a layer of attention over windows of patches and a feed-forward that merges them, then
/// further merges.
inline void add_minicpmv_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t =
        add_tower(v, m, {.shape = {.hidden = 768, .width = 3072, .layers = 12, .heads = 12}, .patch = 16});
    const std::int64_t joined = 4 * t.hidden;
    m.add({.role = weight_role::projector, .bias = true, .rows = t.hidden, .columns = t.hidden, .copies = 4});
    m.add(layer_norm(t.hidden));
    m.add(layer_norm(joined));
    m.add(projection(4 * t.width, joined));
    m.add(projection(t.hidden, 4 * t.width));
    const std::int64_t times = c.number_or("merger_times", 1, 1, 8);
    for (std::int64_t i = 0; i < times; ++i)
        add_normed_projector(m, joined, joined, joined, i == times - 1 ? m.hidden : t.hidden);
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
        std::int64_t global = listed != nullptr ? 0 : 4;
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

/// GOT-OCR 2: SAM's tower, two convolutions that halve the sides, one linear layer.
inline void add_got_ocr2_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const std::int64_t neck = add_sam(v, m, 0);
    m.add({.role = weight_role::conv, .rows = 2 * neck, .columns = 9 * neck});
    m.add({.role = weight_role::conv, .rows = m.hidden, .columns = 18 * neck});
    m.add(projection(m.hidden, m.hidden));
}

/// DeepSeek-VL hybrid: SigLIP for the image at low resolution, SAM's tower with a neck of its own at high resolution.
inline void add_deepseek_vl_hybrid_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m);
    nested_fields high{c, "high_res_vision_config"};
    const std::int64_t neck = add_sam(high, m, 1);
    m.add({.role = weight_role::conv, .rows = neck, .columns = m.encoders[1].hidden});
    m.add({.role = weight_role::conv, .rows = neck, .columns = 9 * neck});
    m.add({.role = weight_role::norm, .columns = neck, .copies = 4});
    m.add({.role = weight_role::conv, .rows = 2 * neck, .columns = 9 * neck});
    m.add({.role = weight_role::conv, .rows = 4 * neck, .columns = 18 * neck});
    m.add({.role = weight_role::values});
    m.add(projection(m.hidden / 2, t.hidden));
    m.add(projection(m.hidden / 2, 4 * neck));
    m.add(projection(m.hidden, m.hidden));
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

/// Phi-4 Multimodal: Phi-3 with SigLIP (and its pooling head), and a conformer for audio: in each layer two gated
/// feed-forwards, attention, and convolutions in a gated branch; two linear layers lead from each tower to the text.
inline void add_phi4_multimodal(config_fields& c, model& m) {
    {
        vision_fields v{c};
        const tower_shape t =
            add_siglip(v, m, {.shape = {.hidden = 1152, .width = 4304, .layers = 27, .heads = 16}, .patch = 14});
        m.add(positions(2, t.hidden));
        m.add(projection(m.hidden, t.hidden));
    }
    nested_fields a{c, "audio_config"};
    const std::int64_t hidden = feature_count(a, "hidden_size", 1024);
    const std::int64_t heads = a.number_or("num_attention_heads", 16, 1, hidden);
    const std::int64_t width = feature_count(a, "intermediate_size", 1536);
    const std::int64_t layers = a.number_or("num_blocks", 24, 1, layer_stack::max_layers);
    const std::int64_t kernel = a.number_or("kernel_size", 3, 1, 64);
    const std::int64_t out = feature_count(a, "ext_pw_out_channel", hidden);
    const std::int64_t channels = feature_count(a, "nemo_conv_channels", hidden);
    const std::int64_t distance = feature_count(a, "bias_max_distance", 1000);
    encoder& audio = m.encoders[1];
    audio = {.hidden = hidden,
             .layers = static_cast<std::int32_t>(layers),
             .block = transformer_layer(heads, hidden, width),
             .quantised = false};
    audio.block.feed_forward.kind = feed_forward_kind::gated;
    audio.block.more_norms = 3;
    const auto in_layers = [&](weight_role role, std::int64_t rows, std::int64_t columns) {
        m.add({.role = role, .bias = true, .rows = rows, .columns = columns, .copies = layers});
    };
    in_layers(weight_role::projector, 2 * width, hidden);  // the second feed-forward
    in_layers(weight_role::projector, hidden, width);
    in_layers(weight_role::conv, 2 * out, hidden);
    m.add({.role = weight_role::bias, .columns = out, .copies = 2 * layers});
    in_layers(weight_role::conv, hidden * a.number_or("depthwise_multiplier", 1, 1, 64), kernel);
    const std::int64_t separable = feature_count(a, "depthwise_separable_out_channel", hidden);
    in_layers(weight_role::conv, separable, hidden);
    in_layers(weight_role::conv, out, separable);
    // The stem: three convolutions of single channels, two over all channels, one linear layer.
    m.add({.role = weight_role::conv, .bias = true, .rows = channels, .columns = 9, .copies = 3});
    m.add({.role = weight_role::conv, .bias = true, .rows = channels, .columns = channels, .copies = 2});
    m.add(projection(hidden, channels * a.number_or("nemo_final_size", 10, 1, 65536)));
    m.add(positions(distance * (a.flag_or("bias_symmetric", false) ? 1 : 2), heads));
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = hidden, .copies = 2});
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = m.hidden, .copies = 3});
}

}  // namespace llmres::inline v0::detail::hf
