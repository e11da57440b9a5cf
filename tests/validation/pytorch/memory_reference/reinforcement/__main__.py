# SPDX-License-Identifier: MIT
"""Runs the jobs and writes the CSV files: ``python -m memory_reference.reinforcement --output FOLDER``."""

from __future__ import annotations

import argparse
import contextlib
import csv
import gc
import pathlib
import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
import transformers
import trl

from memory_reference import attention, fake_gpu
from memory_reference.__main__ import DESCRIPTION, MODELS, describe, write_model
from memory_reference.measure import Case
from memory_reference.reinforcement import cases
from memory_reference.reinforcement.measure import PHASES, Job, run

RUNS, ALIVE = "reinforcement_runs.csv", "reinforcement_alive.csv"
OF_JOB = ("trl", "trainer", "prompt", "completion", "generations", "beta", "loss_type", "importance", "generator", "padded", "generates")
MEASURES = ("params_total", "params_trainable", "param_bytes", "trainable_param_bytes", "buffer_bytes", "input_bytes",
            "static_bytes", "gradient_bytes", "optimizer_bytes", "saved_activation_bytes", "after_backward_bytes",
            "after_step_bytes", *(f"{phase}_peak_{number}_bytes" for number in (1, 2) for phase in PHASES), "peak_bytes",
            "peak_phase", "peak_rounded_bytes")
ALIVE_COLUMNS = ("run_id", "phase", "term", "operator", "dtype", "shape", "born", "bytes", "count")


def row_of(job: Job, mode: str) -> dict[str, Any]:
    """What was asked for, as columns."""
    return describe(job.model, mode) | {
        "run_id": job.run_id, "trl": trl.__version__, "trainer": job.trainer, "prompt": job.prompt,
        "completion": job.completion, "generations": job.generations, "beta": job.beta, "importance": job.importance,
        "loss_type": job.loss_type if job.trainer == "grpo" else "", "generator": job.generator, "padded": job.padded or "",
        "generates": job.generates or ""}


def measure_jobs(help_text: str, jobs: list[Any], files: list[str], columns: tuple[str, ...], run: Callable[[Any, str], Any],
                 row_of: Callable[[Any, str], dict[str, Any]], models_of: Callable[[Any], tuple[Case, ...]]) -> int:
    """The jobs that the command line selects, a row each in the first of ``files``, and in a second one what was alive."""
    parser = argparse.ArgumentParser(description=help_text)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder for the CSV files")
    parser.add_argument("--only", default="", help="regular expression on run_id")
    parser.add_argument("--list", action="store_true", help="print the run_ids and stop")
    options = parser.parse_args()
    selected = [job for job in jobs if re.search(options.only, job.run_id)]
    if options.list:
        print("\n".join(job.run_id for job in selected))
        return 0
    fake_gpu.install()
    transformers.utils.logging.set_verbosity_error()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.autograd.set_multithreading_enabled(False)  # the tracker watches backward from this thread
    gc.collect()
    gc.freeze()  # each case collects garbage: not the libraries again
    options.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    with contextlib.ExitStack() as opened:
        written = [opened.enter_context((options.output / name).open("w", newline="")) for name in files]
        tables = [csv.DictWriter(file, fields, lineterminator="\n") for file, fields in zip(written, (columns, ALIVE_COLUMNS))]
        for table in tables:
            table.writeheader()
        for number, job in enumerate(selected, 1):
            start = time.monotonic()
            torch.manual_seed(0)
            attention.install(job.model.capability)
            fake_gpu.pretend_capability(job.model.capability)
            try:
                with fake_gpu.fake_tensors():
                    result = run(job, "cuda")
            except Exception as error:  # one refused case must not lose the others
                failed += 1
                print(f"FAILED {job.run_id}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
                if len(selected) == 1:
                    raise
                continue
            tables[0].writerow(row_of(job, "fake-cuda") | result.row)
            for model in models_of(job):
                write_model(model, options.output / MODELS)
            for table in tables[1:]:
                table.writerows({"run_id": job.run_id} | asdict(row) for row in result.alive)
            for file in written:
                file.flush()
            print(f"{number}/{len(selected)} {job.run_id} {time.monotonic() - start:.1f} s", flush=True)
    return min(failed, 1)


def main() -> int:
    return measure_jobs(__doc__, cases.all_jobs(), [RUNS, ALIVE], (*DESCRIPTION, *OF_JOB, *MEASURES), run, row_of,
                        lambda job: (job.model,))


if __name__ == "__main__":
    sys.exit(main())
