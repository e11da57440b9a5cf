// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/models/model.hpp>

// A model is laid out as its config.json.
// clang-format off

/// Models of other publishers, one or two of each.
/// Shapes are those of the published config.json files. `published` is the total of the checkpoint that the Hub or the
/// publisher gives; where it is left out, only our own count is known.
/// As litgpt 0.5.13 lists shapes (litgpt/config.py): that of OLMo 2 13B.
namespace llmres::inline v0::models {

inline constexpr model baichuan2_7b{
    .name = "baichuan2-7b", .architecture = "baichuan",
    .vocabulary = 125696, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                    .feed_forward = {.width = 11008}}},
    .max_context = tokens(4096), .weights = bf16};

inline constexpr model internlm_20b{
    .name = "internlm-20b", .architecture = "llama",
    .vocabulary = 103168, .hidden = 5120,
    .layers = {60, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128},
                    .feed_forward = {.width = 13824}}},
    .max_context = tokens(4096), .weights = bf16,
    .published = parameters(20'088'714'240)};

inline constexpr model internlm2_5_7b{
    .name = "internlm2.5-7b", .architecture = "internlm2",
    .vocabulary = 92544, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336}}},
    .max_context = tokens(32768), .weights = bf16,
    .published = parameters(7'737'708'544)};

inline constexpr model aya_23_8b{
    .name = "aya-23-8b", .architecture = "cohere",
    .vocabulary = 256000, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 14336},
                    .norm = norm_kind::layer_without_bias, .norm_before_feed_forward = false}},
    .max_context = tokens(8192), .tied_head = true, .final_norm = norm_kind::layer_without_bias, .weights = fp16,
    .published = parameters(8'028'033'024)};

inline constexpr model command_r{
    .name = "command-r", .architecture = "cohere",
    .vocabulary = 256000, .hidden = 8192,
    .layers = {40, {.attention = {.heads = 64, .kv_heads = 64, .head_dim = 128},
                    .feed_forward = {.width = 22528},
                    .norm = norm_kind::layer_without_bias, .norm_before_feed_forward = false}},
    .tied_head = true, .final_norm = norm_kind::layer_without_bias, .weights = bf16};

inline constexpr model command_r_plus{
    .name = "command-r-plus", .architecture = "cohere",
    .vocabulary = 256000, .hidden = 12288,
    .layers = {64, {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::full},
                    .feed_forward = {.width = 33792},
                    .norm = norm_kind::layer_without_bias, .norm_before_feed_forward = false}},
    .tied_head = true, .final_norm = norm_kind::layer_without_bias, .weights = bf16};

inline constexpr model dbrx{
    .name = "dbrx", .architecture = "dbrx",
    .vocabulary = 100352, .hidden = 6144,
    .layers = {40, {.attention = {.heads = 48, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.experts = {.count = 16, .per_token = 4, .width = 10752}},
                    .norm = norm_kind::layer_without_bias}},
    .max_context = tokens(32768), .final_norm = norm_kind::layer_without_bias, .weights = bf16};

inline constexpr model grok_1{
    .name = "grok-1", .architecture = "grok-1",
    .vocabulary = 131072, .hidden = 6144,
    .layers = {64, {.attention = {.heads = 48, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.experts = {.count = 8, .per_token = 2, .width = 32768}},
                    .norm_after_attention = true, .norm_after_feed_forward = true}},
    .max_context = tokens(8192), .tied_head = true, .weights = bf16};

inline constexpr model olmo_2_7b{
    .name = "olmo-2-7b", .architecture = "olmo2",
    .vocabulary = 100352, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 128, .qk_norm = query_key_norm::full},
                    .feed_forward = {.width = 11008},
                    .norm_before_attention = false, .norm_after_attention = true,
                     .norm_before_feed_forward = false, .norm_after_feed_forward = true}},
    .max_context = tokens(4096), .weights = fp32,
    .published = parameters(7'298'617'344)};

inline constexpr model olmo_2_13b{
    .name = "olmo-2-13b", .architecture = "olmo2",
    .vocabulary = 100352, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 40, .kv_heads = 40, .head_dim = 128, .qk_norm = query_key_norm::full},
                    .feed_forward = {.width = 13824},
                    .norm_before_attention = false, .norm_after_attention = true,
                     .norm_before_feed_forward = false, .norm_after_feed_forward = true}},
    .max_context = tokens(4096), .weights = fp32};

