// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <string>

#include "alloc.hpp"

/// What the runs of an allocation test show.
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

enum class verdict : std::uint8_t { fits, does_not_fit, skipped, inconclusive, failed };

constexpr std::string_view name_of(verdict v) {
    constexpr std::array<std::string_view, 5> names{"fits", "does_not_fit", "skipped", "inconclusive", "failed"};
    return names[static_cast<std::size_t>(v)];
}

constexpr exit_code exit_of(verdict v) {
    constexpr std::array<exit_code, 5> codes{exit_done, exit_does_not_fit, exit_skipped, exit_inconclusive,
                                             exit_internal};
    return codes[static_cast<std::size_t>(v)];
}

struct judgement {
    verdict says = verdict::failed;
    std::string reason;
};

/// One run's verdict. Others' moving memory makes every other finding inconclusive, except a fault.
judgement judge(const alloc_run& run);
/// All runs': theirs if they agree; inconclusive if they do not. A fault or a stop in any decides.
judgement judge(std::span<const alloc_run> runs);

/// What context and libraries took, from NVML's used bytes before CUDA was touched, after the context, after cuBLAS.
struct baselines {
    reading<byte_count> context{};
    reading<byte_count> libraries{};
};

/// What this process takes of the plan's `runtime` before any buffer: context and libraries as measured, or the plan's
/// own line where nobody could measure them.
byte_count taken_before(const plan_file& plan, const baselines& around);

}  // namespace llmres::probe
