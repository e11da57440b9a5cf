// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

/// A square root for constant expressions, which std::sqrt is not before C++26; <cmath> would cost 6 % of plan.hpp.
namespace llmres::inline v0::detail {

/// The square root, in constant expressions too.
constexpr double square_root(double x) {
    if (!std::is_constant_evaluated()) return __builtin_sqrt(x);
    if (!(x > 0)) return 0;
    double scale = 1.0;
    while (x > 4.0) x /= 4.0, scale *= 2.0;
    while (x < 1.0) x *= 4.0, scale /= 2.0;
    double root = x / 2.0 + 0.5;
    for (int i = 0; i < 6; ++i) root = (root + x / root) / 2.0;
    return root * scale;
}

}  // namespace llmres::inline v0::detail
