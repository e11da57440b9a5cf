// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/interval.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/runtime.hpp>
#include <llmres/units.hpp>
#include <string_view>

/// Where the memory of one GPU of one layout goes.
namespace llmres {

enum class memory_term : std::uint8_t {
    weights,
    adapter,
    gradients,
    optimizer,
    activations,
    kv_cache,
    recurrent_state,
    logits,
    communication,
    workspace,
    runtime,
    fragmentation,
};
inline constexpr std::array<std::string_view, 12> memory_term_names{
    "weights",   "adapter",         "gradients", "optimizer",     "activations", "kv_cache",
    "recurrent_state", "logits", "communication", "workspace", "runtime",     "fragmentation"};
constexpr std::string_view name_of(memory_term term) { return memory_term_names[static_cast<std::size_t>(term)]; }

/// When in a step the memory is fullest.
enum class phase : std::uint8_t {
    prefill,    ///< serving: a chunk of prompt tokens passes while the cache is full
    loss,       ///< training: all saved activations and the logits are there
    backward,   ///< gradients are complete, one layer's activations are computed again
    optimizer,  ///< gradients and optimizer states, no activations
    forward,    ///< training: a layer is computed, all before it are kept
    decode,     ///< serving: the last token of every sequence is made, the cache is full
    load,       ///< serving: weights are there beside what is made of them, before the first step
};
constexpr std::string_view name_of(phase p) {
    constexpr std::array<std::string_view, 7> names{"prefill", "loss", "backward", "optimizer", "forward", "decode", "load"};
    return names[static_cast<std::size_t>(p)];
}

/// The memory of one GPU at its fullest moment.
struct memory_breakdown {
    std::array<interval<byte_count>, memory_term_names.size()> terms{};
    byte_count ideal{};               ///< tensors alone
    interval<byte_count> allocated{};  ///< as the engine's allocator hands them out
    interval<byte_count> reserved{};   ///< what that allocator or pool holds
    byte_count reduced{};             ///< training: gradients that data ranks sum, before ZeRO shards them
    byte_count gathered{};            ///< training: weights that ZeRO brings together
    interval<byte_count> releasable{};  ///< of `reserved`, whole blocks that it hands back before it runs out
    byte_count released{};            ///< ... and that it did hand back where every term takes its most: no part of the total
    std::int32_t stage = 0;           ///< pipeline stage of the GPU
    llmres::phase phase = phase::prefill;

    constexpr interval<byte_count>& operator[](memory_term t) { return terms[static_cast<std::size_t>(t)]; }
    constexpr const interval<byte_count>& operator[](memory_term t) const { return terms[static_cast<std::size_t>(t)]; }
    /// What the device loses, context and libraries included.
    constexpr interval<byte_count> total() const {
        interval<byte_count> sum;
        for (const auto& term : terms) sum += term;
        sum.high -= released;
        return sum;
    }
    /// Gives back what the device lacks, as far as it is releasable. (PyTorch frees cached blocks and tries once more.)
    constexpr void release_beyond(byte_count available) {
        const interval<byte_count> held = total();
        if (is_saturated(held.high)) return;  // nobody can say how much it lacks
        const auto lacking = [&](byte_count holds, byte_count most) {
            const byte_count more = holds > available ? holds - available : byte_count{};
            return more < most ? more : most;
        };
        // What it holds where all else takes least.
        const byte_count others = held.low - reserved.low;
        const byte_count most = available > others ? available - others : byte_count{};
        const byte_count unreleased = reserved.high < most ? reserved.high : most;
        const byte_count given_back = lacking(held.expected, releasable.expected);
        terms[static_cast<std::size_t>(memory_term::fragmentation)].expected -= given_back;
        reserved.expected -= given_back;
        released = lacking(held.high, releasable.high);
        reserved.high -= released;
        if (unreleased > reserved.high) reserved.high = unreleased;
    }
    constexpr memory_term largest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < terms.size(); ++i)
            if (terms[i].expected > terms[best].expected) best = i;
        return static_cast<memory_term>(best);
    }
};

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
    byte_count reduced{};   ///< no memory: what data ranks exchange
    byte_count gathered{};
    byte_count buckets{};   ///< of `communication`, at most: buffers whose sizes are settings, down to none
    std::int32_t stage = 0;
    llmres::phase phase = phase::prefill;

    constexpr byte_count all() const {
        return weights + adapter + gradients + optimizer + activations + kv_cache + logits + communication;
    }
};

/// Of what a process's first group may take, its kernels: 0.73 of 1.45 GiB stayed when the group was destroyed (ml-engineering,
/// training/performance, torch-dist-mem-usage.py).
inline constexpr byte_count nccl_once = mib(740);

/// What the runtime adds is the same on every GPU or grows with its tensors: the GPU with most of these is the busiest.
/// `hoarded`: freed blocks that the allocator cannot use again, but hands back before it runs out; `apart`: that it cannot.
constexpr memory_breakdown with_runtime(const tensor_memory& t, const job& j, const layout& l, interval<byte_count> hoarded = {},
                                        interval<byte_count> apart = {}) {
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
        for (const memory_term estimated : {memory_term::activations, memory_term::logits, memory_term::communication}) {
            const byte_count about = m[estimated].expected;
            const interval<double>& truth = estimated == memory_term::logits && r.logits.high > 0 ? r.logits : r.activations;
            const byte_count set = estimated != memory_term::communication ? byte_count{} : t.buckets < about ? t.buckets : about;
            m[estimated] = {scaled_up(about - set, truth.low), about, scaled_up(about, truth.high)};
        }
    m[memory_term::activations].high += t.maybe_more;
    m.allocated = m.total();
    const interval<double>& between = r.expandable_segments ? r.joined_fragmentation : r.fragmentation;
    interval<byte_count> slack{scaled_up(m.allocated.low, between.low), scaled_up(m.allocated.expected, between.expected),
                               scaled_up(m.allocated.high, between.high)};
    if (r.expandable_segments) hoarded = {};
    slack += apart;
    slack += hoarded;
    if (r.churn.high > 0 && !r.expandable_segments) {
        const byte_count passing = t.activations;
        slack += {scaled_up(passing, r.churn.low), scaled_up(passing, r.churn.expected), scaled_up(passing, r.churn.high)};
    }
    m[memory_term::fragmentation] = slack;
    m.reserved = m.allocated + slack;
    m.releasable = hoarded;
    m[memory_term::runtime] = r.context + r.cuda_graphs;
    const int groups = (l.tensor > 1) + (l.pipeline > 1) * (1 + r.training.pipeline_groups) + (l.dense_data_ranks() > 1) + (l.expert > 1);
    for (int i = 0; i < groups; ++i) {
        interval<byte_count> one = r.communicator;
        if (i > 0 && one.high - nccl_once > one.expected) one.high -= nccl_once;
        m[memory_term::communication] += one;
    }
    return m;
}

}  // namespace llmres
