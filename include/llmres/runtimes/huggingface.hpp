// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtime.hpp>

/// Hugging Face Trainer, PEFT and bitsandbytes.
namespace llmres::runtimes {

inline constexpr runtime huggingface{
    .name = "huggingface",
    .versions = "transformers 4.30 to 5.x",
    // 0.3 to 0.55 GiB with lazily loaded kernels, 0.92 with all of them (pytorch/pytorch issues 107667 and 109888;
    // ml-engineering, training/performance).
    .context = {mib(400), mib(600), mib(1200)},
    // 8.1 MiB a handle before Hopper, 32 MiB since (CublasHandlePool.cpp).
    .workspace = {mib(8), mib(16), mib(64)},
    // 484 to 700 MiB for a group (NVIDIA/nccl issue 964); 1.45 GiB after the first barrier on 8 GPU nodes.
    .communicator = {mib(300), mib(700), mib(1700)},
    // As runtimes/pytorch.hpp; what large logits add is counted apart (hoards_logits).
    .fragmentation = {0.0, 0.035, 0.16},
    // The inventory against the same runs (docs/accuracy.md, training).
    .activations = {0.88, 1.0, 1.12},
    .training = {.shared_heads = false, .hoards_logits = true},
};

}  // namespace llmres::runtimes
