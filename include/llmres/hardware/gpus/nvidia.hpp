// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// NVIDIA's GPUs, consumer to superchip. Rates are dense; a field left out is not published, and zero means that the
/// part has no such unit. docs/sources.md explains the conventions and the source tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu rtx_2080_ti_11gb{.id = "rtx-2080-ti-11gb", .name = "GeForce RTX 2080 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018,
    .sm_count = 68, .cuda_cores = 4352, .tensor_cores = 544, .boost_clock = mhz(1545),
    .memory = {.marketing = gb(11), .fitted = gib(11), .reported = mib(11264), .type = "GDDR6", .bus_bits = 352, .bandwidth = gb_per_s(616)}, .l2_cache = kib(5632),
    .rates = {.fp64 = tflops(0.4202), .fp64_tensor = tflops(0), .fp32 = tflops(13.45), .fp16_vector = tflops(26.9), .tf32 = tflops(0), .fp16_accumulate16 = tflops(107.6), .fp16 = tflops(53.79),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(215.2), .int4 = tflops(430.3), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 2, .scale_up = gb_per_s(100), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(999), .confidence = "high", .sources = "TPU;LIT;SMI;CALC"}};

inline constexpr gpu rtx_2080_ti_22gb_mod{.id = "rtx-2080-ti-22gb-mod", .name = "GeForce RTX 2080 Ti 22GB (modified)", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5},
    .launch_year = 2018, .sm_count = 68, .cuda_cores = 4352, .tensor_cores = 544, .boost_clock = mhz(1545),
    .memory = {.marketing = gb(22), .fitted = gib(22), .reported = mib(22528), .type = "GDDR6", .bus_bits = 352, .bandwidth = gb_per_s(616)}, .l2_cache = kib(5632),
    .rates = {.fp64 = tflops(0.4202), .fp64_tensor = tflops(0), .fp32 = tflops(13.45), .fp16_vector = tflops(26.9), .tf32 = tflops(0), .fp16_accumulate16 = tflops(107.6), .fp16 = tflops(53.79),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(215.2), .int4 = tflops(430.3), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 2, .scale_up = gb_per_s(100), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .confidence = "high", .sources = "TPU;SMI;HF;CALC"}};

inline constexpr gpu rtx_3060_12gb{.id = "rtx-3060-12gb", .name = "GeForce RTX 3060 12GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021,
    .sm_count = 28, .cuda_cores = 3584, .tensor_cores = 112, .boost_clock = mhz(1777),
    .memory = {.marketing = gb(12), .fitted = gib(12), .reported = mib(12288), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(360)}, .l2_cache = mib(3),
    .rates = {.fp64 = tflops(0.199), .fp64_tensor = tflops(0), .fp32 = tflops(12.74), .fp16_vector = tflops(12.74), .tf32 = tflops(12.74), .fp16_accumulate16 = tflops(50.95), .fp16 = tflops(25.48),
    .bf16 = tflops(25.48), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(101.9), .int4 = tflops(203.8), .sparsity = "yes"},
    .board_power = watts(170), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(329), .confidence = "high", .sources = "TPU;EXO;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_3060_ti{.id = "rtx-3060-ti", .name = "GeForce RTX 3060 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2020, .sm_count = 38,
    .cuda_cores = 4864, .tensor_cores = 152, .boost_clock = mhz(1665),
    .memory = {.marketing = gb(8), .fitted = gib(8), .reported = mib(8192), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.2531), .fp64_tensor = tflops(0), .fp32 = tflops(16.2), .fp16_vector = tflops(16.2), .tf32 = tflops(16.2), .fp16_accumulate16 = tflops(64.79), .fp16 = tflops(32.39),
    .bf16 = tflops(32.39), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(129.6), .int4 = tflops(259.2), .sparsity = "yes"},
    .board_power = watts(200), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(399), .confidence = "high", .sources = "TPU;EXO;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_3070{.id = "rtx-3070", .name = "GeForce RTX 3070", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2020, .sm_count = 46,
    .cuda_cores = 5888, .tensor_cores = 184, .boost_clock = mhz(1725),
    .memory = {.marketing = gb(8), .fitted = gib(8), .reported = mib(8192), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.3174), .fp64_tensor = tflops(0), .fp32 = tflops(20.31), .fp16_vector = tflops(20.31), .tf32 = tflops(20.31), .fp16_accumulate16 = tflops(81.25), .fp16 = tflops(40.63),
    .bf16 = tflops(40.63), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(162.5), .int4 = tflops(325), .sparsity = "yes"},
    .board_power = watts(220), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(499), .confidence = "high", .sources = "TPU;LIT;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_3080_10gb{.id = "rtx-3080-10gb", .name = "GeForce RTX 3080 10GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2020,
    .sm_count = 68, .cuda_cores = 8704, .tensor_cores = 272, .boost_clock = mhz(1710),
    .memory = {.marketing = gb(10), .fitted = gib(10), .reported = mib(10240), .type = "GDDR6X", .bus_bits = 320, .bandwidth = gb_per_s(760.3)}, .l2_cache = mib(5),
    .rates = {.fp64 = tflops(0.4651), .fp64_tensor = tflops(0), .fp32 = tflops(29.77), .fp16_vector = tflops(29.77), .tf32 = tflops(29.77), .fp16_accumulate16 = tflops(119.1), .fp16 = tflops(59.54),
    .bf16 = tflops(59.54), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(238.1), .int4 = tflops(476.3), .sparsity = "yes"},
    .board_power = watts(320), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(699), .confidence = "high", .sources = "TPU;LIT;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_3080_12gb{.id = "rtx-3080-12gb", .name = "GeForce RTX 3080 12GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2022,
    .sm_count = 70, .cuda_cores = 8960, .tensor_cores = 280, .boost_clock = mhz(1710),
    .memory = {.marketing = gb(12), .fitted = gib(12), .reported = mib(12288), .type = "GDDR6X", .bus_bits = 384, .bandwidth = gb_per_s(912.4)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.4788), .fp64_tensor = tflops(0), .fp32 = tflops(30.64), .fp16_vector = tflops(30.64), .tf32 = tflops(30.64), .fp16_accumulate16 = tflops(122.6), .fp16 = tflops(61.29),
    .bf16 = tflops(61.29), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(245.1), .int4 = tflops(490.3), .sparsity = "yes"},
    .board_power = watts(350), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(799), .confidence = "high", .sources = "TPU;EXO;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_3090{.id = "rtx-3090", .name = "GeForce RTX 3090", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2020, .sm_count = 82,
    .cuda_cores = 10496, .tensor_cores = 328, .boost_clock = mhz(1695),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24576), .type = "GDDR6X", .bus_bits = 384, .bandwidth = gb_per_s(936.2)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.556), .fp64_tensor = tflops(0), .fp32 = tflops(35.58), .fp16_vector = tflops(35.58), .tf32 = tflops(35.58), .fp16_accumulate16 = tflops(142.3), .fp16 = tflops(71.16),
    .bf16 = tflops(71.16), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(284.7), .int4 = tflops(569.3), .sparsity = "yes"},
    .board_power = watts(350), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe triple-slot", .launch_price = currency(1499), .confidence = "high", .sources = "TPU;LIT;SMI;CALC;HFDOC(nvlink)"}};

inline constexpr gpu rtx_3090_ti{.id = "rtx-3090-ti", .name = "GeForce RTX 3090 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2022, .sm_count = 84,
    .cuda_cores = 10752, .tensor_cores = 336, .boost_clock = mhz(1860),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24564), .type = "GDDR6X", .bus_bits = 384, .bandwidth = gb_per_s(1008)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.625), .fp64_tensor = tflops(0), .fp32 = tflops(39.9974), .fp16_vector = tflops(39.9974), .tf32 = tflops(39.9974), .fp16_accumulate16 = tflops(160),
    .fp16 = tflops(79.99), .bf16 = tflops(79.99), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(320), .int4 = tflops(640), .sparsity = "yes"},
    .board_power = watts(450), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe triple-slot", .launch_price = currency(1999), .confidence = "high", .sources = "TPU;LIT;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_4060_ti_16gb{.id = "rtx-4060-ti-16gb", .name = "GeForce RTX 4060 Ti 16GB", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2023, .sm_count = 34, .cuda_cores = 4352, .tensor_cores = 136, .boost_clock = mhz(2535),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16380), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(288)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.3448), .fp64_tensor = tflops(0), .fp32 = tflops(22.06), .fp16_vector = tflops(22.06), .tf32 = tflops(22.06), .fp16_accumulate16 = tflops(88.26), .fp16 = tflops(44.13),
    .bf16 = tflops(44.13), .fp8_accumulate16 = tflops(176.5), .fp8 = tflops(88.26), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(176.5), .int4 = tflops(353), .sparsity = "yes"},
    .board_power = watts(165), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(499), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_4070{.id = "rtx-4070", .name = "GeForce RTX 4070", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023, .sm_count = 46,
    .cuda_cores = 5888, .tensor_cores = 184, .boost_clock = mhz(2475),
    .memory = {.marketing = gb(12), .fitted = gib(12), .reported = mib(12282), .type = "GDDR6X", .bus_bits = 192, .bandwidth = gb_per_s(504.2)}, .l2_cache = mib(36),
    .rates = {.fp64 = tflops(0.4554), .fp64_tensor = tflops(0), .fp32 = tflops(29.15), .fp16_vector = tflops(29.15), .tf32 = tflops(29.15), .fp16_accumulate16 = tflops(116.6), .fp16 = tflops(58.29),
    .bf16 = tflops(58.29), .fp8_accumulate16 = tflops(233.2), .fp8 = tflops(116.6), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(233.2), .int4 = tflops(466.3), .sparsity = "yes"},
    .board_power = watts(200), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(599), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_4070_ti{.id = "rtx-4070-ti", .name = "GeForce RTX 4070 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023,
    .sm_count = 60, .cuda_cores = 7680, .tensor_cores = 240, .boost_clock = mhz(2610),
    .memory = {.marketing = gb(12), .fitted = gib(12), .reported = mib(12282), .type = "GDDR6X", .bus_bits = 192, .bandwidth = gb_per_s(504.2)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.6264), .fp64_tensor = tflops(0), .fp32 = tflops(40.09), .fp16_vector = tflops(40.09), .tf32 = tflops(40.09), .fp16_accumulate16 = tflops(160.4), .fp16 = tflops(80.18),
    .bf16 = tflops(80.18), .fp8_accumulate16 = tflops(320.7), .fp8 = tflops(160.4), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(320.7), .int4 = tflops(641.4), .sparsity = "yes"},
    .board_power = watts(285), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(799), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_4070_ti_super{.id = "rtx-4070-ti-super", .name = "GeForce RTX 4070 Ti SUPER", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2024, .sm_count = 66, .cuda_cores = 8448, .tensor_cores = 264, .boost_clock = mhz(2610),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16376), .type = "GDDR6X", .bus_bits = 256, .bandwidth = gb_per_s(672.3)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.689), .fp64_tensor = tflops(0), .fp32 = tflops(44.1), .fp16_vector = tflops(44.1), .tf32 = tflops(44.1), .fp16_accumulate16 = tflops(176.4), .fp16 = tflops(88.2),
    .bf16 = tflops(88.2), .fp8_accumulate16 = tflops(352.8), .fp8 = tflops(176.4), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(352.8), .int4 = tflops(705.6), .sparsity = "yes"},
    .board_power = watts(285), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(799), .confidence = "high", .sources = "TPU;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_4080{.id = "rtx-4080", .name = "GeForce RTX 4080", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2022, .sm_count = 76,
    .cuda_cores = 9728, .tensor_cores = 304, .boost_clock = mhz(2505),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16376), .type = "GDDR6X", .bus_bits = 256, .bandwidth = gb_per_s(716.8)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.7615), .fp64_tensor = tflops(0), .fp32 = tflops(48.74), .fp16_vector = tflops(48.74), .tf32 = tflops(48.74), .fp16_accumulate16 = tflops(194.9), .fp16 = tflops(97.47),
    .bf16 = tflops(97.47), .fp8_accumulate16 = tflops(389.9), .fp8 = tflops(194.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(389.9), .int4 = tflops(779.8), .sparsity = "yes"},
    .board_power = watts(320), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe triple-slot", .launch_price = currency(1199), .confidence = "high", .sources = "TPU;LIT;SMI;CALC"}};

