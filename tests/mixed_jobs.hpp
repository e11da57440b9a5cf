// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <utility>
#include <vector>

/// Jobs of all kinds, as a scheduler meets them.
inline std::vector<std::pair<llmres::job, llmres::layout>> mixed_jobs() {
    using namespace llmres;
    std::vector<std::pair<job, layout>> queue;
    for (const model* m : {&models::llama_3_1_8b, &models::llama_3_1_70b, &models::mixtral_8x7b, &models::deepseek_v3,
                           &models::gemma_2_27b}) {
        for (const std::int32_t tensor : {1, 2, 4, 8}) {
            queue.push_back(
                {{.model = *m, .batch = 8, .context = tokens(4096), .runtime = runtimes::vllm}, {.tensor = tensor}});
            queue.push_back({{.model = *m, .batch = 1, .context = tokens(4096)}, {.tensor = tensor, .pipeline = 2}});
            queue.push_back(
                {{.model = *m, .task = task::pretraining, .sequence = tokens(4096), .runtime = runtimes::pytorch},
                 {.tensor = tensor, .data = 2, .zero = 1}});
            queue.push_back(
                {{.model = *m, .task = task::pretraining, .sequence = tokens(4096), .recompute = recompute::full},
                 {.tensor = tensor, .pipeline = 4}});
        }
    }
    return queue;
}
