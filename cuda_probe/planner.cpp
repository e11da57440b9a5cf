// SPDX-License-Identifier: MIT
#include "planner.hpp"

#include <algorithm>
#include <cctype>
#include <llmres/device.hpp>
#include <llmres/gpus.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models.hpp>
#include <llmres/plan.hpp>
#include <nlohmann/json.hpp>

namespace llmres::probe {

namespace {

/// What `llmres plan --json` would write, read back as a plan.
result<plan_file> planned(const plan_request& request) {
    const auto made = request.layout ? llmres::plan(request.job, *request.layout, request.cluster)
                                     : llmres::plan(request.job, request.cluster);
    if (!made) return made.error();
    return parse_plan(to_json(*made, request.job, request.cluster, !request.layout).dump());
}

bool same_buffers(const plan_file& a, const plan_file& b) {
    if (a.buffers.size() != b.buffers.size()) return false;
    for (std::size_t i = 0; i < a.buffers.size(); ++i)
        if (a.buffers[i].size != b.buffers[i].size || a.buffers[i].count != b.buffers[i].count) return false;
    return true;
}

/// Whether the device's name has the part of the id that tells chips apart: "h100" of "h100-sxm5-80gb".
bool named_alike(const gpu& card, std::string_view name) {
    const std::string_view id = card.id.view();
    for (std::size_t begin = 0; begin < id.size();) {
        const std::size_t end = std::min(id.find('-', begin), id.size());
        const std::string_view word = id.substr(begin, end - begin);
        if (word.find_first_of("0123456789") != std::string_view::npos)
            return std::search(name.begin(), name.end(), word.begin(), word.end(), [](char a, char b) {
                       return std::tolower(static_cast<unsigned char>(a)) == b;
                   }) != name.end();
        begin = end + 1;
    }
    return false;
}

/// The document that would give this plan, with the axis set if `to` is.
result<nlohmann::json> document_of(const plan_file& plan, plan_axis axis, std::optional<std::int64_t> to,
                                   bool own_step) {
    const auto written = nlohmann::json::parse(plan.text, nullptr, false);
    const auto part = [&](const char* key) {
        return written.is_object() && written.contains(key) && written[key].is_object() ? written[key]
                                                                                        : nlohmann::json::object();
    };
    nlohmann::json document = part("job");
    if (!document.contains("model"))
        return refused(error_code::missing, "job.model", "", "the job that the plan was made for");
    for (auto field = document.begin(); field != document.end();)
        field = field->is_null() ? document.erase(field) : std::next(field);
    document["layout"] = part("layout");
    document["cluster"] = part("cluster");
    if (const auto engine = part("runtime");
        engine.contains("name") && engine["name"].is_string() && engine["name"] != "none")
        document["runtime"] = engine["name"];
    if (!own_step) document.erase("max_batched_tokens");
    const bool training = document.contains("micro_batch");
    if (to && axis == plan_axis::batch) document[training ? "micro_batch" : "batch"] = *to;
    if (to && axis == plan_axis::context) {
        document[training ? "sequence" : "context"] = *to;
        document.erase("prompt");  // what the context leaves
    }
    if (training && to) document.erase("global_batch");
    return document;
}

}  // namespace

result<gpu> sheet_for(const device& live) {
    if (!live.compute.capability_major || !live.compute.capability_minor || !live.memory.cuda_total)
        return refused(error_code::missing, "compute.capability_major", live.compute.capability_major.why,
                       "a device that was described");
    const compute_capability capability{*live.compute.capability_major, *live.compute.capability_minor};
    const gpu* nearest = nullptr;
    std::int64_t least = 0;
    for (const gpu* card : gpus::all) {
        if (card->capability != capability) continue;
        const std::int64_t apart = (usable_memory(*card) - *live.memory.cuda_total).base();
        const bool other_part = card->sm_count && live.compute.sm_count && *card->sm_count != *live.compute.sm_count;
        const std::int64_t distance = (apart < 0 ? -apart : apart) + (other_part ? tib(1).base() : 0) +
                                      (named_alike(*card, live.identity.name.value) ? 0 : tib(2).base());
        if (nearest == nullptr || distance < least) nearest = card, least = distance;
    }
    if (nearest == nullptr)
        return refused(error_code::unknown, "compute.capability", live.identity.name.value.view(),
                       "a compute capability that the tables know");
    return *nearest;
}

result<plan_file> plan_job(const job_request& request, const device& live) {
    const auto sheet = sheet_for(live);
    if (!sheet) return sheet.error();
    nlohmann::json document{{"model", request.model},
                            {"cluster", {{"gpu", std::string{sheet->id.view()}}, {"gpus", 1}}}};
    const bool training = !request.task.empty() && request.task != "serving";
    if (!request.task.empty()) document["task"] = request.task;
    if (!request.runtime.empty()) document["runtime"] = request.runtime;
    if (request.batch > 0) document[training ? "micro_batch" : "batch"] = request.batch;
    if (request.context > 0) document[training ? "sequence" : "context"] = request.context;
    auto read = read_job(document);
    if (!read) return read.error();
    plan_request job = *read;
    job.cluster.gpu = to_gpu(live, *sheet);
    return planned(job);
}

result<plan_file> plan_document(const std::string& document) {
    const auto read = read_job(std::string_view{document});
    return read ? planned(*read) : result<plan_file>{read.error()};
}

result<plan_file> replanned(const plan_file& plan, plan_axis axis, std::int64_t to) {
    // The tokens of one step are echoed whether the job or the engine said them: whichever gives the plan's own buffers.
    for (const bool own_step : {true, false}) {
        const auto own = document_of(plan, axis, {}, own_step);
        if (!own) return own.error();
        const auto again = plan_document(own->dump());
        if (!again) return again.error();
        if (!same_buffers(*again, plan)) continue;
        const auto document = document_of(plan, axis, to, own_step);
        return document ? plan_document(document->dump()) : result<plan_file>{document.error()};
    }
    return refused(error_code::inconsistent, "buffers", plan.hash, "those of the plan's own job");
}

}  // namespace llmres::probe
