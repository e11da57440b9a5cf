// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <llmres/values/square_root.hpp>

using llmres::detail::square_root;

TEST_CASE("a square root in a constant expression is the library's") {
    constexpr double two = square_root(2.0), tiny = square_root(1e-18), large = square_root(3e20),
                     none = square_root(0.0);
    CHECK(two == doctest::Approx(std::sqrt(2.0)).epsilon(1e-14));
    CHECK(tiny == doctest::Approx(1e-9).epsilon(1e-14));
    CHECK(large == doctest::Approx(std::sqrt(3e20)).epsilon(1e-14));
    CHECK(none == 0);
    CHECK(square_root(2.0) == std::sqrt(2.0));
}
