# SPDX-License-Identifier: MIT
"""TRL's GRPOTrainer and RLOOTrainer over models that are given, with completions that are given."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import defaultdict, deque
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
from accelerate.utils.operations import convert_to_fp32
from torch import nn


class Given:
    """What stands before a trainer of TRL: its models are given, and it asks for no dataset, tokenizer or device.

    What TRL computes of completions is its own code: log-probabilities before the update and of the reference, advantages, loss.
    """

    def __init__(self, args: Any, policy: nn.Module, reference: nn.Module | None, autocast: Callable[[], Any],
                 prompt: int) -> None:
        self.args, self.model, self.model_wrapped, self.ref_model, self._prompt = args, policy, policy, reference, prompt
        self.generates, self.generating = False, False
        self.accelerator = SimpleNamespace(
            device=torch.device("cuda"), autocast=autocast, is_main_process=True, num_processes=1, process_index=0,
            sync_gradients=True, unwrap_model=lambda model: policy, gather=lambda x: x, gather_for_metrics=lambda x: x,
            reduce=lambda x, reduction: x, state=SimpleNamespace(deepspeed_plugin=None))
        self.state = SimpleNamespace(global_step=0)
        self._tokenizer = SimpleNamespace(pad_token_id=0)
        self.eos_token_ids, self.pad_to_multiple_of, self.environment_factories, self.environments = [1], None, None, None
        self.tools, self._is_vlm, self._step, self._buffered_inputs = [], False, 0, None
        self.aux_loss_enabled = self._entropy_bonus_enabled = False
        self.current_gradient_accumulation_steps = args.gradient_accumulation_steps
        self.epsilon_low = args.epsilon
        self.epsilon_high = args.epsilon_high if args.epsilon_high is not None else args.epsilon
        for name in _SETTINGS:
            if hasattr(args, name):
                setattr(self, name, getattr(args, name))
        self.reward_func_names, self.reward_weights = ["length"], torch.ones(1)
        self._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}
        self._logs = defaultdict(_last, rewards=defaultdict(_last), extra=defaultdict(_last))
        self._pending_extra_logs, self._pending_metrics = defaultdict(list), defaultdict(list)

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        """Completions as long as they may be, with what vLLM says of each token where it generates. What transformers
        generates on the way is let go: fake tensors have no values."""
        asked = [[2] * self._prompt for _ in prompts]
        if self.generates:
            self._generate_by_transformers(asked)
        made = [[2] * self.max_completion_length for _ in prompts]
        if not hasattr(self.args, "loss_type"):  # RLOO's
            return asked, made, made
        logps = [[0.0] * self.max_completion_length for _ in prompts] if self.use_vllm else None
        return asked, made, None, made, logps, {}, None, None

    def _generate_by_transformers(self, asked: list[list[int]]) -> None:
        """The trainer's own way, to the last token of each completion."""
        from transformers import GenerationConfig
        from transformers.generation import GenerationMixin
        from trl.distributed import DistributedBackend
        self._dist = DistributedBackend(self.accelerator)
        self.generation_kwargs = {"max_new_tokens": self.max_completion_length, "do_sample": True, "pad_token_id": 0,
                                  "bos_token_id": None, "eos_token_id": self.eos_token_ids} | {
            name: getattr(self.args, name) for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty",
                                                        "cache_implementation")}
        self.generation_config = GenerationConfig(**self.generation_kwargs, disable_compile=True)
        self.model.generation_config.use_cache = None  # of a loaded model it is not said: with a cache
        steps = itertools.count()
        unfinished = lambda model, *given, **options: next(steps) < self.max_completion_length
        self.generating = True
        with mock.patch.object(GenerationMixin, "_has_unfinished_sequences", unfinished):
            self._generate_single_turn(asked, None, {}, self.num_generations)
        self.generating = False

    def _prepare_input(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """As transformers' Trainer moves a batch to its device."""
        return {name: tensor.to(self.accelerator.device) for name, tensor in data.items()}

    def _calculate_rewards(self, inputs: Any, prompts: list[Any], *_: Any) -> torch.Tensor:
        """Of a function: one number for each completion."""
        return torch.zeros(len(prompts), 1, device=self.accelerator.device)

    def take(self) -> dict[str, Any]:
        """The next micro-batch; at the start of a step all completions are scored before."""
        inputs = self._prepare_inputs([{"prompt": ""}] * self.args.generation_batch_size)
        self._step += 1
        return inputs


_SETTINGS = ("beta", "loss_type", "num_iterations", "num_generations", "max_completion_length", "use_vllm",
             "vllm_importance_sampling_correction", "vllm_importance_sampling_mode", "mask_truncated_completions",
             "vllm_importance_sampling_clip_min", "vllm_importance_sampling_clip_max", "importance_sampling_level",
             "top_entropy_quantile", "off_policy_mask_threshold", "multi_objective_aggregation", "scale_rewards",
             "normalize_advantages", "reward_clip_range", "log_multimodal", "use_transformers_continuous_batching")
"""Those that the trainers copy from their configuration under the same name."""


def _last() -> deque[Any]:
    return deque(maxlen=1)


def make(kind: str, policy: nn.Module, reference: nn.Module | None, settings: dict[str, Any],
         autocast: Callable[[], Any] | None) -> Any:
    """The trainer of ``kind``, grpo or rloo. ``settings``: fields of its configuration, and ``prompt`` in tokens."""
    from trl.trainer import grpo_config, grpo_trainer, rloo_config, rloo_trainer
    base, config = {"grpo": (grpo_trainer.GRPOTrainer, grpo_config.GRPOConfig),
                    "rloo": (rloo_trainer.RLOOTrainer, rloo_config.RLOOConfig)}[kind]
    prompt = settings.pop("prompt")
    args = config(output_dir="unused", bf16=False, report_to=[], **settings)
    _fuse_heads(policy, reference)
    if autocast is not None:
        for model in (policy, reference):
            if model is not None:
                _prepare(model, autocast)
    return type(base.__name__, (Given, base), {})(args, policy, reference, autocast or contextlib.nullcontext, prompt)


def _fuse_heads(policy: nn.Module, reference: nn.Module | None) -> None:
    """As the trainers' constructors do."""
    from trl.trainer.utils import add_fused_lm_head
    adapted = hasattr(policy, "get_base_model")
    if adapted and policy.is_gradient_checkpointing:
        policy.enable_input_require_grads()
    add_fused_lm_head(policy.get_base_model() if adapted else policy, outputs=("log_probs", "entropy"))
    if reference is not None:
        add_fused_lm_head(reference)


def _prepare(model: nn.Module, autocast: Callable[[], Any]) -> None:
    """As accelerate's prepare_model() wraps the forward pass of a model under mixed precision."""
    forward = model.forward

    @functools.wraps(forward)
    def under_autocast(self: nn.Module, *args: Any, **options: Any) -> Any:
        with autocast():
            outputs = forward(*args, **options)
        return convert_to_fp32(outputs)
    model.forward = MethodType(under_autocast, model)
