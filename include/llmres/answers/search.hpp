// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search_request.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/throughput.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// Which layout is best? Every layout of a space is planned, those that break a limit are left out, and the best by one
/// objective remain. A search allocates, once, what it keeps of the layouts before.
///
///     const auto fastest = llmres::search(job, cluster);                       // result<found_layout>
///     std::array<llmres::found_layout, 10> best;
///     const auto count = llmres::search(job, cluster, {.objective = objective::time_per_token}, best);
namespace llmres::inline v0 {

/// The best layout. Where none fits, the nearest to fitting, with the verdict that says so. Of equal ones the simpler:
/// with fewer GPUs, stages, chunks, context, expert and tensor ranks, and the lower ZeRO stage. Errors: a field of job
/// or cluster out of its bounds; an objective without what it needs; no layout at all, with the reason of the first
/// that was refused, or the degree that emptied the space; layouts that fit and all break a limit of time, or leave
/// less memory free than they are asked to.
constexpr result<found_layout> search(const job& j, const cluster& c, const search_request& r = {});

/// The plan in the layout with the most tokens per second, of those that fit on the cluster's GPUs: search() with
/// objective::throughput. If none fits, that of the layout that comes nearest.
constexpr result<job_plan> plan(const job& j, const cluster& c);

/// The best layouts in their order, as many as `best` has room for, and the front of those that no other beats both in
/// tokens per second and in `against` (time to first token, time per token, GPUs, ...), by falling throughput. A full
/// `front` forgets the slowest. `watch(counts) -> bool` is called before every 1,024th layout, and stops the search
/// where it returns false. Errors: a field of job or cluster out of its bounds; an objective without what it needs.
template <class Watch>
constexpr result<search_counts> search(const job& j, const cluster& c, const search_request& r,
                                       std::span<found_layout> best, std::span<found_layout> front, objective against,
                                       Watch&& watch);

/// The best layouts in their order, as many as there is room for.
constexpr result<search_counts> search(const job& j, const cluster& c, const search_request& r,
                                       std::span<found_layout> best);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Adds up how two parts of a search went.
constexpr void add_counts(search_counts& sum, const search_counts& part) {
    sum.tried += part.tried;
    sum.refused += part.refused;
    sum.too_large += part.too_large;
    sum.too_slow += part.too_slow;
    sum.skipped += part.skipped;
    sum.kept += part.kept;
    sum.cancelled = sum.cancelled || part.cancelled;
}

/// Puts an item into its place in an ordered list, of which the first `count` are in use; a full list forgets its last.
template <class List, class Item, class Before>
constexpr void insert_ordered(List& list, std::size_t& count, const Item& item, const Before& before) {
    std::size_t at = count;
    while (at > 0 && before(item, list[at - 1])) --at;
    if (at == list.size()) return;
    if (count < list.size()) ++count;
    for (std::size_t i = count - 1; i > at; --i) list[i] = list[i - 1];
    list[at] = item;
}

/// Room for the layouts that a search finds: the part of a span that it needs.
using found_room = std::span<found_layout>;
constexpr found_room room_of(std::span<found_layout> all) { return {all.data(), all.size()}; }

/// The watcher of a search that nobody watches.
struct unwatched {
    constexpr bool operator()(const search_counts&) const { return true; }
};

/// A search as it runs.
template <class Watch>
struct running_search {
    const cluster& c;
    const search_request& r;
    found_room best;  ///< those found so far, in no order until order_best()
    found_room front;
    objective against;
    Watch& watch;
    bool bounded = false;  ///< skips layouts whose bound says that they are not among the best
    layout_folds folds{folds_are::kept};
    search_counts counts{};
    maybe<error> first_refusal{};
    found_layout nearest{};           ///< the nearest to fitting, of those that do not
    bool any_near = false;            ///< whether `nearest` is one
    found_layout fastest_too_slow{};  ///< the best of those that fit and break a limit of time
    bool any_slow = false;            ///< whether `fastest_too_slow` is one
    found_layout least{};             ///< the last bound, with the layout that it is of; a score of 0: none
    double elsewhere = 0;             ///< a score that `best` is sure to reach in other parts of the space; 0: none
    std::int64_t part = 0;            ///< the parts of the space that began
    std::int64_t refused_in = 0;      ///< the part of `first_refusal`
    std::size_t worst = 0;            ///< which of `best` is, where it is full

    constexpr ~running_search() = default;

