# SPDX-License-Identifier: MIT
"""What each publisher ran: the runtime, its version and its settings, from their programs and what they wrote beside the figures; never
from what was measured."""
import re

import megatron as megatron_core

ATTENTION = "attention"


def is_lora(row):
    """LoRA, or what is built on it: QLoRA, DoRA."""
    return re.search("lora|dora", row.text("method"), re.IGNORECASE) is not None


def updates_in_fp32(document):
    """The optimizer's copy of the weights and its states are in fp32."""
    document |= {"master_weights": "fp32", "optimizer_states": "fp32"}


def layers_between(text, word):
    found = re.search(re.escape(word) + r"(\d+)", text)
    return int(found.group(1)) if found else None


# ---- Megatron-Core ----------------------------------------------------------------------------------------------------------------------


def megatron_runtime(row):
    """By the version of Megatron-Core, where a row gives one; a commit or a month of its main branch are none."""
    found = re.search(r"(?:core_[rv]|Megatron-Core v?|MCore v?)(0\.\d+)", row.text("framework"))
    return {"name": "megatron", "versions": found.group(1)} if found else {"name": "megatron"}


def megatron(row, document, measured):
    formats = row.text("precision")
    document["weights"] = document["compute"] = "fp16" if "fp16" in formats else "fp32" if "fp32; fp8" in formats else "bf16"
    document["runtime"] = megatron_runtime(row)
    updates_in_fp32(document)
    if row.number("mtp"):
        document["mtp_layers"] = row.number("mtp")
    if row.text("attention") == "TE default":
        document["attention"] = "flash"
    if "args" in row:
        megatron_core.add_arguments(row, document)
        measured["stage"] = "last"  # the rank that writes TensorBoard
    else:
        document["runtime"]["loss"] = "transformer_engine"  # data/README.md: fused cross entropy; --cross-entropy-fusion-impl te


def megatron_bridge(row, document, measured):
    parallel = row.text("parallel")
    document["runtime"] = megatron_runtime(row)
    if chunks := layers_between(parallel, "VPP="):
        document["layout"]["virtual_pipeline"] = chunks
    if row.says("precision", "dist-opt", "distributed optimizer") or row.says("optimizer", "dist-opt"):
        document["layout"]["zero"] = max(document["layout"].get("zero", 0), 1)
    if row.says("precision", "FP8 current scaling"):
        document["runtime"]["fp8_recipe"] = "tensorwise"
    if found := re.match(r"selective (\w+(,\w+)*)", row.text("recompute")):
        document["recompute_modules"] = found.group(1)
    updates_in_fp32(document)
    document["attention"] = "flash"


# ---- torchtitan and torchao -------------------------------------------------------------------------------------------------------------

# When that torchtitan was built: the date of its commit, or of the PyTorch that the publisher names beside it.
BUILDS = (("9dec370", "2024-12-26"), ("e7c0cae", "2025-06-11"), ("fca8ab7be", "2026-03"), ("torch 2.7.0a0", "2025-03"),
          ("torch 2.8.0", "2025-06"), ("torch 2.9.0", "2025-09"), ("custom RMSNorm", "2025-03"), ("reference cycle", "2025-03"))


def torchtitan_built(framework):
    for part, date in BUILDS:
        if part in framework:
            return date
    found = re.search(r"torchtitan .*?(20\d\d-\d\d)", framework)
    return found.group(1) if found else "2025-03"


