// SPDX-License-Identifier: MIT
// tests/runtimes/all.cpp holds every row against the profiles.
#include <doctest/doctest.h>
#include <llmres/runtimes/errors.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

TEST_CASE("the errors of a profile are its own, one row a figure") {
    const auto rows = errors_of(runtimes::vllm);
    REQUIRE_FALSE(rows.empty());
    for (const profile_error& e : rows) {
        CHECK(e.runtime == "vllm");
        CHECK(e.versions == runtimes::vllm.identity.versions.view());
        CHECK(e.rows > 0);
        CHECK(e.inside <= e.rows);
    }
}

TEST_CASE("a profile is measured from five rows of one figure on, and hardly measured by fewer") {
    CHECK(evidence_of(0) == "unmeasured");
    CHECK(evidence_of(1) == "hardly measured");
    CHECK(evidence_of(4) == "hardly measured");
    CHECK(evidence_of(5) == "measured");
    CHECK(rows_behind(errors_of(runtimes::vllm_v1_18)) >= 45);
    CHECK(rows_behind(errors_of(no_runtime)) == 0);
}

TEST_CASE("a profile says how many measured times it was held against, apart from its memory") {
    CHECK(timed_rows_of(runtimes::vllm_v1_18) > 100);
    CHECK(timed_rows_of(runtimes::vllm_v1_9) == 0);
    CHECK(rows_behind(errors_of(runtimes::vllm_v1_9)) > 0);
}

TEST_CASE("a profile that nobody measured has no errors") {
    runtime unmeasured = runtimes::vllm;
    unmeasured.identity.versions = "99";
    CHECK(errors_of(unmeasured).empty());
    CHECK(errors_of(no_runtime).empty());
}
