# SPDX-License-Identifier: MIT
"""Tracked runs as job documents: ``python3 job_documents.py [RUNS.csv] > JOBS.jsonl``, one document a row.

A row's columns say what was asked of transformers, and the document asks llmres for the same with the profile of that version
of transformers as it ships. Nothing else is set. Rows of a real GPU (``--device cuda``) carry what its allocator said beside the document.
Needs Python alone.
"""

from __future__ import annotations

import csv
import json
import pathlib
import re
import sys
from typing import Any

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
MODELS = "pytorch_models"

FORMATS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
GPUS = {"sm80": "a100-sxm4-80gb", "sm90": "h100-sxm5-80gb", "sm100": "b200-sxm-180gb", "": "a100-sxm4-80gb"}
EXPERTS = {"eager": "loop", "grouped_mm": "grouped", "batched_mm": "batched"}
MODULES = {
    "c_attn": "q_proj,k_proj,v_proj", "query_key_value": "q_proj,k_proj,v_proj", "qkv_proj": "q_proj,k_proj,v_proj",
    "query": "q_proj", "key": "k_proj", "value": "v_proj", "q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj",
    "out_proj": "o_proj", "c_proj": "o_proj,down_proj", "dense": "o_proj", "c_fc": "up_proj", "fc1": "up_proj", "fc2": "down_proj",
    "dense_h_to_4h": "up_proj", "dense_4h_to_h": "down_proj", "gate_up_proj": "gate_proj,up_proj", "wi_0": "gate_proj",
    "wi_1": "up_proj", "wo": "down_proj", "kv_a_proj_with_mqa": "kv_a_proj", "lin1": "up_proj", "lin2": "down_proj", "q_lin": "q_proj", "k_lin": "k_proj", "v_lin": "v_proj", "out_lin": "o_proj",
    "fc_in": "up_proj", "fc_out": "down_proj",
}
"""The modules of each architecture by the names that llmres has for their roles."""


def model_name(row: dict[str, str]) -> str:
    return "-".join(row["run_id"].split("-")[:2])


def targets(row: dict[str, str]) -> str:
    """The linear layers with an adapter."""
    names: list[str] = []
    for module in row["target_modules"].split():
        if module == "dense" and row["family"].removesuffix("_classify") in ("bert", "roberta"):
            names += ["o_proj", "up_proj", "down_proj", "classifier"]  # it calls all of these so
        else:
            names += MODULES.get(module, module).split(",")
    return ",".join(dict.fromkeys(names))


def adapter(row: dict[str, str]) -> dict[str, Any]:
    kind = {"qlora": "lora"}.get(row["method"], row["method"])
    made: dict[str, Any] = {"kind": kind}
    if row["lora_rank"]:
        made["rank"] = int(row["lora_rank"])
    if row["target_modules"]:
        made["targets"] = targets(row)
    if row["lora_dropout"]:
        made["dropout"] = float(row["lora_dropout"])
    return made


def model(row: dict[str, str]) -> str | dict[str, str]:
    path = f"{MODELS}/{model_name(row)}.json"
    return {"from": path, "head": "masked_lm"} if row["class"].endswith("ForMaskedLM") else path


def runtime(row: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"name": "huggingface@" + row["transformers"]}
    if row["experts_implementation"]:
        made["experts"] = EXPERTS[row["experts_implementation"]]
    if row["loss"] and row["loss"] != "llamafactory_dpo":
        made["loss"] = "fused_log_probabilities" if row["loss"].startswith("trl") else row["loss"]
    if row["kernels"] == "liger":
        made |= {"loss": "fused_linear", "fused_norms": True, "fused_gates": True}
    if row["recompute"] == "selective":
        made["selective"] = "all_but_odd_products"
    if row["offload"]:
        made["save_on_cpu"] = True
    return made


def recomputation(row: dict[str, str]) -> dict[str, Any]:
    every = re.fullmatch(r"every(\d+)", row["recompute"])
    return {"recompute": "full", "recompute_every": int(every[1])} if every else {"recompute": row["recompute"]}


def document(row: dict[str, str]) -> dict[str, Any]:
    """The job of one row."""
    stored = FORMATS[row["param_dtype"]]
    computed = FORMATS[row["autocast_dtype"] or row["param_dtype"]]
    made: dict[str, Any] = {
        "model": model(row), "task": "finetuning",
        "weights": "nf4_double" if row["method"] == "qlora" else stored,
        "compute": "fp8_e4m3" if row["kernels"] == "float8" else computed,
        "autocast": bool(row["autocast_dtype"]), "master_weights": stored, "optimizer_states": stored,
        "sequence": int(row["sequence"]), "micro_batch": int(row["batch"]),
        "attention": "eager" if row["attention"] == "eager" else "sdpa", "optimizer": row["optimizer"],
    } | recomputation(row)
    if row["accumulate"]:
        made["global_batch"] = int(row["accumulate"]) * int(row["batch"])
    if row["average"]:
        made["ema"] = True
    if row["offload"]:
        made["offload"] = {"activations": "host"}
    if row["dropout"]:
        made["dropout"] = True
    if row["loss"].endswith("_dpo"):
        made["preference"] = "dpo"
    if row["method"] != "full":
        made["adapter"] = adapter(row)
    return made | {"layout": {}, "cluster": {"gpu": GPUS[row["gpu"]]}, "runtime": runtime(row)}


def grpo_document(row: dict[str, str]) -> dict[str, Any]:
    """The job of one row of reinforcement_runs.csv, whose policy's own model generates."""
    made = document(row | {"loss": "trl_" + row["trainer"]})
    with_reference = "adapters_off" if row["method"] != "full" else "loaded"
    made["preference"] = row["trainer"]
    made["reference"] = with_reference if float(row["beta"]) > 0 else "none"
    made["rollout"] = {
        "engine": "transformers", "prompt": int(row["prompt"]), "output": int(row["completion"]), "generations": int(row["generations"]),
    }
    return made


def gkd_document(row: dict[str, str]) -> dict[str, Any]:
    """The job of one row of distillation_runs.csv."""
    return document(row) | {"preference": "gkd", "teacher": f"{MODELS}/{row['teacher']}.json",
                            "teacher_weights": FORMATS[row["teacher_dtype"]], "beta": float(row["beta"])}


MEASURED = ("allocated_saved_bytes", "allocated_forward_peak_bytes", "allocated_loss_peak_bytes", "allocated_backward_peak_bytes",
            "allocated_step_peak_bytes", "allocated_peak_bytes", "reserved_peak_bytes")


def measured(row: dict[str, str]) -> dict[str, Any]:
    """What the caching allocator of a real GPU counted."""
    found = {name.removesuffix("_bytes"): int(row[name]) for name in MEASURED if row.get(name)}
    return {"measured": found | {"threads": int(row["threads"])}} if found else {}


MADE = {"grpo": grpo_document, "rloo": grpo_document, "gkd": gkd_document}
"""By the column that says which trainer of TRL's ran."""


def main() -> None:
    runs = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DATA / "pytorch_runs.csv"
    with runs.open(newline="") as file:
        for row in csv.DictReader(file):
            asked = MADE.get(row.get("trainer", ""), document)(row)
            print(json.dumps({"id": row["run_id"], "series": row["family"], "document": asked} | measured(row)))


if __name__ == "__main__":
    main()
