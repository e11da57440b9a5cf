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

/// Every row above.
inline constexpr std::array all_huawei{
    &ascend_910b2, &ascend_910b3, &ascend_910b4, &ascend_910c};

// clang-format on

}  // namespace llmres::inline v0::gpus
