// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/others.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string>
#include <vector>

#include "../search_jobs.hpp"

using namespace llmres;
using namespace search_jobs;

namespace {

/// Every layout of the default space that fits, planned one by one.
std::vector<job_plan> all_that_fit(const job& j, const cluster& c) {
    std::vector<job_plan> all;
    for_each_layout(j, {}, c, [&](const layout& l) {
        const result<job_plan> p = plan(j, l, c);
        if (p && p->verdict == verdict::fits) all.push_back(*p);
        return false;
    });
    return all;
}

}  // namespace

TEST_CASE("serving takes the GPUs that are given where they make it faster") {
    const job_plan p = plan(serving(models::llama_3_1_8b, 64), h100(8)).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(p.layout.gpus() == 8);
    CHECK(rate(p) > 2 * rate(plan(serving(models::llama_3_1_8b, 64), layout{}, h100(8)).value()));
}

TEST_CASE("serving 70B on eight GPUs leaves none idle behind five stages") {
    const job j = serving(models::llama_3_1_70b, 64);
    const job_plan p = plan(j, h100(8)).value();
    CHECK(p.layout.pipeline == 1);
    CHECK(p.layout.gpus() == 8);
    CHECK(rate(p) >= rate(plan(j, {.tensor = 8}, h100(8)).value()));
    CHECK(rate(p) > 2 * rate(plan(j, {.pipeline = 5}, h100(8)).value()));
}

TEST_CASE("a mixture of experts is served with whole experts on ranks") {
    const job j = serving(models::deepseek_v3, 64);
    const cluster eight = standard_cluster(gpus::h200_sxm5_141gb, 8).value();
    const job_plan p = plan(j, eight).value();
    REQUIRE(p.verdict == verdict::fits);
    CHECK(rate(p) >= rate(plan(j, {.data = 8, .expert = 8, .expert_tensor = 1}, eight).value()));
    CHECK(p.layout.expert > 1);
}

TEST_CASE("405B is trained on 1,024 GPUs, with stages, context and data ranks") {
    const job j = training(models::llama_3_1_405b, 512, tokens(8192));
    const job_plan p = plan(j, h100(1024)).value();
    REQUIRE(p.verdict == verdict::fits);
    CHECK(p.layout.pipeline > 1);
    layout given{.tensor = 8, .sequence_parallel = true, .pipeline = 16, .data = 4, .context_parallel = 2, .zero = 1};
    const job_plan published = plan(j, given, h100(1024)).value();
    CHECK(rate(p) >= rate(published));
    REQUIRE(min_gpus(j, h100(1024)));
    CHECK(*min_gpus(j, h100(1024)) <= 1024);
}

TEST_CASE("Qwen3-235B is trained on 256 GPUs") {
    const job_plan p = plan(training(models::qwen3_235b_a22b, 1024), h100(256)).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(p.layout.expert > 1);
}

TEST_CASE("a small model on many cards is served by data ranks") {
    job j = serving(models::minicpm_2b, 64);
    const cluster sixteen = standard_cluster(gpus::rtx_4090, 16).value();
    const job_plan p = plan(j, sixteen).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(p.layout.data > 1);
    CHECK(min_gpus(j, sixteen).value_or(99) <= 16);
}

TEST_CASE("2,048 GPUs do not wait for one all-gather of all weights") {
    const job j = training(models::llama_3_1_8b, 2048);
    const job_plan p = plan(j, h100(2048)).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(rate(p) > rate(plan(j, {.data = 2048, .zero = 3}, h100(2048)).value()));
    CHECK(p.layout.zero < 3);
}

TEST_CASE("training is no slower than a grid of plain layouts") {
    const job j = training(models::llama_3_1_70b, 512);
    const job_plan p = plan(j, h100(64)).value();
    const layout wide{.pipeline = 16, .virtual_pipeline = 5, .data = 4, .zero = 1};
    CHECK(rate(p) >= rate(plan(j, wide, h100(64)).value()));
    CHECK(rate(p) > rate(plan(j, {.data = 64, .zero = 3}, h100(64)).value()));
}