def torchtitan(row, document, measured):
    framework = row.text("framework")
    one_graph = row.says("framework", "graph_trainer", "compiler_toolkit") or row.says("notes", "case graph")
    gpus = document["cluster"]["gpus"]
    runtime = {"name": f"{'graph_trainer' if one_graph else 'torchtitan'}@{torchtitan_built(framework)}"}
    # Nodes are joined by multinode_trainer.slurm, which asks for no expandable segments; ROCm has none.
    if gpus > 8 or row.says("gpu", "MI300"):
        runtime["expandable_segments"] = False
    if "chunked" in framework:
        runtime["loss"] = "chunked"
    if row.says("parallel", "never"):
        runtime["reshard_after_forward"] = False
    if "compile" in framework and "compile?" not in framework and not one_graph:
        runtime["compiled"] = True
    document |= {"runtime": runtime, "weights": "fp32", "compute": "bf16", "optimizer": "adamw_fused",
                 "attention": "cudnn" if row.says("gpu", "B200") else "sdpa"}
    updates_in_fp32(document)
    document["layout"]["zero"] = 3
    if row.says("framework", "without fix", "saved abs(W)"):
        measured["fault"] = True


# ---- transformers, PEFT and accelerate --------------------------------------------------------------------------------------------------


# fms-hf-tuning gives a tokenizer the special tokens that it lacks, and the embedding and the head a row for each token that there is then
# (tuning/utils/tokenizer_data_utils.py, tokenizer_and_embedding_resize): one for padding; Llama 3's lacks one for unknown tokens, too. What
# was allocated when training ended says so: Llama 2 70B in nf4 is accounted for to 11 MiB and five blocks of 512 bytes, Llama 3 8B by GPTQ to
# those blocks. PowerLM's pads with another of its tokens. santacoder's tokenizer was not at hand.
ADDED_TOKENS = {"mistral": 1, "mixtral": 1, "llama-2": 1, "llama-3": 2}


def vocabulary_of(row):
    """What was trained, where it is not what was published as the model."""
    added = 0
    if row["series"].startswith("fms"):
        added = next((count for family, count in ADDED_TOKENS.items() if row.text("model").lower().startswith(family)), 0)
    return row.number("vocab") + added


def fms(row, document, measured):
    """foundation-model-stack/fms-acceleration."""
    method, name, framework = row.text("method"), row.text("model"), row.text("framework")
    autocast = row.says("precision", "AMP")
    # refs/requirements_*.txt: transformers 4.48.1 and 4.45.2.
    runtime = {"name": "huggingface@" + ("4.48.1" if row["series"] == "fms_a100_80gb" else "4.45.2")}
    if "foak" in framework:
        runtime |= {"fused_norms": True, "loss": "triton"}
    if framework.endswith("-liger"):
        runtime["loss"] = "fused_linear"
    document["autocast"] = autocast
    if "santacoder" in name:
        runtime["narrow_loss"] = True
    runtime["fp32_stream"] = "baseline-peft-bnb" in framework
    if is_lora(row):
        document["adapter"]["dropout"] = 0.1  # scripts/benchmarks/scenarios*.yaml
        if "q_proj" in method:
            document["adapter"]["targets"] = ATTENTION
    if "bnb" in method:
        document["weights"] = "nf4_double"  # bnb_4bit_use_double_quant in framework_plugin_bnb.py
    # fused_ops_and_kernels, fused_lora, which is for quantised layers alone (framework_plugin_fast_kernels.py, augmentation).
    if is_lora(row) and "foak" in framework and ("bnb" in method or "gptq" in method):
        runtime["fused_adapters"] = True
    # The original checkpoints: TheBloke's of these two have one group a row.
    if "gptq" in method and ("70b" in name or "Mixtral" in name):
        document["weights"] = "gptq_int4_channel"
    # accelerate keeps what is trained in fp32 under FSDP, and gathers it in the autocast type.
    if document["layout"].get("zero", 0) > 0 and "full" in method and autocast:
        document |= {"weights": "fp32", "autocast": False}
        updates_in_fp32(document)
    document["runtime"] = runtime


