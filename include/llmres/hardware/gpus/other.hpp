// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// Everybody else: Cambricon, Moore Threads, Hygon, Apple. Much here is recalled or disputed: read `confidence`.
/// Apple's memory is shared with the host. Rates are dense; a field left out is not published, and zero means that the
/// part has no such unit. docs/sources.md explains the conventions and the source tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu mlu370_x8{.id = "mlu370-x8", .name = "MLU370-X8", .vendor = gpu_vendor::cambricon,
    .architecture = "MLU370-X8", .launch_year = 2022, .sm_count = 64,
    .memory = {.marketing = gb(48), .fitted = gib(48), .type = "LPDDR5", .bandwidth = gb_per_s(614.4)},
    .rates = {.fp32 = tflops(24), .fp16 = tflops(96), .bf16 = tflops(96), .fp8 = tflops(0), .fp4 = tflops(0),
    .int8 = tflops(256), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up = gb_per_s(200),
    .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "medium",
    .sources = "CNBLOG(614,256,48G LPDDR5);EVOK;RECALL"}};

inline constexpr gpu mlu590{.id = "mlu590", .name = "MLU590", .vendor = gpu_vendor::cambricon,
    .architecture = "MLU590", .launch_year = 2023,
    .memory = {.type = "HBM2e"},
    .rates = {.fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.pcie_generation = 4, .pcie_lanes = 16},
    .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "low", .sources = "CNBLOG;EVOK"}};

inline constexpr gpu mtt_s4000_48gb{.id = "mtt-s4000-48gb", .name = "MTT S4000", .vendor = gpu_vendor::moore_threads,
    .architecture = "MTT S4000", .launch_year = 2023, .sm_count = 48,
    .memory = {.marketing = gb(48), .fitted = gib(48), .reported = mib(49152), .type = "GDDR6",
    .bandwidth = gb_per_s(768)},
    .rates = {.fp32 = tflops(25), .fp16 = tflops(100), .bf16 = tflops(100), .fp8 = tflops(0), .fp4 = tflops(0),
    .int8 = tflops(200), .sparsity = "no"},
    .board_power = watts(450), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up = gb_per_s(240),
    .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "medium", .sources = "CNBLOG;EVOK;RECALL"}};

inline constexpr gpu hygon_k100_ai_64gb{.id = "hygon-k100-ai-64gb", .name = "DCU K100 AI", .vendor = gpu_vendor::hygon,
    .architecture = "DCU K100 AI", .launch_year = 2024, .sm_count = 120,
    .memory = {.marketing = gb(64), .fitted = gib(64), .reported = mib(65536), .type = "HBM2e/GDDR6 (disputed)",
    .bandwidth = gb_per_s(896)},
    .rates = {.fp32 = tflops(49), .fp16 = tflops(196), .bf16 = tflops(196), .fp8 = tflops(0), .fp4 = tflops(0),
    .int8 = tflops(392), .sparsity = "no"},
    .board_power = watts(350), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_domain = 8},
    .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "low",
    .sources = "MAG(126.3 measured);HGSCHED(65536 MiB);RECALL"}};

