// SPDX-License-Identifier: MIT
#pragma once

// What a consumer includes. Every translation unit does, so that every definition must be inline.
#include <llmres/plan.hpp>
#include <llmres/values/version.hpp>

/// Whether a config.json holds a model that fits an H100; refuses to say for a file that cannot be read.
llmres::result<bool> model_of_config_fits(const char* config_json);

/// One and the same object in every translation unit.
const llmres::version_number* version_seen_elsewhere();
