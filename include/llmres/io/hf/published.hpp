// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/hf/families.hpp>
#include <llmres/models/all.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

/// Repositories of the Hugging Face Hub whose model has no preset, and what their config.json says. A file of the same
/// content is read in the same way.
namespace llmres::inline v0::detail::hf {

/// Repositories that share a config.json.
struct published_config {
    std::string_view repositories;  ///< parted by spaces
    std::string_view config;        ///< the fields of their config.json that describe the model
};

/// Fields that are left out are the defaults of transformers 5.24's class, which is where those of Qwen3.5 9B, GLM-4.7
/// Flash, Kimi Linear, Solar Open, Hy3, Mistral Small 4, Gemma 3n and nomic-embed-text 1.5 are from; EXAONE 4's,
/// Phi-4-multimodal's and Mistral Large 3's (its params.json) are from tests of TensorRT-LLM, GLM-4.6V's from one of
/// Megatron-Bridge, and Seed-OSS', Trinity Mini's and Nano's, LFM2's, Gemma 4's and the second nomic-embed-text's from
/// tests of other public readers. Where a publisher's count is known to the last digit, that of these fields is equal:
/// DeepSeek-V4, Kimi-K3, Qwen3.5 9B, Trinity Large, Granite 4, XLM-RoBERTa's kin, Nomic's, EmbeddingGemma, Gemma 3n,
/// Gemma 4, GLM-4.6V, Phi-4-multimodal and Qwen2.5-VL 3B; where it is known to three digits, to these
/// (tests/io/hf/published.cpp). The widths of the towers of Qwen3.5 0.8B and 2B follow from these counts.
/// Qwen3-Embedding's files name a class that generates, but hold no head: their rows name one that embeds.
/// jina-embeddings-v4 is Qwen2.5-VL 3B with a projector (configuration_jina_embeddings_v4.py); its adapters are apart.
inline constexpr published_config published_configs[] = {
    {"Qwen/Qwen3.5-9B",
     R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text", "mtp_num_hidden_layers": 1,
        "max_position_embeddings": 262144, "dtype": "bfloat16"}, "vision_config": {"model_type": "qwen3_5"}})"},
    {"Qwen/Qwen3.5-4B Qwen/Qwen3.5-4B-Base",
     R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text", "vocab_size": 248320, "hidden_size":
        2560, "intermediate_size": 9216, "num_hidden_layers": 32, "num_attention_heads": 16, "num_key_value_heads":
        4, "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "mtp_num_hidden_layers": 1, "max_position_embeddings": 262144,
        "tie_word_embeddings": true, "dtype": "bfloat16"}, "vision_config": {"model_type": "qwen3_5", "hidden_size":
        1024, "depth": 24, "intermediate_size": 4096, "num_heads": 16, "out_hidden_size": 2560}})"},
    {"Qwen/Qwen3.5-2B Qwen/Qwen3.5-2B-Base",
     R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text", "vocab_size": 248320, "hidden_size":
        2048, "intermediate_size": 6144, "num_hidden_layers": 24, "num_attention_heads": 8, "num_key_value_heads": 2,
        "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 16, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "mtp_num_hidden_layers": 1, "max_position_embeddings": 262144,
        "tie_word_embeddings": true, "dtype": "bfloat16"}, "vision_config": {"model_type": "qwen3_5", "hidden_size":
        1024, "depth": 24, "intermediate_size": 4096, "num_heads": 16, "out_hidden_size": 2048}})"},
    {"Qwen/Qwen3.5-0.8B Qwen/Qwen3.5-0.8B-Base",
     R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text", "vocab_size": 248320, "hidden_size":
        1024, "intermediate_size": 3584, "num_hidden_layers": 24, "num_attention_heads": 8, "num_key_value_heads": 2,
        "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 16, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "mtp_num_hidden_layers": 1, "max_position_embeddings": 262144,
        "tie_word_embeddings": true, "dtype": "bfloat16"}, "vision_config": {"model_type": "qwen3_5", "hidden_size":
        768, "depth": 12, "intermediate_size": 3072, "num_heads": 12, "out_hidden_size": 1024}})"},
    {"Qwen/Qwen3-Embedding-8B",
     R"({"model_type": "qwen3", "architectures": ["Qwen3ForTextEncoding"], "vocab_size": 151665, "hidden_size": 4096,
        "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "max_position_embeddings": 40960, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"Qwen/Qwen3-Embedding-4B",
     R"({"model_type": "qwen3", "architectures": ["Qwen3ForTextEncoding"], "vocab_size": 151665, "hidden_size": 2560,
        "intermediate_size": 9728, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "max_position_embeddings": 40960, "tie_word_embeddings": true, "torch_dtype": "bfloat16"})"},
    {"Qwen/Qwen3-Reranker-0.6B",
     R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": 151669, "hidden_size": 1024,
        "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 128, "max_position_embeddings": 40960, "tie_word_embeddings": true, "torch_dtype": "bfloat16"})"},
    {"deepseek-ai/DeepSeek-V4-Flash",
     R"({"model_type": "deepseek_v4", "vocab_size": 129280, "hidden_size": 4096, "num_hidden_layers": 43,
        "num_attention_heads": 64, "head_dim": 512, "qk_rope_head_dim": 64, "q_lora_rank": 1024, "o_groups": 8,
        "o_lora_rank": 1024, "sliding_window": 128, "compress_ratios": [0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128,
        4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4,
        128, 4, 128, 4, 0], "index_n_heads": 64, "index_head_dim": 128, "index_topk": 512, "hc_mult": 4,
        "n_routed_experts": 256, "num_experts_per_tok": 6, "moe_intermediate_size": 2048, "n_shared_experts": 1,
        "num_hash_layers": 3, "num_nextn_predict_layers": 1, "max_position_embeddings": 1048576, "expert_dtype":
        "fp4", "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt":
        "ue8m0", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}})"},
    {"deepseek-ai/DeepSeek-V4-Pro",
     R"({"model_type": "deepseek_v4", "vocab_size": 129280, "hidden_size": 7168, "num_hidden_layers": 61,
        "num_attention_heads": 128, "head_dim": 512, "qk_rope_head_dim": 64, "q_lora_rank": 1536, "o_groups": 16,
        "o_lora_rank": 1024, "sliding_window": 128, "compress_ratios": [128, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4,
        128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128,
        4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 0],
        "index_n_heads": 64, "index_head_dim": 128, "index_topk": 1024, "hc_mult": 4, "n_routed_experts": 384,
        "num_experts_per_tok": 6, "moe_intermediate_size": 3072, "n_shared_experts": 1, "num_hash_layers": 3,
        "num_nextn_predict_layers": 1, "max_position_embeddings": 1048576, "expert_dtype": "fp4", "torch_dtype":
        "bfloat16", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0",
        "activation_scheme": "dynamic", "weight_block_size": [128, 128]}})"},
    {"zai-org/GLM-4.6V",
     R"({"model_type": "glm4v_moe", "text_config": {"model_type": "glm4v_moe_text", "vocab_size": 151552, "head_dim":
        128, "max_position_embeddings": 131072}, "vision_config": {"model_type": "glm4v_moe", "intermediate_size":
        10944}, "torch_dtype": "bfloat16"})"},
    {"zai-org/GLM-4.6V-Flash",
     R"({"model_type": "glm46v", "text_config": {"model_type": "glm4v_text", "max_position_embeddings": 131072},
        "vision_config": {}, "torch_dtype": "bfloat16"})"},
    {"zai-org/GLM-4.1V-9B-Thinking",
     R"({"model_type": "glm4v", "text_config": {"model_type": "glm4v_text", "max_position_embeddings": 65536},
        "vision_config": {}, "torch_dtype": "bfloat16"})"},
    {"zai-org/GLM-4.5V",
     R"({"model_type": "glm4v_moe", "text_config": {"model_type": "glm4v_moe_text", "vocab_size": 151552, "head_dim":
        128, "max_position_embeddings": 65536}, "vision_config": {"model_type": "glm4v_moe", "intermediate_size":
        10944}, "torch_dtype": "bfloat16"})"},
    {"zai-org/GLM-4.7-Flash",
     R"({"model_type": "glm4_moe_lite", "vocab_size": 154880, "hidden_size": 2048, "intermediate_size": 10240,
        "num_hidden_layers": 47, "num_attention_heads": 20, "max_position_embeddings": 202752, "torch_dtype":
        "bfloat16"})"},
    {"moonshotai/Kimi-K3",
     R"({"model_type": "kimi_k3", "text_config": {"model_type": "kimi_linear", "vocab_size": 163840, "hidden_size":
        7168, "intermediate_size": 33792, "num_hidden_layers": 93, "num_attention_heads": 96, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "mla_use_output_gate": true, "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 28, 32, 36, 40,
        44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 84, 88, 92, 93], "head_dim": 128, "num_heads": 96,
        "short_conv_kernel_size": 4, "use_full_rank_gate": true}, "num_experts": 896, "num_experts_per_token": 16,
        "moe_intermediate_size": 3072, "num_shared_experts": 2, "first_k_dense_replace": 1,
        "routed_expert_hidden_size": 3584, "latent_moe_use_norm": true, "attn_res_block_size": 12,
        "max_position_embeddings": 1048576, "dtype": "bfloat16", "quantization_config": {"quant_method":
        "compressed-tensors", "format": "mxfp4-pack-quantized", "config_groups": {"group_0": {"format":
        "mxfp4-pack-quantized", "targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "strategy":
        "group", "group_size": 32, "symmetric": true, "dynamic": false}}}, "ignore": ["re:.*self_attn.*",
        "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*", "re:.*vision_tower.*",
        "re:.*mm_projector.*"]}}, "vision_config": {"vt_hidden_size": 1024, "vt_num_attention_heads": 12,
        "vt_intermediate_size": 4096, "vt_num_hidden_layers": 27, "qkv_hidden_size": 1536, "patch_size": 14,
        "init_pos_emb_height": 64, "init_pos_emb_width": 64}})"},
    {"moonshotai/Kimi-Linear-48B-A3B-Instruct",
     R"({"model_type": "kimi_linear", "vocab_size": 163840, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 27, "num_attention_heads": 32, "model_max_length": 1048576, "torch_dtype": "bfloat16"})"},
    {"upstage/Solar-Open-100B",
     R"({"model_type": "solar_open", "vocab_size": 196608, "hidden_size": 4096, "num_hidden_layers": 48,
        "num_attention_heads": 64, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})"},
    {"tencent/Hy3-preview",
     R"({"model_type": "hy_v3", "vocab_size": 120832, "hidden_size": 4096, "intermediate_size": 13312,
        "num_hidden_layers": 80, "num_attention_heads": 64, "max_position_embeddings": 131072, "torch_dtype":
        "bfloat16"})"},
    {"mistralai/Mistral-Small-4-119B-2603",
     R"({"model_type": "mistral4", "vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 12288,
        "num_hidden_layers": 36, "num_attention_heads": 32, "max_position_embeddings": 1048576, "torch_dtype":
        "bfloat16"})"},
    {"LGAI-EXAONE/EXAONE-4.0-32B",
     R"({"model_type": "exaone4", "vocab_size": 102400, "hidden_size": 5120, "intermediate_size": 27392,
        "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "max_position_embeddings": 131072, "sliding_window": 4096, "sliding_window_pattern": "LLLG",
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"LGAI-EXAONE/EXAONE-4.0-1.2B",
     R"({"model_type": "exaone4", "vocab_size": 102400, "hidden_size": 2048, "intermediate_size": 4096,
        "num_hidden_layers": 30, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 65536,
        "sliding_window": null, "tie_word_embeddings": true, "torch_dtype": "bfloat16"})"},
    {"ByteDance-Seed/Seed-OSS-36B-Instruct",
     R"({"model_type": "seed_oss", "vocab_size": 155136, "hidden_size": 5120, "intermediate_size": 27648,
        "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128, "attention_bias":
        true, "attention_out_bias": false, "max_position_embeddings": 524288, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16"})"},
    {"arcee-ai/Trinity-Mini",
     R"({"model_type": "afmoe", "vocab_size": 200192, "hidden_size": 2048, "intermediate_size": 6144,
        "moe_intermediate_size": 1024, "num_hidden_layers": 32, "num_dense_layers": 2, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts":
        1, "global_attn_every_n_layers": 4, "sliding_window": 2048, "max_position_embeddings": 131072,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"arcee-ai/Trinity-Nano-Preview",
     R"({"model_type": "afmoe", "vocab_size": 200192, "hidden_size": 1024, "intermediate_size": 3072,
        "moe_intermediate_size": 256, "num_hidden_layers": 56, "num_dense_layers": 2, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts":
        1, "global_attn_every_n_layers": 4, "sliding_window": 2048, "max_position_embeddings": 131072,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"arcee-ai/Trinity-Large-Preview",
     R"({"model_type": "afmoe", "vocab_size": 200192, "hidden_size": 3072, "intermediate_size": 12288,
        "moe_intermediate_size": 3072, "num_hidden_layers": 60, "num_dense_layers": 6, "num_attention_heads": 48,
        "num_key_value_heads": 8, "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 4, "num_shared_experts":
        1, "global_attn_every_n_layers": 4, "sliding_window": 4096, "max_position_embeddings": 262144,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"LiquidAI/LFM2-8B-A1B",
     R"({"model_type": "lfm2_moe", "vocab_size": 65536, "hidden_size": 2048, "intermediate_size": 7168,
        "moe_intermediate_size": 1792, "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_dense_layers": 2, "num_experts": 32, "num_experts_per_tok": 4, "conv_L_cache": 3, "use_expert_bias": true,
        "max_position_embeddings": 128000, "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "conv",
        "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv",
        "conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv", "conv"],
        "torch_dtype": "bfloat16"})"},
    {"LiquidAI/LFM2.5-8B-A1B",
     R"({"model_type": "lfm2_moe", "vocab_size": 128000, "hidden_size": 2048, "intermediate_size": 7168,
        "moe_intermediate_size": 1792, "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_dense_layers": 2, "num_experts": 32, "num_experts_per_tok": 4, "conv_L_cache": 3, "use_expert_bias": true,
        "max_position_embeddings": 128000, "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "conv",
        "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv",
        "conv", "conv", "full_attention", "conv", "conv", "full_attention", "conv", "conv"],
        "torch_dtype": "bfloat16"})"},
    {"allenai/Olmo-3-7B-Instruct",
     R"({"model_type": "olmo3", "vocab_size": 100278, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "sliding_window": 4096,
        "max_position_embeddings": 65536, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"allenai/Olmo-3-32B-Think",
     R"({"model_type": "olmo3", "vocab_size": 100278, "hidden_size": 5120, "intermediate_size": 27648,
        "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8, "sliding_window": 4096,
        "max_position_embeddings": 65536, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"baidu/ERNIE-4.5-300B-A47B-PT",
     R"({"model_type": "ernie4_5_moe", "vocab_size": 103424, "hidden_size": 8192, "intermediate_size": 28672,
        "moe_intermediate_size": 3584, "num_hidden_layers": 54, "num_attention_heads": 64, "num_key_value_heads": 8,
        "moe_num_experts": 64, "moe_k": 8, "moe_num_shared_experts": 0, "moe_layer_start_index": 3,
        "moe_layer_end_index": 53, "moe_layer_interval": 1, "max_position_embeddings": 131072,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"ai21labs/AI21-Jamba-Large-1.7",
     R"({"model_type": "jamba", "vocab_size": 65536, "hidden_size": 8192, "intermediate_size": 24576,
        "num_hidden_layers": 72, "num_attention_heads": 64, "num_key_value_heads": 8, "num_experts": 16,
        "num_experts_per_tok": 2, "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
        "expert_layer_offset": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 512,
        "mamba_conv_bias": true, "mamba_proj_bias": false, "max_position_embeddings": 262144, "tie_word_embeddings":
        false, "torch_dtype": "bfloat16"})"},
    {"ibm-granite/granite-4.0-h-tiny",
     R"({"model_type": "granitemoehybrid", "vocab_size": 100352, "hidden_size": 1536, "intermediate_size": 512,
        "shared_intermediate_size": 1024, "num_hidden_layers": 40, "num_attention_heads": 12, "num_key_value_heads":
        4, "num_local_experts": 64, "num_experts_per_tok": 6, "mamba_n_heads": 48, "mamba_d_head": 64,
        "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_conv_bias": true,
        "mamba_proj_bias": false, "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba",
        "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba",
        "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba",
        "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba"],
        "max_position_embeddings": 131072, "tie_word_embeddings": true, "torch_dtype": "bfloat16"})"},
    {"XiaomiMiMo/MiMo-7B-RL",
     R"({"model_type": "mimo", "vocab_size": 151680, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "attention_bias": true,
        "num_nextn_predict_layers": 1, "max_position_embeddings": 32768, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16"})"},
    {"openbmb/MiniCPM4.1-8B",
     R"({"model_type": "minicpm", "vocab_size": 73448, "hidden_size": 4096, "intermediate_size": 16384,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 2, "max_position_embeddings":
        65536, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"inclusionAI/Ling-mini-2.0",
     R"({"model_type": "bailing_moe_v2", "vocab_size": 157184, "hidden_size": 2048, "intermediate_size": 5120,
        "moe_intermediate_size": 512, "num_hidden_layers": 20, "num_attention_heads": 16, "num_key_value_heads": 4,
        "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8, "num_shared_experts": 1,
        "first_k_dense_replace": 1, "use_qk_norm": true, "max_position_embeddings": 32768, "tie_word_embeddings":
        false, "torch_dtype": "bfloat16"})"},
    {"inclusionAI/Ling-flash-2.0",
     R"({"model_type": "bailing_moe_v2", "vocab_size": 157184, "hidden_size": 4096, "intermediate_size": 9216,
        "moe_intermediate_size": 1024, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 4,
        "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8, "num_shared_experts": 1,
        "first_k_dense_replace": 1, "use_qk_norm": true, "max_position_embeddings": 32768, "tie_word_embeddings":
        false, "torch_dtype": "bfloat16"})"},
    {"LGAI-EXAONE/K-EXAONE-236B-A23B",
     R"({"model_type": "exaone_moe", "vocab_size": 153600, "hidden_size": 6144, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 1,
        "first_k_dense_replace": 1, "sliding_window": 128, "sliding_window_pattern": "LLLG",
        "max_position_embeddings": 262144, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"swiss-ai/Apertus-70B-Instruct-2509",
     R"({"model_type": "apertus", "vocab_size": 131072, "hidden_size": 8192, "intermediate_size": 43008,
        "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings":
        65536, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"swiss-ai/Apertus-8B-Instruct-2509",
     R"({"model_type": "apertus", "vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 21504,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings":
        65536, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"tiiuae/Falcon-H1-34B-Instruct",
     R"({"model_type": "falcon_h1", "vocab_size": 261120, "hidden_size": 5120, "intermediate_size": 21504,
        "num_hidden_layers": 72, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
        "mamba_d_ssm": 4096, "mamba_n_heads": 32, "mamba_d_head": 128, "mamba_d_state": 256, "mamba_n_groups": 2,
        "mamba_d_conv": 4, "mamba_conv_bias": true, "mamba_proj_bias": false, "mamba_rms_norm": false,
        "max_position_embeddings": 262144, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"CohereLabs/command-a-03-2025",
     R"({"model_type": "cohere2", "vocab_size": 256000, "hidden_size": 12288, "intermediate_size": 36864,
        "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
        "sliding_window": 4096, "sliding_window_pattern": 4, "max_position_embeddings": 131072, "torch_dtype":
        "bfloat16"})"},
    {"mistralai/Ministral-3-8B-Instruct-2512",
     R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3", "vocab_size": 131072, "hidden_size":
        4096, "num_hidden_layers": 34, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 14336, "max_position_embeddings": 262144, "tie_word_embeddings": false},
        "vision_config": {"model_type": "pixtral"}, "quantization_config": {"quant_method": "fp8",
        "activation_scheme": "static", "modules_to_not_convert": ["vision_tower", "multi_modal_projector",
        "lm_head"]}})"},
    {"mistralai/Ministral-3-3B-Instruct-2512",
     R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3", "vocab_size": 131072, "hidden_size":
        3072, "num_hidden_layers": 26, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 9216, "max_position_embeddings": 262144, "tie_word_embeddings": true}, "vision_config":
        {"model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
        "num_attention_heads": 16, "image_size": 1540, "patch_size": 14}, "torch_dtype": "bfloat16"})"},
    {"mistralai/Ministral-3-14B-Instruct-2512",
     R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3", "vocab_size": 131072, "hidden_size":
        5120, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 16384, "max_position_embeddings": 262144, "tie_word_embeddings": false},
        "vision_config": {"model_type": "pixtral"}, "quantization_config": {"quant_method": "fp8",
        "activation_scheme": "static", "modules_to_not_convert": ["vision_tower", "multi_modal_projector",
        "lm_head"]}})"},
    {"mistralai/Devstral-Small-2-24B-Instruct-2512",
     R"({"model_type": "mistral3", "text_config": {"model_type": "ministral3", "vocab_size": 131072, "hidden_size":
        5120, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 32768, "max_position_embeddings": 393216, "tie_word_embeddings": false},
        "vision_config": {"model_type": "pixtral"}, "quantization_config": {"quant_method": "fp8",
        "activation_scheme": "static", "modules_to_not_convert": ["vision_tower", "multi_modal_projector",
        "lm_head"]}})"},
    {"mistralai/Mistral-Large-3-675B-Instruct-2512",
     R"({"model_type": "mistral3", "text_config": {"model_type": "mistral4", "vocab_size": 131072, "hidden_size": 7168,
        "intermediate_size": 16384, "num_hidden_layers": 61, "num_attention_heads": 128, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts":
        128, "num_experts_per_tok": 4, "moe_intermediate_size": 4096, "n_shared_experts": 1, "first_k_dense_replace":
        3, "max_position_embeddings": 294912, "tie_word_embeddings": false}, "vision_config": {"model_type": "pixtral",
        "hidden_size": 1664, "intermediate_size": 8192, "num_hidden_layers": 48, "num_attention_heads": 16,
        "image_size": 1540, "patch_size": 14}, "torch_dtype": "bfloat16", "quantization_config": {"quant_method":
        "compressed-tensors", "format": "float-quantized", "config_groups": {"FP8_BLOCK": {"format": "float-quantized",
        "targets": ["Linear"], "weights": {"block_structure": [128, 128], "dynamic": false, "num_bits": 8, "strategy":
        "block", "symmetric": true, "type": "float"}}}, "ignore": ["model.embed_tokens", "re:patch_merger.*",
        "re:vision_encoder.*", "re:vision_language_adapter.*", "re:.*kv_a_proj_with_mqa$", "re:.*q_a_proj$",
        "re:.*gate$", "lm_head"]}})"},
    {"moonshotai/Moonlight-16B-A3B-Instruct",
     R"({"model_type": "deepseek_v3", "vocab_size": 163840, "hidden_size": 2048, "num_hidden_layers": 27,
        "num_attention_heads": 16, "num_key_value_heads": 16, "q_lora_rank": null, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "intermediate_size": 11264,
        "n_routed_experts": 64, "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "n_shared_experts": 2,
        "first_k_dense_replace": 1, "max_position_embeddings": 8192, "num_nextn_predict_layers": 0, "torch_dtype":
        "bfloat16"})"},
    {"microsoft/Phi-4-multimodal-instruct",
     R"({"model_type": "phi4_multimodal", "vocab_size": 200064, "hidden_size": 3072, "intermediate_size": 8192,
        "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "partial_rotary_factor": 0.75,
        "max_position_embeddings": 131072, "tie_word_embeddings": true, "vision_config": {}, "audio_config":
        {"bias_max_distance": 500}, "torch_dtype": "bfloat16"})"},
    {"Qwen/Qwen2.5-VL-3B-Instruct",
     R"({"model_type": "qwen2_5_vl", "vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 11008,
        "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 2, "max_position_embeddings": 128000,
        "tie_word_embeddings": true, "vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420,
        "num_heads": 16, "out_hidden_size": 2048}, "torch_dtype": "bfloat16"})"},
    {"jinaai/jina-embeddings-v4",
     R"({"model_type": "qwen2_5_vl", "architectures": ["JinaEmbeddingsV4Model"], "vocab_size": 151936, "hidden_size":
        2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 2,
        "max_position_embeddings": 128000, "tie_word_embeddings": true, "multi_vector_projector_dim": 128,
        "vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16,
        "out_hidden_size": 2048}, "torch_dtype": "bfloat16"})"},
    {"ibm-granite/granite-4.1-8b ibm-granite/granite-4.2-8b",
     R"({"model_type": "granite", "vocab_size": 100352, "hidden_size": 4096, "intermediate_size": 12800,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16"})"},
    {"ibm-granite/granite-4.1-3b ibm-granite/granite-4.0-micro",
     R"({"model_type": "granite", "vocab_size": 100352, "hidden_size": 2560, "intermediate_size": 8192,
        "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "tie_word_embeddings": true, "torch_dtype": "bfloat16"})"},
    {"BAAI/bge-m3 Snowflake/snowflake-arctic-embed-l-v2.0",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 8194,
        "architectures": ["XLMRobertaModel"], "torch_dtype": "float32"})"},
    {"FacebookAI/roberta-large",
     R"({"model_type": "roberta", "vocab_size": 50265, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["RobertaForMaskedLM"], "torch_dtype": "float32"})"},
    {"FacebookAI/xlm-roberta-base",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["XLMRobertaForMaskedLM"], "torch_dtype": "float32"})"},
    {"FacebookAI/xlm-roberta-large",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["XLMRobertaForMaskedLM"], "torch_dtype": "float32"})"},
    {"BAAI/bge-large-en-v1.5 intfloat/e5-large-v2 Snowflake/snowflake-arctic-embed-l",
     R"({"model_type": "bert", "vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 2, "max_position_embeddings": 512,
        "architectures": ["BertModel"], "torch_dtype": "float32"})"},
    {"mixedbread-ai/mxbai-embed-large-v1",
     R"({"model_type": "bert", "vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 2, "max_position_embeddings": 512,
        "architectures": ["BertModel"], "torch_dtype": "float16"})"},
    {"BAAI/bge-reranker-base",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "torch_dtype":
        "float32"})"},
    {"BAAI/bge-reranker-large",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "torch_dtype":
        "float32"})"},
    {"intfloat/e5-mistral-7b-instruct",
     R"({"model_type": "mistral", "vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "sliding_window": 4096, "architectures": ["EmbeddingModel"], "torch_dtype":
        "float16"})"},
    {"BAAI/bge-reranker-v2-m3",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 8194,
        "architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "torch_dtype":
        "float32"})"},
    {"intfloat/multilingual-e5-large",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["XLMRobertaModel"], "torch_dtype": "float32"})"},
    {"intfloat/multilingual-e5-large-instruct",
     R"({"model_type": "xlm-roberta", "vocab_size": 250002, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "type_vocab_size": 1, "max_position_embeddings": 514,
        "architectures": ["XLMRobertaModel"], "torch_dtype": "float16"})"},
    {"intfloat/multilingual-e5-base",
     R"({"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "vocab_size": 250002, "hidden_size": 768,
        "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "type_vocab_size": 1,
        "max_position_embeddings": 514, "torch_dtype": "float32"})"},
    {"intfloat/multilingual-e5-small sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
     R"({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 250037, "hidden_size": 384,
        "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 1536, "type_vocab_size": 2,
        "max_position_embeddings": 512, "torch_dtype": "float32"})"},
    {"BAAI/bge-small-en-v1.5 sentence-transformers/all-MiniLM-L12-v2",
     R"({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": 384,
        "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 1536, "type_vocab_size": 2,
        "max_position_embeddings": 512, "torch_dtype": "float32"})"},
    {"sentence-transformers/all-MiniLM-L6-v2",
     R"({"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": 384,
        "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536, "type_vocab_size": 2,
        "max_position_embeddings": 512, "torch_dtype": "float32"})"},
    {"google/gemma-4-E4B-it google/gemma-4-E4B",
     R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text", "vocab_size": 262144, "hidden_size":
        2560, "intermediate_size": 10240, "num_hidden_layers": 42, "num_attention_heads": 8, "num_key_value_heads": 2,
        "head_dim": 256, "global_head_dim": 512, "sliding_window": 512, "hidden_size_per_layer_input": 256,
        "vocab_size_per_layer_input": 262144, "num_kv_shared_layers": 18, "use_double_wide_mlp": false,
        "max_position_embeddings": 131072, "tie_word_embeddings": true}, "vision_config": {"model_type":
        "gemma4_vision"}, "audio_config": {"model_type": "gemma4_audio"}, "torch_dtype": "bfloat16"})"},
    {"google/gemma-4-E2B-it google/gemma-4-E2B",
     R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text", "vocab_size": 262144, "hidden_size":
        1536, "intermediate_size": 6144, "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 1,
        "head_dim": 256, "global_head_dim": 512, "sliding_window": 512, "hidden_size_per_layer_input": 256,
        "vocab_size_per_layer_input": 262144, "num_kv_shared_layers": 20, "use_double_wide_mlp": true, "layer_types":
        ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
        "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
        "max_position_embeddings": 131072, "tie_word_embeddings": true}, "vision_config": {"model_type":
        "gemma4_vision"}, "audio_config": {"model_type": "gemma4_audio"}, "torch_dtype": "bfloat16"})"},
    {"google/gemma-3n-E4B-it google/gemma-3n-E4B",
     R"({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text", "intermediate_size": 16384},
        "vision_config": {"model_type": "gemma3n_vision", "architecture": "mobilenetv5_300m_enc"}, "audio_config":
        {"model_type": "gemma3n_audio"}, "torch_dtype": "bfloat16"})"},
    {"google/gemma-3n-E2B-it google/gemma-3n-E2B",
     R"({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text", "intermediate_size": 8192,
        "num_hidden_layers": 30, "num_kv_shared_layers": 10}, "vision_config": {"model_type": "gemma3n_vision",
        "architecture": "mobilenetv5_300m_enc"}, "audio_config": {"model_type": "gemma3n_audio"}, "torch_dtype":
        "bfloat16"})"},
    {"nomic-ai/nomic-embed-text-v1.5",
     R"({"model_type": "nomic_bert", "architectures": ["NomicBertModel"], "vocab_size": 30528, "n_embd": 768, "n_layer":
        12, "n_head": 12, "n_inner": 3072, "n_positions": 8192, "max_position_embeddings": 2048, "type_vocab_size": 2,
        "activation_function": "swiglu", "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false,
        "torch_dtype": "float32"})"},
    {"nomic-ai/nomic-embed-text-v2-moe",
     R"({"model_type": "nomic_bert", "architectures": ["NomicBertModel"], "vocab_size": 250048, "n_embd": 768,
        "n_layer": 12, "n_head": 12, "n_inner": 3072, "n_positions": 2048, "type_vocab_size": 1,
        "activation_function": "gelu", "qkv_proj_bias": true, "mlp_fc1_bias": true, "mlp_fc2_bias": true,
        "num_experts": 8, "moe_top_k": 2, "moe_every_n_layers": 2, "torch_dtype": "float32"})"},
    {"google/embeddinggemma-300m",
     R"({"model_type": "gemma3_text", "architectures": ["Gemma3TextModel"], "vocab_size": 262144, "hidden_size": 768,
        "intermediate_size": 1152, "num_hidden_layers": 24, "num_attention_heads": 3, "num_key_value_heads": 1,
        "head_dim": 256, "sliding_window": 512, "max_position_embeddings": 2048, "use_bidirectional_attention": true,
        "torch_dtype": "float32"})"},
    {"moonshotai/Kimi-K2.5 moonshotai/Kimi-K2.6",
     R"({"model_type": "kimi_k25", "text_config": {"model_type": "kimi_k2", "vocab_size": 163840, "hidden_size": 7168,
        "intermediate_size": 18432, "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "n_routed_experts": 384, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "max_position_embeddings": 262144, "num_nextn_predict_layers": 0, "torch_dtype":
        "bfloat16", "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "symmetric":
        true, "strategy": "group", "group_size": 32, "dynamic": false}}}, "ignore": ["lm_head", "re:.*self_attn.*",
        "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]}}, "vision_config": {}})"},
    {"moonshotai/Kimi-K2-Thinking",
     R"({"model_type": "kimi_k2", "vocab_size": 163840, "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts":
        384, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "max_position_embeddings": 262144, "num_nextn_predict_layers": 0, "torch_dtype": "bfloat16",
        "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups":
        {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "symmetric": true, "strategy":
        "group", "group_size": 32, "dynamic": false}}}, "ignore": ["lm_head", "re:.*self_attn.*",
        "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]}})"},
};

