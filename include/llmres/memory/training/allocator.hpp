// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/overheads.hpp>
#include <llmres/memory/training/peak.hpp>
#include <llmres/memory/training/stage.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// Blocks that PyTorch's caching allocator holds in training beside the tensors of the peak.
namespace llmres::inline v0::detail {

/// A table over powers of two from 1/16 to 16, linear between them and constant beyond.
constexpr double between_powers(const std::array<double, 9>& table, double at) {
    double from = 0.0625;
    if (at <= from) return table[0];
    for (std::size_t i = 0; i + 1 < table.size(); ++i, from *= 2)
        if (at < from * 2) return table[i] + (table[i + 1] - table[i]) * (at / from - 1);
    return table.back();
}

/// Lengths of the samples that were the longest so far, but for the longest of all, over the length at which all are
/// cut: the sum over k of E[longest of k] / k, less E[longest of 30], for 30 samples.
///
/// `cut_of_mean`: that length over the mean length, where lengths are distributed as documents' are: log-normal, with
/// the spread (In-sample) of the one data set whose statistics were published with figures of memory, 3234 tokens and a
/// standard deviation of 2548 (ms-swift, Benchmark.md), so that the logarithm's is sqrt(ln(1 + (2548 / 3234)^2)) = 0.7.
/// Few samples come near a cut far beyond the mean, most come near one far below it. 0: lengths are uniformly
/// distributed, which gives H(31) - 2 = 2.0.
constexpr double sum_of_earlier_longest(double cut_of_mean) {
    if (cut_of_mean <= 0) return 2.0;
    return between_powers({2.750, 2.689, 2.594, 2.435, 2.152, 1.665, 1.029, 0.536, 0.269}, cut_of_mean);
}

/// The same after 10 000 samples, where lengths have no more than `sizes` sizes of blocks. When one of the largest size
/// has come, none is longer than all before it: a sample is one with a chance of the density of lengths at the cut over
/// the mean density, over `sizes`. The sum grows by ln 2 with each doubling of the samples before that, as that of the
/// harmonic numbers.
constexpr double sum_after_many(double cut_of_mean, double sizes) {
    constexpr double ln_2 = 0.6931471805599453;
    const double density =
        cut_of_mean <= 0 ? 1.0
                         : between_powers({5.509, 4.190, 2.929, 1.779, 0.842, 0.255, 0.038, 0.002, 0.0}, cut_of_mean);
    double sum = sum_of_earlier_longest(cut_of_mean);
    double samples = 1 / (1e-4 + density / (sizes > 1 ? sizes : 1.0));
    for (; samples >= 60; samples /= 2) sum += ln_2;
    return samples > 30 ? sum + ln_2 * (samples / 30 - 1) : sum;
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
/// Of logits, nothing is left over where the longest sample comes first; expected is the value after 30 samples, at
/// most the one after 10 000, H(10001) - 2 = 7.8 times as much where lengths have any size. They are whole tokens, and
/// blocks of 10 MiB and more have sizes in steps of 2 MiB (c10/cuda/CUDACachingAllocator.cpp, get_allocation_size), so
/// that there are as many sizes as tokens, or as steps in the logits, at most. Of the rest: what runs of 38 to 1500
/// samples show in a simulation of the allocator's rules (tests/validation/caching_allocator.cpp). There, gaps beside
/// the longest sample are a tenth of what is transient; with little memory left, long runs may need up to half. The
/// upper bound is In-sample: what runs that did not run out of memory fitted in (seed case E1).
///
/// `recomputes`: layers are recomputed, so that the largest tensors beside logits are one layer's. Where all layers
/// keep their activations, `rest` is theirs, of which a longer sample finds most in blocks of earlier ones: in the same
/// simulation, 0 to 0.6 of it is left over, 0.3 on average and 1.1 at most with gaps, which are 0.16 of what is
/// transient. `by_pairs`: eager attention has several large tensors of pairs of tokens at once, in which a longer
/// sample finds as much, too: In-sample, within 10 % in runs of ChatGLM3 (swift) of 4,096 and 8,192 tokens.
constexpr idle_blocks blocks_of_varied_lengths(byte_count transient, byte_count logits, double cut_of_mean = 0,
                                               bool recomputes = true, token_count longest = {},
                                               bool by_pairs = false) {
    const byte_count rest = beyond(transient, logits);
    const double again = recomputes && !by_pairs ? 1.0 : 0.3, at_most = recomputes ? 3.0 : 1.1;
    const double steps = ratio(logits, mib(2)), lengths = static_cast<double>(longest.in(tokens));
    const double sizes = longest > token_count{} && lengths < steps ? lengths : steps;
    const double gaps = recomputes ? 0.10 : 0.16, most_gaps = recomputes ? 0.15 : 0.25;
    return {
        .releasable = {byte_count{}, scaled_up(rest, again) + scaled_up(logits, sum_of_earlier_longest(cut_of_mean)),
                       scaled_up(rest, at_most) + scaled_up(logits, sum_after_many(cut_of_mean, sizes))},
        .fragmented = {byte_count{}, scaled_up(transient, gaps), scaled_up(transient, most_gaps)}};
}

/// Of the blocks left by FSDP1's wrapping, those that are too small or already split for a step that needs more than
/// they hold, at most by how much it does: none to all; 30 % on average in a simulation of the allocator's rules
/// (tests/validation/caching_allocator.cpp).
constexpr interval<byte_count> unused_after_wrapping(byte_count left, byte_count transient) {
    const byte_count lacking = beyond(transient, left);
    return {byte_count{}, scaled_up(lacking < left ? lacking : left, 0.3), left};
}

/// DeepSpeed's ZeRO 3: blocks that wait for another stream, beside `unused`, which no phase uses of another's.
///
/// Where the host waits in each attention, bounds are those of the allocator's rules with these streams
/// (tests/validation/deepspeed_streams.cpp). `unused` is surely there: tensors of other streams, and of the loss, which
/// find no block that is large enough. At most a layer's weights are joined beside those that are late, and buckets
/// come in three sizes, each larger than the one before it.
constexpr void add_late_blocks(idle_blocks& idle, const folded_job& f, const stage_peak& peak, byte_count unused) {
    const interval<byte_count> weights =
        late_weights_of(f.job, f.layout, f.context, peak.details.gathered, f.widest.gathered);
    const byte_count gradients = late_gradients_of(f.job, f.context, peak.details.reduced, f.widest.gradients.whole);
    idle.releasable.expected = weights.expected + (gradients > unused ? gradients : unused);
    const byte_count bucket = bucket_of(f.job, f.context, peak.details.reduced);
    const byte_count joined = f.widest.gathered + bucket * 2;
    if (waits_in_attention(f.job, f.context)) {
        idle.releasable.low = unused + weights.low;
        idle.releasable.high = idle.releasable.expected + joined;
        idle.buckets = bucket;
        return;
    }
    // At most a bucket that is being filled besides.
    const byte_count most = scaled_up(gradients, 1.0 + 1.0 / reductions_under_way);
    idle.releasable.high += weights.high + joined;
    if (most > unused) idle.releasable.high += most - unused;
    idle.buckets = weights.expected + gradients;
}

/// DeepSpeed: gaps between the tensors of transformers' modules. Checkpoints lose what they leave of the blocks that
/// they are cut from; beside them a tenth of the activations at most where all layers are recomputed
/// (tests/validation/deepspeed_streams.cpp), else 27 % (tests/validation/caching_allocator.cpp).
constexpr interval<byte_count> deepspeed_gaps(const folded_job& f, const stage_peak& peak) {
    const bool recomputed = f.job.recompute == recompute::full && f.job.recompute_every == 1;
    const byte_count most = scaled_up(peak.activations, recomputed ? 0.10 : 0.27);
    return {peak.cut, peak.cut + peak.flattened, peak.cut + peak.flattened + most};
}

/// Of the blocks that one phase leaves and no other phase can use whole, what is held at the peak.
///
/// Where all tensors are of one stream, later tensors are cut from larger blocks of earlier ones. In-sample: 1,136 runs
/// of transformers on an H100 (docs/accuracy.md) held 5 to 110 % of such blocks, half of them more than 40; 43 runs of
/// 7B models on an A100, which nvidia-smi measured, 60 %. Data-parallel ranks gather weights and reduce gradients on
/// streams of their own, whose blocks the computation's tensors do not take; In-sample: in runs under FSDP1 and DDP
/// (fms, fsdp_qlora) all is held, a quarter at least.
constexpr interval<byte_count> blocks_between_phases(byte_count unused, const stage_peak& peak, const layout& l) {
    const bool one_stream = l.dense_data_ranks() == 1;
    const double expected = one_stream ? 0.5 : 1.0, least = one_stream ? 0.05 : 0.25;
    const bool stepping = peak.point == peak_point::optimizer_step;
    return {stepping ? byte_count{} : scaled_up(unused, least), scaled_up(unused, expected), unused};
}

/// Blocks that are freed at the peak, and that no tensor of the peak uses.
constexpr idle_blocks idle_blocks_at(const folded_job& f, const stage_peak& peak) {
    const runtime& r = f.job.runtime;
    const byte_count unused = beyond(peak.reserved, peak.size);
    if (!r.allocator.caches_freed_blocks) return {.fragmented = {unused, unused, unused}};
    idle_blocks idle{.releasable = blocks_between_phases(unused, peak, f.layout)};
    if (peak.activations > peak.tensors.activations) {  // gaps between activations that are freed by then stay
        const interval<double>& gaps = r.allocator.activation_fragmentation;
        const byte_count freed = peak.activations - peak.tensors.activations;
        if (!r.allocator.expandable_segments)
            idle.fragmented = {byte_count{}, scaled_up(freed, gaps.expected), scaled_up(freed, gaps.expected)};
        idle.releasable.high += scaled_up(freed, gaps.high - gaps.expected);
    }
    // FSDP1 gathers units on a stream of its own, two at a time (torch/distributed/fsdp/_runtime_utils.py,
    // _unshard_stream).
    if (f.context.runtime.sharding.code == sharding_code::fsdp1 && f.layout.zero >= 3 &&
        phase_of(peak.point) != phase::backward)
        idle.releasable.high += f.widest.gathered * 2;
    if (f.context.runtime.sharding.code == sharding_code::deepspeed && f.layout.zero >= 3 &&
        f.layout.dense_shard_ranks() > 1) {
        add_late_blocks(idle, f, peak, unused);
    }
    if (peak.loaded > peak.size) {
        const byte_count beside = peak.loaded - peak.size;
        if (beside > idle.releasable.expected) idle.releasable.expected = beside;
        if (beside > idle.releasable.high) idle.releasable.high = beside;
    }
    if (r.allocator.gaps_by_step && !r.allocator.expandable_segments) idle.fragmented += deepspeed_gaps(f, peak);
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
            blocks_of_varied_lengths(peak.transient, peak.logits, cut_of_mean, j.recompute == recompute::full,
                                     sequence_of(j), f.context.attention.kernel == attention_kernel::eager);
        // Blocks that one phase leaves serve the longer samples, too.
        releasable.low = {};
        if (varied.releasable.expected > releasable.expected) releasable.expected = varied.releasable.expected;
        if (varied.releasable.high > releasable.high) releasable.high = varied.releasable.high;
        idle.fragmented = varied.fragmented;  // of activations, too
    }
    return idle;
}

}  // namespace llmres::inline v0::detail
