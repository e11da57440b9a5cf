// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Encoders, and encoders with decoders.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
namespace llmres::inline v0::models {

inline constexpr model bert_base{
    .name = "bert-base", .architecture = "bert",
    .vocabulary = 30522, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(512), .tied_head = true, .final_norm = norm_kind::none, .weights = fp32,
    .published = parameters(109'482'240),
    .extras = {{{.role = weight_role::positions, .rows = 512, .columns = 768},
                {.role = weight_role::positions, .rows = 2, .columns = 768},
                {.role = weight_role::norm, .columns = 768, .copies = 2},
                {.role = weight_role::classifier, .part = model_part::output, .bias = true, .rows = 768,
                 .columns = 768}}},
    .extra_count = 4};

inline constexpr model bert_large{
    .name = "bert-large", .architecture = "bert",
    .vocabulary = 30522, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(512), .tied_head = true, .final_norm = norm_kind::none, .weights = fp32,
    .extras = {{{.role = weight_role::positions, .rows = 512, .columns = 1024},
                {.role = weight_role::positions, .rows = 2, .columns = 1024},
                {.role = weight_role::norm, .columns = 1024, .copies = 2},
                {.role = weight_role::classifier, .part = model_part::output, .bias = true, .rows = 1024,
                 .columns = 1024}}},
    .extra_count = 4};

inline constexpr model t5_small{
    .name = "t5-small", .architecture = "t5",
    .vocabulary = 32128, .hidden = 512,
    .layers = {6, {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 64, .cross = cross_attention::beside},
                   .feed_forward = {.kind = feed_forward_kind::plain, .width = 2048}}},
    .max_context = tokens(512), .tied_head = true, .weights = bf16,
    .published = parameters(60'506'624),
    .encoders = {{{.hidden = 512, .layers = 6,
                   .block = {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 64},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 2048}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 8},
                {.role = weight_role::norm, .columns = 512},
                {.role = weight_role::positions, .rows = 32, .columns = 8}}},
    .extra_count = 3};

inline constexpr model t5_base{
    .name = "t5-base", .architecture = "t5",
    .vocabulary = 32128, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072}}},
    .max_context = tokens(512), .tied_head = true, .weights = bf16,
    .published = parameters(222'903'552),
    .encoders = {{{.hidden = 768, .layers = 12,
                   .block = {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 12},
                {.role = weight_role::norm, .columns = 768},
                {.role = weight_role::positions, .rows = 32, .columns = 12}}},
    .extra_count = 3};

inline constexpr model t5_large{
    .name = "t5-large", .architecture = "t5",
    .vocabulary = 32128, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096}}},
    .max_context = tokens(512), .tied_head = true, .weights = bf16,
    .published = parameters(737'668'096),
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 16},
                {.role = weight_role::norm, .columns = 1024},
                {.role = weight_role::positions, .rows = 32, .columns = 16}}},
    .extra_count = 3};

inline constexpr model t5_11b{
    .name = "t5-11b", .architecture = "t5",
    .vocabulary = 32128, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 128, .kv_heads = 128, .head_dim = 128, .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 65536}}},
    .tied_head = true, .weights = bf16,
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 128, .kv_heads = 128, .head_dim = 128},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 65536}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 128},
                {.role = weight_role::norm, .columns = 1024},
                {.role = weight_role::positions, .rows = 32, .columns = 128}}},
    .extra_count = 3};

inline constexpr model flan_t5_base{
    .name = "flan-t5-base", .architecture = "t5",
    .vocabulary = 32128, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .cross = cross_attention::beside},
                    .feed_forward = {.width = 2048}}},
    .weights = bf16,
    .published = parameters(247'577'856),
    .encoders = {{{.hidden = 768, .layers = 12,
                   .block = {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64},
                             .feed_forward = {.width = 2048}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 12},
                {.role = weight_role::norm, .columns = 768},
                {.role = weight_role::positions, .rows = 32, .columns = 12}}},
    .extra_count = 3};

