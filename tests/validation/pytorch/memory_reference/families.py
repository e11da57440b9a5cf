# SPDX-License-Identifier: MIT
"""The model families: a transformers class and configuration for each, small in depth, realistic in width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
import transformers as hf


@dataclass(frozen=True)
class Shape:
    """Widths in elements, counts in units. Zero: the family has no such thing."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    experts: int = 0
    experts_per_token: int = 0
    expert_intermediate: int = 0
    shared_expert_intermediate: int = 0
    dense_layers: int = 0
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    qk_rope_head_dim: int = 0
    v_head_dim: int = 0
    window: int = 0
    decoder_layers: int = 0
    state: int = 0
    conv_kernel: int = 0
    ssm_heads: int = 0
    ssm_head_dim: int = 0
    ssm_groups: int = 0
    chunk: int = 0
    image: int = 0
    patch: int = 0


SHAPE_COLUMNS = tuple(f.name for f in fields(Shape))

Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Family:
    """How to build a model of the family and one batch for it."""

    name: str
    model_class: str
    config: Callable[[Shape], Any]
    shapes: tuple[Shape, ...]
    inputs: Callable[[Shape, int, int, str], Inputs]
    linear_targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    attention_targets: tuple[str, ...] = ("q_proj", "v_proj")
    attentions: tuple[str, ...] = ("sdpa", "eager")


def _ids(vocab: int, batch: int, sequence: int, device: str) -> torch.Tensor:
    """Random token ids, 8 bytes each. (Equal ones would all go to the same experts.)"""
    return torch.randint(0, vocab, (batch, sequence), device=device)


def _causal(shape: Shape, batch: int, sequence: int, device: str) -> Inputs:
    return {"input_ids": _ids(shape.vocab, batch, sequence, device), "labels": _ids(shape.vocab, batch, sequence, device)}


def _bert_inputs(shape: Shape, batch: int, sequence: int, device: str) -> Inputs:
    return _causal(shape, batch, sequence, device)


def _labelled(shape: Shape, batch: int, sequence: int, device: str) -> Inputs:
    """One label a sequence, which ends with a token that is no padding."""
    return {"input_ids": _ids(shape.vocab - 1, batch, sequence, device) + 1,
            "labels": torch.zeros(batch, dtype=torch.int64, device=device)}


def _vision_inputs(shape: Shape, batch: int, sequence: int, device: str) -> Inputs:
    return {"pixel_values": torch.zeros(batch, 3, shape.image, shape.image, device=device),
            "labels": torch.zeros(batch, dtype=torch.int64, device=device)}


def _whisper_inputs(shape: Shape, batch: int, sequence: int, device: str) -> Inputs:
    return {"input_features": torch.zeros(batch, 80, 3000, device=device), "labels": _ids(shape.vocab, batch, sequence, device)}


def _decoder(config_class: str, **extra: Any) -> Callable[[Shape], Any]:
    """A configuration with the argument names that Llama made common."""

    def make(s: Shape) -> Any:
        arguments: dict[str, Any] = {
            "hidden_size": s.hidden, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
            "num_key_value_heads": s.kv_heads, "head_dim": s.head_dim, "intermediate_size": s.intermediate,
            "vocab_size": s.vocab, "max_position_embeddings": 32768, "tie_word_embeddings": False,
        }
        return getattr(hf, config_class)(**arguments | {k: v(s) if callable(v) else v for k, v in extra.items()})

    return make


def _gpt2(s: Shape) -> Any:
    return hf.GPT2Config(n_embd=s.hidden, n_layer=s.layers, n_head=s.heads, n_inner=s.intermediate,
                         vocab_size=s.vocab, n_positions=8192)


def _gpt_neox(s: Shape) -> Any:
    return hf.GPTNeoXConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                            intermediate_size=s.intermediate, vocab_size=s.vocab, max_position_embeddings=8192)


def _opt(s: Shape) -> Any:
    return hf.OPTConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                        ffn_dim=s.intermediate, vocab_size=s.vocab, word_embed_proj_dim=s.hidden,
                        max_position_embeddings=8192, layerdrop=0.0)


def _t5(s: Shape) -> Any:
    return hf.T5Config(d_model=s.hidden, num_layers=s.layers, num_decoder_layers=s.decoder_layers,
                       num_heads=s.heads, d_kv=s.head_dim, d_ff=s.intermediate, vocab_size=s.vocab,
                       feed_forward_proj="gated-gelu", decoder_start_token_id=0, pad_token_id=0, tie_word_embeddings=False)


