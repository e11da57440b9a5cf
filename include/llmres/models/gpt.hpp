// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// OpenAI's models, and those that descend from GPT-2.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
/// As litgpt 0.5.13 lists shapes (litgpt/config.py): those of Falcon3 and of five sizes of Pythia.
namespace llmres::inline v0::models {

inline constexpr model gpt2{
    .name = "gpt2", .architecture = "gpt2",
    .vocabulary = 50257, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(1024), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(124'439'808),
    .extras = {{{.role = weight_role::positions, .rows = 1024, .columns = 768}}},
    .extra_count = 1};

inline constexpr model gpt2_medium{
    .name = "gpt2-medium", .architecture = "gpt2",
    .vocabulary = 50257, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(1024), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(354'823'168),
    .extras = {{{.role = weight_role::positions, .rows = 1024, .columns = 1024}}},
    .extra_count = 1};

inline constexpr model gpt2_large{
    .name = "gpt2-large", .architecture = "gpt2",
    .vocabulary = 50257, .hidden = 1280,
    .layers = {36, {.attention = {.heads = 20, .kv_heads = 20, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 5120, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(1024), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 1024, .columns = 1280}}},
    .extra_count = 1};

inline constexpr model gpt2_xl{
    .name = "gpt2-xl", .architecture = "gpt2",
    .vocabulary = 50257, .hidden = 1600,
    .layers = {48, {.attention = {.heads = 25, .kv_heads = 25, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 6400, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(1024), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(1'557'611'200),
    .extras = {{{.role = weight_role::positions, .rows = 1024, .columns = 1600}}},
    .extra_count = 1};

/// The shape of the paper (arXiv 2005.14165, table 2.1); no weights were published.
inline constexpr model gpt3_175b{
    .name = "gpt3-175b", .architecture = "gpt2",
    .vocabulary = 50257, .hidden = 12288,
    .layers = {96, {.attention = {.heads = 96, .kv_heads = 96, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 49152, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 2048, .columns = 12288}}},
    .extra_count = 1};

inline constexpr model gpt_oss_20b{
    .name = "gpt-oss-20b", .architecture = "gpt_oss",
    .vocabulary = 201088, .hidden = 2880,
    .layers = in_order("ab", {
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 64, .qkv_bias = true, .output_bias = true,
                            .window = tokens(128), .sinks = true},
              .feed_forward = {.bias = true, .experts = {.count = 32, .per_token = 4, .width = 2880,
                                                         .router_bias = true}},
              .quantised = quantised_part::experts},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 64, .qkv_bias = true, .output_bias = true,
                            .sinks = true},
              .feed_forward = {.bias = true, .experts = {.count = 32, .per_token = 4, .width = 2880,
                                                         .router_bias = true}},
              .quantised = quantised_part::experts}}, 24),
    .max_context = tokens(131072), .weights = mxfp4,
    .published = parameters(20'914'757'184)};

inline constexpr model gpt_oss_120b{
    .name = "gpt-oss-120b", .architecture = "gpt_oss",
    .vocabulary = 201088, .hidden = 2880,
    .layers = in_order("ab", {
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 64, .qkv_bias = true, .output_bias = true,
                            .window = tokens(128), .sinks = true},
              .feed_forward = {.bias = true, .experts = {.count = 128, .per_token = 4, .width = 2880,
                                                         .router_bias = true}},
              .quantised = quantised_part::experts},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 64, .qkv_bias = true, .output_bias = true,
                            .sinks = true},
              .feed_forward = {.bias = true, .experts = {.count = 128, .per_token = 4, .width = 2880,
                                                         .router_bias = true}},
              .quantised = quantised_part::experts}}, 36),
    .max_context = tokens(131072), .weights = mxfp4};

