// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/budget.hpp>
#include <llmres/cluster.hpp>
#include <llmres/error.hpp>
#include <llmres/job.hpp>
#include <llmres/layout.hpp>
#include <llmres/memory.hpp>

/// How much of a job a layout holds. Nothing here allocates: memory only grows with batch and context, so each answer is a
/// bisection over memory_of().
namespace llmres {

/// True if the job's memory fits on the busiest GPU even if every estimate is at its upper bound. Preconditions:
/// validate() holds for job, layout and cluster.
constexpr bool memory_fits(const job& j, const layout& l, const cluster& c) {
    return memory_of(j, l).total().high <= usable_memory(j, c);
}

/// The most sequences (training: sequences of a micro-batch) that fit, all else as in the job; 0 if not even one does.
/// Errors: a field of job, layout or cluster out of its bounds.
constexpr result<std::int64_t> max_batch(const job& j, const layout& l, const cluster& c);

/// The longest context (training: sequence) that fits at the job's batch, at most the model's own where that is known; 0
/// tokens if not even one does. A prompt or output that the context does not hold is cut.
/// Errors: a field of job, layout or cluster out of its bounds.
constexpr result<token_count> max_context(const job& j, const layout& l, const cluster& c);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The largest number in [0, most] that holds; holds(0) is taken for granted. Doubles first: answers are mostly small.
template <class Holds>
constexpr std::int64_t largest_that_holds(std::int64_t most, const Holds& holds) {
    std::int64_t good = 0;
    std::int64_t bad = 1;
    while (bad <= most && holds(bad)) {
        good = bad;
        bad = bad > most / 2 ? most + 1 : bad * 2;
    }
    if (bad > most) {
        if (good == most || holds(most)) return most;
        bad = most;
    }
    while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        (holds(middle) ? good : bad) = middle;
    }
    return good;
}

constexpr status validate_all(const job& j, const layout& l, const cluster& c) {
    if (const status s = validate(j); !s) return s;
    if (const status s = validate(l, j.model); !s) return s;
    return validate(c);
}

inline constexpr std::int64_t most_sequences = std::int64_t{1} << 24;
inline constexpr std::int64_t most_context = std::int64_t{1} << 30;

}  // namespace detail

constexpr result<std::int64_t> max_batch(const job& j, const layout& l, const cluster& c) {
    job tried = j;
    (trains(j) ? tried.micro_batch : tried.batch) = 1;
    if (const status s = detail::validate_all(tried, l, c); !s) return s.error();
    return detail::largest_that_holds(detail::most_sequences, [&](std::int64_t sequences) {
        (trains(j) ? tried.micro_batch : tried.batch) = sequences;
        return memory_fits(tried, l, c);
    });
}

constexpr result<token_count> max_context(const job& j, const layout& l, const cluster& c) {
    job tried = j;
    const token_count own = j.model.max_context;
    const std::int64_t most = own > token_count{} ? own.in(tokens) : detail::most_context;
    const auto set = [&](token_count context) {
        tried.context = tried.sequence = context;
        tried.prompt = j.prompt < context ? j.prompt : context;
        tried.output = j.output < context - tried.prompt ? j.output : context - tried.prompt;
    };
    set(tokens(1));
    if (const status s = detail::validate_all(tried, l, c); !s) return s.error();
    return tokens(detail::largest_that_holds(most, [&](std::int64_t context) {
        set(tokens(context));
        return memory_fits(tried, l, c);
    }));
}

}  // namespace llmres