inline constexpr gpu rtx_4080_super{.id = "rtx-4080-super", .name = "GeForce RTX 4080 SUPER", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2024,
    .sm_count = 80, .cuda_cores = 10240, .tensor_cores = 320, .boost_clock = mhz(2550),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16376), .type = "GDDR6X", .bus_bits = 256, .bandwidth = gb_per_s(736.3)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.816), .fp64_tensor = tflops(0), .fp32 = tflops(52.22), .fp16_vector = tflops(52.22), .tf32 = tflops(52.22), .fp16_accumulate16 = tflops(208.9), .fp16 = tflops(104.4),
    .bf16 = tflops(104.4), .fp8_accumulate16 = tflops(417.8), .fp8 = tflops(208.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(417.8), .int4 = tflops(835.6), .sparsity = "yes"},
    .board_power = watts(320), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe triple-slot", .launch_price = currency(999), .confidence = "high", .sources = "TPU;LIT;SMI;CALC"}};

/// What CUDA calls total is Linux's figure, 23.65 GiB (AutoAWQ README, 15 runs); Windows shows 24563 MiB.
inline constexpr gpu rtx_4090{.id = "rtx-4090", .name = "GeForce RTX 4090", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2022, .sm_count = 128,
    .cuda_cores = 16384, .tensor_cores = 512, .boost_clock = mhz(2520),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24564), .cuda_visible = mib(24217), .type = "GDDR6X", .bus_bits = 384, .bandwidth = gb_per_s(1008)}, .l2_cache = mib(72),
    .rates = {.fp64 = tflops(1.29), .fp64_tensor = tflops(0), .fp32 = tflops(82.58), .fp16_vector = tflops(82.58), .tf32 = tflops(82.58), .fp16_accumulate16 = tflops(330.3), .fp16 = tflops(165.2),
    .bf16 = tflops(165.2), .fp8_accumulate16 = tflops(660.6), .fp8 = tflops(330.3), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(660.6), .int4 = tflops(1321.2), .sparsity = "yes"},
    .board_power = watts(450), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe triple-slot", .launch_price = currency(1599), .confidence = "high", .sources = "TPU;GMASSE;MMAPEAK;SMI;CALC"}};

inline constexpr gpu rtx_4090_d{.id = "rtx-4090-d", .name = "GeForce RTX 4090 D", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023,
    .sm_count = 114, .cuda_cores = 14592, .tensor_cores = 456, .boost_clock = mhz(2520),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24564), .type = "GDDR6X", .bus_bits = 384, .bandwidth = gb_per_s(1008)}, .l2_cache = mib(72),
    .rates = {.fp64 = tflops(1.149), .fp64_tensor = tflops(0), .fp32 = tflops(73.54), .fp16_vector = tflops(73.54), .tf32 = tflops(73.54), .fp16_accumulate16 = tflops(294.2), .fp16 = tflops(147.1),
    .bf16 = tflops(147.1), .fp8_accumulate16 = tflops(588.3), .fp8 = tflops(294.2), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(588.3), .int4 = tflops(1176.7), .sparsity = "yes"},
    .board_power = watts(425), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe triple-slot", .confidence = "high", .sources = "TPU;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_5070_ti{.id = "rtx-5070-ti", .name = "GeForce RTX 5070 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025,
    .sm_count = 70, .cuda_cores = 8960, .tensor_cores = 280, .boost_clock = mhz(2452),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16303), .type = "GDDR7", .bus_bits = 256, .bandwidth = gb_per_s(896)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.6866), .fp64_tensor = tflops(0), .fp32 = tflops(43.94), .fp16_vector = tflops(43.94), .tf32 = tflops(43.94), .fp16_accumulate16 = tflops(175.8), .fp16 = tflops(87.88),
    .bf16 = tflops(87.88), .fp8_accumulate16 = tflops(351.5), .fp8 = tflops(175.8), .fp6 = tflops(351.5), .fp4 = tflops(703), .int8 = tflops(351.5), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(749), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_5080{.id = "rtx-5080", .name = "GeForce RTX 5080", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 84,
    .cuda_cores = 10752, .tensor_cores = 336, .boost_clock = mhz(2617),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16303), .type = "GDDR7", .bus_bits = 256, .bandwidth = gb_per_s(960)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.8793), .fp64_tensor = tflops(0), .fp32 = tflops(56.28), .fp16_vector = tflops(56.28), .tf32 = tflops(56.28), .fp16_accumulate16 = tflops(225.1), .fp16 = tflops(112.6),
    .bf16 = tflops(112.6), .fp8_accumulate16 = tflops(450.2), .fp8 = tflops(225.1), .fp6 = tflops(450.2), .fp4 = tflops(900.4), .int8 = tflops(450.2), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(360), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(999), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_5090{.id = "rtx-5090", .name = "GeForce RTX 5090", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 170,
    .cuda_cores = 21760, .tensor_cores = 680, .boost_clock = mhz(2407),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32607), .type = "GDDR7", .bus_bits = 512, .bandwidth = gb_per_s(1792)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(1.637), .fp64_tensor = tflops(0), .fp32 = tflops(104.8), .fp16_vector = tflops(104.8), .tf32 = tflops(104.8), .fp16_accumulate16 = tflops(419), .fp16 = tflops(209.5),
    .bf16 = tflops(209.5), .fp8_accumulate16 = tflops(838), .fp8 = tflops(419), .fp6 = tflops(838), .fp4 = tflops(1676), .int8 = tflops(838), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(575), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .launch_price = currency(1999), .confidence = "high", .sources = "TPU;WIKI;SPHERON;MMAPEAK;SMI;DEVQ(L2);CALC"}};

inline constexpr gpu rtx_5090_d{.id = "rtx-5090-d", .name = "GeForce RTX 5090 D", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025,
    .sm_count = 170, .cuda_cores = 21760, .tensor_cores = 680, .boost_clock = mhz(2407),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32607), .type = "GDDR7", .bus_bits = 512, .bandwidth = gb_per_s(1792)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(1.637), .fp64_tensor = tflops(0), .fp32 = tflops(104.8), .fp16_vector = tflops(104.8), .fp8_accumulate16 = tflops(593.8), .fp4 = tflops(1187.5), .int8 = tflops(593.8),
    .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(575), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe dual-slot", .confidence = "low", .sources = "TPU;WIKI;MMAPEAK;RECALL"}};

inline constexpr gpu rtx_a4000{.id = "rtx-a4000", .name = "RTX A4000", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 48,
    .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(1560),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16376), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.2995), .fp64_tensor = tflops(0), .fp32 = tflops(19.17), .fp16_vector = tflops(19.17), .tf32 = tflops(38.34), .fp16_accumulate16 = tflops(76.68), .fp16 = tflops(76.68),
    .bf16 = tflops(76.68), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(153.4), .int4 = tflops(306.7), .sparsity = "yes"},
    .board_power = watts(140), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe single-slot", .launch_price = currency(1000), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_a4500{.id = "rtx-a4500", .name = "RTX A4500", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 56,
    .cuda_cores = 7168, .tensor_cores = 224, .boost_clock = mhz(1650),
    .memory = {.marketing = gb(20), .fitted = gib(20), .reported = mib(20470), .type = "GDDR6", .bus_bits = 320, .bandwidth = gb_per_s(640)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.3696), .fp64_tensor = tflops(0), .fp32 = tflops(23.65), .fp16_vector = tflops(23.65), .tf32 = tflops(47.31), .fp16_accumulate16 = tflops(94.62), .fp16 = tflops(94.62),
    .bf16 = tflops(94.62), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(189.2), .int4 = tflops(378.5), .sparsity = "yes"},
    .board_power = watts(200), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(1250), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_a5000{.id = "rtx-a5000", .name = "RTX A5000", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 64,
    .cuda_cores = 8192, .tensor_cores = 256, .boost_clock = mhz(1695),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24564), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(768)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.4339), .fp64_tensor = tflops(0), .fp32 = tflops(27.77), .fp16_vector = tflops(27.77), .tf32 = tflops(55.54), .fp16_accumulate16 = tflops(111.1), .fp16 = tflops(111.1),
    .bf16 = tflops(111.1), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(222.2), .int4 = tflops(444.3), .sparsity = "yes"},
    .board_power = watts(230), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(2250), .confidence = "high", .sources = "TPU;HF;SMI;CALC"}};

inline constexpr gpu rtx_a5500{.id = "rtx-a5500", .name = "RTX A5500", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2022, .sm_count = 80,
    .cuda_cores = 10240, .tensor_cores = 320, .boost_clock = mhz(1665),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24564), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(768)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.5328), .fp64_tensor = tflops(0), .fp32 = tflops(34.1), .fp16_vector = tflops(34.1), .tf32 = tflops(68.2), .fp16_accumulate16 = tflops(136.4), .fp16 = tflops(136.4),
    .bf16 = tflops(136.4), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(272.8), .int4 = tflops(545.6), .sparsity = "yes"},
    .board_power = watts(230), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(3600), .confidence = "medium", .sources = "TPU;CALC;RECALL(mib,nvlink)"}};

inline constexpr gpu rtx_a6000{.id = "rtx-a6000", .name = "RTX A6000", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2020, .sm_count = 84,
    .cuda_cores = 10752, .tensor_cores = 336, .boost_clock = mhz(1800),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(49140), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(768)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.6048), .fp64_tensor = tflops(0), .fp32 = tflops(38.71), .fp16_vector = tflops(38.71), .tf32 = tflops(77.41), .fp16_accumulate16 = tflops(154.8), .fp16 = tflops(154.8),
    .bf16 = tflops(154.8), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(309.7), .int4 = tflops(619.3), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(4650), .confidence = "high", .sources = "TPU;TT;LLMV;LLMA;SMI;HFDOC;CALC"}};

inline constexpr gpu rtx_2000_ada{.id = "rtx-2000-ada", .name = "RTX 2000 Ada Generation", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2024,
    .sm_count = 22, .cuda_cores = 2816, .tensor_cores = 88, .boost_clock = mhz(2130),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16380), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(256)}, .l2_cache = mib(12),
    .rates = {.fp64 = tflops(0.1874), .fp64_tensor = tflops(0), .fp32 = tflops(11.9962), .fp16_vector = tflops(11.9962), .tf32 = tflops(23.99), .fp16_accumulate16 = tflops(47.98),
    .fp16 = tflops(47.98), .bf16 = tflops(47.98), .fp8_accumulate16 = tflops(95.97), .fp8 = tflops(95.97), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(95.97), .int4 = tflops(191.9),
    .sparsity = "yes"},
    .board_power = watts(70), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(625), .confidence = "medium", .sources = "TPU;CALC;RECALL(mib)"}};

inline constexpr gpu rtx_4000_ada{.id = "rtx-4000-ada", .name = "RTX 4000 Ada Generation", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023,
    .sm_count = 48, .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(2175),
    .memory = {.marketing = gb(20), .fitted = gib(20), .reported = mib(20475), .type = "GDDR6", .bus_bits = 160, .bandwidth = gb_per_s(360)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.4176), .fp64_tensor = tflops(0), .fp32 = tflops(26.73), .fp16_vector = tflops(26.73), .tf32 = tflops(53.45), .fp16_accumulate16 = tflops(106.9), .fp16 = tflops(106.9),
    .bf16 = tflops(106.9), .fp8_accumulate16 = tflops(213.8), .fp8 = tflops(213.8), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(213.8), .int4 = tflops(427.6), .sparsity = "yes"},
    .board_power = watts(130), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe single-slot", .launch_price = currency(1250), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_4500_ada{.id = "rtx-4500-ada", .name = "RTX 4500 Ada Generation", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023,
    .sm_count = 60, .cuda_cores = 7680, .tensor_cores = 240, .boost_clock = mhz(2580),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24570), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(432)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.6192), .fp64_tensor = tflops(0), .fp32 = tflops(39.63), .fp16_vector = tflops(39.63), .tf32 = tflops(79.26), .fp16_accumulate16 = tflops(158.5), .fp16 = tflops(158.5),
    .bf16 = tflops(158.5), .fp8_accumulate16 = tflops(317), .fp8 = tflops(317), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(317), .int4 = tflops(634.1), .sparsity = "yes"},
    .board_power = watts(210), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(2250), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu rtx_5000_ada{.id = "rtx-5000-ada", .name = "RTX 5000 Ada Generation", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023,
    .sm_count = 100, .cuda_cores = 12800, .tensor_cores = 400, .boost_clock = mhz(2550),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32760), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(576)}, .l2_cache = mib(72),
    .rates = {.fp64 = tflops(1.02), .fp64_tensor = tflops(0), .fp32 = tflops(65.28), .fp16_vector = tflops(65.28), .tf32 = tflops(130.6), .fp16_accumulate16 = tflops(261.1), .fp16 = tflops(261.1),
    .bf16 = tflops(261.1), .fp8_accumulate16 = tflops(522.2), .fp8 = tflops(522.2), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(522.2), .int4 = tflops(1044.5), .sparsity = "yes"},
    .board_power = watts(250), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(4000), .confidence = "medium", .sources = "TPU;CALC;TORCH(31.4GiB);RECALL(mib)"}};

