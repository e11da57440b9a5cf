# SPDX-License-Identifier: MIT
"""TRL's GKDTrainer with a given student and teacher, which asks for no dataset, tokenizer or device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import nn

from memory_reference.reinforcement.trainer import _prepare as prepare


class Given:
    """What stands before the trainer. The loss, and which tensors it makes of both models' logits, is TRL's own code."""

    def __init__(self, student: nn.Module, teacher: nn.Module, beta: float) -> None:
        self.model, self.teacher_model, self.beta = student, teacher, beta
        self.temperature, self.lmbda, self.seq_kd = 0.9, 0.0, False


def make(student: nn.Module, teacher: nn.Module, beta: float, autocast: Callable[[], Any] | None,
         at_loss: Callable[[], None]) -> Any:
    """The trainer. ``autocast``: under which accelerate calls each model, whose outputs it casts to fp32."""
    from trl.experimental.gkd import gkd_trainer
    from trl.trainer.utils import add_fused_lm_head
    adapted = hasattr(student, "get_base_model")
    if adapted and student.is_gradient_checkpointing:
        student.enable_input_require_grads()
    # As SFTTrainer's constructor does, which GKDTrainer calls: without fused_lm_head the forward pass stays as it is.
    add_fused_lm_head(student.get_base_model() if adapted else student, outputs=("log_probs", "entropy", "is_top1"))
    if autocast is not None:
        for model in (student, teacher):
            prepare(model, autocast)
    made = type("GKDTrainer", (Given, gkd_trainer.GKDTrainer), {})(student, teacher, beta)
    divergence = gkd_trainer.GKDTrainer.generalized_jsd_loss

    def watched(**given: Any) -> torch.Tensor:
        at_loss()
        return divergence(**given)
    made.generalized_jsd_loss = watched
    return made


def compute_loss(made: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """GKDTrainer's own. Emptying the cache changes no tensor, and there is no GPU to ask for it."""
    from trl.experimental.gkd import gkd_trainer
    with mock.patch.object(gkd_trainer, "empty_cache", lambda: None):
        return made.compute_loss(made.model, inputs, num_items_in_batch=torch.tensor(inputs["labels"].numel()))
