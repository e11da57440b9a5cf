// SPDX-License-Identifier: MIT
// The largest batch and the longest context that a layout holds.
#include <llmres/answers/capacity.hpp>

#include <doctest/doctest.h>

#include "../random_documents.hpp"
#include "../sanitized.hpp"
#include "../serving_jobs.hpp"

#include <bit>
#include <cstdint>
#include <llmres/io/job_json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

TEST_CASE("vLLM does not start where one sequence of the context does not fit, or others hold a part of its fraction") {
    job j = chat();
    j.context = tokens(131072);
    j.runtime = runtimes::vllm_v0_7;
    CHECK(plan(j, layout{}, one(gpus::a10g_24gb)).value().verdict == verdict::does_not_fit);  // a log of March 2025
    j = chat();
    cluster c = one(gpus::h100_sxm5_80gb);
    CHECK(fits(j, layout{}, c));
    c.in_use = gib(20);
    CHECK(usable_memory(j, c) == bytes(0));
    CHECK(plan(j, layout{}, c).value().verdict == verdict::does_not_fit);
}

TEST_CASE("of more sequences than steps may have, those that wait hold nothing, and the largest batch has none") {
    const cluster c = one(gpus::h100_sxm5_80gb);
    job j = chat();
    j.runtime = runtimes::vllm;
    j.options.max_num_seqs = 8;
    const auto of = [&](std::int64_t batch) {
        j.batch = batch;
        return memory_of(j, layout{}, c);
    };
    CHECK(of(100)[memory_term::kv_cache] == of(8)[memory_term::kv_cache]);
    CHECK(of(7)[memory_term::kv_cache].expected < of(8)[memory_term::kv_cache].expected);
    CHECK(max_batch(j, layout{}, c).value() == 8);
    CHECK(max_batch(j, layout{.data = 2}, standard_cluster(c.gpu, 2).value()).value() == 16);
    j.options.max_num_seqs = 0;
    CHECK(max_batch(j, layout{}, c).value() > 8);
}

TEST_CASE("capacities are tight: one more does not fit") {
    for (const char* engine : {"vllm@0.9", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "tgi"}) {
        INFO(engine);
        job j = chat();
        j.runtime = find_runtime(engine).value();
        const cluster c = one(gpus::a100_sxm4_80gb);
        const std::int64_t most = max_batch(j, layout{}, c).value();
        REQUIRE(most > 0);
        j.batch = most;
        CHECK(memory_fits(j, layout{}, c));
        j.batch = most + 1;
        CHECK_FALSE(memory_fits(j, layout{}, c));
        j.batch = most;
        const token_count longest = max_context(j, layout{}, c).value();
        CHECK(longest >= j.context);
        j.context = longest + tokens(256);
        CHECK((j.context > j.model.max_context || !memory_fits(j, layout{}, c)));
    }
}

TEST_CASE("the largest batch and context are ones that a plan takes, whatever the GPU holds") {
    job j{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .sequence = tokens(std::int64_t{1} << 40),
          .recompute = recompute::full};
    j.model.max_context = {};
    CHECK(max_batch(j, layout{}, one(gpus::h100_sxm5_80gb)).value() == 0);
    j.sequence = tokens(1);
    cluster c = one(gpus::h100_sxm5_80gb);
    c.gpu.memory.reported = {};
    c.gpu.memory.cuda_visible = tib(1 << 20);
    j.micro_batch = max_batch(j, layout{}, c).value();
    CHECK(j.micro_batch == std::int64_t{1} << 24);
    j.sequence = max_context(j, layout{}, c).value();
    CHECK(j.sequence > tokens(1));
    CHECK(validate(j));
}

