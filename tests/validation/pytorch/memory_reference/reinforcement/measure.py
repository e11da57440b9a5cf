# SPDX-License-Identifier: MIT
"""One case: two steps of GRPO or RLOO, each with the passes that score completions and those that learn from them."""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from typing import Any

import torch
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

from memory_reference import measure, optimizers, preference
from memory_reference.attention import kernels_seen
from memory_reference.measure import PRECISIONS, Case
from memory_reference.reinforcement import trainer
from memory_reference.reinforcement.alive import AliveRow, AliveTracker
from memory_reference.tracker import total_bytes

PHASES = ("prefill", "decode", "old", "old_loss", "reference", "reference_loss", "score", "forward", "loss", "backward", "step")
"""Completions by transformers' generate(), the pass over prompts and the others; layers and head of the pass over the policy before its update, and of its reference; what is computed of rewards; layers
and head of a micro-batch, its loss and its gradient; the optimizer's step."""


@dataclass(frozen=True)
class Job:
    """``model``: ``batch`` counts completions a micro-batch, ``accumulate`` micro-batches a step; ``sequence`` is theirs."""

    model: Case
    trainer: str = "grpo"  # grpo | rloo
    prompt: int = 256
    completion: int = 256
    generations: int = 2
    beta: float = 0.0
    loss_type: str = "dapo"
    importance: str = "token"  # token | sequence
    generator: str = "transformers"  # transformers | vllm, whose log-probabilities are corrected
    padded: bool = False  # prompts are of unequal length
    generates: bool = False  # what transformers' generate() holds is measured as well

    @property
    def run_id(self) -> str:
        m = self.model
        adapted = m.method if m.method == "full" else f"{m.method}{m.lora_rank}{m.lora_targets[:3]}"
        parts = [m.model_name, adapted, m.attention, m.precision, "rc" if m.recompute == "full" else "", self.trainer,
                 f"beta{self.beta:g}", self.loss_type if self.trainer == "grpo" else "",
                 "" if self.importance == "token" else self.importance, "vllm" if self.generator == "vllm" else "",
                 "padded" if self.padded else "", "generate" if self.generates else "", m.optimizer, f"x{m.accumulate}" if m.accumulate > 1 else "",
                 f"g{self.generations}", f"b{m.batch}p{self.prompt}c{self.completion}"]
        return "-".join(part for part in parts if part)


@dataclass(frozen=True)
class Result:
    """The row of the job, and what was live when each phase was fullest."""

    row: dict[str, Any]
    alive: list[AliveRow]


def _settings(job: Job) -> dict[str, Any]:
    m = job.model
    made = {"per_device_train_batch_size": m.batch, "gradient_accumulation_steps": m.accumulate, "beta": job.beta,
            "num_generations": job.generations, "use_vllm": job.generator == "vllm", "prompt": job.prompt,
            "max_completion_length": job.completion, "gradient_checkpointing": m.recompute == "full",
            "gradient_checkpointing_kwargs": {"use_reentrant": False}}
    return made | ({"loss_type": job.loss_type, "importance_sampling_level": job.importance} if job.trainer == "grpo" else {})


def _watch(made: Any, tracker: AliveTracker, iteration: dict[str, int]) -> list[Any]:
    """Hooks that tell the passes, and of each pass the layers from the head. An adapted policy whose adapter is off is its
    own reference."""
    adapted = next((m for m in made.model.modules() if isinstance(m, BaseTunerLayer)), None)

    def enter(passes: str, ids: torch.Tensor) -> None:
        iteration["pass"] = passes
        if made.generating:
            iteration["pass"] = "decode" if ids.shape[1] == 1 else "prefill"
        elif adapted is not None and adapted.disable_adapters:
            iteration["pass"] = "reference"
        elif not passes:
            iteration["pass"] = "forward" if torch.is_grad_enabled() else "old"
        tracker.phase(f"{iteration['pass']}_{iteration['now']}")

    def leave(*_: Any) -> None:
        if not made.generating:
            head = "loss" if iteration["pass"] == "forward" else f"{iteration['pass']}_loss"
            tracker.phase(f"{head}_{iteration['now']}")

    hooks = []
    for model, passes in ((made.model, ""), (made.ref_model, "reference")):
        if model is not None:
            layers = measure._base(model).base_model
            hooks += [layers.register_forward_pre_hook(
                lambda _, given, options, passes=passes: enter(passes, options["input_ids"]), with_kwargs=True),
                layers.register_forward_hook(leave)]
    return hooks


