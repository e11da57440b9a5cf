# SPDX-License-Identifier: MIT
"""Writes ../data/transformers_counts.jsonl: small configurations of every family, and how many parameters transformers' own
model class of each has. Models are built on the meta device: no memory, no weights, half a minute.

    python count_reference.py       # in the environment that run.sh makes
    python count_reference.py --registry    # every type that transformers registers, with its own default configuration
    python count_reference.py --fields [TYPE...]    # the small ones of these, with one field changed or left out at a time

A line holds a config.json, with fields left out as files leave them out, and `parameters`: unique parameters, with the
corrections of routing scores, which are buffers to transformers and parameters to those who publish totals. Where a class
and the checkpoints of its family differ, the checkpoints are right, and the family or the field is not in the table below:
LongCat's class makes weights for experts that do nothing, T5's ties heads that its checkpoints hold apart, Nemotron-H's
never ties, MPT's ignores `expansion_ratio` and positions, VLMs take the tie of their heads from the outermost level alone.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

Fields = dict[str, list[Any]]
LEFT_OUT = object()
FLAG = [LEFT_OUT, True, False]
VARIANTS = 5
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
IMAGE_TOKENS = {"image_token_id": 3, "image_token_index": 3, "video_token_id": 4, "boi_token_index": 5, "eoi_token_index": 6,
                "vision_start_token_id": 7, "vision_end_token_id": 8, "vision_token_id": 9}  # fmt: skip


def optional(*values: Any) -> list[Any]:
    return [LEFT_OUT, *values]


def decoder(**more: list[Any]) -> Fields:
    """Sixteen heads, so that any class's default of KV heads divides them."""
    fields: Fields = {
        "vocab_size": [1000, 1056], "hidden_size": [256, 512], "num_hidden_layers": [4, 6], "num_attention_heads": [16],
        "num_key_value_heads": [2, 4], "intermediate_size": [384, 640], "tie_word_embeddings": FLAG,
    }  # fmt: skip
    fields.update(more)
    return fields


HEAD = optional(32, 64)
BIAS = {"attention_bias": FLAG}
LLAMA = {"num_key_value_heads": optional(None, 2, 16), "head_dim": HEAD, **BIAS, "mlp_bias": FLAG}
CLASS_KV = optional(2, 4)
ROUTED = {"num_local_experts": optional(16), "num_experts_per_tok": optional(2)}
QWEN_ROUTED = {"num_experts": optional(16), "num_experts_per_tok": optional(2), "moe_intermediate_size": optional(100),
               "decoder_sparse_step": optional(2), "mlp_only_layers": optional([], [0], [1, 3])}  # fmt: skip
DEEPSEEK = {"n_routed_experts": optional(16), "num_experts_per_tok": [2, 4], "moe_intermediate_size": optional(100),
            "n_shared_experts": optional(1, 2), "first_k_dense_replace": optional(0, 1, 2)}  # fmt: skip
LATENT = {"num_key_value_heads": [16], "q_lora_rank": optional(64), "kv_lora_rank": optional(32), "qk_nope_head_dim": optional(32),
          "qk_rope_head_dim": optional(16), "v_head_dim": optional(24), **BIAS, **DEEPSEEK}  # fmt: skip
INDEXER = {"index_n_heads": optional(4), "index_head_dim": optional(32)}
DELTA = {"linear_num_value_heads": optional(8), "linear_num_key_heads": optional(4), "linear_key_head_dim": optional(16),
         "linear_value_head_dim": optional(24), "linear_conv_kernel_dim": optional(3)}  # fmt: skip
MAMBA = {"vocab_size": [1000], "hidden_size": [256], "num_hidden_layers": [3], "state_size": optional(8), "conv_kernel": optional(3),
         "use_bias": FLAG, "use_conv_bias": FLAG, "tie_word_embeddings": FLAG}  # fmt: skip
GPT2 = {"vocab_size": [1000], "n_embd": [256], "n_layer": [3], "n_head": [4], "n_positions": optional(64), "n_inner": optional(None, 300),
        "tie_word_embeddings": FLAG}  # fmt: skip
