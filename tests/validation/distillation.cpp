// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "pytorch_runs.hpp"

// Students and teachers in TRL's own GKDTrainer under fake tensors (pytorch/README.md): every row of
// data/distillation_runs.csv against the document that data/distillation_jobs.jsonl has of it.

namespace {

using namespace pytorch_runs;

/// Calls check(row, request) for each row.
template <class Check>
void for_each_student(Check&& check) {
    static const std::vector<csv::row> all = csv::read(folder + "/distillation_runs.csv");
    static const std::map<std::string, nlohmann::json> asked = documents_of("distillation_jobs.jsonl");
    REQUIRE(all.size() == asked.size());
    for (const csv::row& cells : all) {
        const row r{cells};
        INFO(r.text("run_id"));
        check(r, request_of(asked.at(r.text("run_id"))));
    }
}

/// The most of several columns of a row.
std::int64_t most_of(const row& r, std::initializer_list<const char*> columns) {
    std::int64_t most = 0;
    for (const char* column : columns) most = std::max(most, r.number(column));
    return most;
}

}  // namespace

TEST_CASE("weights of a student and of its teacher are those of PyTorch, to the byte") {
    int checked = 0;
    for_each_student([&](const row& r, const plan_request& asked) {
        const outcome o = outcome_of(r, asked);
        ++checked;
        CHECK(o.weights == 0);
        CHECK(o.gradients == 0);
        CHECK(std::fabs(o.states) < 1.2e-3);  // steps are counted in one fp32 beside each tensor
        CHECK(asked.job.teacher.held.in(bytes) == r.number("teacher_bytes"));
        CHECK(training_memory(asked.job, *asked.layout)[memory_term::reference].expected.in(bytes) ==
              r.number("teacher_bytes"));
    });
    CHECK(checked == 58);
}

TEST_CASE("each pass of a step of distillation is within 0.5 %, and so is its fullest moment") {
    for_each_student([&](const row& r, const plan_request& asked) {
        const training_passes passes = training_passes_of(asked.job, *asked.layout, sdpa_backend_of(asked.cluster.gpu));
        const auto error = [&](byte_count predicted, std::initializer_list<const char*> columns) {
            return std::fabs(error_of(predicted, most_of(r, columns) - r.number("input_bytes")));
        };
        CHECK(error(passes.forward, {"forward_peak_2_bytes"}) <= 0.001);
        CHECK(error(passes.reference, {"teacher_peak_2_bytes", "teacher_head_peak_2_bytes"}) <= 0.005);
        CHECK(error(passes.loss, {"head_peak_2_bytes", "teacher_peak_2_bytes", "teacher_head_peak_2_bytes",
                                  "loss_peak_2_bytes"}) <= 0.005);
        CHECK(error(passes.backward, {"backward_peak_2_bytes"}) <= 0.002);
        CHECK(error(passes.step, {"step_peak_2_bytes"}) <= 0.001);
        const byte_count most = std::max({passes.forward, passes.loss, passes.backward, passes.step});
        CHECK(std::fabs(error_of(most, r.number("peak_bytes") - r.number("input_bytes"))) <= 0.005);
    });
}
