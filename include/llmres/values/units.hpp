// SPDX-License-Identifier: MIT
#pragma once

#include <cfloat>
#include <compare>
#include <concepts>
#include <cstdint>
#include <llmres/values/dimensions.hpp>
#include <llmres/values/error.hpp>
#include <type_traits>

/// Quantities: bytes, tokens, parameters, FLOPs, seconds, watts, kilograms and money, which never mix.
///
///     constexpr byte_count  memory = gib(80);           // in: a maker names the unit
///     constexpr double      big    = memory.in(gb);     // out: so does .in()
///     constexpr byte_count  cache  = kv_bytes_per_token * tokens(4096);
///     constexpr duration    read   = cache / gb_per_s(3350);
///
/// Dimensions are Boost.Units': lists of base dimensions with exponents. The value is ours
/// (docs/decisions/0001-quantity.md says why); values/boost_units.hpp converts to and from Boost's quantities. Counts
/// are std::int64_t and exact; rates, times, energy and money are double. Integer sums and products that would overflow
/// saturate at the largest value instead of wrapping: a size never turns small by growing (see is_saturated()).
namespace llmres::inline v0 {

// ---- quantity -------------------------------------------------------------------------------------------------------

template <class Rep>
concept arithmetic = (std::integral<Rep> && !std::same_as<Rep, bool>) || std::floating_point<Rep>;

/// What stands in a compiler's message when a line is refused; docs/troubleshooting.md explains each.
namespace refusal {

struct different_units_neither_add_nor_compare {};
struct a_count_times_a_fraction_must_say_how_it_rounds {};  // scaled_up, scaled_down
struct a_count_divided_must_say_how_it_rounds {};           // div_up, div_down, times_in, ratio
struct a_count_is_made_of_whole_numbers {};                 // gib(1) + mib(512), or scaled_up(gib(1), 1.5)

}  // namespace refusal

namespace detail {

/// The least and the largest number of a type. (<limits> has them, too; it would be a fortieth of what plan.hpp costs.)
template <std::integral Number>
inline constexpr Number least =
    static_cast<Number>(std::signed_integral<Number> ? std::make_unsigned_t<Number>{1} << (8 * sizeof(Number) - 1) : 0);
template <class Number>
inline constexpr Number largest = static_cast<Number>(~least<Number>);
template <>
inline constexpr float largest<float> = FLT_MAX;
template <>
inline constexpr double largest<double> = DBL_MAX;
template <>
inline constexpr long double largest<long double> = LDBL_MAX;

/// The end of the range across from a sign: the smallest number, with every bit turned where the sign is negative.
template <std::signed_integral Rep>
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
// Clang would compute the end beside every sum and select one of them. GCC's code is smaller without the call.
[[gnu::cold, gnu::noinline, clang::preserve_most]]
#endif
constexpr Rep end_across_from(Rep sign) {
    return static_cast<Rep>(least<Rep> ^ (sign >> (8 * sizeof(Rep) - 1)));
}

// Counts are signed. A sum or difference that leaves the range comes back in on the other side, with the other sign; a
// product has the sign of its factors' exclusive or. One statement each, since constant expressions are limited by
// their number; of a probability of 0, as GCC makes small what it takes to be never executed, and takes
// __builtin_expect for a tenth. nvcc has no builtins for this in constant expressions.
#ifndef __CUDACC__
// The result is a parameter, as each statement is a step of a constant expression, and most steps are sums.
template <std::signed_integral Rep>
constexpr Rep sum(Rep a, Rep b, Rep r = {}) {
    return __builtin_expect_with_probability(__builtin_add_overflow(a, b, &r), 0, 1.0) ? end_across_from(r) : r;
}
template <std::signed_integral Rep>
constexpr Rep difference(Rep a, Rep b, Rep r = {}) {
    return __builtin_expect_with_probability(__builtin_sub_overflow(a, b, &r), 0, 1.0) ? end_across_from(r) : r;
}
template <std::signed_integral Rep>
constexpr Rep product(Rep a, Rep b, Rep r = {}) {
    return __builtin_expect_with_probability(__builtin_mul_overflow(a, b, &r), 0, 1.0)
               ? end_across_from(static_cast<Rep>(~(a ^ b)))
               : r;
}
#else
template <std::signed_integral Rep>
constexpr Rep sum(Rep a, Rep b) {
    using bits = std::make_unsigned_t<Rep>;
    const Rep r = static_cast<Rep>(static_cast<bits>(a) + static_cast<bits>(b));
    return (b >= 0 ? r < a : r > a) ? end_across_from(r) : r;
}
template <std::signed_integral Rep>
constexpr Rep difference(Rep a, Rep b) {
    using bits = std::make_unsigned_t<Rep>;
    const Rep r = static_cast<Rep>(static_cast<bits>(a) - static_cast<bits>(b));
    return (b >= 0 ? r > a : r < a) ? end_across_from(r) : r;
}
template <std::signed_integral Rep>
constexpr Rep product(Rep a, Rep b) {
    using size = std::make_unsigned_t<Rep>;
    const size x = a < 0 ? size{} - static_cast<size>(a) : static_cast<size>(a);
    const size y = b < 0 ? size{} - static_cast<size>(b) : static_cast<size>(b);
    const size most = static_cast<size>(largest<Rep>) + ((a < 0) != (b < 0) ? 1 : 0);
    if (x != 0 && y > most / x) return end_across_from(static_cast<Rep>(~(a ^ b)));
    return static_cast<Rep>(static_cast<size>(a) * static_cast<size>(b));
}
#endif
template <std::floating_point Rep>
constexpr Rep sum(Rep a, Rep b) {
    return a + b;
}
template <std::floating_point Rep>
constexpr Rep difference(Rep a, Rep b) {
    return a - b;
}
template <std::floating_point Rep>
constexpr Rep product(Rep a, Rep b) {
    return a * b;
}

/// Says that a bare number is in the base unit of a quantity.
struct in_base {};

}  // namespace detail

/// A number with a unit. Trivially copyable and structural; zero unless made by a maker.
template <class Unit, arithmetic Rep>
struct quantity {
    using unit = Unit;  ///< its unit
    using rep = Rep;    ///< the type of its number

