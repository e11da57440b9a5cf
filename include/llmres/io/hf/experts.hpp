// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <llmres/io/hf/dense.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string_view>

/// Decoders with routed experts.
namespace llmres::inline v0::detail::hf {

inline constexpr field_names experts_field{"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"};
inline constexpr field_names per_token_field{"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k",
                                             "moe_top_k",           "experts_per_token"};
inline constexpr field_names prediction_field{"num_nextn_predict_layers", "mtp_num_hidden_layers"};

inline experts read_experts(config_fields& c, const field_names& width) {
    experts e;
    e.count = c.number(experts_field, 1, most_heads);
    e.per_token = c.number(per_token_field, 1, most_heads);
    e.width = feature_count(c, width);
    if (c.ok() && e.per_token > e.count) {
        text<191> expected{"at most the routed experts, "};
        expected.append(digits(e.count));
        c.fail(error_code::inconsistent, per_token_field, expected);
    }
    return e;
}

/// The embedding and the head of layers of multi-token prediction: the model's, or stored a second time for them.
enum class prediction_ends : bool { shared, own };

/// Layers of multi-token prediction: as the last layer, with three norms and a projection.
inline void read_prediction(config_fields& c, model& m, prediction_ends ends, std::int64_t by_default = 0) {
    m.prediction.layers = static_cast<std::int32_t>(c.number_or(prediction_field, by_default, 0, 64));
    if (m.prediction.layers == 0 || m.layers.size == 0) return;
    m.prediction.block = m.layers[m.layers.size - 1];
    m.prediction.norms = 3;
    m.prediction.own_embedding = m.prediction.own_head = ends == prediction_ends::own;
}

// ---- every layer routed

/// As Llama's layer, with routed experts as wide as `intermediate_size` in place of its feed-forward.
inline layer read_routed_layer(config_fields& c, std::int64_t hidden, bias_fields biases = bias_fields::attention) {
    layer l = read_llama_layer(c, hidden, biases);
    l.feed_forward.experts = read_experts(c, "intermediate_size");
    return l;
}

inline layer read_mixtral_layer(config_fields& c, std::int64_t hidden, bias_fields biases) {
    layer l = read_routed_layer(c, hidden, biases);
    l.attention.window = read_window(c);
    return l;
}
inline model read_mixtral(config_fields& c) {
    model m = read_frame(c);
    return stack_of(c, m, read_mixtral_layer(c, m.hidden, bias_fields::none));
}

/// Phi-3.5-MoE: as Mixtral with LayerNorms and biases.
inline model read_phimoe(config_fields& c) {
    model m = read_frame(c);
    layer l = read_mixtral_layer(c, m.hidden, bias_fields::attention);
    l.norm = m.final_norm = norm_kind::layer;
    m.head.bias = c.flag_or("lm_head_bias", false);
    return stack_of(c, m, l);
}

/// Granite's mixture of experts: as Mixtral, in some models with a shared expert.
inline model read_granitemoe(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden);
    l.feed_forward.experts.shared_width = c.number_or("shared_intermediate_size", 0, 0, most_features);
    return stack_of(c, m, l);
}

/// MiniCPM: llama, or llama with routed experts.
inline model read_minicpm(config_fields& c) {
    if (!c.has("num_experts")) return read_llama(c);
    model m = read_frame(c);
    return stack_of(c, m, read_routed_layer(c, m.hidden));
}

/// MiniMax-M2: norms over all heads of queries and keys, routing corrected by a bias. The config.json names layers of
/// multi-token prediction that no published checkpoint holds.
inline model read_minimax_m2(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden, bias_fields::none);
    l.attention.qk_norm = c.flag_or("use_qk_norm", true) ? query_key_norm::full : query_key_norm::none;
    l.feed_forward.experts.score_bias = c.flag_or("use_routing_bias", true);
    l.feed_forward.experts.shared_width = c.number_or("shared_intermediate_size", 0, 0, most_features);
    (void)c.number_or("num_mtp_modules", 0, 0, 64);
    return stack_of(c, m, l);
}

/// OLMoE: norms over all heads of queries and keys together.
inline model read_olmoe(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden);
    l.attention.qk_norm = query_key_norm::full;
    return stack_of(c, m, l);
}