BERT = {"vocab_size": [1000], "hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [4], "intermediate_size": [300],
        "max_position_embeddings": optional(64), "type_vocab_size": optional(1)}  # fmt: skip
BART = {"vocab_size": [1000], "d_model": [256], "encoder_layers": [3], "decoder_layers": [2], "encoder_attention_heads": [4],
        "decoder_attention_heads": [8], "encoder_ffn_dim": [300], "decoder_ffn_dim": [310]}  # fmt: skip

FAMILIES: dict[str, Fields] = {
    "llama": decoder(**LLAMA),
    "mistral": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD),
    "ministral": decoder(num_key_value_heads=CLASS_KV, head_dim=[32]),
    "ministral3": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD),
    "phi3": decoder(num_key_value_heads=optional(None, 2)),
    "granite": decoder(num_key_value_heads=optional(None, 2), **BIAS, mlp_bias=FLAG),
    "smollm3": decoder(num_key_value_heads=CLASS_KV, **BIAS, mlp_bias=FLAG),
    "ernie4_5": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, use_bias=FLAG),
    "qwen2": decoder(),
    "qwen3": decoder(head_dim=HEAD, **BIAS),
    "gemma": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS),
    "gemma2": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS),
    "gemma3_text": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS),
    "glm": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS),
    "glm4": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS),
    "seed_oss": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, attention_out_bias=FLAG, mlp_bias=FLAG),
    "olmo": decoder(num_key_value_heads=optional(2), **BIAS),
    "olmo2": decoder(num_key_value_heads=optional(2), **BIAS),
    "olmo3": decoder(num_key_value_heads=optional(2), **BIAS),
    "exaone4": decoder(),
    "cohere": decoder(num_key_value_heads=optional(2), **BIAS, use_qk_norm=FLAG),
    "cohere2": decoder(**BIAS),
    "stablelm": decoder(use_qkv_bias=FLAG, qk_layernorm=FLAG, use_parallel_residual=FLAG),
    "starcoder2": decoder(num_key_value_heads=CLASS_KV, use_bias=FLAG),
    "nemotron": decoder(head_dim=HEAD, **BIAS, mlp_bias=FLAG),
    "arcee": decoder(**LLAMA),
    "apertus": decoder(**BIAS),
    "phi": decoder(),
    "hunyuan_v1_dense": decoder(head_dim=[32], **BIAS),
    "hunyuan_v1_moe": decoder(head_dim=[32], num_experts=[4, 16], moe_topk=[2], **BIAS),
    "gpt2": GPT2,
    "gpt_bigcode": {**GPT2, "multi_query": FLAG},
    "gpt_neo": {"vocab_size": [1000], "hidden_size": [256], "num_layers": [4], "attention_types": [[[["global", "local"], 2]]],
                "num_heads": [4], "intermediate_size": optional(None, 300), "max_position_embeddings": optional(64)},
    "gptj": {**GPT2, "rotary_dim": [16]},
    "codegen": {**GPT2, "rotary_dim": [16]},
    "gpt_neox": {"vocab_size": [1000], "hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [4],
                 "intermediate_size": [300], **BIAS, "tie_word_embeddings": FLAG},
    "bloom": {"vocab_size": [1000], "hidden_size": [256], "n_layer": [3], "n_head": [4]},
    "opt": {"vocab_size": [1000], "hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [4], "ffn_dim": [300],
            "max_position_embeddings": optional(64), "word_embed_proj_dim": optional(128), "do_layer_norm_before": FLAG,
            "enable_bias": FLAG, "layer_norm_elementwise_affine": FLAG, "_remove_final_layer_norm": FLAG},
    "falcon": {"vocab_size": [1000], "hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [8],
               "num_kv_heads": optional(2, 8), "new_decoder_architecture": FLAG, "multi_query": FLAG, "parallel_attn": FLAG, "bias": FLAG,
               "ffn_hidden_size": optional(300), "num_ln_in_parallel_attn": optional(None, 1, 2), "tie_word_embeddings": FLAG},
    "mpt": {"vocab_size": [1000], "d_model": [256], "n_layers": [3], "n_heads": [4], "max_seq_len": [64]},
    "mixtral": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **ROUTED),
    "phimoe": decoder(num_key_value_heads=CLASS_KV, **BIAS, lm_head_bias=FLAG, **ROUTED),
    "granitemoe": decoder(num_key_value_heads=optional(2), **BIAS, **ROUTED),
    "granitemoeshared": decoder(num_key_value_heads=optional(2), **BIAS, shared_intermediate_size=optional(0, 128), **ROUTED),
    "minimax_m2": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, num_local_experts=optional(16), num_experts_per_tok=[2]),
    "olmoe": decoder(num_key_value_heads=optional(2), **BIAS, num_experts=optional(16), num_experts_per_tok=optional(2)),
    "gpt_oss": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, **ROUTED),
    "qwen2_moe": decoder(**QWEN_ROUTED, shared_expert_intermediate_size=optional(120), qkv_bias=FLAG),
    "qwen3_moe": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, **QWEN_ROUTED),
    "glm4_moe": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, use_qk_norm=FLAG, **DEEPSEEK),
    "dots1": decoder(**BIAS, **{**DEEPSEEK, "n_routed_experts": [16], "n_shared_experts": [1, 2]}),
    "ernie4_5_moe": decoder(num_key_value_heads=CLASS_KV, moe_num_experts=optional(16), moe_k=optional(2), moe_intermediate_size=optional(100),
                            moe_num_shared_experts=optional(1, 2), moe_layer_start_index=optional(0, 2),
                            moe_layer_end_index=optional(-1, 2), moe_layer_interval=optional(2)),
    "llama4_text": decoder(num_hidden_layers=[4], num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, **ROUTED,
                           intermediate_size_mlp=optional(700), interleave_moe_layer_step=optional(2), moe_layers=optional(None, [1], [0, 2])),
    "deepseek_v2": decoder(**LATENT),
    "deepseek_v3": decoder(**{**LATENT, "q_lora_rank": optional(None, 64)}),
    "deepseek_v32": decoder(**LATENT, **INDEXER),
    "glm_moe_dsa": decoder(**LATENT, **INDEXER),
    "mamba": {**MAMBA, "expand": optional(3), "time_step_rank": optional("auto", 7)},
    "falcon_mamba": {**MAMBA, "expand": optional(3), "time_step_rank": optional("auto", 7)},
    "mamba2": {**MAMBA, "num_heads": [8], "head_dim": [64], "n_groups": optional(1, 2)},
    "jamba": decoder(num_hidden_layers=[8], num_key_value_heads=CLASS_KV, num_experts=optional(1, 16), num_experts_per_tok=optional(2),
                     expert_layer_period=optional(3), expert_layer_offset=optional(0), attn_layer_period=optional(4),
                     attn_layer_offset=[1, 2], mamba_d_state=optional(8), mamba_d_conv=optional(3), mamba_expand=optional(3),
                     mamba_dt_rank=optional("auto", 9), mamba_conv_bias=FLAG, mamba_proj_bias=FLAG),
    "nemotron_h": decoder(num_hidden_layers=[4], num_key_value_heads=CLASS_KV, head_dim=HEAD, hybrid_override_pattern=["M*-M"],
                          mamba_num_heads=optional(8), mamba_head_dim=optional(32), n_groups=optional(2), ssm_state_size=optional(16),
                          conv_kernel=optional(3), use_conv_bias=FLAG, use_bias=FLAG, mlp_bias=FLAG, tie_word_embeddings=optional(False)),
    "granitemoehybrid": decoder(num_hidden_layers=[4], layer_types=[["mamba", "attention", "mamba", "mamba"], ["attention"] * 4],
                                num_local_experts=optional(0, 16), num_experts_per_tok=optional(2), shared_intermediate_size=optional(128),
                                mamba_n_heads=[8], mamba_d_head=["auto"], mamba_n_groups=optional(2), mamba_d_state=optional(16),
                                mamba_d_conv=optional(3), mamba_conv_bias=FLAG, mamba_proj_bias=FLAG, **BIAS),
    "qwen3_next": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, **DELTA, **{**QWEN_ROUTED, "num_experts": optional(0, 16)},
                          shared_expert_intermediate_size=optional(120)),
    "qwen3_5_text": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, **DELTA),
    "qwen3_5_moe_text": decoder(intermediate_size=[LEFT_OUT], num_key_value_heads=CLASS_KV, head_dim=HEAD, **BIAS, **DELTA,
                                num_experts=optional(16), num_experts_per_tok=optional(2), moe_intermediate_size=optional(100),
                                shared_expert_intermediate_size=optional(120)),
    "minimax": decoder(num_key_value_heads=CLASS_KV, head_dim=HEAD, **ROUTED, num_hidden_layers=[4],
                       layer_types=optional(["linear_attention", "full_attention"] * 2)),
    "lfm2": decoder(num_hidden_layers=[4], num_key_value_heads=CLASS_KV, layer_types=[["conv", "full_attention"] * 2], conv_L_cache=optional(4),
                    conv_bias=FLAG, block_multiple_of=optional(64), block_ffn_dim_multiplier=optional(1.5), block_auto_adjust_ff_dim=FLAG),
    "lfm2_moe": decoder(num_hidden_layers=[4], num_key_value_heads=CLASS_KV, layer_types=[["conv", "full_attention"] * 2], conv_bias=FLAG,
                        num_experts=optional(16), num_experts_per_tok=optional(2), moe_intermediate_size=optional(100),
                        num_dense_layers=optional(1), use_expert_bias=FLAG),
    "bert": BERT,
    "roberta": BERT,
    "xlm-roberta": BERT,
    "distilbert": {"vocab_size": [1000], "dim": [256], "n_layers": [3], "n_heads": [4], "hidden_dim": [300],
                   "max_position_embeddings": optional(64)},
    "t5": {"vocab_size": optional(1000), "d_model": [256], "num_layers": [3], "num_decoder_layers": optional(None, 2), "num_heads": [4],
           "d_kv": optional(32), "d_ff": [300], "feed_forward_proj": optional("relu", "gated-gelu"),
           "relative_attention_num_buckets": optional(16)},
    "bart": {**BART, "max_position_embeddings": optional(64)},
    "mbart": {**BART, "max_position_embeddings": optional(64)},
    "whisper": {**BART, "max_target_positions": optional(64), "max_source_positions": optional(64), "num_mel_bins": optional(128)},
    "vit": {"architectures": [["ViTForImageClassification"]], "hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [4],
            "intermediate_size": [300], "image_size": optional(64), "patch_size": optional(8), "num_channels": optional(1), "qkv_bias": FLAG},
    "siglip_vision_model": {"hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [4], "intermediate_size": [300],
                            "image_size": optional(64), "patch_size": optional(8), "vision_use_head": FLAG},
    "clip_vision_model": {"hidden_size": [256], "num_hidden_layers": [3], "num_attention_heads": [4], "intermediate_size": [300],
                          "image_size": optional(64), "patch_size": optional(8)},
}  # fmt: skip


