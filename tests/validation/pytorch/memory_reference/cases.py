# SPDX-License-Identifier: MIT
"""The configurations measured. Every family meets every method, attention, precision and recomputation once;
sequence, batch, optimizer, GPU generation and expert implementation vary on top."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from memory_reference.families import FAMILIES, Family, Shape
from memory_reference.measure import Case
from memory_reference.optimizers import LATER, NAMES as OPTIMIZERS

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


WIDER = tuple(name for number, name in enumerate(FAMILIES) if number >= list(FAMILIES).index("gemma"))
"""Families with fewer cases than the first ones."""


def _wider(family: Family) -> Iterator[Case]:
    """Each precision, attention and recomputation, adapters, and a large batch."""
    for attention in family.attentions:
        for recompute in ("none", "full"):
            for precision in ("bf16", "autocast"):
                yield _case(family, attention=attention, recompute=recompute, precision=precision)
    for shape in family.shapes[1:]:
        for precision in ("bf16", "autocast"):
            yield _case(family, shape=shape, precision=precision)
    yield _case(family, method="lora", lora_rank=16, lora_targets="linear")
    yield _case(family, method="lora", lora_rank=8, lora_targets="attention", precision="bf16_autocast", recompute="full")
    yield _case(family, batch=4, sequence=1024)
    yield _case(family, batch=2, sequence=1024, precision="fp32", optimizer="sgd", recompute="full")


DEEP = {
    "llama": Shape(1024, 28, 16, 8, 64, 3072, 32000), "mistral": Shape(1024, 32, 16, 4, 64, 3584, 32768),
    "qwen2": Shape(896, 24, 14, 2, 64, 4864, 32000), "qwen3": Shape(1024, 28, 16, 8, 64, 3072, 32000),
    "gemma2": Shape(1152, 26, 8, 4, 128, 4608, 32000, window=4096), "gemma3": Shape(1152, 26, 4, 1, 256, 6912, 32000, window=512),
    "phi3": Shape(1024, 32, 16, 16, 64, 2816, 32064), "gpt2": Shape(1024, 24, 16, 16, 64, 4096, 50257),
    "gpt_neox": Shape(1024, 24, 16, 16, 64, 4096, 50304), "opt": Shape(1024, 24, 16, 16, 64, 4096, 50272),
    "mixtral": Shape(1024, 24, 8, 4, 128, 1792, 32000, 8, 2, 1792),
    "qwen3_moe": Shape(1024, 24, 16, 4, 64, 3072, 32000, 16, 4, 384),
    "deepseek_v3": Shape(1024, 24, 8, 8, 32, 3072, 32000, 16, 4, 512, 512, 1, 384, 256, 64, 32, 64),
    "t5": Shape(1024, 24, 16, 16, 64, 2816, 32128, decoder_layers=24), "bert": Shape(1024, 24, 16, 16, 64, 4096, 30522),
    "vit": Shape(1024, 24, 16, 16, 64, 4096, 0, image=224, patch=16),
    "whisper": Shape(1024, 24, 16, 16, 64, 4096, 51865, decoder_layers=24),
    "mamba2": Shape(1024, 24, 0, 0, 0, 0, 32768, state=128, conv_kernel=4, ssm_heads=32, ssm_head_dim=64, ssm_groups=1,
                    chunk=256),
    "bamba": Shape(1024, 24, 8, 4, 128, 2816, 32768, state=128, conv_kernel=4, ssm_heads=32, ssm_head_dim=64,
                   ssm_groups=1, chunk=256),
    "gemma": Shape(1024, 24, 8, 1, 128, 4096, 65536), "granite": Shape(1024, 28, 16, 4, 64, 4096, 49152),
    "olmo": Shape(1024, 24, 16, 16, 64, 4096, 50304), "olmo2": Shape(1024, 24, 16, 16, 64, 4096, 50304),
    "glm": Shape(1024, 28, 16, 2, 64, 3424, 65024), "glm4": Shape(1024, 28, 16, 2, 64, 3424, 65024),
    "smollm3": Shape(1024, 28, 16, 4, 64, 4096, 49152), "starcoder2": Shape(1024, 24, 16, 2, 64, 4096, 49152),
    "stablelm": Shape(1024, 24, 16, 16, 64, 2816, 50304), "arcee": Shape(1024, 24, 16, 4, 64, 4096, 64000),
    "nemotron": Shape(1024, 24, 16, 4, 64, 4096, 64000),
    "cohere": Shape(1024, 24, 16, 4, 64, 3072, 64000), "phi": Shape(1024, 24, 16, 16, 64, 4096, 51200),
    "falcon": Shape(1024, 24, 16, 1, 64, 4096, 65024), "gptj": Shape(1024, 24, 8, 8, 128, 4096, 50400),
    "gpt_bigcode": Shape(1024, 24, 16, 1, 64, 4096, 49152),
    "gpt_neo": Shape(1024, 24, 16, 16, 64, 4096, 50257, window=256), "bloom": Shape(1024, 24, 16, 16, 64, 4096, 65536),
    "roberta": Shape(1024, 24, 16, 16, 64, 4096, 50265),
    "qwen2_moe": Shape(1024, 24, 16, 16, 64, 2816, 32000, 16, 4, 704, 2816),
    "olmoe": Shape(1024, 24, 16, 16, 64, 512, 50304, 16, 4, 512),
    "gpt_oss": Shape(1024, 24, 16, 4, 64, 1024, 65536, 8, 2, 1024, window=128),
    "qwen3_next": Shape(1024, 24, 8, 2, 128, 2560, 32000, 16, 4, 256, 256, state=64, conv_kernel=4, ssm_heads=16,
                        ssm_head_dim=64, ssm_groups=8),
}
"""As many layers as real models have, and narrow."""


def _deep() -> Iterator[Case]:
    for name, shape in DEEP.items():
        for values in ({"precision": "autocast", "recompute": "full", "optimizer": "adamw_fused", "accumulate": 2},
                       {"precision": "autocast", "recompute": "full", "optimizer": "sgd"},
                       {"precision": "autocast", "optimizer": "lion"}, {"recompute": "full"}):
            yield _case(FAMILIES[name], shape=shape, sequence=256, **values)


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


def _later_optimizers() -> Iterator[Case]:
    """Those of packages of their own."""
    for optimizer in LATER:
        for name in ("llama", "qwen2", "gpt2", "mixtral", "t5"):
            if optimizer == "adam_mini" and name not in ("llama", "qwen2"):
                continue  # it goes by the names of Llama's modules
            for precision in ("bf16", "autocast") if name == "llama" else ("bf16",):
                yield _case(FAMILIES[name], optimizer=optimizer, precision=precision, sequence=128)
        yield _case(FAMILIES["llama"], shape=FAMILIES["llama"].shapes[1], optimizer=optimizer, sequence=128)


def _adapters() -> Iterator[Case]:
    for name in ("llama", "mistral", "qwen2", "opt"):
        for precision in ("bf16", "bf16_autocast"):
            yield _case(FAMILIES[name], method="ia3", precision=precision)
        yield _case(FAMILIES[name], method="ia3", recompute="full")
        yield _case(FAMILIES[name], method="prompt", lora_rank=20)
        yield _case(FAMILIES[name], method="prompt", lora_rank=20, precision="autocast")
    yield _case(FAMILIES["llama"], method="rslora", lora_rank=64, lora_targets="linear", precision="bf16_autocast")
    yield _case(FAMILIES["qwen2"], method="rslora", lora_rank=16, lora_targets="attention")


def _recomputation() -> Iterator[Case]:
    """Of some layers, and of some operations."""
    for name in ("llama", "qwen2", "gpt_neox", "gemma3", "mixtral"):
        yield _case(FAMILIES[name], recompute="every2", sequence=1024)
        yield _case(FAMILIES[name], recompute="every2", precision="autocast", sequence=1024)
        yield _case(FAMILIES[name], recompute="selective", sequence=1024)
    yield _case(FAMILIES["llama"], shape=FAMILIES["llama"].shapes[2], recompute="every3", sequence=2048)
    yield _case(FAMILIES["llama"], recompute="selective", precision="autocast", sequence=2048)


def _kernels() -> Iterator[Case]:
    for name in ("llama", "mistral", "qwen2"):
        for recompute in ("none", "full"):
            yield _case(FAMILIES[name], kernels="liger", recompute=recompute, sequence=2048)
        yield _case(FAMILIES[name], kernels="liger", method="lora", lora_rank=16, lora_targets="linear", sequence=2048)
        yield _case(FAMILIES[name], loss="chunked", sequence=2048)
        yield _case(FAMILIES[name], loss="chunked", precision="autocast", sequence=2048)
        yield _case(FAMILIES[name], loss="chunked", sequence=1000, batch=3)
        yield _case(FAMILIES[name], kernels="float8", sequence=2048)
        yield _case(FAMILIES[name], kernels="float8", precision="autocast", recompute="full", sequence=2048)


def _by_trl() -> Iterator[Case]:
    """TRL's head that scores tokens in tiles, in supervised fine-tuning and in preference tuning."""
    fused, dpo = {"loss": "trl"}, {"loss": "trl_dpo"}
    for name in ("llama", "mistral", "qwen2", "qwen3", "gemma2", "phi3"):
        for recompute in ("none", "full"):
            for precision in ("bf16", "autocast"):
                yield _case(FAMILIES[name], precision=precision, recompute=recompute, batch=2, sequence=1024, **fused)
                yield _case(FAMILIES[name], precision=precision, recompute=recompute, sequence=1024, **dpo)
            adapted = {"method": "lora", "lora_rank": 16, "lora_targets": "linear", "recompute": recompute}
            yield _case(FAMILIES[name], batch=2, sequence=1024, **adapted, **fused)
            yield _case(FAMILIES[name], sequence=1024, **adapted, **dpo)
    for name in ("llama", "qwen2"):
        for precision in ("bf16", "autocast"):
            yield _case(FAMILIES[name], precision=precision, recompute="full", batch=4, sequence=2048, **dpo)
            yield _case(FAMILIES[name], precision=precision, recompute="full", batch=4, sequence=2048, **fused)
            yield _case(FAMILIES[name], precision=precision, recompute="full", sequence=256, accumulate=2,
                        optimizer="sgd", shape=DEEP[name], **dpo)
            yield _case(FAMILIES[name], precision=precision, recompute="full", sequence=256, batch=2, optimizer="sgd",
                        shape=DEEP[name], **fused)
        yield _case(FAMILIES[name], method="lora", lora_rank=16, lora_targets="linear", recompute="full", sequence=512,
                    shape=DEEP[name], precision="bf16_autocast", **dpo)
        for recompute in ("none", "full"):
            for precision in ("bf16", "autocast"):
                yield _case(FAMILIES[name], precision=precision, recompute=recompute, sequence=1024, loss="llamafactory_dpo")
            yield _case(FAMILIES[name], sequence=1024, loss="llamafactory_dpo", method="lora", lora_rank=16, lora_targets="linear",
                        precision="bf16_autocast", recompute=recompute)
        yield _case(FAMILIES[name], sequence=512, batch=4, loss="llamafactory_dpo", recompute="full", precision="autocast")
        yield _case(FAMILIES[name], sequence=256, batch=2, loss="llamafactory_dpo", recompute="full", shape=DEEP[name], optimizer="sgd")


