// SPDX-License-Identifier: MIT
#pragma once

// What a consumer includes. Both translation units do, so that every definition must be inline.
#include <llmres/values/version.hpp>
#if __has_include(<llmres/plan.hpp>)
#include <llmres/plan.hpp>
#endif

const llmres::version_number* version_seen_elsewhere();
