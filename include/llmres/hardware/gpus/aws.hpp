// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// AWS's accelerators, a row a chip. `scale_up` is NeuronLink; `sm_count` is NeuronCores. Rates are dense; a field left
/// out is not published, and zero means that the part has no such unit. docs/sources.md explains the conventions and
/// the source tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu trainium1_32gb{.id = "trainium1-32gb", .name = "Trainium", .vendor = gpu_vendor::aws,
    .architecture = "Trainium", .launch_year = 2022, .sm_count = 2,
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32768), .type = "HBM",
    .bandwidth = gb_per_s(880)},
    .rates = {.fp32 = tflops(47.5), .tf32 = tflops(190), .fp16 = tflops(190), .bf16 = tflops(190), .fp8 = tflops(190),
    .fp4 = tflops(0), .int8 = tflops(380), .sparsity = "no"}, .links = {.scale_up = gb_per_s(384),
    .scale_up_domain = 16}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "NEURON;CMP;TT"}};

inline constexpr gpu inferentia2_32gb{.id = "inferentia2-32gb", .name = "Inferentia2", .vendor = gpu_vendor::aws,
    .architecture = "Inferentia2", .launch_year = 2023, .sm_count = 2,
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32768), .type = "HBM",
    .bandwidth = gb_per_s(880)},
    .rates = {.fp32 = tflops(47.5), .tf32 = tflops(190), .fp16 = tflops(190), .bf16 = tflops(190), .fp8 = tflops(190),
    .fp4 = tflops(0), .int8 = tflops(380), .sparsity = "no"}, .links = {.scale_up = gb_per_s(192),
    .scale_up_domain = 12}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "medium", .sources = "NEURON;RECALL(link)"}};

inline constexpr gpu trainium2_96gb{.id = "trainium2-96gb", .name = "Trainium2", .vendor = gpu_vendor::aws,
    .architecture = "Trainium2", .launch_year = 2024, .sm_count = 8,
    .memory = {.marketing = gb(96), .fitted = gib(96), .reported = mib(98304), .type = "HBM",
    .bandwidth = gb_per_s(2900)},
    .rates = {.fp32 = tflops(181), .tf32 = tflops(667), .fp16 = tflops(667), .bf16 = tflops(667), .fp8 = tflops(1299),
    .fp4 = tflops(0), .sparsity = "yes (4:1 / 16:4)"}, .links = {.scale_up = gb_per_s(1280), .scale_up_domain = 64},
    .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "NEURON;STAS;TT"}};

inline constexpr gpu trainium3_144gb{.id = "trainium3-144gb", .name = "Trainium3", .vendor = gpu_vendor::aws,
    .architecture = "Trainium3", .launch_year = 2025, .sm_count = 8,
    .memory = {.marketing = gb(144), .fitted = gib(144), .reported = mib(147456), .type = "HBM",
    .bandwidth = gb_per_s(4900)},
    .rates = {.fp32 = tflops(183), .tf32 = tflops(671), .fp16 = tflops(671), .bf16 = tflops(671), .fp8 = tflops(2517),
    .fp4 = tflops(2517), .sparsity = "yes"}, .links = {.scale_up = gb_per_s(2560), .scale_up_domain = 144},
    .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "cloud only", .confidence = "high", .sources = "NEURON;TT"}};

/// Every row above.
inline constexpr std::array all_aws{
    &trainium1_32gb, &inferentia2_32gb, &trainium2_96gb, &trainium3_144gb};

// clang-format on

}  // namespace llmres::inline v0::gpus
