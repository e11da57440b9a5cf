# SPDX-License-Identifier: MIT
"""The families of the tiny models, each a config.json.

Widths are chosen so that each part of a step is the fullest one in some family: attention scores, feed-forward, logits."""
VOCABULARY = 8192


def config(architecture, model_type, **fields):
    return {"architectures": [architecture], "model_type": model_type, "torch_dtype": "float16",
            "vocab_size": VOCABULARY, "max_position_embeddings": 131072, "tie_word_embeddings": False, **fields}


# family: architecture in GGUF, first build that reads it, config.json
FAMILIES = {
    "llama": ("llama", 0, config("LlamaForCausalLM", "llama", hidden_size=512, intermediate_size=1536,
                                 num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2)),
    "qwen2": ("qwen2", 0, config("Qwen2ForCausalLM", "qwen2", hidden_size=256, intermediate_size=2048, vocab_size=2048,
                                 num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=4)),
    "qwen3": ("qwen3", 0, config("Qwen3ForCausalLM", "qwen3", hidden_size=256, intermediate_size=768, head_dim=128,
                                 num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=1024,
                                 tie_word_embeddings=True)),
    "qwen3_moe": ("qwen3moe", 0, config("Qwen3MoeForCausalLM", "qwen3_moe", hidden_size=512, intermediate_size=1024,
                                        head_dim=64, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2,
                                        num_experts=16, num_experts_per_tok=4, moe_intermediate_size=512,
                                        decoder_sparse_step=1, mlp_only_layers=[], vocab_size=2048)),
    "mixtral": ("llama", 0, config("MixtralForCausalLM", "mixtral", hidden_size=512, intermediate_size=1024,
                                   num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8,
                                   num_local_experts=8, num_experts_per_tok=2)),
    "gemma3": ("gemma3", 0, config("Gemma3ForCausalLM", "gemma3_text", hidden_size=512, intermediate_size=2048,
                                   head_dim=128, num_hidden_layers=7, num_attention_heads=4, num_key_value_heads=2,
                                   sliding_window=512, sliding_window_pattern=6, tie_word_embeddings=True)),
    "gemma2": ("gemma2", 6000, config("Gemma2ForCausalLM", "gemma2", hidden_size=512, intermediate_size=2048,
                                   head_dim=64, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4,
                                   sliding_window=1024, tie_word_embeddings=True, vocab_size=4096)),
    "phi3": ("phi3", 0, config("Phi3ForCausalLM", "phi3", hidden_size=512, intermediate_size=1536,
                               num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8, vocab_size=4096,
                               sliding_window=None)),
    "deepseek_v3": ("deepseek2", 0,
                    config("DeepseekV3ForCausalLM", "deepseek_v3", hidden_size=512, intermediate_size=1024,
                           num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8, q_lora_rank=192,
                           kv_lora_rank=128, qk_rope_head_dim=32, qk_nope_head_dim=64, v_head_dim=64,
                           first_k_dense_replace=1, n_routed_experts=16, num_experts_per_tok=4, n_shared_experts=1,
                           moe_intermediate_size=256, n_group=1, topk_group=1, scoring_func="sigmoid",
                           topk_method="noaux_tc", vocab_size=2048)),
    "gpt_oss": ("gpt-oss", 6097, config("GptOssForCausalLM", "gpt_oss", hidden_size=512, intermediate_size=512,
                                        head_dim=64, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=2,
                                        num_local_experts=8, num_experts_per_tok=4, sliding_window=128,
                                        layer_types=["sliding_attention", "full_attention"] * 3,
                                        attention_bias=True)),
    "mamba": ("mamba", 0, config("MambaForCausalLM", "mamba", hidden_size=512, intermediate_size=1024, state_size=16,
                                 num_hidden_layers=4, time_step_rank=32, conv_kernel=4, expand=2, use_conv_bias=True,
                                 use_bias=False, tie_word_embeddings=True, vocab_size=2048)),
    "mamba2": ("mamba2", 5811, config("Mamba2ForCausalLM", "mamba2", hidden_size=512, state_size=64, expand=2,
                                      head_dim=64, num_heads=16, n_groups=1, conv_kernel=4, num_hidden_layers=4,
                                      use_conv_bias=True, use_bias=False, tie_word_embeddings=True,
                                      vocab_size=2048)),
}
