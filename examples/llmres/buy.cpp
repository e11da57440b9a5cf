// SPDX-License-Identifier: MIT
// llmres buy: the GPUs and machines that a budget pays for and that serve a job best, at the caller's prices.
#include "command_line.hpp"
#include "commands.hpp"
#include "table.hpp"

#include "report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/launch.hpp>
#include <llmres/answers/purchase.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace program {
namespace {

constexpr std::int64_t most_slots = 64;
constexpr std::int64_t most_machines = 64;

/// A price, from what was typed or from a file.
double price_of(const std::string& gpu, const nlohmann::json& given) {
    const double price = given.is_number() ? given.get<double>() : -1.0;
    if (!(price > 0) || !std::isfinite(price))
        throw refusal{llmres::refused(llmres::error_code::out_of_range, "price of " + gpu, given.dump(),
                                      "a number above 0, of one GPU")};
    return price;
}

/// A row of a price table: a number, or an object with a price and how many of these GPUs a machine has room for.
llmres::gpu_offer offer_of(const std::string& name, const nlohmann::json& given, const buy_options& o) {
    llmres::gpu_offer made{.card = accept(llmres::find_gpu(name, "price")),
                           .most_in_machine = static_cast<std::int32_t>(o.slots)};
    if (!given.is_object()) {
        made.price = llmres::currency(price_of(name, given));
        return made;
    }
    for (const auto& [key, value] : given.items())
        if (key != "price" && key != "slots")
            throw refusal{llmres::refused(llmres::error_code::unknown, fmt::format("{}.{}", name, key), value.dump(),
                                          "price or slots")};
    made.price = llmres::currency(price_of(name, given.value("price", nlohmann::json{})));
    if (!given.contains("slots")) return made;
    const nlohmann::json& slots = given["slots"];
    if (!slots.is_number_integer() || slots < 1 || slots > most_slots)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, name + ".slots", slots.dump(), "1 to 64")};
    made.most_in_machine = slots.get<std::int32_t>();
    return made;
}

/// The price table of --prices, with what --price says in place of or beside its rows.
nlohmann::json prices_of(const buy_options& o) {
    nlohmann::json prices = nlohmann::json::object();
    if (!o.price_file.empty()) {
        const llmres::result<std::string> text = llmres::read_job_text(o.price_file);
        if (!text) throw refusal{llmres::refused(text.error().code, "prices", o.price_file, text.error().expected)};
        const auto table = llmres::parse_json_object(*text, llmres::no_numbers::refused);
        if (!table && table.error().field == "JSON")
            throw refusal{llmres::refused(table.error().code, "prices",
                                          fmt::format("{}: {}", o.price_file, table.error().value.view()),
                                          table.error().expected)};
        prices = accept(table).root;
    }
    for (const std::string& typed : o.prices) {
        const std::size_t equals = typed.find('=');
        const auto number = equals == std::string::npos
                                ? nlohmann::json{}
                                : nlohmann::json::parse(typed.substr(equals + 1), nullptr, false);
        if (!number.is_number())
            throw refusal{
                llmres::refused(llmres::error_code::malformed, "price", typed, "a GPU and its price: rtx-4090=1800")};
        prices[typed.substr(0, equals)] = number;
    }
    if (prices.empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "price", "absent",
                                      "a GPU and its price, --price rtx-4090=1800, or --prices FILE")};
    return prices;
}

std::vector<llmres::gpu_offer> offers_of(const buy_options& o) {
    std::vector<llmres::gpu_offer> offers;
    const nlohmann::json prices = prices_of(o);
    for (const auto& [name, given] : prices.items()) offers.push_back(offer_of(name, given, o));
    return offers;
}

void check_range(const char* flag, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
        throw refusal{llmres::refused(llmres::error_code::out_of_range, flag, value, fmt::format("1 to {}", most))};
}

std::string sum_of(llmres::money m) { return fmt::format("{:.0f}", m.in(llmres::currency)); }

