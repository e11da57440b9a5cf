// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/inventory/operation.hpp>

using namespace llmres;

TEST_CASE("passes that are asked for together keep their order, and there are at most three") {
    token_passes passes;
    CHECK(passes.size() == 0);
    for (std::int64_t scored = 1; scored <= static_cast<std::int64_t>(token_passes::most); ++scored)
        passes.push({.scored = scored});
    REQUIRE(passes.size() == 3);
    for (std::size_t i = 0; i < passes.size(); ++i) CHECK(passes[i].scored == static_cast<std::int64_t>(i) + 1);
}

TEST_CASE("products and adapters compute in the format of activations unless another is said") {
    operation_formats formats{.compute = fp16};
    CHECK(formats.linear_arithmetic() == arithmetic_kind::fp16);
    CHECK(formats.of_adapters() == fp16);
    formats.linear = arithmetic_kind::fp8;
    formats.adapters = fp32;
    CHECK(formats.linear_arithmetic() == arithmetic_kind::fp8);
    CHECK(formats.of_adapters() == fp32);
    CHECK(formats.compute == fp16);
}
