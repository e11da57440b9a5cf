// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/changes.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// What would help where a job does not fit?
namespace llmres::inline v0 {

/// One change, or two together, with which a job fits. Each was planned: `layout` and `tokens_per_second` are of that
/// plan, whose verdict is `fits`.
struct remedy {
    std::array<change, 2> changes{};  ///< storage; the first `count` are in use
    std::int32_t count = 0;           ///< changes in use
    llmres::layout layout{};          ///< the layout that then fits
    token_rate tokens_per_second{};   ///< how fast the job then is

    /// The first change.
    constexpr auto begin() const { return changes.begin(); }
    /// Behind the last change.
    constexpr auto end() const { return changes.begin() + count; }
};

/// Remedies, single changes first.
struct remedies {
    std::array<remedy, 16> list{};  ///< storage; the first `count` are in use
    std::int32_t count = 0;         ///< remedies in use

    /// Appends a remedy; one too many is left out.
    constexpr void add(const remedy& r) {
        if (static_cast<std::size_t>(count) < list.size()) list[static_cast<std::size_t>(count++)] = r;
    }
    /// The first remedy.
    constexpr auto begin() const { return list.begin(); }
    /// Behind the last remedy.
    constexpr auto end() const { return list.begin() + count; }
};

/// Who says in which layout a job runs.
enum class layout_choice : std::uint8_t {
    given,    ///< the layout stays as it is, unless a remedy names another one
    searched  ///< with each change the planner chooses anew
};
/// Where a layout may be given, who says it.
constexpr layout_choice layout_choice_of(const maybe<layout>& given) {
    return given ? layout_choice::given : layout_choice::searched;
}

/// Tokens of a context that is enough for most who serve a model and name none (a model's own may be a million).
inline constexpr token_count usual_context = tokens(8192);

/// Single changes with which a job fits, each planned. After them, where nobody named the format of weights or a
/// context, the widest format that fits with `usual_context`, and the longest context in it; and the best pair of
/// changes, where no single one on the cluster's GPUs is as fast and gives up as little of the batch and the context.
/// None where the job fits.
constexpr remedies what_would_help(const job& j, const layout& l, const cluster& c,
                                   layout_choice choice = layout_choice::given);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Tries changes on a job, and keeps those with which it fits.
struct remedy_finder {
    const placed_job& asked;
    layout_choice choice;
    remedies& found;  ///< 50 KB, which are on the stack once

    /// The plan of a changed job, if it fits.
    constexpr maybe<job_plan> fitting(const placed_job& p) const {
        if (fits(p)) {
            const result<job_plan> made = plan(p.job, p.layout, p.cluster);
            if (choice == layout_choice::given && made) return *made;
        }
        if (choice == layout_choice::given) return {};
        const result<found_layout> best = search(p.job, p.cluster);
        if (!best || best->plan.verdict != verdict::fits) return {};
        return best->plan;
    }
    /// Adds a change with which the job fits.
    constexpr void try_alone(const change& made) {
        const maybe<job_plan> p = fitting(with_change(asked, made));
        if (!p) return;
        change shown = made;
        shown.layout = p->layout;
        found.add({{shown}, 1, p->layout, p->speed.tokens_per_second});
    }
    constexpr bool has(change::kind what) const {
        for (const remedy& r : found)
            if (r.count == 1 && r.changes[0].what == what) return true;
        return false;
    }
    /// Adds other layouts of the cluster's GPUs, or the fewest GPUs on which the job fits.
    constexpr void try_layouts() {
        const job& j = asked.job;
        const maybe<layout> smallest = smallest_layout(j, asked.cluster, 1024);
        if (!smallest) return;
        if (smallest->gpus() > asked.cluster.gpus)
            return try_alone({.what = change::kind::more_gpus, .amount = smallest->gpus(), .layout = *smallest});
        if (choice == layout_choice::searched) return;  // the planner has tried them all
        const result<found_layout> best = search(j, asked.cluster);
        if (best && best->plan.verdict == verdict::fits)
            try_alone(
                {.what = change::kind::other_layout, .amount = best->plan.layout.gpus(), .layout = best->plan.layout});
    }
    /// The widest format of weights that fits with `usual_context`, and the longest context in it: where nobody named
    /// weights or a context, those that the model is published in have no room for so long a one, and no format alone
    /// is as wide.
    constexpr maybe<remedy> widest_format() const {
        if (trains(asked.job) || names_weights() || names_context() || fitting(of_usual_context(asked))) return {};
        maybe<change> format;
        for_each_change(asked, [&](const change& other) {
            const bool wider = other.what == change::kind::narrower_weights &&
                               (!format || bits_of(other) > bits_of(*format)) && !is_as_wide_alone(other);
            if (wider && fitting(of_usual_context(with_change(asked, other)))) format = other;
            return false;
        });
        if (!format) return {};
        maybe<remedy> longest;
        const placed_job narrower = with_change(asked, *format);
        for_each_change(narrower, [&](const change& shorter) {
            if (shorter.what != change::kind::shorter_context) return false;
            if (const maybe<job_plan> p = fitting(with_change(narrower, shorter)); p && !is_useless(shorter))
                longest = remedy{{*format, shorter}, 2, p->layout, p->speed.tokens_per_second};
            return true;
        });
        return longest;
    }
    /// The best pair, of a change that keeps every size and does not suffice alone, and any other change: the fastest
    /// of those that give up least.
    constexpr maybe<remedy> best_pair() const {
        maybe<remedy> best;
        for_each_change(asked, [&](const change& first) {
            if (given_up(first.what) > 0 || has(first.what)) return false;
            const placed_job changed = with_change(asked, first);
            for_each_change(changed, [&](const change& second) {
                if (second.what == first.what || has(second.what) || is_useless(second)) return false;
                const maybe<job_plan> p = fitting(with_change(changed, second));
                if (!p) return false;
                const remedy pair{{first, second}, 2, p->layout, p->speed.tokens_per_second};
                if (!best || better(pair, *best)) best = pair;
                return false;
            });
            return false;
        });
        return best;
    }

