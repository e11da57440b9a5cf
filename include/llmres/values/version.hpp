// SPDX-License-Identifier: MIT
#pragma once

#include <compare>

namespace llmres::inline v0 {

/// A semantic version. Before 1.0 a higher `minor` may change the interface, a higher `patch` never does.
struct version_number {
    int major;
    int minor;
    int patch;

    friend constexpr auto operator<=>(const version_number&, const version_number&) = default;
};

/// The version of this library. The only place that states it: CMake, Conan and the packages read it from here.
inline constexpr version_number version{.major = 0, .minor = 1, .patch = 0};

}  // namespace llmres::inline v0
