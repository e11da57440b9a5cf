// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <llmres/error.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// JSON from strangers, and its fields with their types and ranges.
namespace llmres {

/// A parsed document. (In a struct of its own, since braces around a bare nlohmann::json make a list of it.)
struct json_document {
    nlohmann::json root;
};

/// NaN and Infinity, which Python writes and JSON has not.
enum class no_numbers : std::uint8_t {
    as_null,  ///< of files that others wrote
    refused,
};

/// Parses a JSON document that must be an object. Refused by name: what is no JSON, with its line; nesting deeper than 64;
/// the same key twice in one object. Never throws.
inline result<json_document> parse_json_object(std::string_view document, no_numbers like_nan = no_numbers::as_null);

/// What a config.json of at most 16 MiB holds (the largest seen is below 1 MB).
inline result<std::string> read_config_text(const std::filesystem::path& file);

/// What a model is called after the place of its config.json: the folder, or the file if that is called otherwise.
inline std::string config_name(const std::filesystem::path& file);

/// One of several names under which files spell a field.
struct field_names {
    static constexpr std::size_t most = 8;
    std::string_view names[most]{};
    std::size_t count = 0;

    template <class... Names>
    constexpr field_names(const char* first, Names... others)  // NOLINT(google-explicit-constructor): reads as a name
        : names{first, others...}, count{1 + sizeof...(others)} {}
};

/// Reads the fields of one JSON object. The first mistake is kept and every later read returns its fallback, so that a
/// reader can be written straight down and asked once, at its end, whether all was well.
class config_fields {
public:
    using json = nlohmann::json;

    /// `nested`: the object lies inside another one, where files leave out what equals the class's default.
    explicit config_fields(const json& object, std::string_view path = {}, bool nested = false)
        : object_{&object}, path_{path}, nested_{nested} {}

    /// What to read where the object says nothing at all; what it calls null stays absent.
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
    /// Whether the object itself has it.
    bool gives(std::string_view name) const { return present(name); }
    /// Whether a field is there and says more than "none": neither false, 0, 1 nor empty.
    bool says_something(const char* name) const {
        const json* found = present(name) ? &*object_->find(name) : nullptr;
        if (found == nullptr) return false;
        if (const auto* flag = found->get_ptr<const json::boolean_t*>()) return *flag;
        if (const auto* number = found->get_ptr<const json::number_integer_t*>()) return *number != 0 && *number != 1;
        return !found->is_structured() || !found->empty();
    }
    /// Whether a reader asked for the field.
    bool was_read(const char* name) const { return read_.find(name) != read_.end(); }
    bool nested() const { return nested_; }

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
    /// An integer, or the fallback where it is absent or null.
    std::int64_t number_or(const field_names& field, std::int64_t fallback, std::int64_t low, std::int64_t high) {
        const json* found = find(field);
        return found == nullptr ? fallback : integer(field, *found, low, high);
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
    /// The field that held the largest number so far: where to look when the whole overflows.
    text<63> largest_field() const { return largest_field_; }
    std::int64_t largest_value() const { return largest_value_; }

private:
    bool present(std::string_view name) const {
        const auto found = object_->find(name);
        return found != object_->end() && !found->is_null();
    }
    /// The first spelling that is there; null counts as absent.
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
            shown.append(value->dump());
        }
        return shown;
    }
    std::int64_t integer(const field_names& field, const json& value, std::int64_t low, std::int64_t high) {
        text<191> expected{"an integer from "};
        expected.append(detail::digits(low));
        expected.append(" to ");
        expected.append(detail::digits(high));
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

// ---- detail ---------------------------------------------------------------------------------------------------------

inline result<std::string> read_config_text(const std::filesystem::path& file) {
    constexpr std::uintmax_t largest = 16u << 20;
    std::error_code failed;
    const std::string shown = file.generic_string();
    const std::uintmax_t size = std::filesystem::file_size(file, failed);
    if (failed) return refused(error_code::io, "config", shown, "a config.json that can be read");
    if (size > largest) return refused(error_code::io, "config", shown, "a config.json of at most 16 MiB");
    std::ifstream stream{file, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{stream}, std::istreambuf_iterator<char>{}};
    if (!stream) return refused(error_code::io, "config", shown, "a config.json that can be read");
    return content;
}

inline std::string config_name(const std::filesystem::path& file) {
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(file, failed);
    return file.filename() == "config.json" ? whole.parent_path().filename().string() : file.stem().string();
}

namespace detail {

/// Takes any JSON, and remembers where a document stops being that.
struct broken_json final : nlohmann::json_sax<nlohmann::json> {
    std::size_t position = 0;  ///< of the character up to which it was
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t read, const std::string&, const nlohmann::detail::exception&) override {
        position = read > 0 ? read - 1 : 0;
        return false;
    }
};

/// The error that a document has at a position: its line, and what stands there.
inline error broken_line(std::string_view document, std::size_t position, std::string_view expected) {
    position = std::min(position, document.size());
    const std::string_view rest = document.substr(position, 40);
    const auto lines = 1 + std::count(document.begin(), document.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    const std::string_view there = rest.substr(0, rest.find_first_of("\r\n"));
    const std::string_view shown = rest.empty() ? "the end" : there.empty() ? "the line's end" : there;
    return refused(error_code::malformed, "JSON", "line " + std::to_string(lines) + ": " + std::string{shown}, expected);
}

}  // namespace detail

inline result<json_document> parse_json_object(std::string_view document, no_numbers like_nan) {
    using json = nlohmann::json;
    constexpr int deepest = 64;
    // Nesting is measured first: a parser's stack is no place for a stranger's depth.
    int depth = 0;
    bool quoted = false;
    std::string repaired;
    std::size_t copied = 0;
    for (std::size_t i = 0; i < document.size(); ++i) {
        const char c = document[i];
        if (quoted) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > deepest)
                return refused(error_code::malformed, "JSON", "nested too deep", "at most 64 levels");
        } else if (c == '}' || c == ']') {
            --depth;
        } else if (c == 'N' || c == 'I' || c == '-') {
            for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
                if (document.substr(i, word.size()) != word) continue;
                if (like_nan == no_numbers::refused) return detail::broken_line(document, i, "a number, or the field left out");
                repaired.append(document.substr(copied, i - copied)).append("null");
                i += word.size() - 1;
                copied = i + 1;
                break;
            }
        }
    }
    if (copied > 0) document = repaired.append(document.substr(copied));
    std::vector<std::set<std::string>> open;
    error twice;
    const auto watch = [&](int, json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) open.emplace_back();
        if (event == json::parse_event_t::object_end && !open.empty()) open.pop_back();
        if (event == json::parse_event_t::key && !open.empty())
            if (const auto* key = parsed.get_ptr<const json::string_t*>();
                key != nullptr && !open.back().insert(*key).second && twice.code == error_code::none)
                twice = refused(error_code::inconsistent, *key, "given twice", "one value");
        return true;
    };
    json_document read{};
    read.root = json::parse(document.begin(), document.end(), watch, /*allow_exceptions=*/false);
    const json& parsed = read.root;
    if (parsed.is_discarded()) {
        detail::broken_json broken;
        json::sax_parse(document, &broken);
        return detail::broken_line(document, broken.position, "a JSON object");
    }
    if (twice.code != error_code::none) return twice;
    if (!parsed.is_object()) return refused(error_code::malformed, "JSON", parsed.type_name(), "a JSON object");
    return read;
}

}  // namespace llmres
