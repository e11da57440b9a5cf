// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string_view>

/// Dense decoders of the llama layout: for each `model_type` a short function that says how the family departs from the
/// common reading.
namespace llmres::inline v0::detail::hf {

inline model read_llama(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    // InternLM's first files are spelled llama with `bias`.
    if (c.flag_or("bias", false)) l.attention.qkv_bias = l.attention.output_bias = true;
    return stack_of(c, m, l);
}

/// Helium: llama without a bias of the output projection.
inline model read_helium(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.attention.output_bias = false;
    return stack_of(c, m, l);
}

/// ERNIE 4.5: one field switches all biases.
inline layer read_ernie_layer(config_fields& c, std::int64_t hidden) {
    layer l = read_llama_layer(c, hidden, bias_fields::none);
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = c.flag_or("use_bias", false);
    return l;
}
inline model read_ernie4_5(config_fields& c) {
    model m = read_frame(c);
    return stack_of(c, m, read_ernie_layer(c, m.hidden));
}

/// Fused or renamed projections without biases, counted as llama's (Baichuan, InternLM 2).
inline model read_plain_llama(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.attention.qkv_bias = l.attention.output_bias = c.flag_or("bias", false);
    return stack_of(c, m, l);
}

/// InternLM 3 has a field for the biases of queries, keys and values, and one for all others.
inline model read_internlm3(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.attention.qkv_bias = c.flag_or("qkv_bias", false);
    l.attention.output_bias = l.feed_forward.bias = c.flag_or("bias", false);
    return stack_of(c, m, l);
}

/// Biases on queries, keys and values only (GLM, MiMo).
inline layer read_qkv_biased_layer(config_fields& c, std::int64_t hidden, bias_fields biases = bias_fields::attention) {
    layer l = read_llama_layer(c, hidden, biases);
    l.attention.output_bias = c.flag_or("attention_out_bias", false);
    return l;
}

inline model read_glm(config_fields& c) {
    model m = read_frame(c);
    return stack_of(c, m, read_qkv_biased_layer(c, m.hidden));
}

/// Seed-OSS: GLM's biases, and one on the feed-forward where the file says so.
inline model read_seed_oss(config_fields& c) {
    model m = read_frame(c);
    return stack_of(c, m, read_qkv_biased_layer(c, m.hidden, bias_fields::attention_and_mlp));
}

/// GLM-4-0414: norms after attention and feed-forward as well as before them.
inline model read_glm4(config_fields& c) {
    model m = read_frame(c);
    layer l = read_qkv_biased_layer(c, m.hidden);
    l.norm_after_attention = l.norm_after_feed_forward = true;
    return stack_of(c, m, l);
}

/// ChatGLM: the first has LayerNorms, biases everywhere and a feed-forward without a gate; its successors have the
/// llama layout under other names. Only files of the first have `inner_hidden_size`.
inline model read_chatglm(config_fields& c) {
    const bool first = c.has("inner_hidden_size") || c.has("position_encoding_2d");
    model m = read_frame(c);
    if (!c.has("tie_word_embeddings")) m.tied_head = first;
    layer l;
    l.attention.heads = c.number(heads_field, 1, most_heads);
    l.attention.kv_heads = c.flag_or("multi_query_attention", false) ? c.number("multi_query_group_num", 1, most_heads)
                                                                     : l.attention.heads;
    l.attention.head_dim = c.number_or("kv_channels", m.hidden / l.attention.heads, 1, most_heads);
    l.feed_forward.width = feature_count(c, width_field);
    const bool linear_bias = c.flag_or("add_bias_linear", first);
    l.attention.qkv_bias = linear_bias || c.flag_or("add_qkv_bias", false);
    l.attention.output_bias = l.feed_forward.bias = linear_bias;
    if (first) l.feed_forward.kind = feed_forward_kind::plain;
    if (!c.flag_or("rmsnorm", !first)) l.norm = m.final_norm = norm_kind::layer;
    if (!c.flag_or("post_layer_norm", true)) m.final_norm = norm_kind::none;
    return stack_of(c, m, l);
}

/// Qwen 1: intermediate_size is twice the width of the feed-forward; queries, keys and values alone have biases.
inline model read_qwen(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.attention.qkv_bias = true;
    l.attention.output_bias = l.feed_forward.bias = !c.flag_or("no_bias", true);
    if (l.feed_forward.width % 2 != 0) c.fail(error_code::inconsistent, width_field, "an even number");
    l.feed_forward.width /= 2;
    return stack_of(c, m, l);
}

/// MiMo: Qwen 2 with one dense layer of multi-token prediction.
inline model read_mimo(config_fields& c) {
    model m = read_frame(c);
    const layer l = read_qkv_biased_layer(c, m.hidden);
    m.prediction.layers = static_cast<std::int32_t>(c.number_or("num_nextn_predict_layers", 0, 0, 64));
    m.prediction.block = l;
    m.prediction.norms = 3;
    return stack_of(c, m, l);
}

/// OLMo 1: norms without parameters.
inline model read_olmo(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.norm = m.final_norm = norm_kind::none;
    return stack_of(c, m, l);
}

/// OLMo 2 and 3: norms over all heads of queries and keys together; norms after attention and feed-forward instead of
/// before them.
inline model read_olmo2_like(config_fields& c, bias_fields biases) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, biases);
    l.attention.qk_norm = query_key_norm::full;
    l.norm_before_attention = l.norm_before_feed_forward = false;
    l.norm_after_attention = l.norm_after_feed_forward = true;
    return windowed_stack_of(c, m, l, window_period(c, 4));
}

