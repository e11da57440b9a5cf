// SPDX-License-Identifier: MIT
#include <llmres/jobs/draft.hpp>

#include <doctest/doctest.h>
#include <llmres/models/llama.hpp>

using namespace llmres;

TEST_CASE("a draft model's weights are those it was published in, its cache is in the job's format") {
    constexpr serving_options asked = with_draft({}, models::llama_3_2_1b, fp8_e4m3);
    static_assert(asked.draft_weights == bytes(2) * 1'235'814'400);
    static_assert(asked.draft_kv == bytes_a_token(16 * 2 * 8 * 64));
    CHECK(with_draft({}, models::llama_3_2_1b, bf16).draft_kv == asked.draft_kv * 2);
}

TEST_CASE("or those of a GGUF file") {
    const gguf_mix q8 = find_gguf_mix("weights", "q8_0").value();
    CHECK(with_draft({}, models::llama_3_2_1b, bf16, q8).draft_weights == gguf_tensor_bytes(models::llama_3_2_1b, q8));
}

TEST_CASE("a token that is drafted reads all of a tied model, and of another one row of its embedding") {
    const serving_options tied = with_draft({}, models::llama_3_2_1b, bf16);
    CHECK(tied.draft.read == tied.draft_weights);
    CHECK(tied.draft.flops == flops(2.0 * 1'235'814'400));
    const serving_options apart = with_draft({}, models::llama_3_1_8b, bf16);
    CHECK(ratio(apart.draft_weights - apart.draft.read, bytes(2) * 128256 * 4096) == doctest::Approx(1).epsilon(1e-6));
    CHECK(apart.draft.layers == 32);
    CHECK(apart.draft.hidden == 4096);
}
