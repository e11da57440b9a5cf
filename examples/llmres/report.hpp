// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/disaggregated.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>
#include <string>

namespace program {

/// Prints a plan as a page of text on stdout.
void print_plan(const llmres::job_plan& p, const llmres::plan_request& request);

/// A layout in words: "8 GPUs, tensor 4, data 2".
std::string layout_text(const llmres::layout& l);

/// Prints the plan of the GPUs that compute prompts, where prompts have GPUs of their own.
void print_prefill(const llmres::disaggregated_plan& p, const llmres::cluster& prompts);

}  // namespace program
