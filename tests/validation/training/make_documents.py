#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns published training measurements into job documents, one JSON object a line, as training_memory.cpp reads them:

    make_documents.py --program build/gcc/llmres SOURCE.csv... > ../data/training.jsonl

SOURCE is a table with the columns of memory.csv, megatron_golden.csv, megatron_b200.csv or ultrascale.csv; rows are complete ones, unless
--whole asks for all. What the columns say comes first, then what is known of who published it (publishers.py). A row of
another table may leave out columns: a model that the program knows by name needs no shape, and a row that does not say whether it is complete
is. The program is asked for the models and GPUs that it knows by name; without it, every model is described by its shape."""
import argparse
import json
import re
import sys

import megatron
from publishers import is_lora, publisher_of, vocabulary_of
from rows import rows_of
from shapes import Program, model_of

GPUS = (("A100-SXM4-40GB", "a100-sxm4-40gb"), ("A100 40GB", "a100-sxm4-40gb"), ("A100-SXM-64GB", "a100-sxm-64gb"), ("A100", "a100-sxm4-80gb"),
        ("H100", "h100-sxm5-80gb"), ("H200", "h200-sxm-141gb"),
        ("GB200", "gb200"), ("B200", "b200-sxm"), ("178 GiB", "b200-sxm"), ("3090", "rtx-3090"), ("4090", "rtx-4090"),
        ("MI300X", "mi300x"), ("V100 32GB", "v100-sxm2-32gb"), ("2080Ti 22GB", "rtx-2080-ti-22gb"), ("T4", "t4"), ("16GB", "v100-sxm2-16gb"))


def gpu_of(row, program):
    """A GPU that the program knows by that name, else one that the published tables call so."""
    if known := program.gpu(row.text("gpu")):
        return known
    for part, gpu in GPUS:
        if row.says("gpu", part):
            return gpu
    raise SystemExit(f"{row.text('id')}: gpu is {row.text('gpu')}; expected a name that `llmres gpus` lists")


def cluster_of(row, gpus, program):
    """H100 of 96 GB, which the table does not have: torchtitan prints 95.04 GiB of them."""
    other = {"gpu_memory": int(95.04 * 2**30)} if row.says("gpu", "H100 96GB", "H100 80/96GB") else {}
    return {"gpu": gpu_of(row, program)} | other | {"gpus": gpus}


def layout_of(row):
    layout = {}
    for key, column in {"tensor": "tp", "pipeline": "pp", "virtual_pipeline": "vpp", "data": "dp", "context_parallel": "cp", "expert": "ep",
                        "shard_replicas": "shard_replicas"}.items():
        if row.number(column, 1) != 1:
            layout[key] = row.number(column)
    if layout.get("tensor", 1) > 1 and (row.number("sp") or row.says("parallel", "sequence parallel")):
        layout["sequence_parallel"] = True
    if layout.get("expert", 1) > 1 or layout.get("tensor", 1) > 1:
        layout["expert_tensor"] = row.number("etp", 1)
    if row.number("n_gpus") and not row.text("dp"):  # a table that does not say how GPUs are used: replicas of what it does say
        layout["data"] = row.number("n_gpus") // gpus_in(layout)
    if row.number("zero"):
        layout["zero"] = row.number("zero")
    if row.number("group"):
        layout["micro_batch_group"] = row.number("group")
    return layout


def gpus_in(layout):
    gpus = 1
    for key in ("tensor", "pipeline", "data", "context_parallel"):
        gpus *= layout.get(key, 1)
    return gpus


def attention_of(written):
    if re.search(r"unfused|eager|\b(?:no|not|without)[ -]flash|flash(?:[ -]attention)?[ =:]*(?:off|false|disabled)", written, re.IGNORECASE):
        return "sdpa" if re.search("sdpa", written, re.IGNORECASE) else "eager"
    return "flash" if re.search("flash", written, re.IGNORECASE) else "sdpa"


def formats_of(row):
    """What is trained in 16 bits alone: weights, gradients and states. Quantised weights are frozen under an adapter."""
    half = "fp16" if row.says("precision", "float16") and not row.says("precision", "bfloat16") or row.says("precision", "fp16") else "bf16"
    weights = half
    if row.says("method", "nf4-dq") or row.says("precision", "nf4 dq"):
        weights = "nf4_double"
    elif row.says("method", "nf4", "bnb", "hqq") or row.says("precision", "nf4"):
        weights = "nf4"
    elif row.says("method", "gptq", "GPTQ"):
        weights = "gptq_int8_g128" if row.says("method", "int8") else "gptq_int4_g128"
    return {"weights": weights, "compute": half, "master_weights": half, "optimizer_states": half}


def optimizer_of(row):
    tuned = row.text("optimizer")
    other = tuned and not re.search("adam|dist-opt|none", tuned, re.IGNORECASE)  # by its own name, which is refused where it is unknown
    said = {"optimizer": tuned.lower() if other else "sgd" if tuned == "none" else
            "adamw_8bit" if "8bit" in tuned else "paged_adamw" if "Paged" in tuned else "adamw"}
    if "in_bwd" in tuned:
        said["optimizer_in_bwd"] = True
    offload = {key: "host" for key, words in (("activations", "activations CPU"), ("optimizer", "optimizer CPU"), ("parameters", "CPU params"))
               if row.says("offload", words)}
    return said | ({"offload": offload} if offload else {})


def adapter_of(row):
    """ "lora r16 on q_proj", "QDoRA r8". """
    method = row.text("method").lower()
    found = re.search(r"\br(\d+)", method)
    kind = next((kind for kind in ("dora", "rslora") if kind in method), "lora")
    return {"kind": kind, "rank": int(found.group(1)) if found else 8, "targets": "attention"}


def check_method(row):
    """Who trains something else, such as IA3 or blocks in turn, is not to be planned as who trains all weights."""
    if not re.search(r"^$|full|fft|sft|lora|dora|llama-adapter|adapter v\d", row.text("method"), re.IGNORECASE):
        raise SystemExit(f"{row.text('id')}: method is {row.text('method')}; expected full training, or an adapter that documents can name")


def document_of(row, program, measured):
    """The job document of a row. `measured` learns which GPU's counter it is."""
    if "args" in row:
        row |= megatron.columns_of(row)
    if row.number("vocab"):
        row["vocab"] = vocabulary_of(row)
    check_method(row)
    layout = layout_of(row)
    recompute = row.text("recompute")
    document = {"model": model_of(row, program), "task": "pretraining" if row.text("method") == "full pre-training" else "finetuning",
                "sequence": row.number("seq"), "micro_batch": row.number("micro_batch", 1), "attention": attention_of(row.text("attention")),
                "recompute": "full" if "full" in recompute else "selective" if "selective" in recompute else "none"}
    if "santacoder" in row.text("model"):
        document["sequence"] = 2048  # Its positions end there, so packing to 4096 cannot hold: inferred.
    document["global_batch"] = row.number("global_batch") or document["micro_batch"] * layout.get("data", 1)
    document |= formats_of(row) | optimizer_of(row)
    if is_lora(row):
        document["adapter"] = adapter_of(row)
    document |= {"layout": layout, "cluster": cluster_of(row, gpus_in(layout), program)}
    if row.text("series") == "fsdp_qlora_profile" and isinstance(document["model"], str):
        document["model"] = {"from": document["model"]}
    publisher_of(row)(row, document, measured)
    document["cluster"]["gpus"] = gpus_in(layout)
    return document


