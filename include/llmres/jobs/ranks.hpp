// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/units.hpp>

/// How much of a job does one data rank have?
namespace llmres::inline v0 {

/// Sequences that all data ranks train on at once.
constexpr std::int64_t sequences_at_once(const job& j, const layout& l) { return j.micro_batch * l.all_data_ranks(); }

/// Micro-batches that one data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, sequences_at_once(j, l)) : 1;
}

/// Sequences that one data rank holds.
constexpr std::int64_t sequences_per_rank(const job& j, const layout& l) {
    return detail::ceil_quotient(j.batch, l.all_data_ranks());
}

/// Prompts that a data rank computes before the first token of any of them: those of all its sequences where the
/// runtime computes whole batches, else one.
constexpr std::int64_t prompts_before_token(const job& j, const layout& l) {
    return j.runtime.cache.whole_batches ? sequences_per_rank(j, l) : 1;
}

namespace detail {

/// Sequences that have a window and a recurrent state of their own: an engine that allots them at start has them for
/// its slots.
constexpr std::int64_t slots_of(const job& j, const runtime& r, std::int64_t sequences) {
    if (r.cache.pool != cache_pool::allotted) return sequences;
    const std::int64_t slots = j.options.max_num_seqs > 0 ? j.options.max_num_seqs : r.step.max_num_seqs;
    return slots > sequences ? slots : sequences;
}

/// Sequences whose whole context has cells in a cache that is allotted at start.
constexpr std::int64_t sequences_with_cells(const job& j, const runtime& r, std::int64_t sequences) {
    return r.cache.slots == slot_cells::of_sequences || sequences == 0 ? sequences : slots_of(j, r, sequences);
}

}  // namespace detail

}  // namespace llmres::inline v0
