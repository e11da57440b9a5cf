# SPDX-License-Identifier: MIT
"""What stands in for parts of a model: Liger's kernels, torchao's float8 products, a loss over parts of the tokens, and
recomputation of some layers or operations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

CHUNKS = 8
"""Parts that torchtune's chunked cross entropy takes (CEWithChunkedOutputLoss, num_output_chunks)."""


# ---- the loss -----------------------------------------------------------------------------------------------------------

def chunked_loss(model: nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """torchtune's: the head puts out the logits in parts, each widened and differentiated by itself."""
    hidden = model.model(input_ids=inputs["input_ids"]).last_hidden_state
    labels = F.pad(inputs["labels"], (0, 1), value=-100)[:, 1:]
    logits = [model.lm_head(part) for part in hidden.chunk(CHUNKS, dim=1)]
    total = sum(F.cross_entropy(part.reshape(-1, part.size(-1)).float(), of.reshape(-1), reduction="sum")
                for part, of in zip(logits, labels.chunk(CHUNKS, dim=1)))
    return total / labels.numel()


# ---- kernels of others ----------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def liger_kernels(real: bool) -> Iterator[None]:
    """Within it Liger's Triton kernels do nothing unless the GPU is ``real``: what they read and write, their callers have made."""
    from transformers.models.llama import modeling_llama
    from transformers.models.mistral import modeling_mistral
    from transformers.models.qwen2 import modeling_qwen2
    from triton.runtime.jit import JITFunction
    modules = (modeling_llama, modeling_mistral, modeling_qwen2)
    rotations = [m.apply_rotary_pos_emb for m in modules]  # Liger replaces the modules' own
    with contextlib.ExitStack() as patches:
        if not real:
            for target, value in (("torch.cuda.get_device_properties", lambda device=None: mock.Mock(multi_processor_count=108)),
                                  ("torch.cuda.device", lambda device: contextlib.nullcontext()),
                                  ("torch.equal", lambda first, second: True)):  # is the loss's gradient one?
                patches.enter_context(mock.patch(target, value))
            patches.enter_context(mock.patch.object(JITFunction, "__getitem__", lambda self, grid: lambda *args, **options: None))
        try:
            yield
        finally:
            for module, rotation in zip(modules, rotations):
                module.apply_rotary_pos_emb = rotation


def use_liger(model: nn.Module) -> None:
    """All that Liger replaces in the model: norms, rotation, gated feed-forward, head and loss."""
    from liger_kernel.transformers import monkey_patch
    getattr(monkey_patch, f"apply_liger_kernel_to_{model.config.model_type}")(model=model)


def use_float8(model: nn.Module) -> None:
    """torchao's float8 recipe, one scale a tensor, for every linear layer but the head, as torchtitan has it."""
    from torchao.float8 import convert_to_float8_training
    convert_to_float8_training(model, module_filter_fn=lambda module, name: "lm_head" not in name)


# ---- offloading -----------------------------------------------------------------------------------------------------------

def offload(model: nn.Module) -> None:
    """What the layers save goes to the host; of layers that are recomputed, what their checkpoints save."""
    for layer in _layers(model):
        if layer.gradient_checkpointing:
            layer._gradient_checkpointing_func = _saving_on_host(layer._gradient_checkpointing_func)
        else:
            layer.forward = _saving_on_host(layer.forward)


def _saving_on_host(forward: Any) -> Any:
    def wrapped(*args: Any, **options: Any) -> Any:
        with torch.autograd.graph.save_on_cpu():
            return forward(*args, **options)
    return wrapped


def _layers(model: nn.Module) -> list[nn.Module]:
    return [m for m in model.modules() if isinstance(m, GradientCheckpointingLayer)]


# ---- recomputation ----------------------------------------------------------------------------------------------------------

def every_second_product() -> tuple[Any, Any]:
    """torchtitan's selective recomputation by operation: attention's output and every second product are kept."""
    products = {"forward": 0, "recompute": 0}

    def policy(context: Any, operator: Any, *args: Any, **options: Any) -> checkpoint.CheckpointPolicy:
        keep = "scaled_dot_product" in operator.name()
        if operator is torch.ops.aten.mm.default:
            mode = "recompute" if context.is_recompute else "forward"
            products[mode] += 1
            keep = products[mode] % 2 == 1
        return checkpoint.CheckpointPolicy.MUST_SAVE if keep else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE

    return checkpoint.create_selective_checkpoint_contexts(policy)


def recompute(model: nn.Module, what: str) -> None:
    """``full``, ``selective``, or ``everyN``: of every n-th layer, the others as they are."""
    options: dict[str, Any] = {"use_reentrant": False}
    if what == "selective":
        options["context_fn"] = every_second_product
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)
    if what.startswith("every"):
        for number, layer in enumerate(_layers(model), 1):
            layer.gradient_checkpointing = number % int(what[len("every"):]) == 0
