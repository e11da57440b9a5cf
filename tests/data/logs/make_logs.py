#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes logs in the formats of engines, with the figures of measured rows, and beside them what a reader must find.

The sentences around the figures are this project's own; the words that engines print before a figure are theirs
(include/llmres/io/logs/ names the source files).

    make_logs.py SERVING.csv TRAINING.csv GOLDEN.csv FOLDER
"""
import csv
import json
import re
import sys
from pathlib import Path

GIB, MIB = 2**30, 2**20


def number(text):
    found = re.match(r"-?[\d.]+", text or "")
    return float(found[0]) if found else None


class Log:
    """The lines of a log, and the figures in it."""

    def __init__(self, row, engine):
        self.id, self.engine, self.lines, self.expected, self.names = row, engine, [], {}, {}

    def add(self, line):
        self.lines.append(line)

    def expect(self, what, value, places=1.0):
        if value is not None:
            self.expected[what] = [value, places]


def vllm(r):
    log = Log(r["id"], "vllm")
    version = re.search(r"\d+\.\d+(\.\d+)?", r["engine_version"])[0]
    first = "V0" in r["engine_version"] or int(version.split(".")[1]) < 7
    tensor, length = int(r["tp"] or 1), number(r["max_model_len"])
    share, total = number(r["gpu_mem_util"]), number(r["gpu_total_gib"])
    ranks = [f"(VllmWorkerProcess pid={200 + i}) " if first else f"(Worker_TP{i} pid={200 + i}) " for i in range(tensor)]
    if tensor == 1:
        ranks = ["" if first else "(EngineCore_DP0 pid=77) "]
    head = "INFO 03-14 09:12:41 "
    if not first:
        log.add(f"\x1b[1;36m(APIServer pid=7)\x1b[0;0m {head}[api_server.py:1839] vLLM API server version {version}")
        flags = {"model": r["model"].replace(" ", "-")}
        if length:
            flags["max_model_len"] = int(length)
        if share:
            flags["gpu_memory_utilization"] = share
        log.add(f"(APIServer pid=7) {head}[utils.py:233] non-default args: {flags}")
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", r["model"]).strip("-")
    engine = "an LLM engine" if first else "a V1 LLM engine"
    log.add(f"{head}[llm_engine.py:249] Initializing {engine} (v{version}) with config: model='{model}', "
            f"speculative_config=None, dtype=torch.bfloat16, "
            + (f"max_seq_len={int(length)}, " if length else "")
            + f"tensor_parallel_size={tensor}, pipeline_parallel_size=1, quantization=None, enforce_eager=False, "
            f"kv_cache_dtype=auto, device_config=cuda")
    log.names = {"version": version, "model": model}
    log.expect("context", int(length) if length else None)
    log.expect("tensor", tensor)
    weights, pool = number(r["weights_gib_per_gpu"]), number(r["kv_cache_gib_per_gpu"])
    peak, beside = number(r["activation_gib"]), number(r["non_torch_gib"])
    for rank in ranks:
        if weights:
            took = f"Loading model weights took {weights:.4f} GB" if first else \
                f"Model loading took {weights:.4f} GiB and 13.204526 seconds"
            log.add(f"{rank}{head}[gpu_model_runner.py:1289] {took}")
    if weights:
        log.expect("weights", weights * GIB, 1e-4 * GIB)
    if share and total:
        log.expect("fraction", share)
    if peak is not None and beside is not None and weights and pool and share and total:
        for rank in ranks:
            if not first:
                log.add(f"{rank}DEBUG 03-14 09:12:41 [gpu_worker.py:302] Memory profiling takes 6.42 seconds. Total non KV "
                        f"cache memory: {weights + beside + peak:.2f}GiB; torch peak memory increase: {peak:.2f}GiB; "
                        f"non-torch forward increase memory: {beside:.2f}GiB; weights memory: {weights:.2f}GiB.")
                log.add(f"{rank}{head}[gpu_worker.py:227] Available KV cache memory: {pool:.2f} GiB")
                continue
            log.add(f"{rank}{head}[worker.py:267] Memory profiling takes 6.42 seconds")
            log.add(f"{rank}{head}[worker.py:267] the current vLLM instance can use total_gpu_memory ({total:.2f}GiB) x "
                    f"gpu_memory_utilization ({share:.2f}) = {total * share:.2f}GiB")
            log.add(f"{rank}{head}[worker.py:267] model weights take {weights:.2f}GiB; non_torch_memory takes "
                    f"{beside:.2f}GiB; PyTorch activation peak memory takes {peak:.2f}GiB; the rest of the memory "
                    f"reserved for KV Cache is {pool:.2f}GiB.")
        log.expect("activation_peak", peak * GIB, 0.01 * GIB)
        log.expect("beside_tensors", beside * GIB, 0.01 * GIB)
        log.expect("pool", pool * GIB, 0.01 * GIB)
        log.expect("device_total", total * GIB if first else None, 0.01 * GIB)
    elif pool:
        for rank in ranks:
            log.add(f"{rank}{head}[gpu_worker.py:227] Available KV cache memory: {pool:.2f} GiB")
        log.expect("pool", pool * GIB, 0.01 * GIB)
    if tokens := number(r["kv_tokens"]):
        if not first:
            log.add(f"{head}[kv_cache_utils.py:566] GPU KV cache size: {int(tokens):,} tokens")
            log.expect("pool_tokens", tokens)
    if (blocks := number(r["kv_blocks"])) and first:
        log.add(f"{head}[executor_base.py:111] # cuda blocks: {int(blocks)}, # CPU blocks: 2048")
        log.expect("pool_blocks", blocks)
    graphs = number(r["cuda_graph_gib"])
    if graphs is not None:
        log.add(f"{ranks[0]}{head}[gpu_model_runner.py:1933] Graph capturing finished in 20 secs, took {graphs:.2f} GiB")
        log.expect("cuda_graphs", graphs * GIB, 0.01 * GIB)
    log.add(f"{head}[async_llm.py:269] Received request cmpl-1: prompt: 'Available KV cache memory: 9999.00 GiB', params")
    if first and not (peak is not None and pool and beside is not None):
        log.expected.pop("fraction", None)
    return log


def sglang(r):
    log = Log(r["id"], "sglang")
    tensor, share = int(r["tp"]), number(r["gpu_mem_util"])
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", r["model"]).strip("-")
    log.names = {"model": model}
    log.add(f"[2025-07-20 10:00:00] server_args=ServerArgs(model_path='{model}', tokenizer_mode='auto', "
            + (f"mem_fraction_static={share}, " if share else "") + f"tp_size={tensor}, kv_cache_dtype='auto')")
    log.expect("tensor", tensor)
    log.expect("fraction", share)
    weights, pool, tokens = (number(r[k]) for k in ("weights_gib_per_gpu", "kv_cache_gib_per_gpu", "kv_tokens"))
    for rank in range(tensor):
        at = f"[2025-07-20 10:01:00 TP{rank}]"
        if weights:
            log.add(f"{at} Load weight end. type=AForCausalLM, dtype=torch.bfloat16, avail mem=10.00 GB, "
                    f"mem usage={weights:.2f} GB.")
        log.add(f"{at} KV Cache is allocated. #tokens: {int(tokens)}, K size: {pool / 2:.3f} GB, V size: {pool / 2:.3f} GB")
    log.expect("weights", weights * GIB if weights else None, 0.01 * GIB)
    log.expect("pool", pool * GIB, 0.002 * GIB)
    log.expect("pool_tokens", tokens)
    return log


def tensorrt_llm(r):
    log = Log(r["id"], "tensorrt-llm")
    pool, tokens, weights = (number(r[k]) for k in ("kv_cache_gib_per_gpu", "kv_tokens", "weights_gib_per_gpu"))
    log.add("[TensorRT-LLM] TensorRT-LLM version: 0.17.0.post1")
    if weights:
        log.add(f"[TensorRT-LLM][INFO] Loaded engine size: {round(weights * 1024)} MiB")
        log.expect("weights", round(weights * 1024) * MIB, MIB)
    if peak := number(r["activation_gib"]):
        log.add(f"[TensorRT-LLM][INFO] [MemUsageChange] Allocated {peak * 1024:.2f} MiB for execution context memory.")
        log.expect("activation_peak", peak * GIB, 0.01 * MIB)
    if blocks := number(r["kv_blocks"]):
        log.add(f"[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: {int(blocks)}")
        log.add("[TensorRT-LLM][INFO] Number of blocks in KV cache secondary pool: 0, onboard blocks to primary memory "
                "before reuse: true")
        log.expect("pool_blocks", blocks)
    log.add("[TensorRT-LLM][INFO] Number of tokens per block: 64.")
    log.expect("block", 64)
    log.add(f"[TensorRT-LLM][INFO] [MemUsageChange] Allocated {pool:.2f} GiB for max tokens in paged KV cache ({int(tokens)}).")
    log.expect("pool", pool * GIB, 0.01 * GIB)
    log.expect("pool_tokens", tokens)
    log.names = {"version": "0.17.0.post1"}
    return log


def llama_cpp(r):
    log = Log(r["id"], "llama.cpp")
    build = re.search(r"\d{4}", r["engine_version"] or "")
    old = build and int(build[0]) < 4400
    if build:
        log.add(f"build: {build[0]} (7082d24) with cc for x86_64-linux-gnu")
        log.names["version"] = build[0]
    log.add("llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from model.gguf")
    head = "llm_load_tensors:" if old else "load_tensors:"
    weights, kv = number(r["weights_gib_total"]), number(r["kv_cache_gib_per_gpu"])
    gpus = int(r["n_gpus"] or 1)
    for i in range(gpus):
        middle = "buffer size" if old else "model buffer size"
        if weights:
            log.add(f"{head}      CUDA{i} {middle} = {weights * 1024 / gpus:8.2f} MiB")
    log.add(f"{head}        CPU {'buffer size' if old else 'model buffer size'} =   417.66 MiB")
    name = "llama_new_context_with_model" if old else "llama_context"
    if context := number(r["max_model_len"]):
        log.add(f"{name}: n_ctx         = {int(context)}")
        log.expect("context", context)
    for i in range(gpus):
        if kv:
            log.add(f"llama_kv_cache_init:      CUDA{i} KV buffer size = {kv * 1024 / gpus:8.2f} MiB")
    buffer = number(r["compute_buffer_mib"])
    for i in range(gpus):
        log.add(f"{name}:      CUDA{i} compute buffer size = {buffer:8.2f} MiB")
    log.add(f"{name}:  CUDA_Host compute buffer size =    16.01 MiB")
    log.expect("compute_buffer@CUDA0", buffer * MIB, 0.01 * MIB)
    if weights:
        log.expect("weights@CUDA0", weights * GIB / gpus, 0.01 * MIB)
    if kv:
        log.expect("kv_cache@CUDA0", kv * GIB / gpus, 0.01 * MIB)
    return log


def nvidia_smi(r):
    log = Log(r["id"], "nvidia-smi")
    log.add("index, name, memory.total [MiB], memory.used [MiB], utilization.gpu [%]")
    used, total = number(r["total_used_mib"]), number(r["gpu_total_gib"])
    log.add(f"0, NVIDIA {r['gpu']}, {round(total * 1024)} MiB, {round(used)} MiB, 97 %")
    log.expect("device_used", round(used) * MIB, MIB)
    log.expect("device_total", round(total * 1024) * MIB, MIB)
    return log


def pytorch(r):
    log = Log(r["id"], "pytorch")
    allocated, reserved = (number(r[k]) for k in ("measured_peak_allocated_gib", "measured_peak_reserved_gib"))
    if allocated and reserved:
        log.add("|                  PyTorch CUDA memory summary, device ID 0                 |")
        for name, value in (("Allocated memory     ", allocated), ("GPU reserved memory  ", reserved)):
            mib = value * 1024
            log.add(f"| {name} | {mib / 2:8.0f} MiB | {mib:8.0f} MiB |  220000 MiB |  218000 MiB |")
        log.expect("allocated", round(allocated * 1024) * MIB, MIB)
        log.expect("reserved", round(reserved * 1024) * MIB, MIB)
    else:
        key, value = ("allocated", allocated) if allocated else ("reserved", reserved)
        log.add(f"OrderedDict([('{key}_bytes.all.current', 12), ('{key}_bytes.all.peak', {round(value * GIB)}), ('x', 1)])")
        log.expect(key, round(value * GIB), 1)
    return log


def torchtitan(r):
    log = Log(r["id"], "torchtitan")
    log.add("[rank0]:[titan] 2024-12-20 10:00:00,000 - root - INFO - Starting job: Llama 3 8B training")
    value = number(r["measured_peak_reserved_gib"])
    rate = number(re.sub(r",", "", r["throughput"])) if "tokens/s" in r["throughput"] else None
    for step, part in ((1, 0.9), (10, 1.0)):
        tail = f"  \x1b[36mtps: {int(rate):,}  \x1b[35mmfu: 40.50%\x1b[39m" if rate else ""
        log.add(f"[rank0]:[titan] 2024-12-20 10:00:{step:02d},000 - root - INFO - \x1b[31mstep: {step:2}  "
                f"\x1b[32mloss: 12.2511  \x1b[33mmemory: {value * part:5.2f}GiB(43.70%){tail}")
    log.expect("reserved", value * GIB, 0.01 * GIB)
    log.expect("tokens_per_second", int(rate) if rate else None)
    return log


def megatron(r):
    log = Log(f"{r['model_dir']}/{r['test_case']}/{r['golden']}", "megatron")
    largest, time = int(r["mem_max_alloc_bytes"]), number(r["iter_time_median"])
    log.add("using world size: 8, data-parallel size: 4, context-parallel size: 1, hierarchical context-parallel sizes: "
            "None, tensor-model-parallel size: 1, pipeline-model-parallel size: 2")
    log.add(f"[Rank 0] (after 1 iterations) memory (MB) | allocated: {largest / MIB / 2:.5f} | max allocated: "
            f"{largest / MIB:.5f} | reserved: 1.0 | max reserved: {largest / MIB + 100:.5f}")
    log.expect("allocated", largest, 100)
    if time:
        log.add(" [2025-01-01 00:00:00] iteration        2/      50 | consumed samples:          256 | elapsed time per "
                f"iteration (ms): {time * 1000:.1f} | learning rate: 1.0E-04 | global batch size:   128 |")
        log.expect("step_time", time, 1e-3)
    log.expect("pipeline", 2)
    return log


def deepspeed(r):
    log = Log(r["id"], "deepspeed")
    log.add("[2022-02-20 10:00:00,000] [INFO] [logging.py:69:log_dist] [Rank 0] DeepSpeed info: version=0.5.9, "
            "git-hash=unknown, git-branch=unknown")
    gib = (number(r["measured_peak_allocated_gib"]) or number(r["measured_peak_reserved_gib"]) or
           number(r["measured_nvidia_smi_mib"]) / 1024)
    log.add(f"[2022-02-20 10:00:01,000] [INFO] [utils.py:825:see_memory_usage] MA {gib / 2:.2f} GB         Max_MA "
            f"{gib:.2f} GB         CA {gib + 1:.2f} GB         Max_CA {round(gib + 1)} GB")
    log.expect("allocated", gib * GIB, 0.01 * GIB)
    log.names = {"version": "0.5.9"}
    return log


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def main():
    serving, training, golden = (rows(p) for p in sys.argv[1:4])
    folder = Path(sys.argv[4])
    by_engine = lambda *names: [r for r in serving if r["engine"] in names]
    with_pool = [r for r in by_engine("vLLM") if number(r["kv_cache_gib_per_gpu"]) and re.search(r"\d\.\d", r["engine_version"])]
    logs = [vllm(r) for r in with_pool[:40]]
    logs += [sglang(r) for r in by_engine("SGLang")]
    logs += [tensorrt_llm(r) for r in by_engine("TensorRT-LLM C++ runtime", "TensorRT-LLM (Dynamo)")]
    measured = [r for r in by_engine("llama.cpp") if number(r["compute_buffer_mib"])]
    logs += [llama_cpp(r) for r in measured[::12]]
    logs += [llama_cpp(r) for r in by_engine("ik_llama.cpp") if number(r["compute_buffer_mib"]) and r["n_gpus"] == "1"][:3]
    logs += [nvidia_smi(r) for r in by_engine("LMDeploy TurboMind")[:4]]
    series = lambda name, need: [r for r in training if r["series"] == name and number(r[need])]
    logs += [pytorch(r) for r in series("litgpt", "measured_peak_allocated_gib")[:3]]
    logs += [pytorch(r) for r in series("fsdp_qlora", "measured_peak_reserved_gib")[:3]]
    logs += [torchtitan(r) for r in series("torchtitan", "measured_peak_reserved_gib")[:6]]
    logs += [deepspeed(r) for r in series("bloom_prequel", "measured_nvidia_smi_mib")[:4]]
    logs += [megatron(r) for r in golden[:5]]
    with open(folder / "rows.log", "w") as text, open(folder / "expected.jsonl", "w") as expected:
        for log in logs:
            text.write(f"==== {log.id}\n" + "".join(line + "\n" for line in log.lines))
            expected.write(json.dumps({"id": log.id, "engine": log.engine, "names": log.names,
                                       "figures": log.expected}) + "\n")
    print(len(logs), "logs of", len({log.engine for log in logs}), "engines")


if __name__ == "__main__":
    main()
