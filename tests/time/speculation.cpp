// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <limits>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/draft.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>

// Drafted tokens that a step checks, and prompts that the cache holds in part.

using namespace llmres;

namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

job chat(std::int64_t drafted = 0, double acceptance = 0) {
    job j{.model = models::llama_3_1_8b, .prompt = tokens(1024), .output = tokens(256)};
    j.options.draft_tokens = drafted;
    if (drafted > 0) j.options.acceptance = acceptance;
    return j;
}
job_speed speed(const job& j, const layout& l = {}) {
    const auto gpus = static_cast<std::int32_t>(l.gpus());
    return plan(j, l, standard_cluster(gpus::h100_sxm5_80gb, gpus).value()).value().speed;
}
double step(const job_speed& s) { return s.step.total().expected.in(seconds); }
double took(const job_speed& s, time_term term) { return s.step[term].expected.in(seconds); }

}  // namespace

TEST_CASE("a step makes its own token and those of the draft that it accepts") {
    serving_options asked;
    CHECK(tokens_a_step(asked) == 1);
    asked.draft_tokens = 5, asked.acceptance = 0.6;
    CHECK(tokens_a_step(asked) == doctest::Approx(4));
    asked.acceptance = 1.0;
    CHECK(tokens_a_step(asked) == 6);
}

TEST_CASE("tokens that are looked up cost their check alone; a token takes a step's time over the tokens it makes") {
    const double plain = step(speed(chat())), none = step(speed(chat(3, 0)));
    CHECK(none > plain);
    CHECK(none < 1.05 * plain);  // reading the weights is most of both
    for (const double acceptance : {0.1, 0.5, 1.0})
        CHECK(step(speed(chat(3, acceptance))) == doctest::Approx(none / (1 + 3 * acceptance)));
}

TEST_CASE("what is accepted makes tokens faster, never slower, under load too") {
    job j = chat(4, 0);
    j.batch = 16;
    job_speed before = speed(j);
    for (const double acceptance : {0.05, 0.3, 0.7, 1.0}) {
        j.options.acceptance = acceptance;
        const job_speed now = speed(j);
        CHECK(step(now) < step(before));
        CHECK(now.tokens_per_second > before.tokens_per_second);
        CHECK(now.steady.time_per_output_token.expected < before.steady.time_per_output_token.expected);
        before = now;
    }
}

TEST_CASE("the model's FLOPs of a token do not depend on how many are checked at once") {
    const job_speed plain = speed(chat()), checked = speed(chat(7, 0.5));
    CHECK(checked.flops / plain.flops == doctest::Approx(1));
    CHECK(checked.mfu * step(checked) == doctest::Approx(plain.mfu * step(plain)));
}

TEST_CASE("a draft model reads its weights and its cache for every token, and launches its kernels") {
    job j = chat(5, 0);
    const job_speed looked_up = speed(j);
    j.options = with_draft(j.options, models::llama_3_2_1b, bf16);
    CHECK(j.options.draft.layers == 16);
    CHECK(j.options.draft.read == j.options.draft_weights);  // its embedding is its head
    const job_speed drafted = speed(j);
    const double weights = 1'235'814'400.0 * 2 / (3350e9 * 0.797), cache = 32768.0 * (1024 + 128) / (3350e9 * 0.857);
    CHECK(took(drafted, time_term::memory) - took(looked_up, time_term::memory) ==
          doctest::Approx(5 * (weights + cache)).epsilon(1e-3));
    // Four products, attention and the runtime's small kernels a layer.
    const double floors = 16 * (4 * 3.8e-6 + 10.7e-6 + j.runtime.launches.small_kernels * 2e-6);
    CHECK(took(drafted, time_term::launch) - took(looked_up, time_term::launch) == doctest::Approx(5 * floors));
    j.batch = 1000;  // arithmetic of 1,000 sequences takes longer than reading the weights
    const double busy = 1000 * 2 * 1'235'814'400.0 / (989.4e12 * 0.748);
    const double all = took(speed(j), time_term::compute);
    j.options = chat(5, 0).options;
    CHECK(all - took(speed(j), time_term::compute) > 5 * busy);
    CHECK(all - took(speed(j), time_term::compute) < 5 * 1.1 * busy);
}

TEST_CASE("an embedding beside the head is not read for a drafted token") {
    const serving_options asked = with_draft({}, models::llama_3_1_8b, bf16);
    const std::int64_t used = 8'030'261'248 - 128256LL * 4096;
    CHECK(asked.draft.flops.in(flops) == doctest::Approx(2.0 * static_cast<double>(used)));
    CHECK(static_cast<double>(asked.draft.read.in(bytes)) == doctest::Approx(2.0 * static_cast<double>(used)));
}

TEST_CASE("tensor ranks sum twice a layer of the draft model") {
    const layout four{.tensor = 4};
    job j = chat(5, 0);
    const double before = took(speed(j, four), time_term::tensor_communication);
    j.options = with_draft(j.options, models::llama_3_2_1b, bf16);
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    const double sum = time_of(collective_kind::all_reduce, bytes(2048 * 2), 4, c.scale_up).in(seconds);
    CHECK(took(speed(j, four), time_term::tensor_communication) - before == doctest::Approx(5 * 16 * 2 * sum));
}

