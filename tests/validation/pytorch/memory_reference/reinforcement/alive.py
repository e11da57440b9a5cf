# SPDX-License-Identifier: MIT
"""A tracker that knows, besides how much is live at the peak of each phase, what it is."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from memory_reference.tracker import StorageTracker, aten

SMALL = 65536
"""Bytes. Of smaller storages only the sum is of interest."""

WHOLE = ("weights", "reference_weights", "adapter", "buffers", "gradients", "optimizer_states", "batch")
"""Terms of which only the sum is of interest."""


@dataclass(eq=False)
class Allocation:
    """One storage: as whose result it was made, and in which phase. ``number``: in the order of making."""

    number: int
    operator: str
    dtype: str
    shape: str
    bytes: int
    born: str
    term: str = ""  # one of WHOLE, or empty until it is known


@dataclass(frozen=True)
class AliveRow:
    """``count`` equal storages that are live when a phase is fullest."""

    phase: str
    term: str
    operator: str
    dtype: str
    shape: str
    born: str
    bytes: int
    count: int


class AliveTracker(StorageTracker):
    """``at_peak``: for each phase the storages that were live at its peak.

    ``attended``: what a mask answers that is asked whether it attends to every position. ``scored``: how many positions
    a mask over so many elements selects, where these are not all.
    """

    def __init__(self, device_type: str, attended: bool, scored: dict[int, int]) -> None:
        self._alive: dict[int, Allocation] = {}
        self.at_peak: dict[str, dict[int, Allocation]] = {}
        self._made_by = ""
        self._attended, self._scored = attended, scored
        self._numbers = itertools.count()
        super().__init__(device_type)

    def selects(self, mask: torch.Tensor) -> int:
        return self._scored.get(mask.numel(), mask.numel())

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if (func is aten._local_scalar_dense.default and isinstance(args[0], FakeTensor) and args[0].dtype == torch.bool
                and args[0].device.type != "cpu"):
            return self._attended
        self._made_by = func.name().removeprefix("aten::")
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self._known:
            return
        super()._add(tensor)
        self._alive[storage._cdata] = Allocation(
            next(self._numbers), self._made_by, str(tensor.dtype).removeprefix("torch."), "x".join(map(str, tensor.shape)),
            storage.nbytes(), self.phase_name)

    def _note_peak(self) -> None:
        fuller = self.live > self.peak.get(self.phase_name, -1)
        super()._note_peak()
        if fuller:
            self.at_peak[self.phase_name] = {k: a for k, a in self._alive.items() if k in self._known}

    def name(self, term: str, tensors: Iterable[Any]) -> None:
        """The storages of ``tensors`` are of this ``term``, in what was and will be recorded, unless they have another."""
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                found = self._alive.get(tensor.untyped_storage()._cdata)
                if found is not None and not found.term:
                    found.term = term

    def fullest(self, phase: str, outlived: set[int], shapes: set[str]) -> list[AliveRow]:
        """What was live at the peak of ``phase``. Of those without a name: ``saved`` for the backward pass are the
        ``outlived`` ones, those that are live when it begins; ``casts`` are copies in the ``shapes`` of weights."""
        counted: Counter[AliveRow] = Counter()
        sums: Counter[str] = Counter()
        for allocation in self.at_peak[phase].values():
            if allocation.term in WHOLE:
                sums[allocation.term] += allocation.bytes
                continue
            cast = allocation.operator == "_to_copy" and allocation.shape in shapes
            term = "saved" if allocation.number in outlived else "casts" if cast else "working"
            if allocation.bytes < SMALL:
                sums[term] += allocation.bytes
                continue
            counted[AliveRow("", term, allocation.operator, allocation.dtype, allocation.shape,
                             allocation.born.rpartition("_")[0], allocation.bytes, 1)] += 1
        name = phase.rpartition("_")[0]
        rows = [AliveRow(name, term, "", "", "", "", sums[term], 1) for term in (*WHOLE, "saved", "casts", "working") if sums[term]]
        rows += [AliveRow(name, a.term, a.operator, a.dtype, a.shape, a.born, a.bytes, number)
                 for a, number in sorted(counted.items(), key=lambda item: -item[0].bytes * item[1])]
        return rows

    def live_now(self) -> set[int]:
        """The numbers of what is live."""
        return {a.number for k, a in self._alive.items() if k in self._known}
