// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Gemma 3n and Gemma 4: embeddings of tokens for every layer, caches that later layers share. RecurrentGemma. From
/// transformers 5.17, src/transformers/models/{gemma3n,gemma4,recurrent_gemma}/modeling_*.py.
namespace llmres::inline v0::detail::hf {

/// Embeddings of tokens for every layer: a table, a projection of the usual embedding, and its norm; in every layer a
/// gate, a projection back and a norm. Adds what stands outside the layers, and to the layer what is in each.
inline void add_layer_embeddings(config_fields& c, model& m, layer& l, std::int64_t layers, std::int64_t by_default) {
    const std::int64_t width = c.number_or("hidden_size_per_layer_input", by_default, 0, most_features);
    const std::int64_t rows = feature_count(c, "vocab_size_per_layer_input", 262144);
    if (width == 0) return;
    m.add({.role = weight_role::embed_tokens, .rows = rows, .columns = layers * width});
    m.add({.role = weight_role::projector, .rows = layers * width, .columns = m.hidden});
    m.add({.role = weight_role::norm, .columns = width});
    l.more_features += 2 * width;
    l.more_norms += 1;
}

/// An integer of a list with one for each layer, or the same for all.
inline std::int64_t of_layer(config_fields& c, const field_names& field, std::int64_t i) {
    return c.holds_list(field) ? c.number_at(field, static_cast<std::size_t>(i), 1, most_features)
                               : feature_count(c, field);
}

/// What the layers of Gemma 3n and 4 have in common: norms of queries and keys, and behind both halves.
inline layer read_gemma_base(config_fields& c, std::int64_t hidden) {
    layer base;
    base.attention = read_heads(c, hidden);
    base.attention.qkv_bias = base.attention.output_bias = c.flag_or("attention_bias", false);
    base.attention.qk_norm = query_key_norm::shared;
    base.norm_after_attention = base.norm_after_feed_forward = true;
    return base;
}

/// Adds keys and values of the layers that read those of earlier ones: files hold them, and no class of the model has
/// them.
inline void add_unread_keys(model& m) {
    std::int64_t rows = 0, normed = 0;
    for (std::int32_t i = 0; i < m.layers.size; ++i) {
        const attention& a = m.layers[i].attention;
        if (a.kv != kv_source::shared) continue;
        rows += (a.keys == key_projection::also_values ? 1 : 2) * a.kv_heads * a.head_dim;
        normed += a.head_dim;
    }
    if (rows == 0) return;
    m.add({.role = weight_role::k_proj, .part = model_part::apart, .rows = rows, .columns = m.hidden});
    m.add({.role = weight_role::norm, .part = model_part::apart, .columns = normed});
}

/// Gemma 3n: four streams of which one is computed (AltUp), a low-rank path beside attention (Laurel). Layers from
/// the last `num_kv_shared_layers` on read the keys and values of an earlier one.
inline model read_gemma3n_text(config_fields& c) {
    model m = read_frame(c);
    layer base = read_gemma_base(c, m.hidden);
    const std::int64_t count = layer_count(c);
    add_layer_embeddings(c, m, base, count, 256);
    const std::int64_t streams = c.number_or("altup_num_inputs", 4, 1, 64);
    const std::int64_t laurel = c.number_or("laurel_rank", 64, 0, most_features);
    base.more_norms += 2;                        // AltUp's router's, Laurel's
    base.more_features += streams + 2 * laurel;  // AltUp's router, Laurel
    base.more_values += m.hidden + streams * streams + streams * streams * streams;
    m.add({.role = weight_role::projector, .rows = m.hidden, .columns = m.hidden, .copies = 2 * (streams - 1)});
    const token_count window = read_window(c);
    const std::int64_t shared = c.number_or("num_kv_shared_layers", 15, 0, count);
    read_layers(c, m, count, [&](std::int64_t i) {
        layer l = base;
        l.feed_forward.width = of_layer(c, "intermediate_size", i);
        if (layer_is(c, "sliding_attention", i, (i + 1) % 5 != 0)) l.attention.window = window;
        if (i >= count - shared && count > shared) l.attention.kv = kv_source::shared;
        return l;
    });
    add_unread_keys(m);
    return m;
}

/// Gemma 4's text models. Layers with global attention have heads of another width, and in some models of another
/// number, whose keys serve as values; layers may have routed experts beside the feed-forward; the last ones read the
/// keys and values of earlier ones, and may be twice as wide.
inline model read_gemma4_like(config_fields& c, std::int64_t layer_embedding) {
    model m = read_frame(c);
    layer base = read_gemma_base(c, m.hidden);
    const std::int64_t count = layer_count(c);
    add_layer_embeddings(c, m, base, count, layer_embedding);
    base.feed_forward.width = feature_count(c, width_field);
    const bool routed = c.flag_or("enable_moe_block", false);
    if (routed) {
        experts& e = base.feed_forward.experts;
        e.count = c.number("num_experts", 1, most_heads);
        e.per_token = c.number("top_k_experts", 1, e.count);
        e.width = feature_count(c, "moe_intermediate_size");
        e.shared_width = base.feed_forward.width;
        base.more_norms += 3;
        base.more_values += m.hidden + e.count;  // scales of the router's input and of each expert
    } else {
        for (const char* of_experts : {"num_experts", "top_k_experts", "moe_intermediate_size"})
            (void)c.has(of_experts);
    }
    layer global = base;
    attention& a = global.attention;
    const bool keys_are_values = c.flag_or("attention_k_eq_v", false);
    a.head_dim = c.number_or("global_head_dim", 512, 1, most_heads);
    const std::int64_t global_heads = c.number_or("num_global_key_value_heads", a.kv_heads, 1, a.heads);
    if (keys_are_values) {
        a.kv_heads = global_heads;
        a.keys = key_projection::also_values;
    }
    const token_count window = read_window(c);
    const std::int64_t shared = c.number_or("num_kv_shared_layers", 0, 0, count);
    const bool wider = c.flag_or("use_double_wide_mlp", false);
    const nlohmann::json* overrides = c.object("per_layer_config");
    read_layers(c, m, count, [&](std::int64_t i) {
        const bool local = layer_is(c, "sliding_attention", i, (i + 1) % 6 != 0 && i != count - 1);
        layer l = local ? base : global;
        if (local) l.attention.window = window;
        const std::string plain = std::to_string(i);
        const std::string name = plain.size() < 2 ? "0" + plain : plain;
        for (const std::string& key : {plain, name}) {
            if (overrides == nullptr || !overrides->contains(key)) continue;
            config_fields own{(*overrides)[key], "per_layer_config"};
            l.attention.head_dim = own.number_or("head_dim", l.attention.head_dim, 1, most_heads);
            l.attention.kv_heads = own.number_or(kv_heads_field, l.attention.kv_heads, 1, most_heads);
            if (!own.ok()) c.fail(own.error());
            break;
        }
        if (i >= count - shared && shared > 0 && shared < count) {
            l.attention.kv = kv_source::shared;
            if (wider) {
                l.feed_forward.width *= 2;
                l.feed_forward.experts.shared_width *= 2;
            }
        }
        return l;
    });
    add_unread_keys(m);
    m.add({.role = weight_role::values, .part = model_part::apart, .columns = count});  // a scalar of each layer
    return m;
}
inline model read_gemma4_text(config_fields& c) { return read_gemma4_like(c, 256); }
inline model read_gemma4_unified_text(config_fields& c) { return read_gemma4_like(c, 0); }

/// RecurrentGemma: gated linear recurrences (arXiv 2402.19427) in two layers of three, attention with a window in the
/// third. The file's width of the feed-forward counts gate and up together.
inline model read_recurrent_gemma(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    layer attends;
    attends.attention = read_heads(c, m.hidden);
    attends.attention.qkv_bias = c.flag_or("attention_bias", false);
    attends.attention.output_bias = true;
    attends.attention.window = tokens(c.number_or("attention_window_size", 2048, 0, most_tokens));
    attends.feed_forward.width = c.number(width_field, 2, most_features) / 2;
    attends.feed_forward.bias = true;
    layer recurs = attends;
    recurs.attention = no_attention;
    recurs.recurrent = {.kind = recurrent_kind::gated_linear,
                        .heads = feature_count(c, "lru_width", m.hidden),
                        .head_dim = 1,
                        .key_heads = attends.attention.heads,
                        .state = 1,
                        .kernel = c.number_or("conv1d_width", 4, 1, 64),
                        .bias = true,
                        .conv_bias = true};
    const nlohmann::json* pattern = c.list({"block_types", "_block_types"});
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        if (pattern == nullptr || pattern->empty()) return i % 3 == 2 ? attends : recurs;
        const auto at = static_cast<std::size_t>(i) % pattern->size();
        return says((*pattern)[at], "attention") ? attends : recurs;
    });
    return m;
}

}  // namespace llmres::inline v0::detail::hf
