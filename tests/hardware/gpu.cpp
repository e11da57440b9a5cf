// SPDX-License-Identifier: MIT
#include <llmres/hardware/gpu.hpp>

#include <doctest/doctest.h>

using namespace llmres;

namespace {

constexpr gpu card{
    .id = "card",
    .capability = {8, 9},
    .memory = {.fitted = gib(24), .reported = mib(24564), .cuda_visible = mib(24100), .bandwidth = gb_per_s(1000)},
    .rates = {.fp32 = tflops(80), .fp16 = tflops(160), .bf16 = tflops(150), .fp8 = tflops(300), .int8 = tflops(0)},
    .board_power = watts(400)};

constexpr gpu with_rates(gpu_rates rates) {
    gpu made = card;
    made.rates = rates;
    return made;
}

}  // namespace

TEST_CASE("a job gets what the driver leaves of the memory") {
    gpu other = card;
    CHECK(usable_memory(other) == mib(24100));
    other.memory.cuda_visible = {};
    CHECK(usable_memory(other) == mib(24564 - 500));
    other.memory.reported = {};
    CHECK(usable_memory(other) == gib(24) - mib(500));
    other.memory.fitted = {};
    CHECK(usable_memory(other) == bytes(0));
    CHECK(usable_memory(gpu{.vendor = gpu_vendor::apple, .memory = {.fitted = gib(24)}}) == gib(16));
    CHECK(usable_memory(gpu{.vendor = gpu_vendor::apple, .memory = {.fitted = gib(96)}}) == gib(72));
    // Windows reports nearly all of a card to CUDA; no driver leaves that much.
    CHECK(usable_memory(gpu{.memory = {.fitted = gib(24), .reported = mib(24564), .cuda_visible = mib(24563)}}) ==
          mib(24064));
    const gpu_memory shared{
        .fitted = gib(64), .reported = mib(62840), .cuda_visible = mib(62840), .type = "LPDDR5 unified"};
    CHECK(usable_memory(gpu{.memory = shared}) == mib(62840));
}

TEST_CASE("usable memory never exceeds what is fitted") {
    for (const std::int64_t size : {0, 1, 8, 24, 80, 288}) {
        const gpu made = with_memory(card, gib(size));
        CHECK(usable_memory(made) <= made.memory.fitted);
        CHECK(usable_memory(made) >= bytes(0));
    }
}

TEST_CASE("other memory chips make another card, and nothing else of it changes") {
    constexpr gpu modified = with_memory(card, gib(48));
    static_assert(modified.memory.fitted == gib(48));
    static_assert(modified.memory.marketing == gb(48));
    CHECK_FALSE(modified.memory.reported);
    CHECK_FALSE(modified.memory.cuda_visible);
    CHECK(modified.memory.bandwidth == card.memory.bandwidth);
    CHECK(modified.rates.fp16 == card.rates.fp16);
}

TEST_CASE("matrix products run in the format's own unit") {
    CHECK(matrix_rate(card, arithmetic_kind::fp16) == tflops(160));
    CHECK(matrix_rate(card, arithmetic_kind::bf16) == tflops(150));
    CHECK(matrix_rate(card, arithmetic_kind::fp8) == tflops(300));
}

TEST_CASE("without a unit of its own a format runs in the next wider one") {
    CHECK(matrix_rate(card, arithmetic_kind::fp6) == tflops(300));  // in fp8
    CHECK(matrix_rate(card, arithmetic_kind::fp4) == tflops(300));
    CHECK(matrix_rate(card, arithmetic_kind::int8) == tflops(160));  // in fp16: the part has no int8 unit
    CHECK(matrix_rate(card, arithmetic_kind::int4) == tflops(160));
    CHECK(matrix_rate(card, arithmetic_kind::tf32) == tflops(80));
    const gpu pascal = with_rates({.fp32 = tflops(10), .fp16 = tflops(0), .bf16 = tflops(0)});
    CHECK(matrix_rate(pascal, arithmetic_kind::bf16) == tflops(10));
    CHECK(matrix_rate(pascal, arithmetic_kind::fp8) == tflops(10));
}

TEST_CASE("double precision takes the matrix unit where there is one") {
    CHECK(matrix_rate(with_rates({.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5)}), arithmetic_kind::fp64) ==
          tflops(19.5));
    CHECK(matrix_rate(with_rates({.fp64 = tflops(9.7), .fp64_tensor = tflops(0)}), arithmetic_kind::fp64) ==
          tflops(9.7));
}

TEST_CASE("nothing is known of a GPU without rates") {
    for (int kind = 0; kind <= static_cast<int>(arithmetic_kind::int4); ++kind)
        CHECK(matrix_rate(with_rates({}), static_cast<arithmetic_kind>(kind)) == tflops(0));
}

TEST_CASE("NVIDIA's features follow from the compute capability") {
    gpu made = card;
    const auto capable = [&](std::int32_t major, std::int32_t minor) { made.capability = {major, minor}; };
    capable(7, 5);
    CHECK_FALSE(has_bf16(made));
    CHECK_FALSE(has_flash_attention(made));
    capable(8, 6);
    CHECK(has_bf16(made));
    CHECK(has_flash_attention(made));
    CHECK_FALSE(has_fp8(made));
    capable(8, 9);
    CHECK(has_fp8(made));
    capable(12, 0);
    CHECK(has_fp8(made));
}

TEST_CASE("other vendors have the formats whose rates they publish") {
    gpu made{.vendor = gpu_vendor::amd, .target = "gfx942", .rates = {.bf16 = tflops(1307.4), .fp8 = tflops(0)}};
    CHECK(has_bf16(made));
    CHECK_FALSE(has_fp8(made));
    CHECK(has_flash_attention(made));
    made.target = "gfx906";
    made.rates.bf16 = {};
    CHECK_FALSE(has_bf16(made));
    CHECK_FALSE(has_flash_attention(made));
}

TEST_CASE("MIG needs instances") {
    gpu made = card;
    CHECK_FALSE(has_mig(made));
    made.mig_instances = 0;
    CHECK_FALSE(has_mig(made));
    made.mig_instances = 7;
    CHECK(has_mig(made));
}

TEST_CASE("rate for each watt takes the faster 16-bit format, and needs both figures") {
    CHECK(tflops_per_watt(card) == 0.4);
    gpu made = card;
    made.rates.bf16 = tflops(200);
    CHECK(tflops_per_watt(made) == 0.5);
    made.board_power = {};
    CHECK(tflops_per_watt(made) == 0.0);
}

TEST_CASE("vendors have names") {
    CHECK(name_of(gpu_vendor::nvidia) == "nvidia");
    CHECK(name_of(gpu_vendor::moore_threads) == "moore-threads");
    CHECK(name_of(gpu_vendor::other) == "other");
}
