#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets each call into CUDA, cuBLAS, NCCL and NVML fail in turn, of every command and every allocator:

    tests/probe/fail_calls.py PROGRAM LIBRARIES [--all] [--workers N] [--only NAME] [--part I/N]

PROGRAM is the probe on fake_cudart.cpp, LIBRARIES the folder of the other fakes. --all: every call of every command, and every question
to NVML. Without it, every call up to the 25th and then one in twenty (of what takes a second, six in all).
Nothing may crash, nothing may stay held, and every exit code must be one that docs/probe.md has for it."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ERRORS = {"cudaErrorUnknown": 999, "cudaErrorMemoryAllocation": 2}
# What says something of a device that the command can do without.
OPTIONAL = ("cudaDeviceGetAttribute", "cudaDeviceGetPCIBusId", "cuDeviceGetUuid", "cuMemGetAllocationGranularity",
            "cudaGetDriverEntryPointByVersion", "cudaDriverGetVersion", "cudaRuntimeGetVersion", "cudaGetDeviceProperties",
            "cudaDeviceGetP2PAttribute")
GIVES_BACK = ("Free", "Destroy", "Unmap", "Release", "Trim", "Synchronize")
WAY_OUT = ("cudaSetDevice", "cudaDeviceReset")
# Small, so that filling memory takes no time.
MODEL = {"vocabulary": 4096, "hidden": 256, "layers": 1, "attention": {"heads": 4, "kv_heads": 2}, "feed_forward": {"width": 512}}
ALLOCATORS = ("cuda_malloc", "stream_ordered", "virtual_memory", "pytorch_caching")


class Command:
    def __init__(self, program, libraries, folder, name, arguments, mib, devices=1, shown=1 << 20):
        self.program, self.folder, self.name, self.arguments = program, folder, name, arguments
        self.devices = devices
        self.asked = 0  # questions to NVML, where nothing fails
        self.around = dict(os.environ, LD_LIBRARY_PATH=libraries, LLMRES_FAKE_CUDA_MIB=str(mib), LLMRES_FAKE_CUDA_DEVICES=str(devices), LLMRES_FAKE_CUDA_SHOWN_MIB=str(shown))

    def run(self, fail=0, error="cudaErrorUnknown", nvml=0):
        """Exit code, calls, blocks that stayed, the call that failed."""
        log, asked = (self.folder / f"{self.name}-{fail}-{nvml}-{error}.{end}" for end in ("log", "asked"))
        around = dict(self.around, LLMRES_FAKE_CUDA_FAIL=str(fail), LLMRES_FAKE_CUDA_ERROR=str(ERRORS[error]),
                      LLMRES_FAKE_CUDA_LOG=str(log), LLMRES_FAKE_NVML_FAIL=str(nvml), LLMRES_FAKE_NVML_LOG=str(asked))
        done = subprocess.run([self.program, *self.arguments], env=around, capture_output=True, text=True, timeout=300)
        if asked.exists():
            self.asked = max(self.asked, int(asked.read_text())) if not fail and not nvml else self.asked
            asked.unlink()
        if not log.exists():
            return done.returncode, 0, 0, "nothing: the program did not end by itself"
        calls, leaked, failed = log.read_text().split()
        log.unlink()
        return done.returncode, int(calls), int(leaked), failed

    def numbers(self, calls, every):
        """Which calls fail, from 1."""
        if every:
            return range(1, calls + 1)
        slow = self.name in ("calibrate", "alloc-search")
        return [n for n in range(1, calls + 1) if (n % (calls // 3 + 1) == 1 if slow else n <= 25 or n % 20 == 0)]

    def wrong(self, fail, error, calls):
        code, _, leaked, failed = self.run(fail, error)
        optional, gives_back = failed in OPTIONAL, any(part in failed for part in GIVES_BACK)
        allowed = {0, 1, 3, 5, 6} if self.name.startswith("alloc") else {0, 1, 3, 5} if self.name.startswith("replay") else {0, 1, 5}
        # An allocator that caches frees segments without a tensor, and asks again; a search goes on where there is no room.
        asks_again = error == "cudaErrorMemoryAllocation" and ("pytorch" in self.name or self.name.endswith("search"))
        # The way out: each device is made the current one, and given back.
        way_out = fail > calls - self.devices and failed in WAY_OUT
        what = ""
        if code not in allowed and not (optional and code == 2):  # a device that says nothing of itself is no row of the tables
            what = f"exit {code}"
        elif code == 0 and self.name.startswith(("alloc", "replay", "calibrate")) and not (
                optional or gives_back or asks_again or way_out):
            what = "exit 0"
        elif leaked and not gives_back:
            what = f"{leaked} blocks stayed held"
        return f"{self.name}: call {fail} ({failed}) ends with {error}: {what}" if what else ""

    def wrong_without_nvml(self, question):
        """NVML says nothing that cannot be done without."""
        code, _, leaked, _ = self.run(nvml=question)
        return "" if code in {0, 5, 6} and not leaked else f"{self.name}: question {question} to NVML fails: exit {code}, {leaked} held"


def commands(program, libraries, folder):
    made = lambda name, mib, *arguments, **more: Command(program, libraries, folder, name, arguments, mib, **more)

    def document(name, **fields):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"model": MODEL, "runtime": "pytorch", **fields}))
        return str(path)

    job = document("job", task="serving", batch=1, context=128)
    long = document("long", task="serving", batch=1, context=4096)  # of which few fit
    step = document("step", task="finetuning", micro_batch=1, sequence=128, layout={})
    yield made("describe", 4096, "describe", devices=2)
    yield made("plan", 24564, "plan", job)
    yield made("plan-fill", 24564, "plan", job, "--fill", "50")
    for allocator in ALLOCATORS:
        yield made(f"alloc-{allocator}", 24564, "alloc", job, "--repeats", "1", "--allocator", allocator)
    for allocator in (*ALLOCATORS, "pytorch_expandable"):
        yield made(f"replay-{allocator}", 24564, "replay", step, "--steps", "1", "--allocator", allocator)
    yield made("alloc-search", 1400, "alloc", long, "--search", "batch")
    figures = ("--quick", "--repeats", "1", "--warm", "0", "--long", "0")
    # Of 64 MiB free, figures take 16, which are soon written; the products' matrices take more of the fake, unwritten.
    yield made("calibrate", 300, "calibrate", *figures, "--out", str(folder / "calibrated.json"), devices=2, shown=64)