inline constexpr model olmo_2_32b{
    .name = "olmo-2-32b", .architecture = "olmo2",
    .vocabulary = 100352, .hidden = 5120,
    .layers = {64, {.attention = {.heads = 40, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::full},
                    .feed_forward = {.width = 27648},
                    .norm_before_attention = false, .norm_after_attention = true,
                     .norm_before_feed_forward = false, .norm_after_feed_forward = true}},
    .max_context = tokens(4096), .weights = fp32};

inline constexpr model granite_3b_code{
    .name = "granite-3b-code", .architecture = "llama",
    .vocabulary = 49152, .hidden = 2560,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 80, .qkv_bias = true, .output_bias = true},
                    .feed_forward = {.width = 10240, .bias = true}}},
    .max_context = tokens(128000), .tied_head = true, .weights = bf16,
    .published = parameters(3'482'503'680)};

inline constexpr model granite_3_0_2b{
    .name = "granite-3.0-2b", .architecture = "granite",
    .vocabulary = 49155, .hidden = 2048,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 64},
                    .feed_forward = {.width = 8192}}},
    .max_context = tokens(4096), .tied_head = true, .weights = bf16};

inline constexpr model granite_3_3_8b{
    .name = "granite-3.3-8b", .architecture = "granite",
    .vocabulary = 49159, .hidden = 4096,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
                    .feed_forward = {.width = 12800}}},
    .max_context = tokens(131072), .tied_head = true, .weights = bf16,
    .published = parameters(8'170'864'640)};

inline constexpr model granite_4_0_h_small{
    .name = "granite-4.0-h-small", .architecture = "granitemoehybrid",
    .vocabulary = 100352, .hidden = 4096,
    .layers = in_order("aaaaabaaaa", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba2, .heads = 128, .head_dim = 64, .key_heads = 1,
                            .state = 128, .kernel = 4, .conv_bias = true},
              .feed_forward = {.width = 1536, .experts = {.count = 72, .per_token = 10, .width = 768,
                                                          .shared_width = 1536}}},
        layer{.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 1536, .experts = {.count = 72, .per_token = 10, .width = 768,
                                                          .shared_width = 1536}}}}, 40),
    .max_context = tokens(131072), .tied_head = true, .weights = bf16,
    .published = parameters(32'207'337'984)};

inline constexpr model stablelm_2_1_6b{
    .name = "stablelm-2-1.6b", .architecture = "stablelm",
    .vocabulary = 100352, .hidden = 2048,
    .layers = {24, {.attention = {.heads = 32, .kv_heads = 32, .head_dim = 64, .rope_dim = 16, .qkv_bias = true},
                    .feed_forward = {.width = 5632},
                    .norm = norm_kind::layer}},
    .max_context = tokens(4096), .final_norm = norm_kind::layer, .weights = fp16};

inline constexpr model stablelm_2_12b{
    .name = "stablelm-2-12b", .architecture = "stablelm",
    .vocabulary = 100352, .hidden = 5120,
    .layers = {40, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 160, .rope_dim = 40,
                                  .qk_norm = query_key_norm::full},
                    .feed_forward = {.width = 13824},
                    .norm = norm_kind::layer, .norm_before_feed_forward = false}},
    .max_context = tokens(4096), .final_norm = norm_kind::layer, .weights = bf16};

inline constexpr model ernie_4_5_21b_a3b{
    .name = "ernie-4.5-21b-a3b", .architecture = "ernie4_5_moe",
    .vocabulary = 103424, .hidden = 2560,
    .layers = layer_stack{}
        .then(1, {.attention = {.heads = 20, .kv_heads = 4, .head_dim = 128},
                  .feed_forward = {.width = 12288}})
        .then(27, {.attention = {.heads = 20, .kv_heads = 4, .head_dim = 128},
                   .feed_forward = {.width = 12288, .experts = {.count = 64, .per_token = 6, .width = 1536,
                                                                .shared_width = 3072, .score_bias = true}}}),
    .tied_head = true, .weights = bf16};