std::string what_of(const llmres::purchase& p, const llmres::gpu& card) {
    const std::int32_t each = p.gpus / p.machines;
    const std::string in_one = fmt::format("{} x {}", each, card.id.view());
    return p.machines == 1 ? in_one : fmt::format("{} machines with {}", p.machines, in_one);
}

/// The figure that the objective compares, without the division by what it costs.
std::string figure_of(const llmres::purchase& p, llmres::purchase_objective by) {
    return by == llmres::purchase_objective::largest_batch
               ? fmt::format("{}", p.batch)
               : fmt::format("{:.0f}", p.tokens_per_second.in(llmres::tokens_per_s));
}

std::string bound_text(const llmres::purchase& p) {
    switch (p.bound) {
        case llmres::purchase_bound::budget: return "the budget";
        case llmres::purchase_bound::board_power: return "the power";
        case llmres::purchase_bound::room: return "room in the machines";
        case llmres::purchase_bound::none: break;
    }
    return "more is no better";
}

/// The change of a job document that plans it on what is bought, in the layout that was found.
nlohmann::json patch_of(const llmres::job& j, const llmres::purchase& p, const llmres::gpu& card) {
    nlohmann::json patch = layout_patch(p.layout);
    patch["cluster"] = {{"gpu", card.id.view()}, {"gpus", p.gpus}, {"gpus_per_node", p.gpus / p.machines}};
    if (p.batch > 0 && !trains(j)) patch["batch"] = p.batch;
    return patch;
}

/// What the plan of a purchase takes for granted.
llmres::json_value assumed_in(nlohmann::json document, const std::string& source, const nlohmann::json& patch) {
    document.merge_patch(patch);
    const llmres::plan_request asked = accept(llmres::read_job(document, folder_of(document, source)));
    const llmres::job_plan planned = accept(plan(asked.job, *asked.layout, asked.cluster));
    return llmres::assumptions_of(document, asked, planned);
}

/// What is bought for what.
void print_title(const llmres::job& j, const llmres::purchase_request& r) {
    const std::string machines =
        r.most_machines == 1 ? std::string{"one machine"} : fmt::format("up to {} machines", r.most_machines);
    const std::string price = r.machine == llmres::money{} ? std::string{"whose price is not counted"}
                                                           : fmt::format("at {}{} without GPUs", sum_of(r.machine),
                                                                         r.most_machines == 1 ? "" : " each");
    fmt::print("{}, {}, runtime {}: best by {} for {}, in {} {}\n\n", j.model.name.view(), name_of(j.task),
               j.runtime.identity.name.view(), name_of(r.objective), sum_of(r.budget), machines, price);
}

void print_purchases(std::span<const llmres::purchase> best, std::span<const llmres::gpu_offer> offers,
                     const llmres::purchase_request& r) {
    const bool batches = r.objective == llmres::purchase_objective::largest_batch;
    std::vector<table_row> rows;
    for (const llmres::purchase& p : best) {
        const double thousands = p.cost.in(llmres::currency) / 1000;
        const double figure = batches ? static_cast<double>(p.batch) : p.tokens_per_second.in(llmres::tokens_per_s);
        rows.push_back({fmt::format("{}", rows.size() + 1), what_of(p, offers[p.offer].card), sum_of(p.cost),
                        figure_of(p, r.objective), fmt::format("{:.3g}", figure / thousands), bound_text(p),
                        to_text(p.layout)});
    }
    print_table({{"", true},
                 {"buy"},
                 {"cost", true},
                 {batches ? "sequences" : "tokens/s", true},
                 {"for each 1,000", true},
                 {"limited by"},
                 {"layout"}},
                rows);
}