inline model read_olmo2(config_fields& c) { return read_olmo2_like(c, bias_fields::attention); }

/// Exaone 4: as OLMo 2 without biases; norms of queries and keys that all heads share.
inline model read_exaone4(config_fields& c) {
    model m = read_olmo2_like(c, bias_fields::none);
    for (layer& l : m.layers.kinds) l.attention.qk_norm = query_key_norm::shared;
    return m;
}

/// Command R: attention and feed-forward run in parallel after one LayerNorm without bias; the head is tied. Command A
/// and R7B (cohere2) have an attention window in three layers of four.
inline model read_cohere(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.norm = m.final_norm = norm_kind::layer_without_bias;
    l.norm_before_feed_forward = false;
    if (c.flag_or("use_qk_norm", false)) l.attention.qk_norm = query_key_norm::full;
    const std::int64_t period = window_period(c, 4);
    return windowed_stack_of(c, m, l, period);
}

inline model read_stablelm(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.norm = m.final_norm = norm_kind::layer;
    l.attention.qkv_bias = c.flag_or("use_qkv_bias", false);
    if (c.flag_or("qk_layernorm", false)) l.attention.qk_norm = query_key_norm::full;
    if (c.flag_or("use_parallel_residual", false)) l.norm_before_feed_forward = false;
    return stack_of(c, m, l);
}

inline model read_starcoder2(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.norm = m.final_norm = norm_kind::layer;
    l.feed_forward.kind = feed_forward_kind::plain;
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = c.flag_or("use_bias", true);
    l.attention.window = read_window(c);
    return stack_of(c, m, l);
}

/// Nemotron 3 and 4: LayerNorms, a feed-forward without a gate and with squared ReLU.
inline model read_nemotron(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.norm = m.final_norm = norm_kind::layer;
    l.feed_forward.kind = feed_forward_kind::plain;
    return stack_of(c, m, l);
}

/// Arcee's AFM: llama with a feed-forward that has no gate.
inline model read_arcee(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.feed_forward.kind = feed_forward_kind::plain;
    return stack_of(c, m, l);
}

/// Apertus: a feed-forward without a gate, norms of queries and keys, and two learned values in each activation.
inline model read_apertus(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.feed_forward.kind = feed_forward_kind::plain;
    l.attention.qk_norm = query_key_norm::shared;
    l.more_values = 2;
    return stack_of(c, m, l);
}

/// Orion: llama with LayerNorms.
inline model read_orion(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.norm = m.final_norm = norm_kind::layer;
    return stack_of(c, m, l);
}

/// Phi 1 to 2: biases everywhere, one LayerNorm for attention and feed-forward, which run in parallel. The first files
/// name their fields as GPT-2 does.
inline model read_phi(config_fields& c) {
    model m = read_frame(c);
    layer l;
    l.attention = read_heads(c, m.hidden);
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = true;
    l.feed_forward.kind = feed_forward_kind::plain;
    l.feed_forward.width = feature_count(c, width_field, 4 * m.hidden);
    l.norm = m.final_norm = norm_kind::layer;
    l.norm_before_feed_forward = false;
    m.head.bias = true;
    refuse_flag(c, "qk_layernorm");
    return stack_of(c, m, l);
}

