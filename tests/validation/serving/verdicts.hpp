// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/plan.hpp>
#include <optional>
#include <string>

#include "cases.hpp"

/// Whether what ran is said to fit, and what did not, not to.
namespace serving {

struct judged {
    std::string id, label;
    bool ran = true;
    llmres::verdict verdict = verdict::fits;
    double need_low = 0, need_high = 0, usable = 0;  // bytes
};

/// None where the row does not say all that a verdict rests on.
inline std::optional<judged> judge(const one_case& c) {
    if (!c.with_gpu || !c.weights_known || !c.whole_model) return {};
    const auto made = plan(c.task, c.spread, c.machines);
    if (!made) return {};
    judged said{c.id, c.label, c.row.at("oom") != "yes"};
    said.verdict = made->verdict;
    said.need_low = static_cast<double>(made->memory.total().low.in(bytes));
    said.need_high = static_cast<double>(made->memory.total().high.in(bytes));
    said.usable = static_cast<double>(made->usable.in(bytes));
    return said;
}

}  // namespace serving
