// SPDX-License-Identifier: MIT
#include <llmres/io/json/job/cost_reader.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

using namespace llmres;
using nlohmann::json;

namespace {

cluster h100(std::int32_t gpus) { return standard_cluster(gpus::h100_sxm5_80gb, gpus).value(); }
result<tariff> read(std::string_view document, std::int32_t gpus = 1) {
    return detail::read_tariff(json::parse(document), h100(gpus));
}

}  // namespace

TEST_CASE("a cost in a document is in euros, years and grams") {
    const tariff t =
        read(R"({"currency": "EUR", "gpu_price": 30000, "gpu_life": 4, "carbon": 400, "pue": 1.2})").value();
    CHECK(t.currency == text<3>{"EUR"});
    CHECK(t.gpu_life.in(hours) == doctest::Approx(4 * 8766));
    CHECK(t.carbon->base() * kwh(1).base() == doctest::Approx(0.4));
    CHECK(t.pue == maybe<double>{1.2});
    CHECK_FALSE(t.gpu_hour);
}

TEST_CASE("of instances with the GPU the cheapest for so many of them is taken, whole") {
    const std::string table = R"({"prices": {"instances": {
        "eight": {"gpu": "h100", "gpus": 8, "hour": 20}, "one": {"gpu": "h100", "hour": 3},
        "other": {"gpu": "l4", "hour": 0.5}}}})";
    for (const auto& [gpus, together, an_hour] :
         {std::tuple{1, 1, 3.0}, {6, 1, 18.0}, {7, 8, 20.0}, {8, 8, 20.0}, {16, 8, 40.0}}) {
        CAPTURE(gpus);
        const tariff t = read(table, gpus).value();
        CHECK(t.rented_together == together);
        CHECK(detail::rent_of(t, gpus, hours(1)).in(currency) == doctest::Approx(an_hour));
    }
}

TEST_CASE("what a document says itself goes over its table") {
    const tariff t = read(R"({"gpu_hour": 1, "pue": 1.5, "prices": {"pue": 1.1, "electricity": 0.3,
        "gpus": {"h100": {"price": 9, "life": 2}}, "instances": {"a": {"gpu": "h100", "gpus": 8, "hour": 20}}}})")
                         .value();
    CHECK(t.gpu_hour == maybe{currency(1)});
    CHECK(t.rented_together == 1);
    CHECK(t.pue == maybe{1.5});
    CHECK(t.electricity == maybe{currency(0.3)});
    CHECK(t.gpu_price == maybe{currency(9)});
}

TEST_CASE("a table of GPUs alone is read as one of purchases") {
    int seen = 0;
    CHECK(for_each_priced_gpu(json::parse(R"({"l4": {"price": 2500, "slots": 2}, "rtx-4090": 1800})"), "price",
                              [&](const gpu& card, const priced_gpu& p) {
                                  ++seen;
                                  const bool l4 = card.id.view() == "l4-24gb";
                                  CHECK(p.price == currency(l4 ? 2500 : 1800));
                                  CHECK(p.slots.value_or(0) == (l4 ? 2 : 0));
                              }));
    CHECK(seen == 2);
}

TEST_CASE("a table's mistakes are named where they are") {
    const auto field = [](std::string_view table) {
        const result<tariff> t = read(R"({"prices": )" + std::string{table} + "}");
        REQUIRE_FALSE(t);
        return std::string{t.error().field.view()};
    };
    CHECK(field("5") == "cost.prices");
    CHECK(field(R"({"h1000": 5})") == "cost.prices");
    CHECK(field(R"({"gpus": 5})") == "cost.prices.gpus");
    CHECK(field(R"({"gpus": {"h100": {}}})") == "cost.prices.gpus.h100.price");
    CHECK(field(R"({"gpus": {"h100": {"price": 5, "slots": 0}}})") == "cost.prices.gpus.h100.slots");
    CHECK(field(R"({"instances": {"a": 5}})") == "cost.prices.instances.a");
    CHECK(field(R"({"instances": {"a": {"gpu": "h1000", "hour": 5}}})") == "cost.prices.instances.a.gpu");
    CHECK(field(R"({"instances": {"a": {"gpu": "h100", "gpus": 0, "hour": 5}}})") == "cost.prices.instances.a.gpus");
    CHECK(field(R"({"gpus": {"h100": {"price": 5}}})") == "cost.gpu_life");
}

