// SPDX-License-Identifier: MIT
#include "verdict.hpp"

#include <fmt/format.h>

namespace llmres::probe {

namespace {

std::string at_buffer(const alloc_run& run) {
    return fmt::format("at buffer {} ({}, {} bytes)", run.failed_at, run.failed_name, run.failed_size.base());
}

reading<double> error_of(byte_count predicted, const reading<byte_count>& measured) {
    if (!measured) return reading<double>::unavailable(measured.why);
    if (measured->base() == 0) {
        return predicted.base() == 0 ? reading<double>{0.0} : reading<double>::unavailable("measured zero");
    }
    return 100.0 * (ratio(predicted, *measured) - 1.0);
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

std::vector<term_comparison> compare(const plan_file& plan, const alloc_run& run, const baselines& around) {
    const bool complete = run.outcome == run_outcome::held;
    std::vector<term_comparison> all;
    for (const std::string_view term : plan_terms) {
        const byte_count buffers = plan.buffer_total(term);
        const byte_count predicted = plan.predicted(term).value_or(byte_count{});
        // A plan names every term; those that are nothing say nothing. The context is always worth a line.
        if (predicted == byte_count{} && buffers == byte_count{} && term != "runtime") continue;
        term_comparison line{std::string{term}, predicted};
        byte_count granted{};
        for (const buffer_result& b : run.buffers)
            if (b.term == term) granted += b.granted;
        line.requested = buffers > byte_count{}
                             ? reading<byte_count>{buffers}
                             : reading<byte_count>::unavailable("the plan has no buffer of this term");
        if (!complete) {
            line.measured = reading<byte_count>::unavailable("not all buffers were held");
        } else if (buffers > byte_count{}) {
            // A shared segment is charged to the buffer that caused it, so that terms still add up to the total.
            line.measured = granted;
        } else if (term == "runtime") {
            line.stood_in = granted;
            line.measured = around.context ? reading<byte_count>{taken_before(plan, around) + granted} : around.context;
        } else {
            line.stood_in = granted;
            line.measured = granted > byte_count{}
                                ? reading<byte_count>::unavailable("not measured: a block stood in for it")
                                : reading<byte_count>::unavailable("not measured: no buffer of this term");
        }
        line.error_percent = error_of(line.predicted, line.measured);
        all.push_back(std::move(line));
    }
    return all;
}

term_comparison compare_total(const plan_file& plan, const alloc_run& run, const baselines& around) {
    term_comparison total{"total", plan.expected};
    total.requested = plan.buffer_total();
    if (run.outcome != run_outcome::held)
        total.measured = reading<byte_count>::unavailable("not all buffers were held");
    else if (!around.context)
        total.measured = reading<byte_count>::unavailable(around.context.why);
    else
        total.measured = run.granted + taken_before(plan, around);
    for (const buffer_result& b : run.buffers)
        if (plan.buffer_total(b.term) == byte_count{}) total.stood_in += b.granted;
    total.error_percent = error_of(total.predicted, total.measured);
    return total;
}

}  // namespace llmres::probe
