// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <llmres/answers/plan_call.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <vector>

using namespace llmres;

namespace {

const cluster eight_h100 = standard_cluster(gpus::h100_sxm5_80gb, 8).value();

std::vector<job> jobs() {
    return {{.model = models::llama_3_1_8b, .batch = 4, .context = tokens(8192), .runtime = runtimes::vllm},
            {.model = models::deepseek_v3, .batch = 64, .context = tokens(4096), .runtime = runtimes::vllm},
            {.model = models::llama_3_1_70b,
             .task = task::pretraining,
             .sequence = tokens(4096),
             .global_batch = 64,
             .runtime = runtimes::megatron},
            {.model = models::llama_3_1_8b, .batch = -1, .runtime = runtimes::vllm}};
}

void check_same(const interval<duration>& a, const interval<duration>& b) {
    CHECK(a.low == b.low);
    CHECK(a.expected == b.expected);
    CHECK(a.high == b.high);
}

void check_same(const result<job_plan>& compiled, const result<job_plan>& here) {
    REQUIRE(compiled.has_value() == here.has_value());
    if (!here) {
        CHECK(compiled.error().field.view() == here.error().field.view());
        CHECK(compiled.error().expected.view() == here.error().expected.view());
        return;
    }
    CHECK(compiled->verdict == here->verdict);
    CHECK(compiled->layout == here->layout);
    CHECK(compiled->memory.total().low == here->memory.total().low);
    CHECK(compiled->memory.total().expected == here->memory.total().expected);
    CHECK(compiled->memory.total().high == here->memory.total().high);
    CHECK(compiled->reason_count == here->reason_count);
    check_same(compiled->speed.step.total(), here->speed.step.total());
    check_same(compiled->speed.prefill.total(), here->speed.prefill.total());
}

}  // namespace

TEST_CASE("what is compiled once answers as what is compiled here, to the digit") {
    for (const job& j : jobs()) {
        check_same(compiled::plan(j, {.tensor = 8}, eight_h100), plan(j, {.tensor = 8}, eight_h100));
        CHECK(compiled::fits(j, {.tensor = 8}, eight_h100) == fits(j, {.tensor = 8}, eight_h100));
    }
}

TEST_CASE("a search that is compiled once finds the same layouts") {
    for (const job& j : jobs()) {
        check_same(compiled::plan(j, eight_h100), plan(j, eight_h100));
        std::array<found_layout, 3> there, here;
        const auto found_there = compiled::search(j, eight_h100, {.objective = objective::fewest_gpus}, there);
        const auto found_here = search(j, eight_h100, {.objective = objective::fewest_gpus}, here);
        REQUIRE(found_there.has_value() == found_here.has_value());
        if (!found_here) continue;
        REQUIRE(found_there->best == found_here->best);
        CHECK(found_there->tried == found_here->tried);
        for (std::size_t i = 0; i < found_here->best; ++i) {
            CHECK(there[i].score == here[i].score);
            check_same(there[i].plan, here[i].plan);
        }
    }
}

namespace {

struct found {
    std::array<found_layout, 10> best{};
    std::array<found_layout, 32> front{};
    search_counts counts{};
};

void check_same(const found& a, const found& b) {
    REQUIRE(a.counts.best == b.counts.best);
    REQUIRE(a.counts.front == b.counts.front);
    CHECK(a.counts.tried == b.counts.tried);
    CHECK(a.counts.refused == b.counts.refused);
    for (std::size_t i = 0; i < a.counts.best; ++i) {
        CHECK(a.best[i].score == b.best[i].score);
        CHECK(a.best[i].choice == b.best[i].choice);
        check_same(a.best[i].plan, b.best[i].plan);
    }
    for (std::size_t i = 0; i < a.counts.front; ++i) {
        CHECK(a.front[i].choice == b.front[i].choice);
        check_same(a.front[i].plan, b.front[i].plan);
    }
}

found on_threads(const job& j, const search_request& r, std::int32_t threads) {
    found f;
    f.counts = compiled::search(j, eight_h100, r, f.best, f.front, objective::fewest_gpus, threads).value();
    return f;
}

}  // namespace

TEST_CASE("a search finds the same on any number of threads, with and without skipping") {
    for (job j : jobs()) {
        if (j.batch < 0) continue;
        search_request r{.space = {.micro_batch = trains(j), .recompute = trains(j)}};
        if (!trains(j)) r.space.max_batch = 64;
        found alone;
        alone.counts =
            search(j, eight_h100, r, alone.best, alone.front, objective::fewest_gpus, [](const search_counts&) {
                return true;
            }).value();
        for (const std::int32_t threads : {1, 2, 3, 7}) {
            CAPTURE(threads);
            const found together = on_threads(j, r, threads);
            check_same(alone, together);
            CHECK(alone.counts.kept == together.counts.kept);
            CHECK(alone.counts.too_large == together.counts.too_large);
            search_request quick = r;
            quick.skip_slower = true;
            check_same(alone, on_threads(j, quick, threads));
        }
    }
}