TEST_CASE("a run that cannot be is refused when it is read") {
    CHECK(detail::read_run(json::parse(R"({"epochs": 3})")).error().field == "run.samples");
    CHECK(detail::read_run(json::parse(R"({"tokens": 15e12, "mtbf": 100})")).error().field == "run.checkpoint");
    CHECK(detail::read_run(json::parse(R"({"token": 15})")).error().field == "run.token");
    CHECK(detail::read_run(json::parse(R"({"tokens": 15e12})"))->trained == tokens(15'000'000'000'000));
}

TEST_CASE("storage and checkpoints are read, and refused with the field that is wrong") {
    const auto storage_of = [](const char* text) { return detail::read_storage(json::parse(text)); };
    CHECK(storage_of(R"({"bandwidth": 2e9, "total_bandwidth": 4e10})")->total_bandwidth == gb_per_s(40));
    for (const char* wrong : {R"({"bandwidth": 0})", R"({"bandwidth": -2e9})", R"({"bandwidth": 1e18})", "{}"}) {
        CAPTURE(wrong);
        CHECK(storage_of(wrong).error().field == "storage.bandwidth");
    }
    CHECK(storage_of(R"({"bandwidth": 2e9, "total_bandwidth": -1})").error().field == "storage.total_bandwidth");
    CHECK(storage_of(R"({"bandwith": 2e9})").error().field == "storage.bandwith");

    const auto checkpoint_of = [](const char* text) { return detail::read_checkpoint(json::parse(text)); };
    CHECK(checkpoint_of(R"({"files": "gathered", "mode": "async", "keep": 5})")->files == checkpoint_files::gathered);
    CHECK(checkpoint_of("{}")->mode == checkpoint_mode::sync);
    CHECK(checkpoint_of(R"({"files": "zipped"})").error().field == "checkpoint.files");
    CHECK(checkpoint_of(R"({"mode": "later"})").error().field == "checkpoint.mode");
    CHECK(checkpoint_of(R"({"keep": -1})").error().field == "checkpoint.keep");
}

TEST_CASE("a run whose checkpoints the storage times needs no seconds of them") {
    const json run = json::parse(R"({"tokens": 15e12, "mtbf": 100})");
    CHECK(detail::read_run(run, detail::checkpoint_seconds::of_storage)->mtbf == seconds(100));
    CHECK_FALSE(detail::read_run(run, detail::checkpoint_seconds::of_storage)->checkpoint);
    const json alone = json::parse(R"({"tokens": 15e12, "restart": 100})");
    CHECK(detail::read_run(alone, detail::checkpoint_seconds::of_storage).error().field == "run.mtbf");
}

