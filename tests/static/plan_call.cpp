// SPDX-License-Identifier: MIT
// The declarations of plan_call.hpp do not bring the planner with them: a translation unit that calls it parses types.
#include <llmres/answers/plan_call.hpp>

namespace {

template <class Job>
concept is_planned_here = requires(const Job& j, const llmres::layout& l, const llmres::cluster& c) { plan(j, l, c); };
static_assert(!is_planned_here<llmres::job>);

}  // namespace
