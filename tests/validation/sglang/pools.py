# SPDX-License-Identifier: MIT
"""Bytes that a token takes of SGLang's pools, by its own configurators: a line of JSON for each model, set of arguments and card.

    pools.py VERSION          SGLang's wheel of that version (0.5.23) is on PYTHONPATH
"""

import contextlib
import io
import json
import logging
import pathlib
import sys
import tempfile
import types

import fake_cuda  # both before sglang
import kernel_packages  # noqa: F401
from arguments import MODELS, document_of, folder_of

import torch

CARDS = ["h200-sxm5-141gb", "b300-sxm-288gb"]
DTYPES = {"auto": torch.bfloat16, "bfloat16": torch.bfloat16, "fp8_e4m3": torch.float8_e4m3fn}


class Ranks:
    """Tensor ranks alone: every other group has one member."""

    def __init__(self, tensor):
        self.attn_tp_size = self.tp_size = tensor

    def __getattr__(self, name):
        return 1 if name.endswith("size") else 0


def configurator_of(path, arguments):
    """The configurator of a model, on a stand-in for KVCacheConfigurator; with its arguments."""
    import sglang.srt.layers.cp.utils  # noqa: F401
    import sglang.srt.mem_cache.kv_cache_configurator  # noqa: F401
    import sglang.srt.model_executor.pool_configurator as pools
    from sglang.srt.arg_groups.overrides import model_config_of
    from sglang.srt.server_args import ServerArgs

    asked = ServerArgs(model_path=path, skip_tokenizer_init=True, **arguments)
    asked.resolve_once()
    found = types.SimpleNamespace(**asked.resolved_dict())
    kernels = types.SimpleNamespace(kernel=found, mamba=found)
    answers = {"get_parallel": lambda: Ranks(arguments.get("tp_size", 1)), "get_exec": lambda: kernels}
    for name in ("get_schedule", "get_memory", "get_disagg", "get_model", "get_spec"):
        answers[name] = lambda: found
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("sglang.srt"):
            for name in answers.keys() & vars(module).keys():
                setattr(module, name, answers[name])
    config = model_config_of(asked)
    layers = config.num_hidden_layers
    never = types.SimpleNamespace(is_eagle=lambda: False, is_standalone=lambda: False, is_dflash_family=lambda: False)
    runner = types.SimpleNamespace(
        model_config=config, kv_cache_dtype=DTYPES[found.kv_cache_dtype], kv_cache_dtype_str=found.kv_cache_dtype,
        model_dtype=torch.bfloat16, server_args=found, use_mla_backend=config.attention_arch == pools.AttentionArch.MLA,
        layer_info=types.SimpleNamespace(
            start_layer=0, end_layer=layers, num_effective_layers=layers,
            full_attention_layer_ids=getattr(config, "full_attention_layer_ids", None) or [],
            swa_attention_layer_ids=getattr(config, "swa_attention_layer_ids", None) or []),
        spec_algorithm=never, is_draft_worker=False, pp_size=1, attn_dp_size=1, mambaish_config=None, kv_shard_spec=None,
        is_hybrid_swa=bool(config.is_hybrid_swa), sliding_window_size=config.sliding_window_size,
        page_size=found.page_size, fused_entry_bytes=lambda *_: None)
    return pools.create_memory_pool_configurator(runner), found


def main(version):
    logging.disable(logging.CRITICAL)
    scratch = pathlib.Path(tempfile.mkdtemp())
    for model in sorted(f.stem for f in MODELS.glob("*.json")):
        for card in CARDS:
            for arguments in ({}, {"tp_size": 8}, {"kv_cache_dtype": "fp8_e4m3"}):
                fake_cuda.use(card)
                with contextlib.redirect_stdout(io.StringIO()):
                    configurator, found = configurator_of(folder_of(model, scratch), arguments)
                document = document_of(version, model, arguments, card)
                if found.kv_cache_dtype == "fp8_e4m3":
                    document["kv_cache"] = "fp8_e4m3"
                document["context"] = 8192
                document["cluster"]["gpu_memory"] = 10**12  # room for any model: a token's bytes are what is asked
                print(json.dumps({"version": version, "model": model, "gpu": card, "arguments": arguments,
                                  "configurator": type(configurator).__name__, "kv_cache_dtype": found.kv_cache_dtype,
                                  "bytes_per_token": configurator._cell_size, "document": document}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
