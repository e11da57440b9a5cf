#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts each build of llama.cpp on each tiny model in each setting, and writes the buffers that its log prints.

usage: run_builds.py MODELS ENVIRONMENTS ROWS.csv [LOGS]

MODELS is a folder of tiny_models.py, ENVIRONMENTS has a folder for each build (b5353, ...) with xllamacpp and gguf in it."""
import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from families import FAMILIES
from settings import BUILDS, SETTINGS

SIZE = r"buffer size =\s*([\d.]+) MiB"
PRINTED = {"weights": r"model " + SIZE, "kv_cache": r"KV " + SIZE, "state": r"RS " + SIZE,
           "compute": r"compute " + SIZE, "output": r"output " + SIZE}
UP = re.compile(r"new slot|initializing, n_slots|Segmentation|error loading|failed to")


class Silent(Exception):
    """A server has printed nothing for so long that it hangs."""


def silent(*_):
    raise Silent


def log_of(build, environments, model, setting, quiet=180):
    """What a build prints until its server is up, or until it has been quiet for so many seconds: a busy machine starts it
    late, and a line shows that it goes on."""
    environment = {**os.environ, "PYTHONPATH": str(environments / build), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).with_name("start_server.py")), str(model),
               json.dumps({**setting, "verbosity": 4})]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               errors="replace")
    text = []
    try:
        signal.alarm(quiet)
        for line in process.stderr:
            text.append(line)
            if UP.search(line):
                break
            signal.alarm(quiet)
    except Silent:
        text.append(f"no line for {quiet} s\n")
    signal.alarm(0)
    process.kill()
    process.wait()
    return "".join(text)


def started(build, environments, model, setting):
    """The log of the first of three starts that got as far as the buffers: b5353 now and then ends early."""
    for _ in range(3):
        log = log_of(build, environments, model, setting)
        if "compute buffer size" in log or "error loading" in log:
            break
    return log


def printed(log):
    """Buffers by name, in MiB. Builds of spring 2025 have recurrent states in a buffer that they call KV."""
    found = {name: mib(log, pattern) for name, pattern in PRINTED.items()}
    if "kv_cache_recurrent" in log:
        found["kv_cache"], found["state"] = 0.0, found["kv_cache"]
    return found


def mib(log, pattern):
    """The sum of the buffers of a kind: windows have a cache of their own. Reserved twice, the last one counts."""
    found = [float(size) for size in re.findall(pattern, log)]
    return found[-1] if pattern == PRINTED["compute"] and found else round(sum(found), 2)


def main(models, environments, rows, logs=None):
    signal.signal(signal.SIGALRM, silent)
    failed = []
    with open(rows, "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["build", "family", "setting", *(f"{name}_mib" for name in PRINTED)])
        for build in BUILDS:
            ran = 0
            for family, (_, since, _) in FAMILIES.items():
                if int(build[1:]) < since:
                    continue
                for name, setting in SETTINGS.items():
                    log = started(build, environments, models / f"{family}.gguf", setting)
                    if logs:
                        (logs / f"{build}_{family}_{name}.log").write_text(log)
                    if "compute buffer size" not in log:
                        print("no buffers:", build, family, name, log.strip().splitlines()[-1:], file=sys.stderr)
                        continue
                    table.writerow([build, family, name, *(f"{size:.2f}" for size in printed(log).values())])
                    ran += 1
            failed += [] if ran else [build]
    if failed:
        sys.exit(f"no model started under {', '.join(failed)}: its rows would be lost")


if __name__ == "__main__":
    main(*(Path(a) for a in sys.argv[1:]))
