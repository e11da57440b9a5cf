// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

// 105 published measurements of losses, norms and gated MLPs, each alone: the entries that a training step's memory is
// a sum of.

TEST_CASE("losses, norms and gated MLPs alone take what the inventory says, within 2 %") {
    const auto runs = kernels::all();
    REQUIRE(runs.size() == 105);
    double sum = 0;
    for (const kernels::run& r : runs) {
        INFO(r.id << ": " << r.kernel << ", " << r.provider << ", " << r.mode);
        const double error =
            std::fabs(static_cast<double>(kernels::predicted(r).in(llmres::bytes)) / (r.mib * 1048576) - 1);
        CHECK(error <= 0.02);
        sum += error;
    }
    CHECK(sum / static_cast<double>(runs.size()) <= 0.003);
}
