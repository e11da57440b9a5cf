// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/interconnect.hpp>
#include <type_traits>

using namespace llmres;

TEST_CASE("a link is a plain value") {
    CHECK(std::is_trivially_copyable_v<llmres::link>);
    CHECK(std::is_aggregate_v<llmres::link>);
}

TEST_CASE("the bandwidth of a link is the part of its line rate that large transfers reach") {
    constexpr llmres::link half{.raw = gb_per_s(100), .achievable = 0.5};
    static_assert(half.bandwidth() == gb_per_s(50));
    constexpr llmres::link unmeasured{.raw = gb_per_s(100)};
    static_assert(unmeasured.bandwidth() == unmeasured.raw);
}

TEST_CASE("no link has no bandwidth") {
    constexpr llmres::link none{};
    CHECK(none.kind == link_kind::none);
    CHECK(none.bandwidth() == byte_rate{});
}

TEST_CASE("the first and the last technology have their names") {
    CHECK(name_of(link_kind::none) == "none");
    CHECK(name_of(link_kind::nvlink) == "nvlink");
    CHECK(name_of(link_kind::other) == "other");
}
