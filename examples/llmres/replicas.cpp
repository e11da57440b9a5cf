// SPDX-License-Identifier: MIT
// llmres replicas: how many replicas keep up with a rate of requests or with so many users, in which layout.
#include "command_line.hpp"
#include "commands.hpp"
#include "report.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/replicas.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/values/to_string.hpp>
#include <span>
#include <string>
#include <vector>

namespace program {
namespace {

constexpr int gpus_of_a_node = 8;

llmres::request_load load_of(const replicas_options& o) {
    if (o.users == 0 && !o.requests_per_second)
        throw refusal{llmres::refused(llmres::error_code::missing, "requests_per_second", "absent",
                                      "--requests_per_second X, or --users N who wait for answers")};
    const double rate = o.requests_per_second.value_or(0);
    if (o.users == 0 && !(rate > 0))
        throw refusal{llmres::refused(llmres::error_code::out_of_range, "requests_per_second", fmt::format("{}", rate),
                                      "a number above 0")};
    refuse_negative("think_time", o.think_time);
    llmres::request_load load{.requests = llmres::hertz(rate),
                              .users = o.users,
                              .time_to_first_token = time_limit("max_time_to_first_token", o.max_time_to_first_token),
                              .time_per_token = time_limit("max_time_per_token", o.max_time_per_token),
                              .think_time = llmres::approx(llmres::seconds(1)) * o.think_time};
    if (!o.arrivals.empty()) load.arrivals = named<llmres::arrivals>("arrivals", o.arrivals);
    return load;
}

/// The change of the job document that plans one replica.
nlohmann::json replica_patch(const llmres::replica_set& r) {
    nlohmann::json patch = layout_patch(r.plan.layout);
    patch["cluster"]["gpus"] = r.plan.layout.gpus();
    patch["batch"] = r.in_flight;
    return patch;
}

std::string number_and_bounds(const llmres::replica_set& r) {
    return fmt::format("{} ({} to {})", r.replicas, r.replicas_bounds.low, r.replicas_bounds.high);
}

/// What all replicas cost: an hour of their GPUs at the expected number of them and at its bounds, and a million of the
/// tokens that they generate at the rate of requests.
struct replica_cost {
    llmres::expense hour{};
    llmres::expense million_tokens{};
};

llmres::maybe<replica_cost> cost_of(const llmres::replica_set& r, const llmres::plan_request& asked) {
    if (!asked.cost) return {};
    const std::int64_t each = r.plan.layout.gpus();
    const double made = r.requests.in(llmres::hertz) * static_cast<double>(asked.job.output.in(llmres::tokens));
    const auto of = [&](llmres::duration time) {
        const auto at = [&](std::int64_t replicas) {
            return expense_of(*asked.cost, asked.cluster, replicas * each, time);
        };
        llmres::expense e = at(r.replicas);
        const llmres::expense low = at(r.replicas_bounds.low), high = at(r.replicas_bounds.high);
        const auto widen = [](auto& amount, const auto& least, const auto& most) {
            if (amount) amount.value.low = least->low, amount.value.high = most->high;
        };
        widen(e.rent, low.rent, high.rent), widen(e.ownership, low.ownership, high.ownership);
        widen(e.energy, low.energy, high.energy), widen(e.carbon, low.carbon, high.carbon);
        return e;
    };
    return replica_cost{.hour = of(llmres::hours(1)), .million_tokens = of(llmres::seconds(1e6 / made))};
}

void print_replicas(std::span<const llmres::replica_set> best, const llmres::plan_request& asked,
                    const llmres::request_load& load) {
    std::vector<table_row> rows;
    std::vector<column> columns{{"", true},          {"GPUs", true},
                                {"replicas"},        {load.users > 0 ? "users of each" : "requests/s of each", true},
                                {"in flight", true}, {"first token", true},
                                {"a token", true}};
    const bool priced = asked.cost && asked.cost->has_price(), powered = asked.cost && asked.cost->has_energy();
    const std::string money =
        priced && !asked.cost->currency.empty() ? std::string{asked.cost->currency.view()} : std::string{"cost"};
    if (priced) columns.insert(columns.end(), {{money + " an hour", true}, {money + " a million", true}});
    if (powered) columns.push_back({"J a token", true});
    columns.push_back({"layout of each"});
    for (const llmres::replica_set& r : best) {
        const llmres::steady_speed& steady = r.plan.speed.steady;
        rows.push_back({fmt::format("{}", rows.size() + 1), fmt::format("{}", r.gpus()), number_and_bounds(r),
                        load.users > 0 ? fmt::format("{:.0f}", r.users_of_each.expected)
                                       : fmt::format("{:.3g}", r.each.expected.in(llmres::hertz)),
                        fmt::format("{}", r.in_flight), to_string(steady.time_to_first_token.expected),
                        to_string(steady.time_per_output_token.expected)});
        const llmres::maybe<replica_cost> cost = cost_of(r, asked);
        const auto three_digits = [](double amount) { return fmt::format("{:.3g}", amount); };
        if (priced)
            for (const llmres::expense* e : {&cost->hour, &cost->million_tokens})
                rows.back().push_back(three_digits(e->cost().expected.in(llmres::currency)));
        if (powered)
            rows.back().push_back(three_digits(cost->million_tokens.energy->expected.in(llmres::joules) / 1e6));
        rows.back().push_back(to_text(r.plan.layout));
    }
    print_table(columns, rows);
}

template <class T, class In>
llmres::json_value bounds_json(const llmres::interval<T>& i, const In& in) {
    return {{"low", in(i.low)}, {"expected", in(i.expected)}, {"high", in(i.high)}};
}

llmres::json_value replicas_json(const llmres::replica_set& r, const replicas_options& o) {
    const auto rate = [](llmres::frequency f) { return f.in(llmres::hertz); };
    const llmres::steady_speed& steady = r.plan.speed.steady;
    llmres::json_value shown{{"gpus", r.gpus()},
                             {"replicas", r.replicas},
                             {"replicas_bounds", bounds_json(r.replicas_bounds, [](std::int64_t n) { return n; })},
                             {"requests_per_second", rate(r.each.expected)},
                             {"requests_per_second_bounds", bounds_json(r.each, rate)},
                             {"in_flight", r.in_flight},
                             {"time_to_first_token", steady.time_to_first_token.expected.in(llmres::seconds)},
                             {"time_to_first_token_bounds", llmres::to_json(steady.time_to_first_token)},
                             {"time_per_output_token", steady.time_per_output_token.expected.in(llmres::seconds)},
                             {"time_per_output_token_bounds", llmres::to_json(steady.time_per_output_token)},
                             {"layout", llmres::to_json(r.plan.layout)},
                             {"command", command_of(o.job, replica_patch(r))}};
    if (o.users > 0) {
        shown["users"] = r.users_of_each.expected;
        shown["users_bounds"] = bounds_json(r.users_of_each, [](double n) { return n; });
    }
    return shown;
}

llmres::json_value answer_of(const llmres::plan_request& asked, const llmres::request_load& load,
                             const llmres::json_value& assumed, std::span<const llmres::replica_set> best,
                             const replicas_options& o) {
    llmres::json_value answer{{"arrivals", name_of(load.arrivals)},
                              {"job", llmres::to_json(asked.job)},
                              {"runtime", llmres::runtime_to_json(asked)},
                              {"cluster", llmres::to_json(asked.cluster)},
                              {"assumed", assumed},
                              {"best", llmres::json_value::array()}};
    if (load.users > 0) {
        answer.erase("arrivals");
        answer["users"] = load.users;
        answer["think_time"] = load.think_time.in(llmres::seconds);
    } else {
        answer["requests_per_second"] = load.requests.in(llmres::hertz);
    }
    if (load.time_to_first_token) answer["max_time_to_first_token"] = load.time_to_first_token->in(llmres::seconds);
    if (load.time_per_token) answer["max_time_per_token"] = load.time_per_token->in(llmres::seconds);
    for (const llmres::replica_set& r : best) {
        answer["best"].push_back(replicas_json(r, o));
        if (const auto cost = cost_of(r, asked))
            answer["best"].back()["expense"] = {{"hour", llmres::detail::expense_json(cost->hour)},
                                                {"million_tokens", llmres::detail::expense_json(cost->million_tokens)}};
    }
    return answer;
}

/// The load as it was asked, ahead of `of 1000 + 300 tokens`.
std::string words_of(const llmres::request_load& load) {
    if (load.users == 0) return fmt::format("{} requests a second", load.requests.in(llmres::hertz));
    const std::string thinking = load.think_time > llmres::duration{}
                                     ? fmt::format(" who think for {}", to_string(load.think_time))
                                     : std::string{};
    return fmt::format("{} user{}{}, one request each at a time,", load.users, load.users == 1 ? "" : "s", thinking);
}

/// What was not said and was assumed, less what the search chooses.
llmres::json_value assumed_of(const nlohmann::json& document, const llmres::plan_request& asked,
                              std::span<const llmres::replica_set> best) {
    llmres::json_value assumed =
        best.empty() ? llmres::json_value::object() : llmres::assumptions_of(document, asked, best[0].plan);
    assumed.erase("batch");
    assumed.erase("gpus");
    return assumed;
}

}  // namespace

int run_replicas(const replicas_options& o) {
    if (o.top < 1 || o.top > 1000)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, "top", o.top, "1 to 1000")};
    if (o.job.fields.contains("batch"))
        throw refusal{llmres::refused(llmres::error_code::inconsistent, "batch", o.job.fields.at("batch"),
                                      "absent: the sequences in flight are searched, at most --max_num_seqs of them")};
    const llmres::request_load load = load_of(o);
    nlohmann::json document = merged(o.job);
    if (!document.contains("cluster") || !document["cluster"].contains("gpus"))
        document["cluster"]["gpus"] = gpus_of_a_node;
    const llmres::plan_request asked = accept(llmres::read_job(document, folder_of(document, o.job.source)));
    say_which_gpu(document);
    std::vector<llmres::replica_set> best(static_cast<std::size_t>(o.top));
    best.resize(accept(llmres::replicas_for(asked.job, asked.cluster, load, layouts_of(document, asked), best)));
    llmres::json_value assumed = assumed_of(document, asked, best);
    if (o.job.json) {
        print_answer("replicas", answer_of(asked, load, assumed, best, o));
        return best.empty() ? does_not_fit : fits;
    }
    const llmres::job& j = asked.job;
    fmt::print("{}, {} of {} + {} tokens, on {} with at most {} in a replica, runtime {}\n\n", j.model.name.view(),
               words_of(load), j.prompt.in(llmres::tokens), j.output.in(llmres::tokens), asked.cluster.gpu.name.view(),
               asked.cluster.gpus, j.runtime.identity.name.view());
    if (best.empty()) {
        fmt::print("The job fits in no layout on {} of them.\n", asked.cluster.gpus);
        return does_not_fit;
    }
    print_replicas(best, asked, load);
    fmt::print("\n");
    print_profile(asked.profile);
    if (o.arrivals.empty() && o.users == 0) assumed["arrivals"] = "random";
    if (o.users > 0 && o.think_time == 0) assumed["think_time"] = 0;
    print_assumed(assumed);
    fmt::print("plan     {}\n", command_of(o.job, replica_patch(best[0])));
    llmres::job one = j;
    one.batch = best[0].in_flight;
    const std::string launch = launch_command(one, best[0].plan.layout, asked.cluster);
    if (!launch.empty()) fmt::print("launch   {}\n", launch);
    return fits;
}

}  // namespace program
