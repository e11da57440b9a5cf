# SPDX-License-Identifier: MIT
"""One case: two steps of a student, each with a pass over its teacher."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from memory_reference import measure, optimizers
from memory_reference.attention import kernels_seen
from memory_reference.distillation import trainer
from memory_reference.families import FAMILIES, Shape
from memory_reference.measure import PRECISIONS, Case
from memory_reference.reinforcement.alive import AliveRow, AliveTracker
from memory_reference.reinforcement.measure import Result, _sizes as sizes
from memory_reference.tracker import total_bytes

PHASES = ("forward", "head", "teacher", "teacher_head", "loss", "backward", "step")
"""The student's layers and its head, the teacher's, the divergence of their logits, its gradient, the optimizer's step."""


@dataclass(frozen=True)
class Job:
    """``model``: the student. ``teacher``: of the same family; ``teacher_precision``: a key of PRECISIONS, as it is loaded."""

    model: Case
    teacher: Shape
    teacher_precision: str = "bf16"
    beta: float = 0.5
    scored: int = 0  # tokens of each sequence that are learned from; 0: all

    @property
    def taught_by(self) -> Case:
        """The teacher, which autocast computes as it does the student."""
        autocast = PRECISIONS[self.model.precision][1] is not None
        precision = {("bf16", True): "bf16_autocast", ("fp32", True): "autocast"}.get(
            (self.teacher_precision, autocast), self.teacher_precision)
        return replace(self.model, shape=self.teacher, method="full", lora_rank=0, lora_targets="", recompute="none",
                       precision=precision)

    @property
    def run_id(self) -> str:
        m = self.model
        adapted = m.method if m.method == "full" else f"{m.method}{m.lora_rank}{m.lora_targets[:3]}"
        parts = [m.model_name, "by", self.taught_by.model_name, self.teacher_precision, adapted, m.attention, m.precision,
                 "rc" if m.recompute == "full" else "", "gkd", f"beta{self.beta:g}", m.optimizer,
                 f"x{m.accumulate}" if m.accumulate > 1 else "", f"b{m.batch}s{m.sequence}", f"scored{self.scored}" if self.scored else ""]
        return "-".join(part for part in parts if part)


def _watch(made: Any, tracker: AliveTracker, now: dict[str, int]) -> list[Any]:
    """Hooks that tell the layers of both models from their heads."""
    hooks = []
    for model, layers_of, head_of in ((made.model, "forward", "head"), (made.teacher_model, "teacher", "teacher_head")):
        layers = measure._base(model).base_model
        hooks += [layers.register_forward_pre_hook(lambda *_, phase=layers_of: tracker.phase(f"{phase}_{now['step']}")),
                  layers.register_forward_hook(lambda *_, phase=head_of: tracker.phase(f"{phase}_{now['step']}"))]
    return hooks


def _inputs(job: Job, device: str) -> dict[str, torch.Tensor]:
    """As TRL's DataCollatorForChatML hands them on. Of ``scored`` tokens the tracker answers how many labels are not -100."""
    case = job.model
    ids = FAMILIES[case.family].inputs(case.shape, case.batch, case.sequence, device)["input_ids"]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


def run(job: Job, device: str) -> Result:
    """Measures ``job`` on ``device`` (under fake tensors when the caller entered them)."""
    gc.collect()
    case = job.model
    device_type = torch.device(device).type
    scored = {case.batch * (case.sequence - 1): case.batch * job.scored} if job.scored else {}
    tracker = AliveTracker(device_type, True, scored)
    now = {"step": 1}
    with tracker:
        student = measure.build_model(case, device)
        teacher = measure.build_model(job.taught_by, device).eval()
        mixed = PRECISIONS[case.precision][1] is not None
        made = trainer.make(student, teacher, job.beta, (lambda: measure._autocast(case, device_type)) if mixed else None,
                            lambda: tracker.phase(f"loss_{now['step']}"))
        made.accumulate = case.accumulate
        gc.collect()
        _name_models(tracker, case, student, teacher)
        optimizer = optimizers.make(case.optimizer, student)
        row: dict[str, Any] = {"static_bytes": tracker.live,
                               "teacher_bytes": total_bytes(teacher.parameters(), device_type)}
        inputs = _inputs(job, device)
        tracker.name("batch", inputs.values())
        hooks = _watch(made, tracker, now)
        outlived: dict[int, set[int]] = {}
        for now["step"] in (1, 2):
            _step(made, inputs, optimizer, tracker, now["step"], row, outlived)
        for hook in hooks:
            hook.remove()
        _peaks(tracker, row)
        shapes = {"x".join(map(str, p.shape)) for m in (student, teacher) for p in m.parameters()}
        alive: list[AliveRow] = [a for phase in PHASES for a in tracker.fullest(f"{phase}_2", outlived[2], shapes)]
        row |= sizes(student, optimizer, list(inputs.values()), device_type)
        row |= {"attention_kernel": kernels_seen(tracker.operators)}
        del student, teacher, made, optimizer, inputs
    gc.collect()
    return Result(row, alive)


def _name_models(tracker: AliveTracker, case: Case, student: nn.Module, teacher: nn.Module) -> None:
    tracker.name("adapter", (p for p in student.parameters() if p.requires_grad and case.method != "full"))
    tracker.name("weights", student.parameters())
    tracker.name("reference_weights", teacher.parameters())
    tracker.name("buffers", (*student.buffers(), *teacher.buffers()))


def _step(made: Any, inputs: dict[str, torch.Tensor], optimizer: Any, tracker: AliveTracker, number: int,
          row: dict[str, Any], outlived: dict[int, set[int]]) -> None:
    """Each micro-batch is learned from, and the optimizer steps."""
    for _ in range(made.accumulate):
        tracker.phase(f"forward_{number}")
        before = tracker.live
        loss = trainer.compute_loss(made, inputs)
        row.setdefault("saved_activation_bytes", tracker.live - before)
        outlived[number] = tracker.live_now()
        tracker.phase(f"backward_{number}")
        loss.backward()
        del loss
        tracker.name("gradients", (p.grad for p in made.model.parameters()))
    tracker.phase(f"step_{number}")
    row.setdefault("gradient_bytes", total_bytes((p.grad for p in made.model.parameters()), tracker.device_type))
    row.setdefault("after_backward_bytes", tracker.live)
    optimizer.step()
    tracker.name("optimizer_states", optimizers.state_tensors(optimizer))
    row.setdefault("after_step_bytes", tracker.live)
    optimizer.zero_grad(set_to_none=True)
    tracker.phase(f"idle_{number}")


def _peaks(tracker: AliveTracker, row: dict[str, Any]) -> None:
    measured = [name for name in tracker.peak if name != "build"]
    fullest = max(measured, key=tracker.peak.__getitem__)
    row |= {"peak_bytes": tracker.peak[fullest], "peak_phase": fullest,
            "peak_rounded_bytes": max(tracker.peak_rounded[name] for name in measured)}
    for number in (1, 2):
        for phase in PHASES:
            row[f"{phase}_peak_{number}_bytes"] = tracker.peak.get(f"{phase}_{number}", "")
