// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

/// Reads the fields of JSON objects that may hold anything, with their types and ranges.
namespace llmres::inline v0::detail {

/// A value as an error shows it. (Text from a command line need not be UTF-8.)
inline std::string shown(const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Whether a value is this string. (nlohmann's == is compiled for each type of its right side, and for every type that
/// JSON converts to.)
inline bool says(const nlohmann::json& value, std::string_view words) {
    const auto* said = value.get_ptr<const nlohmann::json::string_t*>();
    return said != nullptr && *said == words;
}

/// The names under which files may have one field, the most usual first.
struct field_names {
    static constexpr std::size_t most = 8;
    std::string_view names[most]{};
    std::size_t count = 0;

    template <class... Names>
    constexpr field_names(const char* first, Names... others)  // NOLINT(google-explicit-constructor): reads as a name
        : names{first, others...}, count{1 + sizeof...(others)} {}
};

/// Reads the fields of one JSON object. The first error is kept, and every later read returns its fallback: a reader
/// asks once, at its end, whether all was well.
class config_fields {
public:
    using json = nlohmann::json;

    explicit config_fields(const json& object) : object_{&object} {}
    /// Of an object inside another one, where files leave out fields that equal the class's defaults.
    config_fields(const json& object, std::string_view path) : object_{&object}, path_{path}, nested_{true} {}

    /// Values for fields that the object does not have; a field that is null counts as absent all the same.
    void fall_back_on(json defaults) { defaults_ = std::move(defaults); }

    const llmres::error& error() const { return error_; }
    bool ok() const { return error_.code == error_code::none; }
    /// Keeps the first error only.
    void fail(const llmres::error& what) {
        if (ok()) error_ = what;
    }
    void fail(error_code code, const field_names& field, std::string_view expected) {
        fail({code, label(field), written(find(field)), expected});
    }
    void keep(const status& checked) {
        if (!checked) fail(checked.error());
    }

    bool has(const field_names& field) const { return find(field) != nullptr; }
    /// Whether the object itself has the field, not its defaults.
    bool gives(std::string_view name) const { return present(name); }
    /// Whether a field is there and is neither false, 0, 1 nor empty.
    bool says_something(const char* name) const {
        const json* found = present(name) ? &*object_->find(name) : nullptr;
        if (found == nullptr) return false;
        if (const auto* flag = found->get_ptr<const json::boolean_t*>()) return *flag;
        if (const auto* number = found->get_ptr<const json::number_integer_t*>()) return *number != 0 && *number != 1;
        return !found->is_structured() || !found->empty();
    }
    /// Whether the field has been asked for.
    bool was_read(const char* name) const { return read_.find(name) != read_.end(); }

    /// An integer that must be there. Integers written as 4096.0 are understood; text and fractions are refused.
    std::int64_t number(const field_names& field, std::int64_t low, std::int64_t high) {
        const json* found = find(field);
        if (found == nullptr) {
            text<191> expected{"an integer"};
            for (std::size_t i = 0; i < field.count && field.count > 1; ++i) {
                expected.append(i == 0 ? ", under the name " : " or ");
                expected.append(field.names[i]);
            }
            fail({error_code::missing, label(field), "absent", expected});
            return low;
        }
        return integer(field, *found, low, high);
    }
    /// An integer, or the fallback where it is absent or null, which `remark` is an error's last word on.
    std::int64_t number_or(const field_names& field, std::int64_t fallback, std::int64_t low, std::int64_t high,
                           std::string_view remark = {}) {
        const json* found = find(field);
        return found == nullptr ? fallback : integer(field, *found, low, high, remark);
    }
    /// An integer that must be there, except in a nested object, where its absence means the class's default.
    std::int64_t number_nested(const field_names& field, std::int64_t class_default, std::int64_t low,
                               std::int64_t high) {
        return nested_ && !has(field) ? class_default : number(field, low, high);
    }
    bool flag_or(const field_names& field, bool fallback) {
        const json* found = find(field);
        if (found == nullptr) return fallback;
        if (const auto* value = found->get_ptr<const json::boolean_t*>()) return *value;
        fail(error_code::malformed, field, "true or false");
        return fallback;
    }
    std::string_view text_or(const field_names& field, std::string_view fallback) {
        const json* found = find(field);
        if (found == nullptr) return fallback;
        if (const auto* value = found->get_ptr<const json::string_t*>()) return *value;
        fail(error_code::malformed, field, "a string");
        return fallback;
    }
    bool holds_list(const field_names& field) const {
        const json* found = find(field);
        return found != nullptr && found->is_array();
    }
    bool holds_object(const field_names& field) const {
        const json* found = find(field);
        return found != nullptr && found->is_object();
    }
    bool holds_text(const field_names& field) const {
        const json* found = find(field);
        return found != nullptr && found->is_string();
    }
    /// A list, or nullptr where it is absent or null.
    const json* list(const field_names& field) {
        const json* found = find(field);
        if (found == nullptr || found->is_array()) return found;
        fail(error_code::malformed, field, "a list");
        return nullptr;
    }
    /// An object, or nullptr where it is absent or null.
    const json* object(const field_names& field) {
        const json* found = find(field);
        if (found == nullptr || found->is_object()) return found;
        fail(error_code::malformed, field, "an object");
        return nullptr;
    }
    /// Whether the list holds this number.
    bool lists(const field_names& field, std::int64_t number) {
        const json* found = list(field);
        if (found == nullptr) return false;
        for (const json& entry : *found)
            if (const std::int64_t* value = entry.get_ptr<const json::number_integer_t*>();
                (value != nullptr && *value == number))
                return true;
        return false;
    }
    /// A number that may be fractional.
    double real_or(const field_names& field, double fallback, double low, double high) {
        const json* found = find(field);
        if (found == nullptr) return fallback;
        double value = 0;
        if (const auto* real = found->get_ptr<const json::number_float_t*>())
            value = *real;
        else if (const auto* natural = found->get_ptr<const json::number_unsigned_t*>())
            value = static_cast<double>(*natural);
        else if (const auto* whole = found->get_ptr<const json::number_integer_t*>())
            value = static_cast<double>(*whole);
        else
            fail(error_code::malformed, field, "a number");
        if (ok() && !(value >= low && value <= high))
            fail(error_code::out_of_range, field, "a number in its usual range");
        return ok() ? value : fallback;
    }
    /// The nth string of a list; an error where there is none.
    std::string_view text_at(const field_names& field, std::size_t index) {
        const json* found = list(field);
        if (found != nullptr && index < found->size())
            if (const auto* value = (*found)[index].get_ptr<const json::string_t*>()) return *value;
        fail(error_code::malformed, field, "a list with a string in each place");
        return {};
    }
    std::int64_t number_at(const field_names& field, std::size_t index, std::int64_t low, std::int64_t high) {
        const json* found = list(field);
        if (found != nullptr && index < found->size()) return integer(field, (*found)[index], low, high);
        fail(error_code::malformed, field, "a list with one integer a layer");
        return low;
    }

    /// The name under which this file has the field, with the path to it.
    text<63> label(const field_names& field) const {
        std::string_view name = field.names[0];
        for (std::size_t i = 0; i < field.count; ++i)
            if (present(field.names[i])) {
                name = field.names[i];
                break;
            }
        text<63> full{path_};
        if (!full.empty()) full.append(".");
        full.append(name);
        return full;
    }
    /// The field that held the largest number so far, which an error names where a product overflows.
    text<63> largest_field() const { return largest_field_; }
    std::int64_t largest_value() const { return largest_value_; }

private:
    bool present(std::string_view name) const {
        const auto found = object_->find(name);
        return found != object_->end() && !found->is_null();
    }
    /// The field under the first of its names that is there; null counts as absent.
    const json* find(const field_names& field) const {
        for (std::size_t i = 0; i < field.count; ++i) read_.insert(field.names[i]);
        bool silent = true;
        for (std::size_t i = 0; i < field.count; ++i) {
            if (present(field.names[i])) return &*object_->find(field.names[i]);
            silent = silent && !object_->contains(field.names[i]);
        }
        for (std::size_t i = 0; i < field.count && silent; ++i)
            if (const auto found = defaults_.find(field.names[i]); found != defaults_.end()) return &*found;
        return nullptr;
    }
    /// A value as an error shows it.
    static text<95> written(const json* value) {
        if (value == nullptr) return "absent";
        if (value->is_object()) return "an object";
        if (value->is_array()) return "a list";
        text<95> shown;
        if (const auto* characters = value->get_ptr<const json::string_t*>()) {
            shown.append("\"");
            shown.append(std::string_view{*characters}.substr(0, 90));
            shown.append("\"");
        } else {
            shown.append(detail::shown(*value));
        }
        return shown;
    }
    std::int64_t integer(const field_names& field, const json& value, std::int64_t low, std::int64_t high,
                         std::string_view remark = {}) {
        text<191> expected{"an integer from "};
        expected.append(detail::digits(low));
        expected.append(" to ");
        expected.append(detail::digits(high));
        expected.append(remark);
        const auto refuse = [&](error_code code) {
            fail({code, label(field), written(&value), expected});
            return low;
        };
        std::int64_t number = 0;
        if (const auto* natural = value.get_ptr<const json::number_unsigned_t*>()) {
            if (*natural > static_cast<std::uint64_t>(high)) return refuse(error_code::out_of_range);
            number = static_cast<std::int64_t>(*natural);
        } else if (const auto* whole = value.get_ptr<const json::number_integer_t*>()) {
            number = *whole;
        } else if (const auto* real = value.get_ptr<const json::number_float_t*>()) {
            if (!(*real >= static_cast<double>(low) && *real <= static_cast<double>(high)))
                return refuse(error_code::out_of_range);
            number = static_cast<std::int64_t>(*real);
            if (static_cast<double>(number) != *real) return refuse(error_code::malformed);
        } else {
            return refuse(error_code::malformed);
        }
        if (number < low || number > high) return refuse(error_code::out_of_range);
        if (number > largest_value_) {
            largest_value_ = number;
            largest_field_ = label(field);
        }
        return number;
    }

    const json* object_;
    json defaults_ = json::object();
    mutable std::set<std::string_view> read_{};
    text<63> path_;
    bool nested_ = false;
    llmres::error error_{};
    text<63> largest_field_{};
    std::int64_t largest_value_ = 0;
};

}  // namespace llmres::inline v0::detail
