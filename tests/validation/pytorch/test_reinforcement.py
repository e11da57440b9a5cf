# SPDX-License-Identifier: MIT
"""GRPO and RLOO, as tracked, against sizes counted by hand."""

from __future__ import annotations

import csv
import pathlib
from dataclasses import replace

import pytest
import torch

from job_documents import grpo_document
from memory_reference import attention, fake_gpu
from memory_reference.families import Shape
from memory_reference.measure import Case
from memory_reference.reinforcement import cases
from memory_reference.reinforcement.measure import Job, Result, run

SHAPE = Shape(hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, intermediate=128, vocab=40000)
TILE = 32768
OF_MODEL = ("batch", "method", "lora_rank", "lora_targets", "accumulate")
DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


@pytest.fixture(scope="module", autouse=True)
def _gpu() -> None:
    fake_gpu.install()
    attention.install((8, 0))
    torch.autograd.set_multithreading_enabled(False)


def measured(**values) -> Result:
    values.setdefault("batch", 2)
    case = Case("llama", SHAPE, precision=values.pop("precision", "bf16"), optimizer="sgd", sequence=24,
                recompute="full", **{k: values.pop(k) for k in OF_MODEL if k in values})
    with fake_gpu.fake_tensors():
        return run(Job(case, prompt=16, completion=8, **values), "cuda")


def sizes(result: Result, phase: str, operator: str) -> list[tuple[str, int]]:
    return [(a.shape, a.count) for a in result.alive if a.phase == phase and a.operator == operator]


def test_the_head_makes_one_tile_of_the_completions_alone():
    result = measured(beta=0.04)
    for phase in ("reference_loss", "loss"):
        assert sizes(result, phase, "empty.memory_format") == [(f"{2 * 8}x{TILE}", 1)]


def test_without_beta_there_is_no_reference_and_without_vllm_no_pass_before_the_update():
    phases = {a.phase for a in measured().alive}
    assert phases == {"score", "forward", "loss", "backward", "step"}
    assert "old_loss" in {a.phase for a in measured(generator="vllm").alive}
    assert "old_loss" in {a.phase for a in measured(trainer="rloo").alive}
    weights = {a.term: a.bytes for a in measured(beta=0.04).alive if a.phase == "reference"}
    assert weights["reference_weights"] == weights["weights"]


def test_of_adapters_the_reference_is_the_model_without_them():
    result = measured(beta=0.04, precision="bf16_autocast", method="lora", lora_rank=4, lora_targets="linear")
    assert not any(a.term == "reference_weights" for a in result.alive)
    assert {"reference", "reference_loss"} <= {a.phase for a in result.alive}


def test_the_keys_and_values_of_generation_are_those_of_all_completions_in_the_type_of_the_rotation():
    for precision, dtype in (("bf16", "bfloat16"), ("autocast", "float32")):  # autocast: keys are rotated in fp32
        result = measured(generates=True, precision=precision, batch=64)
        found = [(a.dtype, a.shape, a.count) for a in result.alive if a.phase == "decode" and a.operator == "cat" and "x2x" in a.shape]
        assert found == [(dtype, f"64x2x{16 + 8 - 1}x16", 2 * SHAPE.layers)]


def test_what_is_live_at_a_peak_adds_up_to_it():
    result = measured(beta=0.04, precision="autocast", accumulate=2)
    for phase in {a.phase for a in result.alive}:
        assert sum(a.bytes * a.count for a in result.alive if a.phase == phase) == result.row[f"{phase}_peak_2_bytes"]


def test_losses_differ_by_a_few_values_a_token():
    peaks = {loss: measured(loss_type=loss).row["peak_bytes"] for loss in ("dapo", "grpo", "cispo", "sapo", "luspo")}
    assert max(peaks.values()) - min(peaks.values()) <= 16 * 4 * 2 * 8


def test_every_job_has_its_own_name_and_the_tracked_rows_are_theirs():
    jobs = cases.all_jobs()
    assert len({job.run_id for job in jobs}) == len(jobs) >= 60
    with (DATA / "reinforcement_runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["run_id"] for row in rows] == [job.run_id for job in jobs]
    for row, job in zip(rows, jobs):
        made = grpo_document(row)
        assert made["micro_batch"] == job.model.batch and made["sequence"] == job.prompt + job.completion
        assert (made["reference"] == "none") == (job.beta == 0)
    assert replace(jobs[0], padded=True).run_id != jobs[0].run_id
