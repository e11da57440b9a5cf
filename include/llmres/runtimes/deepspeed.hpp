// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// DeepSpeed ZeRO.
namespace llmres::runtimes {

inline constexpr runtime deepspeed{
    .name = "deepspeed",
    .work = engine_work::training,
    .versions = "DeepSpeed 0.12 to 0.19",
    // 0.3 to 0.55 GiB with lazily loaded kernels, 0.92 with all of them (pytorch/pytorch issues 107667 and 109888;
    // ml-engineering, training/performance).
    .context = {mib(400), mib(600), mib(1200)},
    // As runtimes/huggingface.hpp.
    .workspace = {mib(8), mib(16), mib(64)},
    // 484 to 700 MiB for a group (NVIDIA/nccl issue 964); 1.45 GiB after the first barrier on 8 GPU nodes.
    .communicator = {mib(300), mib(700), mib(1700)},
    // Buckets of every size between long-lived states: BLOOM's 64 sizing runs (bigscience, tr11 chronicles-prequel) hold 5 to
    // 30 % more than their tensors, 8 of ZeRO 2 and 3 on H200 and B200 as much.
    .fragmentation = {0.0, 0.15, 0.28},
    .hoards = true,
    // The inventory against the same runs (docs/accuracy.md, training).
    .activations = {0.9, 1.0, 1.1},
    .training = {.sharding = sharding_code::deepspeed, .casts_weights = false, .foreach_optimizer = false, .widens_gradients = true,
                 .copies_master_weights = true},
};

}  // namespace llmres::runtimes