def swift(row, document, measured):
    name = row.text("model")
    document["runtime"] = {"name": "huggingface@4.36"}
    document["global_batch"] = 16 * document["micro_batch"]
    # 3234 +- 2548 tokens; what is longer than max_length is left out, the rest not packed
    document |= {"varied_lengths": True, "mean_length": 3234}
    # Their own code of 2023 has no flash attention, whatever the flag (modeling_chatglm.py, modeling_baichuan.py).
    if "chatglm3" in name or "baichuan2-13b" in name:
        document["attention"] = "eager"
    if row.says("parallel", "naive"):
        document["layout"] |= {"pipeline": 2, "data": 1}
        measured["stage"] = "first"  # the figure is the first GPU's
    if is_lora(row):
        # swift/llm/utils/model.py, LoRATM: the layers that make queries, keys and values, by the names of each model's own code.
        document["adapter"]["targets"] = "query_key_value" if "chatglm" in name else "W_pack" if "baichuan" in name else \
            "c_attn" if name.startswith("Qwen-") else "q_proj,k_proj,v_proj"


def fsdp_qlora(row, document, measured):
    """AnswerDotAI/fsdp_qlora: its train.py, and the notebooks that profile a smaller model."""
    profile = row["series"] == "fsdp_qlora_profile"
    hqq = row.says("method", "hqq")
    # Early 2024. Neither train.py nor the notebooks call peft's prepare_model_for_kbit_training.
    runtime = {"name": "huggingface@4.38", "fp32_stream": False, "checkpoints_inside_units": True}
    if not profile:
        runtime["holds_outputs"] = True  # train.py: output = None after optimizer.step()
        if document["layout"].get("data", 1) > 1 and not document["layout"].get("zero"):
            runtime["gradient_as_bucket_view"] = True  # its "ddp" is FSDP's NO_SHARD, which has no buckets of DDP
        # peft makes adapters in fp32 and casts them to the format of the weight, where that is a float
        # (tuners/lora/layer.py, update_layer): train.py stores 4-bit weights as bf16 (quant_storage), which others keep as bytes.
        runtime["fp32_adapters"] = False
    if row.says("recompute", "non-reentrant"):
        runtime["use_reentrant"] = False
    if hqq:
        document["weights"] = "hqq_int4_g64"
    if profile:
        runtime["loss"] = "mean"  # nbs/00-profile_lora_qlora.ipynb: output.logits.mean().backward()
        context = "max_position_embeddings" if "from" in document["model"] else "max_context"
        document["model"][context] = 2048  # LlamaConfig's default
    elif row.says("method", "nf4"):
        document["weights"] = "nf4_double"  # bnb.nn.Linear4bit's compress_statistics, which train.py leaves on
    document["runtime"] = runtime
    if is_lora(row):
        targets = "all-linear" if hqq else "q_proj,v_proj" if profile else "q_proj,k_proj,v_proj,gate_proj,up_proj,down_proj"
        document["adapter"] |= {"targets": targets, "dropout": 0.1}  # q_proj and v_proj: peft's own choice for Llama


def transformers(row, document, measured):
    """A script of transformers, PEFT and accelerate, as their documents have it: the version that the row names."""
    found = re.search(r"transformers[ =]*(\d+(\.\d+)*)", row.text("framework"))
    document["runtime"] = {"name": "huggingface" + (f"@{found.group(1)}" if found else "")}
    document["autocast"] = row.says("precision", "AMP", "autocast", "mixed")
    if row.says("framework", "Liger", "liger") and not row.says("framework", "no Liger"):
        document["runtime"] |= {"loss": "fused_linear", "fused_norms": True, "fused_gates": True}
    if is_lora(row):
        method = row.text("method")
        named = re.findall(r"\b(?:q|k|v|o|gate|up|down)_proj\b", method)
        document["adapter"]["targets"] = "all-linear" if "all linear" in method or "all-linear" in method else \
            ",".join(named) if named else "q_proj,v_proj"


# ---- LitGPT and torchtune ---------------------------------------------------------------------------------------------------------------


def litgpt(row, document, measured):
    method = row.text("method")
    dated = re.match(r"lit-gpt (\d{4}-\d{2})$", row.text("framework"))
    document |= {"runtime": {"name": f"litgpt@{dated.group(1)}" if dated else "litgpt"}, "global_batch": 128}
    if row.says("precision", "mixed"):
        if document["weights"] in ("bf16", "fp16"):  # quantised ones stay as they are
            document["weights"] = "fp32"
        updates_in_fp32(document)
    if is_lora(row):
        document["adapter"] |= {"targets": "q_proj,v_proj", "dropout": 0.05}
    if "Adapter" in method:
        document["adapter"] = {"kind": "llama_adapter_v2" if "v2" in method else "llama_adapter", "rank": 10}