def text(**more: list[Any]) -> Fields:
    fields = decoder(num_hidden_layers=[4], hidden_size=[256], num_attention_heads=[8], num_key_value_heads=[2, 4], tie_word_embeddings=[LEFT_OUT])
    fields.update(more)
    return fields


TOWER: Fields = {"hidden_size": optional(192), "intermediate_size": optional(200), "num_hidden_layers": optional(2), "num_attention_heads": [4]}
SIGLIP = {**TOWER, "model_type": ["siglip_vision_model"], "vision_use_head": [False], "patch_size": optional(14)}
CLIP = {**TOWER, "model_type": ["clip_vision_model"]}
QWEN_TOWER: Fields = {"depth": optional(30), "hidden_size": optional(128), "intermediate_size": optional(200), "num_heads": optional(8),
                      "out_hidden_size": [256]}  # fmt: skip

# A text part, an image part, and what stands beside them.
MULTIMODAL: dict[str, tuple[Fields, Fields, Fields]] = {
    "gemma3": (text(head_dim=HEAD), {**TOWER, "vision_use_head": [False]}, {}),
    "paligemma": (text(model_type=["gemma"], head_dim=HEAD), SIGLIP, {"projection_dim": [256]}),
    "llava": (text(model_type=["llama", "mistral", "qwen2"]), CLIP, {"multimodal_projector_bias": FLAG, "vision_feature_layer": optional([-2, -1])}),
    "llava_next": (text(model_type=["llama", "mistral"]), CLIP, {"multimodal_projector_bias": FLAG}),
    "llava_onevision": (text(model_type=["qwen2"]), SIGLIP, {}),
    "mistral3": (text(model_type=["mistral", "ministral3"], head_dim=HEAD, tie_word_embeddings=[True]), {**TOWER, "model_type": ["pixtral"]},
                 {"tie_word_embeddings": [True], "multimodal_projector_bias": FLAG, "spatial_merge_size": optional(3)}),
    "llama4": (text(head_dim=HEAD, **ROUTED, intermediate_size_mlp=optional(500), interleave_moe_layer_step=optional(2)), TOWER, {}),
    "mllama": (text(num_hidden_layers=[9], cross_attention_layers=optional([1, 4])),
               {"intermediate_size": optional(200), "num_global_layers": optional(3)}, {}),
    "qwen2_vl": (text(), {"depth": optional(2), "embed_dim": optional(128), "num_heads": optional(8), "hidden_size": [256],
                          "spatial_merge_size": optional(3)}, {}),
    "qwen2_5_vl": (text(), {**QWEN_TOWER, "spatial_merge_size": optional(3)}, {}),
    "qwen3_vl": (text(head_dim=HEAD), {**QWEN_TOWER, "deepstack_visual_indexes": optional([1, 2])}, {}),
    "qwen3_vl_moe": (text(head_dim=HEAD, num_experts=optional(16), moe_intermediate_size=optional(100)), QWEN_TOWER, {}),
    "qwen3_5": (text(head_dim=HEAD, linear_num_value_heads=optional(8)), QWEN_TOWER, {}),
    "qwen3_5_moe": (text(head_dim=HEAD, num_experts=optional(16)), QWEN_TOWER, {}),
    "idefics3": (text(model_type=["llama"]), {**TOWER, "patch_size": optional(14)}, {"scale_factor": optional(3)}),
    "smolvlm": (text(model_type=["llama"]), {**TOWER, "patch_size": optional(14)}, {"scale_factor": optional(3)}),
    "clip": (text(num_key_value_heads=[LEFT_OUT], hidden_size=optional(128)), TOWER, {"projection_dim": optional(64)}),
    "siglip": (text(num_key_value_heads=[LEFT_OUT], hidden_size=optional(128), num_attention_heads=[4]), TOWER, {}),
}  # fmt: skip

