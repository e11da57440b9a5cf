// SPDX-License-Identifier: MIT
#include <llmres/values/dimensions.hpp>

#include <doctest/doctest.h>

#include <llmres/values/boost_units.hpp>
#include <type_traits>

using namespace llmres;
namespace bu = boost::units;

namespace {

/// Whether products and quotients of A with each B have the dimensions that Boost computes.
template <class A, class... B>
constexpr bool multiplies_as_boost() {
    return ((std::is_same_v<typename unit_product<A, B>::dimension,
                            typename boost::mpl::times<typename A::dimension, typename B::dimension>::type> &&
             std::is_same_v<typename unit_quotient<A, B>::dimension,
                            typename boost::mpl::divides<typename A::dimension, typename B::dimension>::type>) &&
            ...);
}
template <class... Units>
constexpr bool all_multiply_as_boost() {
    return (multiplies_as_boost<Units, Units...>() && ...);
}

}  // namespace

TEST_CASE("every product and quotient of units has the dimension that Boost computes") {
    static_assert(std::is_same_v<joule_unit::dimension, bu::energy_dimension>);
    static_assert(std::is_same_v<watt_unit::dimension, bu::power_dimension>);
    using joule_seconds = unit_product<joule_unit, second_unit>;
    using price = unit_quotient<currency_unit, unit_product<token_unit, token_unit>>;
    static_assert(all_multiply_as_boost<no_unit, byte_unit, bit_unit, flop_unit, token_unit, parameter_unit,
                                        currency_unit, second_unit, joule_unit, watt_unit, kilogram_unit, hertz_unit,
                                        byte_per_token_unit, byte_per_second_unit, flop_per_second_unit,
                                        token_per_second_unit, joule_seconds, price>());
}
