// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "alloc.hpp"
#include "exit_codes.hpp"

/// What the runs of an allocation test show, and how far the prediction was off.
namespace llmres::probe {

enum class verdict : std::uint8_t { fits, does_not_fit, skipped, inconclusive, failed };

constexpr std::string_view name_of(verdict v) {
    switch (v) {
        case verdict::fits:
            return "fits";
        case verdict::does_not_fit:
            return "does_not_fit";
        case verdict::skipped:
            return "skipped";
        case verdict::inconclusive:
            return "inconclusive";
        case verdict::failed:
            return "failed";
    }
    return "failed";
}

constexpr exit_code exit_of(verdict v) {
    switch (v) {
        case verdict::fits:
            return exit_done;
        case verdict::does_not_fit:
            return exit_does_not_fit;
        case verdict::skipped:
            return exit_skipped;
        case verdict::inconclusive:
            return exit_inconclusive;
        case verdict::failed:
            return exit_internal;
    }
    return exit_internal;
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

struct term_comparison {
    std::string term;
    byte_count predicted{};
    reading<byte_count> requested{};  ///< the plan's own buffers of this term
    reading<byte_count> measured{};
    byte_count stood_in{};            ///< held for what the plan says of it, which is no measurement
    reading<double> error_percent{};  ///< (predicted - measured) / measured
};

/// Term by term: terms with buffers against what those were granted, `runtime` against the context, the libraries and
/// what stood in for the rest; of `fragmentation` nothing is measured unless an allocator makes it.
std::vector<term_comparison> compare(const plan_file& plan, const alloc_run& run, const baselines& around);

/// Predicted expected bytes against all that was taken; unavailable where a part is.
term_comparison compare_total(const plan_file& plan, const alloc_run& run, const baselines& around);

}  // namespace llmres::probe
