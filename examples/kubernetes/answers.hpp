// SPDX-License-Identifier: MIT
#pragma once

#include "arguments.hpp"
#include "nodes_file.hpp"
#include "pod.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

/// Kubernetes asks, llmres answers: pods whose annotation `llmres/job` holds a job document, on nodes whose label
/// `llmres/gpu` names their GPU.
namespace kubernetes {

/// What can be asked.
enum class verb {
    /// A scheduler extender's filter: ExtenderArgs to ExtenderFilterResult. A pod without the annotation passes
    /// everywhere.
    filter,
    /// A scheduler extender's prioritize: ExtenderArgs to HostPriorityList. The fuller a node's GPUs become, the more
    /// points (0
    /// to 10), so that large GPUs stay free for large jobs.
    prioritize,
    /// A validating webhook: AdmissionReview to AdmissionReview. Refuses a pod whose job cannot be read, naming the
    /// field; and
    /// a job that does not fit the GPU that the pod's own node selector names.
    validate,
};

/// Planning of one question ends after this time: nodes whose kind of GPU was not planned until then are refused with
/// that reason.
inline constexpr std::chrono::seconds planning_time{2};

/// One question, answered in steps of one kind of GPU each, so that a long question lets others pass.
class question {
public:
    /// `text`: the body of the request. `known`: the GPUs of nodes, for questions that name them alone; may be null.
    question(verb asked, std::string text, nodes_file* known);

    /// Does a part of the work. Returns whether the question is answered.
    bool step();

    /// Whether planning has taken so long that shorter questions should go first.
    bool takes_long() const { return spent_ > std::chrono::milliseconds{100}; }

    int status = 200;      ///< of HTTP
    std::string answer{};  ///< JSON

private:
    /// How a job does on one kind of GPU.
    struct on_gpu {
        bool admitted = false;
        double filled = 0;  ///< share of the busiest GPU that the job takes
        std::string why{};
    };
    /// Nodes with the same GPU, which get the same answer.
    struct kind {
        std::string gpu{};
        on_gpu found{};
    };

    void read();
    void read_review();
    on_gpu planned(const std::string& gpu) const;
    const on_gpu& found_for(std::size_t node) const { return kinds_[kind_of_[node]].found; }
    void write();
    void write_filtered();
    void write_scores();
    void write_review();
    void refuse(const std::string& why);

    verb asked_;
    std::string text_;
    nodes_file* known_;
    bool is_read_ = false;
    arguments arguments_{};
    pod_job job_{};
    std::string pod_refusal_{};  ///< what is wrong with the pod, on every node
    std::string uid_{};          ///< of an AdmissionReview
    std::string selected_{};     ///< the GPU that its pod's node selector names
    std::vector<kind> kinds_{};
    std::vector<std::size_t> kind_of_{};  ///< of each node
    std::size_t next_ = 0;                ///< the kind that is planned next
    std::chrono::steady_clock::duration spent_{};
};

}  // namespace kubernetes
