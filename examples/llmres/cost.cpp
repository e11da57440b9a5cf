// SPDX-License-Identifier: MIT
// What a plan saves and loads, how long a run takes and what it costs, as text.
#include "cost.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/runtimes/sharding.hpp>
#include <llmres/time/plan_cost.hpp>
#include <llmres/time/storage_times.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/to_string.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace program {
namespace {

using llmres::interval;
using llmres::to_string;

/// An amount with three significant digits, thousands apart: 0.0521, 12.4, 1,460,000.
std::string number(double amount) {
    if (amount < 1000 || !std::isfinite(amount)) return fmt::format("{:.3g}", amount);
    double rounded = amount, unit = 1;
    for (; rounded >= 1000; rounded /= 10) unit *= 10;
    std::string digits = fmt::format("{:.0f}", std::round(rounded) * unit);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

template <class T, class Maker>
std::string amounts(const interval<T>& i, const Maker& maker, const std::string& unit, double factor = 1) {
    const auto text = [&](T value) { return number(value.in(maker)*factor); };
    const std::string behind = unit.empty() ? "" : " " + unit;
    if (i.low == i.high) return text(i.expected) + behind;
    return fmt::format("{}{} ({} to {})", text(i.expected), behind, text(i.low), text(i.high));
}

std::string money_text(const interval<llmres::money>& i, const llmres::tariff& t) {
    return amounts(i, llmres::currency, std::string{t.currency.view()});
}

std::string energy_text(const interval<llmres::energy>& i) {
    if (i.expected >= llmres::kwh(1e6)) return amounts(i, llmres::kwh, "GWh", 1e-6);
    return i.expected >= llmres::kwh(1e4) ? amounts(i, llmres::kwh, "MWh", 1e-3) : amounts(i, llmres::kwh, "kWh");
}

std::string carbon_text(const interval<llmres::mass>& i) {
    return (i.expected >= llmres::kilograms(1e4) ? amounts(i, llmres::kilograms, "t", 1e-3)
                                                 : amounts(i, llmres::kilograms, "kg")) +
           " of CO2";
}

std::string hours_or_days(const interval<llmres::duration>& d) {
    const auto days = [](llmres::duration t) { return fmt::format("{:.3g}", t.in(llmres::hours) / 24); };
    if (d.expected < llmres::hours(24))
        return fmt::format("{} ({} to {})", to_string(d.expected), to_string(d.low), to_string(d.high));
    return fmt::format("{} days ({} to {})", days(d.expected), days(d.low), days(d.high));
}

void print_run(const llmres::training_time& t, const llmres::training_run& asked) {
    fmt::print("run      {} in {} steps{}: {}, {} GPU hours ({} to {})\n", to_string(t.trained), t.steps,
               t.rounded_up > llmres::token_count{}
                   ? fmt::format(" (rounded up by {} tokens)", t.rounded_up.in(llmres::tokens))
                   : "",
               hours_or_days(t.total), number(t.gpu_time().expected.in(llmres::hours)),
               number(t.gpu_time().low.in(llmres::hours)), number(t.gpu_time().high.in(llmres::hours)));
    if (!t.checkpoint_interval) return;
    fmt::print("         goodput {:.1f} %: a checkpoint of {} after each {}{}\n", 100 * t.goodput,
               to_string(*t.checkpoint), to_string(*t.checkpoint_interval),
               asked.checkpoint_interval ? "" : " (chosen: least time lost)");
    if (t.mtbf) fmt::print("         {} failures, one in {}\n", number(t.failures), to_string(*t.mtbf));
}

/// A size as storage is sold and filled: powers of ten.
std::string decimal(llmres::byte_count size) {
    const auto number_of_bytes = static_cast<double>(size.in(llmres::bytes));
    double unit = 1e3;
    std::string_view name = "kB";
    for (const auto& [larger, its_name] : {std::pair{1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}})
        if (number_of_bytes >= larger * 0.9995) unit = larger, name = its_name;
    return fmt::format("{} {}", number(number_of_bytes / unit), name);
}

/// What a checkpoint consists of, beside its size.
std::string parts_of(const llmres::checkpoint_bytes& c) {
    std::string text;
    const auto part = [&](llmres::byte_count size, const char* what) {
        if (size > llmres::byte_count{}) text += (text.empty() ? "" : ", ") + decimal(size) + what;
    };
    part(c.weights, " of weights");
    part(c.again, " of weights again");
    part(c.states, " of optimizer states");
    return text;
}

void print_checkpoint(const llmres::storage_answer& made, const llmres::storage_request& asked) {
    const llmres::checkpoint_bytes& c = *made.checkpoint;
    const std::string by = c.writers == 1 ? "by one process" : fmt::format("by {} processes", c.writers);
    fmt::print("saves    a checkpoint of {}, {} {}: {}\n", decimal(c.total()), name_of(c.files), by, parts_of(c));
    fmt::print("         a node writes up to {}, and takes {} of main memory for it\n", decimal(c.node),
               to_string(c.host));
    if (made.saving) {
        const std::string written = to_string(made.saving->written);
        if (c.mode == llmres::checkpoint_mode::sync)
            fmt::print("         training waits {} or longer for it\n", written);
        else
            fmt::print("         written in {} or longer beside training, which waits {} for copies to main memory\n",
                       written, to_string(made.saving->stall));
    }
    if (!asked.checkpoint || asked.checkpoint->keep == 0) return;
    const std::int32_t keep = asked.checkpoint->keep;
    fmt::print("         {} of them are {}, {} while the next is written\n", keep, decimal(c.total() * keep),
               decimal(c.total() * (keep + 1)));
}

void print_loading(const llmres::load_time& t) {
    fmt::print("loads    {} of weights in {} or longer from the storage, in {} or longer from the page cache\n",
               decimal(t.files), to_string(t.storage), to_string(t.page_cache));
}

/// The parts of an expense in one line, each with its name where there are several.
std::string expense_text(const llmres::expense& e, const llmres::tariff& t) {
    std::string text;
    const auto part = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
    if (e.rent) part(money_text(*e.rent, t) + " rented");
    if (e.ownership) part(money_text(*e.ownership, t) + (t.gpu_price ? " bought" : " of electricity"));
    if (e.energy) part(energy_text(*e.energy));
    if (e.carbon) part(carbon_text(*e.carbon));
    return text;
}

/// A million tokens of a kind are so many joules each as they are megajoules.
std::string tokens_text(const llmres::expense& e, const llmres::tariff& t) {
    llmres::expense money_alone;
    money_alone.rent = e.rent;
    money_alone.ownership = e.ownership;
    std::string text = expense_text(money_alone, t);
    if (e.energy) text += (text.empty() ? "" : ", ") + amounts(*e.energy, llmres::joules, "J a token", 1e-6);
    return text;
}

void print_tokens(const llmres::plan_cost& cost, const llmres::tariff& t, const llmres::job& j) {
    if (trains(j)) {
        fmt::print("         a million tokens {}\n", tokens_text(cost.tokens, t));
        return;
    }
    fmt::print("         a million tokens of\n");
    const auto line = [&](const char* what, const llmres::expense& e) {
        fmt::print("           {:<22} {}\n", what, tokens_text(e, t));
    };
    line("input", cost.input);
    if (!generates(j.model)) return;
    line("cached input", cost.cached_input);
    line("output", cost.output);
    line("output with its prompt", cost.tokens);
}

void print_cost(const llmres::plan_cost& cost, const llmres::tariff& t, const llmres::job& j) {
    if (cost.run) fmt::print("cost     the run {}\n", expense_text(*cost.run, t));
    fmt::print("{} an hour {}\n", cost.run ? "        " : "cost    ", expense_text(cost.hour, t));
    print_tokens(cost, t, j);
    if (!t.gpu_hour || !t.gpu_price) return;
    if (cost.months_until_bought_is_cheaper)
        fmt::print("         buying is cheaper than renting after {:.3g} months of uninterrupted use\n",
                   *cost.months_until_bought_is_cheaper);
    else
        fmt::print("         buying is never cheaper: electricity costs more than rent\n");
}

}  // namespace

void print_run_and_cost(const llmres::run_and_cost& made, const llmres::plan_request& request) {
    if (made.stored.loading) print_loading(*made.stored.loading);
    if (made.stored.checkpoint) print_checkpoint(made.stored, request.stored);
    if (made.run) print_run(*made.run, *request.run);
    if (made.cost) print_cost(*made.cost, *request.cost, request.job);
}

std::vector<std::string> heads_of_cost(const llmres::plan_request& request) {
    std::vector<std::string> heads;
    if (request.run) heads.insert(heads.end(), {"days", "GPU hours"});
    if (!request.cost) return heads;
    const llmres::tariff& t = *request.cost;
    const std::string money = t.currency.empty() ? "cost" : std::string{t.currency.view()};
    if (t.has_price() && request.run) heads.push_back(money + " a run");
    if (t.has_price()) heads.push_back(money + " a million");
    if (t.has_energy()) heads.emplace_back("J a token");
    return heads;
}

std::vector<std::string> cells_of_cost(const llmres::plan_request& request, const llmres::run_and_cost& made) {
    std::vector<std::string> cells;
    const auto of_run = [&](auto text) { cells.push_back(made.run ? text() : std::string{"-"}); };
    if (request.run) {
        of_run([&] { return number(made.run->total.expected.in(llmres::hours) / 24); });
        of_run([&] { return number(made.run->gpu_time().expected.in(llmres::hours)); });
    }
    if (!request.cost) return cells;
    const llmres::tariff& t = *request.cost;
    if (t.has_price() && request.run)
        of_run([&] { return number(made.cost->run->cost().expected.in(llmres::currency)); });
    if (t.has_price()) cells.push_back(number(made.cost->tokens.cost().expected.in(llmres::currency)));
    if (t.has_energy()) cells.push_back(number(made.cost->tokens.energy->expected.in(llmres::joules) / 1e6));
    return cells;
}

}  // namespace program
