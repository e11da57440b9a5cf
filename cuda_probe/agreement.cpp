// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "report.hpp"

namespace llmres::probe {

namespace {

using json = nlohmann::ordered_json;

constexpr byte_count near = mib(64);

struct lines {
    std::vector<agreement_line> all;

    void unknown(std::string what, json predicted, std::string_view why) {
        all.push_back({std::move(what), std::move(predicted), nullptr, true, std::string{why}});
    }
    /// `too_small`, `too_large`: what it means where the prediction is.
    void size(std::string what, byte_count predicted, const reading<byte_count>& measured, byte_count tolerance,
              const char* too_small, const char* too_large) {
        if (!measured) return unknown(std::move(what), predicted.in(bytes), measured.why);
        const byte_count off = predicted - *measured;
        const bool agrees = off <= tolerance && byte_count{} - off <= tolerance;
        all.push_back({std::move(what), predicted.in(bytes), measured->in(bytes), agrees,
                       agrees               ? ""
                       : off > byte_count{} ? too_large
                                            : too_small});
    }
};

byte_count percent(const reading<byte_count>& whole, double part) {
    return whole ? scaled_up(*whole, part / 100) : byte_count{};
}

void compare_verdicts(const alloc_report& report, lines& to) {
    const std::string& said = report.plan.verdict;
    const verdict found = report.judged.says;
    const bool decided = found == verdict::fits || found == verdict::does_not_fit;
    if (said.empty() || !decided || report.search)
        return to.unknown("verdict", said.empty() ? json(nullptr) : json(said),
                          said.empty() ? "the plan says none" : "not decided on the device");
    // `tight` is within the plan's bounds either way.
    const bool agrees = said == "tight" || said == name_of(found);
    to.all.push_back({"verdict", said, std::string{name_of(found)}, agrees,
                      agrees                   ? ""
                      : found == verdict::fits ? "the plan refuses what the device holds"
                                               : "the plan promises what the device does not hold"});
}

void compare_sizes(const alloc_report& report, lines& to) {
    const plan_file& plan = report.plan;
    const byte_count own = taken_before(plan, report.around);
    const reading<byte_count> had = !report.cuda_free ? report.cuda_free
                                    : report.around.context
                                        ? reading<byte_count>{*report.cuda_free + own}
                                        : reading<byte_count>::unavailable(report.around.context.why);
    to.size("usable", plan.available, had, std::max(near, percent(had, 1)), "the device has more than the plan says",
            "the device has less than the plan says");
    if (plan.process_context && report.around.context) {
        const bool agrees = *report.around.context <= plan.process_context->high + near;
        to.all.push_back({"context", plan.process_context->expected.in(bytes), report.around.context->in(bytes), agrees,
                          agrees ? "" : "a bare context takes more than the plan's whole line"});
    } else {
        to.unknown("context", plan.process_context ? json(plan.process_context->expected.in(bytes)) : json(nullptr),
                   plan.process_context ? report.around.context.why.view() : "the plan says none");
    }
    if (report.runs.empty()) return;
    const alloc_run& run = report.runs.front();
    for (const term_comparison& line : compare(plan, run, report.around))
        if (line.requested)
            to.size(line.term, line.predicted, line.measured, std::max(mib(4), percent(line.measured, 1)),
                    "its buffers take more than the plan says", "its buffers take less than the plan says");
    const term_comparison total = compare_total(plan, run, report.around);
    to.size("total", total.predicted, total.measured, percent(total.measured, 2),
            "the device loses more than the plan says", "the device loses less than the plan says");
    if (report.allocator != "pytorch_caching" || run.outcome != run_outcome::held)
        return to.unknown("reserved", plan.reserved.in(bytes), "this run keeps no segments of its own");
    to.size("reserved", plan.reserved, reading<byte_count>{run.granted - stood_in_for_runtime(run)},
            percent(reading<byte_count>{plan.reserved}, 2), "the allocator reserves more than the plan says",
            "the allocator reserves less than the plan says");
}

}  // namespace

byte_count stood_in_for_runtime(const alloc_run& run) {
    byte_count all{};
    for (const buffer_result& b : run.buffers)
        if (b.term == "runtime") all += b.granted;
    return all;
}

std::vector<agreement_line> agreement_of(const alloc_report& report) {
    lines to;
    compare_verdicts(report, to);
    compare_sizes(report, to);
    const auto& planned = report.search_axis == "context" ? report.plan.max_context : report.plan.max_batch;
    if (!report.search || report.search->says != verdict::fits || !planned) return to.all;
    const search_result& found = *report.search;
    const bool below = found.largest < *planned;
    const bool beyond = found.largest > std::max(found.possible, *planned);
    to.all.push_back({"largest", *planned, found.largest, !below && !beyond,
                      below    ? "the device does not hold the planner's largest"
                      : beyond ? "the device holds more than the plan's lower bound allows"
                      : found.largest > *planned
                          ? std::to_string(found.largest - *planned) + " beyond the planner's, within its bounds"
                          : ""});
    return to.all;
}

}  // namespace llmres::probe
