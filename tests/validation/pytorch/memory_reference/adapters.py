# SPDX-License-Identifier: MIT
"""Adapters by peft, and 4-bit base weights by bitsandbytes."""

from __future__ import annotations

import peft
import torch
from torch import nn
from torch._subclasses.fake_tensor import unset_fake_temporarily


def quantise(model: nn.Module) -> None:
    """Every linear layer but the head becomes a bitsandbytes ``Linear4bit``: nf4, doubly quantised, bf16 compute.

    What ``BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)`` makes
    of a checkpoint. The quantised weight is a plain frozen parameter here, which fake tensors require;
    bitsandbytes's own parameter class only adds methods.
    """
    import bitsandbytes as bnb
    bnb.functional.name2qmap.clear()  # tables cached by an earlier case belong to its fake tensors
    head = model.get_output_embeddings()
    for parent in list(model.modules()):
        for name, linear in list(parent.named_children()):
            if type(linear) is not nn.Linear or linear is head:
                continue
            packed, state = bnb.functional.quantize_4bit(
                linear.weight.data, quant_type="nf4", compress_statistics=True)
            with unset_fake_temporarily():
                quantised = bnb.nn.Linear4bit(linear.in_features, linear.out_features, bias=False,
                                              compute_dtype=torch.bfloat16, quant_type="nf4", device="meta")
            weight = nn.Parameter(packed, requires_grad=False)
            weight.quant_state, weight.quant_type, weight.compress_statistics = state, "nf4", True
            weight.quant_storage, weight.bnb_quantized = torch.uint8, True
            quantised.weight, quantised.bias, quantised.quant_state = weight, linear.bias, state
            setattr(parent, name, quantised)


def prepare_quantised(model: nn.Module) -> None:
    """Freezes the model and holds what is not quantised in fp32, as peft's ``prepare_model_for_kbit_training``."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_floating_point():
                setattr(module, name, nn.Parameter(parameter.float(), requires_grad=False))
    model.tie_weights()  # peft writes into each parameter, and so keeps a head tied


def adapt(model: nn.Module, method: str, rank: int, targets: tuple[str, ...], dropout: float) -> nn.Module:
    """``model`` with LoRA or DoRA on ``targets``; qlora quantises it first. Adapters are fp32, peft's default.

    ia3: on keys, values and the feed-forward's last product. prompt: ``rank`` trained tokens before each sequence.
    """
    if method == "ia3":
        return peft.get_peft_model(model, peft.IA3Config(
            task_type="CAUSAL_LM", target_modules=["k_proj", "v_proj", "down_proj", "fc2"], feedforward_modules=["down_proj", "fc2"]))
    if method == "prompt":
        return peft.get_peft_model(model, peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=rank))
    if method == "qlora":
        quantise(model)
        prepare_quantised(model)
        model.is_loaded_in_4bit = True
    return peft.get_peft_model(model, peft.LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules=list(targets), lora_dropout=dropout, use_dora=method == "dora",
        use_rslora=method == "rslora"))
