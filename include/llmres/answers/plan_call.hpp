// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/search_request.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/error.hpp>
#include <span>
#if defined(LLMRES_COMPILE_HERE)
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#endif

/// plan(), fits() and search() as functions that are declared here and compiled once, for programs with many
/// translation units that plan. They answer the same as those of plan.hpp, but not in constant expressions.
///
/// One translation unit of the program defines them: it defines the macro LLMRES_COMPILE_HERE before it includes this
/// header. With CMake the target llmres::compiled is that translation unit.
namespace llmres::inline v0::compiled {

/// As llmres::plan(): the plan in a given layout.
result<job_plan> plan(const job& j, const layout& l, const cluster& c);
/// As llmres::plan(): the plan in the layout with the most tokens per second.
result<job_plan> plan(const job& j, const cluster& c);
/// As llmres::fits(): whether the plan exists and its verdict is `fits`.
bool fits(const job& j, const layout& l, const cluster& c);
/// As llmres::search(): the best layout.
result<found_layout> search(const job& j, const cluster& c, const search_request& r = {});
/// As llmres::search(): the best layouts in their order, as many as there is room for.
result<search_counts> search(const job& j, const cluster& c, const search_request& r, std::span<found_layout> best);

#if defined(LLMRES_COMPILE_HERE)
result<job_plan> plan(const job& j, const layout& l, const cluster& c) { return v0::plan(j, l, c); }
result<job_plan> plan(const job& j, const cluster& c) { return v0::plan(j, c); }
bool fits(const job& j, const layout& l, const cluster& c) { return v0::fits(j, l, c); }
result<found_layout> search(const job& j, const cluster& c, const search_request& r) { return v0::search(j, c, r); }
result<search_counts> search(const job& j, const cluster& c, const search_request& r, std::span<found_layout> best) {
    return v0::search(j, c, r, best);
}
#endif

}  // namespace llmres::inline v0::compiled
