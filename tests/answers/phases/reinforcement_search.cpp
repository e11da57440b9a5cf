// SPDX-License-Identifier: MIT
// Which workload is the best of a space, of workloads made by hand and of those that a search plans.
#include <llmres/answers/phases/reinforcement_search.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

/// One phase that takes 10 GiB beside what others keep, of 100 answers in a step.
reinforcement_plan made(verdict found, double step, std::int64_t resident = 0) {
    reinforcement_plan p;
    p.phase_count = 1;
    p.phases[0].plan.verdict = found;
    p.phases[0].own = {gib(10), gib(10), gib(10)};
    p.phases[0].resident = {gib(resident), gib(resident), gib(resident)};
    p.answers = 100;
    p.step = {seconds(step), seconds(step), seconds(step)};
    return p;
}

/// Policies of half a billion parameters on two GPUs, whose engine generates 16 answers.
reinforcement_job learning() {
    job policy{.model = models::qwen2_5_0_5b,
               .task = task::finetuning,
               .sequence = tokens(128),
               .micro_batch = 2,
               .global_batch = 16,
               .preference = preference_method::grpo,
               .runtime = runtimes::huggingface};
    job engine{.model = models::qwen2_5_0_5b, .prompt = tokens(64), .output = tokens(64), .runtime = runtimes::vllm};
    engine.runtime.cache.fraction = 0.3;
    return {.policy = policy, .rollout = {.engine = engine, .answers = 16}};
}
cluster two() { return standard_cluster(gpus::h100_sxm5_80gb, 2).value(); }

}  // namespace

TEST_CASE("a workload is better that fits better, then that has more answers a second, or lacks less") {
    using detail::better;
    const reinforcement_plan fast = made(verdict::fits, 1), slow = made(verdict::fits, 2),
                             tight = made(verdict::tight, 0.5), none = made(verdict::does_not_fit, 0.1);
    CHECK(better(fast, slow));
    CHECK_FALSE(better(slow, fast));
    CHECK_FALSE(better(fast, fast));
    CHECK(better(slow, tight));
    CHECK_FALSE(better(tight, slow));
    CHECK(better(tight, none));
    CHECK(better(made(verdict::tight, 0.4), tight));
    // Of what does not fit the times are not read.
    const reinforcement_plan fuller = made(verdict::does_not_fit, 0.01, 5);
    CHECK(better(none, fuller));
    CHECK_FALSE(better(fuller, none));
    CHECK_FALSE(better(none, none));
}

TEST_CASE("the best are kept in their order, as many as there is room for, and the first of equal ones first") {
    std::array<found_reinforcement, 3> best;
    std::size_t count = 0;
    std::int32_t number = 0;
    const auto keep = [&](double step) {
        detail::keep_best(best, count, {.tensor = ++number, .plan = made(verdict::fits, step)});
    };
    const auto kept = [&](std::initializer_list<std::int32_t> numbers) {
        CHECK(count == numbers.size());
        std::size_t at = 0;
        for (const std::int32_t each : numbers) CHECK(best[at++].tensor == each);
    };
    keep(5);
    kept({1});
    keep(3);
    kept({2, 1});
    keep(4);
    kept({2, 3, 1});
    keep(9);
    kept({2, 3, 1});
    keep(3);
    kept({2, 5, 3});
    keep(1);
    kept({6, 2, 5});
}

TEST_CASE("a list that is empty leaves what there is, and another is tried as it is") {
    const auto tried = [](std::initializer_list<int> list) {
        int sum = 0;
        detail::for_each_or(std::span<const int>{list.begin(), list.size()}, 100, [&](int one) { sum += one; });
        return sum;
    };
    CHECK(tried({}) == 100);
    CHECK(tried({1, 2}) == 3);
}

TEST_CASE("all layouts, tensor ranks and parts of the GPUs are planned, and the best comes first") {
    const std::array layouts{layout{.data = 2}, layout{.data = 2, .zero = 3}};
    const std::array<std::int32_t, 2> tensors{1, 2};
    const std::array fractions{0.2, 0.4};
    std::array<found_reinforcement, 16> best;
    const auto count = search_reinforcement(learning(), two(), {layouts, tensors, fractions}, best);
    REQUIRE(count);
    REQUIRE(*count == 8);
    for (std::size_t i = 0; i < *count; ++i) {
        reinforcement_job one = learning();
        one.rollout.layout.tensor = best[i].tensor;
        one.rollout.engine.runtime.cache.fraction = best[i].fraction;
        one.rollout = with_engines(one.rollout, two());
        CHECK(one.rollout.layout.data == 2 / best[i].tensor);
        const auto alone = plan_reinforcement(one, best[i].layout, two());
        REQUIRE(alone);
        CHECK(alone->step.expected == best[i].plan.step.expected);
        for (std::size_t other = 0; other < i; ++other) {
            CHECK_FALSE(detail::better(best[i].plan, best[other].plan));
            CHECK_FALSE((best[i].layout == best[other].layout && best[i].tensor == best[other].tensor &&
                         best[i].fraction == best[other].fraction));
        }
    }
    const auto own = search_reinforcement(learning(), two(), {.layouts = layouts}, best);
    REQUIRE(own);
    REQUIRE(*own == 2);
    CHECK(best[0].tensor == 1);
    CHECK(best[0].fraction == maybe<double>{0.3});
    CHECK(found_reinforcement{}.tensor == found_reinforcement{}.layout.tensor);  // nobody splits what was not found
    // An engine that takes no part of a GPU ahead has none to try.
    reinforcement_job whole = learning();
    whole.rollout.engine.runtime = runtimes::transformers;
    REQUIRE(search_reinforcement(whole, two(), {layouts, tensors, fractions}, best).value() == 4);
    CHECK_FALSE(best[0].fraction);
}

TEST_CASE("what may not be is left out, and is refused where nothing else is tried") {
    std::array<found_reinforcement, 4> best;
    const std::array wrong{layout{.data = 3}, layout{.tensor = 3}};
    const auto refused = search_reinforcement(learning(), two(), {.layouts = wrong}, best);
    REQUIRE_FALSE(refused);
    const auto first = plan_reinforcement(learning(), wrong[0], two());
    CHECK(refused.error().field == first.error().field);
    CHECK(refused.error().value == first.error().value);
    const std::array some{wrong[0], layout{.data = 2}};
    CHECK(search_reinforcement(learning(), two(), {.layouts = some}, best).value() == 1);
    CHECK(search_reinforcement(learning(), two(), {}, best).value() == 0);
}
