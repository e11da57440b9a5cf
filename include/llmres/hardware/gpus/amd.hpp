// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/gpus.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/gpu.hpp>

// clang-format off

/// AMD's GPUs. `scale_up` is Infinity Fabric (xGMI). An MI250 or MI250X is the whole card, of which software sees two
/// halves. Rates are dense; a field left out is not published, and zero means that the part has no such unit.
/// docs/sources.md explains the conventions and the source tags.
namespace llmres::inline v0::gpus {

inline constexpr gpu mi50_16gb{.id = "mi50-16gb", .name = "Radeon Instinct MI50 16GB", .vendor = gpu_vendor::amd,
    .architecture = "GCN5.1 (Vega 20)", .target = "gfx906", .launch_year = 2018, .sm_count = 60, .cuda_cores = 3840,
    .tensor_cores = 0, .boost_clock = mhz(1725),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16368), .type = "HBM2", .bus_bits = 4096,
    .bandwidth = gb_per_s(1024)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(6.6), .fp64_tensor = tflops(0), .fp32 = tflops(13.3), .fp16_vector = tflops(26.5),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(53),
    .int4 = tflops(106), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 2,
    .scale_up = gb_per_s(184), .scale_up_domain = 4}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;WIKI;ROCM;RECALL(mib)"}};

inline constexpr gpu mi100_32gb{.id = "mi100-32gb", .name = "Instinct MI100", .vendor = gpu_vendor::amd,
    .architecture = "CDNA1", .target = "gfx908", .launch_year = 2020, .sm_count = 120, .cuda_cores = 7680,
    .tensor_cores = 480, .boost_clock = mhz(1502),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32752), .type = "HBM2", .bus_bits = 4096,
    .bandwidth = gb_per_s(1228.8)}, .l2_cache = mib(8),
    .rates = {.fp64 = tflops(11.5), .fp64_tensor = tflops(0), .fp32 = tflops(23.1), .fp16_vector = tflops(46.1),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(184.6), .fp16 = tflops(184.6), .bf16 = tflops(92.3),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(184.6),
    .int4 = tflops(184.6), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 3,
    .scale_up = gb_per_s(276), .scale_up_domain = 4}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "high", .sources = "TPU;LLMA;GPB;ROCM;RECALL(mib)"}};

inline constexpr gpu mi210_64gb{.id = "mi210-64gb", .name = "Instinct MI210", .vendor = gpu_vendor::amd,
    .architecture = "CDNA2", .target = "gfx90a", .launch_year = 2022, .sm_count = 104, .cuda_cores = 6656,
    .tensor_cores = 416, .boost_clock = mhz(1700),
    .memory = {.marketing = gb(64), .fitted = gib(64), .reported = mib(65520), .type = "HBM2e", .bus_bits = 4096,
    .bandwidth = gb_per_s(1638.4)}, .l2_cache = mib(8),
    .rates = {.fp64 = tflops(22.6), .fp64_tensor = tflops(45.3), .fp32 = tflops(22.6), .tf32 = tflops(0),
    .fp16_accumulate16 = tflops(181), .fp16 = tflops(181), .bf16 = tflops(181), .fp8_accumulate16 = tflops(0),
    .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(181), .int4 = tflops(181), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 3,
    .scale_up = gb_per_s(300), .scale_up_domain = 4}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "high", .sources = "TPU;WIKI;LLMA;ROCM"}};

