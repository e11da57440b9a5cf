// SPDX-License-Identifier: MIT
#include <llmres/time/training_run.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

/// A job of 8 sequences of 1,000 tokens a step, of which a step takes 9 to 12 seconds, 10 expected.
job trained() {
    return {.model = models::llama_3_1_8b,
            .task = task::pretraining,
            .sequence = tokens(1000),
            .micro_batch = 1,
            .global_batch = 8};
}
constexpr layout four_ranks{.data = 4};
job_speed ten_seconds() {
    job_speed s{};
    s.step[time_term::compute] = {seconds(9), seconds(10), seconds(12)};
    return s;
}
training_time time_of(const training_run& r) { return time_of_run(r, trained(), four_ranks, ten_seconds()).value(); }
error refusal_of(const training_run& r) { return time_of_run(r, trained(), four_ranks, ten_seconds()).error(); }

constexpr duration minutes(double n) { return seconds(60) * n; }

}  // namespace

TEST_CASE("tokens are steps, seconds and GPU hours") {
    // 8,000,000 tokens of 8,000 a step are 1,000 steps of 10 s: 10,000 s, and 40,000 s of four GPUs.
    const training_time t = time_of({.trained = tokens(8'000'000)});
    CHECK(t.steps == 1000);
    CHECK(t.trained == tokens(8'000'000));
    CHECK(t.rounded_up == tokens(0));
    CHECK(t.total == interval<duration>{seconds(9000), seconds(10'000), seconds(12'000)});
    CHECK(t.total == t.computing);
    CHECK(t.gpu_time() == interval<duration>{seconds(36'000), seconds(40'000), seconds(48'000)});
    CHECK(t.goodput == 1);
    CHECK(t.failures == 0);
    CHECK_FALSE(t.checkpoint_interval);
}

TEST_CASE("a last step that is not full counts as one, and says so") {
    const training_time t = time_of({.trained = tokens(8001)});
    CHECK(t.steps == 2);
    CHECK(t.rounded_up == tokens(7999));
    CHECK(t.trained == tokens(16'000));
    CHECK(time_of({.trained = tokens(1)}).steps == 1);
}

TEST_CASE("epochs over samples are as many sequences, or the samples' tokens where they are packed") {
    // 3 x 25,000 samples of a sequence each in batches of 8: 9,375 steps.
    CHECK(time_of({.epochs = 3, .samples = 25'000}).steps == 9375);
    // 25,000 samples of 400 tokens are 10,000,000 tokens an epoch: 1,250 steps of 8,000.
    CHECK(time_of({.samples = 25'000, .sample_tokens = tokens(400)}).steps == 1250);
    CHECK(time_of({.epochs = 0.5, .samples = 25'000, .sample_tokens = tokens(400)}).steps == 625);
}

TEST_CASE("an epoch of 25,000 samples at 30 seconds a sample takes 8.7 days, as the notes have it") {
    job j = trained();
    j.global_batch = 1;
    job_speed half_a_minute{};
    half_a_minute.step[time_term::compute] = seconds(30);
    const training_time t = time_of_run({.samples = 25'000}, j, {}, half_a_minute).value();
    CHECK(t.total.expected.in(hours) / 24 == doctest::Approx(8.68).epsilon(0.001));
    CHECK(t.gpu_time().expected == t.total.expected);
}

TEST_CASE("the best interval is what Daly published for his three machines") {
    // Figures 3 to 5 of the paper: checkpoints of 5 minutes, and 24 h, 6 h and 15 min between failures.
    CHECK(std::round(best_interval(minutes(5), hours(24)) / minutes(1)) == 117);
    CHECK(std::round(best_interval(minutes(5), hours(6)) / minutes(1)) == 57);
    CHECK(best_interval(minutes(5), minutes(15)) / minutes(1) == doctest::Approx(9.1).epsilon(0.006));
}

TEST_CASE("the best interval tends to Young's where checkpoints are short, and is the time between failures at last") {
    // Young: sqrt(2 x 1 s x 20,000 s) = 200 s. Daly's is 200 (1 + 0.005 / 3 + 0.000025 / 9) - 1 = 199.334.
    CHECK(best_interval(seconds(1), seconds(20'000)).in(seconds) == doctest::Approx(199.334).epsilon(1e-6));
    CHECK(best_interval(minutes(30), minutes(15)) == minutes(15));
    CHECK(best_interval(minutes(60), minutes(15)) == minutes(15));
}

TEST_CASE("no interval has more goodput than the best by more than its approximation is off") {
    for (const double mtbf : {0.5, 3.0, 24.0, 1000.0})
        for (const double written : {5.0, 30.0, 300.0}) {
            const duration best = best_interval(seconds(written), hours(mtbf));
            const double reached = goodput_of(best, seconds(written), minutes(5), hours(mtbf));
            for (const double factor : {0.1, 0.5, 0.8, 0.95, 1.05, 1.2, 2.0, 10.0})
                CHECK(goodput_of(best * factor, seconds(written), minutes(5), hours(mtbf)) <= reached * 1.0001);
        }
}

TEST_CASE("goodput is Daly's model of a run") {
    // M = 3 h, t = 600 s, c = 30 s, R = 300 s: 600 / (10,800 e^(300 / 10,800) (e^(630 / 10,800) - 1)).
    const double expected = 600 / (10'800 * std::exp(300.0 / 10'800) * std::expm1(630.0 / 10'800));
    CHECK(goodput_of(seconds(600), seconds(30), seconds(300), hours(3)) == doctest::Approx(expected).epsilon(1e-12));
    CHECK(expected == doctest::Approx(0.8995).epsilon(1e-3));
    // Without failures only checkpoints take time: 600 of 630 s.
    CHECK(goodput_of(seconds(600), seconds(30), {}, {}) == doctest::Approx(600.0 / 630));
    // Hardly any failures: the same.
    CHECK(goodput_of(seconds(600), seconds(30), {}, hours(1e9)) == doctest::Approx(600.0 / 630));
}

TEST_CASE("the exponential is the C library's to the last digits but one") {
    for (const double x : {0.0, 1e-12, 0.001, 1.0 / 64, 0.02, 0.5, 1.0, 10.0, 100.0, 699.0})
        CHECK(detail::exponential_less_one(x) == doctest::Approx(std::expm1(x)).epsilon(1e-12));
    static_assert(detail::exponential_less_one(1) > 1.718281828 && detail::exponential_less_one(1) < 1.718281829);
    CHECK(detail::exponential_less_one(1e300) == detail::exponential_less_one(700));
}

TEST_CASE("checkpoints and failures lengthen a run at all of its bounds") {
    // 100,000 steps of 10 s: 1,000,000 s.
    const training_time t =
        time_of({.trained = tokens(800'000'000), .mtbf = hours(3), .checkpoint = seconds(30), .restart = seconds(300)});
    CHECK(t.checkpoint_interval == best_interval(seconds(30), hours(3)));
    CHECK(t.goodput == goodput_of(*t.checkpoint_interval, seconds(30), seconds(300), hours(3)));
    CHECK(t.total.expected.in(seconds) == doctest::Approx(1e6 / t.goodput));
    CHECK(t.total.low.in(seconds) == doctest::Approx(0.9e6 / t.goodput));
    CHECK(t.total.high.in(seconds) == doctest::Approx(1.2e6 / t.goodput));
    CHECK(t.failures == doctest::Approx(1e6 / t.goodput / 10'800));
    CHECK(t.goodput > 0.89);
    CHECK(t.goodput < 0.92);
}

TEST_CASE("failures of one GPU are so many times as frequent on all") {
    // Four GPUs that fail every 12 h are a machine that fails every 3 h.
    const training_run all{.trained = tokens(800'000'000), .mtbf = hours(3), .checkpoint = seconds(30)};
    const training_run each{.trained = tokens(800'000'000), .gpu_mtbf = hours(12), .checkpoint = seconds(30)};
    CHECK(time_of(each).mtbf == time_of(all).mtbf);
    CHECK(time_of(each).goodput == time_of(all).goodput);
}

TEST_CASE("an interval that is given is kept, and the best is no longer than the run") {
    const training_run every_hour{
        .trained = tokens(8'000'000), .checkpoint = seconds(40), .checkpoint_interval = seconds(3600)};
    CHECK(time_of(every_hour).goodput == doctest::Approx(3600.0 / 3640));
    CHECK_FALSE(time_of(every_hour).mtbf);
    const training_run short_run{.trained = tokens(8'000'000), .mtbf = hours(1e6), .checkpoint = seconds(40)};
    CHECK(time_of(short_run).checkpoint_interval == seconds(10'000));
}

TEST_CASE("what is wrong with a run is named") {
    const token_count some = tokens(8'000'000);
    const auto refuses = [](const training_run& r, std::string_view field, error_code code) {
        INFO(std::string{field});
        CHECK(refusal_of(r).field == field);
        CHECK(refusal_of(r).code == code);
    };
    using enum error_code;
    refuses({}, "run.tokens", missing);
    refuses({.trained = tokens(-1)}, "run.tokens", out_of_range);
    refuses({.trained = some, .samples = 3}, "run.samples", inconsistent);
    refuses({.trained = some, .epochs = 3}, "run.samples", missing);
    refuses({.samples = -3}, "run.samples", out_of_range);
    refuses({.epochs = 0, .samples = 3}, "run.epochs", out_of_range);
    refuses({.epochs = -1, .samples = 3}, "run.epochs", out_of_range);
    refuses({.trained = some, .sample_tokens = tokens(3)}, "run.sample_tokens", inconsistent);
    refuses({.samples = 3, .sample_tokens = tokens(-3)}, "run.sample_tokens", out_of_range);
    refuses({.trained = some, .mtbf = hours(3)}, "run.checkpoint", missing);
    refuses({.trained = some, .checkpoint_interval = hours(3)}, "run.checkpoint", missing);
    refuses({.trained = some, .checkpoint = seconds(30)}, "run.mtbf", missing);
    refuses({.trained = some, .restart = seconds(30)}, "run.mtbf", missing);
    refuses({.trained = some, .mtbf = hours(0), .checkpoint = seconds(30)}, "run.mtbf", out_of_range);
    refuses({.trained = some, .mtbf = hours(-3), .checkpoint = seconds(30)}, "run.mtbf", out_of_range);
    refuses({.trained = some, .mtbf = hours(3), .checkpoint = seconds(0)}, "run.checkpoint", out_of_range);
    refuses({.trained = some, .mtbf = hours(3), .checkpoint = seconds(3), .restart = seconds(-1)}, "run.restart",
            out_of_range);
    refuses({.trained = some, .mtbf = hours(3), .gpu_mtbf = hours(3), .checkpoint = seconds(3)}, "run.gpu_mtbf",
            inconsistent);
    refuses({.trained = some, .mtbf = seconds(20), .checkpoint = seconds(30)}, "run.mtbf", out_of_range);
    refuses({.trained = some, .gpu_mtbf = seconds(80), .checkpoint = seconds(30)}, "run.gpu_mtbf", out_of_range);
    refuses({.trained = some, .checkpoint = seconds(30), .checkpoint_interval = seconds(10'001)},
            "run.checkpoint_interval", out_of_range);
    refuses({.samples = std::int64_t{1} << 62}, "run.samples", overflow);
    job served = trained();
    served.task = task::serving;
    CHECK(time_of_run({.trained = some}, served, four_ranks, ten_seconds()).error().field == "task");
}

TEST_CASE("a run is a constant expression") {
    constexpr std::int64_t steps = [] {
        const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(1000)};
        const job_speed none{};
        return time_of_run({.trained = tokens(5000)}, j, {}, none)->steps;
    }();
    static_assert(steps == 5);
    static_assert(best_interval(seconds(300), hours(24)) > seconds(116 * 60));
}

TEST_CASE("a plan's step is that of which the tokens are those of a step") {
    const job j = trained();
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job_plan p = plan(j, layout{.data = 8, .zero = 3}, c).value();
    CHECK(tokens_of_step(j, p.layout) == tokens(8000));
    const training_time t = time_of_run({.trained = tokens(8'000'000)}, j, p.layout, p.speed).value();
    CHECK((approx(t.trained) / t.total.expected).in(tokens_per_s) ==
          doctest::Approx(p.speed.tokens_per_second.in(tokens_per_s)));
    CHECK(t.total.low < t.total.expected);
    CHECK(t.total.expected < t.total.high);
}

TEST_CASE("no checkpoint begins before the last one is written") {
    // Daly's interval of checkpoints of 1 s and failures an hour apart is 84.5 s; they are written for 100.
    const training_run r{.trained = tokens(8'000'000), .mtbf = seconds(3600), .checkpoint = seconds(1)};
    CHECK(time_of(r).checkpoint_interval->in(seconds) == doctest::Approx(84.5).epsilon(0.01));
    CHECK(time_of(r).checkpoint == seconds(1));
    training_run beside = r;
    beside.written = seconds(100);
    CHECK(time_of(beside).checkpoint_interval == seconds(100));
    CHECK(time_of(beside).goodput < time_of(r).goodput);
    beside.checkpoint_interval = seconds(99);
    CHECK(refusal_of(beside).field == "run.checkpoint_interval");
    CHECK(refusal_of(beside).expected == "at least the seconds that a checkpoint is written for, 100");
    beside.checkpoint_interval = seconds(200);
    CHECK(time_of(beside).checkpoint_interval == seconds(200));
    CHECK_FALSE(time_of({.trained = tokens(8'000'000)}).checkpoint);
}
