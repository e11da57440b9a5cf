// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// Lightning lit-gpt.
namespace llmres::runtimes {

inline constexpr runtime litgpt{
    .name = "litgpt",
    .versions = "lit-gpt 2023-10",
    .context = {mib(400), mib(600), mib(1200)},
    .workspace = {mib(0), mib(0), mib(0)},
    .communicator = {mib(300), mib(700), mib(1700)},
    .fragmentation = {0.0, 0.035, 0.12},
    .training = {.norm = norm_code::eager, .shared_heads = false, .fp32_adapters = false},
};

}  // namespace llmres::runtimes
