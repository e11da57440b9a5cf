// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/interconnect.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// How long does a collective take over a link? By ring algorithms (Patarasso and Yuan 2009,
/// doi 10.1016/j.jpdc.2008.09.002), which are optimal in bandwidth and pay the link's latency once a hop.
namespace llmres::inline v0 {

/// How ranks exchange a tensor.
enum class collective_kind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, send };

/// The name of a collective: "all_reduce".
constexpr std::string_view name_of(collective_kind kind) {
    constexpr std::array<std::string_view, 5> names{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send"};
    return names[static_cast<std::size_t>(kind)];
}

/// Bytes that one rank sends. `message` is the whole tensor: what is reduced, what is there after an all-gather, what a
/// reduce-scatter starts from, all that a rank sends to the others in an all-to-all, or what it sends to the next rank.
constexpr quantity<byte_unit, double> sent_bytes(collective_kind kind, byte_count message, std::int64_t ranks) {
    const double others = ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 0.0;
    switch (kind) {
        case collective_kind::all_reduce:
            return approx(message) * (2.0 * others);
        case collective_kind::all_gather:
        case collective_kind::reduce_scatter:
        case collective_kind::all_to_all:
            return approx(message) * others;
        case collective_kind::send:
            return approx(message);
    }
    return {};
}

/// Messages that a rank sends one after another: each pays the link's latency.
constexpr std::int64_t hops(collective_kind kind, std::int64_t ranks) {
    switch (kind) {
        case collective_kind::all_reduce:
            return 2 * (ranks - 1);
        case collective_kind::all_gather:
        case collective_kind::reduce_scatter:
            return ranks - 1;
        case collective_kind::all_to_all:
        case collective_kind::send:
            return 1;
    }
    return 1;
}

/// Time of one collective among `ranks` that the link joins, at the bandwidth that large transfers reach: bytes sent
/// over bandwidth, and a latency for each hop. Zero for one rank.
constexpr duration time_of(collective_kind kind, byte_count message, std::int64_t ranks, const link& joining) {
    if (ranks <= 1 && kind != collective_kind::send) return {};
    return sent_bytes(kind, message, ranks) / joining.bandwidth() + joining.latency.value_or({}) * hops(kind, ranks);
}

}  // namespace llmres::inline v0
