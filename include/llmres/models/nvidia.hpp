// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// NVIDIA's Nemotron models.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model nemotron_4_340b{
    .name = "nemotron-4-340b", .architecture = "nemotron",
    .vocabulary = 256000, .hidden = 18432,
    .layers = {96, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 192, .rope_dim = 96},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 73728},
                    .norm = norm_kind::layer}},
    .final_norm = norm_kind::layer, .weights = bf16};

inline constexpr model nemotron_h_8b{
    .name = "nemotron-h-8b", .architecture = "nemotron_h",
    .vocabulary = 131072, .hidden = 4096,
    .layers = in_order("abababacbababababacbababababacbababababacbababababab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba2, .heads = 128, .head_dim = 64, .key_heads = 8,
                            .state = 128, .kernel = 4, .chunk = 128, .conv_bias = true, .fp32_state = true},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false},
        layer{.attention = no_attention,
              .feed_forward = {.kind = feed_forward_kind::plain, .width = 21504},
              .norm_before_feed_forward = false},
        layer{.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false}}),
    .weights = bf16};

inline constexpr model nemotron_nano_9b_v2{
    .name = "nemotron-nano-9b-v2", .architecture = "nemotron_h",
    .vocabulary = 131072, .hidden = 4480,
    .layers = in_order("abababaabababacbababacbabababacbabababacbabaabababababab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba2, .heads = 128, .head_dim = 80, .key_heads = 8,
                            .state = 128, .kernel = 4, .chunk = 128, .conv_bias = true, .fp32_state = true},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false},
        layer{.attention = no_attention,
              .feed_forward = {.kind = feed_forward_kind::plain, .width = 15680},
              .norm_before_feed_forward = false},
        layer{.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false}}),
    .weights = bf16,
    .published = parameters(8'888'227'328)};

/// The Hub gives 123,611,012,096 with the layers that predict one token further and without score corrections.
inline constexpr model nemotron_3_super_120b_a12b{
    .name = "nemotron-3-super-120b-a12b", .architecture = "nemotron_h",
    .vocabulary = 131072, .hidden = 4096,
    .layers = in_order("abababacbabababacbabababacbababababacbababababacbababababacbababababacbabababacbabababab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba2, .heads = 128, .head_dim = 64, .key_heads = 8,
                            .state = 128, .kernel = 4, .chunk = 128, .conv_bias = true, .fp32_state = true},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false},
        layer{.attention = no_attention,
              .feed_forward = {.kind = feed_forward_kind::plain, .experts = {.count = 512, .per_token = 22,
                                                                             .width = 2688, .shared_width = 5376,
                                                                              .score_bias = true, .latent = 1024}},
              .norm_before_feed_forward = false},
        layer{.attention = {.heads = 32, .kv_heads = 2, .head_dim = 128},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false}}),
    .max_context = tokens(262144), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 32, .kv_heads = 2, .head_dim = 128},
                             .feed_forward = {.kind = feed_forward_kind::plain, .experts = {.count = 512,
                                                                                            .per_token = 22,
                                                                                             .width = 2688,
                                                                                              .shared_width = 5376,
                                                                                               .score_bias = true,
                                                                                                .latent = 1024}}},
                   .norms = 3}};

inline constexpr model nemotron_3_ultra_550b_a55b{
    .name = "nemotron-3-ultra-550b-a55b", .architecture = "nemotron_h",
    .vocabulary = 131072, .hidden = 8192,
    .layers = in_order("abababacbababacbabababacbabababacbababacbabababacbabababacbababacbabababacbabababacbababacb"
                       "abababacbabababab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba2, .heads = 256, .head_dim = 64, .key_heads = 8,
                            .state = 128, .kernel = 4, .chunk = 128, .conv_bias = true, .fp32_state = true},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false},
        layer{.attention = no_attention,
              .feed_forward = {.kind = feed_forward_kind::plain,
                               .experts = {.count = 512, .per_token = 22, .width = 5120, .shared_width = 10240,
                                           .score_bias = true, .latent = 2048}},
              .norm_before_feed_forward = false},
        layer{.attention = {.heads = 64, .kv_heads = 2, .head_dim = 128},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false}}),
    .max_context = tokens(262144), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 64, .kv_heads = 2, .head_dim = 128},
                             .feed_forward = {.kind = feed_forward_kind::plain,
                                              .experts = {.count = 512, .per_token = 22, .width = 5120,
                                                          .shared_width = 10240, .score_bias = true,
                                                          .latent = 2048}}},
                   .norms = 3}};