    Rep number_{};  ///< public only because template arguments demand it: use a maker and .in()

    constexpr quantity() = default;  ///< zero
    /// The bare number in the base unit. (A constructor: a function that calls it takes three steps of a constant
    /// expression, not one.)
    constexpr quantity(Rep number, detail::in_base) : number_{number} {}
    /// The bare number in the base unit. Prefer makers; this is for generic code.
    static constexpr quantity from_base(Rep number) { return {number, detail::in_base{}}; }
    /// The number in the base unit.
    constexpr Rep base() const { return number_; }

    /// The largest quantity that the number type holds.
    static constexpr quantity(max)() { return from_base(detail::largest<Rep>); }

    /// The number in the maker's unit: exact integer in the base unit of a count, double in any other.
    template <class Maker>
        requires std::same_as<typename Maker::unit, Unit>
    constexpr auto in(const Maker& maker) const {
        return maker.number_in(*this);
    }

    friend constexpr auto operator<=>(const quantity&, const quantity&) = default;
    friend constexpr bool operator==(const quantity&, const quantity&) = default;
    // What follows from <=> takes several times as many steps of a constant expression.
    friend constexpr bool operator<(const quantity& a, const quantity& b) { return a.number_ < b.number_; }
    friend constexpr bool operator>(const quantity& a, const quantity& b) { return a.number_ > b.number_; }
    friend constexpr bool operator<=(const quantity& a, const quantity& b) { return a.number_ <= b.number_; }
    friend constexpr bool operator>=(const quantity& a, const quantity& b) { return a.number_ >= b.number_; }

