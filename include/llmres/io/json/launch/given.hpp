// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/document.hpp>
#include <llmres/io/json/launch/options.hpp>
#include <llmres/io/json/launch/words.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// What is said on a command line: the values of a program's options, by the keys that their rows name.
namespace llmres::inline v0::detail {

/// What options say.
struct given_options {
    std::map<std::string, nlohmann::json> values{};  ///< by the keys of the rows: "layout.tensor", ":speculation"
    std::vector<std::string> tensors{};              ///< the values of an option that adds up: llama.cpp's -ot
    std::vector<std::string> unmodelled{};           ///< options that change memory or speed, with their values
    std::vector<shell_word> positional{};            ///< words that are no options

    /// The value of a key; null where nothing says it.
    nlohmann::json value(const std::string& key) const {
        const auto found = values.find(key);
        return found == values.end() ? nlohmann::json{} : found->second;
    }
    /// The whole number of a key, or another where nothing says it.
    std::int64_t whole(const std::string& key, std::int64_t otherwise) const {
        const nlohmann::json v = value(key);
        return v.is_number_integer() ? v.get<std::int64_t>() : otherwise;
    }
    /// The text of a key; empty where nothing says it.
    std::string text(const std::string& key) const {
        const nlohmann::json v = value(key);
        return v.is_string() ? v.get<std::string>() : "";
    }
    /// Whether a key is said to be so.
    bool is(const std::string& key) const {
        const nlohmann::json v = value(key);
        return v.is_boolean() && v.get<bool>();
    }
    /// Whether a key is said not to be so.
    bool denies(const std::string& key) const {
        const nlohmann::json v = value(key);
        return v.is_boolean() && !v.get<bool>();
    }
};

/// Whether a program's parser takes the start of an option's name for the option, and any word for a value.
struct option_grammar {
    option_list options{};
    bool abbreviates = false;     ///< argparse: --tensor-parallel is --tensor-parallel-size
    bool takes_any_word = false;  ///< a value may begin with a dash
};

/// Reads the options of a program from its arguments. Refused: an option that has no row, with the nearest that has;
/// a value that is missing or of another type; a variable where the value has a bearing on the job.
inline result<given_options> options_given(const option_grammar& grammar, const std::vector<shell_word>& arguments);

// ---- detail ---------------------------------------------------------------------------------------------------------

/// What may stand behind a number.
enum class multipliers : std::uint8_t { none, of_vllm };

/// A number; vLLM's multipliers behind it (utils/argparse_utils.py, human_readable_int()) where they are allowed.
inline bool whole_number(std::string_view text, multipliers allowed, std::int64_t& number) {
    const char* const first = text.data();
    const char* const end = first + text.size();
    const auto read = std::from_chars(first, end, number);
    if (read.ec == std::errc{} && read.ptr == end) return true;
    if (allowed == multipliers::none || text.empty()) return false;
    constexpr std::string_view suffixes = "kmgtKMGT";
    const std::size_t suffix = suffixes.find(text.back());
    if (suffix == std::string_view::npos) return false;
    double factor = 1;
    for (std::size_t i = 0; i <= suffix % 4; ++i) factor *= suffix < 4 ? 1000 : 1024;
    double value = 0;
    const auto part = std::from_chars(first, end - 1, value);
    const bool whole = value == std::floor(value);
    if (part.ec != std::errc{} || part.ptr != end - 1 || !(std::fabs(value) * factor < 9e15) || (suffix >= 4 && !whole))
        return false;
    number = static_cast<std::int64_t>(value * factor);
    return true;
}

inline bool real_number(std::string_view text, double& number) {
    const char* const first = text.data();
    const char* const end = first + text.size();
    const auto read = std::from_chars(first, end, number);
    return read.ec == std::errc{} && read.ptr == end && std::isfinite(number);
}

/// A word as yes or no, as Python, YAML and llama.cpp write it; nothing else is either.
inline maybe<bool> truth_of(std::string_view word) {
    constexpr std::array<std::string_view, 10> words{"off", "false", "0", "no",  "disabled",
                                                     "on",  "true",  "1", "yes", "enabled"};
    for (std::size_t i = 0; i < words.size(); ++i)
        if (same_letters(word, words[i])) return i >= words.size() / 2;
    return {};
}

/// Reads arguments one by one.
class option_reader {
public:
    option_reader(const option_grammar& grammar, const std::vector<shell_word>& arguments)
        : grammar_{grammar}, words_{arguments} {
        for (const launch_option& o : grammar.options)
            for (std::string_view rest = o.names; !rest.empty();)
                if (const std::string_view name = taken_before(rest, " "); !name.starts_with("--"))
                    longest_short_ = (std::max)(longest_short_, name.size());
    }

