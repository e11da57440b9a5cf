// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <span>

/// In which layout, with how many tensor ranks of its engine, and with which part of the GPUs for it, does a policy
/// learn from rollouts fastest?
namespace llmres::inline v0 {

/// Layouts, tensor ranks and parts of the GPUs that a search tries. An empty list leaves what the rollout has.
struct reinforcement_space {
    std::span<const layout> layouts{};        ///< of the policy
    std::span<const std::int32_t> tensors{};  ///< tensor ranks of the engine
    std::span<const double> fractions{};      ///< parts of each GPU that an engine takes which reserves a pool
};

/// A workload of the space.
struct found_reinforcement {
    llmres::layout layout{};    ///< of the policy
    std::int32_t tensor = 1;    ///< tensor ranks of the engine
    maybe<double> fraction{};   ///< the part of each GPU that the engine takes; unknown where it has none
    reinforcement_plan plan{};  ///< its plan
};

/// Plans all of a space, and writes the best into `best`: what fits before what is tight and what does not fit, then
/// the most answers a second, or, of what does not fit, the least that its fullest phase takes. Returns how many were
/// written. Errors: the first of plan_reinforcement(), where all of the space is refused.
constexpr result<std::size_t> search_reinforcement(const reinforcement_job& j, const cluster& c,
                                                   const reinforcement_space& space,
                                                   std::span<found_reinforcement> best);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Whether one workload is better than another.
constexpr bool better(const reinforcement_plan& a, const reinforcement_plan& b) {
    if (a.verdict() != b.verdict()) return a.verdict() < b.verdict();
    if (a.verdict() != verdict::does_not_fit) return a.answers_per_second() > b.answers_per_second();
    const auto most = [](const reinforcement_plan& p) { return p.worst().own.expected + p.worst().resident.expected; };
    return most(a) < most(b);
}

/// Keeps the best in their order.
constexpr void keep_best(std::span<found_reinforcement> best, std::size_t& count, const found_reinforcement& found) {
    std::size_t at = count;
    while (at > 0 && better(found.plan, best[at - 1].plan)) --at;
    if (at == best.size()) return;
    if (count < best.size()) ++count;
    for (std::size_t i = count - 1; i > at; --i) best[i] = best[i - 1];
    best[at] = found;
}

/// Calls use() with each of a list, or with another value where it is empty.
template <class Value, class Use>
constexpr void for_each_or(std::span<const Value> list, const Value& otherwise, const Use& use) {
    if (list.empty()) use(otherwise);
    for (const Value& one : list) use(one);
}

}  // namespace detail

constexpr result<std::size_t> search_reinforcement(const reinforcement_job& j, const cluster& c,
                                                   const reinforcement_space& space,
                                                   std::span<found_reinforcement> best) {
    std::size_t count = 0;
    maybe<error> first;
    rollout tried = j.rollout;
    reinforcement_job one = j;
    maybe<double>& fraction = tried.engine.runtime.cache.fraction;
    const auto plan_one = [&](const layout& l) {
        one.rollout = with_engines(tried, c);
        const result<reinforcement_plan> made = plan_reinforcement(one, l, c);
        if (made)
            detail::keep_best(best, count, {l, tried.layout.tensor, fraction, *made});
        else if (!first)
            first = made.error();
    };
    const std::span<const double> fractions = fraction ? space.fractions : std::span<const double>{};
    detail::for_each_or(space.tensors, j.rollout.layout.tensor, [&](std::int32_t tensor) {
        tried.layout.tensor = tensor;
        detail::for_each_or(fractions, fraction.value_or(0.0), [&](double part) {
            if (fraction) fraction = part;
            for (const layout& l : space.layouts) plan_one(l);
        });
    });
    if (count == 0 && first) return *first;
    return count;
}

}  // namespace llmres::inline v0
