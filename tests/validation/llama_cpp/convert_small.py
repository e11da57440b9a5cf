#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes ../data/gguf_headers.jsonl: small models of transformers' own classes, converted by llama.cpp's converters.

    python convert_small.py LLAMA_CPP    # the directory with llama.cpp's conversion/ and gguf-py/

Each line holds a config.json of ../data/transformers_counts.jsonl, and the metadata and tensors of the GGUF file that the
converter makes of such a model with random weights: what the file says, not what we think that it says. Vocabularies are
left out; what a converter of that version cannot read is named on standard error."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
LLAMA_CPP = Path(sys.argv[1])
sys.path[:0] = [str(LLAMA_CPP), str(LLAMA_CPP / "gguf-py")]

import gguf  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from conversion import ModelBase, get_model_class  # noqa: E402

DATA = Path(__file__).parent / ".." / "data"
PER_TYPE = 2
MOST_PARAMETERS = 60_000_000
# Shapes and fields that the converters of these types take for granted.
COMMON = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
GROUPED = {**COMMON, "num_key_value_heads": 2, "intermediate_size": 320}
GPT2 = {"vocab_size": 1000, "n_embd": 256, "n_layer": 3, "n_head": 4, "n_positions": 64, "n_ctx": 64}
DELTA = {"linear_num_value_heads": 8, "linear_num_key_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 32,
         "mtp_num_hidden_layers": 1}  # fmt: skip
