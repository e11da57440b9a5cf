// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/links.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/interconnect.hpp>

// clang-format off

/// What joins GPUs and their like inside a node or a rack: NVLink, Infinity Fabric, and other accelerators' fabrics.
/// hardware/interconnects/all.hpp says how rows are filled in, docs/sources.md what the source tags mean.
namespace llmres::inline v0::links {

// ---- NVLink and NVSwitch, one GPU -----------------------------------------------------------------------------------

inline constexpr link nvlink1_p100_sxm2{.id = "nvlink1-p100-sxm2", .kind = link_kind::nvlink, .generation = "1",
    .lanes = 4, .topology = link_topology::mesh, .members = 8, .neighbours = 4,
    .raw = gb_per_s(80), .both_directions = gb_per_s(160), .achievable = 0.9, .latency = microseconds(1.8),
    .scope = "DGX-1P hybrid cube mesh", .confidence = "high", .sources = "STAS;NCCL"};

inline constexpr link nvlink2_v100_sxm2{.id = "nvlink2-v100-sxm2", .kind = link_kind::nvlink, .generation = "2",
    .lanes = 6, .topology = link_topology::mesh, .members = 8, .neighbours = 4,
    .raw = gb_per_s(150), .both_directions = gb_per_s(300), .achievable = 0.8, .latency = microseconds(1.8),
    .all_reduce = gb_per_s(130), .scope = "DGX-1V cube mesh / DGX-2 NVSwitch", .confidence = "high",
    .sources = "STAS;NCCL;RECALL"};

inline constexpr link nvlink2_bridge_2080ti_rtx6000{.id = "nvlink2-bridge-2080ti-rtx6000", .kind = link_kind::nvlink,
    .generation = "2", .lanes = 2, .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.93, .latency = microseconds(1.8),
    .scope = "2 GPUs", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link nvlink2_bridge_gv100{.id = "nvlink2-bridge-gv100", .kind = link_kind::nvlink, .generation = "2",
    .lanes = 4, .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.9, .latency = microseconds(1.8),
    .scope = "2 GPUs", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link nvlink3_bridge_rtx3090_a6000_a40{.id = "nvlink3-bridge-rtx3090-a6000-a40",
    .kind = link_kind::nvlink, .generation = "3", .lanes = 4, .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(56.25), .both_directions = gb_per_s(112.5), .achievable = 0.93, .latency = microseconds(1.5),
    .all_reduce = gb_per_s(45.5), .scope = "2 GPUs", .confidence = "high",
    .sources = "HFDOC(GA102 whitepaper quote);NCCL;LLMA"};

inline constexpr link nvlink3_bridge_a30{.id = "nvlink3-bridge-a30", .kind = link_kind::nvlink, .generation = "3",
    .lanes = 4, .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.9, .latency = microseconds(1.5),
    .scope = "2 GPUs", .confidence = "high", .sources = "ARTHUR"};

inline constexpr link nvlink3_bridge_a100_pcie{.id = "nvlink3-bridge-a100-pcie", .kind = link_kind::nvlink,
    .generation = "3", .lanes = 12, .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(300), .both_directions = gb_per_s(600), .achievable = 0.9, .latency = microseconds(1.5),
    .scope = "2 GPUs", .confidence = "high", .sources = "TPU;RECALL"};

inline constexpr link nvlink3_a100_sxm4{.id = "nvlink3-a100-sxm4", .kind = link_kind::nvlink, .generation = "3",
    .lanes = 12, .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(300), .both_directions = gb_per_s(600), .achievable = 0.92, .latency = microseconds(2.25),
    .all_reduce = gb_per_s(228.5), .scope = "8 via NVSwitch gen2", .confidence = "high",
    .sources = "STAS(measured);NVBW;AIC-NCCL;NCCL"};

inline constexpr link nvlink3_a800{.id = "nvlink3-a800", .kind = link_kind::nvlink, .generation = "3", .lanes = 8,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(200), .both_directions = gb_per_s(400), .achievable = 0.92, .latency = microseconds(2.25),
    .all_reduce = gb_per_s(160), .scope = "8 via NVSwitch", .confidence = "high", .sources = "ARTHUR;NCCL412"};

inline constexpr link nvlink4_h100_sxm5{.id = "nvlink4-h100-sxm5", .kind = link_kind::nvlink, .generation = "4",
    .lanes = 18, .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.83, .latency = microseconds(2.25),
    .all_reduce = gb_per_s(463.5), .scope = "8 via NVSwitch gen3", .confidence = "high",
    .sources = "STAS(measured);AIC-NCCL;NCCLT290;NCCL1374;NCCL1221"};

inline constexpr link nvlink4_h200_sxm5{.id = "nvlink4-h200-sxm5", .kind = link_kind::nvlink, .generation = "4",
    .lanes = 18, .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.83, .latency = microseconds(2.25),
    .all_reduce = gb_per_s(470.5), .scope = "8 via NVSwitch gen3", .confidence = "high",
    .sources = "STAS(measured);AIC-NCCL"};

inline constexpr link nvlink4_h20{.id = "nvlink4-h20", .kind = link_kind::nvlink, .generation = "4", .lanes = 18,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.83, .latency = microseconds(2.25),
    .all_reduce = gb_per_s(465), .scope = "8 via NVSwitch", .confidence = "high", .sources = "ARTHUR;NCCL1244"};

inline constexpr link nvlink4_h800{.id = "nvlink4-h800", .kind = link_kind::nvlink, .generation = "4", .lanes = 8,
    .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(200), .both_directions = gb_per_s(400), .achievable = 0.83, .latency = microseconds(2.25),
    .all_reduce = gb_per_s(215), .scope = "8 via NVSwitch", .confidence = "high", .sources = "NCCL1374;DEEPEP"};

inline constexpr link nvlink4_bridge_h100_pcie_nvl{.id = "nvlink4-bridge-h100-pcie-nvl", .kind = link_kind::nvlink,
    .generation = "4", .lanes = 12, .topology = link_topology::bridge, .members = 2,
    .raw = gb_per_s(300), .both_directions = gb_per_s(600), .achievable = 0.85, .latency = microseconds(2),
    .scope = "2 GPUs", .confidence = "high", .sources = "STAS;RECALL"};

inline constexpr link nvlink4_bridge_h200_nvl{.id = "nvlink4-bridge-h200-nvl", .kind = link_kind::nvlink,
    .generation = "4", .lanes = 18, .topology = link_topology::bridge, .members = 4,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.85, .latency = microseconds(2),
    .scope = "2 or 4 GPUs", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link nvlink5_b200_hgx{.id = "nvlink5-b200-hgx", .kind = link_kind::nvlink, .generation = "5",
    .lanes = 18, .topology = link_topology::switched, .members = 8,
    .raw = gb_per_s(900), .both_directions = gb_per_s(1800), .achievable = 0.83, .latency = microseconds(2.5),
    .all_reduce = gb_per_s(702), .scope = "8 via NVSwitch gen4", .confidence = "high",
    .sources = "STAS(measured);AIC-NCCL;DEEPEP"};

inline constexpr link nvlink5_nvl72_gb200{.id = "nvlink5-nvl72-gb200", .kind = link_kind::nvlink, .generation = "5",
    .lanes = 18, .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(900), .both_directions = gb_per_s(1800), .achievable = 0.83, .latency = microseconds(2.5),
    .all_reduce = gb_per_s(628), .scope = "72 GPUs", .confidence = "high",
    .sources = "STAS(measured p2p 747);AIC-NCCL"};

inline constexpr link nvlink5_nvl72_gb300{.id = "nvlink5-nvl72-gb300", .kind = link_kind::nvlink, .generation = "5",
    .lanes = 18, .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(900), .both_directions = gb_per_s(1800), .achievable = 0.83, .latency = microseconds(2.5),
    .all_reduce = gb_per_s(635), .scope = "72 GPUs", .confidence = "high", .sources = "AIC-NCCL"};

inline constexpr link nvlink6_rubin{.id = "nvlink6-rubin", .kind = link_kind::nvlink, .generation = "6", .lanes = 36,
    .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(1800), .both_directions = gb_per_s(3600), .scope = "72 GPUs", .confidence = "medium",
    .sources = "STAS"};

// ---- Grace CPU to its GPU -------------------------------------------------------------------------------------------

inline constexpr link nvlink_c2c_grace_hopper{.id = "nvlink-c2c-grace-hopper", .kind = link_kind::c2c,
    .generation = "C2C", .topology = link_topology::bus,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.8, .latency = microseconds(0.8),
    .scope = "CPU<->GPU", .confidence = "medium", .sources = "STAS"};

inline constexpr link nvlink_c2c_grace_blackwell{.id = "nvlink-c2c-grace-blackwell", .kind = link_kind::c2c,
    .generation = "C2C", .topology = link_topology::bus,
    .raw = gb_per_s(450), .both_directions = gb_per_s(900), .achievable = 0.82, .latency = microseconds(0.8),
    .scope = "CPU<->GPU", .confidence = "medium", .sources = "STAS"};

// ---- AMD Infinity Fabric: one link for each pair of GPUs ------------------------------------------------------------

inline constexpr link xgmi_mi100{.id = "xgmi-mi100", .kind = link_kind::xgmi, .generation = "2", .lanes = 3,
    .topology = link_topology::mesh, .members = 4,
    .raw = gb_per_s(138), .both_directions = gb_per_s(276), .achievable = 0.85, .scope = "4 GPUs",
    .confidence = "medium", .sources = "LLMA;RECALL"};

inline constexpr link xgmi_mi210_bridge{.id = "xgmi-mi210-bridge", .kind = link_kind::xgmi, .generation = "3",
    .lanes = 3, .topology = link_topology::mesh, .members = 4,
    .raw = gb_per_s(150), .both_directions = gb_per_s(300), .achievable = 0.85, .scope = "2-4 GPUs",
    .confidence = "medium", .sources = "LLMA;RECALL"};

inline constexpr link xgmi_mi250x{.id = "xgmi-mi250x", .kind = link_kind::xgmi, .generation = "3", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(350), .both_directions = gb_per_s(700), .achievable = 0.8, .scope = "8 OAM (16 GCD)",
    .confidence = "medium", .sources = "STAS"};

inline constexpr link xgmi_mi300x{.id = "xgmi-mi300x", .kind = link_kind::xgmi, .generation = "4", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(448), .both_directions = gb_per_s(896), .achievable = 0.8, .latency = microseconds(2.5),
    .all_reduce = gb_per_s(313), .scope = "8 full mesh", .confidence = "high", .sources = "STAS(measured)"};

inline constexpr link xgmi_mi325x{.id = "xgmi-mi325x", .kind = link_kind::xgmi, .generation = "4", .lanes = 7,
    .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(448), .both_directions = gb_per_s(896), .achievable = 0.8, .latency = microseconds(2.5),
    .all_reduce = gb_per_s(313), .scope = "8 full mesh", .confidence = "high", .sources = "STAS"};

inline constexpr link xgmi_mi350x_mi355x{.id = "xgmi-mi350x-mi355x", .kind = link_kind::xgmi, .generation = "4",
    .lanes = 7, .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(537.6), .both_directions = gb_per_s(1075.2), .achievable = 0.8, .latency = microseconds(2.5),
    .scope = "8 full mesh", .confidence = "high", .sources = "STAS;CALC"};

// ---- UALink ---------------------------------------------------------------------------------------------------------

inline constexpr link mi455x_ualink{.id = "mi455x-ualink", .kind = link_kind::ualink, .generation = "1",
    .topology = link_topology::switched, .members = 72,
    .raw = gb_per_s(1800), .both_directions = gb_per_s(3600), .scope = "72", .confidence = "medium", .sources = "STAS"};

inline constexpr link ualink_200g_x4{.id = "ualink-200g-x4", .kind = link_kind::ualink, .generation = "1", .lanes = 4,
    .topology = link_topology::switched, .members = 1024,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .scope = "up to 1024", .confidence = "recalled",
    .sources = "RECALL"};

// ---- Intel Gaudi: Ethernet ports of the accelerator itself ----------------------------------------------------------

inline constexpr link gaudi2_roce_scaleup{.id = "gaudi2-roce-scaleup", .kind = link_kind::roce, .generation = "1",
    .lanes = 21, .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(262.5), .both_directions = gb_per_s(525), .achievable = 0.95, .latency = microseconds(5),
    .all_reduce = gb_per_s(250), .scope = "8 full mesh", .confidence = "high", .sources = "STAS"};

inline constexpr link gaudi3_roce_scaleup{.id = "gaudi3-roce-scaleup", .kind = link_kind::roce, .generation = "1",
    .lanes = 21, .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(525), .both_directions = gb_per_s(1050), .achievable = 0.97, .latency = microseconds(5),
    .all_reduce = gb_per_s(513), .scope = "8 full mesh", .confidence = "high", .sources = "HABANA;STAS"};

// ---- Google TPU, a chip ---------------------------------------------------------------------------------------------

inline constexpr link ici_tpu_v4{.id = "ici-tpu-v4", .kind = link_kind::ici, .generation = "4", .lanes = 6,
    .topology = link_topology::torus, .members = 4096,
    .raw = gb_per_s(270), .both_directions = gb_per_s(540), .achievable = 0.95, .latency = microseconds(1),
    .scope = "4096 3D torus", .confidence = "high", .sources = "JAXBOOK"};

inline constexpr link ici_tpu_v5e{.id = "ici-tpu-v5e", .kind = link_kind::ici, .generation = "5", .lanes = 4,
    .topology = link_topology::torus, .members = 256,
    .raw = gb_per_s(200), .both_directions = gb_per_s(400), .achievable = 0.9, .latency = microseconds(1),
    .scope = "256 2D torus", .confidence = "high", .sources = "GCP;JAXBOOK"};

inline constexpr link ici_tpu_v5p{.id = "ici-tpu-v5p", .kind = link_kind::ici, .generation = "5", .lanes = 6,
    .topology = link_topology::torus, .members = 8960,
    .raw = gb_per_s(600), .both_directions = gb_per_s(1200), .achievable = 0.9, .latency = microseconds(1),
    .scope = "8960 3D torus", .confidence = "high", .sources = "GCP;JAXBOOK"};

inline constexpr link ici_tpu_v6e{.id = "ici-tpu-v6e", .kind = link_kind::ici, .generation = "6", .lanes = 4,
    .topology = link_topology::torus, .members = 256,
    .raw = gb_per_s(400), .both_directions = gb_per_s(800), .achievable = 0.9, .latency = microseconds(1),
    .scope = "256 2D torus", .confidence = "high", .sources = "GCP;JAXBOOK"};

inline constexpr link ici_tpu_v7{.id = "ici-tpu-v7", .kind = link_kind::ici, .generation = "7", .lanes = 6,
    .topology = link_topology::torus, .members = 9216,
    .raw = gb_per_s(600), .both_directions = gb_per_s(1200), .latency = microseconds(1), .scope = "9216 3D torus",
    .confidence = "high", .sources = "STAS"};

// ---- AWS Trainium, a chip -------------------------------------------------------------------------------------------

inline constexpr link neuronlink_v2_trn1{.id = "neuronlink-v2-trn1", .kind = link_kind::neuronlink, .generation = "2",
    .lanes = 4, .topology = link_topology::torus, .members = 16,
    .raw = gb_per_s(192), .both_directions = gb_per_s(384), .scope = "16", .confidence = "medium", .sources = "NEURON"};

inline constexpr link neuronlink_v3_trn2{.id = "neuronlink-v3-trn2", .kind = link_kind::neuronlink, .generation = "3",
    .topology = link_topology::torus, .members = 64,
    .raw = gb_per_s(640), .both_directions = gb_per_s(1280), .scope = "16 / 64", .confidence = "high",
    .sources = "NEURON;STAS"};

inline constexpr link neuronlink_v4_trn3{.id = "neuronlink-v4-trn3", .kind = link_kind::neuronlink, .generation = "4",
    .topology = link_topology::switched, .members = 144,
    .raw = gb_per_s(1280), .both_directions = gb_per_s(2560), .scope = "64 / 144 switched", .confidence = "medium",
    .sources = "NEURON"};

// ---- Huawei Ascend --------------------------------------------------------------------------------------------------

inline constexpr link hccs_ascend_910b{.id = "hccs-ascend-910b", .kind = link_kind::hccs, .generation = "2",
    .lanes = 7, .topology = link_topology::mesh, .members = 8,
    .raw = gb_per_s(196), .both_directions = gb_per_s(392), .achievable = 0.85, .scope = "8 full mesh",
    .confidence = "medium", .sources = "ARTHUR;ASCSIM"};

inline constexpr link ub_ascend_910c{.id = "ub-ascend-910c", .kind = link_kind::hccs, .generation = "3",
    .topology = link_topology::switched, .members = 384,
    .raw = gb_per_s(392), .both_directions = gb_per_s(784), .scope = "384 CloudMatrix", .confidence = "low",
    .sources = "BESTHUB;EVOK;RECALL"};

inline constexpr link ub_ascend_950dt{.id = "ub-ascend-950dt", .kind = link_kind::hccs, .generation = "4",
    .topology = link_topology::switched, .members = 1024,
    .raw = gb_per_s(840), .both_directions = gb_per_s(1680), .scope = "1024", .confidence = "medium",
    .sources = "STAS"};

/// Every row above.
inline constexpr std::array all_scale_up{
    &nvlink1_p100_sxm2, &nvlink2_v100_sxm2, &nvlink2_bridge_2080ti_rtx6000, &nvlink2_bridge_gv100,
    &nvlink3_bridge_rtx3090_a6000_a40, &nvlink3_bridge_a30, &nvlink3_bridge_a100_pcie, &nvlink3_a100_sxm4,
    &nvlink3_a800, &nvlink4_h100_sxm5, &nvlink4_h200_sxm5, &nvlink4_h20, &nvlink4_h800, &nvlink4_bridge_h100_pcie_nvl,
    &nvlink4_bridge_h200_nvl, &nvlink5_b200_hgx, &nvlink5_nvl72_gb200, &nvlink5_nvl72_gb300, &nvlink6_rubin,
    &nvlink_c2c_grace_hopper, &nvlink_c2c_grace_blackwell, &xgmi_mi100, &xgmi_mi210_bridge, &xgmi_mi250x, &xgmi_mi300x,
    &xgmi_mi325x, &xgmi_mi350x_mi355x, &mi455x_ualink, &ualink_200g_x4, &gaudi2_roce_scaleup, &gaudi3_roce_scaleup,
    &ici_tpu_v4, &ici_tpu_v5e, &ici_tpu_v5p, &ici_tpu_v6e, &ici_tpu_v7, &neuronlink_v2_trn1, &neuronlink_v3_trn2,
    &neuronlink_v4_trn3, &hccs_ascend_910b, &ub_ascend_910c, &ub_ascend_950dt};

// clang-format on

}  // namespace llmres::inline v0::links