def questions_of(command, every):
    """What is measured asks NVML every 10 ms: of those questions as many as one run asked."""
    if every:
        return command.asked
    return 0 if command.name in ("calibrate", "alloc-search") else 12


def main(program, libraries, every, workers, only, part):
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for command in commands(program, libraries, pathlib.Path(folder)):
            if only not in command.name:
                continue
            begin = time.monotonic()
            code, calls, leaked, _ = command.run()
            if code != 0 or leaked:
                wrong.append(f"{command.name}: exit {code}, {leaked} blocks stayed held, though nothing failed")
            failures = [(command.wrong, n, error, calls) for n in command.numbers(calls, every) for error in ERRORS]
            failures += [(command.wrong_without_nvml, n + 1) for n in range(questions_of(command, every))]
            jobs = [pool.submit(*failure) for failure in failures[part[0] - 1 :: part[1]]]
            here = [said for said in (job.result() for job in jobs) if said]
            wrong += here
            tried += len(jobs)
            print(f"{command.name}: {calls} calls, {command.asked} questions to NVML, {len(jobs)} failures tried in {time.monotonic() - begin:.0f} s, {len(here)} wrong", *here[:8],
                  sep="\n  ", flush=True)
    print("\n".join(wrong[:40]) if wrong else f"{tried} failures: every exit code is a documented one, nothing crashes or stays held")
    return 1 if wrong or tried < (1 if only or part[1] > 1 else 100) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("libraries", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--all", action="store_true", dest="every")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", metavar="NAME", help="of commands whose name has it")
    parser.add_argument("--part", type=lambda given: [int(n) for n in given.split("/")], default=[1, 1], metavar="I/N",
                        help="every N-th failure from the I-th on, so that a long run can be had in pieces")
    sys.exit(main(**vars(parser.parse_args())))
