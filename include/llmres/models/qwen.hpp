// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Alibaba's Qwen models. Shapes are those of the published config.json files; `published` is the total of the checkpoint that the
/// Hub or the publisher gives, and is left out where only our own count is known.
namespace llmres::models {

inline constexpr model qwen2_7b{
    .name = "qwen2-7b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .max_context = tokens(131072),
    .published = parameters(7'615'616'512)};

inline constexpr model qwen2_5_0_5b{
    .name = "qwen2.5-0.5b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 896,
    .layers = {24, {.attention = {.heads = 14, .kv_heads = 2, .head_dim = 64, .qkv_bias = true},
                    .feed_forward = {.width = 4864}}},
    .max_context = tokens(32768), .tied_head = true};

inline constexpr model qwen2_5_1_5b{
    .name = "qwen2.5-1.5b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 1536,
    .layers = {28, {.attention = {.heads = 12, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 8960}}},
    .max_context = tokens(131072), .tied_head = true,
    .published = parameters(1'543'714'304)};

inline constexpr model qwen2_5_3b{
    .name = "qwen2.5-3b", .architecture = "qwen2",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {36, {.attention = {.heads = 16, .kv_heads = 2, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(32768), .tied_head = true,
    .published = parameters(3'085'938'688)};

inline constexpr model qwen2_5_7b{
    .name = "qwen2.5-7b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 3584,
    .layers = {28, {.attention = {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 18944}}},
    .max_context = tokens(131072),
    .published = parameters(7'615'616'512)};

inline constexpr model qwen2_5_14b{
    .name = "qwen2.5-14b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 5120,
    .layers = {48, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(131072)};

inline constexpr model qwen2_5_32b{
    .name = "qwen2.5-32b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 27648}}},
    .max_context = tokens(131072)};

inline constexpr model qwen2_5_72b{
    .name = "qwen2.5-72b", .architecture = "qwen2",
    .vocabulary = 152064, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 29568}}},
    .max_context = tokens(131072),
    .published = parameters(72'706'203'648)};

inline constexpr model qwq_32b = renamed(qwen2_5_32b, "qwq-32b");

inline constexpr model qwen3_0_6b{
    .name = "qwen3-0.6b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 1024,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 3072}}},
    .max_context = tokens(40960), .tied_head = true,
    .published = parameters(596'049'920)};

inline constexpr model qwen3_1_7b{
    .name = "qwen3-1.7b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 6144}}},
    .max_context = tokens(40960), .tied_head = true};

inline constexpr model qwen3_4b{
    .name = "qwen3-4b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 2560,
    .layers = {36, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 9728}}},
    .max_context = tokens(40960), .tied_head = true,
    .published = parameters(4'022'468'096)};

inline constexpr model qwen3_8b{
    .name = "qwen3-8b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {36, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 12288}}},
    .max_context = tokens(40960),
    .published = parameters(8'190'735'360)};

inline constexpr model qwen3_14b{
    .name = "qwen3-14b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 17408}}},
    .max_context = tokens(40960)};

inline constexpr model qwen3_32b{
    .name = "qwen3-32b", .architecture = "qwen3",
    .vocabulary = 151936, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 25600}}},
    .max_context = tokens(40960),
    .published = parameters(32'762'123'264)};

inline constexpr model qwen3_30b_a3b{
    .name = "qwen3-30b-a3b", .architecture = "qwen3_moe",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {48, {.attention = {.heads = 32, .kv_heads = 4, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 6144, .experts = {.count = 128, .per_token = 8, .width = 768}}}},
    .max_context = tokens(40960),
    .published = parameters(30'532'122'624)};

inline constexpr model qwen3_235b_a22b{
    .name = "qwen3-235b-a22b", .architecture = "qwen3_moe",
    .vocabulary = 151936, .hidden = 4096,
    .layers = {94, {.attention = {.heads = 64, .kv_heads = 4, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.width = 12288, .experts = {.count = 128, .per_token = 8, .width = 1536}}}},
    .max_context = tokens(40960)};

inline constexpr model qwen1_5_moe_a2_7b{
    .name = "qwen1.5-moe-a2.7b", .architecture = "qwen2_moe",
    .vocabulary = 151936, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128, .qkv_bias = true},
                    .feed_forward = {.width = 5632, .experts = {.count = 60, .per_token = 4, .width = 1408,
                                                                .shared_width = 5632, .shared_gate = true}}}},
    .max_context = tokens(8192),
    .published = parameters(14'315'784'192)};


/// All of them.
inline constexpr std::array all_qwen{
    &qwen2_7b, &qwen2_5_0_5b, &qwen2_5_1_5b, &qwen2_5_3b, &qwen2_5_7b, &qwen2_5_14b, &qwen2_5_32b, &qwen2_5_72b,
    &qwq_32b, &qwen3_0_6b, &qwen3_1_7b, &qwen3_4b, &qwen3_8b, &qwen3_14b, &qwen3_32b, &qwen3_30b_a3b,
    &qwen3_235b_a22b, &qwen1_5_moe_a2_7b};

}  // namespace llmres::models

// clang-format on