inline constexpr gpu mi250_128gb{.id = "mi250-128gb", .name = "Instinct MI250 (2 GCDs)", .vendor = gpu_vendor::amd,
    .architecture = "CDNA2", .target = "gfx90a", .launch_year = 2021, .sm_count = 208, .cuda_cores = 13312,
    .tensor_cores = 832, .boost_clock = mhz(1700),
    .memory = {.marketing = gb(128), .fitted = gib(128), .reported = mib(131040), .type = "HBM2e", .bus_bits = 8192,
    .bandwidth = gb_per_s(3276.8)}, .l2_cache = mib(16),
    .rates = {.fp64 = tflops(45.3), .fp64_tensor = tflops(90.5), .fp32 = tflops(45.3), .tf32 = tflops(0),
    .fp16_accumulate16 = tflops(362.1), .fp16 = tflops(362.1), .bf16 = tflops(362.1), .fp8_accumulate16 = tflops(0),
    .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(362.1), .int4 = tflops(362.1),
    .sparsity = "no"},
    .board_power = watts(560), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 6,
    .scale_up = gb_per_s(600), .scale_up_domain = 4}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high", .sources = "TPU;STAS;ROCM;LLMA;WIKI"}};

inline constexpr gpu mi250x_128gb{.id = "mi250x-128gb", .name = "Instinct MI250X (2 GCDs)", .vendor = gpu_vendor::amd,
    .architecture = "CDNA2", .target = "gfx90a", .launch_year = 2021, .sm_count = 220, .cuda_cores = 14080,
    .tensor_cores = 880, .boost_clock = mhz(1700),
    .memory = {.marketing = gb(128), .fitted = gib(128), .reported = mib(131040), .cuda_visible = mib(131040),
    .type = "HBM2e", .bus_bits = 8192, .bandwidth = gb_per_s(3276.8)}, .l2_cache = mib(16),
    .rates = {.fp64 = tflops(47.9), .fp64_tensor = tflops(95.7), .fp32 = tflops(47.9), .tf32 = tflops(0),
    .fp16_accumulate16 = tflops(383), .fp16 = tflops(383), .bf16 = tflops(383), .fp8_accumulate16 = tflops(0),
    .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(383), .int4 = tflops(383), .sparsity = "no"},
    .board_power = watts(560), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 8,
    .scale_up = gb_per_s(800), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high", .sources = "TPU;STAS;TT;TORCH;ROCM;WIKI"}};

inline constexpr gpu mi300x_192gb{.id = "mi300x-192gb", .name = "Instinct MI300X", .vendor = gpu_vendor::amd,
    .architecture = "CDNA3", .target = "gfx942", .launch_year = 2023, .sm_count = 304, .cuda_cores = 19456,
    .tensor_cores = 1216, .boost_clock = mhz(2100),
    .memory = {.marketing = gb(192), .fitted = gib(192), .reported = mib(196592), .cuda_visible = mib(196592),
    .type = "HBM3", .bus_bits = 8192, .bandwidth = gb_per_s(5300)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(81.7), .fp64_tensor = tflops(163.4), .fp32 = tflops(163.4), .tf32 = tflops(653.7),
    .fp16_accumulate16 = tflops(1307.4), .fp16 = tflops(1307.4), .bf16 = tflops(1307.4),
    .fp8_accumulate16 = tflops(2614.9), .fp8 = tflops(2614.9), .fp6 = tflops(0), .fp4 = tflops(0),
    .int8 = tflops(2614.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(750), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 7,
    .scale_up = gb_per_s(896), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high",
    .sources = "STAS;TT;GENZ;ROCM;TORCH;AMDSPEC;CALC"}};

inline constexpr gpu mi300a_128gb{.id = "mi300a-128gb", .name = "Instinct MI300A (APU)", .vendor = gpu_vendor::amd,
    .architecture = "CDNA3", .target = "gfx942", .launch_year = 2023, .sm_count = 228, .cuda_cores = 14592,
    .tensor_cores = 912, .boost_clock = mhz(2100),
    .memory = {.marketing = gb(128), .fitted = gib(128), .type = "HBM3 unified", .bus_bits = 8192,
    .bandwidth = gb_per_s(5300)}, .l2_cache = mib(24),
    .rates = {.fp64 = tflops(61.3), .fp64_tensor = tflops(122.6), .fp32 = tflops(122.6), .tf32 = tflops(490.3),
    .fp16_accumulate16 = tflops(980.6), .fp16 = tflops(980.6), .bf16 = tflops(980.6),
    .fp8_accumulate16 = tflops(1961.2), .fp8 = tflops(1961.2), .fp6 = tflops(0), .fp4 = tflops(0),
    .int8 = tflops(1961.2), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(760), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 3,
    .scale_up = gb_per_s(768), .scale_up_domain = 4}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "SH5 socket APU", .confidence = "high", .sources = "VENG;ROCM;WIKI;EVOK"}};

inline constexpr gpu mi308x_192gb{.id = "mi308x-192gb", .name = "Instinct MI308X", .vendor = gpu_vendor::amd,
    .architecture = "CDNA3", .target = "gfx942", .launch_year = 2024, .sm_count = 80, .cuda_cores = 5120,
    .tensor_cores = 320,
    .memory = {.marketing = gb(192), .fitted = gib(192), .reported = mib(196592), .type = "HBM3", .bus_bits = 8192,
    .bandwidth = gb_per_s(5300)}, .l2_cache = mib(16),
    .rates = {.fp16_accumulate16 = tflops(206), .fp16 = tflops(206), .bf16 = tflops(206),
    .fp8_accumulate16 = tflops(412), .fp8 = tflops(412), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(412),
    .int4 = tflops(0), .sparsity = "no"},
    .board_power = watts(650), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 7,
    .scale_up = gb_per_s(896), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "low",
    .sources = "AMDSPEC;PYHIP(80 CU,192GiB,650W);RECALL"}};

