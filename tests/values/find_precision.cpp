// SPDX-License-Identifier: MIT
#include <llmres/values/find_precision.hpp>

#include <doctest/doctest.h>

#include <llmres/values/error.hpp>
#include <llmres/values/precision.hpp>

using namespace llmres;

TEST_CASE("every format is found by its name, and only by it") {
    for (const precision& p : precisions) {
        CAPTURE(p.name.view());
        const auto found = find_precision("weights", p.name);
        REQUIRE(found);
        CHECK(found->parts[0].bytes == p.parts[0].bytes);
        int same = 0;
        for (const precision& q : precisions) same += p == q;
        CHECK(same == 1);
    }
    const precision made[]{gptq(4, 128),
                           gptq(4, whole_row),
                           gptq(8, 32, {.group_index = false}),
                           gptq(3, whole_row, {.group_index = false}),
                           awq(4, 64),
                           packed_int(4, 32),
                           packed_int(4, 128, {.zero_points = true, .group_index = true}),
                           packed_int(8, whole_row, {.zero_points = true}),
                           hqq(3, 64),
                           mlx(5, 32),
                           hqq(1, 32),
                           exl2(4250),
                           exl2(4000),
                           exl2(2005),
                           exl3(3500),
                           exl3(8000)};
    for (const precision& p : made) {
        CAPTURE(p.name.view());
        const auto found = find_precision("weights", p.name);
        REQUIRE(found);
        CHECK(size_of(*found, 4096, 4096) == size_of(p, 4096, 4096));
    }
    CHECK(find_precision("weights", "gptq_int4_g128")->name == "gptq_int4_g128");
    CHECK(find_precision("weights", "exl2_4.25bpw")->name == "exl2_4.25bpw");
    for (const char* wrong :
         {"", "q4", "q4_k_m", "gptq_int5_g128", "gptq_int4_g0", "gptq_int04_g128", "gptq_int4_g128x",
          "gptq_int4_g128_zp", "awq_int8_g128", "hqq_int4_channel", "exl2_4.250bpw", "exl2_0bpw", "exl2_4.bpw",
          "exl3_9bpw", "packed_int4_g99999999999999999999", "_int4_g128"}) {
        CAPTURE(wrong);
        const auto found = find_precision("weights", wrong);
        CHECK(found.error().code == error_code::unknown);
        CHECK(found.error().field == "weights");
    }
}

TEST_CASE("names are read in constant expressions, and repacked ik_llama.cpp types are what they repack") {
    static_assert(find_precision("weights", "packed_int4_g32_zp").has_value());
    static_assert(*find_precision("weights", "q4_0_r8") == q4_0);
    static_assert(*find_precision("weights", "iq4_kss") == iq4_kss);
    CHECK(find_precision("kv_cache", "fp9").error().field == "kv_cache");
}

TEST_CASE("formats are found by the names that other tools have for them") {
    for (const precision_alias& alias : precision_aliases) {
        CAPTURE(alias.name);
        const auto found = find_precision("weights", alias.name);
        if (alias.format.starts_with('?')) {
            CHECK(found.error().expected == alias.format.substr(1));  // every reading is named
        } else {
            REQUIRE(found);
            CHECK(found->name == find_precision("weights", alias.format)->name);
        }
    }
    static_assert(*find_precision("weights", "BFloat16") == bf16);
    CHECK(*find_precision("weights", "FP8-E4M3") == fp8_e4m3);
    CHECK(*find_precision("weights", "exl2_4.0bpw") == exl2(4000));
    CHECK(*find_precision("weights", "mxfp4") == mxfp4);
}
