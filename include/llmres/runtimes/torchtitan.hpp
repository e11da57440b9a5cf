// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// torchtitan: FSDP2, tensor and context parallelism in PyTorch itself.
namespace llmres::runtimes {

inline constexpr runtime torchtitan{
    .name = "torchtitan",
    .versions = "torchtitan 2024-12 to 2026-06",
    .context = {mib(400), mib(600), mib(1200)},
    .workspace = {mib(0), mib(0), mib(0)},
    .communicator = {mib(300), mib(700), mib(1700)},
    .fragmentation = {0.0, 0.035, 0.12},
    .training = {.norm = norm_code::fused, .loss = loss_code::eager, .sharding = sharding_code::fsdp2, .casts_weights = false, .foreach_optimizer = false},
};

}  // namespace llmres::runtimes
