// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/io/hf/dense.hpp>
#include <llmres/io/hf/vision/towers.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Models that read images with a tower that others have, too (SigLIP, CLIP, Pixtral, SAM), and a projector of their
/// own. From transformers 5.17, src/transformers/models/*/modeling_*.py.
namespace llmres::inline v0::detail::hf {

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
    const std::int64_t width = feature_count(v, "projection_dim", m.hidden);
    m.add(projection(feature_count(c, "projection_dim", width), t.hidden));
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
    m.encoders[0].resize = image_resize::to_edge;
    m.add({.role = weight_role::norm, .columns = t.hidden});
    m.add(projection(t.hidden, merged(c) * t.hidden, bias_term::none));
    m.add(projection(m.hidden, t.hidden, bias));
    m.add(projection(m.hidden, m.hidden, bias));
}

/// Idefics 3 and SmolVLM: SigLIP, pixel shuffling, one linear layer.
inline void add_idefics3_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_siglip(v, m, idefics3_siglip);
    const std::int64_t scale = c.number_or("scale_factor", 2, 1, 64);
    m.add(projection(m.hidden, t.hidden * scale * scale, bias_term::none));
    merge_patches(m, scale * scale);
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
    add_normed_projector(m, 0, 4 * t.hidden, m.hidden, m.hidden);
    m.add(positions(2, 4 * t.hidden));
    return m;
}

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
    const bias_term bias{c.flag_or("multimodal_projector_bias", true)};
    m.add(projection(m.hidden, t.hidden, bias));
    m.add(projection(m.hidden, m.hidden, bias));
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
    const tower_shape t = add_siglip(v, m, {.patches = 256});
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
    const tower_shape t = add_siglip(
        v, m,
        {.shape = {.hidden = 1152, .width = 4304, .layers = 27, .heads = 16}, .pooling_head = false, .patches = 256});
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
    if (const nlohmann::json* map = c.object("projector_patch_to_query_dict"); map != nullptr && !map->empty()) {
        queries = 1;
        for (const auto& [patches, count] : map->items())
            if (count.is_number_integer()) queries = (std::max)(queries, count.get<std::int64_t>());
    }
    m.encoders[0].image_tokens = m.encoders[0].output = tokens(queries);
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
    resampler = {.hidden = m.hidden,  // whatever the resampler's own object says
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

/// MiniCPM-V 4.6: SigLIP; a layer of attention over windows of patches and a feed-forward that merges them, then
/// further merges.
inline void add_minicpmv_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t =
        add_tower(v, m, {.shape = {.hidden = 768, .width = 3072, .layers = 12, .heads = 12}, .patch = 16});
    const std::int64_t joined = 4 * t.hidden;
    m.add({.role = weight_role::projector, .bias = true, .rows = t.hidden, .columns = t.hidden, .copies = 4});
    m.add(layer_norm(t.hidden));
    add_normed_projector(m, joined, joined, 4 * t.width, t.hidden);
    const std::int64_t times = c.number_or("merger_times", 1, 1, 8);
    for (std::int64_t i = 0; i < times; ++i)
        add_normed_projector(m, joined, joined, joined, i == times - 1 ? m.hidden : t.hidden);
    merge_patches(m, std::int64_t{4} << (2 * times));  // squares of four by the windows, and by each merge
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

/// Phi-4 Multimodal: Phi-3 with SigLIP (and its pooling head), and a conformer for audio: in each layer two gated
/// feed-forwards, attention, and convolutions in a gated branch; two linear layers lead from each tower to the text.
inline void add_phi4_multimodal(config_fields& c, model& m) {
    {
        vision_fields v{c};
        const tower_shape t = add_siglip(
            v, m, {.shape = {.hidden = 1152, .width = 4304, .layers = 27, .heads = 16}, .patch = 14, .image = 448});
        m.add(positions(2, t.hidden));
        m.add(projection(m.hidden, t.hidden));
    }
    nested_fields a{c, "audio_config"};
    const std::int64_t hidden = feature_count(a, "hidden_size", 1024);
    const std::int64_t heads = a.number_or("num_attention_heads", 16, 1, hidden);
    const std::int64_t width = feature_count(a, "intermediate_size", 1536);
    const std::int64_t layers = a.number_or("num_blocks", 24, 1, layer_stack::max_layers);
    const std::int64_t kernel = a.number_or("kernel_size", 3, 1, 64);
    const std::int64_t out = feature_count(a, "ext_pw_out_channel", 1024);
    const std::int64_t channels = feature_count(a, "nemo_conv_channels", 1024);
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
    const std::int64_t deep = hidden * a.number_or("depthwise_multiplier", 1, 1, 64);
    in_layers(weight_role::conv, deep, kernel);
    in_layers(weight_role::conv, feature_count(a, "depthwise_separable_out_channel", 1024), deep);
    in_layers(weight_role::conv, out, hidden);
    // The stem: three convolutions of single channels, two over all channels, one linear layer.
    m.add({.role = weight_role::conv, .bias = true, .rows = channels, .columns = 9, .copies = 3});
    m.add({.role = weight_role::conv, .bias = true, .rows = channels, .columns = channels, .copies = 2});
    m.add(projection(hidden, channels * a.number_or("nemo_final_size", 10, 1, 65536)));
    m.add(positions(distance * (a.flag_or("bias_symmetric", false) ? 1 : 2), heads));
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = hidden, .copies = 2});
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = m.hidden, .copies = 3});
}

}  // namespace llmres::inline v0::detail::hf
