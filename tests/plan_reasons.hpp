// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>

/// The reasons of a plan, as tests ask for them.
namespace plan_reasons {

/// True if a plan gives that reason.
inline bool says(const llmres::job_plan& p, llmres::reason_code code) {
    for (std::int32_t i = 0; i < p.reason_count; ++i)
        if (p.reasons[static_cast<std::size_t>(i)].code == code) return true;
    return false;
}

}  // namespace plan_reasons
