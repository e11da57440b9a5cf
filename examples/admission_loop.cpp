// SPDX-License-Identifier: MIT
// A scheduler's loop: each job of a queue goes to the first node with room for it.
#include <array>
#include <cstdio>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

int main() {
    // [loop]
    const std::array nodes{standard_cluster(gpus::rtx_4090, 2).value(),
                           standard_cluster(gpus::h100_sxm5_80gb, 1).value(),
                           standard_cluster(gpus::h200_sxm5_141gb, 8).value()};
    for (const char* name : {"llama-3.1-8b", "qwen2.5-32b", "llama-3.3-70b", "deepseek-v3"}) {
        const job wanted{
            .model = find_model(name).value(), .batch = 4, .context = tokens(4096), .runtime = runtimes::vllm};
        const char* place = "nowhere";
        for (const cluster& node : nodes)
            if (const auto p = plan(wanted, node); p && p->verdict == verdict::fits) {  // microseconds
                place = node.gpu.name.characters;
                break;
            }
        std::printf("%-14s %s\n", name, place);
    }
    // [loop]
}
