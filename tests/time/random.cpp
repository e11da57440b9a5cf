// SPDX-License-Identifier: MIT
// What must hold of the times of every job: held against random job documents. LLMRES_RANDOM_SEED=n makes others,
// LLMRES_RANDOM_JOBS=n as many. A document that breaks a rule is printed as a caller would write it.
#include <llmres/io/job_json.hpp>
#include <llmres/plan.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "../properties.hpp"
#include "../random_documents.hpp"
#include "../sanitized.hpp"

using namespace llmres;
using namespace random_documents;

namespace {

constexpr double rounding = 1 + 1e-9;

std::optional<job_speed> speed_of(const job& j, const layout& l, const cluster& c) {
    const result<job_plan> made = plan(j, l, c);
    if (!made) return {};
    return made->speed;
}

/// A random job with its layout and cluster, and its speed there.
struct timed {
    document written;
    plan_request asked;
    job_speed speed;
};

template <class Check>
void for_random_jobs(document (*make)(dice&), const Check& check) {
    const std::int64_t wanted = from_environment("LLMRES_RANDOM_JOBS", sanitized ? 200 : 1'000);
    dice d;
    std::int64_t tried = 0;
    for (std::int64_t done = 0; done < wanted; ++tried) {
        REQUIRE(tried < 40 * (wanted + 100));
        timed one{.written = make(d), .asked = {}, .speed = {}};
        const result<plan_request> read = read_job(one.written);
        if (!read || !read->layout) continue;
        const std::optional<job_speed> speed = speed_of(read->job, *read->layout, read->cluster);
        if (!speed) continue;
        one.asked = *read, one.speed = *speed;
        ++done;
        check(one);
    }
}

void no_slower(const char* rule, const timed& one, const job_speed& before, const job_speed& after) {
    const auto told = [&](const time_breakdown& a, const time_breakdown& b) {
        if (b.total().expected <= a.total().expected * rounding) return;
        const std::string message = std::string{rule} + ": " + std::to_string(a.total().expected.in(milliseconds)) +
                                    " ms, then " + std::to_string(b.total().expected.in(milliseconds)) + " ms\n    " +
                                    one.written.dump();
        FAIL_CHECK(message);
    };
    told(before.step, after.step);
    told(before.prefill, after.prefill);
}

void check_hardware(const timed& one) {
    const auto with = [&](const char* rule, const auto& improve) {
        cluster c = one.asked.cluster;
        improve(c);
        if (const auto faster = speed_of(one.asked.job, *one.asked.layout, c)) no_slower(rule, one, one.speed, *faster);
    };
    with("a link between nodes is twice as fast", [](cluster& c) { c.scale_out.raw = c.scale_out.raw * 2; });
    with("a link inside a node is twice as fast", [](cluster& c) { c.scale_up.raw = c.scale_up.raw * 2; });
    with("the link to the host is twice as fast", [](cluster& c) { c.host.link.raw = c.host.link.raw * 2; });
    with("the memory is twice as fast", [](cluster& c) { c.gpu.memory.bandwidth = c.gpu.memory.bandwidth * 2; });
    with("arithmetic is twice as fast, and the board may take twice the power", [](cluster& c) {
        gpu_rates& r = c.gpu.rates;
        for (maybe<flop_rate>* rate : {&r.fp32, &r.tf32, &r.fp16, &r.bf16, &r.fp8, &r.fp6, &r.fp4, &r.int8, &r.int4})
            if (*rate) rate->value = rate->value * 2;
        if (c.gpu.board_power) c.gpu.board_power.value = c.gpu.board_power.value * 2;
        if (c.power_limit) c.power_limit.value = c.power_limit.value * 2;
    });
}

void check_order(const timed& one) {
    CAPTURE(one.written.dump());
    for (const time_breakdown& t : {one.speed.step, one.speed.prefill}) {
        interval<duration> sum;
        for (const interval<duration>& term : t.terms) {
            CHECK(term.low >= duration{});
            CHECK(term.low <= term.expected);
            CHECK(term.expected <= term.high);
            sum += term;
        }
        CHECK(sum == t.total());
    }
    CHECK(one.speed.mfu >= 0);
    CHECK(one.speed.mfu <= 1);
}

}  // namespace

TEST_CASE("no random training job breaks a rule of time") {
    for_random_jobs(random_training_job, [](const timed& one) {
        check_order(one);
        check_hardware(one);
        job longer = one.asked.job;
        longer.sequence = sequence_of(longer) * 2;
        if (const auto slower = speed_of(longer, *one.asked.layout, one.asked.cluster))
            no_slower("the sequence is half as long", one, *slower, one.speed);
    });
}

TEST_CASE("no random serving job breaks a rule of time") {
    for_random_jobs(random_serving_job, [](const timed& one) {
        check_order(one);
        check_hardware(one);
        if (const steady_speed& s = one.speed.steady; s.in_flight > 0) {
            CAPTURE(one.written.dump());
            CHECK(s.time_per_output_token.expected >= one.speed.step.total().expected);
            CHECK(s.time_to_first_token.expected >= one.speed.prefill.total().expected);
            CHECK(s.time_per_output_token.low <= s.time_per_output_token.expected);
            CHECK(s.time_per_output_token.expected <= s.time_per_output_token.high);
            CHECK(s.time_to_first_token.low <= s.time_to_first_token.expected);
            CHECK(s.time_to_first_token.expected <= s.time_to_first_token.high);
        }
        job more = one.asked.job;
        more.batch *= 2;
        if (const auto slower = speed_of(more, *one.asked.layout, one.asked.cluster))
            no_slower("the batch is half as large", one, *slower, one.speed);
        job longer = one.asked.job;
        longer.context = {}, longer.prompt = prompt_of(one.asked.job) * 2;
        if (const auto slower = speed_of(longer, *one.asked.layout, one.asked.cluster))
            no_slower("the prompt is half as long", one, *slower, one.speed);
        job cached = one.asked.job;
        cached.prefix_hit_rate = 0.5;
        if (const auto faster = speed_of(cached, *one.asked.layout, one.asked.cluster))
            no_slower("half of the prompt is cached", one, one.speed, *faster);
    });
}
