// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/storage.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// The objects `storage`, `checkpoint`, `run` and `cost` of a job document, and tables of prices:
///
///     {"currency": "EUR", "electricity": 0.2, "pue": 1.3, "carbon": 400,
///      "gpus": {"l40s": {"price": 9000, "life": 4, "power": 450, "slots": 8}, "rtx-4090": 1800},
///      "instances": {"eight of a cloud": {"gpu": "h100", "gpus": 8, "hour": 20}}}
///
/// A table without `gpus` and `instances` is one of GPUs alone: {"rtx-4090": 1800}.
namespace llmres::inline v0 {

/// A GPU that a table has a purchase price of.
struct priced_gpu {
    money price{};                ///< of one, with its share of a machine
    maybe<duration> life{};       ///< for which it is used
    maybe<power> draw{};          ///< with its share of a machine
    maybe<std::int64_t> slots{};  ///< of them that a machine has room for
};

namespace detail {

/// A year, in which 365.25 days are.
inline constexpr duration year = month * 12.0;

inline carbon_intensity grams_a_kwh(double grams) { return kilograms(grams / 1000) / kwh(1); }

/// Reads a number of a table, if it is there: above or from `least` on.
inline void read_amount(config_fields& read, const char* name, maybe<double>& into, double least = 0) {
    if (!read.has(name)) return;
    const double amount = read.real_or(name, -1, -1e300, 1e300);
    if (read.ok() && !(amount >= least && amount <= job_field_rows::most_money))
        read.fail(error_code::out_of_range, name, least > 0 ? "a number of 1 or more" : "a number of 0 or more");
    into = amount;
}

/// Refuses the keys of an object that are not among these.
template <std::size_t Count>
status only_these(const nlohmann::json& object, std::string_view path,
                  const std::array<std::string_view, Count>& known) {
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        text<63> field{path};
        field.append(".");
        field.append(key);
        return refused(error_code::unknown, field, shown(value),
                       such_as("one of " + listed(known), nearest(key, known)));
    }
    return done{};
}

/// True of a table with GPUs and instances apart.
inline bool has_parts(const nlohmann::json& table) { return table.contains("gpus") || table.contains("instances"); }

}  // namespace detail

/// Calls visit(gpu, priced_gpu) for each GPU of a table that is bought, in the order of their names. Errors: a GPU that
/// nobody knows, a key or a price that is none.
template <class Visit>
status for_each_priced_gpu(const nlohmann::json& table, std::string_view path, const Visit& visit);

