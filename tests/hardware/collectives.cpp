// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/collectives.hpp>

using namespace llmres;

namespace {

constexpr llmres::link wire{.raw = gb_per_s(100), .achievable = 0.5, .latency = microseconds(2)};
constexpr collective_kind kinds[]{collective_kind::all_reduce, collective_kind::all_gather,
                                  collective_kind::reduce_scatter, collective_kind::all_to_all, collective_kind::send};

}  // namespace

TEST_CASE("a ring all-reduce sends 2 (n-1)/n of the message at the bandwidth that large transfers reach") {
    const duration t = time_of(collective_kind::all_reduce, gb(8), 8, wire);
    CHECK(t.in(seconds) == doctest::Approx(2 * 7.0 / 8 * 8 / 50 + 14 * 2e-6));
}

TEST_CASE("an all-reduce is a reduce-scatter and an all-gather") {
    for (const std::int64_t ranks : {2, 3, 8, 72})
        CHECK(time_of(collective_kind::all_reduce, mb(300), ranks, wire).in(seconds) ==
              doctest::Approx((time_of(collective_kind::reduce_scatter, mb(300), ranks, wire) +
                               time_of(collective_kind::all_gather, mb(300), ranks, wire))
                                  .in(seconds)));
}

TEST_CASE("one rank alone exchanges nothing") {
    for (const collective_kind kind : kinds)
        if (kind != collective_kind::send) CHECK(time_of(kind, gb(1), 1, wire) == duration{});
}

TEST_CASE("no exchange gets quicker with a longer message") {
    for (const collective_kind kind : kinds) {
        duration before;
        for (std::int64_t size = 1; size < (std::int64_t{1} << 40); size *= 16) {
            const duration t = time_of(kind, bytes(size), 8, wire);
            CHECK(t >= before);
            before = t;
        }
    }
}