inline constexpr model minimax_text_01{
    .name = "minimax-text-01", .architecture = "minimax_text_01",
    .vocabulary = 200064, .hidden = 6144,
    .layers = in_order("aaaaaaab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::lightning, .heads = 64, .head_dim = 128, .state = 128},
              .feed_forward = {.experts = {.count = 32, .per_token = 2, .width = 9216}}},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .rope_dim = 64},
              .feed_forward = {.experts = {.count = 32, .per_token = 2, .width = 9216}}}}, 80),
    .weights = bf16,
    .published = parameters(456'089'655'296)};

inline constexpr model minimax_m2{
    .name = "minimax-m2", .architecture = "minimax_m2",
    .vocabulary = 200064, .hidden = 3072,
    .layers = {62, {.attention = {.heads = 48, .kv_heads = 8, .head_dim = 128, .rope_dim = 64,
                                  .qk_norm = query_key_norm::full},
                    .feed_forward = {.experts = {.count = 256, .per_token = 8, .width = 1536, .score_bias = true}}}},
    .max_context = tokens(196608), .weights = fp8_block};

inline constexpr model minimax_m3{
    .name = "minimax-m3", .architecture = "minimax_m3",
    .vocabulary = 200064, .hidden = 6144,
    .layers = layer_stack{3, {.attention = {.heads = 64, .kv_heads = 4, .head_dim = 128, .rope_dim = 64,
                                            .qk_norm = query_key_norm::shared},
                              .feed_forward = {.width = 12288}}}
        .then(57, {.attention = {.heads = 64, .kv_heads = 4, .head_dim = 128, .rope_dim = 64,
                                 .qk_norm = query_key_norm::shared,
                                 .indexer = {.heads = 4, .head_dim = 128, .selected = tokens(2048), .weighed = false,
                                             .quantised = false}},
                   .feed_forward = {.width = 12288, .experts = {.count = 128, .per_token = 4, .width = 3072,
                                                                .shared_width = 3072, .score_bias = true}}}),
    .max_context = tokens(1048576), .weights = bf16};

inline constexpr model jamba_1_5_mini{
    .name = "jamba-1.5-mini", .architecture = "jamba",
    .vocabulary = 65536, .hidden = 4096,
    .layers = in_order("ababcbab", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba, .heads = 8192, .head_dim = 1, .state = 16, .rank = 256,
                            .kernel = 4, .conv_bias = true, .inner_norms = true},
              .feed_forward = {.width = 14336}},
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::mamba, .heads = 8192, .head_dim = 1, .state = 16, .rank = 256,
                            .kernel = 4, .conv_bias = true, .inner_norms = true},
              .feed_forward = {.experts = {.count = 16, .per_token = 2, .width = 14336}}},
        layer{.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128},
              .feed_forward = {.width = 14336}}}, 32),
    .max_context = tokens(262144), .weights = bf16};

inline constexpr model mamba_130m{
    .name = "mamba-130m", .architecture = "mamba",
    .vocabulary = 50280, .hidden = 768,
    .layers = {24, {.attention = no_attention,
                    .recurrent = {.kind = recurrent_kind::mamba, .heads = 1536, .head_dim = 1, .state = 16,
                                  .rank = 48, .kernel = 4, .conv_bias = true},
                    .feed_forward = no_feed_forward,
                    .norm_before_feed_forward = false}},
    .tied_head = true, .weights = bf16,
    .published = parameters(129'135'360)};

inline constexpr model mamba_370m{
    .name = "mamba-370m", .architecture = "mamba",
    .vocabulary = 50280, .hidden = 1024,
    .layers = {48, {.attention = no_attention,
                    .recurrent = {.kind = recurrent_kind::mamba, .heads = 2048, .head_dim = 1, .state = 16,
                                  .rank = 64, .kernel = 4, .conv_bias = true},
                    .feed_forward = no_feed_forward,
                    .norm_before_feed_forward = false}},
    .tied_head = true, .weights = bf16,
    .published = parameters(371'516'416)};