TEST_CASE("the best is what a plan of every layout finds, and so are the next nine") {
    for (const auto& [j, c] :
         {std::pair{serving(models::llama_3_1_70b, 32), h100(8)}, std::pair{serving(models::mixtral_8x7b, 32), h100(8)},
          std::pair{training(models::llama_3_1_8b, 64), h100(16)},
          std::pair{training(models::mixtral_8x7b, 64), h100(32)}}) {
        std::vector<job_plan> all = all_that_fit(j, c);
        REQUIRE(all.size() > 10);
        std::sort(all.begin(), all.end(), [](const job_plan& a, const job_plan& b) {
            const float first = static_cast<float>(1 / rate(a));
            const float second = static_cast<float>(1 / rate(b));
            return first != second ? first < second : detail::simpler(a.layout, b.layout);
        });
        std::array<found_layout, 10> best;
        const search_counts counts = search(j, c, {}, best).value();
        CHECK(counts.best == 10);
        CHECK(counts.kept == static_cast<std::int64_t>(all.size()));
        for (std::size_t i = 0; i < best.size(); ++i) CHECK(best[i].plan.layout == all[i].layout);
        CHECK(search(j, c)->plan.layout == all[0].layout);
    }
}

TEST_CASE("no layout beats the front in both of its objectives") {
    const job j = serving(models::llama_3_1_70b, 64);
    std::array<found_layout, 32> front;
    const auto all_of_it = [](const search_counts&) { return true; };
    const search_counts counts = search(j, h100(8), {}, {}, front, objective::fewest_gpus, all_of_it).value();
    REQUIRE(counts.front > 1);
    for (const job_plan& p : all_that_fit(j, h100(8))) {
        bool matched = false;
        for (std::size_t i = 0; i < counts.front; ++i) {
            const job_plan& f = front[i].plan;
            matched = matched || (rate(f) >= rate(p) * (1 - 1e-6) && f.layout.gpus() <= p.layout.gpus());
        }
        CHECK(matched);
    }
}

TEST_CASE("each objective is best by its own measure") {
    const job j = serving(models::llama_3_1_70b, 64);
    const cluster c = h100(16);
    const auto best = [&](objective o) {
        return search(j, c, {.objective = o, .prices = {.gpu_hour = currency(2)}})->plan;
    };
    for (const job_plan& p : all_that_fit(j, c)) {
        CHECK(best(objective::fewest_gpus).layout.gpus() <= p.layout.gpus());
        CHECK(best(objective::time_to_first_token).speed.prefill.total().expected.in(seconds) <=
              p.speed.prefill.total().expected.in(seconds) * (1 + 1e-6));
        CHECK(best(objective::time_per_token).speed.step.total().expected.in(seconds) <=
              p.speed.step.total().expected.in(seconds) * (1 + 1e-6));
        const auto a_gpu = [](const job_plan& q) { return rate(q) / static_cast<double>(q.layout.gpus()); };
        CHECK(a_gpu(best(objective::cost_per_token)) >= a_gpu(p) * (1 - 1e-6));
        CHECK(a_gpu(best(objective::energy_per_token)) >= a_gpu(p) * (1 - 1e-6));
    }
}

TEST_CASE("limits leave out what breaks them") {
    const job j = serving(models::llama_3_1_70b, 64);
    const found_layout fastest = search(j, h100(16), {.objective = objective::time_per_token}).value();
    const duration least = fastest.plan.speed.step.total().expected;
    const search_request tight{.limits = {.time_per_token = least * 1.3, .memory_margin = gib(2), .one_node = true}};
    const job_plan p = search(j, h100(16), tight)->plan;
    CHECK(p.speed.step.total().expected <= least * 1.3);
    CHECK(p.memory.total().high + gib(2) <= p.usable);
    CHECK(p.layout.gpus() <= 8);
}

TEST_CASE("limits that nothing keeps are an error that names the nearest time") {
    const search_request r{.limits = {.time_per_token = approx(seconds(1)) * 1e-5}};
    const result<found_layout> none = search(serving(models::llama_3_1_70b, 64), h100(8), r);
    REQUIRE_FALSE(none);
    CHECK(none.error().field == "max_time_per_token");
    CHECK(none.error().value == "10");
}

