// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/experts.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string>
#include <string_view>

/// Recurrent models, and hybrids of recurrences and attention.
namespace llmres::inline v0::detail::hf {

/// Mamba's inner width: as given, or `expand` times the hidden size. (Falcon-Mamba gives both, and uses the width.)
inline std::int64_t read_inner(config_fields& c, std::int64_t hidden) {
    const std::int64_t expand = c.number_or({"expand", "mamba_expand"}, 2, 1, 1024);
    return feature_count(c, {"intermediate_size", "d_inner"}, expand * hidden);
}

/// The rank of the time step's projection; "auto" means a sixteenth of the hidden size.
inline std::int64_t read_step_rank(config_fields& c, std::int64_t hidden) {
    constexpr field_names field{"time_step_rank", "mamba_dt_rank"};
    if (c.holds_text(field) && c.text_or(field, "") == "auto") return ceil_quotient(hidden, 16);
    return feature_count(c, field, ceil_quotient(hidden, 16));
}

inline model read_mamba(config_fields& c) {
    model m = read_frame(c);
    layer l{.attention = no_attention, .feed_forward = no_feed_forward};
    l.norm_before_feed_forward = false;
    l.recurrent = {.kind = recurrent_kind::mamba,
                   .heads = read_inner(c, m.hidden),
                   .head_dim = 1,
                   .state = c.number_or({"state_size", "d_state"}, 16, 1, 65536),
                   .rank = read_step_rank(c, m.hidden),
                   .kernel = c.number_or({"conv_kernel", "d_conv"}, 4, 1, 64),
                   .bias = c.flag_or("use_bias", false),
                   .conv_bias = c.flag_or("use_conv_bias", true)};
    return stack_of(c, m, l);
}
inline model read_mamba2(config_fields& c) {
    model m = read_frame(c);
    const std::int64_t inner = read_inner(c, m.hidden);
    const std::int64_t head_dim = c.number_or("head_dim", 64, 1, 65536);
    layer l{.attention = no_attention, .feed_forward = no_feed_forward};
    l.norm_before_feed_forward = false;
    l.recurrent = {.kind = recurrent_kind::mamba2,
                   .heads = c.number_or("num_heads", inner / head_dim, 1, 65536),
                   .head_dim = head_dim,
                   .key_heads = c.number_or("n_groups", 8, 1, 65536),
                   .state = c.number_or({"state_size", "d_state"}, 128, 1, 65536),
                   .kernel = c.number_or({"conv_kernel", "d_conv"}, 4, 1, 64),
                   .chunk = c.number_or("chunk_size", 256, 1, 65536),
                   .bias = c.flag_or("use_bias", false),
                   .conv_bias = c.flag_or("use_conv_bias", true)};
    if (c.ok() && l.recurrent.inner() != inner)
        c.fail(error_code::inconsistent, "num_heads", "heads that times head_dim make the inner width");
    return stack_of(c, m, l);
}

/// Jamba: Mamba with inner norms; attention in one layer of each period, or where `layers_block_type` says so; experts
/// in another.
inline model read_jamba(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::none);
    l.attention.window = read_window(c);
    // A single expert is a dense feed-forward.
    const experts e = c.number(experts_field, 1, most_heads) > 1 ? read_experts(c, width_field) : experts{};
    const recurrent mamba{.kind = recurrent_kind::mamba,
                          .heads = c.number_or("mamba_expand", 2, 1, 1024) * m.hidden,
                          .head_dim = 1,
                          .state = c.number_or("mamba_d_state", 16, 1, 65536),
                          .rank = read_step_rank(c, m.hidden),
                          .kernel = c.number_or("mamba_d_conv", 4, 1, 64),
                          .bias = c.flag_or("mamba_proj_bias", false),
                          .conv_bias = c.flag_or("mamba_conv_bias", true),
                          .inner_norms = true};
    const std::int64_t attention_period = c.number_or("attn_layer_period", 8, 1, 256);
    const std::int64_t attention_offset = c.number_or("attn_layer_offset", 4, 0, 256);
    const std::int64_t expert_period = c.number_or("expert_layer_period", 2, 1, 256);
    const std::int64_t expert_offset = c.number_or("expert_layer_offset", 1, 0, 256);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        layer made = l;
        const bool attends = c.has("layers_block_type")
                                 ? c.text_at("layers_block_type", static_cast<std::size_t>(i)) == "attention"
                                 : i % attention_period == attention_offset % attention_period;
        if (!attends) {
            made.attention = no_attention;
            made.recurrent = mamba;
        }
        if (i % expert_period == expert_offset % expert_period) made.feed_forward.experts = e;
        return made;
    });
    return m;
}