/// Why the second is not the first.
void print_runner_up(std::span<const llmres::purchase> best, std::span<const llmres::gpu_offer> offers) {
    if (best.size() < 2) return;
    const double behind = 100 * (1 - best[1].score / best[0].score);
    const std::string figures = behind < 0.5 ? std::string{"as good"} : fmt::format("{:.0f} % behind", behind);
    const double dearer = (best[1].cost - best[0].cost).in(llmres::currency);
    const std::string costs = dearer == 0  ? std::string{"at the same cost"}
                              : dearer > 0 ? fmt::format("for {:.0f} more", dearer)
                                           : fmt::format("for {:.0f} less", -dearer);
    fmt::print("\nrunner-up  {}: {}, {}\n", what_of(best[1], offers[best[1].offer].card), figures, costs);
}

llmres::json_value purchase_json(const llmres::job& j, const llmres::purchase& p, const llmres::gpu& card,
                                 const buy_options& o) {
    llmres::json_value out{{"gpu", card.id.view()},
                           {"gpus", p.gpus},
                           {"machines", p.machines},
                           {"cost", p.cost.in(llmres::currency)},
                           {"score", p.score}};
    if (p.batch > 0)
        out["batch"] = p.batch;
    else
        out["tokens_per_second"] = p.tokens_per_second.in(llmres::tokens_per_s);
    out["bound"] = name_of(p.bound);
    out["layout"] = llmres::to_json(p.layout);
    out["command"] = command_of(o.job, patch_of(j, p, card));
    return out;
}

/// The most GPUs of one kind that can be had, and the plan nearest to fitting on them; absent where no GPU can be had
/// or no layout exists.
struct most_gpus {
    llmres::purchase bought{};
    llmres::maybe<llmres::job_plan> nearest{};
};

/// Of each kind that is not among the purchases, because no number of it holds the job.
std::vector<most_gpus> most_of_others(const llmres::job& j, std::span<const llmres::purchase> best,
                                      std::span<const llmres::gpu_offer> offers, const llmres::purchase_request& r,
                                      std::int64_t most_listed) {
    std::vector<most_gpus> all;
    if (static_cast<std::int64_t>(best.size()) == most_listed) return all;
    for (std::size_t i = 0; i < offers.size(); ++i) {
        if (std::any_of(best.begin(), best.end(), [&](const llmres::purchase& p) { return p.offer == i; })) continue;
        most_gpus most{.bought = llmres::most_of(offers[i], r)};
        most.bought.offer = i;
        if (most.bought.gpus > 0)
            if (const auto c = llmres::cluster_of(offers[i], most.bought, r))
                if (const auto found = llmres::search(j, *c, {.space = {.layouts = r.layouts}}))
                    most.nearest = found->plan;
        all.push_back(most);
    }
    return all;
}

llmres::json_value most_json(const most_gpus& most, const llmres::gpu& card) {
    llmres::json_value out{{"gpu", card.id.view()},
                           {"gpus", most.bought.gpus},
                           {"machines", most.bought.machines},
                           {"cost", most.bought.cost.in(llmres::currency)},
                           {"bound", name_of(most.bought.bound)}};
    if (!most.nearest) return out;
    out["needs"] = most.nearest->memory.total().high.base();
    out["usable"] = most.nearest->usable.base();
    return out;
}

void print_most(std::span<const most_gpus> all, std::span<const llmres::gpu_offer> offers) {
    std::vector<table_row> rows;
    for (const most_gpus& m : all) {
        const llmres::gpu& card = offers[m.bought.offer].card;
        const bool any = m.bought.gpus > 0;
        rows.push_back({any ? what_of(m.bought, card) : fmt::format("no {}", card.id.view()), sum_of(m.bought.cost),
                        m.nearest ? to_string(m.nearest->memory.total().high) : "-",
                        m.nearest ? to_string(m.nearest->usable) : "-", bound_text(m.bought)});
    }
    print_table({{"buy"}, {"cost", true}, {"each needs", true}, {"each has", true}, {"limited by"}}, rows);
}

