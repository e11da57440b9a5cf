# SPDX-License-Identifier: MIT
"""Losses of preferences by the trainers' own code: TRL's head that scores tokens in tiles, its DPO with a reference, and
LLaMA-Factory's DPO over all logits."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import pathlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Literal, Optional
from unittest import mock

import torch
from torch import nn


@contextlib.contextmanager
def kernels_that_do_nothing(real: bool) -> Iterator[None]:
    """Within it TRL's Triton kernels do nothing unless the GPU is ``real``: what they read and write, their callers have made."""
    if real:
        yield
        return
    from triton.runtime.jit import JITFunction
    with mock.patch.object(JITFunction, "__getitem__", lambda self, grid: lambda *args, **options: None):
        yield


def fuse_head(model: nn.Module, outputs: tuple[str, ...] = ("log_probs", "entropy", "is_top1")) -> None:
    """The head that returns log-probabilities; what SFTTrainer asks of it besides, unless told."""
    from trl.trainer.utils import add_fused_lm_head
    add_fused_lm_head(model, outputs=outputs)


class Dpo:
    """DPOTrainer's loss over a policy and its reference; without one, adapters of the policy are switched off for it."""

    def __init__(self, policy: nn.Module, reference: nn.Module | None, autocast: Callable[[], Any]) -> None:
        base = policy.get_base_model() if hasattr(policy, "get_base_model") else policy
        fuse_head(base, ("log_probs", "entropy", "mean_logits", "is_top1"))
        if reference is not None:
            fuse_head(reference, ("log_probs",))
        self._policy = _under(autocast, policy)
        accelerator = SimpleNamespace(device=torch.device("cuda"), autocast=autocast, gather=lambda x: x,
                                      gather_for_metrics=lambda x: x, unwrap_model=lambda model: policy)
        self._trainer = SimpleNamespace(
            model=_Wrapped(policy, self._policy), ref_model=_under(autocast, reference) if reference is not None else None,
            accelerator=accelerator, args=SimpleNamespace(gradient_checkpointing_kwargs={"use_reentrant": False}),
            aux_loss_enabled=False, ld_alpha=None, precompute_ref_logps=False, f_divergence_type="reverse_kl",
            loss_types=["sigmoid"], loss_weights=[1.0], beta=0.1, label_smoothing=0.0, use_weighting=False, _tp_size=1,
            _metrics={"train": defaultdict(list), "eval": defaultdict(list)}, _total_train_tokens=0)

    def loss(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Of pairs: the first half of the batch was chosen, the second rejected."""
        from trl.trainer import dpo_trainer
        with mock.patch.object(dpo_trainer, "is_peft_model", lambda model: self._trainer.ref_model is None):
            return dpo_trainer.DPOTrainer._compute_loss(self._trainer, self._policy, inputs, False)


class LlamaFactoryDpo:
    """CustomDPOTrainer's loss over a policy and its reference. Its modules import versions of TRL and others that are not
    those that are measured here: of its files only the methods of the loss are read."""

    def __init__(self, policy: nn.Module, reference: nn.Module | None, autocast: Callable[[], Any]) -> None:
        if reference is not None:
            reference.requires_grad_(False)  # model/loader.py
        self._policy = _in_fp32(_under(autocast, policy))
        own = _functions("train/trainer_utils.py", {"get_batch_logps"})
        own |= _functions("train/dpo/trainer.py", {"concatenated_forward", "compute_reference_log_probs",
                                                   "compute_preference_loss", "get_batch_loss_metrics"}, own)
        self._trainer = SimpleNamespace(
            finetuning_args=SimpleNamespace(use_ref_model=True), ld_alpha=None, loss_type="sigmoid", bco_gemma=0.0,
            ftx_gamma=0.0, beta=0.1, ref_model=_in_fp32(_under(autocast, reference)) if reference is not None else None,
            accelerator=SimpleNamespace(device=torch.device("cuda"), unwrap_model=lambda model: policy),
            dpo_loss=_sigmoid_loss)
        for name, function in own.items():
            setattr(self._trainer, name, function.__get__(self._trainer))

    def loss(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Of pairs: the first half of the batch was chosen, the second rejected."""
        return self._trainer.get_batch_loss_metrics(self._policy, dict(inputs))[0]


def _functions(file: str, names: set[str], known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Functions and methods of a file of LLaMA-Factory, without what the file imports."""
    folder = pathlib.Path(importlib.util.find_spec("llamafactory").origin).parent
    tree = ast.parse((folder / file).read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
    for node in found:
        node.decorator_list = []
    from transformers.trainer_pt_utils import nested_detach
    space = {"torch": torch, "F": torch.nn.functional, "IGNORE_INDEX": -100, "nullcontext": contextlib.nullcontext, "Optional": Optional,
             "Literal": Literal, "nested_detach": lambda batch, clone: nested_detach(batch)} | (known or {})
    exec(compile(ast.Module(found, []), file, "exec"), space)  # noqa: S102
    return {name: space[name] for name in names}


def _sigmoid_loss(chosen: torch.Tensor, rejected: torch.Tensor, reference_chosen: torch.Tensor,
                  reference_rejected: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """TRL's DPOTrainer.dpo_loss: a few values a pair."""
    first, second = chosen - reference_chosen, rejected - reference_rejected
    return -torch.nn.functional.logsigmoid(0.1 * (first - second)), 0.1 * first.detach(), 0.1 * second.detach()


def _in_fp32(call: Callable[..., Any]) -> Callable[..., Any]:
    """accelerate's convert_outputs_to_fp32, where autocast computes."""
    from accelerate.utils.operations import convert_to_fp32

    def converted(**inputs: Any) -> Any:
        outputs = call(**inputs)
        return convert_to_fp32(outputs)
    return converted


def _under(autocast: Callable[[], Any], model: nn.Module) -> Callable[..., Any]:
    """Calls of the model as accelerate's prepare_model() wraps them."""
    def call(**inputs: Any) -> Any:
        with autocast():
            return model(**inputs)
    return call


class _Wrapped:
    """The trainer's model: the policy, called as accelerate wraps it."""

    def __init__(self, policy: nn.Module, call: Callable[..., Any]) -> None:
        self._policy, self._call = policy, call

    def __call__(self, **inputs: Any) -> Any:
        return self._call(**inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)


def pairs(inputs: dict[str, torch.Tensor], loss: str) -> dict[str, torch.Tensor]:
    """What the trainers' collators hand on, all of it scored: each sequence of ``inputs`` is one of a pair."""
    ids = inputs["input_ids"]
    if loss == "llamafactory_dpo":
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "completion_mask": torch.ones_like(ids)}
