// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/models/all.hpp>
#include <llmres/models/modeling.hpp>

using namespace llmres;

TEST_CASE("an architecture that is not named is written as Llama is") {
    CHECK(modeling_of(models::llama_3_1_8b).architecture.empty());
    CHECK(modeling_of(model{}).norms.form == norm_form::narrow_weight);
    CHECK(&modeling_of(models::llama_3_1_8b) == &modeling_of(models::llama_2_7b));
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

TEST_CASE("each architecture is described once") {
    for (const modeling& code : detail::all_modeling)
        CHECK(&modeling_of(model{.architecture = code.architecture}) == &code);
}
