// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/launches.hpp>

using namespace llmres;

TEST_CASE("what a runtime's CPU side takes lies between its bounds, and floors are at most whole") {
    for (const runtime* r : runtimes::all) {
        const runtime_launches& by = r->launches;
        for (const interval<duration>* t : {&by.layer, &by.step, &by.request}) {
            CHECK(t->low <= t->expected);
            CHECK(t->expected <= t->high);
        }
        CHECK(by.floors > 0);
        CHECK(by.floors <= 1);
    }
}

TEST_CASE("Python issues kernels one by one; serving engines replay graphs") {
    CHECK(runtimes::transformers.launches.layer.expected > microseconds(100));
    CHECK(runtimes::vllm.launches.layer == interval<duration>{});
    CHECK(no_runtime.launches.layer == interval<duration>{});
}
