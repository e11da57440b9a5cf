// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What is a link? The attachment of a GPU to other GPUs, to other hosts, or to its own host: bandwidth and latency.
namespace llmres::inline v0 {

/// The technology of a link.
enum class link_kind : std::uint8_t {
    none,         ///< no link: nothing can be sent
    pcie,         ///< PCI Express
    nvlink,       ///< NVIDIA, between GPUs
    c2c,          ///< NVIDIA, between a Grace CPU and its GPU
    xgmi,         ///< AMD Infinity Fabric
    ualink,       ///< the UALink consortium's
    ici,          ///< Google TPU
    neuronlink,   ///< AWS Trainium
    hccs,         ///< Huawei Ascend, with its successor UB
    infiniband,   ///< InfiniBand
    roce,         ///< RDMA over Ethernet, Intel Gaudi's own ports included
    ethernet,     ///< TCP/IP over Ethernet
    efa,          ///< AWS network adapter
    host_memory,  ///< a channel of the host's DRAM
    storage,      ///< a solid state disk
    other,        ///< another vendor's fabric
};

/// The names of the technologies, as in the tables, in their order.
template <>
inline constexpr std::array<std::string_view, 16> names_of<link_kind>{
    "none", "pcie",       "nvlink", "c2c",      "xgmi", "ualink",      "ici",     "neuronlink",
    "hccs", "infiniband", "roce",   "ethernet", "efa",  "host_memory", "storage", "other"};

/// How a link joins its members, which decides what one pair of them gets.
enum class link_topology : std::uint8_t {
    bus,       ///< one end each, shared or point to point: PCIe, host memory, a disk, C2C
    bridge,    ///< two to four GPUs wired to each other
    mesh,      ///< every pair has its own share: a pair gets bandwidth / (members - 1)
    torus,     ///< neighbours only
    switched,  ///< any pair gets the full bandwidth
    network,   ///< host to host
};

/// One GPU's (or one host adapter's) attachment to a link.
struct link {
    text<47> id{};                                ///< its name in the tables: "nvlink4-h100-sxm5"
    link_kind kind = link_kind::none;             ///< its technology
    text<7> generation{};                         ///< "5", "NDR", "v4"
    maybe<std::int32_t> lanes{};                  ///< PCIe lanes, NVLink links, channels
    link_topology topology = link_topology::bus;  ///< how it joins its members
    maybe<std::int32_t> members{};                ///< GPUs that it joins at most
    maybe<std::int32_t> neighbours{};             ///< of a mesh that is not full: GPUs to which one has links
    byte_rate raw{};                              ///< line rate in one direction
    maybe<byte_rate> both_directions{};           ///< line rate of both directions together, as vendors print it
    maybe<double> achievable{};                   ///< the part of `raw` that large transfers reach
    maybe<duration> latency{};                    ///< time of one small transfer
    maybe<byte_rate> all_reduce{};                ///< measured bus bandwidth of a large all-reduce over all members
    text<39> scope{};                             ///< what it joins, in words
    text<15> confidence{};                        ///< how well the row is attested: high, medium, low, recalled
    text<55> sources{};                           ///< tags explained in docs/sources.md

    /// Bandwidth that large transfers reach in one direction; `raw` where nobody measured it.
    constexpr byte_rate bandwidth() const { return raw * achievable.value_or(1.0); }
};

}  // namespace llmres::inline v0
