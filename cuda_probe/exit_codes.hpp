// SPDX-License-Identifier: MIT
#pragma once

namespace llmres::probe {

/// How the program ends; docs/probe.md explains them to users.
enum exit_code : int {  // NOLINT(performance-enum-size): what main() returns
    exit_done = 0,      ///< done, or it fits
    exit_internal = 1,  ///< a fault of the probe, the driver or the memory
    exit_usage = 2,     ///< bad arguments or a bad input file
    exit_does_not_fit = 3,
    exit_no_device = 4,
    exit_skipped = 5,       ///< not tried, with the reason
    exit_inconclusive = 6,  ///< tried, but someone else's memory moved
};

}  // namespace llmres::probe
