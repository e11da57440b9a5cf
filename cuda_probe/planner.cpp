// SPDX-License-Identifier: MIT
#include "planner.hpp"

#include <llmres/answers/buffers.hpp>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <nlohmann/json.hpp>

namespace llmres::probe {

namespace {

result<job_plan> made_for(const plan_request& request) {
    return request.layout ? llmres::plan(request.job, *request.layout, request.cluster)
                          : llmres::plan(request.job, request.cluster);
}

/// What `llmres plan --json` would write, read back as a plan.
result<plan_file> planned(const plan_request& request) {
    const auto made = made_for(request);
    if (!made) return made.error();
    return parse_plan(to_json(*made, request.job, request.cluster, !request.layout).dump());
}

bool same_buffers(const plan_file& a, const plan_file& b) {
    if (a.buffers.size() != b.buffers.size()) return false;
    for (std::size_t i = 0; i < a.buffers.size(); ++i)
        if (a.buffers[i].size != b.buffers[i].size || a.buffers[i].count != b.buffers[i].count) return false;
    return true;
}

/// The engine as a document names it: at the first version that its profile is for, with the knobs that were set.
nlohmann::json engine_of(nlohmann::json written) {
    const auto text_of = [&](const char* key) {
        return written.contains(key) && written[key].is_string() ? written[key].get<std::string>() : "";
    };
    const std::string name = text_of("name");
    const std::string versions = text_of("versions");
    written.erase("versions");
    for (const runtime* profile : runtimes::all) {
        if (profile->identity.name != name || profile->identity.versions != versions) continue;
        const runtime_version since = profile->identity.since;
        written["name"] = name + "@" + std::to_string(since.major) + "." + std::to_string(since.minor) + "." +
                          std::to_string(since.patch);
    }
    return written;
}

/// The job document that gives this plan, with the axis set if `to` is.
result<nlohmann::json> document_of(const plan_file& plan, plan_axis axis, std::optional<std::int64_t> to) {
    const auto written = nlohmann::json::parse(plan.text, nullptr, false);
    const auto part = [&](const char* key) {
        return written.is_object() && written.contains(key) && written[key].is_object() ? written[key]
                                                                                        : nlohmann::json::object();
    };
    nlohmann::json document = part("job");
    if (!document.contains("model"))
        return refused(error_code::missing, "job.model", "", "the job that the plan was made for");
    // No copy of the optimizer's own is null in a plan, and the weights' own format in a document.
    if (document.contains("master_weights") && document["master_weights"].is_null() && document.contains("weights"))
        document["master_weights"] = document["weights"];
    for (auto field = document.begin(); field != document.end();)
        field = field->is_null() ? document.erase(field) : std::next(field);
    document["layout"] = part("layout");
    nlohmann::json& on = document["cluster"] = part("cluster");
    on.erase("measured");
    if (on.contains("device")) on.erase("gpu");                         // the row that the device was put over
    for (const char* link : {"scale_up", "scale_out"}) on.erase(link);  // they move no memory
    if (part("runtime").contains("name")) document["runtime"] = engine_of(part("runtime"));
    const bool training = document.contains("micro_batch");
    if (to && axis == plan_axis::batch) document[training ? "micro_batch" : "batch"] = *to;
    if (to && axis == plan_axis::context) {
        document[training ? "sequence" : "context"] = *to;
        document.erase("prompt");  // what the context leaves
    }
    if (training && to) document.erase("global_batch");
    return document;
}

/// The document's job, on one such device.
result<plan_request> request_for(const std::string& document, const device& live) {
    const auto sheet = sheet_for(live);
    if (!sheet) return sheet.error();
    auto parsed = nlohmann::json::parse(document);
    parsed["cluster"] = {{"gpu", std::string{sheet->id.view()}}, {"gpus", 1}};
    auto request = read_job(parsed, std::filesystem::path{});  // models by their path from the working directory
    if (request) request->cluster.gpu = to_gpu(live, *sheet);
    return request;
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

}  // namespace

result<plan_file> plan_job(const job_request& request, const device& live) {
    return plan_document(document_of(request), live);
}

result<byte_count> buffers_of_job(const job_request& request, const device& live) {
    const auto job = request_for(document_of(request), live);
    if (!job) return job.error();
    const auto made = made_for(*job);
    if (!made) return made.error();
    byte_count all;
    for_each_buffer(job->job, job->cluster, *made, [&](const buffer& b) { all += b.size * b.count; });
    return all;
}

result<plan_file> plan_document(const std::string& document) {
    const auto read = read_job(std::string_view{document}, std::filesystem::path{});
    return read ? planned(*read) : result<plan_file>{read.error()};
}

result<plan_file> plan_document(const std::string& document, const device& live) {
    const auto request = request_for(document, live);
    return request ? planned(*request) : result<plan_file>{request.error()};
}

result<plan_file> replanned(const plan_file& plan, plan_axis axis, std::int64_t to) {
    const auto own = document_of(plan, axis, {});
    if (!own) return own.error();
    const auto again = plan_document(own->dump());
    if (!again) return again.error();
    if (!same_buffers(*again, plan))
        return refused(error_code::inconsistent, "buffers", plan.hash, "those of the plan's own job");
    const auto document = document_of(plan, axis, to);
    return document ? plan_document(document->dump()) : result<plan_file>{document.error()};
}

}  // namespace llmres::probe
