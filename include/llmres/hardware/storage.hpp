// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>

/// The storage that checkpoints are written to and weights are loaded from: a disk in each node, or a file system that
/// nodes share.
namespace llmres::inline v0 {

/// The storage of a cluster.
struct storage {
    byte_rate bandwidth{};  ///< bandwidth of one node, as it reads and as it writes
    /// Bandwidth of all nodes together, where they share a file system; zero: each node has a storage of its own.
    byte_rate total_bandwidth{};
};

namespace detail {

/// The numbers of a storage with their bounds: a petabyte a second, which none reaches, is a mistaken unit.
constexpr std::array<bounded_real, 2> reals_of(const storage& s) {
    constexpr std::int64_t petabyte = 1'000'000'000'000'000;
    return {{{"storage.bandwidth", s.bandwidth.base(), 1, petabyte, "bytes per second of one node (2GB/s), above 0"},
             {"storage.total_bandwidth", s.total_bandwidth.base(), 0, petabyte,
              "bytes per second of all nodes together (40GB/s)"}}};
}

}  // namespace detail

/// Refuses a storage without bandwidth, or with more than any has.
constexpr status validate(const storage& s) { return detail::all_in_range(detail::reals_of(s)); }

}  // namespace llmres::inline v0
