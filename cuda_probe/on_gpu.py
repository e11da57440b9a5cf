#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does on this machine's GPU all that there is to do, and leaves the results as files in DIR:

    cuda_probe/on_gpu.py PROBE DIR [--device N] [--only STEP,...] [--quick] [--seconds 460]

Each step is a process of its own, and one that fails ends no other. DIR/steps.json says how each ended; DIR/agreement.md
holds predicted against measured of every configuration that was allocated. Exit codes are the probe's: 0 done, 1 a step
failed, 2 usage, 4 no device, 5 something was skipped, 6 inconclusive."""

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

STEPS = ("calibrate", "alloc", "replay", "search", "sanitize", "interrupt", "torch", "kernels")
MODELS = ("llama-3.1-8b", "llama-3.2-3b", "qwen2.5-1.5b", "llama-3.2-1b", "qwen3-0.6b", "qwen2.5-0.5b", "smollm2-135m")
FILLS = (50, 70, 90, 97)  # percent of the device
SERVING = ("vllm", "sglang", "pytorch", "llama.cpp")
TRAINING = ("pytorch", "huggingface", "torchtitan", "megatron")
SERVED_PRESET = ("llama-3.2-1b", "--task", "serving", "--runtime", "pytorch", "--context", 2048)
SMALL = dict(hidden=2048, layers=16, attention=dict(heads=32, kv_heads=8), feed_forward=dict(width=8192), vocabulary=128256, tied_head=True)
# Layers that keep the GPU busy for less time than it takes to issue them: what the CPU takes is seen alone.
NARROW = dict(hidden=256, layers=32, attention=dict(heads=4, kv_heads=2), feed_forward=dict(width=512), vocabulary=1024, tied_head=True)
LARGE = dict(SMALL, hidden=4096, layers=32, feed_forward=dict(width=14336), tied_head=False)  # Llama 3.2 1B, Llama 3.1 8B
SERVED = [dict(task="serving", runtime="transformers", batch=batch, prompt=prompt, output=16)
          for batch, prompt in ((1, 128), (1, 1024), (1, 4096), (8, 256), (8, 1024), (8, 2048), (32, 512), (32, 1024), (64, 128), (64, 512))]
MIXED, HALF = (dict(task="pretraining", runtime="huggingface", **formats) for formats in (
    dict(weights="fp32", autocast=True), dict(weights="bf16", master_weights="bf16", optimizer_states="bf16")))
TRAINED = [dict(micro_batch=1, sequence=1024), dict(micro_batch=4, sequence=1024), dict(micro_batch=1, sequence=4096),
           dict(micro_batch=4, sequence=1024, recompute="full"), dict(micro_batch=2, sequence=1024, optimizer="adamw_fused"),
           dict(micro_batch=2, sequence=1024, optimizer="sgd"), dict(micro_batch=2, sequence=1024, attention="eager")]
TORCH = [dict(attention="sdpa", **job, model=model) for model in (SMALL, LARGE) for job in SERVED]
TORCH += [{"attention": "sdpa", **formats, **job, "model": model}
          for model, formats in ((SMALL, MIXED), (SMALL, HALF), (LARGE, HALF)) for job in TRAINED]
ISSUED = [{"attention": "sdpa", **job, "model": dict(NARROW, layers=layers)} for layers in (8, 32) for job in (
    dict(task="serving", runtime="transformers", batch=1, prompt=64, output=16), *(
        {**formats, "micro_batch": 1, "sequence": 64, **more} for formats, more in (
            (MIXED, {}), (HALF, {}), (HALF, {"optimizer": "adamw_fused"}), (HALF, {"optimizer": "sgd"}), (HALF, {"recompute": "full"}))))]
TORCH += ISSUED

def weight(code):
    """A fault, then doubt, then silence. That a plan does not fit is an answer."""
    return {0: 0, 3: 0, 5: 1, 6: 2}.get(code, 3)


class Run:
    def __init__(self, options):
        self.probe, self.out, self.device = options.probe, options.dir, options.device
        self.quick, self.end = options.quick, time.monotonic() + options.seconds
        self.figures = ("--quick", "--repeats", 5) if self.quick else ()
        self.steps, self.worst = [], 0
        (self.out / "plans").mkdir(parents=True, exist_ok=True)

    def ended(self, name, code, why="", seconds=0.0):
        self.steps.append({"step": name, "exit_code": code, "seconds": round(seconds, 1), **({"why": why} if why else {})})
        print(f"{name}: exit {code}{': ' + why if why else ''}", file=sys.stderr, flush=True)
        if weight(code) > weight(self.worst):
            self.worst = 1 if weight(code) == 3 else code
        (self.out / "steps.json").write_text(json.dumps({"schema_version": 1, "exit_code": self.worst, "steps": self.steps}, indent=1) + "\n")
        return code

    def command(self, name, command, limit):
        """The step's exit code. What is killed when its time is up gives back its memory."""
        left = min(limit, self.end - time.monotonic())
        if left < 5:
            return self.ended(name, 5, "the time was up")
        begin = time.monotonic()
        with open(self.out / f"{name}.stdout", "w") as out, open(self.out / f"{name}.stderr", "w") as err:
            try:
                code, why = subprocess.run(command, stdout=out, stderr=err, timeout=left).returncode, ""
            except subprocess.TimeoutExpired:
                code, why = 1, f"did not end within {left:.0f} s"
        if code < 0:
            code, why = 1, f"ended by signal {-code}"
        if code and not why:
            why = ((self.out / f"{name}.stderr").read_text().strip().splitlines() or [""])[-1]
        return self.ended(name, code, why, time.monotonic() - begin)

    def asked(self, *arguments):
        return [str(self.probe), *map(str, arguments), *(["--device", self.device] if self.device else [])]

    def step(self, name, *arguments, leaves="", limit=120):
        """One command of the probe, whose JSON goes to the file that it leaves: of the step's name, if no other is given."""
        return self.command(name, self.asked(*arguments, f"--json={self.out / (leaves or name)}.json"), limit)

    def plan(self, name, fill, *job):
        """A plan of the job (a document, or a preset with flags), as a file, at that share of the device; None where there is none."""
        path = self.out / "plans" / f"{name}.json"
        done = subprocess.run(self.asked("plan", *job, *(["--fill", fill] if fill else []), f"--json={path}"), capture_output=True, text=True)
        return path if done.returncode == 0 else None

    # ---- the steps

    def calibrate(self):
        self.step("calibrate", "calibrate", *self.figures, "--out", self.out / "calibrated-device.json", leaves="measured")

    def alloc(self):
        """Twenty configurations of each task, one that is too large, and every allocator."""
        for task, runtimes, context in (("serving", SERVING, 2048), ("pretraining", TRAINING, 1024)):
            for first, runtime in list(enumerate(runtimes))[:: 2 if self.quick else 1]:
                self.alloc_models(task, runtime, context, first, 1 if self.quick else 5)
        if large := self.plan("too-large", 120, *SERVED_PRESET):
            self.step("alloc-too-large", "alloc", large)
        if most := self.plan("allocators", 90, *SERVED_PRESET):
            for allocator in ("cuda_malloc", "stream_ordered", "virtual_memory", "pytorch_caching"):
                self.step(f"alloc-{allocator}", "alloc", most, "--allocator", allocator)

    def alloc_models(self, task, runtime, context, first, wanted):
        """So many configurations of one engine, of the largest models that this device has room for."""
        done = 0
        for model in MODELS:
            name = f"alloc-{task}-{runtime}-{model}"
            fill = FILLS[(first + done) % len(FILLS)]
            if plan := self.plan(name, fill, model, "--task", task, "--runtime", runtime, "--context", context):
                self.step(name, "alloc", plan, "--repeats", 1, limit=60)
                done += 1
            if done == wanted:
                return
        self.ended(f"alloc-{task}-{runtime}", 5, f"{done} of {wanted} configurations have a plan that fits")

    def replay(self):
        """A training step, tensor by tensor, through each allocator."""
        for runtime in TRAINING[:: 2 if self.quick else 1]:
            job = ("llama-3.2-1b", "--task", "pretraining", "--runtime", runtime, "--context", 1024, "--batch", 1)
            self.step(f"replay-{runtime}", "replay", *job, limit=60)

    def search(self):
        for task, more in (("serving", ("--runtime", "vllm")), ("pretraining", ("--runtime", "pytorch", "--context", 1024))):
            plans = (self.plan(f"search-{task}", 50, model, "--task", task, *more) for model in ("llama-3.2-1b", "qwen2.5-0.5b"))
            plan = next(filter(None, plans), None)  # of the larger model that the device has room for
            for axis in ("batch", "context"):
                if plan:
                    self.step(f"search-{task}-{axis}", "alloc", plan, "--search", axis)
                else:
                    self.ended(f"search-{task}-{axis}", 5, "no plan fits")

    def sanitize(self):
        tool = shutil.which("compute-sanitizer") or next((str(p) for p in pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), None)
        if tool is None:
            return self.ended("sanitize", 5, "there is no compute-sanitizer")
        plan = self.plan("sanitize", 0, "smollm2-135m", "--runtime", "pytorch", "--batch", 1, "--context", 512)
        for allocator in ("cuda_malloc", "stream_ordered", "virtual_memory"):
            checked = [tool, "--error-exitcode", "99", "--leak-check", "full"]
            self.command(f"sanitize-{allocator}", checked + self.asked("alloc", plan, "--allocator", allocator, "--repeats", 1), 120)

    def free_bytes(self):
        said = subprocess.run(self.asked("describe"), capture_output=True, text=True).stdout
        return json.loads(said)["devices"][0]["memory"]["cuda_free_bytes"]

    def interrupt(self):
        """Ctrl-C in the middle of an allocation: free memory before and after."""
        plan = self.plan("interrupt", 90, *SERVED_PRESET)
        if plan is None:
            return self.ended("interrupt", 5, "no plan fits")
        before = self.free_bytes()
        child = subprocess.Popen(self.asked("alloc", plan, "--repeats", 1000, f"--json={self.out / 'interrupt.json'}"),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(3)
        child.send_signal(signal.SIGINT)
        code, after = child.wait(60), self.free_bytes()
        kept = None if before is None or after is None else before - after
        ok = code == 5 and kept is not None and kept <= 16 << 20
        return self.ended("interrupt", 0 if ok else 1, "" if ok else f"exit {code}, {kept} bytes stayed held")

    def torch_files(self):
        """Jobs of PyTorch's own and their plans, each of so many layers as fit."""
        for number, fields in enumerate(TORCH[:: 8 if self.quick else 1]):
            for layers in (32, 24, 16, 8, 4):
                job = self.out / "plans" / f"torch-{number:02}.job.json"
                job.write_text(json.dumps({**fields, "model": dict(fields["model"], layers=min(layers, fields["model"]["layers"]))}) + "\n")
                plan = self.plan(f"torch-{number:02}", 0, job)
                memory = plan and json.loads(plan.read_text())["memory"]
                if memory and memory["high"] <= memory["usable"]:
                    yield from (str(job), str(plan))
                    break

    def torch(self, *flags):
        """Those jobs against their plans."""
        compare = str(pathlib.Path(__file__).with_name("compare_torch.py"))
        self.command("kernels" if flags else "torch", [sys.executable, compare, *flags, *self.torch_files()], 240)

    def kernels(self):
        """The kernels of those jobs, in a process of their own."""
        self.torch("--kernels")

    def tell(self):
        """The lines of every allocation and search, as a table."""
        rows = []
        for path in sorted(self.out.glob("alloc-*.json")) + sorted(self.out.glob("search-*.json")):
            report = json.loads(path.read_text())
            for line in report.get("agreement", {}).get("lines", []):
                rows.append(f"| {path.stem} | {line['what']} | {line['predicted']} | {line['measured']} | {line['agrees']} | {line.get('why', '')} |")
        head = "| configuration | what | predicted | measured | agrees | |\n|---|---|---|---|---|---|\n"
        (self.out / "agreement.md").write_text(head + "\n".join(rows) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("dir", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--device", default="")
    parser.add_argument("--only", default=",".join(STEPS), help="of " + ", ".join(STEPS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=460)
    options = parser.parse_args()
    wanted = options.only.split(",")
    for name in wanted:
        if name not in STEPS:
            parser.error(f"--only: no step is called '{name}'; there are {', '.join(STEPS)}")
    run = Run(options)
    if described := run.step("describe", "describe", leaves="devices"):
        return described
    for name in STEPS:
        if name in wanted:
            getattr(run, name)()
    run.tell()
    return run.worst


if __name__ == "__main__":
    sys.exit(main())
