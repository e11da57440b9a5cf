// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <array>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <memory>
#include <vector>

#include "../properties.hpp"
#include "../sanitized.hpp"
#include "../search_jobs.hpp"

using namespace llmres;
using namespace search_jobs;

TEST_CASE("no random layout of the space beats the search") {
    properties::generator random;
    const std::array<job, 3> jobs{serving(models::qwen3_32b, 64), training(models::llama_3_1_8b, 128),
                                  training(models::mixtral_8x7b, 128)};
    for (const job& j : jobs) {
        const double best = rate(plan(j, h100(32)).value());
        for (int i = 0; i < (sanitized ? 200 : 2'000); ++i) {
            layout l{.tensor = 1 << random.bits() % 4, .pipeline = 1 << random.bits() % 4};
            l.data = 1 << random.bits() % 6;
            if (trains(j)) {
                l.zero = static_cast<std::int32_t>(random.bits() % 4);
                l.sequence_parallel = l.tensor > 1;
                if (l.pipeline > 1 && l.zero > 1) l.zero = 1;
                if (l.data == 1) l.zero = 0;
            }
            const result<job_plan> p = plan(j, l, h100(32));
            if (!p || p->verdict != verdict::fits) continue;
            CAPTURE(i);
            CHECK(best >= rate(*p) * (1 - 1e-6));
        }
    }
}

TEST_CASE("no layout is faster than the bound that a search skips it by") {
    std::vector<job> jobs{serving(models::llama_3_1_70b, 64), training(models::llama_3_1_8b, 128),
                          training(models::mixtral_8x7b, 128), training(models::deepseek_v3, 512)};
    jobs[2].offload = {.optimizer = offload_place::host, .activations = offload_place::host};
    for (const job& j : jobs) {
        std::int64_t layouts = 0;
        for_each_layout(j, {}, h100(64), [&](const layout& l) {
            const result<job_plan> p = plan(j, l, h100(64));
            if (!p) return false;
            detail::layout_folds folds;
            const job_speed least = detail::speed_of(j, l, h100(64), nullptr, default_efficiency, folds);
            CHECK(least.tokens_per_second >= p->speed.tokens_per_second);
            CHECK(least.step.total().expected <= p->speed.step.total().expected);
            CHECK(least.prefill.total().expected <= p->speed.prefill.total().expected);
            return ++layouts == (sanitized ? 20 : 200);
        });
        CHECK(layouts > 10);
    }
}

TEST_CASE("no layout holds less than the bound by which a search leaves it out as too large") {
    std::vector<job> jobs{training(models::llama_3_1_8b, 128), training(models::mixtral_8x7b, 128),
                          training(models::deepseek_v3, 512),  training(models::llama_3_1_70b, 64),
                          serving(models::llama_3_1_70b, 64),  serving(models::deepseek_v3, 64)};
    jobs[1].offload = {.optimizer = offload_place::host, .activations = offload_place::host};
    jobs[2].recompute = recompute::full;
    jobs.push_back(training(models::llama_3_1_70b, 64));
    jobs.back().steps = 1;  // the optimizer's states are not there before it ends
    const cluster c = h100(64);
    for (const job& j : jobs) {
        std::int64_t layouts = 0, too_large = 0;
        detail::layout_folds folds{detail::folds_are::kept};
        const auto exceed = [&](const layout& l, byte_count room) {
            return detail::surely_exceeds(j, l, c, room, folds.training, folds.serving);
        };
        for_each_layout(j, {}, c, [&](const layout& l) {
            const result<job_plan> p = plan(j, l, c);
            if (!p) return false;
            CHECK_FALSE(exceed(l, p->memory.total().high));
            const bool exceeds = exceed(l, p->usable);
            if (exceeds) CHECK(p->verdict != verdict::fits);
            too_large += exceeds;
            return ++layouts == (sanitized ? 20 : 200);
        });
        CHECK(layouts > 10);
        CHECK(too_large > 0);
    }
}

TEST_CASE("a search that skips by bounds finds what one of all layouts finds") {
    const search_request free{.space = {.micro_batch = true, .recompute = true, .offload = true}};
    for (const job& j : {training(models::llama_3_1_8b, 64), training(models::mixtral_8x7b, 64)}) {
        std::array<found_layout, 1> best;
        REQUIRE(search(j, h100(16), free, best)->best == 1);
        const found_layout alone = search(j, h100(16), free).value();
        CHECK(alone.plan.layout == best[0].plan.layout);
        CHECK(with_choice(j, alone.choice).micro_batch == with_choice(j, best[0].choice).micro_batch);
        CHECK(alone.choice.recompute == best[0].choice.recompute);
        CHECK(alone.choice.offload == best[0].choice.offload);
    }
    for (const objective o : {objective::throughput, objective::time_to_first_token, objective::time_per_token,
                              objective::fewest_gpus, objective::energy_per_token}) {
        std::array<found_layout, 1> best;
        const search_request asked{.objective = o, .space = {.max_batch = 64}};
        REQUIRE(search(serving(models::mixtral_8x7b, 64), h100(8), asked, best)->best == 1);
        const found_layout alone = search(serving(models::mixtral_8x7b, 64), h100(8), asked).value();
        CHECK(alone.plan.layout == best[0].plan.layout);
        CHECK(alone.choice.batch == best[0].choice.batch);
    }
}

namespace {

struct found {
    std::vector<found_layout> best{}, front{};
    search_counts counts{};
};
/// The best ten and the front of a search.
found best_and_front(const job& j, const cluster& c, const search_request& r, objective against, std::size_t top = 10) {
    found f{.best = std::vector<found_layout>(top), .front = std::vector<found_layout>(32)};
    f.counts = search(j, c, r, f.best, f.front, against, [](const search_counts&) { return true; }).value();
    f.best.resize(f.counts.best);
    f.front.resize(f.counts.front);
    return f;
}

/// What a search finds that skips what its bounds keep from the best and the front must be what one of all layouts
/// does.
void check_skipping(const job& j, const cluster& c, search_request r, objective against) {
    CAPTURE(name_of(r.objective));
    CAPTURE(name_of(against));
    const found all = best_and_front(j, c, r, against);
    r.skip_slower = true;
    const found skipping = best_and_front(j, c, r, against);
    check_same(all.best, skipping.best);
    check_same(all.front, skipping.front);
    CHECK(all.counts.tried == skipping.counts.tried);
    CHECK(all.counts.skipped == 0);
    CHECK(skipping.counts.skipped > 0);
    std::vector<found_layout> best(10);
    const search_counts of_best = search(j, c, r, best).value();
    best.resize(of_best.best);
    check_same(all.best, best);
    CHECK(of_best.skipped >= skipping.counts.skipped);
    const found no_front = best_and_front(j, c, r, against, 1);
    CHECK(no_front.best[0].plan.layout == all.best[0].plan.layout);
    CHECK(no_front.best[0].choice == all.best[0].choice);
}

}  // namespace

TEST_CASE("skipping by bounds changes neither the best ten nor the front, by any objective") {
    constexpr std::array all{objective::throughput,  objective::time_to_first_token, objective::time_per_token,
                             objective::fewest_gpus, objective::cost_per_token,      objective::energy_per_token};
    for (const objective o : all) {
        const objective against = all[(static_cast<std::size_t>(o) + 3) % all.size()];
        const search_request asked{.objective = o, .space = {.max_batch = 64}, .prices = {.gpu_hour = currency(2)}};
        check_skipping(serving(models::mixtral_8x7b, 64), h100(8), asked, against);
        if (o == objective::time_to_first_token || o == objective::time_per_token) continue;
        search_request free{.objective = o,
                            .space = {.micro_batch = true, .recompute_parts = true, .schedule = true},
                            .prices = {.gpu_hour = currency(2)}};
        free.space.layouts.context_parallel = false;
        check_skipping(training(models::llama_3_1_8b, 16), h100(sanitized ? 4 : 8), free,
                       o == objective::throughput ? objective::fewest_gpus : objective::throughput);
    }
}

TEST_CASE("of layouts with equal scores the order is the same whichever is planned first") {
    found_layout a, b;
    CHECK_FALSE(detail::simpler(a, b));
    b.choice.micro_batch = 2;
    CHECK(detail::better(a, b));
    CHECK_FALSE(detail::better(b, a));
    b = a;
    b.plan.layout.schedule = pipeline_schedule::gpipe;
    CHECK(detail::better(a, b));
    b = a;
    b.choice.kv_cache = fp8_e4m3;
    CHECK(detail::better(a, b));
    CHECK_FALSE(detail::better(b, a));
    b = a;
    b.choice.offload.optimizer = offload_place::host;
    CHECK(detail::better(a, b));
}

TEST_CASE("on one GPU the bound of one choice is no other's") {
    job j = training(models::qwen2_5_0_5b, 64, tokens(128));
    const search_request free{.space = {.micro_batch = true}};
    std::array<found_layout, 1> best;
    REQUIRE(search(j, h100(1), free, best)->best == 1);
    REQUIRE(best[0].choice.micro_batch > 2);
    const found_layout skipping = search(j, h100(1), free).value();
    CHECK(skipping.choice.micro_batch == best[0].choice.micro_batch);
    CHECK(skipping.score == best[0].score);
}
