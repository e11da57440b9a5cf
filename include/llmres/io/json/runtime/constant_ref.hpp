// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <llmres/io/json/runtime/fields.hpp>
#include <llmres/io/json/runtime/names.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

/// The constants of a profile in memory, without their C++ types: whoever reads, writes or explains profiles as data is
/// compiled once for all of them.
namespace llmres::inline v0::detail {

/// What a constant is, as data has it.
enum class constant_kind : std::uint8_t {
    part,      ///< an object of constants
    interval,  ///< low, expected and high
    maybe,     ///< null, or another constant
    flag,      ///< true or false
    whole,     ///< a whole number
    real,      ///< a number
    bytes,     ///< a size
    tokens,    ///< a number of tokens
    seconds,   ///< a time
    choice,    ///< a name of an enumeration
    words,     ///< text
    version,   ///< runtime_version
    format,    ///< precision
    families,  ///< format_set
    knobs,     ///< knob_list
    launcher,  ///< pointer to a launcher
    fraction,  ///< a function that chooses a fraction of the device
    classes,   ///< device_default, three of them
};

struct constant_ref;

/// How constants of one C++ type are read and set; a function is null where the kind has no such value.
struct constant_type {
    constant_kind kind{};
    std::int64_t most = 0;                             ///< the largest whole number, or the most characters
    std::span<const std::string_view> names{};         ///< of an enumeration
    std::int64_t (*whole)(const void*) = nullptr;      ///< of a `maybe`: whether it is known
    void (*set_whole)(void*, std::int64_t) = nullptr;  ///< of a `maybe`: known, or unknown and without a value
    double (*real)(const void*) = nullptr;
    void (*set_real)(void*, double) = nullptr;
    std::string_view (*words)(const void*) = nullptr;
    void (*set_words)(void*, std::string_view) = nullptr;
    std::vector<constant_ref> (*inside)(void*) = nullptr;  ///< of a part, an interval and a `maybe`
    const constant_type* if_known = nullptr;               ///< of a `maybe`: the type of its value
};

/// A constant of a profile in memory.
struct constant_ref {
    const profile_field* field = nullptr;
    const constant_type* type = nullptr;
    void* at = nullptr;

    template <class Value>
    Value& as() const {
        return *static_cast<Value*>(at);
    }
    std::int64_t whole() const { return type->whole(at); }
    double real() const { return type->real(at); }
    std::vector<constant_ref> inside() const { return type->inside(at); }
    /// Whether a number is no more than another of the same type.
    bool at_most(const constant_ref& other) const {
        return type->whole != nullptr ? whole() <= other.whole() : real() <= other.real();
    }
};

template <class Value>
inline constexpr bool is_interval = false;
template <class T>
inline constexpr bool is_interval<interval<T>> = true;
template <class Value>
inline constexpr bool is_maybe = false;
template <class T>
inline constexpr bool is_maybe<maybe<T>> = true;
template <class Value>
inline constexpr bool is_text = false;
template <std::size_t N>
inline constexpr bool is_text<text<N>> = true;

/// What is read and set as a whole number.
template <class Value>
constexpr constant_type whole_type(constant_kind kind, std::int64_t most) {
    constant_type t{.kind = kind, .most = most};
    t.whole = [](const void* at) {
        const Value& value = *static_cast<const Value*>(at);
        if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>)
            return static_cast<std::int64_t>(value);
        else
            return value.base();
    };
    t.set_whole = [](void* at, std::int64_t number) {
        if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>)
            *static_cast<Value*>(at) = static_cast<Value>(number);
        else
            *static_cast<Value*>(at) = Value::from_base(number);
    };
    return t;
}

/// What is read and set as a number.
template <class Value>
constexpr constant_type real_type(constant_kind kind) {
    constant_type t{.kind = kind};
    t.real = [](const void* at) {
        if constexpr (std::is_same_v<Value, double>)
            return *static_cast<const double*>(at);
        else
            return static_cast<const Value*>(at)->base();
    };
    t.set_real = [](void* at, double number) {
        if constexpr (std::is_same_v<Value, double>)
            *static_cast<double*>(at) = number;
        else
            *static_cast<Value*>(at) = Value::from_base(number);
    };
    return t;
}

template <class Value>
constexpr constant_type make_constant_type();

/// How constants of a C++ type are read and set.
template <class Value>
inline constexpr constant_type constant_type_of = make_constant_type<Value>();

