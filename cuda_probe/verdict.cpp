// SPDX-License-Identifier: MIT
#include "verdict.hpp"

#include <fmt/format.h>

namespace llmres::probe {

namespace {

std::string at_buffer(const alloc_run& run) {
    return fmt::format("at buffer {} ({}, {} bytes)", run.failed_at, run.failed_name, run.failed_size.base());
}

}  // namespace

judgement judge(const alloc_run& run) {
    switch (run.outcome) {
        case run_outcome::held:
            return run.moved.empty() ? judgement{verdict::fits, "the whole plan was held at once and kept its content"}
                                     : judgement{verdict::inconclusive, "the whole plan was held, but " + run.moved};
        case run_outcome::no_room:
            return run.moved.empty()
                       ? judgement{verdict::does_not_fit, "no room " + at_buffer(run) + ": " + run.reason}
                       : judgement{verdict::inconclusive, "no room " + at_buffer(run) + ", but " + run.moved};
        case run_outcome::guarded:
            return run.moved.empty()
                       ? judgement{verdict::skipped, run.reason + " " + at_buffer(run)}
                       : judgement{verdict::inconclusive, run.reason + " " + at_buffer(run) + ", and " + run.moved};
        case run_outcome::stopped:
            return {verdict::skipped, run.reason};
        case run_outcome::overcommitted:
            return {verdict::inconclusive, run.reason};
        case run_outcome::wrong_content:
        case run_outcome::failed:
            return {verdict::failed,
                    run.reason + (run.failed_at >= 0 ? fmt::format(" {}", at_buffer(run)) : std::string{})};
    }
    return {};
}

judgement judge(std::span<const alloc_run> runs) {
    if (runs.empty()) return {verdict::skipped, "nothing was run"};
    judgement all = judge(runs.front());
    for (const alloc_run& run : runs) {
        const judgement one = judge(run);
        if (one.says == verdict::failed || run.outcome == run_outcome::stopped) return one;
        if (one.says == all.says) continue;
        if (one.says == verdict::inconclusive || all.says == verdict::inconclusive)
            all = one.says == verdict::inconclusive ? one : all;
        else
            all = {verdict::inconclusive, "the runs disagree: " + all.reason + "; " + one.reason};
    }
    return all;
}

byte_count taken_before(const plan_file& plan, const baselines& around) {
    if (around.context) return *around.context + around.libraries.value_or({});
    return plan.process_context ? plan.process_context->expected : byte_count{};
}

}  // namespace llmres::probe