TEST_CASE(
    "every figure of a table is taken where the document does not say it itself, and none where the table does not") {
    const json table = json::parse(R"({"currency": "EUR", "electricity": 0.3, "pue": 1.1, "carbon": 400,
        "gpus": {"h100": {"price": 9000, "life": 2, "power": 900}, "l4": {"price": 7, "life": 9, "power": 5}},
        "instances": {"a": {"gpu": "h100", "gpus": 2, "hour": 20}}})");
    const auto with = [&](json said) {
        said["prices"] = table;
        return read(said.dump()).value();
    };
    const tariff all = with(json::object());
    CHECK(all.currency == text<3>{"EUR"});
    CHECK(all.electricity == maybe{currency(0.3)});
    CHECK(all.pue == maybe{1.1});
    CHECK(all.carbon->base() * kwh(1).base() == doctest::Approx(0.4));
    CHECK(all.gpu_price == maybe{currency(9000)});
    CHECK(all.gpu_life.in(hours) == doctest::Approx(2 * 8766));
    CHECK(all.gpu_power == maybe{watts(900)});
    CHECK(all.gpu_hour == maybe{currency(10)});
    CHECK(all.rented_together == 2);
    const tariff own = with({{"currency", "EUR"},
                             {"electricity", 1},
                             {"pue", 1.5},
                             {"carbon", 100},
                             {"gpu_price", 5},
                             {"gpu_life", 3},
                             {"gpu_power", 700},
                             {"gpu_hour", 4}});
    CHECK(own.electricity == maybe{currency(1)});
    CHECK(own.pue == maybe{1.5});
    CHECK(own.carbon->base() * kwh(1).base() == doctest::Approx(0.1));
    CHECK(own.gpu_price == maybe{currency(5)});
    CHECK(own.gpu_life.in(hours) == doctest::Approx(3 * 8766));
    CHECK(own.gpu_power == maybe{watts(700)});
    CHECK(own.gpu_hour == maybe{currency(4)});
    CHECK(own.rented_together == 1);
    const tariff rented = read(R"({"prices": {"instances": {"a": {"gpu": "h100", "hour": 3}}}})").value();
    CHECK(rented.currency.empty());
    CHECK_FALSE(rented.electricity);
    CHECK_FALSE(rented.carbon);
    CHECK_FALSE(rented.pue);
    CHECK_FALSE(rented.gpu_price);
    CHECK_FALSE(rented.gpu_power);
    CHECK(rented.gpu_life == duration{});
    const tariff bought = read(R"({"gpu_life": 1, "prices": {"h100": 30000}})").value();
    CHECK(bought.gpu_price == maybe{currency(30000)});
    CHECK(bought.gpu_life.in(hours) == doctest::Approx(8766));
    CHECK_FALSE(bought.gpu_power);
    CHECK(read(R"({"currency": "USD", "prices": {"instances": {"a": {"gpu": "h100", "hour": 3}}}})")->currency ==
          text<3>{"USD"});
    // Of instances that cost as much the first is taken.
    CHECK(read(R"({"prices": {"instances": {"a": {"gpu": "h100", "gpus": 8, "hour": 24},
                                            "b": {"gpu": "h100", "gpus": 1, "hour": 3}}}})",
               8)
              ->rented_together == 8);
}

