# SPDX-License-Identifier: MIT
"""Runs the jobs and writes the CSV file: ``python -m memory_reference.distillation --output FOLDER``."""

from __future__ import annotations

import sys
from typing import Any

import trl

from memory_reference.__main__ import DESCRIPTION, describe
from memory_reference.distillation import cases
from memory_reference.distillation.measure import PHASES, Job, run
from memory_reference.measure import PRECISIONS
from memory_reference.reinforcement.__main__ import measure_jobs

OF_JOB = ("trl", "trainer", "teacher", "teacher_dtype", "beta", "scored")
MEASURES = ("params_total", "params_trainable", "param_bytes", "trainable_param_bytes", "buffer_bytes", "input_bytes",
            "static_bytes", "teacher_bytes", "gradient_bytes", "optimizer_bytes", "saved_activation_bytes", "after_backward_bytes",
            "after_step_bytes", *(f"{phase}_peak_{number}_bytes" for number in (1, 2) for phase in PHASES), "peak_bytes",
            "peak_phase", "peak_rounded_bytes")


def row_of(job: Job, mode: str) -> dict[str, Any]:
    """What was asked for, as columns."""
    return describe(job.model, mode) | {
        "run_id": job.run_id, "trl": trl.__version__, "trainer": "gkd", "teacher": job.taught_by.model_name,
        "teacher_dtype": str(PRECISIONS[job.taught_by.precision][0]).removeprefix("torch."), "beta": job.beta,
        "scored": job.scored or ""}


def main() -> int:
    return measure_jobs(__doc__, cases.all_jobs(), ["distillation_runs.csv"], (*DESCRIPTION, *OF_JOB, *MEASURES), run, row_of,
                        lambda job: (job.model, job.taught_by))


if __name__ == "__main__":
    sys.exit(main())
