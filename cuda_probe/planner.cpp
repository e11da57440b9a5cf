// SPDX-License-Identifier: MIT
#include <algorithm>
#include <llmres/answers/buffers.hpp>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>

#include "plan_file.hpp"

namespace llmres::probe {

namespace {

/// Memory and buffers of a plan, without its text and limits, which a search does not ask for.
plan_file sums_of(const plan_request& request, const job_plan& made) {
    plan_file plan;
    const interval<byte_count> total = made.memory.total();
    plan.usable = made.usable;
    plan.available = available_memory(request.cluster);
    plan.low = total.low, plan.expected = total.expected, plan.high = total.high;
    for (std::size_t i = 0; i < memory_term_names.size(); ++i)
        plan.terms.emplace_back(memory_term_names[i], made.memory.terms[i].expected);
    for_each_buffer(request.job, request.cluster, made, [&](const buffer& b) {
        plan.buffers.push_back({std::string{b.name.view()}, std::string{name_of(b.term)}, b.size, b.count});
    });
    return plan;
}

result<plan_file> sums_of(const result<plan_request>& request) {
    if (!request) return request.error();
    const auto made = llmres::plan(*request);
    return made ? result<plan_file>{sums_of(*request, made->plan)} : result<plan_file>{made.error()};
}

}  // namespace

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

result<plan_file> planned(const result<plan_request>& request) {
    if (!request) return request.error();
    const auto made = llmres::plan(*request);
    if (!made) return made.error();
    return parse_plan(to_json(made->plan, request->job, request->cluster, !request->layout).dump());
}

result<plan_file> plan_job(const job_request& request, const device& live) {
    return planned(request_for(document_of(request), live));
}

result<plan_file> plan_document(const std::string& document) {
    return planned(read_job(std::string_view{document}, std::filesystem::path{}));
}

result<plan_file> plan_filling(const std::string& document, const device& live, double percent) {
    const auto at = [&](std::int64_t n) {
        auto parsed = nlohmann::json::parse(document, nullptr, false);
        if (parsed.is_object()) parsed[parsed.value("task", "serving") == "serving" ? "batch" : "micro_batch"] = n;
        return request_for(parsed.dump(), live);
    };
    if (const auto one = sums_of(at(1)); !one) return one;
    const std::int64_t largest = llmres::detail::largest_that_holds(1 << 14, [&](std::int64_t n) {
        const auto made = sums_of(at(n));
        return made && made->expected <= scaled_up(made->usable, percent / 100);
    });
    if (largest == 0)
        return refused(error_code::out_of_range, "fill", static_cast<std::int64_t>(percent),
                       "a share of the device that a batch of 1 is within");
    return planned(at(largest));
}

result<replanner> replanner::from(const plan_file& plan) {
    const auto written = nlohmann::json::parse(plan.text, nullptr, false);
    if (!written.is_object() || !written.contains("job") || !written["job"].contains("model"))
        return refused(error_code::missing, "job.model", "", "the job that the plan was made for");
    nlohmann::json document = written["job"];
    for (const char* part : {"runtime", "cluster", "layout"})
        if (written.contains(part)) document[part] = written[part];
    const auto again = sums_of(read_job(document, std::filesystem::path{}));
    if (!again) return again.error();
    const auto alike = [](const plan_buffer& a, const plan_buffer& b) {
        return a.size == b.size && a.count == b.count;
    };
    if (!std::equal(again->buffers.begin(), again->buffers.end(), plan.buffers.begin(), plan.buffers.end(), alike))
        return refused(error_code::inconsistent, "buffers", plan.hash, "those of the plan's own job");
    return replanner{std::move(document)};
}

result<plan_file> replanner::at(plan_axis axis, std::int64_t to) const {
    nlohmann::json document = document_;
    const bool training = document.contains("micro_batch");
    if (axis == plan_axis::batch) document[training ? "micro_batch" : "batch"] = to;
    if (axis == plan_axis::context) {
        document[training ? "sequence" : "context"] = to;
        document.erase("prompt");  // what the context leaves
    }
    if (training) document.erase("global_batch");
    return sums_of(read_job(document, std::filesystem::path{}));
}

}  // namespace llmres::probe
