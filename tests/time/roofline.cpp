// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/time/roofline.hpp>

using namespace llmres;

TEST_CASE("terms have names, and each name is another") {
    CHECK(name_of(time_term::compute) == "compute");
    CHECK(name_of(time_term::launch) == "launch");
    for (std::size_t i = 0; i < names_of<time_term>.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) CHECK(names_of<time_term>[i] != names_of<time_term>[k]);
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

namespace {

struct priced {
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    layout alone{};
    runtime_launches launches{};
    detail::priced_pass of(const operation& o, bool sustained = false, const efficiency& e = default_efficiency) const {
        detail::pricer price{alone, c, c.gpu, e, launches, {sustained}};
        price(o, 0);
        return price.sum[0];
    }
};

operation product(double work, byte_count read, arithmetic_kind kind = arithmetic_kind::bf16) {
    return {.arithmetic = kind, .flops = flops(work), .read = read};
}

}  // namespace

TEST_CASE("a product takes its arithmetic at 0.748 of the peak and its traffic at 0.797 of the bandwidth") {
    const priced p;
    const double peak = 989.4e12 * 0.748, bandwidth = 3350e9 * 0.797;
    const detail::priced_pass computes = p.of(product(1e15, mb(1)));
    CHECK(computes.compute.in(seconds) == doctest::Approx(1e15 / peak).epsilon(1e-6));
    CHECK(computes.memory == duration{});
    CHECK(computes.floors.in(microseconds) == doctest::Approx(3.8));
    const detail::priced_pass moves = p.of(product(1e6, gb(2)));
    CHECK(moves.memory.in(seconds) == doctest::Approx(2e9 / bandwidth).epsilon(1e-6));
    CHECK(moves.compute == duration{});
}

TEST_CASE("arithmetic and traffic of the same length overlap in part") {
    const priced p;
    const double each = 1e-3;
    const byte_count read = bytes(static_cast<std::int64_t>(each * 3350e9 * 0.797));
    const detail::priced_pass both = p.of(product(each * 989.4e12 * 0.748, read));
    CHECK((both.compute + both.memory).in(seconds) == doctest::Approx(each * std::sqrt(2.0)).epsilon(1e-6));
}

TEST_CASE("narrow products reach less of their peak, and cast their input once") {
    const priced p;
    operation cast = product(1, {}, arithmetic_kind::fp8);
    CHECK(p.of(cast).floors.in(microseconds) == doctest::Approx(3.8 + 5.6));
    cast.joined = true;
    CHECK(p.of(cast).floors == duration{});
    CHECK(p.of(product(1, {}, arithmetic_kind::int8)).floors.in(microseconds) == doctest::Approx(3.8 + 5.6));
    CHECK(p.of(product(1, {}, arithmetic_kind::fp16)).floors.in(microseconds) == doctest::Approx(3.8));
    CHECK(p.of(product(1e15, {}, arithmetic_kind::fp8)).compute.in(seconds) ==
          doctest::Approx(1e15 / (1978.9e12 * 0.655)).epsilon(1e-6));
    priced b200{standard_cluster(gpus::b200_sxm_180gb, 1).value()};
    CHECK(b200.of(product(1e15, {}, arithmetic_kind::fp4)).compute.in(seconds) ==
          doctest::Approx(1e15 / (9000e12 * 0.465)).epsilon(1e-6));
}

TEST_CASE("a joined product has no floor of its own") {
    const priced p;
    operation o = product(1e6, {});
    o.joined = true;
    CHECK(p.of(o).floors == duration{});
}

TEST_CASE("long runs get what the board's power allows") {
    const priced p;
    const double rate = 700 / 1.15e-12;
    CHECK(p.of(product(1e15, {}), true).compute.in(seconds) == doctest::Approx(1e15 / rate).epsilon(1e-6));
    priced unknown;
    unknown.c.gpu.board_power = {};
    CHECK(unknown.of(product(1e15, {}), true).compute == unknown.of(product(1e15, {}), false).compute);
}

TEST_CASE("long runs reach a part of the rate that was measured in bursts, whatever the board's power") {
    priced p;
    p.c.gpu.measured.bf16 = tflops(700);
    p.c.gpu.measured.sustained = 0.6;
    p.c.gpu.board_power = watts(100);
    for (const operation_kind kind : {operation_kind::projection, operation_kind::attention, operation_kind::experts}) {
        operation o = product(1e15, {});
        o.kind = kind, o.blocks = 1e9, o.tokens = 1'000'000'000;
        CHECK(p.of(o, true).compute.in(seconds) == doctest::Approx(p.of(o).compute.in(seconds) / 0.6));
    }
    CHECK(p.of(product(1e15, {}, arithmetic_kind::fp8), true).compute.in(seconds) ==
          doctest::Approx(1e15 / (2 * 100e12 / 1.15)));  // not measured: the sheet's power
}

TEST_CASE("experts with few tokens each reach a part of the rate: half of it with 20") {
    const priced p;
    operation o{.kind = operation_kind::experts, .flops = flops(1e15), .tokens = 20 * 8, .groups = 8};
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(2 * 1e15 / (989.4e12 * 0.31)).epsilon(1e-6));
    o.tokens = 1'000'000'000;
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(1e15 / (989.4e12 * 0.31)).epsilon(1e-3));
    CHECK(p.of(o).floors.in(microseconds) == doctest::Approx(10.5));
}

