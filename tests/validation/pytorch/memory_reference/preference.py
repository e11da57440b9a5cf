# SPDX-License-Identifier: MIT
"""TRL's losses by its own code: the head that scores tokens in tiles, and DPO's step with its reference model."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
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


def pairs(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What DataCollatorForPreference hands on, all of it scored: each sequence of ``inputs`` is one of a pair."""
    ids = inputs["input_ids"]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "completion_mask": torch.ones_like(ids)}
