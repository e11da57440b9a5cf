// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Blocks that PyTorch's caching allocator holds in training beside the tensors of the peak.
namespace llmres::inline v0::detail {

/// Lengths of the samples that were the longest so far, but for the longest of all, over the length at which all are
/// cut: the sum over k of E[longest of k] / k, less E[longest of 30], for 30 samples.
///
/// `cut_of_mean`: that length over the mean length, where lengths are distributed as documents' are: log-normal, with
/// the spread of the one data set whose statistics were published with figures of memory, 3234 tokens and a standard
/// deviation of 2548 (ms-swift, Benchmark.md), so that the logarithm's is sqrt(ln(1 + (2548 / 3234)^2)) = 0.7. Few
/// samples come near a cut far beyond the mean, most come near one far below it. Tabulated at powers of two from 1/16,
/// linear between them. 0: lengths are uniformly distributed, which gives H(31) - 2 = 2.0.
constexpr double sum_of_earlier_longest(double cut_of_mean) {
    if (cut_of_mean <= 0) return 2.0;
    constexpr std::array<double, 9> sums{2.750, 2.689, 2.594, 2.435, 2.152, 1.665, 1.029, 0.536, 0.269};
    double from = 0.0625;
    if (cut_of_mean <= from) return sums[0];
    for (std::size_t i = 0; i + 1 < sums.size(); ++i, from *= 2)
        if (cut_of_mean < from * 2) return sums[i] + (sums[i + 1] - sums[i]) * (cut_of_mean / from - 1);
    return sums.back();
}

/// Blocks that are left over where samples have many lengths.
///
/// A sample longer than all before it finds no block for its largest tensors, and the allocator takes new ones; the old
/// ones serve smaller tensors only. Of n samples in random order H(n) = 1 + 1/2 + ... + 1/n are the longest so far, and
/// the lengths of those add up to H(n + 1) - 1 times the longest where lengths are uniformly distributed. Logits are
/// few and far larger than all else, so that each such sample's are new blocks; activations are many, and are cut from
/// blocks of larger ones.
///
/// `transient`: what is allocated and freed in a step of the longest sample; `logits`: of it, the logits and what the
/// loss makes of them.
///
/// Of logits, nothing is left over where the longest sample comes first, and H(10001) - 2 = 7.8 times as much after
/// 10 000 samples; expected is the value after 30. Of the rest: what runs of 38 to 1500 samples show in a simulation of
/// the allocator's rules (tests/validation/caching_allocator.cpp). There, gaps beside the longest sample are a tenth of
/// what is transient; with little memory left, long runs may need up to half. The upper bound is what runs that did not
/// run out of memory fitted in (seed case E1).
///
/// `recomputes`: layers are recomputed, so that the largest tensors beside logits are one layer's. Where all layers
/// keep their activations, `rest` is theirs, of which a longer sample finds most in blocks of earlier ones: in the same
/// simulation, 0 to 0.6 of it is left over, 0.3 on average and 1.1 at most with gaps, which are 0.16 of what is
/// transient.
constexpr idle_blocks blocks_of_varied_lengths(byte_count transient, byte_count logits, double cut_of_mean = 0,
                                               bool recomputes = true) {
    const byte_count rest = transient > logits ? transient - logits : byte_count{};
    const double again = recomputes ? 1.0 : 0.3, at_most = recomputes ? 3.0 : 1.1;
    const double gaps = recomputes ? 0.10 : 0.16, most_gaps = recomputes ? 0.15 : 0.25;
    return {
        .releasable = {byte_count{}, scaled_up(rest, again) + scaled_up(logits, sum_of_earlier_longest(cut_of_mean)),
                       scaled_up(rest, at_most) + scaled_up(logits, 7.8)},
        .fragmented = {byte_count{}, scaled_up(transient, gaps), scaled_up(transient, most_gaps)}};
}

/// Of the blocks left by FSDP1's wrapping, those that are too small or already split for a step that needs more than
/// they hold, at most by how much it does: none to all; 30 % on average in a simulation of the allocator's rules
/// (tests/validation/caching_allocator.cpp).
constexpr interval<byte_count> unused_after_wrapping(byte_count left, byte_count transient) {
    const byte_count beyond = transient > left ? transient - left : byte_count{};
    return {byte_count{}, scaled_up(beyond < left ? beyond : left, 0.3), left};
}

/// Blocks that are freed at the peak, and that no tensor of the peak uses.
constexpr idle_blocks idle_blocks_at(const folded_job& f, const stage_peak& peak) {
    const runtime& r = f.job.runtime;
    const byte_count unused = peak.reserved > peak.size ? peak.reserved - peak.size : byte_count{};
    if (!r.allocator.caches_freed_blocks) return {.fragmented = {unused, unused, unused}};
    idle_blocks idle{.releasable = {byte_count{}, unused, unused}};
    if (peak.activations > peak.tensors.activations)  // gaps between activations that are freed by then
        idle.releasable.high +=
            scaled_up(peak.activations - peak.tensors.activations, r.allocator.activation_fragmentation.high);
    // FSDP1 gathers units on a stream of its own, two at a time (torch/distributed/fsdp/_runtime_utils.py,
    // _unshard_stream).
    if (f.context.runtime.sharding.code == sharding_code::fsdp1 && f.layout.zero >= 3 &&
        phase_of(peak.point) != phase::backward)
        idle.releasable.high += f.widest.gathered * 2;
    if (f.context.runtime.sharding.code == sharding_code::deepspeed && f.layout.zero >= 3 &&
        f.layout.dense_shard_ranks() > 1) {
        const byte_count late = live_weights_of(f.context, peak.tensors.gathered, f.widest.gathered).late;
        idle.releasable.expected += late;
        idle.releasable.high += late * 2;  // besides, of a bucket that is filled and one that is reduced
        idle.buckets = late;
    }
    return idle;
}

/// All blocks that the allocator holds beside the tensors of the peak.
constexpr idle_blocks idle_blocks_of(const folded_job& f, const stage_peak& peak) {
    const job& j = f.job;
    idle_blocks idle = idle_blocks_at(f, peak);
    interval<byte_count>& releasable = idle.releasable;
    if (peak.wrapping > byte_count{}) {
        const interval<byte_count> unused = unused_after_wrapping(peak.wrapping, peak.transient);
        if (unused.expected > releasable.expected) releasable.expected = unused.expected;
        releasable.high += unused.high;
    }
    if (j.varied_lengths) {
        const double cut_of_mean = j.mean_length > token_count{} ? ratio(sequence_of(j), j.mean_length) : 0.0;
        const idle_blocks varied =
            blocks_of_varied_lengths(peak.transient, peak.logits, cut_of_mean, j.recompute == recompute::full);
        // Blocks that one phase leaves serve the longer samples, too.
        if (varied.releasable.expected > releasable.expected) releasable.expected = varied.releasable.expected;
        if (varied.releasable.high > releasable.high) releasable.high = varied.releasable.high;
        idle.fragmented += varied.fragmented;
    }
    return idle;
}

}  // namespace llmres::inline v0::detail
