// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Decoders that descend from GPT-2: LayerNorms with biases, feed-forwards without a gate and four times as wide as the
/// model, and learned positions in the older ones.
namespace llmres::inline v0::detail::hf {

/// The layer that these decoders share, with biases everywhere or nowhere.
inline layer read_gpt_layer(config_fields& c, std::int64_t hidden, bias_term bias = bias_term::added) {
    layer l;
    l.attention = read_heads(c, hidden);
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = bias == bias_term::added;
    l.feed_forward.kind = feed_forward_kind::plain;
    l.feed_forward.width = feature_count(c, width_field, 4 * hidden);
    l.norm = norm_kind::layer;
    return l;
}

inline model read_gpt_frame(config_fields& c) {
    model m = read_frame(c);
    m.final_norm = norm_kind::layer;
    return m;
}

inline model read_gpt2(config_fields& c) {
    model m = read_gpt_frame(c);
    m.add(positions(feature_count(c, context_field, 1024), m.hidden));
    refuse_flag(c, "add_cross_attention");
    return stack_of(c, m, read_gpt_layer(c, m.hidden));
}

/// GPT-BigCode (StarCoder): one KV head for all query heads, unless multi_query is off.
inline model read_gpt_bigcode(config_fields& c) {
    model m = read_gpt2(c);
    if (c.flag_or("multi_query", true))
        for (layer& l : m.layers.kinds) l.attention.kv_heads = 1;
    return m;
}

/// The first GPT: norms after attention and feed-forward, none after the last layer.
inline model read_openai_gpt(config_fields& c) {
    model m = read_gpt2(c);
    m.final_norm = norm_kind::none;
    return m;
}

inline model read_gpt_neo(config_fields& c) {
    model m = read_gpt_frame(c);
    m.add(positions(feature_count(c, context_field, 2048), m.hidden));
    layer l = read_gpt_layer(c, m.hidden);
    l.attention.qkv_bias = false;
    return stack_of(c, m, l);
}

/// GPT-J and CodeGen: rotary positions, attention without biases, one norm for attention and feed-forward, a head with
/// biases.
inline model read_gptj(config_fields& c) {
    model m = read_gpt_frame(c);
    m.head.bias = true;
    layer l = read_gpt_layer(c, m.hidden);
    l.attention.qkv_bias = l.attention.output_bias = false;
    l.norm_before_feed_forward = false;
    return stack_of(c, m, l);
}

inline model read_gpt_neox(config_fields& c) {
    model m = read_gpt_frame(c);
    layer l = read_gpt_layer(c, m.hidden);
    l.attention.qkv_bias = l.attention.output_bias = c.flag_or("attention_bias", true);
    return stack_of(c, m, l);
}

/// Open-Assistant's reward models: GPT-NeoX with one output, a score, where the head is.
inline model read_gpt_neox_reward(config_fields& c) {
    model m = read_gpt_neox(c);
    m.add({.role = weight_role::classifier, .part = model_part::output, .bias = true, .columns = m.hidden});
    return m;
}

inline model read_bloom(config_fields& c) {
    model m = read_gpt_frame(c);
    m.add(layer_norm(m.hidden));
    return stack_of(c, m, read_gpt_layer(c, m.hidden));
}

/// OPT: a table of positions with two rows more than positions. The 350m has an embedding narrower than the model, and
/// norms after attention and feed-forward.
inline model read_opt(config_fields& c) {
    model m = read_gpt_frame(c);
    layer l = read_gpt_layer(c, m.hidden, bias_term{c.flag_or("enable_bias", true)});
    m.add(positions(c.number_or(context_field, 2048, 1, most_features - 2) + 2, m.hidden));
    const std::int64_t narrow = feature_count(c, "word_embed_proj_dim", m.hidden);
    if (narrow != m.hidden) m.embedding_width = narrow;
    if (!c.flag_or("do_layer_norm_before", true) || c.flag_or("_remove_final_layer_norm", false))
        m.final_norm = norm_kind::none;
    if (!c.flag_or("layer_norm_elementwise_affine", true)) l.norm = m.final_norm = norm_kind::none;
    return stack_of(c, m, l);
}

/// Falcon: the new architecture has grouped queries, and a norm each for attention and feed-forward; the old one has a
/// single KV head and one norm for both.
inline model read_falcon(config_fields& c) {
    model m = read_gpt_frame(c);
    const bool grouped = c.flag_or("new_decoder_architecture", c.has("n_head_kv"));
    layer l = read_gpt_layer(c, m.hidden, bias_term{c.flag_or("bias", false)});
    if (!grouped) l.attention.kv_heads = c.flag_or("multi_query", true) ? 1 : l.attention.heads;
    const std::int64_t side_by_side = c.number_or("num_ln_in_parallel_attn", grouped ? 2 : 1, 1, 2);
    if (c.flag_or("parallel_attn", true) && side_by_side == 1) l.norm_before_feed_forward = false;
    return stack_of(c, m, l);
}

/// MPT: `no_bias` removes the biases of norms as well; positions are ALiBi slopes, one for each head, unless ALiBi is
/// off, and then learned.
inline model read_mpt(config_fields& c) {
    model m = read_gpt_frame(c);
    nested_fields a{c, "attn_config"};
    const bool bias = !c.flag_or("no_bias", true);
    layer l;
    l.attention = read_heads(c, m.hidden);
    l.attention.kv_heads = a.number_or(kv_heads_field, l.attention.heads, 1, most_heads);
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = bias;
    l.norm = m.final_norm = bias ? norm_kind::layer : norm_kind::layer_without_bias;
    if (a.flag_or("qk_ln", false)) c.fail(error_code::unsupported, "attn_config", "attn_config.qk_ln false");
    l.feed_forward.kind = feed_forward_kind::plain;
    l.feed_forward.width = m.hidden * c.number_or("expansion_ratio", 4, 1, 64);
    if (!a.flag_or("alibi", true)) m.add(positions(feature_count(c, context_field, 2048), m.hidden));
    return stack_of(c, m, l);
}

}  // namespace llmres::inline v0::detail::hf