/// gpt-oss: biases everywhere, an attention sink for each head, an attention window in every other layer.
inline model read_gpt_oss(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden);
    l.attention.sinks = true;
    l.feed_forward.bias = true;
    l.feed_forward.experts.router_bias = true;
    return windowed_stack_of(c, m, l, 2);
}

/// Grok 1: norms before and after attention and feed-forward.
inline model read_grok(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden, bias_fields::none);
    l.norm_after_attention = l.norm_after_feed_forward = true;
    return stack_of(c, m, l);
}

/// DBRX: the fields of attention and of experts stand in objects of their own.
inline model read_dbrx(config_fields& c) {
    model m = read_frame(c);
    nested_fields a{c, "attn_config"};
    nested_fields f{c, "ffn_config"};
    layer l;
    l.norm = m.final_norm = norm_kind::layer_without_bias;
    l.attention.heads = c.number(heads_field, 1, most_heads);
    l.attention.kv_heads = a.number_or(kv_heads_field, 1, 1, most_heads);
    l.attention.head_dim = m.hidden / l.attention.heads;
    experts& e = l.feed_forward.experts;
    e.count = f.number_nested("moe_num_experts", 4, 1, most_heads);
    e.per_token = f.number_nested("moe_top_k", 1, 1, most_heads);
    e.width = f.number_nested("ffn_hidden_size", 3584, 1, most_features);
    l.feed_forward.width = e.width;
    return stack_of(c, m, l);
}

// ---- some layers dense

/// Whether a layer of Qwen's is routed: it is not listed in mlp_only_layers, and is a decoder_sparse_step-th one.
inline bool qwen_routed(config_fields& c, std::int64_t i) {
    return !c.lists("mlp_only_layers", i) && (i + 1) % feature_count(c, "decoder_sparse_step", 1) == 0;
}

inline experts read_qwen_experts(config_fields& c) {
    experts e = read_experts(c, "moe_intermediate_size");
    e.shared_width = feature_count(c, "shared_expert_intermediate_size");
    e.shared_gate = true;
    return e;
}

inline model read_qwen2_moe(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_qwen2_layer(c, m.hidden);
    dense.attention.qkv_bias = c.flag_or("qkv_bias", true);
    layer routed = dense;
    routed.feed_forward.experts = read_qwen_experts(c);
    read_qwen_layers(c, m, layer_count(c), [&](std::int64_t i) { return qwen_routed(c, i) ? routed : dense; });
    return m;
}

inline model read_qwen3_moe(config_fields& c) {
    model m = read_frame(c);
    const layer dense = read_qwen3_layer(c, m.hidden);
    layer routed = dense;
    routed.feed_forward.experts = read_experts(c, "moe_intermediate_size");
    read_qwen_layers(c, m, layer_count(c), [&](std::int64_t i) { return qwen_routed(c, i) ? routed : dense; });
    return m;
}

/// DeepSeek's names of routed and shared experts, with a bias of the router's scores; `shared`: how many shared ones
/// where the file does not say.
inline experts read_shared_experts(config_fields& c, std::int64_t shared) {
    experts e = read_experts(c, "moe_intermediate_size");
    e.shared_width = e.width * c.number_or({"n_shared_experts", "num_shared_experts"}, shared, 0, most_heads);
    e.score_bias = true;
    return e;
}

/// Whether a bias of its own for each expert corrects the scores by which a router chooses.
enum class score_bias : bool { none, added };

/// DeepSeek's layout: the first layers are dense, the others routed, with all shared experts as one.
inline void read_deepseek_layers(config_fields& c, model& m, const layer& dense, score_bias bias) {
    layer routed = dense;
    experts& e = routed.feed_forward.experts;
    const bool has_experts = c.has(experts_field);
    if (has_experts) {
        e = read_shared_experts(c, 0);
        e.score_bias = bias == score_bias::added;
    }
    const std::int64_t first = c.number_or("first_k_dense_replace", 0, 0, most_features);
    const bool listed_frequency = c.holds_list("moe_layer_freq");
    const std::int64_t step = listed_frequency ? 1 : feature_count(c, "moe_layer_freq", 1);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        bool sparse = i >= first && i % step == 0;
        if (listed_frequency) sparse = c.number_at("moe_layer_freq", static_cast<std::size_t>(i), 0, 1) == 1;
        if (c.has("mlp_layer_types")) sparse = c.text_at("mlp_layer_types", static_cast<std::size_t>(i)) == "sparse";
        return has_experts && sparse ? routed : dense;
    });
}