# Where no table of transformers names the class that a checkpoint of the family is read into, or it names another.
CLASSES = {
    "bert": "BertModel", "roberta": "RobertaModel", "xlm-roberta": "XLMRobertaModel", "distilbert": "DistilBertModel",
    "t5": "T5ForConditionalGeneration", "bart": "BartModel", "mbart": "MBartModel", "whisper": "WhisperForConditionalGeneration",
    "vit": "ViTForImageClassification", "qwen3_5_text": "Qwen3_5ForCausalLM", "qwen3_5_moe_text": "Qwen3_5MoeForCausalLM",
    "llama4_text": "Llama4ForCausalLM", "gemma3_text": "Gemma3ForCausalLM",
}  # fmt: skip


def class_of(model_type: str) -> Any:
    if model_type in CLASSES:
        return getattr(transformers, CLASSES[model_type])
    for table in ("IMAGE_TEXT_TO_TEXT", "CAUSAL_LM"):
        names = getattr(modeling_auto, f"MODEL_FOR_{table}_MAPPING_NAMES")
        if model_type in names:
            return getattr(transformers, names[model_type])
    return getattr(transformers, modeling_auto.MODEL_MAPPING_NAMES[model_type])


def count(config: dict[str, Any]) -> int:
    rest = {key: value for key, value in config.items() if key != "model_type"}
    configuration = CONFIG_MAPPING[config["model_type"]].from_dict(json.loads(json.dumps(rest)))
    with torch.device("meta"):
        model = class_of(config["model_type"])(configuration)
    model.tie_weights()
    return parameters_of(model)


