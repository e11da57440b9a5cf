// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Google's Gemma models.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model gemma_2b{
    .name = "gemma-2b", .architecture = "gemma",
    .vocabulary = 256000, .hidden = 2048,
    .layers = {18, {.attention = {.heads = 8, .kv_heads = 1, .head_dim = 256},
                    .feed_forward = {.width = 16384}}},
    .max_context = tokens(8192), .tied_head = true, .weights = bf16,
    .published = parameters(2'506'172'416)};

inline constexpr model gemma_7b{
    .name = "gemma-7b", .architecture = "gemma",
    .vocabulary = 256000, .hidden = 3072,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 256},
                    .feed_forward = {.width = 24576}}},
    .max_context = tokens(8192), .tied_head = true, .weights = bf16};

/// Layers of Gemma 2, of which every second one sees the whole context: norms before and after both halves.
constexpr layer_stack gemma_2_layers(std::int32_t count, layer each) {
    each.norm_after_attention = each.norm_after_feed_forward = true;
    layer windowed = each;
    windowed.attention.window = tokens(4096);
    return in_order("ab", {windowed, each}, count);
}

inline constexpr model gemma_2_2b{
    .name = "gemma-2-2b", .architecture = "gemma2",
    .vocabulary = 256000, .hidden = 2304,
    .layers = gemma_2_layers(26, {.attention = {.heads = 8, .kv_heads = 4, .head_dim = 256},
                                  .feed_forward = {.width = 9216}}),
    .max_context = tokens(8192), .tied_head = true, .weights = bf16,
    .published = parameters(2'614'341'888)};

inline constexpr model gemma_2_9b{
    .name = "gemma-2-9b", .architecture = "gemma2",
    .vocabulary = 256000, .hidden = 3584,
    .layers = gemma_2_layers(42, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 256},
                                  .feed_forward = {.width = 14336}}),
    .max_context = tokens(8192), .tied_head = true, .weights = bf16};

inline constexpr model gemma_2_27b{
    .name = "gemma-2-27b", .architecture = "gemma2",
    .vocabulary = 256000, .hidden = 4608,
    .layers = gemma_2_layers(46, {.attention = {.heads = 32, .kv_heads = 16, .head_dim = 128},
                                  .feed_forward = {.width = 36864}}),
    .max_context = tokens(8192), .tied_head = true, .weights = bf16,
    .published = parameters(27'227'128'320)};

/// Layers of Gemma 3, of which every sixth one sees the whole context, the others a window.
constexpr layer_stack gemma_3_layers(std::int32_t count, layer each, std::int64_t window) {
    each.norm_after_attention = each.norm_after_feed_forward = true;
    each.attention.qk_norm = query_key_norm::shared;
    layer windowed = each;
    windowed.attention.window = tokens(window);
    return in_order("aaaaab", {windowed, each}, count);
}

/// The vision tower of Gemma 3 and PaliGemma: SigLIP.
inline constexpr encoder gemma_3_vision{
    .hidden = 1152, .layers = 27,
    .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 72, .qkv_bias = true, .output_bias = true},
              .feed_forward = {.kind = feed_forward_kind::plain, .width = 4304, .bias = true},
              .norm = norm_kind::layer},
    .quantised = false, .output = tokens(256), .image_patches = tokens(4096), .image_tokens = tokens(256)};

/// The model behind that tower: patches of 14 x 14 pixels in three colours, and a projector behind a norm.
constexpr model with_gemma_3_vision(model m) {
    m.encoders[0] = gemma_3_vision;
    m.add({.role = weight_role::conv, .bias = true, .rows = 1152, .columns = 588});
    m.add({.role = weight_role::positions, .rows = 4096, .columns = 1152});
    m.add({.role = weight_role::norm, .columns = 1152, .copies = 2});
    m.add({.role = weight_role::projector, .rows = m.hidden, .columns = 1152});
    m.add({.role = weight_role::norm, .columns = 1152});
    return m;
}

inline constexpr model gemma_3_270m{
    .name = "gemma-3-270m", .architecture = "gemma3_text",
    .vocabulary = 262144, .hidden = 640,
    .layers = gemma_3_layers(18, {.attention = {.heads = 4, .kv_heads = 1, .head_dim = 256},
                                  .feed_forward = {.width = 2048}}, 512),
    .max_context = tokens(32768), .tied_head = true, .weights = bf16};

inline constexpr model gemma_3_1b{
    .name = "gemma-3-1b", .architecture = "gemma3_text",
    .vocabulary = 262144, .hidden = 1152,
    .layers = gemma_3_layers(26, {.attention = {.heads = 4, .kv_heads = 1, .head_dim = 256},
                                  .feed_forward = {.width = 6912}}, 512),
    .max_context = tokens(32768), .tied_head = true, .weights = bf16,
    .published = parameters(999'885'952)};

