// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/text.hpp>
#include <new>
#include <string_view>
#if defined(__cpp_exceptions)
#include <exception>
#endif

/// What can be wrong with an input, and how a function says so. Works in constexpr, with and without exceptions.
///
/// Whatever makes an error is compiled once and apart from the code that checks (gnu::cold, gnu::noinline): a plan that
/// is not refused neither runs nor loads it.
namespace llmres::inline v0 {

/// The kind of an error.
enum class error_code : std::uint8_t {
    none,          ///< no error
    missing,       ///< a field, file or key that must be there is not
    malformed,     ///< not the expected syntax or type
    unknown,       ///< a name that no table knows
    out_of_range,  ///< a number outside its bounds
    inconsistent,  ///< two fields contradict each other, or one must divide the other and does not
    unsupported,   ///< understood, but not modelled, or not possible on this device, engine or format
    overflow,      ///< a count that does not fit 64 bits
    io,            ///< a file that cannot be read
};

/// The names of the kinds, in their order.
template <>
inline constexpr std::array<std::string_view, 9> names_of<error_code>{
    "none", "missing", "malformed", "unknown", "out_of_range", "inconsistent", "unsupported", "overflow", "io"};

/// What is wrong: which field, what it held, what was expected.
struct error {
    error_code code = error_code::none;  ///< what kind of error it is
    text<63> field{};                    ///< as the caller wrote it: "layout.tensor", "hidden_size"
    text<95> value{};                    ///< what it held
    text<191> expected{};                ///< what would have been right
};

/// The same error, of a field inside another.
[[gnu::cold, gnu::noinline]] constexpr error within(std::string_view object, const error& e) {
    error inside = e;
    inside.field = object;
    inside.field.append(".");
    inside.field.append(e.field);
    return inside;
}

#if defined(__cpp_exceptions)
/// Thrown by `result::value()`, and by nothing else.
class exception : public std::exception {
public:
    [[gnu::cold, gnu::noinline]] explicit exception(const error& what) : error_{what} {
        message_.append(what.field);
        message_.append(" is ");
        message_.append(what.value.empty() ? std::string_view{name_of(what.code)} : what.value.view());
        message_.append(", expected ");
        message_.append(what.expected);
    }
    const char* what() const noexcept override { return message_.characters; }
    const llmres::error& error() const noexcept { return error_; }

private:
    llmres::error error_;
    text<383> message_{};
};
#endif

/// Says that a value is made where it stays: `result<T>{in_place{}, make}`.
struct in_place {};

namespace detail {

/// The storage of result<T>: a value or an error in the same bytes. Copied byte by byte where T is; any other T (text
/// and lists on the heap, which io/ returns) is copied, moved and destroyed by its own functions.
template <class T, bool IsTriviallyCopyable = __is_trivially_copyable(T)>
struct value_or_error {
    constexpr explicit value_or_error(const T& v) : value{v}, has_value{true} {}
    constexpr explicit value_or_error(const llmres::error& e) : error{e}, has_value{false} {}
    template <class Make>
    constexpr value_or_error(in_place, const Make& make) : value(make()), has_value{true} {}

    union {
        T value;
        llmres::error error;
    };
    bool has_value;
};

template <class T>
struct value_or_error<T, false> {
    constexpr explicit value_or_error(const T& v) : value(v), has_value{true} {}
    constexpr explicit value_or_error(T&& v) : value(static_cast<T&&>(v)), has_value{true} {}
    constexpr explicit value_or_error(const llmres::error& e) : error{e}, has_value{false} {}
    value_or_error(const value_or_error& other) : has_value{other.has_value} {
        if (has_value)
            ::new (static_cast<void*>(&value)) T(other.value);
        else
            ::new (static_cast<void*>(&error)) llmres::error{other.error};
    }
    value_or_error(value_or_error&& other) noexcept : has_value{other.has_value} { take(other); }
    value_or_error& operator=(value_or_error other) noexcept {
        clear();
        has_value = other.has_value;
        take(other);
        return *this;
    }
    constexpr ~value_or_error() { clear(); }

    union {
        T value;
        llmres::error error;
    };
    bool has_value;

private:
    void take(value_or_error& other) {
        if (has_value)
            ::new (static_cast<void*>(&value)) T(static_cast<T&&>(other.value));
        else
            ::new (static_cast<void*>(&error)) llmres::error{other.error};
    }
    constexpr void clear() {
        if (has_value) value.~T();
    }
};

}  // namespace detail

/// A `T`, or the error that prevented it. Trivially copyable where T is; a T that is not must not throw when moved.
template <class T>
class [[nodiscard]] result {
public:
    /// A value.
    constexpr result(const T& value) : held_{value} {}  // NOLINT(google-explicit-constructor)
    /// A value.
    constexpr result(T&& value) : held_{static_cast<T&&>(value)} {}  // NOLINT(google-explicit-constructor)
    /// An error.
    // NOLINTNEXTLINE(google-explicit-constructor)
    [[gnu::cold, gnu::noinline]] constexpr result(const llmres::error& what) : held_{what} {}
    /// The value that make() returns, which is large and not copied.
    template <class Make>
    constexpr result(in_place where, const Make& make) : held_{where, make} {}

    /// Whether there is a value.
    constexpr bool has_value() const { return held_.has_value; }
    /// Whether there is a value.
    constexpr explicit operator bool() const { return has_value(); }

