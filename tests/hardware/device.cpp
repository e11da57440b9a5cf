// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/device.hpp>
#include <llmres/hardware/gpu.hpp>
#include <type_traits>

using namespace llmres;

namespace {

constexpr gpu sheet() {
    gpu card{};
    card.id = "card";
    card.sm_count = 100;
    card.memory.fitted = gib(80);
    card.memory.bandwidth = gb_per_s(3000);
    card.rates.bf16 = tflops(900);
    card.rates.fp16 = tflops(900);
    card.listing.confidence = "high";
    return card;
}

constexpr device_product product_of(std::string_view precision, double rate, bool verified) {
    device_product made;
    made.precision = precision;
    made.rows = made.columns = made.inner = 4096;
    made.rate = measured<flop_rate>{tflops(rate), tflops(rate - 1), tflops(rate + 1), 5};
    made.verified = verified;
    return made;
}

}  // namespace

TEST_CASE("a device is a plain value") {
    static_assert(std::is_trivially_copyable_v<device>);
    static_assert(std::is_standard_layout_v<device>);
    CHECK(device{} == device{});
}

TEST_CASE("two descriptions are the same where every reading is") {
    const auto differs = [](auto change) {
        device other;
        change(other);
        return !(other == device{}) && other == other;
    };
    CHECK(differs([](device& d) { d.identity.name = text<63>{"card"}; }));
    CHECK(differs([](device& d) { d.software.driver_version = text<31>{"550.54.15"}; }));
    CHECK(differs([](device& d) { d.memory.cuda_total = gib(80); }));
    CHECK(differs([](device& d) { d.memory.allocation.integrated = true; }));
    CHECK(differs([](device& d) { d.compute.sm_count = 132; }));
    CHECK(differs([](device& d) { d.power.temperature_celsius = 40; }));
    CHECK(differs([](device& d) { d.pcie.numa_node = 1; }));
    CHECK(differs([](device& d) { d.peers.push({.uuid = "GPU-1"}); }));
    CHECK(differs([](device& d) { d.processes.push({.pid = 7}); }));
    CHECK(differs([](device& d) { d.measured.context = gib(1); }));
    CHECK(differs([](device& d) { d.identity.uuid.why = "no permission"; }));
    const auto same_with = [](auto device_a, auto device_b) { return device_a == device_b; };
    device one, two;
    one.processes.push({.pid = 7, .used = gib(1)});
    two.processes.push({.pid = 7, .used = gib(2)});
    CHECK_FALSE(same_with(one, two));
    two.processes[0].used = gib(1);
    CHECK(same_with(one, two));
    one.measured.all_reduces.push({.devices = 8, .message = mib(1)});
    two.measured.all_reduces.push({.devices = 4, .message = mib(1)});
    CHECK_FALSE(same_with(one, two));
    two.measured.all_reduces[0].devices = 8;
    one.measured.products.push(product_of("bf16", 700, true));
    two.measured.products.push(product_of("bf16", 701, true));
    CHECK_FALSE(same_with(one, two));
    two.measured.products[0] = one.measured.products[0];
    CHECK(same_with(one, two));
    two.measured.products[0].rate.value.during.draw = watts(500);
    CHECK_FALSE(same_with(one, two));
}

TEST_CASE("a field that was not read is unknown with a reason, never zero") {
    constexpr reading<byte_count> nothing;
    static_assert(!nothing);
    CHECK(nothing.why == "not read");
    const auto denied = reading<byte_count>::unavailable("NVML: no permission");
    CHECK(denied.why == "NVML: no permission");
    CHECK(!(denied == reading<byte_count>{byte_count{}}));
    CHECK(reading<byte_count>{bytes(0)}.known);
}

TEST_CASE("a list that is full refuses and keeps what it has") {
    short_list<int, 2> list;
    CHECK(list.push(1));
    CHECK(list.push(2));
    CHECK_FALSE(list.push(3));
    CHECK(list.size() == 2);
    CHECK(list[1] == 2);
}

TEST_CASE("a device that reported nothing leaves the datasheet unchanged") {
    constexpr gpu same = to_gpu(device{}, sheet());
    CHECK(same.memory.bandwidth == gb_per_s(3000));
    CHECK_FALSE(same.memory.cuda_visible.known);
    CHECK(same.rates.bf16.value == tflops(900));
    CHECK(same.listing.confidence == "high");
}

