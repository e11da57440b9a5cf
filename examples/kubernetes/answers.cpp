// SPDX-License-Identifier: MIT
#include "answers.hpp"

#include <llmres/answers/remedies.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/plan.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kubernetes {

namespace {

using nlohmann::json;
constexpr const char* job_annotation = "llmres/job";
constexpr const char* gpu_label = "llmres/gpu";
constexpr const char* gpu_resource = "nvidia.com/gpu";

/// The text at a path of objects; empty if there is none. What is no text is refused.
std::string text_at(const json& object, std::initializer_list<const char*> path) {
    const json* place = &object;
    for (const char* key : path) {
        if (!place->is_object() || !place->contains(key)) return {};
        place = &(*place)[key];
    }
    if (place->is_null()) return {};
    if (!place->is_string()) throw std::invalid_argument{std::string{*(path.end() - 1)} + " is no text"};
    return place->get<std::string>();
}

/// A member by its name in Go, which JSON may have in lower case. Null if there is none.
const json& member(const json& object, const char* name, const char* lower) {
    static const json none;
    if (!object.is_object()) throw std::invalid_argument{"an object is expected"};
    if (object.contains(name)) return object[name];
    return object.contains(lower) ? object[lower] : none;
}

std::int64_t whole_number(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size() || number < 0 || number > 1'000'000)
        throw std::invalid_argument{std::string{gpu_resource} + " is " + text + "; expected a number of GPUs"};
    return number;
}

/// GPUs in the limits of a pod's containers, which are those of one node.
std::int64_t gpus_of(const json& pod) {
    std::int64_t sum = 0;
    if (!pod.contains("spec") || !pod["spec"].is_object()) return 0;
    const json containers = pod["spec"].value("containers", json::array());
    for (const json& container : containers)
        if (const std::string said = text_at(container, {"resources", "limits", gpu_resource}); !said.empty())
            sum += whole_number(said);
    return sum;
}

/// The job document of a pod, for a GPU by its name; or why there is none.
struct answer {
    bool admitted = false;
    double filled = 0;  ///< share of the busiest GPU that the job takes
    std::string why{};
};

answer answered(const json& pod, const std::string& gpu) {
    const auto document = llmres::parse_json_object(text_at(pod, {"metadata", "annotations", job_annotation}));
    if (!document) return {.why = std::string{job_annotation} + ": " + llmres::to_text(document.error())};
    json asked = document->root;
    if (!asked.contains("cluster")) asked["cluster"] = json::object();
    if (asked["cluster"].is_object()) {
        asked["cluster"]["gpu"] = gpu;
        if (const std::int64_t gpus = gpus_of(pod); gpus > 0) asked["cluster"]["gpus"] = gpus;
    }
    const auto request = llmres::read_job(asked);
    if (!request) return {.why = llmres::to_text(request.error())};
    const auto planned = request->layout ? llmres::plan(request->job, *request->layout, request->cluster)
                                         : llmres::plan(request->job, request->cluster);
    if (!planned) return {.why = llmres::to_text(planned.error())};

    answer made{.admitted = planned->verdict != llmres::verdict::does_not_fit};
    const double usable = static_cast<double>(planned->usable.in(llmres::bytes));
    if (usable > 0) made.filled = static_cast<double>(planned->memory.total().high.in(llmres::bytes)) / usable;
    made.why = std::string{llmres::name_of(planned->verdict)};
    for (std::int32_t i = 0; i < planned->reason_count; ++i)
        made.why += (i == 0 ? ": " : "; ") + llmres::to_text(planned->reasons[static_cast<std::size_t>(i)], *planned,
                                                             request->job, request->cluster);
    return made;
}

bool plans(const json& pod) { return !text_at(pod, {"metadata", "annotations", job_annotation}).empty(); }

answer on_node(const json& pod, const json& node) {
    const std::string gpu = text_at(node, {"metadata", "labels", gpu_label});
    if (gpu.empty()) return {.why = std::string{"the node has no label "} + gpu_label};
    return answered(pod, gpu);
}

const json& items(const json& arguments) {
    const json& nodes = member(arguments, "Nodes", "nodes");
    if (!nodes.is_object() || !nodes.contains("items") || !nodes["items"].is_array())
        throw std::invalid_argument{"Nodes.items is absent; expected whole nodes (nodeCacheCapable: false)"};
    return nodes["items"];
}

}  // namespace

json filter(const json& arguments) {
    const json& pod = member(arguments, "Pod", "pod");
    json kept = json::array();
    json failed = json::object();
    for (const json& node : items(arguments)) {
        const answer made = plans(pod) ? on_node(pod, node) : answer{.admitted = true};
        if (made.admitted)
            kept.push_back(node);
        else
            failed[text_at(node, {"metadata", "name"})] = made.why;
    }
    return {{"Nodes", {{"items", kept}}}, {"FailedNodes", failed}, {"Error", ""}};
}

json prioritize(const json& arguments) {
    const json& pod = member(arguments, "Pod", "pod");
    json scores = json::array();
    for (const json& node : items(arguments)) {
        const answer made = plans(pod) ? on_node(pod, node) : answer{};
        const double score = made.admitted ? std::clamp(10 * made.filled, 0.0, 10.0) : 0;
        scores.push_back({{"Host", text_at(node, {"metadata", "name"})}, {"Score", std::lround(score)}});
    }
    return scores;
}

json validate(const json& review) {
    const json& request = member(review, "request", "request");
    const std::string uid = text_at(request, {"uid"});
    if (uid.empty()) throw std::invalid_argument{"request.uid is absent"};
    const json& pod = member(request, "object", "object");
    answer made{.admitted = true};
    if (plans(pod)) {
        const std::string selected = text_at(pod, {"spec", "nodeSelector", gpu_label});
        made = answered(pod, selected.empty() ? "h100-sxm5-80gb" : selected);
        // Without a selector any GPU does: only a document that no GPU could make sense of is refused.
        if (selected.empty() && made.filled > 0) made.admitted = true;
    }
    json response{{"uid", uid}, {"allowed", made.admitted}};
    if (!made.admitted) response["status"] = {{"code", 403}, {"message", made.why}};
    return {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", response}};
}

}  // namespace kubernetes
