// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/hf/common.hpp>
#include <llmres/io/hf/dense.hpp>
#include <llmres/io/hf/experts.hpp>
#include <llmres/io/hf/hybrid.hpp>
#include <llmres/io/hf/latent.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/models/model.hpp>
#include <string_view>

/// Decoders of 2025 and 2026 that mix what earlier families have: windows, gates, sinks, routed experts, hybrids. From
/// transformers 5.17, src/transformers/models/*/modeling_*.py.
namespace llmres::inline v0::detail::hf {

/// Whether layer i is routed: `mlp_layer_types` says sparse or dense, or the family's own rule, which is all layers if
/// none is given.
inline bool is_sparse(config_fields& c, std::int64_t i, bool by_rule = true) {
    if (!c.has("mlp_layer_types")) return by_rule;
    const std::string_view kind = c.text_at("mlp_layer_types", static_cast<std::size_t>(i));
    if (kind == "sparse" || kind == "moe") return true;
    if (kind != "dense" && c.ok())
        c.fail({error_code::unsupported, c.label("mlp_layer_types"), kind, "dense or sparse"});
    return false;
}

/// The layers in order, each dense or routed, with a window where `layer_types` or the family's period says so.
template <class Windowed>
void read_mixed_layers(config_fields& c, model& m, const layer& dense, const experts& e, std::int64_t first_sparse,
                       Windowed windowed) {
    const token_count window = read_window(c);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        layer l = dense;
        if (e.count > 0 && is_sparse(c, i, i >= first_sparse)) l.feed_forward.experts = e;
        if (layer_is(c, "sliding_attention", i, windowed(i))) l.attention.window = window;
        return l;
    });
}

/// Windows in all layers but every `period`th.
inline auto every(std::int64_t period) {
    return [=](std::int64_t i) { return (i + 1) % period != 0; };
}
inline bool nowhere(std::int64_t) { return false; }

/// AFMoE (Arcee Trinity): norms before and after both halves, norms of queries and keys, a gate on attention's output.
inline model read_afmoe(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.attention.qk_norm = query_key_norm::shared;
    l.attention.gate = output_gate::unbiased_features;
    l.norm_after_attention = l.norm_after_feed_forward = true;
    const experts e = read_shared_experts(c, 2);
    const std::int64_t period = feature_count(c, "global_attn_every_n_layers", 4);
    read_mixed_layers(c, m, l, e, c.number_or("num_dense_layers", 1, 0, most_features), every(period));
    return m;
}

/// Aria's text model: llama with routed experts as wide as its feed-forward, and shared ones.
inline model read_aria_text(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    experts& e = l.feed_forward.experts;
    e = read_experts(c, "intermediate_size");
    e.shared_width = e.width * c.number_or("moe_num_shared_experts", 2, 0, most_heads);
    return stack_of(c, m, l);
}

/// A.X K1: DeepSeek-V3, with a norm after the routed feed-forwards.
inline model read_axk1(config_fields& c) {
    model m = read_deepseek_v3(c);
    for (layer& l : m.layers.kinds) l.norm_after_feed_forward = l.feed_forward.routed();
    return m;
}

/// Mistral 4: DeepSeek-V3's layout, routed without corrections.
inline model read_mistral4(config_fields& c) {
    model m = read_frame(c);
    read_deepseek_layers(c, m, read_latent_layer(c), score_bias::none);
    return m;
}

/// Command A's mixture of experts: attention and experts side by side after one LayerNorm.
inline model read_cohere2_moe(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden);
    l.norm = m.final_norm = norm_kind::layer_without_bias;
    l.norm_before_feed_forward = false;
    experts e = read_experts(c, "intermediate_size");
    e.shared_width = e.width * c.number_or("num_shared_experts", 0, 0, most_heads);
    l.feed_forward.width = feature_count(c, "prefix_dense_intermediate_size", l.feed_forward.width);
    const std::int64_t period = window_period(c, 4);
    read_mixed_layers(c, m, l, e, c.number_or("first_k_dense_replace", 0, 0, most_features), every(period));
    return m;
}