inline constexpr gpu rtx_6000_ada{.id = "rtx-6000-ada", .name = "RTX 6000 Ada Generation", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2022,
    .sm_count = 142, .cuda_cores = 18176, .tensor_cores = 568, .boost_clock = mhz(2505),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(49140), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(960)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(1.423), .fp64_tensor = tflops(0), .fp32 = tflops(91.06), .fp16_vector = tflops(91.06), .tf32 = tflops(182.1), .fp16_accumulate16 = tflops(364.2), .fp16 = tflops(364.2),
    .bf16 = tflops(364.2), .fp8_accumulate16 = tflops(728.5), .fp8 = tflops(728.5), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(728.5), .int4 = tflops(1457), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(6800), .confidence = "high", .sources = "TPU;HF;SMI;CALC"}};

inline constexpr gpu rtx_pro_6000_blackwell_workstation{.id = "rtx-pro-6000-blackwell-workstation", .name = "RTX PRO 6000 Blackwell Workstation Edition", .vendor = gpu_vendor::nvidia,
    .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 188, .cuda_cores = 24064, .tensor_cores = 752, .boost_clock = mhz(2617),
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(97887), .type = "GDDR7", .bus_bits = 512, .bandwidth = gb_per_s(1792)}, .l2_cache = mib(128),
    .rates = {.fp64 = tflops(1.968), .fp64_tensor = tflops(0), .fp32 = tflops(126), .fp16_vector = tflops(126), .tf32 = tflops(251.9), .fp16_accumulate16 = tflops(503.8), .fp16 = tflops(503.8),
    .bf16 = tflops(503.8), .fp8_accumulate16 = tflops(1007.6), .fp8 = tflops(1007.6), .fp6 = tflops(1007.6), .fp4 = tflops(2015.2), .int8 = tflops(1007.6), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(600), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 4,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .launch_price = currency(8565), .confidence = "high", .sources = "TPU;WIKI;SMI;AIC;CALC"}};

inline constexpr gpu rtx_pro_6000_blackwell_server{.id = "rtx-pro-6000-blackwell-server", .name = "RTX PRO 6000 Blackwell Server Edition", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell",
    .capability = {12, 0}, .launch_year = 2025, .sm_count = 188, .cuda_cores = 24064, .tensor_cores = 752, .boost_clock = mhz(2430),
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(97887), .cuda_visible = mib(97250), .type = "GDDR7", .bus_bits = 512, .bandwidth = gb_per_s(1792)}, .l2_cache = mib(128),
    .rates = {.fp64 = tflops(1.827), .fp64_tensor = tflops(0), .fp32 = tflops(117), .fp16_vector = tflops(117), .tf32 = tflops(233.9), .fp16_accumulate16 = tflops(467.8), .fp16 = tflops(467.8),
    .bf16 = tflops(467.8), .fp8_accumulate16 = tflops(935.6), .fp8 = tflops(935.6), .fp6 = tflops(935.6), .fp4 = tflops(1871.2), .int8 = tflops(935.6), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(600), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 4,
    .listing = {.ecc = "yes", .form_factor = "PCIe dual-slot passive", .confidence = "medium", .sources = "AIC;TPU;SMI;MIGP;CALC"}};

inline constexpr gpu rtx_pro_6000_blackwell_max_q{.id = "rtx-pro-6000-blackwell-max-q", .name = "RTX PRO 6000 Blackwell Max-Q Workstation Edition", .vendor = gpu_vendor::nvidia,
    .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 188, .cuda_cores = 24064, .tensor_cores = 752, .boost_clock = mhz(2280),
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(97887), .type = "GDDR7", .bus_bits = 512, .bandwidth = gb_per_s(1792)}, .l2_cache = mib(128),
    .rates = {.fp64 = tflops(1.715), .fp64_tensor = tflops(0), .fp32 = tflops(109.7), .fp16_vector = tflops(109.7), .tf32 = tflops(219.5), .fp16_accumulate16 = tflops(438.9), .fp16 = tflops(438.9),
    .bf16 = tflops(438.9), .fp8_accumulate16 = tflops(877.9), .fp8 = tflops(877.9), .fp6 = tflops(877.9), .fp4 = tflops(1755.7), .int8 = tflops(877.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 4,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .launch_price = currency(8565), .confidence = "high", .sources = "TPU;WIKI;SMI;CALC"}};

inline constexpr gpu quadro_rtx_6000{.id = "quadro-rtx-6000", .name = "Quadro RTX 6000", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018,
    .sm_count = 72, .cuda_cores = 4608, .tensor_cores = 576, .boost_clock = mhz(1770),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24576), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(672)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.5098), .fp64_tensor = tflops(0), .fp32 = tflops(16.31), .fp16_vector = tflops(32.62), .tf32 = tflops(0), .fp16_accumulate16 = tflops(130.5), .fp16 = tflops(130.5),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(261), .int4 = tflops(522), .sparsity = "no"},
    .board_power = watts(260), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 2, .scale_up = gb_per_s(100), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(6300), .confidence = "high", .sources = "TPU;CALC;RECALL(mib)"}};

inline constexpr gpu quadro_rtx_8000{.id = "quadro-rtx-8000", .name = "Quadro RTX 8000", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018,
    .sm_count = 72, .cuda_cores = 4608, .tensor_cores = 576, .boost_clock = mhz(1770),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(49152), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(672)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.5098), .fp64_tensor = tflops(0), .fp32 = tflops(16.31), .fp16_vector = tflops(32.62), .tf32 = tflops(0), .fp16_accumulate16 = tflops(130.5), .fp16 = tflops(130.5),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(261), .int4 = tflops(522), .sparsity = "no"},
    .board_power = watts(260), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 2, .scale_up = gb_per_s(100), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "workstation PCIe", .launch_price = currency(10000), .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu t4_16gb{.id = "t4-16gb", .name = "Tesla T4", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018, .sm_count = 40,
    .cuda_cores = 2560, .tensor_cores = 320, .boost_clock = mhz(1590),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(15360), .cuda_visible = mib(14930), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(320)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.2544), .fp64_tensor = tflops(0), .fp32 = tflops(8.141), .fp16_vector = tflops(16.28), .tf32 = tflops(0), .fp16_accumulate16 = tflops(65.13), .fp16 = tflops(65.13),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(130.3), .int4 = tflops(260.5), .sparsity = "no"},
    .board_power = watts(70), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe single-slot LP passive", .confidence = "high", .sources = "TPU;LIT;CMP;SMI;TORCH;CALC"}};

inline constexpr gpu a2_16gb{.id = "a2-16gb", .name = "A2", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 10, .cuda_cores = 1280,
    .tensor_cores = 40, .boost_clock = mhz(1770),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(15356), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(200)}, .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.0708), .fp64_tensor = tflops(0), .fp32 = tflops(4.531), .fp16_vector = tflops(4.531), .tf32 = tflops(9.062), .fp16_accumulate16 = tflops(18.12), .fp16 = tflops(18.12),
    .bf16 = tflops(18.12), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(36.25), .int4 = tflops(72.5), .sparsity = "yes"},
    .board_power = watts(60), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive LP", .confidence = "high", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu a10_24gb{.id = "a10-24gb", .name = "A10", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 72, .cuda_cores = 9216,
    .tensor_cores = 288, .boost_clock = mhz(1695),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(23028), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(600)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.4882), .fp64_tensor = tflops(0), .fp32 = tflops(31.24), .fp16_vector = tflops(31.24), .tf32 = tflops(62.48), .fp16_accumulate16 = tflops(125), .fp16 = tflops(125),
    .bf16 = tflops(125), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(249.9), .int4 = tflops(499.9), .sparsity = "yes"},
    .board_power = watts(150), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive single-slot", .confidence = "high", .sources = "TPU;LIT;CMP;GMASSE;SMI;CALC"}};

inline constexpr gpu a10g_24gb{.id = "a10g-24gb", .name = "A10G", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 80,
    .cuda_cores = 10240, .tensor_cores = 320, .boost_clock = mhz(1710),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(23028), .cuda_visible = mib(22587), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(600)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.5472), .fp64_tensor = tflops(0), .fp32 = tflops(35.02), .fp16_vector = tflops(35.02), .tf32 = tflops(35), .fp16_accumulate16 = tflops(70), .fp16 = tflops(70),
    .bf16 = tflops(70), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(140), .int4 = tflops(280), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "TORCH(80 SM);MAG;LLMA;SMI;RECALL"}};

inline constexpr gpu a16_4x16gb{.id = "a16-4x16gb", .name = "A16 (one of four GPUs)", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021,
    .sm_count = 10, .cuda_cores = 1280, .tensor_cores = 40, .boost_clock = mhz(1755),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(15356), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(200)}, .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.0702), .fp64_tensor = tflops(0), .fp32 = tflops(4.493), .fp16_vector = tflops(4.493), .tf32 = tflops(8.986), .fp16_accumulate16 = tflops(17.97), .fp16 = tflops(17.97),
    .bf16 = tflops(17.97), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(35.94), .int4 = tflops(71.88), .sparsity = "yes"},
    .board_power = watts(62.5), .links = {.pcie_generation = 4, .pcie_lanes = 4, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive dual-slot, 4 GPUs/board 250 W", .confidence = "medium", .sources = "TPU;SMI;CALC"}};

inline constexpr gpu a40_48gb{.id = "a40-48gb", .name = "A40", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2020, .sm_count = 84, .cuda_cores = 10752,
    .tensor_cores = 336, .boost_clock = mhz(1740),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(46068), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(696)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.5846), .fp64_tensor = tflops(0), .fp32 = tflops(37.42), .fp16_vector = tflops(37.42), .tf32 = tflops(74.83), .fp16_accumulate16 = tflops(149.7), .fp16 = tflops(149.7),
    .bf16 = tflops(149.7), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(299.3), .int4 = tflops(598.7), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(112.5), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "TPU;LIT;LLMV;SMI;CALC"}};

inline constexpr gpu l4_24gb{.id = "l4-24gb", .name = "L4", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023, .sm_count = 58,
    .cuda_cores = 7424, .tensor_cores = 232, .boost_clock = mhz(2040),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(23034), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(300)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.4733), .fp64_tensor = tflops(0), .fp32 = tflops(30.29), .fp16_vector = tflops(30.29), .tf32 = tflops(60.58), .fp16_accumulate16 = tflops(121.2), .fp16 = tflops(121.2),
    .bf16 = tflops(121.2), .fp8_accumulate16 = tflops(242.3), .fp8 = tflops(242.3), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(242.3), .int4 = tflops(484.6), .sparsity = "yes"},
    .board_power = watts(72), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive LP single-slot", .confidence = "high", .sources = "GMASSE;AIC;LIT;TPU;SMI;CALC"}};

inline constexpr gpu l40_48gb{.id = "l40-48gb", .name = "L40", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2022, .sm_count = 142,
    .cuda_cores = 18176, .tensor_cores = 568, .boost_clock = mhz(2490),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(46068), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(864)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(1.414), .fp64_tensor = tflops(0), .fp32 = tflops(90.52), .fp16_vector = tflops(90.52), .tf32 = tflops(90.5), .fp16_accumulate16 = tflops(181.05), .fp16 = tflops(181.05),
    .bf16 = tflops(181.05), .fp8_accumulate16 = tflops(362), .fp8 = tflops(362), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(362), .int4 = tflops(724), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "LIT;LLMV;MAG;TPU;GPB;SMI;CALC"}};

inline constexpr gpu l40s_48gb{.id = "l40s-48gb", .name = "L40S", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023, .sm_count = 142,
    .cuda_cores = 18176, .tensor_cores = 568, .boost_clock = mhz(2520),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(46068), .cuda_visible = mib(45589), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(864)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(1.431), .fp64_tensor = tflops(0), .fp32 = tflops(91.61), .fp16_vector = tflops(91.61), .tf32 = tflops(183), .fp16_accumulate16 = tflops(362.05), .fp16 = tflops(362.05),
    .bf16 = tflops(362.05), .fp8_accumulate16 = tflops(733), .fp8 = tflops(733), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(733), .int4 = tflops(733), .sparsity = "yes"},
    .board_power = watts(350), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "STAS;AIC;TT;GMASSE;TPU;SMI;TORCH;CALC"}};

