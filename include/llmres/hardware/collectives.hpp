// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How long does a collective take? By ring algorithms (Patarasso and Yuan 2009, doi 10.1016/j.jpdc.2008.09.002), which
/// are optimal in bandwidth and pay a latency once a hop.
namespace llmres::inline v0 {

/// How ranks exchange a tensor.
enum class collective_kind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send };

/// The names of the collectives, in their order.
template <>
inline constexpr std::array<std::string_view, 5> names_of<collective_kind>{"all_reduce", "all_gather", "reduce_scatter",
                                                                           "all_to_all", "send"};

/// Bytes that one rank sends. `message` is the whole tensor: what is reduced, what is there after an all-gather, what a
/// reduce-scatter starts from, all that a rank sends to the others in an all-to-all, or what it sends to the next rank.
constexpr quantity<byte_unit, double> sent_bytes(collective_kind kind, byte_count message, std::int64_t ranks) {
    const double others = ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 0.0;
    switch (kind) {
        case collective_kind::all_reduce: return approx(message) * (2.0 * others);
        case collective_kind::all_gather:
        case collective_kind::reduce_scatter:
        case collective_kind::all_to_all: return approx(message) * others;
        case collective_kind::send: return approx(message);
    }
    return {};
}

/// Messages that a rank sends one after another: each pays the link's latency.
constexpr std::int64_t hops(collective_kind kind, std::int64_t ranks) {
    switch (kind) {
        case collective_kind::all_reduce: return 2 * (ranks - 1);
        case collective_kind::all_gather:
        case collective_kind::reduce_scatter: return ranks - 1;
        case collective_kind::all_to_all:
        case collective_kind::send: return 1;
    }
    return 1;
}

/// What NCCL and runtimes' own kernels reach of a link. Fitted on collectives.csv alone: of its 1,478 points on V100,
/// A100, H100, B200, B300, GB200 and RTX PRO 6000, times from 1 MiB are met within 15 % on average, shorter ones within
/// 22 % (tests/validation/collectives.cpp).
struct collective_constants {
    duration call = microseconds(8.6);  ///< of one of NCCL's calls
    duration hop = microseconds(0.81);  ///< of each message that a rank passes on
    duration own = microseconds(5.0);   ///< of a runtime's own all-reduce inside a node, whatever the ranks
    double ring = 0.75;                 ///< of the line rate: all-reduce, all-gather, reduce-scatter, send
    double all_to_all = 0.69;           ///< of the line rate
    double bus = 0.42;                  ///< of the line rate where more than two share the host's bus
    double pipelined = 1.2;             ///< of the geometric mean of latency and transfer, which chunks add
    duration fabric = microseconds(2);  ///< of a message between nodes, where the link's latency is not known
};
inline constexpr collective_constants default_collectives{};  ///< the constants of this header

/// Who exchanges: ranks in nodes.
struct rank_group {
    std::int64_t ranks = 1;    ///< that exchange with each other
    std::int64_t in_node = 1;  ///< of them in one node
    bool own_kernels = false;  ///< all-reduces inside a node are the runtime's own kernels
    std::int64_t sharing = 1;  ///< GPUs that share a link between nodes: other groups send at the same time
};

/// The part of a link's rate that ranks have among each other. In a mesh each pair has links of its own, so that few
/// ranks leave most of a GPU's links idle (MI300X: 313 GB/s over eight, 47.7 over two; V100: 131 and 22.5).
constexpr double share_of_mesh(const link& inside, std::int64_t ranks) {
    if (inside.topology != link_topology::mesh) return 1.0;
    const double others = inside.neighbours ? *inside.neighbours : inside.members.value_or(2) - 1;
    const double used = static_cast<double>(ranks - 1);
    return used > 0 && used < others ? used / others : 1.0;
}

/// Time of one collective of a group: latency, transfer, and what cutting the message into chunks costs, between the
/// sum of both and its square of roots. Inside a node the transfer takes a part of the line rate. A ring over nodes
/// enters and leaves each node through the adapters of all its members there, at the fabric's rate at most (NCCL's
/// multi-channel rings). Zero for one rank, and where a link has no rate.
constexpr duration time_of(collective_kind kind, byte_count message, const rank_group& group, const link& inside,
                           const link& between, const collective_constants& k = default_collectives) {
    if (group.ranks <= 1 && kind != collective_kind::send) return {};
    const bool leaves = group.ranks > group.in_node;
    const bool bus = inside.topology == link_topology::bus && group.in_node > 2;  // two alone share it with nobody
    const double share = bus ? k.bus : kind == collective_kind::all_to_all ? k.all_to_all : k.ring;
    byte_rate rate = inside.raw * (share * share_of_mesh(inside, group.in_node));
    if (kind == collective_kind::all_reduce && inside.all_reduce && group.ranks >= 8 && rate < *inside.all_reduce)
        rate = *inside.all_reduce;
    if (leaves) {
        const bool every_pair = kind == collective_kind::all_to_all || kind == collective_kind::send;
        const byte_rate adapters = between.bandwidth() / static_cast<double>(group.sharing) *
                                   (every_pair ? 1.0 : static_cast<double>(group.in_node));
        if (rate == byte_rate{} || adapters < rate) rate = adapters;
    }
    if (rate <= byte_rate{}) return {};
    const double transfer = (sent_bytes(kind, message, group.ranks) / rate).in(seconds);
    const bool own = group.own_kernels && !leaves && kind == collective_kind::all_reduce;
    duration latency = own ? k.own : k.call + k.hop * static_cast<double>(hops(kind, group.ranks));
    if (leaves) latency += between.latency.value_or(k.fabric) * static_cast<double>(hops(kind, group.ranks));
    const double mean = detail::square_root(latency.in(seconds)*transfer);
    return latency + seconds(transfer + k.pipelined * mean);
}

/// Time of one collective among `ranks` that one link joins.
constexpr duration time_of(collective_kind kind, byte_count message, std::int64_t ranks, const link& joining) {
    return joining.topology == link_topology::network
               ? time_of(kind, message, rank_group{.ranks = ranks}, link{}, joining)
               : time_of(kind, message, rank_group{.ranks = ranks, .in_node = ranks}, joining, link{});
}

}  // namespace llmres::inline v0
