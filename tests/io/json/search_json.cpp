// SPDX-License-Identifier: MIT
#include <llmres/io/json/search_json.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <string>

using namespace llmres;

TEST_CASE("what became of each layout of a space is told: the counts add up to those tried") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .global_batch = 64,
                .runtime = runtimes::megatron};
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    for (const bool skips : {false, true}) {
        CAPTURE(skips);
        const search_request asked{.space = {.micro_batch = true}, .skip_slower = skips};
        std::array<found_layout, 3> best;
        const search_counts counts = search(j, c, asked, best).value();
        const json_value told = to_json(counts);
        CHECK((told["skipped"].get<std::int64_t>() > 0) == skips);
        std::int64_t sum = 0;
        for (const std::string name : {"refused", "too_large", "too_slow", "skipped", "kept"})
            sum += told[name].get<std::int64_t>();
        CHECK(told["tried"] == sum);
    }
}