/// The first DeepSeek MoE: multi-head attention.
inline model read_deepseek(config_fields& c) {
    model m = read_frame(c);
    read_deepseek_layers(c, m, read_llama_layer(c, m.hidden), score_bias::none);
    return m;
}

/// GLM-4.5: grouped-query attention with DeepSeek's routing. Heads whose width the file does not give are the hidden
/// size over their number, rounded down, as in its class.
inline model read_glm4_moe(config_fields& c) {
    model m = read_frame(c);
    layer dense;
    attention& a = dense.attention;
    a.heads = c.number(heads_field, 1, most_heads);
    a.kv_heads = c.number_or(kv_heads_field, a.heads, 1, most_heads);
    if (c.ok() && a.heads % a.kv_heads != 0)
        c.fail(error_code::inconsistent, kv_heads_field, "a divisor of the attention heads");
    a.head_dim = c.number_or("head_dim", std::max<std::int64_t>(1, m.hidden / a.heads), 1, most_heads);
    a.qkv_bias = c.flag_or("attention_bias", false);
    dense.feed_forward.width = feature_count(c, width_field);
    if (c.flag_or("use_qk_norm", false)) dense.attention.qk_norm = query_key_norm::shared;
    read_deepseek_layers(c, m, dense, score_bias::added);
    read_prediction(c, m, prediction_ends::own);
    return m;
}

/// Dots: as GLM-4.5 with norms of queries and keys.
inline model read_dots1(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_llama_layer(c, m.hidden);
    dense.attention.qk_norm = query_key_norm::shared;
    read_deepseek_layers(c, m, dense, score_bias::added);
    return m;
}

/// K-EXAONE: as Dots, with an attention window in the layers that `layer_types` names.
inline model read_exaone_moe(config_fields& c) {
    const token_count window = read_window(c);
    model m = read_dots1(c);
    // configuration_exaone_moe.py: where layers are not listed, every fourth has no window.
    const std::int64_t period = c.has("layer_types") ? 1 : window_period(c, 4);
    change_layers(c, m, [&](std::int64_t i, layer& l) {
        if (layer_is(c, "sliding_attention", i, (i + 1) % period != 0)) l.attention.window = window;
    });
    return m;
}

/// FlexOlmo: OLMo 2's norms after attention and feed-forward, and routed experts.
inline model read_flex_olmo(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden);
    l.attention.qk_norm = query_key_norm::full;
    l.norm_before_attention = l.norm_before_feed_forward = false;
    l.norm_after_attention = l.norm_after_feed_forward = true;
    return stack_of(c, m, l);
}

/// Granite's routed experts with attention windows and sinks (read_granite_swa).
inline model read_granitemoe_swa(config_fields& c) {
    model m = read_frame(c);
    layer l = read_routed_layer(c, m.hidden);
    l.attention.sinks = true;
    l.feed_forward.experts.shared_width = c.number_or("shared_intermediate_size", 0, 0, most_features);
    return windowed_stack_of(c, m, l, 4, whole_context::first);
}

/// Mellum: Qwen 3's layers, dense or routed as `mlp_layer_types` says, with windows where `layer_types` does.
inline model read_mellum(config_fields& c) {
    model m = read_frame(c);
    const token_count window = read_window(c);
    const layer dense = read_qwen3_layer(c, m.hidden);
    layer routed = dense;
    routed.feed_forward.experts = read_experts(c, "moe_intermediate_size");
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        const bool sparse =
            !c.has("mlp_layer_types") || c.text_at("mlp_layer_types", static_cast<std::size_t>(i)) == "sparse";
        layer l = sparse ? routed : dense;
        if (layer_is(c, "sliding_attention", i)) l.attention.window = window;
        return l;
    });
    return m;
}

