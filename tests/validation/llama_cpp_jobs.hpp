// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/scores.hpp"

/// Jobs that llama.cpp ran alone on an H100 (tests/validation/llama_cpp/run_on_gpu.py), each as the job document that
/// it was planned from, beside what it took.
namespace llama_cpp_jobs {

using namespace llmres;

/// One job and its plan.
struct run {
    std::string id;     ///< "llama-8b-q4_k_m, 16 x 512"
    std::string model;  ///< "llama-8b-q4_k_m"
    plan_request asked;
    job_plan planned;
    nlohmann::json measured;

    double printed_mib(const char* name) const { return measured.at("printed_mib").at(name).get<double>(); }
    double planned_mib(memory_term term) const {
        return static_cast<double>(planned.memory[term].expected.in(bytes)) / 1048576.0;
    }
    /// The device's memory but for what llama.cpp prints: the process with its libraries, and their pools.
    double process_gib() const {
        const double buffers = printed_mib("weights") + printed_mib("kv_cache") + printed_mib("compute");
        return bytes(measured.at("device_bytes").get<std::int64_t>()).in(gib)-buffers / 1024.0;
    }
    interval<byte_count> planned_process() const {
        return planned.memory[memory_term::runtime] + planned.memory[memory_term::workspace];
    }
    /// A prompt took as long, of those that were computed one after the other.
    double prompt_s() const { return measured.at("prompt_s").get<double>() / static_cast<double>(asked.job.batch); }
    double token_s() const { return measured.at("token_s").get<double>(); }
};

/// All of them. Throws where a document is refused or has no plan.
inline const std::vector<run>& all() {
    static const auto read = [] {
        std::vector<run> runs;
        std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/h100/llama_cpp_jobs.jsonl"};
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json row = nlohmann::json::parse(line);
            const plan_request asked = read_job(row.at("document")).value();
            const std::string id = row.at("id");
            runs.push_back({id, id.substr(0, id.find(',')), asked, plan(asked.job, layout{}, asked.cluster).value(),
                            row.at("measured")});
        }
        return runs;
    }();
    return read;
}

/// The errors of a model's jobs, by figure, in the order of their names.
using scores = std::map<std::string, training_runs::errors, std::less<>>;

inline void add(scores& s, const run& r) {
    s["process"].add(r.planned_process(), r.process_gib());
    s["prompt"].add(r.planned.speed.prefill.total(), r.prompt_s());
    s["token"].add(r.planned.speed.step.total(), r.token_s());
}

/// The errors of all models' jobs.
inline std::map<std::string, scores> by_model() {
    std::map<std::string, scores> models;
    for (const run& r : all()) add(models[r.model], r);
    return models;
}

}  // namespace llama_cpp_jobs
