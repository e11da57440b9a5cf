// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// What the runtime adds to the tensors of a training step.
namespace llmres::inline v0::detail {

/// The tensors of one GPU at one moment, before the runtime adds to them.
struct tensor_memory {
    byte_count weights{};
    byte_count adapter{};
    byte_count gradients{};
    byte_count optimizer{};
    byte_count activations{};
    byte_count kv_cache{};
    byte_count logits{};
    byte_count communication{};
    byte_count maybe_more{};  ///< activations beyond these: of busier experts, or not yet copied to main memory
    byte_count reduced{};     ///< no memory: what data ranks exchange
    byte_count gathered{};
    byte_count buckets{};  ///< of `communication`, at most: buffers whose sizes are settings, down to none
    std::int32_t stage = 0;
    llmres::phase phase = phase::prefill;

    constexpr byte_count all() const {
        return weights + adapter + gradients + optimizer + activations + kv_cache + logits + communication;
    }
};

/// Of what a process's first group may take, its kernels: 0.73 of 1.45 GiB stayed when the group was destroyed
/// (ml-engineering, training/performance, torch-dist-mem-usage.py).
inline constexpr byte_count nccl_once = mib(740);

/// What the runtime adds is the same on every GPU or grows with its tensors: the GPU with most of these is the busiest.
/// `hoarded`: freed blocks that the allocator cannot use again, but hands back before it runs out; `apart`: that it
/// cannot.
constexpr memory_breakdown with_runtime(const tensor_memory& t, const job& j, const layout& l,
                                        interval<byte_count> hoarded = {}, interval<byte_count> apart = {}) {
    memory_breakdown m;
    m.stage = t.stage;
    m.phase = t.phase;
    m.reduced = t.reduced;
    m.gathered = t.gathered;
    m[memory_term::weights] = t.weights;
    m[memory_term::adapter] = t.adapter;
    m[memory_term::gradients] = t.gradients;
    m[memory_term::optimizer] = t.optimizer;
    m[memory_term::activations] = t.activations;
    m[memory_term::kv_cache] = t.kv_cache;
    m[memory_term::logits] = t.logits;
    m[memory_term::communication] = t.communication;
    m.ideal = m.total().expected;

    // PyTorch takes the libraries' workspaces from its own allocator.
    const runtime& r = j.runtime;
    m[memory_term::workspace] = r.workspace;
    if (r.expert_workspace.high > byte_count{} && r.training.experts >= expert_code::grouped && has_experts(j.model))
        m[memory_term::workspace] += r.expert_workspace;
    if (trains(j))
        for (const memory_term estimated :
             {memory_term::activations, memory_term::logits, memory_term::communication}) {
            const byte_count about = m[estimated].expected;
            const interval<double>& truth =
                estimated == memory_term::logits && r.logits.high > 0 ? r.logits : r.activations;
            const byte_count set = estimated != memory_term::communication ? byte_count{}
                                   : t.buckets < about                     ? t.buckets
                                                                           : about;
            m[estimated] = {scaled_up(about - set, truth.low), about, scaled_up(about, truth.high)};
        }
    m[memory_term::activations].high += t.maybe_more;
    m.allocated = m.total();
    const interval<double>& between = r.expandable_segments ? r.joined_fragmentation : r.fragmentation;
    interval<byte_count> slack{scaled_up(m.allocated.low, between.low),
                               scaled_up(m.allocated.expected, between.expected),
                               scaled_up(m.allocated.high, between.high)};
    if (r.expandable_segments) hoarded = {};
    slack += apart;
    slack += hoarded;
    if (r.churn.high > 0 && !r.expandable_segments) {
        const byte_count passing = t.activations;
        slack +=
            {scaled_up(passing, r.churn.low), scaled_up(passing, r.churn.expected), scaled_up(passing, r.churn.high)};
    }
    m[memory_term::fragmentation] = slack;
    m.reserved = m.allocated + slack;
    m.releasable = hoarded;
    m[memory_term::runtime] = r.context + r.cuda_graphs;
    const int groups = (l.tensor > 1) + (l.pipeline > 1) * (1 + r.training.pipeline_groups) +
                       (l.dense_data_ranks() > 1) + (l.expert > 1);
    for (int i = 0; i < groups; ++i) {
        interval<byte_count> one = r.communicator;
        if (i > 0 && one.high - nccl_once > one.expected) one.high -= nccl_once;
        m[memory_term::communication] += one;
    }
    return m;
}

}  // namespace llmres::inline v0::detail
