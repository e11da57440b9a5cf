// SPDX-License-Identifier: MIT
#pragma once

#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/base_units/information/bit.hpp>
#include <boost/units/base_units/si/kilogram.hpp>
#include <boost/units/base_units/si/meter.hpp>
#include <boost/units/base_units/si/second.hpp>
#include <boost/units/is_dimensionless.hpp>
#include <boost/units/make_system.hpp>
#include <boost/units/physical_dimensions/energy.hpp>
#include <boost/units/physical_dimensions/information.hpp>
#include <boost/units/physical_dimensions/power.hpp>
#include <boost/units/unit.hpp>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <llmres/error.hpp>
#include <type_traits>

/// Quantities: bytes, tokens, parameters, FLOPs, seconds, watts and money, which never mix.
///
///     constexpr byte_count  memory = gib(80);           // in: a maker names the unit
///     constexpr double      big    = memory.in(gb);     // out: so does .in()
///     constexpr byte_count  cache  = kv_bytes_per_token * tokens(4096);
///     constexpr duration    read   = cache / gb_per_s(3350);
///
/// Dimensions and units are Boost.Units'; the value is ours (docs/decisions/0001-quantity.md says why). Counts are
/// std::int64_t and exact; rates, times, energy and money are double. Integer sums and products that would overflow
/// saturate at the largest value instead of wrapping: a size never turns small by growing (see is_saturated()).
namespace llmres {

// ---- dimensions and units -------------------------------------------------------------------------------------------

struct flop_dimension : boost::units::base_dimension<flop_dimension, 7301> {};
struct token_dimension : boost::units::base_dimension<token_dimension, 7302> {};
struct parameter_dimension : boost::units::base_dimension<parameter_dimension, 7303> {};
struct currency_dimension : boost::units::base_dimension<currency_dimension, 7304> {};

/// Our byte is a base unit on Boost's information dimension (Boost's own is 2^3 bits, scaled in double).
struct byte_base_unit : boost::units::base_unit<byte_base_unit, boost::units::information_dimension, 7300> {};
struct flop_base_unit : boost::units::base_unit<flop_base_unit, flop_dimension::dimension_type, 7301> {};
struct token_base_unit : boost::units::base_unit<token_base_unit, token_dimension::dimension_type, 7302> {};
struct parameter_base_unit : boost::units::base_unit<parameter_base_unit, parameter_dimension::dimension_type, 7303> {};
/// One unit of the caller's currency: prices are inputs, and this library never converts between currencies.
struct currency_base_unit : boost::units::base_unit<currency_base_unit, currency_dimension::dimension_type, 7304> {};

using unit_system =
    boost::units::make_system<byte_base_unit, flop_base_unit, token_base_unit, parameter_base_unit, currency_base_unit,
                              boost::units::si::second_base_unit, boost::units::si::meter_base_unit,
                              boost::units::si::kilogram_base_unit>::type;

template <class Dimension>
using unit_of = boost::units::unit<Dimension, unit_system>;
template <class A, class B>
using unit_product = typename boost::units::multiply_typeof_helper<A, B>::type;
template <class A, class B>
using unit_quotient = typename boost::units::divide_typeof_helper<A, B>::type;

using byte_unit = unit_of<boost::units::information_dimension>;
using flop_unit = unit_of<flop_dimension::dimension_type>;
using token_unit = unit_of<token_dimension::dimension_type>;
using parameter_unit = unit_of<parameter_dimension::dimension_type>;
using currency_unit = unit_of<currency_dimension::dimension_type>;
using second_unit = unit_of<boost::units::time_dimension>;
using joule_unit = unit_of<boost::units::energy_dimension>;
using watt_unit = unit_of<boost::units::power_dimension>;
/// Bits stand in a system of their own, so that they convert to bytes only by name: to_bytes_exact, to_bytes_up.
using bit_unit = boost::units::unit<boost::units::information_dimension,
                                    boost::units::make_system<boost::units::information::bit_base_unit>::type>;

// ---- quantity -------------------------------------------------------------------------------------------------------

template <class Rep>
concept arithmetic = std::integral<Rep> || std::floating_point<Rep>;

/// A number with a unit. Trivially copyable and structural; zero unless made by a maker.
template <class Unit, arithmetic Rep>
struct quantity {
    using unit = Unit;
    using rep = Rep;

    Rep hands_off_{};  ///< public only because template arguments demand it: use a maker and .in()

