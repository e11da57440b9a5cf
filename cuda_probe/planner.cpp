// SPDX-License-Identifier: MIT
#include "plan_file.hpp"

#include <llmres/answers/buffers.hpp>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <nlohmann/json.hpp>

#include "alloc.hpp"

namespace llmres::probe {

namespace {

/// What `llmres plan --json` would write, read back as a plan.
result<plan_file> planned(const plan_request& request) {
    const auto made = made_for(request);
    if (!made) return made.error();
    return parse_plan(to_json(*made, request.job, request.cluster, !request.layout).dump());
}

/// The same without its text and limits, which a search does not ask for.
plan_file sums_of(const plan_request& request, const job_plan& made) {
    plan_file plan;
    const interval<byte_count> total = made.memory.total();
    plan.verdict = name_of(made.verdict);
    plan.usable = made.usable;
    plan.available = available_memory(request.cluster);
    plan.low = total.low, plan.expected = total.expected, plan.high = total.high;
    for (std::size_t i = 0; i < memory_term_names.size(); ++i)
        plan.terms.emplace_back(memory_term_names[i], made.memory.terms[i].expected);
    plan.trains = trains(request.job);
    for_each_buffer(request.job, request.cluster, made, [&](const buffer& b) {
        plan.buffers.push_back({std::string{b.name.view()}, std::string{name_of(b.term)}, b.size, b.count});
    });
    plan.reserved = plan.buffer_total() + plan.predicted("fragmentation").value_or(byte_count{});
    return plan;
}

result<plan_file> sums_of(const plan_request& request) {
    const auto made = made_for(request);
    return made ? result<plan_file>{sums_of(request, *made)} : result<plan_file>{made.error()};
}

bool same_buffers(const plan_file& a, const plan_file& b) {
    if (a.buffers.size() != b.buffers.size()) return false;
    for (std::size_t i = 0; i < a.buffers.size(); ++i)
        if (a.buffers[i].size != b.buffers[i].size || a.buffers[i].count != b.buffers[i].count) return false;
    return true;
}

/// The job document that gives this plan: its own job, runtime, cluster and layout.
result<nlohmann::json> document_of(const plan_file& plan) {
    const auto written = nlohmann::json::parse(plan.text, nullptr, false);
    if (!written.is_object() || !written.contains("job") || !written["job"].contains("model"))
        return refused(error_code::missing, "job.model", "", "the job that the plan was made for");
    nlohmann::json document = written["job"];
    for (const char* part : {"runtime", "cluster", "layout"})
        if (written.contains(part)) document[part] = written[part];
    return document;
}

std::string with(nlohmann::json document, plan_axis axis, std::int64_t to) {
    const bool training = document.contains("micro_batch");
    if (axis == plan_axis::batch) document[training ? "micro_batch" : "batch"] = to;
    if (axis == plan_axis::context) {
        document[training ? "sequence" : "context"] = to;
        document.erase("prompt");  // what the context leaves
    }
    if (training) document.erase("global_batch");
    return document.dump();
}

/// The document's job, on one such device.
result<plan_request> request_for(const std::string& document, const device& live) {
    const auto sheet = sheet_for(live);
    if (!sheet) return sheet.error();
    auto parsed = nlohmann::json::parse(document, nullptr, false);
    if (!parsed.is_object()) return refused(error_code::malformed, "job", document.substr(0, 40), "a JSON object");
    parsed["cluster"] = {{"gpu", std::string{sheet->id.view()}}, {"gpus", 1}};
    auto request = read_job(parsed, std::filesystem::path{});  // models by their path from the working directory
    if (request) request->cluster.gpu = to_gpu(live, *sheet);
    return request;
}

}  // namespace

result<job_plan> made_for(const plan_request& request) {
    return request.layout ? llmres::plan(request.job, *request.layout, request.cluster)
                          : llmres::plan(request.job, request.cluster);
}

result<plan_request> request_of(const std::string& document, const device& live) {
    const auto parsed = nlohmann::json::parse(document, nullptr, false);
    return parsed.is_object() && parsed.contains("cluster")
               ? read_job(std::string_view{document}, std::filesystem::path{})
               : request_for(document, live);
}

std::string document_of(const job_request& request) {
    nlohmann::json document{{"model", request.model}};
    const bool training = !request.task.empty() && request.task != "serving";
    if (!request.task.empty()) document["task"] = request.task;
    if (!request.runtime.empty()) document["runtime"] = request.runtime;
    if (request.batch > 0) document[training ? "micro_batch" : "batch"] = request.batch;
    if (request.context > 0) document[training ? "sequence" : "context"] = request.context;
    return document.dump();
}

result<plan_file> plan_job(const job_request& request, const device& live) {
    return plan_document(document_of(request), live);
}

result<plan_file> plan_document(const std::string& document) {
    const auto read = read_job(std::string_view{document}, std::filesystem::path{});
    return read ? planned(*read) : result<plan_file>{read.error()};
}

result<plan_file> plan_document(const std::string& document, const device& live) {
    const auto request = request_for(document, live);
    return request ? planned(*request) : result<plan_file>{request.error()};
}

result<plan_file> plan_filling(const std::string& document, const device& live, double percent) {
    error last{};
    const auto at = [&](std::int64_t n) {
        auto parsed = nlohmann::json::parse(document, nullptr, false);
        if (parsed.is_object()) parsed[parsed.value("task", "serving") == "serving" ? "batch" : "micro_batch"] = n;
        return request_for(parsed.dump(), live);
    };
    const auto largest = bisect(1, 1 << 14, [&](std::int64_t n) -> std::optional<bool> {
        const auto request = at(n);
        const auto made = request ? sums_of(*request) : result<plan_file>{request.error()};
        if (made) return made->expected <= scaled_up(made->usable, percent / 100);
        last = made.error();
        return {};
    });
    if (!largest) return last;
    if (*largest == 0)
        return refused(error_code::out_of_range, "fill", static_cast<std::int64_t>(percent),
                       "a share of the device that a batch of 1 is within");
    return planned(*at(*largest));
}

result<replanner> replanner::from(const plan_file& plan) {
    const auto own = document_of(plan);
    if (!own) return own.error();
    const auto request = read_job(std::string_view{own->dump()}, std::filesystem::path{});
    if (!request) return request.error();
    const auto again = sums_of(*request);
    if (!again) return again.error();
    if (!same_buffers(*again, plan))
        return refused(error_code::inconsistent, "buffers", plan.hash, "those of the plan's own job");
    return replanner{own->dump()};
}

result<plan_file> replanner::at(plan_axis axis, std::int64_t to) const {
    const std::string document = with(nlohmann::json::parse(document_), axis, to);
    const auto request = read_job(std::string_view{document}, std::filesystem::path{});
    return request ? sums_of(*request) : result<plan_file>{request.error()};
}

}  // namespace llmres::probe
