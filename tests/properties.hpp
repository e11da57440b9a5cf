// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

/// Numbers to hold a property against: the awkward ones, then random ones of every magnitude. The seed is fixed, so
/// that a failure is there again on the next run. (RapidCheck would also shrink what fails; for one or two integers the
/// printed values say as much, and it would have to be linked.)
namespace properties {

struct generator {
    std::uint64_t state = 0x6c6c6d726573;

    constexpr std::uint64_t bits() {  // SplitMix64
        std::uint64_t z = (state += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// Not negative, and small ones as likely as large ones.
    constexpr std::int64_t count() { return static_cast<std::int64_t>(bits() >> (1 + bits() % 63)); }
};

inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t two_to_53 = std::int64_t{1} << 53;

inline constexpr std::array<std::int64_t, 21> awkward{0,
                                                      1,
                                                      2,
                                                      3,
                                                      7,
                                                      8,
                                                      9,
                                                      255,
                                                      256,
                                                      4095,
                                                      4096,
                                                      two_to_53 - 1,
                                                      two_to_53,
                                                      two_to_53 + 1,
                                                      largest / 8 - 1,
                                                      largest / 8,
                                                      largest / 8 + 1,
                                                      largest / 2,
                                                      largest / 2 + 1,
                                                      largest - 1,
                                                      largest};

/// Calls property(n) with counts.
template <class Property>
void for_counts(Property property) {
    for (const std::int64_t n : awkward) property(n);
    generator random;
    for (int i = 0; i < 1000; ++i) property(random.count());
}

/// Calls property(a, b) with pairs of counts.
template <class Property>
void for_pairs(Property property) {
    for (const std::int64_t a : awkward)
        for (const std::int64_t b : awkward) property(a, b);
    generator random;
    for (int i = 0; i < 2000; ++i) {
        const std::int64_t a = random.count();
        property(a, random.count());
    }
}

}  // namespace properties