namespace detail {

inline result<priced_gpu> read_priced_gpu(const nlohmann::json& given, std::string_view path) {
    priced_gpu made;
    const nlohmann::json object = given.is_object() ? given : nlohmann::json{{"price", given}};
    constexpr std::array<std::string_view, 4> keys{"price", "life", "power", "slots"};
    if (const status s = only_these(object, path, keys); !s) return s.error();
    config_fields read{object, path};
    maybe<double> price, life, draw;
    if (!read.has("price")) read.fail(error_code::missing, "price", "a number above 0, of one GPU");
    read_amount(read, "price", price);
    if (read.ok() && !(*price > 0)) read.fail(error_code::out_of_range, "price", "a number above 0, of one GPU");
    read_amount(read, "life", life);
    read_amount(read, "power", draw);
    if (read.has("slots")) made.slots = read.number_or("slots", 1, 1, 64);
    if (!read.ok()) return read.error();
    made.price = currency(*price);
    if (life) made.life = year * *life;
    if (draw) made.draw = watts(*draw);
    return made;
}

/// Takes the cheapest instance with the cluster's GPU, where so many GPUs are rented in whole instances.
inline status take_instance(const nlohmann::json& given, std::string_view path, const cluster& c, tariff& t) {
    if (!given.is_object()) return refused(error_code::malformed, path, shown(given), "an object with gpu, gpus, hour");
    constexpr std::array<std::string_view, 3> keys{"gpu", "gpus", "hour"};
    if (const status s = only_these(given, path, keys); !s) return s.error();
    config_fields read{given, path};
    maybe<double> hour;
    for (const char* key : {"gpu", "hour"})
        if (!read.has(key)) read.fail(error_code::missing, key, "gpu, and what an hour of the instance costs");
    const std::string name{read.text_or("gpu", "")};
    const std::int64_t gpus = read.number_or("gpus", 1, 1, 1024);
    read_amount(read, "hour", hour);
    if (!read.ok()) return read.error();
    const result<gpu> card = find_gpu(name, std::string{path} + ".gpu");
    if (!card) return card.error();
    if (card->id.view() != c.gpu.id.view()) return done{};
    tariff offered = t;
    offered.gpu_hour = currency(*hour / static_cast<double>(gpus));
    offered.rented_together = static_cast<std::int32_t>(gpus);
    if (!t.gpu_hour || rent_of(offered, c.gpus, hours(1)) < rent_of(t, c.gpus, hours(1))) t = offered;
    return done{};
}

/// Takes what a table says of the cluster's GPU, where the document does not say it itself.
inline status take_prices(const nlohmann::json& table, const cluster& c, tariff& t) {
    constexpr std::string_view path = "cost.prices";
    if (!table.is_object())
        return refused(error_code::malformed, path, shown(table), "an object: --prices FILE reads it from a file");
    tariff found;
    const status gpus = for_each_priced_gpu(table, path, [&](const gpu& card, const priced_gpu& p) {
        if (card.id.view() != c.gpu.id.view()) return;
        found.gpu_price = p.price;
        if (p.life) found.gpu_life = *p.life;
        found.gpu_power = p.draw;
    });
    if (!gpus) return gpus.error();
    if (has_parts(table)) {
        constexpr std::array<std::string_view, 6> keys{"currency", "electricity", "pue", "carbon", "gpus", "instances"};
        if (const status s = only_these(table, path, keys); !s) return s.error();
        config_fields read{table, path};
        maybe<double> electricity, carbon;
        read_amount(read, "electricity", electricity);
        read_amount(read, "carbon", carbon);
        read_amount(read, "pue", found.pue, 1);
        found.currency = text<3>{read.text_or("currency", "")};
        const nlohmann::json* instances = read.object("instances");
        if (!read.ok()) return read.error();
        if (electricity) found.electricity = currency(*electricity);
        if (carbon) found.carbon = grams_a_kwh(*carbon);
        if (instances != nullptr)
            for (const auto& [name, given] : instances->items())
                if (const status s = take_instance(given, std::string{path} + ".instances." + name, c, found); !s)
                    return s.error();
    }
    if (!found.has_price())
        return refused(error_code::missing, path, c.gpu.id, "a table in which the cluster's GPU has a price");
    if (!t.currency.empty() && !found.currency.empty() && t.currency.view() != found.currency.view())
        return refused(error_code::inconsistent, "cost.currency", t.currency, found.currency);
    const auto take = [](auto& said, const auto& of_table) {
        if (!said) said = of_table;
    };
    if (t.currency.empty()) t.currency = found.currency;
    if (!t.gpu_hour) t.rented_together = found.rented_together;
    take(t.gpu_hour, found.gpu_hour), take(t.gpu_price, found.gpu_price), take(t.electricity, found.electricity);
    take(t.pue, found.pue), take(t.gpu_power, found.gpu_power), take(t.carbon, found.carbon);
    if (t.gpu_life == duration{}) t.gpu_life = found.gpu_life;
    return done{};
}

/// The cost of a document, at the prices of the cluster's GPU.
inline result<tariff> read_tariff(const nlohmann::json& object, const cluster& c) {
    if (const status s = known_keys(object, "cost", {}); !s) return s.error();
    tariff t;
    job_reader read{object, "cost"};
    read.members(t);
    t.currency = text<3>{read.fields().text_or("currency", "")};
    if (read.fields().text_or("currency", "").size() > 3)
        read.fields().fail(error_code::unknown, "currency", "a name of ISO 4217, such as USD or EUR");
    if (double years = 0; read.fields().has("gpu_life")) read.value("gpu_life", years), t.gpu_life = year * years;
    if (double grams = 0; read.fields().has("carbon")) read.value("carbon", grams), t.carbon = grams_a_kwh(grams);
    if (const status s = read.checked(); !s) return s.error();
    if (read.fields().has("prices"))
        if (const status s = take_prices(object.at("prices"), c, t); !s) return s.error();
    if (const status s = validate(t, c); !s) return s.error();
    return t;
}

/// The storage of a document.
inline result<storage> read_storage(const nlohmann::json& object) {
    if (const status s = known_keys(object, "storage", {}); !s) return s.error();
    storage made;
    job_reader read{object, "storage"};
    read.members(made);
    if (const status s = read.checked(); !s) return s.error();
    if (!read.fields().has("bandwidth"))
        return refused(error_code::missing, "storage.bandwidth", "absent",
                       "bytes per second of one node (2GB/s), beside those of all nodes together");
    if (const status s = validate(made); !s) return s.error();
    return made;
}

/// The checkpoints of a document.
inline result<checkpoint_request> read_checkpoint(const nlohmann::json& object) {
    if (const status s = known_keys(object, "checkpoint", {}); !s) return s.error();
    checkpoint_request made;
    job_reader read{object, "checkpoint"};
    read.members(made);
    if (const status s = read.checked(); !s) return s.error();
    return made;
}

/// The source of a checkpoint's seconds where a run does not give them.
enum class checkpoint_seconds : std::uint8_t { given, of_storage };

/// The training run of a document.
inline result<training_run> read_run(const nlohmann::json& object,
                                     checkpoint_seconds seconds_of = checkpoint_seconds::given) {
    if (const status s = known_keys(object, "run", {}); !s) return s.error();
    training_run r;
    job_reader read{object, "run"};
    read.members(r);
    if (const status s = read.checked(); !s) return s.error();
    if (const status s = validate_size(r); !s) return s.error();
    training_run complete = r;
    const bool is_written = r.mtbf || r.gpu_mtbf || r.checkpoint_interval;
    if (is_written && !r.checkpoint && seconds_of == checkpoint_seconds::of_storage) complete.checkpoint = seconds(1);
    if (const status s = validate_interruptions(complete); !s) return s.error();
    return r;
}

}  // namespace detail

template <class Visit>
status for_each_priced_gpu(const nlohmann::json& table, std::string_view path, const Visit& visit) {
    const bool parts = detail::has_parts(table);
    const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json& all = !parts ? table : table.contains("gpus") ? table["gpus"] : none;
    const std::string where = std::string{path} + (parts ? ".gpus" : "");
    if (!all.is_object())
        return refused(error_code::malformed, where, detail::shown(all), "an object of prices by GPU");
    for (const auto& [name, given] : all.items()) {
        const result<gpu> card = find_gpu(name, where);
        if (!card) return card.error();
        const result<priced_gpu> read = detail::read_priced_gpu(given, std::string{where}.append(".").append(name));
        if (!read) return read.error();
        visit(*card, *read);
    }
    return done{};
}

}  // namespace llmres::inline v0
