// SPDX-License-Identifier: MIT
#include <llmres/answers/replicas.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string>
#include <utility>

using namespace llmres;

namespace {

job chat(const model& m) {
    return {.model = m, .prompt = tokens(2000), .output = tokens(500), .runtime = runtimes::vllm};
}
cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }

constexpr duration ms(double n) { return approx(seconds(1)) * (n / 1000); }

}  // namespace

TEST_CASE("so many replicas keep up, and one fewer does not") {
    for (const double rate : {0.3, 5.0, 20.0, 333.0}) {
        const request_load load{.requests = hertz(rate), .time_to_first_token = ms(1000), .time_per_token = ms(40)};
        const replica_set found = replicas_for(chat(models::llama_3_1_70b), h100(8), load).value();
        CHECK(found.each.expected * static_cast<double>(found.replicas) >= load.requests);
        CHECK(found.each.expected * static_cast<double>(found.replicas - 1) < load.requests);
        CHECK(found.replicas_bounds.low <= found.replicas);
        CHECK(found.replicas <= found.replicas_bounds.high);
        CHECK(found.plan.verdict == verdict::fits);
        CHECK(found.plan.speed.steady.time_to_first_token.expected <= ms(1000));
        CHECK(found.plan.speed.steady.time_per_output_token.expected <= ms(40));
    }
}

TEST_CASE("a runtime of whole batches finishes as many requests as its batches hold, one batch after another") {
    job asked = chat(models::llama_3_1_8b);
    asked.runtime = runtimes::transformers;
    const request_load load{.requests = hertz(20.0), .arrivals = arrivals::even};
    const replica_set found = replicas_for(asked, h100(8), load).value();
    CHECK(found.in_flight > 16);
    const job_speed& s = found.plan.speed;
    const duration batch = s.prefill.total().expected + s.step.total().expected * 500.0;
    CHECK(found.each.expected.in(hertz) ==
          doctest::Approx(static_cast<double>(found.in_flight) / batch.in(seconds)).epsilon(1e-6));
    const interval<duration> prompts = s.prefill.total(), steps = s.step.total();
    const auto in_flight = static_cast<double>(found.in_flight);
    CHECK(found.each.low.in(hertz) == doctest::Approx(in_flight / (prompts.high + steps.high * 500.0).in(seconds)));
    CHECK(found.each.high.in(hertz) == doctest::Approx(in_flight / (prompts.low + steps.low * 500.0).in(seconds)));
    // A request comes while another batch is under way, and waits for half of it on average.
    const interval<duration>& first = s.steady.time_to_first_token;
    CHECK(first.expected.in(seconds) == doctest::Approx((s.prefill.total().expected + batch * 0.5).in(seconds)));
    CHECK(first.low == s.prefill.total().low);
    request_load hurried = load;
    hurried.time_to_first_token = s.prefill.total().expected;
    CHECK(replicas_for(asked, h100(8), hurried)->in_flight < found.in_flight);
}

TEST_CASE("no layout with any number of sequences needs fewer GPUs") {
    const request_load load{.requests = hertz(12.0), .time_to_first_token = ms(800), .time_per_token = ms(30)};
    const job asked = chat(models::llama_3_1_8b);
    const cluster c = h100(8);
    const replica_set found = replicas_for(asked, c, load).value();
    std::int64_t fewest = 1'000'000;
    for (const std::int32_t tensor : {1, 2, 4, 8})
        for (std::int64_t n = 1; n <= 600; ++n) {
            job j = asked;
            j.batch = n;
            const layout l{.tensor = tensor};
            const job_plan p = plan(j, l, c).value();
            const steady_speed& s = p.speed.steady;
            if (p.verdict != verdict::fits || s.time_to_first_token.expected > ms(800) ||
                s.time_per_output_token.expected > ms(30))
                continue;
            // Of n in flight, so many on average that two standard deviations of a Poisson variable more are n.
            const double mean = std::pow(std::sqrt(static_cast<double>(n) + 1) - 1, 2);
            const double each =
                std::min(mean / (s.time_to_first_token.expected + s.time_per_output_token.expected * 500).in(seconds),
                         1 / (p.speed.prefill.total().expected +
                              p.speed.step.total().expected * (500.0 / static_cast<double>(n)))
                                 .in(seconds));
            fewest = std::min(fewest, static_cast<std::int64_t>(std::ceil(12.0 / each)) * l.gpus());
        }
    CHECK(found.gpus() == fewest);
}

