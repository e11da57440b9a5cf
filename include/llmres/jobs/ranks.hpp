// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/units.hpp>

/// How much of a job does one rank have: of its sequences, and of a weight?
namespace llmres::inline v0 {

/// Sequences that all data ranks train on at once.
constexpr std::int64_t sequences_at_once(const job& j, const layout& l) { return j.micro_batch * l.all_data_ranks(); }

/// Micro-batches that one data rank computes for one optimizer step.
constexpr std::int64_t micro_batches(const job& j, const layout& l) {
    return j.global_batch > 0 ? detail::ceil_quotient(j.global_batch, sequences_at_once(j, l)) : 1;
}

/// Sequences that all data ranks serve under load: the job's, at most as many as the caller lets steps have
/// (max_num_seqs). Others wait.
constexpr std::int64_t sequences_in_flight(const job& j, const layout& l) {
    const std::int64_t most = j.options.max_num_seqs * l.all_data_ranks();
    return most > 0 && most < j.batch ? most : j.batch;
}

/// Sequences that have a cache: those in flight; under an engine that allots it at start, a slot for each of the job's.
constexpr std::int64_t sequences_held(const job& j, const layout& l) {
    return j.runtime.cache.pool == cache_pool::allotted ? j.batch : sequences_in_flight(j, l);
}

/// Sequences that one data rank holds.
constexpr std::int64_t sequences_per_rank(const job& j, const layout& l) {
    return detail::ceil_quotient(sequences_held(j, l), l.all_data_ranks());
}

/// Prompts that a data rank computes before the first token of any of them: those of all its sequences where the
/// runtime computes whole batches, else one.
constexpr std::int64_t prompts_before_token(const job& j, const layout& l) {
    return j.runtime.cache.whole_batches ? sequences_per_rank(j, l) : 1;
}

/// What of a weight one GPU holds.
struct weight_shape {
    std::int64_t rows = 1;     ///< rows
    std::int64_t columns = 1;  ///< columns
    std::int64_t copies = 1;   ///< equal tensors

    /// Parameters.
    constexpr parameter_count count() const { return parameters(rows) * columns * copies; }
};

/// The largest part of a weight that one GPU of the layout holds (ZeRO apart). Heads stay whole; where there are fewer
/// of them than ranks, ranks hold copies.
constexpr weight_shape local_shape(const weight& w, const layer_split& l);

/// The same as a weight.
constexpr weight local_part(weight w, const layer_split& l);

// ---- detail ---------------------------------------------------------------------------------------------------------

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

constexpr weight_shape local_shape(const weight& w, const layer_split& l) {
    const std::int64_t ranks = w.routed ? l.expert_tensor : l.tensor;
    weight_shape held{w.rows, w.columns,
                      w.routed && l.expert > 1 ? detail::ceil_quotient(w.copies, l.expert) : w.copies};
    if (ranks == 1 || w.split == weight_split::replicated) return held;
    std::int64_t& size = w.split == weight_split::rows ? held.rows : held.columns;
    const std::int64_t most = detail::ceil_quotient(detail::ceil_quotient(size, w.granule), ranks) * w.granule;
    if (most < size) size = most;
    return held;
}

constexpr weight local_part(weight w, const layer_split& l) {
    const weight_shape held = local_shape(w, l);
    w.rows = held.rows;
    w.columns = held.columns;
    w.copies = held.copies;
    w.active = w.active < held.copies ? w.active : held.copies;
    return w;
}

}  // namespace llmres::inline v0
