// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>

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

TEST_CASE("a limit of one sequence is a limit, and what no layout takes has none") {
    job j = chat;
    j.batch = 1;
    j.context = *limits_of(j, {}, one_4090).max_context;
    j.batch = 8;
    const job_limits limits = limits_of(j, {}, one_4090);
    CHECK(limits.max_batch == 1);
    CHECK(limits.max_context.value_or({}) < j.context);
    const job_limits refused = limits_of(chat, {.tensor = 3}, one_4090);
    CHECK_FALSE(refused.max_batch);
    CHECK_FALSE(refused.max_context);
    CHECK(refused.min_gpus == 1);
}

namespace {

/// 812 GB of weights: 6.4 GB a layer, and 4.2 GB an embedding or head.
job largest_llama() { return {.model = models::llama_3_1_405b, .context = tokens(4096), .runtime = runtimes::vllm}; }
std::int64_t fewest(const job& j, const cluster& c, std::int32_t most = 1024) {
    return min_gpus(j, c, most).value_or(-1);
}

}  // namespace

TEST_CASE("the fewest GPUs are any number in one node, of eight at least, and whole nodes beyond") {
    const job j = largest_llama();
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    CHECK(fewest({.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm}, c, 1) == 1);
    CHECK(fewest(j, c) == 16);
    for (const auto& [node, expected] :
         {std::pair{4, 16}, std::pair{8, 16}, std::pair{9, 18}, std::pair{16, 12}, std::pair{32, 12}}) {
        c.gpus = c.gpus_per_node = node;  // on 12, four tensor ranks hold a part of 42 layers, 67 GB
        CHECK(fewest(j, c) == expected);
    }
    CHECK(fewest(j, c, 12) == 12);
    CHECK(fewest(j, c, 11) == -1);
    // Of one GPU alone, a node is what its links join: 72 GB200, eight where it is not known.
    job wide = j;
    wide.weights = fp32;  // 1,623 GB
    CHECK(fewest(wide, standard_cluster(gpus::gb200_186gb, 1).value()) == 10);
    CHECK(fewest(wide, standard_cluster(gpus::gb200_186gb, 2).value()) == 16);
    c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    c.gpu.links.scale_up_domain = {};
    CHECK(fewest(j, c) == 16);
}

TEST_CASE("a layout that takes a part of a node may hold a job on fewer GPUs than the planner's") {
    const job j = largest_llama();
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    // 12 stages have up to 11 layers, 70 GB, and an embedding; 13 have 10.
    CHECK(limits_of(j, {.pipeline = 12}, eight).min_gpus == 16);
    CHECK(limits_of(j, {.pipeline = 13}, eight).min_gpus == 13);
    CHECK(limits_of(j, {.pipeline = 18}, eight).min_gpus == 16);
}
