// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/observe.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/logs/job.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Holds what engines printed against what is planned, and learns a profile from it.
namespace llmres::inline v0::logs {

/// A figure of a log beside its prediction.
struct checked_figure {
    line_observation printed{};        ///< what the log says
    interval<byte_count> predicted{};  ///< what is planned
    bool inside = true;                ///< the printed size lies within the bounds, to the digits that were printed
    /// Predicted over printed, less one.
    constexpr double error() const {
        const double size = static_cast<double>(printed.seen.size.in(bytes));
        return size > 0 ? static_cast<double>(predicted.expected.in(bytes)) / size - 1.0 : 0.0;
    }
};

/// The answer of `llmres check`.
struct check_result {
    std::vector<checked_figure> figures{};            ///< in the order of observed_figure
    std::int64_t ran_out = 0;                         ///< the line that says that memory ran out; 0: none does
    llmres::verdict planned = verdict::does_not_fit;  ///< of a log of a job that ran out: what is planned
    /// True if every figure lies inside, and no job that fits ran out.
    bool inside() const {
        return std::all_of(figures.begin(), figures.end(), [](const checked_figure& f) { return f.inside; }) &&
               (ran_out == 0 || planned != verdict::fits);
    }
};

/// The log beside its job in that layout, of a job that ran out of memory with the plan's verdict. Refused: a log of
/// another engine, and of a job that ran one without a figure that is predicted.
inline result<check_result> check(const engine_log& log, const job& j, const layout& l, const cluster& c);

/// A log with the job that it is of.
struct logged_job {
    std::string source{};     ///< where the log is from, for errors
    engine_log log{};         ///< what was printed
    plan_request asked{};     ///< the job
    llmres::layout layout{};  ///< its layout
};

/// What `calibrate` learnt.
struct calibration {
    runtime_profile profile{};    ///< the profile, with its origin
    observed_profile observed{};  ///< what was observed of each constant
    /// The figures that constants were learnt from, in half of the logs, under a profile of the other half; and under
    /// the profile before. Mean size of the difference to what was printed, in bytes and as a part. Empty for one log.
    struct halves {
        std::int64_t figures = 0;  ///< figures that were compared
        double before_bytes = 0;   ///< mean difference under the profile before, in bytes
        double after_bytes = 0;    ///< the same under the profile that the other half taught
        double before_part = 0;    ///< as before_bytes, as a part of what was printed
        double after_part = 0;     ///< as after_bytes, as a part of what was printed
    };
    halves other_half{};  ///< how well half of the logs predicts the other half
};

/// Learns a profile from logs, all of one runtime's profile: each constant that they determine (observe()), all else
/// inherited. Refused, with the log and the line: weights and caches that are not what arithmetic says (by more than
/// 1 %), two values for one thing, a budget that is not the sum of its parts; logs of several runtimes; logs that
/// determine nothing.
inline result<calibration> calibrate(std::span<const logged_job> jobs);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline double size_of(const line_observation& o) { return static_cast<double>(o.seen.size.in(bytes)); }

/// The observations that constants are learnt from. Of what is not in a pool, some is printed beside it: the pool says
/// what else is lacking, and so what was mispredicted of those figures is given back to it.
inline std::vector<line_observation> learnt_from(const logged_job& j) {
    std::vector<line_observation> all = observations_of(j.log, j.asked.job.runtime);
    const auto find = [&](observed_figure what) {
        return std::find_if(all.begin(), all.end(), [&](const line_observation& o) { return o.seen.what == what; });
    };
    const auto pool = find(observed_figure::pool);
    if (pool == all.end()) return all;
    for (const observed_figure part : {observed_figure::activation_peak, observed_figure::beside_tensors}) {
        const auto printed = find(part);
        if (printed == all.end()) continue;
        if (const auto said = predicted(part, j.asked.job, j.layout, j.asked.cluster))
            pool->seen.size += printed->seen.size - said->expected;
    }
    pool->seen.beside_known = find(observed_figure::beside_tensors) != all.end();
    return all;
}

inline error refusal_of(const logged_job& j, std::int64_t line, std::string_view value, std::string_view expected) {
    return refused(error_code::inconsistent, "log " + j.source + ", line " + std::to_string(line), value, expected);
}

inline std::string gib_text(double size) {
    const auto hundredths = static_cast<std::int64_t>(size / 1073741824.0 * 100 + 0.5);
    const std::string rest = std::to_string(hundredths % 100);
    return std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest + " GiB";
}

/// What vLLM prints adds up: the budget is weights, activations, what is beside tensors, and the pool.
inline status adds_up(const logged_job& j) {
    const engine_log& log = j.log;
    const figure* total = log.find(quantity::device_total);
    const figure* share = log.find(quantity::fraction);
    const figure* pool = log.smallest(quantity::pool);
    const figure* weights = log.find(quantity::weights);
    const figure* peak = log.find(quantity::activation_peak);
    const figure* beside = log.find(quantity::beside_tensors);
    const figure* graphs = log.find(quantity::graphs_estimated);
    if (!total || !share || !pool || !weights || !peak || !beside) return done{};
    const double budget = total->value * share->value;
    const double sum = pool->value + weights->value + peak->value + beside->value;
    // Each part is rounded, and ranks differ by some tens of MiB. From 0.21 on what CUDA graphs are expected to take is
    // deducted too.
    const double deducted = graphs != nullptr ? graphs->value : 0;
    if (sum - budget > 0.1 * 1073741824.0 || budget - sum > 0.1 * 1073741824.0 + deducted)
        return refusal_of(j, pool->line, gib_text(sum) + " in all", gib_text(budget) + ", the budget that it names");
    return done{};
}

/// Refuses logs whose arithmetic does not add up.
inline status is_sound(const logged_job& j) {
    if (const status s = is_log_of(j.log, j.asked.job.runtime); !s) return s;
    for (const line_observation& o : observations_of(j.log, j.asked.job.runtime)) {
        if (o.contradicted != 0)
            return refusal_of(j, o.line, gib_text(size_of(o)),
                              "what line " + std::to_string(o.contradicted) + " says of the same thing");
        if (o.seen.what != observed_figure::weights && o.seen.what != observed_figure::kv_cache) continue;
        const auto said = predicted(o.seen.what, j.asked.job, j.layout, j.asked.cluster);
        if (!said) continue;
        const double rounding = static_cast<double>(o.seen.printed_to.in(bytes));
        const double low = static_cast<double>(said->low.in(bytes)) * 0.99 - rounding;
        const double high = static_cast<double>(said->high.in(bytes)) * 1.01 + rounding;
        if (size_of(o) < low || size_of(o) > high)
            return refusal_of(j, o.line, gib_text(size_of(o)),
                              std::string{name_of(o.seen.what)} + " of " +
                                  gib_text(static_cast<double>(said->expected.in(bytes))) + ", as arithmetic says");
    }
    return adds_up(j);
}

inline observed_profile observed_of(const observed_profile& none, std::span<const logged_job> jobs, std::size_t first,
                                    std::size_t step) {
    observed_profile all = none;
    for (std::size_t i = first; i < jobs.size(); i += step)
        for (const line_observation& o : learnt_from(jobs[i]))
            all = observe(all, jobs[i].asked.job, jobs[i].layout, jobs[i].asked.cluster, o.seen);
    return all;
}

/// Adds the errors of every second job under the profile of the others.
inline void score_half(calibration::halves& score, const observed_profile& none, std::span<const logged_job> jobs,
                       std::size_t first) {
    const observed_profile others = observed_of(none, jobs, 1 - first, 2);
    for (std::size_t i = first; i < jobs.size(); i += 2) {
        job after = jobs[i].asked.job;
        after.runtime = with_learnt(after.runtime, others, prior_weight::while_inside);
        for (const line_observation& o : observations_of(jobs[i].log, after.runtime)) {
            if (!llmres::detail::constant_behind(o.seen.what, after.runtime, jobs[i].layout) || size_of(o) <= 0)
                continue;
            const auto was = predicted(o.seen.what, jobs[i].asked.job, jobs[i].layout, jobs[i].asked.cluster);
            const auto is = predicted(o.seen.what, after, jobs[i].layout, jobs[i].asked.cluster);
            if (!was || !is) continue;
            const auto off = [&](const interval<byte_count>& said) {
                const double apart = static_cast<double>(said.expected.in(bytes)) - size_of(o);
                return apart < 0 ? -apart : apart;
            };
            ++score.figures;
            score.before_bytes += off(*was), score.after_bytes += off(*is);
            score.before_part += off(*was) / size_of(o), score.after_part += off(*is) / size_of(o);
        }
    }
}

inline std::string logs_text(std::int64_t count) { return std::to_string(count) + (count == 1 ? " log" : " logs"); }

template <class Names>
void add_once(Names& names, const std::string& added) {
    if (!added.empty() && std::find(names.begin(), names.end(), added) == names.end()) names.push_back(added);
}

}  // namespace detail

