// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/token_times.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// What does a plan cost: an hour of its GPUs, a million tokens of each kind, a whole training run?
namespace llmres::inline v0 {

/// What a plan costs at a tariff.
struct plan_cost {
    expense hour{};        ///< of all GPUs of the layout
    maybe<expense> run{};  ///< of the training run, where there is one
    /// Of a million tokens: trained, with what checkpoints and failures of the run add, or generated with their share
    /// of the prompts.
    expense tokens{};
    expense input{};                                 ///< serving: of a million tokens of prompts
    expense cached_input{};                          ///< serving: of a million tokens of prompts that the cache holds
    expense output{};                                ///< serving: of a million generated tokens alone
    maybe<double> months_until_bought_is_cheaper{};  ///< of uninterrupted use
};

/// The cost of a plan. Precondition: validate() holds for job, layout, cluster and tariff.
constexpr plan_cost cost_of(const tariff& t, const job& j, const layout& l, const cluster& c,
                            const memory_breakdown& held, const job_speed& speed,
                            const maybe<training_time>& run = {}) {
    constexpr double million = 1e6;
    const std::int64_t gpus = l.gpus();
    const auto of = [&](const interval<duration>& time) { return expense_of(t, c, gpus, time); };
    const auto of_million = [&](const interval<duration>& each) { return of(detail::scaled(each, million)); };
    plan_cost all{.hour = of(hours(1)), .months_until_bought_is_cheaper = months_until_bought_is_cheaper(t, c, gpus)};
    if (run) all.run = of(run->total);
    if (trains(j)) {
        const auto each = static_cast<double>(tokens_of_step(j, l).in(llmres::tokens));
        const double goodput = run ? run->goodput : 1;
        all.tokens = of_million(detail::scaled(speed.step.total(), 1 / (each * goodput)));
        return all;
    }
    const token_times times = token_times_of(j, l, c, held, speed);
    all.tokens = of_million(times.with_prompt);
    all.input = of_million(times.input);
    all.cached_input = of_million(times.cached_input);
    all.output = of_million(times.output);
    return all;
}

}  // namespace llmres::inline v0
