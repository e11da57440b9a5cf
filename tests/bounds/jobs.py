# SPDX-License-Identifier: MIT
"""Random jobs, and for each what its busiest GPU holds at least at one moment.

Every term is a mean over the GPUs that share it, so that one of them holds as much: what ranks repeat is counted once.
Nothing is counted that some version of an engine may not hold: temporaries, workspaces, fragments, and whatever the job
leaves to the engine's defaults, which is taken at its smallest."""

import dataclasses
import math

from models import SERVED, TRAINED

BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8_e4m3": 1, "fp8_tensor": 1, "int4": 0.5, "nf4": 0.5, "bnb_int8": 1,
         "q8_0": 34 / 32, "q4_0": 18 / 32}
# Values that an optimizer keeps for each trained parameter, and their bytes where the job does not say: at least.
STATES = {"adamw": (2, 2), "adamw_fused": (2, 2), "adamw_8bit": (2, 1), "lion": (1, 2), "sgd_momentum": (1, 2),
          "sgd": (0, 0)}

TRAINERS = ["huggingface", "huggingface", "litgpt", "pytorch", "deepspeed", "torchtitan", "torchtune", "megatron",
            "megatron_deepspeed", "nanotron", "none"]
KEEPS_COPIES = {"deepspeed", "megatron", "megatron_deepspeed", "nanotron"}  # of 16-bit weights, whatever is asked
PIPELINES = {"megatron", "megatron_deepspeed", "nanotron", "torchtitan", "none"}
TENSORS = PIPELINES | {"torchtune"}
SERVERS = ["vllm", "vllm", "sglang", "tensorrt-llm", "transformers", "lmdeploy", "tgi", "llama.cpp", "none"]

# Trainers that hold whole gradients between micro-batches where FSDP shards them: accelerate's no_sync() under
# transformers' Trainer (4.46 and later), lightning's no_backward_sync under lit-gpt.
WHOLE_GRADIENTS = {"huggingface", "litgpt"}
# Trainers whose DDP copies gradients into buckets (gradient_as_bucket_view=False, the default of torch and accelerate).
BUCKETS = {"huggingface", "litgpt", "pytorch"}
# Trainers whose ZeRO 2 is FSDP: a rank has its part of the weights, and from the forward pass on all of them, gathered in
# the format of the arithmetic, which may be 16 bits. Each unit's are freed once it has passed back.
FSDP = {"huggingface", "litgpt", "pytorch", "torchtitan", "torchtune"}

# What a moment may hold.
TERMS = ["weights", "adapter", "states", "gradients", "buckets", "activations", "logits", "gathered", "cache"]

GPUS = [("l4-24gb", 24), ("rtx-4090", 24), ("v100-sxm2-32gb", 32), ("a100-sxm4-40gb", 40), ("l40s-48gb", 48),
        ("rtx-a6000", 48), ("a100-sxm4-80gb", 80), ("h100-sxm5-80gb", 80), ("h200-sxm5-141gb", 141),
        ("b200-sxm-180gb", 180), ("mi300x-192gb", 192)]


@dataclasses.dataclass
class Job:
    document: dict
    moments: dict  # what is held at each moment: {moment: {term: bytes}}
    kinds: set

    @property
    def moment(self):
        return max(self.moments.values(), key=lambda terms: sum(terms.values()))

    @property
    def least(self):
        return sum(self.moment.values())


def on_a_gpu_of_about(dice, job, gpus):
    """Mostly the smallest GPU that holds what the job needs at least, cut to little more: there the verdict matters."""
    wanted = job.least / 2**30 * dice.uniform(0.95, 2) + 2
    large = [gpu for gpu in GPUS if gpu[1] >= wanted]
    near = large and dice.random() < 0.8
    job.document["cluster"] = {"gpu": large[0][0] if near else dice.choice(GPUS)[0], "gpus": gpus}
    if near:
        job.document["cluster"]["gpu_memory"] = int(wanted * 2**30)
    return job


def power(dice, most):
    return 2 ** dice.randint(0, most.bit_length() - 1)


