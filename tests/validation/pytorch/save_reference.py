#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Saves small checkpoints with the frameworks themselves and writes the bytes of their files: save_reference.py OUTPUT.csv

No GPU is needed: ranks are processes with gloo. A row is a kind of file of one checkpoint: how many there are, and their bytes in
all. Models are Llama's modules with hidden 256, 4 layers, 8 heads of 32, 4 KV heads, feed-forward 688 and 4096 tokens of vocabulary, tied or not."""

import csv
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

SHAPE = dict(hidden_size=256, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, intermediate_size=688,
             vocab_size=4096, max_position_embeddings=256)
CASES = [  # name, ranks, settings
    ("trainer", 1, dict(dtype="fp32")),
    ("trainer", 1, dict(dtype="bf16")),
    ("trainer", 1, dict(dtype="fp32", tied=True)),
    ("trainer", 1, dict(dtype="fp32", optimizer="sgd_momentum")),
    ("trainer", 1, dict(dtype="fp32", optimizer="adafactor_hf")),
    ("trainer", 1, dict(dtype="fp32", weights_only=True)),
    ("trainer", 1, dict(dtype="bf16", rank=8)),
    ("trainer", 2, dict(dtype="fp32")),
    ("accelerate", 2, dict(dtype="fp32", fsdp=1, files="sharded")),
    ("accelerate", 2, dict(dtype="fp32", fsdp=2, files="gathered")),
    ("accelerate", 2, dict(dtype="fp32", fsdp=2, files="sharded")),
    ("dcp", 2, dict(dtype="fp32")),
    ("dcp", 4, dict(dtype="fp32")),
    ("dcp", 2, dict(dtype="fp32", tied=True)),
    ("dcp", 2, dict(dtype="fp32", weights_only=True)),
    ("deepspeed", 2, dict(zero=0)),
    ("deepspeed", 2, dict(zero=1)),
    ("deepspeed", 2, dict(zero=2)),
    ("deepspeed", 2, dict(zero=3)),
    ("deepspeed", 2, dict(zero=3, files="gathered")),
    ("deepspeed", 2, dict(zero=2, tied=True)),
]


def make_model(how):
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SHAPE, tie_word_embeddings=how.get("tied", False))
    model = transformers.LlamaForCausalLM(config)
    return model.to(torch.bfloat16 if how.get("dtype") == "bf16" else torch.float32)


def batch():
    import torch

    tokens = torch.arange(16).reshape(1, 16) % 64
    return dict(input_ids=tokens, labels=tokens)


def save_with_trainer(folder, how):
    import torch
    import transformers

    model = make_model(how)
    if how.get("rank"):
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(r=how["rank"], target_modules=["q_proj", "v_proj"]))
    extra = {}
    names = {"sgd_momentum": "sgd", "adafactor_hf": "adafactor"}
    optimizer = how.get("optimizer", "adamw")
    if optimizer == "sgd_momentum":
        extra["optim_args"] = "momentum=0.9"
    args = transformers.TrainingArguments(
        output_dir=folder, max_steps=1, save_steps=1, per_device_train_batch_size=1, use_cpu=True, report_to=[],
        optim=names.get(optimizer, "adamw_torch"), save_only_model=how.get("weights_only", False), disable_tqdm=True,
        ddp_backend="gloo" if os.environ.get("WORLD_SIZE") else None, **extra)
    data = [{k: v[0] for k, v in batch().items()}] * 4
    transformers.Trainer(model=model, args=args, train_dataset=data).train()


def save_with_dcp(folder, how):
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_optimizer_state_dict
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    model = make_model(how)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    model(**batch()).loss.backward()
    optimizer.step()
    state = {"model": get_model_state_dict(model)}
    if not how.get("weights_only"):
        state["optimizer"] = get_optimizer_state_dict(model, optimizer)
    dcp.save(state, checkpoint_id=folder + "/step-1")
    dist.destroy_process_group()


