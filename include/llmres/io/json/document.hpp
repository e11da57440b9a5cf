// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// JSON text that may hold anything, parsed within bounds.
namespace llmres::inline v0 {

/// A parsed document. (In a struct of its own, since braces around a bare nlohmann::json make a list of it.)
struct json_document {
    nlohmann::json root;  ///< the parsed value
};

/// What to do with NaN and Infinity, which Python writes and JSON does not have.
enum class no_numbers : std::uint8_t {
    as_null,  ///< read them as null: for files that other software wrote
    refused,
};

/// Parses a JSON document that must be an object. Refused by name: what is no JSON, with its line; nesting deeper than
/// 64; more than 300,000 values; the same key twice in one object. Never throws.
inline result<json_document> parse_json_object(std::string_view document, no_numbers like_nan = no_numbers::as_null);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Builds the value of a document as nlohmann's parser reads it, in time that grows with its length alone, and stops at
/// what is refused. (nlohmann's own parser with a callback looks through a whole list again after each of its entries.)
class document_builder final : public nlohmann::json_sax<nlohmann::json> {
public:
    static constexpr std::size_t deepest = 64;
    static constexpr std::size_t most_values = 300'000;  ///< an index of Kimi K2 in NVFP4 names 280,000 tensors

    /// What was built; whole only if the parser came to the end.
    json_document& built() { return built_; }
    /// Why it stopped; without a code where the text is no JSON.
    const error& refusal() const { return refusal_; }
    /// How many characters were JSON, where the text is not.
    std::size_t position() const { return position_; }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t&) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t&) override { return false; }  // JSON text has none
    bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
    bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        const auto [place, is_new] = open_.back()->emplace(name, nullptr);
        if (!is_new) return refuse(refused(error_code::inconsistent, name, "given twice", "one value"));
        field_ = &*place;
        return true;
    }
    bool parse_error(std::size_t read, const std::string&, const nlohmann::detail::exception&) override {
        position_ = read > 0 ? read - 1 : 0;
        return false;
    }

private:
    /// Puts a value at its place: the root, the field whose key was read last, or the end of the open list.
    template <class Value>
    nlohmann::json& placed(Value&& value) {
        if (open_.empty()) return built_.root = std::forward<Value>(value);
        if (open_.back()->is_object()) return *field_ = std::forward<Value>(value);
        return open_.back()->emplace_back(std::forward<Value>(value));
    }
    bool counted() {
        if (++values_ <= most_values) return true;
        return refuse(refused(error_code::out_of_range, "JSON", "too long a document", "at most 300,000 values"));
    }
    template <class Value>
    bool put(Value&& value) {
        placed(std::forward<Value>(value));
        return counted();
    }
    bool open(nlohmann::json value) {
        if (open_.size() == deepest)
            return refuse(refused(error_code::malformed, "JSON", "nested too deep", "at most 64 levels"));
        open_.push_back(&placed(std::move(value)));
        return counted();
    }
    bool close() {
        open_.pop_back();
        return true;
    }
    bool refuse(const error& what) {
        refusal_ = what;
        return false;
    }

    json_document built_{};
    std::vector<nlohmann::json*> open_{};  ///< the objects and lists that are not closed, the outermost first
    nlohmann::json* field_ = nullptr;      ///< the value of the key that was read last
    error refusal_{};
    std::size_t position_ = 0;
    std::size_t values_ = 0;  ///< read so far
};

/// Sends what JSON text says to a visitor, until it stops or the text ends. The one place where nlohmann's parser is
/// used: one type of input and of visitor, so that it is compiled once.
inline bool parse_json(std::string_view document, nlohmann::json_sax<nlohmann::json>& visitor) {
    return nlohmann::json::sax_parse(document, &visitor);
}

/// The value of JSON text of this library's own, which is known to be well-formed.
inline nlohmann::json own_json(std::string_view document) {
    document_builder builder;
    parse_json(document, builder);
    return std::move(builder.built().root);
}

/// The error that a document has at a position: its line, and what stands there.
inline error broken_line(std::string_view document, std::size_t position, std::string_view expected) {
    position = (std::min)(position, document.size());
    const std::string_view rest = document.substr(position, 40);
    const auto lines = 1 + std::count(document.begin(), document.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    const std::string_view there = rest.substr(0, rest.find_first_of("\r\n"));
    const std::string_view shown = rest.empty() ? "the end" : there.empty() ? "the line's end" : there;
    return refused(error_code::malformed, "JSON", "line " + std::to_string(lines) + ": " + std::string{shown},
                   expected);
}

}  // namespace detail

namespace detail {

/// Where the next NaN, Infinity or -Infinity outside of strings begins, from a position on; npos if there is none.
struct number_word {
    std::size_t begin = std::string_view::npos;
    std::size_t length = 0;
};
inline number_word next_number_word(std::string_view document, std::size_t from) {
    bool quoted = false;
    for (std::size_t i = from; i < document.size(); ++i) {
        const char c = document[i];
        if (quoted && c == '\\') {
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == 'N' || c == 'I' || c == '-')) {
            for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
                if (document.substr(i, word.size()) == word) return {i, word.size()};
        }
    }
    return {};
}

/// The document with null for each NaN and Infinity.
inline std::string without_number_words(std::string_view document, number_word found) {
    std::string repaired;
    std::size_t copied = 0;
    for (; found.begin != std::string_view::npos; found = next_number_word(document, copied)) {
        repaired.append(document.substr(copied, found.begin - copied)).append("null");
        copied = found.begin + found.length;
    }
    return repaired.append(document.substr(copied));
}

}  // namespace detail

inline result<json_document> parse_json_object(std::string_view document, no_numbers like_nan) {
    std::string repaired;
    if (const auto found = detail::next_number_word(document, 0); found.begin != std::string_view::npos) {
        if (like_nan == no_numbers::refused)
            return detail::broken_line(document, found.begin, "a number, or the field left out");
        document = repaired = detail::without_number_words(document, found);
    }
    detail::document_builder builder;
    if (!detail::parse_json(document, builder)) {
        if (builder.refusal().code != error_code::none) return builder.refusal();
        return detail::broken_line(document, builder.position(), "a JSON object");
    }
    const nlohmann::json& root = builder.built().root;
    if (!root.is_object()) return refused(error_code::malformed, "JSON", root.type_name(), "a JSON object");
    return std::move(builder.built());
}

}  // namespace llmres::inline v0
