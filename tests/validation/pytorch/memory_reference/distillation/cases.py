# SPDX-License-Identifier: MIT
"""The jobs measured: each family taught by a model of its own size, and by a wider one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory_reference.distillation.measure import Job
from memory_reference.families import Shape
from memory_reference.measure import Case

STUDENTS = {
    "llama": Shape(1024, 6, 16, 8, 64, 3072, 32000), "qwen2": Shape(896, 4, 14, 2, 64, 4864, 151936),
    "qwen3": Shape(1024, 6, 16, 8, 128, 3072, 151936), "gemma2": Shape(2304, 2, 8, 4, 256, 9216, 256000, window=4096),
    "gemma3": Shape(1152, 6, 4, 1, 256, 6912, 65536, window=512),
}
TEACHERS = {
    "llama": Shape(4096, 6, 32, 8, 128, 14336, 32000), "qwen2": Shape(3584, 4, 28, 4, 128, 18944, 151936),
    "qwen3": Shape(2560, 4, 32, 8, 128, 9728, 151936), "gemma2": Shape(3584, 2, 16, 8, 256, 14336, 256000, window=4096),
    "gemma3": Shape(2560, 6, 8, 4, 256, 10240, 65536, window=512),
}
LORA = {"method": "lora", "lora_rank": 16, "lora_targets": "linear", "precision": "bf16_autocast"}
OF_JOB = ("teacher_precision", "beta", "scored")


def _job(name: str, teacher: Shape | None = None, **values: Any) -> Job:
    of_job = {k: values.pop(k) for k in OF_JOB if k in values}
    values = {"batch": 2, "sequence": 512, "recompute": "full", "precision": "autocast",
              "attention": "eager" if name == "gemma2" else "sdpa"} | values
    return Job(Case(name, STUDENTS[name], **values), teacher or TEACHERS[name], **of_job)


def _families(name: str) -> Iterator[Job]:
    """As TRL loads them: autocast over a student in fp32, the teacher as it is published; and what differs from it."""
    for recompute in ("full", "none"):
        yield _job(name, recompute=recompute)
        yield _job(name, STUDENTS[name], recompute=recompute)
        yield _job(name, recompute=recompute, precision="bf16")
        yield _job(name, recompute=recompute, **LORA)


def _others() -> Iterator[Job]:
    for name in ("llama", "qwen2"):
        yield _job(name, teacher_precision="fp32")
        yield _job(name, beta=0.0)
        yield _job(name, beta=1.0)
        yield _job(name, beta=0.0, precision="bf16")
        yield _job(name, batch=1, sequence=2048)
        yield _job(name, accumulate=2)
        yield _job(name, accumulate=2, precision="bf16", optimizer="sgd")
        yield _job(name, batch=4, optimizer="adamw_fused", precision="bf16_autocast")
        yield _job(name, scored=256)


def all_jobs() -> list[Job]:
    """Every job once, in a stable order."""
    found: dict[str, Job] = {}
    for name in STUDENTS:
        for job in _families(name):
            found.setdefault(job.run_id, job)
    for job in _others():
        found.setdefault(job.run_id, job)
    return list(found.values())
