// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace llmres::probe {

namespace {

using json = nlohmann::ordered_json;

byte_count percent(const reading<byte_count>& whole, double part) {
    return whole ? scaled_up(*whole, part / 100) : byte_count{};
}

/// What a run's buffers of these terms were granted, or another of their sizes. A shared segment is charged to the
/// buffer that caused it.
template <class Wanted>
byte_count granted(const alloc_run& run, Wanted&& wanted, byte_count buffer_result::* size = &buffer_result::granted) {
    byte_count all{};
    for (const buffer_result& b : run.buffers)
        if (wanted(b.term)) all += b.*size;
    return all;
}

/// Collects the lines of prediction against device.
class agreement_lines {
public:
    explicit agreement_lines(const alloc_report& report) : report_{report}, plan_{report.plan} {
        compare_verdicts();
        compare_what_is_there();
        if (!report_.runs.empty()) compare_run(report_.runs.front());
        compare_largest();
    }
    std::vector<agreement_line> all;

private:
    void unknown(std::string_view what, json predicted, std::string_view why, byte_count stood_in = {}) {
        all.push_back({std::string{what}, std::move(predicted), nullptr, true, std::string{why}, stood_in});
    }
    /// `wrong`: which side is, where they do not agree; empty where they do.
    void compared(std::string_view what, json predicted, json measured, std::string_view wrong,
                  byte_count stood_in = {}) {
        all.push_back({std::string{what}, std::move(predicted), std::move(measured), wrong.empty(), std::string{wrong},
                       stood_in});
    }
    /// `verb`: what the device or the buffers do with more or less than the plan says. `rounding`: what of the measured
    /// size fills the allocator's granules; a difference that it makes up is none of the plan's.
    void size(std::string_view what, byte_count predicted, const reading<byte_count>& measured, byte_count tolerance,
              const char* verb, byte_count stood_in = {}, byte_count rounding = {}) {
        if (!measured) return unknown(what, predicted.in(bytes), measured.why, stood_in);
        const auto within = [&](byte_count more) { return more <= tolerance && byte_count{} - more <= tolerance; };
        const byte_count more = *measured - predicted;
        const bool rounded = !within(more) && within(more - rounding);
        const char* than = more > byte_count{} ? "more" : "less";
        compared(what, predicted.in(bytes), measured->in(bytes),
                 within(more) || rounded ? "" : fmt::format("{} {} than the plan says", verb, than), stood_in);
        if (rounded) all.back().why = fmt::format("{} bytes of it fill the allocator's granules", rounding.in(bytes));
    }

    void compare_verdicts() {
        const std::string_view said = name_of(plan_.verdict);
        const verdict found = report_.judged.says;
        const bool decided = found == verdict::fits || found == verdict::does_not_fit;
        if (!decided || report_.search) return unknown("verdict", said, "not decided on the device");
        const bool agrees =
            said == "tight" || said == name_of(found);  // `tight` is within the plan's bounds either way
        compared("verdict", said, name_of(found),
                 agrees                   ? ""
                 : found == verdict::fits ? "the plan refuses what the device holds"
                                          : "the plan promises what the device does not hold");
    }

    /// What the device has, and what a bare context takes of it.
    void compare_what_is_there() {
        const reading<byte_count>& context = report_.around.context;
        const auto had = then(report_.around.cuda_free,
                              [&](byte_count free) { return then(context, [&](byte_count) { return free + own_; }); });
        size("usable", plan_.available, had, std::max(mib(64), percent(had, 1)), "the device has");
        if (!plan_.process_context) return unknown("context", nullptr, "the plan says none");
        const interval<byte_count>& said = *plan_.process_context;
        if (!context) return unknown("context", said.expected.in(bytes), context.why);
        compared("context", said.expected.in(bytes), context->in(bytes),
                 *context <= said.high + mib(64) ? "" : "a bare context takes more than the plan's whole line");
    }

