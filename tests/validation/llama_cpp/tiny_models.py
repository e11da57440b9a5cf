#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tiny GGUF files with random weights, one for each family, as llama.cpp's converters name their tensors."""
import json
import sys
from pathlib import Path

import gguf
import numpy

from families import FAMILIES


class Writer:
    """One file: metadata under the architecture's name, matrices in 16 bit, vectors in fp32."""

    def __init__(self, path, architecture, config):
        self.file = gguf.GGUFWriter(str(path), architecture)
        self.prefix = architecture + "."
        self.random = numpy.random.default_rng(1)
        self.file.add_file_type(1)  # mostly F16
        self.vocabulary(config["vocab_size"])

    def vocabulary(self, size):
        tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)]
        types = [2, 3, 3] + [6] * 256
        while len(tokens) < size:
            tokens.append(b"t%d" % len(tokens))
            types.append(1)
        self.file.add_tokenizer_model("llama")
        self.file.add_token_list(tokens)
        self.file.add_token_scores([0.0] * size)
        self.file.add_token_types(types)
        self.file.add_bos_token_id(1)
        self.file.add_eos_token_id(2)
        self.file.add_unk_token_id(0)

    def set(self, **values):
        """Metadata: `a__b` stands for the key a.b."""
        for name, value in values.items():
            key = self.prefix + name.replace("__", ".")
            if isinstance(value, bool):
                self.file.add_bool(key, value)
            elif isinstance(value, int):
                self.file.add_uint32(key, value)
            elif isinstance(value, float):
                self.file.add_float32(key, value)
            elif isinstance(value, list):
                self.file.add_array(key, value)
            else:
                self.file.add_string(key, value)

    def tensor(self, name, *shape, wide=False):
        """Rows first, as numpy and PyTorch count; vectors and what is asked for are fp32."""
        kind = numpy.float32 if wide or len(shape) == 1 else numpy.float16
        values = (self.random.standard_normal(shape, dtype=numpy.float32) * 0.02).astype(kind)
        self.file.add_tensor(name, values)

    def close(self):
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


def common(w, c):
    w.set(context_length=c["max_position_embeddings"], embedding_length=c["hidden_size"],
          block_count=c["num_hidden_layers"], attention__head_count=c["num_attention_heads"],
          attention__head_count_kv=c["num_key_value_heads"], attention__layer_norm_rms_epsilon=1e-6)
    if "intermediate_size" in c:
        w.set(feed_forward_length=c["intermediate_size"])
    if "head_dim" in c:
        w.set(attention__key_length=c["head_dim"], attention__value_length=c["head_dim"],
              rope__dimension_count=c["head_dim"])
    w.tensor("token_embd.weight", c["vocab_size"], c["hidden_size"])
    w.tensor("output_norm.weight", c["hidden_size"])
    if not c.get("tie_word_embeddings"):
        w.tensor("output.weight", c["vocab_size"], c["hidden_size"])


def head_width(c):
    return c.get("head_dim", c["hidden_size"] // c["num_attention_heads"])


def grouped_attention(w, c, i, head_norms=False, bias=False, sinks=False):
    d, width = c["hidden_size"], head_width(c)
    b = f"blk.{i}."
    for name, heads in (("q", c["num_attention_heads"]), ("k", c["num_key_value_heads"]),
                        ("v", c["num_key_value_heads"])):
        w.tensor(f"{b}attn_{name}.weight", heads * width, d)
        if bias:
            w.tensor(f"{b}attn_{name}.bias", heads * width)
    w.tensor(b + "attn_output.weight", d, c["num_attention_heads"] * width)
    if head_norms:
        w.tensor(b + "attn_q_norm.weight", width)
        w.tensor(b + "attn_k_norm.weight", width)
    if sinks:
        w.tensor(b + "attn_output.bias", d)
        w.tensor(b + "attn_sinks.weight", c["num_attention_heads"])


def gated(w, c, i, width=None):
    d, n = c["hidden_size"], width or c["intermediate_size"]
    w.tensor(f"blk.{i}.ffn_gate.weight", n, d)
    w.tensor(f"blk.{i}.ffn_up.weight", n, d)
    w.tensor(f"blk.{i}.ffn_down.weight", d, n)


def routed(w, c, i, count, width, bias=False):
    d, b = c["hidden_size"], f"blk.{i}."
    w.tensor(b + "ffn_gate_inp.weight", count, d, wide=True)
    w.tensor(b + "ffn_gate_exps.weight", count, width, d)
    w.tensor(b + "ffn_up_exps.weight", count, width, d)
    w.tensor(b + "ffn_down_exps.weight", count, d, width)
    if bias:
        w.tensor(b + "ffn_gate_inp.bias", count)
        w.tensor(b + "ffn_gate_exps.bias", count, width, wide=True)
        w.tensor(b + "ffn_up_exps.bias", count, width, wide=True)
        w.tensor(b + "ffn_down_exps.bias", count, d, wide=True)


def norms(w, c, i, *names):
    for name in names:
        w.tensor(f"blk.{i}.{name}.weight", c["hidden_size"])


def llama(w, c):
    common(w, c)
    w.set(rope__dimension_count=head_width(c), vocab_size=c["vocab_size"])
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "ffn_norm")
        grouped_attention(w, c, i)
        gated(w, c, i)


