// SPDX-License-Identifier: MIT
// What a pass through a layer adds up to: exchanges by group, forward and backward, waiting, and bounds of its terms.
#include <doctest/doctest.h>

#include <array>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/time/roofline.hpp>

using namespace llmres;

TEST_CASE("exchanges go to the term of their group, over the ranks of that group") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 64).value();
    const layout l{.tensor = 2, .data = 8, .context_parallel = 4, .expert = 8, .expert_tensor = 2};
    const auto priced_exchange = [&](exchange::group among) {
        const runtime_launches none;
        detail::pricer price{l, c, c.gpu, default_efficiency, none, {}};
        price(exchange{collective_kind::all_gather, among, mb(64)}, 0);
        return price.sum[0];
    };
    const auto expected = [&](std::int64_t ranks, std::int64_t in_node) {
        return time_of(collective_kind::all_gather, mb(64), {.ranks = ranks, .in_node = in_node}, c.scale_up,
                       c.scale_out);
    };
    CHECK(priced_exchange(exchange::group::tensor).tensor == expected(2, 2));
    CHECK(priced_exchange(exchange::group::expert).expert == expected(8, 4));    // every second GPU of a node
    CHECK(priced_exchange(exchange::group::context).context == expected(4, 4));  // behind two tensor ranks
    CHECK(priced_exchange(exchange::group::tensor).context == duration{});
    CHECK(priced_exchange(exchange::group::context).tensor == duration{});
    runtime_launches own{.own_all_reduce = true};
    detail::pricer price{l, c, c.gpu, default_efficiency, own, {}};
    price(exchange{collective_kind::all_reduce, exchange::group::tensor, mb(64)}, 0);
    CHECK(price.sum[0].tensor == time_of(collective_kind::all_reduce, mb(64),
                                         {.ranks = 2, .in_node = 2, .own_kernels = true}, c.scale_up, c.scale_out));
}

namespace {

/// A forward and a backward pass through a layer.
std::array<detail::priced_pass, 2> both_passes_of(const layout& l, const runtime_launches& by = {}) {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    detail::pricer price{l, c, c.gpu, default_efficiency, by, {true, true}};
    token_passes passes;
    passes.push({.tokens = {1, 1024, 1024 * l.context_parallel}, .scored = 1024, .training = true});
    passes.push({.tokens = {1, 1024, 1024 * l.context_parallel}, .scored = 1024, .training = true, .backward = true});
    const model& m = models::llama_3_1_8b;
    detail::price_layer(price, m.layers.kinds[0], m.hidden, {}, passes);
    return {price.sum[0], price.sum[1]};
}

}  // namespace

TEST_CASE("the backward pass exchanges what the forward pass does, sequence parallelism its inputs once more") {
    const auto [forward, backward] = both_passes_of({.tensor = 4});
    CHECK(forward.tensor > duration{});
    CHECK(backward.tensor == forward.tensor);
    const auto [parts, parts_back] = both_passes_of({.tensor = 4, .sequence_parallel = true});
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout l{.tensor = 4, .sequence_parallel = true};
    duration once, gathers;
    for_each_exchange(models::llama_3_1_8b.layers.kinds[0], 4096, bf16, {1, 1024, 1024}, l, [&](const exchange& x) {
        const rank_group group{.ranks = 4, .in_node = 4};
        once += time_of(x.kind, x.message, group, c.scale_up, c.scale_out);
        gathers += time_of(collective_kind::all_gather, x.message, group, c.scale_up, c.scale_out);
    });
    CHECK(parts.tensor.in(seconds) == doctest::Approx(once.in(seconds)));
    CHECK(parts_back.tensor.in(seconds) == doctest::Approx((once + gathers).in(seconds)));
}

TEST_CASE("context parallelism passes keys and values forward, and back with their gradients") {
    const auto [forward, backward] = both_passes_of({.sequence_parallel = true, .context_parallel = 4});
    CHECK(forward.context > duration{});
    CHECK(backward.context.in(seconds) == doctest::Approx(2 * forward.context.in(seconds)));
    CHECK(forward.tensor == duration{});
    CHECK(backward.tensor == duration{});
}