TEST_CASE(
    "amounts are bounded, and every mistake of a table is refused with the place, the value and what may stand there") {
    struct row {
        std::string_view table, field, expected;
    };
    const row rows[] = {
        {"5", "cost.prices", "an object: --prices FILE reads it from a file"},
        {R"({"l4": 5})", "cost.prices", "a table in which the cluster's GPU has a price"},
        {R"({"gpus": {"l4": 5}, "instances": {}})", "cost.prices", "a table in which the cluster's GPU has a price"},
        {R"({"gpus": 5})", "cost.prices.gpus", "an object of prices by GPU"},
        {R"({"gpus": {"h100": 0}})", "cost.prices.gpus.h100.price", "a number above 0, of one GPU"},
        {R"({"gpus": {"h100": -1}})", "cost.prices.gpus.h100.price", "a number of 0 or more"},
        {R"({"gpus": {"h100": 2e12}})", "cost.prices.gpus.h100.price", "a number of 0 or more"},
        {R"({"gpus": {"h100": {"price": 1, "life": -1}}})", "cost.prices.gpus.h100.life", "a number of 0 or more"},
        {R"({"gpus": {"h100": {"price": 1, "power": "x"}}})", "cost.prices.gpus.h100.power", "a number"},
        {R"({"gpus": {"h100": {"price": 1, "slots": 65}}})", "cost.prices.gpus.h100.slots", "an integer from 1 to 64"},
        {R"({"gpus": {"h100": {"prize": 1}}})", "cost.prices.gpus.h100.prize", ""},
        {R"({"instances": {"a": {"gpu": "h100", "gpus": 1025, "hour": 5}}})", "cost.prices.instances.a.gpus",
         "an integer from 1 to 1024"},
        {R"({"instances": {"a": {"gpu": "h100"}}})", "cost.prices.instances.a.hour",
         "gpu, and what an hour of the instance costs"},
        {R"({"instances": {"a": {"hour": 5}}})", "cost.prices.instances.a.gpu",
         "gpu, and what an hour of the instance costs"},
        {R"({"instances": {"a": {"gpu": "h100", "hours": 5}}})", "cost.prices.instances.a.hours", ""},
        {R"({"instances": {"a": [1]}})", "cost.prices.instances.a", "an object with gpu, gpus, hour"},
        {R"({"instances": [1]})", "cost.prices.instances", "an object"},
        {R"({"instances": {}, "pue": 0.9})", "cost.prices.pue", "a number of 1 or more"},
        {R"({"instances": {}, "electricity": -1})", "cost.prices.electricity", "a number of 0 or more"},
        {R"({"instances": {}, "carbon": "x"})", "cost.prices.carbon", "a number"},
        {R"({"instances": {}, "colour": 1})", "cost.prices.colour", ""},
    };
    for (const row& r : rows) {
        CAPTURE(r.table);
        const result<tariff> t = read(R"({"prices": )" + std::string{r.table} + "}");
        REQUIRE_FALSE(t);
        CHECK(t.error().field == r.field);
        if (!r.expected.empty()) CHECK(t.error().expected == r.expected);
    }
    CHECK(read(R"({"gpu_life": 1, "prices": {"gpus": {"h100": {"price": 1e12}}}})"));
    CHECK(read(R"({"gpu_hour": 1, "prices": {"instances": {"a": {"gpu": "h100", "hour": 3}}, "pue": 1,
                   "electricity": 0}})"));
    const result<tariff> unlike =
        read(R"({"currency": "USD", "prices": {"currency": "EUR", "gpus": {"h100": {"price": 1, "life": 2}}}})");
    REQUIRE_FALSE(unlike);
    CHECK(unlike.error().field == "cost.currency");
    CHECK(unlike.error().value == "USD");
    CHECK(unlike.error().expected == "EUR");
    CHECK(unlike.error().code == error_code::inconsistent);
    CHECK(read(R"({"currency": "EUR", "prices": {"currency": "EUR", "gpus": {"h100": {"price": 1, "life": 2}}}})"));
    CHECK(read(R"({"currency": "EURO", "gpu_hour": 1})").error().field == "cost.currency");
    CHECK(for_each_priced_gpu(json::parse(R"({"h1000": 5})"), "price", [](const auto&, const auto&) {}).error().field ==
          "price");
    CHECK(for_each_priced_gpu(json::parse("[1]"), "price", [](const auto&, const auto&) {}).error().expected ==
          "an object of prices by GPU");
    const json full = json::parse(R"({"l4": {"price": 2500, "life": 3, "power": 100}, "a10": 5})");
    CHECK(for_each_priced_gpu(full, "price", [](const gpu& card, const priced_gpu& p) {
        const bool is_full = card.id.view() == "l4-24gb";
        CHECK(p.life.known == is_full);
        CHECK(p.draw == (is_full ? maybe{watts(100)} : maybe<power>{}));
        CHECK_FALSE(p.slots);
    }));
    for (const char* failing : {"mtbf", "gpu_mtbf", "checkpoint_interval"}) {
        json run = json::parse(R"({"tokens": 15e12})");
        run[failing] = 1e5;
        CHECK(detail::read_run(run, detail::checkpoint_seconds::of_storage));
        CHECK_FALSE(detail::read_run(run));
    }
}
