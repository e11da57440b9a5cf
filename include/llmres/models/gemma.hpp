// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Google's Gemma models. Shapes are those of the published config.json files; `published` is the total of the checkpoint that the
/// Hub or the publisher gives, and is left out where only our own count is known.
namespace llmres::models {

inline constexpr model gemma_2b{
    .name = "gemma-2b", .architecture = "gemma",
    .vocabulary = 256000, .hidden = 2048,
    .layers = {18, {.attention = {.heads = 8, .kv_heads = 1, .head_dim = 256},
                    .feed_forward = {.width = 16384}}},
    .max_context = tokens(8192), .tied_head = true,
    .published = parameters(2'506'172'416)};

inline constexpr model gemma_7b{
    .name = "gemma-7b", .architecture = "gemma",
    .vocabulary = 256000, .hidden = 3072,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 256},
                    .feed_forward = {.width = 24576}}},
    .max_context = tokens(8192), .tied_head = true};

inline constexpr model gemma_2_2b{
    .name = "gemma-2-2b", .architecture = "gemma2",
    .vocabulary = 256000, .hidden = 2304,
    .layers = alternating(26, 2, {.attention = {.heads = 8, .kv_heads = 4, .head_dim = 256, .window = tokens(4096)},
                                  .feed_forward = {.width = 9216},
                                  .norm_after_attention = true, .norm_after_feed_forward = true}),
    .max_context = tokens(8192), .tied_head = true,
    .published = parameters(2'614'341'888)};

inline constexpr model gemma_2_9b{
    .name = "gemma-2-9b", .architecture = "gemma2",
    .vocabulary = 256000, .hidden = 3584,
    .layers = alternating(42, 2, {.attention = {.heads = 16, .kv_heads = 8, .head_dim = 256, .window = tokens(4096)},
                                  .feed_forward = {.width = 14336},
                                  .norm_after_attention = true, .norm_after_feed_forward = true}),
    .max_context = tokens(8192), .tied_head = true};

inline constexpr model gemma_2_27b{
    .name = "gemma-2-27b", .architecture = "gemma2",
    .vocabulary = 256000, .hidden = 4608,
    .layers = alternating(46, 2, {.attention = {.heads = 32, .kv_heads = 16, .head_dim = 128, .window = tokens(4096)},
                                  .feed_forward = {.width = 36864},
                                  .norm_after_attention = true, .norm_after_feed_forward = true}),
    .max_context = tokens(8192), .tied_head = true,
    .published = parameters(27'227'128'320)};

inline constexpr model gemma_3_1b{
    .name = "gemma-3-1b", .architecture = "gemma3_text",
    .vocabulary = 262144, .hidden = 1152,
    .layers = alternating(26, 6, {.attention = {.heads = 4, .kv_heads = 1, .head_dim = 256,
                                                .qk_norm = query_key_norm::shared, .window = tokens(512)},
                                  .feed_forward = {.width = 6912},
                                  .norm_after_attention = true, .norm_after_feed_forward = true}),
    .max_context = tokens(32768), .tied_head = true,
    .published = parameters(999'885'952)};


/// All of them.
inline constexpr std::array all_gemma{
    &gemma_2b, &gemma_7b, &gemma_2_2b, &gemma_2_9b, &gemma_2_27b, &gemma_3_1b};

}  // namespace llmres::models

// clang-format on
