// SPDX-License-Identifier: MIT
#include <llmres/models/modeling.hpp>

#include <doctest/doctest.h>

using namespace llmres;

TEST_CASE("modules of which nothing else is said are written as Llama's are") {
    constexpr modeling plain{};
    CHECK(plain.norms.form == norm_form::narrow_weight);
    CHECK_FALSE(plain.norms.after_sum);
    CHECK_FALSE(plain.attention.joined_heads);
    CHECK(plain.attention.causal);
    CHECK(plain.attention.rotary);
    CHECK(plain.attention.softmax == softmax_format::wide);
    CHECK(plain.feed_forward.activation == activation_form::from_input);
    CHECK(plain.loss.fp32_logits);
    CHECK(plain.mask_table == mask_buffer::none);
}