TEST_CASE("requests that come evenly, wait longer, or are fewer never need more GPUs") {
    const job asked = chat(models::llama_3_1_70b);
    const cluster c = h100(8);
    const request_load load{.requests = hertz(20.0), .time_to_first_token = ms(600), .time_per_token = ms(30)};
    const std::int64_t gpus = replicas_for(asked, c, load)->gpus();
    request_load easier = load;
    easier.arrivals = arrivals::even;
    CHECK(replicas_for(asked, c, easier)->gpus() < gpus);
    easier = load;
    easier.time_to_first_token = ms(3000);
    CHECK(replicas_for(asked, c, easier)->gpus() < gpus);
    easier = load;
    easier.time_per_token = ms(60);
    CHECK(replicas_for(asked, c, easier)->gpus() <= gpus);
    easier = load;
    easier.requests = hertz(2.0);
    CHECK(replicas_for(asked, c, easier)->gpus() < gpus);
}

TEST_CASE("replicas of dense models have one data rank, those of experts share them") {
    std::array<replica_set, 20> best{};
    const request_load load{.requests = hertz(20.0)};
    const std::size_t dense = replicas_for(chat(models::llama_3_1_8b), h100(8), load, {}, best).value();
    REQUIRE(dense > 1);
    for (std::size_t i = 0; i < dense; ++i) {
        CHECK(best[i].plan.layout.data == 1);
        if (i > 0) CHECK(best[i].gpus() >= best[i - 1].gpus());
    }
    CHECK(replicas_for(chat(models::deepseek_v3), h100(16), load)->plan.layout.expert > 1);
    CHECK(replicas_for(chat(models::deepseek_v3), h100(8), load)->replicas == 0);  // 671B in bf16 fit on no eight
}

