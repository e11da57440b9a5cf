// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict.hpp"

/// The largest batch or context that a device really takes, by bisection.
namespace llmres::probe {

struct search_try {
    std::int64_t n = 0;
    bool fits = false;
    byte_count requested{};
    std::string reason;
};

struct search_result {
    verdict says = verdict::failed;  ///< fits: `largest` was found
    std::string reason;
    std::int64_t largest = 0;             ///< 0 if not even 1 fits
    std::int64_t predicted_in_guard = 0;  ///< largest for which what is free less the guard band suffices by arithmetic
    std::int64_t possible = 0;            ///< largest of which the plan's lower bound is within what it may use
    std::optional<search_try> planned{};  ///< at the planner's own largest
    std::optional<search_try> beyond{};   ///< at one more
    std::vector<search_try> tries;
};

/// The plan for another n: replanned(), or scaled() where the job is not known.
using plan_at = std::function<result<plan_file>(std::int64_t)>;

/// Tries the planner's own largest (`planned`, where it says one) and one more; then bisects between 0 (nothing) and
/// the largest n whose plan adds up to less than it may use and than what is free less the guard. An n that cannot be
/// planned, such as a context beyond the model's, does not fit. Runs that move or fail end the search with that
/// verdict.
search_result search_largest(const alloc_environment& around, const plan_at& plan, const alloc_options& options,
                             std::optional<std::int64_t> planned = {});

/// The largest n in [low, high] for which `fits` holds, given that it holds for low - 1 and that it is monotone;
/// low - 1 if for none. `fits` may end the search by returning no value.
std::optional<std::int64_t> bisect(std::int64_t low, std::int64_t high,
                                   const std::function<std::optional<bool>(std::int64_t)>& fits);

}  // namespace llmres::probe
