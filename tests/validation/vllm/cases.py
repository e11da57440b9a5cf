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

# Each on the models that can do it.
LOOKUP = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}
OWN_LAYERS = {"method": "mtp", "num_speculative_tokens": 1}
SLOTS = {"enable_lora": True, "max_loras": 4, "max_lora_rank": 32}
BLACKWELL = "b200-sxm-180gb"
ALONE = [
    *((name, {"speculative_config": LOOKUP}, CARD) for name in ("llama-3.1-8b", "gemma-3-1b")),
    *((name, {"speculative_config": OWN_LAYERS, "max_model_len": SHORTER}, CARD)
      for name in ("deepseek-v3", "deepseek-v3.2", "glm-4.5", "qwen3-next-80b", "qwen3.5-27b", "mimo-v2-flash")),
    *((name, {"speculative_config": {"method": "draft_model", "model": draft, "num_speculative_tokens": 3},
             "max_model_len": SHORTER}, CARD)
      for name, draft in (("qwen3-30b-a3b", "qwen3-0.6b"), ("llama-3.1-8b", "llama-3.1-8b"))),
    *((name, {**SLOTS, **more}, CARD) for name in ("llama-3.1-8b", "qwen3-0.6b", "gemma-3-1b")
      for more in ({}, {"tensor_parallel_size": 2})),
    *((name, {"pipeline_parallel_size": stages}, CARD)
      for name in ("llama-3.1-8b", "gemma-3-1b", "gpt-oss-20b", "nemotron-h-8b", "deepseek-v3") for stages in (2, 4)),
    *((name, {"kv_cache_dtype": "nvfp4"}, BLACKWELL)
      for name in ("llama-3.1-8b", "gemma-3-1b", "gpt-oss-20b", "qwen3-next-80b")),
    *((name, options, CARD) for name in ("gemma-4-26b-a4b", "mimo-v2-flash")
      for options in ({"kv_cache_dtype": "fp8"}, {"tensor_parallel_size": 2}, {"pipeline_parallel_size": 2})),
    *((name, {"kv_cache_dtype": "nvfp4"}, card) for name in ("llama-3.1-8b", "gpt-oss-20b")
      for card in (CARD, "rtx-5090")),
]


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
    yield from (case for case in ALONE if case[0] in models)
    for card in absent_card.CARDS if "qwen3-0.6b" in models else ():
        for options in ON_CARDS:
            yield "qwen3-0.6b", options, card


# Names that a job document has for what EngineArgs calls otherwise.
KNOBS = ("max_num_batched_tokens", "max_num_seqs", "block_size", "async_scheduling", "enable_prefix_caching",
         "num_gpu_blocks_override", "max_loras", "max_lora_rank")
CACHES = {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}


def document(version, model, options, context, card):
    """The job document; its model is the name of a line of models.jsonl."""
    runtime = {"name": f"vllm@{version}", "kv_cache_memory_bytes": POOL}
    runtime.update({knob: options[knob] for knob in KNOBS if knob in options})
    drafts = options.get("speculative_config")
    if drafts:
        runtime.update(draft_tokens=drafts["num_speculative_tokens"], acceptance=0.5)
        if "model" in drafts:
            runtime["draft"] = drafts["model"]
        elif drafts["method"] == "mtp":
            runtime["speculates_ahead"] = True
    tensor, pipeline = options.get("tensor_parallel_size", 1), options.get("pipeline_parallel_size", 1)
    job = {"model": model, "task": "serving", "runtime": runtime, "context": context, "batch": 1,
           "layout": {"tensor": tensor, "pipeline": pipeline}, "cluster": {"gpu": card, "gpus": tensor * pipeline}}
    if options.get("kv_cache_dtype") in CACHES:
        job["kv_cache"] = CACHES[options["kv_cache_dtype"]]
    return job