inline constexpr gpu apple_m1_max{.id = "apple-m1-max", .name = "Apple M1 Max (32-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M1 Max (32-core GPU)", .launch_year = 2021, .sm_count = 32,
    .cuda_cores = 4096,
    .memory = {.marketing = gb(64), .fitted = gib(64), .type = "LPDDR unified", .bandwidth = gb_per_s(400)},
    .rates = {.fp32 = tflops(10.4), .fp16_vector = tflops(10.4), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;HF;RECALL"}};

inline constexpr gpu apple_m2_ultra{.id = "apple-m2-ultra", .name = "Apple M2 Ultra (76-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M2 Ultra (76-core GPU)", .launch_year = 2023, .sm_count = 76,
    .cuda_cores = 9728,
    .memory = {.marketing = gb(192), .fitted = gib(192), .type = "LPDDR unified", .bandwidth = gb_per_s(800)},
    .rates = {.fp32 = tflops(27.2), .fp16_vector = tflops(27.2), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;HF;RECALL"}};

inline constexpr gpu apple_m3_max{.id = "apple-m3-max", .name = "Apple M3 Max (40-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M3 Max (40-core GPU)", .launch_year = 2023, .sm_count = 40,
    .cuda_cores = 5120,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "LPDDR unified", .bandwidth = gb_per_s(400)},
    .rates = {.fp32 = tflops(14.2), .fp16_vector = tflops(14.2), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;HF;RECALL"}};

inline constexpr gpu apple_m3_ultra{.id = "apple-m3-ultra", .name = "Apple M3 Ultra (80-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M3 Ultra (80-core GPU)", .launch_year = 2025, .sm_count = 80,
    .cuda_cores = 10240,
    .memory = {.marketing = gb(512), .fitted = gib(512), .type = "LPDDR unified", .bandwidth = gb_per_s(819)},
    .rates = {.fp32 = tflops(28.4), .fp16_vector = tflops(28.4), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;HF;RECALL"}};

inline constexpr gpu apple_m4_max{.id = "apple-m4-max", .name = "Apple M4 Max (40-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M4 Max (40-core GPU)", .launch_year = 2024, .sm_count = 40,
    .cuda_cores = 5120,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "LPDDR unified", .bandwidth = gb_per_s(546)},
    .rates = {.fp32 = tflops(18.4), .fp16_vector = tflops(18.4), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;HF;RECALL"}};

inline constexpr gpu apple_m4_pro{.id = "apple-m4-pro", .name = "Apple M4 Pro (20-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M4 Pro (20-core GPU)", .launch_year = 2024, .sm_count = 20,
    .cuda_cores = 2560,
    .memory = {.marketing = gb(64), .fitted = gib(64), .type = "LPDDR unified", .bandwidth = gb_per_s(273)},
    .rates = {.fp32 = tflops(9.2), .fp16_vector = tflops(9.2), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;HF;RECALL"}};

inline constexpr gpu apple_m1{.id = "apple-m1", .name = "Apple M1 (8-core GPU)", .vendor = gpu_vendor::apple,
    .architecture = "Apple M1 (8-core GPU)", .launch_year = 2020, .sm_count = 8, .cuda_cores = 1024,
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "LPDDR unified", .bandwidth = gb_per_s(68.2)},
    .rates = {.fp32 = tflops(2.6), .fp16_vector = tflops(2.6), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "LCPP1642;EXO(scaled);RECALL"}};

inline constexpr gpu apple_m1_pro{.id = "apple-m1-pro", .name = "Apple M1 Pro (16-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M1 Pro (16-core GPU)", .launch_year = 2021, .sm_count = 16,
    .cuda_cores = 2048,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "LPDDR unified", .bandwidth = gb_per_s(204.8)},
    .rates = {.fp32 = tflops(5.3), .fp16_vector = tflops(5.3), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "LCPP1642;EXO;RECALL"}};

inline constexpr gpu apple_m1_ultra{.id = "apple-m1-ultra", .name = "Apple M1 Ultra (64-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M1 Ultra (64-core GPU)", .launch_year = 2022, .sm_count = 64,
    .cuda_cores = 8192,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "LPDDR unified", .bandwidth = gb_per_s(819.2)},
    .rates = {.fp32 = tflops(21.2), .fp16_vector = tflops(21.2), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;RECALL"}};

inline constexpr gpu apple_m2{.id = "apple-m2", .name = "Apple M2 (10-core GPU)", .vendor = gpu_vendor::apple,
    .architecture = "Apple M2 (10-core GPU)", .launch_year = 2022, .sm_count = 10, .cuda_cores = 1280,
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "LPDDR unified", .bandwidth = gb_per_s(102.4)},
    .rates = {.fp32 = tflops(3.55), .fp16_vector = tflops(3.55), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "LCPP1642;EXO;RECALL"}};

inline constexpr gpu apple_m2_pro{.id = "apple-m2-pro", .name = "Apple M2 Pro (19-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M2 Pro (19-core GPU)", .launch_year = 2023, .sm_count = 19,
    .cuda_cores = 2432,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "LPDDR unified", .bandwidth = gb_per_s(204.8)},
    .rates = {.fp32 = tflops(6.74), .fp16_vector = tflops(6.74), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO(scaled);RECALL"}};

inline constexpr gpu apple_m2_max{.id = "apple-m2-max", .name = "Apple M2 Max (38-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M2 Max (38-core GPU)", .launch_year = 2023, .sm_count = 38,
    .cuda_cores = 4864,
    .memory = {.marketing = gb(96), .fitted = gib(96), .type = "LPDDR unified", .bandwidth = gb_per_s(409.6)},
    .rates = {.fp32 = tflops(13.49), .fp16_vector = tflops(13.49), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;RECALL"}};

inline constexpr gpu apple_m3{.id = "apple-m3", .name = "Apple M3 (10-core GPU)", .vendor = gpu_vendor::apple,
    .architecture = "Apple M3 (10-core GPU)", .launch_year = 2023, .sm_count = 10, .cuda_cores = 1280,
    .memory = {.marketing = gb(24), .fitted = gib(24), .type = "LPDDR unified", .bandwidth = gb_per_s(102.4)},
    .rates = {.fp32 = tflops(3.55), .fp16_vector = tflops(3.55), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;RECALL"}};

inline constexpr gpu apple_m3_pro{.id = "apple-m3-pro", .name = "Apple M3 Pro (18-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M3 Pro (18-core GPU)", .launch_year = 2023, .sm_count = 18,
    .cuda_cores = 2304,
    .memory = {.marketing = gb(36), .fitted = gib(36), .type = "LPDDR unified", .bandwidth = gb_per_s(153.6)},
    .rates = {.fp32 = tflops(6.39), .fp16_vector = tflops(6.39), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO(scaled);RECALL"}};

inline constexpr gpu apple_m4{.id = "apple-m4", .name = "Apple M4 (10-core GPU)", .vendor = gpu_vendor::apple,
    .architecture = "Apple M4 (10-core GPU)", .launch_year = 2024, .sm_count = 10, .cuda_cores = 1280,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "LPDDR unified", .bandwidth = gb_per_s(120)},
    .rates = {.fp32 = tflops(4.26), .fp16_vector = tflops(4.26), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled", .sources = "EXO;RECALL"}};

inline constexpr gpu apple_m5{.id = "apple-m5", .name = "Apple M5 (10-core GPU)", .vendor = gpu_vendor::apple,
    .architecture = "Apple M5 (10-core GPU)", .launch_year = 2025, .sm_count = 10, .cuda_cores = 1280,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "LPDDR unified", .bandwidth = gb_per_s(153.6)},
    .rates = {.fp32 = tflops(4.26), .fp16_vector = tflops(4.26), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled",
    .sources = "PRESS(bandwidth);EXO(M4 cores)"}};

inline constexpr gpu apple_m5_pro{.id = "apple-m5-pro", .name = "Apple M5 Pro (20-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M5 Pro (20-core GPU)", .launch_year = 2026, .sm_count = 20,
    .cuda_cores = 2560,
    .memory = {.marketing = gb(64), .fitted = gib(64), .type = "LPDDR unified", .bandwidth = gb_per_s(307)},
    .rates = {.fp32 = tflops(8.52), .fp16_vector = tflops(8.52), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled",
    .sources = "PRESS(cores,bandwidth,memory);EXO(M4 cores)"}};

inline constexpr gpu apple_m5_max{.id = "apple-m5-max", .name = "Apple M5 Max (40-core GPU)",
    .vendor = gpu_vendor::apple, .architecture = "Apple M5 Max (40-core GPU)", .launch_year = 2026, .sm_count = 40,
    .cuda_cores = 5120,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "LPDDR unified", .bandwidth = gb_per_s(614)},
    .rates = {.fp32 = tflops(17.04), .fp16_vector = tflops(17.04), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0),
    .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .sparsity = "no"}, .links = {.scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "recalled",
    .sources = "PRESS(cores,bandwidth,memory);EXO(M4 cores)"}};

inline constexpr gpu cloud_ai_100_standard_16gb{.id = "cloud-ai-100-standard-16gb", .name = "Cloud AI 100 Standard",
    .vendor = gpu_vendor::other, .architecture = "Cloud AI 100", .launch_year = 2021,
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "LPDDR4X", .bandwidth = gb_per_s(137)},
    .rates = {.fp16 = tflops(110), .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(325),
    .sparsity = "no"},
    .board_power = watts(75), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.form_factor = "PCIe", .confidence = "medium",
    .sources = "PAGES(quic.github.io/cloud-ai-sdk-pages Architecture)"}};

inline constexpr gpu cloud_ai_100_pro_32gb{.id = "cloud-ai-100-pro-32gb", .name = "Cloud AI 100 Pro",
    .vendor = gpu_vendor::other, .architecture = "Cloud AI 100", .launch_year = 2021,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "LPDDR4X", .bandwidth = gb_per_s(137)},
    .rates = {.fp16 = tflops(125), .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(375),
    .sparsity = "no"},
    .board_power = watts(75), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.form_factor = "PCIe", .confidence = "medium",
    .sources = "PAGES(quic.github.io/cloud-ai-sdk-pages Architecture)"}};

/// Four chips on the board, 32 GB and 137 GB/s each.
inline constexpr gpu cloud_ai_100_ultra_128gb{.id = "cloud-ai-100-ultra-128gb", .name = "Cloud AI 100 Ultra",
    .vendor = gpu_vendor::other, .architecture = "Cloud AI 100", .launch_year = 2023,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "LPDDR4X", .bandwidth = gb_per_s(548)},
    .rates = {.fp16 = tflops(290), .bf16 = tflops(0), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(870),
    .sparsity = "no"},
    .board_power = watts(150), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up = gb_per_s(0),
    .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.form_factor = "PCIe", .confidence = "medium",
    .sources = "PAGES(quic.github.io/cloud-ai-sdk-pages Architecture)"}};

/// Every row above.
inline constexpr std::array all_other{
    &mlu370_x8, &mlu590, &mtt_s4000_48gb, &hygon_k100_ai_64gb, &apple_m1_max, &apple_m2_ultra, &apple_m3_max,
    &apple_m3_ultra, &apple_m4_max, &apple_m4_pro, &apple_m1, &apple_m1_pro, &apple_m1_ultra, &apple_m2, &apple_m2_pro,
    &apple_m2_max, &apple_m3, &apple_m3_pro, &apple_m4, &apple_m5, &apple_m5_pro, &apple_m5_max,
    &cloud_ai_100_standard_16gb, &cloud_ai_100_pro_32gb, &cloud_ai_100_ultra_128gb};

// clang-format on

}  // namespace llmres::inline v0::gpus