TEST_CASE("products that make gradients of weights take a twentieth longer") {
    const priced p;
    operation o = product(1e15, {});
    const double forward = p.of(o).compute.in(seconds);
    o.pass = product_pass::input_gradients;
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(forward).epsilon(1e-9));
    o.pass = product_pass::weight_gradients;
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(forward / 0.955).epsilon(1e-9));
    o.kind = operation_kind::experts, o.tokens = 1'000'000'000;
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(1e15 / (989.4e12 * 0.31 * 0.955)).epsilon(1e-3));
}

TEST_CASE("while decoding, kernels with few loads in flight read so many bytes a clock and multiprocessor") {
    priced p;
    const operation o = product(0, gb(1));
    const double whole = p.of(o).memory.in(seconds);
    CHECK(whole == doctest::Approx(1e9 / (3350e9 * 0.797)).epsilon(1e-6));
    p.launches.bytes_a_clock = 6;
    CHECK(p.of(o).memory.in(seconds) == doctest::Approx(1e9 / (132 * 1.98e9 * 6)).epsilon(1e-6));
    CHECK(p.of(o, true).memory.in(seconds) == doctest::Approx(whole));
    p.launches.bytes_a_clock = 600;  // more than the memory gives
    CHECK(p.of(o).memory.in(seconds) == doctest::Approx(whole));
}

TEST_CASE(
    "casts to fp8 are a kernel, but where the runtime joins them with the one before; those to fp4 are one always") {
    priced p;
    const auto floor = [&](arithmetic_kind kind) { return p.of(product(1, {}, kind)).floors.in(microseconds); };
    CHECK(floor(arithmetic_kind::bf16) == doctest::Approx(3.8));
    CHECK(floor(arithmetic_kind::fp8) == doctest::Approx(3.8 + 5.6));
    p.launches.joins_casts = true;
    CHECK(floor(arithmetic_kind::fp8) == doctest::Approx(3.8));
    CHECK(floor(arithmetic_kind::int8) == doctest::Approx(3.8 + 5.6));
    p.c.gpu = gpus::b200_sxm_180gb;
    CHECK(floor(arithmetic_kind::fp4) == doctest::Approx(3.8 + 5.6));
}

