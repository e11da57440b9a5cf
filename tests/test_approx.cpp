// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <initializer_list>

// What the other tests mean by Approx: main.cpp sets it for all of them.

TEST_CASE("Approx allows a part of a value, however small that is") {
    for (const double unit : {1e-12, 1e-6, 1.0, 1e12}) {
        CHECK(unit == doctest::Approx(unit * (1 + 1e-6)));
        CHECK(unit != doctest::Approx(unit * 1.001));
        CHECK(unit == doctest::Approx(unit * 1.009).epsilon(0.01));
        CHECK(unit != doctest::Approx(unit * 1.02).epsilon(0.01));
    }
    CHECK(0.0 == doctest::Approx(0));
    CHECK(1e-12 != doctest::Approx(0));
}
