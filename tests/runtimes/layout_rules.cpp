// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/layout_rules.hpp>

using namespace llmres;

TEST_CASE("a runtime says which layouts it runs") {
    CHECK(runtimes::vllm.layouts.split.vocabulary_multiple == 64);
    CHECK(runtimes::sglang.layouts.split.vocabulary_multiple == 64);
    CHECK_FALSE(runtimes::llama_cpp.layouts.tensor);
    CHECK_FALSE(runtimes::ollama.layouts.tensor);
    CHECK(runtimes::megatron.layouts.sequence_parallel);
    CHECK(runtimes::torchtitan.layouts.most_zero_with_pipeline == 2);
    CHECK_FALSE(runtimes::litgpt.layouts.pipeline);
    CHECK_FALSE(runtimes::torchtune.layouts.tensor);
}

TEST_CASE("ZeRO beside stages goes no further than without them, in every profile") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        CHECK(r->layouts.most_zero_with_pipeline <= r->layouts.most_zero);
        CHECK(r->layouts.most_zero <= 3);
        CHECK(r->layouts.split.vocabulary_multiple >= 0);
    }
}

TEST_CASE("serving profiles interleave no stages") {
    for (const runtime* r : runtimes::all)
        if (r->identity.work == runtime_work::serving) CHECK_FALSE(r->layouts.virtual_pipeline);
}
