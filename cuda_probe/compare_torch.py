#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs jobs in PyTorch, and holds the memory and the time that each took against its plan:

    cuda_probe/compare_torch.py [--cpu | --kernels] JOB.json PLAN.json [JOB.json PLAN.json ...]

Random weights, random tokens: prompts are generated from, or four steps trained. One process runs the jobs one after the other, and a job that
fails ends no other. A line of JSON for each goes to stdout: what was predicted and measured (bytes and seconds), and by how much that
differs. On a CPU weights alone can be held against the plan. Exit codes: 0 done, 1 a job failed, 5 skipped because PyTorch, transformers or
a GPU is missing."""

import gc
import json
import pathlib
import sys
import time


def device_used():
    """Bytes in use on the first device as NVML counts them, by anyone; None where the Python package of NVML is missing."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used
    except Exception:  # the package, its library or the device: whichever is missing
        return None


def cpu_name():
    """The processor that issues the kernels, as Linux calls it; None elsewhere."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def build(job, dtype, device):
    """A decoder of Llama's kind, as Hugging Face writes it. What its making took besides is given back: a head of its own before it was tied."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = job["model"]  # described number by number
    config = LlamaConfig(hidden_size=shape["hidden"], num_hidden_layers=shape["layers"], num_attention_heads=shape["attention"]["heads"],
                         num_key_value_heads=shape["attention"]["kv_heads"], intermediate_size=shape["feed_forward"]["width"],
                         vocab_size=shape["vocabulary"], tie_word_embeddings=shape.get("tied_head", False), max_position_embeddings=32768,
                         attn_implementation=job["attention"], rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    torch.set_default_dtype(dtype)  # so that no copy in another format is ever there
    with torch.device(device):
        model = LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return model


def kernels_of(torch, work):
    """How many kernels the work starts, and for how long the device is busy with them and with copies."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        work()
        torch.cuda.synchronize()
    done = [event for event in recorded.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return {"kernels": len(done), "busy_s": sum(event.time_range.elapsed_us() for event in done) * 1e-6}


class Clock:
    """Notes when each token came: generate() hands the prompt and then every step's tokens over on the host."""

    def __init__(self):
        self.times = []

    def put(self, tokens):
        self.times.append(time.perf_counter())

    def end(self):
        pass


def generate(torch, job, device):
    """The second of two rounds is timed: in the first one libraries load."""
    model, output = build(job, torch.bfloat16, device).eval(), job["output"]
    tokens = torch.randint(model.config.vocab_size, (job["batch"], job["prompt"]), device=device)

    def answer(length, clock=None):
        model.generate(tokens, min_new_tokens=length, max_new_tokens=length, do_sample=False, pad_token_id=0, streamer=clock)

    for _ in range(2):
        clock, begin = Clock(), time.perf_counter()
        answer(output, clock)
    later = sorted(b - a for a, b in zip(clock.times[1:], clock.times[2:]))
    took = {"time_to_first_token_s": clock.times[1] - begin, "time_per_output_token_s": later[len(later) // 2]}
    return model, took, [("prompt", lambda: answer(1)), ("answer", lambda: answer(output))]


def train(torch, job, device):
    """The median of three steps after the first."""
    wide, every = job["weights"] == "fp32", []
    model = build(job, torch.float32 if wide else torch.bfloat16, device).train()
    if job.get("recompute") == "full":
        model.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = {"sgd": lambda p: torch.optim.SGD(p, lr=1e-5), "adamw_fused": lambda p: torch.optim.AdamW(p, lr=1e-5, fused=True),
                 "adamw": lambda p: torch.optim.AdamW(p, lr=1e-5)}[job.get("optimizer", "adamw")](model.parameters())
    tokens = torch.randint(model.config.vocab_size, (job["micro_batch"], job["sequence"]), device=device)
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None

    def passes():
        with torch.autocast(device, dtype=torch.bfloat16, enabled=wide):
            loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
        loss.backward()

    def step():
        passes()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(4):
        synchronize()
        begin = time.perf_counter()
        step()
        synchronize()
        every.append(time.perf_counter() - begin)
    return model, {"step_s": sorted(every[1:])[1]}, [("step", step), ("passes", passes)]


def run(job, device, used_before, kernels):
    """What the job took: memory and times, or its kernels. `device_bytes` is the device's own view: reserved segments are kept until the end."""
    import torch
    import transformers

    if device == "cuda":
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()  # those of the job before: each allocates its own
        torch.cuda.empty_cache()
    torch.manual_seed(1)
    model, took, works = (generate if job["task"] == "serving" else train)(torch, job, device)
    took = {} if kernels else took
    took.update(weights_bytes=sum(p.numel() * p.element_size() for p in model.parameters()), cpu=cpu_name(), torch_version=torch.__version__,
                transformers_version=transformers.__version__)
    if kernels:
        took.update((f"{name}_{key}", value) for name, work in works for key, value in kernels_of(torch, work).items())
    elif device == "cuda":
        used_after = device_used()
        took.update(allocated_bytes=torch.cuda.max_memory_allocated(), reserved_bytes=torch.cuda.max_memory_reserved(),
                    device_bytes=None if used_before is None or used_after is None else used_after - used_before)
    if device == "cuda":
        took.update(device_name=torch.cuda.get_device_name())
    return took


def compared(plan, took):
    """Predicted and measured, and the error of the prediction in percent of what was measured."""
    memory, times = plan["memory"], plan["time"]
    predicted = {"weights_bytes": memory["terms"]["weights"], "allocated_bytes": memory["allocated"], "reserved_bytes": memory["reserved"],
                 "device_bytes": memory["expected"], "step_s": times.get("step"), "time_to_first_token_s": times.get("time_to_first_token"),
                 "time_per_output_token_s": times.get("time_per_output_token")}
    lost = took.get("device_bytes")
    return {"comparison": {name: {"predicted": said, "measured": took[name], "error_percent": 100 * (said / took[name] - 1)}
                           for name, said in predicted.items() if said is not None and took.get(name)},
            "device_within_bounds": None if lost is None else memory["low"] <= lost <= memory["high"]}


def answer(job_file, plan_file, device, used_before, kernels):
    job, plan = (json.loads(pathlib.Path(file).read_text()) for file in (job_file, plan_file))
    said = {"id": pathlib.Path(job_file).name.split(".")[0], "job": job}
    try:
        took = run(job, device, used_before, kernels)
        return {**said, "took": took, **compared(plan, took)}
    except Exception as error:
        return {**said, "problem": f"{type(error).__name__}: {error}"}


def main(files, device, kernels):
    used_before = device_used() if device == "cuda" else None  # before PyTorch touches it
    try:
        import torch
        import transformers  # noqa: F401

        missing = "" if device == "cpu" or torch.cuda.is_available() else "PyTorch sees no GPU"
    except ImportError:
        missing = "PyTorch or transformers is not installed"
    if missing:
        print(f"compare_torch: {missing}", file=sys.stderr)
        return 5
    failed = False
    for job_file, plan_file in zip(files[::2], files[1::2]):
        said = answer(job_file, plan_file, device, used_before, kernels)
        failed = failed or "problem" in said
        print(json.dumps(said), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if not each.startswith("--")]
    flags = {each for each in sys.argv[1:] if each.startswith("--")}
    if not given or len(given) % 2 or flags not in (set(), {"--cpu"}, {"--kernels"}):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(given, "cpu" if "--cpu" in flags else "cuda", "--kernels" in flags))
