// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

/// What a pod asks of a node's GPUs.
namespace kubernetes {

inline constexpr const char* job_annotation = "llmres/job";
inline constexpr const char* container_annotation = "llmres/container";
inline constexpr const char* gpu_label = "llmres/gpu";

/// A whole number of a Kubernetes quantity: "8", "8.0", "1k", "1e1", "1000m", "1Ki". Throws std::invalid_argument, with
/// the resource's name, for what is no number of devices: a fraction, less than none, more than a million.
/// (k8s.io/apimachinery/pkg/api/resource: quantity.go)
std::int64_t devices(const std::string& quantity, const std::string& resource);

/// The job of a pod, and the devices of the container that runs it.
struct pod_job {
    bool asked = false;         ///< whether the pod has a job: others pass everywhere
    nlohmann::json document{};  ///< the job document, without a cluster's GPU
    std::int64_t gpus = 0;      ///< devices of that container
    std::string slice{};        ///< the MIG profile that each of them is; empty: whole GPUs
};

/// Reads a pod. Throws std::invalid_argument with what is wrong.
pod_job read_pod(const nlohmann::json& pod);

/// The text at a path of objects; empty if there is none. What is no text is refused.
std::string text_at(const nlohmann::json& object, std::initializer_list<const char*> path);

}  // namespace kubernetes
