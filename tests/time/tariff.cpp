// SPDX-License-Identifier: MIT
#include <llmres/time/tariff.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <string>
#include <string_view>
#include <utility>

using namespace llmres;

namespace {

/// H100 SXM5, of 700 W each.
cluster h100(std::int32_t gpus = 8) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }
constexpr duration years(double n) { return hours(24 * 365.25) * n; }
double amount(const maybe<interval<money>>& m) { return m->expected.in(currency); }

}  // namespace

TEST_CASE("rent is GPUs x hours x price, with the bounds of the time") {
    // 8 GPUs for 90, 100 and 120 h at 2.50: 1,800, 2,000 and 2,400.
    const expense e = expense_of({.gpu_hour = currency(2.5)}, h100(), 8, {hours(90), hours(100), hours(120)});
    CHECK(*e.rent == interval<money>{currency(1800), currency(2000), currency(2400)});
    CHECK(e.cost() == *e.rent);
    CHECK_FALSE(e.ownership);
    CHECK_FALSE(e.energy);
    CHECK_FALSE(e.carbon);
}

TEST_CASE("an instance is rented as a whole") {
    const tariff eight{.gpu_hour = currency(2), .rented_together = 8};
    CHECK(amount(expense_of(eight, h100(), 1, hours(1)).rent) == 16);
    CHECK(amount(expense_of(eight, h100(), 8, hours(1)).rent) == 16);
    CHECK(amount(expense_of(eight, h100(16), 9, hours(1)).rent) == 32);
}

TEST_CASE("GPUs that are there already cost their electricity") {
    const cluster c = standard_cluster(gpus::rtx_3090, 2).value();  // 350 W each
    const tariff t{.electricity = currency(0.3), .pue = 1.0};
    REQUIRE(validate(t, c));
    const expense e = expense_of(t, c, 2, {hours(10), hours(10), hours(10)});
    REQUIRE(e.ownership);
    CHECK(!e.rent);
    CHECK(e.ownership->expected.in(currency) == doctest::Approx(2 * 0.35 * 10 * 0.3));
    CHECK(e.cost().expected == e.ownership->expected);
    // Beside a rent it is what a purchase is compared with, not a cost of its own.
    CHECK(!expense_of({.gpu_hour = currency(2), .electricity = currency(0.3)}, c, 2, {hours(1), hours(1), hours(1)})
               .ownership);
}

