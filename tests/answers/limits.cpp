// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>

using namespace llmres;

namespace {

const cluster one_4090 = standard_cluster(gpus::rtx_4090, 1).value();
const job chat{.model = models::llama_3_1_8b, .batch = 8, .context = tokens(8192), .max_batched_tokens = tokens(2048)};

}  // namespace

TEST_CASE("limits are the last that fit: one more does not") {
    job j = chat;
    const job_limits limits = limits_of(j, {}, one_4090);
    REQUIRE(limits.max_batch);
    REQUIRE(limits.max_context);
    j.batch = *limits.max_batch;
    CHECK(plan(j, {}, one_4090)->verdict == verdict::fits);
    ++j.batch;
    CHECK(plan(j, {}, one_4090)->verdict != verdict::fits);
    j = chat;
    j.context = *limits.max_context;
    CHECK(plan(j, {}, one_4090)->verdict == verdict::fits);
    j.context += tokens(1);
    CHECK(plan(j, {}, one_4090)->verdict != verdict::fits);
}

TEST_CASE("what does not fit at all has no largest batch, but a number of GPUs that it fits on") {
    const job j{.model = models::llama_3_1_70b, .context = tokens(1024)};
    const job_limits limits = limits_of(j, {}, one_4090);
    CHECK_FALSE(limits.max_batch);
    CHECK_FALSE(limits.max_context);
    REQUIRE(limits.min_gpus);
    CHECK(*limits.min_gpus > 5);  // 141 GB of weights
    CHECK(*limits.min_gpus <= 8);
}
