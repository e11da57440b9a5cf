// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/scores.hpp"

/// Jobs that `cuda_probe/on_gpu.py` ran in PyTorch with transformers, one after the other on a GPU of their own
/// (data/h100 and data/h200), each as the job document that it was planned from, beside what it took.
namespace torch_jobs {

using namespace llmres;

/// One job and its plan.
struct run {
    std::string id;
    std::string group;  ///< the GPU, the task and the model's size: "h100-sxm5-80gb, training, 1B"
    plan_request asked;
    job_plan planned;
    nlohmann::json measured;  ///< bytes and seconds by name

    /// Zero where it was not measured.
    double took(const char* name) const { return measured.value(name, 0.0); }
    double gib_of(const char* name) const { return bytes(measured.value(name, std::int64_t{0})).in(gib); }
};

/// What the model of so wide layers is called here.
inline std::string_view size_of_model(std::int64_t hidden) {
    return hidden <= 256 ? "narrow" : hidden <= 2048 ? "1B" : "8B";
}

/// The GPU that they ran on, as the probe measured it.
inline cluster measured_cluster(std::string_view folder) {
    const std::string file = LLMRES_SOURCE_DIR "/tests/validation/data/" + std::string{folder} + "/device.json";
    return cluster_of(read_device_file(file).value().devices.at(0)).value();
}

/// All of them, in the order of the files. Throws where a document is refused or has no plan.
inline const std::vector<run>& all() {
    static const auto read = [] {
        std::vector<run> runs;
        for (const char* folder : {"h100", "h200"}) {
            std::ifstream lines{std::string{LLMRES_SOURCE_DIR "/tests/validation/data/"} + folder +
                                "/torch_jobs.jsonl"};
            for (std::string line; std::getline(lines, line);) {
                const nlohmann::json row = nlohmann::json::parse(line);
                const plan_request asked = read_job(row["document"]).value();
                const bool trains = asked.job.task != task::serving;
                const std::string group = std::string{asked.cluster.gpu.id} +
                                          (trains ? ", training, " : ", serving, ") +
                                          std::string{size_of_model(asked.job.model.hidden)};
                runs.push_back(
                    {row["id"], group, asked, plan(asked.job, layout{}, asked.cluster).value(), row["measured"]});
            }
        }
        return runs;
    }();
    return read;
}

/// The errors of a group's jobs, by figure, in the order of their names.
using scores = std::map<std::string, training_runs::errors, std::less<>>;

/// Adds every figure of a run that was measured.
inline void add(scores& s, const run& r) {
    s["allocated"].add(r.planned.memory.allocated, r.gib_of("allocated_bytes"));
    s["reserved"].add(r.planned.memory.reserved, r.gib_of("reserved_bytes"));
    s["whole device"].add(r.planned.memory.total(), r.gib_of("device_bytes"));
    s["step"].add(r.planned.speed.step.total(), r.took("step_s") + r.took("time_per_output_token_s"));
    s["first token"].add(r.planned.speed.prefill.total(), r.took("time_to_first_token_s"));
}

/// The errors of all groups, in the order of their names.
inline std::map<std::string, scores> by_group() {
    std::map<std::string, scores> groups;
    for (const run& r : all()) add(groups[r.group], r);
    return groups;
}

}  // namespace torch_jobs
