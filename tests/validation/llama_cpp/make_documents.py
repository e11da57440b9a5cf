#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes job documents for the rows of run_builds.py, each beside the buffers that the build printed, in bytes.

usage: make_documents.py ROWS.csv > DOCUMENTS.jsonl"""
import csv
import json
import sys

from families import FAMILIES
from settings import SETTINGS

CACHES = {"f16": "fp16", "q8_0": "q8_0"}


def document(row):
    setting = SETTINGS[row["setting"]]
    return {
        "model": FAMILIES[row["family"]][2], "task": "serving", "weights": "f16",
        "runtime": {"name": f"llama.cpp@{row['build']}", "flash_attn": setting["flash_attention"],
                    "ubatch_size": setting["ubatch"], "parallel": setting["parallel"]},
        "context": setting["context"] // setting["parallel"], "batch": setting["parallel"],
        "kv_cache": CACHES[setting["kv_cache"]], "layout": {"tensor": 1, "pipeline": 1},
        "cluster": {"gpus": 1, "gpu": "cpu", "host": {"memory": 1 << 36}},
    }


def main(rows):
    for row in csv.DictReader(open(rows)):
        printed = {name[:-4]: float(size) for name, size in row.items() if name.endswith("_mib")}
        print(json.dumps({"id": f"{row['build']} {row['family']} {row['setting']}", "document": document(row),
                          "printed_mib": printed}))


if __name__ == "__main__":
    main(sys.argv[1])
