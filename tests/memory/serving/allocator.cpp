// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/allocator.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <tuple>
#include <vector>

using namespace llmres;
using namespace llmres::detail;

TEST_CASE("tensors below 10 MiB have no segment of their own; larger ones keep a tail of up to 1 MiB") {
    CHECK(tail_of(mib(10) - bytes(1)) == bytes(0));
    CHECK(tail_of(mib(10)) == bytes(0));
    CHECK(tail_of(mib(10) + bytes(1)) == bytes(0));  // almost 2 MiB: split off again
    CHECK(tail_of(mib(11)) == mib(1));
    CHECK(tail_of(mib(12) - bytes(512)) == bytes(512));
    CHECK(tail_of(mib(1000)) == bytes(0));
}

TEST_CASE("queries, keys and values are one tensor, gate and up another, routed experts two stacks") {
    const auto of = [](weight_role role, bool routed = false) {
        return weight{.role = role, .rows = 64, .columns = 64, .routed = routed};
    };
    CHECK(fused_tensors::takes(of(weight_role::v_proj)));
    CHECK(fused_tensors::takes(of(weight_role::up_proj)));
    CHECK(fused_tensors::takes(of(weight_role::down_proj, true)));
    CHECK_FALSE(fused_tensors::takes(of(weight_role::down_proj)));
    CHECK_FALSE(fused_tensors::takes(of(weight_role::o_proj)));
    CHECK_FALSE(fused_tensors::takes({.role = weight_role::q_proj, .rows = 1, .columns = 64}));  // a bias

    fused_tensors layer;
    const auto allocated = [&] {
        byte_count all;
        layer.for_each([&](std::string_view, byte_count size, bool) { all += size; });
        return all;
    };
    for (const weight_role role : {weight_role::q_proj, weight_role::k_proj, weight_role::v_proj})
        layer.add(of(role), mib(5));
    CHECK(allocated() == mib(15 + 1));  // each alone would be allocated without a tail
    layer.add(of(weight_role::gate_proj), mib(8));
    layer.add(of(weight_role::up_proj), mib(8));
    CHECK(allocated() == mib(16 + 16));  // 16 MiB are whole steps
    layer.add(of(weight_role::gate_proj, true), mib(11));
    layer.add(of(weight_role::down_proj, true), mib(13));
    CHECK(allocated() == mib(16 + 16 + 12 + 14));
    bool named = true;
    layer.for_each([&](std::string_view name, byte_count, bool routed) {
        named = named && (routed ? name != "qkv_proj" : name != "down_proj");
    });
    CHECK(named);
}

TEST_CASE("a fused tensor has its parts' padding, which is no part of what is rounded, and a name of its own") {
    const auto of = [](weight_role role, bool routed) {
        return weight{.role = role, .rows = 64, .columns = 64, .routed = routed};
    };
    fused_tensors layer;
    layer.add(of(weight_role::q_proj, false), mib(5), bytes(100));
    layer.add(of(weight_role::k_proj, false), mib(6), bytes(10));
    layer.add(of(weight_role::up_proj, false), mib(2), bytes(1));
    layer.add(of(weight_role::up_proj, true), mib(3));
    layer.add(of(weight_role::down_proj, true), mib(4));
    std::vector<std::tuple<std::string_view, byte_count, bool>> seen;
    layer.for_each([&](std::string_view name, byte_count size, bool routed) { seen.emplace_back(name, size, routed); });
    REQUIRE(seen.size() == 4);
    CHECK(seen[0] == std::tuple{std::string_view{"qkv_proj"}, mib(11) + mib(1) + bytes(110), false});
    CHECK(seen[1] == std::tuple{std::string_view{"gate_up_proj"}, mib(2) + bytes(1), false});
    CHECK(seen[2] == std::tuple{std::string_view{"gate_up_proj"}, mib(3), true});
    CHECK(seen[3] == std::tuple{std::string_view{"down_proj"}, mib(4), true});
    CHECK(tail_of(mib(10) + mib(1)) == mib(1));
    CHECK(tail_of(mib(11) - bytes(1)) == byte_count{});
    CHECK(fused_tensors::takes({.role = weight_role::q_proj, .rows = 2, .columns = 64}));
}
