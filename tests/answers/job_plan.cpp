// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/answers/job_plan.hpp>

using namespace llmres;

TEST_CASE("a plan keeps the first eight reasons and drops those for which there is no room") {
    job_plan p;
    for (std::int32_t gpu = 0; gpu < 10; ++gpu) p.because({.code = reason_code::memory_tight, .gpu = gpu});
    CHECK(p.reason_count == 8);
    CHECK(p.reasons.back().gpu == 7);
}

TEST_CASE("verdicts and reasons have names") {
    CHECK(name_of(verdict::does_not_fit) == "does_not_fit");
    CHECK(name_of(reason_code::weights_dequantised) == "weights_dequantised");
}

TEST_CASE("the bottleneck of a plan is the longest term of its step") {
    job_plan p;
    p.speed.step[time_term::memory] = seconds(2);
    p.speed.step[time_term::compute] = seconds(1);
    CHECK(p.bottleneck() == time_term::memory);
}

TEST_CASE("the bottleneck of a plan that makes no token is the longest term of its input") {
    job_plan p;
    p.speed.prefill[time_term::compute] = seconds(3);
    p.speed.prefill[time_term::memory] = seconds(1);
    CHECK(p.bottleneck() == time_term::compute);
    p.speed.prefill[time_term::memory] = seconds(4);
    CHECK(p.bottleneck() == time_term::memory);
}
