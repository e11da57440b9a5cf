# SPDX-License-Identifier: MIT
"""Counts every storage on one device type from the operator that makes it to the moment it dies.

Storages, not tensors: views, transposes and in-place results share the storage of their base and cost nothing.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from typing import Any

import torch
import torch._compile
import torch._dynamo
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten

ALLOCATION_UNIT = 512
"""Bytes. The CUDA caching allocator rounds every allocation up to a multiple of this."""


def rounded(size: int) -> int:
    """Bytes as the CUDA caching allocator counts them."""
    return (size + ALLOCATION_UNIT - 1) // ALLOCATION_UNIT * ALLOCATION_UNIT


def storages(tensors: Iterable[Any]) -> dict[int, int]:
    """The distinct storages behind ``tensors``: identity -> bytes."""
    found: dict[int, int] = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            found[storage._cdata] = storage.nbytes()
    return found


def total_bytes(tensors: Iterable[Any], device_type: str) -> int:
    """Bytes of the distinct storages behind those ``tensors`` that are on ``device_type``."""
    return sum(storages(t for t in tensors if isinstance(t, torch.Tensor) and t.device.type == device_type).values())


class StorageTracker(TorchDispatchMode):
    """While active: ``live`` and ``live_rounded`` bytes now, and their peaks for each phase entered so far."""

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self.device_type = device_type
        self.live = 0
        self.live_rounded = 0
        self.phase_name = "build"
        self.peak: dict[str, int] = {}
        self.peak_rounded: dict[str, int] = {}
        self.operators: set[str] = set()
        self._known: dict[int, weakref.ref[Any]] = {}

    def phase(self, name: str) -> None:
        """From here on, peaks count for ``name``, starting from what is live now."""
        self.phase_name = name
        self._note_peak()

    def _note_peak(self) -> None:
        name = self.phase_name
        self.peak[name] = max(self.peak.get(name, 0), self.live)
        self.peak_rounded[name] = max(self.peak_rounded.get(name, 0), self.live_rounded)

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        size = storage.nbytes()

        def forget(_: Any) -> None:
            if self._known.pop(key, None) is not None:
                self.live -= size
                self.live_rounded -= rounded(size)

        self._known[key] = weakref.ref(storage, forget)
        self.live += size
        self.live_rounded += rounded(size)

    def selects(self, mask: torch.Tensor) -> int:
        """How many elements of a fake ``mask`` are true: all, as ``_scalar`` answers of masks."""
        return mask.numel()

    def _selected(self, tensor: torch.Tensor, masks: list[torch.Tensor]) -> torch.Tensor:
        (mask,) = masks
        return tensor.new_empty((self.selects(mask), *tensor.shape[mask.dim():]))

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is aten._local_scalar_dense.default and isinstance(args[0], FakeTensor):
            return _scalar(args[0])
        self.operators.add(func.name())
        if func is aten.add.Tensor and _engine_would_add_in_place(args, kwargs):
            return aten.add_.Tensor(*args)
        if func is aten.index.Tensor and isinstance(args[0], FakeTensor) and any(_is_mask(i) for i in args[1]):
            result = self._selected(*args)
        elif func is aten.addmm.dtype_out:  # the same kernel as addmm, into what is there
            result = kwargs["out"]
        elif func is aten._grouped_mm.default and isinstance(args[0], FakeTensor):
            result = _grouped_mm(args, kwargs)
        else:
            result = func(*args, **kwargs)
        inside = _made_inside(func, args, kwargs)  # alive beside the result
        for leaf in tree_leaves((result, inside)):
            if isinstance(leaf, torch.Tensor) and leaf.device.type == self.device_type:
                self._add(leaf)
        self._note_peak()
        return result


def _is_mask(index: Any) -> bool:
    return index is not None and index.dtype == torch.bool


def _scalar(tensor: torch.Tensor) -> bool | int | float:
    """What ``.item()`` of a fake tensor answers.

    A half for fractions (an optimizer's step counter or running product), one for integers. For truth values: true on the device (is every position of the
    mask attended to?), false on the host (is this layer dropped at random?).
    """
    if tensor.dtype == torch.bool:
        return tensor.device.type != "cpu"
    return 0.5 if tensor.dtype.is_floating_point else 1


def _made_inside(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What an operator makes and frees on a GPU while it runs, whose kernels do not run here."""
    if func is aten._softmax_backward_data.default:  # SoftMax.cu, softmax_backward_cuda_out: grad * output
        return [torch.empty_like(args[1])]
    return _expanded_weight(func, args, kwargs) if args and isinstance(args[0], FakeTensor) else []


def _expanded_weight(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What bitsandbytes makes inside of a product with a 4-bit weight, whose kernel does not run: the
    weight in the format of the input, and its scales, which are quantised themselves (bitsandbytes 0.50,
    backends/cuda/ops.py, _dequant_linear_fallback: the road of 256 tokens and more on an A100, and of 1,537 and more on
    any GPU)."""
    if func.name() != "bitsandbytes::gemm_4bit":
        return []
    names = ("A", "B", "shapeB", "absmax", "blocksize", "quant_type", "bias", "absmax_8bit")
    given = dict(zip(names, args)) | kwargs
    made = [args[0].new_empty(given["shapeB"])]
    if given.get("absmax_8bit") is not None:
        made += [torch.empty_like(given["absmax_8bit"], dtype=torch.float32) for _ in range(2)]
    return made


def _grouped_mm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    """The grouped matrix product of fake tensors, whose shape rule refuses the types other than bf16 that a GPU takes."""
    half = [a.to(torch.bfloat16) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args]
    return aten._grouped_mm.default(*half, **kwargs).to(args[0].dtype)


def _engine_would_add_in_place(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the autograd engine, summing two gradients of one tensor, would reuse the first one's memory.

    It does so for plain tensors that nobody else holds, but not while any dispatch mode is active. Without this
    the tracker would see an allocation that a plain run does not make.
    """
    if kwargs or len(args) != 2 or not all(isinstance(a, torch.Tensor) for a in args):
        return False
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename in _DISPATCH_WRAPPERS:
        frame = frame.f_back
    if frame.f_code.co_name != "_engine_run_backward":
        return False  # an operator inside a Python function (a recomputed layer), not the engine's own sum
    first, second = args
    return (first.shape == second.shape and first.dtype == second.dtype and first.dim() > 0
            and _is_dense(first) and _unshared(first))


_DISPATCH_WRAPPERS = (torch._dynamo.eval_frame.__file__, torch._compile.__file__)
"""Where the wrappers live that PyTorch puts around every dispatch mode."""


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their range of memory without gap or overlap, in whatever order of dimensions."""
    expected = 1
    for stride, size in sorted((t, s) for t, s in zip(tensor.stride(), tensor.shape) if s != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _unshared(tensor: torch.Tensor) -> bool:
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata) <= _UNSHARED_STORAGE_USES


_UNSHARED_STORAGE_USES = 2
"""The tensor itself and the Python view of its storage."""