def pick(fields: Fields, draw: random.Random) -> dict[str, Any]:
    chosen = {key: draw.choice(values) for key, values in fields.items()}
    return {key: value for key, value in chosen.items() if value is not LEFT_OUT}


def configurations() -> list[dict[str, Any]]:
    draw = random.Random(20261121)
    made = []
    for model_type, fields in FAMILIES.items():
        for _ in range(VARIANTS):
            made.append({"model_type": model_type, **TOKENS, **pick(fields, draw)})
    for model_type, (words, tower, beside) in MULTIMODAL.items():
        for _ in range(VARIANTS):
            made.append({"model_type": model_type, **TOKENS, **IMAGE_TOKENS, **pick(beside, draw),
                         "text_config": {**TOKENS, **pick(words, draw)}, "vision_config": pick(tower, draw)})  # fmt: skip
    return made


def parameters_of(model: Any) -> int:
    unique = {id(parameter): parameter for parameter in model.parameters()}
    corrections = [b for name, b in model.named_buffers() if name.endswith(("e_score_correction_bias", "expert_bias", "balancing_biases"))]
    return sum(p.numel() for p in unique.values()) + sum(b.numel() for b in corrections)


def built(name: str, configuration: Any) -> int | None:
    """Parameters of the class that a registry names; nothing where transformers cannot build it of this configuration."""
    try:
        with torch.device("meta"):
            return parameters_of(getattr(transformers, name)(configuration))
    except Exception:
        return None