inline constexpr gpu mi325x_256gb{.id = "mi325x-256gb", .name = "Instinct MI325X", .vendor = gpu_vendor::amd,
    .architecture = "CDNA3", .target = "gfx942", .launch_year = 2024, .sm_count = 304, .cuda_cores = 19456,
    .tensor_cores = 1216, .boost_clock = mhz(2100),
    .memory = {.marketing = gb(256), .fitted = gib(256), .reported = mib(262128), .type = "HBM3e", .bus_bits = 8192,
    .bandwidth = gb_per_s(6000)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(81.7), .fp64_tensor = tflops(163.4), .fp32 = tflops(163.4), .tf32 = tflops(653.7),
    .fp16_accumulate16 = tflops(1307.4), .fp16 = tflops(1307.4), .bf16 = tflops(1307.4),
    .fp8_accumulate16 = tflops(2614.9), .fp8 = tflops(2614.9), .fp6 = tflops(0), .fp4 = tflops(0),
    .int8 = tflops(2614.9), .int4 = tflops(0), .sparsity = "yes"},
    .board_power = watts(1000), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 7,
    .scale_up = gb_per_s(896), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high", .sources = "STAS;TT;GENZ;ROCM;RECALL(mib)"}};

inline constexpr gpu mi350x_288gb{.id = "mi350x-288gb", .name = "Instinct MI350X", .vendor = gpu_vendor::amd,
    .architecture = "CDNA4", .target = "gfx950", .launch_year = 2025, .sm_count = 256, .cuda_cores = 16384,
    .tensor_cores = 1024, .boost_clock = mhz(2200),
    .memory = {.marketing = gb(288), .fitted = gib(288), .reported = mib(294896), .type = "HBM3e", .bus_bits = 8192,
    .bandwidth = gb_per_s(8000)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(72.1), .fp64_tensor = tflops(72.1), .fp32 = tflops(144.2), .tf32 = tflops(0),
    .fp16_accumulate16 = tflops(2306.9), .fp16 = tflops(2306.9), .bf16 = tflops(2306.9),
    .fp8_accumulate16 = tflops(4613.7), .fp8 = tflops(4613.7), .fp6 = tflops(9227.5), .fp4 = tflops(9227.5),
    .int8 = tflops(4613.7), .int4 = tflops(0), .sparsity = "yes (fp16/bf16/fp8/int8; not fp6/fp4)"},
    .board_power = watts(1000), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 7,
    .scale_up = gb_per_s(1075), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high", .sources = "STAS;TPU;WIKI;CALC;RECALL(mib)"}};

inline constexpr gpu mi355x_288gb{.id = "mi355x-288gb", .name = "Instinct MI355X", .vendor = gpu_vendor::amd,
    .architecture = "CDNA4", .target = "gfx950", .launch_year = 2025, .sm_count = 256, .cuda_cores = 16384,
    .tensor_cores = 1024, .boost_clock = mhz(2400),
    .memory = {.marketing = gb(288), .fitted = gib(288), .reported = mib(294896), .type = "HBM3e", .bus_bits = 8192,
    .bandwidth = gb_per_s(8000)}, .l2_cache = mib(32),
    .rates = {.fp64 = tflops(78.6), .fp64_tensor = tflops(78.6), .fp32 = tflops(157.3), .tf32 = tflops(0),
    .fp16_accumulate16 = tflops(2516.6), .fp16 = tflops(2516.6), .bf16 = tflops(2516.6),
    .fp8_accumulate16 = tflops(5033.2), .fp8 = tflops(5033.2), .fp6 = tflops(10066.3), .fp4 = tflops(10066.3),
    .int8 = tflops(5033.2), .int4 = tflops(0), .sparsity = "yes (fp16/bf16/fp8/int8; not fp6/fp4)"},
    .board_power = watts(1400), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 7,
    .scale_up = gb_per_s(1075), .scale_up_domain = 8}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "OAM", .confidence = "high",
    .sources = "STAS;TT;TPU;WIKI;CALC;RECALL(mib)"}};

