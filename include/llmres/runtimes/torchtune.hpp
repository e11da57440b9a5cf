// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/runtime.hpp>

/// torchtune.
namespace llmres::inline v0::runtimes {

inline constexpr runtime torchtune{
    .identity{.name = "torchtune", .work = runtime_work::training, .versions = "torchtune 0.4"},
    .launches{.layer = {microseconds(150), microseconds(300), microseconds(600)},
              .small_kernels = 15,
              .attention = attention_code::flash_2},
    .process = training_process,
    .allocator{
        // Assumed: as runtimes/megatron.hpp. Its runs published what was allocated.
        .fragmentation = {0.0, 0.035, 0.12},
    },
    .accuracy{
        // In-sample: the inventory against its six runs (docs/accuracy.md, torchtune_flags).
        .activations = {0.85, 1.0, 1.15},
    },
    .kernels{
        .norm = norm_code::eager,
        .loss{.returns_logits = false},
        .shared_heads = false,
        .fp32_adapters = false,
        .modules = module_code::own,  // torchtune/modules/feed_forward.py; models: torch.nn.GELU, SiLU
        .compilation{.loss_with_layers = loss_compiling::chunked},
    },
    .optimizer{.steps_weights = true},
    // torchtune 0.6.1, training/checkpointing/_checkpoint_client.py: gather_cpu_state_dict and
    // get_full_optimizer_state_dict on rank 0, and then one save; enable_async_checkpointing writes shards. A model
    // with its adapter merged is written unless save_adapter_weights_only (recipes/lora_finetune_distributed.py).
    .checkpoints{.files = checkpoint_files::gathered,
                 .gathered_copy = checkpoint_copy::all,
                 .last_mode = checkpoint_mode::async,
                 .shares_replicas = false,
                 .copies_unshared = true,
                 .model_with_adapter = true},
    .layouts{.tensor = false,
             .pipeline = false,
             .expert = false,
             .least_zero = 2,                                     // fsdp_reshard_after_forward is false or true
             .untried{.tensor = true, .context_parallel = true},  // of 0.6 and 0.7
             .source = "recipes/full_finetune_distributed.py: FSDP2; tensor_parallel_dim, context_parallel_dim later"},
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.google = d.aws = d.cambricon = d.moore_threads = device_support::absent;
            d.source = "torchtune/utils/_device.py: cuda (or ROCm), xpu, npu, hpu, mps";
            return d;
        }(),
};

}  // namespace llmres::inline v0::runtimes
