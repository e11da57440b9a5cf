// SPDX-License-Identifier: MIT
#include <llmres/runtimes/identity.hpp>

#include <doctest/doctest.h>
#include <cstdint>
#include <string>

using namespace llmres;

TEST_CASE("versions are read as their software writes them, and ordered as numbers") {
    CHECK(read_version("0.8.5.post1") == runtime_version{0, 8, 5});
    CHECK(read_version("v0.10") == runtime_version{0, 10, 0});
    CHECK(read_version("b2824") == runtime_version{2824, 0, 0});
    CHECK(read_version("build 2824 (4426e298)") == runtime_version{2824, 0, 0});
    CHECK(to_version("0.9.2") < to_version("0.10.0"));
    for (const char* none : {"", "main", "2024-04", "v", "nightly 0.3"}) CHECK_FALSE(read_version(none));
    CHECK(to_version("main") == runtime_version{});
}

TEST_CASE("builds are named by their date, a month before its days") {
    CHECK(read_date("2025-03") == runtime_version{2025, 3, 0});
    CHECK(read_date("2025-03-24") == runtime_version{2025, 3, 24});
    CHECK(read_date("2025-03").value < read_date("2025-03-01").value);
    for (const char* none : {"", "0.8.5", "2025", "2025-13", "2025-00", "2025-3-1", "20250324", "2025-03-99", "b2824"})
        CHECK_FALSE(read_date(none));
}

TEST_CASE("a profile covers its first version and all others before the first that it no longer holds for") {
    runtime_identity r{.name = "some", .since = {0, 6}};
    CHECK(covers(r, {0, 99}));
    r.before = {0, 8};
    CHECK(covers(r, {0, 6}));
    CHECK(covers(r, {0, 7, 9}));
    CHECK_FALSE(covers(r, {0, 8}));
    CHECK_FALSE(covers(r, {0, 5, 99}));
}

TEST_CASE("identities are equal by name and versions") {
    constexpr runtime_identity one{.name = "some", .versions = "1"};
    static_assert(one == runtime_identity{.name = "some", .work = runtime_work::serving, .versions = "1"});
    static_assert(one != runtime_identity{.name = "some", .versions = "2"});
    static_assert(one != runtime_identity{.name = "other", .versions = "1"});
}

TEST_CASE("a number before a dash is a version, unless a digit follows: then it is a date") {
    CHECK(read_version("2024-") == runtime_version{2024});
    CHECK(read_version("9-rc1") == runtime_version{9});
    CHECK_FALSE(read_version("2024-04"));
    CHECK_FALSE(read_version("2024-0"));
    for (std::int32_t month = 1; month <= 12; ++month) {
        const std::string written = std::string{"2025-"} + (month < 10 ? "0" : "") + std::to_string(month);
        CHECK(read_date(written) == runtime_version{2025, month});
        CHECK(read_date(written + "-31") == runtime_version{2025, month, 31});
        CHECK_FALSE(read_date(written + "-32"));
    }
}

TEST_CASE("a text as long as a date that has no digit or no dash in its place is none, nor is a day of one digit") {
    for (const char* none : {"2o25-03", "2025/03", "2025-03/24", "2025:03-24", "2025-03-2", "2025-03-", "20250-3"})
        CHECK_FALSE(read_date(none));
}