TEST_CASE("no size is a limit that the GPU has no attention kernel for, or that main memory has no room for") {
    job j{.model = models::llama_3_2_1b, .task = task::finetuning, .weights = fp16, .sequence = tokens(512)};
    j.compute = fp16;
    const cluster volta = one(gpus::v100_sxm2_32gb);
    CHECK(max_batch(j, layout{}, volta).value() > 0);
    j.attention = attention_kernel::flash;
    CHECK(max_batch(j, layout{}, volta).value() == 0);
    CHECK_FALSE(limits_of(j, layout{}, volta).min_gpus);
    // Activations go to the host, which has room for so many.
    j.attention = attention_kernel::sdpa;
    j.offload.activations = offload_place::host;
    cluster c = one(gpus::h100_sxm5_80gb);
    const std::int64_t unknown = max_batch(j, layout{}, c).value();
    c.host.memory = gib(16);
    const std::int64_t most = max_batch(j, layout{}, c).value();
    CHECK(most < unknown);
    j.micro_batch = most;
    CHECK(host_memory_of(j, layout{}, c).high <= gib(16));
    j.micro_batch = most + 1;
    CHECK(host_memory_of(j, layout{}, c).high > gib(16));
}

TEST_CASE("sequences of mixed lengths: more than of the longest, fewer than of the mean") {
    const job j = chat();
    const cluster c = one(gpus::h100_sxm5_80gb);
    const auto at = [&](std::int64_t mean, std::int64_t longest) {
        return concurrent_sequences(j, layout{}, c, {tokens(mean), tokens(longest)}).value();
    };
    CHECK(at(8192, 8192) < at(2048, 8192));
    CHECK(at(2048, 8192) < at(2048, 2048));
    CHECK(concurrent_sequences(j, layout{}, one(gpus::rtx_4090), {tokens(1024), tokens(131072)}).value() == 0);
    job asks = j;  // what the job itself says of prompts and outputs is not what is asked
    asks.prompt = tokens(100);
    asks.output = tokens(60'000);
    asks.context = {};
    CHECK(concurrent_sequences(asks, layout{}, c, {tokens(2048), tokens(8192)}).value() == at(2048, 8192));
}

TEST_CASE("the longest context lies beyond the length up to which prompts are computed whole") {
    // vLLM 0.6: prompts up to 32,768 tokens pass at once, longer ones in chunks of 512.
    const job j{.model = models::qwen2_5_7b, .batch = 2, .context = tokens(1024), .runtime = runtimes::vllm_v0};
    const cluster card{.gpu = gpus::rtx_4090};
    const token_count longest = max_context(j, {}, card).value();
    CHECK(longest > tokens(32768));
    job at = j;
    at.context = longest;
    CHECK(memory_fits(at, {}, card));
    at.context = longest + tokens(1);
    CHECK_FALSE(memory_fits(at, {}, card));
    at.context = tokens(32768);
    CHECK_FALSE(memory_fits(at, {}, card));
}

TEST_CASE("a bisection finds the largest number that holds, and asks for none beyond the last") {
    for (std::int64_t most = 1; most <= 40; ++most)
        for (std::int64_t largest = 0; largest <= most; ++largest) {
            std::int64_t beyond = 0, asked = 0;
            const auto holds = [&](std::int64_t n) {
                beyond += n > most;
                ++asked;
                return n <= largest;
            };
            CHECK(detail::largest_that_holds(most, holds) == largest);
            CHECK(beyond == 0);
            // Twice as many each time, until one does not hold, and half of what is between each time.
            const auto doublings = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(largest)));
            CHECK(asked <= doublings + 1 + (doublings > 0 ? doublings - 1 : 0));
        }
}

TEST_CASE("the largest micro-batch and sequence are a training job's own, whatever it says of them") {
    job j{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(4096)};
    const cluster c = one(gpus::h100_sxm5_80gb);
    const std::int64_t most = max_batch(j, {}, c).value();
    CHECK(most > 1);
    j.micro_batch = 0;
    CHECK(max_batch(j, {}, c).value() == most);
    j.batch = 0;
    CHECK(max_batch(j, {}, c).value() == most);
    j.micro_batch = 1;
    j.recompute = recompute::full;
    j.model.max_context = tokens(2048);
    CHECK(max_context(j, {}, c).value() == tokens(2048));
    j.options.rope_scaling = 2;  // serving's
    CHECK(max_context(j, {}, c).value() == tokens(2048));
}

