// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Alibaba's Qwen models.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model qwen_1_8b{
    .name = "qwen-1.8b", .architecture = "qwen",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 5504}}},
    .max_context = tokens(8192), .weights = bf16};

inline constexpr model qwen_7b{
    .name = "qwen-7b", .architecture = "qwen",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(32768), .weights = fp16,
    .published = parameters(7'721'324'544)};

inline constexpr model qwen1_5_1_8b{
    .name = "qwen1.5-1.8b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 5504}}},
    .max_context = tokens(32768), .weights = bf16};

inline constexpr model qwen1_5_moe_a2_7b{
    .name = "qwen1.5-moe-a2.7b", .architecture = "qwen2_moe",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 5632, .experts = {.count = 60, .per_token = 4, .width = 1408,
                                                                .shared_width = 5632, .shared_gate = true}}}},
    .max_context = tokens(8192), .weights = bf16,
    .published = parameters(14'315'784'192)};

inline constexpr model qwen2_7b{
    .name = "qwen2-7b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .max_context = tokens(131072), .weights = bf16,
    .published = parameters(7'615'616'512)};

inline constexpr model qwen2_5_0_5b{
    .name = "qwen2.5-0.5b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 896,
    .layers = {24, {.attention = {.heads = 14, .kv_heads = 2, .head_dim = 64, .qkv_bias = true},
                    .feed_forward = {.width = 4864}}},
    .max_context = tokens(32768), .tied_head = true, .weights = bf16};

inline constexpr model qwen2_5_1_5b{
    .name = "qwen2.5-1.5b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 1536,
    .layers = {28, {.attention = {.heads = 12, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 8960}}},
    .max_context = tokens(131072), .tied_head = true, .weights = bf16,
    .published = parameters(1'543'714'304)};

inline constexpr model qwen2_5_3b{
    .name = "qwen2.5-3b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {36, {.attention = {.heads = 16, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(32768), .tied_head = true, .weights = bf16,
    .published = parameters(3'085'938'688)};

inline constexpr model qwen2_5_7b{
    .name = "qwen2.5-7b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .max_context = tokens(131072), .weights = bf16,
    .published = parameters(7'615'616'512)};

inline constexpr model qwen2_5_14b{
    .name = "qwen2.5-14b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 5120,
    .layers = {48, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model qwen2_5_32b{
    .name = "qwen2.5-32b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 27648}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model qwen2_5_72b{
    .name = "qwen2.5-72b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 29568}}},
    .max_context = tokens(131072), .weights = bf16,
    .published = parameters(72'706'203'648)};

inline constexpr model qwen2_5_coder_32b = renamed(qwen2_5_32b, "qwen2.5-coder-32b");

inline constexpr model qwq_32b = renamed(qwen2_5_32b, "qwq-32b");

inline constexpr model qwen2_5_vl_7b{
    .name = "qwen2.5-vl-7b", .architecture = "qwen2_5_vl",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .max_context = tokens(128000), .weights = bf16,
    .encoders = {{{.hidden = 1280, .layers = 32,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 80, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.width = 3420, .bias = true}},
                   .quantised = false, .image_patches = tokens(65536), .image_tokens = tokens(16384),
                   .resize = image_resize::to_area, .least_image_tokens = tokens(4),
                   .windowed_layers = 28, .window_patches = tokens(64), .position_axes = 3}}},
    .extras = {{{.role = weight_role::conv, .rows = 1280, .columns = 1176},
                {.role = weight_role::norm, .columns = 1280},
                {.role = weight_role::projector, .bias = true, .rows = 5120, .columns = 5120},
                {.role = weight_role::projector, .bias = true, .rows = 3584, .columns = 5120}}},
    .extra_count = 4};

inline constexpr model qwen3_0_6b{
    .name = "qwen3-0.6b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 1024,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 3072}}},
    .max_context = tokens(40960), .tied_head = true, .weights = bf16,
    .published = parameters(596'049'920)};

inline constexpr model qwen3_1_7b{
    .name = "qwen3-1.7b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 6144}}},
    .max_context = tokens(40960), .tied_head = true, .weights = bf16};

inline constexpr model qwen3_4b{
    .name = "qwen3-4b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 2560,
    .layers = {36, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 9728}}},
    .max_context = tokens(40960), .tied_head = true, .weights = bf16,
    .published = parameters(4'022'468'096)};

inline constexpr model qwen3_8b{
    .name = "qwen3-8b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {36, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 12288}}},
    .max_context = tokens(40960), .weights = bf16,
    .published = parameters(8'190'735'360)};

inline constexpr model qwen3_14b{
    .name = "qwen3-14b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 17408}}},
    .max_context = tokens(40960), .weights = bf16};

inline constexpr model qwen3_32b{
    .name = "qwen3-32b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 25600}}},
    .max_context = tokens(40960), .weights = bf16,
    .published = parameters(32'762'123'264)};

inline constexpr model qwen3_30b_a3b{
    .name = "qwen3-30b-a3b", .architecture = "qwen3_moe",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {48, {.attention = {.heads = 32, .kv_heads = 4, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 6144, .experts = {.count = 128, .per_token = 8, .width = 768}}}},
    .max_context = tokens(40960), .weights = bf16,
    .published = parameters(30'532'122'624)};

inline constexpr model qwen3_235b_a22b{
    .name = "qwen3-235b-a22b", .architecture = "qwen3_moe",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {94, {.attention = {.heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 12288, .experts = {.count = 128, .per_token = 8, .width = 1536}}}},
    .max_context = tokens(40960), .weights = bf16};

inline constexpr model qwen3_coder_480b_a35b{
    .name = "qwen3-coder-480b-a35b", .architecture = "qwen3_moe",
    .vocabulary = 151936, .hidden = 6144,
    .layers = {62, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 8192, .experts = {.count = 160, .per_token = 8, .width = 2560}}}},
    .max_context = tokens(262144), .weights = bf16,
    .published = parameters(480'154'875'392)};

/// Embeds texts: there is no head.
inline constexpr model qwen3_embedding_0_6b{
    .name = "qwen3-embedding-0.6b", .architecture = "qwen3",
    .vocabulary = 151669, .hidden = 1024,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 3072}}},
    .max_context = tokens(32768), .tied_head = true, .head = {.kind = head_kind::pooled}, .weights = bf16,
    .published = parameters(595'776'512)};

/// The Hub gives 81,324,862,720 with the layer that predicts one token further.
inline constexpr model qwen3_next_80b_a3b{
    .name = "qwen3-next-80b-a3b", .architecture = "qwen3_next",
    .vocabulary = 151936, .hidden = 2048,
    .layers = in_order("aaab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::delta_net, .heads = 32, .head_dim = 128, .key_heads = 16,
                            .state = 128, .kernel = 4},
              .feed_forward = {.width = 5120, .experts = {.count = 512, .per_token = 10, .width = 512,
                                                          .shared_width = 512, .shared_gate = true}}},
        layer{.attention = {.heads = 16, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                            .qk_norm = query_key_norm::shared,
                            .gate = output_gate::features},
              .feed_forward = {.width = 5120, .experts = {.count = 512, .per_token = 10, .width = 512,
                                                          .shared_width = 512, .shared_gate = true}}}}, 48),
    .max_context = tokens(262144), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 16, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                                           .qk_norm = query_key_norm::shared, .gate = output_gate::features},
                             .feed_forward = {.width = 5120, .experts = {.count = 512, .per_token = 10,
                                                                         .width = 512, .shared_width = 512,
                                                                          .shared_gate = true}}},
                   .norms = 3}};

/// The vision tower of Qwen3-VL from 8B on, and of Qwen3.5.
inline constexpr encoder qwen3_vision{
    .hidden = 1152, .layers = 27,
    .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 72, .qkv_bias = true, .output_bias = true},
              .feed_forward = {.kind = feed_forward_kind::plain, .width = 4304, .bias = true},
              .norm = norm_kind::layer},
    .quantised = false, .image_patches = tokens(65536), .image_tokens = tokens(16384),
    .resize = image_resize::to_area, .least_image_tokens = tokens(64), .position_axes = 3};

/// The vision tower of Qwen3-VL-2B and 4B.
inline constexpr encoder qwen3_small_vision{
    .hidden = 1024, .layers = 24,
    .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true, .output_bias = true},
              .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
              .norm = norm_kind::layer},
    .quantised = false, .image_patches = tokens(65536), .image_tokens = tokens(16384),
    .resize = image_resize::to_area, .least_image_tokens = tokens(64), .position_axes = 3};

/// Layers of Qwen3-VL's tower whose features the first layers of the language model receive, too (DeepStack).
inline constexpr std::int64_t qwen3_deepstack = 3;

/// The model behind a vision tower of Qwen3's: patches of 2 x 16 x 16 pixels in three colours, 48 x 48 learned
/// positions, and a projector that merges four patches to one token, with one more for each DeepStack layer.
constexpr model with_vision_tower(model m, const encoder& tower, std::int64_t deepstack = 0) {
    const std::int64_t merged = 4 * tower.hidden;
    m.encoders[0] = tower;
    m.add({.role = weight_role::conv, .bias = true, .rows = tower.hidden, .columns = 1536});
    m.add({.role = weight_role::positions, .rows = 2304, .columns = tower.hidden});
    m.add({.role = weight_role::norm, .columns = tower.hidden, .copies = 2});
    m.add({.role = weight_role::projector, .bias = true, .rows = merged, .columns = merged});
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = merged});
    if (deepstack == 0) return m;
    m.add({.role = weight_role::norm, .columns = merged, .copies = 2 * deepstack});
    m.add({.role = weight_role::projector, .bias = true, .rows = merged, .columns = merged, .copies = deepstack});
    m.add({.role = weight_role::projector, .bias = true, .rows = m.hidden, .columns = merged, .copies = deepstack});
    return m;
}

inline constexpr model qwen3_vl_2b = with_vision_tower({
    .name = "qwen3-vl-2b", .architecture = "qwen3_vl",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 6144}}},
    .max_context = tokens(262144), .tied_head = true, .weights = bf16}, qwen3_small_vision, qwen3_deepstack);

