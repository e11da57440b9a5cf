// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// The GLM models of Zhipu AI (Z.ai), and Moonshot's Kimi.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

/// Version 1.0; 1.1 has 130,528 rows in its embedding.
inline constexpr model chatglm_6b{
    .name = "chatglm-6b", .architecture = "chatglm",
    .vocabulary = 150528, .hidden = 4096,
    .layers = {28, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .rope_dim = 64, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(6'255'206'400)};

inline constexpr model glm_4_9b{
    .name = "glm-4-9b", .architecture = "chatglm",
    .vocabulary = 151552, .hidden = 4096,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 2, .head_dim = 128, .rope_dim = 64, .qkv_bias = true},
                    .feed_forward = {.width = 13696}}},
    .max_context = tokens(131072), .weights = bf16,
    .published = parameters(9'399'951'360)};

namespace detail {

/// GLM-4-9B behind EVA2-CLIP-E, whose 63 layers have 4.4 billion parameters.
constexpr model glm_4v() {
    model m = glm_4_9b;
    m.name = "glm-4v-9b";
    m.published = {};
    m.max_context = tokens(8192);
    m.encoders[0] = {.hidden = 1792, .layers = 63};
    m.encoders[0].block.attention = {.heads = 16, .kv_heads = 16, .head_dim = 112, .qkv_bias = true};
    m.encoders[0].block.feed_forward = {.kind = feed_forward_kind::plain, .width = 15360, .bias = true};
    return m;
}

}  // namespace detail

inline constexpr model glm_4v_9b = detail::glm_4v();

/// The Hub gives 358,337,791,296 with the layer that predicts one token further.
inline constexpr model glm_4_5{
    .name = "glm-4.5", .architecture = "glm4_moe",
    .vocabulary = 151552, .hidden = 5120,
    .layers = layer_stack{}
        .then(3, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .rope_dim = 64, .qkv_bias = true,
                                .qk_norm = query_key_norm::shared},
                  .feed_forward = {.width = 12288}})
        .then(89, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .rope_dim = 64, .qkv_bias = true,
                                 .qk_norm = query_key_norm::shared},
                   .feed_forward = {.width = 12288, .experts = {.count = 160, .per_token = 8, .width = 1536,
                                                                .shared_width = 1536, .score_bias = true}}}),
    .max_context = tokens(131072), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .rope_dim = 64,
                                           .qkv_bias = true, .qk_norm = query_key_norm::shared},
                             .feed_forward = {.width = 12288, .experts = {.count = 160, .per_token = 8,
                                                                          .width = 1536, .shared_width = 1536,
                                                                           .score_bias = true}}},
                   .norms = 3, .own_embedding = true, .own_head = true}};

inline constexpr model glm_4_5_air{
    .name = "glm-4.5-air", .architecture = "glm4_moe",
    .vocabulary = 151552, .hidden = 4096,
    .layers = layer_stack{}
        .then(1, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .rope_dim = 64, .qkv_bias = true},
                  .feed_forward = {.width = 10944}})
        .then(45, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .rope_dim = 64, .qkv_bias = true},
                   .feed_forward = {.width = 10944, .experts = {.count = 128, .per_token = 8, .width = 1408,
                                                                .shared_width = 1408, .score_bias = true}}}),
    .max_context = tokens(131072), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .rope_dim = 64,
                                           .qkv_bias = true},
                             .feed_forward = {.width = 10944, .experts = {.count = 128, .per_token = 8,
                                                                          .width = 1408, .shared_width = 1408,
                                                                           .score_bias = true}}},
                   .norms = 3, .own_embedding = true, .own_head = true}};

/// The Hub gives 753,864,139,008 with the layer that predicts one token further.
inline constexpr model glm_5{
    .name = "glm-5", .architecture = "glm_moe_dsa",
    .vocabulary = 154880, .hidden = 6144,
    .layers = layer_stack{}
        .then(3, {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 192,
                                .q_rank = 2048, .kv_rank = 512, .rope_dim = 64, .value_dim = 256,
                                 .indexer = {.heads = 32, .head_dim = 128, .selected = tokens(2048)}},
                  .feed_forward = {.width = 12288}})
        .then(75, {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 192,
                                 .q_rank = 2048, .kv_rank = 512, .rope_dim = 64, .value_dim = 256,
                                  .indexer = {.heads = 32, .head_dim = 128, .selected = tokens(2048)}},
                   .feed_forward = {.width = 12288, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                                .shared_width = 2048, .score_bias = true}}}),
    .max_context = tokens(202752), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64,
                                           .head_dim = 192, .q_rank = 2048, .kv_rank = 512, .rope_dim = 64,
                                            .value_dim = 256, .indexer = {.heads = 32, .head_dim = 128,
                                                                          .selected = tokens(2048)}},
                             .feed_forward = {.width = 12288, .experts = {.count = 256, .per_token = 8,
                                                                          .width = 2048, .shared_width = 2048,
                                                                           .score_bias = true}}},
                   .norms = 3}};

/// The Hub gives 753,329,940,480 with the layer that predicts one token further.
inline constexpr model glm_5_2{
    .name = "glm-5.2", .architecture = "glm_moe_dsa",
    .vocabulary = 154880, .hidden = 6144,
    .layers = in_order("aaabbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbbcbbb", {
        layer{.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 192,
                            .q_rank = 2048, .kv_rank = 512, .rope_dim = 64, .value_dim = 256,
                             .indexer = {.heads = 32, .head_dim = 128, .selected = tokens(2048)}},
              .feed_forward = {.width = 12288}},
        layer{.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 192,
                            .q_rank = 2048, .kv_rank = 512, .rope_dim = 64, .value_dim = 256},
              .feed_forward = {.width = 12288, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                           .shared_width = 2048, .score_bias = true}}},
        layer{.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 192,
                            .q_rank = 2048, .kv_rank = 512, .rope_dim = 64, .value_dim = 256,
                             .indexer = {.heads = 32, .head_dim = 128, .selected = tokens(2048)}},
              .feed_forward = {.width = 12288, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                           .shared_width = 2048, .score_bias = true}}}}),
    .max_context = tokens(1048576), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64,
                                           .head_dim = 192, .q_rank = 2048, .kv_rank = 512, .rope_dim = 64,
                                            .value_dim = 256, .indexer = {.heads = 32, .head_dim = 128,
                                                                          .selected = tokens(2048)}},
                             .feed_forward = {.width = 12288, .experts = {.count = 256, .per_token = 8,
                                                                          .width = 2048, .shared_width = 2048,
                                                                           .score_bias = true}}},
                   .norms = 3}};

inline constexpr model kimi_k2{
    .name = "kimi-k2", .architecture = "kimi_k2",
    .vocabulary = 163840, .hidden = 7168,
    .layers = layer_stack{}
        .then(1, {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 128,
                                .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                  .feed_forward = {.width = 18432}})
        .then(60, {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 128,
                                 .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
                   .feed_forward = {.width = 18432, .experts = {.count = 384, .per_token = 8, .width = 2048,
                                                                .shared_width = 2048, .score_bias = true}}}),
    .max_context = tokens(131072), .weights = fp8_block};

/// All of them.
inline constexpr std::array all_glm{
    &chatglm_6b, &glm_4_9b, &glm_4v_9b, &glm_4_5, &glm_4_5_air, &glm_5, &glm_5_2, &kimi_k2};

}  // namespace llmres::inline v0::models

// clang-format on
