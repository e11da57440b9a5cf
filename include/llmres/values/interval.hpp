// SPDX-License-Identifier: MIT
#pragma once

namespace llmres::inline v0 {

/// An estimate and its honest bounds: the truth is expected to lie in [low, high]. Something exact has all three equal.
template <class T>
struct interval {
    T low{};
    T expected{};
    T high{};

    constexpr interval() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): an exact number is an interval
    constexpr interval(const T& exact) noexcept : low{exact}, expected{exact}, high{exact} {}
    constexpr interval(const T& at_least, const T& about, const T& at_most) noexcept
        : low{at_least}, expected{about}, high{at_most} {}

    constexpr bool contains(const T& x) const { return low <= x && x <= high; }

    /// Bounds add end to end: estimates that err, may err together.
    constexpr interval& operator+=(const interval& other) {
        low += other.low;
        expected += other.expected;
        high += other.high;
        return *this;
    }
    friend constexpr interval operator+(interval a, const interval& b) { return a += b; }
    friend constexpr bool operator==(const interval&, const interval&) = default;
};

}  // namespace llmres::inline v0
