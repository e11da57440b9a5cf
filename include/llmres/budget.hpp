// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/cluster.hpp>
#include <llmres/job.hpp>

/// How much of a GPU a job may take: the other side of every "does it fit".
namespace llmres {

/// What an engine lets itself use of a GPU: all that is free, or a fraction of the whole.
constexpr byte_count usable_memory(const job& j, const cluster& c) {
    const byte_count free = available_memory(c);
    if (!j.runtime.gpu_memory_utilization) return free;
    const byte_count budget = scaled_down(usable_memory(c.gpu), *j.runtime.gpu_memory_utilization);
    return budget < free ? budget : free;
}

}  // namespace llmres
