// SPDX-License-Identifier: MIT
#include <llmres/hardware/storage.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace llmres;

TEST_CASE("a storage has a bandwidth of its nodes, and may have one of them all") {
    CHECK(validate(storage{.bandwidth = gb_per_s(2)}));
    CHECK(validate(storage{.bandwidth = gb_per_s(2), .total_bandwidth = gb_per_s(40)}));
}

TEST_CASE("no bandwidth, a negative one and one that no storage has are refused by name") {
    const auto field_of = [](const storage& s) { return validate(s).error().field; };
    CHECK(field_of({}) == "storage.bandwidth");
    CHECK(field_of({.bandwidth = gb_per_s(-2)}) == "storage.bandwidth");
    CHECK(field_of({.bandwidth = gb_per_s(2e9)}) == "storage.bandwidth");
    CHECK(field_of({.bandwidth = gb_per_s(2), .total_bandwidth = gb_per_s(-1)}) == "storage.total_bandwidth");
    CHECK(field_of({.bandwidth = gb_per_s(2), .total_bandwidth = gb_per_s(2e9)}) == "storage.total_bandwidth");
    CHECK(field_of({.bandwidth = gb_per_s(std::numeric_limits<double>::quiet_NaN())}) == "storage.bandwidth");
    CHECK(validate(storage{}).error().code == error_code::out_of_range);
}
