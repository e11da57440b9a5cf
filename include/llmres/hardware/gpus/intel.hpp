// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// Intel's accelerators: Gaudi, Data Center GPU Max, Arc. `scale_up` of Gaudi is its own Ethernet ports; its `sm_count`
/// is tensor-processor cores, its `tensor_cores` are matrix engines. Rates are dense; a field left out is not
/// published, and zero means that the part has no such unit. docs/sources.md explains the conventions and the source
/// tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu gaudi2_96gb{.id = "gaudi2-96gb", .name = "Gaudi 2", .vendor = gpu_vendor::intel,
    .architecture = "Gaudi2", .launch_year = 2022, .sm_count = 24, .tensor_cores = 2, .boost_clock = mhz(1650),
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(98304), .type = "HBM2e", .bus_bits = 6144,
    .bandwidth = gb_per_s(2450)}, .l2_cache = mib(48),
    .rates = {.fp16 = tflops(432), .bf16 = tflops(432), .fp8 = tflops(865), .fp6 = tflops(0), .fp4 = tflops(0),
    .sparsity = "no"},
    .board_power = watts(600), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 21,
    .scale_up = gb_per_s(525), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high", .sources = "STAS;CALC;RECALL(mib)"}};

inline constexpr gpu gaudi3_128gb_oam{.id = "gaudi3-128gb-oam", .name = "Gaudi 3 (OAM)", .vendor = gpu_vendor::intel,
    .architecture = "Gaudi3", .launch_year = 2024, .sm_count = 64, .tensor_cores = 8, .boost_clock = mhz(1600),
    .memory = {.marketing = gb(128), .fitted = gib(128), .reported = mib(131072), .type = "HBM2e", .bus_bits = 8192,
    .bandwidth = gb_per_s(3700)}, .l2_cache = mib(96),
    .rates = {.fp32 = tflops(229), .tf32 = tflops(459), .fp16 = tflops(459), .bf16 = tflops(1677), .fp8 = tflops(1677),
    .fp6 = tflops(0), .fp4 = tflops(0), .sparsity = "no"},
    .board_power = watts(900), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 21,
    .scale_up = gb_per_s(1050), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high", .sources = "STAS;GENZ;CALC;RECALL(mib)"}};

inline constexpr gpu intel_max_1550_128gb{.id = "intel-max-1550-128gb", .name = "Data Center GPU Max 1550",
    .vendor = gpu_vendor::intel, .architecture = "Xe-HPC (Ponte Vecchio)", .launch_year = 2023, .sm_count = 128,
    .cuda_cores = 16384, .tensor_cores = 1024, .boost_clock = mhz(1600),
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "HBM2e", .bus_bits = 8192,
    .bandwidth = gb_per_s(3276.8)}, .l2_cache = mib(408),
    .rates = {.fp64 = tflops(52.4), .fp64_tensor = tflops(0), .fp32 = tflops(52.4), .fp16_vector = tflops(104.9),
    .tf32 = tflops(419.4), .fp16 = tflops(838.9), .bf16 = tflops(838.9), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(1677.7), .sparsity = "no"},
    .board_power = watts(600), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 16,
    .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "medium", .sources = "TPU;TT;CALC"}};

inline constexpr gpu arc_b580_12gb{.id = "arc-b580-12gb", .name = "Arc B580", .vendor = gpu_vendor::intel,
    .architecture = "Xe2 (Battlemage)", .launch_year = 2024, .sm_count = 20, .cuda_cores = 2560, .tensor_cores = 160,
    .boost_clock = mhz(2670),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(456)},
    .l2_cache = mib(18),
    .rates = {.fp64 = tflops(1.71), .fp64_tensor = tflops(0), .fp32 = tflops(13.7), .fp16_vector = tflops(27.3),
    .tf32 = tflops(58.3), .fp16 = tflops(116.5), .bf16 = tflops(116.5), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(233), .sparsity = "no"},
    .board_power = watts(190), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(249), .confidence = "high",
    .sources = "TPU;EVOK;AIC(B60 scaling);RECALL"}};

