// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <fstream>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/memory/memory.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay.hpp"

/// Training steps of transformers' models on an H100 (data/h100/README.md), each as the job document that a user would
/// write, beside what PyTorch's caching allocator counted.
namespace h100_runs {

using namespace llmres;

struct run {
    std::string id;
    std::string family;
    plan_request asked;
    byte_count allocated{};  ///< the peak
    byte_count reserved{};
    std::int64_t threads = 2;  ///< that multiplied matrices, with a workspace of cuBLAS each
};

inline const std::string folder = LLMRES_SOURCE_DIR "/tests/validation/data";

/// All of them, in the order of the file. Throws where a document is refused.
inline const std::vector<run>& all() {
    static const auto read = [] {
        std::map<std::string, result<model_source>, std::less<>> models;
        const job_sources sources{.model = [&models](std::string_view name) -> result<model_source> {
            auto found = models.find(name);
            if (found == models.end()) found = models.emplace(name, find_model_source(name, folder)).first;
            return found->second;
        }};
        std::vector<run> runs;
        std::ifstream lines{folder + "/h100/pytorch_runs.jsonl"};
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json row = nlohmann::json::parse(line);
            const result<plan_request> asked = read_job(row["document"], sources);
            if (!asked) throw std::runtime_error(line + ": " + std::string{asked.error().field.view()});
            const nlohmann::json& measured = row["measured"];
            const auto size = [&](const char* name) { return bytes(measured[name].get<std::int64_t>()); };
            runs.push_back({row["id"], row["series"], *asked, size("allocated_peak"), size("reserved_peak"),
                            measured["threads"].get<std::int64_t>()});
        }
        return runs;
    }();
    return read;
}

/// What of a run's plan is held against what was measured.
struct planned {
    interval<byte_count> allocated;
    interval<byte_count> reserved;
    double replay_error = 0;  ///< of the ratio of reserved to allocated memory, as the plan's own tensors make it
};

/// How far what a plan's own tensors reserve, one after the other, over what they take is from what was measured.
inline double replay_error_of(const run& r) {
    training_runs::run asked;
    asked.what = r.asked.job, asked.over = *r.asked.layout, asked.on = r.asked.cluster;
    return training_runs::replay(asked, 0, byte_count{}).ratio() / ratio(r.reserved, r.allocated) - 1;
}

inline planned plan_of(const run& r) {
    const memory_breakdown m = memory_of(r.asked.job, *r.asked.layout, r.asked.cluster);
    // A run in which autograd had no thread of its own lacks its workspace.
    const byte_count workspace = product_workspace_on(r.asked.job.runtime.process, true) * (2 - r.threads);
    const auto without = [&](const interval<byte_count>& all) {
        return interval<byte_count>{all.low - workspace, all.expected - workspace, all.high - workspace};
    };
    return {without(m.allocated), without(m.reserved), replay_error_of(r)};
}

/// Errors of the runs that were added.
struct scores {
    training_runs::errors allocated{}, reserved{};
    int within_one_percent = 0;  ///< of what was allocated
    double replayed = 0;         ///< the sum of the replays' errors, whichever way they are off

    void add(const run& r) { add(r, plan_of(r)); }
    void add(const run& r, const planned& p) {
        allocated.add(p.allocated, r.allocated.in(gib)), reserved.add(p.reserved, r.reserved.in(gib));
        const double error = ratio(p.allocated.expected, r.allocated) - 1;
        within_one_percent += error <= 0.01 && error >= -0.01;
        replayed += std::fabs(p.replay_error);
    }
};

}  // namespace h100_runs
