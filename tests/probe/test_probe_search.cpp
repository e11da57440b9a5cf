// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "alloc.hpp"
#include "simulated_cuda.hpp"
#include "tested_plan.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

/// 8 GiB of weights and, for each sequence, a cache that the device's granularity rounds up.
tested_plan serving(byte_count cache_a_layer) {
    tested_plan plan;
    plan.buffers.push_back({"weights", memory_term::weights, gib(1), 8});
    plan.buffers.push_back({"kv", memory_term::kv_cache, cache_a_layer, 32});
    plan.usable = plan.available = gib(24);
    return plan;
}

/// The plan with a cache of `n` times the size, rounded up, in so many parts.
tested_plan times(tested_plan plan, std::int64_t n, std::int64_t parts = 1) {
    plan.buffers[1].size = div_up(plan.buffers[1].size * n, parts);
    return plan;
}

search_result search(simulation s, const tested_plan& plan, std::int64_t parts = 1) {
    simulated_cuda cuda{std::move(s)};
    const stop_signal stop;
    const alloc_environment around{cuda, [&] { return reading<byte_count>{cuda.others()}; }, stop};
    const auto found =
        search_largest(around, [&](std::int64_t n) { return result<tested_plan>{times(plan, n, parts)}; },
                       {.guard = default_guard(gib(24))});
    CHECK(cuda.held() == byte_count{});
    CHECK(cuda.peak() <= gib(24) - default_guard(gib(24)));
    return found;
}

}  // namespace

TEST_CASE("the search finds what arithmetic with the device's rounding gives, within the guard band") {
    for (const byte_count cache : {mib(1), mib(2), mib(3), kib(100), kib(2049)}) {
        CAPTURE(cache.base());
        const auto found = search({}, serving(cache));
        CHECK(found.says == probe::verdict::fits);
        const byte_count room = gib(24) - default_guard(gib(24)) - gib(8);
        std::int64_t largest = 0;
        while (aligned_up(cache * (largest + 1), mib(2)) * 32 <= room) ++largest;
        CHECK(found.largest == largest);
        CHECK(found.predicted_in_guard >= found.largest);
        CHECK(found.tries.size() <= 40);
    }
}

TEST_CASE("context is searched like batch, in tokens") {
    const auto found = search({}, serving(mib(4)), 1024);
    CHECK(found.says == probe::verdict::fits);
    CHECK(found.largest > 100'000);
    CHECK(found.largest <= found.predicted_in_guard);
    CHECK(static_cast<double>(found.predicted_in_guard - found.largest) <
          0.01 * static_cast<double>(found.predicted_in_guard));
}

TEST_CASE("where not even one fits, the answer is none") {
    tested_plan plan = serving(mib(1));
    plan.buffers[0].size = gib(4);
    const auto found = search({}, plan);
    CHECK(found.says == probe::verdict::does_not_fit);
    CHECK(found.largest == 0);
    CHECK(found.tries.empty());
}

TEST_CASE("a device that holds less than arithmetic says is still searched to the end") {
    simulation s;
    s.granule = mib(64);  // half of each cache is lost to rounding
    const auto found = search(s, serving(mib(33)));
    CHECK(found.says == probe::verdict::fits);
    const byte_count room = gib(24) - default_guard(gib(24)) - gib(8);
    std::int64_t largest = 0;
    while (aligned_up(mib(33) * (largest + 1), mib(64)) * 32 <= room) ++largest;
    CHECK(found.largest == largest);
}

TEST_CASE("a tenant that moves, a fault and Ctrl-C end the search") {
    simulation moving;
    moving.tenants = [](std::int64_t n) { return n > 20 ? gib(2) : byte_count{}; };
    CHECK(search(moving, serving(mib(1))).says == probe::verdict::inconclusive);
    simulation faulty;
    faulty.fail_at = 30;
    CHECK(search(faulty, serving(mib(1))).says == probe::verdict::failed);
    simulation interrupted;
    interrupted.on_allocate = [](std::int64_t n) {
        if (n == 20) stop_signal::noted() = 2;
    };
    CHECK(search(interrupted, serving(mib(1))).says == probe::verdict::skipped);
    stop_signal::noted() = 0;
}

TEST_CASE("a job that cannot be planned at 1 is refused by name") {
    simulated_cuda cuda;
    const stop_signal stop;
    const alloc_environment around{cuda, [&] { return reading<byte_count>{cuda.others()}; }, stop};
    const auto refusing = [](std::int64_t) -> result<tested_plan> {
        return refused(error_code::missing, "job.batch", "", "a size");
    };
    const auto found = search_largest(around, refusing, {});
    CHECK(found.says == probe::verdict::failed);
    CHECK(found.reason.find("job.batch") == 0);
}

TEST_CASE("the planner's own largest is tried, and one more") {
    simulated_cuda cuda;
    const stop_signal stop;
    const alloc_environment around{cuda, [&] { return reading<byte_count>{cuda.others()}; }, stop};
    const auto found = [&](std::int64_t planned) {
        return search_largest(
            around, [&](std::int64_t n) { return result<tested_plan>{times(serving(mib(32)), n)}; }, {}, planned);
    };
    const auto modest = found(8);  // 16 GiB of cache, at 1 GiB a sequence
    CHECK(modest.largest == 16);
    CHECK(modest.planned->fits);
    CHECK(modest.beyond->n == 9);
    CHECK(modest.beyond->fits);
    const auto right = found(16);
    CHECK(right.planned->fits);
    CHECK_FALSE(right.beyond->fits);
    CHECK_FALSE(found(17).planned->fits);
}

TEST_CASE("every search of a training plan answers, by batch and by context") {
    int answers = 0;
    for (const std::string model : {"llama-3.2-1b", "tinyllama-1.1b", "smollm2-135m", "smollm2-1.7b", "qwen2.5-0.5b",
                                    "qwen2.5-1.5b", "qwen3-0.6b", "qwen3-1.7b", "gemma-3-1b", "gpt2", "gpt2-xl",
                                    "pythia-410m", "bloom-560m", "opt-125m", "stablelm-2-1.6b", "qwen-1.8b"}) {
        CAPTURE(model);
        auto request = request_of(R"({"model":")" + model +
                                      R"(","task":"pretraining","micro_batch":1,"sequence":512,)"
                                      R"("runtime":"pytorch","cluster":{"gpu":"h100-sxm5-80gb"}})",
                                  {});
        REQUIRE(request.has_value());
        const auto plan = plan_of(*request);
        REQUIRE(plan.has_value());
        for (const std::string axis : {"batch", "context"}) {
            simulation s;
            s.total = gib(79);
            simulated_cuda cuda{s};
            const stop_signal stop;
            const alloc_environment around{cuda, [&] { return reading<byte_count>{cuda.others()}; }, stop};
            const auto found = search_largest(
                around, [&](std::int64_t n) { return memory_of_plan(changed(plan->request, axis, n)); }, {},
                plan->largest(axis));
            CHECK(found.reason == "");
            CHECK(found.says == probe::verdict::fits);
            CHECK(found.largest >= 1);
            CHECK(found.planned.has_value());
            CHECK(found.planned->fits);  // a promise is kept
            ++answers;
        }
    }
    CHECK(answers == 32);
}
