// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/hf/encoders/bert.hpp>
#include <llmres/io/hf/gpt.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Decoders that few people run: each is a known layer under other names, or with a part of its own. From transformers,
/// src/transformers/models/*/modeling_*.py.
namespace llmres::inline v0::detail::hf {

// ---- LayerNorms and plain feed-forwards

/// A decoder of the original transformer with norms before attention and feed-forward (XGLM, BioGPT).
inline model read_prenorm_decoder(config_fields& c) {
    constexpr field_names layers{"num_layers", "num_hidden_layers"};
    constexpr field_names heads{"attention_heads", "num_attention_heads"};
    constexpr field_names width{"ffn_dim", "intermediate_size"};
    model m = read_frame(c);
    m.final_norm = norm_kind::layer;
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    const std::int64_t count = read_head_count(c, heads, m.hidden);
    const layer l = transformer_layer(count, m.hidden, feature_count(c, width));
    m.layers.append(static_cast<std::int32_t>(c.number(layers, 1, layer_stack::max_layers)), l);
    return m;
}
/// XGLM: positions are sinusoids, which no file stores.
inline model read_xglm(config_fields& c) {
    refuse_flag(c, "add_cross_attention");
    return read_prenorm_decoder(c);
}
/// BioGPT: learned positions, two rows more than positions.
inline model read_biogpt(config_fields& c) {
    model m = read_prenorm_decoder(c);
    m.add(positions(m.max_context.in(tokens) + 2, m.hidden));
    return m;
}

/// CTRL: GPT-2's layer with norms before both halves, sinusoids, a head with a bias.
inline model read_ctrl(config_fields& c) {
    model m = read_gpt_frame(c);
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    m.head.bias = true;
    layer l = read_gpt_layer(c, m.hidden);
    l.feed_forward.width = feature_count(c, "dff");
    return stack_of(c, m, l);
}

/// GPT-NeoX Japanese: no biases, but one of the last layer's output projection.
inline model read_gpt_neox_japanese(config_fields& c) {
    model m = read_gpt_frame(c);
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    layer l = read_gpt_layer(c, m.hidden, bias_term::none);
    l.feed_forward.width = c.number_or("intermediate_multiple_size", 4, 1, 1024) * m.hidden;
    const std::int64_t count = layer_count(c);
    read_layers(c, m, count, [&](std::int64_t i) {
        l.attention.output_bias = i == count - 1;
        return l;
    });
    return m;
}

/// Persimmon and Fuyu: GPT-NeoX with LayerNorms of queries and keys, and a head of its own.
inline model read_persimmon(config_fields& c) {
    model m = read_gpt_frame(c);
    layer l = read_gpt_layer(c, m.hidden);
    if (c.flag_or("qk_layernorm", true)) {
        l.attention.qk_norm = query_key_norm::shared;
        l.more_values = 2 * l.attention.head_dim;  // the norms' biases
    }
    return stack_of(c, m, l);
}

/// CPM-Ant: biases by distance, embeddings of segments, rows of the embedding for trained prompts, an own head.
inline model read_cpmant(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = false;
    layer l;
    l.attention.heads = l.attention.kv_heads = c.number(heads_field, 1, most_heads);
    l.attention.head_dim = c.number("dim_head", 1, most_heads);
    l.feed_forward.width = feature_count(c, "dim_ff");
    const std::int64_t segments = c.number_or("segment_types", 32, 1, 4096);
    const std::int64_t prompts = c.number_or("prompt_types", 32, 1, 4096);
    const std::int64_t buckets = feature_count(c, "position_bias_num_buckets", 512);
    m.add({.role = weight_role::embed_tokens,
           .rows = prompts * c.number_or("prompt_length", 32, 1, 4096),
           .columns = m.hidden});
    m.add(positions(segments, m.hidden));
    // A pair of segments has a bucket, beside those of distances.
    m.add(positions(segments * segments + buckets, l.attention.heads));
    return stack_of(c, m, l);
}

// ---- llama's layer with a part of its own

/// BitNet: norms of attention's and the feed-forward's inner features before the last product.
inline model read_bitnet(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.more_norms = 1;
    l.more_values = l.feed_forward.width;
    return stack_of(c, m, l);
}

/// DiffLlama: the difference of two softmaxes, weighed by four vectors as wide as a head.
inline model read_diffllama(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.more_values = 4 * l.attention.head_dim;
    return stack_of(c, m, l);
}

/// Doge: norms of queries and keys, scales of both residuals, and a projection of values that makes a mask.
inline model read_doge(config_fields& c) {
    model m = read_frame(c);
    refuse_flag(c, "is_moe");
    for (const char* of_experts : {"num_experts", "num_experts_per_tok"}) (void)c.has(of_experts);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.attention.qk_norm = query_key_norm::shared;
    const std::int64_t mask = l.attention.kv_heads * l.attention.kv_heads * l.attention.head_dim;
    l.more_values = 2 * m.hidden + l.attention.kv_heads + mask + (l.attention.qkv_bias ? l.attention.kv_heads : 0);
    return stack_of(c, m, l);
}

/// nanochat: norms without parameters, a feed-forward without a gate.
inline model read_nanochat(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.feed_forward.kind = feed_forward_kind::plain;
    l.norm = m.final_norm = norm_kind::none;
    return stack_of(c, m, l);
}

/// ModernBERT's decoder: LayerNorms without biases, a norm of the embedding in place of the first layer's, windows, and
/// BERT's head.
inline model read_modernbert_decoder(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    m.head.bias = c.flag_or("decoder_bias", true);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    const norm_kind norm = c.flag_or("norm_bias", false) ? norm_kind::layer : norm_kind::layer_without_bias;
    l.norm = m.final_norm = norm;
    const std::int64_t vectors = norm == norm_kind::layer ? 2 : 1;
    m.add({.role = weight_role::norm, .columns = m.hidden, .copies = vectors});
    if (generates(c)) {
        m.add({.role = weight_role::classifier,
               .part = model_part::output,
               .bias = c.flag_or("classifier_bias", false),
               .rows = m.hidden,
               .columns = m.hidden});
        m.add({.role = weight_role::norm, .part = model_part::output, .columns = m.hidden, .copies = vectors});
    }
    const token_count window = tokens(c.number_or("local_attention", 128, 0, most_tokens) / 2);
    const std::int64_t period = feature_count(c, "global_attn_every_n_layers", 3);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        l.norm_before_attention = i > 0;
        l.attention.window = layer_is(c, "sliding_attention", i, i % period != 0) ? window : token_count{};
        return l;
    });
    return m;
}

