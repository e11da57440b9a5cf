#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `llmres check` and `llmres calibrate` on the logs of real builds that run_builds.py keeps.

usage: check_logs.py LOGS DOCUMENTS.jsonl LLMRES"""
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path


def main(logs, documents, program):
    jobs = {row["id"]: row["document"] for row in map(json.loads, open(documents))}
    builds = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for name, document in jobs.items():
            build = name.split()[0]
            log = logs / (name.replace(" ", "_") + ".log")
            if not log.exists() or "compute buffer size" not in log.read_text(errors="replace"):
                continue
            copy = Path(folder) / log.name
            copy.write_bytes(log.read_bytes())
            Path(f"{copy}.json").write_text(json.dumps(document))
            builds[build].append(copy)
        for build, files in builds.items():
            inside, worst, refused = 0, 0.0, []
            sound = []
            for file in files:
                run = subprocess.run([program, "check", file, f"{file}.json", "--json"], capture_output=True, text=True)
                if run.returncode > 1:
                    refused.append(run.stderr.strip())
                    continue
                answer = json.loads(run.stdout)
                inside += answer["inside"]
                errors = {f["figure"]: f["error"] for f in answer["figures"]}
                worst = max(worst, abs(errors.get("compute_buffer", 0)))
                if all(abs(errors.get(f, 0)) < 0.01 for f in ("weights", "kv_cache")):
                    sound.append(file)
            print(f"{build}: {inside} of {len(files)} logs inside, compute buffers {100 * worst:.1f} % off at worst")
            for line in refused:
                print("   ", line)
            run = subprocess.run([program, "calibrate", *sound], capture_output=True, text=True)
            for line in run.stdout.splitlines() + run.stderr.splitlines():
                if "inherited" not in line:
                    print("   ", line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
