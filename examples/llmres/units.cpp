// SPDX-License-Identifier: MIT
// In which units people write the numbers of `llmres plan`.
#include "commands.hpp"
#include "spelling.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <llmres/io/job_fields.hpp>
#include <llmres/time/tariff.hpp>

namespace program {
namespace {

/// What a suffix multiplies by; of two readings, both are named.
struct unit {
    std::string_view suffix;
    double factor = 0;
    std::string_view instead = "";  ///< the readings, where the suffix has two
};
template <std::size_t N, std::size_t M>
constexpr std::array<unit, N + M> joined(const std::array<unit, N>& a, const std::array<unit, M>& b) {
    std::array<unit, N + M> all{};
    std::copy(a.begin(), a.end(), all.begin());
    std::copy(b.begin(), b.end(), all.begin() + N);
    return all;
}
constexpr double ki = 1024, mi = ki * ki, gi = mi * ki, ti = gi * ki;
constexpr std::array token_units{unit{"k", ki}, unit{"m", mi}};
constexpr std::array byte_units{unit{"b", 1},    unit{"kb", 1e3}, unit{"mb", 1e6}, unit{"gb", 1e9}, unit{"tb", 1e12},
                                unit{"kib", ki}, unit{"mib", mi}, unit{"gib", gi}, unit{"tib", ti}};
constexpr std::array size_units =
    joined(byte_units, std::array{unit{"k", 0, "kB (1000) or KiB (1024)"}, unit{"m", 0, "MB (10^6) or MiB (2^20)"},
                                  unit{"g", 0, "GB (10^9) or GiB (2^30)"}, unit{"t", 0, "TB (10^12) or TiB (2^40)"}});
/// What a machine has: of two readings the smaller, since what fits in 32 GB fits in 32 GiB, too.
constexpr std::array capacity_units =
    joined(byte_units, std::array{unit{"k", 1e3}, unit{"m", 1e6}, unit{"g", 1e9}, unit{"t", 1e12}});
constexpr std::array rate_units{unit{"m", 1e6},       unit{"g", 1e9},       unit{"t", 1e12},      unit{"p", 1e15},
                                unit{"mb/s", 1e6},    unit{"gb/s", 1e9},    unit{"tb/s", 1e12},   unit{"gib/s", gi},
                                unit{"tib/s", ti},    unit{"gflops", 1e9},  unit{"tflops", 1e12}, unit{"pflops", 1e15},
                                unit{"gflop/s", 1e9}, unit{"tflop/s", 1e12}};
constexpr std::array storage_units{unit{"mb/s", 1e6},
                                   unit{"gb/s", 1e9},
                                   unit{"tb/s", 1e12},
                                   unit{"mib/s", mi},
                                   unit{"gib/s", gi},
                                   unit{"tib/s", ti},
                                   unit{"mbit/s", 1e6 / 8},
                                   unit{"gbit/s", 1e9 / 8},
                                   unit{"mbps", 0, "MB/s (bytes) or Mbit/s (bits)"},
                                   unit{"gbps", 0, "GB/s (bytes) or Gbit/s (bits)"},
                                   unit{"g", 0, "GB/s (bytes) or Gbit/s (bits)"},
                                   unit{"gb", 0, "GB/s (bytes) or Gbit/s (bits)"},
                                   unit{"m", 0, "MB/s (bytes) or Mbit/s (bits)"},
                                   unit{"mb", 0, "MB/s (bytes) or Mbit/s (bits)"}};
constexpr std::array part_units{unit{"%", 0.01}};
constexpr std::array count_units{unit{"k", 1e3}, unit{"m", 1e6}, unit{"b", 1e9}, unit{"g", 1e9}, unit{"t", 1e12}};
constexpr std::array time_units{unit{"us", 1e-6}, unit{"s", 1},
                                unit{"sec", 1},   unit{"min", 60},
                                unit{"h", 3600},  unit{"hours", 3600},
                                unit{"d", 86400}, unit{"days", 86400},
                                unit{"ms", 1e-3}, unit{"m", 0, "min (minutes) or d (days)"}};
constexpr std::array life_units{unit{"y", 1}, unit{"years", 1}, unit{"months", 1.0 / 12}};
constexpr std::array power_units{unit{"w", 1}, unit{"kw", 1e3}};
constexpr std::array carbon_units{unit{"g/kwh", 1}, unit{"gco2/kwh", 1}, unit{"gco2e/kwh", 1}, unit{"kg/kwh", 1e3}};
constexpr std::array hour_price_units{unit{"/h", 1}, unit{"/hour", 1}, unit{"/hr", 1}};
constexpr std::array energy_price_units{unit{"/kwh", 1}, unit{"/mwh", 1e-3}};
constexpr std::array price_units{unit{"k", 1e3}};

template <std::size_t N>
double factor_in(const std::array<unit, N>& units, std::string_view flag, const std::string& typed,
                 std::string_view suffix) {
    for (const unit& u : units) {
        if (u.suffix != suffix) continue;
        if (!u.instead.empty()) throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed, u.instead)};
        return u.factor;
    }
    return 0;
}