TEST_CASE("an objective without what it needs is an error") {
    const job j = serving(models::llama_3_1_8b, 1);
    CHECK(search(j, h100(1), {.objective = objective::cost_per_token}).error().field == "gpu_hour");
    CHECK(search(training(models::llama_3_1_8b, 8), h100(8), {.objective = objective::time_per_token}).error().field ==
          "objective");
    cluster dark = h100(1);
    dark.gpu.board_power = {};
    CHECK(search(j, dark, {.objective = objective::energy_per_token}).error().field == "cluster.gpu.board_power");
}

TEST_CASE("an empty space says what emptied it") {
    job j = training(models::llama_3_1_8b, 7);
    j.micro_batch = 2;
    CHECK(search(j, h100(8)).error().field == "global_batch");
    const search_request too_many{.space = {.layouts = free_data_ranks({.tensor = 16})}};
    CHECK(search(serving(models::llama_3_1_8b, 1), h100(8), too_many).error().field == "layout");
}

TEST_CASE("an empty space names the degree that emptied it, and what it could be") {
    const auto refusal_of = [](const job& j, const search_request& r) {
        const result<found_layout> none = search(j, h100(8), r);
        REQUIRE_FALSE(none);
        return none.error();
    };
    layout_space space{.given = {.expert = 3}, .expert = false};
    const error experts = refusal_of(training(models::mixtral_8x7b, 16), {.space = {.layouts = space}});
    CHECK(experts.field == "layout.expert");
    CHECK(experts.value == "3");
    CHECK(experts.expected.view().starts_with("1, 2, 4, 8 with"));
    CHECK(refusal_of(training(models::llama_3_1_8b, 16), {.space = {.layouts = space}}).field == "layout.expert");

    space = {.given = {.pipeline = 5, .virtual_pipeline = 3}, .pipeline = false, .virtual_pipeline = false};
    const error chunks = refusal_of(training(models::llama_3_1_8b, 16), {.space = {.layouts = space}});
    CHECK(chunks.field == "layout.virtual_pipeline");
    CHECK(chunks.expected.view().starts_with("1 with"));

    space = {.given = {.context_parallel = 3}, .context_parallel = false, .least_gpus = 8};
    CHECK(refusal_of(training(models::llama_3_1_8b, 16), {.space = {.layouts = space}}).field ==
          "layout.context_parallel");
    space = {.given = {.tensor = 8, .pipeline = 2}, .tensor = false, .pipeline = false};
    const result<found_layout> nodes = search(training(models::llama_3_1_8b, 16), h100(16),
                                              {.limits = {.one_node = true}, .space = {.layouts = space}});
    REQUIRE_FALSE(nodes);
    CHECK(nodes.error().field == "layout");
    CHECK(nodes.error().expected == "at most the GPUs that may be taken, 8");
}

TEST_CASE("a margin of memory that no layout leaves free is an error that says what one does") {
    const job j = serving(models::llama_3_1_8b, 1);
    const result<found_layout> none = search(j, h100(8), {.limits = {.memory_margin = gb(82)}});
    REQUIRE_FALSE(none);
    CHECK(none.error().field == "memory_margin");
    byte_count most{};
    for (const job_plan& p : all_that_fit(j, h100(8)))
        if (p.usable - p.memory.total().high > most) most = p.usable - p.memory.total().high;
    CHECK(none.error().expected.view().ends_with(", " + std::to_string(most.in(bytes))));
    CHECK(search(j, h100(8), {.limits = {.memory_margin = most}}));
}

TEST_CASE("where nothing fits, the nearest layout is the answer and says so") {
    const found_layout f = search(training(models::llama_3_1_405b, 64), h100(8)).value();
    CHECK(f.plan.verdict == verdict::does_not_fit);
    CHECK(f.plan.reason_count > 0);
}

TEST_CASE("what may vary beside the layout is chosen too") {
    const job j = training(models::llama_3_1_70b, 512);
    const found_layout plain = search(j, h100(64)).value();
    const search_request all{.space = {.micro_batch = true, .recompute = true}};
    const found_layout free = search(j, h100(64), all).value();
    CHECK(rate(free.plan) >= rate(plain.plan));
    const job chosen = with_choice(j, free.choice);
    CHECK(rate(plan(chosen, free.plan.layout, h100(64)).value()) == doctest::Approx(rate(free.plan)));

    job s = serving(models::llama_3_1_70b, 1);
    search_request formats{.space = {.max_batch = 256}};
    formats.space.weights = {.list = {bf16, fp8_e4m3}, .count = 2};
    const found_layout served = search(s, h100(8), formats).value();
    CHECK(served.choice.batch > 1);
    CHECK(rate(served.plan) > rate(plan(s, h100(8)).value()));
}

