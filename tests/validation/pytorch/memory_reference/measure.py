# SPDX-License-Identifier: MIT
"""One case: build the model, run two training iterations, and say what was live when."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers as hf
from torch import nn

from memory_reference import adapters, optimizers, preference, variants
from memory_reference.attention import kernels_seen
from memory_reference.families import FAMILIES, Shape, config_for
from memory_reference.saved import SavedRow, SavedTensorRecorder, by_layer
from memory_reference.tracker import StorageTracker, rounded, storages, total_bytes

PRECISIONS = {  # name: (parameter type, autocast type)
    "fp32": (torch.float32, None),
    "bf16": (torch.bfloat16, None),
    "autocast": (torch.float32, torch.bfloat16),
    "bf16_autocast": (torch.bfloat16, torch.bfloat16),
}


@dataclass(frozen=True)
class Case:
    """One configuration to measure. ``sequence`` in tokens, ``batch`` in sequences."""

    family: str
    shape: Shape
    method: str = "full"  # full | lora | rslora | dora | qlora | ia3 | prompt
    lora_rank: int = 0
    lora_targets: str = ""  # attention | linear
    lora_dropout: float = 0.0
    attention: str = "sdpa"  # sdpa | eager | none
    recompute: str = "none"  # none | full | selective | everyN
    precision: str = "bf16"  # a key of PRECISIONS
    optimizer: str = "adamw"
    batch: int = 1
    sequence: int = 512
    capability: tuple[int, int] = (8, 0)  # of the GPU whose attention kernels are traced
    experts: str = ""  # how routed experts run: grouped_mm | batched_mm | eager
    real: bool = False  # real tensors on the CPU: for what depends on data
    loss: str = ""  # chunked | trl: its head | trl_dpo, llamafactory_dpo: where ``batch`` counts pairs
    kernels: str = ""  # liger | float8
    accumulate: int = 1  # micro-batches a step
    average: bool = False  # of the weights, in fp32
    offload: bool = False  # what autograd saves goes to the host

    @property
    def forward_id(self) -> str:
        """The same for cases that save the same tensors but for their sizes: other batch, sequence or optimizer."""
        return replace(self, optimizer="", batch=0, sequence=0, accumulate=1, average=False).run_id

    @property
    def model_name(self) -> str:
        """Of the model's configuration: cases of one family and shape share it."""
        return f"{self.family}-h{self.shape.hidden}l{self.shape.layers}"

    @property
    def target_modules(self) -> tuple[str, ...]:
        """What peft puts LoRA beside."""
        family = FAMILIES[self.family]
        return {"linear": family.linear_targets, "attention": family.attention_targets}.get(self.lora_targets, ())

    @property
    def run_id(self) -> str:
        s = self.shape
        parts = [self.model_name, self.method if self.method == "full" else
                 f"{self.method}{self.lora_rank}{self.lora_targets[:3]}" + ("d" if self.lora_dropout else ""),
                 self.attention, self.precision, "rc" if self.recompute == "full" else "" if self.recompute == "none" else self.recompute,
                 self.loss, self.kernels, self.optimizer, "ema" if self.average else "", "offload" if self.offload else "",
                 f"x{self.accumulate}" if self.accumulate > 1 else "",
                 f"b{self.batch}s{self.sequence}", f"sm{self.capability[0]}{self.capability[1]}"
                 if self.capability != (8, 0) else "", self.experts if self.experts != "grouped_mm" else "", "cpu" if self.real else ""]
        return "-".join(p for p in parts if p)


@dataclass(frozen=True)
class Result:
    """The row of the case, and what it saved for backward."""

    row: dict[str, Any]
    saved: list[SavedRow]


def build_model(case: Case, device: str) -> nn.Module:
    """The model on ``device``, in the parameter type of the case, with its adapter, in training mode."""
    family = FAMILIES[case.family]
    config = config_for(family, case.shape, case.attention)
    if case.experts:
        config._experts_implementation = case.experts
    parameter_type = PRECISIONS[case.precision][0]
    previous = torch.get_default_dtype()
    torch.set_default_dtype(parameter_type)
    try:
        with torch.device(device):
            model = getattr(hf, family.model_class)(config)
    finally:
        torch.set_default_dtype(previous)
    if case.kernels == "liger":
        variants.use_liger(model)
    if case.kernels == "float8":
        variants.use_float8(model)
    if case.recompute != "none":
        variants.recompute(model, case.recompute)
    if case.offload:
        variants.offload(model)
    if case.method != "full":
        model = adapters.adapt(model, case.method, case.lora_rank, case.target_modules, case.lora_dropout)
    return model.train()


def reference_of(case: Case, device: str) -> nn.Module | None:
    """The policy as it was before training; none beside adapters, which are switched off for it."""
    return build_model(replace(case, recompute="none"), device).eval() if case.method == "full" else None


def cast_inputs(inputs: dict[str, torch.Tensor], case: Case) -> dict[str, torch.Tensor]:
    """Images and sounds in the parameter type; ids as they are."""
    parameter_type = PRECISIONS[case.precision][0]
    return {k: v.to(parameter_type) if v.is_floating_point() else v for k, v in inputs.items()}


@contextlib.contextmanager
def _autocast(case: Case, device_type: str) -> Iterator[None]:
    dtype = PRECISIONS[case.precision][1]
    with torch.autocast(device_type, dtype=dtype) if dtype else contextlib.nullcontext():
        yield


