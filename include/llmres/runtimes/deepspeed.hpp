// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/runtimes/process.hpp>
#include <llmres/runtimes/runtime.hpp>

/// DeepSpeed ZeRO, and Megatron-DeepSpeed.
namespace llmres::inline v0::runtimes {

inline constexpr runtime deepspeed{
    .identity{.name = "deepspeed", .work = runtime_work::training, .versions = "DeepSpeed 0.19", .since = {0, 19}},
    .launches{
        // Megatron-DeepSpeed of 2022 takes 1.1 to 1.3 ms for each pass through a layer, forward, recomputed or back,
        // whatever its size, on up to four tensor ranks and 1.4 to 1.7 on eight (470 runs of
        // megatron_deepspeed_a100_single.csv in which the GPU is done sooner).
        .layer = {microseconds(880), microseconds(1200), microseconds(1700)},
        .small_kernels = 15,
        .attention = attention_code::flash_2,
        .joined = true,
        .overlaps_gradients = false,
    },
    .process =
        [] {
            runtime_process p = training_process;
            // Of neighbours that pass activations (runtime/pipe/p2p.py), of a replica's ranks that share norms and
            // overflows (runtime/utils.py, CheckOverflow), of all (stage_1_and_2.py, dist.barrier).
            p.pipeline_groups = 3;
            return p;
        }(),
    .allocator{
        // As runtimes/huggingface.hpp: what is not activations lies close. Gaps between activations, and blocks that
        // only one phase can use, follow from the step (memory/training/allocator.hpp).
        .fragmentation = {0.0, 0.005, 0.03},
        .gaps_by_step = true,
        .caches_freed_blocks = true,
    },
    .accuracy{
        // The modules are transformers', and what they save is as in runtimes/huggingface.hpp.
        .activations = {0.955, 1.0, 1.06},
    },
    .kernels{.loss{.widens_head_gradient = true}, .casts_weights = false},
    .optimizer{.foreach_tensors = false, .widens_gradients = true, .copies_master_weights = true},
    .sharding{
        .code = sharding_code::deepspeed,
        .deepspeed{.reduce_bucket_size = 500'000'000, .flattens_on_gpu = true, .sub_group_size = 1'000'000'000},
    },
    .pipeline{.keeps_stage_outputs = true, .partitions_sends = true},
    // runtime/pipe/module.py partitions layers by parameters; PipelineEngine asserts ZeRO 1 at most (pipe/engine.py);
    // sequence/layer.py splits sequences (Ulysses). Tensor ranks are those of the caller's mpu.
    // DeepSpeed 0.16.5, runtime/engine.py: _save_checkpoint writes 16-bit weights on the first data rank,
    // _save_zero_checkpoint the partitions of fp32 weights and moments on each; under ZeRO 3 parameters are partitioned
    // when the module's states are asked for, and hold nothing.
    .checkpoints{.shares_replicas = false, .optimizer_in_ranks = true},
    .layouts{.context_parallel = true,
             .uneven_stages = true,
             .untried{.sequence_parallel = true},
             .source = "runtime/pipe, sequence/layer.py, moe/layer.py, and the caller's mpu"},
    .devices =
        [] {
            runtime_devices d = any_of_pytorch;
            d.google = d.aws = d.moore_threads = device_support::absent;
            d.source = "accelerator/real_accelerator.py: cuda, xpu, npu, mps, hpu, mlu, sdaa, cpu";
            return d;
        }(),
};

/// Before 0.19.0, ZeRO 1 and 2 joined the weights in main memory.
inline constexpr runtime deepspeed_0_18 = [] {
    runtime r = for_versions(deepspeed, "DeepSpeed 0.12 to 0.18", {0, 12}, {0, 19});
    r.sharding.deepspeed.flattens_on_gpu = false;
    return r;
}();
inline constexpr std::array all_deepspeed{&deepspeed, &deepspeed_0_18};

/// Megatron-DeepSpeed of 2022 (BLOOM's): Megatron's fused layers, and DeepSpeed's BF16_Optimizer, which keeps fp32
/// gradients beside the bf16 ones from the first step to the last (runtime/bf16_optimizer.py); under PyTorch for CUDA
/// 11.
inline constexpr runtime megatron_deepspeed = [] {
    runtime r = for_versions(deepspeed_0_18, "Megatron-DeepSpeed 2022", {});
    r.identity.name = "megatron_deepspeed";
    r.process.context = context_of_cuda_11;
    // In-sample: expected as in runtimes/megatron.hpp, at most as in runtimes/pytorch.hpp.
    r.allocator.fragmentation = {0.0, 0.035, 0.20};
    r.allocator.gaps_by_step = false;
    r.accuracy.activations = {0.9, 1.0, 1.1};  // In-sample: its layers, against bloom_prequel's runs
    r.layouts = {.uneven_stages = true,
                 .source = "megatron/arguments.py: tensor and pipeline ranks, ZeRO, and DeepSpeed's experts"};
    r.devices = cuda_alone;
    r.devices.amd = r.devices.hygon = r.devices.gaudi = device_support::unmeasured;
    r.devices.source = "megatron/fused_kernels: CUDA, and ports by AMD and Intel";
    r.kernels.norm = norm_code::fused;
    r.kernels.modules = module_code::own;  // megatron/model/fused_bias_gelu.py
    r.kernels.loss.code = loss_code::vocabulary_parallel;
    r.optimizer.fp32_beside_bf16 = true;
    r.sharding.keeps_gradients = true;
    return r;
}();

}  // namespace llmres::inline v0::runtimes