/// Mamba 2 as hybrid models name its fields. A head width of "auto" means inner width / heads.
inline recurrent read_hybrid_mamba2(config_fields& c, std::int64_t hidden) {
    constexpr field_names head_field{"mamba_head_dim", "mamba_d_head"};
    const std::int64_t heads = c.number({"mamba_num_heads", "mamba_n_heads"}, 1, 65536);
    const std::int64_t shared_out = c.number_or("mamba_expand", 2, 1, 1024) * hidden / heads;
    const bool automatic = !c.has(head_field) || (c.holds_text(head_field) && c.text_or(head_field, "") == "auto");
    return {.kind = recurrent_kind::mamba2,
            .heads = heads,
            .head_dim = automatic ? shared_out : c.number(head_field, 1, 65536),
            .key_heads = c.number_or({"n_groups", "mamba_n_groups"}, 1, 1, 65536),
            .state = c.number({"ssm_state_size", "mamba_d_state"}, 1, 65536),
            .kernel = c.number_or({"conv_kernel", "mamba_d_conv"}, 4, 1, 64),
            .chunk = c.number_or({"chunk_size", "mamba_chunk_size"}, 256, 1, 65536),
            .bias = c.flag_or({"use_bias", "mamba_proj_bias"}, false),
            .conv_bias = c.flag_or({"use_conv_bias", "mamba_conv_bias"}, true)};
}

/// Whether a configuration asks for a recurrence's state in fp32.
inline bool asks_for_fp32_state(config_fields& c, const char* field, const char* usual) {
    return c.text_or(field, usual) == "float32";
}

/// The experts of Nemotron-H's routed layers: without gates; in some models they work on fewer features than the model
/// has.
inline experts read_nemotron_experts(config_fields& c) {
    experts e = read_experts(c, "moe_intermediate_size");
    e.shared_width = c.number_or("moe_shared_expert_intermediate_size", 0, 0, most_features) *
                     c.number_or("n_shared_experts", 1, 0, 1024);
    e.score_bias = true;
    e.latent = c.number_or("moe_latent_size", 0, 0, most_features);
    return e;
}

/// The kinds of Nemotron-H's layers, a letter each: M for Mamba 2, * for attention, - for a dense feed-forward, E for
/// experts. Newer files have a list of words instead; a word of another kind is a question mark.
inline std::string read_layer_letters(config_fields& c, const field_names& pattern, const field_names& words) {
    if (!c.has(words)) {
        const std::string letters{c.text_or(pattern, "")};
        if (letters.empty()) c.fail(error_code::missing, pattern, "the kind of every layer");
        if (c.has(layers_field) && layer_count(c) != static_cast<std::int64_t>(letters.size()) && c.ok())
            c.fail(error_code::inconsistent, pattern, "one letter a layer");
        return letters;
    }
    const nlohmann::json* listed = c.list(words);
    const bool counted = c.has(layers_field) || listed == nullptr;
    const std::int64_t count = counted ? layer_count(c) : static_cast<std::int64_t>(listed->size());
    std::string letters;
    for (std::int64_t i = 0; i < count && c.ok(); ++i) {
        const std::string_view word = c.text_at(words, static_cast<std::size_t>(i));
        letters += word == "mamba" || word == "linear_attention"     ? 'M'
                   : word == "attention" || word == "full_attention" ? '*'
                   : word == "mlp"                                   ? '-'
                   : word == "moe"                                   ? 'E'
                                                                     : '?';
    }
    return letters;
}

