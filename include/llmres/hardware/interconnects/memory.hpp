// SPDX-License-Identifier: MIT
#pragma once

// Made from packaging/tables/links.csv by packaging/tables/make_headers. Edit the table, then `make tables`.

#include <array>
#include <llmres/hardware/interconnect.hpp>

// clang-format off

/// What GPUs reach outside themselves: memory of the host, and disks.
/// hardware/interconnects/all.hpp says how rows are filled in, docs/sources.md what the source tags mean.
namespace llmres::inline v0::links {

// ---- host memory, one channel (Grace: one CPU) ----------------------------------------------------------------------

inline constexpr link ddr4_2666_channel{.id = "ddr4-2666-channel", .kind = link_kind::host_memory,
    .generation = "DDR4", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(21.328), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr4_2933_channel{.id = "ddr4-2933-channel", .kind = link_kind::host_memory,
    .generation = "DDR4", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(23.464), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr4_3200_channel{.id = "ddr4-3200-channel", .kind = link_kind::host_memory,
    .generation = "DDR4", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(25.6), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_4800_channel{.id = "ddr5-4800-channel", .kind = link_kind::host_memory,
    .generation = "DDR5", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(38.4), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_5200_channel{.id = "ddr5-5200-channel", .kind = link_kind::host_memory,
    .generation = "DDR5", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(41.6), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_5600_channel{.id = "ddr5-5600-channel", .kind = link_kind::host_memory,
    .generation = "DDR5", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(44.8), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link ddr5_6400_channel{.id = "ddr5-6400-channel", .kind = link_kind::host_memory,
    .generation = "DDR5", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(51.2), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per 64-bit channel",
    .confidence = "high", .sources = "CALC;RECALL"};

inline constexpr link mrdimm_8800_channel{.id = "mrdimm-8800-channel", .kind = link_kind::host_memory,
    .generation = "MRDIMM", .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(70.4), .achievable = 0.8, .latency = microseconds(0.095), .scope = "per channel",
    .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link lpddr5x_grace{.id = "lpddr5x-grace", .kind = link_kind::host_memory, .generation = "LPDDR5X",
    .lanes = 1, .topology = link_topology::bus,
    .raw = gb_per_s(500), .achievable = 0.85, .latency = microseconds(0.11), .scope = "per Grace CPU",
    .confidence = "recalled", .sources = "RECALL"};

// ---- solid state disks ----------------------------------------------------------------------------------------------

inline constexpr link nvme_gen3_x4{.id = "nvme-gen3-x4", .kind = link_kind::storage, .generation = "3", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(3.938), .both_directions = gb_per_s(7.876), .achievable = 0.89, .latency = microseconds(90),
    .scope = "one SSD", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link nvme_gen4_x4{.id = "nvme-gen4-x4", .kind = link_kind::storage, .generation = "4", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(7.877), .both_directions = gb_per_s(15.754), .achievable = 0.89, .latency = microseconds(75),
    .scope = "one SSD", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link nvme_gen5_x4{.id = "nvme-gen5-x4", .kind = link_kind::storage, .generation = "5", .lanes = 4,
    .topology = link_topology::bus,
    .raw = gb_per_s(15.754), .both_directions = gb_per_s(31.508), .achievable = 0.89, .latency = microseconds(65),
    .scope = "one SSD", .confidence = "medium", .sources = "CALC;RECALL"};

inline constexpr link sata3_ssd{.id = "sata3-ssd", .kind = link_kind::storage, .generation = "SATA3", .lanes = 1,
    .topology = link_topology::bus,
    .raw = gb_per_s(0.6), .both_directions = gb_per_s(1.2), .achievable = 0.92, .latency = microseconds(100),
    .scope = "one SSD", .confidence = "recalled", .sources = "RECALL"};

// ---- Thunderbolt, between Macs --------------------------------------------------------------------------------------

inline constexpr link thunderbolt_5{.id = "thunderbolt-5", .kind = link_kind::ethernet, .generation = "TB5",
    .lanes = 1, .topology = link_topology::network,
    .raw = gb_per_s(10), .both_directions = gb_per_s(20), .achievable = 0.7, .latency = microseconds(30),
    .scope = "Mac cluster", .confidence = "recalled", .sources = "RECALL"};

/// Every row above.
inline constexpr std::array all_memory{
    &ddr4_2666_channel, &ddr4_2933_channel, &ddr4_3200_channel, &ddr5_4800_channel, &ddr5_5200_channel,
    &ddr5_5600_channel, &ddr5_6400_channel, &mrdimm_8800_channel, &lpddr5x_grace, &nvme_gen3_x4, &nvme_gen4_x4,
    &nvme_gen5_x4, &sata3_ssd, &thunderbolt_5};

// clang-format on

}  // namespace llmres::inline v0::links
