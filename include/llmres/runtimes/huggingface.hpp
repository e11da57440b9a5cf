// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/runtime.hpp>
#include <string_view>

/// Hugging Face Trainer, PEFT, accelerate and bitsandbytes, by the version of transformers.
namespace llmres::inline v0::runtimes {

inline constexpr runtime huggingface{
    .identity{
        .name = "huggingface",
        .work = runtime_work::training,
        .versions = "transformers 5.0 and later",
        .since = {5},
    },
    .launches{// In-sample. What a layer of 50 kernels forward and 80 back takes where it keeps the GPU busy for less:
              // half of 2.9 to 3.5 ms under transformers 5.17 on an H100's host (docs/accuracy.md, transformers' jobs).
              .layer = {microseconds(700), microseconds(1500), microseconds(2200)},
              .small_kernels = 15,
              .attention = attention_code::flash_2},
    .process =
        [] {
            runtime_process p = training_process;
            p.context.expected = mib(780);  // 751 to 803 MiB under torch 2.11 on an H100 and an H200 (docs/accuracy.md)
            return p;
        }(),
    .allocator{
        // Weights, gradients and optimizer states lie close (1.001 when a model is loaded, 1.03 at most where the
        // optimizer's step is the peak); activations leave gaps: by the allocator's own rules 4 to 27 %, 10 on average
        // (tests/validation/caching_allocator.cpp), and up to 32 % in the runs on four GPUs of docs/accuracy.md
        // (fms_a100_80gb, nvidia-smi; In-sample). What large logits add is counted apart, as is what the optimizer
        // makes while it steps.
        .fragmentation = {0.0, 0.005, 0.03},
        .activation_fragmentation = {0.0, 0.10, 0.32},
        .caches_freed_blocks = true,
    },
    .accuracy{
        // In-sample: the inventory against 125 of the same runs (docs/accuracy.md, training), 0.955 to 1.03.
        .activations = {0.955, 1.0, 1.06},
        .undescribed = undescribed_activations,
        // In-sample: where they are the peak, the same runs lie within 1.5 %, MoE within 3
        .logits = {0.97, 1.0, 1.035},
    },
    // quantizers/quantizer_mxfp4.py and quantizer_finegrained_fp8.py: is_trainable is false, so that such checkpoints
    // are dequantised to train beside them. GGUF's are always (modeling_gguf_pytorch_utils.py); EXL's are not read.
    .loading{.formats = all_formats.without({format_family::mlx, format_family::eight_bit_float,
                                             format_family::microscaling, format_family::gguf, format_family::gguf_ik,
                                             format_family::exllama2, format_family::exllama3})},
    .kernels{
        .experts = expert_code::grouped,  // integrations/moe.py: experts_implementation "grouped_mm" by default
        .shared_heads = true,             // integrations/sdpa_attention.py, use_gqa_in_sdpa
        .fp32_stream = true,
    },
    // training_args.py: bf16 and fp16 are False, so that accelerate's mixed_precision is "no"
    .optimizer{.steps_weights = true, .mixes_unasked = false},
    // trainer.py: accelerator.no_sync(model) for all micro-batches but the last, unless DeepSpeed trains, and before
    // 4.46 accelerator.accumulate(model), which does the same unless sync_each_batch is set (accelerator.py). Its
    // DistributedDataParallelKwargs have gradient_as_bucket_view=False (utils/dataclasses.py).
    .sharding{.code = sharding_code::fsdp1,
              .gradient_as_bucket_view = false,
              .sync_each_batch = false,
              // With `bf16: true` or `fp16: true` (accelerator.py, prepare_model: "Upcasted low precision parameters";
              // of FSDP2 utils/fsdp_utils.py, fsdp2_prepare_model); units are gathered in 16 bits
              // (utils/dataclasses.py, set_mixed_precision).
              .upcasts = true,
              .adapted_layers = adapted_layer_units::by_trained_matrix},
    .pipeline{.naive = true},
    // transformers 5.24, trainer.py: model.safetensors and optimizer.pt of one process; under FSDP save_model() writes
    // the
    // gathered weights to the former and save_fsdp_model() to pytorch_model_fsdp.bin (accelerate 1.15, fsdp_utils.py).
    // Shards come to main memory first (ShardedStateDictConfig(offload_to_cpu=True)), and none are written without the
    // optimizer's ("save_only_model option is not compatible"). safetensors copies a file at once, of 50 GB at most
    // (modeling_utils.py, max_shard_size; 5 GB before 5.0).
    .checkpoints{.files = checkpoint_files::gathered,
                 .sharded_copy = checkpoint_copy::part,
                 .shares_replicas = false,
                 .weights_twice = true,
                 .tied_head_again = true,
                 .largest_file = gb(50)},
    // Trainer: DDP, FSDP or DeepSpeed over data ranks, or one process over several GPUs (device_map).
    .layouts{.tensor = false,
             .expert = false,
             .untried{.tensor = true, .context_parallel = true, .expert = true},
             .source = "training_args.py: fsdp, deepspeed, device_map; parallelism_config of accelerate by model"},
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.source = "docs/source/en/hardware.md: each device that PyTorch has a back end for";
            return d;
        }(),
};