/// Nemotron-H: a layer is one mixer or one feed-forward, with one norm.
inline model read_nemotron_h(config_fields& c) {
    constexpr field_names words{"layers_block_type"};
    constexpr field_names pattern{"hybrid_override_pattern"};
    model m = read_frame(c);
    const std::string letters = read_layer_letters(c, pattern, words);
    layer base{.attention = no_attention, .feed_forward = no_feed_forward};
    base.norm_before_feed_forward = false;
    read_layers(c, m, static_cast<std::int64_t>(letters.size()), [&](std::int64_t i) {
        layer l = base;
        switch (letters[static_cast<std::size_t>(i)]) {
            case 'M':
                l.recurrent = read_hybrid_mamba2(c, m.hidden);
                l.recurrent.fp32_state = asks_for_fp32_state(c, "mamba_ssm_cache_dtype", "float32");
                break;
            case '*':
                l.attention = read_heads(c, m.hidden);
                l.attention.qkv_bias = l.attention.output_bias = c.flag_or("attention_bias", false);
                break;
            case '-':
                l.feed_forward = {.kind = feed_forward_kind::plain,
                                  .width = feature_count(c, width_field),
                                  .bias = c.flag_or("mlp_bias", false)};
                break;
            case 'E':
                l.feed_forward = {.kind = feed_forward_kind::plain, .experts = read_nemotron_experts(c)};
                // The shared experts are one dense feed-forward, which may have biases; the routed ones have none.
                if (c.flag_or("mlp_bias", false)) l.more_values = l.feed_forward.experts.shared_width + m.hidden;
                break;
            default:
                c.fail({error_code::unsupported, c.label(c.has(words) ? words : pattern), "an unknown kind of layer",
                        "M, *, - or E; mamba, attention, mlp or moe"});
        }
        return l;
    });
    // The layer of multi-token prediction is attention followed by experts.
    if (c.text_or("mtp_hybrid_override_pattern", "*E") == "*E" && c.has(prediction_field) && c.has(experts_field)) {
        layer block;
        block.attention = read_heads(c, m.hidden);
        block.feed_forward = {.kind = feed_forward_kind::plain, .experts = read_nemotron_experts(c)};
        m.prediction = {
            .layers = static_cast<std::int32_t>(c.number(prediction_field, 0, 64)), .block = block, .norms = 3};
    }
    return m;
}

/// Granite 4: Mamba 2 and attention in the order of `layer_types`; routed experts and a shared expert in each layer.
inline model read_granite_hybrid(config_fields& c) {
    model m = read_frame(c);
    layer base = read_llama_layer(c, m.hidden);
    base.feed_forward.width = feature_count(c, "shared_intermediate_size", base.feed_forward.width);
    if (c.number_or(experts_field, 0, 0, most_heads) > 0) {
        base.feed_forward.experts = read_experts(c, "intermediate_size");
        base.feed_forward.experts.shared_width = base.feed_forward.width;
    }
    constexpr field_names kinds{"layer_types", "layers_block_type"};
    layer mixing = base;
    mixing.attention = no_attention;
    mixing.recurrent = read_hybrid_mamba2(c, m.hidden);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        const std::string_view kind = c.text_at(kinds, static_cast<std::size_t>(i));
        if (kind == "mamba" || kind == "linear_attention") return mixing;
        if (kind != "attention" && kind != "full_attention" && c.ok())
            c.fail({error_code::unsupported, c.label(kinds), kind, "mamba or attention"});
        return base;
    });
    return m;
}

/// Bamba: Mamba 2, but for the layers whose numbers the file lists, which attend.
inline model read_bamba(config_fields& c) {
    constexpr field_names attending{"attn_layer_indices"};
    model m = read_frame(c);
    const layer attends = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    layer mixing = attends;
    mixing.attention = no_attention;
    mixing.recurrent = read_hybrid_mamba2(c, m.hidden);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) { return c.lists(attending, i) ? attends : mixing; });
    return m;
}

// ---- linear attention

/// Qwen3-Next and Qwen3.5: the gated delta rule in three layers of four, attention with an output gate in the fourth;
/// the feed-forwards are dense or routed.
inline model read_qwen3_next_like(config_fields& c, std::int64_t prediction_default) {
    model m = read_frame(c);
    layer full;
    full.attention = read_heads(c, m.hidden);
    full.attention.qkv_bias = full.attention.output_bias = c.flag_or("attention_bias", false);
    full.attention.qk_norm = query_key_norm::shared;
    if (c.flag_or("attn_output_gate", true)) full.attention.gate = output_gate::features;
    const bool routed = c.number_or(experts_field, 0, 0, most_heads) > 0;
    full.feed_forward.width = routed ? feature_count(c, width_field, 0) : feature_count(c, width_field);
    layer linear = full;
    linear.attention = no_attention;
    linear.recurrent = {.kind = recurrent_kind::delta_net,
                        .heads = c.number("linear_num_value_heads", 1, 65536),
                        .head_dim = c.number("linear_value_head_dim", 1, 65536),
                        .key_heads = c.number("linear_num_key_heads", 1, 65536),
                        .state = c.number("linear_key_head_dim", 1, 65536),
                        .kernel = c.number_or("linear_conv_kernel_dim", 4, 1, 64),
                        .fp32_state = asks_for_fp32_state(c, "mamba_ssm_dtype", "auto")};
    const experts e = routed ? read_qwen_experts(c) : experts{};
    for (const char* of_experts : {"moe_intermediate_size", "shared_expert_intermediate_size"}) (void)c.has(of_experts);
    const std::int64_t period = c.number_or("full_attention_interval", 4, 1, 256);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        layer l = layer_is(c, "linear_attention", i, (i + 1) % period != 0) ? linear : full;
        if (routed && qwen_routed(c, i)) l.feed_forward.experts = e;
        return l;
    });
    read_prediction(c, m, prediction_ends{c.flag_or("mtp_use_dedicated_embeddings", false)}, prediction_default);
    m.prediction.block.attention = full.attention;
    m.prediction.block.recurrent = {};
    return m;
}
/// The published files hold one layer of multi-token prediction, and no field says so.
inline model read_qwen3_next(config_fields& c) { return read_qwen3_next_like(c, 1); }
inline model read_qwen3_5(config_fields& c) { return read_qwen3_next_like(c, 0); }

