// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>

/// Lightning lit-gpt.
namespace llmres::inline v0::runtimes {

inline constexpr runtime litgpt{
    .identity{.name = "litgpt",
              .work = runtime_work::training,
              .versions = "lit-gpt 2023-10",
              .since = {0, 0, 1},
              .built = {2023, 8, 17}},
    .launches{.layer = {microseconds(150), microseconds(300), microseconds(600)},
              .small_kernels = 15,
              .attention = attention_code::flash_2},
    .process = training_process,
    .allocator{
        // Assumed: as runtimes/megatron.hpp. Its runs published what was allocated.
        .fragmentation = {0.0, 0.035, 0.12},
    },
    .accuracy{
        // In-sample: read off the 22 runs of docs/accuracy.md (training, litgpt), where what was measured beside
        // weights, gradients and states was 0.94 (LLaMA-Adapter) to 1.11 times (QLoRA) what is counted.
        .activations = {0.92, 1.0, 1.13},
    },
    .kernels{
        .norm = norm_code::eager,
        // finetune/*.py: lm_head_chunk_size=128, and Fabric casts what a model returns to fp32
        // (fabric/plugins/precision, convert_output).
        .loss{.code = loss_code::chunked, .chunk_tokens = 128, .returns_fp32 = true, .learns_preferences = false},
        .joined_heads = joined_heads_code::views,
        .shared_heads = false,
        .fp32_adapters = false,
        .four_bit_keeps_inputs = true,
        .modules = module_code::own,  // lit_gpt/model.py, GptNeoxMLP: torch.nn.functional.gelu
    },
    .optimizer{.steps_weights = true},
    // finetune/*.py and pretrain.py: fabric.no_backward_sync(model, enabled=is_accumulating), which is FSDP's and DDP's
    // no_sync (lightning_fabric/strategies/fsdp.py, ddp.py); DDPStrategy leaves torch's default of bucket views.
    .sharding{.code = sharding_code::fsdp1, .gradient_as_bucket_view = false, .sync_each_batch = false},
    // litgpt 0.5.13, pretrain.py and finetune/full.py: fabric.save(file, state) with state_dict_type="full" (lightning
    // 2.6.6, strategies/fsdp.py: model and optimizer are gathered on rank 0's CPU, and then saved).
    .checkpoints{.files = checkpoint_files::gathered,
                 .both = false,
                 .gathered_copy = checkpoint_copy::all,
                 .shares_replicas = false},
    .layouts{.tensor = false,
             .pipeline = false,
             .expert = false,
             .least_zero = 3,
             .source = "finetune/full.py, pretrain.py: Fabric's FSDPStrategy, FULL_SHARD or HYBRID_SHARD"},
    .devices =
        [] {
            runtime_devices d = cuda_alone;
            d.amd = d.hygon = d.google = d.apple = device_support::unmeasured;
            d.source = "Fabric's accelerators: CUDA (or ROCm), MPS; extensions/xla for TPUs";
            return d;
        }(),
};

/// Until lit_gpt/model.py's change of 2023-08-16 (#297) repeat_interleave copied keys and values, be it once.
inline constexpr runtime litgpt_2023_08 = [] {
    runtime r = for_versions(litgpt, "lit-gpt 2023-08", {}, {0, 0, 1});
    r.identity.built = {2023, 1, 1};
    r.kernels.joined_heads = joined_heads_code::copies;
    return r;
}();

inline constexpr std::array all_litgpt{&litgpt, &litgpt_2023_08};

}  // namespace llmres::inline v0::runtimes