inline constexpr model qwen3_vl_4b = with_vision_tower({
    .name = "qwen3-vl-4b", .architecture = "qwen3_vl",
    .vocabulary = 151936, .hidden = 2560,
    .layers = {36, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 9728}}},
    .max_context = tokens(262144), .tied_head = true, .weights = bf16}, qwen3_small_vision, qwen3_deepstack);

inline constexpr model qwen3_vl_8b = with_vision_tower({
    .name = "qwen3-vl-8b", .architecture = "qwen3_vl",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {36, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 12288}}},
    .max_context = tokens(262144), .weights = bf16}, qwen3_vision, qwen3_deepstack);

inline constexpr model qwen3_vl_32b = with_vision_tower({
    .name = "qwen3-vl-32b", .architecture = "qwen3_vl",
    .vocabulary = 151936, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 25600}}},
    .max_context = tokens(262144), .weights = bf16}, qwen3_vision, qwen3_deepstack);

inline constexpr model qwen3_vl_235b_a22b = with_vision_tower({
    .name = "qwen3-vl-235b-a22b", .architecture = "qwen3_vl_moe",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {94, {.attention = {.heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 12288, .experts = {.count = 128, .per_token = 8, .width = 1536}}}},
    .max_context = tokens(262144), .weights = bf16}, qwen3_vision, qwen3_deepstack);