# What the small variants of a type change, field by field, wherever the configuration has the field. A change with which
# transformers cannot build the class, or which its class ignores, is left out.
SMALL: list[dict[str, Any]] = [
    {"num_hidden_layers": 4, "num_layers": 4, "n_layer": 4, "n_layers": 4, "depth": 3, "encoder_layers": 3, "decoder_layers": 2,
     "num_encoder_layers": 3, "num_decoder_layers": 2, "vocab_size": 1000, "intermediate_size": 1536, "ffn_dim": 1536, "d_ff": 1536,
     "moe_intermediate_size": 640, "num_experts": 32, "n_routed_experts": 32, "num_local_experts": 32, "moe_num_experts": 32},
    {"num_hidden_layers": 6, "num_layers": 6, "n_layer": 6, "n_layers": 6, "depth": 2, "encoder_layers": 2, "decoder_layers": 3,
     "num_encoder_layers": 2, "num_decoder_layers": 3, "num_key_value_heads": 2, "tie_word_embeddings": True, "attention_bias": True,
     "mlp_bias": True, "max_position_embeddings": 640, "hidden_size": 0, "d_model": 0, "decoder_ffn_dim": 700, "type_vocab_size": 3,
     "image_size": 224, "patch_size": 28, "kv_lora_rank": 256, "conv_kernel": 3, "n_shared_experts": 2},
]  # fmt: skip


def wider(given: dict[str, Any], key: str) -> int | None:
    """Twice the hidden size, where the heads' width follows from it."""
    return None if given.get("head_dim") else 2 * given[key]


