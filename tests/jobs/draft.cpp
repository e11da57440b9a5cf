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
