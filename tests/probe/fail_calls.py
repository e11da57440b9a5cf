#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets each call into CUDA, cuBLAS, NCCL and NVML fail in turn, of every command and every allocator:

    tests/probe/fail_calls.py PROGRAM LIBRARIES [--all]

PROGRAM is the probe on fake_cudart.cpp, LIBRARIES the folder of the other fakes. Without --all, every call up to the 25th and then one
in twenty (of what takes a second, six in all). Nothing may crash, nothing may stay held, and every exit code must be one that
docs/probe.md has for it."""

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
            "cudaGetDriverEntryPointByVersion", "cudaDriverGetVersion", "cudaRuntimeGetVersion", "cudaGetDeviceProperties",
            "cudaDeviceGetP2PAttribute")
GIVES_BACK = ("Free", "Destroy", "Unmap", "Release", "Trim", "Synchronize")
ALLOCATORS = ("cuda_malloc", "stream_ordered", "virtual_memory", "pytorch_caching")


class Command:
    def __init__(self, program, libraries, folder, name, arguments, mib, devices=1):
        self.program, self.folder, self.name, self.arguments = program, folder, name, arguments
        self.around = dict(os.environ, LD_LIBRARY_PATH=libraries, LLMRES_FAKE_CUDA_MIB=str(mib), LLMRES_FAKE_CUDA_DEVICES=str(devices))

    def run(self, fail=0, error="cudaErrorUnknown", nvml=0):
        """Exit code, calls, blocks that stayed, the call that failed."""
        log = self.folder / f"{self.name}-{fail}-{nvml}-{error}.log"
        around = dict(self.around, LLMRES_FAKE_CUDA_FAIL=str(fail), LLMRES_FAKE_CUDA_ERROR=str(ERRORS[error]),
                      LLMRES_FAKE_CUDA_LOG=str(log), LLMRES_FAKE_NVML_FAIL=str(nvml))
        done = subprocess.run([self.program, *self.arguments], env=around, capture_output=True, text=True, timeout=300)
        if not log.exists():
            return done.returncode, 0, 0, "nothing: the program did not end by itself"
        calls, leaked, failed = log.read_text().split()
        log.unlink()
        return done.returncode, int(calls), int(leaked), failed

    def wrong(self, fail, error, calls):
        code, _, leaked, failed = self.run(fail, error)
        optional, gives_back = failed in OPTIONAL, any(part in failed for part in GIVES_BACK)
        allowed = {0, 1, 3, 5, 6} if self.name.startswith("alloc") else {0, 1, 3, 5} if self.name.startswith("replay") else {0, 1, 5}
        # An allocator that caches frees segments without a tensor, and asks again; a search goes on where there is no room.
        asks_again = error == "cudaErrorMemoryAllocation" and ("pytorch" in self.name or self.name.endswith("search"))
        what = ""
        if code not in allowed and not (optional and code == 2):  # a device that says nothing of itself is no row of the tables
            what = f"exit {code}"
        elif code == 0 and self.name.startswith(("alloc", "replay", "measure", "calibrate")) and not (
                optional or gives_back or asks_again or fail == calls):
            what = "exit 0"  # the last call is the way out
        elif leaked and not gives_back:
            what = f"{leaked} blocks stayed held"
        return f"{self.name}: call {fail} ({failed}) ends with {error}: {what}" if what else ""

    def wrong_without_nvml(self, question):
        """NVML says nothing that cannot be done without."""
        code, _, leaked, _ = self.run(nvml=question)
        return "" if code in {0, 5, 6} and not leaked else f"{self.name}: question {question} to NVML fails: exit {code}, {leaked} held"


def commands(program, libraries, folder):
    made = lambda name, mib, *arguments, devices=1: Command(program, libraries, folder, name, arguments, mib, devices)

    def document(name, **fields):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"model": {"from": "smollm2-135m", "layers": 1}, "runtime": "pytorch", **fields}))
        return str(path)

    job = document("job", task="serving", batch=1, context=128)
    plan = str(folder / "plan.json")
    subprocess.run([program, "plan", job, f"--json={plan}"], check=True)
    step = document("step", task="finetuning", micro_batch=1, sequence=128, layout={})
    yield made("list", 4096, "list", devices=2)
    yield made("describe", 4096, "describe", "--all", devices=2)
    yield made("plan", 24564, "plan", job)
    yield made("plan-fill", 24564, "plan", job, "--fill", "50")
    for allocator in ALLOCATORS:
        yield made(f"alloc-{allocator}", 24564, "alloc", plan, "--repeats", "1", "--allocator", allocator, "--any-gpu")
    for allocator in (*ALLOCATORS, "pytorch_expandable"):
        yield made(f"replay-{allocator}", 24564, "replay", step, "--steps", "1", "--allocator", allocator)
    yield made("alloc-search", 1400, "alloc", plan, "--search", "batch", "--any-gpu")
    figures = ("--quick", "--repeats", "1", "--warm", "0", "--long", "0")
    yield made("measure", 300, "measure", *figures, devices=2)
    yield made("calibrate", 300, "calibrate", *figures, "--out", str(folder / "calibrated.json"), devices=2)


def main(program, libraries, every):
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command in commands(program, libraries, pathlib.Path(folder)):
            code, calls, leaked, _ = command.run()
            if code != 0 or leaked:
                wrong.append(f"{command.name}: exit {code}, {leaked} blocks stayed held, though nothing failed")
            slow = command.name in ("measure", "calibrate", "alloc-search")
            all_of_it = every and command.name != "calibrate"  # whose calls are those of `measure`
            numbers = [n for n in range(1, calls + 1) if all_of_it or (n % (calls // 3 + 1) == 1 if slow else n <= 25 or n % 20 == 0)]
            jobs = [pool.submit(command.wrong, n, error, calls) for n in numbers for error in ERRORS]
            questions = 0 if slow and not all_of_it else 120 if all_of_it else 12
            jobs += [pool.submit(command.wrong_without_nvml, n + 1) for n in range(questions)]
            here = [said for said in (job.result() for job in jobs) if said]
            wrong += here
            tried += len(jobs)
            print(f"{command.name}: {calls} calls, {len(jobs)} failures tried, {len(here)} wrong", *here[:8], sep="\n  ", flush=True)
    print("\n".join(wrong[:40]) if wrong else f"{tried} failures: every exit code is a documented one, nothing crashes or stays held")
    return 1 if wrong or tried < 100 else 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(sys.argv[2]).resolve()), "--all" in sys.argv))
