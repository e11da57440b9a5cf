# SPDX-License-Identifier: MIT
"""Published training measurements as rows of one shape, whichever of the published tables they stand in."""
import collections
import csv
import json
import pathlib
import re

COPIED = {"id": "id", "series": "series", "model": "model", "precision": "precision", "optimizer": "optimizer", "method": "method",
          "recompute": "recompute", "attention": "attention", "parallel": "parallel", "offload": "offload", "gpu": "gpu",
          "framework": "framework", "notes": "notes", "hidden": "hidden", "layers": "layers", "heads": "heads", "kv_heads": "kv_heads",
          "ffn": "ffn", "vocab": "vocab", "seq": "seq_len", "micro_batch": "micro_batch", "tp": "n_tp", "sp": "n_sp", "pp": "n_pp",
          "dp": "n_dp", "cp": "n_cp", "ep": "n_ep", "zero": "n_zero", "n_gpus": "n_gpus", "allocated_gib": "measured_peak_allocated_gib",
          "active_gib": "measured_peak_active_gib", "reserved_gib": "measured_peak_reserved_gib",
          "nvidia_smi_mib": "measured_nvidia_smi_mib", "oom": "oom"}
B200_SHAPES = {  # hidden, heads, heads of keys and values, inner features, vocabulary
    "llama3-70b": (8192, 64, 8, 28672, 128256),
    "llama3-405b": (16384, 128, 8, 53248, 128256),
    "deepseekv2": (5120, 128, 128, 12288, 102400),
    "deepseekv3": (7168, 128, 128, 18432, 129280),
}
B200_EXPERTS = {  # experts, a token's, their inner features, those of all shared experts
    "deepseekv2": (160, 6, 1536, 3072),
    "deepseekv3": (256, 8, 2048, 2048),
}


class Row(dict):
    """The cells of a row; empty or zero where the table has no such column."""

    def text(self, name):
        return str(self.get(name) or "")

    def number(self, name, otherwise=0):
        found = re.match(r"\s*(-?\d+)", self.text(name))
        return int(found.group(1)) if found else otherwise

    def real(self, name):
        found = re.match(r"\s*(-?\d+(\.\d+)?)", self.text(name))
        return float(found.group(1)) if found else 0.0

    def says(self, name, *parts):
        return any(part in self.text(name) for part in parts)


def read(path):
    with pathlib.Path(path).open(newline="", encoding="utf-8") as file:
        return [Row(r) for r in csv.DictReader(file)]


# ---- memory.csv -------------------------------------------------------------------------------------------------------------------------


def of_memory(table, golden, whole):
    """Rows with every field, unless they are wanted `whole`; Megatron-Core's with the arguments of their runs."""
    found = {named_by(r): r for r in golden}
    laid_out = laid_out_by_figures(found.values())
    for r in table:
        if r.get("complete", "Y") != "Y" and not whole:
            continue
        row = Row({name: r.text(column) for name, column in COPIED.items()})
        if r.text("grad_accum").startswith("GBS "):
            row["global_batch"] = r["grad_accum"][4:]
        if r.text("series") == "megatron_golden":
            run = found.get((r["model"].removeprefix("megatron:"), r["raw_as_published"].split("mem-max-allocated-bytes=")[1].split(";")[0]))
            if not run or not is_described(json.loads(run["args"])) or len(laid_out[figures_of(run)]) > 1:
                continue
            row |= {"args": json.loads(run["args"]), "n_gpus": r.number("n_gpus"), "run": named_by(run)}
        yield row


# ---- Megatron-Core's own test runs ------------------------------------------------------------------------------------------------------


def figures_of(golden):
    return golden["mem_alloc_bytes_last"], golden["mem_max_alloc_bytes"], golden["mem_max_first"]


def named_by(golden):
    """What names a run in both tables: its test, and what it published."""
    return golden["test_case"], golden["mem_max_alloc_bytes"]


def laid_out_by_figures(table):
    """Layouts whose tests published the same figures, to the byte: they are those of one of them at most."""
    laid_out = collections.defaultdict(set)
    for r in table:
        laid_out[figures_of(r)].add(layout_of(json.loads(r["args"])))
    return laid_out


def layout_of(args):
    """Ranks by tensor, pipeline, context and expert."""
    return tuple(int(args.get(f"{k}-parallel-size", 1)) for k in ("tensor-model", "pipeline-model", "context", "expert-model"))


def pattern_of(args):
    """Letters of a hybrid model's layers by pipeline chunk, and of each depth that predicts further tokens
    (megatron/core/models/hybrid/hybrid_layer_allocation.py, parse_hybrid_pattern)."""
    main, *ahead = (args.get("hybrid-layer-pattern") or args.get("hybrid-override-pattern") or "").split("/")
    return main.split("|"), [depth for depth in ahead if depth]


def is_described(args):
    """Whether the arguments say what was trained: one model, whose layers are attention or Mamba 2, and feed-forward; a depth that
    predicts further tokens is one such layer. A second model is beside the student in distillation, and routers choose the widths
    of an elastic one."""
    chunks, ahead = pattern_of(args)
    if args.get("export-kd-teacher-load") or args.get("flextron"):
        return False
    if not chunks[0]:
        return args.get("num-layers") is not None and not args.get("is-hybrid-model")
    letters = set("".join(chunks)) <= set("M*-E") and "gated_delta" not in str(args.get("spec"))
    return letters and all(re.fullmatch("[M*]?[-E]?", depth) for depth in ahead)


