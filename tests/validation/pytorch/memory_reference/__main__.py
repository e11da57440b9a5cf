# SPDX-License-Identifier: MIT
"""Runs the cases and writes the CSV files: ``python -m memory_reference --output FOLDER``."""

from __future__ import annotations

import argparse
import csv
import gc
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from typing import Any

import peft
import torch
import transformers

from memory_reference import attention, cases, cuda_memory, fake_gpu
from memory_reference.families import FAMILIES, SHAPE_COLUMNS, config_for
from memory_reference.measure import PRECISIONS, Case, Result, run

RUNS, SAVED, MODELS = "pytorch_runs.csv", "pytorch_saved.csv", "pytorch_models"
DESCRIPTION = ("run_id", "family", "class", "mode", "torch", "transformers", "peft", *SHAPE_COLUMNS, "method",
               "lora_rank", "lora_targets", "target_modules", "lora_dropout", "dropout", "attention", "attention_kernel", "gpu", "recompute",
               "experts_implementation", "param_dtype", "autocast_dtype", "trainable_dtype", "optimizer", "batch", "sequence",
               "loss", "kernels", "accumulate", "average", "offload")
MEASURES = ("params_total", "params_trainable", "param_bytes", "trainable_param_bytes", "buffer_bytes", "input_bytes",
            "static_bytes", "gradient_bytes", "optimizer_bytes", "saved_activation_bytes", "saved_by_hook_bytes",
            "after_backward_bytes", "after_step_bytes", "forward_peak_1_bytes", "loss_peak_1_bytes",
            "backward_peak_1_bytes", "step_peak_1_bytes", "forward_peak_2_bytes", "loss_peak_2_bytes",
            "backward_peak_2_bytes", "step_peak_2_bytes", "peak_bytes", "peak_phase", "static_rounded_bytes",
            "saved_activation_rounded_bytes", "peak_rounded_bytes")
SAVED_COLUMNS = ("run_id", "layer", "layers", "module", "module_class", "operators", "dtype", "shape", "bytes", "count")


def describe(case: Case, mode: str) -> dict[str, Any]:
    """What was asked for, as columns."""
    parameter_type, autocast_type = PRECISIONS[case.precision]
    shape = {k: v or "" for k, v in asdict(case.shape).items()}
    return shape | {
        "run_id": case.run_id, "family": case.family, "class": FAMILIES[case.family].model_class, "mode": mode,
        "torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__,
        "method": case.method, "lora_rank": case.lora_rank or "", "lora_targets": case.lora_targets,
        "target_modules": " ".join(case.target_modules), "dropout": drops(case) or "",
        "lora_dropout": case.lora_dropout or "", "attention": case.attention,
        "gpu": "" if case.real else f"sm{case.capability[0]}{case.capability[1]}", "recompute": case.recompute,
        "experts_implementation": case.experts, "param_dtype": str(parameter_type).removeprefix("torch."),
        "autocast_dtype": str(autocast_type or "").removeprefix("torch."), "optimizer": case.optimizer,
        "batch": case.batch, "sequence": case.sequence, "loss": case.loss, "kernels": case.kernels,
        "accumulate": case.accumulate if case.accumulate > 1 else "", "average": case.average or "", "offload": case.offload or "",
    }


def drops(case: Case) -> bool:
    """Whether the model has dropout: families differ in their defaults."""
    config = config_for(FAMILIES[case.family], case.shape, case.attention).to_dict()
    return any(isinstance(value, float) and value > 0 for name, value in config.items()
               if "drop" in name and name not in ("layerdrop", "layer_dropout", "classifier_dropout"))


