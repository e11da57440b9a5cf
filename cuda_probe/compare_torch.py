#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one job in PyTorch, and holds the memory and the time that it took against its plan:

    cuda_probe/compare_torch.py JOB.json PLAN.json [--cpu]

Random weights, random tokens: prompts are generated from, or three steps trained. One JSON object goes to stdout: what was predicted and
measured (bytes and seconds), and by how much that differs. On a CPU weights alone can be held against the plan. Exit codes: 0 done, 1 the
job failed, 5 skipped because PyTorch, transformers or a GPU is missing."""

import json
import pathlib
import subprocess
import sys
import time


def device_used():
    """Bytes in use on the device as NVML counts them, by anyone; None where nvidia-smi is missing."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        return int(said.splitlines()[0]) << 20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def build(job, dtype, device):
    """A decoder of Llama's kind, as Hugging Face writes it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = job["model"]  # described number by number
    config = LlamaConfig(hidden_size=shape["hidden"], num_hidden_layers=shape["layers"], num_attention_heads=shape["attention"]["heads"],
                         num_key_value_heads=shape["attention"]["kv_heads"], intermediate_size=shape["feed_forward"]["width"],
                         vocab_size=shape["vocabulary"], tie_word_embeddings=shape.get("tied_head", False),
                         attn_implementation="sdpa", rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    torch.set_default_dtype(dtype)  # so that no copy in another format is ever there
    with torch.device(device):
        model = LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    return model


class Clock:
    """Notes when each token came: generate() hands the prompt and then every step's tokens over on the host."""

    def __init__(self):
        self.times = []

    def put(self, tokens):
        self.times.append(time.perf_counter())

    def end(self):
        pass


def generate(torch, job, device):
    model, clock, output = build(job, torch.bfloat16, device).eval(), Clock(), job["output"]
    tokens = torch.randint(model.config.vocab_size, (job["batch"], job["prompt"]), device=device)
    model.generate(tokens, min_new_tokens=output, max_new_tokens=output, do_sample=False, pad_token_id=0, streamer=clock)
    later = sorted(b - a for a, b in zip(clock.times[1:], clock.times[2:]))
    return model, {"time_per_output_token_s": later[len(later) // 2]}


def train(torch, job, device):
    wide = job["weights"] == "fp32"
    model = build(job, torch.float32 if wide else torch.bfloat16, device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(model.config.vocab_size, (job["micro_batch"], job["sequence"]), device=device)
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(3):
        synchronize()
        begin = time.perf_counter()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=wide):
            loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        synchronize()
        took = time.perf_counter() - begin
    return model, {"step_s": took}


def run(torch, job, device, used_before):
    """What the job took. `device_bytes` is the device's own view: reserved segments are kept until the end."""
    torch.manual_seed(1)
    model, took = (generate if job["task"] == "serving" else train)(torch, job, device)
    took.update(weights_bytes=sum(p.numel() * p.element_size() for p in model.parameters()), torch_version=torch.__version__)
    if device == "cuda":
        used_after = device_used()
        took.update(allocated_bytes=torch.cuda.max_memory_allocated(), reserved_bytes=torch.cuda.max_memory_reserved(),
                    device_bytes=None if used_before is None or used_after is None else used_after - used_before,
                    device_name=torch.cuda.get_device_name())
    return took


def compared(plan, took):
    """Predicted and measured, and the error of the prediction in percent of what was measured."""
    memory = plan["memory"]
    predicted = {"weights_bytes": memory["terms"]["weights"], "allocated_bytes": memory["allocated"], "reserved_bytes": memory["reserved"],
                 "device_bytes": memory["expected"], "step_s": plan["time"].get("step"),
                 "time_per_output_token_s": plan["time"].get("time_per_output_token")}
    lost = took.get("device_bytes")
    return {"comparison": {name: {"predicted": said, "measured": took[name], "error_percent": 100 * (said / took[name] - 1)}
                           for name, said in predicted.items() if said is not None and took.get(name)},
            "device_within_bounds": None if lost is None else memory["low"] <= lost <= memory["high"]}


def main(job_file, plan_file, device):
    job, plan = (json.loads(pathlib.Path(file).read_text()) for file in (job_file, plan_file))
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
    took = run(torch, job, device, used_before)
    print(json.dumps({"job": job, "took": took, **compared(plan, took)}))
    return 0


if __name__ == "__main__":
    files = [given for given in sys.argv[1:] if given != "--cpu"]
    if len(files) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*files, device="cpu" if "--cpu" in sys.argv else "cuda"))