/// Phi-3-small: LayerNorms, biases everywhere, a gated feed-forward. Its block-sparse attention caches all tokens.
inline model read_phi3small(config_fields& c) {
    model m = read_frame(c);
    layer l;
    l.attention = read_heads(c, m.hidden);
    l.attention.qkv_bias = l.attention.output_bias = l.feed_forward.bias = true;
    l.feed_forward.width = feature_count(c, "ff_intermediate_size");
    l.norm = m.final_norm = norm_kind::layer;
    (void)c.flag_or("attention_bias", false);
    return stack_of(c, m, l);
}

/// Nemotron-NAS, found by architecture search: each layer has KV heads and a feed-forward width of its own, or lacks
/// attention, feed-forward or both.
inline model read_nemotron_nas(config_fields& c) {
    model m = read_frame(c);
    const std::int64_t heads = c.number(heads_field, 1, most_heads);
    (void)c.has(kv_heads_field);
    const nlohmann::json* blocks = c.list("block_configs");
    const auto block_field = [&](std::int64_t i, const char* half) -> config_fields {
        static const nlohmann::json nothing = nlohmann::json::object();
        if (blocks != nullptr && static_cast<std::size_t>(i) < blocks->size()) {
            const nlohmann::json& block = (*blocks)[static_cast<std::size_t>(i)];
            const auto found = block.find(half);
            if (found != block.end() && found->is_object()) return config_fields{*found, "block_configs"};
        }
        c.fail(error_code::malformed, "block_configs", "a list with attention and ffn of every layer");
        return config_fields{nothing};
    };
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        config_fields mix = block_field(i, "attention");
        config_fields ffn = block_field(i, "ffn");
        layer l;
        l.norm_before_attention = !mix.flag_or("no_op", false);
        l.norm_before_feed_forward = !ffn.flag_or("no_op", false);
        if (!l.norm_before_attention) {
            l.attention = no_attention;
        } else if (mix.flag_or("replace_with_linear", false)) {
            l.attention = no_attention;
            l.more_values += m.hidden * m.hidden;
        } else {
            const std::int64_t group = mix.number("n_heads_in_group", 1, most_heads);
            if (mix.ok() && heads % group != 0)
                mix.fail(error_code::inconsistent, "n_heads_in_group", "a divisor of the heads");
            l.attention = {.heads = heads, .kv_heads = mix.ok() ? heads / group : heads, .head_dim = m.hidden / heads};
        }
        if (!l.norm_before_feed_forward) {
            l.feed_forward = no_feed_forward;
        } else if (ffn.flag_or("replace_with_linear", false)) {
            l.feed_forward = no_feed_forward;
            l.more_values += m.hidden * m.hidden;
        } else {
            // Two thirds of the multiple of the hidden size, cut to an integer and rounded up to a multiple of 256.
            const double width = 2.0 * ffn.real_or("ffn_mult", 0, 0, 64) * static_cast<double>(m.hidden) / 3.0;
            l.feed_forward.width = ceil_quotient(static_cast<std::int64_t>(width), 256) * 256;
        }
        if (!mix.ok()) c.fail(mix.error());
        if (!ffn.ok()) c.fail(ffn.error());
        return l;
    });
    return m;
}

/// Hunyuan: norms of queries and keys; some layers read the keys and values of an earlier one; larger models have
/// routed experts. A count may be a list with a number for each layer.
inline std::int64_t hunyuan_number(config_fields& c, const field_names& field, std::int64_t i, std::int64_t fallback) {
    if (!c.has(field)) return fallback;
    return c.holds_list(field) ? c.number_at(field, static_cast<std::size_t>(i), 0, most_features)
                               : c.number(field, 0, most_features);
}
inline model read_hunyuan(config_fields& c) {
    model m = read_frame(c);
    const layer base = read_llama_layer(c, m.hidden);
    const bool normed = c.flag_or("use_qk_norm", false);
    const std::int64_t share = c.flag_or("use_cla", false) ? c.number_or("cla_share_factor", 1, 1, 256) : 1;
    const bool mixed = c.flag_or("use_mixed_mlp_moe", true);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        layer l = base;
        if (normed) l.attention.qk_norm = query_key_norm::shared;
        if (i % share != 0) l.attention.kv = kv_source::shared;
        experts& e = l.feed_forward.experts;
        e.count = hunyuan_number(c, "num_experts", i, 0);
        if (e.count <= 1) {
            e = {};
            return l;
        }
        e.per_token = hunyuan_number(c, {"moe_topk", "num_experts_per_tok"}, i, 1);
        e.width = hunyuan_number(c, "moe_intermediate_size", i, base.feed_forward.width);
        if (mixed) e.shared_width = e.width * hunyuan_number(c, "num_shared_expert", i, 0);
        return l;
    });
    return m;
}

