// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Mistral AI's models.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model mistral_7b_v0_1{
    .name = "mistral-7b-v0.1", .architecture = "mistral",
    .vocabulary = 32000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .window = tokens(4096)},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(32768), .weights = bf16,
    .published = parameters(7'241'732'096)};

inline constexpr model mistral_7b_v0_3{
    .name = "mistral-7b-v0.3", .architecture = "mistral",
    .vocabulary = 32768, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(32768), .weights = bf16,
    .published = parameters(7'248'023'552)};

inline constexpr model mistral_nemo_12b{
    .name = "mistral-nemo-12b", .architecture = "mistral",
    .vocabulary = 131072, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(131072), .weights = bf16};

/// Nvidia's pruned Mistral NeMo.
inline constexpr model mistral_nemo_minitron_8b{
    .name = "mistral-nemo-minitron-8b", .architecture = "mistral",
    .vocabulary = 131072, .hidden = 4096,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 11520}}},
    .max_context = tokens(8192), .weights = bf16};

inline constexpr model mistral_small_22b{
    .name = "mistral-small-22b", .architecture = "mistral",
    .vocabulary = 32768, .hidden = 6144,
    .layers = {56, {.attention = {.heads = 48, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 16384}}},
    .max_context = tokens(32768), .weights = bf16};

inline constexpr model mistral_small_24b{
    .name = "mistral-small-24b", .architecture = "mistral",
    .vocabulary = 131072, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 32768}}},
    .max_context = tokens(32768), .weights = bf16,
    .published = parameters(23'572'403'200)};

inline constexpr model mistral_small_3_1_24b{
    .name = "mistral-small-3.1-24b", .architecture = "mistral3",
    .vocabulary = 131072, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 32768}}},
    .max_context = tokens(131072), .weights = bf16,
    .published = parameters(24'011'361'280),
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64},
                             .feed_forward = {.width = 4096}},
                   .quantised = false, .image_patches = tokens(12100), .image_tokens = tokens(3080),
                   .resize = image_resize::to_edge}}},
    .extras = {{{.role = weight_role::conv, .rows = 1024, .columns = 588},
                {.role = weight_role::norm, .columns = 1024},
                {.role = weight_role::norm, .columns = 1024},
                {.role = weight_role::projector, .rows = 1024, .columns = 4096},
                {.role = weight_role::projector, .rows = 5120, .columns = 1024},
                {.role = weight_role::projector, .rows = 5120, .columns = 5120}}},
    .extra_count = 6};

inline constexpr model mistral_large_123b{
    .name = "mistral-large-123b", .architecture = "mistral",
    .vocabulary = 32768, .hidden = 12288,
    .layers = {88, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 28672}}},
    .max_context = tokens(131072), .weights = bf16};

inline constexpr model mixtral_8x7b{
    .name = "mixtral-8x7b", .architecture = "mixtral",
    .vocabulary = 32000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 14336}}}},
    .max_context = tokens(32768), .weights = bf16,
    .published = parameters(46'702'792'704)};

inline constexpr model mixtral_8x22b{
    .name = "mixtral-8x22b", .architecture = "mixtral",
    .vocabulary = 32000, .hidden = 6144,
    .layers = {56, {.attention = {.heads = 48, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 16384}}}},
    .max_context = tokens(65536), .weights = bf16};

inline constexpr model codestral_mamba_7b{
    .name = "codestral-mamba-7b", .architecture = "mamba2",
    .vocabulary = 32768, .hidden = 4096,
    .layers = {64, {.attention = no_attention,
                    .recurrent = {.kind = recurrent_kind::mamba2, .heads = 128, .head_dim = 64, .key_heads = 8,
                                  .state = 128, .kernel = 4, .conv_bias = true},
                    .feed_forward = no_feed_forward,
                    .norm_before_feed_forward = false}},
    .weights = bf16};

/// All of them.
inline constexpr std::array all_mistral{
    &mistral_7b_v0_1, &mistral_7b_v0_3, &mistral_nemo_12b, &mistral_nemo_minitron_8b, &mistral_small_22b,
    &mistral_small_24b,
    &mistral_small_3_1_24b, &mistral_large_123b, &mixtral_8x7b, &mixtral_8x22b, &codestral_mamba_7b};

}  // namespace llmres::inline v0::models

// clang-format on