TEST_CASE("a node's layouts and batches are searched within the compilers' default limits of constant expressions") {
    static constexpr job served{.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm};
    static constexpr cluster node = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    static constexpr search_request to_8{.space = {.max_batch = 8}};
    static constexpr result<found_layout> best = search(served, node, to_8);
    static_assert(best && best->plan.verdict == verdict::fits && best->choice.batch == 8);
    std::array<found_layout, 1> found{};
    const result<search_counts> counts = search(served, node, to_8, found);
    REQUIRE(counts);
    CHECK(counts->tried >= 90);
    CHECK(found[0].plan.layout == best->plan.layout);
    CHECK(found[0].choice.batch == best->choice.batch);
    CHECK(found[0].plan.memory.total() == best->plan.memory.total());
}

TEST_CASE("a search is the same in a constant expression") {
    static constexpr cluster four = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    static constexpr job work{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    static constexpr search_request latency{.objective = objective::time_per_token};
    static constexpr result<found_layout> best = search(work, four, latency);
    static_assert(best && best->plan.verdict == verdict::fits);
    static_assert(must_fit<best->plan>());
    CHECK(search(work, four, latency)->plan.layout == best->plan.layout);
}

TEST_CASE("a watcher stops a search") {
    int calls = 0;
    std::array<found_layout, 1> best;
    const search_counts counts = search(training(models::llama_3_1_405b, 1024), h100(1024), {}, best, {},
                                        objective::throughput, [&](const search_counts&) { return ++calls < 3; })
                                     .value();
    CHECK(counts.cancelled);
    CHECK(counts.tried == 2048);
}

TEST_CASE("more GPUs never lower the best throughput") {
    for (const job& j : {serving(models::llama_3_1_8b, 64), serving(models::mixtral_8x7b, 16),
                         training(models::llama_3_2_1b, 0), training(models::llama_3_1_8b, 96)}) {
        double before = 0;
        for (std::int32_t gpus = 1; gpus <= 40; ++gpus) {
            const result<job_plan> p = plan(j, h100(gpus));
            REQUIRE(p);
            if (p->verdict != verdict::fits) continue;
            CAPTURE(gpus);
            CAPTURE(j.model.name.view());
            CHECK(rate(*p) >= before * (1 - 1e-6));
            before = rate(*p);
        }
        CHECK(before > 0);
    }
}

TEST_CASE("more memory never makes a job that fits one that does not") {
    for (const job& j : {serving(models::llama_3_1_70b, 16), training(models::llama_3_1_8b, 64)}) {
        bool fitted = false;
        for (std::int64_t size = 8; size <= 200; size += 8) {
            cluster c = h100(8);
            c.gpu.memory.fitted = gib(size);
            c.gpu.memory.reported = gib(size);
            c.gpu.memory.cuda_visible = {};
            const result<job_plan> p = plan(j, c);
            REQUIRE(p);
            CAPTURE(size);
            CHECK((!fitted || p->verdict == verdict::fits));
            fitted = fitted || p->verdict == verdict::fits;
        }
        CHECK(fitted);
    }
}

TEST_CASE("a search refuses formats to choose among that the runtime has not") {
    job j = serving(models::llama_3_1_8b, 1);
    j.runtime = runtimes::llama_cpp;
    j.weights = q8_0;
    const auto refused_field = [&](const search_space& space) {
        std::array<found_layout, 1> best;
        const auto found = search(j, {.gpu = gpus::rtx_3090, .gpus = 1}, {.space = space}, best);
        return found ? text<63>{} : found.error().field;
    };
    CHECK(refused_field({.weights = {.list = {q8_0, q4_0}, .count = 2}, .kv_cache = {.list = {q8_0}, .count = 1}}) ==
          "");
    CHECK(refused_field({.weights = {.list = {q8_0, mlx(4, 64)}, .count = 2}}) == "weights");
    CHECK(refused_field({.kv_cache = {.list = {q8_0, fp8_e4m3}, .count = 2}}) == "kv_cache");
}
