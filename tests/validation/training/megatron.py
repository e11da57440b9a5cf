# SPDX-License-Identifier: MIT
"""Megatron-Core's own arguments, with its defaults filled in (megatron/training/arguments.py), as columns and as keys of a job document."""
from rows import layout_of, pattern_of

ZERO = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}  # Megatron-FSDP's data-parallel-sharding-strategy


def columns_of(row):
    """The columns of a run that was recorded by its arguments."""
    args = row["args"]
    get = args.get
    chunks, ahead = pattern_of(args)
    pattern = "".join(chunks)
    hidden = int(get("hidden-size"))
    heads = int(get("num-attention-heads"))
    ffn = int(get("ffn-hidden-size") or (int(hidden * 4 * 2 / 3 / 64) * 64 if get("swiglu") else 4 * hidden))
    tp, pp, cp, ep = layout_of(args)
    layers = len(pattern) or int(get("num-layers"))
    chunk = int(get("num-layers-per-virtual-pipeline-stage", 0))
    micro_batch = int(get("micro-batch-size"))
    strategy = get("data-parallel-sharding-strategy") if get("use-megatron-fsdp") else None
    head_dim = int(get("mamba-head-dim", 64))
    dp = row["n_gpus"] // (tp * pp * cp)
    if get("global-batch-size"):  # a node whose global batch is too small for all of it runs on fewer GPUs
        dp = min(dp, int(get("global-batch-size")) // micro_batch)
    latent, experts = get("multi-latent-attention"), int(get("num-experts") or 0)
    freq = get("moe-layer-freq", 1)
    moe_layers = sum(eval(freq, {"__builtins__": {}})) if isinstance(freq, str) else layers
    return {
        "hidden": hidden, "layers": layers, "heads": heads,
        "kv_heads": int(get("num-query-groups", 1)) if get("group-query-attention") else heads,
        "head_dim": int(get("kv-channels") or hidden // heads), "ffn": ffn, "seq": get("seq-length"), "micro_batch": micro_batch,
        "global_batch": int(get("global-batch-size") or micro_batch * dp),
        "tp": tp, "sp": int(bool(get("sequence-parallel"))), "pp": pp, "dp": dp, "cp": cp, "ep": ep,
        "vpp": int(get("num-virtual-stages-per-pipeline-rank", layers // pp // chunk if chunk else max(len(chunks) // pp, 1))),
        "etp": int(get("expert-tensor-parallel-size") or tp),
        "zero": ZERO[strategy or ("optim" if get("use-distributed-optimizer") else "no_shard")],
        "shard_replicas": int(get("num-distributed-optimizer-instances", 1)),
        "group": int(get("microbatch-group-size-per-virtual-pipeline-stage", 0)),
        "experts": experts, "topk": int(get("moe-router-topk", 2)), "moe_ffn": int(get("moe-ffn-hidden-size", ffn)),
        "shared_ffn": int(get("moe-shared-expert-intermediate-size", 0)), "moe_latent": int(get("moe-latent-size", 0)),
        "dense_layers": layers - moe_layers if experts and not pattern else 0,
        "q_rank": int(get("q-lora-rank", 0)) if latent else 0, "kv_rank": int(get("kv-lora-rank", 32)) if latent else 0,
        "rope_dim": int(get("qk-pos-emb-head-dim", 64)) if latent else 0, "v_dim": int(get("v-head-dim", 128)) if latent else 0,
        "gated": bool(get("swiglu")), "norm": "rms" if get("normalization", "LayerNorm") == "RMSNorm" else "layer",
        "bias": not get("disable-bias-linear"), "tied": not get("untie-embeddings-and-output-weights"), "qk_norm": bool(get("qk-layernorm")),
        "positions": get("max-position-embeddings") if get("position-embedding-type", "learned_absolute") == "learned_absolute" else 0,
        "mtp": len(ahead) or int(get("mtp-num-layers", 0)), "pattern": pattern, "mtp_pattern": ahead[0] if ahead else "",
        "mamba": {"heads": int(get("mamba-num-heads") or 2 * hidden // head_dim), "head_dim": head_dim,
                  "key_heads": int(get("mamba-num-groups", 8)), "state": int(get("mamba-state-dim", 128))},
    }


def names_in(value):
    """Names of modules, "[layernorm moe_act]" or one alone, with commas between them."""
    return ",".join(str(value).strip("[]").replace(",", " ").split())


def add_arguments(row, document):
    """What Megatron-Core was told beside its model's shape."""
    args = row["args"]
    get = args.get
    layout, runtime = document["layout"], document["runtime"]
    chunks, _ = pattern_of(args)
    stages = "|".join(str(len(chunk)) for chunk in chunks) if len(chunks) > 1 else get("pipeline-model-parallel-layout", "")
    if "|" in stages:
        layout["stages"] = stages
        layout.pop("virtual_pipeline", None)  # as many as the stages say
    for key, names in {"first_stage_layers": ("num-layers-in-first-pipeline-stage", "decoder-first-pipeline-num-layers"),
                       "last_stage_layers": ("num-layers-in-last-pipeline-stage", "decoder-last-pipeline-num-layers")}.items():
        for name in names:
            if get(name):
                layout[key] = int(get(name))
    if get("account-for-embedding-in-pipeline-split"):
        layout["embedding_as_layer"] = True
    if get("account-for-loss-in-pipeline-split"):
        layout["loss_as_layer"] = True
    if get("cp-comm-type") in ("a2a", "all_gather"):
        layout["cp_comm_type"] = get("cp-comm-type")
    if get("optimizer") in ("muon", "dist_muon"):
        document["optimizer"] = "muon"
    if get("no-use-layer-wise-param-layout"):
        runtime["layer_wise_param_layout"] = False
    if get("defer-embedding-wgrad-compute"):
        runtime["defer_embedding_wgrad_compute"] = True
        runtime["wgrad_deferral_limit"] = int(get("wgrad-deferral-limit", 0))
    if get("transformer-impl") == "local" and not get("use-flash-attn"):
        document["attention"] = "eager"  # core/transformer/dot_product_attention.py: scores are a tensor
    if get("train-iters"):
        document["steps"] = int(get("train-iters"))
    if get("fp8-format"):
        runtime["fp8_recipe"] = get("fp8-recipe", "delayed")
        runtime["fp8_param_gather"] = bool(get("fp8-param-gather"))
    if get("recompute-modules") and document.get("recompute") == "selective":
        document["recompute_modules"] = names_in(get("recompute-modules"))
    if get("fine-grained-activation-offloading"):
        document["offload"] = {"modules": names_in(get("offload-modules"))}
    if float(get("hidden-dropout", 0.1)) > 0 or float(get("attention-dropout", 0.1)) > 0:
        document["dropout"] = True
    if get("mtp-use-repeated-layer"):
        document["mtp_use_repeated_layer"] = True
    if get("grad-reduce-in-bf16"):
        document["gradients"] = "bf16"
    if get("use-fused-weighted-squared-relu"):
        runtime["use_fused_weighted_squared_relu"] = True
    if row.number("experts") and "moe-grouped-gemm" not in args:
        runtime["experts"] = "sequential"
    if get("no-gradient-accumulation-fusion"):
        runtime["gradient_accumulation_fusion"] = False
    if get("cross-entropy-loss-fusion"):
        runtime["loss"] = "transformer_engine" if get("cross-entropy-fusion-impl") == "te" else "vocabulary_parallel_fused"
