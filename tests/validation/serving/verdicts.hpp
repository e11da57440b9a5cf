// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/plan.hpp>
#include <optional>
#include <string>

#include "figures.hpp"

/// Whether what ran is said to fit, and what did not, not to.
namespace serving {

struct judged {
    std::string id, label;
    bool ran = true;
    llmres::verdict verdict = verdict::fits;
    double need_low = 0, need_high = 0, usable = 0;  // bytes
};

/// None where the row does not say all that a verdict rests on.
inline std::optional<judged> judge(const row& r) {
    if (!r.ran || other_recipe(r)) return {};
    const auto made = plan(r.job(), r.layout(), r.cluster());
    if (!made) return {};
    judged said{r.id, r.label, *r.ran};
    said.verdict = made->verdict;
    said.need_low = static_cast<double>(made->memory.total().low.in(bytes));
    said.need_high = static_cast<double>(made->memory.total().high.in(bytes));
    said.usable = static_cast<double>(made->usable.in(bytes));
    return said;
}

}  // namespace serving