def padded_vocabulary(args, tp):
    """Rows of the embedding: those of the tokenizer, rounded up for the tensor ranks (megatron/training/tokenizer)."""
    kind = str(args.get("tokenizer-type", ""))
    of_nemotron = "nemotron" in str(args.get("tokenizer-model", ""))
    rows = int(args.get("vocab-size") or
               (256000 if of_nemotron else 131072 if "TikToken" in kind else 32000 if "Llama2" in kind else 50257))
    multiple = int(args.get("make-vocab-size-divisible-by", 128)) * tp
    return int(args.get("padded-vocab-size") or -(-rows // multiple) * multiple)


def of_golden(table):
    """The runs themselves, where no other table names them: decoders whose number of GPUs the recipe says. (A run that resumes may
    publish the peak of its second part.)"""
    laid_out = laid_out_by_figures(table)
    for r in table:
        args = json.loads(r["args"])
        if r.text("test_type") not in ("", "regular", "release") or r.text("model_dir") not in ("gpt", "moe", "mixtral", "nemotron", "hybrid") or not is_described(args) or \
                not r.number("nodes") * r.number("gpus_per_node") or len(laid_out[figures_of(r)]) > 1:
            continue
        full = args.get("recompute-granularity") == "full"
        yield Row(id=f"{r['test_case']}:{r['golden']}", series="megatron_golden", model=f"megatron:{r['test_case']}",
                  n_gpus=r.number("nodes") * r.number("gpus_per_node"), args=args, gpu="DGX " + r["gpu"], run=named_by(r),
                  vocab=padded_vocabulary(args, layout_of(args)[0]),
                  precision="fp16" if args.get("fp16") else "bf16", method="full pre-training",
                  recompute="full" if full else args.get("recompute-granularity", "none"),
                  attention=args.get("attention-backend", "TE default").replace("unfused", "unfused eager"), oom="no",
                  allocated_gib=f"{int(r['mem_max_alloc_bytes']) / 2**30:.4f}")


# ---- megatron_b200.csv and ultrascale.csv -----------------------------------------------------------------------------------------------


def of_b200(table):
    """data/README.md says how these were run; a case's name says its layout."""
    for r in table:
        if r["model"] not in B200_SHAPES:
            raise SystemExit(f"model is {r['model']}; expected one of {', '.join(B200_SHAPES)}")
        hidden, heads, kv_heads, ffn, vocab = B200_SHAPES[r["model"]]
        p = dict.fromkeys(("tp", "pp", "cp", "ep"), 1) | {"seq": 4096}
        for part in r["case"].split("_"):
            for key in p:
                if part.startswith(key) and part[len(key):].isdigit():
                    p[key] = int(part[len(key):])
        p["dp"] = 8 // (p["tp"] * p["pp"] * p["cp"])
        row = Row(id=r["case"], series="megatron_b200", model=r["model"], hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=128,
                  ffn=ffn, layers=r["layer_num"], vocab=vocab, micro_batch=1, global_batch=int(r["micro_batch_num"]) * p["dp"],
                  sp=int(p["tp"] > 1), zero=1, gated=True, norm="rms", attention="TE default", gpu="B200", oom="no",
                  precision="bf16; fp32 main grads, fp32 master + fp32 Adam", method="full pre-training", recompute="none",
                  allocated_gib=f"{float(r['max_alloc_mb_over_ranks']) / 1024:.4f}",
                  reserved_gib=f"{float(r['max_reserved_mb_over_ranks']) / 1024:.4f}") | p
        if r["model"] in B200_EXPERTS:  # first layer dense: inferred from the static bytes, not published
            experts, topk, moe_ffn, shared_ffn = B200_EXPERTS[r["model"]]
            row |= {"experts": experts, "topk": topk, "moe_ffn": moe_ffn, "shared_ffn": shared_ffn, "dense_layers": 1, "q_rank": 1536,
                    "kv_rank": 512, "rope_dim": 64, "v_dim": 128}
        yield Row(row)


def of_ultrascale(table):
    """nanotron's own counter is not stated; its unit is GiB (ZeRO 1 against 0 differs by 12 bytes a parameter only then). Nor is the
    rank: with pipeline stages the figures are neither the first's nor the last's, so those rows are left out."""
    for r in table:
        if r["status"] != "ok" or r["suspect"] or r["pp"] != "1":
            continue
        copied = ("model", "hidden", "layers", "heads", "kv_heads", "ffn", "vocab", "micro_batch", "dp", "pp", "tp", "zero")
        yield Row({k: r[k] for k in copied} | {
            "id": r["uid"], "series": "ultrascale", "seq": r["seq_len"], "global_batch": r["global_batch_seqs"], "sp": int(int(r["tp"]) > 1),
            "notes": "tied embeddings", "attention": "FlashAttention-2", "gpu": "H100 80GB", "oom": "no",
            "precision": "bf16; fp32 grad accumulation, fp32 master + Adam", "method": "full pre-training", "recompute": "none",
            "framework": "nanotron 2025-02", "unstated_gib": r["memory_gb_as_published"]})


def rows_of(path, whole=False):
    """The rows of a published table, told by its columns. Megatron-Core's rows of memory.csv need megatron_golden.csv beside them."""
    table = read(path)
    columns = set(table[0]) if table else set()
    if {"measured_peak_allocated_gib", "measured_peak_reserved_gib", "measured_nvidia_smi_mib"} & columns:
        golden = pathlib.Path(path).with_name("megatron_golden.csv")
        return of_memory(table, read(golden) if golden.exists() else [], whole)
    if {"test_case", "args"} <= columns:
        return of_golden(table)
    if {"case", "max_alloc_mb_over_ranks"} <= columns:
        return of_b200(table)
    if {"uid", "memory_gb_as_published"} <= columns:
        return of_ultrascale(table)
    raise SystemExit(f"{path}: expected the columns of memory.csv, megatron_golden.csv, megatron_b200.csv or ultrascale.csv")
