// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdio>

#include "commands.hpp"

namespace llmres::probe {

namespace {

using json = nlohmann::ordered_json;

/// A reading under its key; null with the reason in the sibling `unavailable` where there is none.
template <class T>
void put(json& into, const char* key, const reading<T>& field) {
    if (field) {
        if constexpr (std::is_same_v<T, byte_count>)
            into[key] = field.value.in(bytes);
        else
            into[key] = *field;
    } else {
        into[key] = nullptr;
        into["unavailable"][key] = std::string{field.why.view()};
    }
}

std::string_view name_of(run_outcome outcome) {
    switch (outcome) {
        case run_outcome::held:
            return "held";
        case run_outcome::no_room:
            return "no_room";
        case run_outcome::guarded:
            return "guarded";
        case run_outcome::stopped:
            return "stopped";
        case run_outcome::wrong_content:
            return "wrong_content";
        case run_outcome::overcommitted:
            return "overcommitted";
        case run_outcome::failed:
            return "failed";
    }
    return "failed";
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
                                      {"term", b.term},
                                      {"requested_bytes", b.requested.in(bytes)},
                                      {"granted_bytes", b.granted.in(bytes)},
                                      {"cumulative_bytes", b.cumulative.in(bytes)},
                                      {"free_after_bytes", b.free_after.in(bytes)}});
    }
    return out;
}

json comparison_json(const term_comparison& line) {
    json out{{"term", line.term}, {"predicted_bytes", line.predicted.in(bytes)}};
    put(out, "requested_bytes", line.requested);
    put(out, "measured_bytes", line.measured);
    if (line.stood_in > byte_count{}) out["stood_in_bytes"] = line.stood_in.in(bytes);
    put(out, "error_percent", line.error_percent);
    return out;
}

json try_json(const search_try& one) {
    return {{"n", one.n}, {"fits", one.fits}, {"requested_bytes", one.requested.in(bytes)}, {"reason", one.reason}};
}

json search_json(const alloc_report& report) {
    const search_result& found = *report.search;
    json out{{"axis", report.search_axis},
             {"plans", report.search_plans},
             {"verdict", name_of(found.says)},
             {"largest", found.largest},
             {"predicted_in_guard", found.predicted_in_guard},
             {"possible", found.possible}};
    const auto& limit = report.search_axis == "batch" ? report.plan.max_batch : report.plan.max_context;
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
    const device_file stamp = file_of({});
    out["probe_version"] = std::string{stamp.probe_version.view()};
    out["captured_at"] = std::string{stamp.captured_at.view()};
    json& about = out["device"] = json::object();
    const auto put_text = [&about](const char* key, const auto& field) {
        about[key] = field ? json(std::string{field.value.view()}) : json(nullptr);
        if (!field) about["unavailable"][key] = std::string{field.why.view()};
    };
    put_text("uuid", report.live.identity.uuid);
    put_text("name", report.live.identity.name);
    put(about, "cuda_total_bytes", report.live.memory.cuda_total);
    out["plan"] = {{"source", report.plan_source},
                   {"fnv1a", report.plan.hash},
                   {"runtime", report.plan.runtime},
                   {"gpus", report.plan.gpus},
                   {"expected_bytes", report.plan.expected.in(bytes)},
                   {"usable_bytes", report.plan.usable.in(bytes)},
                   {"buffers_bytes", report.plan.buffer_total().in(bytes)}};
    out["allocator"] = {{"name", report.allocator}, {"source", report.allocator_source}};
    out["guard"] = {{"bytes", report.guard.in(bytes)}, {"reason", report.guard_reason}};
    json& around = out["baselines"] = json::object();
    put(around, "used_before_bytes", report.used_before);
    put(around, "used_with_context_bytes", report.used_with_context);
    put(around, "used_with_libraries_bytes", report.used_with_libraries);
    put(around, "cuda_free_bytes", report.cuda_free);
    put(around, "context_bytes", report.around.context);
    put(around, "libraries_bytes", report.around.libraries);
    if (!report.forecast.empty()) out["forecast"] = report.forecast;
    out["runs"] = json::array();
    for (const alloc_run& run : report.runs) out["runs"].push_back(run_json(run, &run == report.runs.data()));
    if (!report.runs.empty()) {
        out["terms"] = json::array();
        for (const term_comparison& line : compare(report.plan, report.runs.front(), report.around))
            out["terms"].push_back(comparison_json(line));
        out["total"] = comparison_json(compare_total(report.plan, report.runs.front(), report.around));
    }
    if (report.search) out["search"] = search_json(report);
    if (!report.runs.empty() || report.search) out["agreement"] = agreement_json(report);
    return out;
}

std::string to_text(const alloc_report& report) {
    std::string out = std::string{name_of(report.judged.says)} + ": " + report.judged.reason + "\n";
    if (!report.forecast.empty()) out += "forecast: " + report.forecast + "\n";
    const auto line = [&out](const term_comparison& c) {
        char room[160];
        if (c.measured)
            std::snprintf(room, sizeof room, "  %-16s predicted %9.3f GiB   measured %9.3f GiB   %s\n", c.term.c_str(),
                          c.predicted.in(gib), c.measured.value.in(gib),
                          c.error_percent ? (std::to_string(*c.error_percent) + " %").c_str() : "");
        else
            std::snprintf(room, sizeof room, "  %-16s predicted %9.3f GiB   not measured: %s\n", c.term.c_str(),
                          c.predicted.in(gib), std::string{c.measured.why.view()}.c_str());
        out += room;
    };
    if (!report.runs.empty()) {
        for (const term_comparison& c : compare(report.plan, report.runs.front(), report.around)) line(c);
        line(compare_total(report.plan, report.runs.front(), report.around));
    }
    if (report.search)
        out += "largest " + report.search_axis + ": " + std::to_string(report.search->largest) + " held; " +
               std::to_string(report.search->predicted_in_guard) + " by arithmetic within the guard band\n";
    for (const agreement_line& c : agreement_of(report))
        if (!c.agrees)
            out += "differs: " + c.what + ": predicted " + c.predicted.dump() + ", measured " + c.measured.dump() +
                   ": " + c.why + "\n";
    return out;
}

}  // namespace llmres::probe
