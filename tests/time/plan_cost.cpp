// SPDX-License-Identifier: MIT
#include <llmres/time/plan_cost.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }
plan_cost cost_of(const tariff& t, const job& j, const job_plan& p, const cluster& c,
                  const maybe<training_time>& run = {}) {
    return llmres::cost_of(t, j, p.layout, c, p.memory, p.speed, run);
}
double rent(const expense& e) { return e.rent->expected.in(currency); }

}  // namespace

TEST_CASE("a served million is so many GPU seconds at the hour's price, and what the objective compares") {
    const job j{.model = models::llama_3_1_8b,
                .batch = 32,
                .prompt = tokens(2000),
                .output = tokens(500),
                .runtime = runtimes::vllm};
    const cluster c = h100(2);
    const tariff t{.gpu_hour = currency(3), .pue = 1.1};
    const job_plan p = plan(j, layout{.tensor = 2}, c).value();
    const plan_cost cost = cost_of(t, j, p, c);
    CHECK(rent(cost.hour) == 6);
    CHECK(cost.hour.energy->expected.in(kwh) == doctest::Approx(1.4 * 1.1));
    CHECK(rent(cost.tokens) == doctest::Approx(6 / 3600.0 * 1e6 / p.speed.tokens_per_second.in(tokens_per_s)));
    CHECK(rent(cost.tokens) / 1e6 == doctest::Approx(detail::score_of(objective::cost_per_token, p, c, t)));
    CHECK(cost.tokens.energy->expected.in(joules) / 1e6 ==
          doctest::Approx(detail::score_of(objective::energy_per_token, p, c, t)));
    CHECK(rent(cost.output) == doctest::Approx(6 / 3600.0 * 1e6 * p.speed.step.expected().in(seconds) / 32));
    const token_times times = token_times_of(j, p.layout, c, p.memory, p.speed);
    CHECK(rent(cost.input) == doctest::Approx(6 / 3600.0 * 1e6 * times.input.expected.in(seconds)));
    CHECK(rent(cost.input) > 0);
    CHECK_FALSE(cost.run);
    CHECK_FALSE(cost.months_until_bought_is_cheaper);
}

TEST_CASE("a trained million is its part of a step, and a run all of its steps") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096), .global_batch = 64};
    const cluster c = h100(8);
    const tariff t{.gpu_hour = currency(2)};
    const job_plan p = plan(j, layout{.data = 8, .zero = 3}, c).value();
    const training_time run = time_of_run({.trained = tokens(64 * 4096 * 1000)}, j, p.layout, p.speed).value();
    const plan_cost cost = cost_of(t, j, p, c, run);
    CHECK(rent(*cost.run) == doctest::Approx(16 * p.speed.step.expected().in(seconds) * 1000 / 3600));
    CHECK(rent(cost.tokens) * 64 * 4096 * 1000 / 1e6 == doctest::Approx(rent(*cost.run)));
    CHECK(cost.run->rent->low < cost.run->rent->expected);
    CHECK(cost.run->rent->expected < cost.run->rent->high);
}

TEST_CASE("the cheapest layout is not the fastest where instances are rented whole") {
    // On one GPU of an instance of eight all eight are paid: then no layout of fewer is cheaper than the fastest.
    const job j{.model = models::llama_3_1_8b,
                .batch = 64,
                .prompt = tokens(1000),
                .output = tokens(500),
                .runtime = runtimes::vllm};
    const cluster c = h100(8);
    const auto best = [&](const tariff& t) {
        return search(j, c, {.objective = objective::cost_per_token, .prices = t})->plan;
    };
    const job_plan single = best({.gpu_hour = currency(2)});
    const job_plan whole = best({.gpu_hour = currency(2), .rented_together = 8});
    CHECK(single.layout.gpus() < whole.layout.gpus());
    CHECK(whole.speed.tokens_per_second == search(j, c)->plan.speed.tokens_per_second);
}
