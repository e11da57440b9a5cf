// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/values/find_precision.hpp>
#include <llmres/values/precision.hpp>
#include <string>

using namespace llmres;

namespace {
std::int64_t size(const precision& p, std::int64_t rows, std::int64_t columns) {
    return size_of(p, rows, columns).in(bytes);
}
}  // namespace

TEST_CASE("a GGUF block holds what its struct in ggml-common.h holds") {
    struct block {
        precision format;
        std::int32_t weights, sum;
    };
    // Scales (half = 2), mins, high bits, low bits, in the order of the struct.
    const block blocks[]{{q4_0, 32, 2 + 16},
                         {q4_1, 32, 2 + 2 + 16},
                         {q5_0, 32, 2 + 4 + 16},
                         {q5_1, 32, 2 + 2 + 4 + 16},
                         {q8_0, 32, 2 + 32},
                         {q8_1, 32, 2 + 2 + 32},
                         {q2_k, 256, 16 + 64 + 2 + 2},
                         {q3_k, 256, 32 + 64 + 12 + 2},
                         {q4_k, 256, 2 + 2 + 12 + 128},
                         {q5_k, 256, 2 + 2 + 12 + 32 + 128},
                         {q6_k, 256, 128 + 64 + 16 + 2},
                         {q8_k, 256, 4 + 256 + 16 * 2},
                         {iq1_s, 256, 2 + 32 + 8 * 2},
                         {iq1_m, 256, 32 + 16 + 8},
                         {iq2_xxs, 256, 2 + 32 * 2},
                         {iq2_xs, 256, 2 + 32 * 2 + 8},
                         {iq2_s, 256, 2 + 64 + 8 + 8},
                         {iq3_xxs, 256, 2 + 96},
                         {iq3_s, 256, 2 + 64 + 8 + 32 + 4},
                         {iq4_nl, 32, 2 + 16},
                         {iq4_xs, 256, 2 + 2 + 4 + 128},
                         {tq1_0, 256, 48 + 4 + 2},
                         {tq2_0, 256, 64 + 2},
                         {mxfp4_gguf, 32, 1 + 16},
                         {nvfp4_gguf, 64, 4 + 32}};
    for (const auto& [format, weights, sum] : blocks) {
        CAPTURE(format.name.view());
        CHECK(size(format, 1, weights) == sum);
        CHECK(size(format, 7, 3 * weights) == 21 * sum);
        CHECK(bits_per_element(format) == doctest::Approx(8.0 * sum / weights));
    }
}

TEST_CASE("ik_llama.cpp's types have its block sizes, a scale a row, and interleaved twins of the same size") {
    CHECK(size(iq4_k, 1, 256) == 2 + 2 + 128 + 12);
    CHECK(size(iq4_ks, 1, 4096) == 16 * (8 + 128) + 4);
    CHECK(size(iq4_ks, 3, 4096) == 3 * (16 * (8 + 128) + 4));
    CHECK(size(iq2_ks, 1, 256) == 2 + 4 + 64 + 2);
    CHECK(size(iq1_s_r4, 4, 32) == 24 + 4 * 2);
    for (const char* name : {"iq4_k_r4", "q4_k_r4", "q8_0_r8", "iq3_xxs_r4", "iq1_s_r4"}) {
        INFO(name);
        REQUIRE(find_precision("weights", name));
        CHECK(std::string_view{name}.starts_with(find_precision("weights", name)->name.view()));
    }
    for (const precision& p : ik_precisions) CHECK(find_precision("weights", p.name.view()).value() == p);
    CHECK(find_precision("weights", "bf16_r4").error().code == error_code::unknown);
}

TEST_CASE("GPTQ stores packed values, scales, packed zero points and the group of each input") {
    // 4096 outputs x 11008 inputs, 4 bits, groups of 128.
    CHECK(size(gptq(4, 128), 4096, 11008) == 4096 * 11008 / 2 + 86 * 4096 * 2 + 86 * 4096 / 2 + 11008 * 4);
    CHECK(size(gptq(4, 128, {.group_index = false}), 4096, 11008) == size(gptq(4, 128), 4096, 11008) - 11008 * 4);
    CHECK(size(gptq(4, whole_row), 4096, 11008) == 4096 * 11008 / 2 + 4096 * 2 + 4096 / 2 + 11008 * 4);
    CHECK(size(gptq(8, 32), 64, 64) == 64 * 64 + 2 * 64 * 2 + 2 * 64 + 64 * 4);
    CHECK(size(gptq(3, 128), 4096, 4096) == 4096 * 4096 * 3 / 8 + 32 * 4096 * 2 + 32 * 4096 * 3 / 8 + 4096 * 4);
    CHECK(size(gptq(2, 64), 4096, 4096) == 4096 * 4096 / 4 + 64 * 4096 * 2 + 64 * 4096 / 4 + 4096 * 4);
}

