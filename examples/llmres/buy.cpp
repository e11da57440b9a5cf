// SPDX-License-Identifier: MIT
// llmres buy: the GPUs and machines that a budget pays for and that serve a job best, at the caller's prices.
#include "command_line.hpp"
#include "commands.hpp"
#include "table.hpp"

#include "report.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
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

/// The price table of --prices, with what --price says in place of or beside its rows.
nlohmann::json prices_of(const buy_options& o) {
    nlohmann::json prices = nlohmann::json::object();
    if (const auto file = o.job.fields.find("prices"); file != o.job.fields.end()) prices = read_prices(file->second);
    nlohmann::json& gpus = prices.contains("gpus") || prices.contains("instances") ? prices["gpus"] : prices;
    if (!gpus.is_null() && !gpus.is_object())
        throw refusal{llmres::refused(llmres::error_code::malformed, "prices.gpus", gpus.dump(),
                                      "an object with a price for each GPU")};
    for (const std::string& typed : o.prices) {
        const std::size_t equals = typed.find('=');
        const auto number = equals == std::string::npos
                                ? nlohmann::json{}
                                : nlohmann::json::parse(typed.substr(equals + 1), nullptr, false);
        if (!number.is_number())
            throw refusal{
                llmres::refused(llmres::error_code::malformed, "price", typed, "a GPU and its price: rtx-4090=1800")};
        gpus[typed.substr(0, equals)] = number;
    }
    if (gpus.empty())
        throw refusal{llmres::refused(llmres::error_code::missing, "price", "absent",
                                      "a GPU and its price, --price rtx-4090=1800, or --prices FILE")};
    return prices;
}

