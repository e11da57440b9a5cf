// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/others.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <memory>
#include <string>
#include <vector>

#include "../properties.hpp"
#include "../sanitized.hpp"

using namespace llmres;

namespace {

cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }

job serving(const model& m, std::int64_t batch) {
    return {.model = m, .batch = batch, .prompt = tokens(1024), .output = tokens(256), .runtime = runtimes::vllm};
}
job training(const model& m, std::int64_t global_batch, token_count sequence = tokens(4096)) {
    return {.model = m,
            .task = task::pretraining,
            .sequence = sequence,
            .global_batch = global_batch,
            .recompute = recompute::full,
            .runtime = runtimes::megatron};
}
double rate(const job_plan& p) { return p.speed.tokens_per_second.in(tokens_per_s); }

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
    const auto best = [&](objective o) { return search(j, c, {.objective = o, .gpu_hour = currency(2)})->plan; };
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
            const job_speed least = detail::speed_of(j, l, h100(64), nullptr, default_efficiency, nullptr);
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
    const cluster c = h100(64);
    for (const job& j : jobs) {
        std::int64_t layouts = 0, too_large = 0;
        const auto known = std::make_unique<detail::layout_folds>();
        const auto exceed = [&](const layout& l, byte_count room) {
            return detail::surely_exceeds(j, l, c, room, known->memory, known->serving);
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
void check_same(const std::vector<found_layout>& a, const std::vector<found_layout>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].plan.layout == b[i].plan.layout);
        CHECK(a[i].choice == b[i].choice);
        CHECK(a[i].score == b[i].score);
        CHECK(a[i].next_score == b[i].next_score);
    }
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
        const search_request asked{.objective = o, .space = {.max_batch = 64}, .gpu_hour = currency(2)};
        check_skipping(serving(models::mixtral_8x7b, 64), h100(8), asked, against);
        if (o == objective::time_to_first_token || o == objective::time_per_token) continue;
        search_request free{.objective = o,
                            .space = {.micro_batch = true, .recompute_parts = true, .schedule = true},
                            .gpu_hour = currency(2)};
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

// ---- the order of what is found, by hand ----------------------------------------------------------------------------

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
    const auto score = [&](objective o) { return detail::score_of(o, p, c, currency(9)); };
    CHECK(score(objective::throughput) == doctest::Approx(0.01));
    CHECK(score(objective::fewest_gpus) == 4);
    CHECK(score(objective::cost_per_token) == doctest::Approx(0.01 * 4 * 9 / 3600).epsilon(1e-9));
    CHECK(score(objective::energy_per_token) == doctest::Approx(0.01 * 4 * 700));
}

TEST_CASE("every layout that is tried counts once: refused, too large, too slow, skipped or kept") {
    const cluster c = h100(16);
    for (const job& j :
         {training(models::llama_3_1_8b, 64), training(models::mixtral_8x7b, 64), serving(models::llama_3_1_70b, 64)}) {
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
        CHECK((plain.refused > 0) == (j.offload.parameters == offload_place::host));
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
    for (const job& j : {training(models::llama_3_1_8b, 64), serving(models::llama_3_1_70b, 64)}) {
        const cluster c = h100(16);
        const search_request r;
        const auto in_parts = [&](std::vector<found_layout>& best, std::vector<found_layout>& front, bool odd) {
            every_other watch{odd};
            detail::running_search<every_other> running{.c = c,
                                                        .r = r,
                                                        .best = detail::room_of(best),
                                                        .front = detail::room_of(front),
                                                        .against = objective::fewest_gpus,
                                                        .watch = watch};
            REQUIRE(detail::run(running, j, c));
            return running;
        };
        std::vector<found_layout> best(5), front(8), other_best(5), other_front(8);
        auto sum = in_parts(best, front, true);
        const auto other = in_parts(other_best, other_front, false);
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
        detail::running_search<detail::unwatched> running{
            .c = c, .r = r, .best = {}, .front = {}, .against = {}, .watch = watch};
        if (!field.empty()) running.first_refusal = error{.field = field};
        running.refused_in = part;
        return running;
    };
    const auto first_of = [&](const auto& a, const auto& b) {
        auto sum = a;
        sum.add(b);
        return std::string{sum.first_refusal ? sum.first_refusal->field.view() : std::string_view{}};
    };
    CHECK(first_of(refusing("a", 1), refusing("b", 2)) == "a");
    CHECK(first_of(refusing("a", 2), refusing("b", 1)) == "b");
    CHECK(first_of(refusing("a", 2), refusing("b", 2)) == "a");
    CHECK(first_of(refusing("", 0), refusing("b", 2)) == "b");
    CHECK(first_of(refusing("a", 2), refusing("", 0)) == "a");
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
}