    result<given_options> read() {
        for (; at_ < words_.size(); ++at_) {
            const std::string& word = words_[at_].text;
            if (word == "--") continue;
            if (word.size() < 2 || word[0] != '-' || is_digit(word[1])) {
                given_.positional.push_back(words_[at_]);
            } else if (const status taken = option(word); !taken) {
                return taken.error();
            }
        }
        return std::move(given_);
    }

private:
    /// The option of a name as it is written, its key behind a dot ("--speculative-config.method"), and whether it is
    /// denied.
    struct named_option {
        const launch_option* row = nullptr;
        std::string path{};
        bool denied = false;
    };
    static bool may_have_parts(option_use use) {
        return use == option_use::json_text || use == option_use::unmodelled || use == option_use::silent;
    }
    named_option find(const std::string& name) const {
        if (const launch_option* row = grammar_.options.find(name)) {
            const std::string_view spelled = name;
            return {.row = row, .denied = spelled.starts_with("--no-") && !row->name().starts_with("--no-")};
        }
        for (const auto& [denial, asserted] : {std::pair{"--no-", "--"}, std::pair{"--disable-", "--enable-"}}) {
            std::string_view rest = name;
            std::string dashed;
            for (const char c : rest.substr(0, 10)) dashed += c == '_' ? '-' : c;
            if (!dashed.starts_with(denial)) continue;
            const std::string other = asserted + name.substr(std::string_view{denial}.size());
            const launch_option* row = grammar_.options.find(other);
            if (row != nullptr && row->takes == option_value::flag) return {.row = row, .denied = true};
        }
        if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
            const launch_option* row = grammar_.options.find(name.substr(0, dot));
            if (row != nullptr && may_have_parts(row->use)) return {.row = row, .path = name.substr(dot + 1)};
        }
        return {.row = grammar_.abbreviates ? abbreviated(name) : nullptr};
    }
    /// The one option whose name begins so.
    const launch_option* abbreviated(const std::string& name) const {
        if (!name.starts_with("--") || name.size() < 4) return nullptr;
        std::string dashed = name;
        for (char& c : dashed) c = c == '_' ? '-' : c;
        const launch_option* one = nullptr;
        for (const launch_option& o : grammar_.options) {
            std::string_view rest = o.names;
            bool begins = false;
            while (!rest.empty()) begins = taken_before(rest, " ").starts_with(dashed) || begins;
            if (!begins) continue;
            if (one != nullptr) return nullptr;
            one = &o;
        }
        return one;
    }
    status option(const std::string& word) {
        const std::size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        joined_ = equals != std::string::npos;
        value_ = {joined_ ? word.substr(equals + 1) : "", words_[at_].variable};
        named_option named = find(name);
        // -tp8, -O3: a value behind an option of one dash.
        for (std::size_t length = (std::min)(name.size(), longest_short_ + 1);
             named.row == nullptr && !word.starts_with("--") && --length > 1;) {
            named = find(name.substr(0, length));
            if (named.row == nullptr || named.row->takes != option_value::value) named.row = nullptr;
            if (named.row == nullptr) continue;
            joined_ = true;
            value_.text = word.substr(length);
        }
        if (named.row == nullptr) return unknown(name);
        return take(named, name);
    }
    status unknown(const std::string& name) const {
        std::vector<std::string_view> names;
        for (const launch_option& o : grammar_.options)
            for (std::string_view rest = o.names; !rest.empty();) names.push_back(taken_before(rest, " "));
        return refused(error_code::unknown, "option", name, such_as("an option of it", nearest(name, names)));
    }
    bool is_option(const std::string& word) const {
        return word.size() > 1 && word[0] == '-' && !is_digit(word[1]) && word[1] != '.' &&
               word.find(' ') == std::string::npos;
    }
    bool has_next() const { return at_ + 1 < words_.size(); }
    status missing(const std::string& name) const {
        return refused(error_code::missing, name, "absent", "a value behind it");
    }
    status take(const named_option& named, const std::string& name) {
        const launch_option& row = *named.row;
        std::vector<std::string> rest;
        switch (row.takes) {
            case option_value::flag:
            case option_value::bare:
                if (!named.path.empty()) break;
                if (!joined_ && has_next() &&
                    (words_[at_ + 1].text == "true" || words_[at_ + 1].text == "false" ||
                     words_[at_ + 1].text == "True" || words_[at_ + 1].text == "False"))
                    joined_ = true, value_ = words_[++at_];
                break;
            case option_value::maybe:
                if (!joined_ && has_next() && !is_option(words_[at_ + 1].text)) joined_ = true, value_ = words_[++at_];
                break;
            case option_value::many:
                while (!joined_ && has_next() && !is_option(words_[at_ + 1].text)) rest.push_back(words_[++at_].text);
                break;
            case option_value::two:
                if (!has_next()) return missing(name);
                if (!joined_) value_ = words_[++at_];
                if (!has_next()) return missing(name);
                ++at_;
                break;
            case option_value::value:
                if (joined_) break;
                if (!has_next() || (!grammar_.takes_any_word && is_option(words_[at_ + 1].text))) return missing(name);
                value_ = words_[++at_];
                break;
        }
        if (row.use == option_use::silent) return done{};
        const bool is_bare = row.takes == option_value::flag || row.takes == option_value::bare;
        if (is_bare && named.path.empty()) {
            const maybe<bool> said = truth_of(joined_ ? value_.text : "yes");
            if (!said) return refused(error_code::malformed, name, value_.text, "true or false");
            value_.text = *said != named.denied ? "true" : "false";
        }
        for (const std::string& more : rest) value_.text += (value_.text.empty() ? "" : " ") + more;
        return say(row, named.path, name);
    }
    status say(const launch_option& row, const std::string& path, const std::string& name) {
        if (row.use == option_use::unmodelled) {
            if (path.empty() && !row.says.empty() && same_letters(row.says, value_.text)) return done{};
            const bool alone = row.takes == option_value::bare || row.takes == option_value::flag;
            given_.unmodelled.push_back(alone && path.empty() ? name : name + " " + value_.text);
            return done{};
        }
        if (!value_.variable.empty() && value_.text.find(value_.variable) != std::string::npos)
            return refused(error_code::unsupported, name, value_.variable, "its value: variables are not expanded");
        nlohmann::json read;
        if (const status converted = convert(row, path, name, read); !converted) return converted;
        // Behind a colon a dot leads into an object: ":speculation.method" and ":speculation" are one.
        const std::size_t dot = row.says.starts_with(':') ? row.says.find('.') : std::string_view::npos;
        const std::string key{row.says.substr(0, dot)};
        if (dot != std::string_view::npos)
            return put_at(given_.values[key], row.says.substr(dot + 1), std::move(read)), done{};
        if (key == ":tensors") given_.tensors.push_back(value_.text);
        if (path.empty() && row.use == option_use::json_text && given_.values[key].is_object())
            given_.values[key].update(read);
        else if (path.empty())
            given_.values[key] = std::move(read);
        else
            put_at(given_.values[key], path, std::move(read));
        return done{};
    }
    /// A value under a path with dots.
    static void put_at(nlohmann::json& object, std::string_view path, nlohmann::json value) {
        nlohmann::json* at = &object;
        for (int depth = 0; !path.empty() && depth < 32; ++depth) {
            if (!at->is_object()) *at = nlohmann::json::object();
            at = &(*at)[std::string{taken_before(path, ".")}];
        }
        *at = std::move(value);
    }
    status convert(const launch_option& row, const std::string& path, const std::string& name, nlohmann::json& read) {
        const std::string& text = value_.text;
        std::int64_t number = 0;
        double real = 0;
        if (!path.empty()) {  // a part of an object, as JSON or as a word
            read = whole_number(text, multipliers::of_vllm, number) ? nlohmann::json(number)
                   : real_number(text, real)                        ? nlohmann::json(real)
                                                                    : nlohmann::json(text);
            return done{};
        }
        switch (row.use) {
            case option_use::whole:
            case option_use::human:
                if (row.use == option_use::human && (text == "auto" || text == "-1")) return read = "auto", done{};
                if (!whole_number(text, row.use == option_use::human ? multipliers::of_vllm : multipliers::none,
                                  number))
                    return refused(
                        error_code::malformed, name, text,
                        row.use == option_use::human ? "a whole number, such as 32768, 32k or 32K" : "a whole number");
                return read = number, done{};
            case option_use::real:
                if (!real_number(text, real)) return refused(error_code::malformed, name, text, "a number");
                return read = real, done{};
            case option_use::yes:
                return read = row.takes == option_value::many || row.takes == option_value::value || text == "true",
                       done{};
            case option_use::json_text: {
                const auto object = parse_json_object(text);
                if (!object) return within(name, object.error());
                return read = object->root, done{};
            }
            default: return read = text, done{};
        }
    }

    option_grammar grammar_;
    const std::vector<shell_word>& words_;
    std::size_t at_ = 0;
    std::size_t longest_short_ = 0;  ///< characters of the longest name with one dash
    bool joined_ = false;            ///< the value stands behind an equals sign
    shell_word value_{};
    given_options given_{};
};

inline result<given_options> options_given(const option_grammar& grammar, const std::vector<shell_word>& arguments) {
    return option_reader{grammar, arguments}.read();
}

}  // namespace llmres::inline v0::detail