inline result<check_result> check(const engine_log& log, const job& j, const layout& l, const cluster& c) {
    if (const status s = is_log_of(log, j.runtime); !s) return s.error();
    check_result answer;
    if (const figure* lacking = log.largest(quantity::lacking)) {
        const result<job_plan> planned = plan(j, l, c);
        if (!planned) return planned.error();
        answer.ran_out = lacking->line;
        answer.planned = planned->verdict;
    }
    for (const line_observation& o : observations_of(log, j.runtime)) {
        const auto said = predicted(o.seen.what, j, l, c);
        if (!said || said->high <= byte_count{}) continue;
        checked_figure f{o, *said};
        // What is arithmetic counts tensors: what allocators and small buffers add is less than a thousandth.
        const byte_count slack =
            o.seen.printed_to + (said->low == said->high ? bytes(said->high.in(bytes) / 1000) : byte_count{});
        f.inside = said->low <= o.seen.size + slack && o.seen.size <= said->high + slack;
        answer.figures.push_back(f);
    }
    if (answer.figures.empty() && answer.ran_out == 0)
        return refused(error_code::missing, "log", "no size of anything that is planned",
                       "a log from the start of the engine to its first step");
    return answer;
}

inline result<calibration> calibrate(std::span<const logged_job> jobs) {
    if (jobs.empty()) return refused(error_code::missing, "log", "absent", "one log or more");
    const runtime_profile& before = jobs.front().asked.profile;
    for (const logged_job& j : jobs) {
        if (!(j.asked.profile.runtime == before.runtime))
            return refused(error_code::inconsistent, "log " + j.source,
                           std::string{j.asked.profile.runtime.identity.versions.view()},
                           "one of " + std::string{before.runtime.identity.name.view()} + " " +
                               std::string{before.runtime.identity.versions.view()} + ", as the first log");
        if (const status s = detail::is_sound(j); !s) return s.error();
    }
    calibration learnt_now;
    const observed_profile none{before.runtime, {}};
    learnt_now.observed = detail::observed_of(none, jobs, 0, 1);
    runtime_profile& p = learnt_now.profile;
    p.runtime = learnt(learnt_now.observed, prior_weight::while_inside);
    p.origin = {};
    for (std::size_t i = 0; i < names_of<learnt_constant>.size(); ++i) {
        const std::int32_t count = learnt_now.observed.evidence[i].count;
        if (count == 0) continue;
        p.origin.sources[std::string{name_of(static_cast<learnt_constant>(i))}] = detail::logs_text(count);
        p.origin.measurements += count;
    }
    if (p.origin.sources.empty())
        return refused(error_code::missing, "log", "nothing that a constant follows from",
                       "sizes of pools, compute buffers, activations, CUDA graphs or what is beside tensors");
    for (const logged_job& j : jobs) {
        detail::add_once(p.origin.versions, j.log.text_of(quantity::version));
        detail::add_once(p.origin.gpus, std::string{j.asked.cluster.gpu.id.view()});
    }
    p.origin.rows = static_cast<std::int64_t>(jobs.size());
    const std::string versions =
        p.origin.versions.empty() ? std::string{before.runtime.identity.versions.view()} : p.origin.versions.front();
    const std::string named = versions + ", from " + detail::logs_text(p.origin.rows);
    p.runtime.identity.versions = std::string_view{named};
    calibration::halves& score = learnt_now.other_half;
    if (jobs.size() > 1) detail::score_half(score, none, jobs, 0), detail::score_half(score, none, jobs, 1);
    if (score.figures > 0) {
        const auto n = static_cast<double>(score.figures);
        score.before_bytes /= n, score.after_bytes /= n, score.before_part /= n, score.after_part /= n;
    }
    return learnt_now;
}

}  // namespace llmres::inline v0::logs