inline constexpr gpu rx_7900_xtx_24gb{.id = "rx-7900-xtx-24gb", .name = "Radeon RX 7900 XTX",
    .vendor = gpu_vendor::amd, .architecture = "RDNA3", .target = "gfx1100", .launch_year = 2022, .sm_count = 96,
    .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(2498),
    .memory = {.marketing = gb(24), .fitted = gib(24), .reported = mib(24560), .cuda_visible = mib(24560),
    .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(960)}, .l2_cache = mib(6),
    .rates = {.fp64 = tflops(1.92), .fp64_tensor = tflops(0), .fp32 = tflops(61.4), .fp16_vector = tflops(122.8),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(122.8), .fp16 = tflops(122.8), .bf16 = tflops(122.8),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(122.8),
    .int4 = tflops(245.6), .sparsity = "no"},
    .board_power = watts(355), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .launch_price = currency(999), .confidence = "high",
    .sources = "TPU;ROCM;TORCH;HF;MAG"}};

inline constexpr gpu rx_9070_xt_16gb{.id = "rx-9070-xt-16gb", .name = "Radeon RX 9070 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA4", .target = "gfx1201", .launch_year = 2025, .sm_count = 64, .cuda_cores = 4096,
    .tensor_cores = 128, .boost_clock = mhz(2970),
    .memory = {.marketing = gb(16), .fitted = gib(16), .reported = mib(16304), .cuda_visible = mib(16304),
    .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(640)}, .l2_cache = mib(8),
    .rates = {.fp64 = tflops(1.52), .fp64_tensor = tflops(0), .fp32 = tflops(48.7), .fp16_vector = tflops(97.3),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(194.6), .fp16 = tflops(194.6), .bf16 = tflops(194.6),
    .fp8_accumulate16 = tflops(389.3), .fp8 = tflops(389.3), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(389.3),
    .int4 = tflops(778.6), .sparsity = "yes"},
    .board_power = watts(304), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .launch_price = currency(599), .confidence = "medium",
    .sources = "TPU;TORCH;RECALL;RDNA4PROBE"}};

