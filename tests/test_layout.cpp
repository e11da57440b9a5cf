// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/layout.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>

using namespace llmres;

TEST_CASE("a replica takes tensor x pipeline x data x context_parallel GPUs") {
    constexpr layout l{.tensor = 2, .pipeline = 3, .data = 4, .context_parallel = 5, .replicas = 6};
    static_assert(l.gpus_per_replica() == 120);
    static_assert(l.gpus() == 720);
    CHECK(l.dense_data_ranks() == 20);
}

TEST_CASE("experts are spread over ranks that the other dimensions count already") {
    // Megatron-Core: experts cut as everything else is, over the data ranks.
    constexpr layout megatron{.tensor = 2, .data = 8, .expert = 4};
    static_assert(megatron.gpus() == 16);
    static_assert(megatron.expert_data_ranks() == 2);
    // vLLM: whole experts over all tensor and data ranks.
    constexpr layout serving{.tensor = 8, .data = 2, .expert = 16, .expert_tensor = 1};
    static_assert(serving.expert_data_ranks() == 1);
    CHECK(validate(serving, models::mixtral_8x7b).error().field == "layout.expert");  // eight experts for sixteen ranks
}

TEST_CASE("stages cover every layer once, and differ by one layer at most") {
    for (std::int32_t layers = 1; layers <= 130; ++layers)
        for (std::int32_t stages = 1; stages <= layers && stages <= 32; ++stages) {
            std::int32_t next = 0;
            for (std::int32_t stage = 0; stage < stages; ++stage) {
                const stage_range range = stage_layers(layers, stages, stage);
                REQUIRE(range.first == next);
                REQUIRE(range.size() >= layers / stages);
                REQUIRE(range.size() <= layers / stages + 1);
                next = range.last;
            }
            REQUIRE(next == layers);
        }
}

TEST_CASE("degrees that do not go round are refused with the number that they must divide") {
    const status s = validate({.tensor = 7}, models::llama_3_1_8b);
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "layout.tensor");
    CHECK(s.error().value == "7");
    CHECK(s.error().expected == "a divisor of the model's attention heads, 32");
    CHECK(validate({.pipeline = 33}, models::llama_3_1_8b).error().field == "layout.pipeline");
    CHECK(validate({.pipeline = 16, .virtual_pipeline = 4}, models::llama_3_1_8b).error().field == "layout.pipeline");
    CHECK(validate({.sequence_parallel = true}, models::llama_3_1_8b).error().field == "layout.sequence_parallel");
    CHECK(validate({.tensor = 4, .sequence_parallel = true}, models::llama_3_1_8b));
    CHECK(validate({.data = 4, .expert = 3}, models::mixtral_8x7b).error().field == "layout.expert");
    CHECK(validate({.data = 1 << 20, .replicas = 1 << 20}, models::llama_3_1_8b).error().field == "layout");
}