def run(job: Job, device: str) -> Result:
    """Measures ``job`` on ``device`` (under fake tensors when the caller entered them)."""
    gc.collect()
    case = job.model
    device_type = torch.device(device).type
    # The head scores what was generated (trl/trainer/utils.py, add_fused_lm_head: hidden_states[mask]).
    tracker = AliveTracker(device_type, not job.padded, {case.batch * (case.sequence - 1): case.batch * job.completion})
    with tracker, preference.kernels_that_do_nothing(torch.cuda.is_available()):
        policy = measure.build_model(case, device)
        reference = None
        if job.beta and case.method == "full":
            reference = measure.build_model(replace(case, recompute="none"), device).eval()
        mixed = PRECISIONS[case.precision][1] is not None
        made = trainer.make(job.trainer, policy, reference, _settings(job),
                            (lambda: measure._autocast(case, device_type)) if mixed else None)
        made.generates = job.generates
        gc.collect()
        _name_models(tracker, case, policy, reference)
        optimizer = optimizers.make(case.optimizer, policy)
        row: dict[str, Any] = {"static_bytes": tracker.live}
        alive = _steps(made, optimizer, tracker, row)
        batch = [t for part in made._buffered_inputs for t in part.values()]
        row |= _sizes(policy, optimizer, batch, device_type) | {"attention_kernel": kernels_seen(tracker.operators)}
        del policy, reference, made, optimizer, batch
    gc.collect()
    return Result(row, alive)


def _name_models(tracker: AliveTracker, case: Case, policy: nn.Module, reference: nn.Module | None) -> None:
    tracker.name("adapter", (p for p in policy.parameters() if p.requires_grad and case.method != "full"))
    tracker.name("weights", policy.parameters())
    tracker.name("buffers", policy.buffers())
    if reference is not None:
        tracker.name("reference_weights", reference.parameters())
        tracker.name("buffers", reference.buffers())


def _steps(made: Any, optimizer: Any, tracker: AliveTracker, row: dict[str, Any]) -> list[AliveRow]:
    """Two steps, the second with states of the optimizer from its start; what was live in that one."""
    iteration: dict[str, Any] = {"now": 1}
    hooks = _watch(made, tracker, iteration)
    rewards = made._calculate_rewards
    made._calculate_rewards = lambda *given: (tracker.phase(f"score_{iteration['now']}"), rewards(*given))[1]
    outlived: dict[int, set[int]] = {}
    for iteration["now"] in (1, 2):
        _step(made, optimizer, tracker, iteration["now"], row, outlived)
    for hook in hooks:
        hook.remove()
    _peaks(tracker, row)
    shapes = {"x".join(map(str, p.shape)) for p in made.model.parameters()}
    return [a for phase in PHASES if f"{phase}_2" in tracker.at_peak
            for a in tracker.fullest(f"{phase}_2", outlived[2], shapes)]


def _step(made: Any, optimizer: Any, tracker: AliveTracker, number: int, row: dict[str, Any],
          outlived: dict[int, set[int]]) -> None:
    """Completions are scored, each micro-batch is learned from, and the optimizer steps."""
    for micro_batch in range(made.args.steps_per_generation):
        if micro_batch == 0:
            tracker.phase(f"score_{number}")
        inputs = made.take()
        tracker.name("batch", (t for part in made._buffered_inputs for t in part.values()))
        tracker.phase(f"forward_{number}")
        before = tracker.live
        loss = made.compute_loss(made.model, inputs)
        row.setdefault("saved_activation_bytes", tracker.live - before)
        outlived[number] = tracker.live_now()
        tracker.phase(f"backward_{number}")
        loss.backward()
        del loss, inputs
        tracker.name("gradients", (p.grad for p in made.model.parameters()))
    tracker.phase(f"step_{number}")
    row.setdefault("gradient_bytes", total_bytes((p.grad for p in made.model.parameters()), tracker.device_type))
    row.setdefault("after_backward_bytes", tracker.live)
    optimizer.step()
    tracker.name("optimizer_states", optimizers.state_tensors(optimizer))
    row.setdefault("after_step_bytes", tracker.live)
    optimizer.zero_grad(set_to_none=True)
    tracker.phase(f"idle_{number}")


def _sizes(policy: nn.Module, optimizer: Any, batch: list[Any], device_type: str) -> dict[str, Any]:
    parameters = list(policy.parameters())
    trained = [p for p in parameters if p.requires_grad]
    return {
        "trainable_dtype": "+".join(sorted({str(p.dtype).removeprefix("torch.") for p in trained})),
        "params_total": measure._count(parameters), "params_trainable": measure._count(trained),
        "param_bytes": total_bytes(parameters, device_type), "trainable_param_bytes": total_bytes(trained, device_type),
        "buffer_bytes": total_bytes(policy.buffers(), device_type), "input_bytes": total_bytes(batch, device_type),
        "optimizer_bytes": total_bytes(optimizers.state_tensors(optimizer), device_type)}


def _peaks(tracker: AliveTracker, row: dict[str, Any]) -> None:
    measured = [name for name in tracker.peak if name != "build"]
    fullest = max(measured, key=tracker.peak.__getitem__)
    row |= {"peak_bytes": tracker.peak[fullest], "peak_phase": fullest,
            "peak_rounded_bytes": max(tracker.peak_rounded[name] for name in measured)}
    for number in (1, 2):
        for phase in PHASES:
            row[f"{phase}_peak_{number}_bytes"] = tracker.peak.get(f"{phase}_{number}", "")
