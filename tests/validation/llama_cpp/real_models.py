#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes GGUF files of the shapes that people run, quantised as llama-quantize would, with random blocks for weights.

usage: real_models.py FOLDER NAME...    # names of MODELS below

What a GPU takes for them does not hang on the values, but for experts, which routers of random weights choose evenly."""
import json
import sys
from pathlib import Path

import gguf
import numpy

import tiny_models
from families import config
from gguf import GGMLQuantizationType as Type

LLAMA_1B = config("LlamaForCausalLM", "llama", hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                  num_attention_heads=32, num_key_value_heads=8, head_dim=64, vocab_size=128256,
                  tie_word_embeddings=True)
LLAMA_8B = config("LlamaForCausalLM", "llama", hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                  num_attention_heads=32, num_key_value_heads=8, vocab_size=128256)
# A quarter of the layers of 70B
LLAMA_70B = config("LlamaForCausalLM", "llama", hidden_size=8192, intermediate_size=28672, num_hidden_layers=20,
                   num_attention_heads=64, num_key_value_heads=8, vocab_size=128256)
QWEN3_30B = config("Qwen3MoeForCausalLM", "qwen3_moe", hidden_size=2048, intermediate_size=6144, head_dim=128,
                   num_hidden_layers=48, num_attention_heads=32, num_key_value_heads=4, num_experts=128,
                   num_experts_per_tok=8, moe_intermediate_size=768, decoder_sparse_step=1, mlp_only_layers=[],
                   vocab_size=151936)
QWEN3_30B_HALF = {**QWEN3_30B, "num_hidden_layers": 24}
# A quarter of the layers of 32B
QWEN2_32B = config("Qwen2ForCausalLM", "qwen2", hidden_size=5120, intermediate_size=27648, num_hidden_layers=16,
                   num_attention_heads=40, num_key_value_heads=8, vocab_size=152064)
GEMMA_12B = config("Gemma3ForCausalLM", "gemma3_text", hidden_size=3840, intermediate_size=15360, head_dim=256,
                   num_hidden_layers=48, num_attention_heads=16, num_key_value_heads=8, sliding_window=1024,
                   sliding_window_pattern=6, tie_word_embeddings=True, vocab_size=262208)

# name: family of families.py, architecture in GGUF, config.json, quantisation
MODELS = {
    "llama-1b-q4_k_m": ("llama", "llama", LLAMA_1B, "q4_k_m"),
    "llama-1b-f16": ("llama", "llama", LLAMA_1B, "f16"),
    "llama-8b-q4_k_m": ("llama", "llama", LLAMA_8B, "q4_k_m"),
    "llama-8b-q8_0": ("llama", "llama", LLAMA_8B, "q8_0"),
    "llama-8b-q6_k": ("llama", "llama", LLAMA_8B, "q6_k"),
    "llama-8b-f16": ("llama", "llama", LLAMA_8B, "f16"),
    "llama-70b-quarter-q4_k_m": ("llama", "llama", LLAMA_70B, "q4_k_m"),
    "qwen3-30b-a3b-q4_k_m": ("qwen3_moe", "qwen3moe", QWEN3_30B, "q4_k_m"),
    "qwen3-30b-a3b-half-q8_0": ("qwen3_moe", "qwen3moe", QWEN3_30B_HALF, "q8_0"),
    "qwen2.5-32b-quarter-q4_k_m": ("qwen2", "qwen2", QWEN2_32B, "q4_k_m"),
    "gemma-12b-q4_k_m": ("gemma3", "gemma3", GEMMA_12B, "q4_k_m"),
}

# Where the scales of a block stand and what they are, so that weights have the size of a trained model's.
SCALES = {Type.Q4_K: ((0, 4e-5), (2, 3e-4)), Type.Q6_K: ((208, 2e-5),),
          Type.Q8_0: ((0, 3e-4),)}


def blocks(kind, count):
    """Random blocks, the scales of which are set."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    pool = numpy.random.default_rng(1).integers(0, 256, (min(count, 1 << 18), size), dtype=numpy.uint8)
    for place, scale in SCALES[kind]:
        pool[:, place:place + 2] = numpy.array([scale], dtype=numpy.float16).view(numpy.uint8)
    return numpy.resize(pool, (count, size))


def more_bits(layer, layers):
    """llama-quant.cpp: use_more_bits."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


class QuantisedWriter(tiny_models.Writer):
    """Notes tensors, and writes them one after the other, since all of them together may not fit."""

    def __init__(self, path, architecture, described, quantisation):
        super().__init__(path, architecture, described)
        self.layers, self.tied = described["num_hidden_layers"], described["tie_word_embeddings"]
        self.quantisation = quantisation
        self.noted = []

    def kind_of(self, name):
        if self.quantisation != "q4_k_m":
            return {"f16": Type.F16, "q8_0": Type.Q8_0, "q6_k": Type.Q6_K}[self.quantisation]
        if name == "output.weight" or (name == "token_embd.weight" and self.tied):
            return Type.Q6_K
        if "attn_v." in name or "ffn_down" in name:
            return Type.Q6_K if more_bits(int(name.split(".")[1]), self.layers) else Type.Q4_K
        return Type.Q4_K

    def tensor(self, name, *shape, wide=False):
        kind = Type.F32 if wide or len(shape) == 1 else self.kind_of(name)
        self.noted.append((name, shape, kind))

    def values(self, shape, kind):
        count = int(numpy.prod(shape))
        if kind in (Type.F32, Type.F16):
            pool = self.random.standard_normal(min(count, 1 << 24), dtype=numpy.float32) * 0.02
            return numpy.resize(pool.astype(numpy.float32 if kind == Type.F32 else numpy.float16), shape)
        per_block = gguf.GGML_QUANT_SIZES[kind][0]
        return blocks(kind, count // per_block).reshape(*shape[:-1], -1)

    def close(self):
        for name, shape, kind in self.noted:
            per_block, size = gguf.GGML_QUANT_SIZES[kind]
            plain = {Type.F32: numpy.float32, Type.F16: numpy.float16}.get(kind)
            count = int(numpy.prod(shape))
            stored = shape if plain else (*shape[:-1], shape[-1] // per_block * size)
            self.file.add_tensor_info(name, stored, numpy.dtype(plain or numpy.uint8), count // per_block * size,
                                      raw_dtype=None if plain else kind)
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_ti_data_to_file()
        for _, shape, kind in self.noted:
            self.file.write_tensor_data(self.values(shape, kind))
        self.file.close()


def write(folder, name):
    family, architecture, described, quantisation = MODELS[name]
    w = QuantisedWriter(folder / f"{name}.gguf", architecture, described, quantisation)
    getattr(tiny_models, family)(w, described)
    w.close()


if __name__ == "__main__":
    for chosen in sys.argv[2:]:
        write(Path(sys.argv[1]), chosen)