TEST_CASE("TensorRT-LLM's kernels of routed experts have a lower floor on Blackwell, for which they are written") {
    priced p;
    const operation o{.kind = operation_kind::experts, .flops = flops(1), .tokens = 8, .groups = 8};
    p.launches.experts = routed_code::blackwell;
    CHECK(p.of(o).floors.in(microseconds) == doctest::Approx(10.5));
    p.c.gpu = gpus::b200_sxm_180gb;
    CHECK(p.of(o).floors.in(microseconds) == doctest::Approx(7.0));
    p.c.gpu = gpus::rtx_5090;
    CHECK(p.of(o).floors.in(microseconds) == doctest::Approx(10.5));
    p.c.gpu = gpus::b200_sxm_180gb;
    p.launches.experts = routed_code::grouped;
    CHECK(p.of(o).floors.in(microseconds) == doctest::Approx(10.5));
}

TEST_CASE("attention kernels that were not written for the GPU reach less") {
    priced p;
    operation o{.kind = operation_kind::attention, .flops = flops(1e15), .blocks = 1e9};
    const auto took = [&](attention_code code, product_pass pass) {
        p.launches.attention = code, o.pass = pass;
        return p.of(o).compute.in(seconds);
    };
    const double forward = took(attention_code::tuned, product_pass::forward);
    const double backward = took(attention_code::tuned, product_pass::input_gradients);
    CHECK(backward == doctest::Approx(1e15 / (989.4e12 * 0.41)).epsilon(1e-4));
    CHECK(took(attention_code::flash_2, product_pass::forward) ==
          doctest::Approx(1e15 / (989.4e12 * 0.35)).epsilon(1e-4));
    CHECK(took(attention_code::flash_2, product_pass::input_gradients) == doctest::Approx(backward * 0.51 / 0.35));
    CHECK(took(attention_code::flash_1, product_pass::forward) == doctest::Approx(forward * 0.51 / 0.35 / 0.78));
    p.c.gpu = gpus::b200_sxm_180gb;
    CHECK(took(attention_code::flash_2, product_pass::forward) ==
          doctest::Approx(1e15 / (2250e12 * 0.16)).epsilon(1e-3));
    CHECK(took(attention_code::tuned, product_pass::forward) == doctest::Approx(1e15 / (2250e12 * 0.51)).epsilon(1e-3));
    p.c.gpu = gpus::rtx_5090;  // multiplies by the instructions that FlashAttention 2 has
    CHECK(took(attention_code::flash_2, product_pass::forward) ==
          doctest::Approx(took(attention_code::tuned, product_pass::forward)));
    p.c.gpu = gpus::a100_sxm4_80gb;
    const double on_ampere = took(attention_code::tuned, product_pass::input_gradients);
    CHECK(took(attention_code::flash_2, product_pass::input_gradients) == doctest::Approx(on_ampere));
    CHECK(took(attention_code::flash_1, product_pass::input_gradients) == doctest::Approx(on_ampere / 0.73));
}

TEST_CASE("attention with few heads leaves multiprocessors idle") {
    const priced p;
    operation o{.kind = operation_kind::attention, .flops = flops(1e15), .read = gb(1), .blocks = 1e9};
    const double whole = p.of(o).compute.in(seconds);
    CHECK(whole == doctest::Approx(1e15 / (989.4e12 * 0.51)).epsilon(1e-4));
    CHECK(p.of(o).attention == p.of(o).compute);
    o.blocks = 66;
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(2 * whole).epsilon(1e-4));
    o.flops = flops(1);  // half of the multiprocessors read with half of the bandwidth
    CHECK(p.of(o).memory.in(seconds) == doctest::Approx(2e9 / (3350e9 * 0.857)).epsilon(1e-6));
    o.blocks = 1e9;
    CHECK(p.of(o).memory.in(seconds) == doctest::Approx(1e9 / (3350e9 * 0.857)).epsilon(1e-6));
    CHECK(p.of(o).floors.in(microseconds) == doctest::Approx(10.7));
}

