// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>

namespace program {

/// The answer for people, on stdout.
void print_plan(const llmres::job_plan& p, const llmres::plan_request& request);

}  // namespace program