def _bert(s: Shape) -> Any:
    return hf.BertConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                         intermediate_size=s.intermediate, vocab_size=s.vocab, max_position_embeddings=4096)


def _vit(s: Shape) -> Any:
    return hf.ViTConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                        intermediate_size=s.intermediate, image_size=s.image, patch_size=s.patch, num_labels=1000)


def _whisper(s: Shape) -> Any:
    return hf.WhisperConfig(d_model=s.hidden, encoder_layers=s.layers, decoder_layers=s.decoder_layers,
                            encoder_attention_heads=s.heads, decoder_attention_heads=s.heads,
                            encoder_ffn_dim=s.intermediate, decoder_ffn_dim=s.intermediate, vocab_size=s.vocab,
                            num_mel_bins=80)


def _mamba2(s: Shape) -> Any:
    return hf.Mamba2Config(hidden_size=s.hidden, num_hidden_layers=s.layers, vocab_size=s.vocab,
                           state_size=s.state, conv_kernel=s.conv_kernel, num_heads=s.ssm_heads,
                           head_dim=s.ssm_head_dim, n_groups=s.ssm_groups, chunk_size=s.chunk, expand=2)


def _bamba(s: Shape) -> Any:
    return hf.BambaConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                          num_key_value_heads=s.kv_heads, intermediate_size=s.intermediate, vocab_size=s.vocab,
                          attn_layer_indices=list(range(1, s.layers, 2)), mamba_n_heads=s.ssm_heads,
                          mamba_d_head=s.ssm_head_dim, mamba_n_groups=s.ssm_groups, mamba_d_state=s.state,
                          mamba_d_conv=s.conv_kernel, mamba_chunk_size=s.chunk, mamba_expand=2,
                          tie_word_embeddings=False)


def _falcon(s: Shape) -> Any:
    """Of 7 B: one head of keys and values, both halves of a layer side by side. Of 40 B: several, and two norms."""
    return hf.FalconConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                           num_kv_heads=s.kv_heads if s.kv_heads > 1 else None, new_decoder_architecture=s.kv_heads > 1,
                           ffn_hidden_size=s.intermediate, vocab_size=s.vocab, bias=False, alibi=False)


def _gptj(s: Shape) -> Any:
    return hf.GPTJConfig(n_embd=s.hidden, n_layer=s.layers, n_head=s.heads, n_inner=s.intermediate, rotary_dim=64,
                         vocab_size=s.vocab, n_positions=2048)


def _gpt_bigcode(s: Shape) -> Any:
    return hf.GPTBigCodeConfig(n_embd=s.hidden, n_layer=s.layers, n_head=s.heads, n_inner=s.intermediate,
                               vocab_size=s.vocab, n_positions=8192, multi_query=s.kv_heads == 1)


def _bloom(s: Shape) -> Any:
    return hf.BloomConfig(hidden_size=s.hidden, n_layer=s.layers, n_head=s.heads, vocab_size=s.vocab)


