// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/error.hpp>
#include <llmres/gpu.hpp>
#include <llmres/interconnect.hpp>
#include <llmres/nearest.hpp>
#include <llmres/text.hpp>
#include <string_view>

// A row is laid out as its datasheet.
// clang-format off

/// Links as published and as measured. What is not known is left out. Where a source prints a range, the field holds
/// its middle and the comment beside it the range; where it prints several figures, the field holds the first, which
/// is that of the whole domain. docs/sources.md explains the source tags.
namespace llmres::links {

// ---- PCI Express: per direction after line coding; 80 to 88 % of it reaches the payload of large copies ------------

inline constexpr link pcie_gen3_x1{
    .id = "pcie-gen3-x1", .kind = link_kind::pcie, .generation = "3", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(0.985), .both_directions = gb_per_s(1.97), .achievable = 0.8,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x2{
    .id = "pcie-gen3-x2", .kind = link_kind::pcie, .generation = "3", .lanes = 2, .topology = link_topology::bus,
    .raw = gb_per_s(1.969), .both_directions = gb_per_s(3.938), .achievable = 0.8,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x4{
    .id = "pcie-gen3-x4", .kind = link_kind::pcie, .generation = "3", .lanes = 4, .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.8,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x8{
    .id = "pcie-gen3-x8", .kind = link_kind::pcie, .generation = "3", .lanes = 8, .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.8,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x16{
    .id = "pcie-gen3-x16", .kind = link_kind::pcie, .generation = "3", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.8,
    .latency = microseconds(1.45),  // 1.0-1.9 P2P (no switch)
    .all_reduce = gb_per_s(10),  // 9-11 (8 GPU ring)
    .scope = "GPU<->host or P2P", .confidence = "high",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

inline constexpr link pcie_gen4_x1{
    .id = "pcie-gen4-x1", .kind = link_kind::pcie, .generation = "4", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(1.969), .both_directions = gb_per_s(3.938), .achievable = 0.82,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x2{
    .id = "pcie-gen4-x2", .kind = link_kind::pcie, .generation = "4", .lanes = 2, .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.82,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x4{
    .id = "pcie-gen4-x4", .kind = link_kind::pcie, .generation = "4", .lanes = 4, .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.82,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x8{
    .id = "pcie-gen4-x8", .kind = link_kind::pcie, .generation = "4", .lanes = 8, .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.82,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x16{
    .id = "pcie-gen4-x16", .kind = link_kind::pcie, .generation = "4", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(31.508), .both_directions = gb_per_s(63.016), .achievable = 0.82,
    .latency = microseconds(1.15),  // 0.8-1.5
    .all_reduce = gb_per_s(23),  // 20-26 well-placed; 1.4-5 cross-socket without P2P
    .scope = "GPU<->host or P2P", .confidence = "high",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

inline constexpr link pcie_gen5_x1{
    .id = "pcie-gen5-x1", .kind = link_kind::pcie, .generation = "5", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.88,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x2{
    .id = "pcie-gen5-x2", .kind = link_kind::pcie, .generation = "5", .lanes = 2, .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.88,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x4{
    .id = "pcie-gen5-x4", .kind = link_kind::pcie, .generation = "5", .lanes = 4, .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.88,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x8{
    .id = "pcie-gen5-x8", .kind = link_kind::pcie, .generation = "5", .lanes = 8, .topology = link_topology::bus,
    .raw = gb_per_s(31.508), .both_directions = gb_per_s(63.016), .achievable = 0.88,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x16{
    .id = "pcie-gen5-x16", .kind = link_kind::pcie, .generation = "5", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(63.015), .both_directions = gb_per_s(126.03), .achievable = 0.88,
    .latency = microseconds(1),  // 0.7-1.3; P2P kernel read 4.1 (p2pmark)
    .all_reduce = gb_per_s(24.7),  // 24.7 (8x RTX PRO 6000), 28 (8x 5090), 35 (4x 5090)
    .scope = "GPU<->host or P2P", .confidence = "high",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

inline constexpr link pcie_gen6_x1{
    .id = "pcie-gen6-x1", .kind = link_kind::pcie, .generation = "6", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(7.562), .both_directions = gb_per_s(15.124), .achievable = 0.87,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x2{
    .id = "pcie-gen6-x2", .kind = link_kind::pcie, .generation = "6", .lanes = 2, .topology = link_topology::bus,
    .raw = gb_per_s(15.125), .both_directions = gb_per_s(30.25), .achievable = 0.87,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x4{
    .id = "pcie-gen6-x4", .kind = link_kind::pcie, .generation = "6", .lanes = 4, .topology = link_topology::bus,
    .raw = gb_per_s(30.25), .both_directions = gb_per_s(60.5), .achievable = 0.87,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x8{
    .id = "pcie-gen6-x8", .kind = link_kind::pcie, .generation = "6", .lanes = 8, .topology = link_topology::bus,
    .raw = gb_per_s(60.5), .both_directions = gb_per_s(121), .achievable = 0.87,
    .scope = "GPU<->host or P2P", .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x16{
    .id = "pcie-gen6-x16", .kind = link_kind::pcie, .generation = "6", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(121), .both_directions = gb_per_s(242), .achievable = 0.87,
    .latency = microseconds(1),  // 0.7-1.3
    .scope = "GPU<->host or P2P", .confidence = "medium",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

// ---- NVLink and NVSwitch, one GPU ----------------------------------------------------------------------------------

inline constexpr link nvlink1_p100_sxm2{
    .id = "nvlink1-p100-sxm2", .kind = link_kind::nvlink, .generation = "1", .lanes = 4,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(80), .both_directions = gb_per_s(160), .achievable = 0.9,
    .latency = microseconds(1.8),  // ~1.8
    .scope = "DGX-1P hybrid cube mesh", .confidence = "high", .sources = "STAS;NCCL"};

inline constexpr link nvlink2_v100_sxm2{
    .id = "nvlink2-v100-sxm2", .kind = link_kind::nvlink, .generation = "2", .lanes = 6,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(150), .both_directions = gb_per_s(300), .achievable = 0.8,
    .latency = microseconds(1.8),  // ~1.8
    .all_reduce = gb_per_s(130),  // ~130 (8 GPU ring, recalled)
    .scope = "DGX-1V cube mesh / DGX-2 NVSwitch", .confidence = "high", .sources = "STAS;NCCL;RECALL"};

inline constexpr link nvlink2_bridge_2080ti_rtx6000{
    .id = "nvlink2-bridge-2080ti-rtx6000", .kind = link_kind::nvlink, .generation = "2", .lanes = 2,
    .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.93,
    .latency = microseconds(1.8),  // ~1.8
    .scope = "2 GPUs", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link nvlink2_bridge_gv100{
    .id = "nvlink2-bridge-gv100", .kind = link_kind::nvlink, .generation = "2", .lanes = 4,
    .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.9,
    .latency = microseconds(1.8),  // ~1.8
    .scope = "2 GPUs", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link nvlink3_bridge_rtx3090_a6000_a40{
    .id = "nvlink3-bridge-rtx3090-a6000-a40", .kind = link_kind::nvlink, .generation = "3", .lanes = 4,
    .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(56.25), .both_directions = gb_per_s(112.5), .achievable = 0.93,
    .latency = microseconds(1.5),  // ~1.5
    .all_reduce = gb_per_s(45.5),  // ~43-48 (2 GPU; recalled)
    .scope = "2 GPUs", .confidence = "high", .sources = "HFDOC(GA102 whitepaper quote);NCCL;LLMA"};

inline constexpr link nvlink3_bridge_a30{
    .id = "nvlink3-bridge-a30", .kind = link_kind::nvlink, .generation = "3", .lanes = 4,
    .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.9,
    .latency = microseconds(1.5),  // ~1.5
    .scope = "2 GPUs", .confidence = "high", .sources = "ARTHUR"};

inline constexpr link nvlink3_bridge_a100_pcie{
    .id = "nvlink3-bridge-a100-pcie", .kind = link_kind::nvlink, .generation = "3", .lanes = 12,
    .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(300), .both_directions = gb_per_s(600), .achievable = 0.9,
    .latency = microseconds(1.5),  // ~1.5
    .scope = "2 GPUs", .confidence = "high", .sources = "TPU;RECALL"};

inline constexpr link nvlink3_a100_sxm4{
    .id = "nvlink3-a100-sxm4", .kind = link_kind::nvlink, .generation = "3", .lanes = 12,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(300), .both_directions = gb_per_s(600), .achievable = 0.92,
    .latency = microseconds(2.25),  // 2.0-2.5 p2p write
    .all_reduce = gb_per_s(228.5),  // 222-235 (8 GPU); 217 (4); 193 (2)
    .scope = "8 via NVSwitch gen2", .confidence = "high", .sources = "STAS(measured);NVBW;AIC-NCCL;NCCL"};

inline constexpr link nvlink3_a800{
    .id = "nvlink3-a800", .kind = link_kind::nvlink, .generation = "3", .lanes = 8,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(200), .both_directions = gb_per_s(400), .achievable = 0.92,
    .latency = microseconds(2.25),  // 2.0-2.5
    .all_reduce = gb_per_s(160),  // ~160 (8 GPU)
    .scope = "8 via NVSwitch", .confidence = "high", .sources = "ARTHUR;NCCL412"};

inline constexpr link nvlink4_h100_sxm5{
    .id = "nvlink4-h100-sxm5", .kind = link_kind::nvlink, .generation = "4", .lanes = 18,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.83,
    .latency = microseconds(2.25),  // 2.0-2.5
    .all_reduce = gb_per_s(463.5),  // 445-482 (8 GPU NVLS); 349 (4); 330-368 (8 ring); AG/RS 335
    .scope = "8 via NVSwitch gen3", .confidence = "high",
    .sources = "STAS(measured);AIC-NCCL;NCCLT290;NCCL1374;NCCL1221"};

inline constexpr link nvlink4_h200_sxm5{
    .id = "nvlink4-h200-sxm5", .kind = link_kind::nvlink, .generation = "4", .lanes = 18,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.83,
    .latency = microseconds(2.25),  // 2.0-2.5
    .all_reduce = gb_per_s(470.5),  // 459-482 (8 GPU NVLS @0.5-16 GiB); 368 ring
    .scope = "8 via NVSwitch gen3", .confidence = "high", .sources = "STAS(measured);AIC-NCCL"};

inline constexpr link nvlink4_h20{
    .id = "nvlink4-h20", .kind = link_kind::nvlink, .generation = "4", .lanes = 18,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.83,
    .latency = microseconds(2.25),  // 2.0-2.5
    .all_reduce = gb_per_s(465),  // ~450-480
    .scope = "8 via NVSwitch", .confidence = "high", .sources = "ARTHUR;NCCL1244"};

inline constexpr link nvlink4_h800{
    .id = "nvlink4-h800", .kind = link_kind::nvlink, .generation = "4", .lanes = 8,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(200), .both_directions = gb_per_s(400), .achievable = 0.83,
    .latency = microseconds(2.25),  // 2.0-2.5
    .all_reduce = gb_per_s(215),  // 215 (8 GPU NVLS)
    .scope = "8 via NVSwitch", .confidence = "high", .sources = "NCCL1374;DEEPEP"};

inline constexpr link nvlink4_bridge_h100_pcie_nvl{
    .id = "nvlink4-bridge-h100-pcie-nvl", .kind = link_kind::nvlink, .generation = "4", .lanes = 12,
    .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(300), .both_directions = gb_per_s(600), .achievable = 0.85,
    .latency = microseconds(2),  // ~2
    .scope = "2 GPUs", .confidence = "high", .sources = "STAS;RECALL"};

inline constexpr link nvlink4_bridge_h200_nvl{
    .id = "nvlink4-bridge-h200-nvl", .kind = link_kind::nvlink, .generation = "4", .lanes = 18,
    .topology = link_topology::bridge, .members = 4,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.85,
    .latency = microseconds(2),  // ~2
    .scope = "2 or 4 GPUs", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link nvlink5_b200_hgx{
    .id = "nvlink5-b200-hgx", .kind = link_kind::nvlink, .generation = "5", .lanes = 18,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(900), .both_directions = gb_per_s(1800), .achievable = 0.83,
    .latency = microseconds(2.5),  // 2-3
    .all_reduce = gb_per_s(702),  // 700-704 (8 GPU @512 MiB), 740 @4 GiB, 846 @16 GiB; AG/RS 611-620; a2a 563
    .scope = "8 via NVSwitch gen4", .confidence = "high", .sources = "STAS(measured);AIC-NCCL;DEEPEP"};

inline constexpr link nvlink5_nvl72_gb200{
    .id = "nvlink5-nvl72-gb200", .kind = link_kind::nvlink, .generation = "5", .lanes = 18,
    .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(900), .both_directions = gb_per_s(1800), .achievable = 0.83,
    .latency = microseconds(2.5),  // 2-3
    .all_reduce = gb_per_s(628),  // 628 (4 GPU tray @512 MiB); NVLS at 72: ~800+ (recalled)
    .scope = "72 GPUs", .confidence = "high", .sources = "STAS(measured p2p 747);AIC-NCCL"};

inline constexpr link nvlink5_nvl72_gb300{
    .id = "nvlink5-nvl72-gb300", .kind = link_kind::nvlink, .generation = "5", .lanes = 18,
    .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(900), .both_directions = gb_per_s(1800), .achievable = 0.83,
    .latency = microseconds(2.5),  // 2-3
    .all_reduce = gb_per_s(635),  // 635 (4 GPU tray @512 MiB)
    .scope = "72 GPUs", .confidence = "high", .sources = "AIC-NCCL"};

inline constexpr link nvlink6_rubin{
    .id = "nvlink6-rubin", .kind = link_kind::nvlink, .generation = "6", .lanes = 36,
    .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(1800), .both_directions = gb_per_s(3600),
    .scope = "72 GPUs", .confidence = "medium", .sources = "STAS"};

// ---- Grace CPU to its GPU ------------------------------------------------------------------------------------------

inline constexpr link nvlink_c2c_grace_hopper{
    .id = "nvlink-c2c-grace-hopper", .kind = link_kind::c2c, .generation = "C2C", .topology = link_topology::bus,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.8,
    .latency = microseconds(0.8),  // 0.6-1.0
    .scope = "CPU<->GPU", .confidence = "medium", .sources = "STAS"};

inline constexpr link nvlink_c2c_grace_blackwell{
    .id = "nvlink-c2c-grace-blackwell", .kind = link_kind::c2c, .generation = "C2C",
    .topology = link_topology::bus,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.82,
    .latency = microseconds(0.8),  // 0.6-1.0
    .scope = "CPU<->GPU", .confidence = "medium", .sources = "STAS"};

// ---- AMD Infinity Fabric: one link for each pair of GPUs -----------------------------------------------------------

inline constexpr link xgmi_mi100{
    .id = "xgmi-mi100", .kind = link_kind::xgmi, .generation = "2", .lanes = 3,
    .topology = link_topology::mesh, .members = 4,
    .raw = gb_per_s(138), .both_directions = gb_per_s(276), .achievable = 0.85,
    .scope = "4 GPUs", .confidence = "medium", .sources = "LLMA;RECALL"};

inline constexpr link xgmi_mi210_bridge{
    .id = "xgmi-mi210-bridge", .kind = link_kind::xgmi, .generation = "3", .lanes = 3,
    .topology = link_topology::mesh, .members = 4,
    .raw = gb_per_s(150), .both_directions = gb_per_s(300), .achievable = 0.85,
    .scope = "2-4 GPUs", .confidence = "medium", .sources = "LLMA;RECALL"};

inline constexpr link xgmi_mi250x{
    .id = "xgmi-mi250x", .kind = link_kind::xgmi, .generation = "3", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(350), .both_directions = gb_per_s(700), .achievable = 0.8,
    .scope = "8 OAM (16 GCD)", .confidence = "medium", .sources = "STAS"};

inline constexpr link xgmi_mi300x{
    .id = "xgmi-mi300x", .kind = link_kind::xgmi, .generation = "4", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(448), .both_directions = gb_per_s(896), .achievable = 0.8,
    .latency = microseconds(2.5),  // ~2-3
    .all_reduce = gb_per_s(313),  // 313 (8 GPU @4 GiB); 47.7 (2 GPU)
    .scope = "8 full mesh", .confidence = "high", .sources = "STAS(measured)"};

inline constexpr link xgmi_mi325x{
    .id = "xgmi-mi325x", .kind = link_kind::xgmi, .generation = "4", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(448), .both_directions = gb_per_s(896), .achievable = 0.8,
    .latency = microseconds(2.5),  // ~2-3
    .all_reduce = gb_per_s(313),  // ~313
    .scope = "8 full mesh", .confidence = "high", .sources = "STAS"};

inline constexpr link xgmi_mi350x_mi355x{
    .id = "xgmi-mi350x-mi355x", .kind = link_kind::xgmi, .generation = "4", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(537.6), .both_directions = gb_per_s(1075.2), .achievable = 0.8,
    .latency = microseconds(2.5),  // ~2-3
    .scope = "8 full mesh", .confidence = "high", .sources = "STAS;CALC"};

// ---- UALink --------------------------------------------------------------------------------------------------------

inline constexpr link mi455x_ualink{
    .id = "mi455x-ualink", .kind = link_kind::ualink, .generation = "1",
    .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(1800), .both_directions = gb_per_s(3600),
    .scope = "72", .confidence = "medium", .sources = "STAS"};

inline constexpr link ualink_200g_x4{
    .id = "ualink-200g-x4", .kind = link_kind::ualink, .generation = "1", .lanes = 4,
    .topology = link_topology::switched, .members = 1024,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200),
    // latency: <1 target
    .scope = "up to 1024", .confidence = "recalled", .sources = "RECALL"};

// ---- Intel Gaudi: Ethernet ports of the accelerator itself ---------------------------------------------------------

inline constexpr link gaudi2_roce_scaleup{
    .id = "gaudi2-roce-scaleup", .kind = link_kind::roce, .generation = "1", .lanes = 21,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(262.5), .both_directions = gb_per_s(525), .achievable = 0.95,
    .latency = microseconds(5),  // ~5
    .all_reduce = gb_per_s(250),  // ~250
    .scope = "8 full mesh", .confidence = "high", .sources = "STAS"};

inline constexpr link gaudi3_roce_scaleup{
    .id = "gaudi3-roce-scaleup", .kind = link_kind::roce, .generation = "1", .lanes = 21,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(525), .both_directions = gb_per_s(1050), .achievable = 0.97,
    .latency = microseconds(5),  // ~5
    .all_reduce = gb_per_s(513),  // 513 NW bandwidth (293 algbw @256 MB, 8 cards)
    .scope = "8 full mesh", .confidence = "high", .sources = "HABANA;STAS"};

// ---- Google TPU, a chip --------------------------------------------------------------------------------------------

inline constexpr link ici_tpu_v4{
    .id = "ici-tpu-v4", .kind = link_kind::ici, .generation = "4", .lanes = 6,
    .topology = link_topology::torus, .members = 4096,
    .raw = gb_per_s(270), .both_directions = gb_per_s(540), .achievable = 0.95,
    .latency = microseconds(1),  // ~1 per hop
    .scope = "4096 3D torus", .confidence = "high", .sources = "JAXBOOK"};

inline constexpr link ici_tpu_v5e{
    .id = "ici-tpu-v5e", .kind = link_kind::ici, .generation = "5", .lanes = 4,
    .topology = link_topology::torus, .members = 256,
    .raw = gb_per_s(200), .both_directions = gb_per_s(400), .achievable = 0.9,
    .latency = microseconds(1),  // ~1 per hop
    .scope = "256 2D torus", .confidence = "high", .sources = "GCP;JAXBOOK"};

inline constexpr link ici_tpu_v5p{
    .id = "ici-tpu-v5p", .kind = link_kind::ici, .generation = "5", .lanes = 6,
    .topology = link_topology::torus, .members = 8960,
    .raw = gb_per_s(600), .both_directions = gb_per_s(1200), .achievable = 0.9,
    .latency = microseconds(1),  // ~1 per hop
    .scope = "8960 3D torus", .confidence = "high", .sources = "GCP;JAXBOOK"};

inline constexpr link ici_tpu_v6e{
    .id = "ici-tpu-v6e", .kind = link_kind::ici, .generation = "6", .lanes = 4,
    .topology = link_topology::torus, .members = 256,
    .raw = gb_per_s(400), .both_directions = gb_per_s(800), .achievable = 0.9,
    .latency = microseconds(1),  // ~1 per hop
    .scope = "256 2D torus", .confidence = "high", .sources = "GCP;JAXBOOK"};

inline constexpr link ici_tpu_v7{
    .id = "ici-tpu-v7", .kind = link_kind::ici, .generation = "7", .lanes = 6,
    .topology = link_topology::torus, .members = 9216,
    .raw = gb_per_s(600), .both_directions = gb_per_s(1200),
    .latency = microseconds(1),  // ~1 per hop
    .scope = "9216 3D torus", .confidence = "high", .sources = "STAS"};

// ---- AWS Trainium, a chip ------------------------------------------------------------------------------------------

inline constexpr link neuronlink_v2_trn1{
    .id = "neuronlink-v2-trn1", .kind = link_kind::neuronlink, .generation = "2", .lanes = 4,
    .topology = link_topology::torus, .members = 16,
    .raw = gb_per_s(192), .both_directions = gb_per_s(384),
    .scope = "16", .confidence = "medium", .sources = "NEURON"};

inline constexpr link neuronlink_v3_trn2{
    .id = "neuronlink-v3-trn2", .kind = link_kind::neuronlink, .generation = "3",
    .topology = link_topology::torus, .members = 64,
    .raw = gb_per_s(640), .both_directions = gb_per_s(1280),
    .scope = "16 / 64", .confidence = "high", .sources = "NEURON;STAS"};

inline constexpr link neuronlink_v4_trn3{
    .id = "neuronlink-v4-trn3", .kind = link_kind::neuronlink, .generation = "4",
    .topology = link_topology::switched, .members = 144,
    .raw = gb_per_s(1280), .both_directions = gb_per_s(2560),
    .scope = "64 / 144 switched", .confidence = "medium", .sources = "NEURON"};

// ---- Huawei Ascend -------------------------------------------------------------------------------------------------

inline constexpr link hccs_ascend_910b{
    .id = "hccs-ascend-910b", .kind = link_kind::hccs, .generation = "2", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(196), .both_directions = gb_per_s(392), .achievable = 0.85,
    .scope = "8 full mesh", .confidence = "medium", .sources = "ARTHUR;ASCSIM"};

inline constexpr link ub_ascend_910c{
    .id = "ub-ascend-910c", .kind = link_kind::hccs, .generation = "3",
    .topology = link_topology::switched, .members = 384,
    .raw = gb_per_s(392), .both_directions = gb_per_s(784),
    .scope = "384 CloudMatrix", .confidence = "low", .sources = "BESTHUB;EVOK;RECALL"};

inline constexpr link ub_ascend_950dt{
    .id = "ub-ascend-950dt", .kind = link_kind::hccs, .generation = "4",
    .topology = link_topology::switched, .members = 1024,
    .raw = gb_per_s(840), .both_directions = gb_per_s(1680),
    .scope = "1024", .confidence = "medium", .sources = "STAS"};

// ---- InfiniBand, one adapter ---------------------------------------------------------------------------------------

inline constexpr link ib_edr_100{
    .id = "ib-edr-100", .kind = link_kind::infiniband, .generation = "EDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.97,
    .latency = microseconds(0.9),  // 0.8-1.0
    .all_reduce = gb_per_s(12.2),  // 12.2 (1 NIC)
    .scope = "node-to-node", .confidence = "high", .sources = "NCCLT29;NVFORUM(96.6 Gb/s)"};

inline constexpr link ib_hdr_200{
    .id = "ib-hdr-200", .kind = link_kind::infiniband, .generation = "HDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.96,
    .latency = microseconds(0.95),  // 0.8-1.1
    .all_reduce = gb_per_s(24),  // 24 (1 NIC)
    .scope = "node-to-node", .confidence = "high", .sources = "NCCL412"};

inline constexpr link ib_ndr_400{
    .id = "ib-ndr-400", .kind = link_kind::infiniband, .generation = "NDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.95,
    .latency = microseconds(1.1),  // 0.9-1.3
    .all_reduce = gb_per_s(47),  // 46-48 per NIC; 8 NICs/node multi-node 320-390
    .scope = "node-to-node", .confidence = "high", .sources = "NCCLT290;NCCL1221;STAS"};

inline constexpr link ib_xdr_800{
    .id = "ib-xdr-800", .kind = link_kind::infiniband, .generation = "XDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.95,
    .latency = microseconds(1.1),  // 0.9-1.3
    .all_reduce = gb_per_s(95),  // ~95 per NIC (recalled)
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS;RECALL"};

// ---- RDMA over Ethernet --------------------------------------------------------------------------------------------

inline constexpr link roce_100{
    .id = "roce-100", .kind = link_kind::roce, .generation = "v2", .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.92,
    .latency = microseconds(2),  // 1.5-2.5
    .all_reduce = gb_per_s(11.5),  // ~11.5
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link roce_200{
    .id = "roce-200", .kind = link_kind::roce, .generation = "v2", .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.92,
    .latency = microseconds(2),  // 1.5-2.5
    .all_reduce = gb_per_s(23),  // ~23
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link roce_400{
    .id = "roce-400", .kind = link_kind::roce, .generation = "v2", .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.93,
    .latency = microseconds(2),  // 1.5-2.5
    .all_reduce = gb_per_s(46),  // ~45-47 per NIC; 8 NICs: 320 busbw at 4 nodes
    .scope = "node-to-node", .confidence = "medium", .sources = "NCCL1221;RECALL"};

inline constexpr link roce_800_spectrum_x{
    .id = "roce-800-spectrum-x", .kind = link_kind::roce, .generation = "v2", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.93,
    .latency = microseconds(2),  // 1.5-2.5
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

// ---- Ethernet, one adapter -----------------------------------------------------------------------------------------

inline constexpr link eth_1g{
    .id = "eth-1g", .kind = link_kind::ethernet, .generation = "1GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(0.125), .both_directions = gb_per_s(0.25), .achievable = 0.94,
    .latency = microseconds(45),  // 30-60 TCP
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_10g{
    .id = "eth-10g", .kind = link_kind::ethernet, .generation = "10GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(1.25), .both_directions = gb_per_s(2.5), .achievable = 0.94,
    .latency = microseconds(27.5),  // 15-40 TCP
    .all_reduce = gb_per_s(1.1),  // ~1.1
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_25g{
    .id = "eth-25g", .kind = link_kind::ethernet, .generation = "25GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(3.125), .both_directions = gb_per_s(6.25), .achievable = 0.92,
    .latency = microseconds(27.5),  // 15-40 TCP
    .all_reduce = gb_per_s(2.5),  // ~2.5
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_100g{
    .id = "eth-100g", .kind = link_kind::ethernet, .generation = "100GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.7,
    .latency = microseconds(27.5),  // 15-40 TCP
    .all_reduce = gb_per_s(7.5),  // ~6-9 (TCP sockets)
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_400g{
    .id = "eth-400g", .kind = link_kind::ethernet, .generation = "400GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.6,
    .latency = microseconds(27.5),  // 15-40 TCP
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

// ---- AWS Elastic Fabric Adapter, one adapter -----------------------------------------------------------------------

inline constexpr link efa_v1_p4d_per_nic{
    .id = "efa-v1-p4d-per-nic", .kind = link_kind::efa, .generation = "v1", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.85,
    .latency = microseconds(17.5),  // 15-20
    // all-reduce: 42.5 per node (340 of 400 Gb/s)
    .scope = "node-to-node", .confidence = "high", .sources = "STAS"};

inline constexpr link efa_v2_p5_per_nic{
    .id = "efa-v2-p5-per-nic", .kind = link_kind::efa, .generation = "v2", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.85,
    .latency = microseconds(17.5),  // 15-20
    .scope = "node-to-node", .confidence = "high", .sources = "STAS"};

inline constexpr link efa_v3_p5en_per_nic{
    .id = "efa-v3-p5en-per-nic", .kind = link_kind::efa, .generation = "v3", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.88,
    .latency = microseconds(12.5),  // 10-15
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS"};

inline constexpr link efa_v4_p6b200_per_nic{
    .id = "efa-v4-p6b200-per-nic", .kind = link_kind::efa, .generation = "v4", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.9,
    .latency = microseconds(12.5),  // 10-15
    // all-reduce: 382 (4 nodes x 8 B200 @16 GiB); 377 @4 GiB
    .scope = "node-to-node", .confidence = "high", .sources = "STAS(measured)"};

inline constexpr link efa_v4_p6b300_per_nic{
    .id = "efa-v4-p6b300-per-nic", .kind = link_kind::efa, .generation = "v4", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.9,
    .latency = microseconds(12.5),  // 10-15
    .scope = "node-to-node", .confidence = "high", .sources = "STAS"};

// ---- cloud and cluster variants of Ethernet ------------------------------------------------------------------------

inline constexpr link gcp_tcpx_a3_high{
    .id = "gcp-tcpx-a3-high", .kind = link_kind::ethernet, .generation = "TCPX", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.8,
    .latency = microseconds(30),  // 20-40
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS"};

inline constexpr link gcp_tcpxo_a3_mega{
    .id = "gcp-tcpxo-a3-mega", .kind = link_kind::ethernet, .generation = "TCPXO", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.9,
    .latency = microseconds(15),  // 10-20
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS"};

inline constexpr link slingshot_11{
    .id = "slingshot-11", .kind = link_kind::ethernet, .generation = "SS11", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.92,
    .latency = microseconds(1.75),  // 1.5-2.0
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS;RECALL"};

inline constexpr link omnipath_cn5000{
    .id = "omnipath-cn5000", .kind = link_kind::ethernet, .generation = "OPX", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.92,
    .latency = microseconds(1),  // ~1.0
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS;RECALL"};

// ---- host memory, one channel (Grace: one CPU) ---------------------------------------------------------------------

inline constexpr link ddr4_2666_channel{
    .id = "ddr4-2666-channel", .kind = link_kind::host_memory, .generation = "DDR4", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(21.328), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr4_2933_channel{
    .id = "ddr4-2933-channel", .kind = link_kind::host_memory, .generation = "DDR4", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(23.464), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr4_3200_channel{
    .id = "ddr4-3200-channel", .kind = link_kind::host_memory, .generation = "DDR4", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(25.6), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_4800_channel{
    .id = "ddr5-4800-channel", .kind = link_kind::host_memory, .generation = "DDR5", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(38.4), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_5200_channel{
    .id = "ddr5-5200-channel", .kind = link_kind::host_memory, .generation = "DDR5", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(41.6), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_5600_channel{
    .id = "ddr5-5600-channel", .kind = link_kind::host_memory, .generation = "DDR5", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(44.8), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_6400_channel{
    .id = "ddr5-6400-channel", .kind = link_kind::host_memory, .generation = "DDR5", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(51.2), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per 64-bit channel", .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link mrdimm_8800_channel{
    .id = "mrdimm-8800-channel", .kind = link_kind::host_memory, .generation = "MRDIMM", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(70.4), .achievable = 0.8,
    .latency = microseconds(0.095),  // 0.08-0.11
    .scope = "per channel", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link lpddr5x_grace{
    .id = "lpddr5x-grace", .kind = link_kind::host_memory, .generation = "LPDDR5X", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(500), .achievable = 0.85,
    .latency = microseconds(0.11),  // ~0.11
    .scope = "per Grace CPU", .confidence = "recalled", .sources = "RECALL"};

// ---- solid state disks ---------------------------------------------------------------------------------------------

inline constexpr link nvme_gen3_x4{
    .id = "nvme-gen3-x4", .kind = link_kind::storage, .generation = "3", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.89,
    .latency = microseconds(90),  // 80-100 read
    .scope = "one SSD", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link nvme_gen4_x4{
    .id = "nvme-gen4-x4", .kind = link_kind::storage, .generation = "4", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.89,
    .latency = microseconds(75),  // 60-90 read
    .scope = "one SSD", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link nvme_gen5_x4{
    .id = "nvme-gen5-x4", .kind = link_kind::storage, .generation = "5", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.89,
    .latency = microseconds(65),  // 50-80 read
    .scope = "one SSD", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link sata3_ssd{
    .id = "sata3-ssd", .kind = link_kind::storage, .generation = "SATA3", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(0.6), .both_directions = gb_per_s(1.2), .achievable = 0.92,
    .latency = microseconds(100),
    .scope = "one SSD", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link thunderbolt_5{
    .id = "thunderbolt-5", .kind = link_kind::ethernet, .generation = "TB5", .lanes = 1,
    .topology = link_topology::network,
    .raw = gb_per_s(10), .both_directions = gb_per_s(20), .achievable = 0.7,
    .latency = microseconds(30),  // ~10-50 (IP); RDMA ~5-9
    .scope = "Mac cluster", .confidence = "recalled", .sources = "RECALL"};

/// Every row above.
inline constexpr std::array all{
    &pcie_gen3_x1, &pcie_gen3_x2, &pcie_gen3_x4, &pcie_gen3_x8, &pcie_gen3_x16, &pcie_gen4_x1, &pcie_gen4_x2,
    &pcie_gen4_x4, &pcie_gen4_x8, &pcie_gen4_x16, &pcie_gen5_x1, &pcie_gen5_x2, &pcie_gen5_x4, &pcie_gen5_x8,
    &pcie_gen5_x16, &pcie_gen6_x1, &pcie_gen6_x2, &pcie_gen6_x4, &pcie_gen6_x8, &pcie_gen6_x16, &nvlink1_p100_sxm2,
    &nvlink2_v100_sxm2, &nvlink2_bridge_2080ti_rtx6000, &nvlink2_bridge_gv100, &nvlink3_bridge_rtx3090_a6000_a40,
    &nvlink3_bridge_a30, &nvlink3_bridge_a100_pcie, &nvlink3_a100_sxm4, &nvlink3_a800, &nvlink4_h100_sxm5,
    &nvlink4_h200_sxm5, &nvlink4_h20, &nvlink4_h800, &nvlink4_bridge_h100_pcie_nvl, &nvlink4_bridge_h200_nvl,
    &nvlink5_b200_hgx, &nvlink5_nvl72_gb200, &nvlink5_nvl72_gb300, &nvlink6_rubin, &nvlink_c2c_grace_hopper,
    &nvlink_c2c_grace_blackwell, &xgmi_mi100, &xgmi_mi210_bridge, &xgmi_mi250x, &xgmi_mi300x, &xgmi_mi325x,
    &xgmi_mi350x_mi355x, &mi455x_ualink, &ualink_200g_x4, &gaudi2_roce_scaleup, &gaudi3_roce_scaleup, &ici_tpu_v4,
    &ici_tpu_v5e, &ici_tpu_v5p, &ici_tpu_v6e, &ici_tpu_v7, &neuronlink_v2_trn1, &neuronlink_v3_trn2,
    &neuronlink_v4_trn3, &hccs_ascend_910b, &ub_ascend_910c, &ub_ascend_950dt, &ib_edr_100, &ib_hdr_200, &ib_ndr_400,
    &ib_xdr_800, &roce_100, &roce_200, &roce_400, &roce_800_spectrum_x, &eth_1g, &eth_10g, &eth_25g, &eth_100g,
    &eth_400g, &efa_v1_p4d_per_nic, &efa_v2_p5_per_nic, &efa_v3_p5en_per_nic, &efa_v4_p6b200_per_nic,
    &efa_v4_p6b300_per_nic, &gcp_tcpx_a3_high, &gcp_tcpxo_a3_mega, &slingshot_11, &omnipath_cn5000,
    &ddr4_2666_channel, &ddr4_2933_channel, &ddr4_3200_channel, &ddr5_4800_channel, &ddr5_5200_channel,
    &ddr5_5600_channel, &ddr5_6400_channel, &mrdimm_8800_channel, &lpddr5x_grace, &nvme_gen3_x4, &nvme_gen4_x4,
    &nvme_gen5_x4, &sata3_ssd, &thunderbolt_5};

// clang-format on

}  // namespace llmres::links

namespace llmres {

/// The link of that id ("nvlink4-h100-sxm5", "ib-ndr-400"). A name that nobody knows is an `unknown` error on `field`,
/// which names the ids nearest to it.
constexpr result<link> find_link(std::string_view id, std::string_view field = "link") {
    for (const link* row : links::all)
        if (row->id == id) return *row;
    std::array<std::string_view, links::all.size()> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = links::all[i]->id.view();
    return refused(error_code::unknown, field, id, such_as("a link", nearest(id, ids)));
}

/// The PCIe row of that generation and width; a width between two rows takes its share of the x16 row.
constexpr result<link> pcie_link(std::int32_t generation, std::int32_t lanes) {
    if (const status known = in_range("pcie_generation", generation, 3, 6); !known) return known.error();
    if (const status known = in_range("pcie_lanes", lanes, 1, 16); !known) return known.error();
    const auto is_generation = [&](const link& row) {
        return row.kind == link_kind::pcie && row.generation.characters[0] == static_cast<char>('0' + generation);
    };
    for (const link* row : links::all)
        if (is_generation(*row) && row->lanes == lanes) return *row;
    for (const link* row : links::all)
        if (is_generation(*row) && row->lanes == 16) {
            link share = *row;
            share.id = "pcie";
            share.lanes = lanes;
            share.raw = row->raw * (lanes / 16.0);
            share.both_directions = share.raw * 2;
            share.all_reduce = {};
            return share;
        }
    return refused(error_code::unknown, "pcie_generation", generation, "a PCIe generation of the table");
}

namespace detail {

constexpr result<link> pcie_of(const gpu& card) {
    const gpu_links& ends = card.links;
    if (!ends.pcie_generation) return refused(error_code::missing, "pcie_generation", "", "the GPU's PCIe generation");
    if (!ends.pcie_lanes) return refused(error_code::missing, "pcie_lanes", "", "the number of the GPU's PCIe lanes");
    return pcie_link(*ends.pcie_generation, *ends.pcie_lanes);
}

}  // namespace detail

/// How a GPU reaches its host's memory: NVLink C2C on Grace superchips, else PCIe. `missing` where the datasheet names
/// no PCIe (TPUs, Trainium, and systems on a chip, whose memory is the host's).
constexpr result<link> host_link(const gpu& card) {
    const std::string_view family = card.id.view().substr(0, 5);
    if (family == "gh200") return links::nvlink_c2c_grace_hopper;
    if (family == "gb200" || family == "gb300") return links::nvlink_c2c_grace_blackwell;
    return detail::pcie_of(card);
}

namespace detail {

constexpr link_kind fabric_of(gpu_vendor vendor) {
    switch (vendor) {
        case gpu_vendor::nvidia:
            return link_kind::nvlink;
        case gpu_vendor::amd:
            return link_kind::xgmi;
        case gpu_vendor::intel:
            return link_kind::roce;
        case gpu_vendor::google:
            return link_kind::ici;
        case gpu_vendor::aws:
            return link_kind::neuronlink;
        case gpu_vendor::huawei:
            return link_kind::hccs;
        default:
            return link_kind::other;
    }
}

/// Whether a name made of words and hyphens has this word.
constexpr bool has_word(std::string_view name, std::string_view word) {
    while (name.size() > word.size()) {
        if (name.substr(0, word.size()) == word && name[word.size()] == '-') return true;
        const std::size_t hyphen = name.find('-');
        if (hyphen == std::string_view::npos) return false;
        name.remove_prefix(hyphen + 1);
    }
    return name == word;
}

/// How badly a row describes the fabric of a GPU; smaller is better.
constexpr double misfit(const link& row, const gpu& card) {
    const double printed = row.both_directions.value_or(row.raw * 2) / *card.links.scale_up;
    double points = 100 * (printed > 1 ? printed - 1 : 1 / printed - 1);
    if (points < 1) points = 0;  // within one per cent: printed with fewer digits
    if (card.links.scale_up_generation > 0 &&
        row.generation.characters[0] != static_cast<char>('0' + card.links.scale_up_generation))
        points += 1000;
    if (card.links.scale_up_domain && card.links.scale_up_domain != row.members) points += 10;
    const std::string_view model = card.id.view().substr(0, card.id.view().find('-'));
    if (!has_word(row.id, model)) points += 1;
    return points;
}

}  // namespace detail

/// What joins GPUs of this kind inside a node. With NVLink or another fabric of the vendor: the row for its bandwidth,
/// generation and size of domain (`members`; beyond it, traffic takes PCIe). If there is no such row, the link has the
/// figures of the GPU's datasheet, and the efficiency and latency of the nearest row of that fabric. Without a fabric,
/// or where its bandwidth is not published: PCIe, or an error where the datasheet names none.
constexpr result<link> scale_up_link(const gpu& card) {
    const bool alone = card.links.scale_up.value_or({}) <= byte_rate{} || card.links.scale_up_domain == 1;
    if (alone) return detail::pcie_of(card);
    const link* best = nullptr;
    for (const link* row : links::all) {
        if (row->kind != detail::fabric_of(card.vendor) || row->topology == link_topology::network) continue;
        if (best == nullptr || detail::misfit(*row, card) < detail::misfit(*best, card)) best = row;
    }
    if (best != nullptr && detail::misfit(*best, card) < 10) return *best;
    const std::int32_t members = card.links.scale_up_domain.value_or(2);
    link own = best != nullptr ? *best : link{.kind = link_kind::other};
    if (best == nullptr || best->members != members)
        own.topology = members <= 2 ? link_topology::bridge : link_topology::mesh;
    own.id = "own-fabric";
    own.generation = {};
    own.lanes = card.links.scale_up_links;
    own.members = members;
    own.raw = *card.links.scale_up / 2;
    own.both_directions = card.links.scale_up;
    own.all_reduce = {};
    own.scope = "";
    own.confidence = "low";
    own.sources = card.sources.view();
    return own;
}

}  // namespace llmres
