// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/disaggregated.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>

namespace program {

/// The answer for people, on stdout.
void print_plan(const llmres::job_plan& p, const llmres::plan_request& request);

/// Of the GPUs that prompts pass, where they are others.
void print_prefill(const llmres::disaggregated_plan& p, const llmres::cluster& prompts);

}  // namespace program