/// Mistral: llama without biases, with an attention window in every layer, or in those that `layer_types` names.
inline model read_mistral(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    return windowed_stack_of(c, m, l, 0);
}

/// Code World Model: Mistral, whose feed-forward may have biases. The first layer of four sees the whole context.
inline model read_cwm(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.feed_forward.bias = c.flag_or("mlp_bias", false);
    return windowed_stack_of(c, m, l, 4, whole_context::first);
}

/// Qwen's attention window: off unless `use_sliding_window` is true, and then in the layers from max_window_layers on.
template <class Make>
void read_qwen_layers(config_fields& c, model& m, std::int64_t count, Make make) {
    const token_count window = c.flag_or("use_sliding_window", false) ? read_window(c) : token_count{};
    const std::int64_t first = c.number_or("max_window_layers", 0, 0, most_features);
    read_layers(c, m, count, [&](std::int64_t i) {
        layer l = make(i);
        if (layer_is(c, "sliding_attention", i, i >= first)) l.attention.window = window;
        return l;
    });
}

inline layer read_qwen2_layer(config_fields& c, std::int64_t hidden) {
    layer l = read_llama_layer(c, hidden, bias_fields::none);
    l.attention.qkv_bias = true;  // always: no key says so
    return l;
}

inline model read_qwen2(config_fields& c) {
    model m = read_frame(c);
    const layer l = read_qwen2_layer(c, m.hidden);
    read_qwen_layers(c, m, layer_count(c), [&](std::int64_t) { return l; });
    return m;
}

inline layer read_qwen3_layer(config_fields& c, std::int64_t hidden) {
    layer l = read_llama_layer(c, hidden);
    l.attention.qk_norm = query_key_norm::shared;
    return l;
}

inline model read_qwen3(config_fields& c) {
    model m = read_frame(c);
    const layer l = read_qwen3_layer(c, m.hidden);
    read_qwen_layers(c, m, layer_count(c), [&](std::int64_t) { return l; });
    return m;
}

inline model read_gemma(config_fields& c) {
    model m = read_frame(c);
    return stack_of(c, m, read_llama_layer(c, m.hidden));
}

/// Gemma 2: norms before and after attention and feed-forward; an attention window in every other layer.
inline layer read_gemma2_layer(config_fields& c, std::int64_t hidden) {
    layer l = read_llama_layer(c, hidden);
    l.norm_after_attention = l.norm_after_feed_forward = true;
    return l;
}

inline model read_gemma2(config_fields& c) {
    model m = read_frame(c);
    layer l = read_gemma2_layer(c, m.hidden);
    return windowed_stack_of(c, m, l, 2);
}

/// VaultGemma: Gemma 2 without norms after attention and feed-forward.
inline model read_vaultgemma(config_fields& c) {
    model m = read_frame(c);
    return windowed_stack_of(c, m, read_llama_layer(c, m.hidden), 2);
}

/// Granite with an attention window in the layers that `layer_types` names, else in all but the first of four, and a
/// learned sink for each head.
inline model read_granite_swa(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.attention.sinks = true;
    return windowed_stack_of(c, m, l, 4, whole_context::first);
}

/// HyperCLOVA X: llama, with norms after attention and feed-forward as well unless `use_post_norm` is false.
inline model read_hyperclovax(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.norm_after_attention = l.norm_after_feed_forward = c.flag_or("use_post_norm", true);
    return stack_of(c, m, l);
}

/// Gemma 3's text model: norms of queries and keys; one layer in six sees the whole context, the others have a window.
inline model read_gemma3_text(config_fields& c) {
    model m = read_frame(c);
    layer l = read_gemma2_layer(c, m.hidden);
    l.attention.qk_norm = query_key_norm::shared;
    const std::int64_t period = window_period(c, 6, {"sliding_window_pattern", "_sliding_window_pattern"});
    return windowed_stack_of(c, m, l, period);
}

}  // namespace llmres::inline v0::detail::hf