std::vector<llmres::gpu_offer> offers_of(const nlohmann::json& prices, const buy_options& o) {
    std::vector<llmres::gpu_offer> offers;
    const llmres::status read =
        llmres::for_each_priced_gpu(prices, "price", [&](const llmres::gpu& card, const llmres::priced_gpu& p) {
            offers.push_back({.card = card,
                              .price = p.price,
                              .most_in_machine = static_cast<std::int32_t>(p.slots.value_or(o.slots))});
        });
    if (!read) throw refusal{read.error()};
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

/// What a purchase costs beside its price, where the document asks for it: a month of it, and a million of its tokens.
struct running_cost {
    llmres::tariff prices{};
    llmres::expense month{};
    llmres::maybe<llmres::expense> million_tokens{};
    llmres::maybe<double> months_until_bought_is_cheaper{};
};

/// At the document's tariff with the table's rents; a GPU's price is that of the purchase. Unknown where a card has
/// neither a rent nor a life.
llmres::maybe<running_cost> running_cost_of(nlohmann::json cost, const llmres::purchase& p,
                                            const llmres::gpu_offer& offer, const llmres::purchase_request& r) {
    if (cost.is_null()) return {};
    cost["gpu_price"] = p.cost.in(llmres::currency) / p.gpus;
    const llmres::cluster c = accept(cluster_of(offer, p, r));
    const llmres::result<llmres::tariff> prices = llmres::detail::read_tariff(cost, c);
    if (!prices && prices.error().code == llmres::error_code::missing) return {};
    running_cost made{.prices = accept(prices)};
    made.month = expense_of(made.prices, c, p.gpus, llmres::month);
    made.months_until_bought_is_cheaper = months_until_bought_is_cheaper(made.prices, c, p.gpus);
    if (p.tokens_per_second > llmres::token_rate{})
        made.million_tokens =
            expense_of(made.prices, c, p.gpus, approx(llmres::tokens(1'000'000)) / p.tokens_per_second);
    return made;
}

/// The columns of what purchases cost beside their price, and the texts of one under them.
constexpr std::array<const char*, 4> heads_of_running_cost{"rent a month", "months to break even", "a million tokens",
                                                           "J a token"};
std::array<std::string, 4> texts_of(const llmres::maybe<running_cost>& known) {
    std::array<std::string, 4> texts;
    if (!known) return texts;
    const running_cost& cost = *known;
    const auto three_digits = [](double amount) { return fmt::format("{:.3g}", amount); };
    if (cost.month.rent) {
        const auto& months = cost.months_until_bought_is_cheaper;
        texts[0] = sum_of(cost.month.rent->expected);
        texts[1] = months ? fmt::format("{:.1f}", *months) : std::string{"never"};
    }
    if (!cost.million_tokens) return texts;
    if (cost.month.ownership) texts[2] = three_digits(cost.million_tokens->ownership->expected.in(llmres::currency));
    if (cost.month.energy) texts[3] = three_digits(cost.million_tokens->energy->expected.in(llmres::joules) / 1e6);
    return texts;
}
llmres::json_value to_json(const running_cost& cost) {
    llmres::json_value out{{"month", llmres::detail::expense_json(cost.month)}};
    if (cost.million_tokens) out["million_tokens"] = llmres::detail::expense_json(*cost.million_tokens);
    if (cost.months_until_bought_is_cheaper)
        out["months_until_bought_is_cheaper"] = *cost.months_until_bought_is_cheaper;
    return out;
}

/// What is bought for what.
void print_title(const llmres::job& j, const llmres::purchase_request& r) {
    const std::string machines =
        r.most_machines == 1 ? std::string{"one machine"} : fmt::format("up to {} machines", r.most_machines);
    const std::string price = r.machine == llmres::money{} ? std::string{"whose price is not counted"}
                                                           : fmt::format("at {}{} without GPUs", sum_of(r.machine),
                                                                         r.most_machines == 1 ? "" : " each");
    fmt::print("{}, {}, runtime {}: best by {} for {}, in {} {}\n\n", j.model.name.view(), task_text(j),
               j.runtime.identity.name.view(), name_of(r.objective), sum_of(r.budget), machines, price);
}

void print_purchases(std::span<const llmres::purchase> best, std::span<const llmres::gpu_offer> offers,
                     const llmres::purchase_request& r, const nlohmann::json& cost) {
    const bool batches = r.objective == llmres::purchase_objective::largest_batch;
    std::vector<table_row> rows;
    for (const llmres::purchase& p : best) {
        const double thousands = p.cost.in(llmres::currency) / 1000;
        const double figure = batches ? static_cast<double>(p.batch) : p.tokens_per_second.in(llmres::tokens_per_s);
        rows.push_back({fmt::format("{}", rows.size() + 1), what_of(p, offers[p.offer].card), sum_of(p.cost),
                        figure_of(p, r.objective), fmt::format("{:.3g}", figure / thousands)});
        for (const std::string& text : texts_of(running_cost_of(cost, p, offers[p.offer], r)))
            rows.back().push_back(text);
        rows.back().insert(rows.back().end(), {bound_text(p), to_text(p.layout)});
    }
    std::vector<column> columns{
        {"", true}, {"buy"}, {"cost", true}, {batches ? "sequences" : "tokens/s", true}, {"for each 1,000", true}};
    for (const char* head : heads_of_running_cost) columns.push_back({head, true});
    columns.insert(columns.end(), {{"limited by"}, {"layout"}});
    print_table(columns, rows);
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

/// The job document, whose cluster has the first of the GPUs that are sold: which and how many is what is sought.
nlohmann::json document_without_gpus(const plan_options& job, const llmres::gpu& first) {
    for (const char* flag : {"gpu", "gpus", "device"})
        if (job.fields.contains(flag))
            throw refusal{llmres::refused(llmres::error_code::inconsistent, flag, job.fields.at(flag),
                                          "absent: the prices name the GPUs, and the budget how many")};
    nlohmann::json document = merged(job);
    if (document.contains("cluster") && document["cluster"].is_object())
        for (const char* key : {"device", "gpus", "gpus_per_node", "scale_up"}) document["cluster"].erase(key);
    document["cluster"]["gpu"] = first.id.view();
    return document;
}

/// True, and told, where neither a budget nor prices are given: then there is nothing to buy for.
bool names_no_money(const buy_options& o) {
    if (o.budget != 0 || !o.prices.empty() || o.job.fields.contains("prices") || o.job.json) return false;
    tell("without --budget and --price, the smallest GPUs that hold the job are listed");
    return true;
}

}  // namespace

int run_buy(const buy_options& given) {
    if (names_no_money(given)) return list_gpus(given.job);
    const nlohmann::json prices = prices_of(given);
    std::vector<llmres::gpu_offer> offers = offers_of(prices, given);
    buy_options o = given;
    o.job.fields.erase("prices");  // a plan on what is bought is not asked what others cost
    nlohmann::json document = document_without_gpus(o.job, offers.front().card);
    // What a purchase costs depends on its GPU: its tariff is read with it.
    nlohmann::json cost = document.value("cost", nlohmann::json{});
    document.erase("cost");
    if (prices.contains("gpus")) cost["prices"] = prices;
    const llmres::plan_request asked = accept(llmres::read_job(document, folder_of(document, o.job.source)));
    if (const llmres::status s = in_one_phase(asked); !s) throw refusal{s.error()};
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
        for (const llmres::purchase& p : best) {
            answer["best"].push_back(purchase_json(asked.job, p, offers[p.offer].card, o));
            if (const auto running = running_cost_of(cost, p, offers[p.offer], r))
                answer["best"].back()["expense"] = to_json(*running);
        }
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
    print_purchases(best, offers, r, cost);
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
