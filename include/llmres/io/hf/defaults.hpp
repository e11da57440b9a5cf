// SPDX-License-Identifier: MIT
#pragma once

#include <array>
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
    std::string_view model_type;
    std::string_view fields;  ///< JSON
};

// clang-format off
inline constexpr std::array defaults_of_classes{
    // dense
    class_defaults{"llama", R"({"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 11008})"},
    class_defaults{"mistral", R"({"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096})"},
    class_defaults{"ministral", R"({"vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096})"},
    class_defaults{"ministral3", R"({"vocab_size": 131072, "hidden_size": 4096, "num_hidden_layers": 34,
        "num_attention_heads": 32, "intermediate_size": 14336, "num_key_value_heads": 8, "head_dim": 128})"},
    class_defaults{"phi3", R"({"vocab_size": 32064, "hidden_size": 3072, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 8192})"},
    class_defaults{"phi3small", R"({"tie_word_embeddings": true})"},
    class_defaults{"internlm", R"({"bias": true})"},
    class_defaults{"internlm2", R"({"bias": true})"},
    class_defaults{"smollm3", R"({"tie_word_embeddings": true, "num_key_value_heads": 4})"},
    class_defaults{"minicpm", R"({"tie_word_embeddings": true})"},
    class_defaults{"ernie4_5", R"({"tie_word_embeddings": true, "num_key_value_heads": 2, "head_dim": 128})"},
    class_defaults{"qwen2", R"({"vocab_size": 151936, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 22016, "sliding_window": 4096, "max_window_layers": 28})"},
    class_defaults{"qwen2_vl_text", R"({"vocab_size": 152064, "hidden_size": 8192, "num_hidden_layers": 80,
        "num_attention_heads": 64, "intermediate_size": 29568, "num_key_value_heads": 8, "sliding_window": 4096,
        "max_window_layers": 28})"},
    class_defaults{"qwen2_5_vl_text", R"({"vocab_size": 152064, "hidden_size": 8192, "num_hidden_layers": 80,
        "num_attention_heads": 64, "intermediate_size": 29568, "num_key_value_heads": 8, "sliding_window": 4096,
        "max_window_layers": 28})"},
    class_defaults{"qwen3", R"({"vocab_size": 151936, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 22016, "head_dim": 128, "sliding_window": 4096,
        "max_window_layers": 28})"},
    class_defaults{"qwen3_vl_text", R"({"vocab_size": 151936, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 22016, "head_dim": 128, "sliding_window": 4096,
        "max_window_layers": 28})"},
    class_defaults{"gemma", R"({"vocab_size": 256000, "hidden_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "intermediate_size": 24576, "num_key_value_heads": 16, "head_dim": 256,
        "tie_word_embeddings": true})"},
    class_defaults{"gemma2", R"({"vocab_size": 256000, "hidden_size": 2304, "num_hidden_layers": 26,
        "num_attention_heads": 8, "intermediate_size": 9216, "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 4096, "tie_word_embeddings": true})"},
    class_defaults{"gemma3_text", R"({"vocab_size": 262208, "hidden_size": 2304, "num_hidden_layers": 26,
        "num_attention_heads": 8, "intermediate_size": 9216, "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 4096, "tie_word_embeddings": true})"},
    class_defaults{"glm", R"({"num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})"},
    class_defaults{"glm4", R"({"num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})"},
    class_defaults{"seed_oss", R"({"num_key_value_heads": 8, "head_dim": 128, "attention_bias": true})"},
    class_defaults{"mimo", R"({"attention_bias": true})"},
    class_defaults{"olmo3", R"({"sliding_window": 4096})"},
    class_defaults{"exaone4", R"({"sliding_window": 4096})"},
    class_defaults{"cohere", R"({"tie_word_embeddings": true})"},
    class_defaults{"cohere2", R"({"sliding_window": 4096, "tie_word_embeddings": true})"},
    class_defaults{"starcoder2", R"({"num_key_value_heads": 2, "use_bias": true, "tie_word_embeddings": true})"},
    class_defaults{"hunyuan_v1_dense", R"({"use_qk_norm": true})"},
    class_defaults{"hunyuan_v1_moe", R"({"use_qk_norm": true, "num_shared_expert": 1})"},
    // routed experts
    class_defaults{"mixtral", R"({"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    class_defaults{"phimoe", R"({"num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 2})"},
    class_defaults{"granitemoe", R"({"num_local_experts": 8, "num_experts_per_tok": 2})"},
    class_defaults{"granitemoeshared", R"({"num_local_experts": 8, "num_experts_per_tok": 2})"},
    class_defaults{"olmoe", R"({"num_experts": 64, "num_experts_per_tok": 8})"},
    class_defaults{"gpt_oss", R"({"num_key_value_heads": 8, "head_dim": 64, "attention_bias": true,
        "sliding_window": 128, "num_local_experts": 128, "num_experts_per_tok": 4})"},
    class_defaults{"grok-1", R"({"tie_word_embeddings": true})"},
    class_defaults{"qwen2_moe", R"({"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632, "sliding_window": 4096, "max_window_layers": 28})"},
    class_defaults{"qwen3_moe", R"({"num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 768, "sliding_window": 4096, "max_window_layers": 28})"},
    class_defaults{"qwen3_vl_moe_text", R"({"vocab_size": 151936, "hidden_size": 2048, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 5632, "num_key_value_heads": 16, "num_experts": 60,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1408})"},
    class_defaults{"glm4_moe", R"({"num_key_value_heads": 8, "n_routed_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408, "n_shared_experts": 1, "first_k_dense_replace": 1})"},
    class_defaults{"dots1", R"({"moe_intermediate_size": 1408})"},
    class_defaults{"ernie4_5_moe", R"({"num_key_value_heads": 4, "moe_num_experts": 64, "moe_k": 6,
        "moe_intermediate_size": 1536, "moe_num_shared_experts": 2, "moe_layer_start_index": 1,
        "tie_word_embeddings": true})"},
    class_defaults{"minimax_m2", R"({"num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256,
        "num_experts_per_tok": 8})"},
    class_defaults{"llama4_text", R"({"vocab_size": 202048, "hidden_size": 5120, "num_hidden_layers": 48,
        "num_attention_heads": 40, "intermediate_size": 8192, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size_mlp": 16384, "num_local_experts": 16, "num_experts_per_tok": 1})"},
    // latent attention
    class_defaults{"deepseek_v2", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64, "moe_intermediate_size": 1407,
        "n_shared_experts": 2})"},
    class_defaults{"deepseek_v3", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3})"},
    class_defaults{"kimi_k2", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3})"},
    class_defaults{"deepseek_v32", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048,
        "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
        "first_k_dense_replace": 3})"},
    class_defaults{"glm_moe_dsa", R"({"q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192,
        "qk_rope_head_dim": 64, "v_head_dim": 256, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048,
        "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1,
        "first_k_dense_replace": 3})"},
    class_defaults{"longcat_flash", R"({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 512, "zero_expert_num": 256, "moe_topk": 12,
        "expert_ffn_hidden_size": 2048})"},
    // recurrences and hybrids
    class_defaults{"mamba", R"({"tie_word_embeddings": true})"},
    class_defaults{"falcon_mamba", R"({"tie_word_embeddings": true})"},
    class_defaults{"jamba", R"({"num_key_value_heads": 8, "num_experts": 16, "num_experts_per_tok": 2})"},
    class_defaults{"nemotron_h", R"({"num_key_value_heads": 8, "head_dim": 128, "n_groups": 8, "ssm_state_size": 128,
        "mamba_num_heads": 128, "mamba_head_dim": 64})"},
    class_defaults{"granitemoehybrid", R"({"num_local_experts": 8, "num_experts_per_tok": 2,
        "shared_intermediate_size": 1024, "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256})"},
    class_defaults{"qwen3_next", R"({"num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "num_experts": 512,
        "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512})"},
    class_defaults{"qwen3_5_text", R"({"vocab_size": 248320, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 16, "intermediate_size": 12288, "num_key_value_heads": 4, "head_dim": 256,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128})"},
    class_defaults{"qwen3_5_moe_text", R"({"vocab_size": 248320, "hidden_size": 2048, "num_hidden_layers": 40,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "num_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512})"},
    class_defaults{"minimax", R"({"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    class_defaults{"lfm2", R"({"num_key_value_heads": 8, "tie_word_embeddings": true})"},
    class_defaults{"lfm2_moe", R"({"num_key_value_heads": 8, "num_experts": 32, "num_experts_per_tok": 4,
        "moe_intermediate_size": 1792, "num_dense_layers": 2, "tie_word_embeddings": true})"},
    // descended from GPT-2
    class_defaults{"gpt2", R"({"tie_word_embeddings": true})"},
    class_defaults{"gpt_bigcode", R"({"tie_word_embeddings": true})"},
    class_defaults{"openai-gpt", R"({"tie_word_embeddings": true})"},
    class_defaults{"gpt_neo", R"({"tie_word_embeddings": true})"},
    class_defaults{"bloom", R"({"tie_word_embeddings": true})"},
    class_defaults{"opt", R"({"tie_word_embeddings": true})"},
    class_defaults{"falcon", R"({"tie_word_embeddings": true})"},
    class_defaults{"RefinedWeb", R"({"tie_word_embeddings": true})"},
    class_defaults{"RefinedWebModel", R"({"tie_word_embeddings": true})"},
    class_defaults{"mpt", R"({"tie_word_embeddings": true})"},
    // text models that exist only inside multimodal ones
    class_defaults{"mllama_text_model", R"({"vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 40,
        "num_attention_heads": 32, "intermediate_size": 14336, "num_key_value_heads": 8, "cross_attention_layers": [3,
        8, 13, 18, 23, 28, 33, 38]})"},
    class_defaults{"clip_text_model", R"({"vocab_size": 49408, "hidden_size": 512, "num_hidden_layers": 12,
        "num_attention_heads": 8, "intermediate_size": 2048, "max_position_embeddings": 77})"},
    class_defaults{"siglip_text_model", R"({"vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 64})"},
};
// clang-format on

/// The defaults of a class. `nested`: with vocabulary, widths, layers and heads, for an object inside another.
inline nlohmann::json defaults_of(std::string_view model_type, bool nested) {
    nlohmann::json found = nlohmann::json::object();
    for (const class_defaults& c : defaults_of_classes)
        if (c.model_type == model_type) found = nlohmann::json::parse(c.fields);
    if (!nested)
        for (const char* shape :
             {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"})
            found.erase(shape);
    return found;
}

}  // namespace llmres::inline v0::detail::hf
