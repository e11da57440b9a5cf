// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <llmres/io/plan_json.hpp>

#include "pytorch_runs.hpp"

// GRPO and RLOO by TRL's own trainers under fake tensors (pytorch/README.md): every row of data/reinforcement_runs.csv
// against the phases of the document that data/reinforcement_jobs.jsonl has of it.

namespace {

using namespace pytorch_runs;

/// Calls check(row, request) for each row.
template <class Check>
void for_each_policy(Check&& check) {
    static const std::vector<csv::row> all = csv::read(folder + "/reinforcement_runs.csv");
    static const std::map<std::string, nlohmann::json> asked = documents_of("reinforcement_jobs.jsonl");
    REQUIRE(all.size() == asked.size());
    for (const csv::row& cells : all) {
        const row r{cells};
        INFO(r.text("run_id"));
        check(r, request_of(asked.at(r.text("run_id"))));
    }
}

}  // namespace

TEST_CASE("weights, gradients and states of a policy are those of PyTorch, to the byte") {
    int checked = 0;
    for_each_policy([&](const row& r, const plan_request& asked) {
        const outcome o = outcome_of(r, asked);
        ++checked;
        CHECK(o.weights == 0);
        CHECK(o.gradients == 0);
        CHECK(std::fabs(o.states) < 1.2e-3);  // steps are counted in one fp32 beside each tensor
    });
    CHECK(checked == 157);
}

TEST_CASE("each pass of a policy's step is within 1 %, and the fullest moment within 0.1 %") {
    int others = 0;
    for_each_policy([&](const row& r, const plan_request& asked) {
        const training_passes passes = training_passes_of(asked.job, *asked.layout, sdpa_backend_of(asked.cluster.gpu));
        const std::int64_t fullest = std::max({r.number("forward_peak_2_bytes"), r.number("loss_peak_2_bytes"),
                                               r.number("backward_peak_2_bytes"), r.number("step_peak_2_bytes")});
        const byte_count most = std::max({passes.forward, passes.loss, passes.backward, passes.step});
        const pass_errors e = pass_errors_of(r, asked);
        CHECK(std::fabs(e.forward) <= 0.01);
        CHECK(std::fabs(e.loss) <= 0.01);
        CHECK(std::fabs(e.backward) <= 0.01);
        CHECK(std::fabs(e.step) <= 0.001);
        CHECK(std::fabs(error_of(most, fullest - r.number("input_bytes"))) <= 0.001);
        // Passes for log-probabilities save nothing, and so are never the fullest moment.
        for (const char* before :
             {"old_peak_2_bytes", "old_loss_peak_2_bytes", "reference_peak_2_bytes", "reference_loss_peak_2_bytes"}) {
            others += !r.text(before).empty();
            CHECK(r.number(before) <= fullest);
        }
    });
    CHECK(others > 200);
}

TEST_CASE("a rollout by the trainer's own model is within 2 %, beside what the trainer keeps") {
    int generated = 0;
    for_each_policy([&](const row& r, const plan_request& asked) {
        if (r.text("decode_peak_2_bytes").empty()) return;
        ++generated;
        const result<requested_plan> planned = plan(asked);
        REQUIRE(planned);
        const phase_plan& rollout = *planned->phases->find(workload_phase::rollout);
        // Less what is no tensor: contexts, workspaces of libraries, and the allocator's gaps.
        const auto overhead = [](const memory_breakdown& m) {
            return m[memory_term::runtime].expected + m[memory_term::workspace].expected;
        };
        const memory_breakdown& trained = planned->phases->find(workload_phase::training)->plan.memory;
        const byte_count held = trained[memory_term::weights].expected + trained[memory_term::adapter].expected +
                                trained[memory_term::optimizer].expected + trained[memory_term::reference].expected;
        const byte_count own = rollout.own.expected - rollout.plan.memory[memory_term::workspace].expected -
                               rollout.plan.memory[memory_term::fragmentation].expected;
        CHECK(rollout.resident.expected >= held + overhead(trained));
        const double error =
            error_of(held + own, std::max(r.number("prefill_peak_2_bytes"), r.number("decode_peak_2_bytes")));
        CHECK(std::fabs(error) <= 0.02);
    });
    CHECK(generated == 20);
}
