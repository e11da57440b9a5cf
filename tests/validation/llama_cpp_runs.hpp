// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <llmres/io/job_json.hpp>
#include <llmres/memory/memory.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What real builds of llama.cpp printed on tiny models (tests/validation/llama_cpp/README.md), beside what is planned.
namespace llama_cpp_runs {

using namespace llmres;

inline constexpr double one_mib = 1048576.0;
inline constexpr double half_a_digit = 0.006;  // logs print two places

struct run {
    std::string id;
    nlohmann::json printed;
    plan_request asked;
    memory_breakdown planned;

    double mib_printed(const char* name) const { return printed.at(name).get<double>(); }
    double mib_planned(memory_term term) const {
        return static_cast<double>(planned[term].expected.in(bytes)) / one_mib;
    }
    interval<byte_count> peak() const { return planned[memory_term::activations] + planned[memory_term::logits]; }
};

inline const std::vector<run>& runs() {
    static const std::vector<run> all = [] {
        std::vector<run> found;
        std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/llama_cpp.jsonl"};
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json row = nlohmann::json::parse(line);
            const plan_request asked = read_job(row.at("document")).value();
            found.push_back(
                {row.at("id"), row.at("printed_mib"), asked, memory_of(asked.job, *asked.layout, asked.cluster)});
        }
        return found;
    }();
    return all;
}

}  // namespace llama_cpp_runs
