// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// Google's TPUs, a row a chip. `scale_up` is the inter-chip interconnect; `sm_count` is TensorCores. Rates are dense;
/// a field left out is not published, and zero means that the part has no such unit. docs/sources.md explains the
/// conventions and the source tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu tpu_v4{.id = "tpu-v4", .name = "TPU v4", .vendor = gpu_vendor::google, .architecture = "TPU v4",
    .launch_year = 2021, .sm_count = 2,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "HBM2", .bandwidth = gb_per_s(1200)},
    .rates = {.bf16 = tflops(275), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(275), .sparsity = "no"},
    .board_power = watts(192), .links = {.scale_up_links = 6, .scale_up = gb_per_s(540), .scale_up_domain = 4096},
    .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "GCP;JAXBOOK;STAS;TT"}};

inline constexpr gpu tpu_v5e{.id = "tpu-v5e", .name = "TPU v5e", .vendor = gpu_vendor::google,
    .architecture = "TPU v5e", .launch_year = 2023, .sm_count = 1,
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "HBM2", .bandwidth = gb_per_s(819)},
    .rates = {.bf16 = tflops(197), .fp8 = tflops(0), .fp4 = tflops(0), .int8 = tflops(394), .sparsity = "no"},
    .links = {.scale_up_links = 4, .scale_up = gb_per_s(400), .scale_up_domain = 256}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "GCP;JAXBOOK;STAS;TT"}};

inline constexpr gpu tpu_v5p{.id = "tpu-v5p", .name = "TPU v5p", .vendor = gpu_vendor::google,
    .architecture = "TPU v5p", .launch_year = 2023, .sm_count = 2,
    .memory = {.marketing = gb(95), .fitted = gib(95), .type = "HBM2e", .bandwidth = gb_per_s(2765)},
    .rates = {.bf16 = tflops(459), .fp8 = tflops(459), .fp4 = tflops(0), .int8 = tflops(918), .sparsity = "no"},
    .links = {.scale_up_links = 6, .scale_up = gb_per_s(1200), .scale_up_domain = 8960}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "GCP;JAXBOOK;STAS;TT"}};

inline constexpr gpu tpu_v6e{.id = "tpu-v6e", .name = "TPU v6e (Trillium)", .vendor = gpu_vendor::google,
    .architecture = "TPU v6e (Trillium)", .launch_year = 2024, .sm_count = 1,
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "HBM3", .bandwidth = gb_per_s(1638)},
    .rates = {.bf16 = tflops(918), .fp8 = tflops(918), .fp4 = tflops(0), .int8 = tflops(1836), .sparsity = "no"},
    .links = {.scale_up_links = 4, .scale_up = gb_per_s(800), .scale_up_domain = 256}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "GCP;JAXBOOK;STAS;TT"}};

inline constexpr gpu tpu_v7{.id = "tpu-v7", .name = "TPU7x (Ironwood)", .vendor = gpu_vendor::google,
    .architecture = "TPU7x (Ironwood)", .launch_year = 2025, .sm_count = 2,
    .memory = {.marketing = gb(192), .fitted = gib(192), .type = "HBM3e", .bandwidth = gb_per_s(7370)},
    .rates = {.bf16 = tflops(2307), .fp8 = tflops(4614), .fp4 = tflops(0), .sparsity = "no"},
    .links = {.scale_up_links = 6, .scale_up = gb_per_s(1200), .scale_up_domain = 9216}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "STAS;TT"}};

/// Every row above.
inline constexpr std::array all_google{
    &tpu_v4, &tpu_v5e, &tpu_v5p, &tpu_v6e, &tpu_v7};

// clang-format on

}  // namespace llmres::inline v0::gpus
