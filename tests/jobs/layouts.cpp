// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/models/llama.hpp>
#include <vector>

using namespace llmres;

namespace {

std::vector<layout> tried(const model& m, std::int32_t gpus) {
    std::vector<layout> all;
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, gpus).value();
    for_each_layout(job{.model = m}, gpus, c, [&](const layout& l) {
        all.push_back(l);
        return false;
    });
    return all;
}

}  // namespace

TEST_CASE("eight GPUs are tried as tensor and pipeline ranks, the largest tensor degree first") {
    const std::vector<layout> all = tried(models::llama_3_1_8b, 8);
    CHECK(all == std::vector<layout>{
                     {.tensor = 8}, {.tensor = 4, .pipeline = 2}, {.tensor = 2, .pipeline = 4}, {.pipeline = 8}});
}

TEST_CASE("every layout that is tried uses all GPUs, stays inside a node, and is one that the model allows") {
    for (const std::int32_t gpus : {1, 2, 3, 6, 8, 12, 16, 32})
        for (const layout& l : tried(models::llama_3_1_8b, gpus)) {
            CAPTURE(gpus);
            CHECK(l.gpus() == gpus);
            CHECK(l.tensor <= 8);
            CHECK(validate(l, models::llama_3_1_8b));
        }
}

TEST_CASE("tensor degrees divide the attention heads") {
    for (const layout& l : tried(models::llama_3_1_8b, 6)) CHECK(32 % l.tensor == 0);
}

TEST_CASE("there are no more stages than layers") {
    CHECK(tried(models::llama_3_1_8b, 512).size() == 0);
    CHECK(tried(models::llama_3_1_8b, 256).size() == 1);
}

TEST_CASE("the search stops at the first layout that is taken") {
    int calls = 0;
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    CHECK(for_each_layout(job{.model = models::llama_3_1_8b}, 8, c, [&](const layout&) { return ++calls == 2; }));
    CHECK(calls == 2);
}
