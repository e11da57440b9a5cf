// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/runtime.hpp>

/// PyTorch alone: eager kernels, the caching allocator.
namespace llmres::inline v0::runtimes {

inline constexpr runtime pytorch{
    .identity{.name = "pytorch", .versions = "2.1 to 2.10, CUDA 12 and 13"},
    .launches{.layer = {microseconds(150), microseconds(300), microseconds(600)},
              .small_kernels = 12,
              .attention = attention_code::flash_2},
    .process{
        // 0.3 to 0.55 GiB with lazily loaded kernels, 0.92 with all of them: issues 107667 and 109888 of
        // pytorch/pytorch, and ml-engineering's training/performance (A100, H100).
        .context = {mib(300), mib(520), mib(950)},
        // 8.1 MiB a handle and stream before Hopper, 32 MiB since (CublasHandlePool.cpp); cublasLt takes as much again.
        .workspace = {mib(8), mib(32), mib(96)},
        // 484 to 700 MiB for a group (NVIDIA/nccl issue 964); 1.45 GiB after the first barrier on 8 GPU nodes.
        .communicator = {mib(300), mib(600), mib(1500)},
    },
    .allocator{
        // In-sample. Reserved over allocated: 1.001 when a model is loaded, 1.09 to 1.24 while training (fsdp_qlora
        // 2024-03, Megatron-Bridge), up to 1.5 in one FSDP report (llama-cookbook issue 120).
        .fragmentation = {0.0, 0.06, 0.20},
    },
    .sharding{.gradient_as_bucket_view = false},  // torch/nn/parallel/distributed.py
    // torch.distributed: DTensor's ColwiseParallel and SequenceParallel, pipelining's ScheduleInterleaved1F1B with
    // stages that the caller cuts, context_parallel, and FSDP.
    // torch 2.11, torch.distributed.checkpoint: replicas are written once, by the rank that has least to write
    // (_dedup_save_plans.py); StateDictOptions(full_state_dict=True, cpu_offload=True) gathers on rank 0.
    .checkpoints{.last_mode = checkpoint_mode::async_with_pinned_mem, .tied_head_again = true},
    .layouts{.virtual_pipeline = true, .sequence_parallel = true, .context_parallel = true, .uneven_stages = true},
};

}  // namespace llmres::inline v0::runtimes