    /// Forgets what depends on the fields of the job that the search chose anew. (What is remembered of a job that is
    /// served does not hang on the batch, or is known by it.)
    constexpr void forget_choice(const job& j) {
        const job_choice before = least.choice;
        least.score = 0;
        least.choice = choice_of(j);
        if (trains(j) || before.weights != j.weights)
            folds.forget_choice();
        else if (before.kv_cache != j.kv_cache)
            folds.forget_cache_format();
    }
    /// Whether the next part of the space is this search's to plan: of a search that several threads share, some are.
    constexpr bool takes_part() {
        ++part;
        if constexpr (requires { watch.takes(*this); }) return watch.takes(*this);
        return true;
    }
    /// Whether parts are whole choices, and not the layouts of one choice with so many tensor ranks and stages.
    constexpr bool takes_choices() const {
        if constexpr (requires { watch.takes_choices(); }) return watch.takes_choices();
        return false;
    }
    /// Plans one layout; returns whether to stop.
    constexpr bool visit(const job& j, const layout& l) {
        if (counts.tried % 1024 == 0 && !watch(counts)) return counts.cancelled = true;
        ++counts.tried;
        status s = validate_partition(l, j.model);  // layouts_of() and the walk keep degrees within their bounds
        if (s) s = validate_ranks(j, l);
        if (s) s = validate_training(j, l, c.gpu);
        if (!s) return refuse(s.error());
        if (bounded && is_beaten(j, l)) return ++counts.skipped, false;
        if (is_too_large(j, l)) return ++counts.too_large, false;
        result<job_plan> made = judged(j, l, c, folds);
        if (!made) return refuse(made.error());
        if (!roomy(*made)) return too_large(j, *made);
        keep(j, *made);
        return false;
    }
    /// Adds what another search found in other parts of the same space.
    constexpr void add(const running_search& other) {
        add_counts(counts, other.counts);
        for (std::size_t i = 0; i < other.counts.best; ++i) add_to_best(other.best[i]);
        order_best();
        for (std::size_t i = 0; i < other.counts.front; ++i) add_to_front(other.front[i]);
        if (other.first_refusal && (!first_refusal || other.refused_in < refused_in)) {
            first_refusal = other.first_refusal;
            refused_in = other.refused_in;
        }
    }

