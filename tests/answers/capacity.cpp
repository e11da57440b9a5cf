// SPDX-License-Identifier: MIT
// How much a layout holds.
#include <llmres/answers/capacity.hpp>

#include <doctest/doctest.h>

#include "../random_documents.hpp"
#include "../sanitized.hpp"
#include "../serving_jobs.hpp"

#include <cstdint>
#include <llmres/io/job_json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

TEST_CASE("vLLM's pool on a log's own flags: Llama 3.1 8B on an H100 leaves 51.38 GiB") {
    job j = chat();
    j.context = tokens(16000);
    cluster c = one(gpus::h100_sxm5_80gb);
    c.gpu.memory.cuda_visible = scaled_down(gib(1), 79.18);
    const auto pool = cache_pool_of(j, layout{}, c);
    REQUIRE(pool);
    CHECK(pool->memory.expected.in(gib) == doctest::Approx(51.38).epsilon(0.003));
    CHECK(pool->token_room.in(tokens) == pool->blocks * 16);
    CHECK(pool->sequences.expected == doctest::Approx(26.3).epsilon(0.01));
}

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

TEST_CASE("LMDeploy's blocks are eight tenths of what weights and buffers leave free, and whole") {
    // BlockManager.cc, GetBlockCount: size_t(free * ratio) / block_size.
    job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    j.runtime = find_runtime("lmdeploy").value();
    const cluster c = one(gpus::a100_sxm4_80gb);
    const memory_breakdown m = memory_of(j, layout{}, c);
    byte_count free = available_memory(c) - (m.reserved.expected - m.allocated.expected);
    for (const memory_term taken : {memory_term::runtime, memory_term::weights, memory_term::activations,
                                    memory_term::logits, memory_term::workspace})
        free -= m[taken].expected;
    const pool_size pool = cache_pool_of(j, layout{}, c).value();
    constexpr std::int64_t block = std::int64_t{64} * 32 * 2 * 8 * 128 * 2;  // tokens, layers, keys and values, heads
    CHECK(pool.blocks == scaled_down(free, 0.8).in(bytes) / block);
}

