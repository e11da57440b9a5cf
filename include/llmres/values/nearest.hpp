// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/values/text.hpp>
#include <string_view>

/// Names that look like a mistyped one, for error messages.
namespace llmres::inline v0 {

namespace detail {

inline constexpr std::size_t compared = 64;  ///< characters of a name that are looked at

}  // namespace detail

/// How unlike `typed` is to `name`; 0 for the same, letter case and separators aside. People cut names short, so a
/// missing tail costs 1 a character, and 3 more where it goes on with a number; a separator left out costs 1, another
/// character left out or one too many 4, a wrong one 5: "h100-sxm" is nearer to "h100-sxm5-80gb" than to "h200", and
/// "llama3" to "llama-3-8b" than to "llama-30b". Characters after the 64th are not looked at.
constexpr std::size_t spelling_distance(std::string_view typed, std::string_view name) {
    constexpr std::size_t longest = detail::compared;
    constexpr std::size_t tail = 1;
    constexpr std::size_t within_number = 3;
    constexpr std::size_t too_many = 4;
    constexpr std::size_t wrong = 5;
    const auto same = [](char c) { return c == ' ' || c == '_' ? '-' : detail::lower_case(c); };
    const auto left_out = [&](char c) { return std::size_t{same(c) == '-' ? 1U : 4U}; };
    typed = typed.substr(0, longest);
    name = name.substr(0, longest);
    std::array<std::size_t, longest + 1> row{};  // the distances of the first i characters typed to each prefix of name
    for (std::size_t j = 0; j < name.size(); ++j) row[j + 1] = row[j] + left_out(name[j]);
    for (std::size_t i = 1; i <= typed.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i * too_many;
        for (std::size_t j = 1; j <= name.size(); ++j) {
            std::size_t best = diagonal + (same(typed[i - 1]) == same(name[j - 1]) ? 0 : wrong);
            if (row[j] + too_many < best) best = row[j] + too_many;
            if (row[j - 1] + left_out(name[j - 1]) < best) best = row[j - 1] + left_out(name[j - 1]);
            diagonal = row[j];
            row[j] = best;
        }
    }
    std::size_t least = row[name.size()];
    for (std::size_t j = 0; j < name.size(); ++j) {
        const bool cut = j > 0 && detail::is_digit(name[j - 1]) && detail::is_digit(name[j]);
        const std::size_t cost = row[j] + (name.size() - j) * tail + (cut ? within_number : 0);
        if (cost < least) least = cost;
    }
    return least;
}

/// Up to three names that resemble a mistyped one, the most similar first.
struct nearest_names {
    std::array<std::string_view, 3> names{};  ///< storage; the first `count` are in use
    std::size_t count = 0;                    ///< names in use

    /// The nearest name.
    constexpr auto begin() const { return names.begin(); }
    /// Behind the last name.
    constexpr auto end() const { return names.begin() + static_cast<std::ptrdiff_t>(count); }
    /// Whether no name is near.
    constexpr bool empty() const { return count == 0; }
};

namespace detail {

/// The three names of the smallest distances that were offered, of equal distances the earlier first.
struct nearest_found {
    nearest_names names;
    std::array<std::size_t, 3> distances{};

    constexpr void offer(std::string_view name, std::size_t distance) {
        std::size_t place = names.count;
        while (place > 0 && distance < distances[place - 1]) --place;
        if (place == distances.size()) return;
        for (std::size_t last = distances.size() - 1; last > place; --last) {
            names.names[last] = names.names[last - 1];
            distances[last] = distances[last - 1];
        }
        names.names[place] = name;
        distances[place] = distance;
        if (names.count < distances.size()) ++names.count;
    }
};

}  // namespace detail

/// The up to three names of a range (of anything that converts to std::string_view) that are most similar to what was
/// typed; of two equally similar ones the earlier first. A name is left out if more than half of what was typed differs
/// from it.
template <class Range>
constexpr nearest_names nearest(std::string_view typed, const Range& range) {
    typed = typed.substr(0, detail::compared);
    detail::nearest_found found;
    for (const auto& candidate : range) {
        const std::string_view name = candidate;
        const std::size_t distance = spelling_distance(typed, name);
        const std::size_t missing = name.size() > typed.size() ? name.size() - typed.size() : 0;
        if (!typed.empty() && distance <= missing + typed.size() * 5 / 2) found.offer(name, distance);
    }
    return found.names;
}

/// The text of an error's `expected`: "a GPU such as a, b or c", or `what` alone where no name is similar.
constexpr text<191> such_as(std::string_view what, const nearest_names& names) {
    if (names.empty() && what.ends_with(',')) what.remove_suffix(1);
    text<191> written{what};
    for (std::size_t i = 0; i < names.count; ++i) {
        written.append(i == 0 ? " such as " : i + 1 == names.count ? " or " : ", ");
        written.append(names.names[i]);
    }
    return written;
}

}  // namespace llmres::inline v0
