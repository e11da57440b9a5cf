// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/interconnects/all.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <string_view>

/// Jobs that tests of serving start from.
namespace serving_jobs {

using namespace llmres;

inline job chat(std::string_view model_id = "llama-3.1-8b") {
    return {.model = find_model(model_id).value(), .context = tokens(8192), .runtime = runtimes::vllm_v1_9};
}
inline cluster one(const gpu& card) { return {.gpu = card}; }
inline byte_count need(const job& j, const layout& l = {}) { return memory_of(j, l).total().expected; }

}  // namespace serving_jobs
