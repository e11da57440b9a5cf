// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// DeepSeek's models, and the models it distilled into.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model deepseek_llm_7b{
    .name = "deepseek-llm-7b", .architecture = "llama",
    .vocabulary = 102400, .hidden = 4096,
    .layers = {30, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(4096), .weights = bf16};

inline constexpr model deepseek_llm_67b{
    .name = "deepseek-llm-67b", .architecture = "llama",
    .vocabulary = 102400, .hidden = 8192,
    .layers = {95, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 22016}}},
    .max_context = tokens(4096), .weights = bf16};

inline constexpr model deepseek_moe_16b{
    .name = "deepseek-moe-16b", .architecture = "deepseek",
    .vocabulary = 102400, .hidden = 2048,
    .layers = layer_stack{}
        .then(1, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128},
                  .feed_forward = {.width = 10944}})
        .then(27, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128},
                   .feed_forward = {.width = 10944, .experts = {.count = 64, .per_token = 6, .width = 1408,
                                                                .shared_width = 2816}}}),
    .max_context = tokens(4096), .weights = bf16,
    .published = parameters(16'375'728'128)};

inline constexpr model deepseek_v2_lite{
    .name = "deepseek-v2-lite", .architecture = "deepseek_v2",
    .vocabulary = 102400, .hidden = 2048,
    .layers = layer_stack{}
        .then(1, {.attention = {.kind = attention_kind::latent, .heads = 16, .kv_heads = 16, .head_dim = 128,
                                .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                  .feed_forward = {.width = 10944}})
        .then(26, {.attention = {.kind = attention_kind::latent, .heads = 16, .kv_heads = 16, .head_dim = 128,
                                 .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                   .feed_forward = {.width = 10944, .experts = {.count = 64, .per_token = 6, .width = 1408,
                                                                .shared_width = 2816}}}),
    .max_context = tokens(163840), .weights = bf16};

inline constexpr model deepseek_v2{
    .name = "deepseek-v2", .architecture = "deepseek_v2",
    .vocabulary = 102400, .hidden = 5120,
    .layers = layer_stack{}
        .then(1, {.attention = {.kind = attention_kind::latent, .heads = 128, .kv_heads = 128, .head_dim = 128,
                                .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                  .feed_forward = {.width = 12288}})
        .then(59, {.attention = {.kind = attention_kind::latent, .heads = 128, .kv_heads = 128, .head_dim = 128,
                                 .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                   .feed_forward = {.width = 12288, .experts = {.count = 160, .per_token = 6, .width = 1536,
                                                                .shared_width = 3072}}}),
    .max_context = tokens(163840), .weights = bf16,
    .published = parameters(235'741'434'880)};

/// Without the layer that predicts one token further: 684,489,845,504 with it.
inline constexpr model deepseek_v3{
    .name = "deepseek-v3", .architecture = "deepseek_v3",
    .vocabulary = 129280, .hidden = 7168,
    .layers = layer_stack{}
        .then(3, {.attention = {.kind = attention_kind::latent, .heads = 128, .kv_heads = 128, .head_dim = 128,
                                .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                  .feed_forward = {.width = 18432}})
        .then(58, {.attention = {.kind = attention_kind::latent, .heads = 128, .kv_heads = 128, .head_dim = 128,
                                 .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                   .feed_forward = {.width = 18432, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                                .shared_width = 2048, .score_bias = true}}}),
    .max_context = tokens(163840), .weights = fp8_block,
    .published = parameters(671'026'419'200),
    .prediction = {.layers = 1,
                   .block = {.attention = {.kind = attention_kind::latent, .heads = 128, .kv_heads = 128,
                                           .head_dim = 128, .q_rank = 1536, .kv_rank = 512, .rope_dim = 64,
                                            .value_dim = 128},
                             .feed_forward = {.width = 18432, .experts = {.count = 256, .per_token = 8,
                                                                          .width = 2048, .shared_width = 2048,
                                                                           .score_bias = true}}},
                   .norms = 3, .own_embedding = true, .own_head = true}};

inline constexpr model deepseek_r1 = renamed(deepseek_v3, "deepseek-r1");

inline constexpr model r1_distill_qwen_1_5b{
    .name = "deepseek-r1-distill-qwen-1.5b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 1536,
    .layers = {28, {.attention = {.heads = 12, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 8960}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model r1_distill_qwen_7b{
    .name = "deepseek-r1-distill-qwen-7b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model r1_distill_qwen_14b{
    .name = "deepseek-r1-distill-qwen-14b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 5120,
    .layers = {48, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model r1_distill_qwen_32b{
    .name = "deepseek-r1-distill-qwen-32b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 27648}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model r1_distill_llama_8b{
    .name = "deepseek-r1-distill-llama-8b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16};

inline constexpr model r1_distill_llama_70b{
    .name = "deepseek-r1-distill-llama-70b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 28672}}},
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16};

/// All of them.
inline constexpr std::array all_deepseek{
    &deepseek_llm_7b, &deepseek_llm_67b, &deepseek_moe_16b, &deepseek_v2_lite, &deepseek_v2, &deepseek_v3,
    &deepseek_r1, &r1_distill_qwen_1_5b, &r1_distill_qwen_7b, &r1_distill_qwen_14b, &r1_distill_qwen_32b,
    &r1_distill_llama_8b, &r1_distill_llama_70b};

}  // namespace llmres::inline v0::models

// clang-format on
