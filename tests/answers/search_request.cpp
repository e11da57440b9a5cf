// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/answers/search_request.hpp>

using namespace llmres;

TEST_CASE("a job takes what a search chose, and keeps the rest") {
    const job asked{.batch = 2, .context = tokens(4096)};
    const job chosen = with_choice(asked, {.batch = 8, .recompute = recompute::full});
    CHECK(chosen.batch == 8);
    CHECK(chosen.recompute == recompute::full);
    CHECK(chosen.context == asked.context);
}

TEST_CASE("a training job's choices are each tried once") {
    job given{.task = task::pretraining, .global_batch = 48};
    const auto count = [&](const search_space& s) {
        std::int64_t tried = 0;
        job j = given;
        detail::for_each_choice(s, given, j, [&] { return ++tried, false; });
        return tried;
    };
    CHECK(count({}) == 1);
    CHECK(count({.micro_batch = true}) == 10);  // 1, 2, 3, 4, 6, 8, 12, 16, 24, 48
    CHECK(count({.recompute = true}) == 3);
    CHECK(count({.recompute_parts = true}) == 12);
    CHECK(count({.offload = true}) == 4);
    CHECK(count({.offload = true, .offload_parameters = true}) == 8);
    given.global_batch = 0;
    CHECK(count({.micro_batch = true}) == 7);  // 1, 2, 4, ... 64
}

TEST_CASE("a choice that is taken back is the job's own") {
    const job j{.task = task::pretraining,
                .micro_batch = 3,
                .recompute = recompute::full,
                .recompute_modules = layer_part::mlp,
                .recompute_every = 4,
                .offload = {.parameters = offload_place::host}};
    CHECK(choice_of(with_choice(job{}, choice_of(j))) == choice_of(j));
    CHECK(choice_of(j).recompute_every == 4);
}

TEST_CASE("objectives have names") { CHECK(name_of(objective::energy_per_token) == "energy_per_token"); }
