// SPDX-License-Identifier: MIT
#pragma once

/// How sure is an estimate?
namespace llmres::inline v0 {

/// An estimate and its bounds: the true value is expected to lie in [low, high]. An exact value has all three equal.
template <class T>
struct interval {
    T low{};       ///< lower bound
    T expected{};  ///< expected value
    T high{};      ///< upper bound

    constexpr interval() = default;  ///< zero, exactly
    /// An exact value.
    // NOLINTNEXTLINE(google-explicit-constructor): an exact number is an interval
    constexpr interval(const T& exact) noexcept : low{exact}, expected{exact}, high{exact} {}
    /// An estimate with its bounds.
    constexpr interval(const T& at_least, const T& about, const T& at_most) noexcept
        : low{at_least}, expected{about}, high{at_most} {}

    /// Whether a value lies within the bounds.
    constexpr bool contains(const T& x) const { return low <= x && x <= high; }

    /// Adds bound to bound: estimates may be wrong in the same direction.
    [[gnu::always_inline]] constexpr interval& operator+=(const interval& other) {
        return low += other.low, expected += other.expected, high += other.high, *this;
    }
    [[gnu::always_inline]] friend constexpr interval operator+(interval a, const interval& b) { return a += b; }
    friend constexpr bool operator==(const interval&, const interval&) = default;
};

}  // namespace llmres::inline v0