    /// The value; only if has_value().
    constexpr const T& operator*() const& { return held_.value; }
    /// The value; only if has_value().
    constexpr T& operator*() & { return held_.value; }
    /// The value; only if has_value().
    constexpr T&& operator*() && { return static_cast<T&&>(held_.value); }
    /// The value; only if has_value().
    constexpr const T* operator->() const { return &held_.value; }
    /// The value; only if has_value().
    constexpr T* operator->() { return &held_.value; }
    /// The error; its code is `none` if there is a value.
    constexpr llmres::error error() const { return has_value() ? llmres::error{} : held_.error; }

#if defined(__cpp_exceptions)
    /// The value, or throws `llmres::exception`; in a constant expression an error stops the compilation here.
    constexpr const T& value() const& {
        if (!has_value()) throw exception{error()};
        return held_.value;
    }
    constexpr T&& value() && {
        if (!has_value()) throw exception{error()};
        return static_cast<T&&>(held_.value);
    }
#endif

private:
    detail::value_or_error<T> held_;
};

/// Success or an error, where there is nothing else to return.
struct done {};
using status = result<done>;  ///< success, or an error

namespace detail {

/// An integer as text, for error values.
[[gnu::cold, gnu::noinline]] constexpr text<95> digits(std::int64_t number) {
    char reversed[24]{};
    int length = 0;
    std::uint64_t rest = number < 0 ? ~static_cast<std::uint64_t>(number) + 1 : static_cast<std::uint64_t>(number);
    do {
        reversed[length++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0) reversed[length++] = '-';
    text<95> written{};
    for (int i = 0; i < length; ++i) written.characters[i] = reversed[length - 1 - i];
    return written;
}

}  // namespace detail

/// An error: `field` holds `value`, which is not what was expected.
[[gnu::cold, gnu::noinline]] constexpr error refused(error_code code, std::string_view field, std::int64_t value,
                                                     std::string_view expected) {
    return {code, field, detail::digits(value), expected};
}
/// An error: `field` holds `value`, which is not what was expected.
[[gnu::cold, gnu::noinline]] constexpr error refused(error_code code, std::string_view field, std::string_view value,
                                                     std::string_view expected) {
    return {code, field, value, expected};
}
/// An error whose expectation ends in a number, or has words behind it: "a divisor of the attention heads, 32".
[[gnu::cold, gnu::noinline]] constexpr error refused(error_code code, std::string_view field, std::int64_t value,
                                                     std::string_view expected, std::int64_t number,
                                                     std::string_view behind = {}) {
    error made = refused(code, field, value, expected);
    made.expected.append(detail::digits(number));
    made.expected.append(behind);
    return made;
}

namespace detail {

/// The error of a field that is not between `low` and `high`.
[[gnu::cold, gnu::noinline]] constexpr error outside(std::string_view field, std::int64_t value, std::int64_t low,
                                                     std::int64_t high) {
    error made = refused(error_code::out_of_range, field, value, "an integer from ", low, " to ");
    made.expected.append(digits(high));
    return made;
}

}  // namespace detail

/// An error unless `low <= value <= high`.
constexpr status in_range(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return done{};
    return detail::outside(field, value, low, high);
}

namespace detail {

/// Upper bounds that fields share.
namespace most {
inline constexpr std::int32_t gpus = 1 << 20;
inline constexpr std::int64_t sequences = std::int64_t{1} << 24;
inline constexpr std::int64_t tokens = std::int64_t{1} << 40;
}  // namespace most

struct bounded_field {
    /// Its end is looked for in errors alone: in a constant expression that is a step for each letter.
    const char* name = nullptr;
    std::int64_t value = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;

    constexpr bool holds() const { return value >= low && value <= high; }
};

/// An error of the first field that is not within its bounds, if there is one.
template <class... Fields>
constexpr status all_in_range(const Fields&... fields) {
    bounded_field wrong{};
    const bool all = ((fields.holds() || (wrong = fields, false)) && ...);
    if (all) return done{};
    return outside(wrong.name, wrong.value, wrong.low, wrong.high);
}
/// The first error of the fields in a list that are outside their bounds.
template <std::size_t N>
constexpr status all_in_range(const std::array<bounded_field, N>& fields) {
    for (const bounded_field& f : fields)
        if (!f.holds()) return outside(f.name, f.value, f.low, f.high);
    return done{};
}

/// A number that may be fractional, between bounds that are not.
struct bounded_real {
    const char* name = nullptr;
    double value = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
    const char* expected = nullptr;  ///< what an error asks for

    constexpr bool holds() const { return value >= static_cast<double>(low) && value <= static_cast<double>(high); }
};

/// The error of a number that is not between its bounds, or no number.
constexpr error outside(const bounded_real& wrong) {
    const bool below = wrong.value < static_cast<double>(wrong.low);
    text<95> how{below ? "below " : "above "};
    how.append(digits(below ? wrong.low : wrong.high));
    const bool is_number = below || wrong.value > static_cast<double>(wrong.high);
    return refused(error_code::out_of_range, wrong.name, is_number ? how : text<95>{"no number"}, wrong.expected);
}
/// An error of the first of these that is not within its bounds, if there is one.
template <std::size_t N>
constexpr status all_in_range(const std::array<bounded_real, N>& fields) {
    for (const bounded_real& f : fields)
        if (!f.holds()) return outside(f);
    return done{};
}

}  // namespace detail

}  // namespace llmres::inline v0
