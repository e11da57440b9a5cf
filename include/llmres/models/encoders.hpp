// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
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
    .max_context = tokens(512), .tied_head = true, .head = {.kind = head_kind::encoder},
    .final_norm = norm_kind::none, .weights = fp32,
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
    .max_context = tokens(512), .tied_head = true, .head = {.kind = head_kind::encoder},
    .final_norm = norm_kind::none, .weights = fp32,
    .extras = {{{.role = weight_role::positions, .rows = 512, .columns = 1024},
                {.role = weight_role::positions, .rows = 2, .columns = 1024},
                {.role = weight_role::norm, .columns = 1024, .copies = 2},
                {.role = weight_role::classifier, .part = model_part::output, .bias = true, .rows = 1024,
                 .columns = 1024}}},
    .extra_count = 4};

/// T5: the encoder's layers are the decoder's without cross-attention. Both have a table of 32 relative positions for
/// each head.
constexpr model with_t5_encoder(model m) {
    layer& decoding = m.layers.kinds[0];
    m.encoders[0] = {.hidden = m.hidden, .layers = m.layers.size, .block = decoding};
    decoding.attention.cross = cross_attention::beside;
    m.add({.role = weight_role::positions, .rows = 32, .columns = decoding.attention.heads});
    m.add({.role = weight_role::norm, .columns = m.hidden});
    m.add({.role = weight_role::positions, .rows = 32, .columns = decoding.attention.heads});
    return m;
}

inline constexpr model t5_small = with_t5_encoder({
    .name = "t5-small", .architecture = "t5",
    .vocabulary = 32128, .hidden = 512,
    .layers = {6, {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 64},
                   .feed_forward = {.kind = feed_forward_kind::plain, .width = 2048}}},
    .max_context = tokens(512), .tied_head = true, .weights = bf16,
    .published = parameters(60'506'624)});

inline constexpr model t5_base = with_t5_encoder({
    .name = "t5-base", .architecture = "t5",
    .vocabulary = 32128, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072}}},
    .max_context = tokens(512), .tied_head = true, .weights = bf16,
    .published = parameters(222'903'552)});

inline constexpr model t5_large = with_t5_encoder({
    .name = "t5-large", .architecture = "t5",
    .vocabulary = 32128, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096}}},
    .max_context = tokens(512), .tied_head = true, .weights = bf16,
    .published = parameters(737'668'096)});

inline constexpr model t5_11b = with_t5_encoder({
    .name = "t5-11b", .architecture = "t5",
    .vocabulary = 32128, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 128, .kv_heads = 128, .head_dim = 128},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 65536}}},
    .tied_head = true, .weights = bf16});

inline constexpr model flan_t5_base = with_t5_encoder({
    .name = "flan-t5-base", .architecture = "t5",
    .vocabulary = 32128, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64},
                    .feed_forward = {.width = 2048}}},
    .weights = bf16,
    .published = parameters(247'577'856)});

inline constexpr model flan_t5_xxl = with_t5_encoder({
    .name = "flan-t5-xxl", .architecture = "t5",
    .vocabulary = 32128, .hidden = 4096,
    .layers = {24, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 64},
                    .feed_forward = {.width = 10240}}},
    .weights = bf16,
    .published = parameters(11'135'332'352)});

/// FLUX.1's second text encoder.
inline constexpr model t5_xxl_encoder{
    .name = "t5-xxl-encoder", .architecture = "t5",
    .vocabulary = 32128, .hidden = 4096,
    .layers = {24, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 64},
                    .feed_forward = {.width = 10240}}},
    .tied_head = true, .head = {.kind = head_kind::encoder}, .weights = bf16,
    .published = parameters(4'762'310'656),
    .extras = {{{.role = weight_role::positions, .rows = 32, .columns = 64}}},
    .extra_count = 1};

