// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <array>
#include <llmres/answers/plan_call.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <vector>

using namespace llmres;

namespace {

const cluster eight_h100 = standard_cluster(gpus::h100_sxm5_80gb, 8).value();

std::vector<job> jobs() {
    return {{.model = models::llama_3_1_8b, .batch = 4, .context = tokens(8192), .runtime = runtimes::vllm},
            {.model = models::deepseek_v3, .batch = 64, .context = tokens(4096), .runtime = runtimes::vllm},
            {.model = models::llama_3_1_70b,
             .task = task::pretraining,
             .sequence = tokens(4096),
             .global_batch = 64,
             .runtime = runtimes::megatron},
            {.model = models::llama_3_1_8b, .batch = -1, .runtime = runtimes::vllm}};
}

void check_same(const interval<duration>& a, const interval<duration>& b) {
    CHECK(a.low == b.low);
    CHECK(a.expected == b.expected);
    CHECK(a.high == b.high);
}

void check_same(const result<job_plan>& compiled, const result<job_plan>& here) {
    REQUIRE(compiled.has_value() == here.has_value());
    if (!here) {
        CHECK(compiled.error().field.view() == here.error().field.view());
        CHECK(compiled.error().expected.view() == here.error().expected.view());
        return;
    }
    CHECK(compiled->verdict == here->verdict);
    CHECK(compiled->layout == here->layout);
    CHECK(compiled->memory.total().low == here->memory.total().low);
    CHECK(compiled->memory.total().expected == here->memory.total().expected);
    CHECK(compiled->memory.total().high == here->memory.total().high);
    CHECK(compiled->reason_count == here->reason_count);
    check_same(compiled->speed.step.total(), here->speed.step.total());
    check_same(compiled->speed.prefill.total(), here->speed.prefill.total());
}

}  // namespace

TEST_CASE("what is compiled once answers as what is compiled here, to the digit") {
    for (const job& j : jobs()) {
        check_same(compiled::plan(j, {.tensor = 8}, eight_h100), plan(j, {.tensor = 8}, eight_h100));
        CHECK(compiled::fits(j, {.tensor = 8}, eight_h100) == fits(j, {.tensor = 8}, eight_h100));
    }
}

TEST_CASE("a search that is compiled once finds the same layouts") {
    for (const job& j : jobs()) {
        check_same(compiled::plan(j, eight_h100), plan(j, eight_h100));
        std::array<found_layout, 3> there, here;
        const auto found_there = compiled::search(j, eight_h100, {.objective = objective::fewest_gpus}, there);
        const auto found_here = search(j, eight_h100, {.objective = objective::fewest_gpus}, here);
        REQUIRE(found_there.has_value() == found_here.has_value());
        if (!found_here) continue;
        REQUIRE(found_there->best == found_here->best);
        CHECK(found_there->tried == found_here->tried);
        for (std::size_t i = 0; i < found_here->best; ++i) {
            CHECK(there[i].score == here[i].score);
            check_same(there[i].plan, here[i].plan);
        }
    }
}
