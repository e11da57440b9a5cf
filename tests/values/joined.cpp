// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/values/joined.hpp>

using namespace llmres;

namespace {

constexpr int one = 1, two = 2, three = 3;
constexpr std::array low{&one, &two};
constexpr std::array high{&three};
constexpr std::array<const int*, 0> none{};

}  // namespace

TEST_CASE("the rows of all tables are listed, a table after the other") {
    constexpr auto all = joined(low, none, high);
    static_assert(all.size() == 3);
    CHECK(*all[0] == 1);
    CHECK(*all[1] == 2);
    CHECK(*all[2] == 3);
}

TEST_CASE("a row is pointed to, not copied") { CHECK(joined(low)[1] == &two); }
