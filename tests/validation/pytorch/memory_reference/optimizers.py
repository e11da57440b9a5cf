# SPDX-License-Identifier: MIT
"""The optimizers measured, by name. Plain PyTorch ones unless a line says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

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


def split(model: nn.Module, parameters: list[nn.Parameter]) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The matrices inside layers; embeddings, head and vectors."""
    embeddings = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    head = getattr(model, "get_output_embeddings", lambda: None)()
    embeddings |= {id(p) for p in head.parameters()} if head is not None else set()
    matrices = [p for p in parameters if p.dim() == 2 and id(p) not in embeddings]
    return matrices, [p for p in parameters if p.dim() != 2 or id(p) in embeddings]


class TwoOptimizers:
    """One optimizer for the matrices inside layers, another for embeddings, head and vectors."""

    def __init__(self, of_matrices: Callable[..., Optimizer], of_rest: Callable[..., Optimizer], model: nn.Module,
                 parameters: list[nn.Parameter]) -> None:
        matrices, rest = split(model, parameters)
        self.parts: list[Optimizer] = [of_matrices(matrices)] if matrices else []
        if rest:
            self.parts.append(of_rest(rest))

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


class LomoInBackward:
    """LOMO as its authors' package has it: a tensor is updated in the backward pass, when the next one's gradient comes."""

    def __init__(self, model: nn.Module) -> None:
        from lomo_optim import Lomo
        self.state: dict[nn.Parameter, dict[str, torch.Tensor]] = {}
        self._update_last = Lomo(model).grad_func

    def backward(self, loss: torch.Tensor) -> None:
        """Lomo.fused_backward."""
        loss.backward()
        self._update_last(0)

    def step(self) -> None:
        pass

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass


def _projected(package: str, model: nn.Module, parameters: list[nn.Parameter]) -> Optimizer:
    """GaLore's or APOLLO's AdamW, with the settings of their READMEs: matrices inside layers at a low rank."""
    matrices, rest = split(model, parameters)
    if package == "galore":
        from galore_torch import GaLoreAdamW
        return GaLoreAdamW([{"params": rest}, {"params": matrices, "rank": 128, "update_proj_gap": 1, "scale": 0.25,
                                               "proj_type": "std"}], no_deprecation_warning=True)
    from apollo_torch import APOLLOAdamW, random_projector
    random_projector.stable_randn = _without_generator(random_projector.stable_randn)
    return APOLLOAdamW([{"params": rest}, {"params": matrices, "rank": 256, "proj": "random", "scale_type": "channel",
                                           "scale": 1, "update_proj_gap": 1, "proj_type": "std"}])


def _without_generator(stable_randn: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """``stable_randn``, but on a GPU that is not there: it has no generator."""
    def randn(shape: Any, seed: int, device: Any = None, dtype: Any = torch.float32) -> torch.Tensor:
        return stable_randn(shape, seed, device, dtype) if torch.cuda.is_available() else torch.randn(shape, device=device, dtype=dtype)
    return randn


def _adam_mini(model: nn.Module, parameters: list[nn.Parameter]) -> Optimizer:
    from adam_mini import Adam_mini
    config = model.config
    return Adam_mini(model.named_parameters(), dim=config.hidden_size, n_heads=config.num_attention_heads,
                     n_kv_heads=config.num_key_value_heads, verbose=False)


def _schedule_free(parameters: list[nn.Parameter]) -> Optimizer:
    from schedulefree import AdamWScheduleFree
    optimizer = AdamWScheduleFree(parameters)
    optimizer.train()
    return optimizer


def _pytorch_optimizer(name: str, **options: Any) -> Callable[[list[nn.Parameter]], Optimizer]:
    def make(parameters: list[nn.Parameter]) -> Optimizer:
        import pytorch_optimizer
        return getattr(pytorch_optimizer, name)(parameters, **options)
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
    "lamb": _pytorch_optimizer("Lamb"),
    "soap": _pytorch_optimizer("SOAP", precondition_frequency=1),
    "schedule_free": _schedule_free,
}
_OF_MODELS: dict[str, Callable[[nn.Module, list[nn.Parameter]], Optimizer | TwoOptimizers | LomoInBackward]] = {
    "muon": lambda m, p: TwoOptimizers(torch.optim.Muon, torch.optim.AdamW, m, p),
    # What has no two sides takes the momentum alone.
    "shampoo": lambda m, p: TwoOptimizers(_pytorch_optimizer("Shampoo", momentum=0.9),
                                          lambda rest: torch.optim.SGD(rest, lr=1e-3, momentum=0.9), m, p),
    "galore": lambda m, p: _projected("galore", m, p),
    "apollo": lambda m, p: _projected("apollo", m, p),
    "adam_mini": _adam_mini,
    "lomo": lambda m, _: LomoInBackward(m),
}
LATER = ("lamb", "soap", "schedule_free", "shampoo", "galore", "apollo", "adam_mini", "lomo")
"""Optimizers of packages of their own."""
NAMES = tuple(n for n in (*_MAKERS, *_OF_MODELS) if n not in LATER)


def make(name: str, model: nn.Module) -> Optimizer | TwoOptimizers | LomoInBackward:
    """The optimizer ``name`` over the trainable parameters of ``model``."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return _MAKERS[name](parameters) if name in _MAKERS else _OF_MODELS[name](model, parameters)


def state_tensors(optimizer: Optimizer | TwoOptimizers | LomoInBackward) -> list[torch.Tensor]:
    """Every tensor that the optimizer keeps between steps: also those in lists, and in objects of its own."""
    found: list[torch.Tensor] = []

    def collect(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            for each in value:
                collect(each)
        elif hasattr(value, "ortho_matrix"):  # GaLore's and APOLLO's projectors
            collect(value.ortho_matrix)

    for state in optimizer.state.values():
        for value in state.values():
            collect(value)
    return found