inline constexpr gpu radeon_pro_w7900_48gb{.id = "radeon-pro-w7900-48gb", .name = "Radeon PRO W7900",
    .vendor = gpu_vendor::amd, .architecture = "RDNA3", .target = "gfx1100", .launch_year = 2023, .sm_count = 96,
    .cuda_cores = 6144, .tensor_cores = 192, .boost_clock = mhz(2495),
    .memory = {.marketing = gb(48), .fitted = gib(48), .type = "GDDR6", .bus_bits = 384, .bandwidth = gb_per_s(864)},
    .l2_cache = mib(6),
    .rates = {.fp64 = tflops(1.92), .fp64_tensor = tflops(0), .fp32 = tflops(61.3), .fp16_vector = tflops(122.6),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(122.6), .fp16 = tflops(122.6), .bf16 = tflops(122.6),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(122.6),
    .int4 = tflops(245.3), .sparsity = "no"},
    .board_power = watts(295), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .launch_price = currency(3999), .confidence = "high",
    .sources = "TPU;ROCM;WIKI;CALC"}};

inline constexpr gpu radeon_ai_pro_r9700_32gb{.id = "radeon-ai-pro-r9700-32gb", .name = "Radeon AI PRO R9700",
    .vendor = gpu_vendor::amd, .architecture = "RDNA4", .target = "gfx1201", .launch_year = 2025, .sm_count = 64,
    .cuda_cores = 4096, .tensor_cores = 128, .boost_clock = mhz(2920),
    .memory = {.marketing = gb(32), .fitted = gib(32), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(640)},
    .l2_cache = mib(8),
    .rates = {.fp64 = tflops(1.5), .fp64_tensor = tflops(0), .fp32 = tflops(47.8), .fp16_vector = tflops(95.7),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(191.4), .fp16 = tflops(191.4), .bf16 = tflops(191.4),
    .fp8_accumulate16 = tflops(382.7), .fp8 = tflops(382.7), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(382.7),
    .int4 = tflops(765.5), .sparsity = "yes"},
    .board_power = watts(300), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "workstation PCIe", .launch_price = currency(1299),
    .confidence = "medium", .sources = "TPU;WIKI;CALC;RECALL"}};

