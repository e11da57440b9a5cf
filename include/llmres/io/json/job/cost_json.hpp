// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/json/writer.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/time/plan_cost.hpp>
#include <llmres/time/storage_times.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// How long a run takes, what a plan costs, and what is saved and loaded, as JSON: bytes, seconds, hours, amounts of
/// the document's currency, kilowatt-hours and kilograms.
namespace llmres::inline v0 {

/// How long a run takes and what a plan costs, as far as a document asks.
struct run_and_cost {
    maybe<training_time> run{};  ///< how long the run takes
    maybe<plan_cost> cost{};     ///< what it costs, an hour and a million tokens
    storage_answer stored{};     ///< the bytes and seconds of its checkpoints, or of its weights' loading
};

namespace detail {

/// A run whose checkpoints take as long as the storage writes them, where it does not say how long they take itself.
inline training_run with_checkpoint_time(training_run r, const storage_answer& stored) {
    const bool is_written = r.mtbf || r.gpu_mtbf || r.checkpoint_interval;
    if (!is_written || r.checkpoint || !stored.saving || !(stored.saving->stall > duration{})) return r;
    r.checkpoint = stored.saving->stall;
    if (stored.checkpoint->mode != checkpoint_mode::sync) r.written = stored.saving->written;
    return r;
}

}  // namespace detail

/// The run, its cost and its checkpoints that a document asks of a plan. Errors: those of storage_answer_of() and
/// time_of_run().
inline result<run_and_cost> run_and_cost_of(const storage_request& asked, const maybe<training_run>& run,
                                            const maybe<tariff>& prices, const job& j, const job_plan& p,
                                            const cluster& c) {
    run_and_cost made;
    const result<storage_answer> stored = storage_answer_of(asked, j, p.layout, c, p.memory);
    if (!stored) return stored.error();
    made.stored = *stored;
    if (run && (run->mtbf || run->gpu_mtbf) && asked.checkpoint && asked.checkpoint->weights_only)
        return refused(error_code::inconsistent, "checkpoint.weights_only", "true",
                       "checkpoints with the optimizer's states, from which training goes on after a failure");
    if (run) {
        const result<training_time> time =
            time_of_run(detail::with_checkpoint_time(*run, made.stored), j, p.layout, p.speed);
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

/// A checkpoint, with its seconds where a storage is known.
inline json_value to_json(const checkpoint_bytes& c, const maybe<checkpoint_time>& time,
                          const checkpoint_request& asked) {
    json_value out = detail::json_object({{"files", name_of(c.files)},
                                          {"mode", name_of(c.mode)},
                                          {"bytes", c.total().in(bytes)},
                                          {"weights", c.weights.in(bytes)},
                                          {"optimizer", c.states.in(bytes)},
                                          {"again", c.again.in(bytes)},
                                          {"writers", c.writers},
                                          {"node_bytes", c.node.in(bytes)},
                                          {"process_bytes", c.process.in(bytes)},
                                          {"host_memory", c.host.in(bytes)}});
    if (time) {
        out["seconds_at_least"] = time->written.in(seconds);
        out["stall_at_least"] = time->stall.in(seconds);
    }
    if (asked.keep > 0) {
        out["keep"] = asked.keep;
        out["kept_bytes"] = (c.total() * asked.keep).in(bytes);
    }
    return out;
}

/// The loading of an engine's weights.
inline json_value to_json(const load_time& t) {
    return detail::json_object({{"bytes", t.files.in(bytes)},
                                {"node_bytes", t.node.in(bytes)},
                                {"gpu_bytes", t.gpu.in(bytes)},
                                {"seconds_at_least", t.storage.in(seconds)},
                                {"page_cache_seconds_at_least", t.page_cache.in(seconds)}});
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

/// Adds them to an answer, as far as they are known.
inline void add_to(json_value& out, const run_and_cost& made, const storage_request& asked, const maybe<tariff>& prices,
                   const job& j) {
    if (made.stored.checkpoint)
        out["checkpoint"] = to_json(*made.stored.checkpoint, made.stored.saving, asked.checkpoint.value_or({}));
    if (made.stored.loading) out["loading"] = to_json(*made.stored.loading);
    if (made.run) out["run"] = to_json(*made.run);
    if (made.cost) out["cost"] = to_json(*made.cost, *prices, j);
}

}  // namespace llmres::inline v0
