#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real PyTorch steps and holds the memory they took against the plans of the same jobs:

    cuda_probe/compare_torch.py DIR [--cpu]

`on_gpu.py PROBE DIR --only torch` wrote DIR/plans/torch-NAME.job.json and its plan, torch-NAME.json. Each
job runs in a process of its own: random weights, random tokens, generating from prompts or training for three steps.
DIR/torch.json gets, for each, what was predicted and measured (bytes and seconds) and by how much that differs. On a CPU weights
alone can be held against the plan. Exit codes: 0 done, 1 a job failed, 5 skipped because PyTorch, transformers or a GPU is missing."""

import json
import pathlib
import subprocess
import sys
import time

TIMEOUT_S = 100


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
    return {"time_per_output_token_s": later[len(later) // 2], "weights_bytes": weights_of(model)}


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
    return {"step_s": took, "weights_bytes": weights_of(model)}


def weights_of(model):
    return sum(p.numel() * p.element_size() for p in model.parameters())


def run_one(job_file, device):
    """In a process of its own: what the job took."""
    used_before = device_used() if device == "cuda" else None
    import torch

    job = json.loads(pathlib.Path(job_file).read_text())
    torch.manual_seed(1)
    took = (generate if job["task"] == "serving" else train)(torch, job, device)
    took["torch_version"] = torch.__version__
    if device == "cuda":
        took["allocated_bytes"] = torch.cuda.max_memory_allocated()
        took["reserved_bytes"] = torch.cuda.max_memory_reserved()
        used_after = device_used()
        # The device's own view, where nobody else's memory moved meanwhile: reserved segments are kept until the end.
        took["device_bytes"] = None if used_before is None or used_after is None else used_after - used_before
        took["device_name"] = torch.cuda.get_device_name()
    print(json.dumps(took))


def compared(plan, took):
    """Predicted and measured, and the error of the prediction in percent of what was measured."""
    memory, times = plan["memory"], plan["time"]
    pairs = {
        "weights_bytes": (memory["terms"]["weights"], took["weights_bytes"]),
        "allocated_bytes": (memory["allocated"], took.get("allocated_bytes")),
        "reserved_bytes": (memory["reserved"], took.get("reserved_bytes")),
        "device_bytes": (memory["expected"], took.get("device_bytes")),
        "step_s": (times.get("step"), took.get("step_s")),
        "time_per_output_token_s": (times.get("time_per_output_token"), took.get("time_per_output_token_s")),
    }
    table = {}
    for name, (predicted, measured) in pairs.items():
        if predicted is None or not measured:
            continue
        table[name] = {"predicted": predicted, "measured": measured, "error_percent": 100 * (predicted / measured - 1)}
    lost = took.get("device_bytes")
    within = None if lost is None else memory["low"] <= lost <= memory["high"]
    return {"comparison": table, "device_within_bounds": within}


def main(folder, device):
    folder = pathlib.Path(folder)
    jobs = sorted((folder / "plans").glob("torch-*.job.json"))
    result = {"schema_version": 1, "jobs": {}}
    code = 0

    def write(code):
        (folder / "torch.json").write_text(json.dumps(result, indent=1) + "\n")
        return code

    try:
        import torch
        import transformers  # noqa: F401

        missing = None if device == "cpu" or torch.cuda.is_available() else "PyTorch sees no GPU"
    except ImportError:
        missing = "PyTorch or transformers is not installed"
    if not missing and not jobs:
        missing = f"no jobs in {folder}/plans: run `on_gpu.py PROBE {folder} --only torch`"
    if missing:
        result["skipped"] = missing
        print(f"compare_torch: {missing}", file=sys.stderr)
        return write(5)
    for job in jobs:
        name = job.name.removesuffix(".job.json")
        try:
            ran = subprocess.run([sys.executable, __file__, "--job", str(job), device], capture_output=True, text=True, timeout=TIMEOUT_S)
            if ran.returncode != 0:
                raise RuntimeError((ran.stderr.strip().splitlines() or ["no word"])[-1])
            took = json.loads(ran.stdout.splitlines()[-1])
            plan = json.loads((folder / "plans" / f"{name}.json").read_text())
            result["jobs"][name] = {"job": json.loads(job.read_text()), "took": took, **compared(plan, took)}
        except (subprocess.TimeoutExpired, RuntimeError, OSError, ValueError, KeyError) as wrong:
            result["jobs"][name] = {"problem": str(wrong)}
            code = 1
        print(f"compare_torch: {name}: {result['jobs'][name].get('problem', 'done')}", file=sys.stderr)
        write(code)
    return write(code)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--job":
        run_one(*sys.argv[2:])
    elif len(sys.argv) > 1 and sys.argv[1][0] != "-" and sys.argv[2:] in ([], ["--cpu"]):
        sys.exit(main(sys.argv[1], "cpu" if sys.argv[2:] else "cuda"))
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
