// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// What is the most that fits, and on how few GPUs does a job fit?
namespace llmres::inline v0 {

/// The limits of a job in a layout; unknown where nothing fits.
struct job_limits {
    maybe<std::int64_t> max_batch{};   ///< sequences in flight; when training, sequences in a micro-batch
    maybe<token_count> max_context{};  ///< tokens of a sequence at the job's batch
    maybe<std::int64_t> min_gpus{};    ///< GPUs of the cluster's kind, in this layout or one of the planner's
};

/// The largest batch and context that fit in a layout, and the fewest GPUs that hold the job.
constexpr job_limits limits_of(const job& j, const layout& l, const cluster& c);

/// The fewest GPUs of the cluster's kind that the job fits on, up to `most`: any number in one node, beyond it whole
/// nodes.
constexpr maybe<std::int64_t> min_gpus(const job& j, const cluster& c, std::int32_t most = 1024);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A layout on the fewest GPUs of the kind, up to `most`: any number of them in one node of the cluster's size, and
/// whole nodes beyond.
constexpr maybe<layout> smallest_layout(const job& j, cluster c, std::int32_t most) {
    const std::int32_t node = c.node_size() > 1 ? c.node_size() : c.gpu.links.scale_up_domain.value_or(8);
    c.gpus_per_node = node > 8 ? node : 8;
    c.gpus = most;
    maybe<layout> found;
    const auto good = [&](const layout& l) {
        if (!validate(l, j.model) || !validate_training(j, l, c.gpu) || !memory_fits(j, l, c)) return false;
        found = l;
        return true;
    };
    for (std::int32_t gpus = 1; gpus <= most && !found; gpus += gpus < c.gpus_per_node ? 1 : c.gpus_per_node)
        for_each_layout(j, {.least_gpus = gpus, .most_gpus = gpus}, c, good);
    return found;
}

}  // namespace detail

constexpr maybe<std::int64_t> min_gpus(const job& j, const cluster& c, std::int32_t most) {
    const maybe<layout> smallest = detail::smallest_layout(j, c, most);
    return smallest ? maybe<std::int64_t>{smallest->gpus()} : maybe<std::int64_t>{};
}

constexpr job_limits limits_of(const job& j, const layout& l, const cluster& c) {
    job_limits limits{.min_gpus = min_gpus(j, c)};
    // A layout outside the planner's space, with stages of its own or part of a node, may need fewer GPUs.
    if ((!limits.min_gpus || *limits.min_gpus > l.gpus()) && memory_fits(j, l, c)) limits.min_gpus = l.gpus();
    if (const auto batch = max_batch(j, l, c); batch && *batch > 0) limits.max_batch = *batch;
    if (const auto context = max_context(j, l, c); context && *context > token_count{}) limits.max_context = *context;
    return limits;
}

}  // namespace llmres::inline v0
