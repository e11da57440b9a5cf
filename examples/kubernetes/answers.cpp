// SPDX-License-Identifier: MIT
#include "answers.hpp"

#include <llmres/answers/remedies.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace kubernetes {

namespace {

using nlohmann::json;
using std::chrono::steady_clock;

/// A value of a label has at most 63 characters (k8s.io/apimachinery/pkg/util/validation: LabelValueMaxLength).
constexpr std::size_t longest_label = 63;
/// Where a pod names no GPU, its document is read as for this one.
constexpr const char* any_gpu = "h100-sxm5-80gb";

std::string written(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json parsed(std::string_view text, const char* what) {
    auto document = llmres::parse_json_object(text, llmres::no_numbers::refused);
    if (!document) throw std::invalid_argument{std::string{what} + ": " + llmres::to_text(document.error())};
    return std::move(document->root);
}

}  // namespace

std::shared_ptr<const nodes_file::names> nodes_file::now() {
    const std::lock_guard<std::mutex> alone{reading_};
    std::error_code failed;
    const auto changed = std::filesystem::last_write_time(path_, failed);
    if (failed || changed == changed_) return last_;
    std::ifstream file{path_};
    names found;
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words{line};
        std::string name;
        std::string gpu;
        if (words >> name >> gpu) found.emplace(std::move(name), std::move(gpu));
    }
    changed_ = changed;
    return last_ = std::make_shared<const names>(std::move(found));
}

question::question(verb asked, std::string text, nodes_file* known)
    : asked_{asked}, text_{std::move(text)}, known_{known} {}

bool question::step() {
    try {
        if (!is_read_) {
            asked_ == verb::validate ? read_review() : read();
            is_read_ = true;
            return false;
        }
        if (next_ < kinds_.size()) {
            kind& one = kinds_[next_++];
            if (one.gpu.empty()) return false;
            const auto begun = steady_clock::now();
            one.found = spent_ < planning_time ? planned(one.gpu)
                                               : on_gpu{.why = "not planned: a question's time to plan, 2 s, is over"};
            spent_ += steady_clock::now() - begun;
            return false;
        }
        write();
    } catch (const std::exception& e) {
        refuse(e.what());
    }
    return true;
}

void question::refuse(const std::string& why) {
    status = 400;
    answer = written({{"Error", why}});
}

void question::read() {
    arguments_ = read_arguments(text_, gpu_label);
    try {
        job_ = read_pod(parsed(arguments_.pod, "Pod"));
    } catch (const std::invalid_argument& e) {
        pod_refusal_ = e.what();
    }
    if (!job_.asked) return;
    if (arguments_.names_alone) {
        if (known_ == nullptr)
            throw std::invalid_argument{
                "NodeNames: the service knows no nodes; expected Nodes.items (nodeCacheCapable: false), or "
                "the service started with a file of nodes"};
        const auto names = known_->now();
        for (node& one : arguments_.nodes)
            if (const auto found = names->find(one.name); found != names->end()) one.gpu = found->second;
    }
    std::unordered_map<std::string, std::size_t> places;
    for (const node& one : arguments_.nodes) {
        // Nodes of no kind have a place for what is wrong with them.
        const std::string without = !one.refusal.empty() ? one.refusal
                                    : one.gpu.empty()    ? std::string{"the node has no label "} + gpu_label
                                    : one.gpu.size() > longest_label
                                        ? std::string{"the node's label "} + gpu_label + " has more than 63 characters"
                                        : std::string{};
        const std::string gpu = without.empty() ? one.gpu : std::string{};
        const auto [place, is_new] = places.emplace(gpu + '\n' + without, kinds_.size());
        if (is_new) kinds_.push_back({.gpu = gpu, .found = {.why = without}});
        kind_of_.push_back(place->second);
    }
}

