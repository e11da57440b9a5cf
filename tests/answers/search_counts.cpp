// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <string>
#include <vector>

#include "../search_jobs.hpp"

using namespace llmres;
using namespace search_jobs;

TEST_CASE("every layout that is tried counts once: refused, too large, too slow, skipped or kept") {
    const cluster c = h100(16);
    job at_once = training(models::llama_3_1_8b, 16);  // of one micro-batch a step: sixteen data ranks alone
    at_once.optimizer.in_backward = true;
    at_once.runtime = runtimes::pytorch;
    for (const job& j : {training(models::llama_3_1_8b, 64), training(models::mixtral_8x7b, 64),
                         serving(models::llama_3_1_70b, 64), at_once}) {
        search_request r{.limits = {.memory_margin = gib(1)}};
        if (!trains(j)) r.limits.time_per_token = search(j, c)->plan.speed.step.expected() * 1.5;
        search_counts plain;
        for_each_layout(j, {}, c, [&](const layout& l) {
            const result<job_plan> p = plan(j, l, c);
            ++plain.tried;
            if (!p)
                ++plain.refused;
            else if (p->verdict != verdict::fits || p->memory.total().high + gib(1) > p->usable)
                ++plain.too_large;
            else if (r.limits.time_per_token && p->speed.step.expected() > *r.limits.time_per_token)
                ++plain.too_slow;
            else
                ++plain.kept;
            return false;
        });
        std::array<found_layout, 3> best;
        const search_counts counts = search(j, c, r, best).value();
        CHECK(counts.tried == plain.tried);
        CHECK(counts.refused == plain.refused);
        CHECK(counts.too_large == plain.too_large);
        CHECK(counts.too_slow == plain.too_slow);
        CHECK(counts.kept == plain.kept);
        CHECK(counts.skipped == 0);
        CHECK_FALSE(counts.cancelled);
        CHECK((plain.refused > 0) == j.optimizer.in_backward);
        CHECK(plain.too_large > 0);
        CHECK(plain.kept > 0);
    }
}

TEST_CASE("GPipe is tried of each layout with stages, beside the schedule that the layout has") {
    const job j = training(models::llama_3_1_8b, 16);
    std::int64_t all = 0, with_stages = 0;
    for_each_layout(j, {}, h100(8), [&](const layout& l) {
        ++all;
        with_stages += l.pipeline > 1 && l.virtual_pipeline == 1;
        return false;
    });
    REQUIRE(with_stages > 0);
    std::array<found_layout, 1> best;
    const std::int64_t plain = search(j, h100(8), {}, best)->tried;
    CHECK(plain == all);
    CHECK(search(j, h100(8), {.space = {.schedule = true}}, best)->tried >= all + with_stages);
    std::vector<found_layout> found(1000);
    found.resize(search(j, h100(8), {.space = {.schedule = true}}, found)->best);
    CHECK(std::any_of(found.begin(), found.end(),
                      [](const found_layout& f) { return f.plan.layout.schedule == pipeline_schedule::gpipe; }));
    const layout_space two{.given = {.pipeline = 2}, .pipeline = false, .virtual_pipeline = false};
    const search_request either{.space = {.layouts = two, .schedule = true}};
    CHECK(search(j, h100(8), either, best)->tried == 2 * search(j, h100(8), {.space = {.layouts = two}}, best)->tried);
    job alone = j;
    alone.model.layers.size = 1;
    CHECK(search(alone, h100(8), {.space = {.schedule = true}}, best)->tried ==
          search(alone, h100(8), {}, best)->tried);
}

TEST_CASE("a watcher that stops a search is not asked again, whatever is left to choose") {
    int calls = 0;
    std::array<found_layout, 1> best;
    const search_request r{.space = {.micro_batch = true, .schedule = true}};
    search(training(models::llama_3_1_8b, 64), h100(8), r, best, {}, objective::throughput, [&](const search_counts&) {
        return ++calls > 1;
    }).value();
    CHECK(calls == 1);
}

TEST_CASE("a search of one node takes no more than its GPUs, nor more than it may") {
    const job j = serving(models::llama_3_1_8b, 64);
    const auto gpus = [&](std::int32_t most) {
        return search(j, h100(16), {.limits = {.one_node = true}, .space = {.layouts = {.most_gpus = most}}})
            ->plan.layout.gpus();
    };
    CHECK(gpus(0) == 8);
    CHECK(gpus(4) == 4);
    CHECK(gpus(16) == 8);
}