    void compare_run(const alloc_run& run) {
        const bool held = run.outcome == run_outcome::held;
        const reading<byte_count> none = reading<byte_count>::unavailable("not all buffers were held");
        for (std::size_t i = 0; i < names_of<memory_term>.size(); ++i) {
            const auto term = static_cast<memory_term>(i);
            const bool has_buffers = plan_.buffer_total(term) > byte_count{};
            const byte_count predicted = plan_.memory[term].expected;
            if (predicted == byte_count{} && !has_buffers) continue;  // a plan names every term
            const byte_count took = granted(run, [&](memory_term t) { return t == term; }, &buffer_result::allocated);
            const reading<byte_count> measured = held ? reading<byte_count>{took} : none;
            if (has_buffers)
                size(name_of(term), predicted, measured, std::max(mib(4), percent(measured, 1)), "its buffers take", {},
                     granted(run, [&](memory_term t) { return t == term; }, &buffer_result::rounding));
            else
                unknown(name_of(term), predicted.in(bytes), "a block stood in for it", took);
        }
        const auto taken = held ? then(report_.around.context, [&](byte_count) { return run.granted + own_; }) : none;
        size("total", plan_.memory.expected(), taken, percent(taken, 2), "the device loses",
             granted(run, [&](memory_term t) { return plan_.buffer_total(t) == byte_count{}; }),
             granted(run, [](memory_term) { return true; }, &buffer_result::rounding));
        if (report_.allocator != "pytorch_caching" || !held)
            return unknown("reserved", plan_.reserved().in(bytes), "this run keeps no segments of its own");
        size("reserved", plan_.reserved(), granted(run, [](memory_term t) { return t != memory_term::runtime; }),
             percent(plan_.reserved(), 2), "the allocator reserves",
             granted(run, [](memory_term t) { return t == memory_term::fragmentation; }));
    }

    void compare_largest() {
        const auto planned = plan_.largest(report_.search_axis);
        if (!report_.search || report_.search->says != verdict::fits || !planned) return;
        const search_result& found = *report_.search;
        compared("largest", *planned, found.largest,
                 found.largest < *planned ? "the device does not hold the planner's largest"
                 : found.largest > std::max(found.possible, *planned)
                     ? "the device holds more than the plan's lower bound allows"
                     : "");
        if (all.back().agrees && found.largest > *planned)
            all.back().why = fmt::format("{} beyond the planner's, within its bounds", found.largest - *planned);
    }

    const alloc_report& report_;
    const tested_plan& plan_;
    byte_count own_ = taken_before(plan_, report_.around);
};

}  // namespace

std::vector<agreement_line> agreement_of(const alloc_report& report) { return agreement_lines{report}.all; }

/// The fields of a report's `baselines`, with their keys.
template <class Write>
void each_field(const baselines& b, Write&& write) {
    write("used_before_bytes", b.used_before), write("used_with_context_bytes", b.used_with_context);
    write("used_with_libraries_bytes", b.used_with_libraries), write("cuda_free_bytes", b.cuda_free);
    write("context_bytes", b.context), write("libraries_bytes", b.libraries);
}