/// Laguna: Qwen 3's attention with a gate for each head, or for each feature; heads may differ from layer to layer.
inline model read_laguna(config_fields& c) {
    constexpr field_names heads_of_layers{"num_attention_heads_per_layer"};
    constexpr field_names gating{"gating"};
    model m = read_frame(c);
    layer base = read_qwen3_layer(c, m.hidden);
    const bool by_feature = c.holds_text(gating) ? c.text_or(gating, "") != "per-head" : !c.flag_or(gating, true);
    base.attention.gate = by_feature ? output_gate::unbiased_features : output_gate::heads;
    experts e = read_experts(c, "moe_intermediate_size");
    e.shared_width = c.number_or("shared_expert_intermediate_size", 0, 0, most_features);
    e.score_bias = true;
    read_mixed_layers(c, m, base, e, 1, nowhere);
    if (!c.holds_list(heads_of_layers)) return m;
    change_layers(c, m, [&](std::int64_t i, layer& l) {
        l.attention.heads = c.number_at(heads_of_layers, static_cast<std::size_t>(i), 1, most_heads);
    });
    return m;
}

/// MiniMax-M3: norms of queries and keys, and in layers with sparse attention an indexer of heads with norms of its
/// own, one key for all of them.
inline model read_minimax_m3(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_qwen3_layer(c, m.hidden);
    if (c.text_or("qk_norm_type", "per_head") != "per_head")
        c.fail(error_code::unsupported, "qk_norm_type", "per_head");
    // The published files hold no layer of multi-token prediction, whatever these say; moe_intermediate_size repeats
    // intermediate_size.
    for (const char* aside : {"num_nextn_predict_layers", "num_mtp_modules", "moe_intermediate_size", "use_qk_norm"})
        (void)c.has(aside);
    experts e = read_experts(c, "intermediate_size");
    e.shared_width = c.number_or("shared_intermediate_size", 0, 0, most_features) *
                     c.number_or("n_shared_experts", 1, 0, most_heads);
    e.score_bias = true;
    dense.feed_forward.width = feature_count(c, "dense_intermediate_size", dense.feed_forward.width);
    nested_fields s{c, "sparse_attention_config"};
    const std::int64_t heads =
        s.number_or("sparse_num_index_heads", c.number_or("index_n_heads", 4, 1, most_heads), 1, most_heads);
    const std::int64_t width =
        s.number_or("sparse_index_dim", c.number_or("index_head_dim", 128, 1, most_heads), 1, most_heads);
    const std::int64_t blocks =
        s.number_or("sparse_topk_blocks", c.number_or("index_topk_blocks", 16, 1, most_heads), 1, most_heads);
    const std::int64_t block =
        s.number_or("sparse_block_size", c.number_or("index_block_size", 128, 1, most_heads), 1, most_heads);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        layer l = dense;
        const auto at = static_cast<std::size_t>(i);
        const bool sparse =
            c.holds_list("moe_layer_freq") ? c.number_at("moe_layer_freq", at, 0, 1) == 1 : is_sparse(c, i);
        if (sparse) l.feed_forward.experts = e;
        const bool indexed = s.holds_list("sparse_attention_freq") ? s.number_at("sparse_attention_freq", at, 0, 1) == 1
                                                                   : layer_is(c, "minimax_m3_sparse", i);
        if (indexed)
            l.attention.indexer = {.heads = heads,
                                   .head_dim = width,
                                   .selected = tokens(blocks * block),
                                   .weighed = false,
                                   .quantised = false};
        return l;
    });
    return m;
}

/// Solar Open: GLM-4.5's layout, routed in all layers, without biases.
inline model read_solar_open(config_fields& c) {
    model m = read_frame(c);
    layer l;
    l.attention = read_heads(c, m.hidden);
    l.attention.qkv_bias = c.flag_or("attention_bias", false);
    l.feed_forward.width = c.number_or(width_field, 0, 0, most_features);
    read_deepseek_layers(c, m, l, score_bias::added);
    return m;
}

