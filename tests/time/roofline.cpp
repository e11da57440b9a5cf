// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/time/roofline.hpp>

using namespace llmres;

TEST_CASE("terms have names, and each name is another") {
    CHECK(name_of(time_term::compute) == "compute");
    CHECK(name_of(time_term::launch) == "launch");
    for (std::size_t i = 0; i < time_term_names.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) CHECK(time_term_names[i] != time_term_names[k]);
}

TEST_CASE("the total is the sum of the terms, and the largest has the largest expected time") {
    time_breakdown t;
    t[time_term::compute] = {seconds(1), seconds(2), seconds(9)};
    t[time_term::memory] = {seconds(2), seconds(3), seconds(4)};
    CHECK(t.total().low.in(seconds) == doctest::Approx(3));
    CHECK(t.total().expected.in(seconds) == doctest::Approx(5));
    CHECK(t.total().high.in(seconds) == doctest::Approx(13));
    CHECK(t.largest() == time_term::memory);
}

TEST_CASE("an ideal time is divided by the efficiency: the lowest efficiency gives the longest time") {
    constexpr interval<duration> t = detail::at(seconds(1), {0.5, 0.8, 1.0});
    CHECK(t.low.in(seconds) == doctest::Approx(1));
    CHECK(t.expected.in(seconds) == doctest::Approx(1.25));
    CHECK(t.high.in(seconds) == doctest::Approx(2));
    CHECK(detail::at(duration{}, {0.5, 0.8, 1.0}) == interval<duration>{});
}

TEST_CASE("an operation is bound by its arithmetic or by its memory traffic, whichever takes longer") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    constexpr layout alone{};
    detail::pricer<1> price{alone, c, default_efficiency};
    price(operation{.arithmetic = arithmetic_kind::bf16, .flops = flops(1e15), .read = mb(1)}, 0);
    CHECK(price.ideal[0].compute.in(seconds) ==
          doctest::Approx((flops(1e15) / matrix_rate(c.gpu, arithmetic_kind::bf16)).in(seconds)));
    CHECK(price.ideal[0].memory == duration{});
    price(operation{.arithmetic = arithmetic_kind::bf16, .flops = flops(1e6), .read = gb(1), .written = gb(1)}, 0);
    CHECK(price.ideal[0].memory.in(seconds) == doctest::Approx((gb(2) / c.gpu.memory.bandwidth).in(seconds)));
}

TEST_CASE("ranks beyond a node exchange over the link between nodes") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    CHECK(&detail::link_among(c, 8) == &c.scale_up);
    CHECK(&detail::link_among(c, 9) == &c.scale_out);
}

TEST_CASE("measured rates are reached whole, and their bounds lie as far apart as the datasheet's") {
    constexpr efficiency measured = efficiency_of_measured(true, true);
    CHECK(measured.bandwidth.expected == 1.0);
    CHECK(measured.arithmetic.expected == 1.0);
    CHECK(measured.arithmetic.low ==
          doctest::Approx(default_efficiency.arithmetic.low / default_efficiency.arithmetic.expected));
    CHECK(measured.link == default_efficiency.link);
    // Products of other shapes reached 0.6 to 1 of the best one.
    constexpr efficiency scattered = efficiency_of_measured(true, true, default_efficiency, {0.6, 0.9, 1.0});
    CHECK(scattered.arithmetic.expected == 0.9);
    CHECK(scattered.arithmetic.high == 1.0);
    CHECK(scattered.arithmetic.low <= 0.6);
}
