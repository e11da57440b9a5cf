// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/runtime.hpp>

/// CTranslate2: weights in the type they were converted to, embeddings included; caches grow with each token; every
/// tensor is CUDA's own asynchronous pool's, which gives back what is free (allocator.cc). What it takes beside weights
/// and cache is In-sample, measured on one kind of device alone: 2.6 to 3.4 GiB on an A100, in fp32 as in 8 bits
/// (premAI), of which 0.6 are of every runtime in that table.
namespace llmres::inline v0::runtimes {

inline constexpr runtime ctranslate2{
    .identity{
        .name = "ctranslate2",
        .work = runtime_work::serving,
        .versions = "4.0 and later",
        .since = {4, 0, 0},
    },
    .process{.context = {mib(300), mib(600), mib(1000)}, .workspace = {mib(0), mib(1100), mib(2500)}},
    .allocator{.code = allocator_code::stream_ordered, .fragmentation = {0.0, 0.01, 0.05}},
    .accuracy{.activations = {0.5, 1.0, 1.5}},
    .loading{.formats = {format_family::eight_bit}, .caches{.formats = {}}},
    .cache{.windows = window_cells::whole},
    .step{.logits{.bytes = {2.0, 4.0, 8.0}}},
    .serving_kernels{.score_bytes = 8},
    .layouts{.pipeline = false, .expert = false, .source = "docs/parallel.md: data and tensor parallelism alone"},
    .devices =
        [] {
            runtime_devices d = cuda_alone;
            d.amd = device_support::unmeasured;  // since 4.7 (pull request 1989)
            d.least = {3, 5};
            d.source = "docs/hardware_support.md: CUDA from compute capability 3.5 on, and HIP";
            return d;
        }(),
};

}  // namespace llmres::inline v0::runtimes