def training(dice):
    m, trainer = dice.choice(TRAINED)(dice), dice.choice(TRAINERS)
    tensor = power(dice, 8) if trainer in TENSORS and m.kind in ("dense", "window", "routed") and dice.random() < 0.5 else 1
    pipeline = power(dice, 4) if trainer in PIPELINES and dice.random() < 0.3 else 1
    data = power(dice, 16) if dice.random() < 0.8 else 1
    context = 2 if trainer in ("megatron", "torchtitan", "none") and dice.random() < 0.25 else 1
    expert = math.gcd(data, 4) if m.experts and trainer in ("megatron", "none") else 1
    zero = dice.randint(0, 1 if pipeline > 1 or trainer == "megatron" else 3) if data > 1 else 0
    sequence, micro = dice.choice([256, 1024, 4096, 8192]), dice.choice([1, 1, 2, 4])
    steps = dice.choice([1, 1, 2, 8])
    optimizer = dice.choice(list(STATES))
    adapter = m.linear > 0 and trainer in ("huggingface", "pytorch", "deepspeed", "none") and dice.random() < 0.25
    document = {"model": m.config, "task": "finetuning" if adapter or dice.random() < 0.5 else "pretraining",
                "runtime": {"name": trainer}, "sequence": sequence, "micro_batch": micro,
                "global_batch": micro * data * steps, "optimizer": optimizer,
                "layout": {"tensor": tensor, "pipeline": pipeline, "data": data, "context_parallel": context,
                           "expert": expert, "expert_tensor": 1 if expert > 1 else tensor, "zero": zero}}
    recompute = dice.choice(["none", "full", "full"])
    document["recompute"] = recompute
    if tensor > 1 and trainer != "torchtune":
        document["layout"]["sequence_parallel"] = dice.random() < 0.5

    weights, gradients, master, states = "bf16", 2, 0, STATES[optimizer][1]
    trained = m.total
    if adapter:
        rank = dice.choice([8, 64, 256])
        document["adapter"] = {"kind": "lora", "rank": rank, "targets": "all-linear"}
        trained = rank * m.linear
        weights = dice.choice(["bf16", "nf4", "bnb_int8"])
        document["weights"] = weights
    elif dice.random() < 0.6:  # all precisions said
        weights = dice.choice(["bf16", "fp32"])
        document |= {"weights": weights, "gradients": "bf16" if weights == "bf16" and dice.random() < 0.5 else "fp32"}
        gradients = BYTES[document["gradients"]]
        if "8bit" not in optimizer:
            document["optimizer_states"] = dice.choice(["bf16", "fp32"])
            states = BYTES[document["optimizer_states"]]
        if weights == "bf16" and trainer not in KEEPS_COPIES:
            document["master_weights"] = dice.choice(["none", "fp32"])
            master = BYTES.get(document["master_weights"], 0)
    loss = dice.choice(["eager", None])
    if loss:
        document["runtime"]["loss"] = loss

    sharing = tensor * pipeline * data * context  # GPUs that share what ZeRO shards
    parts = tensor * pipeline  # GPUs that share what it does not
    of_experts = pipeline * max(tensor, expert * document["layout"]["expert_tensor"])

    def shared(per_value, sharded):
        if sharded:
            return m.total * per_value / sharing
        return m.dense * per_value / parts + m.experts * per_value / of_experts

    def of_trained(per_value, sharded):
        return trained * per_value / (sharing if sharded else parts) if adapter else shared(per_value, sharded)

    tokens = sequence * micro
    gathers = zero == 2 and trainer in FSDP
    held = {"weights": shared(BYTES[weights], zero == 3 or gathers),
            "states": of_trained(STATES[optimizer][0] * states + master, zero >= 1)}
    if adapter:
        held["adapter"] = of_trained(2, zero == 3)
    no_sync = steps > 1 and zero >= 2 and trainer in WHOLE_GRADIENTS
    buckets = data > 1 and zero == 0 and trainer in BUCKETS
    # Until they are shared, whole gradients are in the format of the arithmetic, which may be 16 bits.
    grown = {"gradients": of_trained(2, False) if no_sync else of_trained(gradients, zero >= 2)}
    if buckets:
        grown["buckets"] = of_trained(2 if adapter else BYTES[weights], False)
    layers = m.layers - 1 if adapter else m.layers  # the first has an input that no gradient is needed of
    saved = {"activations": tokens * m.hidden * 2 * max(0, layers - pipeline) / (parts * context)}
    if loss:  # the probabilities that eager cross entropy keeps, and the gradient that it makes of them
        saved["logits"] = 2 * 2 * tokens * m.vocabulary / (parts * context)
    if gathers:  # beside a part of the weights that may be of these
        saved["gathered"] = max(0, shared(min(2, BYTES[weights]), False) - held["weights"])
    if zero == 3:
        grown["gathered"] = 2 * m.matrix / parts
        saved["gathered"] = 2 * m.vocabulary * m.hidden / parts  # the head
    before = {}
    if steps > 1:  # gradients of the micro-batches before
        before = {name: size for name, size in grown.items() if name != "gathered"}
    elif buckets:
        before = {"buckets": grown["buckets"]}
    moments = {"loss": held | before | saved, "end of backward": held | grown}
    job = Job(document, moments, {"training", m.kind, trainer})
    named = {"adapter": adapter, "quantised": weights in ("nf4", "bnb_int8"), "tensor": tensor > 1,
             "pipeline": pipeline > 1, "context ranks": context > 1, "expert ranks": expert > 1, "accumulation": steps > 1,
             "whole gradients": no_sync and data > 1, "buckets": buckets, "logits": loss == "eager",
             f"zero {zero}": data > 1, "master weights": master > 0}
    job.kinds |= {name for name, there in named.items() if there}
    return on_a_gpu_of_about(dice, job, sharing)


