// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/answers/search_request.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// Which of the free GPUs hold a job, or each job of a queue? The GPUs may be of several kinds, partly used by others,
/// or MIG instances. Nodes that offer the same are looked at once, so that a queue of thousands takes a second.
///
///     const std::array kinds{h100_node, l4_node};   // clusters: what a job may have of each kind
///     std::array nodes{node_gpus{.kind = 0, .free = 3}, node_gpus{.kind = 1, .free = 8}};
///     const auto place = place_job(job, kinds, nodes);               // result<job_place>
///     if (place && place->state == place_state::placed) take(*place, nodes);
namespace llmres::inline v0 {

/// GPUs of a node that are alike: of one kind, with as much of their memory held by others. A node whose GPUs differ is
/// several of these.
struct node_gpus {
    std::int32_t kind = 0;  ///< which of the kinds
    std::int32_t free = 0;  ///< GPUs that a job may have
};

/// Which of the GPUs that hold a job it gets.
enum class place_preference : std::uint8_t {
    /// Those with the least memory in all that is not held by others, so that large GPUs stay free for large jobs.
    least_memory,
    best_score,  ///< those on which the search's objective is best
};
/// The names of the preferences, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<place_preference>{"least_memory", "best_score"};

/// What a place must be like.
struct place_request {
    place_preference prefer = place_preference::least_memory;  ///< which GPUs, of those that hold the job
    /// What is best of the layouts on the same GPUs, what is left out, and what is tried. For a number of GPUs set
    /// least_gpus and most_gpus of its layouts.
    search_request search{};
};

/// Whether a job starts.
enum class place_state : std::uint8_t {
    placed,        ///< on GPUs that are free
    waits,         ///< no free GPUs hold it; others of the inventory do
    does_not_fit,  ///< no GPUs of the inventory hold it
};
/// The names of the states, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<place_state>{"placed", "waits", "does_not_fit"};

/// Where a job starts. Where it waits, the kind of GPU and the layout that would hold it.
struct job_place {
    place_state state = place_state::does_not_fit;  ///< whether it starts
    std::int32_t kind = 0;                          ///< which of the kinds
    std::int32_t node = 0;                          ///< placed: the first of its nodes
    std::int32_t nodes = 0;                         ///< how many nodes
    std::int32_t each = 0;                          ///< GPUs of each node
    llmres::layout layout{};                        ///< the layout
    job_choice choice{};                            ///< the job's fields that the search may choose
    token_rate tokens_per_second{};                 ///< how fast it runs there
    double score = 0;                               ///< what the objective compares, less is better

    /// GPUs in all.
    constexpr std::int32_t gpus() const { return nodes * each; }
};

/// A job of a queue.
struct queued_job {
    const llmres::job* job = nullptr;  ///< the job
    place_request request{};           ///< what its place must be like
};

/// How many jobs of a queue start.
struct queue_counts {
    std::size_t placed = 0;        ///< start on free GPUs
    std::size_t waiting = 0;       ///< wait for GPUs
    std::size_t does_not_fit = 0;  ///< find none in this inventory
};

/// Kinds of GPU in one inventory, at most.
inline constexpr std::size_t most_kinds = 64;

/// Where a job starts. A kind is a cluster: `node_size()` GPUs of a node and `gpus` of all nodes are what one job may
/// have at most (one, where no link joins them, as MIG instances), `in_use` is what others hold of each. A job has GPUs
/// of one kind, in one node or in several whole ones. Of equal places the one with fewer GPUs, then the kind that comes
/// first; of its nodes the one with the fewest free GPUs, then the first. GPUs are not shared: what a job does not use
/// of them stays unused. Main memory of a node is not divided: each job is planned as if no other used it.
///
/// Errors: a field of the job or of a kind out of its bounds; a kind that is not there; more kinds than `most_kinds`;
/// what search() refuses; objective::cost_per_token, since kinds differ in price.
constexpr result<job_place> place_job(const job& j, std::span<const cluster> kinds, std::span<const node_gpus> nodes,
                                      const place_request& r = {});

/// Takes the GPUs of a place from the free ones.
constexpr void take(const job_place& p, std::span<node_gpus> nodes);

/// Calls visit(index) for each node of a place, before it is taken.
template <class Visit>
constexpr void for_each_node(const job_place& p, std::span<const node_gpus> nodes, Visit visit);

/// Places jobs in their order; one that finds no free GPUs waits, and those behind it may start. Writes where, one for
/// each job, and takes the GPUs from `nodes`. Errors: those of place_job(), with the job's number in the field;
/// `places` of another size.
constexpr result<queue_counts> place_queue(std::span<const queued_job> jobs, std::span<const cluster> kinds,
                                           std::span<node_gpus> nodes, std::span<job_place> places);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// What is free of one kind.
struct free_of_kind {
    std::int32_t in_one_node = 0;  ///< most GPUs of one node
    std::int32_t whole_nodes = 0;  ///< nodes with all their GPUs free

