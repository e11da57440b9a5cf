// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/encoders/bert.hpp>
#include <llmres/io/hf/vision/towers.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Models that describe images or read pages with text models of their own: GIT, BLIP, Kosmos, Pix2Struct. From
/// transformers 5.17, src/transformers/models/*/modeling_*.py.
namespace llmres::inline v0::detail::hf {

/// GIT: BERT's layers read the features of CLIP's tower, projected and normed; an own head with a bias.
inline model read_git(config_fields& c) {
    model m = read_bert_frame(c, {});
    m.tied_head = c.flag_or("tie_word_embeddings", false);
    m.head.bias = true;
    add_bert_embeddings(c, m, {.types = 0}, m.hidden);
    vision_fields v{c};
    const tower_shape t = read_tower_shape(v, {.hidden = 768, .width = 3072, .layers = 12, .heads = 12});
    m.encoders[0] = tower_of(t, transformer_layer(t.heads, t.hidden, t.width));
    const std::int64_t patches = patch_count(v, 224, 16);
    admit_images(m, patches, patches);
    m.add(patch_embedding(v, t.hidden, 16, bias_term::none));
    m.add(positions(patches + 2, t.hidden));
    m.add({.role = weight_role::norm, .columns = t.hidden, .copies = 4});
    m.add(projection(m.hidden, t.hidden));
    m.add(layer_norm(m.hidden));
    const std::int64_t frames = c.number_or("num_image_with_embedding", 0, 0, most_features);
    if (frames > 0) m.add({.role = weight_role::values, .columns = frames * t.hidden});
    return m;
}

/// The tower that BLIP and its successors share: class token, positions, layers with biases, a norm at the end.
inline tower_shape add_blip_tower(config_fields& v, model& m, const tower_shape& d, std::int64_t image,
                                  std::int64_t patch) {
    return add_tower(v, m,
                     {.shape = d,
                      .patch = patch,
                      .image = image,
                      .positions = tower_positions::table_and_class,
                      .attention_bias = v.flag_or("qkv_bias", true)});
}

/// BLIP: BERT's layers with cross-attention to the tower.
inline model read_blip_text(config_fields& c) {
    model m = read_bert_frame(c, {});
    m.head.bias = true;
    add_bert_embeddings(c, m, {.types = 0}, m.hidden);
    m.add(head_transform(m.hidden, m.hidden, model_part::output));
    m.add(layer_norm(m.hidden, model_part::output));
    for (layer& l : m.layers.kinds)
        if (l.attention.heads > 0) l.attention.cross = cross_attention::beside;
    return m;
}
inline void add_blip_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_blip_tower(v, m, {.hidden = 768, .width = 3072, .layers = 12, .heads = 12}, 384, 16);
    for (layer& l : m.layers.kinds) l.cross_width = t.hidden;  // whatever `encoder_hidden_size` says
}

/// What a Q-Former reads beside the features of the tower.
enum class q_former_input : bool { queries, queries_and_text };

/// The Q-Former of BLIP-2 and InstructBLIP: learned queries, layers of which every second one reads the tower's
/// features, and one linear layer into the text model. With texts of its own it has an embedding, and a second
/// feed-forward in each layer.
inline void add_q_former(config_fields& c, model& m, q_former_input input) {
    vision_fields v{c};
    const tower_shape t = add_blip_tower(v, m, {.hidden = 1408, .width = 6144, .layers = 39, .heads = 16}, 224, 14);
    nested_fields q{c, "qformer_config"};
    const tower_shape f = read_tower_shape(q, {.hidden = 768, .width = 3072, .layers = 12, .heads = 12});
    m.encoders[1] = tower_of(f, transformer_layer(f.heads, f.hidden, f.width));
    const std::int64_t queries = feature_count(c, "num_query_tokens", 32);
    m.encoders[0].image_tokens = m.encoders[0].output = m.encoders[1].output = tokens(queries);
    m.add(positions(queries, f.hidden));
    const std::int64_t every = q.number_or("cross_attention_frequency", 2, 1, 256);
    const std::int64_t crossing = ceil_quotient(f.layers, every);
    m.add(
        {.role = weight_role::projector, .bias = true, .rows = f.hidden, .columns = f.hidden, .copies = 2 * crossing});
    m.add(
        {.role = weight_role::projector, .bias = true, .rows = f.hidden, .columns = t.hidden, .copies = 2 * crossing});
    m.add({.role = weight_role::norm, .columns = f.hidden, .copies = 2 * crossing + 2});
    const bool reads_text = input == q_former_input::queries_and_text;
    if (reads_text) {
        m.add({.role = weight_role::embed_tokens, .rows = feature_count(q, "vocab_size", 30522), .columns = f.hidden});
        m.add(positions(feature_count(q, context_field, 512), f.hidden));
    }
    if (q.flag_or("use_qformer_text_input", reads_text)) {
        m.add({.role = weight_role::projector, .bias = true, .rows = f.width, .columns = f.hidden, .copies = f.layers});
        m.add({.role = weight_role::projector, .bias = true, .rows = f.hidden, .columns = f.width, .copies = f.layers});
        m.add({.role = weight_role::norm, .columns = f.hidden, .copies = 2 * f.layers});
    }
    m.add(projection(m.hidden, f.hidden));
}
inline void add_blip2_vision(config_fields& c, model& m) { add_q_former(c, m, q_former_input::queries); }
inline void add_instructblip_vision(config_fields& c, model& m) {
    add_q_former(c, m, q_former_input::queries_and_text);
}