TEST_CASE("a full front is that of a search with more room, without the slowest") {
    const job j = serving(models::llama_3_1_70b, 64);
    const auto front_of = [&](std::size_t room) {
        std::vector<found_layout> front(room);
        front.resize(search(j, h100(8), {.space = {.max_batch = 64}}, {}, front, objective::time_per_token,
                            [](const search_counts&) { return true; })
                         ->front);
        return front;
    };
    const std::vector<found_layout> all = front_of(64);
    REQUIRE(all.size() > 4);
    REQUIRE(all.size() < 64);
    for (std::size_t i = 1; i < all.size(); ++i) {
        CHECK(all[i - 1].next_score < all[i].next_score);
        CHECK(all[i - 1].plan.speed.step.expected() > all[i].plan.speed.step.expected());
    }
    const std::vector<found_layout> one = front_of(1);
    REQUIRE(one.size() == 1);
    CHECK(one[0].plan.layout == all[0].plan.layout);
    CHECK(one[0].choice == all[0].choice);
}

namespace {

/// A watcher that leaves every other part of a space to another search.
struct every_other {
    bool odd = false;
    constexpr bool operator()(const search_counts&) const { return true; }
    constexpr bool takes(const detail::running_search<every_other>& running) const {
        return (running.part % 2 == 1) == odd;
    }
};

}  // namespace

TEST_CASE("two searches of the parts of a space, added, are one search of all of it") {
    for (const bool odd_first : {true, false})
        for (const job& j : {training(models::llama_3_1_8b, 64), serving(models::llama_3_1_70b, 64)}) {
            const cluster c = h100(16);
            const search_request r;
            const auto search_into = [&](std::vector<found_layout>& best, std::vector<found_layout>& front,
                                         every_other& watch) {
                return detail::running_search<every_other>{.c = c,
                                                           .r = r,
                                                           .best = detail::room_of(best),
                                                           .front = detail::room_of(front),
                                                           .against = objective::fewest_gpus,
                                                           .watch = watch};
            };
            std::vector<found_layout> best(5), front(8), other_best(5), other_front(8);
            every_other odd{odd_first}, even{!odd_first};
            auto sum = search_into(best, front, odd);
            auto other = search_into(other_best, other_front, even);
            REQUIRE(detail::run(sum, j, c));
            REQUIRE(detail::run(other, j, c));
            CHECK(sum.counts.tried > 0);
            CHECK(other.counts.tried > 0);
            sum.add(other);
            std::vector<found_layout> whole(5), whole_front(8);
            const search_counts counts =
                search(j, c, r, whole, whole_front, objective::fewest_gpus, [](const search_counts&) {
                    return true;
                }).value();
            check_same(best, whole);
            front.resize(sum.counts.front), whole_front.resize(counts.front);
            check_same(front, whole_front);
            CHECK(sum.counts.tried == counts.tried);
            CHECK(sum.counts.refused == counts.refused);
            CHECK(sum.counts.too_large == counts.too_large);
            CHECK(sum.counts.kept == counts.kept);
        }
}

TEST_CASE("of two searches of parts the refusal of the earlier part is the first") {
    const cluster c = h100(8);
    const search_request r;
    detail::unwatched watch;
    const auto refusing = [&](std::string_view field, std::int64_t part) {
        return detail::running_search<detail::unwatched>{
            .c = c,
            .r = r,
            .best = {},
            .front = {},
            .against = {},
            .watch = watch,
            .first_refusal = field.empty() ? maybe<error>{} : maybe<error>{error{.field = field}},
            .refused_in = part};
    };
    const auto first_of = [&](auto&& sum, const auto& other) {
        sum.add(other);
        return std::string{sum.first_refusal ? sum.first_refusal->field.view() : std::string_view{}};
    };
    CHECK(first_of(refusing("a", 1), refusing("b", 2)) == "a");
    CHECK(first_of(refusing("a", 2), refusing("b", 1)) == "b");
    CHECK(first_of(refusing("a", 2), refusing("b", 2)) == "a");
    CHECK(first_of(refusing("", 0), refusing("b", 2)) == "b");
    CHECK(first_of(refusing("a", 2), refusing("", 0)) == "a");
    for (std::array<std::int64_t, 4> parts{1, 2, 3, 4}; std::next_permutation(parts.begin(), parts.end());) {
        auto all = refusing(std::to_string(parts[0]), parts[0]);
        for (const std::int64_t part : {parts[1], parts[2], parts[3]}) all.add(refusing(std::to_string(part), part));
        CHECK(all.first_refusal->field == "1");
        CHECK(all.refused_in == 1);
    }
    search_counts sum{.refused = 1, .too_slow = 2, .skipped = 3};
    detail::add_counts(sum, {.refused = 7, .too_slow = 10, .skipped = 20, .cancelled = true});
    CHECK(sum.refused == 8);
    CHECK(sum.too_slow == 12);
    CHECK(sum.skipped == 23);
    CHECK(sum.cancelled);
}