    constexpr quantity() = default;
    /// The bare number in the base unit. Prefer makers; this is for generic code.
    static constexpr quantity from_base(Rep number) {
        quantity made;
        made.hands_off_ = number;
        return made;
    }
    constexpr Rep base() const { return hands_off_; }

    static constexpr quantity max() { return from_base(std::numeric_limits<Rep>::max()); }

    /// The number in the maker's unit: exact integer in the base unit of a count, double in any other.
    template <class Maker>
        requires std::same_as<typename Maker::unit, Unit>
    constexpr auto in(const Maker& maker) const {
        return maker.number_in(*this);
    }

    friend constexpr auto operator<=>(const quantity&, const quantity&) = default;
    friend constexpr bool operator==(const quantity&, const quantity&) = default;

    constexpr quantity& operator+=(quantity other) { return *this = *this + other; }
    constexpr quantity& operator-=(quantity other) { return *this = *this - other; }
};

namespace detail {

template <arithmetic Rep>
constexpr Rep sum(Rep a, Rep b) {
    if constexpr (std::integral<Rep>) {
        Rep r{};
        if (__builtin_add_overflow(a, b, &r)) return b < 0 ? std::numeric_limits<Rep>::min() : std::numeric_limits<Rep>::max();
        return r;
    } else {
        return a + b;
    }
}

template <arithmetic Rep>
constexpr Rep product(Rep a, Rep b) {
    if constexpr (std::integral<Rep>) {
        Rep r{};
        if (__builtin_mul_overflow(a, b, &r))
            return (a < 0) == (b < 0) ? std::numeric_limits<Rep>::max() : std::numeric_limits<Rep>::min();
        return r;
    } else {
        return a * b;
    }
}

constexpr std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

/// Bare numbers where the units cancel, quantities where they do not.
template <class Unit, class Rep>
constexpr auto with_unit(Rep number) {
    if constexpr (boost::units::is_dimensionless<Unit>::value)
        return number;
    else
        return quantity<Unit, Rep>::from_base(number);
}

template <class A, class B>
using common_rep = std::conditional_t<std::integral<A> && std::integral<B>, std::int64_t, double>;

}  // namespace detail

template <class U, class R>
constexpr quantity<U, R> operator+(quantity<U, R> a, quantity<U, R> b) {
    return quantity<U, R>::from_base(detail::sum(a.base(), b.base()));
}
template <class U, class R>
constexpr quantity<U, R> operator-(quantity<U, R> a, quantity<U, R> b) {
    return quantity<U, R>::from_base(detail::sum(a.base(), static_cast<R>(-b.base())));
}
/// Quantities of different units neither add nor compare.
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
void operator+(quantity<U, R>, quantity<V, S>) = delete;
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
void operator-(quantity<U, R>, quantity<V, S>) = delete;
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
bool operator==(quantity<U, R>, quantity<V, S>) = delete;
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
std::strong_ordering operator<=>(quantity<U, R>, quantity<V, S>) = delete;

template <class U, class R, class V, class S>
constexpr auto operator*(quantity<U, R> a, quantity<V, S> b) {
    using rep = detail::common_rep<R, S>;
    return detail::with_unit<unit_product<U, V>>(detail::product(static_cast<rep>(a.base()), static_cast<rep>(b.base())));
}
/// Division gives doubles. For counts say how to round: div_up, div_down; ratio() gives the plain quotient.
template <class U, class R, class V, class S>
    requires(std::floating_point<R> || std::floating_point<S>)
constexpr auto operator/(quantity<U, R> a, quantity<V, S> b) {
    return detail::with_unit<unit_quotient<U, V>>(static_cast<double>(a.base()) / static_cast<double>(b.base()));
}

template <class U, class R, arithmetic N>
    requires(std::floating_point<R> || std::integral<N>)
constexpr quantity<U, R> operator*(quantity<U, R> q, N n) {
    return quantity<U, R>::from_base(detail::product(q.base(), static_cast<R>(n)));
}
template <class U, class R, arithmetic N>
    requires(std::floating_point<R> || std::integral<N>)
constexpr quantity<U, R> operator*(N n, quantity<U, R> q) {
    return q * n;
}
/// A count scaled by a fraction must say how it rounds: scaled_up(q, x) or scaled_down(q, x).
template <class U, class R, std::floating_point N>
    requires std::integral<R>
void operator*(quantity<U, R>, N) = delete;
template <class U, class R, std::floating_point N>
    requires std::integral<R>
void operator*(N, quantity<U, R>) = delete;
template <class U, std::floating_point R, arithmetic N>
constexpr quantity<U, R> operator/(quantity<U, R> q, N n) {
    return quantity<U, R>::from_base(q.base() / static_cast<R>(n));
}
template <class U, std::floating_point R, arithmetic N>
constexpr auto operator/(N n, quantity<U, R> q) {
    return quantity<unit_quotient<unit_of<boost::units::dimensionless_type>, U>, R>::from_base(static_cast<R>(n) / q.base());
}

// ---- rounding, ratios, saturation -----------------------------------------------------------------------------------

/// a / b as a plain number; the units must agree.
template <class U, class R, class S>
constexpr double ratio(quantity<U, R> a, quantity<U, S> b) {
    return static_cast<double>(a.base()) / static_cast<double>(b.base());
}
/// A count split n ways: the largest share.
template <class U>
constexpr quantity<U, std::int64_t> div_up(quantity<U, std::int64_t> q, std::int64_t n) {
    return quantity<U, std::int64_t>::from_base(detail::ceil_quotient(q.base(), n));
}
template <class U>
constexpr quantity<U, std::int64_t> div_down(quantity<U, std::int64_t> q, std::int64_t n) {
    return quantity<U, std::int64_t>::from_base(q.base() / n);
}
/// How many whole `part`s there are in `all`.
template <class U>
constexpr std::int64_t times_in(quantity<U, std::int64_t> part, quantity<U, std::int64_t> all) {
    return all.base() / part.base();
}
/// The double nearest above as an integer count, saturated.
template <class U>
constexpr quantity<U, std::int64_t> rounded_up(quantity<U, double> q) {
    constexpr double limit = 9223372036854774784.0;  // the largest double below 2^63
    if (!(q.base() < limit)) return quantity<U, std::int64_t>::max();
    if (!(q.base() > -limit)) return quantity<U, std::int64_t>::from_base(std::numeric_limits<std::int64_t>::min());
    const auto whole = static_cast<std::int64_t>(q.base());
    return quantity<U, std::int64_t>::from_base(whole + (static_cast<double>(whole) < q.base() ? 1 : 0));
}
template <class U>
constexpr quantity<U, std::int64_t> rounded_down(quantity<U, double> q) {
    const auto up = rounded_up(q);
    return static_cast<double>(up.base()) > q.base() && up != quantity<U, std::int64_t>::max()
               ? quantity<U, std::int64_t>::from_base(up.base() - 1)
               : up;
}
/// A count as a double quantity of the same unit, for rates and times.
template <class U, class R>
constexpr quantity<U, double> approx(quantity<U, R> q) {
    return quantity<U, double>::from_base(static_cast<double>(q.base()));
}
template <class U>
constexpr quantity<U, std::int64_t> scaled_up(quantity<U, std::int64_t> q, double factor) {
    return rounded_up(approx(q) * factor);
}
template <class U>
constexpr quantity<U, std::int64_t> scaled_down(quantity<U, std::int64_t> q, double factor) {
    return rounded_down(approx(q) * factor);
}
/// The smallest multiple of `granule` that is not below q.
template <class U>
constexpr quantity<U, std::int64_t> aligned_up(quantity<U, std::int64_t> q, quantity<U, std::int64_t> granule) {
    return granule * detail::ceil_quotient(q.base(), granule.base());
}
/// True if the count hit the end of its range: the true value is larger.
template <class U>
constexpr bool is_saturated(quantity<U, std::int64_t> q) {
    return q == quantity<U, std::int64_t>::max();
}
/// The product, or an `overflow` error that names the field.
template <class U>
constexpr result<quantity<U, std::int64_t>> checked_product(std::string_view field, quantity<U, std::int64_t> q,
                                                            std::int64_t n) {
    const auto made = q * n;
    if (is_saturated(made)) return refused(error_code::overflow, field, n, "a product below 2^63");
    return made;
}

// ---- named quantities -----------------------------------------------------------------------------------------------

using byte_count = quantity<byte_unit, std::int64_t>;
using bit_count = quantity<bit_unit, std::int64_t>;
using token_count = quantity<token_unit, std::int64_t>;
using parameter_count = quantity<parameter_unit, std::int64_t>;
using bytes_per_token = quantity<unit_quotient<byte_unit, token_unit>, std::int64_t>;
using flop_count = quantity<flop_unit, double>;  ///< double: a training run passes 2^63 FLOPs
using duration = quantity<second_unit, double>;
using frequency = quantity<unit_quotient<unit_of<boost::units::dimensionless_type>, second_unit>, double>;
using byte_rate = quantity<unit_quotient<byte_unit, second_unit>, double>;
using flop_rate = quantity<unit_quotient<flop_unit, second_unit>, double>;
using token_rate = quantity<unit_quotient<token_unit, second_unit>, double>;
using power = quantity<watt_unit, double>;
using energy = quantity<joule_unit, double>;
using money = quantity<currency_unit, double>;

// ---- makers ---------------------------------------------------------------------------------------------------------

/// Makes quantities from numbers in one named unit, and reads them back: `gib(80)`, `memory.in(gib)`.
/// One of the unit is Numerator / Denominator base units.
template <class Quantity, std::int64_t Numerator = 1, std::int64_t Denominator = 1>
struct maker {
    using unit = typename Quantity::unit;
    using rep = typename Quantity::rep;