    constexpr void add(const node_gpus& n, const cluster& c) {
        if (n.free > in_one_node) in_one_node = n.free;
        if (n.free >= c.node_size()) ++whole_nodes;
    }
};
using free_kinds = std::array<free_of_kind, most_kinds>;

/// What is free of each kind.
constexpr free_kinds free_now(std::span<const cluster> kinds, std::span<const node_gpus> nodes) {
    free_kinds free{};
    for (const node_gpus& n : nodes) {
        const auto kind = static_cast<std::size_t>(n.kind);
        free[kind].add(n, kinds[kind]);
    }
    return free;
}

/// What would be free of each kind if no job ran.
constexpr free_kinds free_at_best(std::span<const cluster> kinds) {
    free_kinds free{};
    for (std::size_t k = 0; k < kinds.size(); ++k)
        free[k] = {.in_one_node = kinds[k].node_size(), .whole_nodes = kinds[k].gpus / kinds[k].node_size()};
    return free;
}

/// The numbers of GPUs that a job may have of each kind, in the order of the preference least_memory.
class place_walk {
public:
    constexpr place_walk(std::span<const cluster> kinds, const layout_space& space, const free_kinds& free)
        : kinds_{kinds}, space_{space}, free_{free} {
        for (std::size_t k = 0; k < kinds_.size(); ++k)
            next_[k] = number_from(k, space_.least_gpus > 1 ? space_.least_gpus : 1);
    }

    /// Calls visit(kind, GPUs) until it returns true.
    template <class Visit>
    constexpr bool for_each(const Visit& visit) {
        for (;;) {
            std::size_t least = kinds_.size();
            for (std::size_t k = 0; k < kinds_.size(); ++k)
                if (next_[k] > 0 && (least == kinds_.size() || before(k, least))) least = k;
            if (least == kinds_.size()) return false;
            const std::int32_t gpus = next_[least];
            next_[least] = number_from(least, gpus + 1);
            if (visit(least, gpus)) return true;
        }
    }

private:
    /// The first number of GPUs from this one on that a job may have; 0: none.
    constexpr std::int32_t number_from(std::size_t kind, std::int32_t gpus) const {
        const cluster& c = kinds_[kind];
        const std::int32_t node = c.node_size();
        const free_of_kind& f = free_[kind];
        if (gpus > f.in_one_node || gpus > node) {
            const std::int32_t whole = (gpus + node - 1) / node;
            if (whole > f.whole_nodes) return 0;
            gpus = whole * node;
        }
        return gpus > c.gpus || (space_.most_gpus > 0 && gpus > space_.most_gpus) ? 0 : gpus;
    }
    constexpr bool before(std::size_t a, std::size_t b) const {
        const byte_count first = available_memory(kinds_[a]) * next_[a];
        const byte_count second = available_memory(kinds_[b]) * next_[b];
        return first != second ? first < second : next_[a] < next_[b];
    }