/// The Hub gives 27,781,427,952 with the layer that predicts one token further.
inline constexpr model qwen3_5_27b = with_vision_tower({
    .name = "qwen3.5-27b", .architecture = "qwen3_5",
    .vocabulary = 248320, .hidden = 5120,
    .layers = in_order("aaab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::delta_net, .heads = 48, .head_dim = 128, .key_heads = 16,
                            .state = 128, .kernel = 4, .fp32_state = true},
              .feed_forward = {.width = 17408}},
        layer{.attention = {.heads = 24, .kv_heads = 4, .head_dim = 256, .rope_dim = 64,
                            .qk_norm = query_key_norm::shared,
                            .gate = output_gate::features},
              .feed_forward = {.width = 17408}}}, 64),
    .max_context = tokens(262144), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 24, .kv_heads = 4, .head_dim = 256, .rope_dim = 64,
                                           .qk_norm = query_key_norm::shared, .gate = output_gate::features},
                             .feed_forward = {.width = 17408}},
                   .norms = 3}}, qwen3_vision);

/// Qwen3.5-35B-A3B, and Qwen3.6-35B-A3B, which has the same shape. Caches and states are those that llama.cpp printed
/// (20,480 B a token; 60 MiB of state in fp32).
inline constexpr model qwen3_5_35b_a3b = with_vision_tower({
    .name = "qwen3.5-35b-a3b", .architecture = "qwen3_5_moe",
    .vocabulary = 248320, .hidden = 2048,
    .layers = in_order("aaab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::delta_net, .heads = 32, .head_dim = 128, .key_heads = 16,
                            .state = 128, .kernel = 4, .fp32_state = true},
              .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 512, .shared_width = 512,
                                           .shared_gate = true}}},
        layer{.attention = {.heads = 16, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                            .qk_norm = query_key_norm::shared,
                            .gate = output_gate::features},
              .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 512, .shared_width = 512,
                                           .shared_gate = true}}}}, 40),
    .max_context = tokens(262144), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 16, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                                           .qk_norm = query_key_norm::shared, .gate = output_gate::features},
                             .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 512,
                                                          .shared_width = 512, .shared_gate = true}}},
                   .norms = 3}}, qwen3_vision);

