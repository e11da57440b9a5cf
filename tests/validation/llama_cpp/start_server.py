#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts the llama.cpp that the installed xllamacpp ships on one model, and ends once it is up. Its log is on stderr.

usage: start_server.py MODEL.gguf SETTING.json"""
import json
import os
import sys

import xllamacpp

TYPES = {"f32": "GGML_TYPE_F32", "f16": "GGML_TYPE_F16", "q8_0": "GGML_TYPE_Q8_0", "q4_0": "GGML_TYPE_Q4_0"}


def parameters(model, setting):
    p = xllamacpp.CommonParams()
    p.model.path = model
    p.n_ctx = setting["context"]
    p.n_batch = setting["batch"]
    p.n_ubatch = setting["ubatch"]
    p.n_parallel = setting["parallel"]
    p.cpuparams.n_threads = 1
    p.verbosity = setting.get("verbosity", 0) or p.verbosity
    p.warmup = False
    p.port = 0
    flash = setting["flash_attention"]
    if hasattr(p, "flash_attn"):
        p.flash_attn = flash
    else:
        p.flash_attn_type = 1 if flash else 0
    kind = getattr(xllamacpp.ggml_type, TYPES[setting["kv_cache"]])
    p.cache_type_k = kind
    p.cache_type_v = kind
    for name, value in (("kv_unified", setting["parallel"] > 1), ("fit_params", False)):
        if hasattr(p, name):
            setattr(p, name, value)
    return p


if __name__ == "__main__":
    xllamacpp.Server(parameters(sys.argv[1], json.loads(sys.argv[2])))
    sys.stderr.flush()
    os._exit(0)