    std::span<const cluster> kinds_;
    const layout_space& space_;
    const free_kinds& free_;
    std::array<std::int32_t, most_kinds> next_{};  ///< number of GPUs to be tried next; 0: none
};

/// What the GPUs of a job hold between them at least, in whatever layout: its weights and the optimizer's states once,
/// less a sixteenth for what an allocator rounds up on one GPU and may not on several. Zero where a part of it may lie
/// in main memory.
constexpr byte_count least_of_all(const job& j, const search_space& space) {
    if (offloads(j) || space.offload || space.offload_parameters || space.weights.count > 0) return {};
    const memory_breakdown m = memory_of(j, layout{});
    const byte_count held = m[memory_term::weights].low + m[memory_term::optimizer].low;
    return is_saturated(held) ? byte_count{} : held - div_up(held, 16);
}

/// Whether any of the layouts fits, asking for no times. `tried`: a copy of the job.
constexpr bool any_fits(const job& j, job& tried, const search_request& r, const cluster& c) {
    const auto fits_in = [&](const layout& l) {
        if (!validate_split(tried, l) || !validate_training(tried, l, c.gpu)) return false;
        layout_folds folds;
        const result<job_plan> made = judged(tried, l, c, folds);
        return made && made->verdict == verdict::fits &&
               made->memory.total().high + r.limits.memory_margin <= made->usable;
    };
    const auto all = [&] { return for_each_layout(tried, r.space.layouts, c, fits_in); };
    return for_each_choice(r.space, j, tried, all);
}

/// Looks for a job's place on so many GPUs of a kind. Job, kinds and objective were validated.
class place_finder {
public:
    constexpr place_finder(const job& j, std::span<const cluster> kinds, const place_request& r)
        : job_{j}, tried_{j}, kinds_{kinds}, asked_{r}, one_{r.search}, least_{least_of_all(j, r.search.space)} {}

    /// The best place of those that a walk offers; without nodes where none holds the job.
    constexpr job_place best_of(place_walk& walk) {
        job_place best{};
        walk.for_each([&](std::size_t kind, std::int32_t gpus) {
            const job_place made = best_on(kind, gpus);
            if (made.nodes == 0) return false;
            if (best.nodes == 0 || less(made.score, best.score)) best = made;
            return asked_.prefer == place_preference::least_memory;
        });
        return best;
    }

private:
    /// The best layout on so many GPUs of a kind; without nodes where none fits and keeps the limits.
    constexpr job_place best_on(std::size_t kind, std::int32_t gpus) {
        const cluster& c = kinds_[kind];
        if (available_memory(c) * gpus < least_ || (one_.limits.one_node && gpus > c.node_size())) return {};
        one_.space.layouts.least_gpus = one_.space.layouts.most_gpus = gpus;
        if (!any_fits(job_, tried_, one_, c)) return {};
        found_layout best{};
        unwatched watch;
        running_search<unwatched> running{.c = c,
                                          .r = one_,
                                          .best = {&best, 1},
                                          .front = {},
                                          .against = one_.objective,
                                          .watch = watch,
                                          .bounded = true};
        walk(running, one_.space.layouts, job_, c);
        if (running.counts.best == 0) return {};
        const job_plan& p = best.plan;
        const std::int32_t each = gpus < c.node_size() ? gpus : c.node_size();
        return {.kind = static_cast<std::int32_t>(kind),
                .nodes = gpus / each,
                .each = each,
                .layout = p.layout,
                .choice = best.choice,
                .tokens_per_second = p.speed.tokens_per_second,
                .score = best.score};
    }

    const job& job_;
    job tried_;
    std::span<const cluster> kinds_;
    const place_request& asked_;
    search_request one_;  ///< what is searched on one number of GPUs
    byte_count least_;
};

/// Sets the first node of a place among those with room for it: of the one node, or of whole ones.
constexpr void find_node(job_place& p, std::span<const node_gpus> nodes) {
    std::int32_t fewest = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const node_gpus& n = nodes[i];
        if (n.kind != p.kind || n.free < p.each || (fewest > 0 && (p.nodes > 1 || n.free >= fewest))) continue;
        fewest = n.free;
        p.node = static_cast<std::int32_t>(i);
    }
}

constexpr status validate_inventory(std::span<const cluster> kinds, std::span<const node_gpus> nodes) {
    if (const status s = in_range("kinds", static_cast<std::int64_t>(kinds.size()), 1, most_kinds); !s) return s;
    for (const cluster& c : kinds)
        if (const status s = validate(c); !s) return s;
    for (const node_gpus& n : nodes) {
        if (const status s = in_range("nodes.kind", n.kind, 0, static_cast<std::int64_t>(kinds.size()) - 1); !s)
            return s;
        if (const status s = in_range("nodes.free", n.free, 0, 1 << 20); !s) return s;
    }
    return done{};
}

