// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/plan.hpp>

namespace program {

/// The answer for people, on stdout.
void print_plan(const llmres::job_plan& p, const llmres::job& j, const llmres::cluster& c, bool layout_chosen);

}  // namespace program