/// Muse Glimmer's text model: Gemma 2's norms, a gate on attention's output, windows in three layers of four, counted
/// from the last, which sees the whole context.
inline model read_muse_text(config_fields& c) {
    model m = read_frame(c);
    layer l = read_gemma2_layer(c, m.hidden);
    l.attention.gate = output_gate::unbiased_features;
    return windowed_stack_of(c, m, l, 4, whole_context::last_from_end);
}

/// OLMo Hybrid: OLMo 2's attention in some layers, the gated delta rule in the others.
inline model read_olmo_hybrid(config_fields& c) {
    model m = read_frame(c);
    layer full = read_llama_layer(c, m.hidden);
    layer linear = full;
    full.attention.qk_norm = query_key_norm::full;
    full.norm_before_attention = full.norm_before_feed_forward = false;
    full.norm_after_attention = full.norm_after_feed_forward = true;
    linear.attention = no_attention;
    linear.recurrent = {.kind = recurrent_kind::delta_net,
                        .heads = c.number_or("linear_num_value_heads", full.attention.heads, 1, 65536),
                        .head_dim = c.number("linear_value_head_dim", 1, 65536),
                        .key_heads = c.number_or("linear_num_key_heads", full.attention.heads, 1, 65536),
                        .state = c.number("linear_key_head_dim", 1, 65536),
                        .kernel = c.number_or("linear_conv_kernel_dim", 4, 1, 64)};
    read_layers(c, m, layer_count(c),
                [&](std::int64_t i) { return layer_is(c, "linear_attention", i, (i + 1) % 4 != 0) ? linear : full; });
    return m;
}

/// Falcon H1: attention and Mamba 2 side by side in every layer.
inline model read_falcon_h1(config_fields& c) {
    model m = read_frame(c);
    layer l = read_llama_layer(c, m.hidden, bias_fields::attention_and_mlp);
    l.recurrent = read_hybrid_mamba2(c, m.hidden);
    const std::int64_t inner = feature_count(c, "mamba_d_ssm", l.recurrent.inner());
    if (c.ok() && l.recurrent.inner() != inner)
        c.fail(error_code::inconsistent, "mamba_d_ssm", "mamba_n_heads times mamba_d_head");
    l.recurrent.output_norm = c.flag_or("mamba_rms_norm", false);
    return stack_of(c, m, l);
}

/// Kimi delta attention (arXiv 2510.26692): the delta rule with a decay for each key feature; decay and output gate
/// are projected through `rank` features. `heads` are heads of keys and of values.
inline recurrent read_kimi_delta(config_fields& c) {
    nested_fields a{c, "linear_attn_config"};
    const std::int64_t heads =
        a.given() ? a.number("num_heads", 1, most_heads) : c.number("linear_num_heads", 1, most_heads);
    const std::int64_t width =
        a.given() ? a.number("head_dim", 1, most_heads) : c.number("linear_head_dim", 1, most_heads);
    const std::int64_t kernel =
        a.given() ? a.number_or("short_conv_kernel_size", 4, 1, 64) : c.number_or("linear_conv_kernel_dim", 4, 1, 64);
    return {.kind = recurrent_kind::delta_net,
            .heads = heads,
            .head_dim = width,
            .key_heads = heads,
            .state = width,
            .rank = width,
            .kernel = kernel,
            .whole_gate = a.flag_or("use_full_rank_gate", false),
            .fp32_state = true};
}

/// The parts of Kimi-K3's layers beyond Kimi Linear: experts in a narrower stream with a norm, and layers that read the
/// streams of the blocks before them, by two norms and two vectors.
inline void read_kimi_k3_layer(config_fields& c, const model& m, layer& l) {
    if (l.feed_forward.routed()) {
        l.feed_forward.experts.latent = c.number_or("routed_expert_hidden_size", 0, 0, most_features);
        if (c.flag_or("latent_moe_use_norm", false)) l.more_values += l.feed_forward.experts.latent;
    }
    const std::int64_t block = c.number_or("attn_res_block_size", 0, 0, layer_stack::max_layers);
    if (block == 0) return;
    l.more_norms = 2;
    l.more_values += 2 * m.hidden;
    l.streams = static_cast<std::int32_t>(2 + detail::ceil_quotient(layer_count(c), block));
}