def _gpt_neo(s: Shape) -> Any:
    return hf.GPTNeoConfig(hidden_size=s.hidden, num_layers=s.layers, num_heads=s.heads, vocab_size=s.vocab,
                           intermediate_size=s.intermediate, attention_types=[[["global", "local"], s.layers // 2]],
                           window_size=s.window, max_position_embeddings=2048)


def _roberta(s: Shape) -> Any:
    return hf.RobertaConfig(hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
                            intermediate_size=s.intermediate, vocab_size=s.vocab, max_position_embeddings=4098,
                            type_vocab_size=1)


def _qwen3_next(s: Shape) -> Any:
    return hf.Qwen3NextConfig(
        hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads, num_key_value_heads=s.kv_heads,
        head_dim=s.head_dim, intermediate_size=s.intermediate, vocab_size=s.vocab, num_experts=s.experts,
        num_experts_per_tok=s.experts_per_token, moe_intermediate_size=s.expert_intermediate,
        shared_expert_intermediate_size=s.shared_expert_intermediate, linear_num_value_heads=s.ssm_heads,
        linear_num_key_heads=s.ssm_groups, linear_key_head_dim=s.state, linear_value_head_dim=s.ssm_head_dim,
        linear_conv_kernel_dim=s.conv_kernel, tie_word_embeddings=False)


_LLAMA_SHAPES = (
    Shape(2048, 4, 32, 8, 64, 8192, 128256),
    Shape(4096, 2, 32, 8, 128, 14336, 32000),
    Shape(1536, 3, 12, 12, 128, 4096, 32000),
)

FAMILIES: dict[str, Family] = {f.name: f for f in (
    Family("llama", "LlamaForCausalLM", _decoder("LlamaConfig"), _LLAMA_SHAPES, _causal),
    Family("mistral", "MistralForCausalLM", _decoder("MistralConfig", sliding_window=lambda s: s.window or None),
           (Shape(4096, 2, 32, 8, 128, 14336, 32768), Shape(2048, 3, 16, 4, 128, 7168, 32768, window=1024)), _causal),
    Family("qwen2", "Qwen2ForCausalLM", _decoder("Qwen2Config"),
           (Shape(896, 4, 14, 2, 64, 4864, 151936), Shape(3584, 2, 28, 4, 128, 18944, 32000)), _causal),
    Family("qwen3", "Qwen3ForCausalLM", _decoder("Qwen3Config"),
           (Shape(2560, 2, 32, 8, 128, 9728, 151936), Shape(1024, 4, 16, 8, 128, 3072, 32000)), _causal),
    Family("gemma2", "Gemma2ForCausalLM",
           _decoder("Gemma2Config", sliding_window=lambda s: s.window, query_pre_attn_scalar=lambda s: s.head_dim),
           (Shape(2304, 2, 8, 4, 256, 9216, 256000, window=4096),), _causal, attentions=("eager", "sdpa")),
    Family("gemma3", "Gemma3ForCausalLM",
           _decoder("Gemma3TextConfig", sliding_window=lambda s: s.window, query_pre_attn_scalar=lambda s: s.head_dim),
           (Shape(1152, 6, 4, 1, 256, 6912, 65536, window=512),), _causal),
    Family("phi3", "Phi3ForCausalLM", _decoder("Phi3Config", pad_token_id=0, bos_token_id=1, eos_token_id=2),
           (Shape(3072, 2, 32, 32, 96, 8192, 32064),), _causal,
           linear_targets=("qkv_proj", "o_proj", "gate_up_proj", "down_proj"), attention_targets=("qkv_proj",)),
    Family("gpt2", "GPT2LMHeadModel", _gpt2,
           (Shape(768, 4, 12, 12, 64, 3072, 50257), Shape(1600, 2, 25, 25, 64, 6400, 50257)), _causal,
           linear_targets=("c_attn", "c_proj", "c_fc"), attention_targets=("c_attn",)),
    Family("gpt_neox", "GPTNeoXForCausalLM", _gpt_neox, (Shape(2048, 3, 16, 16, 128, 8192, 50304),), _causal,
           linear_targets=("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"),
           attention_targets=("query_key_value",)),
    Family("opt", "OPTForCausalLM", _opt, (Shape(2048, 3, 32, 32, 64, 8192, 50272),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    Family("mixtral", "MixtralForCausalLM",
           _decoder("MixtralConfig", num_local_experts=lambda s: s.experts,
                    num_experts_per_tok=lambda s: s.experts_per_token),
           (Shape(2048, 2, 16, 4, 128, 3584, 32000, 8, 2, 3584),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj")),
    Family("qwen3_moe", "Qwen3MoeForCausalLM",
           _decoder("Qwen3MoeConfig", num_experts=lambda s: s.experts,
                    num_experts_per_tok=lambda s: s.experts_per_token,
                    moe_intermediate_size=lambda s: s.expert_intermediate),
           (Shape(2048, 2, 32, 4, 128, 6144, 32000, 64, 8, 768),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj")),
    Family("deepseek_v3", "DeepseekV3ForCausalLM",
           _decoder("DeepseekV3Config", n_routed_experts=lambda s: s.experts,
                    num_experts_per_tok=lambda s: s.experts_per_token,
                    moe_intermediate_size=lambda s: s.expert_intermediate, n_shared_experts=1, n_group=4, topk_group=2,
                    first_k_dense_replace=lambda s: s.dense_layers, q_lora_rank=lambda s: s.q_lora_rank,
                    kv_lora_rank=lambda s: s.kv_lora_rank, qk_nope_head_dim=lambda s: s.qk_nope_head_dim,
                    qk_rope_head_dim=lambda s: s.qk_rope_head_dim, v_head_dim=lambda s: s.v_head_dim),
           (Shape(2048, 3, 16, 16, 64, 6144, 32000, 32, 4, 1024, 1024, 1, 768, 512, 128, 64, 128),), _causal,
           linear_targets=("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"),
           attention_targets=("q_b_proj", "kv_b_proj")),
    Family("t5", "T5ForConditionalGeneration", _t5,
           (Shape(1024, 2, 16, 16, 64, 2816, 32128, decoder_layers=2),), _causal,
           linear_targets=("q", "k", "v", "o", "wi_0", "wi_1", "wo"), attention_targets=("q", "v")),
    Family("bert", "BertForMaskedLM", _bert, (Shape(1024, 3, 16, 16, 64, 4096, 30522),), _bert_inputs,
           linear_targets=("query", "key", "value", "dense"), attention_targets=("query", "value")),
    Family("vit", "ViTForImageClassification", _vit,
           (Shape(1024, 3, 16, 16, 64, 4096, 0, image=224, patch=16),), _vision_inputs,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2")),
    Family("whisper", "WhisperForConditionalGeneration", _whisper,
           (Shape(1024, 2, 16, 16, 64, 4096, 51865, decoder_layers=2),), _whisper_inputs,
           linear_targets=("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    Family("mamba2", "Mamba2ForCausalLM", _mamba2,
           (Shape(2048, 2, 0, 0, 0, 0, 32768, state=128, conv_kernel=4, ssm_heads=64, ssm_head_dim=64, ssm_groups=1,
                  chunk=256),), _causal, linear_targets=("in_proj",), attention_targets=("in_proj",),
           attentions=("none",)),
    Family("bamba", "BambaForCausalLM", _bamba,
           (Shape(2048, 4, 16, 4, 128, 5632, 32768, state=128, conv_kernel=4, ssm_heads=64, ssm_head_dim=64,
                  ssm_groups=1, chunk=256),), _causal, attention_targets=("q_proj", "v_proj")),
    # ---- those that follow have fewer cases: WIDER in cases.py
    Family("gemma", "GemmaForCausalLM", _decoder("GemmaConfig", tie_word_embeddings=True),
           (Shape(2048, 2, 8, 1, 256, 16384, 65536),), _causal),
    Family("granite", "GraniteForCausalLM", _decoder("GraniteConfig"), (Shape(2048, 3, 32, 8, 64, 8192, 49152),), _causal),
    Family("olmo", "OlmoForCausalLM", _decoder("OlmoConfig"), (Shape(2048, 3, 16, 16, 128, 8192, 50304),), _causal),
    Family("olmo2", "Olmo2ForCausalLM", _decoder("Olmo2Config"), (Shape(2048, 3, 16, 16, 128, 8192, 50304),), _causal),
    Family("glm", "GlmForCausalLM", _decoder("GlmConfig", pad_token_id=0, eos_token_id=1, attention_bias=True),
           (Shape(2048, 3, 16, 2, 128, 6848, 65024),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_up_proj", "down_proj")),
    Family("glm4", "Glm4ForCausalLM", _decoder("Glm4Config", pad_token_id=0, eos_token_id=1, attention_bias=True),
           (Shape(2048, 3, 16, 2, 128, 6848, 65024),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj", "gate_up_proj", "down_proj")),
    Family("smollm3", "SmolLM3ForCausalLM", _decoder("SmolLM3Config", pad_token_id=0),
           (Shape(2048, 4, 16, 4, 128, 11008, 49152),), _causal),
    Family("starcoder2", "Starcoder2ForCausalLM",
           _decoder("Starcoder2Config", use_bias=True, residual_dropout=0.0, embedding_dropout=0.0, tie_word_embeddings=True),
           (Shape(3072, 2, 24, 2, 128, 12288, 49152),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj")),
    Family("stablelm", "StableLmForCausalLM", _decoder("StableLmConfig"),
           (Shape(2048, 3, 32, 32, 64, 5632, 50304),), _causal),
    Family("nemotron", "NemotronForCausalLM", _decoder("NemotronConfig"), (Shape(2560, 3, 20, 4, 128, 10240, 64000),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj")),
    Family("arcee", "ArceeForCausalLM", _decoder("ArceeConfig"), (Shape(2560, 3, 20, 4, 128, 10240, 64000),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj")),
    Family("cohere", "CohereForCausalLM", _decoder("CohereConfig", tie_word_embeddings=True, pad_token_id=0),
           (Shape(4096, 2, 32, 8, 128, 11264, 64000),), _causal),
    Family("phi", "PhiForCausalLM", _decoder("PhiConfig", pad_token_id=0), (Shape(2560, 3, 32, 32, 80, 10240, 51200),),
           _causal, linear_targets=("q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2")),
    Family("falcon", "FalconForCausalLM", _falcon,
           (Shape(4544, 2, 71, 1, 64, 18176, 65024), Shape(4096, 2, 64, 8, 64, 16384, 65024)), _causal,
           linear_targets=("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"),
           attention_targets=("query_key_value",)),
    Family("gptj", "GPTJForCausalLM", _gptj, (Shape(2048, 3, 8, 8, 256, 8192, 50400),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "out_proj", "fc_in", "fc_out"), attentions=("eager",)),
    Family("gpt_bigcode", "GPTBigCodeForCausalLM", _gpt_bigcode, (Shape(2048, 3, 16, 1, 128, 8192, 49152),), _causal,
           linear_targets=("c_attn", "c_proj", "c_fc"), attention_targets=("c_attn",)),
    Family("gpt_neo", "GPTNeoForCausalLM", _gpt_neo, (Shape(2048, 4, 16, 16, 128, 8192, 50257, window=256),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "out_proj", "c_fc", "c_proj"), attentions=("eager",)),
    Family("bloom", "BloomForCausalLM", _bloom, (Shape(2048, 3, 16, 16, 128, 8192, 65536),), _causal,
           linear_targets=("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"),
           attention_targets=("query_key_value",), attentions=("eager",)),
    Family("roberta", "RobertaForMaskedLM", _roberta, (Shape(1024, 3, 16, 16, 64, 4096, 50265),), _bert_inputs,
           linear_targets=("query", "key", "value", "dense"), attention_targets=("query", "value")),
    Family("qwen2_moe", "Qwen2MoeForCausalLM",
           _decoder("Qwen2MoeConfig", num_experts=lambda s: s.experts, num_experts_per_tok=lambda s: s.experts_per_token,
                    moe_intermediate_size=lambda s: s.expert_intermediate,
                    shared_expert_intermediate_size=lambda s: s.shared_expert_intermediate),
           (Shape(2048, 2, 16, 16, 128, 5632, 32000, 32, 4, 1408, 5632),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj")),
    Family("olmoe", "OlmoeForCausalLM",
           _decoder("OlmoeConfig", num_experts=lambda s: s.experts, num_experts_per_tok=lambda s: s.experts_per_token),
           (Shape(2048, 2, 16, 16, 128, 1024, 50304, 64, 8, 1024),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj")),
    Family("gpt_oss", "GptOssForCausalLM",
           _decoder("GptOssConfig", num_local_experts=lambda s: s.experts,
                    num_experts_per_tok=lambda s: s.experts_per_token, sliding_window=lambda s: s.window),
           (Shape(2880, 2, 64, 8, 64, 2880, 65536, 32, 4, 2880, window=128),), _causal,
           linear_targets=("q_proj", "k_proj", "v_proj", "o_proj"), attentions=("eager",)),
    Family("qwen3_next", "Qwen3NextForCausalLM", _qwen3_next,
           (Shape(2048, 4, 16, 2, 256, 5120, 32000, 32, 4, 512, 512, state=128, conv_kernel=4, ssm_heads=32,
                  ssm_head_dim=128, ssm_groups=16),), _causal, linear_targets=("q_proj", "k_proj", "v_proj", "o_proj")),
)}


def _classified(config: Callable[[Shape], Any]) -> Callable[[Shape], Any]:
    """The same with two labels a sequence."""

    def make(s: Shape) -> Any:
        made = config(s)
        made.num_labels = 2
        made.pad_token_id = 0
        return made

    return make


CLASSIFIED = {"bert": "BertForSequenceClassification", "roberta": "RobertaForSequenceClassification",
              "llama": "LlamaForSequenceClassification", "qwen3": "Qwen3ForSequenceClassification",
              "gemma2": "Gemma2ForSequenceClassification", "gpt2": "GPT2ForSequenceClassification"}
"""Families that are fine-tuned as classifiers, too: rerankers and reward models are of this kind."""

FAMILIES |= {f"{name}_classify": replace(FAMILIES[name], name=f"{name}_classify", model_class=model_class,
                                         config=_classified(FAMILIES[name].config), shapes=FAMILIES[name].shapes[:1],
                                         inputs=_labelled)
             for name, model_class in CLASSIFIED.items()}


def config_for(family: Family, shape: Shape, attention: str) -> Any:
    """The transformers configuration: no KV cache in training, as its Trainer sets it."""
    config = family.config(shape)
    config.use_cache = False
    if attention != "none":
        config._attn_implementation = attention
    return config
