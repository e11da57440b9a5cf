// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/values/visitor.hpp>

using namespace llmres;

namespace {

constexpr void list_squares(const visitor<int>& visit) {
    for (int i = 1; i <= 3; ++i) visit(i * i);
}
constexpr void list_pairs(const visitor<int, bool>& visit) {
    visit(4, true);
    visit(5, false);
}

constexpr int sum_of_squares() {
    int sum = 0;
    auto add = [&](int square) { sum += square; };
    list_squares(visiting<int>(add));
    return sum;
}

}  // namespace

TEST_CASE("a function sees each entry of a list, in constant expressions too") {
    static_assert(sum_of_squares() == 14);
    CHECK(sum_of_squares() == 14);
}

TEST_CASE("an entry may have several parts") {
    int chosen = 0;
    const auto choose = [&](int number, bool is_chosen) { chosen = is_chosen ? number : chosen; };
    list_pairs(visiting<int, bool>(choose));
    CHECK(chosen == 4);
}
