// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/links.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/interconnect.hpp>

// clang-format off

/// What joins nodes: InfiniBand, Ethernet and its variants in clouds.
/// hardware/interconnects/all.hpp says how rows are filled in, docs/sources.md what the source tags mean.
namespace llmres::inline v0::links {

// ---- InfiniBand, one adapter ----------------------------------------------------------------------------------------

inline constexpr link ib_edr_100{.id = "ib-edr-100", .kind = link_kind::infiniband, .generation = "EDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.97, .latency = microseconds(0.9),
    .all_reduce = gb_per_s(12.2), .scope = "node-to-node", .confidence = "high",
    .sources = "NCCLT29;NVFORUM(96.6 Gb/s)"};

inline constexpr link ib_hdr_200{.id = "ib-hdr-200", .kind = link_kind::infiniband, .generation = "HDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.96, .latency = microseconds(0.95),
    .all_reduce = gb_per_s(24), .scope = "node-to-node", .confidence = "high", .sources = "NCCL412"};

inline constexpr link ib_ndr_400{.id = "ib-ndr-400", .kind = link_kind::infiniband, .generation = "NDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.95, .latency = microseconds(1.1),
    .all_reduce = gb_per_s(47), .scope = "node-to-node", .confidence = "high", .sources = "NCCLT290;NCCL1221;STAS"};

inline constexpr link ib_xdr_800{.id = "ib-xdr-800", .kind = link_kind::infiniband, .generation = "XDR", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.95, .latency = microseconds(1.1),
    .all_reduce = gb_per_s(95), .scope = "node-to-node", .confidence = "medium", .sources = "STAS;RECALL"};

// ---- RDMA over Ethernet ---------------------------------------------------------------------------------------------

inline constexpr link roce_100{.id = "roce-100", .kind = link_kind::roce, .generation = "v2", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.92, .latency = microseconds(2),
    .all_reduce = gb_per_s(11.5), .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link roce_200{.id = "roce-200", .kind = link_kind::roce, .generation = "v2", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.92, .latency = microseconds(2),
    .all_reduce = gb_per_s(23), .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link roce_400{.id = "roce-400", .kind = link_kind::roce, .generation = "v2", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.93, .latency = microseconds(2),
    .all_reduce = gb_per_s(46), .scope = "node-to-node", .confidence = "medium", .sources = "NCCL1221;RECALL"};

inline constexpr link roce_800_spectrum_x{.id = "roce-800-spectrum-x", .kind = link_kind::roce, .generation = "v2",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(100), .both_directions = gb_per_s(200), .achievable = 0.93, .latency = microseconds(2),
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

// ---- Ethernet, one adapter ------------------------------------------------------------------------------------------

inline constexpr link eth_1g{.id = "eth-1g", .kind = link_kind::ethernet, .generation = "1GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(0.125), .both_directions = gb_per_s(0.25), .achievable = 0.94, .latency = microseconds(45),
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_10g{.id = "eth-10g", .kind = link_kind::ethernet, .generation = "10GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(1.25), .both_directions = gb_per_s(2.5), .achievable = 0.94, .latency = microseconds(27.5),
    .all_reduce = gb_per_s(1.1), .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_25g{.id = "eth-25g", .kind = link_kind::ethernet, .generation = "25GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(3.125), .both_directions = gb_per_s(6.25), .achievable = 0.92, .latency = microseconds(27.5),
    .all_reduce = gb_per_s(2.5), .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_100g{.id = "eth-100g", .kind = link_kind::ethernet, .generation = "100GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.7, .latency = microseconds(27.5),
    .all_reduce = gb_per_s(7.5), .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

inline constexpr link eth_400g{.id = "eth-400g", .kind = link_kind::ethernet, .generation = "400GbE", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.6, .latency = microseconds(27.5),
    .scope = "node-to-node", .confidence = "recalled", .sources = "RECALL"};

// ---- AWS Elastic Fabric Adapter, one adapter ------------------------------------------------------------------------

inline constexpr link efa_v1_p4d_per_nic{.id = "efa-v1-p4d-per-nic", .kind = link_kind::efa, .generation = "v1",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.85, .latency = microseconds(17.5),
    .scope = "node-to-node", .confidence = "high", .sources = "STAS"};

inline constexpr link efa_v2_p5_per_nic{.id = "efa-v2-p5-per-nic", .kind = link_kind::efa, .generation = "v2",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(12.5), .both_directions = gb_per_s(25), .achievable = 0.85, .latency = microseconds(17.5),
    .scope = "node-to-node", .confidence = "high", .sources = "STAS"};

/// The four adapters of a GPU of p5 together. A message between nodes takes half of what 8 bytes take to be all-reduced
/// over two of them, 69 us (aws/aws-k8s-tester, pull request 585): NCCL sends one there and one back. AWS tells NCCL 75
/// us for p5 and 35 us for p5en (aws/aws-ofi-nccl, src/platform-aws.cpp).
inline constexpr link efa_v2_p5{.id = "efa-v2-p5", .kind = link_kind::efa, .generation = "v2", .lanes = 16,
    .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.85, .latency = microseconds(34.5),
    .scope = "node-to-node", .confidence = "high", .sources = "STAS;EFA"};

inline constexpr link efa_v3_p5en_per_nic{.id = "efa-v3-p5en-per-nic", .kind = link_kind::efa, .generation = "v3",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.88, .latency = microseconds(12.5),
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS"};

inline constexpr link efa_v4_p6b200_per_nic{.id = "efa-v4-p6b200-per-nic", .kind = link_kind::efa, .generation = "v4",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.9, .latency = microseconds(12.5),
    .scope = "node-to-node", .confidence = "high", .sources = "STAS(measured)"};

inline constexpr link efa_v4_p6b300_per_nic{.id = "efa-v4-p6b300-per-nic", .kind = link_kind::efa, .generation = "v4",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.9, .latency = microseconds(12.5),
    .scope = "node-to-node", .confidence = "high", .sources = "STAS"};

// ---- cloud and cluster variants of Ethernet -------------------------------------------------------------------------

inline constexpr link gcp_tcpx_a3_high{.id = "gcp-tcpx-a3-high", .kind = link_kind::ethernet, .generation = "TCPX",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.8, .latency = microseconds(30),
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS"};

inline constexpr link gcp_tcpxo_a3_mega{.id = "gcp-tcpxo-a3-mega", .kind = link_kind::ethernet, .generation = "TCPXO",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.9, .latency = microseconds(15),
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS"};

inline constexpr link slingshot_11{.id = "slingshot-11", .kind = link_kind::ethernet, .generation = "SS11", .lanes = 4,
    .topology = link_topology::network,
    .raw = gb_per_s(25), .both_directions = gb_per_s(50), .achievable = 0.92, .latency = microseconds(1.75),
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS;RECALL"};

inline constexpr link omnipath_cn5000{.id = "omnipath-cn5000", .kind = link_kind::ethernet, .generation = "OPX",
    .lanes = 4, .topology = link_topology::network,
    .raw = gb_per_s(50), .both_directions = gb_per_s(100), .achievable = 0.92, .latency = microseconds(1),
    .scope = "node-to-node", .confidence = "medium", .sources = "STAS;RECALL"};

/// Every row above.
inline constexpr std::array all_network{
    &ib_edr_100, &ib_hdr_200, &ib_ndr_400, &ib_xdr_800, &roce_100, &roce_200, &roce_400, &roce_800_spectrum_x, &eth_1g,
    &eth_10g, &eth_25g, &eth_100g, &eth_400g, &efa_v1_p4d_per_nic, &efa_v2_p5_per_nic, &efa_v2_p5, &efa_v3_p5en_per_nic,
    &efa_v4_p6b200_per_nic, &efa_v4_p6b300_per_nic, &gcp_tcpx_a3_high, &gcp_tcpxo_a3_mega, &slingshot_11,
    &omnipath_cn5000};

// clang-format on

}  // namespace llmres::inline v0::links
