# SPDX-License-Identifier: MIT
"""Asks the installed vLLM about every case, and prints a JSON line for each: `ask.py MODELS [NAME...]`.

Each case is a process forked from this one, which has imported vLLM already."""

import json
import os
import resource
import signal
import sys

import absent_card
import planner
from cases import POOL, SHORTER, cases_of, document
from vllm import __version__

MEMORY = 6 << 30  # of a case
SECONDS = 120
# What a card or transformers would have to do, and no answer of vLLM's planner.
NOT_ASKED = ("no NVIDIA driver", "does not dispatch through the Transformers", "No module named", "cannot import name",
             "has no attribute")


def _answer(models, name, options, card):
    says = {}
    try:
        absent_card.show(card)
        if options.get("kv_cache_dtype") == "nvfp4":
            absent_card.stand_in_for_flashinfer()
        config = planner.configuration(models, name, options, POOL)
        says = planner.defaults_of(config)
        says.update(planner.plan_of(config, POOL))
    except Exception as error:  # what vLLM refuses, and what cannot be built without a card
        text = str(error).strip() or repr(error)
        says["refuses"] = type(error).__name__ + ": " + text[:400]
    return says


def _in_a_process(models, name, options, card):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(2, 1)  # what vLLM prints
        # Models that vLLM leaves to transformers would be filled with numbers.
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        signal.alarm(SECONDS)
        with os.fdopen(write, "w") as pipe:
            json.dump(_answer(models, name, options, card), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def _ask(models, name, options, card):
    says = _in_a_process(models, name, options, card)
    if says is None:
        print("no answer:", name, options, file=sys.stderr, flush=True)
        return None
    context = says.get("max_model_len", options.get("max_model_len"))
    if context is None or any(words in says.get("refuses", "") for words in NOT_ASKED):
        print("not built:", name, options, says["refuses"], file=sys.stderr, flush=True)
        return None
    row = {"engine": __version__, "options": options, "says": says,
           "document": document(__version__, name, options, context, card)}
    print(json.dumps(row), flush=True)
    return says


def main():
    with open(sys.argv[1]) as file:
        models = {row["model"]: row["config"] for row in map(json.loads, file)}
    for name, options, card in cases_of(sys.argv[2:] or models):
        says = _ask(models, name, options, card)
        if says and "KV cache memory" in says.get("refuses", "") and not options:
            _ask(models, name, {"max_model_len": SHORTER}, card)


if __name__ == "__main__":
    main()
