# SPDX-License-Identifier: MIT
"""A CUDA device that is not there: fake tensors on ``cuda`` with forward, autocast, autograd and optimizers.

Fake tensors know shape, dtype and device and hold no memory. PyTorch dispatches them as it does real CUDA
tensors (CUDA autograd formulas, CUDA autocast lists, foreach optimizers), so what is kept alive is what a GPU
would keep alive. What is *not* seen: memory that one kernel allocates and frees inside itself (cuBLAS
workspaces, the fp32 dQ accumulator of flash attention's backward pass).
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

_SOURCE = pathlib.Path(__file__).with_name("fake_gpu.cpp")


def _build_hooks() -> pathlib.Path:
    """Compiles fake_gpu.cpp against the installed PyTorch, once per source and PyTorch version."""
    key = hashlib.sha256(_SOURCE.read_bytes() + torch.__version__.encode()).hexdigest()[:16]
    folder = pathlib.Path(os.environ.get("LLMRES_REFERENCE_CACHE", tempfile.gettempdir()))
    library = folder / f"llmres_fake_gpu_{key}.so"
    if not library.exists():
        root = pathlib.Path(torch.__file__).parent
        partial = library.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC", str(_SOURCE),
             f"-I{root / 'include'}", f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", "-o", str(partial)],
            check=True)
        partial.rename(library)
    return library


def pretend_capability(capability: tuple[int, int]) -> None:
    """What ``torch.cuda.get_device_capability`` answers from now on."""
    torch.cuda.get_device_capability = lambda device=None: capability


def install() -> None:
    """Makes ``cuda`` usable for fake tensors in this process. There is no way back: one process, one device kind."""
    if torch.cuda.is_available():
        raise RuntimeError("this machine has a real GPU: hide it (CUDA_VISIBLE_DEVICES=) or use --device cuda")
    ctypes.CDLL(str(_build_hooks())).install_fake_gpu()
    logging.getLogger(FakeTensorMode.__module__).setLevel(logging.CRITICAL)  # it prints each refusal in full
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda including_emulation=True: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.utils.swap_tensors = _swap_despite_weak_references(torch.utils.swap_tensors)
    _treat_fake_tensors_as_real()
    # Optimizers loop over parameters one by one unless their type is listed:
    sys.modules["torch.optim.optimizer"]._foreach_supported_types.append(FakeTensor)


def _swap_despite_weak_references(swap):
    """``torch.utils.swap_tensors`` without its refusal of weakly referenced tensors, which fake parameters are.

    ``Module.to`` swaps fake parameters (it assigns to real ones); peft calls it on every adapter.
    """
    def swap_tensors(first: torch.Tensor, second: torch.Tensor) -> None:
        with mock.patch("weakref.getweakrefs", return_value=[]):
            swap(first, second)
    return swap_tensors


@contextlib.contextmanager
def fake_tensors() -> Iterator[FakeTensorMode]:
    """Within it, every new tensor is fake."""
    with FakeTensorMode(allow_non_fake_inputs=False) as mode:
        yield mode


def _treat_fake_tensors_as_real() -> None:
    """Stops transformers from taking fake tensors for a graph export, for which it builds masks it skips otherwise."""
    from transformers.utils import import_utils
    import_utils.is_fake_tensor = lambda tensor: False
