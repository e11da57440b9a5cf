// SPDX-License-Identifier: MIT
// Seed cases A1, A2 and C2 to C5: which GPUs there are, and what is known of them.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string_view>

#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/interconnects/all.hpp>

using namespace llmres;

TEST_CASE("A1: the 18 GPUs of the Llama 3 benchmark are in the table, under the names that the benchmark uses") {
    for (const std::string_view name : {"H100 PCIe", "A100 SXM", "A100 PCIe", "RTX 4090", "L40S", "RTX 6000 Ada", "L40",
                                        "RTX A6000", "A40", "RTX A5000", "RTX 3090", "RTX 4000 Ada", "RTX A4500", "L4",
                                        "RTX A4000", "RTX 2000 Ada", "RTX 4070 Ti", "RTX 4080"}) {
        CAPTURE(name);
        CHECK(find_gpu(name));
    }
}

TEST_CASE("A2: the RTX 4090 has the higher clock and more cores, the H100 PCIe far more memory bandwidth") {
    constexpr gpu consumer = gpus::rtx_4090;
    constexpr gpu data_centre = gpus::h100_pcie_80gb;
    CHECK(*consumer.boost_clock > *data_centre.boost_clock);
    CHECK(*consumer.cuda_cores > *data_centre.cuda_cores);
    CHECK(*consumer.tensor_cores > *data_centre.tensor_cores);
    CHECK(ratio(data_centre.memory.bandwidth, consumer.memory.bandwidth) > 2.0);
}

TEST_CASE("C2: cores and memory are as the vendor prints them") {
    struct printed {
        std::string_view name;
        std::int32_t cuda_cores;
        byte_count memory;
    };
    constexpr std::array table{
        printed{"RTX 4090", 16384, gb(24)},
        printed{"RTX 4080", 9728, gb(16)},
        printed{"RTX 4070 Ti", 7680, gb(12)},
        printed{"RTX 3070", 5888, gb(8)},
        printed{"RTX 3060 Ti", 4864, gb(8)},
        printed{"RTX A6000", 10752, gb(48)},
        printed{"RTX A5000", 8192, gb(24)},
        printed{"RTX A4000", 6144, gb(16)},
        printed{"Quadro RTX 8000", 4608, gb(48)},
        printed{"Quadro RTX 6000", 4608, gb(24)},
        printed{"H100", 16896, gb(80)},
        printed{"A100", 6912, gb(80)},
        printed{"V100", 5120, gb(16)},
        printed{"T4", 2560, gb(16)},
        printed{"P100", 3584, gb(16)},
        printed{"A800", 6912, gb(80)},
        printed{"H800", 16896, gb(80)},
    };
    for (const printed& row : table) {
        CAPTURE(row.name);
        const auto found = find_gpu(row.name);
        REQUIRE(found);
        CHECK(found->cuda_cores == row.cuda_cores);
        CHECK(found->memory.marketing == row.memory);
    }
}

TEST_CASE("C3: NVLink of H100 900, A100 600, H800 400, A800 400 GB/s, both directions together") {
    CHECK(gpus::h100_sxm5_80gb.links.scale_up == gb_per_s(900));
    CHECK(gpus::a100_sxm4_80gb.links.scale_up == gb_per_s(600));
    CHECK(gpus::h800_sxm5_80gb.links.scale_up == gb_per_s(400));
    CHECK(gpus::a800_sxm4_80gb.links.scale_up == gb_per_s(400));
    CHECK(scale_up_link(gpus::h100_sxm5_80gb)->raw == gb_per_s(450));  // one direction
}

TEST_CASE("C4: the 2080 Ti modified to 22 GB is one line") {
    constexpr gpu modified = with_memory(gpus::rtx_2080_ti_11gb, gib(22));

    CHECK(usable_memory(modified) == gib(22) - mib(500));
    CHECK(usable_memory(modified) * 4 > gib(80));  // four of them
    CHECK(usable_memory(modified) == usable_memory(gpus::rtx_2080_ti_22gb_mod));
}

TEST_CASE("C5: every factor by which a GPU is chosen can be asked for") {
    constexpr gpu card = gpus::h100_sxm5_80gb;
    static_assert(card.rates.fp16 == tflops(989.4));
    static_assert(card.rates.tf32 == tflops(494.7));
    static_assert(card.rates.fp8 == tflops(1978.9));
    static_assert(card.rates.fp32 == tflops(67));
    static_assert(card.rates.int8 == tflops(1978.9));
    static_assert(card.memory.fitted == gib(80));
    static_assert(card.memory.bandwidth == gb_per_s(3350));
    static_assert(card.links.scale_up == gb_per_s(900));
    CHECK(tflops_per_watt(card) == doctest::Approx(989.4 / 700));
    static_assert(has_bf16(card) && has_fp8(card) && has_flash_attention(card) && has_mig(card));

    const auto features = [](const gpu& of) {
        return std::array{has_bf16(of), has_fp8(of), has_flash_attention(of), has_mig(of)};
    };
    CHECK(features(gpus::v100_sxm2_32gb) == std::array{false, false, false, false});
    CHECK(features(gpus::t4_16gb) == std::array{false, false, false, false});
    CHECK(features(gpus::a100_sxm4_80gb) == std::array{true, false, true, true});
    CHECK(features(gpus::rtx_4090) == std::array{true, true, true, false});
    CHECK(features(gpus::mi300x_192gb) == std::array{true, true, true, false});
}
