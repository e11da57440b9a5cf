// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/links.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/interconnect.hpp>

// clang-format off

/// PCI Express, of the GPUs of all vendors.
/// hardware/interconnects/all.hpp says how rows are filled in, docs/sources.md what the source tags mean.
namespace llmres::inline v0::links {

// ---- PCI Express: per direction after line coding; 80 to 88 % of it reaches the payload of large copies -------------

inline constexpr link pcie_gen3_x1{.id = "pcie-gen3-x1", .kind = link_kind::pcie, .generation = "3", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(0.985), .both_directions = gb_per_s(1.97), .achievable = 0.8, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x2{.id = "pcie-gen3-x2", .kind = link_kind::pcie, .generation = "3", .lanes = 2,
    .topology = link_topology::bus,
    .raw = gb_per_s(1.969), .both_directions = gb_per_s(3.938), .achievable = 0.8, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x4{.id = "pcie-gen3-x4", .kind = link_kind::pcie, .generation = "3", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.8, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x8{.id = "pcie-gen3-x8", .kind = link_kind::pcie, .generation = "3", .lanes = 8,
    .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.8, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen3_x16{.id = "pcie-gen3-x16", .kind = link_kind::pcie, .generation = "3", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.8, .latency = microseconds(1.45),
    .all_reduce = gb_per_s(10), .scope = "GPU<->host or P2P", .confidence = "high",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

inline constexpr link pcie_gen4_x1{.id = "pcie-gen4-x1", .kind = link_kind::pcie, .generation = "4", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(1.969), .both_directions = gb_per_s(3.938), .achievable = 0.82, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x2{.id = "pcie-gen4-x2", .kind = link_kind::pcie, .generation = "4", .lanes = 2,
    .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.82, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x4{.id = "pcie-gen4-x4", .kind = link_kind::pcie, .generation = "4", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.82, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x8{.id = "pcie-gen4-x8", .kind = link_kind::pcie, .generation = "4", .lanes = 8,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.82, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen4_x16{.id = "pcie-gen4-x16", .kind = link_kind::pcie, .generation = "4", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(31.508), .both_directions = gb_per_s(63.016), .achievable = 0.82, .latency = microseconds(1.15),
    .all_reduce = gb_per_s(23), .scope = "GPU<->host or P2P", .confidence = "high",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

inline constexpr link pcie_gen5_x1{.id = "pcie-gen5-x1", .kind = link_kind::pcie, .generation = "5", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.88, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x2{.id = "pcie-gen5-x2", .kind = link_kind::pcie, .generation = "5", .lanes = 2,
    .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.88, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x4{.id = "pcie-gen5-x4", .kind = link_kind::pcie, .generation = "5", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.88, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x8{.id = "pcie-gen5-x8", .kind = link_kind::pcie, .generation = "5", .lanes = 8,
    .topology = link_topology::bus,
    .raw = gb_per_s(31.508), .both_directions = gb_per_s(63.016), .achievable = 0.88, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen5_x16{.id = "pcie-gen5-x16", .kind = link_kind::pcie, .generation = "5", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(63.015), .both_directions = gb_per_s(126.03), .achievable = 0.88, .latency = microseconds(1),
    .all_reduce = gb_per_s(24.7), .scope = "GPU<->host or P2P", .confidence = "high",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

inline constexpr link pcie_gen6_x1{.id = "pcie-gen6-x1", .kind = link_kind::pcie, .generation = "6", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(7.562), .both_directions = gb_per_s(15.124), .achievable = 0.87, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x2{.id = "pcie-gen6-x2", .kind = link_kind::pcie, .generation = "6", .lanes = 2,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.125), .both_directions = gb_per_s(30.25), .achievable = 0.87, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x4{.id = "pcie-gen6-x4", .kind = link_kind::pcie, .generation = "6", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(30.25), .both_directions = gb_per_s(60.5), .achievable = 0.87, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x8{.id = "pcie-gen6-x8", .kind = link_kind::pcie, .generation = "6", .lanes = 8,
    .topology = link_topology::bus,
    .raw = gb_per_s(60.5), .both_directions = gb_per_s(121), .achievable = 0.87, .scope = "GPU<->host or P2P",
    .confidence = "medium", .sources = "CALC"};

inline constexpr link pcie_gen6_x16{.id = "pcie-gen6-x16", .kind = link_kind::pcie, .generation = "6", .lanes = 16,
    .topology = link_topology::bus,
    .raw = gb_per_s(121), .both_directions = gb_per_s(242), .achievable = 0.87, .latency = microseconds(1),
    .scope = "GPU<->host or P2P", .confidence = "medium",
    .sources = "CALC;STAS;GPB;NVBW;NCCL;P2P-RTX6K;AIC-NCCL;NCCL1639"};

/// Every row above.
inline constexpr std::array all_pcie{
    &pcie_gen3_x1, &pcie_gen3_x2, &pcie_gen3_x4, &pcie_gen3_x8, &pcie_gen3_x16, &pcie_gen4_x1, &pcie_gen4_x2,
    &pcie_gen4_x4, &pcie_gen4_x8, &pcie_gen4_x16, &pcie_gen5_x1, &pcie_gen5_x2, &pcie_gen5_x4, &pcie_gen5_x8,
    &pcie_gen5_x16, &pcie_gen6_x1, &pcie_gen6_x2, &pcie_gen6_x4, &pcie_gen6_x8, &pcie_gen6_x16};

// clang-format on

}  // namespace llmres::inline v0::links