    // Neither sum nor difference is a template: the compiler need not look at those that refuse other units.
    /// The sum; a count stays at the end of its range instead of leaving 64 bits.
    friend constexpr quantity operator+(quantity a, quantity b) {
        return a.number_ = detail::sum(a.number_, b.number_), a;
    }
    /// The difference; a count stays at the end of its range instead of leaving 64 bits.
    friend constexpr quantity operator-(quantity a, quantity b) {
        return a.number_ = detail::difference(a.number_, b.number_), a;
    }
    /// Adds another quantity of the same unit.
    constexpr quantity& operator+=(quantity other) { return number_ = detail::sum(number_, other.number_), *this; }
    /// Adds another quantity of the same unit. (Most sums of times: no call for what saturates nothing.)
    constexpr quantity& operator+=(quantity other)
        requires std::floating_point<Rep>
    {
        return number_ += other.number_, *this;
    }
    /// Subtracts another quantity of the same unit.
    constexpr quantity& operator-=(quantity other) {
        return number_ = detail::difference(number_, other.number_), *this;
    }
};

namespace detail {

[[gnu::noinline]] constexpr std::int64_t ceil_quotient_of_any(std::int64_t a, std::int64_t b) {
    if (b <= 0) return a > 0 ? largest<std::int64_t> : a < 0 ? least<std::int64_t> : 0;
    return a / b + (a % b > 0 ? 1 : 0);
}
/// ceil_quotient() by the size of a block, which the compiler knows or which is a power of two as a rule: compiled
/// where it is called.
constexpr std::int64_t ceil_quotient_of_blocks(std::int64_t a, std::int64_t b) {
    // A shift is tens of cycles faster than a division.
    if (a >= 0 && b > 0 && (b & (b - 1)) == 0)
        return (a >> __builtin_ctzll(static_cast<unsigned long long>(b))) + ((a & (b - 1)) != 0 ? 1 : 0);
    return ceil_quotient_of_any(a, b);
}
[[gnu::noinline]] constexpr std::int64_t ceil_quotient_of_ranks(std::int64_t a, std::int64_t b) {
    return ceil_quotient_of_blocks(a, b);
}
/// a / b, rounded up; b is not negative. A division by 0 gives the end of the range on the side of a, and 0 for a = 0.
/// Most divisors are degrees of parallelism, and most of these are 1.
constexpr std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) {
    return b == 1 ? a : ceil_quotient_of_ranks(a, b);
}
constexpr std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
    if (b <= 0) return ceil_quotient(a, b);
    return a / b - (a % b < 0 ? 1 : 0);
}

/// A divisor of many counts: what ceil_quotient() asks of it is asked once.
class prepared_divisor {
public:
    constexpr explicit prepared_divisor(std::int64_t divisor)
        : divisor_{divisor},
          low_bits_{divisor > 0 && (divisor & (divisor - 1)) == 0 ? divisor - 1 : -1},
          shift_{low_bits_ >= 0 ? __builtin_ctzll(static_cast<unsigned long long>(divisor)) : 0} {}

    /// ceil_quotient() of a count.
    constexpr std::int64_t quotient_up(std::int64_t count) const {
        if ((count | low_bits_) < 0) return ceil_quotient_of_any(count, divisor_);
        return (count >> shift_) + ((count & low_bits_) != 0 ? 1 : 0);
    }

private:
    std::int64_t divisor_;
    std::int64_t low_bits_;  ///< of a count, what a power of two leaves as remainder; negative: it is no power of two
    int shift_;
};

/// A number in another type; a number beyond the range of that type becomes the end of the range.
template <arithmetic To, arithmetic From>
constexpr To saturated(From number) {
    return static_cast<To>(number);
}
template <arithmetic To, arithmetic From>
    requires std::unsigned_integral<From> && std::integral<To> && (sizeof(From) >= sizeof(To))
constexpr To saturated(From number) {
    constexpr auto most = static_cast<From>(largest<To>);
    return number > most ? largest<To> : static_cast<To>(number);
}

/// Bare numbers where the units cancel, quantities where they do not.
template <class Unit, class Rep>
    requires std::same_as<Unit, no_unit>
constexpr Rep with_unit(Rep number) {
    return number;
}
template <class Unit, class Rep>
constexpr quantity<Unit, Rep> with_unit(Rep number) {
    return {number, in_base{}};
}

template <class A, class B>
using common_rep = std::conditional_t<std::integral<A> && std::integral<B>, std::int64_t, double>;

}  // namespace detail

/// Quantities of different units neither add nor compare.
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
refusal::different_units_neither_add_nor_compare operator+(quantity<U, R>, quantity<V, S>) = delete;
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
refusal::different_units_neither_add_nor_compare operator-(quantity<U, R>, quantity<V, S>) = delete;
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
refusal::different_units_neither_add_nor_compare operator==(quantity<U, R>, quantity<V, S>) = delete;
template <class U, class R, class V, class S>
    requires(!std::same_as<U, V>)
refusal::different_units_neither_add_nor_compare operator<=>(quantity<U, R>, quantity<V, S>) = delete;

/// The product, in the product of the units.
template <class U, class R, class V, class S>
[[gnu::always_inline]] constexpr auto operator*(quantity<U, R> a, quantity<V, S> b) {
    return detail::with_unit<unit_product<U, V>>(detail::product(static_cast<detail::common_rep<R, S>>(a.number_),
                                                                 static_cast<detail::common_rep<R, S>>(b.number_)));
}
/// Division gives doubles. For counts say how to round: div_up, div_down, times_in; ratio() gives the plain quotient.
template <class U, class R, class V, class S>
    requires(std::floating_point<R> || std::floating_point<S>)
