// SPDX-License-Identifier: MIT
#include <llmres/values/units.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "../properties.hpp"

using namespace llmres;
using properties::largest;
using properties::smallest;
using properties::two_to_53;

namespace {

__extension__ using wide = __int128;  // the true value of what may overflow

std::int64_t clamped(wide value) {
    return value > largest ? largest : value < smallest ? smallest : static_cast<std::int64_t>(value);
}

}  // namespace

TEST_CASE("makers name the unit on the way in, and on the way out") {
    CHECK(gib(80).in(bytes) == 85'899'345'920);
    CHECK(gib(80).in(gib) == 80.0);
    CHECK(gib(80).in(gb) == 85.89934592);
    CHECK(kib(1) == bytes(1024));
    CHECK(mib(1) == kib(1024));
    CHECK(tib(1) == gib(1024));
    CHECK(kb(1) == bytes(1000));
    CHECK(tb(1) == gb(1000));
    CHECK(milliseconds(1500) == seconds(1.5));
    CHECK(hours(2).in(seconds) == 7200.0);
    CHECK(mhz(1830).in(hertz) == 1.83e9);
    CHECK(tflops(989.4).in(flops_per_s) == doctest::Approx(989.4e12));
    CHECK(tokens(4096).in(tokens) == 4096);
}

TEST_CASE("units follow the arithmetic") {
    static_assert(std::is_same_v<decltype(bytes_a_token(1) * tokens(1)), byte_count>);
    static_assert(std::is_same_v<decltype(gib(1) / seconds(1)), byte_rate>);
    static_assert(std::is_same_v<decltype(gib(1) / gb_per_s(1)), duration>);
    static_assert(std::is_same_v<decltype(flops(1) / tflops(1)), duration>);
    static_assert(std::is_same_v<decltype(tokens(1) / seconds(1)), token_rate>);
    static_assert(std::is_same_v<decltype(watts(1) * seconds(1)), energy>);
    static_assert(std::is_same_v<decltype(joules(1) / seconds(1)), power>);
    static_assert(kwh(1) == watts(1000) * hours(1));
    static_assert(std::is_same_v<decltype(kilograms(1) / kwh(1) * joules(1)), mass>);
    static_assert(std::is_same_v<decltype(1.0 / seconds(1)), frequency>);
    static_assert(std::is_same_v<decltype(seconds(1) * hertz(1)), double>);
    static_assert(std::is_same_v<decltype(tflops(1) / gb_per_s(1) * gb_per_s(1)), flop_rate>);
    CHECK(bytes_a_token(131'072) * tokens(4096) == mib(512));
    CHECK((gb(3350) / gb_per_s(3350)).in(seconds) == 1.0);
    CHECK((tflops(989) / gb_per_s(3350)) * gb(1) / flops(1) == doctest::Approx(989e12 / 3350.0));  // the ridge point
}

TEST_CASE("counts are exact beyond what a double holds") {
    for (const std::int64_t n : {two_to_53 - 1, two_to_53, two_to_53 + 1, largest - 1}) {
        CHECK(bytes(n).in(bytes) == n);
        CHECK((bytes(n) + bytes(1)).in(bytes) == n + 1);
    }
}

TEST_CASE("what a maker makes, .in() gives back") {
    properties::for_counts([](std::int64_t n) {
        CHECK(bytes(n).in(bytes) == n);
        CHECK(parameters(n).in(parameters) == n);
        if (n <= two_to_53 && n <= (largest >> 40)) {  // exact in double, and not saturated
            CHECK(kib(n).in(kib) == static_cast<double>(n));
            CHECK(gib(n).in(gib) == static_cast<double>(n));
            CHECK(tib(n).in(tib) == static_cast<double>(n));
            CHECK(gb(n).in(gb) == static_cast<double>(n));
        }
    });
}

TEST_CASE("bytes become bits and come back exactly, as far as bits fit 64 bits") {
    properties::for_counts([](std::int64_t n) {
        if (n > largest / 8) {
            CHECK(is_saturated(to_bits(bytes(n))));
            return;
        }
        CHECK(to_bits(bytes(n)).in(bits) == n * 8);
        CHECK(to_bytes_exact(to_bits(bytes(n))).value() == bytes(n));
        CHECK(to_bytes_up(to_bits(bytes(n))) == bytes(n));
    });
}

TEST_CASE("bits that are no whole number of bytes convert only upwards") {
    for (const std::int64_t odd : {std::int64_t{1}, std::int64_t{7}, std::int64_t{9}, two_to_53 + 1, largest}) {
        const auto refused = to_bytes_exact(bits(odd));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == error_code::inconsistent);
        CHECK(refused.error().field == "bits");
        CHECK(to_bytes_up(bits(odd)) == bytes(odd / 8 + 1));
    }
}

TEST_CASE("sums, differences and products saturate instead of wrapping") {
    properties::for_pairs([](std::int64_t a, std::int64_t b) {
        CAPTURE(a);
        CAPTURE(b);
        CHECK((bytes(a) + bytes(b)).in(bytes) == clamped(wide{a} + b));
        CHECK((bytes(a) - bytes(b)).in(bytes) == a - b);
        CHECK((bytes(-a) - bytes(b)).in(bytes) == clamped(-wide{a} - b));
        CHECK((bytes(a) * b).in(bytes) == clamped(wide{a} * b));
        CHECK((bytes(-a) * b).in(bytes) == clamped(-wide{a} * b));
        CHECK((bytes_a_token(a) * tokens(b)).in(bytes) == clamped(wide{a} * b));
    });
    CHECK((bytes(smallest) - bytes(smallest)).in(bytes) == 0);
    CHECK((bytes(0) - bytes(smallest)).in(bytes) == largest);
    CHECK(is_saturated(gib(largest)));
    CHECK_FALSE(is_saturated(gib(80)));
}

TEST_CASE("a number that does not fit saturates where it enters") {
    CHECK(is_saturated(bytes(std::numeric_limits<std::uint64_t>::max())));
    CHECK(bytes(std::uint64_t{1} << 62).in(bytes) == std::int64_t{1} << 62);
    CHECK(is_saturated(bytes(2) * std::numeric_limits<std::uint64_t>::max()));
}

TEST_CASE("a checked product is the product, or an error that names the field") {
    CHECK(checked_product("layers", gib(1), 80).value() == gib(80));
    const auto refused = checked_product("layers", gib(1), std::int64_t{1} << 40);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == error_code::overflow);
    CHECK(refused.error().field == "layers");
    CHECK(refused.error().value == "1099511627776");
    CHECK_FALSE(checked_product("layers", bytes(-1) * 2, largest));
}

TEST_CASE("shares of a count lose nothing upwards, and invent nothing downwards") {
    properties::for_pairs([](std::int64_t a, std::int64_t b) {
        if (b == 0) return;
        CAPTURE(a);
        CAPTURE(b);
        const std::int64_t up = div_up(bytes(a), b).in(bytes);
        const std::int64_t down = div_down(bytes(a), b).in(bytes);
        CHECK(wide{up} * b >= a);
        CHECK(wide{down} * b <= a);
        CHECK(up - down == (a % b == 0 ? 0 : 1));
        CHECK(times_in(bytes(b), bytes(a)) == down);
        CHECK(div_down(bytes(-a), b).in(bytes) == -up);
        CHECK(div_up(bytes(-a), b).in(bytes) == -down);
    });
}

TEST_CASE("division by zero saturates, as a size without bound") {
    CHECK(is_saturated(div_up(bytes(1), 0)));
    CHECK(is_saturated(div_down(bytes(1), 0)));
    CHECK(div_up(bytes(0), 0) == bytes(0));
    CHECK(times_in(bytes(0), bytes(5)) == largest);
    CHECK(is_saturated(aligned_up(bytes(5), bytes(0))));
    CHECK(std::isinf((gib(1) / gb_per_s(0)).in(seconds)));
}

TEST_CASE("what goes beyond a quantity is their difference, and never below zero") {
    CHECK(beyond(bytes(5), bytes(3)) == bytes(2));
    CHECK(beyond(bytes(3), bytes(3)) == byte_count{});
    CHECK(beyond(bytes(3), bytes(5)) == byte_count{});
    CHECK(beyond(seconds(1.5), seconds(0.5)) == seconds(1.0));
    CHECK(beyond(seconds(0.5), seconds(1.5)) == duration{});
}

TEST_CASE("aligned sizes are the next multiple of the granule") {
    properties::for_pairs([](std::int64_t a, std::int64_t b) {
        if (b == 0) return;
        CAPTURE(a);
        CAPTURE(b);
        const byte_count aligned = aligned_up(bytes(a), bytes(b));
        CHECK(aligned >= bytes(a));
        if (is_saturated(aligned)) return;
        CHECK(aligned.in(bytes) % b == 0);
        CHECK(aligned.in(bytes)-a < b);
        CHECK(aligned_up(aligned, bytes(b)) == aligned);
    });
    CHECK(aligned_up(bytes(1), mib(2)) == mib(2));
    CHECK(aligned_up(mib(2), mib(2)) == mib(2));
}

TEST_CASE("rounding gives the integers on either side") {
    const auto up = [](double x) { return rounded_up(quantity<byte_unit, double>::from_base(x)).in(bytes); };
    const auto down = [](double x) { return rounded_down(quantity<byte_unit, double>::from_base(x)).in(bytes); };
    for (const double x : {0.0, 0.25, 1.0, 1.5, 4503599627370495.5, 9007199254740993.0, 1e18, 9223372036854774784.0}) {
        CAPTURE(x);
        CHECK(static_cast<double>(up(x)) == std::ceil(x));
        CHECK(static_cast<double>(down(x)) == std::floor(x));
        CHECK(static_cast<double>(up(-x)) == std::ceil(-x));
        CHECK(static_cast<double>(down(-x)) == std::floor(-x));
    }
    for (const double x : {9223372036854775808.0, 1e30, HUGE_VAL}) {
        CHECK(up(x) == largest);
        CHECK(down(x) == largest);
        CHECK(up(-x) == smallest);
        CHECK(down(-x) == smallest);
    }
    CHECK(up(std::nan("")) == largest);  // pessimistic: does not fit
    CHECK(down(std::nan("")) == largest);
}

TEST_CASE("a count scales only with its rounding said") {
    CHECK(scaled_up(bytes(3), 0.5) == bytes(2));
    CHECK(scaled_down(bytes(3), 0.5) == bytes(1));
    CHECK(scaled_up(gib(80), 1.0 / 3) - scaled_down(gib(80), 1.0 / 3) == bytes(1));
    CHECK(is_saturated(scaled_up(bytes(largest), 2.0)));
    properties::for_counts([](std::int64_t n) {
        CHECK(scaled_up(bytes(n), 1.0) == bytes(n));
        CHECK(scaled_down(bytes(n), 1.0) == bytes(n));
        if (n > two_to_53) return;
        CHECK(scaled_down(bytes(n), 0.3) <= scaled_up(bytes(n), 0.3));
    });
}

TEST_CASE("quantities of one unit are ordered") {
    CHECK(mib(1) < gib(1));
    CHECK(gib(1) <= mib(1024));
    CHECK(seconds(1) > milliseconds(999));
    CHECK(ratio(gib(1), mib(1)) == 1024.0);
    byte_count total = gib(1);
    total += gib(2);
    total -= mib(1024);
    CHECK(total == gib(2));
}

TEST_CASE("money is of the caller's currency and scales like any other rate") {
    const auto hourly = currency(2.5) / hours(1);
    CHECK((hourly * hours(4)).in(currency) == doctest::Approx(10.0));
}

TEST_CASE("quantities are template arguments and constants") {
    constexpr byte_count weights = gib(16);
    static_assert([]<byte_count Size>() { return Size == gib(16); }.operator()<weights>());
    static_assert(weights + weights == gib(32));
}

TEST_CASE("a whole number divided by one is itself, below zero too") {
    for (const std::int64_t a : {-7, -1, 0, 1, 7}) CHECK(detail::ceil_quotient_of_any(a, 1) == a);
    CHECK(detail::ceil_quotient_of_any(-7, 2) == -3);
}
