// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// What to buy for a job: the machines with one kind of GPU that a budget pays for, the best first. Prices are the
/// caller's; the library has none.
namespace llmres::inline v0 {

/// A kind of GPU that may be bought.
struct gpu_offer {
    gpu card{};                        ///< the GPU
    money price{};                     ///< of one, in the caller's currency
    std::int32_t most_in_machine = 4;  ///< how many a machine has room for
    llmres::host host{};               ///< the machine's main memory and links; default: nothing is known of them
};

/// What makes one purchase better than another.
enum class purchase_objective : std::uint8_t {
    largest_batch,         ///< most sequences at once, over all GPUs; nothing else of the layout counts
    throughput,            ///< most tokens per second
    throughput_per_price,  ///< most tokens per second for the money
};
/// The names of the objectives, in their order.
template <>
inline constexpr std::array<std::string_view, 3> names_of<purchase_objective>{"largest_batch", "throughput",
                                                                              "throughput_per_price"};

/// What is to be bought.
struct purchase_request {
    money budget{};                                                 ///< for all machines with their GPUs
    money machine{};                                                ///< of one machine without GPUs
    purchase_objective objective = purchase_objective::throughput;  ///< what is best
    layout_space layouts{};                                         ///< the layouts that may be taken
    std::int32_t most_machines = 1;                                 ///< all with the same GPUs
    llmres::link between{};        ///< joins machines, for each GPU; without an id that of standard_cluster()
    maybe<llmres::power> power{};  ///< of all GPUs, at the limits of their boards, at most
};

/// What keeps a purchase from being larger: by a GPU in each machine or, where none has room, by a machine.
enum class purchase_bound : std::uint8_t {
    none,         ///< nothing: a larger one is no better
    budget,       ///< what it would cost
    board_power,  ///< what its boards would take
    room,         ///< places for GPUs in the machines that may be bought
};
/// The names of the bounds, in their order.
template <>
inline constexpr std::array<std::string_view, 4> names_of<purchase_bound>{"none", "budget", "board_power", "room"};

/// Machines that a budget pays for.
struct purchase {
    std::size_t offer = 0;                        ///< which of the offers
    std::int32_t gpus = 0;                        ///< how many of its GPUs, over all machines
    std::int32_t machines = 1;                    ///< each with as many GPUs
    money cost{};                                 ///< of all, the machines included
    purchase_bound bound = purchase_bound::none;  ///< why it is not larger
    std::int64_t batch = 0;                       ///< objective::largest_batch: sequences at once, over all GPUs
    double score = 0;  ///< what the objective compares: sequences, tokens a second, or these for each unit of money
    llmres::layout layout{};         ///< the layout that reaches it
    token_rate tokens_per_second{};  ///< there; not asked for the largest batch
};

/// Writes the best purchases in their order, as many as there is room for, and returns how many: none where the job
/// fits on nothing that the budget pays for. Each kind of GPU counts once, with the number of GPUs that is best; of
/// equal ones the cheaper comes first, so that the second is the runner-up. Errors: a price or the machine's below
/// zero, or a GPU without price; a budget below the cheapest machine with one GPU; a limit of power with a GPU whose
/// power is not published, or below every GPU's; a wrong job.
constexpr result<std::size_t> what_to_buy(const job& j, std::span<const gpu_offer> offers, const purchase_request& r,
                                          std::span<purchase> best);

/// The most GPUs of one kind that the request pays for and has room for, whatever they are bought for, with what they
/// cost and what forbids more; no GPU where not even one can be had. It explains an empty answer of what_to_buy().
constexpr purchase most_of(const gpu_offer& o, const purchase_request& r);

/// The cluster that a purchase makes. Errors: those of standard_cluster().
constexpr result<cluster> cluster_of(const gpu_offer& o, const purchase& p, const purchase_request& r);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A sum of money as digits, rounded down to whole units.
constexpr text<95> whole_money(money m) {
    text<95> shown;
    shown.append(digits(rounded_down(m).base()));
    return shown;
}

constexpr status validate_offers(std::span<const gpu_offer> offers, const purchase_request& r) {
    if (offers.empty()) return refused(error_code::missing, "offers", "none", "a GPU and its price");
    if (!(r.machine >= money{}))
        return refused(error_code::out_of_range, "machine", whole_money(r.machine), "a price of 0 or more");
    if (r.most_machines < 1) return refused(error_code::out_of_range, "most_machines", r.most_machines, "at least 1");
    if (r.power && !(*r.power > llmres::power{}))
        return refused(error_code::out_of_range, "power", digits(rounded_down(*r.power).base()), "watts above 0");
    money least{};
    bool powered = !r.power;
    for (const gpu_offer& o : offers) {
        if (r.power && !o.card.board_power)
            return refused(error_code::missing, "power", o.card.id, "a GPU whose board's power is known");
        powered = powered || *o.card.board_power <= *r.power;
        if (!(o.price > money{})) return refused(error_code::out_of_range, "price", o.card.id, "a price above 0");
        if (o.most_in_machine < 1)
            return refused(error_code::out_of_range, "most_in_machine", o.most_in_machine, "at least 1");
        if (least == money{} || o.price < least) least = o.price;
    }
    if (!powered)
        return refused(error_code::out_of_range, "power", digits(rounded_down(*r.power).base()),
                       "at least the power of one GPU's board, in watts");
    if (r.budget >= r.machine + least) return done{};
    text<191> expected{"at least the cheapest machine with one GPU, "};
    expected.append(whole_money(r.machine + least));
    return refused(error_code::out_of_range, "budget", whole_money(r.budget), expected);
}

/// The largest batch of all GPUs, and its layout.
constexpr void find_largest_batch(purchase& p, const job& j, const layout_space& space, const cluster& c) {
    for_each_layout(j, space, c, [&](const layout& l) {
        if (!validate_split(j, l) || !validate_on(j, l, c)) return false;
        const result<std::int64_t> each = max_batch(j, l, c);
        if (!each) return false;
        const std::int64_t all = trains(j) ? *each * l.all_data_ranks() : *each;
        if (all > p.batch) p.batch = all, p.layout = l;
        return false;
    });
    p.score = static_cast<double>(p.batch);
}

/// The fastest layout that fits.
constexpr void find_fastest(purchase& p, const job& j, const layout_space& space, const cluster& c) {
    std::array<found_layout, 1> found{};
    const result<search_counts> counts = search(j, c, {.space = {.layouts = space}}, found);
    if (!counts || counts->best == 0) return;
    p.layout = found[0].plan.layout;
    p.tokens_per_second = found[0].plan.speed.tokens_per_second;
    p.score = p.tokens_per_second.in(tokens_per_s);
}

constexpr bool better(const purchase& a, const purchase& b) {
    if (less(a.score, b.score) || less(b.score, a.score)) return a.score > b.score;
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.offer < b.offer;
}

/// What forbids so many machines with so many GPUs in each.
constexpr purchase_bound bound_of(const gpu_offer& o, std::int32_t machines, std::int32_t each,
                                  const purchase_request& r) {
    const double gpus = static_cast<double>(machines) * each;
    if (machines > r.most_machines || each > o.most_in_machine) return purchase_bound::room;
    if (r.machine * static_cast<double>(machines) + o.price * gpus > r.budget) return purchase_bound::budget;
    if (r.power && *o.card.board_power * gpus > *r.power) return purchase_bound::board_power;
    return purchase_bound::none;
}

/// So many machines with so many GPUs in each, and what they cost.
constexpr purchase machines_of(const gpu_offer& o, std::int32_t machines, std::int32_t each,
                               const purchase_request& r) {
    const std::int32_t gpus = machines * each;
    return {.gpus = gpus,
            .machines = machines,
            .cost = r.machine * static_cast<double>(machines) + o.price * static_cast<double>(gpus)};
}

/// What forbids one GPU more in each machine or, where none has room, one machine more.
constexpr purchase_bound bound_of_more(const gpu_offer& o, const purchase& p, const purchase_request& r) {
    const std::int32_t each = p.gpus / p.machines;
    const bool has_room = each < o.most_in_machine;
    return bound_of(o, has_room ? p.machines : p.machines + 1, has_room ? each + 1 : each, r);
}

/// Calls visit(purchase) for each number of machines and of GPUs in them that the request allows, the fewest first.
template <class Visit>
constexpr void for_each_purchase(const gpu_offer& o, const purchase_request& r, Visit visit) {
    for (std::int32_t machines = 1; machines <= r.most_machines; ++machines)
        for (std::int32_t each = 1; bound_of(o, machines, each, r) == purchase_bound::none; ++each)
            visit(machines_of(o, machines, each, r));
}

/// One number of GPUs of an offer; a score of 0 where the job does not fit.
constexpr purchase scored(const job& j, const gpu_offer& o, purchase tried, const purchase_request& r) {
    const result<cluster> bought = cluster_of(o, tried, r);
    if (!bought) return tried;
    if (r.objective == purchase_objective::largest_batch)
        find_largest_batch(tried, j, r.layouts, *bought);
    else
        find_fastest(tried, j, r.layouts, *bought);
    if (r.objective == purchase_objective::throughput_per_price) tried.score /= tried.cost.in(currency);
    return tried;
}

/// The best number of GPUs of one offer; a score of 0 where the job fits on none.
constexpr purchase best_of_offer(const job& j, const gpu_offer& o, std::size_t index, const purchase_request& r) {
    purchase best{};
    for_each_purchase(o, r, [&](const purchase& p) {
        const purchase tried = scored(j, o, p, r);
        if (tried.score > 0 && (best.score <= 0 || better(tried, best))) best = tried;
    });
    best.offer = index;
    if (best.score > 0) best.bound = bound_of_more(o, best, r);
    return best;
}

}  // namespace detail

