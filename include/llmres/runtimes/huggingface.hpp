// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// Hugging Face Trainer, PEFT and bitsandbytes.
namespace llmres::runtimes {

inline constexpr runtime huggingface{
    .name = "huggingface",
    .versions = "transformers 4.30 to 5.x",
    .context = {mib(400), mib(600), mib(1200)},
    .workspace = {mib(0), mib(0), mib(0)},
    .communicator = {mib(300), mib(700), mib(1700)},
    .fragmentation = {0.0, 0.035, 0.12},
    .training = {.shared_heads = false},
};

}  // namespace llmres::runtimes