inline constexpr gpu rx_6700_xt_12gb{.id = "rx-6700-xt-12gb", .name = "Radeon RX 6700 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA2", .target = "gfx1031", .launch_year = 2021, .sm_count = 40, .cuda_cores = 2560,
    .tensor_cores = 0, .boost_clock = mhz(2581),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(384)},
    .l2_cache = mib(3),
    .rates = {.fp64 = tflops(0.83), .fp64_tensor = tflops(0), .fp32 = tflops(13.21), .fp16_vector = tflops(26.43),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .sparsity = "no"},
    .board_power = watts(230), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_6800_16gb{.id = "rx-6800-16gb", .name = "Radeon RX 6800", .vendor = gpu_vendor::amd,
    .architecture = "RDNA2", .target = "gfx1030", .launch_year = 2020, .sm_count = 60, .cuda_cores = 3840,
    .tensor_cores = 0, .boost_clock = mhz(2105),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(512)},
    .l2_cache = mib(4),
    .rates = {.fp64 = tflops(1.01), .fp64_tensor = tflops(0), .fp32 = tflops(16.17), .fp16_vector = tflops(32.33),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .sparsity = "no"},
    .board_power = watts(250), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_6800_xt_16gb{.id = "rx-6800-xt-16gb", .name = "Radeon RX 6800 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA2", .target = "gfx1030", .launch_year = 2020, .sm_count = 72, .cuda_cores = 4608,
    .tensor_cores = 0, .boost_clock = mhz(2250),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(512)},
    .l2_cache = mib(4),
    .rates = {.fp64 = tflops(1.3), .fp64_tensor = tflops(0), .fp32 = tflops(20.74), .fp16_vector = tflops(41.47),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_6900_xt_16gb{.id = "rx-6900-xt-16gb", .name = "Radeon RX 6900 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA2", .target = "gfx1030", .launch_year = 2020, .sm_count = 80, .cuda_cores = 5120,
    .tensor_cores = 0, .boost_clock = mhz(2250),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(512)},
    .l2_cache = mib(4),
    .rates = {.fp64 = tflops(1.44), .fp64_tensor = tflops(0), .fp32 = tflops(23.04), .fp16_vector = tflops(46.08),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_7600_xt_16gb{.id = "rx-7600-xt-16gb", .name = "Radeon RX 7600 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA3", .target = "gfx1102", .launch_year = 2024, .sm_count = 32, .cuda_cores = 2048,
    .tensor_cores = 64, .boost_clock = mhz(2755),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(288)},
    .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.71), .fp64_tensor = tflops(0), .fp32 = tflops(22.57), .fp16_vector = tflops(45.14),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(45.14), .fp16 = tflops(45.14), .bf16 = tflops(45.14),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(45.14),
    .int4 = tflops(90.28), .sparsity = "no"},
    .board_power = watts(190), .links = {.pcie_generation = 4, .pcie_lanes = 8, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_7700_xt_12gb{.id = "rx-7700-xt-12gb", .name = "Radeon RX 7700 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA3", .target = "gfx1101", .launch_year = 2023, .sm_count = 54, .cuda_cores = 3456,
    .tensor_cores = 108, .boost_clock = mhz(2544),
    .memory = {.marketing = gb(12), .fitted = gib(12), .type = "GDDR6", .bus_bits = 192, .bandwidth = gb_per_s(432)},
    .l2_cache = mib(2),
    .rates = {.fp64 = tflops(1.1), .fp64_tensor = tflops(0), .fp32 = tflops(35.17), .fp16_vector = tflops(70.34),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(70.34), .fp16 = tflops(70.34), .bf16 = tflops(70.34),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(70.34),
    .int4 = tflops(140.7), .sparsity = "no"},
    .board_power = watts(245), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_7800_xt_16gb{.id = "rx-7800-xt-16gb", .name = "Radeon RX 7800 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA3", .target = "gfx1101", .launch_year = 2023, .sm_count = 60, .cuda_cores = 3840,
    .tensor_cores = 120, .boost_clock = mhz(2430),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(624.1)},
    .l2_cache = mib(4),
    .rates = {.fp64 = tflops(1.17), .fp64_tensor = tflops(0), .fp32 = tflops(37.32), .fp16_vector = tflops(74.65),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(74.65), .fp16 = tflops(74.65), .bf16 = tflops(74.65),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(74.65),
    .int4 = tflops(149.3), .sparsity = "no"},
    .board_power = watts(263), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_7900_gre_16gb{.id = "rx-7900-gre-16gb", .name = "Radeon RX 7900 GRE",
    .vendor = gpu_vendor::amd, .architecture = "RDNA3", .target = "gfx1100", .launch_year = 2023, .sm_count = 80,
    .cuda_cores = 5120, .tensor_cores = 160, .boost_clock = mhz(2245),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(576)},
    .l2_cache = mib(6),
    .rates = {.fp64 = tflops(1.44), .fp64_tensor = tflops(0), .fp32 = tflops(45.98), .fp16_vector = tflops(91.96),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(91.96), .fp16 = tflops(91.96), .bf16 = tflops(91.96),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(91.96),
    .int4 = tflops(183.9), .sparsity = "no"},
    .board_power = watts(260), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_7900_xt_20gb{.id = "rx-7900-xt-20gb", .name = "Radeon RX 7900 XT", .vendor = gpu_vendor::amd,
    .architecture = "RDNA3", .target = "gfx1100", .launch_year = 2022, .sm_count = 84, .cuda_cores = 5376,
    .tensor_cores = 168, .boost_clock = mhz(2394),
    .memory = {.marketing = gb(20), .fitted = gib(20), .type = "GDDR6", .bus_bits = 320, .bandwidth = gb_per_s(800)},
    .l2_cache = mib(6),
    .rates = {.fp64 = tflops(1.61), .fp64_tensor = tflops(0), .fp32 = tflops(51.48), .fp16_vector = tflops(103),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(103), .fp16 = tflops(103), .bf16 = tflops(103),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(103),
    .int4 = tflops(205.9), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_9060_xt_16gb{.id = "rx-9060-xt-16gb", .name = "Radeon RX 9060 XT 16GB",
    .vendor = gpu_vendor::amd, .architecture = "RDNA4", .target = "gfx1200", .launch_year = 2025, .sm_count = 32,
    .cuda_cores = 2048, .tensor_cores = 64, .boost_clock = mhz(3130),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 128, .bandwidth = gb_per_s(322.3)},
    .l2_cache = mib(4),
    .rates = {.fp64 = tflops(0.8), .fp64_tensor = tflops(0), .fp32 = tflops(25.64), .fp16_vector = tflops(51.28),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(102.6), .fp16 = tflops(102.6), .bf16 = tflops(102.6),
    .fp8_accumulate16 = tflops(205.1), .fp8 = tflops(205.1), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(205.1),
    .int4 = tflops(410.3), .sparsity = "yes"},
    .board_power = watts(160), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu rx_9070_16gb{.id = "rx-9070-16gb", .name = "Radeon RX 9070", .vendor = gpu_vendor::amd,
    .architecture = "RDNA4", .target = "gfx1201", .launch_year = 2025, .sm_count = 56, .cuda_cores = 3584,
    .tensor_cores = 112, .boost_clock = mhz(2520),
    .memory = {.marketing = gb(16), .fitted = gib(16), .type = "GDDR6", .bus_bits = 256, .bandwidth = gb_per_s(644.6)},
    .l2_cache = mib(8),
    .rates = {.fp64 = tflops(1.13), .fp64_tensor = tflops(0), .fp32 = tflops(36.13), .fp16_vector = tflops(72.25),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(144.5), .fp16 = tflops(144.5), .bf16 = tflops(144.5),
    .fp8_accumulate16 = tflops(289), .fp8 = tflops(289), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(289),
    .int4 = tflops(578), .sparsity = "yes"},
    .board_power = watts(220), .links = {.pcie_generation = 5, .pcie_lanes = 16, .scale_up_links = 0,
    .scale_up = gb_per_s(0), .scale_up_domain = 1}, .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;CALC"}};

inline constexpr gpu mi50_32gb{.id = "mi50-32gb", .name = "Radeon Instinct MI50 32GB", .vendor = gpu_vendor::amd,
    .architecture = "GCN5.1 (Vega 20)", .target = "gfx906", .launch_year = 2018, .sm_count = 60, .cuda_cores = 3840,
    .tensor_cores = 0, .boost_clock = mhz(1725),
    .memory = {.marketing = gb(32), .fitted = gib(32), .reported = mib(32752), .type = "HBM2", .bus_bits = 4096,
    .bandwidth = gb_per_s(1024)}, .l2_cache = mib(4),
    .rates = {.fp64 = tflops(6.6), .fp64_tensor = tflops(0), .fp32 = tflops(13.3), .fp16_vector = tflops(26.5),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(0), .fp16 = tflops(0), .bf16 = tflops(0),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(53),
    .int4 = tflops(106), .sparsity = "no"},
    .board_power = watts(300), .links = {.pcie_generation = 4, .pcie_lanes = 16, .scale_up_links = 2,
    .scale_up = gb_per_s(184), .scale_up_domain = 4}, .mig_instances = 0,
    .listing = {.ecc = "yes", .form_factor = "PCIe", .confidence = "medium", .sources = "TPU;ROCM;CALC"}};

/// hipDeviceProp_t.totalGlobalMem is 122,880 MiB where the host is set to give the GPU as much as it can spare (a pull
/// request of 1bit-MONSTER, 833). Linux gives half of the memory (63,968 MiB of GTT) unless ttm.pages_limit says more,
/// Windows at most 96 GiB: say so with `cluster.gpu_memory`.
inline constexpr gpu ryzen_ai_max_395{.id = "ryzen-ai-max-395", .name = "Ryzen AI Max+ 395 (Radeon 8060S)",
    .vendor = gpu_vendor::amd, .architecture = "RDNA3.5 (Strix Halo)", .target = "gfx1151", .launch_year = 2025,
    .sm_count = 40, .cuda_cores = 2560, .tensor_cores = 80, .boost_clock = mhz(2900),
    .memory = {.marketing = gb(128), .fitted = gib(128), .cuda_visible = mib(122880), .type = "LPDDR5X unified",
    .bus_bits = 256, .bandwidth = gb_per_s(256)}, .l2_cache = mib(2),
    .rates = {.fp64 = tflops(0.46), .fp64_tensor = tflops(0), .fp32 = tflops(29.7), .fp16_vector = tflops(59.4),
    .tf32 = tflops(0), .fp16_accumulate16 = tflops(59.4), .fp16 = tflops(59.4), .bf16 = tflops(59.4),
    .fp8_accumulate16 = tflops(0), .fp8 = tflops(0), .fp6 = tflops(0), .fp4 = tflops(0), .int8 = tflops(59.4),
    .int4 = tflops(118.8), .sparsity = "no"},
    .board_power = watts(120), .links = {.scale_up_links = 0, .scale_up = gb_per_s(0), .scale_up_domain = 1},
    .mig_instances = 0,
    .listing = {.ecc = "no", .form_factor = "SoC", .confidence = "medium",
    .sources = "TPU;LLMTRACKER(59.4 peak, 212 GB/s measured)"}};

/// Announced, "up to"; whether rates are dense and links count both directions is not said.
inline constexpr gpu mi455x_432gb{.id = "mi455x-432gb", .name = "Instinct MI455X", .vendor = gpu_vendor::amd,
    .architecture = "CDNA5", .launch_year = 2026,
    .memory = {.marketing = gb(432), .fitted = gib(432), .type = "HBM4", .bandwidth = gb_per_s(19600)},
    .rates = {.fp16 = tflops(10000), .bf16 = tflops(10000), .fp8_accumulate16 = tflops(20000), .fp8 = tflops(20000),
    .fp4 = tflops(40000)}, .links = {.scale_up = gb_per_s(3600), .scale_up_domain = 72},
    .listing = {.ecc = "yes", .form_factor = "Helios rack", .confidence = "medium",
    .sources = "PAGES(awesomeagents.ai/hardware/amd-mi455x; pcmasters.de; cloudnews.tech)"}};

/// Every row above.
inline constexpr std::array all_amd{
    &mi50_16gb, &mi100_32gb, &mi210_64gb, &mi250_128gb, &mi250x_128gb, &mi300x_192gb, &mi300a_128gb, &mi308x_192gb,
    &mi325x_256gb, &mi350x_288gb, &mi355x_288gb, &rx_7900_xtx_24gb, &rx_9070_xt_16gb, &radeon_pro_w7900_48gb,
    &radeon_ai_pro_r9700_32gb, &rx_6700_xt_12gb, &rx_6800_16gb, &rx_6800_xt_16gb, &rx_6900_xt_16gb, &rx_7600_xt_16gb,
    &rx_7700_xt_12gb, &rx_7800_xt_16gb, &rx_7900_gre_16gb, &rx_7900_xt_20gb, &rx_9060_xt_16gb, &rx_9070_16gb,
    &mi50_32gb, &ryzen_ai_max_395, &mi455x_432gb};

// clang-format on

}  // namespace llmres::inline v0::gpus
