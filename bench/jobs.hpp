// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string_view>

/// Jobs that a scheduler meets, each in one layout.
struct work {
    std::string_view name;
    llmres::job what;
    llmres::layout how;
};

constexpr std::array<work, 11> bench_jobs() {
    using namespace llmres;
    return {
        {{"serving 8B", {.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::vllm}, {}},
         {"serving 70B, tensor 4",
          {.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm},
          {.tensor = 4}},
         {"serving 671B, tensor 8",
          {.model = models::deepseek_v3, .context = tokens(4096), .runtime = runtimes::vllm},
          {.tensor = 8}},
         {"serving 8B from Q4_K_M",
          {.model = models::llama_3_1_8b, .gguf = gguf_mix{}, .context = tokens(8192), .runtime = runtimes::llama_cpp},
          {}},
         {"serving 671B from Q4_K_M, pipeline 8",
          {.model = models::deepseek_v3, .gguf = gguf_mix{}, .context = tokens(4096), .runtime = runtimes::llama_cpp},
          {.pipeline = 8}},
         {"training 8B, ZeRO 3",
          {.model = models::llama_3_1_8b,
           .task = task::pretraining,
           .sequence = tokens(8192),
           .runtime = runtimes::pytorch},
          {.data = 8, .zero = 3}},
         {"training 70B, tensor 8, pipeline 4",
          {.model = models::llama_3_1_70b,
           .task = task::pretraining,
           .sequence = tokens(4096),
           .runtime = runtimes::pytorch},
          {.tensor = 8, .pipeline = 4, .data = 2, .zero = 1}},
         {"training 70B, pipeline 32",
          {.model = models::llama_3_1_70b,
           .task = task::pretraining,
           .sequence = tokens(4096),
           .global_batch = 64,
           .runtime = runtimes::pytorch},
          {.pipeline = 32}},
         {"training 70B, pipeline 32, offloaded",
          {.model = models::llama_3_1_70b,
           .task = task::pretraining,
           .sequence = tokens(4096),
           .global_batch = 64,
           .offload = {.optimizer = offload_place::host, .activations = offload_place::host},
           .runtime = runtimes::pytorch},
          {.pipeline = 32}},
         {"training 8x7B, expert 8",
          {.model = models::mixtral_8x7b,
           .task = task::pretraining,
           .sequence = tokens(4096),
           .runtime = runtimes::pytorch},
          {.data = 8, .expert = 8, .zero = 1}},
         {"training 671B, pipeline 8, expert 8",
          {.model = models::deepseek_v3,
           .task = task::pretraining,
           .sequence = tokens(4096),
           .runtime = runtimes::megatron},
          {.pipeline = 8, .data = 8, .expert = 8}}}};
}
