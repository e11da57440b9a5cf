#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs llama.cpp on a GPU, on models of real_models.py, and writes a line of JSON for each job: its document, the buffers that llama.cpp
printed and what NVML saw, and the seconds of a prompt and of a token.

usage: run_on_gpu.py BATCHED_BENCH FOLDER BUILD GPU > ROWS.jsonl

BATCHED_BENCH is llama.cpp's llama-batched-bench, built for CUDA, FOLDER has room for three models at a time, BUILD is its build number
(b11549), GPU what the cluster of a document calls the device. Nothing else may run on the device."""
import concurrent.futures
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pynvml

from real_models import MODELS, write
from run_builds import printed

FORMATS = {"f16": "fp16", "q8_0": "q8_0"}


def job(batch, prompt, output=64, ubatch=512, flash=True, kv="f16"):
    """Sequences that are prompted together and generate together. Their cells are a multiple of 256."""
    return {"batch": batch, "prompt": prompt, "output": output, "context": -(-(prompt + output) // 256) * 256, "ubatch": ubatch,
            "flash": flash, "kv": kv}


ONE = [job(1, 512), job(1, 8192)]


def batches(*sizes):
    return [job(batch, 512) for batch in sizes]


JOBS = {
    "llama-8b-q4_k_m": [*ONE, *batches(2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64), job(1, 128), job(1, 2048), job(1, 32768),
                        job(1, 2048, flash=False), job(8, 1024, flash=False), job(1, 8192, kv="q8_0"), job(16, 512, kv="q8_0"),
                        job(1, 8192, ubatch=2048), job(16, 2048)],
    "llama-8b-f16": [*ONE, *batches(2, 4, 8, 16, 64)],
    "llama-1b-q4_k_m": [*ONE, *batches(4, 16, 64)],
    "llama-1b-f16": [*ONE, *batches(4, 16, 64)],
    "qwen3-30b-a3b-q4_k_m": [*ONE, *batches(2, 4, 8, 16, 32, 64)],
    "llama-8b-q8_0": [*ONE, *batches(4, 16, 64)],
    "llama-8b-q6_k": [*ONE, *batches(4, 16, 64)],
    "qwen2.5-32b-quarter-q4_k_m": [*ONE, *batches(4, 16, 64)],
    "gemma-12b-q4_k_m": [*ONE, *batches(4, 16, 64)],
    "llama-70b-quarter-q4_k_m": [*ONE, *batches(4, 16, 64)],
    "qwen3-30b-a3b-half-q8_0": [*ONE, *batches(4, 16)],
}


def document(name, asked, build, gpu):
    _, _, described, quantisation = MODELS[name]
    return {"model": described, "task": "serving", "weights": quantisation,
            "runtime": {"name": f"llama.cpp@{build}", "flash_attn": asked["flash"], "ubatch_size": asked["ubatch"],
                        "parallel": asked["batch"]},
            "context": asked["context"], "prompt": asked["prompt"], "output": asked["output"], "batch": asked["batch"],
            "kv_cache": FORMATS[asked["kv"]], "cluster": {"gpu": gpu}}


def printed_of_gpu(log):
    """Buffers of the first GPU by name, in MiB: those on the host stay out."""
    return printed("\n".join(line for line in log.splitlines() if "CUDA0" in line))


def most_used(device, process, ends):
    """The most bytes that the device had in use while the process ran."""
    while process.poll() is None:
        ends.append(pynvml.nvmlDeviceGetMemoryInfo(device).used)
        time.sleep(0.02)


def run(program, model, asked, device):
    """What llama.cpp printed of its buffers in MiB, bytes of the device, and seconds."""
    before = pynvml.nvmlDeviceGetMemoryInfo(device).used
    cells = asked["context"] * asked["batch"]
    command = [program, "-m", model, "-ngl", "99", "-c", cells, "-b", max(2048, asked["ubatch"]), "-ub", asked["ubatch"],
               "-npp", f"{asked['prompt']},{asked['prompt']}", "-ntg", asked["output"], "-npl", asked["batch"], "-fa", "on" if asked["flash"] else "off",
               "-ctk", asked["kv"], "-ctv", asked["kv"], "--output-format", "jsonl", "-lv", "4"]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    used = [before]
    watch = threading.Thread(target=most_used, args=(device, process, used))
    watch.start()
    log = process.communicate(timeout=120)[0]
    watch.join()
    timed = [json.loads(line[line.index("{"):]) for line in log.splitlines() if '"t_pp"' in line]
    if not timed:
        print("no times:", command, log[-2000:], file=sys.stderr)
        return None
    last = timed[-1]  # in the first of two rounds libraries and kernels load
    return {"printed_mib": printed_of_gpu(log), "device_bytes": max(used) - before, "prompt_s": last["t_pp"], "token_s": last["t_tg"] / asked["output"]}


def main(program, folder, build, gpu):
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    folder = Path(folder)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        names = list(JOBS)
        ready = [pool.submit(write, folder, name) for name in names[:2]]
        for at, name in enumerate(names):
            ready[at].result()
            if at + 2 < len(names):  # while this one runs
                ready.append(pool.submit(write, folder, names[at + 2]))
            for asked in JOBS[name]:
                took = run(program, folder / f"{name}.gguf", asked, device)
                if took:
                    cut = {key: asked[key] for key in ("ubatch", "flash", "kv") if asked[key] != job(1, 1)[key]}
                    label = " ".join([f"{name}, {asked['batch']} x {asked['prompt']}", *(f"{k} {v}" for k, v in cut.items())])
                    print(json.dumps({"id": label, "document": document(name, asked, build, gpu), "measured": took}), flush=True)
            (folder / f"{name}.gguf").unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