TEST_CASE("what lies between products is traffic") {
    const priced p;
    const detail::priced_pass t = p.of({.kind = operation_kind::elementwise, .read = gb(1), .written = gb(1)});
    CHECK(t.memory.in(seconds) == doctest::Approx(2e9 / (3350e9 * 0.70)).epsilon(1e-9));
    CHECK(t.floors == duration{});
}

TEST_CASE("a FLOP counts at the datasheet's peak of its arithmetic, and not where it is computed again") {
    const priced p;
    operation o = product(1e15, {});
    CHECK(p.of(o).at_peak.in(seconds) == doctest::Approx(1e15 / 989.4e12));
    o.counted = 0.8;
    CHECK(p.of(o).at_peak.in(seconds) == doctest::Approx(0.8e15 / 989.4e12));
    CHECK(p.of(o).flops == flops(0.8e15));
    CHECK(p.of(product(1e15, {}, arithmetic_kind::fp8)).at_peak.in(seconds) == doctest::Approx(1e15 / 1978.9e12));
}

TEST_CASE("the GPU waits where the CPU issues a layer's kernels more slowly than it runs them") {
    detail::priced_pass pass;
    pass.memory = microseconds(100);
    pass.floors = microseconds(20);
    pass.layers = 2;
    runtime_launches by{.layer = microseconds(200)};
    CHECK(pass.terms(default_efficiency, by).total().expected.in(microseconds) == doctest::Approx(400));
    by.layer = microseconds(10);
    CHECK(pass.terms(default_efficiency, by)[time_term::launch].expected.in(microseconds) == doctest::Approx(20));
    by.floors = 0.5;
    CHECK(pass.terms(default_efficiency, by)[time_term::launch].expected.in(microseconds) == doctest::Approx(10));
    CHECK(pass.terms(default_efficiency, by)[time_term::launch].low <=
          pass.terms(default_efficiency, by)[time_term::launch].expected);
}

TEST_CASE("attention hides the exchange of keys and values as far as it lasts") {
    detail::priced_pass pass;
    pass.context = milliseconds(3);
    pass.attention = milliseconds(2);
    CHECK(pass.exposed_context().in(milliseconds) == doctest::Approx(1));
    pass.attention = milliseconds(4);
    CHECK(pass.exposed_context() == duration{});
}

TEST_CASE("a node holds consecutive ranks, and so some members of a group whose ranks are apart") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 32).value();
    CHECK(detail::group_of(c, 8, 1).in_node == 8);
    CHECK(detail::group_of(c, 16, 1).in_node == 8);
    CHECK(detail::group_of(c, 4, 8).in_node == 1);
    CHECK(detail::group_of(c, 8, 2).in_node == 4);
    CHECK(detail::group_of(c, 2, 64).in_node == 1);
}