namespace {

/// A reading under its key; null with the reason in the sibling `unavailable` where there is none.
template <class T>
void put(json& into, const char* key, const reading<T>& field) {
    json unavailable = json::object();
    llmres::detail::field_writer{into, unavailable}(key, field);
    if (!field) into["unavailable"].update(unavailable);
}

json run_json(const alloc_run& run, bool every_buffer) {
    json out{{"outcome", name_of(run.outcome)},
             {"order", run.shuffled ? "shuffled" : "plan"},
             {"requested_bytes", run.requested.in(bytes)},
             {"granted_bytes", run.granted.in(bytes)},
             {"free_before_bytes", run.free_before.in(bytes)},
             {"free_after_release_bytes", run.free_after.in(bytes)},
             {"others_moved", !run.moved.empty()}};
    if (!run.moved.empty()) out["moved"] = run.moved;
    put(out, "others_before_bytes", run.others_before);
    put(out, "others_after_bytes", run.others_after);
    if (!run.reason.empty()) out["reason"] = run.reason;
    if (run.failed_at >= 0)
        out["failed"] = {{"buffer", run.failed_at}, {"name", run.failed_name}, {"bytes", run.failed_size.in(bytes)}};
    if (every_buffer) {
        out["buffers"] = json::array();
        for (const buffer_result& b : run.buffers)
            out["buffers"].push_back({{"name", b.name},
                                      {"term", name_of(b.term)},
                                      {"requested_bytes", b.requested.in(bytes)},
                                      {"granted_bytes", b.granted.in(bytes)},
                                      {"cumulative_bytes", b.cumulative.in(bytes)},
                                      {"free_after_bytes", b.free_after.in(bytes)}});
    }
    return out;
}

json try_json(const search_try& one) {
    return {{"n", one.n}, {"fits", one.fits}, {"requested_bytes", one.requested.in(bytes)}, {"reason", one.reason}};
}

json search_json(const alloc_report& report) {
    const search_result& found = *report.search;
    json out{{"axis", report.search_axis},
             {"verdict", name_of(found.says)},
             {"largest", found.largest},
             {"predicted_in_guard", found.predicted_in_guard},
             {"possible", found.possible}};
    const auto limit = report.plan.largest(report.search_axis);
    out["predicted_by_plan"] = limit ? json(*limit) : json(nullptr);
    out["beyond_plan"] = limit && found.largest > *limit ? json(found.largest - *limit) : json(0);
    out["at_plan"] = found.planned ? try_json(*found.planned) : json(nullptr);
    out["at_one_more"] = found.beyond ? try_json(*found.beyond) : json(nullptr);
    if (!found.reason.empty()) out["reason"] = found.reason;
    out["tries"] = json::array();
    for (const search_try& one : found.tries) out["tries"].push_back(try_json(one));
    return out;
}

json agreement_json(const alloc_report& report) {
    json out{{"agrees", nullptr}, {"lines", json::array()}};
    for (const agreement_line& line : agreement_of(report)) {
        json& shown = out["lines"].emplace_back();
        shown = {{"what", line.what}, {"predicted", line.predicted}, {"measured", line.measured}};
        if (line.measured.is_number() && line.measured > 0)
            shown["error_percent"] = 100 * (line.predicted.get<double>() / line.measured.get<double>() - 1);
        if (line.stood_in > byte_count{}) shown["stood_in_bytes"] = line.stood_in.in(bytes);
        shown["agrees"] = line.measured.is_null() ? json(nullptr) : json(line.agrees);
        if (!line.why.empty()) shown["why"] = line.why;
        if (line.measured.is_null()) continue;
        out["agrees"] = out["agrees"].is_null() ? line.agrees : out["agrees"] == true && line.agrees;
    }
    return out;
}

}  // namespace

json to_json(const alloc_report& report) {
    json out{{"schema_version", 1}, {"verdict", name_of(report.judged.says)}, {"reason", report.judged.reason}};
    out["probe_version"] = std::string{report.stamp.probe_version.view()};
    out["captured_at"] = std::string{report.stamp.captured_at.view()};
    json& about = out["device"] = json::object();
    put(about, "uuid", report.live.identity.uuid);
    put(about, "name", report.live.identity.name);
    put(about, "cuda_total_bytes", report.live.memory.cuda_total);
    out["plan"] = {{"source", report.plan_source},
                   {"runtime", report.plan.request.job.runtime.identity.name.view()},
                   {"gpus", report.plan.request.cluster.gpus},
                   {"expected_bytes", report.plan.memory.expected().in(bytes)},
                   {"usable_bytes", report.plan.usable.in(bytes)},
                   {"buffers_bytes", report.plan.buffer_total().in(bytes)}};
    out["allocator"] = {{"name", report.allocator}, {"source", report.allocator_source}};
    out["guard"] = {{"bytes", report.guard.in(bytes)}, {"reason", report.guard_reason}};
    out["baselines"] = llmres::detail::section_json(report.around);
    out["runs"] = json::array();
    for (const alloc_run& run : report.runs) out["runs"].push_back(run_json(run, &run == report.runs.data()));
    if (report.search) out["search"] = search_json(report);
    if (!report.runs.empty() || report.search) out["agreement"] = agreement_json(report);
    return out;
}

std::string to_text(const alloc_report& report) {
    std::string out = fmt::format("{}: {}\n", name_of(report.judged.says), report.judged.reason);
    if (report.search)
        out += fmt::format("largest {}: {} held; {} by arithmetic within the guard band\n", report.search_axis,
                           report.search->largest, report.search->predicted_in_guard);
    if (report.runs.empty() && !report.search) return out;
    for (const agreement_line& line : agreement_of(report)) {
        const auto shown = [&line](const json& value) {  // numbers are bytes, but of a largest batch or context
            return value.is_number() && line.what != "largest"
                       ? fmt::format("{:.3f} GiB", bytes(value.get<std::int64_t>()).in(gib))
                       : value.dump();
        };
        out += fmt::format("  {:16} predicted {:>14}  measured {:>14}  {}\n", line.what, shown(line.predicted),
                           shown(line.measured), line.agrees ? line.why : "differs: " + line.why);
    }
    return out;
}

}  // namespace llmres::probe