inline constexpr gpu l20_48gb{.id = "l20-48gb", .name = "L20", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023, .sm_count = 92,
    .cuda_cores = 11776, .tensor_cores = 368, .boost_clock = mhz(2520),
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(46068), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(864)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(0.9274), .fp64_tensor = tflops(0), .fp32 = tflops(59.8), .fp16_vector = tflops(59.35), .tf32 = tflops(59.8), .fp16_accumulate16 = tflops(119.5), .fp16 = tflops(119.5),
    .bf16 = tflops(119.5), .fp8_accumulate16 = tflops(239), .fp8 = tflops(239), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(239), .sparsity = "no (sheet lists dense==sparse)"},
    .board_power = watts(275), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "ARTHUR;TPU;SMI"}};

inline constexpr gpu l2_24gb{.id = "l2-24gb", .name = "L2", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023,
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(300)}, .l2_cache = mib(36),
    .rates = {.fp64_tensor = tflops(0), .fp32 = tflops(24.1), .tf32 = tflops(48.3), .fp16_accumulate16 = tflops(96.5), .fp16 = tflops(96.5), .bf16 = tflops(96.5), .fp8_accumulate16 = tflops(193),
    .fp8 = tflops(193), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(193)}, .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe LP passive", .confidence = "medium", .sources = "ARTHUR;RECALL"}};

inline constexpr gpu p100_sxm2_16gb{.id = "p100-sxm2-16gb", .name = "Tesla P100 SXM2 16GB", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 0}, .launch_year = 2016,
    .sm_count = 56, .cuda_cores = 3584, .tensor_cores = 0, .boost_clock = mhz(1480),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16384), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(732)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(5.3), .fp64_tensor = tflops(0), .fp32 = tflops(10.6), .fp16_vector = tflops(21.2), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(0), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 1, .scale_up_links = 4, .scale_up = gb_per_s(160), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "SXM2", .confidence = "high", .sources = "TPU;WIKI;SMI;STAS(nvlink)"}};

inline constexpr gpu p100_pcie_16gb{.id = "p100-pcie-16gb", .name = "Tesla P100 PCIe 16GB", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 0}, .launch_year = 2016,
    .sm_count = 56, .cuda_cores = 3584, .tensor_cores = 0, .boost_clock = mhz(1329),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16384), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(732)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(4.7), .fp64_tensor = tflops(0), .fp32 = tflops(9.5), .fp16_vector = tflops(19.05), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(0), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "TPU;WIKI;SMI"}};

inline constexpr gpu p40_24gb{.id = "p40-24gb", .name = "Tesla P40", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 1}, .launch_year = 2016, .sm_count = 30,
    .cuda_cores = 3840, .tensor_cores = 0, .boost_clock = mhz(1531),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(23040), .type = "GDDR5", .bus_bits = 384, .bandwidth = gb_per_s(347.1)}, .l2_cache = mib(3),
    .rates = {.fp64 = tflops(0.367), .fp64_tensor = tflops(0), .fp32 = tflops(11.76), .fp16_vector = tflops(0.184), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(47), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "TPU;SMI;HF"}};

inline constexpr gpu v100_sxm2_16gb{.id = "v100-sxm2-16gb", .name = "Tesla V100 SXM2 16GB", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2017,
    .sm_count = 80, .cuda_cores = 5120, .tensor_cores = 640, .boost_clock = mhz(1530),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16384), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(900)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(7.8), .fp64_tensor = tflops(0), .fp32 = tflops(15.7), .fp16_vector = tflops(31.3), .tf32 = tflops(0), .fp16_accumulate16 = tflops(125), .fp16 = tflops(125),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(62.8), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 6, .scale_up = gb_per_s(300), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "SXM2", .confidence = "high", .sources = "LIT;CMP;GMASSE;LLMA;SMI;STAS"}};

inline constexpr gpu v100_sxm2_32gb{.id = "v100-sxm2-32gb", .name = "Tesla V100 SXM2 32GB", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2018,
    .sm_count = 80, .cuda_cores = 5120, .tensor_cores = 640, .boost_clock = mhz(1530),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32768), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(900)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(7.8), .fp64_tensor = tflops(0), .fp32 = tflops(15.7), .fp16_vector = tflops(31.3), .tf32 = tflops(0), .fp16_accumulate16 = tflops(125), .fp16 = tflops(125),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(62.8), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 6, .scale_up = gb_per_s(300), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "SXM2", .confidence = "high", .sources = "LIT;CMP;TPU;SMI"}};

inline constexpr gpu v100_pcie_16gb{.id = "v100-pcie-16gb", .name = "Tesla V100 PCIe 16GB", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2017,
    .sm_count = 80, .cuda_cores = 5120, .tensor_cores = 640, .boost_clock = mhz(1380),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16384), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(900)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(7), .fp64_tensor = tflops(0), .fp32 = tflops(14), .fp16_vector = tflops(28), .tf32 = tflops(0), .fp16_accumulate16 = tflops(112), .fp16 = tflops(112), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(56), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "LIT;CMP;GMASSE;SMI"}};

inline constexpr gpu v100_pcie_32gb{.id = "v100-pcie-32gb", .name = "Tesla V100 PCIe 32GB", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2018,
    .sm_count = 80, .cuda_cores = 5120, .tensor_cores = 640, .boost_clock = mhz(1380),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32768), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(900)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(7), .fp64_tensor = tflops(0), .fp32 = tflops(14), .fp16_vector = tflops(28), .tf32 = tflops(0), .fp16_accumulate16 = tflops(112), .fp16 = tflops(112), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(56), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "LIT;CMP;TPU;SMI"}};

inline constexpr gpu v100s_pcie_32gb{.id = "v100s-pcie-32gb", .name = "Tesla V100S PCIe 32GB", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2019,
    .sm_count = 80, .cuda_cores = 5120, .tensor_cores = 640, .boost_clock = mhz(1597),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32768), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(1134)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(8.2), .fp64_tensor = tflops(0), .fp32 = tflops(16.4), .fp16_vector = tflops(32.8), .tf32 = tflops(0), .fp16_accumulate16 = tflops(130), .fp16 = tflops(130),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(65.6), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "LIT;CMP;GMASSE;TPU;SMI"}};

inline constexpr gpu quadro_gv100{.id = "quadro-gv100", .name = "Quadro GV100", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2018, .sm_count = 80,
    .cuda_cores = 5120, .tensor_cores = 640, .boost_clock = mhz(1627),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32508), .type = "HBM2", .bus_bits = 4096, .bandwidth = gb_per_s(870)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(8.3), .fp64_tensor = tflops(0), .fp32 = tflops(16.7), .fp16_vector = tflops(33.3), .tf32 = tflops(0), .fp16_accumulate16 = tflops(133.2), .fp16 = tflops(133.2),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(66.6), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_generation = 2, .scale_up_links = 8, .scale_up = gb_per_s(200), .scale_up_domain = 2}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .launch_price = currency(8999), .confidence = "medium", .sources = "TPU;WIKI;RECALL"}};

inline constexpr gpu titan_v{.id = "titan-v", .name = "TITAN V", .vendor = gpu_vendor::nvidia, .architecture = "Volta", .capability = {7, 0}, .launch_year = 2017, .sm_count = 80, .cuda_cores = 5120,
    .tensor_cores = 640, .boost_clock = mhz(1455),
    .memory = {.marketing = gb(12), .fitted = gib(12), .reported = mib(12288), .type = "HBM2", .bus_bits = 3072, .bandwidth = gb_per_s(652.8)}, .l2_cache = kib(4608),
    .rates = {.fp64 = tflops(7.45), .fp64_tensor = tflops(0), .fp32 = tflops(14.9), .fp16_vector = tflops(29.8), .tf32 = tflops(0), .fp16_accumulate16 = tflops(110), .fp16 = tflops(110),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(59.6), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "workstation PCIe", .launch_price = currency(2999), .confidence = "medium", .sources = "TPU;RECALL"}};

inline constexpr gpu a30_24gb{.id = "a30-24gb", .name = "A30", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2021, .sm_count = 56, .cuda_cores = 3584,
    .tensor_cores = 224, .boost_clock = mhz(1440),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24576), .type = "HBM2", .bus_bits = 3072, .bandwidth = gb_per_s(933)}, .l2_cache = mib(24),
    .rates = {.fp64 = tflops(5.2), .fp64_tensor = tflops(10.3), .fp32 = tflops(10.3), .fp16_vector = tflops(41.3), .tf32 = tflops(82.6), .fp16_accumulate16 = tflops(165.2), .fp16 = tflops(165.2),
    .bf16 = tflops(165.2), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(330), .int4 = tflops(661), .sparsity = "yes"},
    .board_power = watts(165), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 4, .scale_up = gb_per_s(200), .scale_up_domain = 2}, .mig_instances = 4,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "AIC;TPU;ARTHUR;MIGP;SMI;CALC"}};

inline constexpr gpu a100_pcie_40gb{.id = "a100-pcie-40gb", .name = "A100 PCIe 40GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2020,
    .sm_count = 108, .cuda_cores = 6912, .tensor_cores = 432, .boost_clock = mhz(1410),
    .memory = {.marketing = gb(40), .fitted = gib(40), .reported = mib(40960), .type = "HBM2", .bus_bits = 5120, .bandwidth = gb_per_s(1555)}, .l2_cache = mib(40),
    .rates = {.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5), .fp32 = tflops(19.5), .fp16_vector = tflops(78), .tf32 = tflops(156), .fp16_accumulate16 = tflops(312), .fp16 = tflops(312),
    .bf16 = tflops(312), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(624), .int4 = tflops(1248), .sparsity = "yes"},
    .board_power = watts(250), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 12, .scale_up = gb_per_s(600), .scale_up_domain = 2}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "TPU;GMASSE;LLMA;LIT"}};

inline constexpr gpu a100_sxm4_40gb{.id = "a100-sxm4-40gb", .name = "A100 SXM4 40GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2020,
    .sm_count = 108, .cuda_cores = 6912, .tensor_cores = 432, .boost_clock = mhz(1410),
    .memory = {.marketing = gb(40), .fitted = gib(40), .reported = mib(40960), .type = "HBM2", .bus_bits = 5120, .bandwidth = gb_per_s(1555)}, .l2_cache = mib(40),
    .rates = {.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5), .fp32 = tflops(19.5), .fp16_vector = tflops(78), .tf32 = tflops(156), .fp16_accumulate16 = tflops(312), .fp16 = tflops(312),
    .bf16 = tflops(312), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(624), .int4 = tflops(1248), .sparsity = "yes"},
    .board_power = watts(400), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 12, .scale_up = gb_per_s(600), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM4", .confidence = "high", .sources = "TPU;GMASSE;LLMA;STAS;MIGP"}};

inline constexpr gpu a100_pcie_80gb{.id = "a100-pcie-80gb", .name = "A100 PCIe 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2021,
    .sm_count = 108, .cuda_cores = 6912, .tensor_cores = 432, .boost_clock = mhz(1410),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81920), .type = "HBM2e", .bus_bits = 5120, .bandwidth = gb_per_s(1935)}, .l2_cache = mib(40),
    .rates = {.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5), .fp32 = tflops(19.5), .fp16_vector = tflops(78), .tf32 = tflops(156), .fp16_accumulate16 = tflops(312), .fp16 = tflops(312),
    .bf16 = tflops(312), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(624), .int4 = tflops(1248), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 12, .scale_up = gb_per_s(600), .scale_up_domain = 2}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "AIC;STAS;TPU;GMASSE;SMI"}};

inline constexpr gpu a100_sxm4_80gb{.id = "a100-sxm4-80gb", .name = "A100 SXM4 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2020,
    .sm_count = 108, .cuda_cores = 6912, .tensor_cores = 432, .boost_clock = mhz(1410),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81920), .type = "HBM2e", .bus_bits = 5120, .bandwidth = gb_per_s(2039)}, .l2_cache = mib(40),
    .rates = {.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5), .fp32 = tflops(19.5), .fp16_vector = tflops(78), .tf32 = tflops(156), .fp16_accumulate16 = tflops(312), .fp16 = tflops(312),
    .bf16 = tflops(312), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(624), .int4 = tflops(1248), .sparsity = "yes"},
    .board_power = watts(400), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 12, .scale_up = gb_per_s(600), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM4", .confidence = "high", .sources = "AIC;STAS;TPU;GMASSE;LLMA;CALC"}};