    /// Puts the best first.
    constexpr void order_best() {
        for (std::size_t i = 0; i + 1 < counts.best; ++i) {
            std::size_t first = i;
            for (std::size_t k = i + 1; k < counts.best; ++k)
                if (better(best[k], best[first])) first = k;
            if (first == i) continue;
            const found_layout other = best[i];
            best[i] = best[first];
            best[first] = other;
        }
        worst = counts.best > 0 ? counts.best - 1 : 0;
    }

private:
    constexpr bool refuse(const error& e) {
        ++counts.refused;
        if (first_refusal) return false;
        first_refusal = e;
        refused_in = part;
        return false;
    }
    constexpr bool roomy(const job_plan& p) const {
        const byte_count margin = r.limits.memory_margin;
        return p.verdict == verdict::fits && (margin == byte_count{} || p.memory.total().high + margin <= p.usable);
    }
    /// Whether a layout can be neither among the best nor on the front, even at the least time that it may take.
    /// Passes are remembered, so that this takes a fraction of what its memory takes; the ZeRO stage, by which layouts
    /// vary fastest, changes none but where it decides the format of weights.
    constexpr bool is_beaten(const job& j, const layout& l) {
        const bool full = counts.best == best.size();
        if ((best.empty() && front.empty()) || !(full || elsewhere > 0) || (!front.empty() && counts.front == 0))
            return false;
        const bool alike = upcasts(j, least.plan.layout) == upcasts(j, l);
        least.plan.layout.zero = l.zero;
        if (least.score == 0 || !alike || least.plan.layout != l) {
            least.plan.layout = l;
            least.plan.speed = speed_of(j, l, c, nullptr, default_efficiency, folds);
            score(least);
        }
        const bool among_best =
            !best.empty() && !(elsewhere > 0 && less(elsewhere, least.score)) && !(full && !better(least, best[worst]));
        return !among_best && (front.empty() || beaten_on_front(least));
    }
    /// Whether a layout surely takes more memory than there is. Not asked before one was found that fits: until then
    /// the nearest to fitting is remembered.
    constexpr bool is_too_large(const job& j, const layout& l) {
        return (counts.kept > 0 || any_slow) &&
               surely_exceeds(j, l, c, usable_in_all_layouts(j, c, folds), folds.training, folds.serving);
    }
    /// Sets what objectives compare of a layout whose speed is known.
    constexpr void score(found_layout& of_layout) const {
        of_layout.score = score_of(r.objective, of_layout.plan, c, r.prices);
        of_layout.next_score = score_of(objective::throughput, of_layout.plan, c, r.prices);
    }
    constexpr found_layout found(const job& j, const job_plan& p) const { return {.choice = choice_of(j), .plan = p}; }
    constexpr bool too_large(const job& j, const job_plan& p) {
        ++counts.too_large;
        if (counts.kept > 0 || any_slow || (any_near && !nearer(p, nearest.plan))) return false;
        nearest = found(j, p);
        any_near = true;
        return false;
    }
    static constexpr bool nearer(const job_plan& a, const job_plan& b) {
        if (a.verdict != b.verdict) return a.verdict < b.verdict;
        const bool fit = a.verdict == verdict::fits;  // and leave too little memory free at the upper bound
        const byte_count first = fit ? a.memory.total().high : a.memory.total().expected;
        const byte_count second = fit ? b.memory.total().high : b.memory.total().expected;
        return first != second ? first < second : simpler(a.layout, b.layout);
    }
    constexpr void keep(const job& j, job_plan& p) {
        p.speed = speed_of(j, p.layout, c, &p.memory, default_efficiency, folds);
        const bool fast = in_time(r.limits, p.speed.prefill.expected(), p.speed.step.expected());
        ++(fast ? counts.kept : counts.too_slow);
        if (fast && front.empty() && !may_be_best(score_of(r.objective, p, c, r.prices))) return;
        found_layout made = found(j, p);
        score(made);
        if (!fast) {
            if (!any_slow || better(made, fastest_too_slow)) fastest_too_slow = made;
            any_slow = true;
            return;
        }
        if (!best.empty()) add_to_best(made);
        if (!front.empty()) add_to_front(made);
    }
    /// Whether a layout of so much may be among the best: what decides between equal scores is not asked.
    constexpr bool may_be_best(double score) const {
        return counts.best < best.size() || (!best.empty() && !less(best[worst].score, score));
    }
    /// In a full list the worst makes room. (To keep them in order would move several for each that is found.)
    constexpr void add_to_best(const found_layout& made) {
        const bool full = counts.best == best.size();
        if (full && !better(made, best[worst])) return;
        best[full ? worst : counts.best++] = made;
        if (counts.best < best.size()) return;
        worst = 0;
        for (std::size_t i = 1; i < counts.best; ++i)
            if (better(best[worst], best[i])) worst = i;
    }
    constexpr double against_of(const found_layout& f) const { return score_of(against, f.plan, c, r.prices); }
    /// Whether a is at least as good as b in both, and better in one or not less simple.
    constexpr bool beats(const found_layout& a, const found_layout& b) const {
        const double first = against_of(a);
        const double second = against_of(b);
        if (less(b.next_score, a.next_score) || less(second, first)) return false;
        return less(a.next_score, b.next_score) || less(first, second) || !simpler(b, a);
    }
    /// Whether one on the front beats a layout. The front is ordered by falling throughput, and so by falling score in
    /// `against`: of those that are as fast, the last is best.
    constexpr bool beaten_on_front(const found_layout& made) const {
        std::size_t first = 0;
        std::size_t last = counts.front;
        while (first < last) {
            const std::size_t middle = (first + last) / 2;
            if (less(made.next_score, front[middle].next_score))
                last = middle;
            else
                first = middle + 1;
        }
        return first > 0 && beats(front[first - 1], made);
    }
    constexpr void add_to_front(const found_layout& made) {
        if (beaten_on_front(made)) return;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < counts.front; ++i)
            if (!beats(made, front[i])) front[kept++] = front[i];
        counts.front = kept;
        insert_ordered(front, counts.front, made,
                       [](const found_layout& a, const found_layout& b) { return less(a.next_score, b.next_score); });
    }
};

/// What a walk of layouts calls: see for_each_layout().
template <class Watch>
struct search_visitor {
    running_search<Watch>& running;
    const job& tried;
    bool only_stages = false;  ///< leaves out layouts without stages
    constexpr bool operator()(const layout& l) const {
        return (!only_stages || l.pipeline > 1) && running.visit(tried, l);
    }
    constexpr bool takes() const { return running.takes_choices() || running.takes_part(); }
};