inline constexpr model gpt_j_6b{
    .name = "gpt-j-6b", .architecture = "gptj",
    .vocabulary = 50400, .hidden = 4096,
    .layers = {28, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 256, .rope_dim = 64},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384, .bias = true},
                    .norm = norm_kind::layer, .norm_before_feed_forward = false}},
    .max_context = tokens(2048), .head = {.bias = true}, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(6'050'882'784)};

inline constexpr model gpt_neox_20b{
    .name = "gpt-neox-20b", .architecture = "gpt_neox",
    .vocabulary = 50432, .hidden = 6144,
    .layers = {44, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 96, .rope_dim = 24, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 24576, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(20'554'567'680)};

inline constexpr model pythia_70m{
    .name = "pythia-70m", .architecture = "gpt_neox",
    .vocabulary = 50304, .hidden = 512,
    .layers = {6, {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 64, .rope_dim = 16, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 2048, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(70'426'624)};

inline constexpr model pythia_160m{
    .name = "pythia-160m", .architecture = "gpt_neox",
    .vocabulary = 50304, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .rope_dim = 16, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(162'322'944)};

inline constexpr model pythia_410m{
    .name = "pythia-410m", .architecture = "gpt_neox",
    .vocabulary = 50304, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .rope_dim = 16, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(405'334'016)};

inline constexpr model pythia_1b{
    .name = "pythia-1b", .architecture = "gpt_neox",
    .vocabulary = 50304, .hidden = 2048,
    .layers = {16, {.attention = {.heads = 8, .kv_heads = 8, .head_dim = 256, .rope_dim = 64, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 8192, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(1'011'781'632)};

inline constexpr model pythia_1_4b{
    .name = "pythia-1.4b", .architecture = "gpt_neox",
    .vocabulary = 50304, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128, .rope_dim = 32, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 8192, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(1'414'647'808)};

inline constexpr model pythia_2_8b{
    .name = "pythia-2.8b", .architecture = "gpt_neox",
    .vocabulary = 50304, .hidden = 2560,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 80, .rope_dim = 20, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 10240, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(2'775'208'960)};

inline constexpr model pythia_6_9b{
    .name = "pythia-6.9b", .architecture = "gpt_neox",
    .vocabulary = 50432, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .rope_dim = 32, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(6'857'302'016)};

inline constexpr model pythia_12b{
    .name = "pythia-12b", .architecture = "gpt_neox",
    .vocabulary = 50688, .hidden = 5120,
    .layers = {36, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128, .rope_dim = 32, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 20480, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(11'846'072'320)};

inline constexpr model redpajama_incite_7b{
    .name = "redpajama-incite-7b", .architecture = "gpt_neox",
    .vocabulary = 50432, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(6'857'302'016)};

inline constexpr model bloom_560m{
    .name = "bloom-560m", .architecture = "bloom",
    .vocabulary = 250880, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(559'214'592),
    .extras = {{{.role = weight_role::norm, .columns = 1024, .copies = 2}}},
    .extra_count = 1};

inline constexpr model bloom_1b1{
    .name = "bloom-1b1", .architecture = "bloom",
    .vocabulary = 250880, .hidden = 1536,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 96, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 6144, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(1'065'314'304),
    .extras = {{{.role = weight_role::norm, .columns = 1536, .copies = 2}}},
    .extra_count = 1};

inline constexpr model bloom_7b1{
    .name = "bloom-7b1", .architecture = "bloom",
    .vocabulary = 250880, .hidden = 4096,
    .layers = {30, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp16,
    .published = parameters(7'069'016'064),
    .extras = {{{.role = weight_role::norm, .columns = 4096, .copies = 2}}},
    .extra_count = 1};

inline constexpr model bloom_176b{
    .name = "bloom-176b", .architecture = "bloom",
    .vocabulary = 250880, .hidden = 14336,
    .layers = {70, {.attention = {.heads = 112, .kv_heads = 112, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 57344, .bias = true},
                    .norm = norm_kind::layer}},
    .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(176'247'271'424),
    .extras = {{{.role = weight_role::norm, .columns = 14336, .copies = 2}}},
    .extra_count = 1};

inline constexpr model opt_125m{
    .name = "opt-125m", .architecture = "opt",
    .vocabulary = 50272, .hidden = 768,
    .layers = {12, {.attention = {.heads = 12, .kv_heads = 12, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 3072, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 768}}},
    .extra_count = 1};

inline constexpr model opt_350m{
    .name = "opt-350m", .architecture = "opt",
    .vocabulary = 50272, .hidden = 1024,
    .layers = {24, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 4096, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::none, .embedding_width = 512,
     .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 1024}}},
    .extra_count = 1};

inline constexpr model opt_1_3b{
    .name = "opt-1.3b", .architecture = "opt",
    .vocabulary = 50272, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 64, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 8192, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 2048}}},
    .extra_count = 1};

inline constexpr model opt_6_7b{
    .name = "opt-6.7b", .architecture = "opt",
    .vocabulary = 50272, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 4096}}},
    .extra_count = 1};

inline constexpr model opt_13b{
    .name = "opt-13b", .architecture = "opt",
    .vocabulary = 50272, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 20480, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 5120}}},
    .extra_count = 1};

inline constexpr model opt_30b{
    .name = "opt-30b", .architecture = "opt",
    .vocabulary = 50272, .hidden = 7168,
    .layers = {48, {.attention = {.heads = 56, .kv_heads = 56, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 28672, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 7168}}},
    .extra_count = 1};

inline constexpr model opt_66b{
    .name = "opt-66b", .architecture = "opt",
    .vocabulary = 50272, .hidden = 9216,
    .layers = {64, {.attention = {.heads = 72, .kv_heads = 72, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 36864, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer, .weights = fp16,
    .extras = {{{.role = weight_role::positions, .rows = 2050, .columns = 9216}}},
    .extra_count = 1};

inline constexpr model falcon_7b{
    .name = "falcon-7b", .architecture = "falcon",
    .vocabulary = 65024, .hidden = 4544,
    .layers = {32, {.attention = {.heads = 71, .kv_heads = 1, .head_dim = 64},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 18176},
                    .norm = norm_kind::layer, .norm_before_feed_forward = false}},
    .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16};

inline constexpr model falcon_40b{
    .name = "falcon-40b", .architecture = "RefinedWeb",
    .vocabulary = 65024, .hidden = 8192,
    .layers = {60, {.attention = {.heads = 128, .kv_heads = 8, .head_dim = 64},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 32768},
                    .norm = norm_kind::layer}},
    .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16,
    .published = parameters(41'303'293'952)};

inline constexpr model falcon_180b{
    .name = "falcon-180b", .architecture = "falcon",
    .vocabulary = 65024, .hidden = 14848,
    .layers = {80, {.attention = {.heads = 232, .kv_heads = 8, .head_dim = 64},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 59392},
                    .norm = norm_kind::layer}},
    .final_norm = norm_kind::layer, .weights = bf16};

inline constexpr model falcon3_1b{
    .name = "falcon3-1b", .architecture = "llama",
    .vocabulary = 131072, .hidden = 2048,
    .layers = {18, {.attention = {.heads = 8, .kv_heads = 4, .head_dim = 256},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(4096), .weights = bf16};

inline constexpr model falcon3_3b{
    .name = "falcon3-3b", .architecture = "llama",
    .vocabulary = 131072, .hidden = 3072,
    .layers = {22, {.attention = {.heads = 12, .kv_heads = 4, .head_dim = 256},
                    .feed_forward = {.width = 9216}}},
    .max_context = tokens(32768), .weights = bf16};

inline constexpr model falcon3_7b{
    .name = "falcon3-7b", .architecture = "llama",
    .vocabulary = 131072, .hidden = 3072,
    .layers = {28, {.attention = {.heads = 12, .kv_heads = 4, .head_dim = 256},
                    .feed_forward = {.width = 23040}}},
    .max_context = tokens(32768), .weights = bf16};

inline constexpr model falcon3_10b{
    .name = "falcon3-10b", .architecture = "llama",
    .vocabulary = 131072, .hidden = 3072,
    .layers = {40, {.attention = {.heads = 12, .kv_heads = 4, .head_dim = 256},
                    .feed_forward = {.width = 23040}}},
    .max_context = tokens(32768), .weights = bf16};

inline constexpr model mpt_7b{
    .name = "mpt-7b", .architecture = "mpt",
    .vocabulary = 50432, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 16384},
                    .norm = norm_kind::layer_without_bias}},
    .max_context = tokens(2048), .tied_head = true, .final_norm = norm_kind::layer_without_bias, .weights = bf16,
    .published = parameters(6'649'286'656)};

inline constexpr model starcoder2_7b{
    .name = "starcoder2-7b", .architecture = "starcoder2",
    .vocabulary = 49152, .hidden = 4608,
    .layers = {32, {.attention = {.heads = 36, .kv_heads = 4, .head_dim = 128, .qkv_bias = true,
                                  .output_bias = true, .window = tokens(4096)},
                    .feed_forward = {.kind = feed_forward_kind::plain, .width = 18432, .bias = true},
                    .norm = norm_kind::layer}},
    .max_context = tokens(16384), .tied_head = true, .final_norm = norm_kind::layer, .weights = bf16};

/// All of them.
inline constexpr std::array all_gpt{
    &gpt2, &gpt2_medium, &gpt2_large, &gpt2_xl, &gpt3_175b, &gpt_oss_20b, &gpt_oss_120b, &gpt_j_6b, &gpt_neox_20b,
    &pythia_70m, &pythia_160m, &pythia_410m, &pythia_1b, &pythia_1_4b, &pythia_2_8b, &pythia_6_9b, &pythia_12b,
    &redpajama_incite_7b, &bloom_560m, &bloom_1b1, &bloom_7b1, &bloom_176b, &opt_125m, &opt_350m, &opt_1_3b,
    &opt_6_7b, &opt_13b, &opt_30b, &opt_66b, &falcon_7b, &falcon_40b, &falcon_180b, &falcon3_1b, &falcon3_3b,
    &falcon3_7b, &falcon3_10b, &mpt_7b, &starcoder2_7b};

}  // namespace llmres::inline v0::models

// clang-format on
