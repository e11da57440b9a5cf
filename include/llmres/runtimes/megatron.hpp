// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// Megatron-Core with Transformer Engine.
namespace llmres::runtimes {

inline constexpr runtime megatron{
    .name = "megatron",
    .versions = "Megatron-Core 0.11 to 0.16",
    .context = {mib(400), mib(600), mib(1200)},
    .workspace = {mib(36), mib(64), mib(104)},
    .communicator = {mib(300), mib(700), mib(1700)},
    .fragmentation = {0.0, 0.035, 0.12},
    .training = {.norm = norm_code::fused,
                 .gate = gate_code::fused,
                 .loss = loss_code::vocabulary_parallel,
                 .linear = linear_code::accumulates_beside,
                 .casts_weights = false,
                 .keeps_gradients = true,
                 .foreach_optimizer = false,
                 .fp32_adapters = false,
                 .gradients = fp32},
};

}  // namespace llmres::runtimes
