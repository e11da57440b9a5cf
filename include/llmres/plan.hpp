// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>

/// Does this job fit on these GPUs, in which layout, how fast, and what limits it?
///
///     const auto answer = llmres::plan(job, layout, cluster);      // result<job_plan>: the plan, or what is wrong
///     if (answer && answer->verdict == llmres::verdict::fits) ...
///     static_assert(llmres::fits(job, layout, cluster));           // the same, before the program runs
namespace llmres::inline v0 {

/// The plan in the layout with the most tokens per second, of those that fit on the cluster's GPUs: search() with
/// objective::throughput. If none fits, that of the layout that comes nearest.
constexpr result<job_plan> plan(const job& j, const cluster& c);

/// Shows both numbers in the compiler's message when an assertion on it fails.
template <std::int64_t NeededMiB, std::int64_t AvailableMiB>
struct memory_in_mib {
    static constexpr bool fits = NeededMiB <= AvailableMiB;  ///< whether that much is available
};

/// Asserts at compile time that a plan fits; the compiler's message names needed and available MiB.
///     static constexpr auto p = llmres::plan(job, layout, cluster).value();
///     static_assert(llmres::must_fit<p>());
template <const job_plan& Plan>
constexpr bool must_fit() {
    constexpr auto in_mib = [](byte_count size) { return div_up(size, mib(1).in(bytes)).in(bytes); };
    static_assert(memory_in_mib<in_mib(Plan.memory.total().high), in_mib(Plan.usable)>::fits, "the job does not fit");
    return Plan.verdict == verdict::fits;
}

constexpr result<job_plan> plan(const job& j, const cluster& c) {
    const result<found_layout> best = search(j, c);
    return best ? result<job_plan>{best->plan} : best.error();
}

}  // namespace llmres::inline v0
