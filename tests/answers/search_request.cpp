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

TEST_CASE("objectives have names") { CHECK(name_of(objective::energy_per_token) == "energy_per_token"); }