/// Kimi Linear: latent attention in some layers (`full_attn_layers`, numbered from 1, or `layer_types`), delta
/// attention in the others; DeepSeek's experts.
inline model read_kimi_linear(config_fields& c) {
    model m = read_frame(c);
    m.max_context = tokens(c.number_or("model_max_length", m.max_context.in(tokens), 0, most_tokens));
    const layer dense = read_latent_layer(c);
    read_deepseek_layers(c, m, dense, score_bias::added);
    const recurrent delta = read_kimi_delta(c);
    nested_fields listed{c, "linear_attn_config"};
    change_layers(c, m, [&](std::int64_t i, layer& l) {
        const bool full = listed.given() ? listed.lists("full_attn_layers", i + 1)
                                         : !layer_is(c, "linear_attention", i, i == 0 || i % 4 != 0);
        if (!full) {
            l.attention = no_attention;
            l.recurrent = delta;
            // Kimi-K3 stores a decay for each of 128 heads, whatever their number.
            if (delta.whole_gate && delta.heads < 128) l.more_values += 128 - delta.heads;
        } else if (c.flag_or("mla_use_output_gate", false)) {
            l.attention.gate = output_gate::unbiased_features;
        }
        read_kimi_k3_layer(c, m, l);
    });
    if (c.number_or("attn_res_block_size", 0, 0, layer_stack::max_layers) > 0)
        for (const weight_role role : {weight_role::norm, weight_role::values})
            m.add({.role = role, .part = model_part::output, .columns = m.hidden});
    return m;
}

/// Hunyuan 4: GLM-5's attention with a gate on its output and sinks; four residual streams.
inline model read_hy_v4(config_fields& c) {
    model m = read_glm_moe_dsa(c);
    const std::int64_t streams = c.number_or("hc_mult", 4, 1, 64);
    for (layer& l : m.layers.kinds) {
        if (l.attention.heads == 0) continue;
        l.attention.gate = output_gate::unbiased_features;
        l.attention.sinks = true;
        l.streams = static_cast<std::int32_t>(streams);
        l.mixes = stream_mix::ends;
    }
    m.add({.role = weight_role::values, .part = model_part::output, .columns = joining_weights(m.hidden, streams)});
    return m;
}

/// A.X K2: sparse latent attention. One matrix makes queries and a gate on attention's output from two compressed
/// queries together; it is described as queries of twice that rank, and the rest of its values, so that all products
/// of a layer sum to what they are. Norms have a low-rank gate; dense feed-forwards a plain norm.
inline model read_axk2(config_fields& c) {
    model m = read_frame(c);
    layer dense = read_latent_layer(c);
    attention& a = dense.attention;
    a.indexer = {.heads = c.number("index_n_heads", 1, most_heads),
                 .head_dim = c.number("index_head_dim", 1, most_heads),
                 .selected = tokens(c.number_or("index_topk", 0, 0, most_tokens))};
    const std::int64_t rank = a.q_rank, gated = 2 * feature_count(c, "gated_norm_rank") * m.hidden;
    a.q_rank = 2 * rank;
    const std::int64_t gate = 2 * rank * a.heads * a.value_width();
    const std::int64_t twice = rank * (m.hidden + 1 + a.indexer.heads * a.indexer.head_dim + (a.qkv_bias ? 1 : 0));
    if (c.ok() && gate + gated < twice) c.fail(error_code::unsupported, "q_lora_rank", "a narrower compressed query");
    dense.more_values = gate + gated - twice;
    layer routed = dense;
    routed.feed_forward.experts = read_shared_experts(c, 1);
    routed.more_values += gated;
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        (void)layer_is(c, "deepseek_sparse_attention", i);
        return is_sparse(c, i, i > 0) ? routed : dense;
    });
    return m;
}