TEST_CASE("a load that cannot be is refused by its field") {
    const cluster c = h100(8);
    const auto field = [&](const job& j, const request_load& load) {
        const auto found = replicas_for(j, c, load);
        REQUIRE_FALSE(found);
        return std::string{found.error().field.view()};
    };
    job j = chat(models::llama_3_1_8b);
    const request_load load{.requests = hertz(1.0)};
    CHECK(field(j, {}) == "requests_per_second");
    CHECK(field(j, {.requests = hertz(1.0), .time_per_token = ms(0.001)}) == "max_time_per_token");
    CHECK(field(j, {.requests = hertz(1.0), .time_to_first_token = ms(1)}) == "max_time_to_first_token");
    CHECK(field(j, {.requests = hertz(1.0), .time_to_first_token = ms(-1)}) == "max_time_to_first_token");
    CHECK(field(j, {.users = -1}) == "users");
    CHECK(field(j, {.users = 1'000'000'001}) == "users");
    CHECK(field(j, {.requests = hertz(1.0), .users = 1}) == "users");
    CHECK(field(j, {.users = 1, .think_time = ms(-1)}) == "think_time");
    CHECK(field(j, {.requests = hertz(1.0), .think_time = ms(1)}) == "think_time");
    j.output = {};
    CHECK(field(j, load) == "output");
    j = chat(models::llama_3_1_8b);
    j.prompt = {};
    CHECK(field(j, load) == "prompt");
    j.task = task::finetuning;
    CHECK(field(j, load) == "task");
    CHECK(field({.model = pooled(models::llama_3_1_8b), .prompt = tokens(512), .context = tokens(512)}, load) ==
          "model");
}

TEST_CASE("a limit of no time is refused by name, and one that is not given limits nothing") {
    for (const duration none : {duration{}, ms(-1)}) {
        const auto first =
            replicas_for(chat(models::llama_3_1_8b), h100(1), {.requests = hertz(1.0), .time_to_first_token = none});
        REQUIRE_FALSE(first);
        CHECK(first.error().field == "max_time_to_first_token");
        CHECK(first.error().value == "0 or less");
        const auto each =
            replicas_for(chat(models::llama_3_1_8b), h100(1), {.requests = hertz(1.0), .time_per_token = none});
        REQUIRE_FALSE(each);
        CHECK(each.error().field == "max_time_per_token");
        CHECK(each.error().value == "0 or less");
    }
    CHECK(replicas_for(chat(models::llama_3_1_8b), h100(1), {.requests = hertz(1.0)}));
}

TEST_CASE("sequences in flight are no more than a replica's caches hold, nor than its slots") {
    job j = chat(models::llama_3_1_8b);
    const request_load load{.requests = hertz(1.0)};
    for (const std::int64_t slots : {1, 4, 100'000}) {
        j.options.max_num_seqs = slots;
        const auto found = replicas_for(j, h100(1), load);
        REQUIRE(found);
        const std::int64_t most = max_batch(j, found->plan.layout, h100(1)).value();
        CHECK(found->in_flight <= std::min(slots * found->plan.layout.all_data_ranks(), most));
    }
}

TEST_CASE("the mean number in flight stays below the most with two standard deviations of its distribution") {
    using detail::mean_in_flight;
    using detail::variance_over_mean;
    const request_load random{.requests = hertz(1.0)}, even{.requests = hertz(1.0), .arrivals = arrivals::even};
    CHECK(variance_over_mean(random, ms(5)) == 1.0);
    CHECK(variance_over_mean(even, ms(5)) == 0.0);
    // A user waits 10 s and thinks 30: 3 of 4 think at a time, so that the variance is n p (1 - p) = 0.75 of the mean.
    CHECK(variance_over_mean({.users = 7, .think_time = seconds(30)}, approx(seconds(10))) == doctest::Approx(0.75));
    CHECK(variance_over_mean({.users = 7}, approx(seconds(10))) == 0.0);
    for (const double most : {1.0, 2.0, 8.0, 100.0})
        for (const double varies : {0.0, 0.2, 0.75, 1.0}) {
            const double mean = mean_in_flight(varies, most);
            CHECK(mean + 2 * std::sqrt(varies * mean) == doctest::Approx(most));
        }
}

TEST_CASE("users who do not think have each one of the sequences in flight, or fewer where the work allows no more") {
    const job asked = chat(models::llama_3_1_8b);
    for (const std::int64_t users : {1, 100, 500, 12'345}) {
        const request_load load{.users = users, .time_per_token = ms(20)};
        const replica_set found = replicas_for(asked, h100(1), load).value();
        const auto most = static_cast<double>(found.in_flight);
        CHECK(found.users_of_each.expected <= most * 1.000001);
        CHECK(found.users_of_each.expected > most * 0.8);
        CHECK(static_cast<double>(found.replicas) * found.users_of_each.expected >=
              static_cast<double>(users) * 0.999999);
        CHECK(static_cast<double>(found.replicas - 1) * found.users_of_each.expected < static_cast<double>(users));
        CHECK(found.replicas_bounds.low <= found.replicas);
        // Little's law: requests a second are the users over the time of one answer.
        const steady_speed& s = found.plan.speed.steady;
        const double answer = (s.time_to_first_token.expected + s.time_per_output_token.expected * 500.0).in(seconds);
        CHECK(found.requests.in(hertz) == doctest::Approx(static_cast<double>(users) / answer));
    }
}

TEST_CASE("users who think between requests are more to a replica, up to those of a rate that is as large") {
    const job asked = chat(models::llama_3_1_8b);
    const request_load hurried{.users = 2000, .time_per_token = ms(20)};
    double before = replicas_for(asked, h100(1), hurried)->users_of_each.expected;
    for (const std::int64_t think : {5, 30, 300, 3000}) {
        request_load load = hurried;
        load.think_time = seconds(think);
        const replica_set found = replicas_for(asked, h100(1), load).value();
        CHECK(found.users_of_each.expected > before);
        before = found.users_of_each.expected;
        CHECK(found.users_of_each.low <= found.users_of_each.expected);
        CHECK(found.users_of_each.expected <= found.users_of_each.high);
        CHECK(static_cast<double>(found.replicas) * found.users_of_each.expected >= 2000);
        // The interactive response time law: users = X (R + Z).
        const steady_speed& s = found.plan.speed.steady;
        const double answer = (s.time_to_first_token.expected + s.time_per_output_token.expected * 500.0).in(seconds);
        CHECK(found.users_of_each.expected ==
              doctest::Approx(found.each.expected.in(hertz) * (answer + static_cast<double>(think))));
        CHECK(found.requests.in(hertz) == doctest::Approx(2000 / (answer + static_cast<double>(think))));
    }
    // Of many users who think long each request is as independent of the others as of a Poisson process.
    const request_load patient{.users = 1'000'000, .time_per_token = ms(20), .think_time = seconds(100'000)};
    const replica_set of_users = replicas_for(asked, h100(1), patient).value();
    const replica_set of_rate =
        replicas_for(asked, h100(1), {.requests = of_users.requests, .time_per_token = ms(20)}).value();
    CHECK(std::abs(of_users.gpus() - of_rate.gpus()) <= 1);
}

TEST_CASE("a layout with room for a single sequence keeps up with what one sequence finishes") {
    job j = chat(models::llama_3_1_8b);
    j.options.max_num_seqs = 1;
    const replica_set one = replicas_for(j, h100(1), {.requests = hertz(1.0), .arrivals = arrivals::even}).value();
    CHECK(one.in_flight == 1);
    const steady_speed& s = one.plan.speed.steady;
    const double each = 1 / (s.time_to_first_token.expected + s.time_per_output_token.expected * 500.0).in(seconds);
    CHECK(one.each.expected.in(hertz) <= each * 1.000001);
    CHECK(one.replicas == static_cast<std::int64_t>(std::ceil(1.0 / one.each.expected.in(hertz))));
    job full = chat(models::llama_3_1_8b);  // a cache for one sequence alone
    full.prompt = tokens(100'000);
    full.options.cache_tokens = tokens(110'000);
    REQUIRE(max_batch(full, {}, h100(1)).value() == 1);
    CHECK(replicas_for(full, h100(1), {.requests = hertz(1.0)})->in_flight == 1);
}

TEST_CASE("requests that a replica finishes are bounded by time and by work, of all its data ranks") {
    const job j = chat(models::deepseek_v3);
    std::array<replica_set, 40> best{};
    const request_load load{.requests = hertz(50.0), .arrivals = arrivals::even};
    const std::size_t count = replicas_for(j, h100(16), load, {}, best).value();
    REQUIRE(count > 0);
    bool shares = false;
    for (std::size_t i = 0; i < count; ++i) {
        const job_plan& p = best[i].plan;
        const double ranks = static_cast<double>(p.layout.all_data_ranks());
        shares = shares || ranks > 1;
        const steady_speed& s = p.speed.steady;
        const double by_time = static_cast<double>(best[i].in_flight) /
                               (s.time_to_first_token.expected + s.time_per_output_token.expected * 500.0).in(seconds);
        // Each rank computes its prompts one after the other, and a step makes a token of each sequence in flight.
        const double steps = 500.0 * ranks / static_cast<double>(s.in_flight);
        const double by_work =
            ranks / (p.speed.prefill.total().expected + p.speed.step.total().expected * steps).in(seconds);
        CHECK(best[i].each.expected.in(hertz) == doctest::Approx(std::min(by_time, by_work)));
        if (i > 0 && best[i].gpus() == best[i - 1].gpus())
            CHECK(best[i].plan.speed.steady.time_per_output_token.expected.in(seconds) >=
                  best[i - 1].plan.speed.steady.time_per_output_token.expected.in(seconds) * 0.999);
    }
    CHECK(shares);
}

TEST_CASE("limits that no layout keeps are answered with the least that one reaches with one sequence") {
    const auto found = replicas_for(chat(models::llama_3_1_8b), h100(8),
                                    {.requests = hertz(1.0), .time_to_first_token = ms(1), .time_per_token = ms(0.1)});
    REQUIRE_FALSE(found);
    duration least{};
    for (const std::int32_t tensor : {1, 2, 4, 8}) {
        job one = chat(models::llama_3_1_8b);
        one.batch = 1;
        const steady_speed s = plan(one, layout{.tensor = tensor}, h100(8))->speed.steady;
        const duration both = s.time_to_first_token.expected + s.time_per_output_token.expected;
        if (least == duration{} || both < least) least = both;
    }
    const std::string expected{found.error().expected.view()};
    const std::size_t digits = expected.find_first_of("0123456789");
    REQUIRE(digits != std::string::npos);
    CHECK(std::stod(expected.substr(digits)) <= least.in(microseconds) + 1);
}

TEST_CASE("a request waits for none to all of the batch that is under way, and for half of it on average") {
    job asked = chat(models::llama_3_1_8b);
    asked.runtime = runtimes::transformers;
    asked.batch = 4;
    job_plan p;
    p.speed.prefill[time_term::compute] = {seconds(1), seconds(2), seconds(4)};
    p.speed.step[time_term::memory] = {ms(1), ms(2), ms(10)};
    const interval<duration> wait = detail::wait_for_batch(asked, p);
    CHECK(wait.low == duration{});
    CHECK(wait.expected.in(seconds) == doctest::Approx((2 + 500 * 0.002) / 2));
    CHECK(wait.high.in(seconds) == doctest::Approx(4 + 500 * 0.010));
    asked.runtime = runtimes::vllm;  // which takes a request in with the next step
    CHECK(detail::wait_for_batch(asked, p).high == duration{});
}

TEST_CASE("a billion requests in a second are a load, and more are none") {
    const auto field = [](double rate) {
        const auto found = replicas_for(chat(models::llama_3_1_8b), h100(8), {.requests = hertz(rate)});
        return found ? std::string{} : std::string{found.error().field.view()};
    };
    CHECK(field(1e9) != "requests_per_second");
    CHECK(field(1.1e9) == "requests_per_second");
}

TEST_CASE("replicas are the fewest whose rates add up to what is wanted") {
    for (int wanted = 1; wanted <= 40; ++wanted)
        for (int each = 1; each <= 9; ++each) {
            std::int64_t fewest = 1;
            while (fewest * each < wanted) ++fewest;
            CHECK(detail::replicas_at(static_cast<double>(wanted) / each) == fewest);
        }
    CHECK(detail::replicas_at(1.0 / 0.25) == 4);
    CHECK(detail::replicas_at(1.0 / 0.75) == 2);
}

TEST_CASE("the least time that a layout reaches with one sequence is remembered, in whatever order layouts come") {
    const job j = chat(models::llama_3_1_8b);
    const cluster c = h100(8);
    const request_load load{.requests = hertz(1.0), .time_to_first_token = ms(0.1)};
    std::array order{1, 2, 4, 8};
    do {
        std::array<replica_set, 1> best{};
        detail::replica_search searched{.j = j, .c = c, .load = load, .best = best};
        duration least{};
        for (const std::int32_t tensor : order) {
            job one = j;
            one.batch = 1;
            const steady_speed s = plan(one, layout{.tensor = tensor}, c)->speed.steady;
            const duration both = s.time_to_first_token.expected + s.time_per_output_token.expected;
            if (least == duration{} || both < least) least = both;
            CHECK_FALSE(searched.visit({.tensor = tensor}));
            const steady_speed& kept = *searched.fastest_too_slow;
            CHECK(kept.time_to_first_token.expected + kept.time_per_output_token.expected == least);
        }
        CHECK(searched.count == 0);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("of replicas that are as many GPUs and as fast the simpler layout comes first") {
    replica_set split, staged;
    split.plan.layout = {.tensor = 2};
    staged.plan.layout = {.pipeline = 2};
    split.replicas = staged.replicas = 1;
    REQUIRE(detail::simpler(split.plan.layout, staged.plan.layout) !=
            detail::simpler(staged.plan.layout, split.plan.layout));
    CHECK(detail::better(split, staged) == detail::simpler(split.plan.layout, staged.plan.layout));
    CHECK(detail::better(staged, split) == detail::simpler(staged.plan.layout, split.plan.layout));
    split.plan.speed.steady.time_per_output_token.expected = ms(1);
    CHECK(detail::better(staged, split));
    CHECK_FALSE(detail::better(split, staged));
    staged.replicas = 2;
    CHECK(detail::better(split, staged));
}

TEST_CASE("replicas are sized for the load, whatever batch the job names") {
    const request_load load{.requests = hertz(5.0)};
    job asked = chat(models::qwen3_30b_a3b);
    const replica_set one = replicas_for(asked, h100(4), load).value();
    asked.batch = 1024;
    const replica_set many = replicas_for(asked, h100(4), load).value();
    CHECK(one.plan.layout == many.plan.layout);
    CHECK(one.replicas == many.replicas);
    CHECK(one.in_flight == many.in_flight);
}

TEST_CASE("a layout that the job cannot have, or with which nothing fits, is no replica") {
    const cluster c = h100(8);
    std::array<replica_set, 1> best{};
    for (const auto& [m, l] : {std::pair{models::llama_3_1_8b, layout{.tensor = 3}},       // heads do not divide
                               std::pair{models::llama_3_1_405b, layout{.tensor = 4}}}) {  // 810 GB on 320
        const job j = chat(m);
        detail::replica_search searched{.j = j, .c = c, .load = {.requests = hertz(1.0)}, .best = best};
        CHECK_FALSE(searched.visit(l));
        CHECK(searched.count == 0);
        CHECK_FALSE(searched.fastest_too_slow);
    }
}

TEST_CASE("the least that was reached is of both times together, the first of those that are as long") {
    const job j = chat(models::llama_3_1_8b);
    const cluster c = h100(8);
    const request_load load{.requests = hertz(1.0), .time_to_first_token = ms(0.1)};
    std::array<replica_set, 1> best{};
    detail::replica_search searched{.j = j, .c = c, .load = load, .best = best};
    searched.visit({.tensor = 8});
    const steady_speed first = *searched.fastest_too_slow;
    searched.visit({});  // which takes longer for both
    CHECK(searched.fastest_too_slow->time_to_first_token == first.time_to_first_token);
    CHECK(searched.fastest_too_slow->time_per_output_token == first.time_per_output_token);
}
