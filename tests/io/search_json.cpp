// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <array>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/io/search_json.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

TEST_CASE("what a search found is JSON with layout, figures and the command") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job j{.model = models::llama_3_1_8b, .batch = 64, .context = tokens(4096), .runtime = runtimes::vllm};
    std::array<found_layout, 3> best;
    const search_counts counts = search(j, eight, {}, best).value();
    const json_value list = to_json(std::span<const found_layout>{best.data(), counts.best}, j, eight);
    REQUIRE(list.size() == 3);
    CHECK(list[0]["verdict"] == "fits");
    CHECK(list[0]["tokens_per_second"].get<double>() >= list[1]["tokens_per_second"].get<double>());
    CHECK(list[0]["launch"].get<std::string>().starts_with("vllm serve MODEL"));
    CHECK(list[0]["batch"] == 64);
    CHECK(to_json(counts)["tried"] == counts.tried);
    CHECK(to_json(counts)["kept"] == counts.kept);
}

TEST_CASE("a training layout tells its step and what was chosen beside it") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const json_value found = to_json(search(j, eight, {.space = {.micro_batch = true}}).value(), j, eight);
    CHECK(found["step"]["expected"].get<double>() > 0);
    CHECK(found["micro_batch"].get<int>() >= 1);
    CHECK(found["launch"] == nullptr);
}