/// Plans every layout of a search's space.
template <class Watch>
constexpr void walk(running_search<Watch>& running, const layout_space& space, const job& j, const cluster& c) {
    job tried = j;
    const auto all = [&] {
        running.forget_choice(tried);
        if (running.takes_choices() && !running.takes_part()) return false;
        if (for_each_layout(tried, space, c, search_visitor<Watch>{running, tried})) return true;
        if (!running.r.space.schedule || !trains(j)) return false;
        layout_space other = space;
        other.given.schedule = pipeline_schedule::gpipe;
        return for_each_layout(tried, other, c,
                               search_visitor<Watch>{.running = running, .tried = tried, .only_stages = true});
    };
    for_each_choice(running.r.space, j, tried, all);
}

/// Refuses formats to choose among that the job's runtime does not load, or does not keep a cache in.
constexpr status validate_formats(const search_space& space, const job& given) {
    if (trains(given)) return done{};
    for (std::int32_t w = 0; w < space.weights.count; ++w) {
        const stored_format weights{space.weights.list[static_cast<std::size_t>(w)]};
        if (const status s = validate_format(given.runtime, weights); !s) return s;
    }
    job tried = given;
    for (std::int32_t k = 0; k < space.kv_cache.count; ++k) {
        tried.kv_cache = space.kv_cache.list[static_cast<std::size_t>(k)];
        if (const status s = validate_cache(tried); !s) return s;
    }
    return done{};
}

/// The layouts that a search walks; an error where the request, the job or the cluster is out of its bounds.
constexpr result<layout_space> layouts_of(const search_request& r, const job& j, const cluster& c) {
    if (const status s = validate(j); !s) return s.error();
    if (const status s = validate(c); !s) return s.error();
    if (const status s = validate_objective(r.objective, j, c, r.prices); !s) return s.error();
    if (const status s = validate_formats(r.space, j); !s) return s.error();
    layout_space space = r.space.layouts;
    if (const status s = validate_degrees(space.given); !s) return s.error();
    if (r.limits.one_node && (space.most_gpus == 0 || space.most_gpus > c.node_size())) space.most_gpus = c.node_size();
    return space;
}

/// Runs a search over its whole space.
template <class Watch>
constexpr status run(running_search<Watch>& running, const job& j, const cluster& c) {
    const result<layout_space> space = layouts_of(running.r, j, c);
    if (!space) return space.error();
    walk(running, *space, j, c);
    running.order_best();
    return done{};
}

/// A degree of a layout that a caller may give.
struct given_degree {
    std::string_view field{};
    bool layout_space::* is_free = nullptr;
    std::int32_t layout::* value = nullptr;
    std::int32_t least = 1;
};
/// The degrees, those first that a caller gives least often.
inline constexpr std::array<given_degree, 7> given_degrees{{
    {"layout.zero", &layout_space::zero, &layout::zero, 0},
    {"layout.expert", &layout_space::expert, &layout::expert},
    {"layout.context_parallel", &layout_space::context_parallel, &layout::context_parallel},
    {"layout.virtual_pipeline", &layout_space::virtual_pipeline, &layout::virtual_pipeline},
    {"layout.data", &layout_space::data, &layout::data},
    {"layout.pipeline", &layout_space::pipeline, &layout::pipeline},
    {"layout.tensor", &layout_space::tensor, &layout::tensor},
}};

/// The values of a degree that the space would have if the caller did not give it: at most four, then dots. Empty
/// where it would be empty all the same.
constexpr text<191> values_if_free(const given_degree& degree, layout_space space, const job& j, const cluster& c) {
    space.*degree.is_free = true;
    space.given.*degree.value = degree.least;
    if (degree.value == &layout::expert) space.given.expert_tensor = 0;
    std::array<std::int32_t, 4> values{};
    std::size_t count = 0;
    const bool more = for_each_layout(j, space, c, [&](const layout& l) {
        for (std::size_t i = 0; i < count; ++i)
            if (values[i] == l.*degree.value) return false;
        if (count == values.size()) return true;
        values[count++] = l.*degree.value;
        return false;
    });
    text<191> listed;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) listed.append(", ");
        listed.append(digits(values[i]));
    }
    if (more) listed.append(", ...");
    return listed;
}