inline constexpr gpu arc_pro_b60_24gb{.id = "arc-pro-b60-24gb", .name = "Arc Pro B60", .vendor = gpu_vendor::intel,
    .architecture = "Xe2 (Battlemage)", .launch_year = 2025, .sm_count = 20, .cuda_cores = 2560, .tensor_cores = 160,
    .boost_clock = mhz(2400),
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(456)},
    .l2_cache = mib(18),
    .rates = {.fp64_tensor = tflops(0), .fp32 = tflops(12.28), .fp16_vector = tflops(24.6), .fp16 = tflops(98.3),
    .bf16 = tflops(98.3), .fp8 = tflops(98.3), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(197),
    .sparsity = "no"},
    .board_power = watts(200), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .confidence = "high", .sources = "AIC;TPU"}};

inline constexpr gpu arc_b570_10gb{.id = "arc-b570-10gb", .name = "Arc B570", .vendor = gpu_vendor::intel,
    .architecture = "Xe2 (Battlemage)", .launch_year = 2025, .sm_count = 18, .cuda_cores = 2304, .tensor_cores = 144,
    .boost_clock = mhz(2500),
    .memory = {.marketing = gb(10), .fitted = gib(10), .type = "GDDR6", .bus_bits = 160, .bandwidth = gb_per_s(380)},
    .l2_cache = kib(13824),
    .rates = {.fp64 = tflops(1.44), .fp64_tensor = tflops(0), .fp32 = tflops(11.52), .fp16_vector = tflops(23.04),
    .tf32 = tflops(49.13), .fp16 = tflops(98.17), .bf16 = tflops(98.17), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(196.3), .sparsity = "no"},
    .board_power = watts(150), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC(B580 scaling)"}};

/// bf16 is half of INT8; fp8 runs at the rate of bf16.
inline constexpr gpu arc_pro_b70_32gb{.id = "arc-pro-b70-32gb", .name = "Arc Pro B70", .vendor = gpu_vendor::intel,
    .architecture = "Xe2 (Battlemage)", .launch_year = 2026, .sm_count = 32, .cuda_cores = 4096, .tensor_cores = 256,
    .boost_clock = mhz(2800),
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(608)},
    .rates = {.fp32 = tflops(22.94), .fp16 = tflops(183.5), .bf16 = tflops(183.5), .fp8 = tflops(183.5),
    .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(367), .sparsity = "no"},
    .board_power = watts(230), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 0,
    .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .confidence = "high (sheet), medium (bf16)",
    .sources = "PAGES(zolotukhin.ai intel-gpu-reference of 2026-05-18)"}};

/// bf16 as the B60's, which has the same cores and clock.
inline constexpr gpu arc_pro_b65_32gb{.id = "arc-pro-b65-32gb", .name = "Arc Pro B65", .vendor = gpu_vendor::intel,
    .architecture = "Xe2 (Battlemage)", .launch_year = 2026, .sm_count = 20, .cuda_cores = 2560, .tensor_cores = 160,
    .boost_clock = mhz(2400),
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(608)},
    .rates = {.fp32 = tflops(12.28), .fp16 = tflops(98.3), .bf16 = tflops(98.3), .fp8 = tflops(98.3), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(197), .sparsity = "no"},
    .board_power = watts(200), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 0,
    .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .confidence = "high (sheet), medium (bf16)",
    .sources = "PAGES(zolotukhin.ai intel-gpu-reference of 2026-05-18)"}};

/// bf16 is half of INT8.
inline constexpr gpu arc_pro_b50_16gb{.id = "arc-pro-b50-16gb", .name = "Arc Pro B50", .vendor = gpu_vendor::intel,
    .architecture = "Xe2 (Battlemage)", .launch_year = 2025, .sm_count = 16, .cuda_cores = 2048, .tensor_cores = 128,
    .boost_clock = mhz(2600),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(224)},
    .rates = {.fp32 = tflops(10.65), .fp16 = tflops(85), .bf16 = tflops(85), .fp8 = tflops(85), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(170), .sparsity = "no"},
    .board_power = watts(70), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_generation = 0,
    .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe SFF dual-slot", .launch_price = currency(349),
    .confidence = "medium", .sources = "PAGES(chipversus.com; zolotukhin.ai);RECALL"}};

/// Matrix rates at 2,100 MHz, fp32 at 2,400.
inline constexpr gpu arc_a770_16gb{.id = "arc-a770-16gb", .name = "Arc A770 16GB", .vendor = gpu_vendor::intel,
    .architecture = "Xe-HPG (Alchemist)", .launch_year = 2022, .sm_count = 32, .cuda_cores = 4096, .tensor_cores = 512,
    .boost_clock = mhz(2400),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(560)},
    .l2_cache = mib(16),
    .rates = {.fp32 = tflops(19.66), .fp16 = tflops(137.6), .bf16 = tflops(137.6), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(275), .sparsity = "no"},
    .board_power = watts(225), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 0,
    .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(349), .confidence = "recalled",
    .sources = "RECALL;CALC"}};

