# SPDX-License-Identifier: MIT
"""The same case on a real GPU, untracked: what the caching allocator says, pass by pass."""

from __future__ import annotations

import gc
import time

import torch

from memory_reference import measure, optimizers
from memory_reference.families import FAMILIES
from memory_reference.measure import Case, Result

PASSES = ("forward", "loss", "backward", "step")
COLUMNS = ("allocated_static_bytes", "allocated_saved_bytes", *(f"allocated_{name}_peak_bytes" for name in PASSES),
           "allocated_peak_bytes", "reserved_peak_bytes", "step_s", "threads", "device_name")


class AllocatorPeaks:
    """The allocator's peak in each pass, above what was allocated before the case."""

    def __init__(self) -> None:
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()  # those of earlier cases: each allocates its own
        torch.cuda.empty_cache()
        self.before = torch.cuda.memory_allocated()
        self.retries = torch.cuda.memory_stats().get("num_alloc_retries", 0)
        self.peaks: dict[str, int] = {}
        self.current = "build"

    def enter(self, name: str) -> None:
        """From here on, the peak is that of ``name``."""
        self.peaks[self.current] = max(self.peaks.get(self.current, 0), torch.cuda.max_memory_allocated() - self.before)
        torch.cuda.reset_peak_memory_stats()
        self.current = name

    def must_have_had_room(self) -> None:
        """What a full device makes the allocator give back would not be counted as reserved."""
        if torch.cuda.memory_stats().get("num_alloc_retries", 0) > self.retries:
            raise RuntimeError("the device ran short of memory, and the allocator gave blocks back")


def run(case: Case) -> Result:
    """Three iterations; peaks are of the first two, and the third one is timed."""
    peaks = AllocatorPeaks()
    model = measure.build_model(case, "cuda")
    optimizer = optimizers.make(case.optimizer, model)
    row: dict[str, int | float | str] = {"allocated_static_bytes": torch.cuda.memory_allocated() - peaks.before}
    inputs = measure.cast_inputs(FAMILIES[case.family].inputs(case.shape, case.batch, case.sequence, "cuda"), case)
    head = measure._base(model).get_output_embeddings()
    at_head = head.register_forward_pre_hook(lambda *_: peaks.enter(f"loss_{iteration}")) if head else None
    for iteration in (1, 2, 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for micro_batch in range(case.accumulate):
            start = torch.cuda.memory_allocated()
            peaks.enter(f"forward_{iteration}")
            loss = measure.forward(model, inputs, case, "cuda")
            if iteration == 1 and micro_batch == 0:
                row["allocated_saved_bytes"] = torch.cuda.memory_allocated() - start
            peaks.enter(f"backward_{iteration}")
            measure.backward(optimizer, loss)
            del loss
        peaks.enter(f"step_{iteration}")
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        row["step_s"] = round(time.perf_counter() - begin, 6)
        peaks.enter("between")
    peaks.must_have_had_room()
    if at_head:
        at_head.remove()
    row |= {f"allocated_{name}_peak_bytes": peaks.peaks.get(f"{name}_2", "") for name in PASSES}
    row |= {"allocated_peak_bytes": max(peak for name, peak in peaks.peaks.items() if name[-1] in "12"),
            "reserved_peak_bytes": torch.cuda.memory_reserved(),
            "threads": 1 + torch.autograd.is_multithreading_enabled(),  # that multiply, each with a handle of cuBLAS
            "device_name": torch.cuda.get_device_name()}
    return Result(row, [])
