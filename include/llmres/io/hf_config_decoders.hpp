// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/config_fields.hpp>
#include <llmres/model.hpp>
#include <string_view>

/// Decoders of the llama layout, dense and with routed experts: one short function a `model_type`, which says how the
/// family departs from the common reading below. Field meanings and class defaults are those of the model classes in
/// Hugging Face transformers.
namespace llmres::detail::hf {

inline constexpr std::int64_t most_features = widest;
inline constexpr std::int64_t most_heads = 65536;
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 40;

inline constexpr field_names heads_field{"num_attention_heads", "n_head", "n_heads", "num_heads"};
inline constexpr field_names kv_heads_field{"num_key_value_heads", "num_kv_heads", "n_head_kv"};
inline constexpr field_names hidden_field{"hidden_size", "n_embd", "d_model", "n_embed"};
inline constexpr field_names layers_field{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
inline constexpr field_names width_field{"intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"};
inline constexpr field_names vocabulary_field{"vocab_size", "padded_vocab_size"};
inline constexpr field_names context_field{"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"};

/// What a nested config leaves out is its class's default: LlamaConfig's, unless a family says otherwise.
struct class_defaults {
    std::int64_t vocabulary = 32000;
    std::int64_t hidden = 4096;
    std::int64_t layers = 32;
    std::int64_t heads = 32;
    std::int64_t width = 11008;
};

inline std::int64_t feature_count(config_fields& c, const field_names& field) { return c.number(field, 1, most_features); }

inline std::int64_t layer_count(config_fields& c, const class_defaults& d = {}) {
    return c.number_nested(layers_field, d.layers, 1, layer_stack::max_layers);
}

/// Vocabulary, width, context and head.
inline model read_frame(config_fields& c, bool tied_by_default, const class_defaults& d = {}) {
    model m;
    m.vocabulary = c.number_nested(vocabulary_field, d.vocabulary, 1, most_features);
    m.hidden = c.number_nested(hidden_field, d.hidden, 1, most_features);
    m.max_context = tokens(c.number_or(context_field, 0, 0, most_tokens));
    m.tied_head = c.flag_or("tie_word_embeddings", tied_by_default);
    return m;
}

/// Heads, KV heads (absent: as many as heads) and their width (absent: the hidden size shared out).
inline attention read_heads(config_fields& c, std::int64_t hidden, const class_defaults& d = {}) {
    attention a;
    a.heads = c.number_nested(heads_field, d.heads, 1, most_heads);
    a.kv_heads = c.number_or(kv_heads_field, a.heads, 1, most_heads);
    a.head_dim = c.number_or({"head_dim", "attention_head_dim", "kv_channels"}, 0, 1, most_heads);
    if (!c.ok()) return a;
    if (a.heads % a.kv_heads != 0) {
        text<191> expected{"a divisor of the attention heads, "};
        expected.append(digits(a.heads));
        c.fail(error_code::inconsistent, kv_heads_field, expected);
    }
    if (a.head_dim == 0) {
        if (hidden % a.heads != 0) {
            text<191> expected{"a divisor of the hidden size, "};
            expected.append(digits(hidden));
            c.fail(error_code::inconsistent, heads_field, expected);
        }
        a.head_dim = hidden / a.heads;
        if (a.head_dim > most_heads) c.fail(error_code::inconsistent, heads_field, "heads of at most 65536 features");
    }
    return a;
}

/// Calls make(i) for the layers in order.
template <class Make>
void read_layers(config_fields& c, model& m, std::int64_t count, Make make) {
    for (std::int64_t i = 0; i < count && c.ok(); ++i) {
        const layer made = make(i);
        if (c.ok() && !m.layers.append(1, made))
            c.fail(error_code::unsupported, layers_field, "at most 12 different kinds of layer");
    }
}

/// Whether layer i has the kind: `layer_types` where the file has it, the family's own rule where it has not.
inline bool layer_is(config_fields& c, std::string_view kind, std::int64_t i, bool by_rule) {
    if (!c.has("layer_types")) return by_rule;
    return c.text_at("layer_types", static_cast<std::size_t>(i)) == kind;
}

inline token_count read_window(config_fields& c) { return tokens(c.number_or("sliding_window", 0, 0, most_tokens)); }

/// The llama layer: gated feed-forward, two RMS norms, biases where the file asks for them.
inline layer read_llama_layer(config_fields& c, std::int64_t hidden, const class_defaults& d = {}) {
    layer l;
    l.attention = read_heads(c, hidden, d);
    l.attention.qkv_bias = l.attention.output_bias = c.flag_or("attention_bias", false);
    l.feed_forward.width = c.number_nested(width_field, d.width, 1, most_features);
    l.feed_forward.bias = c.flag_or("mlp_bias", false);
    return l;
}

// ---- dense -----------------------------------------------------------------------------------------------------------

inline model read_llama(config_fields& c) {
    model m = read_frame(c, false);
    m.layers.append(static_cast<std::int32_t>(layer_count(c)), read_llama_layer(c, m.hidden));
    return m;
}

/// As llama, with a window over every layer unless `layer_types` says which.
inline model read_mistral(config_fields& c) {
    constexpr class_defaults d{.width = 14336};
    model m = read_frame(c, false, d);
    layer l = read_llama_layer(c, m.hidden, d);
    if (c.nested() && !c.has(kv_heads_field)) l.attention.kv_heads = 8;
    const token_count window = read_window(c);
    read_layers(c, m, layer_count(c, d), [&](std::int64_t i) {
        l.attention.window = layer_is(c, "sliding_attention", i, true) ? window : token_count{};
        return l;
    });
    return m;
}

/// Qwen's window is off unless asked for, and then covers the layers from max_window_layers on.
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

inline layer read_qwen2_layer(config_fields& c, std::int64_t hidden, const class_defaults& d = {}) {
    layer l = read_llama_layer(c, hidden, d);
    l.attention.qkv_bias = true;  // always, and no key says so
    l.attention.output_bias = false;
    return l;
}

inline model read_qwen2(config_fields& c) {
    constexpr class_defaults d{.vocabulary = 151936, .width = 22016};
    model m = read_frame(c, false, d);
    const layer l = read_qwen2_layer(c, m.hidden, d);
    read_qwen_layers(c, m, layer_count(c, d), [&](std::int64_t) { return l; });
    return m;
}

inline layer read_qwen3_layer(config_fields& c, std::int64_t hidden, const class_defaults& d = {}) {
    layer l = read_llama_layer(c, hidden, d);
    if (!c.has("head_dim")) l.attention.head_dim = 128;
    l.attention.qk_norm = query_key_norm::shared;
    return l;
}

inline model read_qwen3(config_fields& c) {
    constexpr class_defaults d{.vocabulary = 151936, .width = 22016};
    model m = read_frame(c, false, d);
    const layer l = read_qwen3_layer(c, m.hidden, d);
    read_qwen_layers(c, m, layer_count(c, d), [&](std::int64_t) { return l; });
    return m;
}

inline model read_gemma(config_fields& c) {
    model m = read_frame(c, true);
    layer l = read_llama_layer(c, m.hidden);
    if (!c.has("head_dim")) l.attention.head_dim = 256;
    m.layers.append(static_cast<std::int32_t>(layer_count(c)), l);
    return m;
}

/// Gemma 2 norms the outputs of both halves as well, and every other layer has a window.
inline layer read_gemma2_layer(config_fields& c, std::int64_t hidden, const class_defaults& d) {
    layer l = read_llama_layer(c, hidden, d);
    if (!c.has("head_dim")) l.attention.head_dim = 256;
    l.norm_after_attention = l.norm_after_feed_forward = true;
    return l;
}

inline model read_gemma2(config_fields& c) {
    constexpr class_defaults d{.vocabulary = 256000, .hidden = 2304, .layers = 26, .heads = 8, .width = 9216};
    model m = read_frame(c, true, d);
    layer l = read_gemma2_layer(c, m.hidden, d);
    if (c.nested() && !c.has(kv_heads_field)) l.attention.kv_heads = 4;
    const token_count window = tokens(c.number_or("sliding_window", 4096, 1, most_tokens));
    read_layers(c, m, layer_count(c, d), [&](std::int64_t i) {
        l.attention.window = layer_is(c, "sliding_attention", i, i % 2 == 0) ? window : token_count{};
        return l;
    });
    return m;
}

/// Gemma 3's text model: norms on queries and keys, one global layer in six.
inline model read_gemma3_text(config_fields& c) {
    constexpr class_defaults d{.vocabulary = 262208, .hidden = 2304, .layers = 26, .heads = 8, .width = 9216};
    model m = read_frame(c, true, d);
    layer l = read_gemma2_layer(c, m.hidden, d);
    if (c.nested() && !c.has(kv_heads_field)) l.attention.kv_heads = 4;
    l.attention.qk_norm = query_key_norm::shared;
    const token_count window = tokens(c.number_or("sliding_window", 4096, 1, most_tokens));
    const std::int64_t period = c.number_or({"sliding_window_pattern", "_sliding_window_pattern"}, 6, 1, most_features);
    read_layers(c, m, layer_count(c, d), [&](std::int64_t i) {
        l.attention.window = layer_is(c, "sliding_attention", i, (i + 1) % period != 0) ? window : token_count{};
        return l;
    });
    return m;
}

// ---- routed experts --------------------------------------------------------------------------------------------------

inline constexpr field_names experts_field{"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"};
inline constexpr field_names per_token_field{"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k",
                                             "experts_per_token"};

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

inline model read_mixtral(config_fields& c) {
    model m = read_frame(c, false);
    layer l = read_llama_layer(c, m.hidden, {.width = 14336});
    l.feed_forward.experts = read_experts(c, "intermediate_size");
    l.attention.window = read_window(c);
    m.layers.append(static_cast<std::int32_t>(layer_count(c)), l);
    return m;
}

/// Which of Qwen's layers are routed: not those listed, and of the rest every decoder_sparse_step-th.
inline bool qwen_routed(config_fields& c, std::int64_t i) {
    return !c.lists("mlp_only_layers", i) && (i + 1) % c.number_or("decoder_sparse_step", 1, 1, most_features) == 0;
}

inline model read_qwen2_moe(config_fields& c) {
    model m = read_frame(c, false);
    const layer dense = read_qwen2_layer(c, m.hidden);
    layer routed = dense;
    routed.feed_forward.experts = read_experts(c, "moe_intermediate_size");
    routed.feed_forward.experts.shared_width = feature_count(c, "shared_expert_intermediate_size");
    routed.feed_forward.experts.shared_gate = true;
    read_qwen_layers(c, m, layer_count(c), [&](std::int64_t i) { return qwen_routed(c, i) ? routed : dense; });
    return m;
}

inline model read_qwen3_moe(config_fields& c) {
    model m = read_frame(c, false);
    const layer dense = read_qwen3_layer(c, m.hidden);
    layer routed = dense;
    routed.feed_forward.experts = read_experts(c, "moe_intermediate_size");
    read_qwen_layers(c, m, layer_count(c), [&](std::int64_t i) { return qwen_routed(c, i) ? routed : dense; });
    return m;
}

/// DeepSeek's dense first layers, and the routed rest with shared experts fused into one.
inline void read_deepseek_layers(config_fields& c, model& m, const layer& dense) {
    layer routed = dense;
    experts& e = routed.feed_forward.experts;
    const bool has_experts = c.has(experts_field);
    if (has_experts) {
        e = read_experts(c, "moe_intermediate_size");
        e.shared_width = e.width * c.number_or("n_shared_experts", 0, 0, most_heads);
        e.score_bias = c.text_or("topk_method", "") == "noaux_tc";
    }
    const std::int64_t first = c.number_or("first_k_dense_replace", 0, 0, most_features);
    const std::int64_t step = c.number_or("moe_layer_freq", 1, 1, most_features);
    read_layers(c, m, layer_count(c),
                [&](std::int64_t i) { return has_experts && i >= first && i % step == 0 ? routed : dense; });
}

/// The first DeepSeek MoE: multi-head attention.
inline model read_deepseek(config_fields& c) {
    model m = read_frame(c, false);
    read_deepseek_layers(c, m, read_llama_layer(c, m.hidden));
    return m;
}

/// Multi-head latent attention. The file's num_key_value_heads equals the heads and says nothing about the cache.
inline attention read_latent(config_fields& c) {
    attention a;
    a.kind = attention_kind::latent;
    a.heads = c.number(heads_field, 1, most_heads);
    a.kv_heads = a.heads;
    a.head_dim = c.number("qk_nope_head_dim", 1, most_heads);
    a.rope_dim = c.number("qk_rope_head_dim", 0, most_heads);
    a.value_dim = c.number("v_head_dim", 1, most_heads);
    a.q_rank = c.number_or("q_lora_rank", 0, 0, most_features);
    a.kv_rank = feature_count(c, "kv_lora_rank");
    a.qkv_bias = a.output_bias = c.flag_or("attention_bias", false);
    return a;
}

inline model read_deepseek_latent(config_fields& c) {
    model m = read_frame(c, false);
    layer dense;
    dense.attention = read_latent(c);
    dense.feed_forward.width = feature_count(c, width_field);
    read_deepseek_layers(c, m, dense);
    return m;
}

/// DeepSeek-V3 corrects its routing by a bias unless the file names another method.
inline model read_deepseek_v3(config_fields& c) {
    model m = read_deepseek_latent(c);
    if (!c.has("topk_method"))
        for (layer& l : m.layers.kinds) l.feed_forward.experts.score_bias = l.feed_forward.routed();
    return m;
}

}  // namespace llmres::detail::hf
