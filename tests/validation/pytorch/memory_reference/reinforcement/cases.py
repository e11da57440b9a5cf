# SPDX-License-Identifier: MIT
"""The jobs measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory_reference.cases import DEEP
from memory_reference.families import FAMILIES
from memory_reference.measure import Case
from memory_reference.reinforcement.measure import Job

NAMES = ("llama", "qwen2", "qwen3", "gemma2", "gemma3")
LORA = {"method": "lora", "lora_rank": 16, "lora_targets": "linear"}
OF_JOB = ("trainer", "prompt", "completion", "generations", "beta", "loss_type", "importance", "generator", "padded", "generates")


def _job(name: str, **values: Any) -> Job:
    of_job = {k: values.pop(k) for k in OF_JOB if k in values}
    family = FAMILIES[name]
    values.setdefault("attention", family.attentions[0])
    values.setdefault("shape", family.shapes[0])
    values.setdefault("batch", 2)
    made = Job(Case(name, **values), **of_job)
    return Job(Case(name, **values | {"sequence": made.prompt + made.completion}), **of_job)


def _families(name: str) -> Iterator[Job]:
    """As TRL sets itself: autocast over fp32 weights, layers recomputed, no reference; and what differs from it."""
    for recompute in ("full", "none"):
        for precision in ("autocast", "bf16"):
            yield _job(name, precision=precision, recompute=recompute)
            yield _job(name, precision=precision, recompute=recompute, beta=0.04)
        yield _job(name, recompute=recompute, precision="bf16_autocast", **LORA)
        yield _job(name, recompute=recompute, precision="bf16_autocast", beta=0.04, **LORA)


def _sizes() -> Iterator[Job]:
    """Generations, micro-batches and lengths: the head has more positions than a tile, or few."""
    for name in ("llama", "qwen2"):
        for generations, batch in ((2, 2), (4, 4), (8, 8)):
            for prompt, completion in ((512, 128), (128, 1024)):
                yield _job(name, recompute="full", precision="autocast", generations=generations, batch=batch,
                           prompt=prompt, completion=completion, beta=0.04)
        yield _job(name, recompute="full", precision="bf16", generations=8, batch=2, accumulate=4, beta=0.04)
        yield _job(name, recompute="full", precision="autocast", generations=4, batch=1, accumulate=4)
        yield _job(name, recompute="full", precision="bf16_autocast", generations=8, batch=8, prompt=256, completion=1024,
                   beta=0.04, **LORA)
        yield _job(name, recompute="full", precision="fp32", generations=2, batch=2)
        yield _job(name, recompute="full", precision="bf16_autocast", generations=4, batch=4, optimizer="adamw_fused")


def _losses() -> Iterator[Job]:
    """Losses of TRL, sequences as units, and RLOO."""
    for loss_type in ("grpo", "bnpo", "dr_grpo", "cispo", "sapo", "luspo"):
        yield _job("qwen2", recompute="full", precision="autocast", loss_type=loss_type, beta=0.04, optimizer="sgd")
    yield _job("qwen2", recompute="full", precision="autocast", loss_type="grpo", importance="sequence", optimizer="sgd")
    for name in ("llama", "qwen3"):
        for beta in (0.0, 0.05):
            yield _job(name, recompute="full", precision="autocast", trainer="rloo", beta=beta)
        yield _job(name, recompute="full", precision="bf16_autocast", trainer="rloo", beta=0.05, **LORA)


def _generators() -> Iterator[Job]:
    """vLLM's completions are scored by the policy before it learns from them."""
    for name in ("llama", "qwen2", "qwen3"):
        for values in ({"precision": "autocast"}, {"precision": "bf16"}, {"precision": "bf16_autocast"} | LORA):
            for beta in (0.0, 0.04):
                yield _job(name, recompute="full", generator="vllm", beta=beta, batch=4, generations=4, **values)


def _padded() -> Iterator[Job]:
    """Prompts of unequal length: a mask stands beside attention."""
    for name in ("llama", "qwen2", "qwen3", "gemma3"):
        for recompute in ("full", "none"):
            yield _job(name, precision="autocast", recompute=recompute, padded=True, beta=0.04, prompt=512, completion=512)
        yield _job(name, precision="bf16", recompute="full", padded=True, batch=4, generations=4, prompt=512, completion=512)


def _generated() -> Iterator[Job]:
    """Completions of transformers' own generate()."""
    for name in ("llama", "qwen2", "qwen3", "gemma3"):
        for values in ({"precision": "autocast"}, {"precision": "bf16"}, {"precision": "bf16_autocast"} | LORA):
            yield _job(name, recompute="full", generates=True, batch=8, generations=8, prompt=192, completion=32, **values)
        yield _job(name, recompute="full", generates=True, padded=True, batch=8, generations=8, prompt=192, completion=32,
                   precision="autocast")
        yield _job(name, recompute="full", generates=True, batch=2, generations=8, accumulate=16, prompt=128, completion=64,
                   precision="bf16", optimizer="sgd")


def _deep() -> Iterator[Job]:
    for name in ("llama", "qwen2", "qwen3", "gemma3"):
        for values in ({"precision": "autocast", "beta": 0.04}, {"precision": "bf16", "generator": "vllm"},
                       {"precision": "bf16_autocast", "beta": 0.04} | LORA):
            yield _job(name, shape=DEEP[name], recompute="full", optimizer="sgd", prompt=128, completion=256, **values)


def all_jobs() -> list[Job]:
    """Every job once, in a stable order."""
    found: dict[str, Job] = {}
    for name in NAMES:
        for job in _families(name):
            found.setdefault(job.run_id, job)
    for job in (*_sizes(), *_losses(), *_generators(), *_padded(), *_generated(), *_deep()):
        found.setdefault(job.run_id, job)
    return list(found.values())
