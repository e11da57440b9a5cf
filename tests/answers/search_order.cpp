// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <array>
#include <cstdint>
#include <llmres/answers/search.hpp>
#include <llmres/plan.hpp>
#include <vector>

#include "../search_jobs.hpp"

using namespace llmres;
using namespace search_jobs;

TEST_CASE("numbers decide in their order, and equal ones not at all") {
    const auto order = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
        return detail::order_of(std::array{a, b}, std::array{c, d});
    };
    CHECK(order(1, 2, 2, 1) < 0);
    CHECK(order(2, 1, 1, 2) > 0);
    CHECK(order(1, 1, 1, 2) < 0);
    CHECK(order(1, 2, 1, 2) == 0);
}

TEST_CASE("a layout with more of any kind of rank, or a mark, is less simple; more GPUs count first") {
    const layout plain{.tensor = 2, .pipeline = 2, .data = 2};
    CHECK_FALSE(detail::simpler(plain, plain));
    std::vector<layout> others(8, plain);
    others[0].virtual_pipeline = 2;
    others[1].zero = 1;
    others[2].expert = 2;
    others[3].schedule = pipeline_schedule::gpipe;
    others[4].sequence_parallel = true;
    others[5].embedding_as_layer = true;
    others[6].last_stage_layers = 1;
    others[7] = {.tensor = 2, .pipeline = 2, .data = 1, .context_parallel = 2};
    for (const layout& other : others) {
        CAPTURE(&other - others.data());
        CHECK(detail::simpler(plain, other));
        CHECK_FALSE(detail::simpler(other, plain));
    }
    const layout flat{.tensor = 4, .data = 2}, wide{.data = 9};
    CHECK(detail::simpler(flat, plain));                     // stages before tensor ranks
    CHECK(detail::simpler({.tensor = 2, .data = 4}, flat));  // tensor ranks before data ranks
    CHECK(detail::simpler(plain, wide));                     // eight GPUs and not nine
    layout split{.tensor = 2, .data = 2, .expert = 2, .expert_tensor = 2}, whole = split;
    whole.expert_tensor = 1;
    CHECK(detail::simpler(whole, split));
}

TEST_CASE("of equal layouts the choice decides, of equal choices the names of the formats") {
    const auto found = [](const maybe<precision>& weights, const maybe<precision>& kv_cache) {
        return found_layout{.choice = {.weights = weights, .kv_cache = kv_cache}};
    };
    CHECK(detail::simpler(found(bf16, fp8_e4m3), found(fp8_e4m3, bf16)));
    CHECK_FALSE(detail::simpler(found(fp8_e4m3, bf16), found(bf16, fp8_e4m3)));
    CHECK(detail::simpler(found(bf16, bf16), found(bf16, fp8_e4m3)));
    CHECK_FALSE(detail::simpler(found(bf16, bf16), found(bf16, bf16)));
}

TEST_CASE("a score decides before what decides between equals, and that before what is simpler") {
    found_layout a{.plan = {.layout = {.data = 2}}, .score = 1, .next_score = 2};
    found_layout b{.plan = {.layout = {.data = 1}}, .score = 2, .next_score = 1};
    const auto is_first_better = [&] { return detail::better(a, b) && !detail::better(b, a); };
    CHECK(is_first_better());
    b.score = 1 + 1e-9;  // equal in single precision
    CHECK_FALSE(is_first_better());
    a.next_score = 0.5;
    CHECK(is_first_better());
    a.next_score = 1;
    CHECK(detail::better(b, a));
    CHECK_FALSE(detail::better(a, b));
}

TEST_CASE("an objective's score is seconds, GPUs, money or joules of a token") {
    job_plan p{.layout = {.tensor = 4}};
    p.speed.tokens_per_second = approx(tokens_per_s(100));
    cluster c = h100(4);
    c.gpu.board_power = watts(700);
    const auto score = [&](objective o) { return detail::score_of(o, p, c, {.gpu_hour = currency(9)}); };
    CHECK(score(objective::throughput) == doctest::Approx(0.01));
    CHECK(score(objective::fewest_gpus) == 4);
    CHECK(score(objective::cost_per_token) == doctest::Approx(0.01 * 4 * 9 / 3600).epsilon(1e-9));
    CHECK(score(objective::energy_per_token) == doctest::Approx(0.01 * 4 * 700));
}