def torchtune(row, document, measured):
    """Each row adds to the one before: packed, compiled, loss in chunks, recomputed, ..."""
    framework, optimizer = row.text("framework"), row.text("optimizer")
    compiled = "+packed" not in framework
    document["runtime"] = {"name": "torchtune@0.4", "compiled": compiled}
    if compiled and "+compile" not in framework:
        document["runtime"]["loss"] = "chunked"
    if optimizer == "AdamW bf16":
        document["optimizer"] = "adamw_fused"  # recipes/configs: fused: True
    if "AdamW8bit" in optimizer and document["optimizer"] != "paged_adamw":
        document["optimizer"] = "adamw_8bit_torchao"  # torchao's, as memory_optimizations.rst names it


# ---- DeepSpeed and nanotron -------------------------------------------------------------------------------------------------------------


def deepspeed(row, document, measured):
    runtime = {"name": "deepspeed"}
    # Liger patches norms and gated products as well (transformers/monkey_patch.py, apply_liger_kernel_to_llama).
    if row.says("framework", "Liger") and not row.says("framework", "no Liger"):
        runtime |= {"loss": "fused_linear", "fused_norms": True, "fused_gates": True}
    if row["series"] == "deepspeed":
        runtime["reduce_bucket_size"] = 50_000_000  # DeepSpeedExamples, bf16_master_weight/configs
    else:  # ml-engineering, insights/when-to-upgrade-gpus/benchmark.py, ds_config: all else is DeepSpeed's default
        runtime |= {"reduce_bucket_size": 500_000_000, "overlap_comm": True}
    document["master_weights"] = document["optimizer_states"] = "bf16" if row.says("precision", "bf16 master") else "fp32"
    document |= {"runtime": runtime, "attention": "flash"}


def megatron_deepspeed(row, document, measured):
    document |= {"runtime": {"name": "megatron_deepspeed"}, "attention": "eager", "dropout": True}
    if not row.says("precision", "BF16_Optimizer"):
        document["gradients"] = document["weights"]
    updates_in_fp32(document)


def nanotron(row, document, measured):
    document |= {"runtime": {"name": "nanotron"}, "attention": "flash"}
    updates_in_fp32(document)


# ---- by series, or else by the runtime that the row names -------------------------------------------------------------------------------

BY_SERIES = (("megatron", megatron), ("mbridge", megatron_bridge), ("torchtitan", torchtitan), ("torchao", torchtitan), ("fms", fms),
             ("swift", swift), ("fsdp_qlora", fsdp_qlora), ("litgpt", litgpt), ("torchtune", torchtune), ("stas_h200_b200", deepspeed),
             ("deepspeed", deepspeed), ("bloom_prequel", megatron_deepspeed), ("ultrascale", nanotron))
BY_FRAMEWORK = (("lit-gpt", litgpt), ("litgpt", litgpt), ("Megatron-Bridge", megatron_bridge), ("torchtitan", torchtitan),
                ("torchtune", torchtune), ("DeepSpeed", deepspeed), ("nanotron", nanotron), ("transformers", transformers),
                ("PEFT", transformers), ("peft", transformers), ("trl", transformers), ("HF", transformers),
                ("LLaMA-Factory", transformers))


def publisher_of(row):
    for known, parts in ((BY_SERIES, row.text("series")), (BY_FRAMEWORK, row.text("framework"))):
        for part, publisher in known:
            if parts.startswith(part) if known is BY_SERIES else part in parts:
                return publisher
    raise SystemExit(f"{row.text('id')}: series is {row.text('series')}, framework is {row.text('framework')}; expected a publisher or a "
                     "runtime of tests/validation/training/publishers.py")