def qwen2(w, c):
    common(w, c)
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "ffn_norm")
        grouped_attention(w, c, i, bias=True)
        gated(w, c, i)


def qwen3(w, c):
    common(w, c)
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "ffn_norm")
        grouped_attention(w, c, i, head_norms=True)
        gated(w, c, i)


def qwen3_moe(w, c):
    common(w, c)
    w.set(expert_count=c["num_experts"], expert_used_count=c["num_experts_per_tok"],
          expert_feed_forward_length=c["moe_intermediate_size"])
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "ffn_norm")
        grouped_attention(w, c, i, head_norms=True)
        routed(w, c, i, c["num_experts"], c["moe_intermediate_size"])


def mixtral(w, c):
    common(w, c)
    w.set(rope__dimension_count=head_width(c), vocab_size=c["vocab_size"], expert_count=c["num_local_experts"],
          expert_used_count=c["num_experts_per_tok"])
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "ffn_norm")
        grouped_attention(w, c, i)
        routed(w, c, i, c["num_local_experts"], c["intermediate_size"])


def gemma3(w, c):
    common(w, c)
    w.set(attention__sliding_window=c["sliding_window"])
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        grouped_attention(w, c, i, head_norms=True)
        gated(w, c, i)


def gemma2(w, c):
    common(w, c)
    w.set(attention__sliding_window=c["sliding_window"], attn_logit_softcapping=50.0, final_logit_softcapping=30.0)
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        grouped_attention(w, c, i)
        gated(w, c, i)


def phi3(w, c):
    common(w, c)
    w.set(rope__dimension_count=head_width(c), attention__sliding_window=0,
          rope__scaling__original_context_length=c["max_position_embeddings"])
    d, width = c["hidden_size"], head_width(c)
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "ffn_norm")
        w.tensor(f"blk.{i}.attn_qkv.weight", (c["num_attention_heads"] + 2 * c["num_key_value_heads"]) * width, d)
        w.tensor(f"blk.{i}.attn_output.weight", d, c["num_attention_heads"] * width)
        w.tensor(f"blk.{i}.ffn_up.weight", 2 * c["intermediate_size"], d)
        w.tensor(f"blk.{i}.ffn_down.weight", d, c["intermediate_size"])


def deepseek_v3(w, c):
    heads, rope, nope = c["num_attention_heads"], c["qk_rope_head_dim"], c["qk_nope_head_dim"]
    value, rank, d = c["v_head_dim"], c["kv_lora_rank"], c["hidden_size"]
    common(w, {**c, "num_key_value_heads": 1})
    w.set(attention__q_lora_rank=c["q_lora_rank"], attention__kv_lora_rank=rank, attention__key_length=rank + rope,
          attention__value_length=rank, attention__key_length_mla=nope + rope, attention__value_length_mla=value,
          rope__dimension_count=rope, leading_dense_block_count=c["first_k_dense_replace"],
          expert_count=c["n_routed_experts"], expert_used_count=c["num_experts_per_tok"],
          expert_feed_forward_length=c["moe_intermediate_size"], expert_shared_count=c["n_shared_experts"],
          expert_weights_scale=2.5, rope__scaling__yarn_log_multiplier=0.1, expert_weights_norm=True, expert_gating_func=2, vocab_size=c["vocab_size"])
    for i in range(c["num_hidden_layers"]):
        b = f"blk.{i}."
        norms(w, c, i, "attn_norm", "ffn_norm")
        w.tensor(b + "attn_q_a.weight", c["q_lora_rank"], d)
        w.tensor(b + "attn_q_a_norm.weight", c["q_lora_rank"])
        w.tensor(b + "attn_q_b.weight", heads * (nope + rope), c["q_lora_rank"])
        w.tensor(b + "attn_kv_a_mqa.weight", rank + rope, d)
        w.tensor(b + "attn_kv_a_norm.weight", rank)
        w.tensor(b + "attn_k_b.weight", heads, rank, nope)
        w.tensor(b + "attn_v_b.weight", heads, value, rank)
        w.tensor(b + "attn_output.weight", d, heads * value)
        if i < c["first_k_dense_replace"]:
            gated(w, c, i)
            continue
        routed(w, c, i, c["n_routed_experts"], c["moe_intermediate_size"])
        w.tensor(b + "exp_probs_b.bias", c["n_routed_experts"])
        shared = c["n_shared_experts"] * c["moe_intermediate_size"]
        w.tensor(b + "ffn_gate_shexp.weight", shared, d)
        w.tensor(b + "ffn_up_shexp.weight", shared, d)
        w.tensor(b + "ffn_down_shexp.weight", d, shared)


