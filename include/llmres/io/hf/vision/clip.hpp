// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/vision/towers.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Encoders of images and of texts: CLIP and SigLIP, whole or the encoder of images alone.
namespace llmres::inline v0::detail::hf {

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