llmres::purchase_request request_of(const buy_options& o, const nlohmann::json& document,
                                    const llmres::plan_request& asked) {
    for (const auto& [flag, value] :
         {std::pair{"budget", o.budget}, std::pair{"machine", o.machine}, std::pair{"power", o.power}})
        if (!std::isfinite(value))
            throw refusal{
                llmres::refused(llmres::error_code::out_of_range, flag, fmt::format("{}", value), "a finite number")};
    check_range("slots", o.slots, most_slots);
    check_range("machines", o.machines, most_machines);
    check_range("top", o.top, 1000);
    llmres::purchase_request r{.budget = llmres::currency(o.budget),
                               .machine = llmres::currency(o.machine),
                               .layouts = layouts_of(document, asked),
                               .most_machines = static_cast<std::int32_t>(o.machines),
                               .between = asked.cluster.scale_out};
    if (!o.objective.empty()) r.objective = named<llmres::purchase_objective>("objective", o.objective);
    if (o.power != 0) r.power = llmres::watts(o.power);
    return r;
}

}  // namespace

int run_buy(const buy_options& o) {
    std::vector<llmres::gpu_offer> offers = offers_of(o);
    for (const char* flag : {"gpu", "gpus", "device"})
        if (o.job.fields.contains(flag))
            throw refusal{llmres::refused(llmres::error_code::inconsistent, flag, o.job.fields.at(flag),
                                          "absent: the prices name the GPUs, and the budget how many")};
    nlohmann::json document = merged(o.job);
    if (document.contains("cluster") && document["cluster"].is_object())
        for (const char* key : {"device", "gpus", "gpus_per_node", "scale_up"}) document["cluster"].erase(key);
    document["cluster"]["gpu"] = offers.front().card.id.view();
    const llmres::plan_request asked = accept(llmres::read_job(document, folder_of(document, o.job.source)));
    if (asked.cluster.host.memory > llmres::byte_count{})
        for (llmres::gpu_offer& offer : offers) offer.host = asked.cluster.host;
    const llmres::purchase_request r = request_of(o, document, asked);
    std::vector<llmres::purchase> best(std::min(offers.size(), static_cast<std::size_t>(o.top)));
    best.resize(accept(llmres::what_to_buy(asked.job, offers, r, best)));
    const nlohmann::json patch =
        best.empty() ? nlohmann::json{} : patch_of(asked.job, best[0], offers[best[0].offer].card);
    const llmres::json_value assumed =
        best.empty() ? llmres::json_value::object() : assumed_in(document, o.job.source, patch);
    const std::vector<most_gpus> others = most_of_others(asked.job, best, offers, r, o.top);
    if (o.job.json) {
        llmres::json_value answer{{"objective", name_of(r.objective)},
                                  {"budget", r.budget.in(llmres::currency)},
                                  {"machine", r.machine.in(llmres::currency)},
                                  {"most_machines", r.most_machines},
                                  {"job", llmres::to_json(asked.job)},
                                  {"runtime", llmres::runtime_to_json(asked)},
                                  {"assumed", assumed},
                                  {"best", llmres::json_value::array()}};
        for (const llmres::purchase& p : best)
            answer["best"].push_back(purchase_json(asked.job, p, offers[p.offer].card, o));
        for (const most_gpus& m : others) answer["most"].push_back(most_json(m, offers[m.bought.offer].card));
        print_answer("buy", answer);
        return best.empty() ? does_not_fit : fits;
    }
    print_title(asked.job, r);
    if (best.empty()) {
        fmt::print("Nothing that the budget pays for holds the job. The most of each:\n");
        print_most(others, offers);
        return does_not_fit;
    }
    print_purchases(best, offers, r);
    print_runner_up(best, offers);
    if (!others.empty()) {
        fmt::print("\nThe most of each other kind does not hold the job:\n");
        print_most(others, offers);
    }
    if (r.most_machines > 1) fmt::print("\nmachines are joined by {} for each GPU\n", r.between.id.view());
    fmt::print("\n");
    print_profile(asked.profile);
    print_assumed(assumed);
    fmt::print("plan     {}\n", command_of(o.job, patch));
    return fits;
}

}  // namespace program
