// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/text.hpp>
#include <string_view>
#include <type_traits>

/// The fields of a runtime profile with their meanings, for whoever reads, writes, compares or explains profiles as
/// data: the members of the structs in llmres/runtimes and the first sentences of their comments. A key is the name of
/// the C++ field.
namespace llmres::inline v0::detail {

/// A field of a part of a profile.
struct profile_field {
    literal name{};
    literal means{};
    literal unit{};  ///< of a plain number; empty where the C++ type says it
};

/// The fields of a part, in their order; 0 for what is no part of a profile.
template <class Part>
inline constexpr int fields_of = 0;
#include "fields.inc"

/// Whether a type is a part of a profile, which holds fields.
template <class Part>
inline constexpr bool is_part = !std::is_same_v<decltype(fields_of<Part>), const int>;

/// The names of a part's fields, in their order.
template <class Part>
constexpr auto profile_field_names() {
    std::array<std::string_view, fields_of<Part>.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = fields_of<Part>[i].name;
    return names;
}

/// Calls visit(field) for each of a struct's first-to-last fields. A number of names other than the struct's number of
/// fields does not compile.
template <std::size_t Count, class Part, class Visit>
constexpr void each_member(Part& part, Visit&& visit) {
    const auto all = [&](auto&... member) { (visit(member), ...); };
    // clang-format off
    if constexpr (Count == 2) { auto& [a, b] = part; all(a, b); }
    else if constexpr (Count == 3) { auto& [a, b, c] = part; all(a, b, c); }
    else if constexpr (Count == 4) { auto& [a, b, c, d] = part; all(a, b, c, d); }
    else if constexpr (Count == 5) { auto& [a, b, c, d, e] = part; all(a, b, c, d, e); }
    else if constexpr (Count == 6) { auto& [a, b, c, d, e, f] = part; all(a, b, c, d, e, f); }
    else if constexpr (Count == 7) { auto& [a, b, c, d, e, f, g] = part; all(a, b, c, d, e, f, g); }
    else if constexpr (Count == 8) { auto& [a, b, c, d, e, f, g, h] = part; all(a, b, c, d, e, f, g, h); }
    else if constexpr (Count == 9) { auto& [a, b, c, d, e, f, g, h, i] = part; all(a, b, c, d, e, f, g, h, i); }
    else if constexpr (Count == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = part;
        all(a, b, c, d, e, f, g, h, i, j); }
    else if constexpr (Count == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = part;
        all(a, b, c, d, e, f, g, h, i, j, k); }
    else if constexpr (Count == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l); }
    else if constexpr (Count == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m); }
    else if constexpr (Count == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
    else if constexpr (Count == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
    else if constexpr (Count == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
    else if constexpr (Count == 17) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q); }
    else if constexpr (Count == 18) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r); }
    else if constexpr (Count == 19) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s); }
    else if constexpr (Count == 20) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t); }
    // clang-format on
    else
        static_assert(Count == 0, "a part has more fields than are listed here");
}

/// Calls visit(profile_field, field) for each field of a part.
template <class Part, class Visit>
constexpr void each_field(Part& part, Visit&& visit) {
    constexpr const auto& fields = fields_of<std::remove_const_t<Part>>;
    std::size_t next = 0;
    each_member<fields.size()>(part, [&](auto& member) { visit(fields[next++], member); });
}

}  // namespace llmres::inline v0::detail