bool is_one_of(std::string_view flag, std::initializer_list<std::string_view> flags) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

/// Whether a flag's value is a number of bytes.
bool is_size(std::string_view flag) { return is_one_of(flag, {"in_use", "host_memory", "gpu_memory"}); }

/// Refuses a bandwidth of fewer bytes a second than any device has, and without a unit: people mean gigabytes.
void refuse_bare_bandwidth(std::string_view flag, const std::string& typed, double number) {
    constexpr double least = 1 << 20;
    const bool is_bandwidth =
        is_one_of(flag, {"storage_bandwidth", "storage_total_bandwidth", "host_bandwidth", "gpu_bandwidth"});
    if (is_bandwidth && number > 0 && number < least)
        throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed,
                                      fmt::format("a bandwidth with its unit, such as {}GB/s", typed))};
}

/// Whether a flag's value is a part of a whole: 0.9 or 90%.
bool is_part(std::string_view flag) {
    return std::any_of(llmres::job_fields.begin(), llmres::job_fields.end(), [&](const llmres::job_field& f) {
        return f.type == llmres::field_type::real && f.high == 1 && llmres::flag_of(f) == flag;
    });
}

/// What the suffix of a flag's value multiplies by; 0 where the flag knows no such unit.
double factor_of(std::string_view flag, const std::string& typed, std::string_view suffix) {
    if (is_one_of(flag, {"prompt", "output", "context", "max_batched_tokens", "lengths_mean", "lengths_longest",
                         "sequence", "mean_length", "encoder_tokens"}))
        return factor_in(token_units, flag, typed, suffix);
    if (is_one_of(flag, {"host_memory", "gpu_memory"})) return factor_in(capacity_units, flag, typed, suffix);
    if (is_size(flag)) return factor_in(size_units, flag, typed, suffix);
    if (is_one_of(flag, {"host_bandwidth", "gpu_bandwidth", "gpu_flops"}))
        return factor_in(rate_units, flag, typed, suffix);
    if (is_one_of(flag, {"storage_bandwidth", "storage_total_bandwidth"})) {
        const bool bits = typed.find("Gb/s") != std::string::npos || typed.find("Mb/s") != std::string::npos;
        return factor_in(storage_units, flag, typed, bits ? suffix.substr(0, 1) : suffix);
    }
    if (is_part(flag)) return factor_in(part_units, flag, typed, suffix);
    if (is_one_of(flag, {"tokens", "samples"})) return factor_in(count_units, flag, typed, suffix);
    if (is_one_of(flag, {"max_time_to_first_token", "max_time_per_token", "mtbf", "gpu_mtbf", "checkpoint",
                         "checkpoint_interval", "restart", "think_time"}))
        return factor_in(time_units, flag, typed, suffix);
    if (flag == "gpu_life") return factor_in(life_units, flag, typed, suffix);
    if (is_one_of(flag, {"gpu_power", "power_limit"})) return factor_in(power_units, flag, typed, suffix);
    if (flag == "carbon") return factor_in(carbon_units, flag, typed, suffix);
    if (flag == "gpu_hour") return factor_in(hour_price_units, flag, typed, suffix);
    if (flag == "electricity") return factor_in(energy_price_units, flag, typed, suffix);
    if (flag == "gpu_price") return factor_in(price_units, flag, typed, suffix);
    return 0;
}

