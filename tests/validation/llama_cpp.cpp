// SPDX-License-Identifier: MIT
// Buffers that real builds of llama.cpp allot, on tiny models of twelve families: `make validate-llama-cpp` starts them
// and writes what they print beside job documents (tests/validation/llama_cpp/README.md).
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <llmres/io/job_json.hpp>
#include <llmres/memory/memory.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

using namespace llmres;

namespace {

constexpr double one_mib = 1048576.0;
constexpr double half_a_digit = 0.006;  // logs print two places

struct run {
    std::string id;
    nlohmann::json printed;
    memory_breakdown planned;

    double mib_printed(const char* name) const { return printed.at(name).get<double>(); }
    double mib_planned(memory_term term) const {
        return static_cast<double>(planned[term].expected.in(bytes)) / one_mib;
    }
    interval<byte_count> peak() const { return planned[memory_term::activations] + planned[memory_term::logits]; }
};

const std::vector<run>& runs() {
    static const std::vector<run> all = [] {
        std::vector<run> found;
        std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/llama_cpp.jsonl"};
        for (std::string line; std::getline(lines, line);) {
            const nlohmann::json row = nlohmann::json::parse(line);
            const plan_request asked = read_job(row.at("document")).value();
            found.push_back({row.at("id"), row.at("printed_mib"), memory_of(asked.job, *asked.layout, asked.cluster)});
        }
        return found;
    }();
    return all;
}

}  // namespace

TEST_CASE("four builds of llama.cpp were started on eight families and more, in four settings") {
    CHECK(runs().size() >= 8 * 4 * 4);
}

TEST_CASE("weights, caches and recurrent states are what llama.cpp prints") {
    for (const run& r : runs()) {
        INFO(r.id);
        CHECK(std::fabs(r.mib_planned(memory_term::weights) - r.mib_printed("weights")) < half_a_digit);
        CHECK(std::fabs(r.mib_planned(memory_term::kv_cache) - r.mib_printed("kv_cache")) < half_a_digit);
        CHECK(std::fabs(r.mib_planned(memory_term::recurrent_state) - r.mib_printed("state")) < half_a_digit);
    }
}

TEST_CASE("compute buffers lie inside their bounds, 99 of 100 within 2 % of what is expected") {
    double near = 0;
    for (const run& r : runs()) {
        const double printed = r.mib_printed("compute");
        const interval<byte_count> peak = r.peak();
        INFO(r.id << ": " << printed << " MiB");
        CHECK(static_cast<double>(peak.low.in(bytes)) / one_mib <= printed + half_a_digit);
        CHECK(static_cast<double>(peak.high.in(bytes)) / one_mib >= printed - half_a_digit);
        near += std::fabs(static_cast<double>(peak.expected.in(bytes)) / one_mib / printed - 1) <= 0.02 ? 1 : 0;
    }
    CHECK(near >= 0.99 * static_cast<double>(runs().size()));
}
