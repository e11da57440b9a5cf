// SPDX-License-Identifier: MIT
#pragma once

#include "commands.hpp"

#include <llmres/answers/phases/disaggregated.hpp>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/plan.hpp>
#include <string>
#include <vector>

namespace program {

/// The answer to the job that a source and flags ask for.
llmres::job_answer answered(const plan_options& o);

/// Prints a plan as a page of text on stdout: verdict, layout, memory, time and reasons.
void print_plan(const llmres::job_plan& p, const llmres::plan_request& request);

/// A job's task in a headline: "serving", "finetuning", or with what is learned "finetuning by dpo".
std::string task_text(const llmres::job& j);

/// Prints a plan's reasons, a line each.
void print_reasons(const llmres::job_plan& p, const llmres::job& j, const llmres::cluster& c,
                   std::string_view head = "why      ");

/// Prints in one line from which versions, how many measurements and which GPUs a profile comes, and
/// whether those are too few to tell how far it is off.
void print_profile(const llmres::runtime_profile& profile);

/// Prints in one line what was not said and was assumed; `of`: by which jobs, where there are several.
void print_assumed(const llmres::json_value& assumed, const std::string& of = {});

/// Prints what would help: each remedy with its verdict and speed, and the command line that asks for it.
void print_help(const plan_options& o, const std::vector<llmres::document_remedy>& help);

/// Prints the largest sizes and the fewest GPUs that fit, and the room for caches.
void print_limits(const llmres::job_plan& p, const llmres::plan_request& request);

/// Prints the plan of the GPUs that compute prompts, where prompts have GPUs of their own.
void print_prefill(const llmres::disaggregated_plan& p, const llmres::cluster& prompts);

/// Prints the phases of a step in which a policy learns from rollouts, and the step.
void print_phases(const llmres::reinforcement_plan& p, const llmres::plan_request& request);

}  // namespace program
