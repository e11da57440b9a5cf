# SPDX-License-Identifier: MIT
"""The models of published training runs, as a job document gives them: by their name, or by their shape."""
import json
import re
import subprocess


class Program:
    """The models and GPUs that the program knows by name; none without a program."""

    def __init__(self, path):
        self.path, self.answers = path, {}

    def ask(self, command, name):
        """What `llmres COMMAND NAME --json` says; None where it does not know the name."""
        if not self.path or not name:
            return None
        if (command, name) not in self.answers:
            ran = subprocess.run([self.path, command, name, "--json"], capture_output=True, text=True)
            self.answers[command, name] = json.loads(ran.stdout) if ran.returncode == 0 else None
        return self.answers[command, name]

    def gpu(self, name):
        """ "8x H100 80GB" is eight of one kind. """
        said = self.ask("gpus", re.sub(r"^\d+\s*x\s*", "", name.strip()))
        return said and said.get("id")

    def model(self, row):
        """The preset of the row's name, if its columns agree or give no shape."""
        said = self.ask("model", row.text("model"))
        if not said:
            return None
        if not row.number("hidden") and not row.number("layers"):
            return said["name"]
        if said["parameters"]["by_role"].get("embed_tokens") == row.number("hidden") * row.number("vocab") and \
                sum(kind["count"] for kind in said["layers"]) == row.number("layers"):
            return said["name"]
        return None


def by_columns(row):
    """What every table's columns say."""
    attention = {"heads": row.number("heads"), "kv_heads": row.number("kv_heads", row.number("heads"))}
    if row.number("head_dim"):
        attention["head_dim"] = row.number("head_dim")
    return {"vocabulary": row.number("vocab"), "hidden": row.number("hidden"), "layers": row.number("layers"), "attention": attention,
            "feed_forward": {"width": row.number("ffn")}}


def add_latent_attention(row, attention):
    if row.number("kv_rank") > 0:
        attention.pop("qk_norm", None)
        attention |= {"q_rank": row.number("q_rank"), "kv_rank": row.number("kv_rank"), "rope_dim": row.number("rope_dim"),
                      "value_dim": row.number("v_dim")}


def megatron_shape(row):
    """What Megatron-Core was told of its model (megatron.py reads its arguments into columns)."""
    shape = by_columns(row)
    attention, feed_forward = shape["attention"], shape["feed_forward"]
    shape["norm"] = row.get("norm", "rms")
    feed_forward["kind"] = "gated" if row.get("gated") else "plain"
    if row.get("bias"):
        feed_forward["bias"] = attention["qkv_bias"] = attention["output_bias"] = True
    if row.get("qk_norm"):
        attention["qk_norm"] = "shared"
    if row.get("tied"):
        shape["tied_head"] = True
    if row.number("positions"):
        shape["positions"] = row.number("positions")
    add_latent_attention(row, attention)
    if row.number("experts"):
        feed_forward["experts"] = {"count": row.number("experts"), "per_token": row.number("topk"), "width": row.number("moe_ffn")} | \
            ({"shared_width": row.number("shared_ffn")} if row.number("shared_ffn") else {}) | \
            ({"latent": row.number("moe_latent")} if row.number("moe_latent") else {})
        if row.number("dense_layers"):
            shape["dense_layers"] = row.number("dense_layers")
    if row.get("pattern"):
        shape["layers"] = row["pattern"]
        if "*" not in row["pattern"] + row.get("mtp_pattern", ""):
            del shape["attention"]
        if "M" in row["pattern"]:  # chunks of 128 tokens: megatron/core/ssm/mamba_mixer.py
            shape["recurrent"] = row["mamba"] | {"chunk": 128}
        if row.get("mtp_pattern"):
            shape["prediction"] = {"layers": row["mtp"], "block": row["mtp_pattern"]}
    return shape


MOE_NOTE = re.compile(r"(\d+) experts top-(\d+)")
MLA_NOTE = re.compile(r"MLA kv_lora (\d+) nope(\d+) rope(\d+) v(\d+); (\d+) dense \+ (\d+) MoE layers; (\d+) routed\((\d+)\) top(\d+) \+ "
                      r"(\d+) shared")


