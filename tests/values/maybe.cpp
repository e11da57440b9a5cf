// SPDX-License-Identifier: MIT
#include <llmres/values/maybe.hpp>

#include <doctest/doctest.h>

#include <array>

using llmres::maybe;
using llmres::detail::slot;

TEST_CASE("unknown is not zero") {
    constexpr maybe<int> unknown{};
    constexpr maybe<int> zero = 0;
    static_assert(!unknown && zero);
    static_assert(unknown != zero);
    static_assert(*zero == 0);
    CHECK(unknown.value_or(7) == 7);
    CHECK(zero.value_or(7) == 0);
}

TEST_CASE("two unknowns are equal, and equal to no value") {
    static_assert(maybe<int>{} == maybe<int>{});
    static_assert(maybe<int>{5} == 5);
    static_assert(maybe<int>{} != 0);
    CHECK(maybe<int>{5} != maybe<int>{6});
}

TEST_CASE("an unknown that was known compares as unknown") {
    maybe<int> a = 5;
    a = {};
    CHECK(a == maybe<int>{});
    a.value = 9;  // not meaningful while unknown
    CHECK(a == maybe<int>{});
}

TEST_CASE("a maybe is a template argument") {
    static_assert([]<maybe<int> M>() { return M.known; }.operator()<maybe<int>{3}>());
}

TEST_CASE("a slot has the value that it was set to, in a constant expression too, whatever others have") {
    constexpr int third = [] {
        std::array<slot<int>, 8> slots;
        slots[2] = slot<int>{3};
        return slots[2].value;
    }();
    CHECK(third == 3);
    static_assert(sizeof(slot<int>) == sizeof(int));
}
