# SPDX-License-Identifier: MIT
"""The optimizers measured, by name. Plain PyTorch ones unless a line says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import nn

Optimizer = torch.optim.Optimizer


class Lion(Optimizer):
    """Lion (Chen et al. 2023), one momentum per parameter, one parameter after the other."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99),
                 weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["exp_avg"] = torch.zeros_like(parameter)
                momentum = state["exp_avg"]
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                update = momentum.mul(beta1).add_(parameter.grad, alpha=1 - beta1).sign_()
                parameter.add_(update, alpha=-group["lr"])
                momentum.lerp_(parameter.grad, 1 - beta2)


class MuonWithAdamW:
    """Muon for the matrices inside layers, AdamW for embeddings, head and vectors, as Muon is meant to be used."""

    def __init__(self, model: nn.Module, parameters: list[nn.Parameter]) -> None:
        embeddings = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
        head = getattr(model, "get_output_embeddings", lambda: None)()
        embeddings |= {id(p) for p in head.parameters()} if head is not None else set()
        matrices = [p for p in parameters if p.dim() == 2 and id(p) not in embeddings]
        rest = [p for p in parameters if p.dim() != 2 or id(p) in embeddings]
        self.parts: list[Optimizer] = [torch.optim.Muon(matrices)] if matrices else []
        if rest:
            self.parts.append(torch.optim.AdamW(rest))

    @property
    def state(self) -> dict[nn.Parameter, dict[str, torch.Tensor]]:
        return {p: s for part in self.parts for p, s in part.state.items()}

    def step(self) -> None:
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        for part in self.parts:
            part.zero_grad(set_to_none)


def _hf_adafactor(parameters: list[nn.Parameter]) -> Optimizer:
    from transformers.optimization import Adafactor
    return Adafactor(parameters, scale_parameter=False, relative_step=False, lr=1e-4)


def _bitsandbytes(name: str) -> Callable[[list[nn.Parameter]], Optimizer]:
    def make(parameters: list[nn.Parameter]) -> Optimizer:
        import bitsandbytes
        return getattr(bitsandbytes.optim, name)(parameters)
    return make


_MAKERS: dict[str, Callable[[list[nn.Parameter]], Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p),  # foreach on CUDA
    "adamw_loop": lambda p: torch.optim.AdamW(p, foreach=False),
    "adamw_fused": lambda p: torch.optim.AdamW(p, fused=True),
    "adafactor": lambda p: torch.optim.Adafactor(p),
    "adafactor_hf": _hf_adafactor,  # the one of transformers
    "adagrad": lambda p: torch.optim.Adagrad(p),
    "rmsprop": lambda p: torch.optim.RMSprop(p),
    "nadam": lambda p: torch.optim.NAdam(p),
    "radam": lambda p: torch.optim.RAdam(p),
    "lion": lambda p: Lion(p),
    "adamw_8bit": _bitsandbytes("AdamW8bit"),
    "lion_8bit": _bitsandbytes("Lion8bit"),
}
NAMES = (*_MAKERS, "muon")


def make(name: str, model: nn.Module) -> Optimizer | MuonWithAdamW:
    """The optimizer ``name`` over the trainable parameters of ``model``."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if name == "muon":
        return MuonWithAdamW(model, parameters)
    return _MAKERS[name](parameters)


def state_tensors(optimizer: Optimizer | MuonWithAdamW) -> list[torch.Tensor]:
    """Every tensor that the optimizer keeps between steps."""
    return [v for state in optimizer.state.values() for v in state.values() if isinstance(v, torch.Tensor)]