/// Moshi's language model: one row more in the embedding than in the head, a window, a gated feed-forward whose first
/// product makes gate and up of half its width each. Its decoder of audio is another model.
inline model read_moshi(config_fields& c) {
    model m = read_frame(c);
    if (!generates(c)) {
        constexpr field_names saved_from{"architectures"};
        c.fail(error_code::unsupported, saved_from, "MoshiForCausalLM: the model of speech is not described");
        return m;
    }
    layer l;
    l.attention = read_heads(c, m.hidden);
    l.feed_forward.width = c.number("ffn_dim", 2, most_features) / 2;
    l.attention.window = read_window(c);
    m.add({.role = weight_role::embed_tokens, .columns = m.hidden});
    (void)c.object("audio_encoder_config");
    return stack_of(c, m, l);
}

/// JetMoE: experts of attention, each with projections of queries and outputs, over keys and values that all share; and
/// experts of the feed-forward. The two that a token takes are the layer's heads; the others' matrices are counted.
inline model read_jetmoe(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    layer l;
    attention& a = l.attention;
    a.kv_heads = c.number(kv_heads_field, 1, most_heads);
    a.head_dim = c.number("kv_channels", 1, most_heads);
    experts& e = l.feed_forward.experts;
    e.count = c.number("num_local_experts", 1, most_heads);
    e.per_token = c.number("num_experts_per_tok", 1, e.count);
    e.width = feature_count(c, width_field);
    a.heads = a.kv_heads * e.per_token;
    const std::int64_t projections = 2 * m.hidden * a.kv_heads * a.head_dim;
    // The router and the bias of attention's experts, the bias of the feed-forward's.
    l.more_values = (e.count - e.per_token) * projections + e.count * m.hidden + 2 * m.hidden;
    return stack_of(c, m, l);
}

// ---- recurrences

/// RWKV 4: time mixing with a state of three values a channel, channel mixing, a norm after the embedding.
inline model read_rwkv4(config_fields& c) {
    model m = read_frame(c);
    m.final_norm = norm_kind::layer;
    layer l{.attention = no_attention, .norm = norm_kind::layer};
    l.recurrent = {.kind = recurrent_kind::rwkv,
                   .heads = feature_count(c, "attention_hidden_size", m.hidden),
                   .head_dim = 1,
                   .state = 3};
    l.feed_forward = {.kind = feed_forward_kind::plain, .width = feature_count(c, width_field, 4 * m.hidden)};
    m.add(layer_norm(m.hidden));
    return stack_of(c, m, l);
}

/// xLSTM: a matrix memory in every head (mLSTM), whose gates of input and forgetting have biases.
inline model read_xlstm(config_fields& c) {
    model m = read_frame(c);
    if (c.text_or("weight_mode", "single") != "single" || c.flag_or("use_bias", false))
        c.fail(error_code::unsupported, "weight_mode", "single, without use_bias");
    const std::int64_t heads = c.number_or({"num_heads"}, 8, 1, most_heads);
    const double keys = c.real_or("qk_dim_factor", 0.5, 0, 16), values = c.real_or("v_dim_factor", 1, 0, 16);
    const auto hidden = static_cast<double>(m.hidden);
    const std::int64_t multiple = feature_count(c, "ffn_round_up_to_multiple_of", 64);
    layer l{.attention = no_attention};
    l.recurrent = {.kind = recurrent_kind::lightning,
                   .heads = heads,
                   .head_dim = static_cast<std::int64_t>(hidden * values) / heads,
                   .state = static_cast<std::int64_t>(hidden * keys) / heads};
    l.more_values = 2 * heads * (m.hidden + 1);
    const auto width = static_cast<std::int64_t>(c.real_or("ffn_proj_factor", 2.667, 0, 64) * hidden);
    l.feed_forward.width = ceil_quotient(width, multiple) * multiple;
    if (!c.flag_or("add_out_norm", true)) m.final_norm = norm_kind::none;
    constexpr field_names layers{"num_blocks", "num_hidden_layers"};
    m.layers.append(static_cast<std::int32_t>(c.number(layers, 1, layer_stack::max_layers)), l);
    return m;
}

}  // namespace llmres::inline v0::detail::hf
