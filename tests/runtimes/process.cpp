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

TEST_CASE("a context under CUDA 11 holds what was measured, 1.3 and 1.78 GiB, which one of CUDA 12 does not take") {
    for (const double measured : {1.3, 1.78}) {
        CHECK(context_of_cuda_11.low.in(gib) <= measured);
        CHECK(context_of_cuda_11.high.in(gib) >= measured);
        CHECK(training_process.context.high.in(gib) < measured);
    }
}

TEST_CASE("a process captures graphs where they take a byte and more, of all layers or of each") {
    runtime_process p;
    CHECK_FALSE(captures_graphs(p));
    p.cuda_graphs = {bytes(0), bytes(0), bytes(1)};
    CHECK(captures_graphs(p));
    p.cuda_graphs = {};
    p.layer_graphs = {bytes(0), bytes(0), bytes(1)};
    CHECK(captures_graphs(p));
}

TEST_CASE("graphs take as many parts as sizes are captured, to the byte and without overflow") {
    const interval<byte_count> usual{bytes(0), mib(51), gib(1'000'000)};
    CHECK(graphs_of_sizes(usual, usual_graph_sizes) == usual);
    CHECK(graphs_of_sizes(usual, 5).expected == mib(5));
    CHECK(graphs_of_sizes(usual, 83).expected == mib(83));
    CHECK(graphs_of_sizes(usual, 0) == interval<byte_count>{});
    CHECK(graphs_of_sizes(usual, 1).high == div_down(gib(1'000'000), 51));
}

TEST_CASE(
    "cuBLAS has 32 MiB for each thread from Hopper on; a process without cuBLAS's workspace has none there, too") {
    // CublasHandlePool.cpp, parseChosenWorkspaceSize: ":4096:2:16:8" is 8,320 KiB, and 32 MiB on Hopper
    const runtime_process of_pytorch{.product_workspace = kib(8320)};
    CHECK(product_workspace_on(of_pytorch, false) == kib(8320));
    CHECK(product_workspace_on(of_pytorch, true) == kib(32 * 1024));
    CHECK(product_workspace_on(runtime_process{}, true) == byte_count{});
}
