// SPDX-License-Identifier: MIT
#include "profile_errors.hpp"

#include <doctest/doctest.h>

#include "profile_times.hpp"

#include <iterator>
#include <llmres/runtimes/errors.hpp>

// `table_profile_errors > include/llmres/runtimes/errors.inc` writes what is checked here.

TEST_CASE("the errors published with the profiles are those that the measurements show") {
    const auto shown = profile_errors::all();
    REQUIRE(shown.size() == std::size(llmres::runtimes::errors));
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const llmres::profile_error& said = llmres::runtimes::errors[i];
        CAPTURE(shown[i].profile->identity.name.view());
        CAPTURE(shown[i].profile->identity.versions.view());
        CAPTURE(shown[i].figure);
        CHECK(said.runtime == shown[i].profile->identity.name.view());
        CHECK(said.versions == shown[i].profile->identity.versions.view());
        CHECK(said.figure == shown[i].figure);
        CHECK(said.rows == shown[i].rows);
        CHECK(said.inside == shown[i].inside);
        CHECK(said.gpus == shown[i].gpu_list());
        CHECK(std::fabs(said.mean - shown[i].mean()) < 1e-4);
        CHECK(std::fabs(said.bias - shown[i].bias()) < 1e-4);
        CHECK(std::fabs(said.worst - shown[i].worst) < 1e-4);
    }
}

// `table_profile_times > include/llmres/runtimes/times.inc` writes what is checked here.

TEST_CASE("the jobs that times of the profiles were held against are those whose times are published") {
    const auto counted = profile_times::all();
    REQUIRE(counted.size() == std::size(llmres::runtimes::times));
    for (std::size_t i = 0; i < counted.size(); ++i) {
        CHECK(llmres::runtimes::times[i].runtime == counted[i].first->identity.name.view());
        CHECK(llmres::runtimes::times[i].versions == counted[i].first->identity.versions.view());
        CHECK(llmres::runtimes::times[i].rows == counted[i].second);
    }
}