def entry_of(row, program):
    """A line: what was asked, and what came of it, in bytes."""
    measured = {}
    document = document_of(row, program, measured)
    entry = {"id": row.text("id"), "series": row.text("series"), "outcome": "out_of_memory" if row.text("oom") == "yes" else "ran"}
    if measured.pop("fault", False):
        entry["outcome"] = "fault"  # published to show a fault of the runtime, which no plan foresees
    entry |= measured
    counters = {"allocated": row.real("allocated_gib") or row.real("active_gib"), "reserved": row.real("reserved_gib"),
                "nvidia_smi": row.real("nvidia_smi_mib") / 1024, "unstated": row.real("unstated_gib")}
    entry["measured"] = {name: round(gib * 2**30) for name, gib in counters.items() if gib > 0}
    entry["document"] = document
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="+", help="a published table")
    parser.add_argument("--program", help="llmres, for the models and GPUs that it knows by name")
    parser.add_argument("--whole", action="store_true", help="rows that are not complete, too")
    asked = parser.parse_args()
    program = Program(asked.program)
    made = 0
    named = set()  # runs of the tables so far: another table's row of the same run is no second measurement
    for source in asked.source:
        rows = [row for row in rows_of(source, asked.whole) if row.get("run") not in named]
        named |= {row["run"] for row in rows if "run" in row}
        for row in rows:
            try:
                print(json.dumps(entry_of(row, program), separators=(",", ":")))
                made += 1
            except SystemExit as refusal:  # rows that are not complete may say too little
                if not asked.whole:
                    raise
                print(refusal, file=sys.stderr)
    if not made:
        raise SystemExit(f"{', '.join(asked.source)}: no complete row")


if __name__ == "__main__":
    sys.exit(main())
