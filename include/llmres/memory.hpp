// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory_breakdown.hpp>
#include <llmres/memory_serving.hpp>
#include <llmres/memory_training.hpp>

/// Where the memory of one GPU of one layout goes: memory_breakdown.hpp says in which terms, memory_serving.hpp and
/// memory_training.hpp how they come about.
namespace llmres {

/// Memory of a GPU of the busiest pipeline stage. Preconditions: validate() holds for job and layout.
constexpr memory_breakdown memory_of(const job& j, const layout& l) {
    return trains(j) ? training_memory(j, l) : serving_memory(j, l);
}

}  // namespace llmres