inline constexpr model mamba_1_4b{
    .name = "mamba-1.4b", .architecture = "mamba",
    .vocabulary = 50280, .hidden = 2048,
    .layers = {48, {.attention = no_attention,
                    .recurrent = {.kind = recurrent_kind::mamba, .heads = 4096, .head_dim = 1, .state = 16,
                                  .rank = 128, .kernel = 4, .conv_bias = true},
                    .feed_forward = no_feed_forward,
                    .norm_before_feed_forward = false}},
    .tied_head = true, .weights = bf16,
    .published = parameters(1'372'178'432)};

inline constexpr model mamba2_2_7b{
    .name = "mamba2-2.7b", .architecture = "mamba2",
    .vocabulary = 50288, .hidden = 2560,
    .layers = {64, {.attention = no_attention,
                    .recurrent = {.kind = recurrent_kind::mamba2, .heads = 80, .head_dim = 64, .key_heads = 1,
                                  .state = 128, .kernel = 4, .conv_bias = true},
                    .feed_forward = no_feed_forward,
                    .norm_before_feed_forward = false}},
    .tied_head = true, .weights = bf16};

inline constexpr model lfm2_1_2b{
    .name = "lfm2-1.2b", .architecture = "lfm2",
    .vocabulary = 65536, .hidden = 2048,
    .layers = in_order("aabaabaababababa", {
        layer{.attention = no_attention,
              .recurrent = {.kind = recurrent_kind::short_conv, .heads = 2048, .head_dim = 1, .kernel = 3},
              .feed_forward = {.width = 8192}},
        layer{.attention = {.heads = 32, .kv_heads = 8, .head_dim = 64, .qk_norm = query_key_norm::shared},
              .feed_forward = {.width = 8192}}}),
    .max_context = tokens(128000), .tied_head = true, .weights = bf16};

inline constexpr model minicpm_2b{
    .name = "minicpm-2b", .architecture = "minicpm",
    .vocabulary = 122760, .hidden = 2304,
    .layers = {40, {.attention = {.heads = 36, .kv_heads = 36, .head_dim = 64},
                    .feed_forward = {.width = 5760}}},
    .max_context = tokens(65536), .weights = bf16};

inline constexpr model ling_1t{
    .name = "ling-1t", .architecture = "bailing_moe_v2",
    .vocabulary = 157184, .hidden = 8192,
    .layers = layer_stack{}
        .then(4, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                  .feed_forward = {.width = 18432}})
        .then(76, {.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                   .feed_forward = {.width = 18432, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                                .shared_width = 2048, .score_bias = true}}}),
    .weights = bf16,
    .published = parameters(999'705'328'640)};

/// The Hub gives 561,862,880,256 with the layer that predicts one token further.
inline constexpr model longcat_flash{
    .name = "longcat-flash", .architecture = "longcat_flash",
    .vocabulary = 131072, .hidden = 6144,
    .layers = in_order("ab", {
        layer{.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 128,
                            .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
              .feed_forward = {.width = 12288, .experts = {.count = 512, .per_token = 12, .width = 2048,
                                                           .shared_width = 12288, .score_bias = true, .idle = 256}}},
        layer{.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64, .head_dim = 128,
                            .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .value_dim = 128},
              .feed_forward = {.width = 12288}}}, 56),
    .weights = bf16,
    .prediction = {.layers = 1,
                   .block = {.attention = {.kind = attention_kind::latent, .heads = 64, .kv_heads = 64,
                                           .head_dim = 128, .q_rank = 1536, .kv_rank = 512, .rope_dim = 64,
                                            .value_dim = 128},
                             .feed_forward = {.width = 12288}},
                   .norms = 3, .own_embedding = true}};

/// The Hub gives 199,384,301,376 with the layers that predict further ahead.
inline constexpr model step_3_5_flash{
    .name = "step-3.5-flash", .architecture = "step3p5",
    .vocabulary = 128896, .hidden = 4096,
    .layers = in_order("abbcdcccdcccdcccdcccdcccdcccdcccdcccdcccdcccd", {
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared,
                            .gate = output_gate::heads},
              .feed_forward = {.width = 11264}},
        layer{.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared,
                            .window = tokens(512), .gate = output_gate::heads},
              .feed_forward = {.width = 11264}},
        layer{.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared,
                            .window = tokens(512), .gate = output_gate::heads},
              .feed_forward = {.width = 11264, .experts = {.count = 288, .per_token = 8, .width = 1280,
                                                           .shared_width = 1280, .score_bias = true}}},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared,
                            .gate = output_gate::heads},
              .feed_forward = {.width = 11264, .experts = {.count = 288, .per_token = 8, .width = 1280,
                                                           .shared_width = 1280, .score_bias = true}}}}),
    .weights = bf16,
    .prediction = {.layers = 3,
                   .block = {.attention = {.heads = 96, .kv_heads = 8, .head_dim = 128,
                                           .qk_norm = query_key_norm::shared, .window = tokens(512),
                                            .gate = output_gate::heads},
                             .feed_forward = {.width = 11264}},
                   .norms = 3, .own_head = true}};