TEST_CASE("a search that breaks a limit of time says in microseconds what would keep it") {
    const job j = serving(models::llama_3_1_70b, 64);
    const cluster c = h100(8);
    const auto micro = [](duration d) { return static_cast<std::int64_t>(d.in(seconds) * 1e6) + 1; };
    const duration step = search(j, c, {.objective = objective::time_per_token})->plan.speed.step.expected();
    const duration prompt = search(j, c, {.objective = objective::time_to_first_token})->plan.speed.prefill.expected();
    const duration little = approx(seconds(1)) * 1e-5;
    search_request r{.objective = objective::time_per_token, .limits = {.time_per_token = little}};
    error slow = search(j, c, r).error();
    CHECK(slow.field == "max_time_per_token");
    CHECK(slow.value == "10");
    CHECK(slow.expected.view().ends_with(", " + std::to_string(micro(step))));
    r.limits.time_per_token = approx(seconds(1)) * (static_cast<double>(micro(step)) * 1e-6);
    CHECK(search(j, c, r));
    r = {.objective = objective::time_to_first_token, .limits = {.time_to_first_token = little * 2}};
    slow = search(j, c, r).error();
    CHECK(slow.field == "max_time_to_first_token");
    CHECK(slow.value == "20");
    CHECK(slow.expected.view().ends_with(", " + std::to_string(micro(prompt))));
    r.limits.time_to_first_token = prompt;
    r.limits.time_per_token = little;
    CHECK(search(j, c, r).error().field == "max_time_per_token");
    r.limits.time_per_token = search(j, c, {.objective = objective::time_to_first_token})->plan.speed.step.expected();
    CHECK(search(j, c, r));  // the limits are times that may be taken
}

TEST_CASE("the nearest to fitting needs the least") {
    for (const job& j : {serving(models::llama_3_1_405b, 64), training(models::llama_3_1_405b, 64)}) {
        const cluster c = standard_cluster(gpus::a100_sxm4_40gb, 8).value();
        byte_count least = tib(1000);
        layout nearest;
        for_each_layout(j, {}, c, [&](const layout& l) {
            const result<job_plan> p = plan(j, l, c);
            if (p && p->memory.total().expected < least) least = p->memory.total().expected, nearest = l;
            return false;
        });
        const found_layout f = search(j, c).value();
        CHECK(f.plan.memory.total().expected == least);
        CHECK(f.plan.layout == nearest);
        CHECK(f.plan.speed.step.expected() > duration{});
    }
}

TEST_CASE("an empty space is blamed on what alone would fill it") {
    const auto refusal_of = [](const job& j, const cluster& c, const layout_space& space) {
        return search(j, c, {.space = {.layouts = space}}).error();
    };
    const job j = serving(models::llama_3_1_8b, 8);
    // A given stage of ZeRO is right, three context-parallel ranks are not.
    error e = refusal_of(
        training(models::llama_3_1_8b, 16), h100(8),
        {.given = {.context_parallel = 3, .zero = 1}, .context_parallel = false, .zero = false, .least_gpus = 8});
    CHECK(e.field == "layout.context_parallel");
    e = refusal_of(j, h100(8), {.given = {.tensor = 2}, .tensor = false, .most_gpus = 1});
    CHECK(e.field == "layout");
    CHECK(e.expected == "at most the GPUs that may be taken, 1");
    e = refusal_of(training(models::qwen3_30b_a3b, 64), h100(64),
                   {.given = {.expert = 3, .expert_tensor = 2}, .expert = false});
    CHECK(e.field == "layout.expert");
    CHECK(e.expected.view().starts_with("1, 2, 4, 8, ... with"));
    e = refusal_of(training(models::mixtral_8x7b, 64), h100(8),
                   {.given = {.tensor = 8, .expert = 3}, .tensor = false, .expert = false});
    CHECK(e.field == "layout.expert");  // all GPUs are no more than there are
    // Where the runtime has no expert ranks, the split of experts goes with their number: five parts would not divide
    // 768 features.
    job whole = training(models::qwen3_30b_a3b, 64);
    whole.runtime.layouts.expert = false;
    e = refusal_of(whole, h100(8), {.given = {.expert = 2, .expert_tensor = 5}, .expert = false});
    CHECK(e.field == "layout.expert");
    CHECK(e.expected.view().starts_with("1 with"));
    job batches = training(models::llama_3_1_8b, 12);
    batches.micro_batch = 4;
    e = refusal_of(batches, h100(8), {.given = {.replicas = 2}});
    CHECK(e.field == "global_batch");
    CHECK(e.expected == "a multiple of micro_batch x replicas, 8");
    batches.global_batch = 1;
    CHECK(refusal_of(batches, h100(8), {}).field == "global_batch");
    batches.global_batch = 0;
    CHECK(refusal_of(batches, h100(3), {.given = {.tensor = 3}, .tensor = false}).field == "layout.tensor");
}

