// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "verdict.hpp"

/// The largest batch or context that a device really takes, by bisection, always with a guard band.
namespace llmres::probe {

struct search_try {
    std::int64_t n = 0;
    bool fits = false;
    bool tried = false;  ///< false where arithmetic alone said no: the guard band is never put to the test
    byte_count requested{};
    std::string reason;
};

struct search_result {
    verdict says = verdict::failed;  ///< fits: `largest` was found
    std::string reason;
    std::int64_t largest = 0;             ///< 0 if not even 1 fits
    std::int64_t predicted_in_guard = 0;  ///< largest for which what is free less the guard band suffices by arithmetic
    std::vector<search_try> tries;
};

/// The plan for another n: replanned(), or scaled() where the job is not known.
using plan_at = std::function<result<plan_file>(std::int64_t)>;

/// Bisects between 0 (nothing) and the largest n whose buffers add up to less than what is free less the guard.
/// `options.guard` must not be zero; the caller takes default_guard(). Runs that disagree with monotony, that move or
/// fail end the search with that verdict.
search_result search_largest(const alloc_environment& around, const plan_at& plan, const alloc_options& options);

/// The largest n in [low, high] for which `fits` holds, given that it holds for low - 1 and that it is monotone;
/// low - 1 if for none. `fits` may end the search by returning no value.
std::optional<std::int64_t> bisect(std::int64_t low, std::int64_t high,
                                   const std::function<std::optional<bool>(std::int64_t)>& fits);

}  // namespace llmres::probe
