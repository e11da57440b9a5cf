// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/square_root.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>

/// How many replicas of a serving job keep up with a rate of requests, or with so many users, in which layout, so that
/// none waits too long?
///
///     const auto wanted = request_load{.requests = hertz(20), .time_to_first_token = seconds(1)};
///     const auto found = replicas_for(job, cluster, wanted);   // result<replica_set>
namespace llmres::inline v0 {

/// How requests arrive.
enum class arrivals : std::uint8_t {
    random,  ///< independently of each other (Poisson): now many, now few are in flight
    even,    ///< one after the other at equal distances
};
/// The names of the arrivals, in their order.
template <>
inline constexpr std::array<std::string_view, 2> names_of<arrivals>{"random", "even"};

/// Requests and what they may wait, each with the job's `prompt` and `output`. They come at a rate (an open loop), or
/// from so many users of whom each reads an answer before the next request (a closed loop).
struct request_load {
    frequency requests{};                                  ///< a second; 0: those of the users
    llmres::arrivals arrivals = llmres::arrivals::random;  ///< how requests of a rate come
    std::int64_t users = 0;                                ///< who each have one request at a time; 0: a rate
    maybe<duration> time_to_first_token{};                 ///< under load (steady_speed), expected, at most
    maybe<duration> time_per_token{};                      ///< under load, expected, at most
    duration think_time{};                                 ///< from an answer's end to its user's next request, mean
};

/// Replicas of one layout that keep up.
struct replica_set {
    std::int64_t replicas = 0;                 ///< at the expected rate of each
    interval<std::int64_t> replicas_bounds{};  ///< at the bounds of that rate
    std::int64_t in_flight = 0;                ///< sequences that a replica computes at once, at most
    interval<frequency> each{};                ///< requests that a replica finishes in a second
    interval<double> users_of_each{};          ///< users that a replica serves; 0: the load is a rate
    frequency requests{};                      ///< of the load, a second: its rate, or what its users ask
    job_plan plan{};                           ///< of one replica, with so many sequences
    /// GPUs of all replicas.
    constexpr std::int64_t gpus() const { return replicas * plan.layout.gpus(); }
};

/// The layouts that keep up with the fewest GPUs, in their order, as many as `best` has room for; returns how many,
/// none where the job fits in no layout. A replica has the cluster's GPUs at most, and data ranks only where they share
/// experts. The sequences in flight are the most that fit at their full length and keep the limits of time; of equal
/// numbers of GPUs the faster layout for each token comes first.
///
/// A replica with n sequences in flight finishes n / (time to first token + output x time per output token) requests a
/// second (Little's law), and never more than its GPUs compute where prompts and tokens stand one after the other.
/// Under random arrivals the number in flight varies as a Poisson variable does (M/G/infinity): a replica is given so
/// many requests that the mean and two standard deviations are n.
///
/// A user has a request in flight for the response time R and thinks for Z: so many users ask users / (R + Z) requests
/// a second (the interactive response time law, Denning and Buzen, "The operational analysis of queueing network
/// models", 1978). Of a replica's users each is waiting with probability R / (R + Z), so that the number in flight is
/// binomial: n users where nobody thinks, a Poisson variable where all think long.
///
/// Errors: a job that does not serve, or generates no tokens, or does not give its `prompt` and `output`; no requests
/// or users, or both; a time to think without users;
/// a field of job or cluster out of its bounds; limits of time that no layout keeps, with the least that one reaches.
constexpr result<std::size_t> replicas_for(const job& j, const cluster& c, const request_load& load,
                                           const layout_space& layouts, std::span<replica_set> best);

/// The best; without replicas where the job fits in no layout.
constexpr result<replica_set> replicas_for(const job& j, const cluster& c, const request_load& load);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline constexpr double most_requests = 1e9;
inline constexpr std::int64_t most_users = 1'000'000'000;

constexpr status validate_arrivals(const request_load& load) {
    if (load.users < 0 || load.users > most_users)
        return refused(error_code::out_of_range, "users", load.users, "1 to a billion");
    if (load.users > 0 && load.requests != frequency{})
        return refused(error_code::inconsistent, "users", load.users, "users or requests_per_second, not both");
    if (load.think_time < duration{} || (load.users == 0 && load.think_time > duration{}))
        return refused(load.users == 0 ? error_code::inconsistent : error_code::out_of_range, "think_time",
                       load.think_time < duration{} ? "below 0" : "above 0",
                       load.users == 0 ? "users who think" : "0 or more seconds");
    if (load.users > 0 || (load.requests > frequency{} && load.requests <= hertz(most_requests))) return done{};
    return refused(error_code::out_of_range, "requests_per_second",
                   load.requests > frequency{} ? "more than a billion" : "0 or less",
                   "a rate above 0, of at most a billion");
}

constexpr status validate_load(const job& j, const request_load& load) {
    if (trains(j)) return refused(error_code::unsupported, "task", name_of(j.task), "serving");
    if (!generates(j.model))
        return refused(
            error_code::unsupported, "model", j.model.name,
            "a model that generates tokens: of this one, requests_per_second over a plan's inputs_per_second");
    if (j.prompt <= token_count{})
        return refused(error_code::missing, "prompt", j.prompt.in(tokens), "tokens of a request's prompt");
    if (j.output <= token_count{})
        return refused(error_code::missing, "output", j.output.in(tokens), "tokens made for a request");
    if (const status s = validate_arrivals(load); !s) return s;
    const auto positive = [](const char* field, const maybe<duration>& limit) -> status {
        if (limit && !(*limit > duration{}))
            return refused(error_code::out_of_range, field, "0 or less", "seconds above 0");
        return done{};
    };
    if (const status s = positive("max_time_to_first_token", load.time_to_first_token); !s) return s;
    return positive("max_time_per_token", load.time_per_token);
}

/// The part of its mean that the variance of the number in flight is: 0 where requests come evenly, 1 where it is a
/// Poisson variable, and Z / (R + Z) of users, where it is binomial.
constexpr double variance_over_mean(const request_load& load, duration response) {
    if (load.users > 0) return load.think_time / (response + load.think_time);
    return load.arrivals == arrivals::even ? 0.0 : 1.0;
}

/// The mean number in flight that stays below `most` with two standard deviations: m + 2 sqrt(v m) = most.
constexpr double mean_in_flight(double variance_over_mean, double most) {
    const double root = square_root(most + variance_over_mean) - square_root(variance_over_mean);
    return root * root;
}

/// What a request waits for the batch that is under way, where the runtime computes whole batches: none to all of it.
constexpr interval<duration> wait_for_batch(const job& j, const job_plan& p) {
    if (prompts_before_token(j, p.layout) == 1) return {};
    const double made = static_cast<double>(j.output.in(tokens));
    const interval<duration> prompts = p.speed.prefill.total(), step = p.speed.step.total();
    return {duration{}, (prompts.expected + step.expected * made) * 0.5, prompts.high + step.high * made};
}

/// The time from a request to the end of its answer, less what it waits for the batch that is under way.
constexpr interval<duration> response_time(const job& j, const job_plan& p) {
    const auto made = static_cast<double>(j.output.in(tokens));
    const interval<duration> wait = wait_for_batch(j, p), &first = p.speed.steady.time_to_first_token;
    const interval<duration>& token = p.speed.steady.time_per_output_token;
    return {first.low - wait.low + token.low * made, first.expected - wait.expected + token.expected * made,
            first.high - wait.high + token.high * made};
}

/// Requests that a replica finishes in a second. They are in flight from the beginning of their batch on.
constexpr interval<frequency> requests_of(const job& j, const job_plan& p, double in_flight) {
    const auto ranks = static_cast<double>(p.layout.all_data_ranks());
    const auto made = static_cast<double>(j.output.in(tokens));
    const auto all = static_cast<double>(p.speed.steady.in_flight);
    const auto prompts = static_cast<double>(prompts_before_token(j, p.layout));
    const auto rate = [&](duration response, duration prompt, duration step) {
        const double by_time = in_flight / response.in(seconds);
        const double by_work = ranks / (prompt / prompts + step * (made * ranks / all)).in(seconds);
        return hertz(by_time < by_work ? by_time : by_work);
    };
    const interval<duration> response = response_time(j, p);
    const interval<duration> prompt = p.speed.prefill.total();
    const interval<duration> step = p.speed.step.total();
    return {rate(response.high, prompt.high, step.high), rate(response.expected, prompt.expected, step.expected),
            rate(response.low, prompt.low, step.low)};
}

/// Users whom a replica serves that finishes so many requests a second, each of whom waits for the response and thinks.
/// One that answers sooner is asked sooner again.
constexpr interval<double> users_of(const interval<frequency>& each, const interval<duration>& response,
                                    duration think_time) {
    const auto users = [&](frequency rate, duration time) { return rate.in(hertz) * (time + think_time).in(seconds); };
    const double slow = users(each.low, response.high), fast = users(each.high, response.low);
    return {slow < fast ? slow : fast, users(each.expected, response.expected), slow < fast ? fast : slow};
}

/// The smallest whole number of replicas that is not less. Rounding of a quotient adds no replica.
constexpr std::int64_t replicas_at(double exact) {
    exact *= 1.0 - 1e-12;
    const auto whole = static_cast<std::int64_t>(exact);
    return static_cast<double>(whole) < exact ? whole + 1 : whole;
}

constexpr bool better(const replica_set& a, const replica_set& b) {
    if (a.gpus() != b.gpus()) return a.gpus() < b.gpus();
    const auto time = [](const replica_set& r) {
        return r.plan.speed.steady.time_per_output_token.expected.in(seconds);
    };
    if (less(time(a), time(b)) || less(time(b), time(a))) return time(a) < time(b);
    return simpler(a.plan.layout, b.plan.layout);
}

/// Sizes the replicas of each layout.
struct replica_search {
    const job& j;
    const cluster& c;
    const request_load& load;
    std::span<replica_set> best;
    std::size_t count = 0;
    maybe<steady_speed> fastest_too_slow{};  ///< the least that was reached, where a layout breaks a limit

