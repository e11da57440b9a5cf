// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// Short strings that live inside values: names, field names, the offending value of an error.
namespace llmres::inline v0 {

namespace detail {

/// A letter of the alphabet in lower case, any other character as it is; whatever the locale.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether a character is one of 0 to 9.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a character is one of a to z or 0 to 9.
constexpr bool is_lower_or_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

/// Whether two texts are the same but for the case of ASCII letters.
constexpr bool same_letters(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower_case(a[i]) != lower_case(b[i])) return false;
    return true;
}

/// Removes `what` from the front of `from` if it stands there, and says whether it did.
constexpr bool taken(std::string_view& from, std::string_view what) {
    if (!from.starts_with(what)) return false;
    from.remove_prefix(what.size());
    return true;
}
/// Removes what stands before the first of these separators, and the separator, from the front and returns it.
constexpr std::string_view taken_before(std::string_view& from, std::string_view separators) {
    const std::size_t end = from.find_first_of(separators);
    const std::string_view before = from.substr(0, end);
    from.remove_prefix(end == std::string_view::npos ? from.size() : end + 1);
    return before;
}
/// Removes a number of at most `most_digits` digits from the front and returns it; -1 if there is none.
constexpr std::int32_t taken_number(std::string_view& from, std::size_t most_digits = 7) {
    std::int32_t number = 0;
    std::size_t length = 0;
    for (; length < from.size() && length < most_digits && is_digit(from[length]); ++length)
        number = number * 10 + (from[length] - '0');
    from.remove_prefix(length);
    return length == 0 ? -1 : number;
}

}  // namespace detail

/// Text written in a table, as a std::string_view of it. (A std::string_view itself looks for the end of what it is
/// made of letter by letter, which takes a compiler a tenth of a second where tables hold thousands of words.)
struct literal : std::string_view {
    constexpr literal() = default;  ///< no text
    /// The text of a literal.
    // NOLINTNEXTLINE(google-explicit-constructor): tables are written as literals
    constexpr literal(const char* from) : std::string_view{from, __builtin_strlen(from)} {}
    /// Its characters, with a zero behind the last.
    constexpr const char* c_str() const { return data(); }
};

/// The names of an enumeration's values, in their order: a list of its own stands beside each enumeration that has
/// names, and for others there is none.
template <class Enum>
inline constexpr int names_of = 0;

/// The name of a value of such an enumeration: "kv_cache".
template <class Enum>
constexpr std::string_view name_of(Enum value) {
    constexpr const auto& names = names_of<Enum>;
    return names[static_cast<std::size_t>(value)];
}

/// At most `Capacity` characters, stored in place: usable in constexpr, as a template argument, and without allocation.
/// A longer text is cut and ends in "..", so that an error message never fails for want of room.
template <std::size_t Capacity>
struct text {
    char characters[Capacity + 1]{};  ///< zero-terminated

    constexpr text() = default;  ///< an empty text
    /// A text that is cut where it is too long.
    constexpr text(std::string_view from) {  // NOLINT(google-explicit-constructor): names are written as literals
        const bool cut = from.size() > Capacity;
        const std::size_t length = cut ? Capacity : from.size();
        const char* const source = from.data();  // the tables hold thousands of names: an index checks its bounds
        for (std::size_t i = 0; i < length; ++i) characters[i] = source[i];
        if (cut) characters[Capacity - 1] = characters[Capacity - 2] = '.';
    }
    /// A text that is cut where it is too long.
    // NOLINTNEXTLINE(google-explicit-constructor): names are written as literals
    constexpr text(const char* from) : text(std::string_view{from, __builtin_strlen(from)}) {}

    /// Its characters.
    constexpr std::string_view view() const {
        std::size_t length = 0;
        while (length < Capacity && characters[length] != '\0') ++length;
        return {characters, length};
    }
    /// Its characters.
    constexpr operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
    /// Whether it has no characters.
    constexpr bool empty() const { return characters[0] == '\0'; }
    /// Whether it begins with these; reads no further than the first difference.
    constexpr bool starts_with(std::string_view first) const {
        for (std::size_t i = 0; i < first.size(); ++i)
            if (i == Capacity || characters[i] != first[i]) return false;
        return true;
    }
    /// Appends as much as there is room for.
    [[gnu::noinline]] constexpr void append(std::string_view more) {
        std::size_t length = view().size();
        for (std::size_t i = 0; i < more.size() && length < Capacity; ++i) characters[length++] = more[i];
    }

    friend constexpr bool operator==(const text& a, const text& b) {
        if (std::is_constant_evaluated()) return a == b.characters;
        return __builtin_memcmp(a.characters, b.characters, Capacity + 1) == 0;  // behind its end a text has zeros
    }
    friend constexpr bool operator==(const text& a, std::string_view b) {
        return b.size() <= Capacity && a.characters[b.size()] == '\0' && a.starts_with(b);
    }
    template <std::same_as<const char*> Pointer>  // a template, so that literals take the overload below
    friend constexpr bool operator==(const text& a, const Pointer& b) {
        return a.view() == b;
    }
    template <std::size_t Size>
    friend constexpr bool operator==(const text& a,
                                     const char (&b)[Size]) {  // reads no further than the first difference
        for (std::size_t i = 0; i < (Size < Capacity + 1 ? Size : Capacity + 1); ++i) {
            if (a.characters[i] != b[i]) return false;
            if (b[i] == '\0') return true;
        }
        return false;
    }
};

}  // namespace llmres::inline v0
