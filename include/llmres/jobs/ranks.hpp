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

}  // namespace llmres::inline v0