/// Kosmos-2 and 2.5: a decoder with norms inside attention (the first alone) and the feed-forward, sinusoids that no
/// file stores; learned queries attend to the projected features of the tower.
inline model read_kosmos_text(config_fields& c, generation which) {
    constexpr field_names hidden{"embed_dim"};
    model m;
    m.vocabulary = feature_count(c, "vocab_size");
    m.hidden = feature_count(c, hidden);
    m.max_context = tokens(feature_count(c, context_field, 2048));
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    m.final_norm = norm_kind::layer;
    const std::int64_t heads = read_head_count(c, "attention_heads", m.hidden);
    refuse_flag(c, "add_cross_attention");
    layer l = transformer_layer(heads, m.hidden, feature_count(c, "ffn_dim"));
    l.more_norms = which == generation::first ? 1 : 0;
    l.more_values = 2 * l.feed_forward.width;
    m.layers.append(static_cast<std::int32_t>(c.number("layers", 1, layer_stack::max_layers)), l);
    if (which == generation::second) m.add(positions(2, m.hidden));
    return m;
}
inline model read_kosmos2_text(config_fields& c) { return read_kosmos_text(c, generation::first); }
inline model read_kosmos2_5_text(config_fields& c) { return read_kosmos_text(c, generation::second); }

inline void add_latent_queries(config_fields& c, model& m, std::int64_t queries, std::int64_t from) {
    const std::int64_t count = feature_count(c, "latent_query_num", queries);
    m.encoders[0].image_tokens = m.encoders[0].output = tokens(count);
    m.add(positions(count, m.hidden));
    m.add(projection(m.hidden, from));
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = m.hidden, .copies = 4});
}
inline void add_kosmos2_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_tower(v, m,
                                    {.shape = {.hidden = 1024, .width = 4096, .layers = 24, .heads = 16},
                                     .patch_bias = false,
                                     .positions = tower_positions::table_and_class,
                                     .norms = 2});
    add_latent_queries(c, m, 64, t.hidden);
}

/// The tower of Pix2Struct and Kosmos-2.5: patches through a linear layer, embeddings of rows and columns, RMS norms, a
/// gated feed-forward without biases.
inline tower_shape add_patch_tower(config_fields& v, model& m, const tower_shape& d, std::int64_t places) {
    tower_shape t = d;
    t.hidden = feature_count(v, "hidden_size", d.hidden);
    t.width = feature_count(v, {"d_ff", "intermediate_size"}, d.width);
    t.layers = v.number_or("num_hidden_layers", d.layers, 1, layer_stack::max_layers);
    t.heads = v.number_or("num_attention_heads", d.heads, 1, most_heads);
    layer block;
    block.attention = {
        .heads = t.heads, .kv_heads = t.heads, .head_dim = v.number_or({"d_kv", "head_dim"}, 64, 1, 4096)};
    block.feed_forward.width = t.width;
    m.encoders[0] = tower_of(t, block);
    m.add({.role = weight_role::conv,
           .bias = true,
           .rows = t.hidden,
           .columns = feature_count(v, "patch_embed_hidden_size", 768)});
    m.add(positions(feature_count(v, {"seq_len", "max_num_patches"}, places), t.hidden, 2));
    m.add({.role = weight_role::norm, .columns = t.hidden});
    return t;
}
inline void add_kosmos2_5_vision(config_fields& c, model& m) {
    vision_fields v{c};
    const tower_shape t = add_patch_tower(v, m, {.hidden = 1536, .width = 3968, .layers = 18, .heads = 24}, 4096);
    add_latent_queries(c, m, 2048, t.hidden);
}

/// Pix2Struct: T5's decoder, which reads the tower's features.
inline model read_pix2struct_text(config_fields& c) {
    model m;
    m.vocabulary = feature_count(c, "vocab_size");
    m.hidden = feature_count(c, "hidden_size");
    m.tied_head = c.flag_or("tie_word_embeddings", false);
    const std::int64_t heads = read_head_count(c, "num_heads", m.hidden);
    layer l;
    // Its projections are as wide as the model, whatever d_kv is.
    l.attention = {.heads = heads, .kv_heads = heads, .head_dim = m.hidden / heads};
    l.attention.cross = cross_attention::beside;
    l.feed_forward.width = feature_count(c, "d_ff");
    m.add(positions(feature_count(c, "relative_attention_num_buckets", 32), heads));
    (void)c.flag_or("add_cross_attention", true);
    m.layers.append(static_cast<std::int32_t>(c.number("num_layers", 1, layer_stack::max_layers)), l);
    return m;
}
inline void add_pix2struct_vision(config_fields& c, model& m) {
    vision_fields v{c};
    (void)add_patch_tower(v, m, {.hidden = 768, .width = 2048, .layers = 12, .heads = 12}, 4096);
}

}  // namespace llmres::inline v0::detail::hf
