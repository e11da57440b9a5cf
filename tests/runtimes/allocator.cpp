// SPDX-License-Identifier: MIT
#include <llmres/runtimes/allocator.hpp>

#include <doctest/doctest.h>

using namespace llmres;

TEST_CASE("expandable segments have a fragmentation of their own") {
    runtime_allocator a{.fragmentation = {0.0, 0.1, 0.3}};
    CHECK(fragmentation_of(a) == interval<double>{0.0, 0.1, 0.3});
    a.expandable_segments = true;
    CHECK(fragmentation_of(a) == a.expandable_fragmentation);
    CHECK(fragmentation_of(a).high < 0.3);
}
