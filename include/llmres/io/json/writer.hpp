// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

/// Objects of an answer, written field by field.
namespace llmres::inline v0 {

/// A JSON value whose keys keep the order in which they were added.
using json_value = nlohmann::ordered_json;

namespace detail {

/// What a field of an answer may be. nlohmann's constructors are templates, compiled again for each C++ type and for
/// each length of a text in quotes; these few are compiled once for all fields.
class json_entry {
public:
    // NOLINTBEGIN(google-explicit-constructor): a value is written as it is
    json_entry(std::nullptr_t) {}
    json_entry(bool truth) : made_(truth) {}
    json_entry(double number) : made_(number) {}
    template <std::signed_integral Number>
    json_entry(Number number) : made_(std::int64_t{number}) {}
    template <std::unsigned_integral Number>
    json_entry(Number number) : made_(std::uint64_t{number}) {}
    json_entry(const char* words) : json_entry(std::string{words}) {}
    json_entry(std::string_view words) : json_entry(std::string{words}) {}
    json_entry(std::string words) : made_(std::move(words)) {}
    json_entry(json_value made) : made_(std::move(made)) {}
    // NOLINTEND(google-explicit-constructor)

    /// Hands the value over, once.
    json_value take() const { return std::move(made_); }

private:
    mutable json_value made_{};  // lists in braces are const
};

/// A field of an object.
struct json_field {
    std::string_view name;
    json_entry value;
};

/// An object of these fields, in this order.
inline json_value json_object(std::initializer_list<json_field> fields) {
    json_value made = json_value::object();
    for (const json_field& f : fields) made[std::string{f.name}] = f.value.take();
    return made;
}

/// The same value as the other type of JSON, whose keys are in another order.
template <class To, class From>
To same_json(const From& value) {
    if (value.is_object()) {
        To made = To::object();
        for (const auto& entry : value.items()) made[entry.key()] = same_json<To>(entry.value());
        return made;
    }
    if (value.is_array()) {
        To made = To::array();
        for (const From& each : value) made.push_back(same_json<To>(each));
        return made;
    }
    if (const auto* words = value.template get_ptr<const typename From::string_t*>()) return To(*words);
    if (const auto* truth = value.template get_ptr<const typename From::boolean_t*>()) return To(*truth);
    if (const auto* natural = value.template get_ptr<const typename From::number_unsigned_t*>()) return To(*natural);
    if (const auto* whole = value.template get_ptr<const typename From::number_integer_t*>()) return To(*whole);
    if (const auto* real = value.template get_ptr<const typename From::number_float_t*>()) return To(*real);
    return To(nullptr);
}

/// A list of these values.
inline json_value json_list(std::initializer_list<json_entry> values) {
    json_value made = json_value::array();
    for (const json_entry& v : values) made.push_back(v.take());
    return made;
}

}  // namespace detail

}  // namespace llmres::inline v0
