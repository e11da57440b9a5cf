// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <string>
#include <vector>

namespace program {

/// Prints what a plan loads or saves, how long its run takes and what it costs, as far as the document asks.
void print_run_and_cost(const llmres::run_and_cost& made, const llmres::plan_request& request);

/// What a table says of a plan's run and cost: the heads of its columns, and a row's texts under them; none where the
/// document asks for neither. A run that its layout does not allow is a dash.
std::vector<std::string> heads_of_cost(const llmres::plan_request& request);
std::vector<std::string> cells_of_cost(const llmres::plan_request& request, const llmres::run_and_cost& made);

}  // namespace program