TEST_CASE("ownership is the time's share of a life, and electricity where it has a price") {
    // 8 GPUs of 30,000 over four years, for a quarter of a year: 8 x 30,000 / 16.
    tariff t{.gpu_price = currency(30'000), .gpu_life = years(4)};
    CHECK(amount(expense_of(t, h100(), 8, years(0.25)).ownership) == doctest::Approx(15'000));
    // 700 W x 8 x PUE 1.25 are 7 kW; 2,191.5 h of them 15,340.5 kWh, at 0.10 1,534.05.
    t.electricity = currency(0.1), t.pue = 1.25;
    const expense e = expense_of(t, h100(), 8, years(0.25));
    CHECK(e.energy->expected.in(kwh) == doctest::Approx(15'340.5));
    CHECK(amount(e.ownership) == doctest::Approx(16'534.05));
    CHECK(e.cost() == *e.ownership);
}

TEST_CASE("energy is the power of the boards, of their limit, or what is said of a GPU in its machine") {
    const auto drawn = [](const tariff& t, const cluster& c) { return expense_of(t, c, 1, hours(1)).energy->expected; };
    CHECK(drawn({.pue = 1.0}, h100()) == kwh(0.7));
    cluster limited = h100();
    limited.power_limit = watts(500);
    CHECK(drawn({.pue = 1.0}, limited) == kwh(0.5));
    limited.power_limit = watts(900);  // no limit of a board of 700 W
    CHECK(drawn({.pue = 1.0}, limited) == kwh(0.7));
    // A DGX H100 takes 10.2 kW at most (its datasheet): 1,275 W for each of its eight GPUs.
    CHECK(drawn({.gpu_power = watts(1275)}, h100()) == kwh(1.275));
}

TEST_CASE("carbon dioxide is what a kilowatt-hour's is") {
    // 1,000 h of 0.7 kW are 700 kWh, at 400 g 280 kg.
    const expense e = expense_of({.carbon = kilograms(0.4) / kwh(1)}, h100(), 1, hours(1000));
    CHECK(e.carbon->expected.in(kilograms) == doctest::Approx(280));
}

TEST_CASE("energy and carbon dioxide of six trainings are those that LLaMA's paper publishes") {
    // arXiv 2302.13971, table 15: hours of A100-80GB at 400 W, PUE 1.1 and 0.385 kg a kWh; MWh and tons as printed
    // there, whole and partly rounded down.
    struct published {
        double gpu_hours, mwh, tons;
    };
    const cluster a100 = standard_cluster(gpus::a100_sxm4_80gb, 8).value();
    const tariff site{.pue = 1.1, .carbon = kilograms(0.385) / kwh(1)};
    for (const published& p :
         {published{809'472, 356, 137}, published{1'082'880, 475, 183}, published{82'432, 36, 14},
          published{135'168, 59, 23}, published{530'432, 233, 90}, published{1'022'362, 449, 173}}) {
        const expense e = expense_of(site, a100, 1, hours(1) * p.gpu_hours);
        CHECK(std::abs(e.energy->expected.in(kwh) / 1000 - p.mwh) < 1.5);
        CHECK(std::abs(e.carbon->expected.in(kilograms) / 1000 - p.tons) < 1);
    }
}

TEST_CASE("DeepSeek-V3's training is 5.576 million dollars at two dollars an hour") {
    // arXiv 2412.19437, table 1: 2,788 thousand H800 hours, 5.576 million USD at 2 USD; 2,664 thousand and 5.328 for
    // pre-training, 119 and 0.238 for the longer context, 5 and 0.01 for what follows.
    const tariff two{.currency = "USD", .gpu_hour = currency(2)};
    const cluster c = standard_cluster(gpus::h800_sxm5_80gb, 2048).value();
    for (const auto& [thousand_hours, millions] :
         {std::pair{2788.0, 5.576}, {2664.0, 5.328}, {119.0, 0.238}, {5.0, 0.01}})
        CHECK(amount(expense_of(two, c, 2048, hours(1) * (thousand_hours * 1000 / 2048)).rent) ==
              doctest::Approx(millions * 1e6));
}

TEST_CASE("bought GPUs have cost less than rented ones after the month in which both are equal") {
    // 30,000 / (2.50 x 730.5 h) = 16.43 months.
    tariff t{.gpu_hour = currency(2.5), .gpu_price = currency(30'000), .gpu_life = years(4)};
    CHECK(*months_until_bought_is_cheaper(t, h100(), 8) == doctest::Approx(16.427).epsilon(1e-4));
    // With 0.10 a kWh and PUE 1.25 an hour takes 0.0875: 30,000 / (2.4125 x 730.5).
    t.electricity = currency(0.1), t.pue = 1.25;
    CHECK(*months_until_bought_is_cheaper(t, h100(), 8) == doctest::Approx(17.023).epsilon(1e-4));
    // Of half an instance all of it is paid: 30,000 / (5 x 730.5 h - ...).
    t.rented_together = 8;
    CHECK(*months_until_bought_is_cheaper(t, h100(), 4) == doctest::Approx(30'000 / (4.9125 * 730.5)));
    t.gpu_hour = currency(0.05), t.rented_together = 1;
    CHECK_FALSE(months_until_bought_is_cheaper(t, h100(), 8));
    CHECK_FALSE(months_until_bought_is_cheaper({.gpu_hour = currency(2)}, h100(), 8));
}

TEST_CASE("after that month rent and purchase have cost the same") {
    const tariff t{.gpu_hour = currency(3),
                   .gpu_price = currency(25'000),
                   .gpu_life = years(5),
                   .electricity = currency(0.15),
                   .pue = 1.3};
    const duration met = month * *months_until_bought_is_cheaper(t, h100(), 8);
    const expense e = expense_of(t, h100(), 8, met);
    CHECK(amount(e.rent) == doctest::Approx(8 * 25'000 + 0.15 * e.energy->expected.in(kwh)));
}

TEST_CASE("what is wrong with a tariff is named") {
    const auto refuses = [](const tariff& t, std::string_view field) {
        INFO(std::string{field});
        const status s = validate(t, h100());
        REQUIRE_FALSE(s);
        CHECK(s.error().field == field);
    };
    CHECK(validate(tariff{}, h100()));
    CHECK(validate(tariff{.currency = "EUR", .gpu_hour = currency(0)}, h100()));
    refuses({.currency = "XXZ"}, "cost.currency");
    refuses({.currency = "usd"}, "cost.currency");
    refuses({.gpu_hour = currency(-1)}, "cost.gpu_hour");
    refuses({.gpu_hour = currency(1), .rented_together = 0}, "cost.rented_together");
    refuses({.gpu_price = currency(-1), .gpu_life = years(4)}, "cost.gpu_price");
    refuses({.gpu_price = currency(1)}, "cost.gpu_life");
    refuses({.electricity = currency(-0.1)}, "cost.electricity");
    refuses({.pue = 0.9}, "cost.pue");
    refuses({.gpu_power = watts(0)}, "cost.gpu_power");
    refuses({.carbon = kilograms(-1) / kwh(1)}, "cost.carbon");
    cluster unknown = h100();
    unknown.gpu.board_power = {};
    CHECK(validate(tariff{.pue = 1.2}, unknown).error().field == "cost.gpu_power");
    CHECK(validate(tariff{.gpu_hour = currency(2)}, unknown));
    unknown.power_limit = watts(300);
    CHECK(validate(tariff{.pue = 1.2}, unknown));
}

TEST_CASE("an expense is a constant expression") {
    static_assert(detail::rent_of({.gpu_hour = currency(2)}, 8, hours(3)) == currency(48));
    static_assert(month == hours(730.5));
}
