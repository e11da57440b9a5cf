// SPDX-License-Identifier: MIT
#include <llmres/values/boost_units.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "../properties.hpp"

using namespace llmres;
namespace bu = boost::units;

TEST_CASE("a quantity becomes Boost's and comes back, in the same unit and number type") {
    static_assert(std::is_same_v<decltype(from_boost(to_boost(gib(1)))), byte_count>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(bits(1)))), bit_count>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(tokens(1)))), token_count>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(bytes_a_token(1)))), bytes_per_token>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(tflops(1)))), flop_rate>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(seconds(1)))), duration>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(watts(1)))), power>);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(currency(1)))), money>);
    static_assert(from_boost(to_boost(gib(80))) == gib(80));
    CHECK(from_boost(to_boost(gb_per_s(3350))) == gb_per_s(3350));
    properties::for_counts([](std::int64_t n) { CHECK(from_boost(to_boost(bytes(n))).in(bytes) == n); });
}

TEST_CASE("Boost's arithmetic agrees with ours") {
    const auto cache = to_boost(bytes_a_token(131'072)) * to_boost(tokens(4096));
    CHECK(from_boost(cache) == bytes_a_token(131'072) * tokens(4096));
    static_assert(std::is_same_v<boost_unit<joule_unit>,
                                 bu::multiply_typeof_helper<boost_unit<watt_unit>, boost_unit<second_unit>>::type>);
    const auto read = to_boost(approx(gb(3350))) / to_boost(gb_per_s(3350));
    CHECK(from_boost(read) == gb(3350) / gb_per_s(3350));
}

TEST_CASE("a unit without a short name survives the way there and back") {
    const auto price = currency(2.5) / approx(tokens(1'000'000));
    static_assert(std::is_same_v<decltype(from_boost(to_boost(price))), std::remove_const_t<decltype(price)>>);
    CHECK(from_boost(to_boost(price)) == price);
    const auto line = approx(bits(8'000)) / seconds(2);
    static_assert(std::is_same_v<decltype(from_boost(to_boost(line))), std::remove_const_t<decltype(line)>>);
    CHECK(from_boost(to_boost(line)) == line);
}

TEST_CASE("bytes are the stock system's bytes, exactly") {
    properties::for_counts([](std::int64_t n) {
        CHECK(to_boost_bytes(bytes(n)).value() == n);
        CHECK(from_boost(to_boost_bytes(bytes(n))) == bytes(n));
    });
    CHECK(from_boost(bu::quantity<bu::information::hu::byte::info, double>::from_value(1.5)).base() == 1.5);
}

TEST_CASE("bytes are the stock system's bits where they fit, and bits bytes where they are whole") {
    properties::for_counts([](std::int64_t n) {
        const auto made = to_boost_bits(bytes(n));
        CHECK(made.has_value() == (n <= std::numeric_limits<std::int64_t>::max() / 8));
        if (!made) {
            CHECK(made.error().code == error_code::overflow);
            return;
        }
        CHECK(made->value() == n * 8);
        CHECK(bytes_from_boost(*made).value() == bytes(n));
    });
    const auto nine = bu::quantity<bu::information::hu::bit::info, std::int64_t>::from_value(9);
    CHECK(bytes_from_boost(nine).error().code == error_code::inconsistent);
    CHECK(from_boost(nine) == bits(9));
}

TEST_CASE("seconds, joules and watts are SI's") {
    CHECK(to_boost_si(milliseconds(12)).value() == 0.012);
    CHECK(to_boost_si(watts(700)) * to_boost_si(seconds(2)) == to_boost_si(joules(1400)));
    CHECK(from_boost(2.0 * bu::si::seconds) == seconds(2));
    CHECK(from_boost(700.0 * bu::si::watts) == watts(700));
    CHECK(from_boost(700.0 * bu::si::watts * (2.0 * bu::si::seconds)) == joules(1400));
}