constexpr auto operator/(quantity<U, R> a, quantity<V, S> b) {
    return detail::with_unit<unit_quotient<U, V>>(static_cast<double>(a.base()) / static_cast<double>(b.base()));
}
template <class U, std::integral R, class V, std::integral S>
refusal::a_count_divided_must_say_how_it_rounds operator/(quantity<U, R>, quantity<V, S>) = delete;
template <class U, std::integral R, arithmetic N>
refusal::a_count_divided_must_say_how_it_rounds operator/(quantity<U, R>, N) = delete;

/// The quantity times a plain number.
template <class U, std::integral R, std::integral N>
[[gnu::always_inline]] constexpr quantity<U, R> operator*(quantity<U, R> q, N n) {
    return q.number_ = detail::product(q.number_, detail::saturated<R>(n)), q;
}
/// The quantity times a plain number.
template <class U, std::floating_point R, arithmetic N>
[[gnu::always_inline]] constexpr quantity<U, R> operator*(quantity<U, R> q, N n) {
    return q.number_ *= static_cast<R>(n), q;
}
/// The quantity times a plain number.
template <class U, class R, arithmetic N>
    requires(std::floating_point<R> || std::integral<N>)
[[gnu::always_inline]] constexpr quantity<U, R> operator*(N n, quantity<U, R> q) {
    return q * n;
}
/// A count scaled by a fraction must say how it rounds: scaled_up(q, x) or scaled_down(q, x).
template <class U, class R, std::floating_point N>
    requires std::integral<R>
refusal::a_count_times_a_fraction_must_say_how_it_rounds operator*(quantity<U, R>, N) = delete;
template <class U, class R, std::floating_point N>
    requires std::integral<R>
refusal::a_count_times_a_fraction_must_say_how_it_rounds operator*(N, quantity<U, R>) = delete;
/// The quantity divided by a number.
template <class U, std::floating_point R, arithmetic N>
constexpr quantity<U, R> operator/(quantity<U, R> q, N n) {
    return q.number_ = q.number_ / static_cast<R>(n), q;
}
/// A number divided by the quantity, in the inverse of its unit.
template <class U, std::floating_point R, arithmetic N>
constexpr auto operator/(N n, quantity<U, R> q) {
    return quantity<unit_quotient<no_unit, U>, R>::from_base(static_cast<R>(n) / q.base());
}

// ---- rounding, ratios, saturation -----------------------------------------------------------------------------------

