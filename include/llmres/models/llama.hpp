// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Meta's Llama models, and those of its layout under other names.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
/// As litgpt 0.5.13 lists shapes (litgpt/config.py): those of CodeLlama 13B and 70B and SmolLM2 360M.
namespace llmres::inline v0::models {

inline constexpr model llama_7b{
    .name = "llama-7b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(2048), .weights = fp16,
    .published = parameters(6'738'415'616)};

inline constexpr model llama_13b{
    .name = "llama-13b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(2048), .weights = fp16};

inline constexpr model llama_30b{
    .name = "llama-30b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 6656,
    .layers = {60, {.attention = {.heads = 52, .kv_heads = 52, .head_dim = 128},
                    .feed_forward = {.width = 17920}}},
    .max_context = tokens(2048), .weights = fp16};

inline constexpr model llama_65b{
    .name = "llama-65b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 128},
                    .feed_forward = {.width = 22016}}},
    .max_context = tokens(2048), .weights = fp16};

inline constexpr model llama_2_7b{
    .name = "llama-2-7b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(4096), .weights = fp16,
    .published = parameters(6'738'415'616)};

inline constexpr model llama_2_13b{
    .name = "llama-2-13b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(4096), .weights = fp16};

inline constexpr model llama_2_70b{
    .name = "llama-2-70b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 28672}}},
    .max_context = tokens(4096), .weights = fp16,
    .published = parameters(68'976'648'192)};

inline constexpr model codellama_7b{
    .name = "codellama-7b", .architecture = "llama",
    .vocabulary = 32016, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(16384), .weights = bf16,
    .published = parameters(6'738'546'688)};

inline constexpr model codellama_13b{
    .name = "codellama-13b", .architecture = "llama",
    .vocabulary = 32016, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(16384), .weights = bf16};

inline constexpr model codellama_34b{
    .name = "codellama-34b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 8192,
    .layers = {48, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 22016}}},
    .max_context = tokens(16384), .weights = bf16};

inline constexpr model codellama_70b{
    .name = "codellama-70b", .architecture = "llama",
    .vocabulary = 32016, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 28672}}},
    .max_context = tokens(16384), .weights = bf16};

inline constexpr model llama_3_8b{
    .name = "llama-3-8b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(8192), .weights = bf16,
    .published = parameters(8'030'261'248)};

inline constexpr model llama_3_70b{
    .name = "llama-3-70b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 28672}}},
    .max_context = tokens(8192), .weights = bf16,
    .published = parameters(70'553'706'496)};

inline constexpr model llama_3_1_8b{
    .name = "llama-3.1-8b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16,
    .published = parameters(8'030'261'248)};

inline constexpr model llama_3_1_70b{
    .name = "llama-3.1-70b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 8192,
    .layers = {80, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 28672}}},
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16,
    .published = parameters(70'553'706'496)};

inline constexpr model llama_3_1_405b{
    .name = "llama-3.1-405b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 16384,
    .layers = {126, {.attention = {.heads = 128, .kv_heads = 8, .head_dim = 128},
                     .feed_forward = {.width = 53248}}},
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16};

inline constexpr model llama_3_2_1b{
    .name = "llama-3.2-1b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 2048,
    .layers = {16, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 64},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(131072), .rope = {1, 32}, .tied_head = true, .weights = bf16,
    .published = parameters(1'235'814'400)};

inline constexpr model llama_3_2_3b{
    .name = "llama-3.2-3b", .architecture = "llama",
    .vocabulary = 128256, .hidden = 3072,
    .layers = {28, {.attention = {.heads = 24, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(131072), .rope = {1, 64}, .tied_head = true, .weights = bf16};

inline constexpr model llama_3_2_11b_vision{
    .name = "llama-3.2-11b-vision", .architecture = "mllama",
    .vocabulary = 128256, .hidden = 4096,
    .layers = in_order("aaaba", {
        layer{.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 14336}},
        layer{.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared,
                            .cross = cross_attention::instead},
              .feed_forward = {.width = 14336},
              .more_values = 2}}, 40),
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16,
    .published = parameters(10'670'220'835),
    .encoders = {{{.hidden = 1280, .layers = 40,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 80},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .output = tokens(6404)}}},
    .extras = {{{.role = weight_role::embed_tokens, .rows = 8, .columns = 4096},
                {.role = weight_role::conv, .rows = 1280, .columns = 588},
                {.role = weight_role::positions, .rows = 1602, .columns = 1280},
                {.role = weight_role::positions, .rows = 9, .columns = 8197120},
                {.role = weight_role::positions, .rows = 9, .columns = 5120, .copies = 2},
                {.role = weight_role::values, .columns = 19},
                {.role = weight_role::norm, .columns = 1280, .copies = 2},
                {.role = weight_role::norm, .columns = 1280, .copies = 2},
                {.role = weight_role::projector, .bias = true, .rows = 4096, .columns = 7680}}},
    .extra_count = 9};

inline constexpr model llama_3_2_90b_vision{
    .name = "llama-3.2-90b-vision", .architecture = "mllama",
    .vocabulary = 128256, .hidden = 8192,
    .layers = in_order("aaaba", {
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 28672}},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared,
                            .cross = cross_attention::instead},
              .feed_forward = {.width = 28672},
              .more_values = 2}}, 100),
    .max_context = tokens(131072), .rope = {1, 64}, .weights = bf16,
    .encoders = {{{.hidden = 1280, .layers = 40,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 80},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .output = tokens(6404)}}},
    .extras = {{{.role = weight_role::embed_tokens, .rows = 8, .columns = 8192},
                {.role = weight_role::conv, .rows = 1280, .columns = 588},
                {.role = weight_role::positions, .rows = 1602, .columns = 1280},
                {.role = weight_role::positions, .rows = 9, .columns = 8197120},
                {.role = weight_role::positions, .rows = 9, .columns = 5120, .copies = 2},
                {.role = weight_role::values, .columns = 19},
                {.role = weight_role::norm, .columns = 1280, .copies = 2},
                {.role = weight_role::norm, .columns = 1280, .copies = 2},
                {.role = weight_role::projector, .bias = true, .rows = 8192, .columns = 7680}}},
    .extra_count = 9};

inline constexpr model llama_3_3_70b = renamed(llama_3_1_70b, "llama-3.3-70b");

inline constexpr model llama_4_scout{
    .name = "llama-4-scout", .architecture = "llama4",
    .vocabulary = 202048, .hidden = 5120,
    .layers = in_order("aaab", {
        layer{.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .window = tokens(8192), .chunked = true},
              .feed_forward = {.experts = {.count = 16, .per_token = 1, .width = 8192, .shared_width = 8192}}},
        layer{.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.experts = {.count = 16, .per_token = 1, .width = 8192, .shared_width = 8192}}}}, 48),
    .max_context = tokens(10485760), .rope = {1, 64}, .weights = bf16,
    .published = parameters(108'641'793'536),
    .encoders = {{{.hidden = 1408, .layers = 34,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 88, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5632, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .image_patches = tokens(9809), .image_tokens = tokens(2448)}}},
    .extras = {{{.role = weight_role::conv, .rows = 1408, .columns = 588},
                {.role = weight_role::positions, .rows = 578, .columns = 1408},
                {.role = weight_role::norm, .columns = 1408, .copies = 2},
                {.role = weight_role::norm, .columns = 1408, .copies = 2},
                {.role = weight_role::projector, .rows = 4096, .columns = 5632},
                {.role = weight_role::projector, .rows = 4096, .columns = 4096},
                {.role = weight_role::projector, .rows = 5120, .columns = 4096}}},
    .extra_count = 7};

inline constexpr model llama_4_maverick{
    .name = "llama-4-maverick", .architecture = "llama4",
    .vocabulary = 202048, .hidden = 5120,
    .layers = in_order("abac", {
        layer{.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .window = tokens(8192), .chunked = true},
              .feed_forward = {.width = 16384}},
        layer{.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .window = tokens(8192), .chunked = true},
              .feed_forward = {.experts = {.count = 128, .per_token = 1, .width = 8192, .shared_width = 8192}}},
        layer{.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.experts = {.count = 128, .per_token = 1, .width = 8192, .shared_width = 8192}}}}, 48),
    .max_context = tokens(1048576), .weights = bf16,
    .encoders = {{{.hidden = 1408, .layers = 34,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 88, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5632, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .image_patches = tokens(9809), .image_tokens = tokens(2448)}}},
    .extras = {{{.role = weight_role::conv, .rows = 1408, .columns = 588},
                {.role = weight_role::positions, .rows = 578, .columns = 1408},
                {.role = weight_role::norm, .columns = 1408, .copies = 2},
                {.role = weight_role::norm, .columns = 1408, .copies = 2},
                {.role = weight_role::projector, .rows = 4096, .columns = 5632},
                {.role = weight_role::projector, .rows = 4096, .columns = 4096},
                {.role = weight_role::projector, .rows = 5120, .columns = 4096}}},
    .extra_count = 7};

inline constexpr model vicuna_7b_v1_5{
    .name = "vicuna-7b-v1.5", .architecture = "llama",
    .vocabulary = 32000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .weights = bf16,
    .published = parameters(6'738'415'616)};

inline constexpr model tinyllama_1_1b{
    .name = "tinyllama-1.1b", .architecture = "llama",
    .vocabulary = 32000, .hidden = 2048,
    .layers = {22, {.attention = {.heads = 32, .kv_heads = 4, .head_dim = 64},
                    .feed_forward = {.width = 5632}}},
    .max_context = tokens(2048), .weights = bf16};

inline constexpr model yi_6b{
    .name = "yi-6b", .architecture = "llama",
    .vocabulary = 64000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 4, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(4096), .weights = bf16,
    .published = parameters(6'061'035'520)};

inline constexpr model yi_34b{
    .name = "yi-34b", .architecture = "llama",
    .vocabulary = 64000, .hidden = 7168,
    .layers = {60, {.attention = {.heads = 56, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 20480}}},
    .max_context = tokens(4096), .weights = bf16};

inline constexpr model smollm2_135m{
    .name = "smollm2-135m", .architecture = "llama",
    .vocabulary = 49152, .hidden = 576,
    .layers = {30, {.attention = {.heads = 9, .kv_heads = 3, .head_dim = 64},
                    .feed_forward = {.width = 1536}}},
    .max_context = tokens(8192), .tied_head = true, .weights = bf16,
    .published = parameters(134'515'008)};

inline constexpr model smollm2_360m{
    .name = "smollm2-360m", .architecture = "llama",
    .vocabulary = 49152, .hidden = 960,
    .layers = {32, {.attention = {.heads = 15, .kv_heads = 5, .head_dim = 64},
                    .feed_forward = {.width = 2560}}},
    .max_context = tokens(8192), .tied_head = true, .weights = bf16};

inline constexpr model smollm2_1_7b{
    .name = "smollm2-1.7b", .architecture = "llama",
    .vocabulary = 49152, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 64},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(8192), .tied_head = true, .weights = bf16,
    .published = parameters(1'711'376'384)};

inline constexpr model smollm3_3b{
    .name = "smollm3-3b", .architecture = "smollm3",
    .vocabulary = 128256, .hidden = 2048,
    .layers = {36, {.attention = {.heads = 16, .kv_heads = 4, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(65536), .tied_head = true, .weights = bf16};

inline constexpr model llava_1_5_7b{
    .name = "llava-1.5-7b", .architecture = "llava",
    .vocabulary = 32064, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(4096), .weights = fp16,
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .output = tokens(576),
                   .image_patches = tokens(576), .image_tokens = tokens(576)}}},
    .extras = {{{.role = weight_role::conv, .rows = 1024, .columns = 588},
                {.role = weight_role::positions, .rows = 578, .columns = 1024},
                {.role = weight_role::norm, .columns = 1024, .copies = 2},
                {.role = weight_role::norm, .columns = 1024, .copies = 2},
                {.role = weight_role::projector, .bias = true, .rows = 4096, .columns = 1024},
                {.role = weight_role::projector, .bias = true, .rows = 4096, .columns = 4096}}},
    .extra_count = 6};

/// All of them.
inline constexpr std::array all_llama{
    &llama_7b, &llama_13b, &llama_30b, &llama_65b, &llama_2_7b, &llama_2_13b, &llama_2_70b, &codellama_7b,
    &codellama_13b, &codellama_34b, &codellama_70b, &llama_3_8b, &llama_3_70b, &llama_3_1_8b, &llama_3_1_70b,
    &llama_3_1_405b, &llama_3_2_1b, &llama_3_2_3b, &llama_3_2_11b_vision, &llama_3_2_90b_vision, &llama_3_3_70b,
    &llama_4_scout, &llama_4_maverick, &vicuna_7b_v1_5, &tinyllama_1_1b, &yi_6b, &yi_34b, &smollm2_135m,
    &smollm2_360m, &smollm2_1_7b, &smollm3_3b, &llava_1_5_7b};

}  // namespace llmres::inline v0::models

// clang-format on