/// The signs of currencies, with their names of ISO 4217; of two that share a sign, both are named.
struct currency_sign {
    std::string_view sign, name, instead;
};
constexpr std::array currency_signs{currency_sign{"US$", "USD", ""},          currency_sign{"$", "USD", ""},
                                    currency_sign{"\u20ac", "EUR", ""},       currency_sign{"\u00a3", "GBP", ""},
                                    currency_sign{"\u20b9", "INR", ""},       currency_sign{"\u20a9", "KRW", ""},
                                    currency_sign{"\u00a5", "", "JPY or CNY"}};

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/// Where the three letters of a currency are in a price, if it has any: before its number or behind it.
std::size_t letters_of_currency(std::string_view price) {
    const auto three_at = [&](std::size_t at) {
        return price.size() >= at + 3 && std::all_of(price.begin() + static_cast<std::ptrdiff_t>(at),
                                                     price.begin() + static_cast<std::ptrdiff_t>(at + 3), is_letter);
    };
    if (three_at(0)) return 0;
    const std::size_t behind = price.find_first_not_of("0123456789.,+- ");
    if (behind == std::string_view::npos || !three_at(behind)) return std::string_view::npos;
    return price.size() == behind + 3 || price[behind + 3] == '/' ? behind : std::string_view::npos;
}

/// A price without so many characters of it, and without the blanks that they leave before its number.
std::string price_without(std::string price, std::size_t at, std::size_t count) {
    price.erase(at, count);
    return price.erase(0, std::min(price.find_first_not_of(' '), price.size()));
}

}  // namespace

priced_text without_currency(std::string_view flag, const std::string& typed) {
    for (const currency_sign& s : currency_signs) {
        const std::size_t sign = typed.find(s.sign);
        if (sign == std::string::npos) continue;
        if (!s.instead.empty()) throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed, s.instead)};
        return {price_without(typed, sign, s.sign.size()), std::string{s.name}};
    }
    const std::size_t at = letters_of_currency(typed);
    if (at == std::string::npos) return {typed, ""};
    std::string name = typed.substr(at, 3);
    for (char& c : name) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
    if (std::find(llmres::currencies.begin(), llmres::currencies.end(), name) == llmres::currencies.end())
        throw refusal{
            llmres::refused(llmres::error_code::unknown, flag, typed, "a currency of ISO 4217, such as USD or EUR")};
    return {price_without(typed, at, 3), name};
}

nlohmann::json value_in_own_unit(std::string_view flag, const std::string& typed) {
    std::int64_t whole = 0;
    double real = 0;
    const char* end = typed.data() + typed.size();
    if (const auto r = std::from_chars(typed.data(), end, whole); r.ec == std::errc{} && r.ptr == end) {
        // People who leave the unit out mean another than bytes.
        if (is_size(flag) && whole > 0 && whole < std::int64_t{1} << 20)
            throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed,
                                          fmt::format("a size with its unit, such as {}GB", whole))};
        refuse_bare_bandwidth(flag, typed, static_cast<double>(whole));
        return whole;
    }
    const auto read = std::from_chars(typed.data(), end, real);
    if (read.ec != std::errc{} || !std::isfinite(real)) return typed;
    std::string suffix;
    for (const char* c = read.ptr; c != end; ++c)
        if (*c != ' ') suffix += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
    if (suffix.empty()) {
        refuse_bare_bandwidth(flag, typed, real);
        return real;
    }
    const double factor = factor_of(flag, typed, suffix);
    if (factor == 0) return typed;
    const double value = real * factor;
    if (factor >= 1 && std::fabs(value) < 9e18 && value == std::floor(value)) return static_cast<std::int64_t>(value);
    return factor < 1 ? nlohmann::json(std::round(value * 1e9) / 1e9) : nlohmann::json(value);
}

}  // namespace program