TEST_CASE("the longest context is the model's where all fits, and shortens the prompt and the output") {
    job j{.model = models::qwen2_5_7b, .prompt = tokens(1024), .output = tokens(256), .runtime = runtimes::vllm_v0};
    const cluster c = one(gpus::h100_sxm5_80gb);
    for (const std::int64_t output : {256, 2000, 200'000})
        for (const std::int64_t own : {1, 500, 1100, 32767, 32768, 32769, 32770, 40000}) {  // 32,768: prompts in chunks
            j.output = tokens(output);
            j.model.max_context = tokens(own);
            CHECK(max_context(j, {}, c).value() == tokens(own));
        }
    j.output = tokens(256);
    j.options.rope_scaling = 2;
    CHECK(max_context(j, {}, c).value() == tokens(80000));
    j.options.rope_scaling = 1;
    j.model.max_context = tokens(131072);
    const auto is_longest = [](job at, token_count longest, const cluster& on) {
        at.context = longest;
        const bool fits = memory_fits(at, {}, on);
        at.context += tokens(1);
        return fits && !memory_fits(at, {}, on);
    };
    j.batch = 64;
    const token_count longest = max_context(j, {}, c).value();
    CHECK(longest < tokens(32768));  // before chunks, of so many sequences
    CHECK(is_longest(j, longest, c));
    // Where a whole prompt passes at once, the cache of a short one has more room.
    j.batch = 16;
    j.runtime = runtimes::transformers;
    const token_count of_short_prompts = max_context(j, {}, c).value();
    CHECK(is_longest(j, of_short_prompts, c));
    j.prompt = j.output = {};
    CHECK(max_context(j, {}, c).value() < of_short_prompts);
    j.batch = 0;
    CHECK(max_context(j, {}, c).error().field == "batch");
}

TEST_CASE("the largest micro-batch is asked of a job as it is with one sequence, whatever its global batch") {
    job j{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(1024), .global_batch = 1};
    CHECK(max_batch(j, {}, one(gpus::h100_sxm5_80gb)).value() >= 1);
}

TEST_CASE("no context is longer than the model's own, be prompts of that length computed whole") {
    job j{.model = models::llama_3_1_8b, .batch = 1, .runtime = runtimes::vllm_v0};
    j.model.max_context = j.runtime.step.chunked_beyond = tokens(32768);
    cluster c = one(gpus::h100_sxm5_80gb);
    j.context = tokens(32768);
    const memory_breakdown whole = memory_of(j, {}, c);
    c.in_use = available_memory(c) - whole.total().high + mib(64);
    REQUIRE_FALSE(memory_fits(j, {}, c));
    const token_count most = max_context(j, {}, c).value();
    CHECK(most > token_count{});
    CHECK(most < tokens(32768));
}

TEST_CASE("the smallest layout is the first that fits on the fewest GPUs") {
    const job served{.model = models::llama_3_1_70b, .context = tokens(8192), .runtime = runtimes::vllm};
    const job trained{.model = models::llama_3_1_8b,
                      .task = task::pretraining,
                      .sequence = tokens(4096),
                      .recompute = recompute::full};
    for (const job& j : {served, trained}) {
        cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
        maybe<layout> first;
        for (std::int32_t gpus = 1; gpus <= 8 && !first; ++gpus)
            for_each_layout(j, {.least_gpus = gpus, .most_gpus = gpus}, c, [&](const layout& l) {
                if (!first && fits(j, l, c)) first = l;
                return false;
            });
        REQUIRE(first);
        REQUIRE(first->gpus() > 1);
        const maybe<layout> found = detail::smallest_layout(j, c, 64);
        REQUIRE(found);
        CHECK(*found == *first);
        CHECK(min_gpus(j, c).value == first->gpus());
    }
}

TEST_CASE("no slots of an engine limit a micro-batch") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job trained{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(512)};
    const std::int64_t most = max_batch(trained, {}, c).value();
    REQUIRE(most > 2);
    trained.options.max_num_seqs = 1;
    CHECK(max_batch(trained, {}, c).value() == most);
}