inline constexpr model mimo_v2_flash{
    .name = "mimo-v2-flash", .architecture = "mimo_v2_flash",
    .vocabulary = 152576, .hidden = 4096,
    .layers = in_order("abbbbcbbbbbcbbbbbcbbbbbcbbbbbcbbbbbcbbbbbcbbbbbc", {
        layer{.attention = {.heads = 64, .kv_heads = 4, .head_dim = 192, .rope_dim = 64, .value_dim = 128},
              .feed_forward = {.width = 16384}},
        layer{.attention = {.heads = 64, .kv_heads = 8, .head_dim = 192, .rope_dim = 64, .value_dim = 128,
                            .window = tokens(128),
                            .sinks = true},
              .feed_forward = {.width = 16384, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                           .score_bias = true}}},
        layer{.attention = {.heads = 64, .kv_heads = 4, .head_dim = 192, .rope_dim = 64, .value_dim = 128},
              .feed_forward = {.width = 16384, .experts = {.count = 256, .per_token = 8, .width = 2048,
                                                           .score_bias = true}}}}),
    .max_context = tokens(262144), .weights = fp8_block};

inline constexpr model hunyuan_a13b{
    .name = "hunyuan-a13b", .architecture = "hunyuan_v1_moe",
    .vocabulary = 128167, .hidden = 4096,
    .layers = {32, {.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .qk_norm = query_key_norm::shared},
                    .feed_forward = {.experts = {.count = 64, .per_token = 8, .width = 3072, .shared_width = 3072}}}},
    .tied_head = true, .weights = bf16};

inline constexpr model olmoe_1b_7b{
    .name = "olmoe-1b-7b", .architecture = "olmoe",
    .vocabulary = 50304, .hidden = 2048,
    .layers = {16, {.attention = {.heads = 16, .kv_heads = 16, .head_dim = 128, .qk_norm = query_key_norm::full},
                    .feed_forward = {.experts = {.count = 64, .per_token = 8, .width = 1024}}}},
    .weights = bf16};

inline constexpr model falcon_mamba_7b{
    .name = "falcon-mamba-7b", .architecture = "falcon_mamba",
    .vocabulary = 65024, .hidden = 4096,
    .layers = {64, {.attention = no_attention,
                    .recurrent = {.kind = recurrent_kind::mamba, .heads = 8192, .head_dim = 1, .state = 16,
                                  .rank = 256, .kernel = 4, .conv_bias = true},
                    .feed_forward = no_feed_forward,
                    .norm_before_feed_forward = false}},
    .weights = bf16};

/// All of them.
inline constexpr std::array all_others{
    &baichuan2_7b, &internlm_20b, &internlm2_5_7b, &aya_23_8b, &command_r, &command_r_plus, &dbrx, &grok_1,
    &olmo_2_7b, &olmo_2_13b, &olmo_2_32b, &granite_3b_code, &granite_3_0_2b, &granite_3_3_8b, &granite_4_0_h_small,
    &stablelm_2_1_6b, &stablelm_2_12b, &ernie_4_5_21b_a3b, &minimax_text_01, &minimax_m2, &minimax_m3,
    &jamba_1_5_mini, &mamba_130m, &mamba_370m, &mamba_1_4b, &mamba2_2_7b, &lfm2_1_2b, &minicpm_2b, &ling_1t,
    &longcat_flash, &step_3_5_flash, &mimo_v2_flash, &hunyuan_a13b, &olmoe_1b_7b, &falcon_mamba_7b};

}  // namespace llmres::inline v0::models

// clang-format on