TEST_CASE("each pass through a layer has its elementwise kernels, and is one layer") {
    runtime_launches by{.small_kernels = 0};
    const auto without = both_passes_of({}, by);
    by.small_kernels = 10;
    const auto with = both_passes_of({}, by);
    for (std::size_t p = 0; p < 2; ++p) {
        CHECK((with[p].floors - without[p].floors).in(microseconds) == doctest::Approx(20));
        CHECK(with[p].layers == 1);
    }
}

TEST_CASE("passes add up, each as often as it runs") {
    detail::priced_pass one;
    one.compute = seconds(1), one.memory = seconds(2), one.tensor = seconds(3), one.expert = seconds(4);
    one.context = seconds(5), one.attention = seconds(6), one.floors = seconds(7), one.at_peak = seconds(8);
    one.layers = 9, one.flops = flops(10.0);
    detail::priced_pass sum;
    sum.add(one, 2);
    sum.add(one, 1);
    CHECK(sum.compute.in(seconds) == doctest::Approx(3));
    CHECK(sum.memory.in(seconds) == doctest::Approx(6));
    CHECK(sum.tensor.in(seconds) == doctest::Approx(9));
    CHECK(sum.expert.in(seconds) == doctest::Approx(12));
    CHECK(sum.context.in(seconds) == doctest::Approx(15));
    CHECK(sum.attention.in(seconds) == doctest::Approx(18));
    CHECK(sum.floors.in(seconds) == doctest::Approx(21));
    CHECK(sum.at_peak.in(seconds) == doctest::Approx(24));
    CHECK(sum.layers == doctest::Approx(27));
    CHECK(sum.flops.in(flops) == doctest::Approx(30));
}

TEST_CASE("terms have bounds in the proportions of the efficiencies, and launches those of floors and of the CPU") {
    detail::priced_pass pass;
    pass.compute = milliseconds(10), pass.memory = milliseconds(20), pass.tensor = milliseconds(3);
    pass.expert = milliseconds(4), pass.context = milliseconds(5), pass.attention = milliseconds(4);
    pass.floors = milliseconds(1), pass.layers = 2;
    const efficiency e{.arithmetic = {0.5, 0.8, 1.0},
                       .bandwidth = {0.4, 0.8, 0.9},
                       .link = {0.5, 1.0, 1.25},
                       .launch = {0.7, 1.0, 1.4}};
    const auto shown = [](const interval<duration>& t) {
        return std::array{t.low.in(milliseconds), t.expected.in(milliseconds), t.high.in(milliseconds)};
    };
    const auto is = [&](const interval<duration>& t, double low, double expected, double high) {
        CHECK(shown(t)[0] == doctest::Approx(low));
        CHECK(shown(t)[1] == doctest::Approx(expected));
        CHECK(shown(t)[2] == doctest::Approx(high));
    };
    const time_breakdown t = pass.terms(e, {});
    is(t[time_term::compute], 8, 10, 16);
    is(t[time_term::memory], 20 * 0.8 / 0.9, 20, 40);
    is(t[time_term::tensor_communication], 4 / 1.25, 4, 8);  // three, and what attention does not hide
    is(t[time_term::expert_communication], 4 / 1.25, 4, 8);
    is(t[time_term::launch], 0.7, 1, 1.4);
    // 38 ms of kernels wait for a CPU that takes 40 ms, but not at the slow end, where they take 72.
    const runtime_launches slow{.layer = {milliseconds(20), milliseconds(20), milliseconds(20)}};
    const double least = 8 + 20 * 0.8 / 0.9 + 4 / 1.25 + 4 / 1.25;
    is(pass.terms(e, slow)[time_term::launch], 2, 2, 2);  // (the bounds enclose what is expected)
    const runtime_launches slower{.layer = {milliseconds(21), milliseconds(25), milliseconds(40)}};
    is(pass.terms(e, slower)[time_term::launch], 42 - least < 12 ? 42 - least : 12, 12, 12);
}

