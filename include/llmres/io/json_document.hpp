// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// JSON text from strangers, parsed without believing it.
namespace llmres::inline v0 {

/// A parsed document. (In a struct of its own, since braces around a bare nlohmann::json make a list of it.)
struct json_document {
    nlohmann::json root;
};

/// NaN and Infinity, which Python writes and JSON has not.
enum class no_numbers : std::uint8_t {
    as_null,  ///< of files that others wrote
    refused,
};

/// Parses a JSON document that must be an object. Refused by name: what is no JSON, with its line; nesting deeper than
/// 64; the same key twice in one object. Never throws.
inline result<json_document> parse_json_object(std::string_view document, no_numbers like_nan = no_numbers::as_null);

// ---- detail ---------------------------------------------------------------------------------------------------------

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
    return refused(error_code::malformed, "JSON", "line " + std::to_string(lines) + ": " + std::string{shown},
                   expected);
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
                if (like_nan == no_numbers::refused)
                    return detail::broken_line(document, i, "a number, or the field left out");
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

}  // namespace llmres::inline v0