TEST_CASE("AWQ is GPTQ without the group of each input") {
    for (const std::int32_t group : {32, 64, 128, whole_row})
        CHECK(size(awq(4, group), 14336, 4096) == size(gptq(4, group, {.group_index = false}), 14336, 4096));
}

TEST_CASE("compressed-tensors stores packed values, scales and the shape") {
    CHECK(size(packed_int(4, 32), 2048, 7168) == 2048 * 7168 / 2 + 2048 * 7168 / 32 * 2 + 16);
    CHECK(size(packed_int(4, 32, {.zero_points = true}), 2048, 7168) ==
          size(packed_int(4, 32), 2048, 7168) + 2048 * 224 / 2);
    CHECK(size(packed_int(4, 128, {.zero_points = true, .group_index = true}), 512, 256) ==
          512 * 256 / 2 + 512 * 2 * 2 + 512 * 2 / 2 + 256 * 4 + 16);
    CHECK(size(packed_int(8, whole_row), 512, 256) == 512 * 256 + 512 * 2 + 16);
}

TEST_CASE("bitsandbytes: one absmax a row in int8, a block of 64 in four bits, and double quantisation of those") {
    CHECK(size(bnb_int8, 4096, 11008) == 4096 * 11008 + 4096 * 4);
    const std::int64_t n = 4096 * 11008;
    CHECK(size(nf4, 4096, 11008) == n / 2 + n / 64 * 4 + 16 * 4);
    CHECK(size(nf4_double, 4096, 11008) == n / 2 + n / 64 + n / 64 / 256 * 4 + 16 * 4 + 4 + 256 * 4);
    CHECK(size(fp4, 4096, 11008) == size(nf4, 4096, 11008));
    CHECK(size(fp4_double, 3, 5) == size(nf4_double, 3, 5));
    CHECK(size(nf4, 3, 5) == 8 + 4 + 64);  // fifteen values in eight bytes, one block begun
}

TEST_CASE("FP8: a scale a tensor, a channel, or a block of 128 x 128") {
    CHECK(size(fp8_tensor, 100, 300) == 30000 + 4);
    CHECK(size(fp8_tensor_static, 100, 300) == 30000 + 8);
    CHECK(size(fp8_channel, 100, 300) == 30000 + 400);
    CHECK(size(fp8_channel_s16, 100, 300) == 30000 + 200);
    CHECK(size(fp8_block, 100, 300) == 30000 + 3 * 4);
    CHECK(size(fp8_block, 576, 7168) == 576 * 7168 + 5 * 56 * 4);  // DeepSeek-V3 kv_a_proj_with_mqa
}

TEST_CASE("microscaling formats round up to whole blocks by row") {
    CHECK(size(mxfp4, 2, 33) == 2 * (17 + 2));
    CHECK(size(mxfp8, 2, 64) == 2 * (64 + 2));
    CHECK(size(mxfp6, 2, 64) == 2 * (48 + 2));
    CHECK(size(nvfp4, 2, 64) == 2 * (32 + 4) + 4);
    CHECK(size(nvfp4_static, 2, 64) == 2 * (32 + 4) + 8);
    // Inside one block or beside it, the bytes are the same where rows divide.
    CHECK(size(mxfp4_gguf, 2880, 2880) == size(mxfp4, 2880, 2880));
}

TEST_CASE("HQQ has a scale and a zero point a group, and packs three bits by tens") {
    CHECK(size(hqq(4, 64), 4096, 4096) == 4096 * 4096 / 2 + 4096 * 64 * 4);
    CHECK(size(hqq(3, 64), 10, 64) == 64 * 4 + 10 * 4);
    CHECK(size(hqq(1, 32), 8, 32) == 32 + 8 * 4);
    CHECK(size(mlx(4, 64), 4096, 4096) == 4096 * 4096 / 2 + 4096 * 64 * 4);
    CHECK(size(mlx(5, 32), 1, 64) == 40 + 2 * 4);
}

TEST_CASE("EXL2 is a mean width; EXL3 is exact at whole bits") {
    CHECK(size(exl2(4250), 4096, 4096) == 4096 * 4096 * 17 / 32);
    CHECK(size(exl2(4000), 16, 16) == 128);
    CHECK(size(exl2(2550), 4096, 4096) - std::int64_t{4096} * 4096 * 255 / 800 <= 51);  // within one tile of 51 bytes
    CHECK(size(exl3(3000), 4096, 11008) == 4096 * 11008 * 3 / 8 + (4096 + 11008) * 2);
}

TEST_CASE("ternary weights are packed by fours") { CHECK(size(ternary, 6912, 2560) == 6912 * 2560 / 4 + 2); }

TEST_CASE("sizes are constant expressions") {
    static_assert(size_of(gptq(4, 128), 4096, 4096) ==
                  bytes(4096 * 4096 / 2 + 32 * 4096 * 2 + 32 * 4096 / 2 + 4096 * 4));
    static_assert(size_of(q6_k, 1, 256) == bytes(210));
}
