// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// What do GPUs cost for some time, rented or bought, how much energy do they take, and how much carbon dioxide comes
/// of it? Prices are the caller's; the library has none.
///
///     const tariff prices{.gpu_hour = currency(2.5), .pue = 1.2};
///     const expense all = expense_of(prices, cluster, 8, run.total);
namespace llmres::inline v0 {

/// Kilograms of carbon dioxide for each joule of electricity: `kilograms(0.4) / kwh(1)`.
using carbon_intensity = decltype(mass{} / energy{});

/// What one GPU costs and takes.
struct tariff {
    text<3> currency{};                ///< of all amounts, as ISO 4217 names it; empty: the caller does not say
    maybe<money> gpu_hour{};           ///< rent of a GPU for an hour
    std::int32_t rented_together = 1;  ///< GPUs of an instance, which is rented as a whole
    maybe<money> gpu_price{};          ///< purchase of a GPU with its share of a machine
    duration gpu_life{};  ///< over which the purchase is written off, evenly; zero: it is compared with rent alone
    maybe<money> electricity{};  ///< a kilowatt-hour
    maybe<double> pue{};         ///< power usage effectiveness: power of the site for that of its machines; default: 1
    maybe<power> gpu_power{};    ///< draw of a GPU with its share of a machine; default: its own limit
    maybe<carbon_intensity> carbon{};  ///< of the electricity
    /// Whether it says anything of money.
    constexpr bool has_price() const { return gpu_hour || gpu_price || electricity; }
    /// Whether it says what owned GPUs cost: a part of their price and the electricity, or, of those that are there
    /// already, the electricity alone.
    constexpr bool has_ownership() const { return gpu_price ? gpu_life > duration{} : electricity && !gpu_hour; }
    /// Whether it asks for energy.
    constexpr bool has_energy() const { return electricity || pue || gpu_power || carbon; }
};

/// What some time on GPUs costs and takes; what the tariff does not say is unknown.
struct expense {
    maybe<interval<money>> rent{};  ///< rented, in whole instances
    maybe<interval<money>>
        ownership{};  ///< owned: the time's share of a purchase's life, and the electricity, where they are priced
    maybe<interval<llmres::energy>> energy{};  ///< of the site: the GPUs at their limits of power, times PUE
    maybe<interval<mass>> carbon{};            ///< carbon dioxide, of that energy
    /// What an objective compares: the rent, or what ownership costs where there is none.
    constexpr interval<money> cost() const { return rent ? *rent : *ownership; }
};

/// The currencies whose names are taken: ISO 4217.
inline constexpr auto currencies =
    std::to_array<std::string_view>({"USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "CAD", "AUD", "NZD", "KRW", "TWD",
                                     "HKD", "SGD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "TRY", "ILS", "AED",
                                     "SAR", "ZAR", "BRL", "MXN", "CLP", "THB", "IDR", "MYR", "PHP", "VND"});

/// Refuses amounts below zero, a currency that is none, a purchase without a life or a rent to compare it with, a PUE
/// below 1, carbon or electricity of a GPU whose power nobody knows.
constexpr status validate(const tariff& t, const cluster& c);

/// What so many GPUs of a cluster's kind cost and take for some time. Precondition: validate() holds.
constexpr expense expense_of(const tariff& t, const cluster& c, std::int64_t gpus, const interval<duration>& time);

/// A month: a twelfth of 365.25 days.
inline constexpr duration month = hours(365.25 * 24 / 12);

/// Months of uninterrupted use until so many GPUs that are bought have cost less than rented ones: their price over
/// what an hour's rent is above an hour's electricity. Unknown where one of both prices is, and where rent is no dearer
/// than electricity.
constexpr maybe<double> months_until_bought_is_cheaper(const tariff& t, const cluster& c, std::int64_t gpus);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// What each GPU may draw with its share of a machine, where that is known.
constexpr maybe<power> drawn_by_gpu(const tariff& t, const cluster& c) {
    if (t.gpu_power) return t.gpu_power;
    if (!c.gpu.board_power) return c.power_limit;
    return c.power_limit && *c.power_limit < *c.gpu.board_power ? c.power_limit : c.gpu.board_power;
}

/// The energy that so many GPUs of such power take at their site.
constexpr energy energy_of(const tariff& t, power each, std::int64_t gpus, duration time) {
    return each * (static_cast<double>(gpus) * t.pue.value_or(1)) * time;
}

/// The rent of so many GPUs, in whole instances.
constexpr money rent_of(const tariff& t, std::int64_t gpus, duration time) {
    const std::int64_t paid = ceil_quotient(gpus, t.rented_together) * t.rented_together;
    return *t.gpu_hour * (static_cast<double>(paid) * (time / hours(1)));
}

constexpr bool is_currency(std::string_view name) {
    for (const std::string_view known : currencies)
        if (known == name) return true;
    return false;
}

constexpr status validate_amounts(const tariff& t) {
    const auto not_below = [](std::string_view field, const maybe<money>& m) -> status {
        if (m && !(*m >= money{})) return refused(error_code::out_of_range, field, "below 0", "a price of 0 or more");
        return done{};
    };
    if (const status s = not_below("cost.gpu_hour", t.gpu_hour); !s) return s;
    if (const status s = not_below("cost.gpu_price", t.gpu_price); !s) return s;
    return not_below("cost.electricity", t.electricity);
}

}  // namespace detail