    constexpr bool visit(const layout& l) {
        const result<std::int64_t> room = max_batch(j, l, c);
        if (!room || *room < 1) return false;
        job tried = j;
        const auto planned = [&](std::int64_t sequences) {
            tried.batch = sequences;
            result<job_plan> made = plan(tried, l, c);
            if (made) made->speed.steady.time_to_first_token += wait_for_batch(tried, *made);
            return made;
        };
        const std::int64_t in_flight = largest_that_holds(*room, [&](std::int64_t sequences) {
            const result<job_plan> p = planned(sequences);
            return p && in_time(load, p->speed.steady.time_to_first_token.expected,
                                p->speed.steady.time_per_output_token.expected);
        });
        const result<job_plan> made = planned(in_flight > 0 ? in_flight : 1);
        if (!made) return false;
        if (in_flight == 0) return too_slow(made->speed.steady);
        add(tried, *made, in_flight);
        return false;
    }

    constexpr error why_too_slow() const {
        const steady_speed& least = *fastest_too_slow;
        return detail::too_slow(load, least.time_to_first_token.expected, least.time_per_output_token.expected,
                                "at least the microseconds of the best layout with one sequence, ");
    }

private:
    constexpr bool too_slow(const steady_speed& s) {
        const auto slower = [](const steady_speed& speed) {
            return speed.time_to_first_token.expected + speed.time_per_output_token.expected;
        };
        if (!fastest_too_slow || slower(s) < slower(*fastest_too_slow)) fastest_too_slow = s;
        return false;
    }
    constexpr void add(const job& tried, const job_plan& p, std::int64_t in_flight) {
        const interval<duration> response = response_time(tried, p);
        const double varies = variance_over_mean(load, response.expected);
        replica_set made{.in_flight = in_flight,
                         .each = requests_of(tried, p, mean_in_flight(varies, static_cast<double>(in_flight))),
                         .requests = load.requests,
                         .plan = p};
        interval<double> needed{load.requests / made.each.high, load.requests / made.each.expected,
                                load.requests / made.each.low};
        if (load.users > 0) {
            const auto users = static_cast<double>(load.users);
            made.users_of_each = users_of(made.each, response, load.think_time);
            made.requests = hertz(users / (response.expected + load.think_time).in(seconds));
            needed = {users / made.users_of_each.high, users / made.users_of_each.expected,
                      users / made.users_of_each.low};
        }
        made.replicas = replicas_at(needed.expected);
        made.replicas_bounds = {replicas_at(needed.low), made.replicas, replicas_at(needed.high)};
        insert_ordered(best, count, made, [](const replica_set& a, const replica_set& b) { return better(a, b); });
    }
};

}  // namespace detail

constexpr result<std::size_t> replicas_for(const job& j, const cluster& c, const request_load& load,
                                           const layout_space& layouts, std::span<replica_set> best) {
    if (const status s = detail::validate_load(j, load); !s) return s.error();
    if (const status s = validate(j); !s) return s.error();
    if (const status s = validate(c); !s) return s.error();
    if (const status s = detail::validate_degrees(layouts.given); !s) return s.error();
    detail::replica_search searched{.j = j, .c = c, .load = load, .best = best};
    job many = j;
    many.batch = c.gpus;  // so that every number of data ranks is a layout of its own
    layout_space space = layouts;
    if (!has_experts(j.model)) space.data = false;  // data ranks that share nothing are replicas
    for_each_layout(many, space, c, [&](const layout& l) { return searched.visit(l); });
    if (searched.count == 0 && searched.fastest_too_slow) return searched.why_too_slow();
    return searched.count;
}

constexpr result<replica_set> replicas_for(const job& j, const cluster& c, const request_load& load) {
    std::array<replica_set, 1> best{};
    const result<std::size_t> found = replicas_for(j, c, load, layout_space{}, best);
    return found ? result<replica_set>{best[0]} : found.error();
}

}  // namespace llmres::inline v0