inline constexpr model flan_t5_xxl{
    .name = "flan-t5-xxl", .architecture = "t5",
    .vocabulary = 32128, .hidden = 4096,
    .layers = {24, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 64, .cross = cross_attention::beside},
                    .feed_forward = {.width = 10240}}},
    .weights = bf16,
    .published = parameters(11'135'332'352),
    .encoders = {{{.hidden = 4096, .layers = 24,
                   .block = {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 64},
                             .feed_forward = {.width = 10240}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 64},
                {.role = weight_role::norm, .columns = 4096},
                {.role = weight_role::positions, .rows = 32, .columns = 64}}},
    .extra_count = 3};

/// FLUX.1's second text encoder.
inline constexpr model t5_xxl_encoder{
    .name = "t5-xxl-encoder", .architecture = "t5",
    .vocabulary = 32128, .hidden = 4096,
    .layers = {24, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 64},
                    .feed_forward = {.width = 10240}}},
    .tied_head = true, .weights = bf16,
    .published = parameters(4'762'310'656),
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 64}}},
    .extra_count = 1};

inline constexpr model whisper_tiny{
    .name = "whisper-tiny", .architecture = "whisper",
    .vocabulary = 51865, .hidden = 384,
    .layers = {4, {.attention = {.heads = 6, .kv_heads = 6, .head_dim = 64, .qkv_bias = true, .output_bias = true,
                                 .keys = key_projection::unbiased, .cross = cross_attention::beside},
                   .feed_forward = {.kind = feed_forward_kind::plain, .width = 1536, .bias = true},
                   .norm = norm_kind::layer}},
    .max_context = tokens(448), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .encoders = {{{.hidden = 384, .layers = 4,
                   .block = {.attention = {.heads = 6, .kv_heads = 6, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true, .keys = key_projection::unbiased},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 1536, .bias = true},
                             .norm = norm_kind::layer}, .output = tokens(1500)}}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 384, .columns = 240},
                {.role = weight_role::conv, .bias = true, .rows = 384, .columns = 1152},
                {.role = weight_role::positions, .rows = 1500, .columns = 384},
                {.role = weight_role::positions, .rows = 448, .columns = 384},
                {.role = weight_role::norm, .columns = 384, .copies = 2}}},
    .extra_count = 5};

inline constexpr model whisper_base{
    .name = "whisper-base", .architecture = "whisper",
    .vocabulary = 51865, .hidden = 512,
    .layers = {6, {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 64, .qkv_bias = true, .output_bias = true,
                                 .keys = key_projection::unbiased, .cross = cross_attention::beside},
                   .feed_forward = {.kind = feed_forward_kind::plain, .width = 2048, .bias = true},
                   .norm = norm_kind::layer}},
    .max_context = tokens(448), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(72'593'920),
    .encoders = {{{.hidden = 512, .layers = 6,
                   .block = {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true, .keys = key_projection::unbiased},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 2048, .bias = true},
                             .norm = norm_kind::layer}, .output = tokens(1500)}}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 512, .columns = 240},
                {.role = weight_role::conv, .bias = true, .rows = 512, .columns = 1536},
                {.role = weight_role::positions, .rows = 1500, .columns = 512},
                {.role = weight_role::positions, .rows = 448, .columns = 512},
                {.role = weight_role::norm, .columns = 512, .copies = 2}}},
    .extra_count = 5};

inline constexpr model whisper_medium{
    .name = "whisper-medium", .architecture = "whisper",
    .vocabulary = 51865, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true,
                                  .output_bias = true, .keys = key_projection::unbiased,
                                  .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(448), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(763'857'920),
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true, .keys = key_projection::unbiased},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                             .norm = norm_kind::layer}, .output = tokens(1500)}}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 1024, .columns = 240},
                {.role = weight_role::conv, .bias = true, .rows = 1024, .columns = 3072},
                {.role = weight_role::positions, .rows = 1500, .columns = 1024},
                {.role = weight_role::positions, .rows = 448, .columns = 1024},
                {.role = weight_role::norm, .columns = 1024, .copies = 2}}},
    .extra_count = 5};

