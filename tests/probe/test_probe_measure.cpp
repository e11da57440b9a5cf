// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <set>

#include "cublas.hpp"
#include "measure.hpp"
#include "pattern.hpp"
#include "simulated_cuda.hpp"
#include "tested_plan.hpp"

using namespace llmres;
using namespace llmres::probe;

namespace {

/// A driver that tells nothing.
nvml::state idle() {
    constexpr const char* why = "NVML: no permission";
    return {reading<frequency>::unavailable(why), reading<power>::unavailable(why),
            reading<unsigned long long>::unavailable(why)};
}

}  // namespace

TEST_CASE("times become rates: the median decides, the longest is the lowest") {
    const auto rate = rate_of({0.2, 0.1, 0.4}, gb(1));
    CHECK(rate.median.in(gb_per_s) == doctest::Approx(5));
    CHECK(rate.low.in(gb_per_s) == doctest::Approx(2.5));
    CHECK(rate.high.in(gb_per_s) == doctest::Approx(10));
    CHECK(rate.repeats == 3);
    CHECK(rate_of({1.0, 2.0, 3.0, 10.0}, gb(5)).median.in(gb_per_s) == doctest::Approx(2));
    CHECK_THROWS_WITH_AS(rate_of({}, gb(1)), "no samples", call_failed);
    CHECK_THROWS_WITH_AS(rate_of({0.0, 1.0}, gb(1)), "a time of zero", call_failed);
}

TEST_CASE("products are measured only in precisions that the device has, and all fit the list") {
    const auto measured_in = [](int major, int minor) {
        std::set<std::string> all;
        for (const auto& shape : product_shapes(major, minor, false)) all.insert(name_of(shape.kind));
        return all;
    };
    CHECK(measured_in(7, 5) == std::set<std::string>{"fp16", "int8"});
    CHECK(measured_in(8, 0) == std::set<std::string>{"bf16", "fp16", "int8", "tf32"});
    CHECK(measured_in(9, 0).count("fp8_e4m3") == 1);
    CHECK(product_shapes(9, 0, false).size() <= device_measurements{}.products.capacity);
    CHECK(product_shapes(9, 0, true).size() == 5);
}

TEST_CASE("context and workspace are what NVML's used bytes grew by") {
    simulated_cuda cuda;
    device live;
    cuda.describe(0, live);
    const device_watch watch{[&] { return reading<byte_count>{cuda.used()}; }, idle, reading<byte_count>{cuda.used()}};
    measure(cuda, 0, 1, watch, {.repeats = 3, .quick = true}, stop_signal{}, live);
    CHECK(*live.measured.context == mib(300));
    CHECK(*live.measured.library_workspace == mib(40));
    CHECK(live.measured.read_bandwidth->repeats == 3);
    CHECK(live.measured.all_reduces.empty());

    device blind;
    simulated_cuda again;
    const auto denied = reading<byte_count>::unavailable("NVML: no permission");
    measure(again, 0, 1, {[&] { return denied; }, idle, denied}, {}, stop_signal{}, blind);
    CHECK(blind.measured.context.why == "NVML: no permission");
}

TEST_CASE("each figure has the clock, the power and the throttle reasons that were seen meanwhile") {
    simulated_cuda cuda;
    device live;
    cuda.describe(0, live);
    std::atomic<int> times_looked{0};
    const auto now = [&]() -> nvml::state {
        const int n = ++times_looked;
        return {mhz(2000 - n % 7), watts(300 + n % 7), n % 2 == 0 ? 4ULL : 0ULL};
    };
    const auto used = [&] { return reading<byte_count>{cuda.used()}; };
    measure(cuda, 0, 1, {used, now, used()}, {.repeats = 2, .quick = true, .warm_s = 0}, stop_signal{}, live);
    CHECK(times_looked >= 8);
    const device_conditions& during = live.measured.read_bandwidth->during;
    CHECK(during.sm_clock->in(mhz) <= 2000);
    CHECK(during.draw->in(watts) >= 300);
    CHECK((during.throttle_reasons->view() == "none" || during.throttle_reasons->view() == "sw_power_cap"));

    measure(cuda, 0, 1, {used, idle, used()}, {.repeats = 2, .quick = true, .warm_s = 0}, stop_signal{}, live);
    CHECK(live.measured.products[0].rate->during.draw.why == "NVML: no permission");
    CHECK(live.measured.products[0].rate->during.throttle_reasons.why == "NVML: no permission");
}

TEST_CASE("one shape in each precision runs long, and its slower rate is told from that of bursts") {
    simulated_cuda cuda;
    device live;
    cuda.describe(0, live);
    const auto used = [&] { return reading<byte_count>{cuda.used()}; };
    const measured_fault fault = measure(cuda, 0, 1, {used, idle, used()}, {.repeats = 2}, stop_signal{}, live);
    int ran_long = 0;
    for (const device_product& p : live.measured.products) {
        ran_long += p.sustained ? 1 : 0;
        if (p.sustained) CHECK(ratio(p.sustained->median, p.rate->median) == doctest::Approx(0.8));
    }
    CHECK(ran_long == 5);
    CHECK(fault.what == "");
    CHECK(detail::kept_in_long_runs(live) == doctest::Approx(0.8));
}

