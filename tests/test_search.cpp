// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/gpus/nvidia.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/search.hpp>
#include <llmres/standard_cluster.hpp>

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

TEST_CASE("each remedy, taken alone, makes the job fit") {
    job j = chat;
    j.batch = 16;
    REQUIRE(plan(j, {}, one_4090)->verdict != verdict::fits);
    const remedies found = what_would_help(j, {}, one_4090);
    CHECK(found.count >= 3);
    for (const remedy& r : found) {
        job tried = j;
        layout l;
        cluster c = one_4090;
        switch (r.what) {
            case remedy::kind::more_gpus:
                l = r.layout;
                c = standard_cluster(gpus::rtx_4090, static_cast<std::int32_t>(r.amount)).value();
                break;
            case remedy::kind::narrower_weights: tried.weights = r.format; break;
            case remedy::kind::smaller_batch: tried.batch = r.amount; break;
            case remedy::kind::shorter_context: tried.context = tokens(r.amount); break;
            case remedy::kind::full_recompute: tried.recompute = recompute::full; break;
        }
        CHECK(plan(tried, l, c)->verdict == verdict::fits);
    }
}

TEST_CASE("training that does not fit is helped by recomputation") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(8192), .micro_batch = 2};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout l{.data = 8, .zero = 3};
    REQUIRE(plan(j, l, eight)->verdict == verdict::does_not_fit);
    bool named = false;
    for (const remedy& r : what_would_help(j, l, eight)) named = named || r.what == remedy::kind::full_recompute;
    CHECK(named);
}

TEST_CASE("limits and remedies are there at compile time") {
    static constexpr cluster machine = standard_cluster(gpus::rtx_4090, 1).value();
    static constexpr job work{.model = models::llama_3_1_8b, .context = tokens(4096), .max_batched_tokens = tokens(2048)};
    static constexpr result<std::int64_t> most = max_batch(work, {}, machine);
    static_assert(*most > 1);
    CHECK(*max_batch(work, {}, machine) == *most);
}