constexpr status validate(const tariff& t, const cluster& c) {
    if (!t.currency.empty() && !detail::is_currency(t.currency))
        return refused(error_code::unknown, "cost.currency", t.currency, "a name of ISO 4217, such as USD or EUR");
    if (const status s = detail::validate_amounts(t); !s) return s;
    if (t.rented_together < 1)
        return refused(error_code::out_of_range, "cost.rented_together", t.rented_together, "1 or more GPUs");
    if (t.gpu_life < duration{}) return refused(error_code::out_of_range, "cost.gpu_life", "below 0", "above 0");
    if (t.gpu_price && !t.gpu_hour && t.gpu_life == duration{})
        return refused(error_code::missing, "cost.gpu_life", "absent", "years that a GPU is used for, above 0");
    if (t.pue && !(*t.pue >= 1)) return refused(error_code::out_of_range, "cost.pue", "below 1", "1 or more");
    if (t.gpu_power && !(*t.gpu_power > power{}))
        return refused(error_code::out_of_range, "cost.gpu_power", "0 or less", "watts above 0");
    if (t.carbon && !(*t.carbon >= carbon_intensity{}))
        return refused(error_code::out_of_range, "cost.carbon", "below 0", "grams a kilowatt-hour, 0 or more");
    if (t.has_energy() && !detail::drawn_by_gpu(t, c))
        return refused(error_code::missing, "cost.gpu_power", "unknown", "watts: its board's are not published");
    return done{};
}

constexpr expense expense_of(const tariff& t, const cluster& c, std::int64_t gpus, const interval<duration>& time) {
    const auto each = [&](auto amount) {
        return interval<decltype(amount(time.low))>{amount(time.low), amount(time.expected), amount(time.high)};
    };
    expense e;
    if (t.gpu_hour) e.rent = each([&](duration d) { return detail::rent_of(t, gpus, d); });
    const maybe<power> drawn = detail::drawn_by_gpu(t, c);
    const auto taken = [&](duration d) { return detail::energy_of(t, *drawn, gpus, d); };
    if (t.has_ownership())
        e.ownership = each([&](duration d) {
            const money paid = t.gpu_price ? *t.gpu_price * (static_cast<double>(gpus) * (d / t.gpu_life)) : money{};
            return t.electricity ? paid + *t.electricity * (taken(d) / kwh(1)) : paid;
        });
    if (!t.has_energy()) return e;
    e.energy = each(taken);
    if (t.carbon) e.carbon = each([&](duration d) { return *t.carbon * taken(d); });
    return e;
}

constexpr maybe<double> months_until_bought_is_cheaper(const tariff& t, const cluster& c, std::int64_t gpus) {
    if (!t.gpu_hour || !t.gpu_price) return {};
    money saved = detail::rent_of(t, gpus, month);
    if (t.electricity)
        saved -= *t.electricity * (detail::energy_of(t, *detail::drawn_by_gpu(t, c), gpus, month) / kwh(1));
    if (!(saved > money{})) return {};
    return *t.gpu_price * static_cast<double>(gpus) / saved;
}

}  // namespace llmres::inline v0
