// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/block_pool.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/memory/serving/cache.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/models/model.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// The pool that a runtime allocates for caches at start, from what all else leaves of a GPU.
namespace llmres::inline v0 {

/// Size of the pool on a GPU with that memory; low: if everything else is at its upper bound. Of runtimes without a
/// pool, the memory that is free for caches.
constexpr interval<byte_count> pool_memory_of(const job& j, const layout& l, const cluster& c,
                                              const memory_breakdown& m);

/// Blocks of a pool in which recurrent layers keep their states, one for each sequence of a step.
struct state_blocks {
    interval<std::int64_t> there{};  ///< blocks of the pool
    std::int64_t needed = 0;         ///< sequences that a step may have
    byte_count each{};               ///< bytes of a block
};
/// Blocks for states, on a GPU with that memory. Empty where the runtime starts with fewer than a step may need, and
/// where no layer is recurrent.
constexpr maybe<state_blocks> state_blocks_of(const job& j, const layout& l, const cluster& c,
                                              const memory_breakdown& m);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr byte_count pool_bytes(const runtime& r, byte_count total, byte_count free, byte_count context,
                                byte_count graphs, byte_count communication, byte_count weights, byte_count rest) {
    const double part = r.cache.fraction.value_or(1.0);
    byte_count pool;
    switch (r.cache.pool) {
        case cache_pool::share_of_total:
            pool = scaled_down(total, part) - weights - rest - communication -
                   (r.cache.graphs_deducted ? graphs : byte_count{});
            break;
        case cache_pool::share_with_weights: pool = scaled_down(free - context - communication, part) - weights; break;
        case cache_pool::share_of_free:
        case cache_pool::grows:
        case cache_pool::allotted:
            pool = scaled_down(free - context - communication - weights - rest - graphs, part);
            break;
    }
    return pool > byte_count{} ? pool : byte_count{};
}

}  // namespace detail

constexpr interval<byte_count> pool_memory_of(const job& j, const layout& l, const cluster& c,
                                              const memory_breakdown& m) {
    const runtime r = on_device(j, c.gpu, l);
    const interval<byte_count> graphs = detail::graphs_of(j, r, l);
    // What the allocator holds beyond its tensors is no part of the pool, and leaves it less.
    const interval<byte_count> slack{m.reserved.low - m.allocated.low, m.reserved.expected - m.allocated.expected,
                                     m.reserved.high - m.allocated.high};
    const auto left = [&](auto end) {
        const auto of = [&](memory_term t) { return end(m[t]); };
        return detail::pool_bytes(
            r, usable_memory(c.gpu), available_memory(c), end(r.process.context), end(graphs),
            of(memory_term::communication), of(memory_term::weights) + of(memory_term::adapter),
            of(memory_term::activations) + of(memory_term::logits) + of(memory_term::workspace) + end(slack));
    };
    interval<byte_count> pool{left([](const auto& i) { return i.high; }),
                              left([](const auto& i) { return i.expected; }),
                              left([](const auto& i) { return i.low; })};
    // On unified memory, processes of the host free memory while the runtime profiles, and the pool may be larger.
    // In-sample: 2 to 4 GiB of 122 on a GB10.
    if (shares_host_memory(c.gpu) && r.cache.pool == cache_pool::share_of_total)
        pool.high += scaled_up(usable_memory(c.gpu), 0.04);
    const byte_count own = m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
    const maybe<byte_count> set = detail::pool_as_set(j, r, l, own, m.stage);
    if (!set) return pool;
    if (r.cache.pool == cache_pool::share_of_total) return *set;
    const auto at_most = [&](byte_count chosen) { return chosen < *set ? chosen : *set; };
    return {at_most(pool.low), at_most(pool.expected), at_most(pool.high)};
}

constexpr maybe<state_blocks> state_blocks_of(const job& j, const layout& l, const cluster& c,
                                              const memory_breakdown& m) {
    if (trains(j) || !j.runtime.cache.needs_state_blocks || !captures_graphs(j.runtime.process)) return {};
    if (!has_recurrence(j.model)) return {};
    const runtime r = on_device(j, c.gpu, l);
    const block_pool pool = detail::pool_of_stage(j, l, r, m.stage);
    const byte_count each = pool.block_size();
    const interval<byte_count> memory = pool_memory_of(j, l, c, m);
    return state_blocks{{times_in(each, memory.low), times_in(each, memory.expected), times_in(each, memory.high)},
                        j.options.max_num_seqs > 0 ? j.options.max_num_seqs : r.step.max_num_seqs,
                        each};
}

}  // namespace llmres::inline v0
