// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "search.hpp"
#include "simulated_cuda.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

/// 8 GiB of weights and, for each sequence, a cache that the device's granularity rounds up.
plan_file serving(byte_count cache_a_layer) {
    plan_file plan;
    plan.batch = 1;
    plan.context = 1024;
    plan.buffers.push_back({"weights", "weights", gib(1), 8});
    plan.buffers.push_back({"kv", "kv_cache", cache_a_layer, 32, true, true});
    return plan;
}

search_result search(simulation s, const plan_file& plan, plan_axis axis = plan_axis::batch) {
    simulated_cuda cuda{std::move(s)};
    const stop_signal stop;
    const alloc_environment around{cuda, [&] { return reading<byte_count>{cuda.others()}; }, stop};
    const auto found = search_largest(around, [&](std::int64_t n) { return scaled(plan, axis, n); },
                                      {.guard = default_guard(gib(24))});
    CHECK(cuda.held() == byte_count{});
    CHECK(cuda.peak() <= gib(24) - default_guard(gib(24)));
    return found;
}

}  // namespace

TEST_CASE("bisection finds the largest n for every answer") {
    for (std::int64_t largest = 0; largest <= 40; ++largest)
        CHECK(bisect(1, 40, [&](std::int64_t n) { return std::optional{n <= largest}; }) == largest);
    CHECK_FALSE(bisect(1, 40, [](std::int64_t) { return std::optional<bool>{}; }).has_value());
}

TEST_CASE("the search finds what arithmetic with the device's rounding gives, within the guard band") {
    for (const byte_count cache : {mib(1), mib(2), mib(3), kib(100), kib(2049)}) {
        CAPTURE(cache.base());
        const auto found = search({}, serving(cache));
        CHECK(found.says == verdict::fits);
        const byte_count room = gib(24) - default_guard(gib(24)) - gib(8);
        std::int64_t largest = 0;
        while (aligned_up(cache * (largest + 1), mib(2)) * 32 <= room) ++largest;
        CHECK(found.largest == largest);
        CHECK(found.predicted_in_guard >= found.largest);
        CHECK(found.tries.size() <= 40);
    }
}

TEST_CASE("context is searched like batch, in tokens") {
    const auto found = search({}, serving(mib(4)), plan_axis::context);
    CHECK(found.says == verdict::fits);
    CHECK(found.largest > 100'000);
    CHECK(found.largest <= found.predicted_in_guard);
    CHECK(static_cast<double>(found.predicted_in_guard - found.largest) <
          0.01 * static_cast<double>(found.predicted_in_guard));
}

TEST_CASE("where not even one fits, the answer is none") {
    plan_file plan = serving(mib(1));
    plan.buffers[0].size = gib(4);
    const auto found = search({}, plan);
    CHECK(found.says == verdict::does_not_fit);
    CHECK(found.largest == 0);
    CHECK(found.tries.empty());
}

TEST_CASE("a device that holds less than arithmetic says is still searched to the end") {
    simulation s;
    s.granule = mib(64);  // half of each cache is lost to rounding
    const auto found = search(s, serving(mib(33)));
    CHECK(found.says == verdict::fits);
    const byte_count room = gib(24) - default_guard(gib(24)) - gib(8);
    std::int64_t largest = 0;
    while (aligned_up(mib(33) * (largest + 1), mib(64)) * 32 <= room) ++largest;
    CHECK(found.largest == largest);
}

TEST_CASE("a tenant that moves, a fault and Ctrl-C end the search") {
    simulation moving;
    moving.tenants = [](std::int64_t n) { return n > 20 ? gib(2) : byte_count{}; };
    CHECK(search(moving, serving(mib(1))).says == verdict::inconclusive);
    simulation faulty;
    faulty.fail_at = 30;
    CHECK(search(faulty, serving(mib(1))).says == verdict::failed);
    simulation interrupted;
    interrupted.on_allocate = [](std::int64_t n) {
        if (n == 20) stop_signal::noted() = 2;
    };
    CHECK(search(interrupted, serving(mib(1))).says == verdict::skipped);
    stop_signal::noted() = 0;
}

TEST_CASE("a plan that nothing can be searched in is refused") {
    plan_file plan = serving(mib(1));
    plan.batch.reset();
    CHECK(search({}, plan).reason.find("job.batch") == 0);
    plan = serving(mib(1));
    plan.buffers.pop_back();
    CHECK(search({}, plan).reason.find("grows") != std::string::npos);
    simulated_cuda cuda;
    const stop_signal stop;
    const alloc_environment around{cuda, [] { return reading<byte_count>{}; }, stop};
    CHECK(
        search_largest(around, [](std::int64_t n) { return scaled(serving(mib(1)), plan_axis::batch, n); }, {}).says ==
        verdict::failed);
}