TEST_CASE("what a caller gives of every layout is refused as in a plan of one") {
    layout_space space{.given = {.shard_replicas = 3}};
    CHECK(search(training(models::llama_3_1_8b, 16), h100(8), {.space = {.layouts = space}}).error().field ==
          "layout.shard_replicas");
}

TEST_CASE("where every layout is refused the error is the first one's") {
    job j = training(models::llama_3_1_8b, 16);
    j.runtime.kernels.fp8.recipe = fp8_recipe::delayed;
    const cluster c = standard_cluster(gpus::v100_sxm2_32gb, 4).value();
    maybe<error> first;
    for_each_layout(j, {}, c, [&](const layout& l) {
        const result<job_plan> p = plan(j, l, c);
        REQUIRE_FALSE(p);
        if (!first) first = p.error();
        return false;
    });
    REQUIRE(first);
    CHECK(search(j, c).error().field == first->field);
    CHECK(first->field == "runtime.fp8_recipe");
    CHECK(search(j, c).error().value == first->value);
    job at_once = training(models::llama_3_1_8b, 16);  // its optimizer steps in the backward pass of one micro-batch
    at_once.optimizer.in_backward = true;
    at_once.runtime = runtimes::pytorch;
    // The first layout has one data rank, the last has eight.
    const error of_eight = search(at_once, h100(8), {.space = {.layouts = free_data_ranks({})}}).error();
    CHECK(of_eight.field == "global_batch");
    CHECK(of_eight.expected.view().starts_with("one micro-batch a step, 1:"));
}

TEST_CASE("a search that keeps no layouts skips none: it counts them") {
    const job j = training(models::llama_3_1_8b, 64);
    const auto counted = [&](bool skips) {
        return search(j, h100(8), {.skip_slower = skips}, {}, {}, objective::fewest_gpus, detail::unwatched{}).value();
    };
    CHECK(counted(true).skipped == 0);
    CHECK(counted(true).kept == counted(false).kept);
    CHECK(counted(true).kept > 0);
}

TEST_CASE("a layout that lacks main memory alone is no nearer to fitting than one that may fit") {
    job j{.model = models::llama_3_2_1b,
          .task = task::finetuning,
          .sequence = tokens(1024),
          .optimizer = adamw_fused,
          .runtime = runtimes::pytorch};
    cluster c = h100(1);
    const interval<byte_count> need = plan(j, {}, c)->memory.total();
    c.in_use = available_memory(c) - need.expected;
    c.host.memory = gib(1);
    REQUIRE(plan(j, {}, c)->verdict == verdict::tight);
    job offloaded = j;
    offloaded.offload.optimizer = offload_place::host;
    REQUIRE(plan(offloaded, {}, c)->verdict == verdict::does_not_fit);
    REQUIRE(plan(offloaded, {}, c)->memory.total().expected < need.expected);
    const found_layout nearest = search(j, c, {.space = {.offload = true}}).value();
    CHECK(nearest.plan.verdict == verdict::tight);
    CHECK(nearest.choice.offload == offload{});
}

TEST_CASE("a search whose every layout holds more than 64 bits count is an overflow") {
    job j{.model = models::llama_3_1_405b, .task = task::pretraining, .attention = attention_kernel::eager};
    j.sequence = tokens(std::int64_t{1} << 32);  // 126 layers of 128 heads, and 2^64 scores a head
    j.model.max_context = {};
    const result<found_layout> none = search(j, h100(1));
    REQUIRE_FALSE(none);
    CHECK(none.error().code == error_code::overflow);
    CHECK(none.error().field == "memory");
}
