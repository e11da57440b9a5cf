// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

// Dimensions are types of Boost.Units, of which nothing here needs a member: they are declared, and Boost's headers
// are not included. They bring <string> and most of Boost.MPL, a sixth of what plan.hpp costs to include.
// values/boost_units.hpp includes them and checks that these declarations are theirs.
namespace boost::units {

template <class Item, class Next>
struct list;  ///< powers of base dimensions, in the order of their numbers
template <class Base, class Exponent>
struct dim;  ///< a base dimension to a power
template <long Numerator, long Denominator>
class static_rational;              ///< an exponent
struct dimensionless_type;          ///< the dimension of a plain number
struct information_base_dimension;  ///< bytes
struct length_base_dimension;       ///< metres
struct mass_base_dimension;         ///< kilograms
struct time_base_dimension;         ///< seconds

}  // namespace boost::units

/// What is measured, and in which unit: dimensions in Boost's terms, products and quotients of them, and the short
/// names of the units that quantities of values/units.hpp have.
namespace llmres::inline v0 {

// Base dimensions of this library; values/boost_units.hpp defines them as Boost's.
struct flop_dimension;
struct token_dimension;
struct parameter_dimension;
/// Amounts of the caller's currency: prices are inputs, and this library never converts between currencies.
struct currency_dimension;
/// Bits have a dimension of their own, so that they convert to bytes only by name: to_bytes_exact, to_bytes_up.
struct bit_dimension;

namespace detail {

/// The number of a base dimension, by which Boost sorts the powers in a list. Here for those that are only declared.
template <class Base>
inline constexpr long dimension_number = Base::value;
template <>
inline constexpr long dimension_number<boost::units::information_base_dimension> = -700;
template <>
inline constexpr long dimension_number<boost::units::length_base_dimension> = -9;
template <>
inline constexpr long dimension_number<boost::units::mass_base_dimension> = -8;
template <>
inline constexpr long dimension_number<boost::units::time_base_dimension> = -7;
template <>
inline constexpr long dimension_number<flop_dimension> = 7301;
template <>
inline constexpr long dimension_number<token_dimension> = 7302;
template <>
inline constexpr long dimension_number<parameter_dimension> = 7303;
template <>
inline constexpr long dimension_number<currency_dimension> = 7304;
template <>
inline constexpr long dimension_number<bit_dimension> = 7305;

template <class Base, long Exponent>
using base_power = boost::units::dim<Base, boost::units::static_rational<Exponent, 1>>;
/// The dimension of one base dimension.
template <class Base>
using dimension_of = boost::units::list<base_power<Base, 1>, boost::units::dimensionless_type>;

/// The dimension of a product (Sign 1) or quotient (Sign -1): the exponents of A plus Sign times those of B, in the
/// order of the base dimensions' numbers. It is the list that Boost's mpl::times and mpl::divides make, which
/// tests/values/boost_units.cpp checks.
template <class A, class B, long Sign>
struct combined_dimension {
    using type = A;  // B is empty
};
template <class A, class B, long Sign>
using combined_dimension_t = typename combined_dimension<A, B, Sign>::type;

template <class T, long M, class B, long Sign>
struct combined_dimension<boost::units::dimensionless_type, boost::units::list<base_power<T, M>, B>, Sign> {
    using type =
        boost::units::list<base_power<T, Sign * M>, combined_dimension_t<boost::units::dimensionless_type, B, Sign>>;
};
template <class S, long N, class A, class T, long M, class B, long Sign>
struct combined_dimension<boost::units::list<base_power<S, N>, A>, boost::units::list<base_power<T, M>, B>, Sign> {
    using all_of_a = boost::units::list<base_power<S, N>, A>;
    using all_of_b = boost::units::list<base_power<T, M>, B>;
    static constexpr auto merge() {
        if constexpr (dimension_number<S> < dimension_number<T>) {
            return std::type_identity<boost::units::list<base_power<S, N>, combined_dimension_t<A, all_of_b, Sign>>>{};
        } else if constexpr (dimension_number<T> < dimension_number<S>) {
            return std::type_identity<
                boost::units::list<base_power<T, Sign * M>, combined_dimension_t<all_of_a, B, Sign>>>{};
        } else if constexpr (N + Sign * M != 0) {
            return std::type_identity<
                boost::units::list<base_power<S, N + Sign * M>, combined_dimension_t<A, B, Sign>>>{};
        } else {
            return std::type_identity<combined_dimension_t<A, B, Sign>>{};
        }
    }
    using type = typename decltype(merge())::type;
};

template <class A, class B>
using dimension_product = combined_dimension_t<A, B, 1>;
template <class A, class B>
using dimension_quotient = combined_dimension_t<A, B, -1>;
/// The dimension of a unit over another.
template <class Unit, class Divisor>
using dimension_of_ratio = dimension_quotient<typename Unit::dimension, typename Divisor::dimension>;

using length_dimension = dimension_of<boost::units::length_base_dimension>;
using time_dimension = dimension_of<boost::units::time_base_dimension>;
/// Joules: kg m^2 / s^2.
using energy_dimension = dimension_quotient<
    dimension_product<dimension_product<dimension_of<boost::units::mass_base_dimension>, length_dimension>,
                      length_dimension>,
    dimension_product<time_dimension, time_dimension>>;

}  // namespace detail

// A unit is a short name for a dimension in Boost's terms, so that compilers, linkers and debuggers say `byte_unit`
// where they would spell out a list of exponents. A product or quotient gets its short name back (detail::named). The
// unit of each base dimension is fixed: byte, FLOP, token, parameter, second, metre, kilogram.

// clang-format off
/// A plain number.
struct no_unit { using dimension = boost::units::dimensionless_type; };
/// Bytes.
struct byte_unit { using dimension = detail::dimension_of<boost::units::information_base_dimension>; };
/// Bits.
struct bit_unit { using dimension = detail::dimension_of<bit_dimension>; };
/// Floating-point operations.
struct flop_unit { using dimension = detail::dimension_of<flop_dimension>; };
/// Tokens.
struct token_unit { using dimension = detail::dimension_of<token_dimension>; };
/// Parameters of a model.
struct parameter_unit { using dimension = detail::dimension_of<parameter_dimension>; };
/// The caller's currency.
struct currency_unit { using dimension = detail::dimension_of<currency_dimension>; };
/// Seconds.
struct second_unit { using dimension = detail::time_dimension; };
/// Joules.
struct joule_unit { using dimension = detail::energy_dimension; };
/// Kilograms.
struct kilogram_unit { using dimension = detail::dimension_of<boost::units::mass_base_dimension>; };
/// Watts.
struct watt_unit { using dimension = detail::dimension_quotient<detail::energy_dimension, detail::time_dimension>; };

/// Hertz.
struct hertz_unit { using dimension = detail::dimension_of_ratio<no_unit, second_unit>; };
/// Bytes for each token.
struct byte_per_token_unit { using dimension = detail::dimension_of_ratio<byte_unit, token_unit>; };
/// Bytes a second.
struct byte_per_second_unit { using dimension = detail::dimension_of_ratio<byte_unit, second_unit>; };
/// Floating-point operations a second.
struct flop_per_second_unit { using dimension = detail::dimension_of_ratio<flop_unit, second_unit>; };
/// Tokens a second.
struct token_per_second_unit { using dimension = detail::dimension_of_ratio<token_unit, second_unit>; };
/// A unit that has no short name.
template <class Dimension>
struct derived_unit { using dimension = Dimension; };

namespace detail {

template <class Dimension> struct named { using type = derived_unit<Dimension>; };
template <> struct named<no_unit::dimension> { using type = no_unit; };
template <> struct named<byte_unit::dimension> { using type = byte_unit; };
template <> struct named<bit_unit::dimension> { using type = bit_unit; };
template <> struct named<flop_unit::dimension> { using type = flop_unit; };
template <> struct named<token_unit::dimension> { using type = token_unit; };
template <> struct named<parameter_unit::dimension> { using type = parameter_unit; };
template <> struct named<currency_unit::dimension> { using type = currency_unit; };
template <> struct named<second_unit::dimension> { using type = second_unit; };
template <> struct named<joule_unit::dimension> { using type = joule_unit; };
template <> struct named<watt_unit::dimension> { using type = watt_unit; };
template <> struct named<kilogram_unit::dimension> { using type = kilogram_unit; };
template <> struct named<hertz_unit::dimension> { using type = hertz_unit; };
template <> struct named<byte_per_token_unit::dimension> { using type = byte_per_token_unit; };
template <> struct named<byte_per_second_unit::dimension> { using type = byte_per_second_unit; };
template <> struct named<flop_per_second_unit::dimension> { using type = flop_per_second_unit; };
template <> struct named<token_per_second_unit::dimension> { using type = token_per_second_unit; };

}  // namespace detail

// clang-format on

/// The unit of a product.
template <class A, class B>
using unit_product =
    typename detail::named<detail::dimension_product<typename A::dimension, typename B::dimension>>::type;
/// The unit of a quotient.
template <class A, class B>
using unit_quotient =
    typename detail::named<detail::dimension_quotient<typename A::dimension, typename B::dimension>>::type;

}  // namespace llmres::inline v0