/// Refuses a job, or what is asked of its place.
constexpr status validate_request(const job& j, std::span<const cluster> kinds, const place_request& r) {
    if (const status s = validate(j); !s) return s;
    if (r.search.objective == objective::cost_per_token)
        return refused(error_code::unsupported, "objective", name_of(r.search.objective),
                       "another objective: kinds of GPU differ in price");
    for (const cluster& c : kinds)
        if (const status s = validate_objective(r.search.objective, j, c, {}); !s) return s;
    return validate_degrees(r.search.space.layouts.given);
}

/// Where a validated job starts in a validated inventory, of which so much is free.
constexpr job_place placed_in(const job& j, std::span<const cluster> kinds, std::span<const node_gpus> nodes,
                              const free_kinds& free, const place_request& r) {
    place_finder finder{j, kinds, r};
    place_walk now{kinds, r.search.space.layouts, free};
    job_place place = finder.best_of(now);
    if (place.nodes > 0) {
        place.state = place_state::placed;
        find_node(place, nodes);
        return place;
    }
    const free_kinds all = free_at_best(kinds);
    place_walk later{kinds, r.search.space.layouts, all};
    place = finder.best_of(later);
    if (place.nodes > 0) place.state = place_state::waits;
    return place;
}

/// Counts anew what is free of one kind.
constexpr void recount(free_kinds& free, std::int32_t kind, std::span<const cluster> kinds,
                       std::span<const node_gpus> nodes) {
    free_of_kind& one = free[static_cast<std::size_t>(kind)] = {};
    for (const node_gpus& n : nodes)
        if (n.kind == kind) one.add(n, kinds[static_cast<std::size_t>(kind)]);
}

/// The error of a job of a queue, with its number.
constexpr error of_queue(std::size_t index, const error& e) {
    text<63> field{"jobs["};
    field.append(digits(static_cast<std::int64_t>(index)));
    field.append("]: ");
    field.append(e.field);
    return refused(e.code, field, e.value, e.expected);
}

}  // namespace detail

constexpr result<job_place> place_job(const job& j, std::span<const cluster> kinds, std::span<const node_gpus> nodes,
                                      const place_request& r) {
    if (const status s = detail::validate_inventory(kinds, nodes); !s) return s.error();
    if (const status s = detail::validate_request(j, kinds, r); !s) return s.error();
    return detail::placed_in(j, kinds, nodes, detail::free_now(kinds, nodes), r);
}

template <class Visit>
constexpr void for_each_node(const job_place& p, std::span<const node_gpus> nodes, Visit visit) {
    std::int32_t left = p.state == place_state::placed ? p.nodes : 0;
    for (auto i = static_cast<std::size_t>(p.node); left > 0 && i < nodes.size(); ++i) {
        if (nodes[i].kind != p.kind || nodes[i].free < p.each) continue;
        visit(i);
        --left;
    }
}

constexpr void take(const job_place& p, std::span<node_gpus> nodes) {
    for_each_node(p, nodes, [&](std::size_t node) { nodes[node].free -= p.each; });
}

constexpr result<queue_counts> place_queue(std::span<const queued_job> jobs, std::span<const cluster> kinds,
                                           std::span<node_gpus> nodes, std::span<job_place> places) {
    if (places.size() != jobs.size())
        return refused(error_code::inconsistent, "places", static_cast<std::int64_t>(places.size()),
                       "one for each job");
    if (const status s = detail::validate_inventory(kinds, nodes); !s) return s.error();
    queue_counts counts{};
    detail::free_kinds free = detail::free_now(kinds, nodes);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (const status s = detail::validate_request(*jobs[i].job, kinds, jobs[i].request); !s)
            return detail::of_queue(i, s.error());
        places[i] = detail::placed_in(*jobs[i].job, kinds, nodes, free, jobs[i].request);
        take(places[i], nodes);
        if (places[i].state == place_state::placed) detail::recount(free, places[i].kind, kinds, nodes);
        const place_state state = places[i].state;
        ++(state == place_state::placed  ? counts.placed
           : state == place_state::waits ? counts.waiting
                                         : counts.does_not_fit);
    }
    return counts;
}

}  // namespace llmres::inline v0