/// Zaya: grouped attention after convolutions over queries and keys; a router of three layers whose last choice
/// computes nothing; scales and biases of both residuals.
inline model read_zaya(config_fields& c) {
    model m = read_frame(c);
    layer l;
    l.attention = read_heads(c, m.hidden);
    l.attention.qkv_bias = l.attention.output_bias = c.flag_or("attention_bias", false);
    const std::int64_t heads = l.attention.heads + l.attention.kv_heads;
    l.recurrent = {.kind = recurrent_kind::convolution,
                   .heads = heads * l.attention.head_dim,
                   .head_dim = 1,
                   .kernel = c.number_or("cca_time0", 2, 1, 64),
                   .conv_bias = true};
    const std::int64_t channels = l.recurrent.heads;
    const std::int64_t grouped = channels * (l.attention.head_dim * c.number_or("cca_time1", 2, 1, 64) + 1);
    experts& e = l.feed_forward.experts;
    e = read_experts(c, "moe_intermediate_size");
    e.score_bias = true;
    e.idle = 1;
    const std::int64_t router = feature_count(c, "router_hidden_size", 256);
    const std::int64_t choices = e.count + e.idle;
    const std::int64_t three_layers =
        router * (m.hidden + 1) + router + 2 * router * (router + 1) + choices * router - choices * m.hidden;
    if (c.ok() && three_layers < 0) c.fail(error_code::unsupported, "router_hidden_size", "a wider router");
    l.more_values = grouped + l.attention.kv_heads + three_layers + 8 * m.hidden;
    m.add({.role = weight_role::values, .columns = 2 * m.hidden});
    m.tied_head = c.flag_or("tie_word_embeddings", true);
    const token_count window = read_window(c);
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        layer made = l;
        if (i > 0) made.more_values += router;
        const bool windowed = c.has("layer_types") && c.text_at("layer_types", static_cast<std::size_t>(i)) != "hybrid";
        if (windowed) made.attention.window = window;
        return made;
    });
    return m;
}

/// Inkling's text model: windows in most layers, which have KV heads of their own number; biases by distance from a
/// projection of their own; convolutions over keys, values and the outputs of both halves.
inline model read_inkling_text(config_fields& c) {
    model m = read_frame(c);
    m.tied_head = false;
    layer global;
    global.attention = read_heads(c, m.hidden);
    global.attention.qk_norm = query_key_norm::shared;
    layer local = global;
    local.attention.heads = c.number_or("swa_num_attention_heads", global.attention.heads, 1, most_heads);
    local.attention.kv_heads = c.number_or("swa_num_key_value_heads", 16, 1, most_heads);
    local.attention.head_dim = c.number_or("swa_head_dim", global.attention.head_dim, 1, most_heads);
    local.attention.window = tokens(c.number_or({"sliding_window_size", "sliding_window"}, 512, 0, most_tokens));
    const std::int64_t distance = feature_count(c, "d_rel", 16);
    const std::int64_t extent = feature_count(c, "rel_extent", 1024);
    const std::int64_t kernel = c.number_or("conv_kernel_size", 4, 1, 64);
    const std::int64_t dense_width = feature_count(c, width_field);
    experts e = read_shared_experts(c, 2);
    const std::int64_t shared = c.number_or("n_shared_experts", 2, 0, most_heads);
    m.add({.role = weight_role::norm, .columns = m.hidden});
    read_layers(c, m, layer_count(c), [&](std::int64_t i) {
        const bool windowed = c.has("layer_types")
                                  ? c.text_at("layer_types", static_cast<std::size_t>(i)) == "hybrid_sliding"
                                  : (i + 1) % 6 != 0;
        layer l = windowed ? local : global;
        const attention& a = l.attention;
        l.recurrent = {.kind = recurrent_kind::convolution,
                       .heads = 2 * (a.kv_heads * a.head_dim + m.hidden),
                       .head_dim = 1,
                       .kernel = kernel};
        l.more_values = a.heads * distance * m.hidden +
                        distance * (a.window > token_count{} ? a.window.in(tokens) : extent) + 1;  // and a scale
        l.feed_forward.width = dense_width;
        if (is_sparse(c, i)) {
            l.feed_forward.experts = e;
            l.more_values += shared * m.hidden;  // the router's rows of shared experts
        }
        return l;
    });
    return m;
}

}  // namespace llmres::inline v0::detail::hf
