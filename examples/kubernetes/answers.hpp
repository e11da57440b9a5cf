// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

/// Kubernetes asks, llmres answers: pods whose annotation `llmres/job` holds a job document, on nodes whose label
/// `llmres/gpu` names their GPU. The GPUs are those of the pod's limits, `nvidia.com/gpu` unless another resource is
/// named.
namespace kubernetes {

/// A scheduler extender's filter: ExtenderArgs to ExtenderFilterResult. A pod without the annotation passes everywhere.
nlohmann::json filter(const nlohmann::json& arguments);

/// A scheduler extender's prioritize: ExtenderArgs to HostPriorityList. The fuller a node's GPUs become, the more
/// points (0 to 10), so that large GPUs stay free for large jobs.
nlohmann::json prioritize(const nlohmann::json& arguments);

/// A validating webhook: AdmissionReview to AdmissionReview. Refuses a job document that cannot be read, naming the
/// field; and a job that does not fit the GPU that the pod's own node selector names.
nlohmann::json validate(const nlohmann::json& review);

}  // namespace kubernetes
