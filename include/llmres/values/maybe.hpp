// SPDX-License-Identifier: MIT
#pragma once

namespace llmres::inline v0 {

/// A value that may be unknown. Unknown is unknown: it never reads as zero.
/// (std::optional is not a structural type, so it could not stand in a template argument.)
template <class T>
struct maybe {
    bool known = false;
    T value{};  ///< meaningful only if `known`

    constexpr maybe() = default;
    constexpr maybe(const T& v) : known{true}, value{v} {}  // NOLINT(google-explicit-constructor): reads as a datasheet

    constexpr explicit operator bool() const { return known; }
    constexpr const T& operator*() const { return value; }
    constexpr const T* operator->() const { return &value; }
    constexpr T value_or(const T& otherwise) const { return known ? value : otherwise; }

    friend constexpr bool operator==(const maybe& a, const maybe& b) {
        return a.known == b.known && (!a.known || a.value == b.value);
    }
};

}  // namespace llmres::inline v0
