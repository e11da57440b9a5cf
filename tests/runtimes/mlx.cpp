// SPDX-License-Identifier: MIT
#include <llmres/runtimes/mlx.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/values/find_precision.hpp>

using namespace serving_jobs;

TEST_CASE("MLX quantises the embedding as it does every matrix") {
    job j = chat("qwen3-4b");
    j.runtime = runtimes::mlx;
    j.weights = mlx(4, 64);
    // 4.02 billion parameters at 4.5 bits, norms in 16.
    const byte_count held = memory_of(j, layout{})[memory_term::weights].low;
    CHECK(held > mib(2156));
    CHECK(held < mib(2162));
}

TEST_CASE("MLX's last step holds the logits of all its tokens in 16 bits") {
    job j = chat("qwen3-4b");
    j.runtime = runtimes::mlx;
    j.context = {};
    j.prompt = tokens(2048);
    j.output = tokens(128);
    CHECK(memory_of(j, layout{})[memory_term::logits].expected == bytes(2) * 2048 * 151936);
}

TEST_CASE("under MLX a token takes what memory takes: weights are unpacked on the way, and the CPU works ahead") {
    // Measured: 95 tokens a second of 8B in 4 bits on an M4 Max, 39 of Qwen3-4B on an M4.
    const auto rate = [](const char* model, const gpu& card) {
        job j = chat(model);
        j.runtime = runtimes::mlx;
        j.weights = mlx(4, 64);
        j.context = tokens(1024);
        const job_speed s = plan(j, layout{}, standard_cluster(card, 1).value()).value().speed;
        return 1 / s.step.total().expected.in(seconds);
    };
    CHECK(rate("llama-3.1-8b", gpus::apple_m4_max) == doctest::Approx(95).epsilon(0.15));
    CHECK(rate("qwen3-4b", gpus::apple_m4) == doctest::Approx(39).epsilon(0.15));
}

TEST_CASE("under MLX prompts pass wide heads in scores of all pairs, which grow with the context") {
    // Qwen3.5-27B has 24 heads of 256 in 16 of 64 layers: 2,048 tokens at once take 98,304 B for each of the context.
    const auto held = [](const char* model, std::int64_t context) {
        job j = chat(model);
        j.runtime = runtimes::mlx;
        j.context = tokens(context);
        return memory_of(j, layout{})[memory_term::activations].expected;
    };
    CHECK(held("qwen3.5-27b", 100'000) - held("qwen3.5-27b", 50'000) == bytes(98'304) * 50'000);
    CHECK(held("llama-3.1-8b", 100'000) == held("llama-3.1-8b", 50'000));  // heads of 128 are fused
}

TEST_CASE("a hybrid of 35B in 4 bits takes 35.4 GiB for 196,608 tokens under MLX, as was measured on an M5 Max") {
    job j = chat("qwen3.5-35b-a3b");  // Qwen3.6-35B-A3B is the same
    j.runtime = runtimes::mlx;
    j.weights = mlx(4, 64);
    j.context = tokens(196'608);
    const interval<byte_count> all = memory_of(j, layout{}).total();
    CHECK(all.expected > gib(33));
    CHECK(all.expected < gib(38));
    CHECK(all.low < mib(36'250));  // 35.4 GiB
    CHECK(all.high > mib(36'250));
}