ROUTED = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 96, "shared_expert_intermediate_size": 128}
ROUTED_ALONE = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 96}
LATENT = {**COMMON, "intermediate_size": 320, "num_key_value_heads": 4, "q_lora_rank": 96, "kv_lora_rank": 64, "qk_rope_head_dim": 16,
          "qk_nope_head_dim": 32, "v_head_dim": 48, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 96,
          "n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}  # fmt: skip
INDEXED = {"index_n_heads": 4, "index_head_dim": 32, "index_topk": 64}
# Classes that converters know by another name, and text models that they know as parts of others.
KNOWN_AS = {"PhimoeForCausalLM": "PhiMoEForCausalLM", "MptForCausalLM": "MPTForCausalLM"}
PART_OF = {
    "qwen2_vl_text": ("qwen2", "Qwen2VLForConditionalGeneration"),
    "qwen3_vl_text": ("qwen3", "Qwen3VLForConditionalGeneration"),
    "qwen3_vl_moe_text": ("qwen3_moe", "Qwen3VLMoeForConditionalGeneration"),
    "minicpm": ("llama", "MiniCPMForCausalLM"),
}
EXTRA = [
    {"model_type": "phi", **COMMON, "intermediate_size": 1024},
    {"model_type": "gpt2", **GPT2},
    {"model_type": "gpt_bigcode", **GPT2},
    {"model_type": "falcon", **COMMON, "num_kv_heads": 2, "new_decoder_architecture": True},
    {"model_type": "falcon", **COMMON, "multi_query": True, "new_decoder_architecture": False},
    {"model_type": "gpt_neox", **COMMON, "intermediate_size": 1024, "rotary_pct": 0.25},
    {"model_type": "starcoder2", **COMMON, "intermediate_size": 1024, "num_key_value_heads": 2, "use_bias": True},
    {"model_type": "cohere2", **GROUPED, "tie_word_embeddings": True, "rotary_pct": 1.0},
    {"model_type": "minimax_m2", **GROUPED, "head_dim": 64, "rotary_dim": 32, "num_local_experts": 8, "num_experts_per_tok": 2},
    {"model_type": "mamba", "vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 3},
    {"model_type": "lfm2", **GROUPED, "layer_types": ["conv", "full_attention"] * 2, "conv_bias": False, "block_multiple_of": 64},
    {"model_type": "qwen2_moe", **GROUPED, **ROUTED},
    {"model_type": "qwen3_next", **GROUPED, "head_dim": 64, **DELTA, **ROUTED},
    {"model_type": "qwen3_5_text", **GROUPED, "head_dim": 64, **DELTA},
    {"model_type": "qwen3_5_moe_text", **GROUPED, "head_dim": 64, **DELTA, **ROUTED},
    {"model_type": "hunyuan_v1_moe", **GROUPED, "head_dim": 64, "num_experts": 8, "moe_topk": [2] * 4,
     "moe_intermediate_size": [320] * 4, "num_shared_expert": [1] * 4},
    {"model_type": "nemotron_h", **GROUPED, "head_dim": 64, "hybrid_override_pattern": "ME*M", "mamba_num_heads": 8, "mamba_head_dim": 64,
     "ssm_state_size": 16, "n_groups": 2, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 96,
     "moe_shared_expert_intermediate_size": 128, "n_shared_experts": 1},
    {"model_type": "nemotron_h", **GROUPED, "head_dim": 64, "hybrid_override_pattern": "M-*M", "mamba_num_heads": 8, "mamba_head_dim": 64,
     "ssm_state_size": 16, "n_groups": 2, "num_experts_per_tok": None},
    {"model_type": "granitemoehybrid", **GROUPED, "layer_types": ["mamba", "attention", "mamba", "mamba"], "num_local_experts": 8,
     "num_experts_per_tok": 2, "shared_intermediate_size": 192, "mamba_n_heads": 8, "mamba_d_head": 64, "mamba_d_state": 16},
    {"model_type": "granitemoehybrid", **GROUPED, "layer_types": ["mamba", "attention", "mamba", "mamba"], "num_local_experts": 0,
     "num_experts_per_tok": 0, "shared_intermediate_size": 192, "mamba_n_heads": 8, "mamba_d_head": 64, "mamba_d_state": 16},
    {"model_type": "mpt", "vocab_size": 1000, "d_model": 256, "n_heads": 4, "n_layers": 3, "expansion_ratio": 4, "max_seq_len": 64},
    {"model_type": "phimoe", **GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "attention_bias": True, "lm_head_bias": True,
     "max_position_embeddings": 64, "original_max_position_embeddings": 64},
    {"model_type": "dbrx", "vocab_size": 1000, "d_model": 256, "n_heads": 4, "n_layers": 3, "max_seq_len": 64,
     "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 500000.0},
     "ffn_config": {"ffn_hidden_size": 320, "moe_num_experts": 4, "moe_top_k": 2}},
    {"model_type": "deepseek_v32", **LATENT, **INDEXED},
    {"model_type": "jais2", **GROUPED, "intermediate_size": 1024},
    {"model_type": "hy_v3", **GROUPED, "head_dim": 64, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 96,
     "num_shared_experts": 1, "first_k_dense_replace": 1},
    {"model_type": "afmoe", **GROUPED, "head_dim": 64, **ROUTED_ALONE, "num_shared_experts": 1, "num_dense_layers": 1, "sliding_window": 512},
    {"model_type": "mellum", **GROUPED, "head_dim": 64, **ROUTED_ALONE, "sliding_window": 512},
    {"model_type": "exaone_moe", **GROUPED, "head_dim": 64, **ROUTED_ALONE, "num_shared_experts": 1, "first_k_dense_replace": 1,
     "sliding_window": 512, "sliding_window_pattern": 4},
    {"model_type": "falcon_h1", **GROUPED, "head_dim": 64, "mamba_d_ssm": 512, "mamba_n_heads": 8, "mamba_d_head": 64,
     "mamba_d_state": 16, "mamba_n_groups": 1},
    {"model_type": "kimi_linear", **LATENT, "linear_attn_config": {"num_heads": 4, "head_dim": 64, "short_conv_kernel_size": 4,
     "kda_layers": [1, 2, 3], "full_attn_layers": [4]}, "pad_token_id": 0},
    {"model_type": "minicpm3", **COMMON, "intermediate_size": 320, "q_lora_rank": 96, "kv_lora_rank": 64, "qk_rope_head_dim": 16,
     "qk_nope_head_dim": 32, "v_head_dim": 48, "num_key_value_heads": 4},
    {"model_type": "minicpm", **GROUPED, "tie_word_embeddings": True, "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 64},
    {"model_type": "qwen2_vl_text", **GROUPED},
    {"model_type": "qwen3_vl_text", **GROUPED, "head_dim": 64},
    {"model_type": "qwen3_vl_moe_text", **GROUPED, "head_dim": 64, **ROUTED_ALONE},
    {"model_type": "gemma3n_text", **GROUPED, "num_hidden_layers": 5, "head_dim": 64, "intermediate_size": [320] * 5,
     "sliding_window": 512, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 64, "vocab_size_per_layer_input": 1000,
     "laurel_rank": 16, "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
     "full_attention"], "activation_sparsity_pattern": [0.0] * 5},
    {"model_type": "gemma4_text", **GROUPED, "num_hidden_layers": 6, "head_dim": 32, "global_head_dim": 64, "sliding_window": 512,
     "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 64, "vocab_size_per_layer_input": 1000, "use_double_wide_mlp": True},
    {"model_type": "gemma4_text", **GROUPED, "num_hidden_layers": 6, "head_dim": 32, "global_head_dim": 64, "sliding_window": 512,
     "hidden_size_per_layer_input": 0, "enable_moe_block": True, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 96},
    {"model_type": "gemma4_text", **GROUPED, "num_hidden_layers": 6, "head_dim": 32, "global_head_dim": 64,
     "num_global_key_value_heads": 1, "attention_k_eq_v": True, "sliding_window": 512, "hidden_size_per_layer_input": 0},
]  # fmt: skip
LEFT_OUT = ("tokenizer.", "general.name", "general.type", "general.basename", "general.size_label", "general.finetune",
            "general.quantization_version", "general.sampling", "GGUF.")  # fmt: skip


def saved(config: dict[str, Any], folder: Path) -> str:
    """A model of that configuration with random weights, and the name of its class."""
    # Published files of dense Nemotron-H have no such field; the class has one that cannot be null.
    fields = {name: value for name, value in config.items() if value is not None or name != "num_experts_per_tok"}
    model_type = fields.pop("model_type")
    model_type, whole = PART_OF.get(model_type, (model_type, ""))
    made = transformers.AutoConfig.for_model(model_type, **fields)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.float16)
    model.save_pretrained(folder)
    return whole or KNOWN_AS.get(type(model).__name__, type(model).__name__)


def plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    return [plain(one) for one in value] if isinstance(value, list) else value


def converted(config: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        architecture = saved(config, folder)
        kind = get_model_class(architecture)
        kind.set_vocab = lambda self: None
        words = {str(i): i for i in range(config.get("vocab_size", 0))}
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": words}, "added_tokens": []}))
        with torch.inference_mode():
            # In the words of published files, and without what they do not have.
            hparams = {**ModelBase.load_hparams(folder, False), **config}
            hparams = {name: value for name, value in hparams.items() if name not in config or value is not None}
            instance = kind(folder, gguf.LlamaFileType.MOSTLY_F16, folder / "x.gguf", eager=False, dry_run=True, hparams=hparams)
            instance = getattr(instance, "impl", instance)  # a class that chooses another
            instance.prepare_tensors()
            instance.prepare_metadata(vocab_only=False)
        writer = instance.gguf_writer
        keys = {key: plain(held.value) for part in writer.kv_data for key, held in part.items()
                if not key.startswith(LEFT_OUT)}  # fmt: skip
        tensors = [[key, [int(n) for n in reversed(info.shape)], int(info.dtype)]
                   for part in writer.tensors for key, info in part.items()]  # fmt: skip
        return {"config": config, "keys": keys, "tensors": tensors}


def main() -> None:
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    done: dict[str, int] = {}
    tried: dict[str, int] = {}
    failed: dict[str, str] = {}
    with (DATA / "transformers_counts.jsonl").open() as given, (DATA / "gguf_headers.jsonl").open("w") as to:
        rows = [json.loads(line) for line in given]
        for config in EXTRA + [row["config"] for row in rows if row["parameters"] < MOST_PARAMETERS]:
            model_type = config["model_type"]
            tried[model_type] = tried.get(model_type, 0) + 1
            if tried[model_type] > PER_TYPE + sum(one["model_type"] == model_type for one in EXTRA) or "text_config" in config or "vision_config" in config:
                continue
            try:
                made = converted(config)
            except (Exception, SystemExit) as why:
                failed[model_type] = f"{type(why).__name__}: {str(why)[:160]}"
                continue
            done[model_type] = done.get(model_type, 0) + 1
            to.write(json.dumps(made, separators=(",", ":")) + "\n")
            to.flush()
    for model_type, why in failed.items():
        if model_type not in done:
            print(f"{model_type}: {why}", file=sys.stderr)
    print(f"{sum(done.values())} files of {len(done)} types", file=sys.stderr)


main()
