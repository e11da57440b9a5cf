#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_probe/compare_torch.py with real PyTorch on the CPU, on a decoder of two layers:

    PYTHON tests/probe/compare_torch_on_cpu.py PROBE

PROBE plans the jobs (on a recorded device); PYTHON has PyTorch. Both tasks must run, and their weights be the plans' to the byte."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = {"vocabulary": 512, "hidden": 128, "layers": 2, "attention": {"heads": 4, "kv_heads": 2}, "feed_forward": {"width": 256}}
JOBS = {
    "torch-serving": dict(task="serving", batch=2, prompt=16, output=4),
    "torch-training": dict(task="pretraining", weights="fp32", autocast=True, micro_batch=2, sequence=32),
    "torch-tied": dict(task="pretraining", weights="bf16", master_weights="bf16", optimizer_states="bf16", micro_batch=1, sequence=16),
}


def main(probe):
    with tempfile.TemporaryDirectory() as folder:
        for name, fields in JOBS.items():
            job, plan = (pathlib.Path(folder) / f"{name}.{kind}.json" for kind in ("job", "plan"))
            model = dict(MODEL, tied_head=True) if name.endswith("tied") else MODEL
            job.write_text(json.dumps(dict(fields, model=model, attention="sdpa",
                                           runtime="transformers" if fields["task"] == "serving" else "huggingface")))
            subprocess.run([probe, "plan", job, f"--json={plan}", "--simulate", ROOT / "tests/data/devices/synthetic-rtx-4090.json"], check=True)
            done = subprocess.run([sys.executable, ROOT / "cuda_probe/compare_torch.py", job, plan, "--cpu"], check=True, stdout=subprocess.PIPE)
            said = json.loads(done.stdout)
            print(name, json.dumps(said, indent=1))
            assert said["comparison"]["weights_bytes"]["error_percent"] == 0, name
            assert said["took"].get("step_s", 0) + said["took"].get("time_per_output_token_s", 0) > 0, name
            assert said["device_within_bounds"] is None, name


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
