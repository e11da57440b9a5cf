# SPDX-License-Identifier: MIT
"""CUDA devices that are not there: what SGLang asks torch.cuda and nvidia-smi of a card, answered by the project's own table.

Import it before sglang, and call use(id) before each question.
"""

import csv
import functools
import os
import pathlib
import sys
import tempfile
import types

import torch

TABLE = pathlib.Path(__file__).resolve().parents[3] / "packaging/tables/gpus.csv"


class Card:
    def __init__(self, row):
        self.id, self.name = row["id"], f"NVIDIA {row['name']}"
        self.capability = tuple(int(part) for part in row["capability"].split("."))
        self.reported_mib = int(row["memory.reported mib"])  # memory.total of nvidia-smi
        visible = row["memory.cuda_visible mib"]
        self.visible = (int(visible) if visible.isdigit() else self.reported_mib) << 20
        self.multiprocessors = int(row["sm_count"])


def cards():
    with open(TABLE, newline="") as table:
        rows = list(csv.DictReader(table))
    return {r["id"]: Card(r) for r in rows if r["vendor"] == "nvidia" and r["memory.reported mib"].isdigit()}


CARDS = cards()
_card = CARDS["h100-sxm5-80gb"]
_programs = tempfile.mkdtemp(prefix="nvidia-smi-")


def card():
    return _card


def use(name):
    """Makes every device that card. Answers that SGLang remembers of the last one are forgotten."""
    global _card
    _card = CARDS[name]
    program = pathlib.Path(_programs, "nvidia-smi")
    program.write_text(f"#!/bin/sh\necho {_card.reported_mib}\n")
    program.chmod(0o755)
    for module in list(sys.modules.values()):
        if not getattr(module, "__name__", "").startswith("sglang"):
            continue
        for value in list(vars(module).values()):
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()


def _properties(*_, **__):
    return types.SimpleNamespace(
        name=_card.name, major=_card.capability[0], minor=_card.capability[1], total_memory=_card.visible,
        multi_processor_count=_card.multiprocessors, shared_memory_per_block_optin=232448, warp_size=32)


for _name, _answer in {
    "is_available": lambda: True,
    "device_count": lambda: 8,
    "current_device": lambda: 0,
    "get_device_capability": lambda *_, **__: _card.capability,
    "get_device_name": lambda *_, **__: _card.name,
    "get_device_properties": _properties,
    "set_device": lambda *_: None,
    "synchronize": lambda *_: None,
    "empty_cache": lambda: None,
    "mem_get_info": lambda *_: (_card.visible, _card.visible),
}.items():
    setattr(torch.cuda, _name, _answer)
os.environ["PATH"] = _programs + os.pathsep + os.environ["PATH"]