constexpr result<std::size_t> what_to_buy(const job& j, std::span<const gpu_offer> offers, const purchase_request& r,
                                          std::span<purchase> best) {
    if (const status s = validate(j); !s) return s.error();
    if (const status s = detail::validate_offers(offers, r); !s) return s.error();
    std::size_t count = 0;
    for (std::size_t i = 0; i < offers.size(); ++i) {
        const purchase made = detail::best_of_offer(j, offers[i], i, r);
        if (made.score <= 0) continue;
        detail::insert_ordered(best, count, made,
                               [](const purchase& a, const purchase& b) { return detail::better(a, b); });
    }
    return count;
}

constexpr purchase most_of(const gpu_offer& o, const purchase_request& r) {
    purchase most{};
    detail::for_each_purchase(o, r, [&](const purchase& p) {
        if (p.gpus > most.gpus) most = p;
    });
    most.bound = most.gpus > 0 ? detail::bound_of_more(o, most, r) : detail::bound_of(o, 1, 1, r);
    return most;
}

constexpr result<cluster> cluster_of(const gpu_offer& o, const purchase& p, const purchase_request& r) {
    result<cluster> made = standard_cluster(o.card, p.gpus);
    if (!made) return made;
    made->gpus_per_node = p.gpus / p.machines;
    if (!r.between.id.empty()) made->scale_out = r.between;
    if (o.host.memory > byte_count{}) made->host = o.host;
    return made;
}

}  // namespace llmres::inline v0
