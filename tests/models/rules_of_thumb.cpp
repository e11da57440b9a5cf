// SPDX-License-Identifier: MIT
// The rules alone; tests/seed_cases/rules_of_thumb.cpp compares them with the exact answers.
#include <doctest/doctest.h>
#include <llmres/models/rules_of_thumb.hpp>

using namespace llmres;

TEST_CASE("bytes of a rule are a fixed number for each parameter") {
    constexpr parameter_count seven = parameters(7'000'000'000);
    static_assert(rules::weights_16bit(seven) == gb(14));
    static_assert(rules::training_bf16(seven) == gb(56));
    static_assert(rules::training_mixed_adam(seven) == gb(112));
    static_assert(rules::full_finetune_fp32(seven) == gb(140));
}

TEST_CASE("training in bf16 takes four times the weights, with mixed precision twice that") {
    const parameter_count n = parameters(1'234'567'890);
    CHECK(rules::training_bf16(n) == rules::weights_16bit(n) * 4);
    CHECK(rules::training_mixed_adam(n) == rules::training_bf16(n) * 2);
}

TEST_CASE("a token costs two FLOPs for each parameter when generated, six when trained on") {
    CHECK(rules::generation(tokens(1), parameters(1'000'000)).in(flops) == 2e6);
    CHECK(rules::training(tokens(1), parameters(1'000'000)).in(flops) == 6e6);
    CHECK(rules::training(tokens(1000), parameters(1'000'000)).in(flops) == 6e9);
}