def smaller(configuration: Any, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes whose fields a configuration has; those of the configurations nested in it under their names."""
    given = configuration.to_dict()
    chosen = {key: value for key, value in changes.items() if isinstance(given.get(key), type(value))}
    for key in ("hidden_size", "d_model"):
        if key in chosen and (width := wider(given, key)) is not None:
            chosen[key] = width
        else:
            chosen.pop(key, None)
    for part in ("text_config", "vision_config"):
        nested = getattr(configuration, part, None)
        if nested is not None and hasattr(nested, "to_dict"):
            chosen[part] = {"model_type": nested.model_type, **smaller(nested, changes)}
    return chosen


def variant_of(kind: type, name: str, changes: dict[str, Any], parameters: int) -> tuple[Any, int] | None:
    """The type's default configuration with as many of the changes as transformers can build and its class heeds."""
    wanted = smaller(kind(), changes)
    kept: dict[str, Any] = {}
    best = None
    for path in [(key,) for key in wanted if "_config" not in key] + [(p, k) for p in wanted if "_config" in p for k in wanted[p]]:
        trial = json.loads(json.dumps(kept))
        if len(path) == 1:
            trial[path[0]] = wanted[path[0]]
        else:
            trial.setdefault(path[0], {})[path[1]] = wanted[path[0]][path[1]]
        try:
            configuration = kind(**json.loads(json.dumps(trial)))
        except Exception:
            continue
        counted = built(name, configuration)
        if counted is not None and (counted != parameters or path[-1] == "model_type"):
            kept, parameters = trial, counted
            best = (configuration, counted) if path[-1] != "model_type" else best
    return best


# Fields of every configuration that say nothing of a model's shape.
NOISE = {"id2label", "label2id", "return_dict", "output_hidden_states", "output_attentions", "problem_type", "chunk_size_feed_forward",
         "_name_or_path", "initializer_range", "use_cache", "init_std"}  # fmt: skip


def without_noise(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_noise(of_key) for key, of_key in value.items() if key not in NOISE}
    return value


def row_of(registry: str, model_type: str, name: str, variant: int, configuration: Any, parameters: int) -> dict[str, Any]:
    """A line of the table. `architectures` names the class, as the files that it saves do."""
    # An infinity is no JSON.
    config = json.loads(json.dumps(without_noise(configuration.to_dict()), default=str), parse_constant=lambda _: None)
    return {"registry": registry.lower(), "model_type": model_type, "variant": variant, "parameters": parameters,
            "config": {"model_type": model_type, **config, "architectures": [name]}}  # fmt: skip


def defaults_of(registry: str) -> Iterator[dict[str, Any]]:
    """Each type of a registry with its own default configuration, and two small ones. Types that transformers cannot build of
    their defaults are left out."""
    for model_type, names in getattr(modeling_auto, f"MODEL_FOR_{registry}_MAPPING_NAMES").items():
        name = names if isinstance(names, str) else names[0]
        try:
            configuration = CONFIG_MAPPING[model_type]()
        except Exception as why:
            print(f"{model_type}: {type(why).__name__}", file=sys.stderr)
            continue
        parameters = built(name, configuration)
        if parameters is None:
            print(f"{model_type}: cannot be built", file=sys.stderr)
            continue
        yield row_of(registry, model_type, name, 0, configuration, parameters)
        for number, changes in enumerate(SMALL, 1):
            variant = variant_of(CONFIG_MAPPING[model_type], name, changes, parameters)
            if variant is not None:
                yield row_of(registry, model_type, name, number, *variant)


def walk_registries() -> None:
    """Writes ../data/transformers_registry.jsonl."""
    output = Path(__file__).resolve().parent.parent / "data" / "transformers_registry.jsonl"
    with output.open("w") as lines:
        for registry in ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SEQ_TO_SEQ_CAUSAL_LM"):
            for row in defaults_of(registry):
                lines.write(json.dumps(row, separators=(",", ":")) + "\n")
                lines.flush()


DATA = Path(__file__).resolve().parent.parent / "data"


def names_read() -> set[str]:
    """The types and fields that the library's reader knows by name."""
    headers = (DATA.parent.parent.parent / "include" / "llmres" / "io" / "hf").rglob("*.hpp")
    return {name for header in headers for name in re.findall(r'"([\w.-]+)"', header.read_text(encoding="utf-8"))}


def other_values(value: Any) -> list[Any]:
    """What a field is changed to, the first that transformers can build and that its class heeds."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value + 1, value // 2] if value else [1, 2]
    if isinstance(value, float):
        return [value / 2, 2 * value]
    if isinstance(value, list):
        return [value[:-1], [*value[:-1], *reversed(value[-2:])]]
    return [] if isinstance(value, str) else [True, 2, 64]


def paths_of(config: dict[str, Any], known: set[str], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The fields of a configuration and of those nested in it that are known by name, each with its value."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from paths_of(value, known, (*above, key))
        elif key in known and key not in ("architectures", "model_type", "dtype", "transformers_version"):
            yield (*above, key), value


def patch_of(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A JSON merge patch (RFC 7396) of one field; None leaves it out."""
    return {path[0]: value if len(path) == 1 else patch_of(path[1:], value)}


def merged(config: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    kept = {**config} if isinstance(config, dict) else {}
    for key, value in patch.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = merged(kept.get(key), value)
    return kept


def counted(name: str, config: dict[str, Any], known: dict[str, int | None]) -> int | None:
    """Parameters of the class of a configuration as it stands in a file. `known`: those of configurations that were counted."""
    try:
        configuration = CONFIG_MAPPING[config["model_type"]].from_dict(json.loads(json.dumps(config)))
    except Exception:
        return None
    whole = json.dumps(configuration.to_dict(), default=str)
    if whole not in known:
        known[whole] = built(name, configuration)
    return known[whole]


def changes_of(row: dict[str, Any], known: set[str]) -> Iterator[tuple[dict[str, Any], int]]:
    """Patches of a row's configuration, each of one field, and what they make of its parameters. A field left out may leave
    them what they are; a value that does is not heeded, and is not in the table."""
    name, config, counts = row["config"]["architectures"][0], row["config"], {}
    if counted(name, config, counts) != row["parameters"]:
        print(f"{row['model_type']} {row['variant']}: counts otherwise when it is read again", file=sys.stderr)
        return
    for path, value in paths_of(config, known):
        patch = patch_of(path, None)
        parameters = counted(name, merged(config, patch), counts) if value is not None else None
        if parameters is not None:
            yield patch, parameters
        for other in other_values(value):
            patch = patch_of(path, other)
            parameters = counted(name, merged(config, patch), counts)
            if parameters is not None and parameters != row["parameters"]:
                yield patch, parameters
                break


def walk_fields(types: list[str]) -> None:
    """Writes ../data/transformers_fields.jsonl: for the smaller variants of the registries' types what one field more or less
    makes of their parameters. With types, these alone are made anew."""
    known = names_read()
    output = DATA / "transformers_fields.jsonl"
    rows = [json.loads(line) for line in (DATA / "transformers_registry.jsonl").read_text().splitlines()]
    kept = [json.loads(line) for line in output.read_text().splitlines()] if types and output.exists() else []
    smallest = {(row["registry"], row["model_type"]): row for row in sorted(rows, key=lambda row: row["parameters"], reverse=True)}
    with output.open("w") as lines:
        for made in kept:
            if made["model_type"] not in types:
                lines.write(json.dumps(made, separators=(",", ":")) + "\n")
        for (_, model_type), row in sorted(smallest.items(), reverse=True):
            if model_type not in (types or known):
                continue
            made = {key: row[key] for key in ("registry", "model_type", "variant")} | {"changes": list(changes_of(row, known))}
            lines.write(json.dumps(made, separators=(",", ":")) + "\n")
            lines.flush()


def main() -> None:
    transformers.logging.set_verbosity_error()
    if sys.argv[1:] == ["--registry"]:
        return walk_registries()
    if sys.argv[1:2] == ["--fields"]:
        return walk_fields(sys.argv[2:])
    output = Path(__file__).resolve().parent.parent / "data" / "transformers_counts.jsonl"
    with output.open("w") as lines:
        for config in configurations():
            try:
                lines.write(json.dumps({"parameters": count(config), "config": config}) + "\n")
            except Exception as why:
                raise SystemExit(f"{config}: {why}") from why


if __name__ == "__main__":
    main()