TEST_CASE("the terms of a pass have the bounds of their efficiencies, and wait for the CPU in each bound") {
    detail::priced_pass pass;
    pass.compute = milliseconds(1), pass.memory = milliseconds(2), pass.tensor = milliseconds(3);
    pass.expert = milliseconds(4), pass.context = milliseconds(5), pass.attention = milliseconds(2);
    pass.floors = milliseconds(6), pass.layers = 2;
    runtime_launches by;
    const auto in_ms = [](const interval<duration>& t) {
        return std::array{t.low.in(milliseconds), t.expected.in(milliseconds), t.high.in(milliseconds)};
    };
    const auto are = [&](const interval<duration>& t, double low, double expected, double high) {
        CHECK(in_ms(t)[0] == doctest::Approx(low));
        CHECK(in_ms(t)[1] == doctest::Approx(expected));
        CHECK(in_ms(t)[2] == doctest::Approx(high));
    };
    const time_breakdown t = pass.terms(default_efficiency, by);
    are(t[time_term::compute], 0.748 / 0.92, 1, 0.748 / 0.48);
    are(t[time_term::memory], 2 * 0.797 / 0.95, 2, 2 * 0.797 / 0.48);
    are(t[time_term::tensor_communication], 6 / 1.25, 6, 6 / 0.6);  // and what attention does not hide
    are(t[time_term::expert_communication], 4 / 1.25, 4, 4 / 0.6);
    are(t[time_term::launch], 0.7 * 6, 6, 1.4 * 6);
    by.layer = {milliseconds(20), milliseconds(30), milliseconds(50)};
    const time_breakdown waiting = pass.terms(default_efficiency, by);
    const interval<duration> busy = t.total();
    are(waiting[time_term::launch], 40 - (busy.low.in(milliseconds)-0.7 * 6), 60 - 13,
        100 - (busy.high.in(milliseconds)-1.4 * 6));
}

TEST_CASE("a pass that is added so many times adds each of its parts") {
    detail::priced_pass one, sum;
    one.compute = seconds(1), one.memory = seconds(2), one.tensor = seconds(3), one.expert = seconds(4);
    one.context = seconds(5), one.attention = seconds(6), one.floors = seconds(7), one.at_peak = seconds(8);
    one.layers = 9, one.flops = flops(10);
    sum.add(one, 1);
    sum.add(one, 2.5);
    CHECK(sum.compute == seconds(3.5));
    CHECK(sum.memory == seconds(7));
    CHECK(sum.tensor == seconds(10.5));
    CHECK(sum.expert == seconds(14));
    CHECK(sum.context == seconds(17.5));
    CHECK(sum.attention == seconds(21));
    CHECK(sum.floors == seconds(24.5));
    CHECK(sum.at_peak == seconds(28));
    CHECK(sum.layers == 31.5);
    CHECK(sum.flops == flops(35));
}

TEST_CASE("the backward pass repeats the exchange of keys and values, and gathers what sequence parallelism parted") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const runtime_launches launches{};
    const layer& kind = models::llama_3_1_8b.layers.kinds[0];
    const auto priced_in = [&](const layout& l, bool backward, bool keeps = false) {
        detail::pricer price{l, c, c.gpu, default_efficiency, launches, {true}};
        token_passes passes;
        passes.push({.tokens = {1, 2048, 4096}, .training = true, .backward = backward, .keeps_gathered = keeps});
        detail::price_layer(price, kind, 4096, {}, passes);
        return price.sum[0];
    };
    const layout cut{.context_parallel = 2};
    CHECK(priced_in(cut, true).context == priced_in(cut, false).context * 2);
    layout parted{.tensor = 8};
    CHECK(priced_in(parted, true).tensor == priced_in(parted, false).tensor);
    parted.sequence_parallel = true;
    const duration gather = time_of(collective_kind::all_gather, bytes(2048 * 4096 * 2), detail::group_of(c, 8, 1),
                                    c.scale_up, c.scale_out);
    CHECK((priced_in(parted, true).tensor - priced_in(parted, false).tensor).in(seconds) ==
          doctest::Approx(2 * gather.in(seconds)));
    // A runtime that keeps what it gathered gathers nothing again.
    CHECK(priced_in(parted, true, true).tensor == priced_in(parted, false).tensor);
    CHECK(priced_in({}, false).layers == 1);
    CHECK(priced_in({}, false).tensor == duration{});
    // Seven products, attention and the runtime's small kernels.
    CHECK(priced_in({}, false).floors.in(microseconds) == doctest::Approx(7 * 3.8 + 10.7 + 6 * 2));
}
