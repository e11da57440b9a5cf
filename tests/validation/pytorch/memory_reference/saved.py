# SPDX-License-Identifier: MIT
"""Which tensors autograd keeps between forward and backward: by module, operator, type, shape and bytes."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.modules import module as hooks

from memory_reference.tracker import storages

_LAYER = re.compile(r"^(.*?)\.(\d+)(?:\.(.*))?$")


@dataclass(frozen=True)
class SavedTensor:
    """One storage, by the module whose forward saved it first."""

    path: str
    module_class: str
    operators: str
    dtype: str
    shape: str
    bytes: int


@dataclass
class _Entry:
    path: str
    module_class: str
    tensor: torch.Tensor
    operators: set[str] = field(default_factory=set)


class SavedTensorRecorder:
    """Runs around one forward pass; afterwards :meth:`result` lists what was saved."""

    def __init__(self, model: nn.Module, device_type: str, excluded: set[int]) -> None:
        """``excluded``: storages that are not activations (parameters, buffers, inputs)."""
        self._names = {id(m): name for name, m in model.named_modules()}
        self._device_type = device_type
        self._excluded = excluded
        self._stack: list[tuple[str, str]] = [("", "loss")]
        self._entries: dict[int, _Entry] = {}

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        before = hooks.register_module_forward_pre_hook(self._enter)
        after = hooks.register_module_forward_hook(self._leave, always_call=True)
        try:
            with torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor):
                yield
        finally:
            before.remove()
            after.remove()

    def _enter(self, module: nn.Module, _: object) -> None:
        name = self._names.get(id(module))
        self._stack.append(self._stack[-1] if name is None else (name, type(module).__name__))

    def _leave(self, module: nn.Module, _: object, __: object) -> None:
        self._stack.pop()

    def _pack(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type == self._device_type:
            key = tensor.untyped_storage()._cdata
            if key not in self._excluded and key not in self._entries:
                self._entries[key] = _Entry(*self._stack[-1], tensor)
        return tensor

    def result(self, loss: torch.Tensor, recomputed: bool = False) -> list[SavedTensor]:
        """The storages saved for the backward pass of ``loss``, in the order of saving.

        What was saved on the way to something that ``loss`` does not depend on is gone with the forward pass.
        ``recomputed``: some layers are; asking their nodes what they saved would recompute them, so operators
        stay unknown.
        """
        if recomputed:
            return [self._described(e) for e in self._entries.values()]
        for operator, key in _saved_by_node(loss):
            if key in self._entries:
                self._entries[key].operators.add(operator)
        return [self._described(e) for e in self._entries.values() if e.operators]

    @staticmethod
    def _described(entry: _Entry) -> SavedTensor:
        tensor = entry.tensor
        return SavedTensor(entry.path, entry.module_class, "+".join(sorted(entry.operators)),
                           str(tensor.dtype).removeprefix("torch."), "x".join(map(str, tensor.shape)),
                           tensor.untyped_storage().nbytes())


def _saved_by_node(loss: torch.Tensor) -> Iterator[tuple[str, int]]:
    """(operator, storage) for every tensor that a node of the graph of ``loss`` keeps."""
    seen = {loss.grad_fn}
    todo = [loss.grad_fn]
    attributes: dict[type, list[str]] = {}
    while todo:
        node = todo.pop()
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)
        kind = type(node)
        if kind not in attributes:
            attributes[kind] = [a for a in dir(node) if a.startswith("_saved_")] + (
                ["saved_tensors"] if hasattr(node, "saved_tensors") else [])
        for attribute in attributes[kind]:
            value = getattr(node, attribute, None)
            for key in storages(value if isinstance(value, (tuple, list)) else [value]):
                yield node.name().removesuffix("0").removesuffix("Backward"), key


@dataclass(frozen=True)
class SavedRow:
    """``count`` equal tensors in each of ``layers`` equal layers, or outside layers (``layer`` empty)."""

    layer: str
    layers: int
    module: str
    module_class: str
    operators: str
    dtype: str
    shape: str
    bytes: int
    count: int


def by_layer(saved: list[SavedTensor]) -> list[SavedRow]:
    """One representative of each group of equal layers, and what is saved outside layers."""
    grouped: dict[tuple[str, int], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for tensor in saved:
        match = _LAYER.match(tensor.path)
        where = (match[1], int(match[2])) if match else ("", 0)
        module = (match[3] or "") if match else tensor.path
        grouped[where][(module, tensor.module_class, tensor.operators, tensor.dtype, tensor.shape, tensor.bytes)] += 1
    equal: dict[tuple[str, frozenset], list[Counter]] = defaultdict(list)
    for (layer, _), rows in grouped.items():
        equal[(layer, frozenset(rows.items()))].append(rows)
    return [
        SavedRow(layer, len(same), *key, count)
        for (layer, _), same in equal.items()
        for key, count in same[0].items()
    ]
