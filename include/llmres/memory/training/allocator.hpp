// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/peak.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// What PyTorch's caching allocator holds where samples have many lengths.
///
/// A sample longer than any before it finds no block for its widest tensors, and takes new ones; the old stay for what
/// is narrower. Of n samples in random order H(n) = 1 + 1/2 + ... + 1/n are longest so far, and the lengths of those
/// add up to H(n + 1) - 1 times the longest of all where lengths are spread evenly. Logits are few and far wider than
/// all else: each such sample's are new. Activations are many, and cut from the blocks of wider ones.
namespace llmres::inline v0::detail {

constexpr double earlier_longest(double cut_of_mean);

struct varied_blocks {
    interval<byte_count> idle{};   ///< whole segments, which the allocator hands back before it runs out
    interval<byte_count> stuck{};  ///< gaps in segments in use, which it cannot
};

/// `passing`: tensors that come and go in a step of the longest sample; `scores`: of those, the logits and what the
/// loss makes of them.
///
/// Of logits: nothing idle where the longest sample comes first; after 10 000 samples H(10001) - 2 = 7.8 times as much;
/// between them, geometrically, 2.0 (30 samples). Of all else: what runs of 38 to 1500 samples show in a simulation of
/// the allocator's rules (tests/validation/caching_allocator.cpp). There gaps beside the longest sample are a tenth of
/// what passes; cornered, long runs may need up to half. The bound is what runs that did go on fitted in (seed case
/// E1).
///
/// `longest_of_mean`: where lengths are spread as documents' are (log-normal, a standard deviation of 0.7 of the
/// logarithm) and cut at so many times their mean. Few are near a cut far beyond the mean, and the longest so far grow
/// by small steps; most are near one far below it. 0: spread evenly.
constexpr varied_blocks blocks_of_varied_lengths(byte_count passing, byte_count scores, double longest_of_mean = 0) {
    const byte_count rest = passing > scores ? passing - scores : byte_count{};
    return {.idle = {byte_count{}, rest + scaled_up(scores, earlier_longest(longest_of_mean)),
                     rest * 3 + scaled_up(scores, 7.8)},
            .stuck = {byte_count{}, scaled_up(passing, 0.10), scaled_up(passing, 0.15)}};
}

/// Lengths of the longest samples so far but the last, of 30, over the length that all are cut at: the sum over k of
/// E[longest of k] / k, less E[longest of 30]. By powers of two of the cut over the mean, from 1/16; between them along
/// straight lines.
constexpr double earlier_longest(double cut_of_mean) {
    if (cut_of_mean <= 0) return 2.0;
    constexpr std::array<double, 9> sums{2.750, 2.689, 2.594, 2.435, 2.152, 1.665, 1.029, 0.536, 0.269};
    double from = 0.0625;
    if (cut_of_mean <= from) return sums[0];
    for (std::size_t i = 0; i + 1 < sums.size(); ++i, from *= 2)
        if (cut_of_mean < from * 2) return sums[i] + (sums[i + 1] - sums[i]) * (cut_of_mean / from - 1);
    return sums.back();
}

/// ... and of these, what a step finds too small or already split that needs more than they hold, as far as it does:
/// none to all, three tenths on average by the allocator's rules (tests/validation/caching_allocator.cpp).
constexpr interval<byte_count> unused_after_wrapping(byte_count left, byte_count passing) {
    const byte_count beyond = passing > left ? passing - left : byte_count{};
    return {byte_count{}, scaled_up(beyond < left ? beyond : left, 0.3), left};
}

/// Blocks that the allocator holds beside the fullest moment's tensors.
struct idle_blocks {
    interval<byte_count> hoarded{};  ///< that it hands back before it runs out
    interval<byte_count> apart{};    ///< that it cannot use
};

constexpr idle_blocks idle_blocks_of(const folded_step& f, const fullest_moment& seen) {
    const job& j = f.of;
    const byte_count unused = seen.held > seen.most ? seen.held - seen.most : byte_count{};
    idle_blocks idle;
    (j.runtime.hoards ? idle.hoarded : idle.apart) = {byte_count{}, unused, unused};
    if (!j.runtime.hoards) idle.apart.low = unused;
    if (j.runtime.hoards &&
        seen.activations > seen.at.activations)  // gaps between activations that are gone at the fullest moment
        idle.hoarded.high += scaled_up(seen.activations - seen.at.activations, j.runtime.churn.high);
    // FSDP1 gathers units on a stream of its own (torch/distributed/fsdp/_runtime_utils.py, _unshard_stream), two at a
    // time.
    if (j.runtime.hoards && f.step.engine.sharding == sharding_code::fsdp1 && f.over.zero >= 3 &&
        seen.at.phase != phase::backward)
        idle.hoarded.high += f.widest.gathered * 2;
    if (seen.wrapping > byte_count{}) {
        const interval<byte_count> unfit = unused_after_wrapping(seen.wrapping, seen.passing);
        if (unfit.expected > idle.hoarded.expected) idle.hoarded.expected = unfit.expected;
        idle.hoarded.high += unfit.high;
    }
    if (j.varied_lengths) {
        const varied_blocks more = blocks_of_varied_lengths(
            seen.passing, seen.scores, j.mean_length > token_count{} ? ratio(sequence_of(j), j.mean_length) : 0.0);
        if (more.idle.expected > idle.hoarded.expected)
            idle.hoarded.expected = more.idle.expected;  // one phase's serve the other, too
        if (more.idle.high > idle.hoarded.high) idle.hoarded.high = more.idle.high;
        idle.apart += more.stuck;
    }
    return idle;
}

}  // namespace llmres::inline v0::detail
