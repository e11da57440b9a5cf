#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real PyTorch steps and holds the memory they took against the plans of the same jobs:

    cuda_probe/compare_torch.py DIR [--cpu]

`on_gpu.py PROBE DIR --only torch` wrote DIR/plans/torch-NAME.job.json and its plan, torch-NAME.json. Each
job runs in a process of its own: random weights, random tokens, generating from prompts or training for three steps.
DIR/torch.json gets, for each, what was predicted and measured (bytes and seconds) and by how much that differs. On a CPU weights
alone can be held against the plan. Exit codes: 0 done, 1 a job failed, 5 skipped because PyTorch or a GPU is missing."""

import json
import pathlib
import subprocess
import sys
import time

SHAPES = {  # of the models' config.json
    "llama-3.2-1b": dict(hidden=2048, layers=16, heads=32, kv_heads=8, head_dim=64, inner=8192, vocab=128256, tied=True),
    "llama-3.1-8b": dict(hidden=4096, layers=32, heads=32, kv_heads=8, head_dim=128, inner=14336, vocab=128256, tied=False),
}
TIMEOUT_S = 100


def shape_of(job):
    model = job["model"]
    if isinstance(model, dict) and "hidden" in model:
        attention = model["attention"]
        return dict(hidden=model["hidden"], layers=model["layers"], heads=attention["heads"], kv_heads=attention["kv_heads"],
                    head_dim=model["hidden"] // attention["heads"], inner=model["feed_forward"]["width"], vocab=model["vocabulary"],
                    tied=model.get("tied_head", False))
    if isinstance(model, dict):
        return dict(SHAPES[model["from"]], layers=model["layers"])
    return SHAPES[model]


def device_used():
    """Bytes in use on the device as NVML counts them, by anyone; None where nvidia-smi is missing."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        return int(said.splitlines()[0]) << 20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def build(torch, shape, dtype, device):
    """A decoder of Llama's kind, as it is usually written."""
    nn, functional = torch.nn, torch.nn.functional
    hidden, head_dim, heads, kv_heads = shape["hidden"], shape["head_dim"], shape["heads"], shape["kv_heads"]

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(hidden))

        def forward(self, x):
            wide = x.float()
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
            return self.weight * wide.to(x.dtype)

    def rotated(x, cos, sin):
        one, two = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-two, one), dim=-1) * sin

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            linear = lambda a, b: nn.Linear(a, b, bias=False)
            self.norm1, self.norm2 = Norm(), Norm()
            self.q, self.o = linear(hidden, heads * head_dim), linear(heads * head_dim, hidden)
            self.k, self.v = linear(hidden, kv_heads * head_dim), linear(hidden, kv_heads * head_dim)
            self.gate, self.up = linear(hidden, shape["inner"]), linear(hidden, shape["inner"])
            self.down = linear(shape["inner"], hidden)

        def forward(self, x, cos, sin, cache=None, start=0):
            batch, length, _ = x.shape
            y = self.norm1(x)
            split = lambda z, n: z.view(batch, length, n, head_dim).transpose(1, 2)
            q, k, v = split(self.q(y), heads), split(self.k(y), kv_heads), split(self.v(y), kv_heads)
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
            if cache is not None:
                cache[0][:, :, start : start + length] = k
                cache[1][:, :, start : start + length] = v
                k, v = cache[0][:, :, : start + length], cache[1][:, :, : start + length]
            k, v = (z.repeat_interleave(heads // kv_heads, dim=1) for z in (k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
            y = self.norm2(x)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(shape["vocab"], hidden)
            self.layers = nn.ModuleList(Layer() for _ in range(shape["layers"]))
            self.norm = Norm()
            self.head = nn.Linear(hidden, shape["vocab"], bias=False)
            if shape["tied"]:
                self.head.weight = self.embedding.weight

        def forward(self, tokens, caches=None, start=0, last=False):
            x = self.embedding(tokens)
            at = torch.arange(start, start + tokens.shape[1], device=x.device, dtype=torch.float32)
            turns = torch.outer(at, 500000.0 ** -(torch.arange(0, head_dim, 2, device=x.device) / head_dim))
            turns = torch.cat((turns, turns), dim=-1)
            kind = torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else x.dtype
            cos, sin = turns.cos().to(kind), turns.sin().to(kind)
            for i, layer in enumerate(self.layers):
                x = layer(x, cos, sin, None if caches is None else caches[i], start)
            return self.head(self.norm(x[:, -1:] if last else x))

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return Decoder()
    finally:
        torch.set_default_dtype(before)


def generate(torch, job, shape, device):
    model = build(torch, shape, torch.bfloat16, device)
    batch, prompt, output = job["batch"], job["prompt"], job["output"]
    room = (batch, shape["kv_heads"], prompt + output, shape["head_dim"])
    with torch.inference_mode():
        caches = [[torch.empty(room, dtype=torch.bfloat16, device=device) for _ in range(2)] for _ in range(shape["layers"])]
        tokens = torch.randint(shape["vocab"], (batch, prompt), device=device)
        times = []
        for step in range(output):
            synchronize(torch, device)
            begin = time.perf_counter()
            scores = model(tokens, caches, 0 if step == 0 else prompt + step - 1, last=True)
            tokens = scores[:, -1].argmax(-1, keepdim=True)
            synchronize(torch, device)
            times.append(time.perf_counter() - begin)
    later = sorted(times[1:])
    return {"time_per_output_token_s": later[len(later) // 2], "weights_bytes": weights_of(model)}


def train(torch, job, shape, device):
    wide = job["weights"] == "fp32"
    model = build(torch, shape, torch.float32 if wide else torch.bfloat16, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    tokens = torch.randint(shape["vocab"], (job["micro_batch"], job["sequence"]), device=device)
    times = []
    for _ in range(3):
        synchronize(torch, device)
        begin = time.perf_counter()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=wide):
            scores = model(tokens)
            loss = torch.nn.functional.cross_entropy(scores.float().view(-1, shape["vocab"]), tokens.view(-1))
        del scores
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del loss
        synchronize(torch, device)
        times.append(time.perf_counter() - begin)
    return {"step_s": times[-1], "weights_bytes": weights_of(model)}


def weights_of(model):
    return sum(p.numel() * p.element_size() for p in model.parameters())


def synchronize(torch, device):
    if device == "cuda":
        torch.cuda.synchronize()


def run_one(job_file, device):
    """In a process of its own: what the job took."""
    used_before = device_used() if device == "cuda" else None
    import torch

    job = json.loads(pathlib.Path(job_file).read_text())
    torch.manual_seed(1)
    took = (generate if job["task"] == "serving" else train)(torch, job, shape_of(job), device)
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

        missing = None if device == "cpu" or torch.cuda.is_available() else "PyTorch sees no GPU"
    except ImportError:
        missing = "PyTorch is not installed"
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