def forward(model: nn.Module, inputs: dict[str, torch.Tensor], case: Case, device_type: str) -> torch.Tensor:
    """The loss, a scalar; logits and the rest of the output are let go."""
    with _autocast(case, device_type):
        if case.loss == "trl":
            return model(**inputs, fused_lm_head=True).loss
        return variants.chunked_loss(model, inputs) if case.loss == "chunked" else model(**inputs).loss


def backward(optimizer: Any, loss: torch.Tensor) -> None:
    """Or what the optimizer has in its place."""
    getattr(optimizer, "backward", torch.Tensor.backward)(loss)


def _base(model: nn.Module) -> nn.Module:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def run(case: Case, device: str) -> Result:
    """Measures ``case`` on ``device`` (under fake tensors when the caller entered them)."""
    gc.collect()
    device_type = torch.device(device).type
    tracker = StorageTracker(device_type)
    kernels = (variants.liger_kernels(torch.cuda.is_available()) if case.kernels == "liger"
               else preference.kernels_that_do_nothing(torch.cuda.is_available()) if case.loss.startswith("trl")
               else contextlib.nullcontext())
    with tracker, kernels:
        model = build_model(case, device)
        step: Callable[[dict[str, torch.Tensor]], torch.Tensor] = lambda inputs: forward(model, inputs, case, device_type)
        if case.loss.endswith("_dpo"):
            trainer = preference.Dpo if case.loss == "trl_dpo" else preference.LlamaFactoryDpo
            step = trainer(model, reference_of(case, device), lambda: _autocast(case, device_type)).loss
        elif case.loss == "trl":
            preference.fuse_head(_base(model))
        gc.collect()
        optimizer = optimizers.make(case.optimizer, model)
        average = [torch.zeros_like(p, dtype=torch.float32) for p in model.parameters() if case.average]
        static = tracker.live
        static_rounded = tracker.live_rounded
        inputs = cast_inputs(
            FAMILIES[case.family].inputs(case.shape, case.batch * (2 if case.loss.endswith("_dpo") else 1), case.sequence, device), case)
        if case.loss.endswith("_dpo"):
            inputs = preference.pairs(inputs, case.loss)
        head = _base(model).get_output_embeddings()
        at_head = head.register_forward_pre_hook(lambda *_: tracker.phase(f"loss_{iteration}")) if head else None
        row: dict[str, Any] = {}
        for iteration in (1, 2):
            for micro_batch in range(case.accumulate):
                before, before_rounded = tracker.live, tracker.live_rounded
                tracker.phase(f"forward_{iteration}")
                loss = step(inputs)
                if iteration == 1 and micro_batch == 0:
                    row["saved_activation_bytes"] = tracker.live - before
                    row["saved_activation_rounded_bytes"] = tracker.live_rounded - before_rounded
                tracker.phase(f"backward_{iteration}")
                backward(optimizer, loss)
                del loss
            tracker.phase(f"step_{iteration}")
            if iteration == 1:
                row["gradient_bytes"] = total_bytes((p.grad for p in model.parameters()), device_type)
                row["after_backward_bytes"] = tracker.live
            optimizer.step()
            if average:
                with torch.no_grad():
                    for mean, parameter in zip(average, model.parameters()):
                        mean.lerp_(parameter.float(), 0.001)
            if iteration == 1:
                row["after_step_bytes"] = tracker.live
            optimizer.zero_grad(set_to_none=True)
            tracker.phase(f"idle_{iteration}")
        if at_head:
            at_head.remove()
        tracker.phase("recording")  # a third forward pass, with hooks that would disturb the first two
        state = [*optimizers.state_tensors(optimizer), *average]
        fixed = [*model.parameters(), *model.buffers()]
        recorder = SavedTensorRecorder(model, device_type, set(storages([*fixed, *inputs.values()])))
        kernels = kernels_seen(tracker.operators)
        with recorder.recording():
            loss = step(inputs)
        saved = recorder.result(loss, recomputed=case.recompute != "none")

        parameters = list(model.parameters())
        measured = [name for name in tracker.peak if name not in ("build", "recording")]
        peak_phase = max(measured, key=tracker.peak.__getitem__)
        row |= {
            "attention_kernel": kernels,
            "trainable_dtype": "+".join(sorted({str(p.dtype).removeprefix("torch.") for p in parameters
                                                if p.requires_grad})),
            "params_total": _count(parameters), "params_trainable": _count(p for p in parameters if p.requires_grad),
            "param_bytes": total_bytes(parameters, device_type),
            "trainable_param_bytes": total_bytes((p for p in parameters if p.requires_grad), device_type),
            "buffer_bytes": total_bytes(model.buffers(), device_type),
            "input_bytes": total_bytes(inputs.values(), device_type),
            "static_bytes": static, "static_rounded_bytes": static_rounded,
            "optimizer_bytes": total_bytes(state, device_type),
            "saved_by_hook_bytes": sum(t.bytes for t in saved),
            "peak_bytes": tracker.peak[peak_phase], "peak_phase": peak_phase,
            "peak_rounded_bytes": max(tracker.peak_rounded[name] for name in measured),
        }
        for iteration in (1, 2):
            for phase in ("forward", "loss", "backward", "step"):
                row[f"{phase}_peak_{iteration}_bytes"] = tracker.peak.get(f"{phase}_{iteration}", "")
        del loss, recorder
        result = Result(row, by_layer(saved))
        del model, optimizer, average, inputs, head, parameters, fixed, state, saved
    gc.collect()
    return result


def _count(parameters: Any) -> int:
    """Elements; of a packed 4-bit weight those that it stands for."""
    return sum({id(p): p.quant_state.shape.numel() if hasattr(p, "quant_state") else p.numel()
                for p in parameters}.values())
