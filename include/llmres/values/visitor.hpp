// SPDX-License-Identifier: MIT
#pragma once

/// Lists that are compiled once, whoever reads them: a function behind one type of visitor.
///
///     constexpr void list_squares(const visitor<int>& visit);
///     list_squares(visiting<int>(add));  // add(int)
namespace llmres::inline v0 {

/// Receives what a list shows, one call for each entry.
template <class... Seen>
struct visitor {
    /// Receives an entry.
    constexpr virtual void operator()(const Seen&... seen) const = 0;

protected:
    constexpr ~visitor() = default;
};

/// A function as a visitor. It refers to the function, which must live as long.
template <class Visit, class... Seen>
struct function_visitor final : visitor<Seen...> {
    Visit& visit;  ///< the function
    /// Refers to a function.
    constexpr explicit function_visitor(Visit& function) : visit{function} {}
    constexpr void operator()(const Seen&... seen) const override { visit(seen...); }
};

/// The visitor that calls a function, which must live as long.
template <class... Seen, class Visit>
constexpr function_visitor<Visit, Seen...> visiting(Visit& function) {
    return function_visitor<Visit, Seen...>{function};
}

}  // namespace llmres::inline v0
