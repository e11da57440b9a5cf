# SPDX-License-Identifier: MIT
"""The configurations that vLLM is asked about, as arguments of EngineArgs, and the job document of each."""

import absent_card

POOL = 20 << 30
CARD = "h100-sxm5-80gb"

# Models whose own context is longer than the pool holds are asked at this one, too.
SHORTER = 8192

# Each is tried on the models of TRIED, with whose caches it interacts.
OPTIONS = [
    {"kv_cache_dtype": "fp8"},
    {"block_size": 32},
    {"kv_cache_dtype": "fp8", "block_size": 64},
    {"enable_prefix_caching": False},
    {"enable_prefix_caching": True, "max_num_batched_tokens": 2048},
    {"async_scheduling": False},
    {"async_scheduling": False, "max_num_batched_tokens": 16384, "max_model_len": 4096},
    {"tensor_parallel_size": 2},
    {"tensor_parallel_size": 8, "kv_cache_dtype": "fp8"},
    {"num_gpu_blocks_override": 500, "max_model_len": 2048},
]
TRIED = ["llama-3.1-8b", "gemma-3-1b", "gpt-oss-20b", "llama-4-scout-text", "nemotron-h-8b", "qwen3-next-80b",
         "deepseek-v3.2", "granite-4.0-h-small", "jamba-1.5-mini"]


# Batches and graphs that vLLM chooses by the card.
ON_CARDS = [{}, {"max_num_seqs": 4}, {"tensor_parallel_size": 8}, {"max_num_seqs": 60, "max_num_batched_tokens": 100}]


def cases_of(models):
    """A model's name, options, and the card."""
    for name in models:
        yield name, {}, CARD
    for name in models:
        if name in TRIED:
            for options in OPTIONS:
                yield name, options, CARD
    for card in absent_card.CARDS if "qwen3-0.6b" in models else ():
        for options in ON_CARDS:
            yield "qwen3-0.6b", options, card


# Names that a job document has for what EngineArgs calls otherwise.
KNOBS = ("max_num_batched_tokens", "max_num_seqs", "block_size", "async_scheduling", "enable_prefix_caching",
         "num_gpu_blocks_override")


def document(version, model, options, context, card):
    """The job document; its model is the name of a line of models.jsonl."""
    runtime = {"name": f"vllm@{version}", "kv_cache_memory_bytes": POOL}
    runtime.update({knob: options[knob] for knob in KNOBS if knob in options})
    tensor = options.get("tensor_parallel_size", 1)
    job = {"model": model, "task": "serving", "runtime": runtime, "context": context, "batch": 1,
           "layout": {"tensor": tensor, "pipeline": 1}, "cluster": {"gpu": card, "gpus": tensor}}
    if options.get("kv_cache_dtype") == "fp8":
        job["kv_cache"] = "fp8_e4m3"
    return job