inline constexpr model gemma_3_4b = with_gemma_3_vision({
    .name = "gemma-3-4b", .architecture = "gemma3",
    .vocabulary = 262208, .tokenizer = 262144, .hidden = 2560,
    .layers = gemma_3_layers(34, {.attention = {.heads = 8, .kv_heads = 4, .head_dim = 256},
                                  .feed_forward = {.width = 10240}}, 1024),
    .max_context = tokens(131072), .rope = {.contexts = 9}, .tied_head = true, .weights = bf16,
    .published = parameters(4'300'079'472)});

inline constexpr model gemma_3_12b = with_gemma_3_vision({
    .name = "gemma-3-12b", .architecture = "gemma3",
    .vocabulary = 262208, .tokenizer = 262144, .hidden = 3840,
    .layers = gemma_3_layers(48, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 256},
                                  .feed_forward = {.width = 15360}}, 1024),
    .max_context = tokens(131072), .rope = {.contexts = 9}, .tied_head = true, .weights = bf16});

inline constexpr model gemma_3_27b = with_gemma_3_vision({
    .name = "gemma-3-27b", .architecture = "gemma3",
    .vocabulary = 262208, .tokenizer = 262144, .hidden = 5376,
    .layers = gemma_3_layers(62, {.attention = {.heads = 32, .kv_heads = 16, .head_dim = 128},
                                  .feed_forward = {.width = 21504}}, 1024),
    .max_context = tokens(131072), .rope = {.contexts = 9}, .tied_head = true, .weights = bf16,
    .published = parameters(27'432'406'640)});

/// The vision tower of Gemma 4 from 26B on.
inline constexpr encoder gemma_4_vision{
    .hidden = 1152, .layers = 27,
    .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 72, .qk_norm = query_key_norm::shared},
              .feed_forward = {.width = 4304},
              .norm_after_attention = true, .norm_after_feed_forward = true},
    .quantised = false};

/// The model behind that tower: patches of 16 x 16 pixels in three colours, 10,240 learned positions of each of two
/// axes, two vectors that standardise the tower's output, and a projector without bias.
constexpr model with_gemma_4_vision(model m) {
    m.encoders[0] = gemma_4_vision;
    m.add({.role = weight_role::conv, .rows = 1152, .columns = 768});
    m.add({.role = weight_role::positions, .rows = 20480, .columns = 1152});
    m.add({.role = weight_role::values, .columns = 2304});
    m.add({.role = weight_role::projector, .rows = m.hidden, .columns = 1152});
    return m;
}

inline constexpr model gemma_4_26b_a4b = with_gemma_4_vision({
    .name = "gemma-4-26b-a4b", .architecture = "gemma4",
    .vocabulary = 262144, .hidden = 2816,
    .layers = in_order("aaaaab", {
        layer{.attention = {.heads = 16, .kv_heads = 8, .head_dim = 256, .qk_norm = query_key_norm::shared,
                            .window = tokens(1024)},
              .feed_forward = {.width = 2112, .experts = {.count = 128, .per_token = 8, .width = 704,
                                                          .shared_width = 2112}},
              .norm_after_attention = true, .norm_after_feed_forward = true, .more_norms = 3, .more_values = 2944},
        layer{.attention = {.heads = 16, .kv_heads = 2, .head_dim = 512, .qk_norm = query_key_norm::shared,
                            .keys = key_projection::also_values},
              .feed_forward = {.width = 2112, .experts = {.count = 128, .per_token = 8, .width = 704,
                                                          .shared_width = 2112}},
              .norm_after_attention = true, .norm_after_feed_forward = true, .more_norms = 3, .more_values = 2944}},
        30),
    .max_context = tokens(262144), .tied_head = true, .weights = bf16});

inline constexpr model gemma_4_31b = with_gemma_4_vision({
    .name = "gemma-4-31b", .architecture = "gemma4",
    .vocabulary = 262144, .hidden = 5376,
    .layers = in_order("aaaaab", {
        layer{.attention = {.heads = 32, .kv_heads = 16, .head_dim = 256, .qk_norm = query_key_norm::shared,
                            .window = tokens(1024)},
              .feed_forward = {.width = 21504},
              .norm_after_attention = true, .norm_after_feed_forward = true},
        layer{.attention = {.heads = 32, .kv_heads = 4, .head_dim = 512, .qk_norm = query_key_norm::shared,
                            .keys = key_projection::also_values},
              .feed_forward = {.width = 21504},
              .norm_after_attention = true, .norm_after_feed_forward = true}}, 60),
    .max_context = tokens(262144), .tied_head = true, .weights = bf16});

inline constexpr model paligemma_3b{
    .name = "paligemma-3b", .architecture = "paligemma",
    .vocabulary = 257216, .hidden = 2048,
    .layers = {18, {.attention = {.heads = 8, .kv_heads = 1, .head_dim = 256},
                    .feed_forward = {.width = 16384}}},
    .tied_head = true, .weights = bf16,
    .encoders = {{gemma_3_vision}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 1152, .columns = 588},
                {.role = weight_role::positions, .rows = 256, .columns = 1152},
                {.role = weight_role::norm, .columns = 1152, .copies = 2},
                {.role = weight_role::projector, .bias = true, .rows = 2048, .columns = 1152}}},
    .extra_count = 4};

/// All of them.
inline constexpr std::array all_gemma{
    &gemma_2b, &gemma_7b, &gemma_2_2b, &gemma_2_9b, &gemma_2_27b, &gemma_3_270m, &gemma_3_1b,
    &gemma_3_4b, &gemma_3_12b, &gemma_3_27b,
    &gemma_4_26b_a4b, &gemma_4_31b, &paligemma_3b};

}  // namespace llmres::inline v0::models

// clang-format on
