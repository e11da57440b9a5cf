// SPDX-License-Identifier: MIT
#include "pod.hpp"

#include <llmres/io/json/document.hpp>
#include <llmres/io/sentences.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace kubernetes {

namespace {

using nlohmann::json;

/// Resources whose devices are GPUs as `llmres gpus` counts them.
constexpr std::array<std::string_view, 7> gpu_resources{
    "nvidia.com/gpu",  "amd.com/gpu",    "gpu.intel.com/i915",    "gpu.intel.com/xe",
    "habana.ai/gaudi", "google.com/tpu", "aws.amazon.com/neuron",
};
/// NVIDIA's device plugin names slices so where its MIG strategy is "mixed".
constexpr std::string_view mig_resource = "nvidia.com/mig-";
/// What else begins so is a part of a GPU that others share: gpu.shared, gpumem, cpx_nps4, neuroncore.
constexpr std::array<std::string_view, 8> parts_of_gpus{
    "nvidia.com/gpu",        mig_resource,      "amd.com/", "gpu.intel.com/", "habana.ai/", "google.com/tpu",
    "aws.amazon.com/neuron", "nvidia.com/vgpu",
};

bool begins_with(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

[[noreturn]] void refuse(const std::string& what, const std::string& said, const std::string& expected) {
    throw std::invalid_argument{what + " is " + said.substr(0, 64) + "; expected " + expected};
}

/// A quantity's suffix: a power of ten and one of 1,024.
struct scale {
    int tens = 0;
    int kibis = 0;
    bool known = true;
};
scale scale_of(std::string_view suffix) {
    constexpr std::array<std::pair<std::string_view, scale>, 16> known{{
        {"", {}},
        {"n", {-9, 0}},
        {"u", {-6, 0}},
        {"m", {-3, 0}},
        {"k", {3, 0}},
        {"M", {6, 0}},
        {"G", {9, 0}},
        {"T", {12, 0}},
        {"P", {15, 0}},
        {"E", {18, 0}},
        {"Ki", {0, 1}},
        {"Mi", {0, 2}},
        {"Gi", {0, 3}},
        {"Ti", {0, 4}},
        {"Pi", {0, 5}},
        {"Ei", {0, 6}},
    }};
    for (const auto& [name, by] : known)
        if (name == suffix) return by;
    if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return {.known = false};
    suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
    int tens = 0;
    const auto [end, code] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), tens);
    return {.tens = tens,
            .known = code == std::errc{} && end == suffix.data() + suffix.size() && tens > -100 && tens < 100};
}

/// The value, or -1 where it is no whole number or too large a one.
std::int64_t whole(std::string_view digits, int tens, int kibis) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t value = 0;
    for (const char c : digits) {
        if (value > (most - 9) / 10) return -1;
        value = value * 10 + (c - '0');
    }
    if (value == 0) return 0;
    for (; tens < 0 && value % 10 == 0; ++tens) value /= 10;
    for (; kibis > 0; --kibis) {
        if (value > most / 1024) return -1;
        value *= 1024;
        for (; tens < 0 && value % 10 == 0; ++tens) value /= 10;
    }
    for (; tens > 0; --tens) {
        if (value > most / 10) return -1;
        value *= 10;
    }
    return tens < 0 ? -1 : value;
}

/// What the pod says in annotations that are this program's.
std::string annotation(const json& pod, const char* name) { return text_at(pod, {"metadata", "annotations", name}); }

/// Refuses annotations that are almost ours: a job that nobody reads would pass.
void only_known_annotations(const json& pod) {
    if (!pod.is_object() || !pod.contains("metadata")) return;
    const json& metadata = pod["metadata"];
    if (!metadata.is_object() || !metadata.contains("annotations") || !metadata["annotations"].is_object()) return;
    for (const auto& [name, value] : metadata["annotations"].items()) {
        std::string lower = name.substr(0, 7);
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        if (lower == "llmres/" && name != job_annotation && name != container_annotation)
            refuse("the annotation", name, std::string{job_annotation} + " or " + container_annotation);
    }
}

/// The devices of one container.
struct container_devices {
    std::string name{};
    std::string resource{};
    std::int64_t count = 0;
};

container_devices devices_of(const json& container) {
    container_devices found{.name = text_at(container, {"name"})};
    if (!container.contains("resources") || !container["resources"].is_object()) return found;
    const json& resources = container["resources"];
    const char* const side = resources.contains("limits") ? "limits" : "requests";
    if (!resources.contains(side) || !resources[side].is_object()) return found;
    for (const auto& [resource, amount] : resources[side].items()) {
        const auto is = [&](std::string_view prefix) { return begins_with(resource, prefix); };
        if (std::none_of(parts_of_gpus.begin(), parts_of_gpus.end(), is)) continue;
        const std::int64_t count = devices(amount.is_string() ? amount.get<std::string>() : amount.dump(), resource);
        if (count == 0) continue;
        const bool shared = resource.size() > 7 && resource.substr(resource.size() - 7) == ".shared";
        if (shared || (std::find(gpu_resources.begin(), gpu_resources.end(), resource) == gpu_resources.end() &&
                       !is(mig_resource)))
            refuse("container " + found.name + "'s resource", resource,
                   "whole GPUs or MIG slices, which no other pod shares");
        if (!found.resource.empty())
            refuse("container " + found.name + "'s resource", resource + " beside " + found.resource,
                   "one kind of GPU");
        found.resource = resource;
        found.count = count;
    }
    return found;
}