inline constexpr model whisper_large_v2{
    .name = "whisper-large-v2", .architecture = "whisper",
    .vocabulary = 51865, .hidden = 1280,
    .layers = {32, {.attention = {.heads = 20, .kv_heads = 20, .head_dim = 64, .qkv_bias = true,
                                  .output_bias = true, .keys = key_projection::unbiased,
                                  .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(448), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(1'543'304'960),
    .encoders = {{{.hidden = 1280, .layers = 32,
                   .block = {.attention = {.heads = 20, .kv_heads = 20, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true, .keys = key_projection::unbiased},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                             .norm = norm_kind::layer}, .output = tokens(1500)}}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 1280, .columns = 240},
                {.role = weight_role::conv, .bias = true, .rows = 1280, .columns = 3840},
                {.role = weight_role::positions, .rows = 1500, .columns = 1280},
                {.role = weight_role::positions, .rows = 448, .columns = 1280},
                {.role = weight_role::norm, .columns = 1280, .copies = 2}}},
    .extra_count = 5};

inline constexpr model whisper_large_v3{
    .name = "whisper-large-v3", .architecture = "whisper",
    .vocabulary = 51866, .hidden = 1280,
    .layers = {32, {.attention = {.heads = 20, .kv_heads = 20, .head_dim = 64, .qkv_bias = true,
                                  .output_bias = true, .keys = key_projection::unbiased,
                                  .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(448), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(1'543'490'560),
    .encoders = {{{.hidden = 1280, .layers = 32,
                   .block = {.attention = {.heads = 20, .kv_heads = 20, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true, .keys = key_projection::unbiased},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                             .norm = norm_kind::layer}, .output = tokens(1500)}}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 1280, .columns = 384},
                {.role = weight_role::conv, .bias = true, .rows = 1280, .columns = 3840},
                {.role = weight_role::positions, .rows = 1500, .columns = 1280},
                {.role = weight_role::positions, .rows = 448, .columns = 1280},
                {.role = weight_role::norm, .columns = 1280, .copies = 2}}},
    .extra_count = 5};

inline constexpr model vit_base_patch16_224{
    .name = "vit-base-patch16-224", .architecture = "vit",
    .vocabulary = 0, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(85'798'656),
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 768, .columns = 768},
                {.role = weight_role::positions, .rows = 198, .columns = 768}}},
    .extra_count = 2};

inline constexpr model clip_vit_large_patch14{
    .name = "clip-vit-large-patch14", .architecture = "clip",
    .vocabulary = 49408, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(77), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .output = tokens(256)}}},
    .extras = {{{.role = weight_role::positions, .rows = 77, .columns = 768},
                {.role = weight_role::conv, .rows = 1024, .columns = 588},
                {.role = weight_role::positions, .rows = 258, .columns = 1024},
                {.role = weight_role::norm, .columns = 1024, .copies = 2},
                {.role = weight_role::norm, .columns = 1024, .copies = 2},
                {.role = weight_role::projector, .rows = 768, .columns = 1024},
                {.role = weight_role::projector, .rows = 768, .columns = 768},
                {.role = weight_role::values}}},
    .extra_count = 8};

inline constexpr model siglip_so400m{
    .name = "siglip-so400m-patch14-384", .architecture = "siglip",
    .vocabulary = 32000, .hidden = 1152,
    .layers = {27, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 72, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4304, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(64), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp32,
    .encoders = {{{.hidden = 1152, .layers = 27,
                   .block = {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 72, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 4304, .bias = true},
                             .norm = norm_kind::layer},
                   .quantised = false, .output = tokens(729)}}},
    .extras = {{{.role = weight_role::positions, .rows = 64, .columns = 1152},
                {.role = weight_role::projector, .bias = true, .rows = 1152, .columns = 1152},
                {.role = weight_role::conv, .bias = true, .rows = 1152, .columns = 588},
                {.role = weight_role::positions, .rows = 729, .columns = 1152},
                {.role = weight_role::norm, .columns = 1152, .copies = 2},
                // attention that pools the image
                {.role = weight_role::positions, .columns = 1152},
                {.role = weight_role::projector, .bias = true, .rows = 4608, .columns = 1152},
                {.role = weight_role::projector, .bias = true, .rows = 4304, .columns = 1152},
                {.role = weight_role::projector, .bias = true, .rows = 1152, .columns = 4304},
                {.role = weight_role::norm, .columns = 1152, .copies = 2},
                {.role = weight_role::values, .columns = 2}}},
    .extra_count = 11};