TEST_CASE("parts of a space that threads share are single choices, or tensor ranks and stages of one") {
    job j = jobs()[2];
    const search_request all{.space = {.micro_batch = true, .recompute_parts = true, .offload = true}};
    check_same(on_threads(j, all, 1), on_threads(j, all, 2));
    check_same(on_threads(j, {}, 1), on_threads(j, {}, 5));
}

TEST_CASE("who watches a search on threads sees all that was tried, and stops it") {
    struct watched {
        std::int64_t calls = 0, tried = 0;
    } seen;
    const job j = jobs()[2];
    std::array<found_layout, 1> best;
    const compiled::search_watcher stop_at_once{[](void* of, const search_counts& counts) {
                                                    auto& to = *static_cast<watched*>(of);
                                                    to.tried = std::max(to.tried, counts.tried);
                                                    return ++to.calls < 2;
                                                },
                                                &seen};
    const search_request all{.space = {.micro_batch = true, .recompute_parts = true, .offload = true}};
    const auto counts = compiled::search(j, eight_h100, all, best, {}, objective::throughput, 2, stop_at_once).value();
    CHECK(counts.cancelled);
    CHECK(seen.calls == 2);
    CHECK(counts.tried >= seen.tried);
}

TEST_CASE("a search on threads refuses what a search refuses, and a number of threads that no machine has") {
    std::array<found_layout, 1> best;
    CHECK(compiled::search(jobs()[3], eight_h100, {}, best, {}, objective::throughput, 2).error().field == "batch");
    CHECK(compiled::search(jobs()[0], eight_h100, {}, best, {}, objective::throughput, -1).error().field == "threads");
    CHECK(compiled::search(jobs()[2], eight_h100, {}, best, {}, objective::time_per_token, 2).error().field ==
          "objective");
}

TEST_CASE("who only watches a search on threads stops nothing, and is told of all that was tried in the end") {
    struct watched {
        std::int64_t calls = 0, most = 0;
    } seen;
    const compiled::search_watcher watcher{[](void* of, const search_counts& counts) {
                                               auto& to = *static_cast<watched*>(of);
                                               to.most = std::max(to.most, counts.tried);
                                               ++to.calls;
                                               return true;
                                           },
                                           &seen};
    const job j = jobs()[2];
    const search_request all{.space = {.micro_batch = true, .recompute_parts = true, .offload = true}};
    for (const std::int32_t threads : {1, 3}) {
        found alone, watching;
        alone.counts =
            compiled::search(j, eight_h100, all, alone.best, alone.front, objective::fewest_gpus, threads).value();
        seen = {};
        watching.counts = compiled::search(j, eight_h100, all, watching.best, watching.front, objective::fewest_gpus,
                                           threads, watcher)
                              .value();
        CHECK_FALSE(watching.counts.cancelled);
        check_same(alone, watching);
        CHECK(seen.calls > 1);
        CHECK(seen.most <= watching.counts.tried);
        CHECK(seen.most > watching.counts.tried / 2);
    }
}

TEST_CASE("a list with room for all that fits has all of it, on any number of threads, with and without skipping") {
    const job j = jobs()[2];
    search_request r{.space = {.micro_batch = true, .recompute = true}};
    std::vector<found_layout> alone(1000), together(1000);
    const search_counts counts = search(j, eight_h100, r, alone).value();
    REQUIRE(counts.best < alone.size());
    r.skip_slower = true;
    for (const std::int32_t threads : {1, 3}) {
        const search_counts shared =
            compiled::search(j, eight_h100, r, together, {}, objective::throughput, threads).value();
        REQUIRE(shared.best == counts.best);
        for (std::size_t i = 0; i < counts.best; ++i) CHECK(together[i].score == alone[i].score);
    }
}

TEST_CASE("a search without lists counts as it would alone, and no number of threads is that of the machine's cores") {
    const job j = jobs()[0];
    const search_counts alone = search(j, eight_h100, {}, {}).value();
    for (const std::int32_t threads : {0, 1, 2}) {
        const search_counts counts =
            compiled::search(j, eight_h100, {}, {}, {}, objective::throughput, threads).value();
        CHECK(counts.tried == alone.tried);
        CHECK(counts.kept == alone.kept);
        CHECK(counts.best == 0);
    }
}