def write_model(case: Case, folder: pathlib.Path) -> None:
    """The model's config.json, as ``save_pretrained`` writes it."""
    config = config_for(FAMILIES[case.family], case.shape, case.attention)
    config.architectures = [FAMILIES[case.family].model_class]
    text = config.to_json_string(use_diff=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{case.model_name}.json").write_text(text)


def measure(case: Case, device: str) -> tuple[str, Result]:
    """The mode in which the case ran, and its result."""
    torch.manual_seed(0)
    if case.real:
        return "real-cpu", run(case, "cpu")
    if device == "cuda":
        return "real-cuda", cuda_memory.run(case)
    attention.install(case.capability)
    fake_gpu.pretend_capability(case.capability)
    with fake_gpu.fake_tensors():
        return "fake-cuda", run(case, "cuda")


def select(options: argparse.Namespace) -> list[Case]:
    """The cases that the options ask for."""
    selected = cases.all_cases()
    if options.device == "cuda":
        selected = cases.for_real_gpu(selected, torch.cuda.get_device_capability())
    selected = [c for c in selected if re.search(options.only, c.run_id)]
    return random.Random(1).sample(selected, min(options.sample, len(selected))) if options.sample else selected


def first_of_each_forward(selected: list[Case]) -> set[str]:
    """The run_ids whose saved tensors are listed: the first of those that differ in batch, sequence and optimizer only."""
    first: dict[str, str] = {}
    for case in selected:
        first.setdefault(case.forward_id, case.run_id)
    return set(first.values())


def measure_all(selected: list[Case], listed: set[str], device: str, folder: pathlib.Path, end: float) -> int:
    """Writes both CSV files for ``selected`` into ``folder`` until the clock says ``end``, with the saved tensors of those
    that are ``listed``; returns how many cases failed."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    extra = cuda_memory.COLUMNS if device == "cuda" else ()
    with (folder / RUNS).open("w", newline="") as runs_file, (folder / SAVED).open("w", newline="") as saved_file:
        runs = csv.DictWriter(runs_file, (*DESCRIPTION, *MEASURES, *extra), lineterminator="\n")
        saved = csv.DictWriter(saved_file, SAVED_COLUMNS, lineterminator="\n")
        runs.writeheader()
        saved.writeheader()
        for number, case in enumerate(selected, 1):
            start = time.monotonic()
            if start > end:
                print(f"the time was up: {len(selected) - number + 1} cases are left", flush=True)
                break
            try:
                mode, result = measure(case, device)
            except Exception as error:  # one refused case must not lose the others
                failed += 1
                print(f"FAILED {case.run_id}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
                continue
            runs.writerow(describe(case, mode) | result.row)
            write_model(case, folder / MODELS)
            if case.run_id in listed:
                saved.writerows({"run_id": case.run_id} | asdict(row) for row in result.saved)
            runs_file.flush()
            saved_file.flush()
            print(f"{number}/{len(selected)} {case.run_id} {time.monotonic() - start:.1f} s", flush=True)
    return failed


def measure_in_parallel(options: argparse.Namespace, selected: list[Case]) -> int:
    """The same with ``options.jobs`` processes, each taking every n-th case; the rows come out in case order."""
    with tempfile.TemporaryDirectory() as scratch:
        parts = [pathlib.Path(scratch) / str(i) for i in range(options.jobs)]
        workers = [subprocess.Popen([sys.executable, "-m", "memory_reference", "--device", options.device, "--only",
                                     options.only, "--sample", str(options.sample), "--seconds", str(options.seconds), "--part", f"{i}/{options.jobs}",
                                     "--output", str(part)])
                   for i, part in enumerate(parts)]
        failed = sum(worker.wait() != 0 for worker in workers)
        options.output.mkdir(parents=True, exist_ok=True)
        for part in parts:
            shutil.copytree(part / MODELS, options.output / MODELS, dirs_exist_ok=True)
        order = {case.run_id: number for number, case in enumerate(selected)}
        for name in (RUNS, SAVED):
            rows: list[dict[str, str]] = []
            for part in parts:
                with (part / name).open(newline="") as file:
                    reader = csv.DictReader(file)
                    rows.extend(reader)
                    header = reader.fieldnames
            with (options.output / name).open("w", newline="") as file:
                writer = csv.DictWriter(file, header, lineterminator="\n")
                writer.writeheader()
                writer.writerows(sorted(rows, key=lambda row: order[row["run_id"]]))
        return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("fake", "cuda"), default="fake",
                        help="fake: no GPU needed; cuda: real tensors on the GPU of this machine")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder for the CSV files")
    parser.add_argument("--only", default="", help="regular expression on run_id")
    parser.add_argument("--sample", type=int, default=0, help="so many of the cases, drawn at random")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case later than that")
    parser.add_argument("--part", default="0/1", help="I/N: only every N-th case, from the I-th on")
    parser.add_argument("--list", action="store_true", help="print the run_ids and stop")
    options = parser.parse_args()

    selected = select(options)
    if options.list:
        print("\n".join(c.run_id for c in selected))
        return 0
    if options.jobs > 1:
        return min(measure_in_parallel(options, selected), 1)
    if options.device == "fake":
        fake_gpu.install()
    transformers.utils.logging.set_verbosity_error()
    warnings.filterwarnings("ignore", module="peft")
    torch.set_num_threads(1)
    if options.device == "fake":
        torch.autograd.set_multithreading_enabled(False)  # the tracker watches backward from this thread
    gc.collect()
    gc.freeze()  # each case collects garbage: not the libraries again
    start, step = map(int, options.part.split("/"))
    return min(measure_all(selected[start::step], first_of_each_forward(selected), options.device, options.output,
                           time.monotonic() + options.seconds), 1)


if __name__ == "__main__":
    sys.exit(main())
