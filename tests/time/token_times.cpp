// SPDX-License-Identifier: MIT
#include <llmres/time/token_times.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/replicas.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/time/tariff.hpp>

using namespace llmres;

namespace {

job chat() {
    return {.model = models::llama_3_1_8b,
            .batch = 32,
            .prompt = tokens(2000),
            .output = tokens(500),
            .runtime = runtimes::vllm};
}
cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }
token_times times_of(const job& j, const layout& l, const cluster& c) {
    const job_plan p = plan(j, l, c).value();
    return token_times_of(j, l, c, p.memory, p.speed);
}

}  // namespace

TEST_CASE("a generated token takes its part of a step, and a prompt's token its part of the prefill") {
    const cluster c = h100(1);
    const job_plan p = plan(chat(), layout{}, c).value();
    const token_times t = token_times_of(chat(), {}, c, p.memory, p.speed);
    CHECK(t.output.expected.in(seconds) == doctest::Approx(p.speed.step.expected().in(seconds) / 32));
    CHECK(t.output.low < t.output.expected);
    CHECK(t.output.expected < t.output.high);
    CHECK(t.input.expected.in(seconds) == doctest::Approx(p.speed.prefill.expected().in(seconds) / 2000));
    CHECK(t.with_prompt.in(seconds) == doctest::Approx(1 / p.speed.tokens_per_second.in(tokens_per_s)));
}

TEST_CASE("the tokens of a request take the time in which a full replica finishes it") {
    // requests_of(): a replica that computes prompts and tokens one after the other finishes so many at most.
    for (const std::int64_t batch : {8, 32, 128}) {
        job j = chat();
        j.batch = batch;
        const cluster c = h100(1);
        const job_plan p = plan(j, layout{}, c).value();
        const token_times t = token_times_of(j, {}, c, p.memory, p.speed);
        const duration request = t.input.expected * 2000.0 + t.output.expected * 500.0;
        const duration by_work =
            p.speed.prefill.expected() + p.speed.step.expected() * (500.0 / static_cast<double>(batch));
        CHECK(request.in(seconds) == doctest::Approx(by_work.in(seconds)));
        const frequency finished = detail::requests_of(j, p, 1e9).expected;  // no limit but the work
        CHECK(request.in(seconds) == doctest::Approx(1 / finished.in(hertz)));
    }
}

TEST_CASE("data ranks share the prompts, and their sequences are all in flight") {
    job j = chat();
    const token_times one = times_of(j, {}, h100(1));
    j.batch = 64;
    const token_times two = times_of(j, {.data = 2}, h100(2));
    CHECK(two.output.expected.in(seconds) == doctest::Approx(one.output.expected.in(seconds) / 2).epsilon(1e-6));
    CHECK(two.input.expected.in(seconds) == doctest::Approx(one.input.expected.in(seconds) / 2).epsilon(1e-6));
}

TEST_CASE("a single sequence occupies all data ranks while its prompt is computed, as while its tokens are") {
    job j = chat();
    j.batch = 1;
    const token_times one = times_of(j, {}, h100(1)), two = times_of(j, {.data = 2}, h100(2));
    CHECK(two.output.expected.in(seconds) == doctest::Approx(one.output.expected.in(seconds)).epsilon(1e-6));
    CHECK(two.input.expected.in(seconds) == doctest::Approx(one.input.expected.in(seconds)).epsilon(1e-6));
}

TEST_CASE("a generated token is dearer than one of a prompt, and a cached one is cheapest") {
    for (const double rate : {0.0, 0.3, 0.9}) {
        job j = chat();
        j.prefix_hit_rate = rate;
        const token_times t = times_of(j, {}, h100(1));
        CHECK(t.output.expected > t.input.expected * 3.0);
        CHECK(t.cached_input.expected < t.input.expected * 0.2);
        CHECK(t.cached_input.low <= t.cached_input.expected);
        CHECK(t.cached_input.expected <= t.cached_input.high);
    }
}

TEST_CASE("a prompt with cached tokens is as long as both of its kinds together") {
    job j = chat();
    j.prompt = tokens(20'000);
    j.prefix_hit_rate = 0.6;
    const cluster c = h100(1);
    const job_plan p = plan(j, layout{}, c).value();
    const token_times t = token_times_of(j, {}, c, p.memory, p.speed);
    CHECK(t.cached_input.expected > duration{});
    CHECK((t.input.expected * 8000.0 + t.cached_input.expected * 12'000.0).in(seconds) ==
          doctest::Approx(p.speed.prefill.expected().in(seconds)).epsilon(1e-9));
}

TEST_CASE("a model that generates nothing has prompts alone") {
    const job j{.model = models::bert_base, .batch = 1, .prompt = tokens(512)};
    const token_times t = times_of(j, {}, h100(1));
    CHECK(t.output.expected == duration{});
    CHECK(t.input.expected.in(seconds) == doctest::Approx(t.with_prompt.in(seconds)));
    // Of many that are computed together a token takes its part of all of them, and nothing is cached.
    job many = j;
    many.batch = 64;
    const token_times together = times_of(many, {}, h100(1));
    CHECK(together.input.expected.in(seconds) == doctest::Approx(together.with_prompt.in(seconds)));
    CHECK(together.input.expected < t.input.expected);
    CHECK(together.input.low < together.input.expected);
    CHECK(together.cached_input.expected == duration{});
}

TEST_CASE("a million tokens at a price an hour") {
    // Tokens of a millisecond are 1,000 s a million: at 3.60 an hour 1.00.
    const expense e = expense_of({.gpu_hour = currency(3.6)}, h100(1), 1, milliseconds(1) * 1e6);
    CHECK(e.cost().expected.in(currency) == doctest::Approx(1));
}
