// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Microsoft's Phi models.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model phi_1_5{
    .name = "phi-1.5", .architecture = "phi",
    .vocabulary = 51200, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 64, .rope_dim = 32, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 8192, .bias = true},
                    .norm = norm_kind::layer, .norm_before_feed_forward = false}},
    .max_context = tokens(2048), .head = {.bias = true}, .final_norm = norm_kind::layer, .weights = fp16};

inline constexpr model phi_2{
    .name = "phi-2", .architecture = "mixformer-sequential",
    .vocabulary = 51200, .hidden = 2560,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 80, .rope_dim = 32, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 10240, .bias = true},
                    .norm = norm_kind::layer, .norm_before_feed_forward = false}},
    .max_context = tokens(2048), .head = {.bias = true}, .final_norm = norm_kind::layer, .weights = fp32,
    .published = parameters(2'779'683'840)};

inline constexpr model phi_3_mini_4k{
    .name = "phi-3-mini-4k", .architecture = "phi3",
    .vocabulary = 32064, .hidden = 3072,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 96, .window = tokens(2047)},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(4096), .weights = bf16,
    .published = parameters(3'821'079'552)};

inline constexpr model phi_3_medium_4k{
    .name = "phi-3-medium-4k", .architecture = "phi3",
    .vocabulary = 32064, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 10, .head_dim = 128, .window = tokens(2047)},
                    .feed_forward = {.width = 17920}}},
    .max_context = tokens(4096), .weights = bf16};

inline constexpr model phi_3_5_mini{
    .name = "phi-3.5-mini", .architecture = "phi3",
    .vocabulary = 32064, .hidden = 3072,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 96, .window = tokens(262144)},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(131072), .rope = {2, 48}, .weights = bf16};

inline constexpr model phi_3_5_moe{
    .name = "phi-3.5-moe", .architecture = "phimoe",
    .vocabulary = 32064, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true, .window = tokens(131072)},
                    .feed_forward = {.experts = {.count = 16, .per_token = 2, .width = 6400}},
                    .norm = norm_kind::layer}},
    .max_context = tokens(131072), .rope = {2, 64}, .head = {.bias = true},
    .final_norm = norm_kind::layer, .weights = bf16};

inline constexpr model phi_4{
    .name = "phi-4", .architecture = "phi3",
    .vocabulary = 100352, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 10, .head_dim = 128},
                    .feed_forward = {.width = 17920}}},
    .max_context = tokens(16384), .weights = bf16};

inline constexpr model phi_4_mini{
    .name = "phi-4-mini", .architecture = "phi3",
    .vocabulary = 200064, .hidden = 3072,
    .layers = {32, {.attention = {.heads = 24, .kv_heads = 8, .head_dim = 128, .window = tokens(262144)},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(131072), .rope = {2, 48}, .tied_head = true, .weights = bf16,
    .published = parameters(3'836'021'760)};

inline constexpr model phi_3_5_vision{
    .name = "phi-3.5-vision", .architecture = "phi3_v",
    .vocabulary = 32064, .hidden = 3072,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 96, .window = tokens(262144)},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(131072), .rope = {2, 48}, .weights = bf16,
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
                {.role = weight_role::projector, .bias = true, .rows = 3072, .columns = 4096},
                {.role = weight_role::projector, .bias = true, .rows = 3072, .columns = 3072},
                {.role = weight_role::positions, .rows = 2, .columns = 4096}}},
    .extra_count = 7};

/// All of them.
inline constexpr std::array all_phi{
    &phi_1_5, &phi_2, &phi_3_mini_4k, &phi_3_medium_4k, &phi_3_5_mini, &phi_3_5_moe, &phi_4, &phi_4_mini,
    &phi_3_5_vision};

}  // namespace llmres::inline v0::models

// clang-format on
