# SPDX-License-Identifier: MIT
"""The configurations measured. Every family meets every method, attention, precision and recomputation once;
sequence, batch, optimizer, GPU generation and expert implementation vary on top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memory_reference.families import FAMILIES, Family, Shape
from memory_reference.measure import Case
from memory_reference.optimizers import NAMES as OPTIMIZERS

EAGER_ON_CPU = {
    "mixtral": Shape(128, 2, 4, 2, 32, 256, 512, 4, 2, 256),
    "qwen3_moe": Shape(128, 2, 4, 2, 32, 256, 512, 8, 2, 64),
    "deepseek_v3": Shape(128, 2, 4, 4, 16, 256, 512, 8, 2, 64, 64, 1, 64, 32, 32, 16, 32),
}
"""Families whose eager expert loop depends on the data: too small to be real, but really computed."""


def _case(family: Family, **values) -> Case:
    shape = values.pop("shape", family.shapes[0])
    values.setdefault("attention", family.attentions[0])
    if shape.experts:
        values.setdefault("experts", "grouped_mm")
    if family.name in ("mamba2", "bamba"):  # their plain PyTorch scan is large and slow: shorter sequences
        values["sequence"] = min(values.get("sequence", 512), 512)
    if family.name == "whisper":
        values["sequence"] = min(values.get("sequence", 448), 448)
    if family.name == "vit":
        values["sequence"] = (shape.image // shape.patch) ** 2 + 1
    return Case(family.name, shape, **values)


def _methods(family: Family) -> Iterator[Case]:
    """Full fine-tuning in each precision, and adapters, with each attention, with and without recomputation."""
    for attention in family.attentions:
        for recompute in ("none", "full"):
            for precision in ("bf16", "autocast", "fp32"):
                yield _case(family, attention=attention, recompute=recompute, precision=precision)
    for recompute in ("none", "full"):
        yield _case(family, method="lora", lora_rank=16, lora_targets="linear", recompute=recompute)
    yield _case(family, method="lora", lora_rank=8, lora_targets="attention", precision="bf16_autocast")
    yield _case(family, method="lora", lora_rank=64, lora_targets="linear", precision="bf16_autocast", lora_dropout=0.05)
    yield _case(family, method="dora", lora_rank=16, lora_targets="linear", precision="bf16_autocast")


QUANTISED = ("llama", "mistral", "qwen2", "qwen3", "gemma3", "phi3", "gpt_neox", "opt")


def _quantised() -> Iterator[Case]:
    """LoRA over 4-bit weights, as bitsandbytes and peft prepare them."""
    for name in QUANTISED:
        for recompute in ("none", "full"):
            yield _case(FAMILIES[name], method="qlora", lora_rank=16, lora_targets="linear",
                        precision="bf16_autocast", recompute=recompute)


def _sizes(family: Family) -> Iterator[Case]:
    """Other shapes, sequences and batches."""
    for shape in family.shapes[1:]:
        yield _case(family, shape=shape)
        yield _case(family, shape=shape, precision="autocast", recompute="full", sequence=1024)
        yield _case(family, shape=shape, method="lora", lora_rank=8, lora_targets="attention", sequence=1024)
    for batch, sequence in ((1, 128), (2, 1024), (4, 2048), (8, 512)):
        yield _case(family, batch=batch, sequence=sequence)
    if family.name in ("llama", "mistral", "qwen3", "mixtral", "deepseek_v3", "gemma3", "gpt_neox"):
        yield _case(family, sequence=8192)
        yield _case(family, sequence=8192, recompute="full")
        yield _case(family, sequence=4096, attention="eager")
        yield _case(family, sequence=500, batch=3)  # nothing a multiple of 64


def _optimizers() -> Iterator[Case]:
    for name in ("llama", "qwen2", "gpt2", "mixtral", "t5"):
        for optimizer in OPTIMIZERS:
            for precision in ("bf16", "autocast") if name in ("llama", "gpt2") else ("bf16",):
                yield _case(FAMILIES[name], optimizer=optimizer, precision=precision, sequence=128)
    for optimizer in ("sgd", "adamw_8bit", "adamw_fused", "lion"):
        yield _case(FAMILIES["llama"], method="lora", lora_rank=16, lora_targets="linear", optimizer=optimizer)


def _gpus() -> Iterator[Case]:
    """On compute capability 9.0 and 10.0 PyTorch prefers cuDNN's attention."""
    for name in ("llama", "qwen3", "phi3", "gemma2", "gpt2", "deepseek_v3", "t5", "bert", "whisper", "vit"):
        yield _case(FAMILIES[name], capability=(9, 0))
    yield _case(FAMILIES["llama"], capability=(9, 0), sequence=4096, batch=2)
    yield _case(FAMILIES["llama"], capability=(10, 0), precision="autocast")


def _experts() -> Iterator[Case]:
    for name, shape in EAGER_ON_CPU.items():
        family = FAMILIES[name]
        yield _case(family, experts="batched_mm")
        for precision in ("bf16", "fp32"):
            for sequence in (64, 256):
                for experts in ("eager", "grouped_mm"):
                    yield _case(family, shape=shape, attention="eager", experts=experts, precision=precision,
                                sequence=sequence, optimizer="adamw_loop", real=True)


def all_cases() -> list[Case]:
    """Every case once, in a stable order."""
    found: dict[str, Case] = {}
    for family in FAMILIES.values():
        for case in (*_methods(family), *_sizes(family)):
            found.setdefault(case.run_id, case)
    for case in (*_optimizers(), *_gpus(), *_experts(), *_quantised()):
        found.setdefault(case.run_id, case)
    return list(found.values())


def for_real_gpu(cases: list[Case], capability: tuple[int, int]) -> list[Case]:
    """The same cases for the GPU at hand: its own capability, nothing that was meant for the CPU."""
    return list({c.run_id: c for c in (replace(c, capability=capability) for c in cases if not c.real)}.values())
