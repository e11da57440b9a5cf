# SPDX-License-Identifier: MIT
"""What vLLM's own planner of caches says of one configuration, without a GPU and without weights."""

import json
import os
import tempfile
import types

import absent_card  # first: vLLM settles on a platform when it is imported
import torch
from vllm.config import set_current_vllm_config
from vllm.distributed import parallel_state
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.usage.usage_lib import UsageContext
from vllm.utils.torch_utils import set_default_torch_dtype
from vllm.v1.core import kv_cache_utils
from vllm.v1.worker.gpu_model_runner import GPUModelRunner
from vllm.v1.worker.workspace import init_workspace_manager

try:  # 0.29
    from vllm.v1.attention.backends.utils import resolve_kv_cache_layout
    from vllm.v1.worker.worker_base import get_current_attn_backends, get_supported_kv_cache_layouts
except ImportError:
    resolve_kv_cache_layout = None
try:  # 0.33
    from vllm.v1.core.kv_cache_planning import get_kv_cache_configs
    from vllm.v1.engine.core import get_global_kv_cache_groups
except ImportError:
    from vllm.v1.core.kv_cache_utils import get_kv_cache_configs

    get_global_kv_cache_groups = None
try:  # after 0.20
    from vllm.v1.core.kv_cache_utils import get_kv_cache_capacity
except ImportError:

    def get_kv_cache_capacity(config, cache):  # as _report_kv_cache_config() prints it
        concurrency = kv_cache_utils.get_max_concurrency_for_kv_cache_config(config, cache)
        return int(concurrency * config.model_config.max_model_len), concurrency


def _cache_config(config, specs, pool):
    if resolve_kv_cache_layout:
        layouts = get_supported_kv_cache_layouts(get_current_attn_backends(config))
        resolve_kv_cache_layout(config, [[layout.name for layout in layouts]], list(specs.values()))
    if not get_global_kv_cache_groups:
        return get_kv_cache_configs(config, [specs], [pool])[0]
    return get_kv_cache_configs(config, [specs], [pool], get_global_kv_cache_groups(config, [specs]))[0]


def _start_ranks(tensor):
    """One rank, which is told that it is the first of so many."""
    init_workspace_manager(torch.device("meta"), 1)
    store = tempfile.mkdtemp()
    parallel_state.init_distributed_environment(1, 0, f"file://{store}/group", 0, "gloo")
    parallel_state.initialize_model_parallel(1, 1)
    for group in ("_TP", "_EP"):
        if getattr(parallel_state, group, None) is not None:
            getattr(parallel_state, group).world_size = tensor


def configuration(config_json, options, pool):
    """A model's config.json, as a dictionary, and arguments of EngineArgs."""
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config_json, file)
    arguments = EngineArgs(model=folder, load_format="dummy", skip_tokenizer_init=True, kv_cache_memory_bytes=pool,
                           **options)
    return arguments.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)


def defaults_of(config):
    sizes = config.compilation_config.cudagraph_capture_sizes or []
    return {
        "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
        "max_num_seqs": config.scheduler_config.max_num_seqs,
        "max_model_len": config.model_config.max_model_len,
        "async_scheduling": bool(config.scheduler_config.async_scheduling),
        "prefix_caching": bool(config.cache_config.enable_prefix_caching),
        "cache_dtype": config.cache_config.cache_dtype,
        "graph_sizes": len(sizes),
        "largest_graph": max(sizes, default=0),
        "second_runner": bool(getattr(config, "use_v2_model_runner", False)),
    }


def plan_of(config, pool):
    """The pool as vLLM plans it. Throws what vLLM throws."""
    with set_current_vllm_config(config):
        _start_ranks(config.parallel_config.tensor_parallel_size)
        with set_default_torch_dtype(config.model_config.dtype), torch.device("meta"):
            model = initialize_model(config)
        says = {"parameter_bytes": sum(p.numel() * p.element_size() for p in model.parameters())}
        absent_card.platform.update_block_size_for_backend(config)
        runner = types.SimpleNamespace(vllm_config=config, shared_kv_cache_layers={})
        specs = GPUModelRunner.get_kv_cache_spec(runner)
        cache = _cache_config(config, specs, pool)
        says["blocks"] = cache.num_blocks
        says["groups"] = [
            [type(g.kv_cache_spec).__name__, len(g.layer_names), g.kv_cache_spec.block_size,
             g.kv_cache_spec.page_size_bytes] for g in cache.kv_cache_groups]
        says["block_size"] = config.cache_config.block_size
        if cache.kv_cache_groups:
            says["tokens"], says["concurrency"] = get_kv_cache_capacity(config, cache)
        if config.cache_config.mamba_cache_mode != "none":
            says["mamba_cache_mode"] = config.cache_config.mamba_cache_mode
    return says
