// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/time/kernels.hpp>

using namespace llmres;

TEST_CASE("the board's power and the energy of a FLOP bound the rate of long runs") {
    CHECK(sustained_rate(gpus::b200_sxm_180gb).in(tflops) == doctest::Approx(0.46 * 2250).epsilon(0.01));
    // Minutes of products reached 0.75 of an A100's peak at 300 W: no less than a burst does.
    CHECK(sustained_rate(gpus::a100_pcie_80gb).in(tflops) > 312 * 0.748);
    CHECK(sustained_rate(gpus::h100_sxm5_80gb).in(tflops) == doctest::Approx(700 / 1.15));
}

TEST_CASE("a product of half as many bits takes half the energy") {
    CHECK(sustained_rate(gpus::h100_sxm5_80gb, 1.0).in(tflops) ==
          doctest::Approx(2 * sustained_rate(gpus::h100_sxm5_80gb, 2.0).in(tflops)));
}

TEST_CASE("a board of unknown power has no known rate of long runs") {
    gpu unknown = gpus::h100_sxm5_80gb;
    unknown.board_power = {};
    CHECK(sustained_rate(unknown) == flop_rate{});
}

TEST_CASE("a limit below the board's power lowers the rate of long runs, a limit above it does not raise it") {
    const auto rate = [](double limit) {
        return sustained_rate(gpus::h100_sxm5_80gb, 2.0, maybe<power>{watts(limit)}).in(tflops);
    };
    CHECK(rate(350) == doctest::Approx(sustained_rate(gpus::h100_sxm5_80gb).in(tflops) / 2));
    CHECK(rate(1400) == sustained_rate(gpus::h100_sxm5_80gb).in(tflops));
}

TEST_CASE("two times overlap to the root of their squares") {
    CHECK(detail::overlapped(3, 4) == doctest::Approx(5));
    static_assert(detail::overlapped(0, 2) == 2);
}

TEST_CASE(
    "without a boost clock, clocks follow from the rate of fp32, with 128 cores a multiprocessor if not counted") {
    gpu card = gpus::a100_sxm4_80gb;
    card.boost_clock = {};
    CHECK(multiprocessor_clocks(card) == doctest::Approx(108 * 19.5e12 / (2.0 * 6912)));
    for (const maybe<std::int32_t>& unknown : {maybe<std::int32_t>{}, maybe<std::int32_t>{0}}) {
        gpu uncounted = card;
        uncounted.cuda_cores = unknown;
        CHECK(multiprocessor_clocks(uncounted) == doctest::Approx(19.5e12 / (2.0 * 128)));
        uncounted = card;
        uncounted.sm_count = unknown;
        CHECK(multiprocessor_clocks(uncounted) == doctest::Approx(19.5e12 / (2.0 * 128)));
        uncounted.boost_clock = mhz(1410);  // of how many multiprocessors is not known
        CHECK(multiprocessor_clocks(uncounted) == doctest::Approx(19.5e12 / (2.0 * 128)));
        uncounted.vendor = gpu_vendor::other;  // a CPU has none
        CHECK(multiprocessor_clocks(uncounted) == 0);
    }
    card.rates.fp32 = {};
    CHECK(multiprocessor_clocks(card) == 0);
}

TEST_CASE("a limit below the board's power replaces it, and one above it changes nothing") {
    gpu card = gpus::h100_sxm5_80gb;
    const double whole = sustained_rate(card).in(tflops);
    CHECK(whole == doctest::Approx(700 / 1.15));
    CHECK(sustained_rate(card, 1.0).in(tflops) == doctest::Approx(2 * 700 / 1.15));
    CHECK(sustained_rate(card, 2.0, watts(350)).in(tflops) == doctest::Approx(350 / 1.15));
    CHECK(sustained_rate(card, 2.0, watts(900)).in(tflops) == doctest::Approx(whole));
    card.board_power = {};
    CHECK(sustained_rate(card, 2.0, watts(900)).in(tflops) == doctest::Approx(900 / 1.15));
    CHECK(sustained_rate(card) == flop_rate{});
}

TEST_CASE("a clock that follows from the rate of fp32 is of as many cores as there are, be it one") {
    const gpu card{.sm_count = 1, .cuda_cores = 1, .rates = {.fp32 = tflops(0.003)}};
    CHECK(multiprocessor_clocks(card) == doctest::Approx(1.5e9));  // two FLOPs a clock
}
