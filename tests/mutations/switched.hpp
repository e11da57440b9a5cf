// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <utility>

/// Changes of an expression that are switched on while a program runs (tests/mutations/switched).
namespace mutant {

inline constexpr int most = 20000;  ///< changes of one program
inline int active = -1;             ///< the change that is switched on
/// What is known of a change: nothing; that its place was computed; that it is no C++ there.
enum class place : unsigned char { unknown, reached, refused };
inline place places[most];

/// Whether the change is switched on. In a constant expression none is.
constexpr bool on(int change) {
    if (std::is_constant_evaluated()) return false;
    places[change] = place::reached;
    return active == change;
}

/// Stands between two operators, `a < named<...>{} < b`: `a < b`, or, where a change is switched on, another operator.
/// `-1, none`: there is no such change.
template <class Operator, int First, class FirstOther, int Second, class SecondOther>
struct named {};
/// The left half of that.
template <class Left, class Named>
struct half {
    Left&& left;
};
struct none {};

/// Says that a change is no C++ where it stands.
constexpr void refuse(int change) {
    if (std::is_constant_evaluated() || change < 0 || places[change] == place::reached) return;
    places[change] = place::refused;
}

/// A factor that is dropped where a change is switched on: one.
template <class Factor>
constexpr decltype(auto) or_one(int change, Factor&& factor) {
    if constexpr (std::is_arithmetic_v<std::decay_t<Factor>>) {
        return on(change) ? std::decay_t<Factor>(1) : std::decay_t<Factor>(factor);
    } else {
        refuse(change);
        return std::forward<Factor>(factor);
    }
}

/// What a function returns, or `{}` where a change is switched on.
template <class Returned>
constexpr decltype(auto) or_nothing(int change, Returned&& returned) {
    if constexpr (!std::is_reference_v<Returned> && std::is_default_constructible_v<Returned>) {
        return on(change) ? Returned{} : Returned(std::forward<Returned>(returned));
    } else {
        refuse(change);
        return std::forward<Returned>(returned);
    }
}

/// Whether another operator takes the same operands, and makes the same of them.
template <class Other, class Made, class Left, class Right>
constexpr bool fits() {
    if constexpr (requires { Other::apply(std::declval<Left>(), std::declval<Right>()); })
        return std::is_same_v<Made, std::decay_t<decltype(Other::apply(std::declval<Left>(), std::declval<Right>()))>>;
    else
        return false;
}
template <class Operator, int First, class FirstOther, int Second, class SecondOther, class Left, class Right>
constexpr auto apply(Left&& left, Right&& right) {
    using made = std::decay_t<decltype(Operator::apply(std::forward<Left>(left), std::forward<Right>(right)))>;
    if constexpr (fits<FirstOther, made, Left, Right>()) {
        if (on(First)) return FirstOther::apply(std::forward<Left>(left), std::forward<Right>(right));
    } else {
        refuse(First);
    }
    if constexpr (fits<SecondOther, made, Left, Right>()) {
        if (on(Second)) return SecondOther::apply(std::forward<Left>(left), std::forward<Right>(right));
    } else {
        refuse(Second);
    }
    return Operator::apply(std::forward<Left>(left), std::forward<Right>(right));
}

#define MUTANT_OPERATOR(NAME, OP)                                                                             \
    struct NAME {                                                                                             \
        template <class Left, class Right>                                                                    \
        static constexpr auto apply(Left&& left, Right&& right)                                               \
            -> std::decay_t<decltype(std::forward<Left>(left) OP std::forward<Right>(right))> {               \
            return std::forward<Left>(left) OP std::forward<Right>(right);                                    \
        }                                                                                                     \
    };                                                                                                        \
    template <class Left, int I, class First, int J, class Second>                                            \
    constexpr half<Left, named<NAME, I, First, J, Second>> operator OP(Left && left,                          \
                                                                       named<NAME, I, First, J, Second>) {    \
        return {std::forward<Left>(left)};                                                                    \
    }                                                                                                         \
    template <class Left, int I, class First, int J, class Second, class Right>                               \
    constexpr auto operator OP(half<Left, named<NAME, I, First, J, Second>> before, Right&& right) {          \
        return apply<NAME, I, First, J, Second>(std::forward<Left>(before.left), std::forward<Right>(right)); \
    }
MUTANT_OPERATOR(lt, <)
MUTANT_OPERATOR(gt, >)
MUTANT_OPERATOR(le, <=)
MUTANT_OPERATOR(ge, >=)
MUTANT_OPERATOR(eq, ==)
MUTANT_OPERATOR(ne, !=)
MUTANT_OPERATOR(plus, +)
MUTANT_OPERATOR(minus, -)
MUTANT_OPERATOR(times, *)
MUTANT_OPERATOR(over, /)
#undef MUTANT_OPERATOR

}  // namespace mutant