/// a / b as a plain number; the units must agree.
template <class U, class R, class S>
constexpr double ratio(quantity<U, R> a, quantity<U, S> b) {
    return static_cast<double>(a.base()) / static_cast<double>(b.base());
}
/// q / n rounded up: the largest share of a count that is split n ways. n is not negative; n = 0 gives the end of the
/// range.
template <class U>
constexpr quantity<U, std::int64_t> div_up(quantity<U, std::int64_t> q, std::int64_t n) {
    return q.number_ = detail::ceil_quotient(q.number_, n), q;
}
namespace detail {
template <class U>
constexpr quantity<U, std::int64_t> div_up(quantity<U, std::int64_t> q, const prepared_divisor& n) {
    return q.number_ = n.quotient_up(q.number_), q;
}
}  // namespace detail
/// q / n rounded down: the smallest share of a count that is split n ways.
template <class U>
constexpr quantity<U, std::int64_t> div_down(quantity<U, std::int64_t> q, std::int64_t n) {
    return quantity<U, std::int64_t>::from_base(detail::floor_quotient(q.base(), n));
}
/// How many whole `part`s there are in `all`. For parts of zero it is the end of the range.
template <class U>
constexpr std::int64_t times_in(quantity<U, std::int64_t> part, quantity<U, std::int64_t> all) {
    return detail::floor_quotient(all.base(), part.base());
}
/// The least integer count that is not below q. Beyond 64 bits it is the end of the range, for NaN the upper end.
template <class U>
constexpr quantity<U, std::int64_t> rounded_up(quantity<U, double> q) {
    constexpr double end = 9223372036854775808.0;  // 2^63
    if (!(q.base() < end)) return (quantity<U, std::int64_t>::max)();
    if (!(q.base() > -end)) return quantity<U, std::int64_t>::from_base(detail::least<std::int64_t>);
    const auto whole = static_cast<std::int64_t>(q.base());
    return {whole + (static_cast<double>(whole) < q.base() ? 1 : 0), detail::in_base{}};
}
/// The greatest integer count that is not above q. Beyond 64 bits it is the end of the range, for NaN the upper end.
template <class U>
constexpr quantity<U, std::int64_t> rounded_down(quantity<U, double> q) {
    const auto up = rounded_up(q);
    const bool at_an_end = up == (quantity<U, std::int64_t>::max)() || up.base() == detail::least<std::int64_t>;
    return !at_an_end && static_cast<double>(up.base()) > q.base() ? quantity<U, std::int64_t>::from_base(up.base() - 1)
                                                                   : up;
}
/// How far `a` goes beyond `b`: their difference, and zero where `a` is not above `b`.
template <class U, class R>
constexpr quantity<U, R> beyond(quantity<U, R> a, quantity<U, R> b) {
    return a > b ? a - b : quantity<U, R>{};
}
/// A count as a double quantity of the same unit, for rates and times.
template <class U, class R>
constexpr quantity<U, double> approx(quantity<U, R> q) {
    return {static_cast<double>(q.number_), detail::in_base{}};
}
/// A count times a factor, rounded up. Computed in double unless the factor is 1, so that a product above 2^53 is exact
/// to 53 bits.
template <class U>
[[gnu::noinline]] constexpr quantity<U, std::int64_t> scaled_up(quantity<U, std::int64_t> q, double factor) {
    return factor == 1.0 ? q : rounded_up(approx(q) * factor);
}
/// A count times a factor, rounded down. As exact as scaled_up().
template <class U>
constexpr quantity<U, std::int64_t> scaled_down(quantity<U, std::int64_t> q, double factor) {
    return factor == 1.0 ? q : rounded_down(approx(q) * factor);
}
/// The smallest multiple of `granule` that is not below q. For a granule of zero it is the end of the range.
template <class U>
constexpr quantity<U, std::int64_t> aligned_up(quantity<U, std::int64_t> q, quantity<U, std::int64_t> granule) {
    if (granule.base() <= 0) return quantity<U, std::int64_t>::from_base(detail::ceil_quotient(q.base(), 0));
    return granule * detail::ceil_quotient_of_blocks(q.base(), granule.base());
}
/// True if the count is at the upper end of its range: the true value may be larger.
template <class U>
constexpr bool is_saturated(quantity<U, std::int64_t> q) {
    return q == (quantity<U, std::int64_t>::max)();
}
/// The product, or an `overflow` error that names the field and its factor.
template <class U>
constexpr result<quantity<U, std::int64_t>> checked_product(std::string_view field, quantity<U, std::int64_t> q,
                                                            std::int64_t n) {
    const auto made = q * n;
    const bool below = made.base() == detail::least<std::int64_t>;
    if (is_saturated(made) || below) return refused(error_code::overflow, field, n, "a product below 2^63");
    return made;
}

// ---- named quantities -----------------------------------------------------------------------------------------------

using byte_count = quantity<byte_unit, std::int64_t>;                 ///< whole bytes
using bit_count = quantity<bit_unit, std::int64_t>;                   ///< whole bits
using token_count = quantity<token_unit, std::int64_t>;               ///< whole tokens
using parameter_count = quantity<parameter_unit, std::int64_t>;       ///< whole parameters
using bytes_per_token = quantity<byte_per_token_unit, std::int64_t>;  ///< whole bytes for each token
using flop_count = quantity<flop_unit, double>;                       ///< double: a training run passes 2^63 FLOPs
using duration = quantity<second_unit, double>;                       ///< a time
using frequency = quantity<hertz_unit, double>;                       ///< a frequency
using byte_rate = quantity<byte_per_second_unit, double>;             ///< bytes a second
using flop_rate = quantity<flop_per_second_unit, double>;             ///< operations a second
using token_rate = quantity<token_per_second_unit, double>;           ///< tokens a second
using power = quantity<watt_unit, double>;                            ///< power
using energy = quantity<joule_unit, double>;                          ///< energy
using mass = quantity<kilogram_unit, double>;                         ///< a mass
using money = quantity<currency_unit, double>;                        ///< an amount of the caller's currency

// ---- makers ---------------------------------------------------------------------------------------------------------

/// Makes quantities from numbers in one named unit, and reads them back: `gib(80)`, `memory.in(gib)`.
/// The named unit is Numerator / Denominator base units.
template <class Quantity, std::int64_t Numerator = 1, std::int64_t Denominator = 1>
struct maker {
    using unit = typename Quantity::unit;  ///< the unit of what it makes
    using rep = typename Quantity::rep;    ///< the number type of what it makes

