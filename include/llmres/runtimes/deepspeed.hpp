// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// DeepSpeed ZeRO.
namespace llmres::runtimes {

inline constexpr runtime deepspeed{
    .name = "deepspeed",
    .versions = "DeepSpeed 0.12 to 0.19",
    .context = {mib(400), mib(600), mib(1200)},
    .workspace = {mib(0), mib(0), mib(0)},
    .communicator = {mib(300), mib(700), mib(1700)},
    .fragmentation = {0.0, 0.035, 0.12},
    .training = {.sharding = sharding_code::deepspeed, .casts_weights = false, .foreach_optimizer = false},
};

}  // namespace llmres::runtimes