def gpt_oss(w, c):
    common(w, c)
    w.set(attention__sliding_window=c["sliding_window"], expert_count=c["num_local_experts"],
          expert_used_count=c["num_experts_per_tok"], expert_feed_forward_length=c["intermediate_size"])
    for i in range(c["num_hidden_layers"]):
        norms(w, c, i, "attn_norm", "post_attention_norm")
        grouped_attention(w, c, i, bias=True, sinks=True)
        routed(w, c, i, c["num_local_experts"], c["intermediate_size"], bias=True)


def mamba2(w, c):
    d, inner, state = c["hidden_size"], c["expand"] * c["hidden_size"], c["state_size"]
    heads, groups, kernel = c["num_heads"], c["n_groups"], c["conv_kernel"]
    w.set(context_length=1 << 20, embedding_length=d, feed_forward_length=0, attention__head_count=0,
          block_count=c["num_hidden_layers"], ssm__conv_kernel=kernel, ssm__inner_size=inner, ssm__state_size=state,
          ssm__time_step_rank=heads, ssm__group_count=groups, attention__layer_norm_rms_epsilon=1e-5)
    w.tensor("token_embd.weight", c["vocab_size"], d)
    w.tensor("output_norm.weight", d)
    convolved = inner + 2 * groups * state
    for i in range(c["num_hidden_layers"]):
        b = f"blk.{i}."
        norms(w, c, i, "attn_norm")
        w.tensor(b + "ssm_in.weight", inner + convolved + heads, d)
        w.tensor(b + "ssm_conv1d.weight", convolved, kernel, wide=True)
        w.tensor(b + "ssm_conv1d.bias", convolved)
        w.tensor(b + "ssm_dt.bias", heads)
        w.tensor(b + "ssm_a", heads, 1)
        w.tensor(b + "ssm_d", heads, 1)
        w.tensor(b + "ssm_norm.weight", groups, inner // groups, wide=True)
        w.tensor(b + "ssm_out.weight", d, inner)


def mamba(w, c):
    d, inner, state = c["hidden_size"], c["intermediate_size"], c["state_size"]
    rank, kernel = c["time_step_rank"], c["conv_kernel"]
    w.set(context_length=1 << 20, embedding_length=d, feed_forward_length=0, attention__head_count=0,
          block_count=c["num_hidden_layers"], ssm__conv_kernel=kernel, ssm__inner_size=inner, ssm__state_size=state,
          ssm__time_step_rank=rank, attention__layer_norm_rms_epsilon=1e-5)
    w.tensor("token_embd.weight", c["vocab_size"], d)
    w.tensor("output_norm.weight", d)
    for i in range(c["num_hidden_layers"]):
        b = f"blk.{i}."
        norms(w, c, i, "attn_norm")
        w.tensor(b + "ssm_in.weight", 2 * inner, d)
        w.tensor(b + "ssm_conv1d.weight", inner, kernel, wide=True)
        w.tensor(b + "ssm_conv1d.bias", inner)
        w.tensor(b + "ssm_x.weight", rank + 2 * state, inner)
        w.tensor(b + "ssm_dt.weight", inner, rank)
        w.tensor(b + "ssm_dt.bias", inner)
        w.tensor(b + "ssm_a", inner, state, wide=True)
        w.tensor(b + "ssm_d", inner)
        w.tensor(b + "ssm_out.weight", d, inner)


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for family, (architecture, _, described) in FAMILIES.items():
        w = Writer(folder / f"{family}.gguf", architecture, described)
        globals()[family](w, described)
        w.close()
        (folder / f"{family}.json").write_text(json.dumps(described, indent=1))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
