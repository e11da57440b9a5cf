// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/time/breakdown.hpp>

using namespace llmres;

TEST_CASE("the terms of a time add up, and the largest is told by what is expected") {
    time_breakdown step;
    CHECK(step.total().high == duration{});
    step[time_term::compute] = {milliseconds(1), milliseconds(2), milliseconds(9)};
    step[time_term::launch] = {milliseconds(1), milliseconds(3), milliseconds(4)};
    CHECK(step.total().low == milliseconds(2));
    CHECK(step.total().expected == milliseconds(5));
    CHECK(step.total().high == milliseconds(13));
    CHECK(step.largest() == time_term::launch);
    CHECK(name_of(time_term::launch) == "launch");
}