/// Matrix rates at 2,050 MHz, fp32 at 2,400.
inline constexpr gpu arc_a750_8gb{.id = "arc-a750-8gb", .name = "Arc A750", .vendor = gpu_vendor::intel,
    .architecture = "Xe-HPG (Alchemist)", .launch_year = 2022, .sm_count = 28, .cuda_cores = 3584, .tensor_cores = 448,
    .boost_clock = mhz(2400),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(512)},
    .l2_cache = mib(16),
    .rates = {.fp32 = tflops(17.2), .fp16 = tflops(117.6), .bf16 = tflops(117.6), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(235.1), .sparsity = "no"},
    .board_power = watts(225), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu arc_a380_6gb{.id = "arc-a380-6gb", .name = "Arc A380", .vendor = gpu_vendor::intel,
    .architecture = "Xe-HPG (Alchemist)", .launch_year = 2022, .sm_count = 8, .cuda_cores = 1024, .tensor_cores = 128,
    .boost_clock = mhz(2050),
    .memory = {.marketing = gb(6), .fitted = gib(6), .type = "GDDR6", .bus_bits = 96, .bandwidth = gb_per_s(186)},
    .l2_cache = mib(4),
    .rates = {.fp32 = tflops(4.198), .fp16 = tflops(33.59), .bf16 = tflops(33.59), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(67.17), .sparsity = "no"},
    .board_power = watts(75), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu arc_a310_4gb{.id = "arc-a310-4gb", .name = "Arc A310", .vendor = gpu_vendor::intel,
    .architecture = "Xe-HPG (Alchemist)", .launch_year = 2022, .sm_count = 6, .cuda_cores = 768, .tensor_cores = 96,
    .boost_clock = mhz(1750),
    .memory = {.marketing = gb(4), .fitted = gib(4), .type = "GDDR6", .bus_bits = 64, .bandwidth = gb_per_s(124)},
    .l2_cache = mib(4),
    .rates = {.fp32 = tflops(2.688), .fp16 = tflops(21.5), .bf16 = tflops(21.5), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(43.01), .sparsity = "no"},
    .board_power = watts(30), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu arc_a370m_4gb{.id = "arc-a370m-4gb", .name = "Arc A370M", .vendor = gpu_vendor::intel,
    .architecture = "Xe-HPG (Alchemist)", .launch_year = 2022, .sm_count = 8, .cuda_cores = 1024, .tensor_cores = 128,
    .boost_clock = mhz(2050),
    .memory = {.marketing = gb(4), .fitted = gib(4), .type = "GDDR6", .bus_bits = 64, .bandwidth = gb_per_s(112)},
    .l2_cache = mib(4),
    .rates = {.fp32 = tflops(4.198), .fp16 = tflops(33.59), .bf16 = tflops(33.59), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(67.17), .sparsity = "no"},
    .board_power = watts(35), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

/// Matrix rates at 1,700 MHz, fp32 at 2,000.
inline constexpr gpu arc_a580_8gb{.id = "arc-a580-8gb", .name = "Arc A580", .vendor = gpu_vendor::intel,
    .architecture = "Xe-HPG (Alchemist)", .launch_year = 2023, .sm_count = 24, .cuda_cores = 3072, .tensor_cores = 384,
    .boost_clock = mhz(2000),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(512)},
    .l2_cache = mib(8),
    .rates = {.fp32 = tflops(12.29), .fp16 = tflops(83.56), .bf16 = tflops(83.56), .fp8 = tflops(0), .fp6 = tflops(0),
    .fp4 = tflops(0), .int8 = tflops(167.1), .sparsity = "no"},
    .board_power = watts(175), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

/// Every row above.
inline constexpr std::array all_intel{
    &gaudi2_96gb, &gaudi3_128gb_oam, &intel_max_1550_128gb, &arc_b580_12gb, &arc_pro_b60_24gb, &arc_b570_10gb,
    &arc_pro_b70_32gb, &arc_pro_b65_32gb, &arc_pro_b50_16gb, &arc_a770_16gb, &arc_a750_8gb, &arc_a380_6gb,
    &arc_a310_4gb, &arc_a370m_4gb, &arc_a580_8gb};

// clang-format on

}  // namespace llmres::inline v0::gpus