TEST_CASE("of measured rates products reach all, and kernels as much less of what reads reach as of the datasheet") {
    constexpr efficiency measured = efficiency_of_measured(true, true);
    CHECK(measured.bandwidth.expected == doctest::Approx(0.797 / 0.92));
    CHECK(measured.bandwidth.low == doctest::Approx(0.48 / 0.92));
    CHECK(measured.bandwidth.high == 1.0);
    constexpr efficiency of_sheet = efficiency_of_measured(false, false);
    CHECK(of_sheet.bandwidth.expected == 1.0);
    CHECK(of_sheet.bandwidth.high == doctest::Approx(0.95 / 0.797));
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

TEST_CASE("efficiencies that a caller sets scale every rate and every byte") {
    const priced p;
    efficiency halved = default_efficiency;
    halved.arithmetic = {0.24, 0.374, 0.46};
    halved.bandwidth = {0.24, 0.3985, 0.475};
    for (const operation_kind kind : {operation_kind::projection, operation_kind::attention, operation_kind::experts})
        for (const arithmetic_kind arithmetic : {arithmetic_kind::bf16, arithmetic_kind::fp8}) {
            operation o = product(1e15, {}, arithmetic);
            o.kind = kind, o.blocks = 1e9, o.tokens = 1'000'000'000;
            CHECK(p.of(o, false, halved).compute.in(seconds) == doctest::Approx(2 * p.of(o).compute.in(seconds)));
            o.flops = {}, o.read = gb(1);
            CHECK(p.of(o, false, halved).memory.in(seconds) == doctest::Approx(2 * p.of(o).memory.in(seconds)));
            CHECK(p.of(o, true, halved).memory.in(seconds) == doctest::Approx(2 * p.of(o, true).memory.in(seconds)));
        }
    const operation between{.kind = operation_kind::elementwise, .read = gb(1)};
    CHECK(p.of(between, false, halved).memory.in(seconds) == doctest::Approx(2 * p.of(between).memory.in(seconds)));
}

TEST_CASE("operations in different arithmetics, one after another, take what each takes alone") {
    const priced p;
    detail::pricer together{p.alone, p.c, p.c.gpu, default_efficiency, p.launches, {false, true}};
    double sum = 0, at_peak = 0;
    for (const arithmetic_kind kind :
         {arithmetic_kind::bf16, arithmetic_kind::fp8, arithmetic_kind::tf32, arithmetic_kind::bf16,
          arithmetic_kind::int8, arithmetic_kind::fp8, arithmetic_kind::fp8, arithmetic_kind::bf16}) {
        const operation o = product(1e15, {}, kind);
        together(o, 0);
        sum += p.of(o).compute.in(seconds);
        at_peak += p.of(o).at_peak.in(seconds);
    }
    CHECK(together.sum[0].compute.in(seconds) == doctest::Approx(sum));
    CHECK(together.sum[0].at_peak.in(seconds) == doctest::Approx(at_peak));
    together(product(1e15, {}), 1);
    CHECK(together.sum[1].compute.in(seconds) == doctest::Approx(p.of(product(1e15, {}), true).compute.in(seconds)));
    together.start_over();
    CHECK(together.sum[0].compute == duration{});
    CHECK(together.sum[1].at_peak == duration{});
}

TEST_CASE("attention's own time is what its operations add, whatever came before") {
    const priced p;
    detail::pricer price{p.alone, p.c, p.c.gpu, default_efficiency, p.launches, {}};
    price(product(1e15, gb(1)), 0);
    CHECK(price.sum[0].attention == duration{});
    const operation o{.kind = operation_kind::attention, .flops = flops(1e15), .read = gb(1), .blocks = 1e9};
    price(o, 0);
    price(o, 0);
    const detail::priced_pass alone = p.of(o);
    CHECK(price.sum[0].attention.in(seconds) == doctest::Approx(2 * (alone.compute + alone.memory).in(seconds)));
}

TEST_CASE("all tensor ranks compute; peaks are counted once") {
    priced p;
    p.alone.tensor = 4;
    CHECK(p.of(product(1e15, {})).flops.in(flops) == doctest::Approx(4e15));
    CHECK(p.of(product(1e15, {})).at_peak.in(seconds) == doctest::Approx(1e15 / 989.4e12));
}

TEST_CASE("the power of a board limits narrower products less") {
    const auto reached = [](arithmetic_kind kind) {
        priced p{.c = standard_cluster(gpus::b200_sxm_180gb, 1).value()};
        p.c.gpu.board_power = watts(100);
        return 1e15 / p.of(product(1e15, {}, kind), true).compute.in(seconds);
    };
    CHECK(reached(arithmetic_kind::bf16) == doctest::Approx(100 / 0.966e-12));
    CHECK(reached(arithmetic_kind::fp8) == doctest::Approx(2 * 100 / 0.966e-12));
    CHECK(reached(arithmetic_kind::fp4) == doctest::Approx(4 * 100 / 0.966e-12));
    priced limited;
    limited.c.power_limit = watts(100);
    CHECK(limited.of(product(1e15, {}), true).compute.in(seconds) == doctest::Approx(1e15 / (100 / 1.15e-12)));
}

TEST_CASE("a GPU without a rate for an arithmetic computes nothing in it: validate() refuses such jobs") {
    priced p;
    p.c.gpu.rates = {};
    CHECK(p.of(product(1e15, {})).compute == duration{});
    CHECK(p.of(product(1e15, {})).at_peak == duration{});
}

TEST_CASE("two arithmetics are priced at once, and a third takes the place of the one used before last") {
    const priced p;
    detail::pricer price{p.alone, p.c, p.c.gpu, default_efficiency, p.launches, {false, true}};
    for (int round = 0; round < 2; ++round)
        for (const arithmetic_kind kind : {arithmetic_kind::bf16, arithmetic_kind::fp8, arithmetic_kind::int8})
            for (const std::size_t pass : {0U, 1U}) {
                price.start_over();
                price(product(1e15, {}, kind), pass);
                CHECK(price.sum[pass].compute == p.of(product(1e15, {}, kind), pass == 1).compute);
            }
}

TEST_CASE(
    "on Hopper a product of few tokens takes as long as one of 64, which only H20's memory is fast enough to show") {
    priced p{standard_cluster(gpus::h20_sxm5_96gb, 1).value()};
    const auto took = [&](std::int64_t n, arithmetic_kind kind = arithmetic_kind::bf16) {
        operation o = product(2.0 * 8192 * 8192 * static_cast<double>(n), {}, kind);
        o.rows = o.columns = 8192, o.tokens = n;
        o.read = bytes(8192 * 8192 * (kind == arithmetic_kind::fp8 ? 1 : 2));
        const detail::priced_pass t = p.of(o);
        return (t.compute + t.memory).in(microseconds);
    };
    const double tile = 2.0 * 8192 * 8192 * 64 / (148e12 * 0.748) * 1e6;
    CHECK(took(1) == doctest::Approx(tile).epsilon(1e-3));
    CHECK(took(17) == doctest::Approx(tile).epsilon(1e-3));
    CHECK(took(1, arithmetic_kind::fp8) == doctest::Approx(tile / 2).epsilon(1e-3));
    CHECK(took(64) >= tile);
    double before = 0;
    for (std::int64_t n = 1; n <= 256; ++n) {
        CHECK(took(n) >= before * (1 - 1e-9));
        before = took(n);
    }
    p.launches.bytes_a_clock = 1000;  // kernels without matrix instructions: the weights' traffic
    CHECK(took(1) == doctest::Approx(8192 * 8192 * 2 / (4e12 * 0.797) * 1e6).epsilon(1e-2));
    p.launches.bytes_a_clock = 0;
    p.c.gpu = gpus::h100_sxm5_80gb;
    CHECK(took(1) == doctest::Approx(8192 * 8192 * 2 / (3350e9 * 0.797) * 1e6).epsilon(1e-2));
    p.c.gpu = gpus::a100_sxm4_80gb;
    CHECK(smallest_tile(p.c.gpu, p.launches) == 1);
}

TEST_CASE("of terms that take as long the first is the largest") {
    CHECK(time_breakdown{}.largest() == time_term::compute);
    time_breakdown t;
    t[time_term::memory] = t[time_term::launch] = seconds(1);
    CHECK(t.largest() == time_term::memory);
}

TEST_CASE("a GPU without a rate for an arithmetic takes no time for any kernel in it") {
    priced p;
    p.c.gpu.rates = {};
    operation o = product(1e15, {});
    o.tokens = 1;
    CHECK(p.of(o).compute == duration{});
    o.kind = operation_kind::experts;
    CHECK(p.of(o).compute == duration{});
    o.kind = operation_kind::attention, o.blocks = 1e9;
    CHECK(p.of(o).compute == duration{});
    o.pass = product_pass::input_gradients;
    CHECK(p.of(o).compute == duration{});
}

TEST_CASE("a rate that was measured but is on no sheet is no part of a peak") {
    priced p;
    gpu sheet = p.c.gpu;
    sheet.rates = {};
    detail::pricer price{p.alone, p.c, sheet, default_efficiency, p.launches, {}};
    price(product(1e15, {}), 0);
    CHECK(price.sum[0].at_peak == duration{});
    CHECK(price.sum[0].compute.in(seconds) == doctest::Approx(1e15 / (989.4e12 * 0.748)).epsilon(1e-6));
}

TEST_CASE("attention's own time leaves out traffic that came before it") {
    const priced p;
    detail::pricer price{p.alone, p.c, p.c.gpu, default_efficiency, p.launches, {}};
    price({.kind = operation_kind::elementwise, .read = gb(10)}, 0);
    const operation o{.kind = operation_kind::attention, .flops = flops(1e12), .read = gb(1), .blocks = 1e9};
    price(o, 0);
    const detail::priced_pass alone = p.of(o);
    CHECK(price.sum[0].attention.in(seconds) == doctest::Approx((alone.compute + alone.memory).in(seconds)));
}

TEST_CASE("products of integer weights compute no whole tile on Hopper: their kernels unpack them") {
    const priced p{standard_cluster(gpus::h20_sxm5_96gb, 1).value()};
    operation o = product(2.0 * 8192 * 8192, bytes(8192 * 8192 / 2));
    o.rows = o.columns = 8192, o.tokens = 1;
    const double read = 8192.0 * 8192 / 2 / (4e12 * 0.797), tile = 2.0 * 8192 * 8192 * 64 / (148e12 * 0.748);
    CHECK(p.of(o).compute.in(seconds) == doctest::Approx(tile).epsilon(1e-3));
    o.packed = true;
    CHECK(p.of(o).compute == duration{});
    CHECK(p.of(o).memory.in(seconds) == doctest::Approx(read).epsilon(0.01));  // and one token's arithmetic, in part
}

TEST_CASE("GPUs that share rows over a link of unknown rate copy in no time") {
    priced p;
    p.c.scale_up = {};
    detail::pricer price{p.alone, p.c, p.c.gpu, default_efficiency, p.launches, {}};
    price.parts = 2;
    operation o = product(1e12, gb(1));
    o.tokens = 8, o.rows = o.columns = 4096;
    price(o, 0);
    CHECK(price.sum[0].tensor == duration{});
}

TEST_CASE("ranks of which no two are in one node, or none apart, stand alone") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 32).value();
    CHECK(detail::group_of(c, 8, 0).in_node == 8);
    CHECK(detail::group_of(c, 8, 4).in_node == 2);
    CHECK(detail::group_of(c, 1, 1).in_node == 1);
}

