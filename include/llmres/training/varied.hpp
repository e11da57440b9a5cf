// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/interval.hpp>
#include <llmres/units.hpp>

/// What PyTorch's caching allocator holds where samples have many lengths.
///
/// A sample longer than any before it finds no block for its widest tensors, and takes new ones; the old stay for what is
/// narrower. Of n samples in random order H(n) = 1 + 1/2 + ... + 1/n are longest so far, and the lengths of those add up to
/// H(n + 1) - 1 times the longest of all where lengths are spread evenly. Logits are few and far wider than all else: each such
/// sample's are new. Activations are many, and cut from the blocks of wider ones.
namespace llmres {

namespace detail {
constexpr double earlier_longest(double cut_of_mean);
}

struct varied_blocks {
    interval<byte_count> idle{};   ///< whole segments, which the allocator hands back before it runs out
    interval<byte_count> stuck{};  ///< gaps in segments in use, which it cannot
};

/// `passing`: tensors that come and go in a step of the longest sample; `scores`: of those, the logits and what the loss makes of them.
///
/// Of logits: nothing idle where the longest sample comes first; after 10 000 samples H(10001) - 2 = 7.8 times as much; between them,
/// geometrically, 2.0 (30 samples). Of all else: what runs of 38 to 1500 samples show in a simulation of the allocator's rules
/// (tests/validation/caching_allocator.cpp). There gaps beside the longest sample are a tenth of what passes; cornered, long runs
/// may need up to half. The bound is what runs that did go on fitted in (seed case E1).
///
/// `longest_of_mean`: where lengths are spread as documents' are (log-normal, a standard deviation of 0.7 of the logarithm) and cut at
/// so many times their mean. Few are near a cut far beyond the mean, and the longest so far grow by small steps; most are near one
/// far below it. 0: spread evenly.
constexpr varied_blocks blocks_of_varied_lengths(byte_count passing, byte_count scores, double longest_of_mean = 0) {
    const byte_count rest = passing > scores ? passing - scores : byte_count{};
    return {.idle = {byte_count{}, rest + scaled_up(scores, detail::earlier_longest(longest_of_mean)), rest * 3 + scaled_up(scores, 7.8)},
            .stuck = {byte_count{}, scaled_up(passing, 0.10), scaled_up(passing, 0.15)}};
}

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Lengths of the longest samples so far but the last, of 30, over the length that all are cut at: the sum over k of E[longest of
/// k] / k, less E[longest of 30]. By powers of two of the cut over the mean, from 1/16; between them along straight lines.
constexpr double earlier_longest(double cut_of_mean) {
    if (cut_of_mean <= 0) return 2.0;
    constexpr std::array<double, 9> sums{2.750, 2.689, 2.594, 2.435, 2.152, 1.665, 1.029, 0.536, 0.269};
    double from = 0.0625;
    if (cut_of_mean <= from) return sums[0];
    for (std::size_t i = 0; i + 1 < sums.size(); ++i, from *= 2)
        if (cut_of_mean < from * 2) return sums[i] + (sums[i + 1] - sums[i]) * (cut_of_mean / from - 1);
    return sums.back();
}

}  // namespace detail

}  // namespace llmres