TEST_CASE("what the device reported replaces the datasheet's figures, and measurements stand beside them") {
    device live;
    live.memory.cuda_total = bytes(84'943'110'144);
    live.memory.nvml_total = mib(81559);
    live.measured.read_bandwidth = measured<byte_rate>{gb_per_s(2800), gb_per_s(2700), gb_per_s(2850), 20};
    live.measured.products.push(product_of("bf16", 700, true));
    live.measured.products.push(product_of("bf16", 650, true));
    live.compute.capability_major = 9;
    live.compute.capability_minor = 0;
    const gpu card = to_gpu(live, sheet());
    CHECK(usable_memory(card) == bytes(84'943'110'144));
    CHECK(card.measured.bandwidth == maybe<byte_rate>{gb_per_s(2800)});
    CHECK(card.measured.bf16 == maybe<flop_rate>{tflops(700)});
    CHECK_FALSE(card.measured.fp16.known);
    CHECK_FALSE(card.measured.context.known);
    CHECK(card.memory.bandwidth == gb_per_s(3000));  // the sheet's peaks stay beside it
    CHECK(card.rates.bf16.value == tflops(900));
    CHECK(card.capability == compute_capability{9, 0});
    CHECK(card.listing.confidence == "measured");

    const gpu memory_only = to_gpu(live, sheet(), {.bandwidth = false, .rates = false});
    CHECK_FALSE(memory_only.measured.bandwidth.known);
    CHECK_FALSE(memory_only.measured.any_rate());
    CHECK(memory_only.listing.confidence == "high");
}

TEST_CASE("a product whose result was wrong does not count as a rate") {
    device live;
    live.measured.products.push(product_of("bf16", 5000, false));
    CHECK_FALSE(to_gpu(live, sheet()).measured.bf16.known);
}

TEST_CASE("the part of the best rate that large products reach is taken over every precision") {
    device live;
    CHECK(to_gpu(live, sheet()).measured.reach == interval<double>{1.0});
    for (const double rate : {560.0, 630.0, 700.0}) live.measured.products.push(product_of("bf16", rate, true));
    device_product small = product_of("bf16", 100, true);
    small.columns = 64;  // as narrow as in decoding: memory decides there
    live.measured.products.push(small);
    live.measured.products.push(product_of("bf16", 50, false));
    CHECK(to_gpu(live, sheet()).measured.reach.low == doctest::Approx(0.8));
    CHECK(to_gpu(live, sheet()).measured.reach.expected == doctest::Approx(0.9));
    CHECK(to_gpu(live, sheet()).measured.reach.high == doctest::Approx(1.0));
    live.measured.products.push(product_of("fp16", 500, true));  // the best of its own: 1
    CHECK(to_gpu(live, sheet()).measured.reach.expected == doctest::Approx(0.95));
    CHECK(to_gpu(live, sheet(), {.rates = false}).measured.reach == interval<double>{1.0});
}

TEST_CASE("of long runs, which power limits, the part of the bursts' rate is kept") {
    device live;
    CHECK(to_gpu(live, sheet()).measured.sustained == 1);
    const auto kept = [&](const char* precision, double rate, bool right) {
        device_product p = product_of(precision, 600, right);
        p.sustained = measured<flop_rate>{tflops(rate), tflops(rate), tflops(rate), 5};
        live.measured.products.push(p);
    };
    kept("bf16", 480, true);
    CHECK(to_gpu(live, sheet()).measured.sustained == doctest::Approx(0.8));
    kept("fp16", 540, true), kept("int8", 60, false);
    live.measured.products.push(product_of("tf32", 600, true));  // no long run of it
    CHECK(to_gpu(live, sheet()).measured.sustained == doctest::Approx(0.85));
    CHECK(to_gpu(live, sheet(), {.rates = false}).measured.sustained == 1);
}

TEST_CASE("an instance of a card has its share of the rates that were not measured") {
    device live;
    live.identity.mig_profile = text<31>{"3g.40gb"};
    live.compute.sm_count = 50;
    live.memory.cuda_total = gib(40);
    const gpu card = to_gpu(live, sheet());
    CHECK(card.rates.bf16.value.in(tflops) == doctest::Approx(450));
    CHECK(card.memory.bandwidth.in(gb_per_s) == doctest::Approx(1500));
    CHECK(usable_memory(card) == gib(40));
    live.memory.nvml_total = gib(40) + mib(128);  // the driver keeps its own of the card, not of the instance
    CHECK(usable_memory(to_gpu(live, sheet())) == gib(40));
    gpu of_one = sheet();  // an instance of both processors where a card has one would be twice as fast
    of_one.sm_count = 1;
    live.compute.sm_count = 2;
    CHECK(to_gpu(live, of_one).rates.bf16.value.in(tflops) == doctest::Approx(1800));
}

TEST_CASE("an instance that does not say its size is not scaled, and memory alone may be left as listed") {
    device live;
    live.identity.mig_profile = text<31>{"3g.40gb"};
    CHECK(to_gpu(live, sheet()).rates.bf16.value == tflops(900));
    CHECK(to_gpu(live, sheet()).memory.bandwidth == gb_per_s(3000));
    live.compute.sm_count = 50;
    gpu unlisted = sheet();
    unlisted.sm_count = {};
    unlisted.memory.fitted = byte_count{};
    live.memory.cuda_total = gib(40);
    CHECK(to_gpu(live, unlisted).rates.bf16.value == tflops(900));
    CHECK(to_gpu(live, unlisted).memory.bandwidth == gb_per_s(3000));
    live.memory.nvml_total = gib(41);
    live.measured.context = mib(500);
    const gpu listed = to_gpu(live, sheet(), {.memory = false, .context = false});
    CHECK_FALSE(listed.memory.cuda_visible.known);
    CHECK_FALSE(listed.memory.reported.known);
    CHECK_FALSE(listed.measured.context.known);
    CHECK(to_gpu(live, sheet()).measured.context == maybe<byte_count>{mib(500)});
}

TEST_CASE("half of a reading is none") {
    device live;
    live.compute.capability_major = 9;
    CHECK(to_gpu(live, sheet()).capability == sheet().capability);
    device_product unmeasured = product_of("bf16", 700, true);
    unmeasured.rate = {};
    unmeasured.sustained = measured<flop_rate>{tflops(600), tflops(600), tflops(600), 5};
    live.measured.products.push(unmeasured);
    const gpu card = to_gpu(live, sheet());
    CHECK_FALSE(card.measured.bf16.known);
    CHECK(card.measured.reach == interval<double>{1.0});
    CHECK(card.measured.sustained == 1);
    live.memory.nvml_total = gib(80);
    live.memory.cuda_total = gib(79);
    live.memory.cuda_free = gib(70);
    CHECK(held_by_others(live) == maybe<byte_count>{gib(9)});  // NVML did not say what is free
}

TEST_CASE("memory held by others is what NVML reported as used before a context, or CUDA beyond the probe's own") {
    device live;
    CHECK_FALSE(held_by_others(live).known);
    live.memory.cuda_total = gib(79);
    live.memory.cuda_free = gib(70);
    CHECK(held_by_others(live) == maybe<byte_count>{gib(9)});  // nobody measured how much of it is the probe's own
    live.measured.context = gib(1);
    live.measured.library_workspace = gib(2);
    CHECK(held_by_others(live) == maybe<byte_count>{gib(6)});
    live.memory.nvml_total = gib(80);
    live.memory.nvml_reserved = gib(1);
    live.memory.nvml_free = gib(75);
    CHECK(held_by_others(live) == maybe<byte_count>{gib(4)});
    live.memory.nvml_free = gib(80);
    CHECK(held_by_others(live) == maybe<byte_count>{gib(0)});
}

TEST_CASE("the host link has PCIe's line rate, and the slower of its measured directions") {
    device live;
    CHECK_FALSE(host_link(live).has_value());
    CHECK(host_link(live).error().field == "pcie.generation_max");
    live.pcie.generation_max = 5;
    live.pcie.width_max = 16;
    CHECK(host_link(live)->bandwidth().in(gb_per_s) == doctest::Approx(63.0).epsilon(0.001));
    live.measured.host_to_device_pinned = measured<byte_rate>{gb_per_s(55), gb_per_s(55), gb_per_s(55), 3};
    live.measured.device_to_host_pinned = measured<byte_rate>{gb_per_s(50), gb_per_s(50), gb_per_s(50), 3};
    CHECK(host_link(live)->bandwidth().in(gb_per_s) == doctest::Approx(50));
    live.measured.host_to_device_pinned = measured<byte_rate>{gb_per_s(45), gb_per_s(45), gb_per_s(45), 3};
    CHECK(host_link(live)->bandwidth().in(gb_per_s) == doctest::Approx(45));
    live.measured.device_to_host_pinned = {};  // one direction alone says nothing of the slower one
    CHECK(host_link(live)->bandwidth().in(gb_per_s) == doctest::Approx(63.0).epsilon(0.001));
    live.pcie.width_max = 64;
    CHECK(host_link(live).error().field == "pcie.width_max");
    live.pcie.width_max = {};
    CHECK(host_link(live).error().value == "not read");
    live.pcie.width_now = 8;  // what the slot does now, where nothing else is known
    CHECK(host_link(live)->bandwidth().in(gb_per_s) == doctest::Approx(31.5).epsilon(0.001));
    live.pcie.generation_max = 9;
    CHECK(host_link(live).error().code == error_code::out_of_range);
}
