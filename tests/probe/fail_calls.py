#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets each call into CUDA fail in turn, of every command and every allocator:

    tests/probe/fail_calls.py PROGRAM [--all]

PROGRAM is the probe on fake_cudart.cpp. Without --all, every call up to the 25th and then one in twenty, and no searches and
measurements, whose runs take a second; with it every call, of these the first 8 and 4 later ones. Nothing may crash, nothing may stay held, and every exit code must be one that docs/probe.md has for it."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ERRORS = {"cudaErrorUnknown": 999, "cudaErrorMemoryAllocation": 2}
# What says something of a device that the command can do without.
OPTIONAL = ("cudaDeviceGetAttribute", "cudaDeviceGetPCIBusId", "cuDeviceGetUuid", "cuMemGetAllocationGranularity",
            "cudaGetDriverEntryPointByVersion", "cudaDriverGetVersion", "cudaRuntimeGetVersion", "cudaGetDeviceProperties")
GIVES_BACK = ("Free", "Destroy", "Unmap", "Release", "Trim", "Synchronize")


class Command:
    def __init__(self, program, folder, name, arguments, mib):
        self.program, self.folder, self.name, self.arguments, self.mib = program, folder, name, arguments, mib

    def run(self, fail=0, error="cudaErrorUnknown"):
        """Exit code, calls, blocks that stayed, the call that failed."""
        log = self.folder / f"{self.name}-{fail}-{error}.log"
        around = dict(os.environ, LLMRES_FAKE_CUDA_MIB=str(self.mib), LLMRES_FAKE_CUDA_FAIL=str(fail),
                      LLMRES_FAKE_CUDA_ERROR=str(ERRORS[error]), LLMRES_FAKE_CUDA_LOG=str(log))
        done = subprocess.run([self.program, *self.arguments], env=around, capture_output=True, text=True, timeout=120)
        if not log.exists():
            return done.returncode, 0, 0, "nothing: the program did not end by itself"
        calls, leaked, failed = log.read_text().split()
        log.unlink()
        return done.returncode, int(calls), int(leaked), failed

    def wrong(self, fail, error, calls):
        code, _, leaked, failed = self.run(fail, error)
        optional, gives_back = failed in OPTIONAL, any(part in failed for part in GIVES_BACK)
        allowed = {0, 1, 3, 5, 6} if self.name.startswith("alloc") else {0, 1, 3, 5} if self.name.startswith("replay") else {0, 1, 5}
        what = ""
        if code not in allowed and not (optional and code == 2):  # a device that says nothing of itself is no row of the tables
            what = f"exit {code}"
        elif code == 0 and (self.name, error) == ("replay-pytorch_caching", "cudaErrorMemoryAllocation"):
            pass  # it frees segments without a tensor, and asks again
        elif code == 0 and self.name.startswith(("alloc", "replay")) and not (optional or gives_back or fail == calls):  # the last: the way out
            what = "exit 0"
        elif leaked and not gives_back:
            what = f"{leaked} blocks stayed held"
        return f"{self.name}: call {fail} ({failed}) ends with {error}: {what}" if what else ""


def commands(program, folder):
    made = lambda name, mib, *arguments: Command(program, folder, name, arguments, mib)
    job = folder / "job.json"
    job.write_text(json.dumps({"model": {"from": "smollm2-135m", "layers": 1}, "task": "serving", "runtime": "pytorch",
                               "batch": 1, "context": 128}))
    plan = folder / "plan.json"
    subprocess.run([program, "plan", job, f"--json={plan}"], check=True)
    yield made("list", 4096, "list")
    yield made("describe", 4096, "describe")
    yield made("plan", 24564, "plan", str(job))
    for allocator in ("cuda_malloc", "stream_ordered", "virtual_memory", "pytorch_caching"):
        yield made(f"alloc-{allocator}", 24564, "alloc", str(plan), "--repeats", "1", "--allocator", allocator, "--any-gpu")
    step = folder / "step.json"
    step.write_text(json.dumps({"model": {"from": "smollm2-135m", "layers": 1}, "task": "finetuning", "runtime": "pytorch",
                                "micro_batch": 1, "sequence": 128, "layout": {}}))
    for allocator in ("virtual_memory", "pytorch_caching", "pytorch_expandable"):
        yield made(f"replay-{allocator}", 24564, "replay", str(step), "--steps", "1", "--allocator", allocator)
    yield made("alloc-search", 1200, "alloc", str(plan), "--search", "batch", "--any-gpu")
    yield made("measure", 160, "measure", "--quick", "--repeats", "1")
    yield made("calibrate", 160, "calibrate", "--quick", "--repeats", "1", "--out", str(folder / "calibrated.json"))


def main(program, every):
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command in commands(program, pathlib.Path(folder)):
            slow = command.name in ("measure", "calibrate", "alloc-search", "replay-virtual_memory", "replay-pytorch_expandable")
            if slow and not every:
                continue
            code, calls, leaked, _ = command.run()
            expected = {1, 5} if command.name in ("measure", "calibrate") else {0}  # no cuBLAS works here
            if code not in expected or leaked:
                wrong.append(f"{command.name}: exit {code}, {leaked} blocks stayed held, though nothing failed")
            first, step = (8, calls // 4) if slow else (calls, 1) if every else (25, 20)
            numbers = [n for n in range(1, calls + 1) if n <= first or n % step == 0]
            jobs = [pool.submit(command.wrong, n, error, calls) for n in numbers for error in ERRORS]
            here = [said for said in (job.result() for job in jobs) if said]
            wrong += here
            tried += len(jobs)
            print(f"{command.name}: {calls} calls, {len(jobs)} failures tried, {len(here)} wrong", *here[:8], sep="\n  ", flush=True)
    print("\n".join(wrong[:40]) if wrong else f"{tried} failures: every exit code is a documented one, nothing crashes or stays held")
    return 1 if wrong or tried < 100 else 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), "--all" in sys.argv))