inline model read_ernie4_5_moe(config_fields& c) {
    model m = read_frame(c);
    const layer dense = read_ernie_layer(c, m.hidden);
    layer routed = dense;
    experts& e = routed.feed_forward.experts;
    e = read_experts(c, "moe_intermediate_size");
    e.shared_width = e.width * c.number_or("moe_num_shared_experts", 0, 0, most_heads);
    e.score_bias = c.flag_or("moe_use_aux_free", true);
    const std::int64_t count = layer_count(c);
    const std::int64_t first = c.number_or("moe_layer_start_index", 0, 0, most_features);
    const std::int64_t last = c.number_or("moe_layer_end_index", count - 1, -1, most_features);
    const std::int64_t step = feature_count(c, "moe_layer_interval", 1);
    read_layers(c, m, count, [&](std::int64_t i) {
        return i >= first && (last < 0 || i <= last) && (i + 1) % step == 0 ? routed : dense;
    });
    return m;
}

/// Llama 4's text model: three layers of four attend in chunks; routed layers alternate with dense ones of another
/// width.
inline model read_llama4(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_llama_layer(c, m.hidden);
    layer routed = dense;
    dense.feed_forward.width = feature_count(c, "intermediate_size_mlp");
    experts& e = routed.feed_forward.experts;
    e = read_experts(c, width_field);
    e.shared_width = e.width;
    (void)c.flag_or("use_qk_norm", true);  // a norm without parameters
    const std::int64_t step = feature_count(c, "interleave_moe_layer_step", 1);
    const token_count chunk = tokens(c.number_or("attention_chunk_size", 8192, 0, most_tokens));
    const bool listed_rope =
        c.has("no_rope_layers") && c.list("no_rope_layers") != nullptr && !c.list("no_rope_layers")->empty();
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        const bool sparse = c.has("moe_layers") ? c.lists("moe_layers", i) : (i + 1) % step == 0;
        layer l = sparse ? routed : dense;
        // no_rope_layers holds 1 where a layer has rotary positions: such layers attend in chunks.
        const bool rope =
            listed_rope ? c.number_at("no_rope_layers", static_cast<std::size_t>(i), 0, 1) == 1 : (i + 1) % 4 != 0;
        if (layer_is(c, "chunked_attention", i, rope)) {
            l.attention.window = chunk;
            l.attention.chunked = true;
        }
        return l;
    });
    return m;
}

/// Arctic: a dense feed-forward as wide as the model runs beside the experts, with a norm of its own.
inline model read_arctic(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_llama_layer(c, m.hidden);
    layer routed = dense;
    routed.feed_forward.experts = read_experts(c, "intermediate_size");
    if (c.flag_or("parallel_attn_mlp_res", false)) {
        routed.feed_forward.experts.shared_width = m.hidden;
        routed.more_norms = 1;
    }
    const std::int64_t step = feature_count(c, "moe_layer_frequency", 2);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) { return (i + 1) % step == 0 ? routed : dense; });
    return m;
}

/// MiMo-V2: values narrower than keys. Layers marked 1 in `hybrid_layer_pattern` have an attention window, KV heads of
/// their own number, and an attention sink for each head.
inline model read_mimo_v2(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_llama_layer(c, m.hidden);
    dense.attention.output_bias = false;
    dense.attention.value_dim = c.number_or("v_head_dim", dense.attention.head_dim, 1, most_heads);
    dense.attention.sinks = c.flag_or("add_full_attention_sink_bias", false);
    read_deepseek_layers(c, m, dense, score_bias{c.text_or("topk_method", "noaux_tc") == "noaux_tc"});
    attention windowed = dense.attention;
    windowed.heads = c.number_or("swa_num_attention_heads", windowed.heads, 1, most_heads);
    // Files of transformers' own class have neither field: its windowed layers have twice the KV heads, and sinks.
    const bool own_class = !c.has("hybrid_layer_pattern");
    windowed.kv_heads = c.number_or("swa_num_key_value_heads", (own_class ? 2 : 1) * windowed.kv_heads, 1, most_heads);
    windowed.head_dim = c.number_or("swa_head_dim", windowed.head_dim, 1, most_heads);
    windowed.value_dim = c.number_or("swa_v_head_dim", windowed.value_dim, 1, most_heads);
    windowed.window = read_window(c);
    windowed.sinks = c.flag_or("add_swa_attention_sink_bias", own_class);
    change_layers(c, m, [&](std::int64_t i, layer& l) {
        const bool local = c.has("hybrid_layer_pattern")
                               ? c.number_at("hybrid_layer_pattern", static_cast<std::size_t>(i), 0, 1) == 1
                               : layer_is(c, "sliding_attention", i, i != 0 && (i + 1) % 6 != 0);
        if (local) l.attention = windowed;
    });
    return m;
}