inline constexpr model qwen3_5_122b_a10b = with_vision_tower({
    .name = "qwen3.5-122b-a10b", .architecture = "qwen3_5_moe",
    .vocabulary = 248320, .hidden = 3072,
    .layers = in_order("aaab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::delta_net, .heads = 64, .head_dim = 128, .key_heads = 16,
                            .state = 128, .kernel = 4, .fp32_state = true},
              .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 1024, .shared_width = 1024,
                                           .shared_gate = true}}},
        layer{.attention = {.heads = 32, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                            .qk_norm = query_key_norm::shared,
                            .gate = output_gate::features},
              .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 1024, .shared_width = 1024,
                                           .shared_gate = true}}}}, 48),
    .max_context = tokens(262144), .weights = bf16,
    .published = parameters(122'562'817'776),
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 32, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                                           .qk_norm = query_key_norm::shared, .gate = output_gate::features},
                             .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 1024,
                                                          .shared_width = 1024, .shared_gate = true}}},
                   .norms = 3}}, qwen3_vision);

inline constexpr model qwen3_5_397b_a17b = with_vision_tower({
    .name = "qwen3.5-397b-a17b", .architecture = "qwen3_5_moe",
    .vocabulary = 248320, .hidden = 4096,
    .layers = in_order("aaab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::delta_net, .heads = 64, .head_dim = 128, .key_heads = 16,
                            .state = 128, .kernel = 4, .fp32_state = true},
              .feed_forward = {.experts = {.count = 512, .per_token = 10, .width = 1024, .shared_width = 1024,
                                           .shared_gate = true}}},
        layer{.attention = {.heads = 32, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                            .qk_norm = query_key_norm::shared,
                            .gate = output_gate::features},
              .feed_forward = {.experts = {.count = 512, .per_token = 10, .width = 1024, .shared_width = 1024,
                                           .shared_gate = true}}}}, 60),
    .max_context = tokens(262144), .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.heads = 32, .kv_heads = 2, .head_dim = 256, .rope_dim = 64,
                                           .qk_norm = query_key_norm::shared, .gate = output_gate::features},
                             .feed_forward = {.experts = {.count = 512, .per_token = 10, .width = 1024,
                                                          .shared_width = 1024, .shared_gate = true}}},
                   .norms = 3}}, qwen3_vision);

inline constexpr model qwen2_vl_7b{
    .name = "qwen2-vl-7b", .architecture = "qwen2_vl",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .weights = bf16,
    .encoders = {{{.hidden = 1280, .layers = 32,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 80, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .image_patches = tokens(65536), .image_tokens = tokens(16384),
                   .resize = image_resize::to_area, .least_image_tokens = tokens(4), .position_axes = 3}}},
    .extras = {{{.role = weight_role::conv, .rows = 1280, .columns = 1176},
                {.role = weight_role::norm, .columns = 1280, .copies = 2},
                {.role = weight_role::projector, .bias = true, .rows = 5120, .columns = 5120},
                {.role = weight_role::projector, .bias = true, .rows = 3584, .columns = 5120}}},
    .extra_count = 4};

/// All of them.
inline constexpr std::array all_qwen{
    &qwen_1_8b, &qwen_7b, &qwen1_5_1_8b, &qwen1_5_moe_a2_7b, &qwen2_7b, &qwen2_5_0_5b, &qwen2_5_1_5b, &qwen2_5_3b,
    &qwen2_5_7b, &qwen2_5_14b, &qwen2_5_32b, &qwen2_5_72b, &qwen2_5_coder_32b, &qwq_32b, &qwen2_5_vl_7b,
    &qwen3_0_6b, &qwen3_1_7b, &qwen3_4b, &qwen3_8b, &qwen3_14b, &qwen3_32b, &qwen3_30b_a3b, &qwen3_235b_a22b,
    &qwen3_coder_480b_a35b,
    &qwen3_embedding_0_6b, &qwen3_next_80b_a3b, &qwen3_vl_2b, &qwen3_vl_4b, &qwen3_vl_8b, &qwen3_vl_32b,
    &qwen3_vl_235b_a22b, &qwen3_5_27b, &qwen3_5_35b_a3b, &qwen3_5_122b_a10b, &qwen3_5_397b_a17b, &qwen2_vl_7b};

}  // namespace llmres::inline v0::models

// clang-format on