TEST_CASE("the largest batch is what the low bound of the pool holds, whole sequences of the job's context") {
    for (const char* engine : {"vllm@0.8.2", "vllm@0.9", "vllm@0.19", "vllm", "sglang@0.4.6", "sglang", "tensorrt-llm",
                               "tensorrt-llm@0.20", "lmdeploy", "tgi"})
        for (const gpu& card : {gpus::l4_24gb, gpus::rtx_4090, gpus::h100_sxm5_80gb})
            for (const std::int64_t context : {1024, 4096, 8192}) {
                job j{.model = models::llama_3_1_8b, .batch = 2, .context = tokens(context)};
                j.runtime = find_runtime(engine).value();
                INFO(std::string{engine} << " on " << card.name.view() << ", " << context << " tokens");
                const cluster c = one(card);
                const std::int64_t most = max_batch(j, layout{}, c).value();
                const double held = cache_pool_of(j, layout{}, c).value().sequences.low;
                CHECK(held >= static_cast<double>(most));
                // Some leave steps or CUDA graphs so little beside the pool that these limit the batch first. And
                // beyond the sequences that a profiled step scores, each has logits of its own.
                const std::string_view name = engine;
                if (!name.starts_with("sglang") && name != "vllm@0.19" && most < 128)
                    CHECK(held - static_cast<double>(most) <= 1.0);
            }
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

TEST_CASE("sequences of mixed lengths: more than of the longest, fewer than of the mean") {
    const job j = chat();
    const cluster c = one(gpus::h100_sxm5_80gb);
    const auto at = [&](std::int64_t mean, std::int64_t longest) {
        return concurrent_sequences(j, layout{}, c, {tokens(mean), tokens(longest)}).value();
    };
    CHECK(at(8192, 8192) < at(2048, 8192));
    CHECK(at(2048, 8192) < at(2048, 2048));
    CHECK(concurrent_sequences(j, layout{}, one(gpus::rtx_4090), {tokens(1024), tokens(131072)}).value() == 0);
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

TEST_CASE("windows of slots that nobody uses are not counted for each sequence of a pool") {
    job j{.model = models::gemma_3_4b, .batch = 1, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    const cluster card = one(gpus::rtx_3090);
    const std::int64_t most = max_batch(j, {}, card).value();
    const double alone = cache_pool_of(j, {}, card)->sequences.expected;
    CHECK(alone >= static_cast<double>(most));
    j.batch = most;
    CHECK(cache_pool_of(j, {}, card)->sequences.expected == doctest::Approx(alone).epsilon(0.05));
}

TEST_CASE("a pool of cells for windows holds the largest batch, and no sequence more than its memory") {
    // Windows have the cells of one step beside them, once for all sequences: 16 at 2048 tokens of Gemma 3 4B take 16
    // windows of 1024 and 512 cells, one alone a window and 512.
    for (const char* engine : {"ollama", "ollama@0.20", "llama.cpp", "llama.cpp@6000"})
        for (const model& m : {models::gemma_3_4b, models::gemma_2_9b, models::jamba_1_5_mini, models::llama_3_1_8b})
            for (const std::int64_t context : {2048, 8192}) {
                job j{.model = m, .batch = 16, .context = tokens(context)};
                j.runtime = find_runtime(engine).value();
                const cluster card = one(m.name.view() == "jamba-1.5-mini" ? gpus::b200_sxm_180gb : gpus::rtx_4090);
                INFO(std::string{engine} << ", " << m.name.view() << ", " << context << " tokens");
                const std::int64_t most = max_batch(j, {}, card).value();
                REQUIRE(most > 0);
                j.batch = most;
                const pool_size pool = cache_pool_of(j, {}, card).value();
                CHECK(pool.sequences.low >= static_cast<double>(most));
                CHECK(pool.sequences.low < static_cast<double>(most) * 1.1 + 1);
            }
}

TEST_CASE("llama.cpp leaves 1 GiB free with the most layers, and shortens what nobody asked for first") {
    job j{.model = models::llama_3_1_70b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    const cluster card = one(gpus::rtx_4090);
    // What it allocates, as its fitting counts it: not the CUDA context, nor what cuBLAS takes.
    const auto left_free = [&](const job& with, std::int32_t gpu_layers) {
        job tried = with;
        tried.options.gpu_layers = gpu_layers;
        const memory_breakdown m = memory_of(tried, {}, card);
        return usable_memory(card.gpu) - m.total().expected + m[memory_term::workspace].expected;
    };
    const fitted_job told = fit_to_memory(j, {}, card, false).value();
    REQUIRE(told.options.gpu_layers);
    CHECK(told.context == tokens(8192));
    CHECK(left_free(j, *told.options.gpu_layers) >= gib(1));
    CHECK(left_free(j, *told.options.gpu_layers + 1) < gib(1));
    const fitted_job shorter = fit_to_memory(j, {}, card, true).value();
    CHECK(shorter.context == tokens(4096));
    CHECK(*shorter.options.gpu_layers > *told.options.gpu_layers);
    CHECK_FALSE(fit_to_memory(j, {}, one(gpus::h100_sxm5_80gb), true).value().options.gpu_layers);

    j.model = models::llama_3_1_8b;
    j.context = tokens(131072);
    const fitted_job whole = fit_to_memory(j, {}, one(gpus::rtx_3060_12gb), true).value();
    CHECK_FALSE(whole.options.gpu_layers);
    CHECK(whole.context < tokens(131072));
    CHECK(whole.context.in(tokens) % 256 == 0);
    CHECK_FALSE(fit_to_memory({}, {}, card, true).has_value());
}

TEST_CASE("of a mixture of experts llama.cpp moves experts to the host before layers") {
    job j{.model = models::qwen3_30b_a3b, .context = tokens(16384), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    const fitted_job some = fit_to_memory(j, {}, one(gpus::rtx_4090), false).value();
    CHECK(*some.options.gpu_layers == j.model.layers.size + 1);
    CHECK(some.options.experts_on_host);
    CHECK(some.options.host_expert_layers > 0);
    CHECK(some.options.host_expert_layers < j.model.layers.size);
    j.options.gpu_layers = 10;  // what is given stays
    CHECK(*fit_to_memory(j, {}, one(gpus::rtx_4090), false).value().options.gpu_layers == 10);
}

TEST_CASE("what fits, what the pool holds and the longest context are of one computation, whatever the engine") {
    random_documents::dice d;
    int planned = 0, fitting = 0;
    for (int i = 0; i < (sanitized ? 150 : 1500); ++i) {
        const auto document = random_documents::random_serving_job(d);
        const auto read = read_job(document);
        if (!read || !read->layout || !takes_fraction(read->job.runtime.cache)) continue;
        const job& j = read->job;
        const layout& l = *read->layout;
        const cluster& c = read->cluster;
        const auto p = plan(j, l, c);
        const auto pool = cache_pool_of(j, l, c);
        if (!p || !pool) continue;
        CAPTURE(document.dump());
        const memory_breakdown& m = p->memory;
        const byte_count own = m[memory_term::kv_cache].high + m[memory_term::recurrent_state].high;
        const byte_count wasted = m.reserved.high - m.allocated.high;
        const reserved_memory held = reserved_by(m, *pool);
        if (memory_fits(j, l, c)) {
            CHECK(own <= pool->memory.low);
            // What the engine holds: weights and the whole pool; what the device loses: that, and the process.
            CHECK(held.engine >= m[memory_term::weights].expected + pool->memory.expected);
            CHECK(held.device.expected >= held.engine + j.runtime.process.context.expected);
            CHECK(held.device.expected <= available_memory(c));
            ++fitting;
        } else if (j.runtime.cache.pool != cache_pool::share_with_weights && own > byte_count{} &&
                   pool->memory.low > wasted) {
            // (SGLang does not ask whether a step finds room beside its pool.)
            CHECK(own + wasted > pool->memory.low);
        }
        CHECK(held.device.low <= held.device.expected);
        CHECK(held.device.expected <= held.device.high);
        const auto longest = max_context(j, l, c);
        if (!longest || *longest == token_count{}) continue;
        job at_limit = j;
        at_limit.context = *longest;
        at_limit.prompt = at_limit.output = {};
        const auto room = cache_pool_of(at_limit, l, c);
        REQUIRE(room);
        CHECK(room->token_room >= *longest * sequences_per_rank(j, l));
        ++planned;
    }
    CHECK(planned > 10);
    CHECK(fitting > 10);
}