def _steps() -> Iterator[Case]:
    """Several micro-batches a step, an average of the weights, activations on the host."""
    for name in ("llama", "qwen2", "gpt2", "mixtral", "t5"):
        yield _case(FAMILIES[name], accumulate=2, sequence=1024)
        yield _case(FAMILIES[name], accumulate=2, precision="autocast", recompute="full")
        yield _case(FAMILIES[name], average=True, sequence=128)
        yield _case(FAMILIES[name], average=True, optimizer="adamw_fused", precision="autocast", sequence=128)
    for name in ("llama", "qwen2", "mistral"):
        yield _case(FAMILIES[name], offload=True, sequence=4096)
    for recompute in ("none", "full"):  # so few logits that a layer's backward pass is the peak
        yield _case(FAMILIES["llama"], shape=Shape(4096, 4, 32, 8, 128, 14336, 1000), offload=True, sequence=4096,
                    recompute=recompute, optimizer="sgd")


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


FEW_LOGITS = {
    "llama": (Shape(4096, 3, 32, 8, 128, 14336, 256), Shape(4096, 5, 32, 8, 128, 4096, 256)),
    "mistral": (Shape(4096, 3, 32, 8, 128, 14336, 256),), "qwen2": (Shape(3584, 3, 28, 4, 128, 18944, 256),),
    "qwen3": (Shape(2560, 3, 32, 8, 128, 9728, 256),), "gemma": (Shape(2048, 3, 8, 1, 256, 16384, 256),),
    "gemma2": (Shape(2304, 4, 8, 4, 256, 9216, 256, window=4096),), "olmo2": (Shape(2048, 4, 16, 16, 128, 8192, 256),),
    "phi3": (Shape(3072, 3, 32, 32, 96, 8192, 256),), "gpt2": (Shape(1600, 3, 25, 25, 64, 6400, 256),),
    "gpt_neox": (Shape(2048, 4, 16, 16, 128, 8192, 256),), "opt": (Shape(2048, 4, 32, 32, 64, 8192, 256),),
    "mixtral": (Shape(2048, 3, 16, 4, 128, 3584, 256, 8, 2, 3584),),
    "qwen3_moe": (Shape(2048, 3, 32, 4, 128, 6144, 256, 64, 8, 768),),
}
"""A vocabulary so small that the layers' backward pass is the peak, and in the second of Llama's the norms'."""


