// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/jobs/ranks.hpp>
#include <utility>

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

TEST_CASE("of more sequences than steps may have, the others wait") {
    job chat{.batch = 100};
    chat.options.max_num_seqs = 8;
    CHECK(sequences_in_flight(chat, layout{}) == 8);
    CHECK(sequences_in_flight(chat, layout{.data = 4}) == 32);
    CHECK(sequences_per_rank(chat, layout{.data = 4}) == 8);
    chat.batch = 5;
    CHECK(sequences_in_flight(chat, layout{}) == 5);
    CHECK(sequences_per_rank(chat, layout{.data = 4}) == 2);
    // Slots of a cache that is allotted at start are as many as there are sequences.
    chat = {.batch = 100, .options = {.max_num_seqs = 8}};
    chat.runtime.cache.pool = cache_pool::allotted;
    CHECK(sequences_in_flight(chat, layout{}) == 8);
    CHECK(sequences_held(chat, layout{}) == 100);
    CHECK(sequences_per_rank(chat, layout{.data = 4}) == 25);
}

TEST_CASE("a prompt alone stands before its first token, or those of a rank's whole batch") {
    job chat{.batch = 10};
    CHECK(prompts_before_token(chat, layout{.data = 4}) == 1);
    chat.runtime.cache.whole_batches = true;
    CHECK(prompts_before_token(chat, layout{.data = 4}) == 3);
}

TEST_CASE("a rank's part of a weight has whole granules, at most the weight") {
    const layout two{.tensor = 2};
    const weight heads{.rows = 3 * 128, .columns = 64, .split = weight_split::rows, .granule = 128};
    CHECK(local_shape(heads, two).rows == 256);
    CHECK(local_shape(heads, two).count() == parameters(256 * 64));
    weight one = heads;
    one.rows = 100;  // less than a granule
    CHECK(local_shape(one, two).rows == 100);
    weight copied = heads;
    copied.copies = 3;
    CHECK(local_shape(copied, two).count() == parameters(3 * 256 * 64));
    copied.split = weight_split::columns;
    copied.granule = 1;
    CHECK(local_shape(copied, two).columns == 32);
    CHECK(local_part(copied, two).columns == 32);
    copied.split = weight_split::replicated;
    CHECK(local_shape(copied, two).count() == parameters(3 * 3 * 128 * 64));
}

TEST_CASE("an engine that allots slots at start has one for each sequence at least; others have the sequences") {
    job chat{.batch = 3};
    runtime r;
    r.step.max_num_seqs = 8;
    CHECK(detail::slots_of(chat, r, 3) == 3);
    r.cache.pool = cache_pool::allotted;
    CHECK(detail::slots_of(chat, r, 3) == 8);
    CHECK(detail::slots_of(chat, r, 9) == 9);
    chat.options.max_num_seqs = 4;
    CHECK(detail::slots_of(chat, r, 3) == 4);
    CHECK(detail::sequences_with_cells(chat, r, 3) == 3);
    r.cache.slots = slot_cells::of_slots;
    CHECK(detail::sequences_with_cells(chat, r, 3) == 4);
    CHECK(detail::sequences_with_cells(chat, r, 0) == 0);
}

TEST_CASE("of a rank's experts a token passes as many as it has at most") {
    const weight experts{.rows = 64, .columns = 64, .copies = 8, .active = 3, .routed = true};
    const layout four{.data = 4, .expert = 4, .expert_tensor = 1};
    CHECK(local_part(experts, four).copies == 2);
    CHECK(local_part(experts, four).active == 2);
    CHECK(local_part(experts, {}).active == 3);
}

TEST_CASE("a step of one sequence is one micro-batch of one data rank, and its rounded-up part of each of several") {
    job work{.task = task::pretraining, .micro_batch = 1, .global_batch = 1};
    CHECK(micro_batches(work, layout{}) == 1);
    work.micro_batch = 0;  // which validate() refuses
    work.global_batch = 0;
    CHECK(micro_batches(work, layout{}) == 1);
    work.micro_batch = 1;
    work.global_batch = 3;
    CHECK(micro_batches(work, layout{.data = 2}) == 2);
}

TEST_CASE("a weight of which nothing is said is one value, and a rank's part of it is a rank's part of the weight") {
    weight_shape one;
    CHECK(one.count() == parameters(1));
    const weight rows{.rows = 256, .columns = 64, .copies = 3, .split = weight_split::rows};
    for (const std::int32_t ranks : {1, 2, 4, 8}) {
        const weight part = local_part(rows, layout{.tensor = ranks});
        CHECK(part.rows * ranks == rows.rows);
        CHECK(part.columns == rows.columns);
        CHECK(part.copies == rows.copies);
    }
}

TEST_CASE("expert ranks share a layer's routed experts as evenly as whole experts can be, two ranks being enough") {
    const weight experts{.rows = 64, .columns = 64, .copies = 7, .routed = true};
    for (const auto& [ranks, most] : {std::pair{1, 7}, {2, 4}, {3, 3}, {7, 1}})
        CHECK(local_shape(experts, layout{.data = ranks, .expert = ranks, .expert_tensor = 1}).copies == most);
    weight shared = experts;
    shared.routed = false;
    CHECK(local_shape(shared, layout{.data = 2, .expert = 2, .expert_tensor = 1}).copies == 7);
}

TEST_CASE("slots are those that the caller asks for, be it one") {
    job chat{.batch = 1};
    chat.options.max_num_seqs = 1;
    runtime r;
    r.step.max_num_seqs = 8;
    r.cache.pool = cache_pool::allotted;
    CHECK(detail::slots_of(chat, r, 1) == 1);
    CHECK(detail::slots_of(chat, r, 0) == 1);
}