/// Why a search has no layout at all: more GPUs than there are, a batch that micro-batches do not divide, or a degree
/// without which there would be layouts.
constexpr error no_layout(const job& j, const layout_space& space, const cluster& c) {
    const std::int32_t most = space.most_gpus > 0 && space.most_gpus < c.gpus ? space.most_gpus : c.gpus;
    if (space.given.gpus() > most)
        return refused(error_code::inconsistent, "layout", space.given.gpus(),
                       most < c.gpus ? "at most the GPUs that may be taken, " : "at most the cluster's GPUs, ", most);
    const std::int64_t at_once = j.micro_batch * space.given.replicas;
    if (trains(j) && j.global_batch > 0 && j.global_batch % at_once != 0)
        return refused(error_code::inconsistent, "global_batch", j.global_batch,
                       "a multiple of micro_batch x replicas, ", at_once);
    for (const given_degree& degree : given_degrees) {
        if (space.*degree.is_free) continue;
        const text<191> values = values_if_free(degree, space, j, c);
        if (values.empty()) continue;
        text<191> expected{values.view()};
        expected.append(" with this model, batch, runtime, number of GPUs and the other degrees");
        return refused(error_code::inconsistent, degree.field, space.given.*degree.value, expected);
    }
    return refused(error_code::inconsistent, "layout", "none of the space",
                   "degrees that divide the model, the batch and the GPUs, and that the runtime knows");
}

/// The error where every layout that fits leaves less memory free than it is asked to.
constexpr error no_margin(byte_count margin, const job_plan& nearest) {
    return refused(error_code::inconsistent, "memory_margin", margin.in(bytes),
                   "at most the bytes that the emptiest layout leaves free, ",
                   (nearest.usable - nearest.memory.total().high).in(bytes));
}

}  // namespace detail

template <class Watch>
constexpr result<search_counts> search(const job& j, const cluster& c, const search_request& r,
                                       std::span<found_layout> best, std::span<found_layout> front, objective against,
                                       Watch&& watch) {
    if (const status s = detail::validate_objective(against, j, c, r.prices); !s) return s.error();
    detail::running_search<Watch> running{.c = c,
                                          .r = r,
                                          .best = detail::room_of(best),
                                          .front = detail::room_of(front),
                                          .against = against,
                                          .watch = watch,
                                          .bounded = r.skip_slower};
    if (const status s = detail::run(running, j, c); !s) return s.error();
    return running.counts;
}

constexpr result<search_counts> search(const job& j, const cluster& c, const search_request& r,
                                       std::span<found_layout> best) {
    return search(j, c, r, best, {}, objective::throughput, detail::unwatched{});
}

namespace detail {

/// The layout that comes nearest, where a search has found none that fits within its limits; or why there is none.
template <class Watch>
constexpr result<found_layout> nearest_to_fit(running_search<Watch>& running, const job& j, const cluster& c,
                                              const search_request& r) {
    if (running.any_slow) {
        const job_speed& speed = running.fastest_too_slow.plan.speed;
        return too_slow(r.limits, speed.prefill.expected(), speed.step.expected(),
                        "at least the microseconds of the best layout that fits, ");
    }
    if (running.first_refusal && !running.any_near) return *running.first_refusal;
    if (!running.any_near) return no_layout(j, *layouts_of(r, j, c), c);
    job_plan& nearest = running.nearest.plan;
    if (nearest.verdict == verdict::fits) return no_margin(r.limits.memory_margin, nearest);
    nearest.speed = speed_of(with_choice(j, running.nearest.choice), nearest.layout, c, nearest.memory);
    return running.nearest;
}

}  // namespace detail

constexpr result<found_layout> search(const job& j, const cluster& c, const search_request& r) {
    found_layout best{};
    detail::unwatched watch;
    detail::running_search<detail::unwatched> running{.c = c,
                                                      .r = r,
                                                      .best = {&best, 1},
                                                      .front = {},
                                                      .against = objective::throughput,
                                                      .watch = watch,
                                                      .bounded = true};
    if (const status s = detail::run(running, j, c); !s) return s.error();
    if (running.counts.best > 0) return best;
    return detail::nearest_to_fit(running, j, c, r);
}

constexpr result<job_plan> plan(const job& j, const cluster& c) {
    const result<found_layout> best = search(j, c);
    return best ? result<job_plan>{best->plan} : best.error();
}

}  // namespace llmres::inline v0
