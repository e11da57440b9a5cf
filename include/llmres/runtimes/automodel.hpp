// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/runtime.hpp>

/// NeMo AutoModel: transformers' modules, or its own of the same shape, under FSDP2.
namespace llmres::inline v0::runtimes {

/// Read from nemo_automodel 0.7.0; what is not set here is assumed to be as under transformers' Trainer. Models that it
/// has no module for get Liger's kernels, which a job names (loss, fused_gates); Transformer Engine's layers of routed
/// experts and its own kernels of recurrent layers are not described.
inline constexpr runtime automodel = [] {
    runtime r = for_versions(huggingface, "NeMo AutoModel 0.7 and later", {0, 7});
    r.identity.name = "automodel";
    r.kernels.norm = norm_code::fused;          // components/models/common/utils.py, Float32RMSNorm: compiled
    r.kernels.loss.learns_preferences = false;  // recipes/llm
    // components/moe/experts.py: tokens are dispatched to ranks, then grouped products
    r.kernels.experts = expert_code::dispatched;
    r.kernels.casts_weights = false;           // FSDP2's MixedPrecisionPolicy (components/distributed/config.py)
    r.optimizer.mixes_unasked = true;          // the same policy: param_dtype is bfloat16
    r.kernels.fp32_adapters = false;           // components/_peft/lora.py: lora_dtype is that of the layer's weight
    r.kernels.adapters = adapter_code::fused;  // components/_peft/lora.py, apply_memory_efficient_lora
    r.kernels.fp32_stream = false;
    r.sharding.code = sharding_code::fsdp2;
    r.sharding.separate_streams = true;
    // components/distributed/parallelizer.py, _fully_shard_untied_input_output_embeddings
    r.sharding.separate_ends = true;
    r.sharding.upcasts = false;  // model.torch_dtype is the checkpoint's (_transformers/auto_model.py)
    // nemo_automodel 0.7, components/checkpoint: torch.distributed.checkpoint, weights as safetensors; is_async stages
    // in page-locked memory (DefaultStager()).
    r.checkpoints = {.both = false, .last_mode = checkpoint_mode::async_with_pinned_mem};
    r.pipeline.naive = false;
    // Layers of pipeline stages stay gathered (FSDP2Config.reshard_after_forward), which is ZeRO 2.
    r.layouts = {.virtual_pipeline = true,
                 .sequence_parallel = true,
                 .context_parallel = true,
                 .uneven_stages = true,
                 .least_zero = 2,
                 .most_zero_with_pipeline = 2,
                 .source = "components/distributed/config.py and mesh.py; components/distributed/pipelining"};
    r.devices = cuda_alone;
    r.devices.amd = r.devices.hygon = device_support::unmeasured;
    r.devices.source = "recipes/base_recipe.py, torch.cuda; PyTorch's build for ROCm answers as such";
    return r;
}();

}  // namespace llmres::inline v0::runtimes