/// Whisper: heads of 64 features, as many layers in the encoder as in the decoder. The encoder reads 1500 positions,
/// which two convolutions over three of them make of so many bands of a spectrogram.
constexpr model whisper(model m, std::int32_t layers, std::int64_t bands = 80) {
    layer block{.attention = {.heads = m.hidden / 64, .kv_heads = m.hidden / 64, .head_dim = 64, .qkv_bias = true,
                              .output_bias = true, .keys = key_projection::unbiased},
                .feed_forward = {.kind = feed_forward_kind::plain, .width = 4 * m.hidden, .bias = true},
                .norm = norm_kind::layer};
    m.encoders[0] = {.hidden = m.hidden, .layers = layers, .block = block, .output = tokens(1500)};
    block.attention.cross = cross_attention::beside;
    m.architecture = "whisper";
    m.layers = {layers, block};
    m.max_context = tokens(448);
    m.tied_head = true;
    m.final_norm = norm_kind::layer;
    m.weights = bf16;
    m.add({.role = weight_role::conv, .bias = true, .rows = m.hidden, .columns = 3 * bands});
    m.add({.role = weight_role::conv, .bias = true, .rows = m.hidden, .columns = 3 * m.hidden});
    m.add({.role = weight_role::positions, .rows = 1500, .columns = m.hidden});
    m.add({.role = weight_role::positions, .rows = 448, .columns = m.hidden});
    m.add({.role = weight_role::norm, .columns = m.hidden, .copies = 2});
    return m;
}

inline constexpr model whisper_tiny = whisper({.name = "whisper-tiny", .vocabulary = 51865, .hidden = 384}, 4);
inline constexpr model whisper_base = whisper(
    {.name = "whisper-base", .vocabulary = 51865, .hidden = 512, .published = parameters(72'593'920)}, 6);
inline constexpr model whisper_small = whisper({.name = "whisper-small", .vocabulary = 51865, .hidden = 768}, 12);
inline constexpr model whisper_medium = whisper(
    {.name = "whisper-medium", .vocabulary = 51865, .hidden = 1024, .published = parameters(763'857'920)}, 24);
inline constexpr model whisper_large_v2 = whisper(
    {.name = "whisper-large-v2", .vocabulary = 51865, .hidden = 1280, .published = parameters(1'543'304'960)}, 32);
inline constexpr model whisper_large_v3 = whisper(
    {.name = "whisper-large-v3", .vocabulary = 51866, .hidden = 1280, .published = parameters(1'543'490'560)}, 32, 128);

inline constexpr model vit_base_patch16_224{
    .name = "vit-base-patch16-224", .architecture = "vit",
    .vocabulary = 0, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .tied_head = true, .head = {.kind = head_kind::encoder}, .final_norm = norm_kind::layer, .weights = bf16,
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
    .max_context = tokens(77), .tied_head = true, .head = {.kind = head_kind::encoder},
    .final_norm = norm_kind::layer, .weights = bf16,
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
    .max_context = tokens(64), .tied_head = true, .head = {.kind = head_kind::encoder},
    .final_norm = norm_kind::layer, .weights = fp32,
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
    .max_context = tokens(512), .tied_head = true, .head = {.kind = head_kind::encoder},
    .final_norm = norm_kind::none, .weights = fp32,
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
    .max_context = tokens(512), .tied_head = true, .head = {.kind = head_kind::encoder},
    .final_norm = norm_kind::none, .weights = fp32,
    .extras = {{{.role = weight_role::positions, .rows = 512, .columns = 768},
                {.role = weight_role::norm, .columns = 768, .copies = 2}}},
    .extra_count = 2};

inline constexpr model t5_3b = with_t5_encoder({
    .name = "t5-3b", .architecture = "t5",
    .vocabulary = 32128, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384}}},
    .tied_head = true, .weights = bf16});

/// All of them.
inline constexpr std::array all_encoders{
    &bert_base, &bert_large, &t5_small, &t5_base, &t5_large, &t5_11b, &flan_t5_base, &flan_t5_xxl, &t5_xxl_encoder,
    &whisper_tiny, &whisper_base, &whisper_medium, &whisper_large_v2, &whisper_large_v3, &vit_base_patch16_224,
    &clip_vit_large_patch14, &siglip_so400m, &whisper_small, &bart_base, &roberta_base, &distilbert_base, &t5_3b};

}  // namespace llmres::inline v0::models

// clang-format on