inline constexpr gpu a800_pcie_80gb{.id = "a800-pcie-80gb", .name = "A800 PCIe 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2022,
    .sm_count = 108, .cuda_cores = 6912, .tensor_cores = 432, .boost_clock = mhz(1410),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81920), .type = "HBM2e", .bus_bits = 5120, .bandwidth = gb_per_s(1935)}, .l2_cache = mib(40),
    .rates = {.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5), .fp32 = tflops(19.5), .fp16_vector = tflops(78), .tf32 = tflops(156), .fp16_accumulate16 = tflops(312), .fp16 = tflops(312),
    .bf16 = tflops(312), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(624), .int4 = tflops(1248), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 8, .scale_up = gb_per_s(400), .scale_up_domain = 2}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "TPU;ARTHUR;SMI;EXO"}};

inline constexpr gpu a800_sxm4_80gb{.id = "a800-sxm4-80gb", .name = "A800 SXM4 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 0}, .launch_year = 2022,
    .sm_count = 108, .cuda_cores = 6912, .tensor_cores = 432, .boost_clock = mhz(1410),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81920), .type = "HBM2e", .bus_bits = 5120, .bandwidth = gb_per_s(2039)}, .l2_cache = mib(40),
    .rates = {.fp64 = tflops(9.7), .fp64_tensor = tflops(19.5), .fp32 = tflops(19.5), .fp16_vector = tflops(78), .tf32 = tflops(156), .fp16_accumulate16 = tflops(312), .fp16 = tflops(312),
    .bf16 = tflops(312), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(624), .int4 = tflops(1248), .sparsity = "yes"},
    .board_power = watts(400), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_generation = 3, .scale_up_links = 8, .scale_up = gb_per_s(400), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM4", .confidence = "high", .sources = "TPU;LLMV;ARTHUR;SMI"}};

inline constexpr gpu h100_sxm5_80gb{.id = "h100-sxm5-80gb", .name = "H100 SXM5 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2022,
    .sm_count = 132, .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1980),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81559), .cuda_visible = mib(81089), .type = "HBM3", .bus_bits = 5120, .bandwidth = gb_per_s(3350)}, .l2_cache = mib(50),
    .rates = {.fp64 = tflops(34), .fp64_tensor = tflops(67), .fp32 = tflops(67), .fp16_vector = tflops(134), .tf32 = tflops(494.7), .fp16_accumulate16 = tflops(989.4), .fp16 = tflops(989.4),
    .bf16 = tflops(989.4), .fp8_accumulate16 = tflops(1978.9), .fp8 = tflops(1978.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1978.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(700), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 18, .scale_up = gb_per_s(900), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM5", .confidence = "high", .sources = "STAS;AIC;CMP;LIT;TT;TPU;WIKI;SMI;CALC"}};

inline constexpr gpu h100_pcie_80gb{.id = "h100-pcie-80gb", .name = "H100 PCIe 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2022,
    .sm_count = 114, .cuda_cores = 14592, .tensor_cores = 456, .boost_clock = mhz(1755),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81559), .type = "HBM2e", .bus_bits = 5120, .bandwidth = gb_per_s(2039)}, .l2_cache = mib(50),
    .rates = {.fp64 = tflops(25.6), .fp64_tensor = tflops(51.2), .fp32 = tflops(51.2), .fp16_vector = tflops(102.4), .tf32 = tflops(378), .fp16_accumulate16 = tflops(756.4), .fp16 = tflops(756.4),
    .bf16 = tflops(756.4), .fp8_accumulate16 = tflops(1513), .fp8 = tflops(1513), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1513), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(350), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 12, .scale_up = gb_per_s(600), .scale_up_domain = 2}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "STAS;AIC;CMP;LIT;TT;TPU;SMI;CALC"}};

inline constexpr gpu h100_nvl_94gb{.id = "h100-nvl-94gb", .name = "H100 NVL 94GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2023, .sm_count = 132,
    .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1785),
    .memory = {.marketing = gb(94), .fitted = gib(94), .reported = mib(95830), .cuda_visible = mib(95334), .type = "HBM3", .bus_bits = 6016, .bandwidth = gb_per_s(3938)}, .l2_cache = mib(60),
    .rates = {.fp64 = tflops(30), .fp64_tensor = tflops(60), .fp32 = tflops(60), .fp16_vector = tflops(120.6), .tf32 = tflops(417.5), .fp16_accumulate16 = tflops(835.5), .fp16 = tflops(835.5),
    .bf16 = tflops(835.5), .fp8_accumulate16 = tflops(1671), .fp8 = tflops(1671), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1671), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(400), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 12, .scale_up = gb_per_s(600), .scale_up_domain = 2}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "LIT;TT;TPU;SMI;STAS(tdp);MMAPEAK"}};

inline constexpr gpu h800_sxm5_80gb{.id = "h800-sxm5-80gb", .name = "H800 SXM5 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2023,
    .sm_count = 132, .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1980),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81559), .type = "HBM3", .bus_bits = 5120, .bandwidth = gb_per_s(3350)}, .l2_cache = mib(50),
    .rates = {.fp64 = tflops(1), .fp64_tensor = tflops(1), .fp32 = tflops(67), .fp16_vector = tflops(134), .tf32 = tflops(494.7), .fp16_accumulate16 = tflops(989.4), .fp16 = tflops(989.4),
    .bf16 = tflops(989.4), .fp8_accumulate16 = tflops(1978.9), .fp8 = tflops(1978.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1978.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(700), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 8, .scale_up = gb_per_s(400), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM5", .confidence = "medium", .sources = "TPU;WIKI;ARTHUR;SMI;FLASHMLA;DEEPEP;RECALL(fp64)"}};

inline constexpr gpu h800_pcie_80gb{.id = "h800-pcie-80gb", .name = "H800 PCIe 80GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2023,
    .sm_count = 114, .cuda_cores = 14592, .tensor_cores = 456, .boost_clock = mhz(1755),
    .memory = {.marketing = gb(80), .fitted = gib(80), .reported = mib(81559), .type = "HBM2e", .bus_bits = 5120, .bandwidth = gb_per_s(2039)}, .l2_cache = mib(50),
    .rates = {.fp64 = tflops(0.8), .fp64_tensor = tflops(0.8), .fp32 = tflops(51.2), .fp16_vector = tflops(102.4), .tf32 = tflops(378), .fp16_accumulate16 = tflops(756.4), .fp16 = tflops(756.4),
    .bf16 = tflops(756.4), .fp8_accumulate16 = tflops(1513), .fp8 = tflops(1513), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1513), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(350), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 8, .scale_up = gb_per_s(400), .scale_up_domain = 2}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "medium", .sources = "TPU;ARTHUR;SMI;RECALL(fp64)"}};

inline constexpr gpu h20_sxm5_96gb{.id = "h20-sxm5-96gb", .name = "H20 96GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2024, .sm_count = 78,
    .cuda_cores = 9984, .tensor_cores = 312,
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(97871), .cuda_visible = mib(97285), .type = "HBM3", .bus_bits = 6144, .bandwidth = gb_per_s(4000)}, .l2_cache = mib(60),
    .rates = {.fp64 = tflops(1), .fp32 = tflops(44), .tf32 = tflops(74), .fp16_accumulate16 = tflops(148), .fp16 = tflops(148), .bf16 = tflops(148), .fp8_accumulate16 = tflops(296),
    .fp8 = tflops(296), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(296), .int4 = tflops(0), .sparsity = "no (sheet lists dense==sparse)"},
    .board_power = watts(400), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 18, .scale_up = gb_per_s(900), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM5", .confidence = "high", .sources = "TT;ARTHUR;TORCH(78 SM);SMI;ZANG"}};

inline constexpr gpu h200_sxm5_141gb{.id = "h200-sxm5-141gb", .name = "H200 SXM 141GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2024,
    .sm_count = 132, .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1980),
    .memory = {.marketing = gb(141), .fitted = gib(141), .reported = mib(143771), .cuda_visible = mib(143156), .type = "HBM3e", .bus_bits = 6144, .bandwidth = gb_per_s(4800)}, .l2_cache = mib(60),
    .rates = {.fp64 = tflops(34), .fp64_tensor = tflops(67), .fp32 = tflops(67), .fp16_vector = tflops(134), .tf32 = tflops(494.7), .fp16_accumulate16 = tflops(989.4), .fp16 = tflops(989.4),
    .bf16 = tflops(989.4), .fp8_accumulate16 = tflops(1978.9), .fp8 = tflops(1978.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1978.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(700), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 18, .scale_up = gb_per_s(900), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM5", .confidence = "high", .sources = "STAS;AIC;CMP;LIT;TPU;SMI;CALC"}};

inline constexpr gpu h200_nvl_141gb{.id = "h200-nvl-141gb", .name = "H200 NVL 141GB", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2024,
    .sm_count = 132, .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1785),
    .memory = {.marketing = gb(141), .fitted = gib(141), .reported = mib(143771), .type = "HBM3e", .bus_bits = 6144, .bandwidth = gb_per_s(4800)}, .l2_cache = mib(60),
    .rates = {.fp64 = tflops(30), .fp64_tensor = tflops(60), .fp32 = tflops(60), .fp16_vector = tflops(120.6), .tf32 = tflops(417.5), .fp16_accumulate16 = tflops(835.5), .fp16 = tflops(835.5),
    .bf16 = tflops(835.5), .fp8_accumulate16 = tflops(1671), .fp8 = tflops(1671), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1671), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(600), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 18, .scale_up = gb_per_s(900), .scale_up_domain = 4}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "PCIe passive", .confidence = "high", .sources = "LIT;GMASSE;TPU;SMI;STAS(tdp)"}};

inline constexpr gpu gh200_96gb{.id = "gh200-96gb", .name = "GH200 (96GB HBM3)", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2023, .sm_count = 132,
    .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1980),
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(97871), .type = "HBM3", .bus_bits = 6144, .bandwidth = gb_per_s(4000)}, .l2_cache = mib(60),
    .rates = {.fp64 = tflops(34), .fp64_tensor = tflops(67), .fp32 = tflops(67), .fp16_vector = tflops(134), .tf32 = tflops(494.7), .fp16_accumulate16 = tflops(989.4), .fp16 = tflops(989.4),
    .bf16 = tflops(989.4), .fp8_accumulate16 = tflops(1978.9), .fp8 = tflops(1978.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1978.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1000), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 18, .scale_up = gb_per_s(900), .scale_up_domain = 1}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "Grace Hopper superchip", .confidence = "high", .sources = "STAS;TPU;SMI;CALC"}};

inline constexpr gpu gh200_144gb{.id = "gh200-144gb", .name = "GH200 (144GB HBM3e)", .vendor = gpu_vendor::nvidia, .architecture = "Hopper", .capability = {9, 0}, .launch_year = 2024,
    .sm_count = 132, .cuda_cores = 16896, .tensor_cores = 528, .boost_clock = mhz(1980),
    .memory = {.marketing = gb(144), .fitted = gib(144), .reported = mib(146831), .cuda_visible = mib(145920), .type = "HBM3e", .bus_bits = 6144, .bandwidth = gb_per_s(4900)}, .l2_cache = mib(60),
    .rates = {.fp64 = tflops(34), .fp64_tensor = tflops(67), .fp32 = tflops(67), .fp16_vector = tflops(134), .tf32 = tflops(494.7), .fp16_accumulate16 = tflops(989.4), .fp16 = tflops(989.4),
    .bf16 = tflops(989.4), .fp8_accumulate16 = tflops(1978.9), .fp8 = tflops(1978.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1978.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1000), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 4, .scale_up_links = 18, .scale_up = gb_per_s(900), .scale_up_domain = 1}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "Grace Hopper superchip", .confidence = "high", .sources = "TORCH;SMI;MAG;GENZ;CALC"}};

