// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// Huawei's Ascend accelerators. `scale_up` is HCCS or UB; `sm_count` is cube cores. The 910C is a package of two dies,
/// which software sees as two devices. Rates are dense; a field left out is not published, and zero means that the part
/// has no such unit. docs/sources.md explains the conventions and the source tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu ascend_910b2{.id = "ascend-910b2", .name = "Ascend 910B2", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 910B2", .launch_year = 2023, .sm_count = 24, .boost_clock = mhz(1800),
    .memory = {.marketing = gb(64), .fitted = gib(64), .type = "HBM2e", .bandwidth = gb_per_s(1600)},
    .l2_cache = mib(192),
    .rates = {.fp16 = tflops(353.9), .bf16 = tflops(353.9), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(707.8),
    .sparsity = "no"},
    .board_power = watts(400), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up = gb_per_s(392),
    .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "medium", .sources = "ASCSIM;ARTHUR;CALC"}};

inline constexpr gpu ascend_910b3{.id = "ascend-910b3", .name = "Ascend 910B3", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 910B3", .launch_year = 2023, .sm_count = 20, .boost_clock = mhz(1800),
    .memory = {.marketing = gb(64), .fitted = gib(64), .reported = mib(65536), .type = "HBM2e",
    .bandwidth = gb_per_s(1600)}, .l2_cache = mib(192),
    .rates = {.fp16 = tflops(294.9), .bf16 = tflops(294.9), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(589.8),
    .sparsity = "no"},
    .board_power = watts(400), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up = gb_per_s(392),
    .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "medium", .sources = "ASCSIM;ARTHUR;CALC"}};

inline constexpr gpu ascend_910b4{.id = "ascend-910b4", .name = "Ascend 910B4", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 910B4", .launch_year = 2023, .sm_count = 20, .boost_clock = mhz(1500),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32768), .type = "HBM2e",
    .bandwidth = gb_per_s(800)}, .l2_cache = mib(96),
    .rates = {.fp16 = tflops(245.8), .bf16 = tflops(245.8), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(491.5),
    .sparsity = "no"},
    .board_power = watts(310), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_domain = 8},
    .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "medium", .sources = "ASCSIM;CALC"}};

inline constexpr gpu ascend_910c{.id = "ascend-910c", .name = "Ascend 910C (2 dies)", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 910C (2 dies)", .launch_year = 2024, .sm_count = 48,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "HBM2e", .bandwidth = gb_per_s(3200)},
    .l2_cache = mib(384),
    .rates = {.fp16 = tflops(707.8), .bf16 = tflops(707.8), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(1415.6),
    .sparsity = "no"},
    .board_power = watts(700), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up = gb_per_s(784),
    .scale_up_domain = 384}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "low",
    .sources = "ASCSIM(A3 x2);BESTHUB;EVOK;RECALL"}};

/// fp16 is not published.
inline constexpr gpu ascend_950pr{.id = "ascend-950pr", .name = "Ascend 950PR", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 950", .launch_year = 2026,
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "HiBL 1.0", .bandwidth = gb_per_s(1600)},
    .rates = {.fp8 = tflops(1000), .fp4 = tflops(2000)},
    .listing = {.confidence = "medium", .sources = "PAGES(besthub.dev; codcompass.com)"}};

/// Announced; fp16 is not published.
inline constexpr gpu ascend_950dt{.id = "ascend-950dt", .name = "Ascend 950DT", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 950", .launch_year = 2026,
    .memory = {.marketing = gb(144), .fitted = gib(144), .type = "HiZQ 2.0", .bandwidth = gb_per_s(4000)},
    .rates = {.fp8 = tflops(1000), .fp4 = tflops(2000)},
    .listing = {.confidence = "medium", .sources = "PAGES(besthub.dev; codcompass.com)"}};

/// The whole card; a system sees two processors of 48 GB. No bf16.
inline constexpr gpu atlas_300i_duo_96gb{.id = "atlas-300i-duo-96gb", .name = "Atlas 300I Duo (2 x Ascend 310P)",
    .vendor = gpu_vendor::huawei, .architecture = "Ascend 310P", .launch_year = 2022,
    .memory = {.marketing = gb(96), .fitted = gib(96), .type = "LPDDR4X", .bandwidth = gb_per_s(408)},
    .rates = {.fp16 = tflops(140), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(280)},
    .board_power = watts(150), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up_domain = 1},
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "medium",
    .sources = "PAGES(infogioco.it; accio.com);RECALL"}};

/// No bf16.
inline constexpr gpu ascend_310p_48gb{.id = "ascend-310p-48gb",
    .name = "Ascend 310P (one of two on an Atlas 300I Duo)", .vendor = gpu_vendor::huawei,
    .architecture = "Ascend 310P", .launch_year = 2022,
    .memory = {.marketing = gb(48), .fitted = gib(48), .type = "LPDDR4X", .bandwidth = gb_per_s(204)},
    .rates = {.fp16 = tflops(70), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(140)},
    .links = {.scale_up_domain = 1},
    .listing = {.confidence = "medium", .sources = "CALC(half of an Atlas 300I Duo)"}};

/// Every row above.
inline constexpr std::array all_huawei{
    &ascend_910b2, &ascend_910b3, &ascend_910b4, &ascend_910c, &ascend_950pr, &ascend_950dt, &atlas_300i_duo_96gb,
    &ascend_310p_48gb};

// clang-format on

}  // namespace llmres::inline v0::gpus
