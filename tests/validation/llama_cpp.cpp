// SPDX-License-Identifier: MIT
// Buffers that real builds of llama.cpp allot, on tiny models of twelve families: `make validate-llama-cpp` starts them
// and writes what they print beside job documents (tests/validation/llama_cpp/README.md).
#include <doctest/doctest.h>

#include <cmath>
#include <llmres/values/interval.hpp>

#include "llama_cpp_runs.hpp"

using namespace llmres;

TEST_CASE("four builds of llama.cpp were started on eight families and more, in four settings") {
    CHECK(llama_cpp_runs::runs().size() >= 8 * 4 * 4);
}

TEST_CASE("weights, caches and recurrent states are what llama.cpp prints") {
    for (const llama_cpp_runs::run& r : llama_cpp_runs::runs()) {
        INFO(r.id);
        CHECK(std::fabs(r.mib_planned(memory_term::weights) - r.mib_printed("weights")) < llama_cpp_runs::half_a_digit);
        CHECK(std::fabs(r.mib_planned(memory_term::kv_cache) - r.mib_printed("kv_cache")) <
              llama_cpp_runs::half_a_digit);
        CHECK(std::fabs(r.mib_planned(memory_term::recurrent_state) - r.mib_printed("state")) <
              llama_cpp_runs::half_a_digit);
    }
}

TEST_CASE("compute buffers lie inside their bounds, 99 of 100 within 2 % of what is expected") {
    double near = 0;
    for (const llama_cpp_runs::run& r : llama_cpp_runs::runs()) {
        const double printed = r.mib_printed("compute");
        const interval<byte_count> peak = r.peak();
        INFO(r.id << ": " << printed << " MiB");
        CHECK(static_cast<double>(peak.low.in(bytes)) / llama_cpp_runs::one_mib <=
              printed + llama_cpp_runs::half_a_digit);
        CHECK(static_cast<double>(peak.high.in(bytes)) / llama_cpp_runs::one_mib >=
              printed - llama_cpp_runs::half_a_digit);
        near += std::fabs(static_cast<double>(peak.expected.in(bytes)) / llama_cpp_runs::one_mib / printed - 1) <= 0.02
                    ? 1
                    : 0;
    }
    CHECK(near >= 0.99 * static_cast<double>(llama_cpp_runs::runs().size()));
}