void question::read_review() {
    const json review = parsed(text_, "AdmissionReview");
    if (!review.contains("request") || !review["request"].is_object()) throw std::invalid_argument{"request is absent"};
    const json& request = review["request"];
    uid_ = text_at(request, {"uid"});
    if (uid_.empty()) throw std::invalid_argument{"request.uid is absent"};
    if (!request.contains("object") || !request["object"].is_object()) return;  // a pod that is deleted
    try {
        job_ = read_pod(request["object"]);
        selected_ = text_at(request["object"], {"spec", "nodeSelector", gpu_label});
        if (selected_.empty()) job_.slice.clear();
        if (job_.asked) kinds_.push_back({.gpu = selected_.empty() ? any_gpu : selected_});
    } catch (const std::invalid_argument& e) {
        pod_refusal_ = e.what();
    }
}

question::on_gpu question::planned(const std::string& gpu) const {
    on_gpu made;
    json asked = job_.document;
    json& cluster = asked["cluster"];
    cluster["gpu"] = job_.slice.empty() ? gpu : gpu + "/" + job_.slice;
    cluster["gpus"] = job_.gpus;
    const auto request = llmres::read_job(asked);
    if (!request) return {.why = llmres::to_text(request.error())};
    const auto plan = request->layout ? llmres::plan(request->job, *request->layout, request->cluster)
                                      : llmres::plan(request->job, request->cluster);
    if (!plan) return {.why = llmres::to_text(plan.error())};

    made.admitted = plan->verdict != llmres::verdict::does_not_fit;
    const double usable = static_cast<double>(plan->usable.in(llmres::bytes));
    if (usable > 0) made.filled = static_cast<double>(plan->memory.total().high.in(llmres::bytes)) / usable;
    made.why = std::string{llmres::name_of(plan->verdict)};
    for (std::int32_t i = 0; i < plan->reason_count; ++i)
        made.why += (i == 0 ? ": " : "; ") +
                    llmres::to_text(plan->reasons[static_cast<std::size_t>(i)], *plan, request->job, request->cluster);
    return made;
}

void question::write() {
    if (asked_ == verb::filter)
        write_filtered();
    else if (asked_ == verb::prioritize)
        write_scores();
    else
        write_review();
    text_ = std::string{};
}

void question::write_filtered() {
    std::size_t length = 256;
    for (const node& one : arguments_.nodes) length += one.text.size() + 1;
    answer.reserve(length);
    answer = arguments_.names_alone ? R"({"NodeNames":[)" : R"({"Nodes":{"items":[)";
    json failed = json::object();
    bool first = true;
    for (std::size_t i = 0; i < arguments_.nodes.size(); ++i) {
        const node& one = arguments_.nodes[i];
        if (!pod_refusal_.empty() || (job_.asked && !found_for(i).admitted)) {
            failed[one.name] = pod_refusal_.empty() ? found_for(i).why : pod_refusal_;
            continue;
        }
        if (!first) answer += ',';
        first = false;
        if (arguments_.names_alone)
            answer += written(one.name);
        else
            answer += one.text;
    }
    answer += arguments_.names_alone ? "]" : "]}";
    answer += R"(,"FailedNodes":)" + written(failed) + R"(,"Error":""})";
}

void question::write_scores() {
    json scores = json::array();
    for (std::size_t i = 0; i < arguments_.nodes.size(); ++i) {
        const bool counts = pod_refusal_.empty() && job_.asked && found_for(i).admitted;
        const double score = counts ? std::clamp(10 * found_for(i).filled, 0.0, 10.0) : 0;
        scores.push_back({{"Host", arguments_.nodes[i].name}, {"Score", std::lround(score)}});
    }
    answer = written(scores);
}

void question::write_review() {
    json response{{"uid", uid_}, {"allowed", pod_refusal_.empty()}};
    std::string why = pod_refusal_;
    if (pod_refusal_.empty() && job_.asked) {
        const on_gpu& found = kinds_.front().found;
        // Without a selector any GPU does: only a document that no GPU could make sense of is refused.
        response["allowed"] = found.admitted || (selected_.empty() && found.filled > 0);
        why = found.why;
    }
    if (!response["allowed"].get<bool>()) response["status"] = {{"code", 403}, {"message", why}};
    answer = written({{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", response}});
}

}  // namespace kubernetes
