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

namespace program {
namespace {

/// What a suffix multiplies by; of two readings, both are named.
struct unit {
    std::string_view suffix;
    double factor;
    std::string_view instead = "";  ///< the readings, where the suffix has two
};
constexpr double ki = 1024, mi = ki * ki, gi = mi * ki, ti = gi * ki;
constexpr std::array token_units{unit{"k", ki}, unit{"m", mi}};
constexpr std::array size_units{unit{"b", 1},
                                unit{"kb", 1e3},
                                unit{"mb", 1e6},
                                unit{"gb", 1e9},
                                unit{"tb", 1e12},
                                unit{"kib", ki},
                                unit{"mib", mi},
                                unit{"gib", gi},
                                unit{"tib", ti},
                                unit{"k", 0, "kB (1000) or KiB (1024)"},
                                unit{"m", 0, "MB (10^6) or MiB (2^20)"},
                                unit{"g", 0, "GB (10^9) or GiB (2^30)"},
                                unit{"t", 0, "TB (10^12) or TiB (2^40)"}};
constexpr std::array rate_units{unit{"m", 1e6},       unit{"g", 1e9},       unit{"t", 1e12},      unit{"p", 1e15},
                                unit{"mb/s", 1e6},    unit{"gb/s", 1e9},    unit{"tb/s", 1e12},   unit{"gib/s", gi},
                                unit{"tib/s", ti},    unit{"gflops", 1e9},  unit{"tflops", 1e12}, unit{"pflops", 1e15},
                                unit{"gflop/s", 1e9}, unit{"tflop/s", 1e12}};
constexpr std::array part_units{unit{"%", 0.01}};
constexpr std::array time_units{unit{"us", 1e-6}, unit{"ms", 1e-3}, unit{"s", 1}, unit{"min", 60}};

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
    if (is_size(flag)) return factor_in(size_units, flag, typed, suffix);
    if (is_one_of(flag, {"host_bandwidth", "gpu_bandwidth", "gpu_flops"}))
        return factor_in(rate_units, flag, typed, suffix);
    if (is_one_of(flag, {"max_time_to_first_token", "max_time_per_token"}))
        return factor_in(time_units, flag, typed, suffix);
    if (is_part(flag)) return factor_in(part_units, flag, typed, suffix);
    return 0;
}

}  // namespace

nlohmann::json value_in_own_unit(std::string_view flag, const std::string& typed) {
    std::int64_t whole = 0;
    double real = 0;
    const char* end = typed.data() + typed.size();
    if (const auto r = std::from_chars(typed.data(), end, whole); r.ec == std::errc{} && r.ptr == end) {
        // People who leave the unit out mean another than bytes.
        if (is_size(flag) && whole > 0 && whole < std::int64_t{1} << 20)
            throw refusal{llmres::refused(llmres::error_code::malformed, flag, typed,
                                          fmt::format("a size with its unit, such as {}GB", whole))};
        return whole;
    }
    const auto read = std::from_chars(typed.data(), end, real);
    if (read.ec != std::errc{} || !std::isfinite(real)) return typed;
    std::string suffix;
    for (const char* c = read.ptr; c != end; ++c)
        if (*c != ' ') suffix += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c - 'A' + 'a') : *c;
    if (suffix.empty()) return real;
    const double factor = factor_of(flag, typed, suffix);
    if (factor == 0) return typed;
    const double value = real * factor;
    if (factor >= 1 && value < 9e18 && value == std::floor(value)) return static_cast<std::int64_t>(value);
    return factor < 1 ? nlohmann::json(std::round(value * 1e9) / 1e9) : nlohmann::json(value);
}

}  // namespace program
