// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "pytorch_runs.hpp"

// Real model classes under fake tensors (pytorch/README.md), allocation by allocation.

namespace {

using namespace pytorch_runs;

template <class Check>
void for_each_row(Check&& check) {
    for (const csv::row& cells : csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/pytorch_runs.csv")) {
        const row r{cells};
        if (described(r)) check(r, job_of(r));
    }
}

double off(byte_count predicted, std::int64_t measured) {
    return static_cast<double>(predicted.in(bytes)) / static_cast<double>(measured) - 1;
}

}  // namespace

TEST_CASE("weights, gradients and optimizer states are those of PyTorch, to the byte") {
    int rows = 0;
    for_each_row([&](const row& r, const job& j) {
        const weight_state state = training_state(j, {});
        INFO(r.text("run_id"));
        const std::int64_t weights = (state.weights + state.adapter).in(bytes);
        if (r.text("method") == "qlora")  // with scales; the reference counts bitsandbytes' tables of values once as well
            CHECK(std::fabs(off(bytes(weights), r.number("static_bytes") - r.number("buffer_bytes"))) < 1e-5);
        else
            CHECK(weights == r.number("param_bytes"));
        CHECK(state.gradients.in(bytes) == r.number("gradient_bytes"));
        // Steps are counted in one fp32 beside each tensor; 8-bit states have tables of their own.
        if (r.number("optimizer_bytes") == 0)
            CHECK(state.optimizer == byte_count{});
        else
            CHECK(std::fabs(off(state.optimizer, r.number("optimizer_bytes"))) < 1e-3);
        ++rows;
    });
    CHECK(rows >= 50);
}

TEST_CASE("saved activations within 0.3 % on average, 1.5 % at worst; the peak within 0.3 % and 2.5 %") {
    double saved = 0, peak = 0, worst_saved = 0;
    int rows = 0;
    for_each_row([&](const row& r, const job& j) {
        const double s = std::fabs(off(saved_activations(j, {}), r.number("saved_activation_bytes")));
        const double p = std::fabs(off(training_memory(j, {}).ideal, r.number("peak_bytes")));
        INFO(r.text("run_id"));
        CHECK(s <= 0.015);
        CHECK(p <= 0.025);
        saved += s, peak += p, ++rows, worst_saved = std::max(worst_saved, s);
    });
    CHECK(saved / rows <= 0.003);
    CHECK(peak / rows <= 0.003);
}