TEST_CASE("a product in fp64 is computed at fp64's rate") {
    const priced p;
    const double peak = p.c.gpu.rates.fp64_tensor->in(flops_per_s);
    CHECK(p.of(product(1e15, {}, arithmetic_kind::fp64)).compute.in(seconds) ==
          doctest::Approx(1e15 / (peak * 0.748)).epsilon(1e-6));
}

TEST_CASE("GPUs that share a product's rows share its arithmetic, be it of one token") {
    const priced p{standard_cluster(gpus::a100_sxm4_80gb, 1).value()};
    operation one_token = product(1e15, {});
    one_token.tokens = 1;
    detail::pricer price{p.alone, p.c, p.c.gpu, default_efficiency, p.launches, {false}};
    price.parts = 4;
    price(one_token, 0);
    CHECK(price.sum[0].compute.in(seconds) == doctest::Approx(1e15 / (312e12 * 0.748) / 4).epsilon(1e-6));
}

TEST_CASE("a GPU is busy for all that a pass waits for, but for what attention hides") {
    detail::priced_pass pass;
    pass.compute = milliseconds(1), pass.memory = milliseconds(2), pass.tensor = milliseconds(4);
    pass.expert = milliseconds(8), pass.floors = milliseconds(16);
    pass.context = milliseconds(48), pass.attention = milliseconds(16);
    CHECK(pass.busy().in(milliseconds) == doctest::Approx(63));
}
