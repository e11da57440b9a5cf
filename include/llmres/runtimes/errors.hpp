// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/text.hpp>
#include <span>
#include <string_view>

/// How far the profiles are from what was measured; docs/accuracy.md says what is compared.
namespace llmres::inline v0 {

/// One figure of one profile against its measurements. An error is expected over measured, less one.
struct profile_error {
    literal runtime;      ///< the profile's name
    literal versions;     ///< and versions
    literal figure;       ///< "weights", "kv", "allocated", ...
    std::int32_t rows;    ///< measurements
    double mean;          ///< of the errors' sizes
    double bias;          ///< of the errors
    double worst;         ///< the largest error, with its sign
    std::int32_t inside;  ///< measurements between low and high
    literal gpus;         ///< on which they were taken, by their ids: "a100-sxm4-80gb, l4-24gb"
};

/// How many published jobs, whose times were measured, times under a profile are held against.
struct profile_times {
    literal runtime;    ///< the profile's name
    literal versions;   ///< and versions
    std::int32_t rows;  ///< jobs with a measured time
};

namespace runtimes {

/// In the order of runtimes::all, a profile's together. `table_profile_errors > include/llmres/runtimes/errors.inc`
/// works them out anew from tests/validation/data.
inline constexpr profile_error errors[] = {
#include "errors.inc"
};

/// In the order of runtimes::all. `table_profile_times > include/llmres/runtimes/times.inc` counts them anew.
inline constexpr profile_times times[] = {
#include "times.inc"
};

}  // namespace runtimes

/// Published jobs with a measured time that times under a profile were held against; 0: its memory alone was measured,
/// or nothing.
constexpr std::int64_t timed_rows_of(const runtime& profile) {
    for (const profile_times& t : runtimes::times)
        if (t.runtime == profile.identity.name.view() && t.versions == profile.identity.versions.view()) return t.rows;
    return 0;
}

/// The errors of a profile, figure by figure; none where nothing of it was measured.
constexpr std::span<const profile_error> errors_of(const runtime& profile) {
    const auto its = [&](const profile_error& e) {
        return e.runtime == profile.identity.name.view() && e.versions == profile.identity.versions.view();
    };
    const auto first = std::find_if(std::begin(runtimes::errors), std::end(runtimes::errors), its);
    return {first, std::find_if_not(first, std::end(runtimes::errors), its)};
}

/// Published rows that errors come from: those of the figure that has most.
constexpr std::int64_t rows_behind(std::span<const profile_error> errors) {
    std::int64_t most = 0;
    for (const profile_error& e : errors) most = (std::max<std::int64_t>)(most, e.rows);
    return most;
}

/// Fewer rows than these do not tell how far a profile is off.
inline constexpr std::int64_t rows_that_measure = 5;
/// "unmeasured", "hardly measured" or "measured", by the published rows or logs behind a profile.
constexpr std::string_view evidence_of(std::int64_t rows) {
    if (rows == 0) return "unmeasured";
    return rows < rows_that_measure ? "hardly measured" : "measured";
}

}  // namespace llmres::inline v0
