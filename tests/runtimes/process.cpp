// SPDX-License-Identifier: MIT
#include <llmres/runtimes/process.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>

using namespace llmres;

TEST_CASE("every profile of software takes memory for its process; ideal bytes take none") {
    CHECK_FALSE(takes_memory(no_runtime.process));
    for (const runtime* r : runtimes::all)
        if (r != &no_runtime) CHECK(takes_memory(r->process));
}

TEST_CASE("what a process takes is at most its high bound, and expected between the bounds") {
    for (const runtime* r : runtimes::all) {
        const runtime_process& p = r->process;
        for (const interval<byte_count>& each : {p.context, p.workspace, p.expert_workspace, p.communicator,
                                                 p.fused_all_reduce, p.cuda_graphs, p.layer_graphs}) {
            CHECK(each.low <= each.expected);
            CHECK(each.expected <= each.high);
        }
    }
}
