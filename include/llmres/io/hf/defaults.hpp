// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/io/json/document.hpp>
#include <llmres/values/text.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

/// The values of fields that a config.json leaves out: the defaults of the configuration class of each `model_type`, as
/// far as they change a count or a cache. From Hugging Face transformers 5.17
/// (src/transformers/models/*/configuration_*.py) or, where a model brings its own code, from that code. For a field
/// that a row does not have, the readers have defaults: as many KV heads as heads, head width = hidden size / heads, no
/// biases, an untied head, no attention window.
///
/// Vocabulary, widths, layers and heads are read from here only in an object nested in another (a multimodal model's
/// `text_config`), of which transformers stores only the differences from the class. A file without them at the top
/// level is refused.
namespace llmres::inline v0::detail::hf {

struct class_defaults {
    literal model_types;  ///< with spaces between them
    literal fields;       ///< JSON
};

// clang-format off
inline constexpr auto defaults_of_classes = std::to_array<class_defaults>({
    // of all fields, tied embeddings alone
    {"phi3small minicpm cohere grok-1 minicpm3 mamba falcon_mamba gpt2 gpt_bigcode openai-gpt gpt_neo "
     "bloom falcon RefinedWeb RefinedWebModel mpt", R"({"tie_word_embeddings": true})"},
    // dense
    {"llama", R"({"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 11008})"},
    {"mistral ministral", R"({"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096})"},
    {"ministral3", R"({"vocab_size": 131072, "hidden_size": 4096, "num_hidden_layers": 34, "num_attention_heads": 32,
        "intermediate_size": 14336, "num_key_value_heads": 8, "head_dim": 128})"},
    {"phi3", R"({"vocab_size": 32064, "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 8192})"},
    {"internlm internlm2", R"({"bias": true})"},
    {"smollm3", R"({"tie_word_embeddings": true, "num_key_value_heads": 4})"},
    {"ernie4_5", R"({"tie_word_embeddings": true, "num_key_value_heads": 2, "head_dim": 128})"},
    {"qwen2", R"({"vocab_size": 151936, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 22016, "sliding_window": 4096, "max_window_layers": 28})"},
    {"qwen2_vl_text qwen2_5_vl_text", R"({"vocab_size": 152064, "hidden_size": 8192, "num_hidden_layers": 80,
        "num_attention_heads": 64, "intermediate_size": 29568, "num_key_value_heads": 8, "sliding_window": 4096,
        "max_window_layers": 28})"},
    {"qwen3 qwen3_vl_text", R"({"vocab_size": 151936, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 22016, "head_dim": 128, "sliding_window": 4096,
        "max_window_layers": 28})"},
    {"gemma", R"({"vocab_size": 256000, "hidden_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "intermediate_size": 24576, "num_key_value_heads": 16, "head_dim": 256, "tie_word_embeddings": true})"},
    {"gemma2", R"({"vocab_size": 256000, "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
        "intermediate_size": 9216, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096,
        "tie_word_embeddings": true})"},
    {"gemma3_text", R"({"vocab_size": 262208, "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
        "intermediate_size": 9216, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096,
        "tie_word_embeddings": true})"},
    {"glm glm4", R"({"num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})"},
    {"seed_oss", R"({"num_key_value_heads": 8, "head_dim": 128, "attention_bias": true})"},
    {"mimo", R"({"attention_bias": true})"},
    {"olmo3 exaone4", R"({"sliding_window": 4096})"},
    {"cohere2", R"({"sliding_window": 4096, "tie_word_embeddings": true})"},
    {"starcoder2", R"({"num_key_value_heads": 2, "use_bias": true, "tie_word_embeddings": true})"},
    {"hunyuan_v1_dense", R"({"use_qk_norm": true})"},
    {"hunyuan_v1_moe", R"({"use_qk_norm": true, "num_shared_expert": 1})"},
    // routed experts
    {"mixtral minimax", R"({"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    {"phimoe", R"({"num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 2})"},
    {"granitemoe granitemoeshared", R"({"num_local_experts": 8, "num_experts_per_tok": 2})"},
    {"olmoe", R"({"num_experts": 64, "num_experts_per_tok": 8})"},
    {"gpt_oss", R"({"num_key_value_heads": 8, "head_dim": 64, "attention_bias": true, "sliding_window": 128,
        "num_local_experts": 128, "num_experts_per_tok": 4})"},
    {"qwen2_moe", R"({"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632, "sliding_window": 4096, "max_window_layers": 28})"},
    {"qwen3_moe", R"({"num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 768, "sliding_window": 4096, "max_window_layers": 28})"},
    {"qwen3_vl_moe_text", R"({"vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 5632, "num_key_value_heads": 16, "num_experts": 60,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408})"},
    {"glm4_moe", R"({"num_key_value_heads": 8, "n_routed_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408, "n_shared_experts": 1, "first_k_dense_replace": 1})"},
    {"dots1", R"({"moe_intermediate_size": 1408})"},
    {"ernie4_5_moe", R"({"num_key_value_heads": 4, "moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "tie_word_embeddings": true})"},
    {"minimax_m2", R"({"num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256,
        "num_experts_per_tok": 8})"},
    {"llama4_text", R"({"vocab_size": 202048, "hidden_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 40,
        "intermediate_size": 8192, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size_mlp": 16384,
        "num_local_experts": 16, "num_experts_per_tok": 1})"},
    {"jais2", R"({"attention_bias": true, "mlp_bias": true})"},
    // latent attention
    {"deepseek_v2", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "n_routed_experts": 64, "moe_intermediate_size": 1407, "n_shared_experts": 2})"},
    {"deepseek_v3 kimi_k2", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3})"},
    {"deepseek_v32", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048, "n_routed_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3})"},
    {"glm_moe_dsa", R"({"q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64,
        "v_head_dim": 256, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "n_routed_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3})"},
    {"longcat_flash", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "n_routed_experts": 512, "zero_expert_num": 256, "moe_topk": 12,
        "expert_ffn_hidden_size": 2048})"},
    // recurrences and hybrids
    {"jamba", R"({"num_key_value_heads": 8, "num_experts": 16, "num_experts_per_tok": 2})"},
    {"nemotron_h", R"({"num_key_value_heads": 8, "head_dim": 128, "n_groups": 8, "ssm_state_size": 128,
        "mamba_num_heads": 128, "mamba_head_dim": 64})"},
    {"granitemoehybrid", R"({"num_local_experts": 8, "num_experts_per_tok": 2, "shared_intermediate_size": 1024,
        "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256})"},
    {"qwen3_next", R"({"num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "num_experts": 512,
        "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512})"},
    {"qwen3_5_text", R"({"vocab_size": 248320, "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 16,
        "intermediate_size": 12288, "num_key_value_heads": 4, "head_dim": 256, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128})"},
    {"qwen3_5_moe_text", R"({"vocab_size": 248320, "hidden_size": 2048, "num_hidden_layers": 40,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "num_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512})"},
    {"lfm2", R"({"num_key_value_heads": 8, "tie_word_embeddings": true})"},
    {"lfm2_moe", R"({"num_key_value_heads": 8, "num_experts": 32, "num_experts_per_tok": 4,
        "moe_intermediate_size": 1792, "num_dense_layers": 2, "tie_word_embeddings": true})"},
    // descended from GPT-2
    {"opt", R"({"vocab_size": 50272, "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072,
        "num_attention_heads": 12, "tie_word_embeddings": true})"},
    // of 2025 and 2026, and a few older ones
    {"afmoe", R"({"vocab_size": 200192, "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 1408,
        "num_hidden_layers": 32, "num_dense_layers": 1, "num_attention_heads": 16, "head_dim": 128, "num_experts": 64,
        "num_experts_per_tok": 6, "num_shared_experts": 2, "sliding_window": 1024})"},
    {"aria_text", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "max_position_embeddings": 2048, "moe_num_experts": 8, "moe_topk": 2,
        "moe_num_shared_experts": 2})"},
    {"axk1", R"({"vocab_size": 163840, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "num_hidden_layers": 61, "num_attention_heads": 64, "n_shared_experts": 1, "n_routed_experts": 192,
        "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128,
        "num_experts_per_tok": 8, "first_k_dense_replace": 1})"},
    {"axk2", R"({"vocab_size": 163840, "hidden_size": 2048, "intermediate_size": 5120, "moe_intermediate_size": 512,
        "num_hidden_layers": 48, "num_attention_heads": 32, "n_shared_experts": 1, "n_routed_experts": 128,
        "kv_lora_rank": 128, "q_lora_rank": 384, "qk_rope_head_dim": 32, "v_head_dim": 64, "qk_nope_head_dim": 64,
        "num_experts_per_tok": 8, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 16,
        "gated_norm_rank": 16})"},
    {"mistral4", R"({"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 12288,
        "moe_intermediate_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 32, "n_shared_experts": 1,
        "n_routed_experts": 128, "kv_lora_rank": 256, "q_lora_rank": 1024, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "qk_nope_head_dim": 64, "num_experts_per_tok": 4, "first_k_dense_replace": 0})"},
    {"cohere2_moe", R"({"vocab_size": 256000, "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
        "num_attention_heads": 64, "tie_word_embeddings": true, "sliding_window": 4096, "num_experts_per_tok": 2,
        "num_experts": 8, "num_shared_experts": 0})"},
    {"laguna", R"({"vocab_size": 100352, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 40,
        "num_attention_heads": 48, "num_key_value_heads": 8, "sliding_window": 512, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "num_experts_per_tok": 8, "num_experts": 256, "head_dim": 128})"},
    {"minimax_m3_vl_text", R"({"vocab_size": 200064, "hidden_size": 6144, "intermediate_size": 3072,
        "num_hidden_layers": 60, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
        "max_position_embeddings": 524288, "num_experts_per_tok": 4, "num_local_experts": 128,
        "dense_intermediate_size": 12288, "shared_intermediate_size": 3072, "index_n_heads": 4, "index_head_dim": 128,
        "index_block_size": 128, "index_topk_blocks": 16})"},
    {"solar_open", R"({"vocab_size": 196608, "hidden_size": 4096, "num_hidden_layers": 48, "num_attention_heads": 64,
        "num_key_value_heads": 8, "moe_intermediate_size": 1280, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "n_routed_experts": 128, "head_dim": 128})"},
    {"olmo_hybrid", R"({"vocab_size": 100352, "hidden_size": 3840, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 30, "linear_num_key_heads": 30, "linear_num_value_heads": 30, "linear_key_head_dim": 96,
        "linear_value_head_dim": 192, "linear_conv_kernel_dim": 4})"},
    {"falcon_h1", R"({"vocab_size": 128000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "mamba_d_ssm": 1024, "mamba_n_heads": 128,
        "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 256})"},
    {"kimi_linear", R"({"vocab_size": 163840, "hidden_size": 2304, "intermediate_size": 9216,
        "moe_intermediate_size": 1024, "num_hidden_layers": 27, "num_attention_heads": 32, "num_shared_experts": 1,
        "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128,
        "num_experts_per_token": 8, "num_experts": 256, "linear_head_dim": 128, "linear_num_heads": 32,
        "linear_conv_kernel_dim": 4})"},
    {"hy_v4", R"({"vocab_size": 120832, "hidden_size": 2816, "intermediate_size": 6912, "moe_intermediate_size": 768,
        "num_hidden_layers": 34, "num_attention_heads": 32, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 192,
        "qk_rope_head_dim": 64, "v_head_dim": 256, "index_topk": 2048, "index_head_dim": 128, "index_n_heads": 16})"},
    {"zaya", R"({"vocab_size": 262272, "hidden_size": 2048, "num_hidden_layers": 40, "num_attention_heads": 8,
        "num_key_value_heads": 2, "tie_word_embeddings": true, "moe_intermediate_size": 2048, "num_experts_per_tok": 1,
        "num_experts": 16, "head_dim": 128, "router_hidden_size": 256})"},
    {"inkling_text", R"({"vocab_size": 201024, "hidden_size": 6144, "num_hidden_layers": 66, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "swa_num_attention_heads": 64, "swa_num_key_value_heads": 16,
        "swa_head_dim": 128, "sliding_window_size": 512, "max_position_embeddings": 131072, "intermediate_size": 24576,
        "moe_intermediate_size": 3072, "n_routed_experts": 256, "num_experts_per_tok": 6, "n_shared_experts": 2})"},
    {"gemma3n_text", R"({"vocab_size": 262400, "hidden_size": 2048, "num_hidden_layers": 35, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 256, "max_position_embeddings": 32768, "tie_word_embeddings": true,
        "sliding_window": 512, "num_kv_shared_layers": 15})"},
    {"gemma4_text", R"({"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 30,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131072,
        "tie_word_embeddings": true, "sliding_window": 512, "num_kv_shared_layers": 0})"},
    {"gemma4_unified_text", R"({"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 30, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "max_position_embeddings": 262144, "tie_word_embeddings": true, "sliding_window": 1024,
        "num_kv_shared_layers": 0})"},
    {"recurrent_gemma", R"({"num_hidden_layers": 26, "vocab_size": 256000, "hidden_size": 2560,
        "intermediate_size": 7680, "num_attention_heads": 10, "tie_word_embeddings": true})"},
    {"bitnet", R"({"vocab_size": 128256, "hidden_size": 2560, "intermediate_size": 6912, "num_hidden_layers": 30,
        "num_attention_heads": 20, "num_key_value_heads": 5})"},
    {"diffllama", R"({"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_attention_heads": 32})"},
    {"doge", R"({"vocab_size": 32768, "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 32,
        "num_attention_heads": 8})"},
    {"jetmoe", R"({"vocab_size": 32000, "hidden_size": 2048, "num_hidden_layers": 12, "num_key_value_heads": 16,
        "kv_channels": 128, "intermediate_size": 5632, "num_local_experts": 8, "num_experts_per_tok": 2,
        "tie_word_embeddings": true})"},
    {"mimo_v2_flash", R"({"vocab_size": 152576, "hidden_size": 4096, "intermediate_size": 16384,
        "num_hidden_layers": 48, "num_attention_heads": 64, "num_key_value_heads": 4, "moe_intermediate_size": 2048,
        "num_experts_per_tok": 8, "n_routed_experts": 256, "head_dim": 192, "v_head_dim": 128,
        "sliding_window": 128})"},
    {"step3p5", R"({"vocab_size": 128815, "hidden_size": 4096, "intermediate_size": 11264, "num_hidden_layers": 45,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "num_experts_per_tok": 8,
        "n_routed_experts": 288, "moe_intermediate_size": 1280, "share_expert_dim": 1280})"},
    // text models that exist only inside multimodal ones
    {"glm4v_text", R"({"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 2, "max_position_embeddings": 32768,
        "attention_bias": true})"},
    {"glm4v_moe_text", R"({"vocab_size": 151424, "hidden_size": 4096, "intermediate_size": 10944,
        "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "max_position_embeddings": 65536,
        "attention_bias": true, "moe_intermediate_size": 1408, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "n_routed_experts": 128, "first_k_dense_replace": 1})"},
    {"glm_ocr_text", R"({"vocab_size": 59392, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 8, "max_position_embeddings": 131072})"},
    {"cosmos3_edge_text", R"({"vocab_size": 131072, "hidden_size": 2048, "intermediate_size": 9216,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "head_dim": 128})"},
    {"paddleocr_vl_text", R"({"vocab_size": 103424, "hidden_size": 1024, "intermediate_size": 3072,
        "num_hidden_layers": 18, "num_attention_heads": 16, "num_key_value_heads": 2, "max_position_embeddings": 131072,
        "tie_word_embeddings": true, "head_dim": 128})"},
    {"muse_glimmer_text", R"({"vocab_size": 202048, "hidden_size": 6656, "intermediate_size": 19968,
        "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
        "max_position_embeddings": 131072, "sliding_window": 2048})"},
    {"qwen2_5_omni_text", R"({"vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944,
        "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 32768,
        "tie_word_embeddings": true})"},
    {"blip_text_model", R"({"vocab_size": 30524, "hidden_size": 768, "encoder_hidden_size": 768,
        "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 8, "max_position_embeddings": 512,
        "tie_word_embeddings": true})"},
    {"kosmos_2_text_model", R"({"vocab_size": 65037, "max_position_embeddings": 2048, "embed_dim": 2048, "layers": 24,
        "ffn_dim": 8192, "attention_heads": 32, "tie_word_embeddings": true})"},
    {"kosmos_2_5_text_model", R"({"vocab_size": 108481, "max_position_embeddings": 4096, "embed_dim": 1536,
        "layers": 24, "ffn_dim": 6144, "attention_heads": 16, "tie_word_embeddings": true})"},
    {"pix2struct_text_model", R"({"vocab_size": 50244, "hidden_size": 768, "d_ff": 2048, "num_layers": 12,
        "num_heads": 12})"},
    {"persimmon", R"({"vocab_size": 262144, "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 36,
        "num_attention_heads": 64})"},
    {"mllama_text_model", R"({"vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 40,
        "num_attention_heads": 32, "intermediate_size": 14336, "num_key_value_heads": 8,
        "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]})"},
    {"clip_text_model", R"({"vocab_size": 49408, "hidden_size": 512, "num_hidden_layers": 12, "num_attention_heads": 8,
        "intermediate_size": 2048, "max_position_embeddings": 77})"},
    {"siglip_text_model", R"({"vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 64})"},
    // the part of a head that rotary embeddings rotate, or its features
    {"gpt_neox", R"({"rotary_pct": 0.25})"},
    {"stablelm stablelm_epoch qwen3_next qwen3_5_text qwen3_5_moe_text", R"({"partial_rotary_factor": 0.25})"},
    {"glm glm4 glm4_moe chatglm phi nemotron persimmon bamba", R"({"partial_rotary_factor": 0.5})"},
    {"gptj codegen minimax_m2", R"({"rotary_dim": 64})"}});
// clang-format on

/// The defaults of a class. `nested`: with vocabulary, widths, layers and heads, for an object inside another.
inline nlohmann::json defaults_of(std::string_view model_type, bool nested) {
    nlohmann::json found = nlohmann::json::object();
    for (const class_defaults& c : defaults_of_classes)
        for (std::string_view types = c.model_types; !types.empty();)
            if (taken_before(types, " ") == model_type) found.update(own_json(c.fields));
    if (!nested)
        for (const char* shape :
             {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "ffn_dim"})
            found.erase(shape);
    return found;
}

}  // namespace llmres::inline v0::detail::hf
