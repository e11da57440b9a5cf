// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/hf/experts.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>

/// Decoders with multi-head latent attention (MLA): DeepSeek-V2 and its successors.
namespace llmres::inline v0::detail::hf {

/// Reads multi-head latent attention. The file's num_key_value_heads equals the heads and says nothing about the cache.
inline attention read_latent(config_fields& c) {
    attention a;
    a.kind = attention_kind::latent;
    a.heads = c.number(heads_field, 1, most_heads);
    (void)c.number_or(kv_heads_field, 1, 1, most_heads);
    a.kv_heads = a.heads;
    a.head_dim = c.number("qk_nope_head_dim", 1, most_heads);
    a.rope_dim = c.number("qk_rope_head_dim", 0, most_heads);
    a.value_dim = c.number("v_head_dim", 1, most_heads);
    a.q_rank = c.number_or("q_lora_rank", 0, 0, most_features);
    a.kv_rank = feature_count(c, "kv_lora_rank");
    a.qkv_bias = a.output_bias = c.flag_or("attention_bias", false);
    return a;
}

inline layer read_latent_layer(config_fields& c) {
    layer l;
    l.attention = read_latent(c);
    l.feed_forward.width = feature_count(c, width_field);
    return l;
}

/// DeepSeek-V2, and small models of its family that have multi-head attention instead (`use_mla: false`).
inline model read_deepseek_v2(config_fields& c) {
    model m = read_frame(c);
    const bool latent = c.has("kv_lora_rank") && c.flag_or("use_mla", true);
    if (!latent) {
        for (const char* rank : {"q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
            (void)c.number_or(rank, 0, 0, most_features);
    }
    read_deepseek_layers(c, m, latent ? read_latent_layer(c) : read_llama_layer(c, m.hidden),
                         score_bias{c.text_or("topk_method", "") == "noaux_tc"});
    return m;
}

/// DeepSeek-V3 and models of its layout (Kimi K2, Moonlight): routing corrected by a bias unless the file names another
/// method.
inline model read_v3_like(config_fields& c, prediction_ends ends) {
    model m = read_frame(c);
    layer dense = read_latent_layer(c);
    if (c.has("index_n_heads")) {
        dense.attention.indexer = {.heads = c.number("index_n_heads", 1, most_heads),
                                   .head_dim = c.number("index_head_dim", 1, most_heads),
                                   .selected = tokens(c.number_or("index_topk", 0, 0, most_tokens))};
    }
    read_deepseek_layers(c, m, dense, score_bias{c.text_or("topk_method", "noaux_tc") == "noaux_tc"});
    for (std::int32_t i = 0; c.has("layer_types") && i < m.layers.size && c.ok(); ++i)
        (void)layer_is(c, "deepseek_sparse_attention", i);
    read_prediction(c, m, ends);
    return m;
}
inline model read_deepseek_v3(config_fields& c) { return read_v3_like(c, prediction_ends::own); }

/// GLM-4.7-Flash: DeepSeek-V3's layout, whose layers of multi-token prediction share embedding and head.
inline model read_glm4_moe_lite(config_fields& c) { return read_v3_like(c, prediction_ends::shared); }

/// Latent attention with dense feed-forwards (MiniCPM 3, Youtu).
inline model read_dense_latent(config_fields& c) {
    model m = read_frame(c);
    layer l = read_latent_layer(c);
    l.feed_forward.bias = c.flag_or("mlp_bias", false);
    return stack_of(c, m, l);
}

/// GLM-5: DeepSeek's sparse attention. From 5.2 on, only layers that `indexer_types` calls full have an indexer; the
/// others use the tokens that the indexer before them selected.
inline model read_glm_moe_dsa(config_fields& c) {
    model m = read_v3_like(c, prediction_ends::shared);
    if (!c.has("indexer_types") || !c.ok()) return m;
    change_layers(c, m, [&](std::int64_t i, layer& l) {
        const std::string_view kind = c.text_at("indexer_types", static_cast<std::size_t>(i));
        if (kind == "shared")
            l.attention.indexer = {};
        else if (kind != "full" && c.ok())
            c.fail({error_code::unsupported, c.label("indexer_types"), kind, "full or shared"});
    });
    return m;
}

/// LongCat: a layer has two latent attentions, two dense feed-forwards and one routed one, some of whose experts
/// compute nothing. It is described as two layers: attention with experts beside the dense path, then attention with
/// the dense path.
inline model read_longcat(config_fields& c) {
    model m = read_frame(c);
    layer first;
    first.attention = read_latent(c);
    first.feed_forward.width = feature_count(c, {"ffn_hidden_size", "intermediate_size"});
    layer second = first;
    experts& e = first.feed_forward.experts;
    e.count = c.number(experts_field, 1, most_heads);
    e.per_token = c.number(per_token_field, 1, most_heads);
    e.width = feature_count(c, {"expert_ffn_hidden_size", "moe_intermediate_size"});
    e.shared_width = first.feed_forward.width;
    e.idle = c.number_or("zero_expert_num", 0, 0, most_heads);
    e.score_bias = true;
    e.router_bias = c.flag_or("router_bias", false);
    const std::int64_t count = c.number({"num_layers", "num_hidden_layers"}, 1, layer_stack::max_layers / 2);
    read_layers(c, m, 2 * count, [&](std::int64_t i) { return i % 2 == 0 ? first : second; });
    // Multi-token prediction is one dense layer with its own embedding, which no field of the first files mentions.
    m.prediction = {
        .layers = static_cast<std::int32_t>(c.number_or({"mtp_num_layers", "num_nextn_predict_layers"}, 1, 0, 64)),
        .block = second,
        .norms = 3,
        .own_embedding = true};
    return m;
}

/// DeepSeek-V4's layers: windows of one key for all heads, in most with entries that pool 4 or 128 tokens
/// (`compress_ratios`), of which an indexer chooses among those of 4; hyper-connections; routed experts in every layer,
/// in the first `num_hash_layers` by a table of each token's experts. (SGLang: srt/models/deepseek_v4.py.)
inline layer read_v4_layer(config_fields& c) {
    layer l;
    attention& a = l.attention;
    a.kind = attention_kind::compressed;
    a.heads = c.number(heads_field, 1, most_heads);
    a.kv_heads = c.number_or(kv_heads_field, 1, 1, 1);
    a.head_dim = c.number("head_dim", 1, most_heads);
    a.rope_dim = c.number("qk_rope_head_dim", 0, a.head_dim);
    a.q_rank = feature_count(c, "q_lora_rank");
    a.window = read_window(c);
    a.sinks = true;
    a.compressed = {.output_groups = c.number("o_groups", 1, a.heads), .output_rank = feature_count(c, "o_lora_rank")};
    if (c.ok() && a.heads % a.compressed.output_groups != 0)
        c.fail(error_code::inconsistent, "o_groups", "a divisor of the attention heads");
    l.streams = static_cast<std::int32_t>(c.number_or("hc_mult", 4, 1, 64));
    l.mixes = stream_mix::between_too;
    l.feed_forward.experts = read_shared_experts(c, 0);
    return l;
}

/// The ratio and windows of a layer's entries: the ratio of `compress_ratios`, which has one more for the layer that
/// predicts ahead, and two windows where it is 4; or those of the kind that `layer_types` calls the layer, as
/// transformers 5 writes it. Where a file has neither, the class takes 128 in the first two layers, then 128 and 4 in
/// turn.
inline compressed_keys read_v4_entries(config_fields& c, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const auto pooled = [](std::int64_t ratio) {
        return compressed_keys{.ratio = ratio, .windows = ratio == 4 ? 2 : 1};
    };
    if (c.has("compress_ratios") && !c.has("layer_types")) return pooled(c.number_at("compress_ratios", at, 0, 65536));
    if (!c.has("layer_types")) return pooled(i < 2 || i % 2 == 0 ? 128 : 4);
    const std::string_view kind = c.text_at("layer_types", at);
    nested_fields rates{c, "compress_rates"};
    if (kind == "compressed_sparse_attention")
        return {.ratio = rates.number_or("compressed_sparse_attention", 4, 1, 65536), .windows = 2};
    if (kind == "heavily_compressed_attention")
        return {.ratio = rates.number_or("heavily_compressed_attention", 128, 1, 65536)};
    (void)layer_is(c, "sliding_attention", i);  // refuses another kind
    return {};
}

/// True for a layer with a table of each token's experts in place of the router's choice.
inline bool is_hashed(config_fields& c, std::int64_t i) {
    if (c.has("mlp_layer_types")) return c.text_at("mlp_layer_types", static_cast<std::size_t>(i)) == "hash_moe";
    return i < c.number_or("num_hash_layers", 3, 0, layer_stack::max_layers);
}

inline model read_deepseek_v4(config_fields& c) {
    model m = read_frame(c);
    const layer one = read_v4_layer(c);
    const indexer index{.heads = c.number("index_n_heads", 1, most_heads),
                        .head_dim = c.number("index_head_dim", 1, most_heads),
                        .selected = tokens(c.number_or("index_topk", 0, 0, most_tokens))};
    const auto with = [&](const compressed_keys& entries) {
        layer l = one;
        l.attention.compressed.ratio = entries.ratio;
        l.attention.compressed.windows = entries.windows;
        if (entries.windows > 1) l.attention.indexer = index;
        return l;
    };
    const std::int64_t count = layer_count(c);
    read_layers(c, m, count, [&](std::int64_t i) {
        layer l = with(read_v4_entries(c, i));
        if (is_hashed(c, i)) {
            l.feed_forward.experts.score_bias = false;
            l.more_values = m.vocabulary * l.feed_forward.experts.per_token;
        }
        return l;
    });
    const std::int64_t joins = joining_weights(m.hidden, one.streams);
    m.add({.role = weight_role::values, .part = model_part::output, .columns = joins});
    m.prediction.layers = static_cast<std::int32_t>(c.number_or(prediction_field, 0, 0, 1));
    if (m.prediction.layers > 0 && c.ok()) {
        m.prediction.block = with(c.has("compress_ratios") ? read_v4_entries(c, count) : compressed_keys{});
        m.prediction.block.more_values = joins;
        m.prediction.norms = 3;
    }
    return m;
}

}  // namespace llmres::inline v0::detail::hf
