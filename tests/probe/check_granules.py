#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an allocator takes to fill its granules is no difference between plan and device:

    tests/probe/check_granules.py PROGRAM LIBRARIES

PROGRAM is the probe on fake_cudart.cpp, which hands out granules of 2 MiB, LIBRARIES the folder of the other fakes. The job's weights are
many tensors of less than a granule."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODEL = {"vocabulary": 4096, "hidden": 256, "layers": 16, "attention": {"heads": 4, "kv_heads": 2}, "feed_forward": {"width": 512}}


def agreement(program, libraries, job, allocator):
    asked = [program, "alloc", job, "--repeats", "1", "--allocator", allocator, "--json"]
    done = subprocess.run(asked, env=dict(os.environ, LD_LIBRARY_PATH=libraries), stdout=subprocess.PIPE, check=True)
    said = json.loads(done.stdout)["agreement"]
    return said["agrees"], next(line for line in said["lines"] if line["what"] == "weights")


def main(program, libraries):
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder) / "job.json"
        job.write_text(json.dumps({"model": MODEL, "runtime": "pytorch", "task": "serving", "batch": 1, "context": 128}))
        agrees, weights = agreement(program, libraries, job, "virtual_memory")
        print(weights)
        more = weights["measured"] - weights["predicted"]
        assert more > max(4 << 20, weights["measured"] / 100), "the tensors fill their granules: the check says nothing"
        assert agrees and weights["agrees"], "what fills granules counts as a difference"
        assert weights["why"].startswith(f"{more} bytes "), weights["why"]
        # cudaMalloc does not say what it fills: there the plan is to know.
        agrees, weights = agreement(program, libraries, job, "cuda_malloc")
        assert not agrees and weights["why"] == "its buffers take more than the plan says", weights


if __name__ == "__main__":
    main(*(str(pathlib.Path(given).resolve()) for given in sys.argv[1:]))