inline constexpr gpu b100_sxm_192gb{.id = "b100-sxm-192gb", .name = "B100 SXM", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {10, 0}, .launch_year = 2024,
    .memory = {.marketing = gb(192), .fitted = gib(192), .type = "HBM3e", .bus_bits = 8192, .bandwidth = gb_per_s(8000)}, .l2_cache = mib(126),
    .rates = {.fp64 = tflops(30), .fp64_tensor = tflops(30), .fp32 = tflops(60), .tf32 = tflops(875), .fp16_accumulate16 = tflops(1750), .fp16 = tflops(1750), .bf16 = tflops(1750),
    .fp8_accumulate16 = tflops(3500), .fp8 = tflops(3500), .fp6 = tflops(3500), .fp4 = tflops(7000), .int8 = tflops(3500), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(700), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 5, .scale_up_links = 18, .scale_up = gb_per_s(1800), .scale_up_domain = 8}, .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM6", .confidence = "recalled", .sources = "RECALL"}};

inline constexpr gpu b200_sxm_180gb{.id = "b200-sxm-180gb", .name = "B200 SXM", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {10, 0}, .launch_year = 2024, .sm_count = 148,
    .cuda_cores = 18944, .tensor_cores = 592, .boost_clock = mhz(1965),
    .memory = {.marketing = gb(180), .fitted = gib(180), .reported = mib(183359), .cuda_visible = mib(182642), .type = "HBM3e", .bus_bits = 8192, .bandwidth = gb_per_s(7700)}, .l2_cache = mib(126),
    .rates = {.fp64 = tflops(37), .fp64_tensor = tflops(37), .fp32 = tflops(75), .tf32 = tflops(1125), .fp16_accumulate16 = tflops(2250), .fp16 = tflops(2250), .bf16 = tflops(2250),
    .fp8_accumulate16 = tflops(4500), .fp8 = tflops(4500), .fp6 = tflops(4500), .fp4 = tflops(9000), .int8 = tflops(4500), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1000), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 5, .scale_up_links = 18, .scale_up = gb_per_s(1800), .scale_up_domain = 8},
    .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM6", .confidence = "high", .sources = "STAS;AIC;TT;TPU;WIKI;TORCH;SMI"}};

inline constexpr gpu gb200_186gb{.id = "gb200-186gb", .name = "GB200 (per GPU)", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {10, 0}, .launch_year = 2025,
    .sm_count = 152, .cuda_cores = 19456, .tensor_cores = 608, .boost_clock = mhz(2062),
    .memory = {.marketing = gb(186), .fitted = gib(186), .reported = mib(189471), .type = "HBM3e", .bus_bits = 8192, .bandwidth = gb_per_s(8000)}, .l2_cache = mib(126),
    .rates = {.fp64 = tflops(40), .fp64_tensor = tflops(40), .fp32 = tflops(80), .tf32 = tflops(1250), .fp16_accumulate16 = tflops(2500), .fp16 = tflops(2500), .bf16 = tflops(2500),
    .fp8_accumulate16 = tflops(5000), .fp8 = tflops(5000), .fp6 = tflops(5000), .fp4 = tflops(10000), .int8 = tflops(5000), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1200), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_generation = 5, .scale_up_links = 18, .scale_up = gb_per_s(1800), .scale_up_domain = 72},
    .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "GB200 superchip (2 GPU + Grace)", .confidence = "high", .sources = "STAS;AIC;TT;SMI;TORCH(152 SM)"}};

inline constexpr gpu b300_sxm_288gb{.id = "b300-sxm-288gb", .name = "B300 SXM (HGX)", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell Ultra", .capability = {10, 3}, .launch_year = 2025,
    .sm_count = 148, .cuda_cores = 18944, .tensor_cores = 592, .boost_clock = mhz(2032),
    .memory = {.marketing = gb(288), .fitted = gib(288), .reported = mib(275040), .type = "HBM3e", .bus_bits = 8192, .bandwidth = gb_per_s(8000)}, .l2_cache = mib(126),
    .rates = {.fp64 = tflops(1.2), .fp64_tensor = tflops(1.2), .fp32 = tflops(75), .tf32 = tflops(1125), .fp16_accumulate16 = tflops(2250), .fp16 = tflops(2250), .bf16 = tflops(2250),
    .fp8_accumulate16 = tflops(4500), .fp8 = tflops(4500), .fp6 = tflops(4500), .fp4 = tflops(14000), .int8 = tflops(153.5), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1100), .links = {.pcie_generation = 6, .pcie_lanes = 16, .scale_up_generation = 5, .scale_up_links = 18, .scale_up = gb_per_s(1800), .scale_up_domain = 8},
    .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "SXM6", .confidence = "medium", .sources = "AIC;STAS;WIKI;SMI"}};

inline constexpr gpu gb300_288gb{.id = "gb300-288gb", .name = "GB300 (per GPU)", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell Ultra", .capability = {10, 3}, .launch_year = 2025,
    .sm_count = 152, .cuda_cores = 19456, .tensor_cores = 608,
    .memory = {.marketing = gb(288), .fitted = gib(288), .reported = mib(284208), .type = "HBM3e", .bus_bits = 8192, .bandwidth = gb_per_s(8000)}, .l2_cache = mib(126),
    .rates = {.fp64 = tflops(1.3), .fp64_tensor = tflops(1.3), .fp32 = tflops(80), .tf32 = tflops(1250), .fp16_accumulate16 = tflops(2500), .fp16 = tflops(2500), .bf16 = tflops(2500),
    .fp8_accumulate16 = tflops(5000), .fp8 = tflops(5000), .fp6 = tflops(5000), .fp4 = tflops(15000), .int8 = tflops(165), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1400), .links = {.pcie_generation = 6, .pcie_lanes = 16, .scale_up_generation = 5, .scale_up_links = 18, .scale_up = gb_per_s(1800), .scale_up_domain = 72},
    .mig_instances = 7,
    .listing = {.ecc = "yes", .form_factor = "GB300 superchip (2 GPU + Grace)", .confidence = "medium", .sources = "STAS;AIC;TT;SMI"}};

inline constexpr gpu gb10_dgx_spark{.id = "gb10-dgx-spark", .name = "GB10 (DGX Spark)", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 1}, .launch_year = 2025,
    .sm_count = 48, .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(2418),
    .memory = {.marketing = gb(128), .fitted = gib(128), .reported = mib(124552), .cuda_visible = mib(124552), .type = "LPDDR5X unified", .bus_bits = 256, .bandwidth = gb_per_s(273)},
    .l2_cache = mib(24),
    .rates = {.fp64 = tflops(0.46), .fp64_tensor = tflops(0), .fp32 = tflops(29.7), .fp16_vector = tflops(29.7), .fp16_accumulate16 = tflops(125), .fp8_accumulate16 = tflops(250), .fp6 = tflops(250),
    .fp4 = tflops(500), .int8 = tflops(250), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(140), .links = {.pcie_generation = 5, .pcie_lanes = 4, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .launch_price = currency(3999), .confidence = "low", .sources = "TPU;HF;GB10LIVE(130602405888 B);NVFORUM;RECALL(L2)"}};

inline constexpr gpu jetson_agx_orin_64gb{.id = "jetson-agx-orin-64gb", .name = "Jetson AGX Orin 64GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere (GA10B)", .capability = {8, 7},
    .launch_year = 2023, .sm_count = 16, .cuda_cores = 2048, .tensor_cores = 64, .boost_clock = mhz(1300),
    .memory = {.marketing = gb(64), .fitted = gib(64), .reported = mib(62840), .cuda_visible = mib(62840), .type = "LPDDR5 unified", .bus_bits = 256, .bandwidth = gb_per_s(204.8)},
    .l2_cache = mib(4),
    .rates = {.fp64_tensor = tflops(0), .fp32 = tflops(5.3), .fp16_vector = tflops(10.6), .tf32 = tflops(21.3), .fp16_accumulate16 = tflops(42.6), .fp16 = tflops(42.6), .bf16 = tflops(42.6),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(85.2), .sparsity = "yes"},
    .board_power = watts(60), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoM", .launch_price = currency(1999), .confidence = "medium", .sources = "TPU;ORINDEV(65893269504 B);CALC;RECALL"}};

inline constexpr gpu jetson_agx_thor_t5000{.id = "jetson-agx-thor-t5000", .name = "Jetson AGX Thor (T5000)", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {11, 0},
    .launch_year = 2025, .sm_count = 20, .cuda_cores = 2560, .tensor_cores = 96, .boost_clock = mhz(1575),
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "LPDDR5X unified", .bus_bits = 256, .bandwidth = gb_per_s(273)},
    .rates = {.fp64_tensor = tflops(0), .fp32 = tflops(8.06), .fp16_accumulate16 = tflops(258.5), .fp16 = tflops(258.5), .bf16 = tflops(258.5), .fp8_accumulate16 = tflops(517.5),
    .fp8 = tflops(517.5), .fp6 = tflops(517.5), .fp4 = tflops(1035), .int8 = tflops(517.5), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(130), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1},
    .listing = {.ecc = "no", .form_factor = "SoM", .launch_price = currency(3499), .confidence = "medium", .sources = "HF(258.5);RECALL"}};

