// SPDX-License-Identifier: MIT
#pragma once

#include <compare>

/// Which version of the library is this?
namespace llmres::inline v0 {

/// A semantic version. Before 1.0 a higher `minor` may change the interface, a higher `patch` never does.
struct version_number {
    int major;  ///< raised when the interface changes
    int minor;  ///< raised when something is added
    int patch;  ///< raised when something is corrected

    friend constexpr auto operator<=>(const version_number&, const version_number&) = default;
    friend constexpr bool operator==(const version_number&, const version_number&) = default;
};

/// The version of this library. The only place that states it: CMake, Conan and the packages read it from here.
inline constexpr version_number version{.major = 0, .minor = 1, .patch = 0};

}  // namespace llmres::inline v0
