// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

/// A square root for constant expressions, which std::sqrt is not before C++26; <cmath> would cost 6 % of plan.hpp.
namespace llmres::inline v0::detail {

/// The square root, in constant expressions too.
constexpr double square_root(double x) {
    if (!std::is_constant_evaluated()) return __builtin_sqrt(x);
    if (!(x > 0)) return 0;
    // Half the exponent, and of the mantissa's bits their half: within 7 %. Each step doubles the digits that are
    // right.
    double root = __builtin_bit_cast(double, (__builtin_bit_cast(unsigned long long, x) >> 1) + (1023ULL << 51));
    for (int i = 0; i < 4; ++i) root = (root + x / root) / 2.0;
    return root;
}

}  // namespace llmres::inline v0::detail
