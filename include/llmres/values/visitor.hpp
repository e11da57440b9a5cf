// SPDX-License-Identifier: MIT
#pragma once

/// Lists that are compiled once, whoever reads them: a function behind one type of visitor.
///
///     constexpr void list_squares(const visitor<int>& visit);
///     list_squares(visiting<int>(add));  // add(int)
namespace llmres::inline v0 {

/// Receives what a list shows, one call for each entry. (A function pointer, not a virtual function: a table of one
/// function and the name of its type are emitted for no visitor.)
template <class... Seen>
class visitor {
public:
    /// Receives an entry.
    constexpr void operator()(const Seen&... seen) const { show_(*this, seen...); }

protected:
    /// Of the function that each entry goes to.
    constexpr explicit visitor(void (*show)(const visitor&, const Seen&...)) : show_{show} {}
    constexpr visitor(const visitor&) = default;             ///< the same function
    constexpr visitor& operator=(const visitor&) = default;  ///< the same function
    constexpr ~visitor() = default;

private:
    void (*show_)(const visitor&, const Seen&...);
};

/// A function as a visitor. It refers to the function, which must live as long.
template <class Visit, class... Seen>
class function_visitor final : public visitor<Seen...> {
public:
    /// Refers to a function.
    constexpr explicit function_visitor(Visit& function) : visitor<Seen...>{show}, visit_{function} {}

private:
    static constexpr void show(const visitor<Seen...>& self, const Seen&... seen) {
        static_cast<const function_visitor&>(self).visit_(seen...);
    }

    Visit& visit_;
};

/// The visitor that calls a function, which must live as long.
template <class... Seen, class Visit>
constexpr function_visitor<Visit, Seen...> visiting(Visit& function) {
    return function_visitor<Visit, Seen...>{function};
}

}  // namespace llmres::inline v0
