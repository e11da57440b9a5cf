// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

constexpr device h100() {
    device live;
    live.identity.name = text<63>{"NVIDIA H100 80GB HBM3"};
    live.compute.capability_major = 9;
    live.compute.capability_minor = 0;
    live.compute.sm_count = 132;
    live.memory.cuda_total = bytes(84'943'110'144);
    return live;
}

}  // namespace

TEST_CASE("a device finds its row: by capability, name, SMs and memory") {
    static_assert(sheet_for(h100()).value().id == "h100-sxm5-80gb");
    device live = h100();
    live.identity.name = text<63>{"NVIDIA H200"};
    live.memory.cuda_total = gib(139);
    CHECK(sheet_for(live)->id == "h200-sxm5-141gb");
    live.identity.name = text<63>{"NVIDIA GeForce RTX 4090"};
    live.compute.capability_major = 8;
    live.compute.capability_minor = 9;
    live.compute.sm_count = 128;
    live.memory.cuda_total = mib(24'080);
    CHECK(sheet_for(live)->id == "rtx-4090");
}

TEST_CASE("a device that no row describes, or that reported too little, is refused by name") {
    device live = h100();
    live.compute.capability_major = 99;
    CHECK(sheet_for(live).error().code == error_code::unknown);
    live.compute.capability_major = 0;  // as other vendors' rows have it
    CHECK(sheet_for(live).error().code == error_code::unknown);
    CHECK(sheet_for(device{}).error().field == "compute.capability_major");
    live = h100();
    live.memory.cuda_total = reading<byte_count>::unavailable("NVML: no permission");
    CHECK(sheet_for(live).error().field == "memory.cuda_total_bytes");
    CHECK(sheet_for(live).error().value == "NVML: no permission");
    CHECK(cluster_of(device{}).error().code == error_code::missing);
    CHECK(cluster_of(h100(), 0).error().field == "cluster.gpus");
}

TEST_CASE("a cluster of a device has its memory, less what others hold") {
    device live = h100();
    live.memory.nvml_total = mib(81'559);
    live.memory.nvml_reserved = mib(551);
    live.memory.nvml_free = mib(81'008 - 10'240);
    const cluster c = cluster_of(live, 8).value();
    CHECK(c.gpus == 8);
    CHECK(c.gpu.name == "NVIDIA H100 80GB HBM3");
    CHECK(c.in_use == gib(10));
    CHECK(available_memory(c) == bytes(84'943'110'144) - gib(10));
    live.memory.nvml_free = bytes(0);
    CHECK(available_memory(cluster_of(live).value()) < mib(1));
}

TEST_CASE("the link is as fast as the slowest measured copy to a peer") {
    device live = h100();
    device_peer peer;
    peer.bandwidth = measured<byte_rate>{gb_per_s(380), gb_per_s(370), gb_per_s(390), 20};
    live.peers.push(peer);
    CHECK(cluster_of(live, 2)->scale_up.bandwidth().in(gb_per_s) == doctest::Approx(380));
    peer.bandwidth = measured<byte_rate>{gb_per_s(300), gb_per_s(290), gb_per_s(310), 20};
    live.peers.push(peer);
    CHECK(cluster_of(live, 2)->scale_up.bandwidth().in(gb_per_s) == doctest::Approx(300));
    live.peers.push(device_peer{});  // one that was not measured: the table's
    CHECK(cluster_of(live, 2)->scale_up.bandwidth() == standard_cluster(gpus::h100_sxm5_80gb, 2)->scale_up.bandwidth());
}

TEST_CASE("the link sums as fast as the largest all-reduce that was right") {
    device live = h100();
    const auto summed = [&](byte_count message, double rate, bool right) {
        live.measured.all_reduces.push(
            {8, message, measured<byte_rate>{gb_per_s(rate), gb_per_s(rate), gb_per_s(rate), 20}, right});
    };
    CHECK(cluster_of(live, 8)->scale_up.all_reduce == standard_cluster(gpus::h100_sxm5_80gb, 8)->scale_up.all_reduce);
    summed(mib(4), 90, true), summed(mib(256), 470, true), summed(gib(1), 900, false);
    CHECK(cluster_of(live, 8)->scale_up.all_reduce == maybe<byte_rate>{gb_per_s(470)});
}

TEST_CASE("a device whose products slow down in long runs trains slower, and decodes as fast") {
    device live = h100();
    device_product product{.precision = "bf16", .rows = 8192, .columns = 8192, .inner = 8192};
    product.rate = measured<flop_rate>{tflops(700), tflops(690), tflops(710), 20};
    product.verified = true;
    live.measured.products.push(product);
    const auto step = [&](task what) {
        const job j{.model = models::llama_3_2_1b,
                    .task = what,
                    .batch = 1,
                    .context = tokens(1024),
                    .sequence = tokens(4096),
                    .runtime = runtimes::pytorch};
        return plan(j, layout{}, cluster_of(live).value()).value().speed.step.total().expected.in(seconds);
    };
    const double trains = step(task::pretraining), serves = step(task::serving);
    live.measured.products[0].sustained = measured<flop_rate>{tflops(350), tflops(340), tflops(360), 20};
    CHECK(step(task::pretraining) > 1.3 * trains);
    CHECK(step(task::serving) == serves);
}

TEST_CASE("a runtime's context is never less than the bare one that was measured") {
    device live = h100();
    live.measured.context = mib(700);
    const cluster c = cluster_of(live).value();
    const runtime& r = runtimes::pytorch;
    REQUIRE(r.process.context.expected < mib(700));
    REQUIRE(r.process.context.high > mib(700));
    CHECK(context_on(r, c.gpu).low == mib(700));
    CHECK(context_on(r, c.gpu).expected == mib(700));
    CHECK(context_on(r, c.gpu).high == r.process.context.high);
    CHECK(context_on(no_runtime, c.gpu).high == bytes(0));

    for (const task what : {task::serving, task::pretraining}) {
        const job j{.model = models::llama_3_2_1b,
                    .task = what,
                    .batch = 1,
                    .context = tokens(1024),
                    .sequence = tokens(512),
                    .runtime = r};
        const auto term = [&](const cluster& on) { return plan(j, layout{}, on).value().memory[memory_term::runtime]; };
        CHECK(term(c).expected == mib(700) + r.process.cuda_graphs.expected);
        live.measured.context = mib(100);
        CHECK(term(cluster_of(live).value()).expected == r.process.context.expected + r.process.cuda_graphs.expected);
        live.measured.context = mib(700);
    }
}
