// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

using namespace llmres;

TEST_CASE("an exact value has three equal ends") {
    constexpr interval<byte_count> exact = gib(3);
    static_assert(exact.low == gib(3) && exact.expected == gib(3) && exact.high == gib(3));
    CHECK(exact.contains(gib(3)));
    CHECK_FALSE(exact.contains(gib(4)));
}

TEST_CASE("estimates that add may err together") {
    const interval<byte_count> sum =
        interval<byte_count>{mib(1), mib(2), mib(4)} + interval<byte_count>{mib(10), mib(20), mib(40)};
    CHECK(sum == interval<byte_count>{mib(11), mib(22), mib(44)});
}