/// MiniMax-01: `attn_type_list` says which layers have lightning attention (0) or softmax attention (1); all have
/// experts.
inline model read_minimax_01(config_fields& c) {
    model m = read_frame(c);
    layer softmax = read_llama_layer(c, m.hidden, bias_fields::none);
    softmax.feed_forward.experts = read_experts(c, "intermediate_size");
    softmax.feed_forward.experts.shared_width = c.number_or("shared_intermediate_size", 0, 0, most_features);
    layer linear = softmax;
    linear.attention = no_attention;
    linear.recurrent = {.kind = recurrent_kind::lightning,
                        .heads = softmax.attention.heads,
                        .head_dim = softmax.attention.head_dim,
                        .state = softmax.attention.head_dim};
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        if (c.has("attn_type_list"))
            return c.number_at("attn_type_list", static_cast<std::size_t>(i), 0, 1) == 1 ? softmax : linear;
        return layer_is(c, "linear_attention", i, i % 2 != 0) ? linear : softmax;
    });
    return m;
}

/// LFM2: short convolutions in most layers, attention with norms of queries and keys in the others. The feed-forward is
/// two thirds as wide as the file says, rounded up.
inline model read_lfm2(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = c.flag_or({"tie_embedding", "tie_word_embeddings"}, true);
    layer full;
    full.attention = read_heads(c, m.hidden);
    full.attention.qk_norm = query_key_norm::shared;
    std::int64_t width = feature_count(c, {"block_ff_dim", "intermediate_size"});
    if (c.flag_or("block_auto_adjust_ff_dim", true)) {
        const std::int64_t multiple = feature_count(c, "block_multiple_of", 256);
        const std::int64_t two_thirds = 2 * width / 3;
        width = static_cast<std::int64_t>(c.real_or("block_ffn_dim_multiplier", 1.0, 0, 64) *
                                          static_cast<double>(two_thirds));
        width = ceil_quotient(width, multiple) * multiple;
    }
    full.feed_forward.width = width;
    experts e;
    const std::int64_t dense = c.number_or("num_dense_layers", 0, 0, 256);
    if (c.has(experts_field)) {
        e = read_experts(c, "moe_intermediate_size");
        e.score_bias = c.flag_or("use_expert_bias", true);
        full.feed_forward.width = feature_count(c, width_field);
    }
    layer conv = full;
    conv.attention = no_attention;
    conv.recurrent = {.kind = recurrent_kind::short_conv,
                      .heads = m.hidden,
                      .head_dim = 1,
                      .kernel = c.number_or("conv_L_cache", 3, 1, 64),
                      .bias = c.flag_or("conv_bias", false),
                      .conv_bias = c.flag_or("conv_bias", false)};
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        const bool convolves =
            c.has("full_attn_idxs") ? !c.lists("full_attn_idxs", i) : !c.has("layer_types") || layer_is(c, "conv", i);
        layer l = convolves ? conv : full;
        if (e.count > 0 && i >= dense) l.feed_forward.experts = e;
        return l;
    });
    return m;
}

/// RWKV 5: time mixing and channel mixing, LayerNorms, a norm after the embedding.
inline model read_rwkv5(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = false;  // the config.json says true, and the files store both
    m.final_norm = norm_kind::layer;
    const std::int64_t inner = feature_count(c, "attention_hidden_size", m.hidden);
    const std::int64_t head_dim = c.number_or({"head_size", "head_dim"}, 64, 1, 65536);
    layer l{.attention = no_attention, .norm = norm_kind::layer};
    l.recurrent = {.kind = recurrent_kind::rwkv, .heads = inner / head_dim, .head_dim = head_dim, .state = head_dim};
    l.feed_forward = {.kind = feed_forward_kind::plain,
                      .width = feature_count(c, width_field, m.hidden * 7 / 2 / 32 * 32)};
    m.add(layer_norm(m.hidden));
    return stack_of(c, m, l);
}

}  // namespace llmres::inline v0::detail::hf