inline constexpr model whisper_small{
    .name = "whisper-small", .architecture = "whisper",
    .vocabulary = 51865, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true,
                                  .output_bias = true, .keys = key_projection::unbiased,
                                  .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(448), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .encoders = {{{.hidden = 768, .layers = 12,
                   .block = {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true, .keys = key_projection::unbiased},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                             .norm = norm_kind::layer}, .output = tokens(1500)}}},
    .extras = {{{.role = weight_role::conv, .bias = true, .rows = 768, .columns = 240},
                {.role = weight_role::conv, .bias = true, .rows = 768, .columns = 2304},
                {.role = weight_role::positions, .rows = 1500, .columns = 768},
                {.role = weight_role::positions, .rows = 448, .columns = 768},
                {.role = weight_role::norm, .columns = 768, .copies = 2}}},
    .extra_count = 5};

inline constexpr model bart_base{
    .name = "bart-base", .architecture = "bart",
    .vocabulary = 50265, .hidden = 768,
    .layers = {6, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true,
                                 .output_bias = true, .cross = cross_attention::beside},
                   .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                   .norm = norm_kind::layer}},
    .max_context = tokens(1024), .tied_head = true, .final_norm = norm_kind::none, .weights = bf16,
    .encoders = {{{.hidden = 768, .layers = 6,
                   .block = {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true,
                                           .output_bias = true},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                             .norm = norm_kind::layer}}}},
    .extras = {{{.role = weight_role::positions, .rows = 1026, .columns = 768, .copies = 2},
                {.role = weight_role::norm, .columns = 768, .copies = 4}}},
    .extra_count = 2};

inline constexpr model roberta_base{
    .name = "roberta-base", .architecture = "roberta",
    .vocabulary = 50265, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(514), .tied_head = true, .final_norm = norm_kind::none, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 514, .columns = 768},
                {.role = weight_role::positions, .columns = 768},
                {.role = weight_role::norm, .columns = 768, .copies = 2},
                {.role = weight_role::classifier, .part = model_part::output, .bias = true, .rows = 768,
                 .columns = 768}}},
    .extra_count = 4};

inline constexpr model distilbert_base{
    .name = "distilbert-base", .architecture = "distilbert",
    .vocabulary = 30522, .hidden = 768,
    .layers = {6, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                   .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                   .norm = norm_kind::layer}},
    .max_context = tokens(512), .tied_head = true, .final_norm = norm_kind::none, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 512, .columns = 768},
                {.role = weight_role::norm, .columns = 768, .copies = 2}}},
    .extra_count = 2};

inline constexpr model t5_3b{
    .name = "t5-3b", .architecture = "t5",
    .vocabulary = 32128, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .cross = cross_attention::beside},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384}}},
    .tied_head = true, .weights = bf16,
    .encoders = {{{.hidden = 1024, .layers = 24,
                   .block = {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                             .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384}}}}},
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 32},
                {.role = weight_role::norm, .columns = 1024},
                {.role = weight_role::positions, .rows = 32, .columns = 32}}},
    .extra_count = 3};

/// All of them.
inline constexpr std::array all_encoders{
    &bert_base, &bert_large, &t5_small, &t5_base, &t5_large, &t5_11b, &flan_t5_base, &flan_t5_xxl, &t5_xxl_encoder,
    &whisper_tiny, &whisper_base, &whisper_medium, &whisper_large_v2, &whisper_large_v3, &vit_base_patch16_224,
    &clip_vit_large_patch14, &siglip_so400m, &whisper_small, &bart_base, &roberta_base, &distilbert_base, &t5_3b};

}  // namespace llmres::inline v0::models

// clang-format on