/// Step 3.5: layers with an attention window have more heads; a gate for each head, norms of queries and keys. The
/// layers with experts are listed in a text with commas.
inline bool listed_in_text(std::string_view numbers, std::int64_t number) {
    for (std::size_t i = 0; i <= numbers.size();) {
        const std::size_t end = numbers.find(',', i) < numbers.size() ? numbers.find(',', i) : numbers.size();
        if (numbers.substr(i, end - i) == digits(number).view()) return true;
        i = end + 1;
    }
    return false;
}
inline model read_step3p5(config_fields& c) {
    model m = read_frame(c);
    layer full = read_llama_layer(c, m.hidden);
    attention& a = full.attention;
    a.kv_heads = c.number_or("num_attention_groups", a.kv_heads, 1, a.heads);
    a.qk_norm = query_key_norm::shared;
    constexpr field_names other_field{"attention_other_setting"};
    // The names that transformers' own class has for the fields.
    const bool own_class = !c.has(other_field) && !c.has("num_attention_groups");
    if (c.flag_or("use_head_wise_attn_gate", own_class)) a.gate = output_gate::heads;
    layer sliding = full;
    if (own_class) {
        sliding.attention.heads = c.number_or("num_sliding_attention_heads", a.heads, 1, most_heads);
    } else {
        nested_fields o{c, other_field};
        if (!o.given())
            c.fail({error_code::missing, c.label(other_field), "absent", "the heads of the layers with a window"});
        sliding.attention.heads = o.number_or(heads_field, a.heads, 1, most_heads);
        sliding.attention.kv_heads = o.number_or("num_attention_groups", a.kv_heads, 1, most_heads);
        sliding.attention.head_dim = o.number_or("head_dim", a.head_dim, 1, most_heads);
    }
    sliding.attention.window = read_window(c);
    experts e;
    e.count = c.number({"moe_num_experts", "num_experts", "n_routed_experts"}, 1, most_heads);
    e.per_token = c.number(per_token_field, 1, most_heads);
    e.width = feature_count(c, "moe_intermediate_size");
    e.shared_width = c.number_or("share_expert_dim", 0, 0, most_features);
    e.score_bias = c.flag_or("use_moe_router_bias", true);
    const std::string_view routed = c.text_or("moe_layers_enum", "");
    const std::int64_t first = c.number_or("first_k_dense_replace", 0, 0, most_features);
    const std::int64_t count = layer_count(c);
    read_layers(c, m, count, [&](std::int64_t i) {
        layer l = layer_is(c, "sliding_attention", i, i % 4 != 0) ? sliding : full;
        const bool sparse = c.has("mlp_layer_types")
                                ? c.text_at("mlp_layer_types", static_cast<std::size_t>(i)) == "sparse"
                            : routed.empty() ? i >= first
                                             : listed_in_text(routed, i);
        if (sparse) l.feed_forward.experts = e;
        return l;
    });
    m.prediction = {.layers = static_cast<std::int32_t>(c.number_or(prediction_field, 0, 0, 64)),
                    .block = sliding,
                    .norms = 3,
                    .own_head = true};
    return m;
}

/// Ling and Ring (Bailing): grouped-query attention; the second version has norms of queries and keys and DeepSeek's
/// routing.
inline model read_bailing(config_fields& c, generation which) {
    const bool second = which == generation::second;
    model m = read_frame(c);
    layer dense = read_llama_layer(c, m.hidden, bias_fields::none);
    dense.attention.qkv_bias = c.flag_or("use_qkv_bias", false);
    dense.attention.output_bias = dense.feed_forward.bias = c.flag_or("use_bias", false);
    if (c.flag_or("use_qk_norm", second)) dense.attention.qk_norm = query_key_norm::shared;
    read_deepseek_layers(c, m, dense, score_bias{c.flag_or("moe_router_enable_expert_bias", second)});
    read_prediction(c, m, prediction_ends::shared);
    return m;
}
inline model read_bailing_moe(config_fields& c) { return read_bailing(c, generation::first); }
inline model read_bailing_moe_v2(config_fields& c) { return read_bailing(c, generation::second); }

}  // namespace llmres::inline v0::detail::hf
