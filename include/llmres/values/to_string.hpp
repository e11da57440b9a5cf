// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string>
#include <string_view>

/// Quantities as text for people: three significant digits, a prefix that fits, never the caller's locale.
///
///     to_string(mib(81559))              "79.6 GiB"
///     to_string(gib(80), prefix::decimal)  "85.9 GB"
///     to_string(gib(80), exactly)          "85,899,345,920 B"
///     to_string(gb_per_s(3350))            "3.35 TB/s"
///
/// Trailing zeros mean that the number was rounded: 80 GiB exactly is "80 GiB", a little more is "80.0 GiB". No header
/// that plans includes this one. It needs neither {fmt} nor std::to_chars.
namespace llmres::inline v0 {

/// Powers of 1024 (KiB, MiB) or of 1000 (kB, MB).
enum class prefix : std::uint8_t { binary, decimal };

/// Every digit of a count, in groups of three.
struct exactly_t {};
inline constexpr exactly_t exactly{};  ///< asks for every digit

namespace detail {

using quantity_text = text<47>;

struct unit_scale {
    double factor;
    std::string_view name;
};

inline constexpr std::array binary_bytes{unit_scale{1, "B"},
                                         unit_scale{1024.0, "KiB"},
                                         unit_scale{1048576.0, "MiB"},
                                         unit_scale{1073741824.0, "GiB"},
                                         unit_scale{1099511627776.0, "TiB"},
                                         unit_scale{1125899906842624.0, "PiB"},
                                         unit_scale{1152921504606846976.0, "EiB"}};
inline constexpr std::array decimal{unit_scale{1, ""},     unit_scale{1e3, "k"},  unit_scale{1e6, "M"},
                                    unit_scale{1e9, "G"},  unit_scale{1e12, "T"}, unit_scale{1e15, "P"},
                                    unit_scale{1e18, "E"}, unit_scale{1e21, "Z"}, unit_scale{1e24, "Y"}};
/// The prefixes that people use for parameters and tokens: thousands, millions, billions, trillions.
inline constexpr std::array spoken{unit_scale{1, ""}, unit_scale{1e3, "K"}, unit_scale{1e6, "M"}, unit_scale{1e9, "B"},
                                   unit_scale{1e12, "T"}};
inline constexpr std::array time_scales{unit_scale{1e-9, "ns"},   unit_scale{1e-6, "us"}, unit_scale{1e-3, "ms"},
                                        unit_scale{1, "s"},       unit_scale{60, "min"},  unit_scale{3600, "h"},
                                        unit_scale{86400, "days"}};

constexpr double magnitude(double x) { return x < 0 ? -x : x; }

/// Rounded to the nearest whole number; only below 2^53.
constexpr std::int64_t nearest_whole(double x) { return static_cast<std::int64_t>(x + 0.5); }

/// The digits of a whole number, grouped from five digits on: 4096, 131,072.
constexpr quantity_text grouped(std::uint64_t number, std::uint64_t group_from = 10'000) {
    char reversed[32]{};
    std::size_t length = 0;
    const bool groups = number >= group_from;
    for (std::size_t digits = 0; digits == 0 || number != 0; ++digits) {
        if (groups && digits > 0 && digits % 3 == 0) reversed[length++] = ',';
        reversed[length++] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
    quantity_text made{};
    for (std::size_t i = 0; i < length; ++i) made.characters[i] = reversed[length - 1 - i];
    return made;
}

constexpr std::uint64_t magnitude(std::int64_t n) {
    return n < 0 ? ~static_cast<std::uint64_t>(n) + 1 : static_cast<std::uint64_t>(n);
}

/// A magnitude below 10,000 with `decimals` digits after the point; without trailing zeros if it is exact.
constexpr quantity_text fixed(double x, int decimals) {
    double power = 1;
    for (int i = 0; i < decimals; ++i) power *= 10;
    std::int64_t scaled = nearest_whole(x * power);
    if (static_cast<double>(scaled) / power == x)
        for (; decimals > 0 && scaled % 10 == 0; --decimals) scaled /= 10;
    char reversed[32]{};
    std::size_t length = 0;
    for (int i = 0; i <= decimals || scaled != 0; ++i) {
        if (i > 0 && i == decimals) reversed[length++] = '.';
        reversed[length++] = static_cast<char>('0' + scaled % 10);
        scaled /= 10;
    }
    quantity_text made{};
    for (std::size_t i = 0; i < length; ++i) made.characters[i] = reversed[length - 1 - i];
    return made;
}

/// How many digits after the point make three significant digits, at most two.
constexpr int decimals_of(double x) { return x < 9.995 ? 2 : x < 99.95 ? 1 : 0; }

/// A magnitude below 10,000 with three significant digits, or all digits before the point.
constexpr quantity_text digits_of(double x) {
    int decimals = decimals_of(x);
    double power = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
    while (decimals < 14 && x > 0 && nearest_whole(x * power) < 100) power *= 10, ++decimals;
    return fixed(x, decimals);
}

/// A number that is too large for every prefix: "1.23e+30".
constexpr quantity_text scientific(double x) {
    int exponent = 0;
    for (; x >= 9.995; x /= 10) ++exponent;
    quantity_text made = fixed(x, 2);
    made.append("e+");
    made.append(grouped(static_cast<std::uint64_t>(exponent)));
    return made;
}

/// A number with its sign, in the largest scale of which it is at least one.
template <std::size_t Size>
constexpr quantity_text scaled(double number, const std::array<unit_scale, Size>& scales, std::string_view unit = "") {
    quantity_text made{number < 0 ? "-" : ""};
    const double x = magnitude(number);
    std::size_t at = 0;
    const auto finish = [&] {
        if (!scales[at].name.empty() || !unit.empty()) made.append(" ");
        made.append(scales[at].name);
        made.append(unit);
        return made;
    };
    const auto back_to_plain = [&] {  // infinity and NaN have no prefix
        for (std::size_t i = 0; i < Size; ++i)
            if (scales[i].factor == 1) at = i;
    };
    if (x != x || x > (std::numeric_limits<double>::max)()) {
        made = x != x ? "nan" : number < 0 ? "-inf" : "inf";
        back_to_plain();
        return finish();
    }
    const auto next_is_due = [&] {  // 59.99 s is shown as 1.00 min, not as 60.0 s
        const double here = x / scales[at].factor;
        if (here > 1e6) return true;
        const double power = decimals_of(here) == 2 ? 100 : decimals_of(here) == 1 ? 10 : 1;
        const double step = scales[at + 1].factor / scales[at].factor;
        return static_cast<double>(nearest_whole(here * power)) / power >= step * (1 - 1e-9);
    };
    while (at + 1 < Size && next_is_due()) ++at;
    const double shown = x / scales[at].factor;
    if (shown >= 9999.5) {
        if (scales[0].factor == 1) back_to_plain();
        made.append(scientific(x / scales[at].factor));
    } else {
        made.append(digits_of(shown));
    }
    return finish();
}

template <std::size_t Size>
std::string scaled_text(double number, const std::array<unit_scale, Size>& scales, std::string_view unit = "") {
    return std::string{scaled(number, scales, unit).view()};
}

/// What follows a count at the end of its range, whose true value may lie beyond it.
template <class Unit>
constexpr std::string_view beyond(quantity<Unit, std::int64_t> q) {
    if (is_saturated(q)) return " or more";
    if (q.base() == (std::numeric_limits<std::int64_t>::min)()) return " or less";
    return "";
}

template <class Unit>
std::string all_digits(quantity<Unit, std::int64_t> q, std::string_view unit) {
    std::string made{q.base() < 0 ? "-" : ""};
    made += grouped(magnitude(q.base()), 1000).view();
    made += unit;
    made += beyond(q);
    return made;
}

/// Counts below a million with all digits, larger ones with a prefix: 4096, 131,072, "15 T".
template <class Unit>
std::string counted(quantity<Unit, std::int64_t> q, std::string_view unit) {
    std::string made;
    if (magnitude(q.base()) < 1'000'000) {
        made = q.base() < 0 ? "-" : "";
        made += grouped(magnitude(q.base())).view();
    } else {
        made = scaled_text(static_cast<double>(q.base()), spoken);
    }
    made += unit;
    made += beyond(q);
    return made;
}

}  // namespace detail

/// "79.6 GiB", or in powers of ten "85.5 GB"; below 1 KiB every byte.
inline std::string to_string(byte_count q, prefix prefixes = prefix::binary) {
    const auto number = static_cast<double>(q.base());
    std::string made = prefixes == prefix::binary ? detail::scaled_text(number, detail::binary_bytes)
                                                  : detail::scaled_text(number, detail::decimal, "B");
    return made.append(detail::beyond(q));
}
/// "128 KiB/token".
inline std::string to_string(bytes_per_token q, prefix prefixes = prefix::binary) {
    return to_string(byte_count::from_base(q.base()), prefixes) + "/token";
}
/// "8.03 B": thousands K, millions M, billions B, trillions T.
inline std::string to_string(parameter_count q) {
    return detail::scaled_text(static_cast<double>(q.base()), detail::spoken).append(detail::beyond(q));
}
/// "4096 tokens", "131,072 tokens", "15 T tokens".
inline std::string to_string(token_count q) { return detail::counted(q, q == tokens(1) ? " token" : " tokens"); }
/// "8 bits".
inline std::string to_string(bit_count q) { return detail::counted(q, q == bits(1) ? " bit" : " bits"); }

/// "85,899,345,920 B".
inline std::string to_string(byte_count q, exactly_t) { return detail::all_digits(q, " B"); }
/// "131,072 B/token".
inline std::string to_string(bytes_per_token q, exactly_t) { return detail::all_digits(q, " B/token"); }
/// "8,030,261,248".
inline std::string to_string(parameter_count q, exactly_t) { return detail::all_digits(q, ""); }
/// "131,072 tokens".
inline std::string to_string(token_count q, exactly_t) {
    return detail::all_digits(q, q == tokens(1) ? " token" : " tokens");
}

/// "3.35 TB/s"; rates are decimal, as vendors print them.
inline std::string to_string(byte_rate q) { return detail::scaled_text(q.base(), detail::decimal, "B/s"); }
/// "989 TFLOP/s".
inline std::string to_string(flop_rate q) { return detail::scaled_text(q.base(), detail::decimal, "FLOP/s"); }
/// "15.2 TFLOP".
inline std::string to_string(flop_count q) { return detail::scaled_text(q.base(), detail::decimal, "FLOP"); }
/// "1.98 GHz".
inline std::string to_string(frequency q) { return detail::scaled_text(q.base(), detail::decimal, "Hz"); }
/// "700 W".
inline std::string to_string(power q) { return detail::scaled_text(q.base(), detail::decimal, "W"); }
/// "3.6 MJ".
inline std::string to_string(energy q) { return detail::scaled_text(q.base(), detail::decimal, "J"); }

/// "12.3 ms", "51 s", "2.5 min", "3.75 h", "8.68 days".
inline std::string to_string(duration q) {
    if (q.base() == 0) return "0 s";
    return detail::scaled_text(q.base(), detail::time_scales);
}
/// "12.3 tokens/s", "1234 tokens/s", "56,789 tokens/s".
inline std::string to_string(token_rate q) {
    const double x = detail::magnitude(q.base());
    if (!(x >= 999.5 && x < 1e6)) return detail::scaled_text(q.base(), detail::spoken) + " tokens/s";
    return std::string{q.base() < 0 ? "-" : ""} +
           std::string{detail::grouped(static_cast<std::uint64_t>(detail::nearest_whole(x))).view()} + " tokens/s";
}
/// In the caller's currency, whose name is not known here: "27,500.00", "2.50", and three digits below 1: "0.00025".
inline std::string to_string(money q) {
    const double x = detail::magnitude(q.base());
    if (!(x >= 0.995 && x < 1e15)) return detail::scaled_text(q.base(), std::array{detail::unit_scale{1, ""}});
    const auto cents = static_cast<std::uint64_t>(detail::nearest_whole(x * 100));
    std::string made{q.base() < 0 ? "-" : ""};
    made += detail::grouped(cents / 100).view();
    made += '.';
    made += static_cast<char>('0' + cents / 10 % 10);
    made += static_cast<char>('0' + cents % 10);
    return made;
}

}  // namespace llmres::inline v0
