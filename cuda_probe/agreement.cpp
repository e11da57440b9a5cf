// SPDX-License-Identifier: MIT
#include <algorithm>

#include "report.hpp"

namespace llmres::probe {

namespace {

using json = nlohmann::ordered_json;

byte_count percent(const reading<byte_count>& whole, double part) {
    return whole ? scaled_up(*whole, part / 100) : byte_count{};
}

/// What a run's buffers of these terms were granted. A shared segment is charged to the buffer that caused it.
template <class Wanted>
byte_count granted(const alloc_run& run, Wanted&& wanted) {
    byte_count all{};
    for (const buffer_result& b : run.buffers)
        if (wanted(b.term)) all += b.granted;
    return all;
}

class lines {
public:
    explicit lines(const alloc_report& report) : report_{report}, plan_{report.plan} {}

    std::vector<agreement_line> all() {
        compare_verdicts();
        compare_what_is_there();
        if (!report_.runs.empty()) compare_run(report_.runs.front());
        compare_largest();
        return std::move(all_);
    }

private:
    void unknown(std::string what, json predicted, std::string_view why, byte_count stood_in = {}) {
        all_.push_back({std::move(what), std::move(predicted), nullptr, true, std::string{why}, stood_in});
    }
    /// `too_small`, `too_large`: what it means where the prediction is.
    void size(std::string what, byte_count predicted, const reading<byte_count>& measured, byte_count tolerance,
              const char* too_small, const char* too_large, byte_count stood_in = {}) {
        if (!measured) return unknown(std::move(what), predicted.in(bytes), measured.why, stood_in);
        const byte_count off = predicted - *measured;
        const bool agrees = off <= tolerance && byte_count{} - off <= tolerance;
        all_.push_back({std::move(what), predicted.in(bytes), measured->in(bytes), agrees,
                        agrees               ? ""
                        : off > byte_count{} ? too_large
                                             : too_small,
                        stood_in});
    }

    void compare_verdicts() {
        const std::string& said = plan_.verdict;
        const verdict found = report_.judged.says;
        const bool decided = found == verdict::fits || found == verdict::does_not_fit;
        if (said.empty() || !decided || report_.search)
            return unknown("verdict", said.empty() ? json(nullptr) : json(said),
                           said.empty() ? "the plan says none" : "not decided on the device");
        // `tight` is within the plan's bounds either way.
        const bool agrees = said == "tight" || said == name_of(found);
        all_.push_back({"verdict", said, std::string{name_of(found)}, agrees,
                        agrees                   ? ""
                        : found == verdict::fits ? "the plan refuses what the device holds"
                                                 : "the plan promises what the device does not hold"});
    }

    /// What the device has, and what a bare context takes of it.
    void compare_what_is_there() {
        const reading<byte_count>& context = report_.around.context;
        const reading<byte_count> had =
            report_.cuda_free && context
                ? reading<byte_count>{*report_.cuda_free + own_}
                : reading<byte_count>::unavailable(report_.cuda_free ? context.why : report_.cuda_free.why);
        size("usable", plan_.available, had, std::max(mib(64), percent(had, 1)),
             "the device has more than the plan says", "the device has less than the plan says");
        const auto& said = plan_.process_context;
        const json predicted = said ? json(said->expected.in(bytes)) : json(nullptr);
        if (!said || !context) return unknown("context", predicted, said ? context.why.view() : "the plan says none");
        const bool agrees = *context <= said->high + mib(64);
        all_.push_back({"context", predicted, context->in(bytes), agrees,
                        agrees ? "" : "a bare context takes more than the plan's whole line"});
    }

    void compare_run(const alloc_run& run) {
        const bool held = run.outcome == run_outcome::held;
        const reading<byte_count> none = reading<byte_count>::unavailable("not all buffers were held");
        for (const std::string_view term : plan_terms) {
            const bool has_buffers = plan_.buffer_total(term) > byte_count{};
            const byte_count predicted = plan_.predicted(term).value_or(byte_count{});
            if (predicted == byte_count{} && !has_buffers) continue;  // a plan names every term
            const byte_count took = granted(run, [&](const std::string& t) { return t == term; });
            if (!has_buffers) {
                unknown(std::string{term}, predicted.in(bytes), "a block stood in for it", took);
                continue;
            }
            const reading<byte_count> measured = held ? reading<byte_count>{took} : none;
            size(std::string{term}, predicted, measured, std::max(mib(4), percent(measured, 1)),
                 "its buffers take more than the plan says", "its buffers take less than the plan says");
        }
        const reading<byte_count>& context = report_.around.context;
        const reading<byte_count> taken = !held ? none : !context ? context : reading<byte_count>{run.granted + own_};
        size("total", plan_.expected, taken, percent(taken, 2), "the device loses more than the plan says",
             "the device loses less than the plan says",
             granted(run, [&](const std::string& t) { return plan_.buffer_total(t) == byte_count{}; }));
        if (report_.allocator != "pytorch_caching" || !held)
            return unknown("reserved", plan_.reserved.in(bytes), "this run keeps no segments of its own");
        size("reserved", plan_.reserved, granted(run, [](const std::string& t) { return t != "runtime"; }),
             percent(plan_.reserved, 2), "the allocator reserves more than the plan says",
             "the allocator reserves less than the plan says");
    }

    void compare_largest() {
        const auto& planned = report_.search_axis == "context" ? plan_.max_context : plan_.max_batch;
        if (!report_.search || report_.search->says != verdict::fits || !planned) return;
        const search_result& found = *report_.search;
        const bool below = found.largest < *planned;
        const bool beyond = found.largest > std::max(found.possible, *planned);
        all_.push_back({"largest", *planned, found.largest, !below && !beyond,
                        below    ? "the device does not hold the planner's largest"
                        : beyond ? "the device holds more than the plan's lower bound allows"
                        : found.largest > *planned
                            ? std::to_string(found.largest - *planned) + " beyond the planner's, within its bounds"
                            : ""});
    }

    const alloc_report& report_;
    const plan_file& plan_;
    byte_count own_ = taken_before(plan_, report_.around);
    std::vector<agreement_line> all_;
};

}  // namespace

std::vector<agreement_line> agreement_of(const alloc_report& report) { return lines{report}.all(); }

}  // namespace llmres::probe
