// SPDX-License-Identifier: MIT
#pragma once

#include "commands.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace program {

/// The command line that asks again with a patch of the job document: `llmres plan llama-3.1-8b --batch 4`. What the
/// patch changes takes the place of what was said; words that a shell would part are quoted.
std::string command_of(const plan_options& asked, const nlohmann::json& patch);

}  // namespace program
