// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/models/all.hpp>
#include <llmres/models/families.hpp>

using namespace llmres;

TEST_CASE("an architecture that is not named is written as Llama is") {
    CHECK_FALSE(family_of({.architecture = "unheard_of"}).modules.known);
    CHECK_FALSE(is_described({.architecture = "unheard_of"}));
    CHECK(is_described(model{}));
    CHECK(modeling_of(model{}).norms.form == norm_form::narrow_weight);
    CHECK(is_described(models::llama_3_1_8b));
}

TEST_CASE("a model finds the modules of its architecture") {
    CHECK(modeling_of(find_model("gemma-2-9b").value()).attention.caps_scores);
    CHECK(modeling_of(find_model("gemma-2-9b").value()).loss.caps_logits);
    CHECK(modeling_of(find_model("phi-3-mini-4k").value()).attention.joined_heads);
    CHECK(modeling_of(find_model("deepseek-v3").value()).feed_forward.fp32_router);
}

TEST_CASE("Kimi K2 is trained by DeepSeek-V3's modules") {
    const model kimi = find_model("kimi-k2").value();
    CHECK(is_described(kimi));
    CHECK(modeling_of(kimi).feed_forward.fp32_router);
    CHECK(modeling_of(kimi).feed_forward.fp32_scores);
}

TEST_CASE("each family has one row, which its name finds") {
    for (const family& one : detail::all_families) CHECK(&family_of({.architecture = one.architecture}) == &one);
}

TEST_CASE("some families lie otherwise in a GGUF file") {
    CHECK(family_of({.architecture = "phi3"}).gguf.joined_gate);
    CHECK(family_of({.architecture = "RefinedWeb"}).gguf.falcon_types);
    CHECK(family_of(models::llama_3_1_70b).gguf.wider_values_at_80);
    CHECK_FALSE(family_of(models::llama_3_1_70b).gguf.joined_heads);
}
