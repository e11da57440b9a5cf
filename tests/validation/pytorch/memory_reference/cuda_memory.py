# SPDX-License-Identifier: MIT
"""The same case on a real GPU: what the caching allocator says, beside what the tracker counts."""

from __future__ import annotations

import contextlib
import gc

import torch

from memory_reference import measure
from memory_reference.measure import Case, Result

COLUMNS = ("allocated_static_bytes", "allocated_saved_bytes", "allocated_peak_bytes", "reserved_peak_bytes",
           "device_used_bytes", "device_name")


def _device_used() -> int:
    """Bytes in use on the device by everything, as the driver (NVML) reports them."""
    with contextlib.suppress(Exception):
        import pynvml
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        return pynvml.nvmlDeviceGetMemoryInfo(handle).used
    free, total = torch.cuda.mem_get_info()
    return total - free


def _untracked(case: Case) -> dict[str, int | str]:
    """Two iterations without any tracking: the plain run."""
    from memory_reference import optimizers
    from memory_reference.families import FAMILIES
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    model = measure.build_model(case, "cuda")
    optimizer = optimizers.make(case.optimizer, model)
    static = torch.cuda.memory_allocated() - before
    inputs = measure.cast_inputs(FAMILIES[case.family].inputs(case.shape, case.batch, case.sequence, "cuda"), case)
    torch.cuda.reset_peak_memory_stats()
    row: dict[str, int | str] = {"allocated_static_bytes": static, "device_name": torch.cuda.get_device_name()}
    for iteration in (1, 2):
        start = torch.cuda.memory_allocated()
        loss = measure.forward(model, inputs, case, "cuda")
        if iteration == 1:
            row["allocated_saved_bytes"] = torch.cuda.memory_allocated() - start
        measure.backward(optimizer, loss)
        del loss
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return row | {
        "allocated_peak_bytes": torch.cuda.max_memory_allocated() - before,
        "reserved_peak_bytes": torch.cuda.max_memory_reserved(), "device_used_bytes": _device_used(),
    }


def run(case: Case) -> Result:
    """The allocator's view of a plain run, then the tracker's view of a second one."""
    plain = _untracked(case)
    gc.collect()
    torch.cuda.empty_cache()
    tracked = measure.run(case, "cuda")
    return Result(tracked.row | plain, tracked.saved)
