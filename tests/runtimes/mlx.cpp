// SPDX-License-Identifier: MIT
#include <llmres/runtimes/mlx.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

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
