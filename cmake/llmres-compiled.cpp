// SPDX-License-Identifier: MIT
// The one translation unit of llmres::compiled.
#define LLMRES_COMPILE_HERE
#include <llmres/answers/plan_call.hpp>
