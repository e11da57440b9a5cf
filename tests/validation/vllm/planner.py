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
from vllm.v1.worker.lora_model_runner_mixin import LoRAModelRunnerMixin
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
    """Of all stages, each with so many bytes: as the scheduler sees them."""
    if resolve_kv_cache_layout:
        layouts = get_supported_kv_cache_layouts(get_current_attn_backends(config))
        resolve_kv_cache_layout(config, [[layout.name for layout in layouts]] * len(specs),
                                [spec for of_stage in specs for spec in of_stage.values()])
    groups = [get_global_kv_cache_groups(config, specs)] if get_global_kv_cache_groups else []
    configs = get_kv_cache_configs(config, specs, [pool] * len(specs), *groups)
    return kv_cache_utils.generate_scheduler_kv_cache_config(configs)


def _start_ranks(tensor):
    """One rank, which is told that it is the first of so many."""
    init_workspace_manager(torch.device("meta"), 1)
    store = tempfile.mkdtemp()
    parallel_state.init_distributed_environment(1, 0, f"file://{store}/group", 0, "gloo")
    parallel_state.initialize_model_parallel(1, 1)
    for group in ("_TP", "_EP"):
        if getattr(parallel_state, group, None) is not None:
            getattr(parallel_state, group).world_size = tensor


def _be_stage(stage, stages):
    group = parallel_state.get_pp_group()
    group.ranks, group.world_size = list(range(stages)), stages
    group.rank = group.rank_in_group = stage


def _folder(config_json):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config_json, file)
    return folder


def configuration(models, name, options, pool):
    """The config.json of a model by its name, as dictionaries, and arguments of EngineArgs."""
    options = dict(options)
    drafts = options.get("speculative_config")
    if drafts and "model" in drafts:
        options["speculative_config"] = {**drafts, "model": _folder(models[drafts["model"]])}
    arguments = EngineArgs(model=_folder(models[name]), load_format="dummy", skip_tokenizer_init=True,
                           kv_cache_memory_bytes=pool, **options)
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


def _bytes_of(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _without_weights(vllm_config, model_config=None, **arguments):
    """In place of get_model(), which fills a model with numbers."""
    model_config = model_config or vllm_config.model_config
    with set_default_torch_dtype(model_config.dtype), torch.device("meta"):
        return initialize_model(vllm_config=vllm_config, model_config=model_config, prefix=arguments.get("prefix", ""))


def _add_draft(config, model):
    """The drafter beside a model, as the second runner loads it; none where tokens are looked up."""
    drafts = config.speculative_config
    before = set(config.compilation_config.static_forward_context)
    if drafts.use_eagle():  # layers of the model's own, too
        from vllm.v1.worker.gpu.spec_decode.eagle import utils

        utils.get_model = _without_weights
        draft = utils.load_eagle_model(model, config)
    elif drafts.uses_draft_model():
        from vllm.v1.worker.gpu.spec_decode.standalone_ar import speculator

        speculator.get_model = _without_weights
        me = types.SimpleNamespace(speculative_config=drafts, vllm_config=config,
                                   draft_model_config=drafts.draft_model_config)
        draft = speculator.StandaloneARSpeculator.load_draft_model(me, model, before)
    else:
        return None
    for name, layer in config.compilation_config.static_forward_context.items():
        if name not in before:
            layer.is_draft_layer = True
    return draft


def _add_slots(config, model):
    """Bytes of the slots that adapters are loaded into."""
    mixin = types.SimpleNamespace()
    LoRAModelRunnerMixin.load_lora_model(mixin, model, config, torch.device("meta"))
    slots = {}
    for module in model.modules():
        for stacked in ("lora_a_stacked", "lora_b_stacked"):
            for tensor in getattr(module, stacked, ()):
                slots[id(tensor)] = tensor
    return _bytes_of(slots.values())


def _stage_of(config, stage):
    """What a stage of the pipeline holds, and its layers with caches."""
    stages = config.parallel_config.pipeline_parallel_size
    _be_stage(stage, stages)
    config.compilation_config.static_forward_context.clear()
    model = _without_weights(config)
    says = {"parameter_bytes": _bytes_of(model.parameters())}
    if config.lora_config:
        says["slot_bytes"] = _add_slots(config, model)
    if config.speculative_config:
        own = {id(p) for p in model.parameters()}
        draft = _add_draft(config, model)
        if draft:
            says["draft_bytes"] = _bytes_of(p for p in draft.parameters() if id(p) not in own)
    runner = types.SimpleNamespace(vllm_config=config, shared_kv_cache_layers={})
    absent_card.platform.update_block_size_for_backend(config)
    return says, GPUModelRunner.get_kv_cache_spec(runner)


def plan_of(config, pool):
    """The pool as vLLM plans it. Throws what vLLM throws."""
    with set_current_vllm_config(config):
        _start_ranks(config.parallel_config.tensor_parallel_size)
        stages = [_stage_of(config, stage) for stage in range(config.parallel_config.pipeline_parallel_size)]
        says = stages[0][0]
        if len(stages) > 1:
            says["parameter_bytes"] = [held["parameter_bytes"] for held, _ in stages]
        cache = _cache_config(config, [specs for _, specs in stages], pool)
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
