#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the pickles beside it: memory snapshots with made-up sizes, with the keys of torch/cuda/memory.py (_snapshot)
and of the allocator's own dictionaries, in each protocol that Python writes; and pickles that must be refused.

usage: make_snapshots.py [FOLDER]"""
import collections
import pickle
import sys
from pathlib import Path

MIB = 1 << 20
FRAMES = [{"filename": "train.py", "line": 12, "name": "forward"}, {"filename": "train.py", "line": 30, "name": "main"}]


def block(address, size, requested, state):
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": FRAMES}


def segment(device, address, total, allocated):
    return {"device": device, "address": address, "total_size": total, "allocated_size": allocated,
            "active_size": allocated, "requested_size": allocated - 100, "stream": 0, "segment_type": "large",
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": FRAMES,
            "blocks": [block(address, allocated, allocated - 100, "active_allocated"),
                       block(address + allocated, total - allocated, 0, "inactive")]}


def entry(action, address, size):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": 1_790_000_000_000_000 + address,
            "frames": FRAMES, "category": "unknown"}


def trace():
    """Weights of 600 MiB less 100 bytes stay; 400 times 1 MiB comes, and goes; two segments of 900 MiB were returned."""
    entries = [entry("segment_alloc", 1, 700 * MIB), entry("alloc", 1, 600 * MIB - 100)]
    entries += [entry("segment_alloc", 5000 + i, 900 * MIB) for i in range(2)]
    for i in range(400):
        entries.append(entry("alloc", 10_000 + i, MIB - 100))
    for i in range(400):
        entries.append(entry("free_requested", 10_000 + i, MIB - 100))
        entries.append(entry("free_completed", 10_000 + i, MIB - 100))
    entries += [entry("segment_free", 5000 + i, 900 * MIB) for i in range(2)]
    entries.append(entry("oom", 77, 90_000 * MIB) | {"device_free": 5 * MIB})
    return entries + [entry("snapshot", 0, 0)]


def snapshot():
    return {"segments": [segment(0, 1, 700 * MIB, 600 * MIB), segment(1, 1, 20 * MIB, 3 * MIB),
                         segment(1, 2, 2 * MIB, MIB)],
            "device_traces": [trace(), []],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "garbage_collection_threshold": 0.0,
                                   "max_split_size": -1, "expandable_segments": False,
                                   "roundup_power2_divisions": {"1": 0, "64": 4}},
            "external_annotations": [], "prompt": "a text of more than twenty-four characters", "none": None}


def main(folder):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (folder / f"protocol_{protocol}.pickle").write_bytes(pickle.dumps(snapshot(), protocol))
    small = snapshot() | {"device_traces": []}
    (folder / "no_history.pickle").write_bytes(pickle.dumps(small, 4))
    (folder / "cut.pickle").write_bytes(pickle.dumps(small, 4)[:600])
    (folder / "class.pickle").write_bytes(pickle.dumps(collections.OrderedDict(small), 4))
    (folder / "call.pickle").write_bytes(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00trueR.")
    (folder / "other.pickle").write_bytes(pickle.dumps({"loss": [1.5, 2.5]}, 4))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