    /// Whether no single change on the cluster's GPUs that gives up as little is as fast, and no pair with the widest
    /// format of weights gives up as little.
    constexpr bool excels(const remedy& pair) const {
        for (const remedy& r : found)
            if (r.changes[0].what != change::kind::more_gpus && given_up(r) <= given_up(pair) &&
                (r.count > 1 || r.tokens_per_second >= pair.tokens_per_second))
                return false;
        return true;
    }

private:
    constexpr bool names_weights() const { return asked.job.weights || asked.job.gguf; }
    constexpr bool names_context() const {
        return asked.job.context > token_count{} || asked.job.prompt + asked.job.output > token_count{};
    }
    static constexpr std::int64_t usual(const job& j) {
        const token_count own = j.model.max_context;
        return (own > token_count{} && own < usual_context ? own : usual_context).in(tokens);
    }
    static constexpr placed_job of_usual_context(const placed_job& p) {
        return with_change(p, {.what = change::kind::shorter_context, .amount = usual(p.job)});
    }
    /// A context that is shorter than the usual one, of a job that serves and names none.
    constexpr bool is_useless(const change& made) const {
        return made.what == change::kind::shorter_context && !trains(asked.job) && !names_context() &&
               made.amount < usual(asked.job);
    }
    constexpr double bits_of(const change& format) const {
        const placed_job narrower = with_change(asked, format);
        return bits_per_element(weights_of(narrower.job));
    }
    /// Whether a format of weights that is no narrower is a remedy alone.
    constexpr bool is_as_wide_alone(const change& format) const {
        for (const remedy& r : found)
            if (r.count == 1 && r.changes[0].what == format.what && bits_of(r.changes[0]) >= bits_of(format))
                return true;
        return false;
    }
    /// What a change gives up of the job's sizes: nothing, the micro-batch, the batch, or the context.
    static constexpr int given_up(change::kind what) {
        return what == change::kind::shorter_context       ? 3
               : what == change::kind::smaller_batch       ? 2
               : what == change::kind::smaller_micro_batch ? 1
                                                           : 0;
    }
    static constexpr int given_up(const remedy& r) {
        int most = 0;
        for (const change& made : r) most = given_up(made.what) > most ? given_up(made.what) : most;
        return most;
    }
    static constexpr bool better(const remedy& a, const remedy& b) {
        if (given_up(a) != given_up(b)) return given_up(a) < given_up(b);
        return a.tokens_per_second > b.tokens_per_second;
    }
};

}  // namespace detail

constexpr remedies what_would_help(const job& j, const layout& l, const cluster& c, layout_choice choice) {
    const placed_job asked{j, l, c};
    remedies found{};
    detail::remedy_finder finder{asked, choice, found};
    if (fits(j, l, c)) return found;
    for_each_change(asked, [&](const change& made) {
        // Of several formats the widest that does is enough.
        if (!finder.has(made.what)) finder.try_alone(made);
        return finder.has(change::kind::known_host);
    });
    if (finder.has(change::kind::known_host)) return found;  // the job is as it should be
    finder.try_layouts();
    if (const maybe<remedy> pair = finder.widest_format()) found.add(*pair);
    if (const maybe<remedy> pair = finder.best_pair(); pair && finder.excels(*pair)) found.add(*pair);
    return found;
}

}  // namespace llmres::inline v0