/// The containers of a pod that hold devices while it runs: its own, and init containers that are restarted (sidecars).
/// Other init containers end before the job starts, and give theirs back.
std::vector<container_devices> that_hold_devices(const json& pod) {
    std::vector<container_devices> found;
    if (!pod.contains("spec") || !pod["spec"].is_object()) return found;
    for (const char* const list : {"containers", "initContainers"}) {
        if (!pod["spec"].contains(list) || pod["spec"][list].is_null()) continue;
        const json& containers = pod["spec"][list];
        if (!containers.is_array()) throw std::invalid_argument{std::string{"spec."} + list + " is no list"};
        for (const json& container : containers) {
            if (!container.is_object())
                throw std::invalid_argument{std::string{"spec."} + list + " holds what is no container"};
            const bool is_init = std::string_view{list} == "initContainers";
            if (is_init && text_at(container, {"restartPolicy"}) != "Always") continue;
            if (container_devices one = devices_of(container); one.count > 0) found.push_back(std::move(one));
        }
    }
    return found;
}

/// The devices of the container that runs the job.
container_devices devices_of_job(const json& pod) {
    const std::vector<container_devices> holding = that_hold_devices(pod);
    const std::string named = annotation(pod, container_annotation);
    if (!named.empty()) {
        for (const container_devices& one : holding)
            if (one.name == named) return one;
        refuse(std::string{"the annotation "} + container_annotation, named,
               "the name of a container whose limits have GPUs");
    }
    if (holding.empty())
        throw std::invalid_argument{
            "no container's limits have GPUs; expected nvidia.com/gpu, nvidia.com/mig-..., amd.com/gpu or "
            "another vendor's (GPUs of resourceClaims are not known)"};
    if (holding.size() > 1)
        throw std::invalid_argument{"containers " + holding[0].name + " and " + holding[1].name +
                                    " both have GPUs, which no process can use together; expected the annotation " +
                                    container_annotation + " with the name of that which runs the job"};
    return holding.front();
}

/// What a document may say of a cluster: the rest is the node's.
void only_the_jobs_own(const json& document) {
    if (document.contains("prefill"))
        throw std::invalid_argument{"prefill: a pod has the GPUs of one node; expected a pod for each pool"};
    if (document.contains("rollout"))
        throw std::invalid_argument{"rollout: phases are not planned for pods; expected the job of one phase"};
    if (!document.contains("cluster")) return;
    if (!document["cluster"].is_object()) throw std::invalid_argument{"cluster is no object"};
    for (const auto& [name, value] : document["cluster"].items())
        if (name != "host" && name != "in_use")
            throw std::invalid_argument{"cluster." + name +
                                        ": the node says which GPU it has, and the pod's limits how many; "
                                        "expected host or in_use, or no cluster"};
}

}  // namespace

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

std::int64_t devices(const std::string& quantity, const std::string& resource) {
    std::string_view rest = quantity;
    if (!rest.empty() && rest.front() == '+') rest.remove_prefix(1);
    const auto take_digits = [&rest] {
        std::size_t count = 0;
        while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9') ++count;
        const std::string_view taken = rest.substr(0, count);
        rest.remove_prefix(count);
        return std::string{taken};
    };
    std::string digits = take_digits();
    std::string fraction;
    if (!rest.empty() && rest.front() == '.') {
        rest.remove_prefix(1);
        fraction = take_digits();
    }
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    const scale by = scale_of(rest);
    digits += fraction;
    const std::int64_t value =
        digits.empty() || digits.size() > 64 || !by.known
            ? (fraction.empty() && digits.empty() && quantity.find('0') != std::string::npos && by.known ? 0 : -1)
            : whole(digits, by.tens - static_cast<int>(fraction.size()), by.kibis);
    if (value < 0 || value > 1'000'000) refuse(resource, quantity, "a number of devices");
    return value;
}

pod_job read_pod(const json& pod) {
    only_known_annotations(pod);
    pod_job job;
    const bool given = pod.is_object() && pod.contains("metadata") && pod["metadata"].is_object() &&
                       pod["metadata"].contains("annotations") && pod["metadata"]["annotations"].is_object() &&
                       pod["metadata"]["annotations"].contains(job_annotation);
    if (!given) return job;
    auto document = llmres::parse_json_object(annotation(pod, job_annotation));
    if (!document) throw std::invalid_argument{std::string{job_annotation} + ": " + llmres::to_text(document.error())};
    only_the_jobs_own(document->root);
    const container_devices held = devices_of_job(pod);
    job.asked = true;
    job.document = std::move(document->root);
    job.gpus = held.count;
    if (begins_with(held.resource, mig_resource)) {
        job.slice = held.resource.substr(mig_resource.size());
        // The device plugin writes "1g.10gb+me" with a dot: a resource's name has no plus.
        if (const std::size_t at = job.slice.find("gb."); at != std::string::npos) job.slice[at + 2] = '+';
    }
    return job;
}

}  // namespace kubernetes