inline constexpr gpu gtx_1070{.id = "gtx-1070", .name = "GeForce GTX 1070", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 1}, .launch_year = 2016, .sm_count = 15,
    .cuda_cores = 1920, .tensor_cores = 0, .boost_clock = mhz(1683),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR5", .bus_bits = 256, .bandwidth = gb_per_s(256.3)}, .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.2), .fp64_tensor = tflops(0), .fp32 = tflops(6.46), .fp16_vector = tflops(0.1), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(25.84), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(150), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu gtx_1080{.id = "gtx-1080", .name = "GeForce GTX 1080", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 1}, .launch_year = 2016, .sm_count = 20,
    .cuda_cores = 2560, .tensor_cores = 0, .boost_clock = mhz(1733),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR5X", .bus_bits = 256, .bandwidth = gb_per_s(320.3)}, .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.28), .fp64_tensor = tflops(0), .fp32 = tflops(8.87), .fp16_vector = tflops(0.14), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(35.48), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(180), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu gtx_1080_ti{.id = "gtx-1080-ti", .name = "GeForce GTX 1080 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 1}, .launch_year = 2017, .sm_count = 28,
    .cuda_cores = 3584, .tensor_cores = 0, .boost_clock = mhz(1582),
    .memory = {.marketing = gb(11), .fitted = gib(11), .type = "GDDR5X", .bus_bits = 352, .bandwidth = gb_per_s(484.4)}, .l2_cache = kib(2816),
    .rates = {.fp64 = tflops(0.35), .fp64_tensor = tflops(0), .fp32 = tflops(11.34), .fp16_vector = tflops(0.18), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(45.36), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_2070{.id = "rtx-2070", .name = "GeForce RTX 2070", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018, .sm_count = 36,
    .cuda_cores = 2304, .tensor_cores = 288, .boost_clock = mhz(1620),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.23), .fp64_tensor = tflops(0), .fp32 = tflops(7.46), .fp16_vector = tflops(14.93), .tf32 = tflops(0), .fp16_accumulate16 = tflops(59.72), .fp16 = tflops(29.86),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(119.4), .int4 = tflops(238.9), .sparsity = "no"},
    .board_power = watts(175), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_2070_super{.id = "rtx-2070-super", .name = "GeForce RTX 2070 SUPER", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2019,
    .sm_count = 40, .cuda_cores = 2560, .tensor_cores = 320, .boost_clock = mhz(1770),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.28), .fp64_tensor = tflops(0), .fp32 = tflops(9.06), .fp16_vector = tflops(18.12), .tf32 = tflops(0), .fp16_accumulate16 = tflops(72.5), .fp16 = tflops(36.25),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(145), .int4 = tflops(290), .sparsity = "no"},
    .board_power = watts(215), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_2080{.id = "rtx-2080", .name = "GeForce RTX 2080", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018, .sm_count = 46,
    .cuda_cores = 2944, .tensor_cores = 368, .boost_clock = mhz(1710),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.31), .fp64_tensor = tflops(0), .fp32 = tflops(10.07), .fp16_vector = tflops(20.14), .tf32 = tflops(0), .fp16_accumulate16 = tflops(80.55), .fp16 = tflops(40.27),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(161.1), .int4 = tflops(322.2), .sparsity = "no"},
    .board_power = watts(215), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_2080_super{.id = "rtx-2080-super", .name = "GeForce RTX 2080 SUPER", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2019,
    .sm_count = 48, .cuda_cores = 3072, .tensor_cores = 384, .boost_clock = mhz(1815),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(495.9)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.35), .fp64_tensor = tflops(0), .fp32 = tflops(11.15), .fp16_vector = tflops(22.3), .tf32 = tflops(0), .fp16_accumulate16 = tflops(89.21), .fp16 = tflops(44.61),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(178.4), .int4 = tflops(356.8), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_3050_8gb{.id = "rtx-3050-8gb", .name = "GeForce RTX 3050 8GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2022,
    .sm_count = 20, .cuda_cores = 2560, .tensor_cores = 80, .boost_clock = mhz(1777),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(224)}, .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.14), .fp64_tensor = tflops(0), .fp32 = tflops(9.1), .fp16_vector = tflops(9.1), .tf32 = tflops(9.098), .fp16_accumulate16 = tflops(36.39), .fp16 = tflops(18.2),
    .bf16 = tflops(18.2), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(72.79), .int4 = tflops(145.6), .sparsity = "yes"},
    .board_power = watts(130), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_3070_ti{.id = "rtx-3070-ti", .name = "GeForce RTX 3070 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 48,
    .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(1770),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6X", .bus_bits = 256, .bandwidth = gb_per_s(608.3)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.34), .fp64_tensor = tflops(0), .fp32 = tflops(21.75), .fp16_vector = tflops(21.75), .tf32 = tflops(21.75), .fp16_accumulate16 = tflops(87), .fp16 = tflops(43.5),
    .bf16 = tflops(43.5), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(174), .int4 = tflops(348), .sparsity = "yes"},
    .board_power = watts(290), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_3080_ti{.id = "rtx-3080-ti", .name = "GeForce RTX 3080 Ti", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021, .sm_count = 80,
    .cuda_cores = 10240, .tensor_cores = 320, .boost_clock = mhz(1665),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6X", .bus_bits = 384, .bandwidth = gb_per_s(912.4)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.53), .fp64_tensor = tflops(0), .fp32 = tflops(34.1), .fp16_vector = tflops(34.1), .tf32 = tflops(34.1), .fp16_accumulate16 = tflops(136.4), .fp16 = tflops(68.2),
    .bf16 = tflops(68.2), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(272.8), .int4 = tflops(545.6), .sparsity = "yes"},
    .board_power = watts(350), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4060{.id = "rtx-4060", .name = "GeForce RTX 4060", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2023, .sm_count = 24,
    .cuda_cores = 3072, .tensor_cores = 96, .boost_clock = mhz(2460),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(272)}, .l2_cache = mib(24),
    .rates = {.fp64 = tflops(0.24), .fp64_tensor = tflops(0), .fp32 = tflops(15.11), .fp16_vector = tflops(15.11), .tf32 = tflops(15.11), .fp16_accumulate16 = tflops(60.46), .fp16 = tflops(30.23),
    .bf16 = tflops(30.23), .fp8_accumulate16 = tflops(120.9), .fp8 = tflops(60.46), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(120.9), .int4 = tflops(241.8), .sparsity = "yes"},
    .board_power = watts(115), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4060_ti_8gb{.id = "rtx-4060-ti-8gb", .name = "GeForce RTX 4060 Ti 8GB", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2023, .sm_count = 34, .cuda_cores = 4352, .tensor_cores = 136, .boost_clock = mhz(2535),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(288)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.34), .fp64_tensor = tflops(0), .fp32 = tflops(22.06), .fp16_vector = tflops(22.06), .tf32 = tflops(22.06), .fp16_accumulate16 = tflops(88.26), .fp16 = tflops(44.13),
    .bf16 = tflops(44.13), .fp8_accumulate16 = tflops(176.5), .fp8 = tflops(88.26), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(176.5), .int4 = tflops(353), .sparsity = "yes"},
    .board_power = watts(160), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4070_super{.id = "rtx-4070-super", .name = "GeForce RTX 4070 SUPER", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9}, .launch_year = 2024,
    .sm_count = 56, .cuda_cores = 7168, .tensor_cores = 224, .boost_clock = mhz(2475),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6X", .bus_bits = 192, .bandwidth = gb_per_s(504.2)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.55), .fp64_tensor = tflops(0), .fp32 = tflops(35.48), .fp16_vector = tflops(35.48), .tf32 = tflops(35.48), .fp16_accumulate16 = tflops(141.9), .fp16 = tflops(70.96),
    .bf16 = tflops(70.96), .fp8_accumulate16 = tflops(283.9), .fp8 = tflops(141.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(283.9), .int4 = tflops(567.7), .sparsity = "yes"},
    .board_power = watts(220), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5050{.id = "rtx-5050", .name = "GeForce RTX 5050", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 20,
    .cuda_cores = 2560, .tensor_cores = 80, .boost_clock = mhz(2572),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(320)}, .l2_cache = mib(24),
    .rates = {.fp64 = tflops(0.21), .fp64_tensor = tflops(0), .fp32 = tflops(13.17), .fp16_vector = tflops(13.17), .tf32 = tflops(13.17), .fp16_accumulate16 = tflops(52.67), .fp16 = tflops(26.34),
    .bf16 = tflops(26.34), .fp8_accumulate16 = tflops(105.3), .fp8 = tflops(52.67), .fp6 = tflops(105.3), .fp4 = tflops(210.7), .int8 = tflops(105.3), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(130), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5060{.id = "rtx-5060", .name = "GeForce RTX 5060", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 30,
    .cuda_cores = 3840, .tensor_cores = 120, .boost_clock = mhz(2497),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR7", .bus_bits = 128, .bandwidth = gb_per_s(448)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.3), .fp64_tensor = tflops(0), .fp32 = tflops(19.18), .fp16_vector = tflops(19.18), .tf32 = tflops(19.18), .fp16_accumulate16 = tflops(76.71), .fp16 = tflops(38.35),
    .bf16 = tflops(38.35), .fp8_accumulate16 = tflops(153.4), .fp8 = tflops(76.71), .fp6 = tflops(153.4), .fp4 = tflops(306.8), .int8 = tflops(153.4), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(145), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5060_ti_8gb{.id = "rtx-5060-ti-8gb", .name = "GeForce RTX 5060 Ti 8GB", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025,
    .sm_count = 36, .cuda_cores = 4608, .tensor_cores = 144, .boost_clock = mhz(2572),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR7", .bus_bits = 128, .bandwidth = gb_per_s(448)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.37), .fp64_tensor = tflops(0), .fp32 = tflops(23.7), .fp16_vector = tflops(23.7), .tf32 = tflops(23.7), .fp16_accumulate16 = tflops(94.81), .fp16 = tflops(47.41),
    .bf16 = tflops(47.41), .fp8_accumulate16 = tflops(189.6), .fp8 = tflops(94.81), .fp6 = tflops(189.6), .fp4 = tflops(379.3), .int8 = tflops(189.6), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(180), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5060_ti_16gb{.id = "rtx-5060-ti-16gb", .name = "GeForce RTX 5060 Ti 16GB", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 36, .cuda_cores = 4608, .tensor_cores = 144, .boost_clock = mhz(2572),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR7", .bus_bits = 128, .bandwidth = gb_per_s(448)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.37), .fp64_tensor = tflops(0), .fp32 = tflops(23.7), .fp16_vector = tflops(23.7), .tf32 = tflops(23.7), .fp16_accumulate16 = tflops(94.81), .fp16 = tflops(47.41),
    .bf16 = tflops(47.41), .fp8_accumulate16 = tflops(189.6), .fp8 = tflops(94.81), .fp6 = tflops(189.6), .fp4 = tflops(379.3), .int8 = tflops(189.6), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(180), .links = {.pcie_generation = 5, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5070{.id = "rtx-5070", .name = "GeForce RTX 5070", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0}, .launch_year = 2025, .sm_count = 48,
    .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(2512),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR7", .bus_bits = 192, .bandwidth = gb_per_s(672)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.48), .fp64_tensor = tflops(0), .fp32 = tflops(30.87), .fp16_vector = tflops(30.87), .tf32 = tflops(30.87), .fp16_accumulate16 = tflops(123.5), .fp16 = tflops(61.73),
    .bf16 = tflops(61.73), .fp8_accumulate16 = tflops(246.9), .fp8 = tflops(123.5), .fp6 = tflops(246.9), .fp4 = tflops(493.9), .int8 = tflops(246.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(250), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu titan_rtx{.id = "titan-rtx", .name = "TITAN RTX", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2018, .sm_count = 72,
    .cuda_cores = 4608, .tensor_cores = 576, .boost_clock = mhz(1770),
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(672)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(0.51), .fp64_tensor = tflops(0), .fp32 = tflops(16.31), .fp16_vector = tflops(32.62), .tf32 = tflops(0), .fp16_accumulate16 = tflops(130.5), .fp16 = tflops(130.5),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(261), .int4 = tflops(522), .sparsity = "no"},
    .board_power = watts(280), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu titan_xp{.id = "titan-xp", .name = "TITAN Xp", .vendor = gpu_vendor::nvidia, .architecture = "Pascal", .capability = {6, 1}, .launch_year = 2017, .sm_count = 30,
    .cuda_cores = 3840, .tensor_cores = 0, .boost_clock = mhz(1582),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR5X", .bus_bits = 384, .bandwidth = gb_per_s(547.6)}, .l2_cache = mib(3),
    .rates = {.fp64 = tflops(0.38), .fp64_tensor = tflops(0), .fp32 = tflops(12.15), .fp16_vector = tflops(0.19), .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(48.6), .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_a2000_12gb{.id = "rtx-a2000-12gb", .name = "RTX A2000 12GB", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021,
    .sm_count = 26, .cuda_cores = 3328, .tensor_cores = 104, .boost_clock = mhz(1200),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(288)}, .l2_cache = mib(3),
    .rates = {.fp64 = tflops(0.12), .fp64_tensor = tflops(0), .fp32 = tflops(7.99), .fp16_vector = tflops(7.99), .tf32 = tflops(15.97), .fp16_accumulate16 = tflops(31.95), .fp16 = tflops(31.95),
    .bf16 = tflops(31.95), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(63.9), .int4 = tflops(127.8), .sparsity = "yes"},
    .board_power = watts(70), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_pro_4000_blackwell{.id = "rtx-pro-4000-blackwell", .name = "RTX PRO 4000 Blackwell", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 70, .cuda_cores = 8960, .tensor_cores = 280, .boost_clock = mhz(2055),
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "GDDR7", .bus_bits = 192, .bandwidth = gb_per_s(672)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.58), .fp64_tensor = tflops(0), .fp32 = tflops(36.83), .fp16_vector = tflops(36.83), .tf32 = tflops(73.65), .fp16_accumulate16 = tflops(147.3), .fp16 = tflops(147.3),
    .bf16 = tflops(147.3), .fp8_accumulate16 = tflops(294.6), .fp8 = tflops(294.6), .fp6 = tflops(294.6), .fp4 = tflops(589.2), .int8 = tflops(294.6), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(140), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_pro_4500_blackwell{.id = "rtx-pro-4500-blackwell", .name = "RTX PRO 4500 Blackwell", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 82, .cuda_cores = 10496, .tensor_cores = 328, .boost_clock = mhz(2407),
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "GDDR7", .bus_bits = 256, .bandwidth = gb_per_s(896)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.79), .fp64_tensor = tflops(0), .fp32 = tflops(50.53), .fp16_vector = tflops(50.53), .tf32 = tflops(101.1), .fp16_accumulate16 = tflops(202.1), .fp16 = tflops(202.1),
    .bf16 = tflops(202.1), .fp8_accumulate16 = tflops(404.2), .fp8 = tflops(404.2), .fp6 = tflops(404.2), .fp4 = tflops(808.4), .int8 = tflops(404.2), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(200), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_pro_5000_blackwell{.id = "rtx-pro-5000-blackwell", .name = "RTX PRO 5000 Blackwell", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 110, .cuda_cores = 14080, .tensor_cores = 440, .boost_clock = mhz(2377),
    .memory = {.marketing = gb(48), .fitted = gib(48), .type = "GDDR7", .bus_bits = 384, .bandwidth = gb_per_s(1340)}, .l2_cache = mib(96),
    .rates = {.fp64 = tflops(1.05), .fp64_tensor = tflops(0), .fp32 = tflops(66.94), .fp16_vector = tflops(66.94), .tf32 = tflops(133.9), .fp16_accumulate16 = tflops(267.7), .fp16 = tflops(267.7),
    .bf16 = tflops(267.7), .fp8_accumulate16 = tflops(535.5), .fp8 = tflops(535.5), .fp6 = tflops(535.5), .fp4 = tflops(1071), .int8 = tflops(535.5), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "optional", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_2080_laptop{.id = "rtx-2080-laptop", .name = "GeForce RTX 2080 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Turing", .capability = {7, 5}, .launch_year = 2019,
    .sm_count = 46, .cuda_cores = 2944, .tensor_cores = 368, .boost_clock = mhz(1590),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.29), .fp64_tensor = tflops(0), .fp32 = tflops(9.36), .fp16_vector = tflops(18.72), .tf32 = tflops(0), .fp16_accumulate16 = tflops(74.9), .fp16 = tflops(37.45),
    .bf16 = tflops(0), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(149.8), .int4 = tflops(299.6), .sparsity = "no"},
    .board_power = watts(150), .links = {.pcie_generation = 3, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_3070_laptop{.id = "rtx-3070-laptop", .name = "GeForce RTX 3070 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6}, .launch_year = 2021,
    .sm_count = 40, .cuda_cores = 5120, .tensor_cores = 160, .boost_clock = mhz(1560),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.25), .fp64_tensor = tflops(0), .fp32 = tflops(15.97), .fp16_vector = tflops(15.97), .tf32 = tflops(15.97), .fp16_accumulate16 = tflops(63.9), .fp16 = tflops(31.95),
    .bf16 = tflops(31.95), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(127.8), .int4 = tflops(255.6), .sparsity = "yes"},
    .board_power = watts(115), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_3080_laptop_8gb{.id = "rtx-3080-laptop-8gb", .name = "GeForce RTX 3080 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6},
    .launch_year = 2021, .sm_count = 48, .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(1545),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(448)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.3), .fp64_tensor = tflops(0), .fp32 = tflops(18.98), .fp16_vector = tflops(18.98), .tf32 = tflops(18.98), .fp16_accumulate16 = tflops(75.94), .fp16 = tflops(37.97),
    .bf16 = tflops(37.97), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(151.9), .int4 = tflops(303.8), .sparsity = "yes"},
    .board_power = watts(115), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_3080_ti_laptop{.id = "rtx-3080-ti-laptop", .name = "GeForce RTX 3080 Ti Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ampere", .capability = {8, 6},
    .launch_year = 2022, .sm_count = 58, .cuda_cores = 7424, .tensor_cores = 232, .boost_clock = mhz(1260),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(512)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.29), .fp64_tensor = tflops(0), .fp32 = tflops(18.71), .fp16_vector = tflops(18.71), .tf32 = tflops(18.71), .fp16_accumulate16 = tflops(74.83), .fp16 = tflops(37.42),
    .bf16 = tflops(37.42), .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(149.7), .int4 = tflops(299.3), .sparsity = "yes"},
    .board_power = watts(115), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4060_laptop{.id = "rtx-4060-laptop", .name = "GeForce RTX 4060 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2023, .sm_count = 24, .cuda_cores = 3072, .tensor_cores = 96, .boost_clock = mhz(1890),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(256)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.18), .fp64_tensor = tflops(0), .fp32 = tflops(11.61), .fp16_vector = tflops(11.61), .tf32 = tflops(11.61), .fp16_accumulate16 = tflops(46.45), .fp16 = tflops(23.22),
    .bf16 = tflops(23.22), .fp8_accumulate16 = tflops(92.9), .fp8 = tflops(46.45), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(92.9), .int4 = tflops(185.8), .sparsity = "yes"},
    .board_power = watts(115), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4070_laptop{.id = "rtx-4070-laptop", .name = "GeForce RTX 4070 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2023, .sm_count = 36, .cuda_cores = 4608, .tensor_cores = 144, .boost_clock = mhz(1695),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(256)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.24), .fp64_tensor = tflops(0), .fp32 = tflops(15.62), .fp16_vector = tflops(15.62), .tf32 = tflops(15.62), .fp16_accumulate16 = tflops(62.48), .fp16 = tflops(31.24),
    .bf16 = tflops(31.24), .fp8_accumulate16 = tflops(125), .fp8 = tflops(62.48), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(125), .int4 = tflops(249.9), .sparsity = "yes"},
    .board_power = watts(115), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4080_laptop{.id = "rtx-4080-laptop", .name = "GeForce RTX 4080 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2023, .sm_count = 58, .cuda_cores = 7424, .tensor_cores = 232, .boost_clock = mhz(1665),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(432)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.39), .fp64_tensor = tflops(0), .fp32 = tflops(24.72), .fp16_vector = tflops(24.72), .tf32 = tflops(24.72), .fp16_accumulate16 = tflops(98.89), .fp16 = tflops(49.44),
    .bf16 = tflops(49.44), .fp8_accumulate16 = tflops(197.8), .fp8 = tflops(98.89), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(197.8), .int4 = tflops(395.6), .sparsity = "yes"},
    .board_power = watts(110), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_4090_laptop{.id = "rtx-4090-laptop", .name = "GeForce RTX 4090 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Ada Lovelace", .capability = {8, 9},
    .launch_year = 2023, .sm_count = 76, .cuda_cores = 9728, .tensor_cores = 304, .boost_clock = mhz(1695),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(576)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.52), .fp64_tensor = tflops(0), .fp32 = tflops(32.98), .fp16_vector = tflops(32.98), .tf32 = tflops(32.98), .fp16_accumulate16 = tflops(131.9), .fp16 = tflops(65.96),
    .bf16 = tflops(65.96), .fp8_accumulate16 = tflops(263.8), .fp8 = tflops(131.9), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(263.8), .int4 = tflops(527.6), .sparsity = "yes"},
    .board_power = watts(120), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5060_laptop{.id = "rtx-5060-laptop", .name = "GeForce RTX 5060 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 26, .cuda_cores = 3328, .tensor_cores = 104, .boost_clock = mhz(1455),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR7", .bus_bits = 128, .bandwidth = gb_per_s(384)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.15), .fp64_tensor = tflops(0), .fp32 = tflops(9.68), .fp16_vector = tflops(9.68), .tf32 = tflops(9.684), .fp16_accumulate16 = tflops(38.74), .fp16 = tflops(19.37),
    .bf16 = tflops(19.37), .fp8_accumulate16 = tflops(77.48), .fp8 = tflops(38.74), .fp6 = tflops(77.48), .fp4 = tflops(155), .int8 = tflops(77.48), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(45), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5070_laptop{.id = "rtx-5070-laptop", .name = "GeForce RTX 5070 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 36, .cuda_cores = 4608, .tensor_cores = 144, .boost_clock = mhz(1425),
    .memory = {.marketing = gb(8), .fitted = gib(8), .type = "GDDR7", .bus_bits = 128, .bandwidth = gb_per_s(384)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(0.21), .fp64_tensor = tflops(0), .fp32 = tflops(13.13), .fp16_vector = tflops(13.13), .tf32 = tflops(13.13), .fp16_accumulate16 = tflops(52.53), .fp16 = tflops(26.27),
    .bf16 = tflops(26.27), .fp8_accumulate16 = tflops(105.1), .fp8 = tflops(52.53), .fp6 = tflops(105.1), .fp4 = tflops(210.1), .int8 = tflops(105.1), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(50), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5070_ti_laptop{.id = "rtx-5070-ti-laptop", .name = "GeForce RTX 5070 Ti Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 46, .cuda_cores = 5888, .tensor_cores = 184, .boost_clock = mhz(1447),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR7", .bus_bits = 192, .bandwidth = gb_per_s(672)}, .l2_cache = mib(48),
    .rates = {.fp64 = tflops(0.27), .fp64_tensor = tflops(0), .fp32 = tflops(17.04), .fp16_vector = tflops(17.04), .tf32 = tflops(17.04), .fp16_accumulate16 = tflops(68.16), .fp16 = tflops(34.08),
    .bf16 = tflops(34.08), .fp8_accumulate16 = tflops(136.3), .fp8 = tflops(68.16), .fp6 = tflops(136.3), .fp4 = tflops(272.6), .int8 = tflops(136.3), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(60), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5080_laptop{.id = "rtx-5080-laptop", .name = "GeForce RTX 5080 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 60, .cuda_cores = 7680, .tensor_cores = 240, .boost_clock = mhz(1500),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR7", .bus_bits = 256, .bandwidth = gb_per_s(896)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.36), .fp64_tensor = tflops(0), .fp32 = tflops(23.04), .fp16_vector = tflops(23.04), .tf32 = tflops(23.04), .fp16_accumulate16 = tflops(92.16), .fp16 = tflops(46.08),
    .bf16 = tflops(46.08), .fp8_accumulate16 = tflops(184.3), .fp8 = tflops(92.16), .fp6 = tflops(184.3), .fp4 = tflops(368.6), .int8 = tflops(184.3), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(80), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rtx_5090_laptop{.id = "rtx-5090-laptop", .name = "GeForce RTX 5090 Laptop GPU", .vendor = gpu_vendor::nvidia, .architecture = "Blackwell", .capability = {12, 0},
    .launch_year = 2025, .sm_count = 82, .cuda_cores = 10496, .tensor_cores = 328, .boost_clock = mhz(1515),
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "GDDR7", .bus_bits = 256, .bandwidth = gb_per_s(896)}, .l2_cache = mib(64),
    .rates = {.fp64 = tflops(0.5), .fp64_tensor = tflops(0), .fp32 = tflops(31.8), .fp16_vector = tflops(31.8), .tf32 = tflops(31.8), .fp16_accumulate16 = tflops(127.2), .fp16 = tflops(63.61),
    .bf16 = tflops(63.61), .fp8_accumulate16 = tflops(254.4), .fp8 = tflops(127.2), .fp6 = tflops(254.4), .fp4 = tflops(508.8), .int8 = tflops(254.4), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(95), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "laptop", .confidence = "medium", .sources = "TPU;CALC"}};

/// Every row above.
inline constexpr std::array all_nvidia{
    &rtx_2080_ti_11gb, &rtx_2080_ti_22gb_mod, &rtx_3060_12gb, &rtx_3060_ti, &rtx_3070, &rtx_3080_10gb, &rtx_3080_12gb, &rtx_3090, &rtx_3090_ti, &rtx_4060_ti_16gb, &rtx_4070, &rtx_4070_ti,
    &rtx_4070_ti_super, &rtx_4080, &rtx_4080_super, &rtx_4090, &rtx_4090_d, &rtx_5070_ti, &rtx_5080, &rtx_5090, &rtx_5090_d, &rtx_a4000, &rtx_a4500, &rtx_a5000, &rtx_a5500, &rtx_a6000, &rtx_2000_ada,
    &rtx_4000_ada, &rtx_4500_ada, &rtx_5000_ada, &rtx_6000_ada, &rtx_pro_6000_blackwell_workstation, &rtx_pro_6000_blackwell_server, &rtx_pro_6000_blackwell_max_q, &quadro_rtx_6000, &quadro_rtx_8000,
    &t4_16gb, &a2_16gb, &a10_24gb, &a10g_24gb, &a16_4x16gb, &a40_48gb, &l4_24gb, &l40_48gb, &l40s_48gb, &l20_48gb, &l2_24gb, &p100_sxm2_16gb, &p100_pcie_16gb, &p40_24gb, &v100_sxm2_16gb,
    &v100_sxm2_32gb, &v100_pcie_16gb, &v100_pcie_32gb, &v100s_pcie_32gb, &quadro_gv100, &titan_v, &a30_24gb, &a100_pcie_40gb, &a100_sxm4_40gb, &a100_pcie_80gb, &a100_sxm4_80gb, &a800_pcie_80gb,
    &a800_sxm4_80gb, &h100_sxm5_80gb, &h100_pcie_80gb, &h100_nvl_94gb, &h800_sxm5_80gb, &h800_pcie_80gb, &h20_sxm5_96gb, &h200_sxm5_141gb, &h200_nvl_141gb, &gh200_96gb, &gh200_144gb, &b100_sxm_192gb,
    &b200_sxm_180gb, &gb200_186gb, &b300_sxm_288gb, &gb300_288gb, &gb10_dgx_spark, &jetson_agx_orin_64gb, &jetson_agx_thor_t5000, &gtx_1070, &gtx_1080, &gtx_1080_ti, &rtx_2070, &rtx_2070_super,
    &rtx_2080, &rtx_2080_super, &rtx_3050_8gb, &rtx_3070_ti, &rtx_3080_ti, &rtx_4060, &rtx_4060_ti_8gb, &rtx_4070_super, &rtx_5050, &rtx_5060, &rtx_5060_ti_8gb, &rtx_5060_ti_16gb, &rtx_5070,
    &titan_rtx, &titan_xp, &rtx_a2000_12gb, &rtx_pro_4000_blackwell, &rtx_pro_4500_blackwell, &rtx_pro_5000_blackwell, &rtx_2080_laptop, &rtx_3070_laptop, &rtx_3080_laptop_8gb, &rtx_3080_ti_laptop,
    &rtx_4060_laptop, &rtx_4070_laptop, &rtx_4080_laptop, &rtx_4090_laptop, &rtx_5060_laptop, &rtx_5070_laptop, &rtx_5070_ti_laptop, &rtx_5080_laptop, &rtx_5090_laptop};

// clang-format on

}  // namespace llmres::inline v0::gpus