ROUTED_NOTE = re.compile(r"(\d+) routed \((\d+)\) top-?(\d+)(?: \+ (\d+) shared)?(?:; (\d+) dense)?")
MOE_WIDTHS_NOTE = re.compile(r"MoE (\d+) experts top-?(\d+)")


def add_noted_experts(arch, shape):
    """Experts as the notes name them: "64 routed (1408) top6 + 2 shared; 1 dense layer" and "MoE 128 experts top8", whose inner features
    are then the row's."""
    feed_forward = shape["feed_forward"]
    if found := ROUTED_NOTE.search(arch):
        experts, width, chosen, shared, first = (int(each or 0) for each in found.groups())
        feed_forward["experts"] = {"count": experts, "per_token": chosen, "width": width, "shared_width": shared * width}
        shape["dense_layers"] = first
    elif found := MOE_WIDTHS_NOTE.search(arch):
        feed_forward["experts"] = {"count": int(found.group(1)), "per_token": int(found.group(2)), "width": feed_forward.pop("width")}
    if "DeepSeek-V3 style MLA" in arch:  # arXiv 2412.19437, section 4.2; Moonlight's queries are not compressed
        shape["attention"] = {"heads": shape["attention"]["heads"], "head_dim": 128, "kv_rank": 512, "rope_dim": 64, "value_dim": 128}


def noted_shape(row):
    """What the notes say of an architecture: "arch: GPT-NeoX parallel residual; LayerNorm; GELU; untied"."""
    shape = by_columns(row)
    attention, feed_forward = shape["attention"], shape["feed_forward"]
    notes = row.text("notes")
    arch = notes.split("arch: ", 1)[1] if "arch: " in notes else "GELU, tied" if "BLOOM" in row.text("model") else notes
    if "tied" in arch and "untied" not in arch:
        shape["tied_head"] = True
    if "qkv bias" in arch:
        attention["qkv_bias"] = True
    if "qk-norm" in arch:
        attention["qk_norm"] = "shared"
    if found := re.search(r"head_dim (\d+)", arch):
        attention["head_dim"] = int(found.group(1))
    if "GELU" in arch or "LayerNorm" in arch:
        shape["norm"] = "layer"
        feed_forward |= {"kind": "plain", "bias": True}
        attention |= {"qkv_bias": True, "output_bias": True}
    if "GPT-NeoX" in arch:
        shape["architecture"] = "gpt_neox"
    if "granite arch" in arch:
        shape["architecture"] = "granite"
    if "gpt_bigcode" in arch:
        shape["positions"] = 2048
    if found := MOE_NOTE.match(arch):
        feed_forward["experts"] = {"count": int(found.group(1)), "per_token": int(found.group(2)), "width": feed_forward.pop("width")}
    if found := MLA_NOTE.search(notes):
        rank, key, rope, value, first, _, experts, width, chosen, shared = map(int, found.groups())
        shape["attention"] = {"heads": attention["heads"], "head_dim": key, "kv_rank": rank, "rope_dim": rope, "value_dim": value}
        feed_forward["experts"] = {"count": experts, "per_token": chosen, "width": width, "shared_width": shared * width}
        shape["dense_layers"] = first
    elif "experts" not in feed_forward:
        add_noted_experts(arch, shape)
    names_more = ("MoE", "Mamba", "enc-dec") if "arch: " in notes else ()
    if any(word in arch for word in names_more) and "experts" not in feed_forward or not attention["heads"]:
        raise SystemExit(f"{row.text('id')}: notes are {notes}; expected an architecture that tests/validation/training/shapes.py reads")
    return shape


def model_of(row, program):
    """A model of the program's, or a shape."""
    known = program.model(row)
    if known:
        return known
    if not row.number("hidden") and "args" not in row:
        raise SystemExit(f"{row.text('id')}: model is {row.text('model')}; expected one that `llmres models` lists, or its shape in the columns "
                         "hidden, layers, heads, kv_heads, ffn and vocab")
    return megatron_shape(row) if row.text("series").startswith("megatron") else noted_shape(row)
