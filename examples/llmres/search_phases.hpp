// SPDX-License-Identifier: MIT
#pragma once

#include "commands.hpp"

#include <llmres/io/job_json.hpp>

namespace program {

/// Searches the phases of a policy that learns from rollouts, and prints what it found. Returns the exit code.
int search_phases(const search_options& o, const nlohmann::json& document, const llmres::plan_request& request);

}  // namespace program
