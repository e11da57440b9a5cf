# SPDX-License-Identifier: MIT
"""Distillation, as tracked, against sizes counted by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from memory_reference import attention, fake_gpu
from memory_reference.distillation.measure import Job, run
from memory_reference.families import Shape
from memory_reference.measure import Case
from memory_reference.reinforcement.measure import Result

SHAPE = Shape(hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=128, vocab=40000)
BATCH, SEQUENCE = 2, 24


@pytest.fixture(scope="module", autouse=True)
def _gpu() -> None:
    fake_gpu.install()
    attention.install((8, 0))
    torch.autograd.set_multithreading_enabled(False)


def measured(precision: str = "autocast", **values) -> Result:
    case = Case("llama", SHAPE, precision=precision, optimizer="sgd", batch=BATCH, sequence=SEQUENCE, recompute="full")
    with fake_gpu.fake_tensors():
        return run(Job(case, replace(SHAPE, hidden=128, head_dim=32, intermediate=512), **values), "cuda")


def logits(result: Result, phase: str) -> Counter:
    """Tensors of the size of all logits, without the last position of a sequence or with it, by format."""
    found: Counter = Counter()
    for a in result.alive:
        if a.phase == phase and a.shape.endswith(f"x{SHAPE.vocab}"):
            one = BATCH * SEQUENCE * SHAPE.vocab * {"float32": 4, "bfloat16": 2}[a.dtype]
            found[a.dtype] += round(a.bytes / one) * a.count
    return found


@pytest.mark.parametrize(("beta", "forward", "backward"), [(0.5, 17, 12), (0.0, 9, 4), (1.0, 10, 6)])
def test_the_divergence_has_so_many_tensors_of_the_size_of_the_logits(beta: float, forward: int, backward: int):
    result = measured(beta=beta)
    assert logits(result, "loss") == {"float32": forward}
    assert logits(result, "backward") == {"float32": backward}


def test_without_autocast_they_have_the_format_of_the_models():
    assert logits(measured("bf16"), "loss") == {"bfloat16": 17}


def test_the_teacher_computes_beside_the_students_logits_and_saves_nothing():
    result = measured()
    assert logits(result, "teacher") == {"float32": 1}
    assert not [a for a in result.alive if a.phase == "backward" and a.born.startswith("teacher")]


def test_autocast_casts_the_weights_of_a_teacher_in_fp32_until_its_logits_are_made():
    casts = lambda result, phase: sum(a.bytes * a.count for a in result.alive if a.phase == phase and a.term == "casts"
                                      and a.born.startswith("teacher"))
    assert casts(measured(), "teacher") == 0
    assert casts(measured(teacher_precision="fp32"), "teacher") > 0
    assert casts(measured(teacher_precision="fp32"), "loss") == 0