def serving(dice):
    m, server = dice.choice(SERVED)(dice), dice.choice(SERVERS)
    ggml = server == "llama.cpp"
    tensor = 1 if ggml or server == "transformers" or m.kind == "recurrent" else power(dice, 8)
    if server in ("tgi", "lmdeploy"):
        tensor = math.gcd(tensor, m.config["num_key_value_heads"]) if m.kv_values else 1  # which they split evenly
    pipeline = power(dice, 4) if server in ("vllm", "sglang", "llama.cpp", "none") and dice.random() < 0.25 else 1
    data = power(dice, 4) if server in ("vllm", "sglang", "none") and dice.random() < 0.25 else 1
    expert = tensor * data if m.experts and m.count % (tensor * data) == 0 and server in ("vllm", "sglang") else 1
    context, batch = dice.choice([512, 2048, 8192, 32768]), power(dice, 128)
    weights = dice.choice(["q8_0", "q4_0", "fp16"] if ggml else ["bf16", "bf16", "fp16", "fp8_tensor"])
    document = {"model": m.config, "task": "serving", "runtime": {"name": server}, "weights": weights,
                "context": context, "batch": batch,
                "layout": {"tensor": tensor, "pipeline": pipeline, "data": data, "expert": expert,
                           "expert_tensor": 1 if expert > 1 else tensor}}
    cache = 2
    if m.kv_values and not ggml and server != "transformers" and dice.random() < 0.3:
        document["kv_cache"] = "fp8_e4m3"
        cache = 1
    parts = tensor * pipeline
    on_host = m.vocabulary * m.hidden if ggml and not m.config["tie_word_embeddings"] else 0  # llama.cpp's token_embd
    held = {"weights": (m.dense - on_host) * BYTES[weights] / parts
            + m.experts * BYTES[weights] / (pipeline * max(tensor, expert))}
    sequences = math.ceil(batch / data)
    seen = min(context, m.window) if m.window else context
    if m.kv_values:
        held["cache"] = sequences * seen * m.layers * m.kv_values * cache / parts
    if m.state_values:
        held["states"] = sequences * m.state_values * 2 / parts
    held["logits"] = 2 * sequences * m.vocabulary / parts
    job = Job(document, {"last token": held}, {"serving", m.kind, server})
    named = {"tensor": tensor > 1, "pipeline": pipeline > 1, "data ranks": data > 1, "expert ranks": expert > 1,
             "quantised": BYTES[weights] < 2, "narrow cache": cache == 1}
    job.kinds |= {f"serving: {name}" for name, there in named.items() if there}
    return on_a_gpu_of_about(dice, job, parts * data)


def random_job(dice):
    return (training if dice.random() < 0.6 else serving)(dice)
