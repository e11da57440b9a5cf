// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fmt/format.h>

#include <array>

namespace llmres::probe {

namespace {

using json = nlohmann::ordered_json;

/// A reading under its key; null with the reason in the sibling `unavailable` where there is none.
template <class T>
void put(json& into, const char* key, const reading<T>& field) {
    json unavailable = json::object();
    llmres::detail::field_writer{into, unavailable}(key, field);
    if (!field) into["unavailable"].update(unavailable);
}

constexpr std::array<std::string_view, 7> run_outcomes{"held",          "no_room",       "guarded", "stopped",
                                                       "wrong_content", "overcommitted", "failed"};

json run_json(const alloc_run& run, bool every_buffer) {
    json out{{"outcome", run_outcomes[static_cast<std::size_t>(run.outcome)]},
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
    if (report.search) out["search"] = search_json(report);
    if (!report.runs.empty() || report.search) out["agreement"] = agreement_json(report);
    return out;
}

std::string to_text(const alloc_report& report) {
    std::string out = fmt::format("{}: {}\n", name_of(report.judged.says), report.judged.reason);
    if (!report.forecast.empty()) out += fmt::format("forecast: {}\n", report.forecast);
    if (report.search)
        out += fmt::format("largest {}: {} held; {} by arithmetic within the guard band\n", report.search_axis,
                           report.search->largest, report.search->predicted_in_guard);
    if (report.runs.empty() && !report.search) return out;
    // Large numbers are bytes.
    const auto shown = [](const json& value) {
        return value.is_number() && value > (1 << 20)
                   ? fmt::format("{:.3f} GiB", bytes(value.get<std::int64_t>()).in(gib))
                   : value.dump();
    };
    for (const agreement_line& line : agreement_of(report))
        out += fmt::format("  {:16} predicted {:>14}  measured {:>14}  {}\n", line.what, shown(line.predicted),
                           shown(line.measured), line.agrees ? line.why : "differs: " + line.why);
    return out;
}

}  // namespace llmres::probe
