// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/time/plan_cost.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// How long a run takes and what a plan costs, as JSON: seconds, hours, amounts of the document's currency,
/// kilowatt-hours and kilograms.
namespace llmres::inline v0 {

/// How long a run takes and what a plan costs, as far as a document asks.
struct run_and_cost {
    maybe<training_time> run{};  ///< how long the run takes
    maybe<plan_cost> cost{};     ///< what it costs, an hour and a million tokens
};

/// The run and its cost that a document asks of a plan. Errors: those of time_of_run().
inline result<run_and_cost> run_and_cost_of(const maybe<training_run>& run, const maybe<tariff>& prices, const job& j,
                                            const job_plan& p, const cluster& c) {
    run_and_cost made;
    if (run) {
        const result<training_time> time = time_of_run(*run, j, p.layout, p.speed);
        if (!time) return time.error();
        made.run = *time;
    }
    if (prices) made.cost = cost_of(*prices, j, p.layout, c, p.memory, p.speed, made.run);
    return made;
}

namespace detail {

template <class T, class Maker>
json_value bounds_in(const interval<T>& i, const Maker& maker, double factor = 1) {
    return json_object({{"low", i.low.in(maker)*factor},
                        {"expected", i.expected.in(maker)*factor},
                        {"high", i.high.in(maker)*factor}});
}

inline json_value expense_json(const expense& e) {
    json_value out = json_value::object();
    if (e.rent) out["rent"] = bounds_in(*e.rent, currency);
    if (e.ownership) out["ownership"] = bounds_in(*e.ownership, currency);
    if (e.energy) out["kwh"] = bounds_in(*e.energy, kwh);
    if (e.carbon) out["carbon_kg"] = bounds_in(*e.carbon, kilograms);
    return out;
}

}  // namespace detail

/// How long a run takes.
inline json_value to_json(const training_time& t) {
    const auto known = [](const maybe<duration>& d) { return d ? json_value(d->in(seconds)) : json_value(nullptr); };
    return detail::json_object({{"steps", t.steps},
                                {"tokens", t.trained.in(tokens)},
                                {"rounded_up", t.rounded_up.in(tokens)},
                                {"seconds", detail::bounds_in(t.total, seconds)},
                                {"days", detail::bounds_in(t.total, hours, 1.0 / 24)},
                                {"gpu_hours", detail::bounds_in(t.gpu_time(), hours)},
                                {"computing_seconds", detail::bounds_in(t.computing, seconds)},
                                {"goodput", t.goodput},
                                {"checkpoint_interval", known(t.checkpoint_interval)},
                                {"mtbf", known(t.mtbf)},
                                {"failures", t.failures}});
}

/// The cost of a plan, as JSON.
inline json_value to_json(const plan_cost& cost, const tariff& t, const job& j) {
    json_value out = json_value::object();
    out["currency"] = t.currency.empty() ? json_value(nullptr) : json_value(t.currency.view());
    out["hour"] = detail::expense_json(cost.hour);
    if (cost.run) out["run"] = detail::expense_json(*cost.run);
    json_value& million = out["million_tokens"] = json_value::object();
    million[trains(j) ? "trained" : "generated_with_prompt"] = detail::expense_json(cost.tokens);
    if (!trains(j)) {
        million["input"] = detail::expense_json(cost.input);
        million["cached_input"] = detail::expense_json(cost.cached_input);
        million["output"] = detail::expense_json(cost.output);
    }
    if (cost.months_until_bought_is_cheaper)
        out["months_until_bought_is_cheaper"] = *cost.months_until_bought_is_cheaper;
    return out;
}

/// Adds both to an answer, as far as they are known.
inline void add_to(json_value& out, const run_and_cost& made, const maybe<tariff>& prices, const job& j) {
    if (made.run) out["run"] = to_json(*made.run);
    if (made.cost) out["cost"] = to_json(*made.cost, *prices, j);
}

}  // namespace llmres::inline v0