namespace detail {

/// What training differed in before a version of transformers.
constexpr runtime huggingface_as(std::string_view versions, runtime_version since, runtime_version before) {
    runtime r = for_versions(huggingface, versions, since, before);
    llmres::runtime& e = r;
    e.process = training_process;
    // Each expert a module of its own, and keys and values repeated for every query head (repeat_kv).
    if (before <= runtime_version{5}) e.kernels.experts = expert_code::modules, e.kernels.shared_heads = false;
    r.loading.training.fp32_unasked = before <= runtime_version{5};  // modeling_utils.py: from_pretrained(), dtype=None
    e.kernels.checkpointing.reentrant = before <= runtime_version{5};  // trainer.py, gradient_checkpointing_kwargs
    if (before <= runtime_version{4, 50})
        e.kernels.loss.code =
            loss_code::eager_shifted;  // labels are, since loss/loss_utils.py's ForCausalLMLoss of 4.50
    if (before <= runtime_version{5}) e.layouts.untried.expert = false;
    if (before <= runtime_version{5}) e.checkpoints.largest_file = gb(5);
    if (before <= runtime_version{4, 50}) {
        e.layouts.untried = {};
        e.layouts.source = "training_args.py: fsdp and deepspeed over data ranks, or one process with a device_map";
    }
    if (before <= runtime_version{4, 46}) e.kernels.loss.returns_logits = false;  // logits = logits.float()
    if (before <= runtime_version{4, 43})
        r.loading.rope =
            rope_tables::own;  // modeling_llama.py to 4.40, modeling_mistral.py and modeling_qwen2.py to 4.44
    if (before <= runtime_version{4, 43}) e.sharding.upcasts = false;  // with an accelerate before 0.31 of June 2024
    if (before <= runtime_version{4, 43})
        e.kernels.four_bit_keeps_inputs = true;  // with a bitsandbytes before 0.43.2, of July 2024 as 4.43 is
    return r;
}

}  // namespace detail

inline constexpr runtime huggingface_4_57 = detail::huggingface_as("transformers 4.50 to 4.57", {4, 50}, {5});
inline constexpr runtime huggingface_4_49 = detail::huggingface_as("transformers 4.46 to 4.49", {4, 46}, {4, 50});
inline constexpr runtime huggingface_4_45 = detail::huggingface_as("transformers 4.43 to 4.45", {4, 43}, {4, 46});
inline constexpr runtime huggingface_4_42 = detail::huggingface_as("transformers 4.30 to 4.42", {4, 30}, {4, 43});
inline constexpr std::array all_huggingface{&huggingface, &huggingface_4_57, &huggingface_4_49, &huggingface_4_45,
                                            &huggingface_4_42};

}  // namespace llmres::inline v0::runtimes