/// The model of a row, by the repository's name without its organisation in lower case.
inline maybe<model> model_of(const published_config& row, std::string_view repository) {
    const result<model> read = read_config(nlohmann::json::parse(row.config));
    if (!read) return {};
    text<63> name{repository.substr(repository.find('/') + 1)};
    for (char& c : name.characters) c = llmres::detail::lower_case(c);
    model m = *read;
    m.name = name;
    return m;
}

/// Calls visit(row, repository) for each repository of published_configs until it returns true.
template <class Visit>
void until_published(const Visit& visit) {
    for (const published_config& row : published_configs)
        for (std::string_view rest = row.repositories; !rest.empty();) {
            const std::string_view repository = rest.substr(0, rest.find(' '));
            rest.remove_prefix(repository.size() == rest.size() ? rest.size() : repository.size() + 1);
            if (visit(row, repository)) return;
        }
}

/// The model of the first repository that the predicate holds for.
template <class Matches>
maybe<model> first_published(const Matches& matches) {
    maybe<model> found;
    until_published([&](const published_config& row, std::string_view repository) {
        if (!matches(repository)) return false;
        found = model_of(row, repository);
        return true;
    });
    return found;
}

/// The model of a repository of published_configs, named in either letter case, with or without its organisation.
inline maybe<model> find_published(std::string_view name) {
    using llmres::detail::same_letters;
    return first_published([&](std::string_view repository) {
        return same_letters(repository, name) || same_letters(repository.substr(repository.find('/') + 1), name);
    });
}

/// The model of a repository of published_configs by the words of its name in another spelling ("qwen3.5:9b").
inline maybe<model> find_published_by_words(std::string_view name) {
    const models::detail::words asked{name};
    if (asked.count == 0) return {};
    return first_published([&](std::string_view repository) {
        return models::detail::words{repository}.joined_up() == asked.joined_up();
    });
}

/// Up to three names that a name might mean, as search_models() chooses them: two of presets, and one of
/// published_configs, whose repositories are named without their organisation.
inline nearest_names search_models_and_published(std::string_view name) {
    std::vector<std::string_view> names;
    until_published([&](const published_config&, std::string_view repository) {
        names.push_back(repository.substr(repository.find('/') + 1));
        return false;
    });
    nearest_names found = search_models(name);
    const nearest_names published = models::detail::search_names(name, names);
    if (published.empty()) return found;
    if (found.count == found.names.size()) --found.count;
    found.names[found.count++] = published.names[0];
    return found;
}

}  // namespace llmres::inline v0::detail::hf
