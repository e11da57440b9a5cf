// SPDX-License-Identifier: MIT
#include <llmres/values/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace llmres;

TEST_CASE("a refusal says which field, what it held and what was expected") {
    constexpr error what = refused(error_code::out_of_range, "layout.tensor", 3, "a divisor of 64");
    static_assert(what.code == error_code::out_of_range);
    static_assert(what.field == "layout.tensor");
    static_assert(what.value == "3");
    static_assert(what.expected == "a divisor of 64");
    CHECK(refused(error_code::unknown, "gpu", "h1000", "a GPU").value == "h1000");
}

TEST_CASE("integers of every size are written out") {
    CHECK(detail::digits(0) == "0");
    CHECK(detail::digits(-7) == "-7");
    CHECK(detail::digits(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
    CHECK(detail::digits(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
}

TEST_CASE("a result holds its value or its error") {
    constexpr result<int> good{42};
    static_assert(good && *good == 42 && good.error().code == error_code::none);
    const result<int> bad = refused(error_code::missing, "hidden_size", "", "a positive integer");
    CHECK_FALSE(bad);
    CHECK_FALSE(bad.has_value());
    CHECK(bad.error().code == error_code::missing);
    const result<std::string> moved{std::string{"text"}};
    CHECK(moved->size() == 4);
}

TEST_CASE("value() throws the error, in words") {
    const result<int> bad = refused(error_code::unknown, "gpu", "h1000", "a GPU such as h100");
    try {
        (void)bad.value();
        FAIL("did not throw");
    } catch (const exception& thrown) {
        CHECK(std::string_view{thrown.what()} == "gpu is h1000, expected a GPU such as h100");
        CHECK(thrown.error().code == error_code::unknown);
    }
    const result<int> absent = refused(error_code::missing, "hidden_size", "", "a positive integer");
    CHECK_THROWS_WITH(static_cast<void>(absent.value()), "hidden_size is missing, expected a positive integer");
}

TEST_CASE("a range is closed at both ends, and names them") {
    static_assert(in_range("zero", 0, 0, 3));
    static_assert(in_range("zero", 3, 0, 3));
    const status outside = in_range("zero", 4, 0, 3);
    REQUIRE_FALSE(outside);
    CHECK(outside.error().code == error_code::out_of_range);
    CHECK(outside.error().expected == "an integer from 0 to 3");
}

TEST_CASE("every code has a name of its own") {
    for (int a = 0; a <= static_cast<int>(error_code::io); ++a)
        for (int b = 0; b < a; ++b) CHECK(name_of(static_cast<error_code>(a)) != name_of(static_cast<error_code>(b)));
}
