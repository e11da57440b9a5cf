// SPDX-License-Identifier: MIT
#pragma once

/// Values that may be unknown, and room for values that are not set yet.
namespace llmres::inline v0 {

/// A value that may be unknown, which is never the same as zero. (std::optional is not a structural type: it cannot be
/// part of a template argument.)
template <class T>
struct maybe {
    bool known = false;  ///< whether it is known
    T value{};           ///< meaningful only if `known`

    constexpr maybe() = default;  ///< unknown
    /// A known value.
    constexpr maybe(const T& v) : known{true}, value{v} {}  // NOLINT(google-explicit-constructor): reads as a datasheet

    /// Whether it is known.
    constexpr explicit operator bool() const { return known; }
    /// The value; only if `known`.
    constexpr const T& operator*() const { return value; }
    /// The value; only if `known`.
    constexpr const T* operator->() const { return &value; }
    /// The value, or another where it is unknown.
    constexpr T value_or(const T& otherwise) const { return known ? value : otherwise; }

    friend constexpr bool operator==(const maybe& a, const maybe& b) {
        return a.known == b.known && (!a.known || a.value == b.value);
    }
};

/// Where a value is, null if it is unknown.
template <class T>
constexpr const T* pointer_to(const maybe<T>& m) {
    return m.known ? &m.value : nullptr;
}
template <class T>
const T* pointer_to(const maybe<T>&&) = delete;  // it points into the argument

namespace detail {

/// Says that a value is what a function returns, so that it is made where it stays.
struct made_by {};

/// Room for a value that is not cleared before it is set: clearing arrays of which few values are used takes longer
/// than most plans. Set it by assignment of a slot with the value: `at = slot{value}`.
template <class Value>
union slot {
    Value value;                                           ///< meaningful only once it was set
    constexpr slot() {}                                    ///< not set
    constexpr explicit slot(const Value& v) : value{v} {}  ///< set
    template <class Make>
    constexpr slot(made_by, const Make& make) : value(make()) {}  ///< set
};

}  // namespace detail

}  // namespace llmres::inline v0