TEST_CASE("the first fault is told, before a library that is missing, and a wrong result is one") {
    const auto fault_on = [](simulation s) {
        simulated_cuda cuda{std::move(s)};
        device live;
        cuda.describe(0, live);
        const auto used = [&] { return reading<byte_count>{cuda.used()}; };
        return measure(cuda, 0, 1, {used, idle, used()}, {.repeats = 2, .quick = true}, stop_signal{}, live);
    };
    CHECK(fault_on({.libraries_missing = true}).what == "opening libraries");
    CHECK(fault_on({.libraries_missing = true}).missing);
    CHECK(fault_on({.right = false}).what == "bf16 4096 x 4096 x 4096");
    CHECK(fault_on({.right = false}).why == "its result was wrong");
    CHECK(fault_on({.context_problem = "cudaSetDevice: cudaErrorUnknown"}).what == "opening context");
    measured_fault fault;
    fault.note("opening libraries", "libcublas.so.13 could not be loaded");
    fault.note("read", "cudaMalloc: cudaErrorUnknown");
    fault.note("host to device", "cudaMalloc: cudaErrorUnknown");
    CHECK(fault.what == "read");
    CHECK_FALSE(fault.missing);
}

TEST_CASE("a measurement that was stopped says so") {
    simulated_cuda cuda;
    device live;
    cuda.describe(0, live);
    const stop_signal stop{1e-9};
    const auto used = [&] { return reading<byte_count>{cuda.used()}; };
    measure(cuda, 0, 1, {used, idle, used()}, {}, stop, live);
    CHECK(live.measured.read_bandwidth.why.view().starts_with("timed out"));
    CHECK(live.measured.products[0].verified.why.view().starts_with("timed out"));
}

TEST_CASE("patterns differ by seed and by place, and elements are what they decode to") {
    std::set<std::uint64_t> words;
    for (std::uint64_t seed = 0; seed < 8; ++seed)
        for (std::uint64_t i = 0; i < 1000; ++i) words.insert(pattern_word(seed, i));
    CHECK(words.size() == 8000);
    for (const element kind : {element::fp32, element::tf32, element::bf16, element::fp16, element::fp8_e4m3})
        for (std::uint64_t i = 0; i < 1000; ++i) {
            const double value = std::abs(element_value(kind, element_bits(kind, 1, i)));
            CHECK(value >= 1.0 / 16);
            CHECK(value < 1.0);
        }
    CHECK(element_value(element::fp32, 0x3fc00000) == 1.5);
    CHECK(element_value(element::bf16, 0xc040) == -3.0);
    CHECK(element_value(element::fp16, 0x3c01) == 1.0 + 1.0 / 1024);
    CHECK(element_value(element::fp16, 0x0001) == std::ldexp(1.0, -24));
    CHECK(element_value(element::fp8_e4m3, 0x38) == 1.0);
    CHECK(element_value(element::int8, 0x80) == -128.0);
    CHECK((element_bits(element::tf32, 3, 7) & 0x1fff) == 0);
}

TEST_CASE("cuBLAS that is absent is a reason, not a failure to start") {
    cublas library;
    CHECK_THROWS_AS(library.multiply({element::bf16, 1, 1, 1}, nullptr, nullptr, nullptr, nullptr, 0), call_failed);
}

TEST_CASE("a preset is planned on a device") {
    device live;
    live.compute.capability_major = 9;
    live.compute.capability_minor = 0;
    live.compute.sm_count = 132;
    live.identity.name = text<63>{"NVIDIA H100 80GB HBM3"};
    live.memory.cuda_total = bytes(84'943'110'144);
    const std::string document = document_of({"llama-3.1-8b", "serving", "pytorch", 4, 2048});
    const auto request = request_of(document, live);
    REQUIRE(request.has_value());
    const auto plan = plan_of(*request);
    REQUIRE(plan.has_value());
    CHECK(plan->usable <= bytes(84'943'110'144));
    CHECK(plan->buffers.size() > 200);
    CHECK(memory_of_plan(changed(*request, "batch", 8))->buffer_total() > plan->buffer_total());
    live.compute.capability_major = 99;
    CHECK(request_of(document, live).error().code == error_code::unknown);
}

TEST_CASE("the bandwidth of an all-reduce is what a ring sends over each link") {
    simulated_cuda cuda;
    device live;
    const device_watch watch{[&] { return reading<byte_count>{cuda.used()}; }, idle, reading<byte_count>{cuda.used()}};
    measure(cuda, 0, 4, watch, {.repeats = 3, .quick = true}, stop_signal{}, live);
    REQUIRE(live.measured.all_reduces.size() == 1);
    CHECK(live.measured.all_reduces[0].devices == 4);
    CHECK(live.measured.all_reduces[0].message == mib(64));
    // Of the size of the host's copies, and in their time: each link carries 2 x 3/4 of the message.
    CHECK(ratio(live.measured.all_reduces[0].bandwidth->median, live.measured.host_to_device_pinned->median) ==
          doctest::Approx(1.5));
}