    /// Counts are made from integers only; whoever has a fraction of a GiB must say how it rounds.
    template <arithmetic N>
        requires(std::floating_point<rep> || std::integral<N>)
    constexpr Quantity operator()(N number) const {
        const auto scaled = detail::product(static_cast<rep>(number), static_cast<rep>(Numerator));
        return Quantity::from_base(static_cast<rep>(scaled / static_cast<rep>(Denominator)));
    }
    /// Exact in the base unit of a count; double otherwise.
    template <class R>
    constexpr auto number_in(quantity<unit, R> q) const {
        if constexpr (std::integral<R> && Numerator == 1)
            return q.base();
        else
            return static_cast<double>(q.base()) * static_cast<double>(Denominator) / static_cast<double>(Numerator);
    }
};

inline constexpr maker<byte_count> bytes;
inline constexpr maker<byte_count, 1'000> kb;
inline constexpr maker<byte_count, 1'000'000> mb;
inline constexpr maker<byte_count, 1'000'000'000> gb;
inline constexpr maker<byte_count, 1'000'000'000'000> tb;
inline constexpr maker<byte_count, (std::int64_t{1} << 10)> kib;
inline constexpr maker<byte_count, (std::int64_t{1} << 20)> mib;
inline constexpr maker<byte_count, (std::int64_t{1} << 30)> gib;
inline constexpr maker<byte_count, (std::int64_t{1} << 40)> tib;
inline constexpr maker<bit_count> bits;
inline constexpr maker<token_count> tokens;
inline constexpr maker<parameter_count> parameters;
inline constexpr maker<bytes_per_token> bytes_a_token;
inline constexpr maker<flop_count> flops;
inline constexpr maker<duration> seconds;
inline constexpr maker<duration, 1, 1'000> milliseconds;
inline constexpr maker<duration, 1, 1'000'000> microseconds;
inline constexpr maker<duration, 3'600> hours;
inline constexpr maker<frequency> hertz;
inline constexpr maker<frequency, 1'000'000> mhz;
inline constexpr maker<byte_rate> bytes_per_s;
inline constexpr maker<byte_rate, 1'000'000'000> gb_per_s;
inline constexpr maker<flop_rate> flops_per_s;
inline constexpr maker<flop_rate, 1'000'000'000'000> tflops;  ///< 10^12 operations a second, integer ones (TOPS) included
inline constexpr maker<token_rate> tokens_per_s;
inline constexpr maker<power> watts;
inline constexpr maker<energy> joules;
inline constexpr maker<money> currency;

// ---- bits and bytes, exact ------------------------------------------------------------------------------------------

constexpr bit_count to_bits(byte_count q) { return bits(detail::product<std::int64_t>(q.base(), 8)); }
/// Whole bytes that hold the bits.
constexpr byte_count to_bytes_up(bit_count q) { return bytes(detail::ceil_quotient(q.base(), 8)); }
/// The bytes, or an error if the bits are no whole number of them.
constexpr result<byte_count> to_bytes_exact(bit_count q) {
    if (q.base() % 8 != 0) return refused(error_code::inconsistent, "bits", q.base(), "a multiple of 8");
    return bytes(q.base() / 8);
}

}  // namespace llmres
