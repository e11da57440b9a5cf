// SPDX-License-Identifier: MIT
#pragma once

#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/base_units/si/kilogram.hpp>
#include <boost/units/base_units/si/meter.hpp>
#include <boost/units/base_units/si/second.hpp>
#include <boost/units/make_system.hpp>
#include <boost/units/physical_dimensions/information.hpp>
#include <boost/units/physical_dimensions/length.hpp>
#include <boost/units/physical_dimensions/mass.hpp>
#include <boost/units/physical_dimensions/time.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/systems/information/bit.hpp>
#include <boost/units/systems/information/byte.hpp>
#include <boost/units/systems/si/energy.hpp>
#include <boost/units/systems/si/power.hpp>
#include <boost/units/systems/si/time.hpp>
#include <boost/units/unit.hpp>
#include <cstdint>
#include <limits>
#include <llmres/values/error.hpp>
#include <llmres/values/units.hpp>

/// Quantities to and from boost::units::quantity, for callers who have Boost.Units in their interfaces. Every
/// conversion is by name and exact: Boost's own between bits and bytes goes through double, and loses counts above
/// 2^53.
///
///     to_boost(gib(80))                    in our system: same unit, same number type
///     to_boost_bytes(gib(80))              in Boost's stock information system
///     to_boost_si(milliseconds(12))        in SI: seconds, joules, watts
///     from_boost(...)                      any of them, back
namespace llmres::inline v0 {

// ---- our system -----------------------------------------------------------------------------------------------------

/// Floating-point operations.
struct flop_dimension : boost::units::base_dimension<flop_dimension, detail::dimension_number<flop_dimension>> {};
/// Tokens.
struct token_dimension : boost::units::base_dimension<token_dimension, detail::dimension_number<token_dimension>> {};
/// Parameters of a model.
struct parameter_dimension
    : boost::units::base_dimension<parameter_dimension, detail::dimension_number<parameter_dimension>> {};
/// The caller's currency.
struct currency_dimension
    : boost::units::base_dimension<currency_dimension, detail::dimension_number<currency_dimension>> {};
/// Bits, apart from bytes.
struct bit_dimension : boost::units::base_dimension<bit_dimension, detail::dimension_number<bit_dimension>> {};

namespace detail {

/// Whether values/dimensions.hpp gives a base dimension the type and the number that Boost gives it.
template <class Base>
inline constexpr bool declared_as_boost =
    __is_same(dimension_of<Base>, typename Base::dimension_type) && dimension_number<Base> == Base::value;
static_assert(declared_as_boost<boost::units::information_base_dimension> &&
              declared_as_boost<boost::units::length_base_dimension> &&
              declared_as_boost<boost::units::mass_base_dimension> &&
              declared_as_boost<boost::units::time_base_dimension> && declared_as_boost<flop_dimension> &&
              declared_as_boost<token_dimension> && declared_as_boost<parameter_dimension> &&
              declared_as_boost<currency_dimension> && declared_as_boost<bit_dimension>);

}  // namespace detail

/// Our byte is a base unit on Boost's information dimension (Boost's own is 2^3 bits, scaled in double).
struct byte_base_unit : boost::units::base_unit<byte_base_unit, boost::units::information_dimension, 7300> {};
struct flop_base_unit : boost::units::base_unit<flop_base_unit, flop_dimension::dimension_type, 7301> {};
struct token_base_unit : boost::units::base_unit<token_base_unit, token_dimension::dimension_type, 7302> {};
struct parameter_base_unit : boost::units::base_unit<parameter_base_unit, parameter_dimension::dimension_type, 7303> {};
struct currency_base_unit : boost::units::base_unit<currency_base_unit, currency_dimension::dimension_type, 7304> {};
/// The bit of derived units, such as bits per second. A count of bits becomes one of Boost's own bits.
struct bit_base_unit : boost::units::base_unit<bit_base_unit, bit_dimension::dimension_type, 7305> {};

/// Our system of units, in Boost's terms.
using unit_system =
    boost::units::make_system<byte_base_unit, flop_base_unit, token_base_unit, parameter_base_unit, currency_base_unit,
                              bit_base_unit, boost::units::si::second_base_unit, boost::units::si::meter_base_unit,
                              boost::units::si::kilogram_base_unit>::type;

using boost_byte_unit = boost::units::information::hu::byte::info;  ///< Boost's byte
using boost_bit_unit = boost::units::information::hu::bit::info;    ///< Boost's bit

/// Boost's unit of a dimension in our system.
template <class Dimension>
using unit_of = boost::units::unit<Dimension, unit_system>;

namespace detail {

template <class Unit>
struct in_boost {
    using type = unit_of<typename Unit::dimension>;
};
template <>
struct in_boost<bit_unit> {
    using type = boost_bit_unit;
};

}  // namespace detail

/// Boost's unit for one of ours: `boost_unit<byte_unit>`.
template <class Unit>
using boost_unit = typename detail::in_boost<Unit>::type;

/// The same number in the same unit, as Boost's type.
template <class Unit, class Rep>
constexpr boost::units::quantity<boost_unit<Unit>, Rep> to_boost(quantity<Unit, Rep> q) {
    return boost::units::quantity<boost_unit<Unit>, Rep>::from_value(q.base());
}
/// Back from a unit of our system, or from Boost's bits.
template <class Dimension, class Rep>
constexpr quantity<typename detail::named<Dimension>::type, Rep> from_boost(
    boost::units::quantity<unit_of<Dimension>, Rep> q) {
    return quantity<typename detail::named<Dimension>::type, Rep>::from_base(q.value());
}
/// Back from Boost's bits.
template <class Rep>
constexpr quantity<bit_unit, Rep> from_boost(boost::units::quantity<boost_bit_unit, Rep> q) {
    return quantity<bit_unit, Rep>::from_base(q.value());
}

// ---- Boost's information system -------------------------------------------------------------------------------------

/// Boost's byte is eight bits by a scale; the number of bytes is the same.
template <class Rep>
constexpr boost::units::quantity<boost_byte_unit, Rep> to_boost_bytes(quantity<byte_unit, Rep> q) {
    return boost::units::quantity<boost_byte_unit, Rep>::from_value(q.base());
}
/// Back from Boost's bytes.
template <class Rep>
constexpr quantity<byte_unit, Rep> from_boost(boost::units::quantity<boost_byte_unit, Rep> q) {
    return quantity<byte_unit, Rep>::from_base(q.value());
}
/// The bits of so many bytes, or an `overflow` error.
constexpr result<boost::units::quantity<boost_bit_unit, std::int64_t>> to_boost_bits(byte_count q) {
    constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)() / 8;
    if (q.base() > most || q.base() < -most)
        return refused(error_code::overflow, "bytes", q.base(), "a number of bits below 2^63");
    return boost::units::quantity<boost_bit_unit, std::int64_t>::from_value(q.base() * 8);
}
/// The bytes of so many bits, or an `inconsistent` error if they are no whole number of them.
constexpr result<byte_count> bytes_from_boost(boost::units::quantity<boost_bit_unit, std::int64_t> q) {
    return to_bytes_exact(bits(q.value()));
}

// ---- SI: its second, joule and watt are ours ------------------------------------------------------------------------

/// In SI.
constexpr boost::units::quantity<boost::units::si::time> to_boost_si(duration q) {
    return boost::units::quantity<boost::units::si::time>::from_value(q.base());
}
/// In SI.
constexpr boost::units::quantity<boost::units::si::energy> to_boost_si(energy q) {
    return boost::units::quantity<boost::units::si::energy>::from_value(q.base());
}
/// In SI.
constexpr boost::units::quantity<boost::units::si::power> to_boost_si(power q) {
    return boost::units::quantity<boost::units::si::power>::from_value(q.base());
}
/// From SI.
constexpr duration from_boost(boost::units::quantity<boost::units::si::time> q) { return seconds(q.value()); }
/// From SI.
constexpr energy from_boost(boost::units::quantity<boost::units::si::energy> q) { return joules(q.value()); }
/// From SI.
constexpr power from_boost(boost::units::quantity<boost::units::si::power> q) { return watts(q.value()); }

}  // namespace llmres::inline v0