inline constexpr model llama_3_1_nemotron_51b{
    .name = "llama-3.1-nemotron-51b", .architecture = "nemotron-nas",
    .vocabulary = 128256, .hidden = 8192,
    .layers = in_order("abcccddeeddfeddgccccccccccccccccccccccccccfccfhfffigcigicgiggiigiiggggcccccccccc", {
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 7168}},
        layer{.attention = {.heads = 64, .kv_heads = 4, .head_dim = 128},
              .feed_forward = {.width = 14336}},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 28672}},
        layer{.attention = {.heads = 64, .kv_heads = 2, .head_dim = 128},
              .feed_forward = {.width = 14336}},
        layer{.attention = {.heads = 64, .kv_heads = 1, .head_dim = 128},
              .feed_forward = {.width = 14336}},
        layer{.attention = no_attention,
              .feed_forward = {.width = 14336},
              .more_values = 67108864},
        layer{.attention = no_attention,
              .feed_forward = {.width = 7168},
              .more_values = 67108864},
        layer{.attention = no_attention,
              .feed_forward = {.width = 28672},
              .more_values = 67108864},
        layer{.attention = no_attention,
              .feed_forward = {.width = 7168},
              .norm_before_attention = false}}),
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16};

inline constexpr model llama_3_3_nemotron_super_49b{
    .name = "llama-3.3-nemotron-super-49b", .architecture = "nemotron-nas",
    .vocabulary = 128256, .hidden = 8192,
    .layers = in_order("abbbbbccbbbdbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbeccefeceeebeggegggeehhgghhghhbbbbbbbbb", {
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 14336}},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 28672}},
        layer{.attention = no_attention,
              .feed_forward = {.width = 14336},
              .norm_before_attention = false},
        layer{.attention = no_attention,
              .feed_forward = {.width = 17920},
              .norm_before_attention = false},
        layer{.attention = no_attention,
              .feed_forward = {.width = 7168},
              .norm_before_attention = false},
        layer{.attention = no_attention,
              .feed_forward = {.width = 28672},
              .norm_before_attention = false},
        layer{.attention = no_attention,
              .feed_forward = {.width = 5632},
              .norm_before_attention = false},
        layer{.attention = no_attention,
              .feed_forward = {.width = 2816},
              .norm_before_attention = false}}),
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16};

inline constexpr model nemotron_3_nano_30b_a3b{
    .name = "nemotron-3-nano-30b-a3b", .architecture = "nemotron_h",
    .vocabulary = 131072, .hidden = 2688,
    .layers = in_order("ababacbababacbababacbababacbababacbabababacbabababab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba2, .heads = 64, .head_dim = 64, .key_heads = 8,
                            .state = 128, .kernel = 4, .chunk = 128, .conv_bias = true, .fp32_state = true},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false},
        layer{.attention = no_attention,
              .feed_forward = {.kind = feed_forward_kind::plain, .experts = {.count = 128, .per_token = 6,
                                                                             .width = 1856, .shared_width = 3712,
                                                                              .score_bias = true}},
              .norm_before_feed_forward = false},
        layer{.attention = {.heads = 32, .kv_heads = 2, .head_dim = 128},
              .feed_forward = no_feed_forward,
              .norm_before_feed_forward = false}}),
    .weights = bf16};

/// All of them.
inline constexpr std::array all_nvidia{
    &nemotron_4_340b, &nemotron_h_8b, &nemotron_nano_9b_v2, &nemotron_3_super_120b_a12b, &nemotron_3_ultra_550b_a55b,
    &llama_3_1_nemotron_51b,    &llama_3_3_nemotron_super_49b, &nemotron_3_nano_30b_a3b};

}  // namespace llmres::inline v0::models

// clang-format on
