// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <llmres/time/job_speed.hpp>

using namespace llmres;

namespace {

job chat(std::int64_t batch) {
    return {.model = models::llama_3_1_8b,
            .batch = batch,
            .prompt = tokens(1024),
            .output = tokens(256),
            .runtime = runtimes::vllm};
}
job_speed speed(const job& j, const layout& l = {}, std::int32_t gpus = 1) {
    return plan(j, l, standard_cluster(gpus::h100_sxm5_80gb, gpus).value()).value().speed;
}

}  // namespace

TEST_CASE("under load no token and no prompt is faster than alone") {
    for (std::int64_t batch = 1; batch <= 512; batch *= 2) {
        const job_speed s = speed(chat(batch));
        CHECK(s.steady.time_per_output_token.expected >= s.step.total().expected);
        CHECK(s.steady.time_per_output_token.low >= s.step.total().low);
        CHECK(s.steady.time_to_first_token.expected >= s.prefill.total().expected);
        CHECK(s.steady.time_to_first_token.low <= s.steady.time_to_first_token.expected);
        CHECK(s.steady.time_to_first_token.expected <= s.steady.time_to_first_token.high);
    }
}

TEST_CASE("tokens wait for a part of the prompts that are computed in between") {
    const job_speed s = speed(chat(65));
    const double prompts = 64 * s.prefill.total().expected.in(seconds) / 256;
    CHECK(s.steady.time_per_output_token.expected.in(seconds) ==
          doctest::Approx(s.step.total().expected.in(seconds) + 0.7 * prompts));
    CHECK(s.steady.time_per_output_token.high.in(seconds) >=
          s.step.total().high.in(seconds) + 0.99 * 64 * s.prefill.total().high.in(seconds) / 256);
    CHECK(s.steady.tokens_per_second.in(tokens_per_s) ==
          doctest::Approx(65 / s.steady.time_per_output_token.expected.in(seconds)));
}

TEST_CASE("a prompt under load waits for others: at worst for half of them") {
    const job_speed s = speed(chat(101));
    const double prompt = s.prefill.total().expected.in(seconds), step = s.step.total().expected.in(seconds);
    const runtime_launches& by = runtimes::vllm.launches;
    CHECK(s.steady.time_to_first_token.expected.in(seconds) ==
          doctest::Approx(by.request.expected.in(seconds) + prompt + step / 2 + 0.07 * 100 * prompt));
    CHECK(s.steady.time_to_first_token.high.in(seconds) >= 50 * s.prefill.total().high.in(seconds));
}

TEST_CASE("sequences beyond what the runtime computes at once wait") {
    job j = chat(256);
    j.options.max_num_seqs = 64;
    CHECK(speed(j).steady.in_flight == 64);
    CHECK(speed(chat(32)).steady.in_flight == 32);
    job full = chat(64);
    full.options.max_num_seqs = 64;
    CHECK(speed(j).step.total() == speed(full).step.total());
    CHECK(speed(j).tokens_per_second == speed(full).tokens_per_second);
}

TEST_CASE("a job that does not say what it generates has no speed under load, and makes a token a step") {
    for (const std::int32_t stages : {1, 4}) {
        job j = chat(16);
        j.output = {};
        const job_speed s = speed(j, {.pipeline = stages}, stages);
        CHECK(s.steady.in_flight == 0);
        CHECK(s.steady.tokens_per_second == token_rate{});
        CHECK(s.steady.time_per_output_token == interval<duration>{});
        CHECK(s.steady.time_to_first_token == interval<duration>{});
        CHECK(s.tokens_per_second.in(tokens_per_s) == doctest::Approx(16 / s.step.total().expected.in(seconds)));
    }
}

TEST_CASE("a batch's prompts are computed together, and then its tokens step by step") {
    for (const std::int32_t stages : {1, 4}) {
        const layout l{.pipeline = stages};
        const job_speed one = speed(chat(1), l, stages);
        const double first = one.prefill.total().expected.in(seconds), each = one.step.total().expected.in(seconds);
        CHECK(one.tokens_per_second.in(tokens_per_s) == doctest::Approx(256 / (first + 256 * each)).epsilon(0.01));
        // The prompts of 16 take less than 16 times as long: the weights are read once.
        const job_speed many = speed(chat(16), l, stages);
        const double round = 16 * 256 / many.tokens_per_second.in(tokens_per_s);
        const double prompts = round - 256 * many.step.total().expected.in(seconds);
        CHECK(prompts > 4 * first);
        CHECK(prompts < 16 * first);
    }
}

TEST_CASE("a lone sequence waits for nobody") {
    const job_speed s = speed(chat(1));
    CHECK(s.steady.time_per_output_token == s.step.total());
    CHECK(s.steady.in_flight == 1);
}

TEST_CASE("a speed that was not computed says that nothing is done") {
    const job_speed none{};
    CHECK(none.mfu == 0);
    CHECK(none.flops == flop_count{});
    CHECK(none.tokens_per_second == token_rate{});
    CHECK(none.step.total() == interval<duration>{});
}
