// SPDX-License-Identifier: MIT
#include <llmres/values/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <llmres/values/version.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

namespace {

/// A result that changes from value to error and back, in a constant expression.
constexpr bool is_assigned(error_code code) {
    result<version_number> r = version_number{1, 2, 3};
    const result<version_number> first = r;
    r = refused(code, "version", 0, "another");
    const bool refused_now = !r && r.error().code == code;
    r = first;
    r->minor += 5;
    return refused_now && r && r->minor == 7 && (*r).patch == 3;
}

}  // namespace

TEST_CASE("a result is assigned in a constant expression, and copied byte by byte where its value is") {
    static_assert(is_assigned(error_code::unknown));
    static_assert(std::is_trivially_copyable_v<result<version_number>>);
    static_assert(!std::is_trivially_copyable_v<result<std::string>>);
}

TEST_CASE("a result of what lies on the heap is copied, moved and assigned, and leaks nothing") {
    const auto alive = std::make_shared<int>(1);
    result<std::shared_ptr<int>> a{alive};
    CHECK(alive.use_count() == 2);
    result<std::shared_ptr<int>> b = a;
    CHECK(alive.use_count() == 3);
    a = refused(error_code::io, "file", "", "a file");
    CHECK(alive.use_count() == 2);
    CHECK(a.error().code == error_code::io);
    const result<std::shared_ptr<int>> c{a};
    CHECK(c.error().field == "file");
    a = std::move(b);
    CHECK(alive.use_count() == 2);
    const std::shared_ptr<int> taken = *std::move(a);
    CHECK(alive.use_count() == 2);
    result<std::shared_ptr<int>> d{c};
    d = *&d;
    CHECK_FALSE(d);
    d = taken;
    CHECK(alive.use_count() == 3);
    d = *&d;
    CHECK(*d == alive);
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

TEST_CASE("a large value is made where the result lies") {
    constexpr llmres::result<int> made{llmres::in_place{}, [] { return 7; }};
    static_assert(made && *made == 7);
}

TEST_CASE("of several fields the first that is out of its bounds is named") {
    using llmres::detail::bounded_field;
    CHECK(llmres::detail::all_in_range(bounded_field{"a", 1, 1, 2}, bounded_field{"b", 2, 1, 2}));
    const auto s = llmres::detail::all_in_range(bounded_field{"a", 1, 1, 2}, bounded_field{"b", 3, 1, 2},
                                                bounded_field{"c", 0, 1, 2});
    CHECK(s.error().field == "b");
    CHECK(s.error().value == "3");
    CHECK(s.error().expected == "an integer from 1 to 2");
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

TEST_CASE("a range above zero holds its lower end as well") {
    for (const std::int64_t low : {-3, 1, 7}) {
        CHECK(in_range("ends", low, low, low + 2));
        CHECK(in_range("ends", low + 2, low, low + 2));
        CHECK_FALSE(in_range("ends", low - 1, low, low + 2));
    }
}
