// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/gguf/types.hpp>

using namespace llmres;

TEST_CASE("types have the numbers that files hold") {
    CHECK(find_gguf_type(12).value.name == "Q4_K");
    CHECK(find_gguf_type(39).value.block_bytes() == 17);
    for (const std::uint32_t none : {4u, 5u, 36u, 37u, 38u, 1000u, 0xffffffffu}) CHECK_FALSE(find_gguf_type(none));
    for (const auto& info : detail::gguf::types)
        CHECK(find_gguf_type(static_cast<std::uint32_t>(info.type)).value.name == info.name);
}

TEST_CASE("a block of each type has the bytes that ggml-common.h gives it") {
    struct block {
        gguf_type type;
        std::int64_t values;
        std::int64_t bytes;
    };
    for (const block& b :
         {block{gguf_type::F32, 1, 4},      block{gguf_type::F16, 1, 2},        block{gguf_type::BF16, 1, 2},
          block{gguf_type::Q4_0, 32, 18},   block{gguf_type::Q4_1, 32, 20},     block{gguf_type::Q5_0, 32, 22},
          block{gguf_type::Q5_1, 32, 24},   block{gguf_type::Q8_0, 32, 34},     block{gguf_type::Q2_K, 256, 84},
          block{gguf_type::Q3_K, 256, 110}, block{gguf_type::Q4_K, 256, 144},   block{gguf_type::Q5_K, 256, 176},
          block{gguf_type::Q6_K, 256, 210}, block{gguf_type::Q8_K, 256, 292},   block{gguf_type::IQ1_S, 256, 50},
          block{gguf_type::IQ1_M, 256, 56}, block{gguf_type::IQ2_XXS, 256, 66}, block{gguf_type::IQ2_XS, 256, 74},
          block{gguf_type::IQ2_S, 256, 82}, block{gguf_type::IQ3_XXS, 256, 98}, block{gguf_type::IQ3_S, 256, 110},
          block{gguf_type::IQ4_NL, 32, 18}, block{gguf_type::IQ4_XS, 256, 136}, block{gguf_type::TQ1_0, 256, 54},
          block{gguf_type::TQ2_0, 256, 66}, block{gguf_type::MXFP4, 32, 17}}) {
        const auto info = find_gguf_type(static_cast<std::uint32_t>(b.type));
        REQUIRE(info);
        CAPTURE(info.value.name);
        CHECK(info.value.block() == b.values);
        CHECK(info.value.block_bytes() == b.bytes);
    }
}

TEST_CASE(
    "what the quantiser can be asked for stands in the order of its enumeration, with the type that no rule changes") {
    for (const auto& known : detail::gguf::quantisations)
        CHECK(detail::gguf::base_of(known.quantisation) == known.base);
    CHECK(detail::gguf::base_of(gguf_quantisation::Q4_K_M) == gguf_type::Q4_K);
    CHECK(detail::gguf::base_of(gguf_quantisation::IQ3_M) == gguf_type::IQ3_S);
    CHECK(detail::gguf::base_of(gguf_quantisation::MXFP4_MOE) == gguf_type::MXFP4);
}