/// Lists the members of a part.
struct constant_collector {
    const profile_field* next;
    std::vector<constant_ref>& all;

    template <class Value>
    void operator()(Value& member) {
        all.push_back({next++, &constant_type_of<Value>, static_cast<void*>(&member)});
    }
};

/// The constants of a part, in its order.
template <class Part>
std::vector<constant_ref> constants_in(Part& part) {
    std::vector<constant_ref> all;
    each_member<fields_of<Part>.size()>(part, constant_collector{fields_of<Part>.data(), all});
    return all;
}

/// The ends of an interval, as the fields of an object.
inline constexpr std::array<profile_field, 3> interval_fields{{{"low", ""}, {"expected", ""}, {"high", ""}}};

template <class Value>
constexpr constant_type compound_type() {
    if constexpr (is_part<Value>) {
        return {.kind = constant_kind::part, .inside = [](void* at) { return constants_in(*static_cast<Value*>(at)); }};
    } else if constexpr (is_interval<Value>) {
        return {.kind = constant_kind::interval, .inside = [](void* at) {
                    std::vector<constant_ref> all;
                    constant_collector collect{interval_fields.data(), all};
                    Value& bounds = *static_cast<Value*>(at);
                    collect(bounds.low), collect(bounds.expected), collect(bounds.high);
                    return all;
                }};
    } else {
        static_assert(is_maybe<Value>);
        return {.kind = constant_kind::maybe,
                .whole = [](const void* at) { return std::int64_t{static_cast<const Value*>(at)->known}; },
                .set_whole =
                    [](void* at, std::int64_t known) {
                        Value& value = *static_cast<Value*>(at);
                        if (known == 0) value = {};
                        value.known = known != 0;
                    },
                .inside =
                    [](void* at) {  // what may be known has no name of its own
                        auto& value = static_cast<Value*>(at)->value;
                        return std::vector<constant_ref>{
                            {nullptr, &constant_type_of<std::remove_reference_t<decltype(value)>>, &value}};
                    },
                .if_known = &constant_type_of<std::remove_cvref_t<decltype(Value{}.value)>>};
    }
}

template <class Value>
constexpr constant_type make_constant_type() {
    using kind = constant_kind;
    if constexpr (is_part<Value> || is_interval<Value> || is_maybe<Value>) {
        return compound_type<Value>();
    } else if constexpr (std::is_same_v<Value, bool>) {
        return whole_type<Value>(kind::flag, 1);
    } else if constexpr (std::is_integral_v<Value>) {
        return whole_type<Value>(kind::whole, (std::numeric_limits<Value>::max)());
    } else if constexpr (std::is_same_v<Value, byte_count>) {
        return whole_type<Value>(kind::bytes, std::int64_t{1} << 50);
    } else if constexpr (std::is_same_v<Value, token_count>) {
        return whole_type<Value>(kind::tokens, std::int64_t{1} << 40);
    } else if constexpr (std::is_enum_v<Value>) {
        constant_type t = whole_type<Value>(kind::choice, 0);
        t.names = names_of<Value>;
        return t;
    } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, byte_rate> ||
                         std::is_same_v<Value, power> || std::is_same_v<Value, money>) {
        return real_type<Value>(kind::real);
    } else if constexpr (std::is_same_v<Value, duration>) {
        return real_type<Value>(kind::seconds);
    } else if constexpr (is_text<Value>) {
        return {.kind = kind::words,
                .most = sizeof(Value::characters) - 1,
                .words = [](const void* at) { return static_cast<const Value*>(at)->view(); },
                .set_words = [](void* at, std::string_view words) { *static_cast<Value*>(at) = words; }};
    } else if constexpr (std::is_same_v<Value, runtime_version>) {
        return {.kind = kind::version};
    } else if constexpr (std::is_same_v<Value, precision>) {
        return {.kind = kind::format};
    } else if constexpr (std::is_same_v<Value, format_set>) {
        return {.kind = kind::families};
    } else if constexpr (std::is_same_v<Value, knob_list>) {
        return {.kind = kind::knobs};
    } else if constexpr (std::is_same_v<Value, const launcher*>) {
        return {.kind = kind::launcher};
    } else if constexpr (std::is_same_v<Value, decltype(runtime_cache::default_fraction)>) {
        return {.kind = kind::fraction};
    } else {
        static_assert(std::is_same_v<Value, std::array<device_default, 3>>, "a type that profiles as data do not have");
        return {.kind = kind::classes};
    }
}

}  // namespace llmres::inline v0::detail
