// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/context.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/units.hpp>

/// What the runtime adds to the tensors of a training step.
namespace llmres::inline v0::detail {

/// The tensors of one GPU at one moment of a step, before the runtime adds to them.
struct tensor_memory {
    byte_count weights{};
    byte_count adapter{};
    byte_count gradients{};
    byte_count optimizer{};
    byte_count activations{};
    byte_count logits{};
    byte_count communication{};
    byte_count optimizer_scratch{};
    byte_count paged{};      ///< of `optimizer`, managed memory, which PyTorch's allocator knows nothing of
    byte_count reference{};  ///< weights of a model that is not trained

    constexpr byte_count all() const {
        return weights + adapter + gradients + optimizer + activations + logits + communication + optimizer_scratch +
               reference;
    }
};

/// What is known of the tensors of one GPU beside their sizes: the same at all moments of a step.
struct tensor_details {
    byte_count maybe_more{};  ///< activations beyond those: of busier experts, or not yet copied to main memory
    byte_count reduced{};     ///< no memory: gradients that data-parallel ranks exchange
    byte_count gathered{};    ///< no memory: weights that ZeRO gathers
    byte_count updated{};     ///< no memory: what the optimizer's step reads and writes
    byte_count buckets{};     ///< of the communication, at most: buffers whose sizes are settings
    byte_count dummies{};     ///< of the communication, what a library keeps: no rank gets it from another
    byte_count bucketed{};    ///< of the communication, DDP's buckets where they have the gradients a second time
};

/// Freed blocks that the caching allocator holds and that no tensor uses.
struct idle_blocks {
    interval<byte_count> releasable{};  ///< whole segments, which it frees before it runs out of memory
    interval<byte_count> fragmented{};  ///< gaps in segments that are in use, which it cannot free
    byte_count buckets{};               ///< of `releasable`, what buffers whose sizes are settings decide
};

/// Of what the first communicator of a process takes, its kernels, which further ones share: 0.73 of 1.45 GiB stayed
/// when the group was destroyed (ml-engineering, training/performance, torch-dist-mem-usage.py).
inline constexpr byte_count nccl_once = mib(740);

/// Of buckets whose sizes are settings, those that may not be there: all, unless the caller has said their size.
constexpr byte_count unsure_buckets(const tensor_memory& t, const tensor_details& d, const runtime& r) {
    if (r.sharding.deepspeed.bucket_size_known) return {};
    return d.buckets < t.communication ? d.buckets : t.communication;
}

/// Workspaces of libraries, which PyTorch takes from its own allocator. The threads of the forward pass and of autograd
/// have a handle of cuBLAS each, with a workspace of its own (torch/csrc/autograd/engine.cpp, CublasHandlePool.cpp).
constexpr interval<byte_count> training_workspace(const runtime_process& p, sdpa_backend sdpa) {
    const byte_count products = product_workspace_on(p, sdpa == sdpa_backend::cudnn);
    return p.workspace + interval<byte_count>{products, products * 2, products * 2};
}

/// The tensors by term: activations, logits and communication with the error that the runtime's estimates showed,
/// and the workspaces of libraries. Transformer Engine's dummies of gradients are among these: it keeps one of each
/// shape (module/base.py, get_dummy_wgrad). `described`: is_described().
constexpr memory_breakdown terms_of(const tensor_memory& t, const tensor_details& d, const job& j, bool described,
                                    sdpa_backend sdpa) {
    const runtime& r = j.runtime;
    memory_breakdown m;
    m.reduced = d.reduced;
    m.gathered = d.gathered;
    m.updated = d.updated;
    m.evictable = t.paged;
    m[memory_term::weights] = t.weights;
    m[memory_term::adapter] = t.adapter;
    m[memory_term::reference] = t.reference;
    m[memory_term::gradients] = t.gradients + d.bucketed;
    m[memory_term::optimizer] = t.optimizer;
    m[memory_term::activations] = t.activations;
    m[memory_term::logits] = t.logits;
    m[memory_term::communication] = t.communication - d.dummies - d.bucketed;
    m[memory_term::optimizer_scratch] = t.optimizer_scratch;
    m.ideal = t.all();
    m[memory_term::workspace] = training_workspace(r.process, sdpa);
    m[memory_term::workspace] += d.dummies;
    if (r.process.expert_workspace.high > byte_count{} && computes_together(r.kernels.experts) && has_experts(j.model))
        m[memory_term::workspace] += r.process.expert_workspace;
    if (trains(j)) {
        const auto estimate = [&](memory_term term, byte_count unsure, const interval<double>& error) {
            const byte_count about = m[term].expected;
            if (about == byte_count{}) return;  // most terms of most jobs are zero
            m[term] = {scaled_up(about - unsure, error.low), scaled_up(about, error.expected),
                       scaled_up(about, error.high)};
        };
        const interval<double>& known = r.accuracy.activations;
        const interval<double>& more = j.model.from_tensors ? undescribed_activations : r.accuracy.undescribed;
        estimate(memory_term::activations, {},
                 described ? known : interval<double>{known.low * more.low, known.expected, known.high * more.high});
        estimate(memory_term::logits, {}, r.accuracy.logits.high > 0 ? r.accuracy.logits : r.accuracy.activations);
        estimate(memory_term::optimizer_scratch, {}, r.accuracy.activations);
        estimate(memory_term::communication, unsure_buckets(t, d, r), r.accuracy.activations);
    }
    m[memory_term::activations].high += d.maybe_more;
    return m;
}

/// The sum of two estimates whose errors have nothing to do with each other, so that both are hardly at their worst at
/// once: its bounds are as far from what is expected as the root of both distances' squares.
constexpr interval<byte_count> independent_sum(const interval<byte_count>& a, const interval<byte_count>& b) {
    const auto distance = [](byte_count x, byte_count y) {
        if (x == byte_count{} || y == byte_count{} || is_saturated(x) || is_saturated(y)) return x + y;
        const auto one = static_cast<double>(x.in(bytes)), other = static_cast<double>(y.in(bytes));
        return bytes(static_cast<std::int64_t>(square_root(one * one + other * other)));
    };
    const byte_count expected = a.expected + b.expected;
    return {expected - distance(a.expected - a.low, b.expected - b.low), expected,
            expected + distance(a.high - a.expected, b.high - b.expected)};
}

/// What lies idle between the allocated tensors, in segments that are in use.
constexpr interval<byte_count> gaps_between(const interval<byte_count>& allocated, byte_count activations,
                                            const runtime& r, const idle_blocks& idle) {
    const auto part_of = [](const interval<byte_count>& size, const interval<double>& part) {
        return interval<byte_count>{scaled_up(size.low, part.low), scaled_up(size.expected, part.expected),
                                    scaled_up(size.high, part.high)};
    };
    interval<byte_count> gaps = part_of(allocated, fragmentation_of(r.allocator));
    gaps += idle.fragmented;
    if (r.allocator.activation_fragmentation.high > 0 && !r.allocator.expandable_segments)
        gaps += part_of({activations, activations, activations}, r.allocator.activation_fragmentation);
    return gaps;
}

/// An estimate without buckets, which are there or not, whichever way the estimate is off.
constexpr interval<byte_count> without_buckets(const interval<byte_count>& all, byte_count buckets) {
    const byte_count expected = beyond(all.expected, buckets);
    return {all.low < expected ? all.low : expected, expected, beyond(all.high, buckets)};
}

/// Adds what the caching allocator holds beyond what it hands out. Gaps are as wide as the tensors; which blocks no
/// phase uses again has nothing to do with how far either is off. Of buckets whose sizes are settings, which a launcher
/// may ask to be smaller, the lower bound has none unless the caller says what they are.
constexpr void reserve(memory_breakdown& m, const tensor_memory& t, const tensor_details& d, const runtime& r,
                       const idle_blocks& idle) {
    const auto in_use_of = [&](const interval<byte_count>& allocated) {
        return allocated + gaps_between(allocated, t.activations, r, idle);
    };
    const interval<byte_count> in_use = in_use_of(m.allocated);
    m.reserved = independent_sum(in_use, idle.releasable);
    const byte_count buckets = unsure_buckets(t, d, r);
    const byte_count idle_buckets = r.sharding.deepspeed.bucket_size_known ? byte_count{} : buckets + idle.buckets;
    if (idle_buckets > byte_count{}) {
        const byte_count certain = independent_sum(in_use_of(without_buckets(m.allocated, buckets)),
                                                   without_buckets(idle.releasable, idle_buckets))
                                       .low;
        if (certain < m.reserved.low) m.reserved.low = certain;
    }
    m[memory_term::fragmentation] = {m.reserved.low - m.allocated.low, m.reserved.expected - m.allocated.expected,
                                     m.reserved.high - m.allocated.high};
    m.releasable = {m.reserved.low - in_use.low, idle.releasable.expected, m.reserved.high - in_use.high};
}

/// The communicators of a rank: one for each kind of parallelism, and those that a pipeline has beside its own.
constexpr interval<byte_count> communicators_of(const runtime& r, const layout& l) {
    const int groups = (l.tensor > 1) + (l.pipeline > 1) * (1 + r.process.pipeline_groups) +
                       (l.dense_data_ranks() > 1) + (l.expert > 1);
    interval<byte_count> all;
    for (int i = 0; i < groups; ++i) {
        interval<byte_count> one = r.process.communicator;
        if (i > 0 && one.high - nccl_once > one.expected) one.high -= nccl_once;
        all += one;
    }
    return all;
}

/// The memory of a GPU that holds these tensors. Overheads are equal on all GPUs, or grow with a GPU's tensors, so that
/// the GPU with the largest tensors is the busiest. `described`: is_described().
constexpr memory_breakdown with_runtime(const tensor_memory& t, const tensor_details& d, const job& j, const layout& l,
                                        bool described, idle_blocks idle = {},
                                        sdpa_backend sdpa = sdpa_backend::flash) {
    const runtime& r = j.runtime;
    if (r.allocator.expandable_segments) idle.releasable = {};  // a segment shrinks to what is in use
    memory_breakdown m = terms_of(t, d, j, described, sdpa);
    m.allocated = m.total();
    m.allocated.low -= t.paged, m.allocated.expected -= t.paged, m.allocated.high -= t.paged;
    reserve(m, t, d, r, idle);
    m.caches_many_sizes = j.varied_lengths;
    m[memory_term::runtime] = r.process.context + r.process.cuda_graphs;
    m[memory_term::communication] += communicators_of(r, l);
    return m;
}

}  // namespace llmres::inline v0::detail
