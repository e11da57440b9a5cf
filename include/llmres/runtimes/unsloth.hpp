// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/runtime.hpp>

/// Unsloth: transformers' Trainer with kernels of its own.
namespace llmres::inline v0::runtimes {

/// Read from unsloth and unsloth_zoo 2026.10.9; what is not set here is assumed to be as under transformers' Trainer.
/// Of its own rules it leaves uncounted:
///
/// - inputs of layers that stay on the GPU though activations are offloaded: the last layer's, and those of at most
///   2 MiB (unsloth_zoo/gradient_checkpointing.py, MINIMUM_SIZE);
/// - an embedding table that goes to the host where the GPU is short of memory (models/vision.py,
///   _resolve_offload_embedding: offload_embedding is "auto");
/// - the tile of its loss, which has 256 MiB at most where the head is frozen, and else 512 to 4,096 tokens
///   (fused_losses/fused_linear.py, _tiled_layout and fused_linear_rows): Liger's part is counted, of fewer tokens;
/// - kernels of its own for routed experts.
inline constexpr runtime unsloth = [] {
    runtime r = for_versions(huggingface, "unsloth 2026.10 and later", {2026, 10});
    r.identity.name = "unsloth";
    // Assumed: the loss's parts are up to eight times as large as Liger's.
    r.accuracy.logits = {0.5, 1.0, 8.0};
    r.kernels.norm = norm_code::fused;              // kernels/rms_layernorm.py, Fast_RMS_Layernorm
    r.kernels.gate = gate_code::in_place;           // kernels/fast_lora.py, LoRA_MLP; kernels/swiglu.py
    r.kernels.adapters = adapter_code::fused;       // kernels/fast_lora.py: LoRA_QKV, LoRA_W
    r.kernels.loss.code = loss_code::fused_linear;  // unsloth_zoo/fused_losses/cross_entropy_loss.py
    // unsloth_zoo/training_utils.py, prepare_model_for_training: adapters are widened, and nothing else of a quantised
    // model.
    r.kernels.fp32_stream = false;
    r.optimizer.mixes_unasked = true;  // models/rl.py, mixed_precision: 16 bits where neither bf16 nor fp16 is set
    r.kernels.checkpointing.reentrant = true;  // unsloth_zoo/gradient_checkpointing.py, UnslothCheckpointFunction
    // models/fsdp2.py: what it adds around accelerate's fsdp2_prepare_model (utils/fsdp_utils.py), which makes units of
    // the embedding and of the head.
    r.sharding.code = sharding_code::fsdp2;
    r.sharding.separate_streams = r.sharding.separate_ends = true;
    r.layouts.source = "models/loader.py: device_map, DDP, FSDP2; tp_native.py and context_parallel.py where asked for";
    r.devices = beside_nvidia(device_support::absent);
    r.devices.amd = r.devices.intel = r.devices.huawei = device_support::unmeasured;
    r.devices.source = "unsloth_zoo/device_type.py: cuda, hip, xpu, npu; MLX has a trainer of its own";
    return r;
}();

}  // namespace llmres::inline v0::runtimes
