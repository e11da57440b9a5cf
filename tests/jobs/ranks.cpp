// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/jobs/ranks.hpp>

using namespace llmres;

TEST_CASE("a data rank computes its share of the global batch, a micro-batch after the other") {
    constexpr job work{.task = task::pretraining, .micro_batch = 2, .global_batch = 64};
    CHECK(micro_batches(work, layout{}) == 32);
    CHECK(micro_batches(work, layout{.data = 8}) == 4);
    CHECK(micro_batches(work, layout{.tensor = 4, .pipeline = 2, .data = 4, .replicas = 2}) == 4);
}

TEST_CASE("without a global batch a step is one micro-batch") {
    constexpr job work{.task = task::pretraining, .micro_batch = 3};
    CHECK(micro_batches(work, layout{.data = 8}) == 1);
}

TEST_CASE("sequences in flight are partitioned over data ranks and replicas, rounded up") {
    constexpr job chat{.batch = 10};
    CHECK(sequences_per_rank(chat, layout{}) == 10);
    CHECK(sequences_per_rank(chat, layout{.tensor = 8}) == 10);
    CHECK(sequences_per_rank(chat, layout{.data = 4}) == 3);
    CHECK(sequences_per_rank(chat, layout{.data = 2, .replicas = 2}) == 3);
}

TEST_CASE("a prompt alone stands before its first token, or those of a rank's whole batch") {
    job chat{.batch = 10};
    CHECK(prompts_before_token(chat, layout{.data = 4}) == 1);
    chat.runtime.cache.whole_batches = true;
    CHECK(prompts_before_token(chat, layout{.data = 4}) == 3);
}