    /// The quantity of so many of the named unit. Counts are made from integers only: whoever has a fraction of a GiB
    /// must say how it rounds.
    template <arithmetic N>
        requires(std::floating_point<rep> || std::integral<N>)
    constexpr Quantity operator()(N number) const {
        if constexpr (Numerator == Denominator)
            return {detail::saturated<rep>(number), detail::in_base{}};
        else
            return Quantity::from_base(
                static_cast<rep>(detail::product(detail::saturated<rep>(number), static_cast<rep>(Numerator)) /
                                 static_cast<rep>(Denominator)));
    }
    template <std::floating_point N>
        requires std::integral<rep>
    refusal::a_count_is_made_of_whole_numbers operator()(N number) const = delete;
    /// The number in the named unit: an exact integer in the base unit of a count, otherwise a double.
    template <class R>
    constexpr auto number_in(quantity<unit, R> q) const {
        if constexpr (std::integral<R> && Numerator == 1)
            return q.number_;
        else
            return static_cast<double>(q.number_) * static_cast<double>(Denominator) / static_cast<double>(Numerator);
    }
};

inline constexpr maker<byte_count> bytes;                         ///< bytes
inline constexpr maker<byte_count, 1'000> kb;                     ///< 10^3 bytes
inline constexpr maker<byte_count, 1'000'000> mb;                 ///< 10^6 bytes
inline constexpr maker<byte_count, 1'000'000'000> gb;             ///< 10^9 bytes
inline constexpr maker<byte_count, 1'000'000'000'000> tb;         ///< 10^12 bytes
inline constexpr maker<byte_count, (std::int64_t{1} << 10)> kib;  ///< 2^10 bytes
inline constexpr maker<byte_count, (std::int64_t{1} << 20)> mib;  ///< 2^20 bytes
inline constexpr maker<byte_count, (std::int64_t{1} << 30)> gib;  ///< 2^30 bytes
inline constexpr maker<byte_count, (std::int64_t{1} << 40)> tib;  ///< 2^40 bytes
inline constexpr maker<bit_count> bits;                           ///< bits
inline constexpr maker<token_count> tokens;                       ///< tokens
inline constexpr maker<parameter_count> parameters;               ///< parameters
inline constexpr maker<bytes_per_token> bytes_a_token;            ///< bytes for each token
inline constexpr maker<flop_count> flops;                         ///< floating-point operations
inline constexpr maker<duration> seconds;                         ///< seconds
inline constexpr maker<duration, 1, 1'000> milliseconds;          ///< milliseconds
inline constexpr maker<duration, 1, 1'000'000> microseconds;      ///< microseconds
inline constexpr maker<duration, 3'600> hours;                    ///< hours
inline constexpr maker<frequency> hertz;                          ///< hertz
inline constexpr maker<frequency, 1'000'000> mhz;                 ///< megahertz
inline constexpr maker<byte_rate> bytes_per_s;                    ///< bytes a second
inline constexpr maker<byte_rate, 1'000'000'000> gb_per_s;        ///< 10^9 bytes a second
inline constexpr maker<flop_rate> flops_per_s;                    ///< operations a second
inline constexpr maker<flop_rate, 1'000'000'000'000>
    tflops;                                       ///< 10^12 operations a second, integer ones (TOPS) included
inline constexpr maker<token_rate> tokens_per_s;  ///< tokens a second
inline constexpr maker<power> watts;              ///< watts
inline constexpr maker<energy> joules;            ///< joules
inline constexpr maker<energy, 3'600'000> kwh;    ///< kilowatt-hours
inline constexpr maker<mass> kilograms;           ///< kilograms
inline constexpr maker<money> currency;           ///< the caller's currency

// ---- bits and bytes, exact ------------------------------------------------------------------------------------------

/// The bits of so many bytes.
constexpr bit_count to_bits(byte_count q) { return bits(detail::product<std::int64_t>(q.base(), 8)); }
/// Whole bytes that hold the bits.
constexpr byte_count to_bytes_up(bit_count q) { return bytes(detail::ceil_quotient_of_blocks(q.base(), 8)); }
/// The bytes, or an error if the bits are no whole number of them.
constexpr result<byte_count> to_bytes_exact(bit_count q) {
    if (q.base() % 8 != 0) return refused(error_code::inconsistent, "bits", q.base(), "a multiple of 8");
    return bytes(q.base() / 8);
}

}  // namespace llmres::inline v0
