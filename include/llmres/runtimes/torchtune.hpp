// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// torchtune.
namespace llmres::runtimes {

inline constexpr runtime torchtune{
    .name = "torchtune",
    .versions = "torchtune 0.4",
    .context = {mib(400), mib(600), mib(1200)},
    .workspace = {mib(0), mib(0), mib(0)},
    .communicator = {mib(300), mib(700), mib(1700)},
    .fragmentation = {0.0, 0.035, 0.12},
    .training = {.norm = norm_code::eager, .shared_heads = false, .fp32_adapters = false},
};

}  // namespace llmres::runtimes
