# SPDX-License-Identifier: MIT
"""SGLang's own resolution of its server arguments: a line of JSON for each model, set of arguments and card.

    arguments.py VERSION          SGLang's wheel of that version is on PYTHONPATH
"""

import collections
import contextlib
import io
import json
import logging
import os
import pathlib
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", CUDA_VISIBLE_DEVICES="0")

import fake_cuda  # both before sglang
import kernel_packages  # noqa: F401

MODELS = pathlib.Path(__file__).resolve().parents[1] / "data/sglang_models"
ASKED = ["deepseek-v3", "gemma-3-4b", "gpt-oss-20b", "llama-3.1-8b", "qwen3-30b-a3b", "qwen3-next-80b-a3b", "qwen3-vl-8b"]
# From each class of memory that the rules know, and Ada, Ampere, Hopper and both Blackwells.
CARDS = ["rtx-4080", "rtx-4090", "rtx-5090", "a100-sxm4-40gb", "l40s-48gb", "rtx-a6000", "a100-sxm4-80gb",
         "h100-sxm5-80gb", "rtx-pro-6000-blackwell-server", "h20-sxm5-96gb", "h200-sxm5-141gb", "b200-sxm-180gb",
         "b300-sxm-288gb"]
FEW_CARDS = ["rtx-4090", "l40s-48gb", "h100-sxm5-80gb", "b200-sxm-180gb"]


def sets_of_arguments(model):
    """(arguments, cards) to ask of a model."""
    yield {}, CARDS
    yield {"tp_size": 8}, CARDS
    if model in ("llama-3.1-8b", "deepseek-v3"):
        yield {"tp_size": 2}, CARDS
        yield {"tp_size": 4}, CARDS
        yield {"pp_size": 2, "tp_size": 2}, FEW_CARDS
        yield {"chunked_prefill_size": 1024}, FEW_CARDS
        yield {"chunked_prefill_size": 16384}, FEW_CARDS
        yield {"disable_cuda_graph": True}, FEW_CARDS
    if model == "llama-3.1-8b":
        yield {"context_length": 3000}, FEW_CARDS
        yield {"max_running_requests": 20}, FEW_CARDS
        yield {"max_total_tokens": 2000}, FEW_CARDS
        yield {"speculative_algorithm": "NGRAM"}, FEW_CARDS
    if model in ("deepseek-v3", "qwen3-30b-a3b"):
        yield {"tp_size": 8, "dp_size": 8, "ep_size": 8, "enable_dp_attention": True}, CARDS
    if model == "deepseek-v3":
        yield {"tp_size": 8, "speculative_algorithm": "EAGLE", "speculative_num_steps": 3,
               "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4}, FEW_CARDS


def document_of(version, model, arguments, card):
    """The job document that asks llmres the same."""
    a = collections.defaultdict(int, arguments)
    tensor, pipeline, data = a["tp_size"] or 1, a["pp_size"] or 1, a["dp_size"] or 1
    layout = {"tensor": tensor // data, "pipeline": pipeline}
    if data > 1:
        layout |= {"data": data, "expert": a["ep_size"], "expert_tensor": 1}
    runtime = {"name": f"sglang@{version}"}
    for knob in ("chunked_prefill_size", "max_running_requests", "max_total_tokens"):
        if knob in arguments:
            runtime[knob] = arguments[knob]
    if "disable_cuda_graph" in arguments:
        runtime["disable_cuda_graph"] = 1
    if "speculative_algorithm" in arguments:
        runtime["draft_tokens"] = arguments.get("speculative_num_draft_tokens", 8)
    if arguments.get("speculative_algorithm") == "EAGLE":
        runtime["speculates_ahead"] = True
    context = {"context": arguments["context_length"]} if "context_length" in arguments else {}
    return {"model": f"sglang_models/{model}.json", "task": "serving", "batch": 1} | context | {
            "layout": layout, "cluster": {"gpu": card, "gpus": tensor * pipeline}, "runtime": runtime}


def folder_of(model, scratch):
    """SGLang reads a folder with a config.json."""
    folder = scratch / model
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text((MODELS / f"{model}.json").read_text())
    return str(folder)


def plain(value):
    return {n: getattr(value, n) for n in value.__struct_fields__} if hasattr(value, "__struct_fields__") else vars(value)


def resolved(path, arguments):
    """What the server would run with."""
    from sglang.srt.server_args import ServerArgs

    asked = ServerArgs(model_path=path, skip_tokenizer_init=True, **arguments)
    if hasattr(asked, "resolve_once"):  # from 0.5.19 on; before, the constructor resolves
        asked.resolve_once()
        found = asked.resolved_dict()
    else:
        found = vars(asked)
    graphs = found.get("cuda_graph_config")
    if graphs is not None:  # from 0.5.14 on
        graphs = graphs if isinstance(graphs, dict) else plain(graphs)
        phases = {n: p if isinstance(p, dict) else plain(p) for n, p in graphs.items() if n in ("decode", "prefill")}
        captured = {n: p["bs"] if str(getattr(p["backend"], "value", p["backend"])) != "disabled" else []
                    for n, p in phases.items()}
    else:
        has_prefill = found.get("enable_piecewise_cuda_graph", not found.get("disable_piecewise_cuda_graph", True))
        captured = {"decode": [] if found["disable_cuda_graph"] else found["cuda_graph_bs"],
                    "prefill": found["piecewise_cuda_graph_tokens"] if has_prefill else []}
    return {"fraction": found["mem_fraction_static"], "chunk": found["chunked_prefill_size"],
            "page": found["page_size"], "attention": found["attention_backend"],
            "decode": list(captured["decode"]), "prefill": list(captured["prefill"])}


def main(version):
    logging.disable(logging.CRITICAL)
    lists = {}

    def number_of(sizes):
        """Of a list of captured sizes, which is printed when it first occurs."""
        key = tuple(sizes)
        if key not in lists:
            lists[key] = len(lists)
            print(json.dumps({"version": version, "list": lists[key], "sizes": sizes}))
        return lists[key]

    scratch = pathlib.Path(tempfile.mkdtemp())
    for model in ASKED:
        for arguments, cards in sets_of_arguments(model):
            for card in cards:
                fake_cuda.use(card)
                environment = dict(os.environ)
                row = {"version": version, "model": model, "arguments": arguments, "gpu": card}
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        answer = resolved(folder_of(model, scratch), arguments)
                    answer |= {n: number_of(answer[n]) for n in ("decode", "prefill")}
                except Exception as refusal:  # SGLang's own, or what a stand-in could not do
                    answer = {"refused": f"{type(refusal).__name__}: {refusal}"[:200]}
                row |= answer | {"document": document_of(version, model, arguments, card)}
                print(json.dumps(row), flush=True)
                os.environ.clear()
                os.environ.update(environment)


if __name__ == "__main__":
    main(sys.argv[1])
