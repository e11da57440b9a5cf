// SPDX-License-Identifier: MIT
#include "tested_plan.hpp"

#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>

namespace llmres::probe {

namespace {

tested_plan memory_of_plan(const plan_request& request, const job_plan& made) {
    tested_plan plan{request, made.verdict, made.usable, available_memory(request.cluster), made.memory};
    plan.request.layout = made.layout;
    for_each_buffer(request.job, request.cluster, made, [&](const buffer& b) { plan.buffers.push_back(b); });
    return plan;
}

/// The object of a document; `missing` unless it holds a job or a plan.
result<nlohmann::json> object_of(const std::string& document) {
    auto parsed = nlohmann::json::parse(document, nullptr, false);
    if (!parsed.is_object())
        return refused(error_code::malformed, "plan", document.substr(0, 40), "the JSON object of a job or a plan");
    if (!document_in(parsed).contains("model"))
        return refused(error_code::missing, "model", "", "a job, or a plan with the document that it answers");
    return parsed;
}

}  // namespace

byte_count tested_plan::buffer_total(std::optional<memory_term> of) const {
    byte_count total{};
    for (const buffer& b : buffers)
        if (!of || b.term == *of) total += b.size * b.count;
    return total;
}

std::optional<std::int64_t> tested_plan::largest(std::string_view axis) const {
    if (axis == "batch") return limits.max_batch ? std::optional{*limits.max_batch} : std::nullopt;
    return limits.max_context ? std::optional{limits.max_context->in(tokens)} : std::nullopt;
}

std::vector<buffer> stand_ins(const tested_plan& plan, byte_count own) {
    std::vector<buffer> all;
    for (std::size_t i = 0; i < names_of<memory_term>.size(); ++i) {
        const auto term = static_cast<memory_term>(i);
        const byte_count taken = plan.buffer_total(term) + (term == memory_term::runtime ? own : byte_count{});
        if (plan.memory[term].expected <= taken) continue;
        buffer& rest = all.emplace_back(buffer{"rest_of_", term, plan.memory[term].expected - taken});
        rest.name.append(name_of(static_cast<memory_term>(i)));
    }
    return all;
}

result<tested_plan> memory_of_plan(const result<plan_request>& request) {
    if (!request) return request.error();
    const auto made = llmres::plan(*request);
    return made ? result<tested_plan>{memory_of_plan(*request, made->plan)} : result<tested_plan>{made.error()};
}

result<tested_plan> plan_of(const plan_request& request) {
    const auto made = llmres::plan(request);
    if (!made) return made.error();
    tested_plan plan = memory_of_plan(request, made->plan);
    const auto& [j, c, over] = std::tie(request.job, request.cluster, made->plan.layout);
    plan.process_context = context_on(on_device(j.runtime, c.gpu, over), c.gpu);
    plan.limits = limits_of(j, over, c);
    return plan;
}

result<json_value> document_of_plan(const std::string& document, plan_request request) {
    const auto made = llmres::plan(request);
    if (!made) return made.error();
    maybe<double>& fraction = request.job.runtime.cache.fraction;
    fraction = on_device(request.job.runtime, request.cluster.gpu, made->plan.layout).cache.fraction;
    json_value answer = to_json(made->plan, request.job, request.cluster, layout_choice_of(request.layout));
    json_value answered = answer["job"];
    for (const char* part : {"runtime", "cluster", "layout"}) answered[part] = answer[part];
    answered["model"] = document_in(*object_of(document))["model"];  // which may have been described
    answered["cluster"]["gpu_memory"] = usable_memory(request.cluster.gpu).in(bytes);
    answer["schema"] = plan_schema;
    answer["document"] = answered;
    return answer;
}

plan_request changed(plan_request request, std::string_view axis, std::int64_t to) {
    job& j = request.job;
    if (axis == "batch") (trains(j) ? j.micro_batch : j.batch) = to;
    if (axis == "context") {
        j.context = j.sequence = tokens(to);
        j.prompt = {};  // what the context leaves
    }
    if (trains(j)) j.global_batch = 0;  // of one micro-batch a rank
    return request;
}

result<plan_request> filled_to(const plan_request& request, double percent) {
    const auto at = [&](std::int64_t n) { return changed(request, "batch", n); };
    if (const auto one = memory_of_plan(at(1)); !one) return one.error();
    const std::int64_t largest = llmres::detail::largest_that_holds(1 << 14, [&](std::int64_t n) {
        const auto made = memory_of_plan(at(n));
        return made && made->memory.expected() <= scaled_up(made->usable, percent / 100);
    });
    if (largest == 0)
        return refused(error_code::out_of_range, "fill", static_cast<std::int64_t>(percent),
                       "a share of the device that a batch of 1 is within");
    return at(largest);
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

result<bool> names_cluster(const std::string& document) {
    const auto parsed = object_of(document);
    if (!parsed) return parsed.error();
    return document_in(*parsed).contains("cluster");
}

result<plan_request> request_of(const std::string& document, const device& live) {
    const auto parsed = object_of(document);
    if (!parsed) return parsed.error();
    const nlohmann::json asked = document_in(*parsed);
    if (!asked.contains("cluster")) return request_for(document, live);
    const auto request = read_job(asked, std::filesystem::path{});
    if (!request || asked == *parsed) return request;
    const auto made = llmres::plan(*request);
    if (!made) return made.error();
    const nlohmann::json again =
        nlohmann::json::parse(to_json(made->plan, request->job, request->cluster, layout_choice::given).dump());
    for (const char* part : {"buffers", "memory"})
        if (parsed->value(part, nlohmann::json{}) != again[part])
            return refused(error_code::inconsistent, part, "", "what this version plans of the document in it");
    return request;
}

result<plan_request> request_for(const std::string& document, const device& live) {
    const auto sheet = sheet_for(live);
    if (!sheet) return sheet.error();
    const auto parsed = object_of(document);
    if (!parsed) return parsed.error();
    nlohmann::json asked = document_in(*parsed);
    asked["cluster"] = {{"gpu", std::string{sheet->id.view()}}, {"gpus", 1}};
    auto request = read_job(asked, std::filesystem::path{});  // models by their path from the working directory
    if (request) request->cluster.gpu = to_gpu(live, *sheet);
    return request;
}

}  // namespace llmres::probe