def _few_logits() -> Iterator[Case]:
    for name, shapes in FEW_LOGITS.items():
        for shape in shapes:
            for values in ({"recompute": "full", "optimizer": "sgd"}, {"optimizer": "sgd"},
                           {"precision": "autocast", "recompute": "full", "optimizer": "sgd"},
                           {"precision": "autocast", "recompute": "full", "optimizer": "sgd", "accumulate": 2},
                           {"method": "lora", "lora_rank": 16, "lora_targets": "attention", "recompute": "full"},
                           {"method": "lora", "lora_rank": 16, "lora_targets": "attention", "recompute": "full",
                            "precision": "bf16_autocast", "lora_dropout": 0.1},
                           {"method": "lora", "lora_rank": 16, "lora_targets": "linear", "recompute": "full",
                            "precision": "bf16_autocast"},
                           {"method": "lora", "lora_rank": 16, "lora_targets": "linear"}):
                yield _case(FAMILIES[name], shape=shape, batch=2, sequence=2048, **values)


def _classified(family: Family) -> Iterator[Case]:
    """A label a sequence in place of logits over the vocabulary."""
    for precision in ("bf16", "autocast", "fp32"):
        for recompute in ("none", "full"):
            yield _case(family, precision=precision, recompute=recompute, batch=4)
    yield _case(family, attention="eager", batch=4)
    yield _case(family, precision="autocast", batch=8, sequence=256, optimizer="sgd")
    yield _case(family, precision="autocast", accumulate=2)
    yield _case(family, batch=2, sequence=1024, precision="fp32", optimizer="adamw_fused")
    yield _case(family, method="lora", lora_rank=16, lora_targets="linear", batch=4)
    yield _case(family, method="lora", lora_rank=8, lora_targets="attention", precision="bf16_autocast", recompute="full")
    yield _case(family, shape=DEEP[family.name.removesuffix("_classify")], sequence=256, precision="autocast", recompute="full")


def all_cases() -> list[Case]:
    """Every case once, in a stable order. Liger replaces functions of transformers' modules for good: its cases come last."""
    found: dict[str, Case] = {}
    for family in FAMILIES.values():
        classifies = family.name.endswith("_classify")
        for case in (_classified(family) if classifies else _wider(family) if family.name in WIDER
                     else (*_methods(family), *_sizes(family))):
            found.setdefault(case.run_id, case)
    for case in (*_optimizers(), *_gpus(), *_experts(), *_quantised(), *_later_optimizers(), *_adapters(), *_recomputation(),
                 *_kernels(), *_steps(), *_deep(), *_few_logits(), *_by_trl()):
        found.setdefault(case.run_id, case)
    return sorted(found.values(), key=lambda case: case.kernels == "liger")


def for_real_gpu(cases: list[Case], capability: tuple[int, int]) -> list[Case]:
    """The same cases for the GPU at hand: its own capability, nothing that was meant for the CPU."""
    plain = [c for c in cases if not (c.real or c.average or c.kernels == "liger")]
    return list({c.run_id: c for c in (replace(c, capability=capability) for c in plain)}.values())