TEST_CASE("the model's own prediction layer is a layer, a projection and the head for every drafted token") {
    job j{.model = models::deepseek_v3, .prompt = tokens(1024), .output = tokens(256), .runtime = runtimes::sglang};
    j.options.draft_tokens = 1, j.options.acceptance = 0.0;
    const layout eight{.tensor = 8};
    const auto compute_and_memory = [&] {
        const job_speed s = speed(j, eight);
        return took(s, time_term::compute) + took(s, time_term::memory);
    };
    j.options.speculates_ahead = false;
    const double looked_up = compute_and_memory();
    j.options.speculates_ahead = true;
    const double one = compute_and_memory() - looked_up;
    CHECK(one > looked_up / 61 * 0.3);  // one token's experts are fewer than those of the two that are checked
    CHECK(one < looked_up / 61 * 3);
    j.options.draft_tokens = 3;
    const double with = compute_and_memory();
    j.options.speculates_ahead = false;
    CHECK(with - compute_and_memory() == doctest::Approx(3 * one));
}

TEST_CASE("experts on the host are those of all tokens that a step checks") {
    job j{.model = models::qwen3_30b_a3b,
          .gguf = *find_gguf_mix("weights", "Q4_K_M"),
          .context = tokens(2048),
          .runtime = runtimes::llama_cpp};
    j.options.experts_on_host = true;
    const byte_count one = decode_host_traffic(j, {}, tokens(1)).memory;
    j.options.draft_tokens = 3, j.options.acceptance = 0.5;
    const byte_count four = decode_host_traffic(j, {}, tokens(1)).memory;
    j.options = {}, j.options.experts_on_host = true, j.batch = 4;
    CHECK(four == decode_host_traffic(j, {}, tokens(1)).memory);
    CHECK(four > one * 3);
}

TEST_CASE("a new request waits for half a step, which makes several tokens") {
    job j = chat(3, 1.0);
    j.batch = 9;
    const job_speed s = speed(j);
    const double prompt = s.prefill.total().expected.in(seconds);
    CHECK(s.steady.time_to_first_token.expected.in(seconds) ==
          doctest::Approx(prompt + 0.5 * 4 * step(s) + 0.07 * 8 * prompt));
}

TEST_CASE("of a prompt that the cache holds in part, the rest is computed, and attends to all of it") {
    job j{.model = models::llama_3_1_8b, .prompt = tokens(10'000), .output = tokens(100)};
    j.prefix_hit_rate = 0.9;
    const token_pass prompt = detail::serving_passes_of(j, {}).prompt;
    CHECK(prompt.tokens.length == 1000);
    CHECK(prompt.tokens.keys == 10'000);
    CHECK(prompt.cached == 9000);
    CHECK(detail::serving_passes_of(j, {}).decode.tokens.keys == 10'050);
    j.prefix_hit_rate = 1;  // the last token's logits are needed
    CHECK(computed_prompt_of(j) == tokens(1));
    j.prefix_hit_rate = 0;
    CHECK(computed_prompt_of(j) == tokens(10'000));
}

TEST_CASE("the more of a prompt is cached, the earlier its first token; tokens after it and memory stay") {
    job j = chat();
    j.prompt = tokens(8192), j.batch = 8, j.runtime = runtimes::vllm;
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const job_plan none = plan(j, layout{}, c).value();
    duration before = none.speed.prefill.total().expected;
    for (const double hit : {0.1, 0.5, 0.9, 1.0}) {
        j.prefix_hit_rate = hit;
        const job_plan p = plan(j, layout{}, c).value();
        CHECK(p.speed.prefill.total().expected.in(seconds) < before.in(seconds));
        CHECK(p.speed.step.total() == none.speed.step.total());
        CHECK(p.memory.total() == none.memory.total());
        CHECK(p.speed.steady.time_per_output_token.expected < none.speed.steady.time_per_output_token.expected);
        CHECK(p.speed.steady.time_to_first_token.expected < none.speed.steady.time_to_first_token.expected);
        before = p.speed.prefill.total().expected;
    }
}

TEST_CASE("parts outside of 0 to 1, and drafted tokens without a part, are errors with their names") {
    const auto refusal = [](const job& j) {
        const status s = validate(j);
        REQUIRE_FALSE(s);
        return s.error();
    };
    job j = chat();
    for (const double wrong : {-0.1, 1.1, nan}) {
        j.prefix_hit_rate = wrong;
        CHECK(refusal(j).field == "prefix_hit_rate");
        CHECK(refusal(j).code == error_code::out_of_range);
        CHECK(refusal(chat(3, wrong)).field == "runtime.acceptance");
        CHECK(refusal(chat(3, wrong)).code == error_code::out_of_range);
    }
    for (const double right : {0.0, 1.0}) {
        j.prefix_hit_rate = right;
        CHECK(validate(j));
        CHECK(validate(chat(3, right)));
    }
    job absent = chat(3, 0.5);
    absent.options.acceptance = {};
    CHECK(refusal(absent).field == "runtime.acceptance");
    CHECK(refusal(absent).code == error_code::missing);
    absent = chat();
    absent.options.acceptance = 0.5;
    CHECK(refusal(absent).field == "runtime.draft_tokens");
    for (const std::int64_t wrong : {-1, 1025}) {
        absent.options.draft_tokens = wrong;
        CHECK(refusal(absent).field == "runtime.draft_tokens");
    }
}