def save_with_accelerate(folder, how):
    """What transformers' Trainer calls under FSDP (trainer.py, save_model and _save_optimizer_and_scheduler)."""
    import functools
    import types

    import accelerate
    import torch
    import torch.distributed as dist
    from accelerate.utils import save_fsdp_model, save_fsdp_optimizer
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    dist.init_process_group("gloo")
    mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
    model = make_model(how)
    if how["fsdp"] == 2:
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        model = fully_shard(model, mesh=mesh)
    else:
        policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
        model = FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=torch.device("cpu"), use_orig_params=True)
    optimizer = torch.optim.AdamW(model.parameters())
    model(**batch()).loss.backward()
    optimizer.step()
    gathers = how["files"] == "gathered"
    plugin = accelerate.FullyShardedDataParallelPlugin(
        fsdp_version=how["fsdp"], state_dict_type="FULL_STATE_DICT" if gathers else "SHARDED_STATE_DICT",
        cpu_ram_efficient_loading=False, sync_module_states=False)
    state = types.SimpleNamespace(num_processes=dist.get_world_size(), process_index=dist.get_rank(), is_fsdp2=how["fsdp"] == 2,
                                  wait_for_everyone=dist.barrier)
    accelerate.PartialState(cpu=True)
    save_fsdp_model(plugin, state, model, folder + "/step-1")
    save_fsdp_optimizer(plugin, state, optimizer, model, folder + "/step-1")
    dist.destroy_process_group()


def save_with_deepspeed(folder, how):
    import deepspeed

    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    config = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True},
              "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
              "zero_optimization": {"stage": how["zero"], "stage3_gather_16bit_weights_on_model_save": how.get("files") == "gathered"}}
    model = make_model(how)
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config, dist_init_required=True)
    loss = engine(**batch()).loss
    engine.backward(loss)
    engine.step()
    engine.save_checkpoint(folder, tag="step-1")
    if how.get("files") == "gathered":
        engine.save_16bit_model(folder + "/step-1", "pytorch_model.bin")


def run_one(name, folder, how):
    saves = {"trainer": save_with_trainer, "accelerate": save_with_accelerate, "dcp": save_with_dcp, "deepspeed": save_with_deepspeed}
    saves[name](folder, how)


def kinds_of(folder):
    """Files by kind: numbers in a name are of ranks, steps and parts."""
    kinds = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if not path.is_file() or path.suffix in {".json", ".md", ".py", ".txt", ".jinja"} or path.stat().st_size < 20000:
            continue
        inside = path.relative_to(folder).parts[1:]
        kind = re.sub(r"\d+", "N", "/".join(inside))
        count, size = kinds.get(kind, (0, 0))
        kinds[kind] = (count + 1, size + path.stat().st_size)
    return kinds


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--one":
        return run_one(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    columns = ["framework", "ranks", "dtype", "tied", "optimizer", "lora_rank", "fsdp", "zero", "asked", "weights_only", "file", "files", "bytes"]
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    with open(sys.argv[1], "w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(columns)
        for name, ranks, how in CASES:
            if only not in name:
                continue
            folder = tempfile.mkdtemp()
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                port = s.getsockname()[1]
            one = [__file__, "--one", name, folder, json.dumps(how)]
            command = [sys.executable, *one]
            if ranks > 1 or name != "trainer":
                command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={port}", *one]
            done = subprocess.run(command, env=dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", DS_ACCELERATOR="cpu"),
                                  capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{name} {ranks} {how}: {done.stderr[-1500:]}", file=sys.stderr)
            for kind, (count, size) in kinds_of(folder).items():
                rows.writerow([name, ranks, how.get("dtype", "bf16"), int(how.get("tied", False)), how.get("optimizer", "adamw"), how.get("rank", 0),
                               how.get("fsdp", 0), how.get("zero", 0), how.get("files", ""), int(how.get("weights_only", False)), kind, count, size])
            out.flush()
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
