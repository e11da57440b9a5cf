// SPDX-License-Identifier: MIT
// Reads the settings of trainers by their rows.
#include "trainer_settings.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <llmres/io/json/launch/given.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <optional>
#include <system_error>

namespace program {
namespace {

/// Whether a list of names with blanks between them has one.
bool names_have(std::string_view names, std::string_view name) {
    while (!names.empty())
        if (llmres::detail::taken_before(names, " ") == name) return true;
    return false;
}

/// The whole number that a text is, as Python writes it: 500_000.
std::optional<std::int64_t> whole_in(std::string text) {
    std::erase(text, '_');
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (text.empty() || read.ec != std::errc{} || read.ptr != end) return {};
    return number;
}

/// Tells settings one by one.
class settings_teller {
public:
    settings_teller(const trainer& of, const given_settings& given) : of_{of}, given_{given} {}

    told_settings told() {
        for (const auto& [path, setting] : given_) tell_of(path, setting);
        return std::move(told_);
    }

private:
    /// The row of a setting: its own, or that of an object in which it stands.
    const trainer_setting* row_of(std::string_view path) const {
        for (std::string_view whole = path; !whole.empty();) {
            for (const trainer_setting& row : of_.settings) {
                const bool is_own = whole.size() == path.size();
                const bool holds_others = row.use == setting_use::silent || row.use == setting_use::unmodelled;
                if ((is_own || holds_others) && names_have(row.names, whole)) return &row;
            }
            const std::size_t dot = whole.rfind('.');
            whole = whole.substr(0, dot == std::string_view::npos ? 0 : dot);
        }
        return nullptr;
    }
    static std::string shown(const std::string& path, const given_setting& setting) {
        return setting.written.empty() ? fmt::format("{}: {}", path, setting.value) : setting.written;
    }
    static std::string name_of_setting(const std::string& path, const given_setting& setting) {
        return setting.written.empty() ? path : setting.written.substr(0, setting.written.find_first_of(" ="));
    }
    void note_unmodelled(const std::string& path, const given_setting& setting) {
        told_.notes.push_back(shown(path, setting) + " changes memory or speed, and is not modelled");
    }
    void unknown(const std::string& path, const given_setting& setting) {
        std::vector<std::string_view> names;
        for (const trainer_setting& row : of_.settings)
            for (std::string_view rest = row.names; !rest.empty();)
                names.push_back(llmres::detail::taken_before(rest, " "));
        const auto alike = llmres::nearest(path, names);
        if (!setting.written.empty())
            throw refusal{llmres::refused(llmres::error_code::unknown, name_of_setting(path, setting), setting.value,
                                          llmres::such_as(fmt::format("a setting of {}", of_.name), alike))};
        told_.notes.push_back(fmt::format("{} is no setting of {}'s that is known, and is not planned{}",
                                          shown(path, setting), of_.name,
                                          alike.empty() ? "" : fmt::format(" (is it {}?)", *alike.begin())));
    }
    [[noreturn]] static void other_than(const std::string& path, const given_setting& setting,
                                        const std::string& expected) {
        if (setting.value.find('$') != std::string::npos)
            throw refusal{llmres::refused(llmres::error_code::unsupported, name_of_setting(path, setting),
                                          setting.value, expected + ": variables are not expanded")};
        throw refusal{
            llmres::refused(llmres::error_code::malformed, name_of_setting(path, setting), setting.value, expected)};
    }
    void tell_of(const std::string& path, const given_setting& setting) {
        const trainer_setting* const row = row_of(path);
        if (row == nullptr) return unknown(path, setting);
        const std::string& value = setting.value;
        switch (row->use) {
            case setting_use::silent: return;
            case setting_use::unmodelled:
                if (value.empty() || value == "false" || value == "False" || names_have(row->says, value)) return;
                return note_unmodelled(path, setting);
            case setting_use::whole:
            case setting_use::count: {
                const std::optional<std::int64_t> number = whole_in(value);
                constexpr std::int64_t most = std::int64_t{1} << 53;
                if (!number || *number > most || *number < (row->use == setting_use::whole ? 1 : -1))
                    other_than(path, setting,
                               row->use == setting_use::whole ? "a whole number of at least 1" : "a whole number");
                return say(row->says, std::to_string(*number));
            }
            case setting_use::real: {
                double number = 0;
                if (!llmres::detail::real_number(value, number)) other_than(path, setting, "a number");
                return say(row->says, value);
            }
            case setting_use::yes: {
                const llmres::maybe<bool> said = llmres::detail::truth_of(value);
                if (!said) other_than(path, setting, "true or false");
                std::string_view rest = row->says;
                const std::string_view if_true = llmres::detail::taken_before(rest, "|");
                if (row->says.find('=') == std::string_view::npos) return say(if_true, *said ? "true" : "false");
                return set(*said ? if_true : rest);
            }
            case setting_use::text:
                if (value.find('$') != std::string::npos) other_than(path, setting, "its value");
                return say(row->says, value);
            case setting_use::path: return say(row->says, value);
            case setting_use::word: return word(*row, path, setting);
        }
    }
    void word(const trainer_setting& row, const std::string& path, const given_setting& setting) {
        std::string typed;
        for (const char c : setting.value) typed += c == ' ' ? '_' : llmres::detail::lower_case(c);
        std::string known;
        for (std::string_view rest = row.says; !rest.empty();) {
            std::string_view set_by = llmres::detail::taken_before(rest, "|");
            std::string_view words = llmres::detail::taken_before(set_by, ">");
            const bool any = words == "*";
            if (!any && !names_have(words, typed)) {
                while (!words.empty())
                    known += (known.empty() ? "" : ", ") + std::string{llmres::detail::taken_before(words, " ")};
                continue;
            }
            return set_by == "~" ? note_unmodelled(path, setting) : set(set_by);
        }
        other_than(path, setting, "one of " + known);
    }
    /// Sets an option, or keeps what stands behind a colon.
    void say(std::string_view name, const std::string& value) {
        if (name.starts_with(':'))
            told_.kept[std::string{name.substr(1)}] = value;
        else
            told_.options.push_back(fmt::format("--{}={}", name, value));
    }
    /// Sets options that have their values behind them: `recompute=full`.
    void set(std::string_view options) {
        while (!options.empty()) {
            std::string_view value = llmres::detail::taken_before(options, " ");
            const std::string_view name = llmres::detail::taken_before(value, "=");
            say(name, std::string{value});
        }
    }

    const trainer& of_;
    const given_settings& given_;
    told_settings told_{};
};

/// A value of a command line: a list without its brackets, blanks and quotes.
std::string plain_value(std::string value) {
    if (value.starts_with('[') && value.ends_with(']')) {
        value = value.substr(1, value.size() - 2);
        std::erase_if(value, [](char c) { return c == ' ' || c == '\'' || c == '"'; });
    }
    return value;
}

}  // namespace

std::string told_settings::text(std::string_view name) const {
    const auto found = kept.find(name);
    return found == kept.end() ? "" : found->second;
}

std::int64_t told_settings::number(std::string_view name, std::int64_t otherwise) const {
    return whole_in(text(name)).value_or(otherwise);
}

told_settings told_by(const trainer& of, const given_settings& given) { return settings_teller{of, given}.told(); }

given_settings given_by(const std::string& file) {
    given_settings given;
    for (auto& [path, value] : read_config_file(file)) given[path] = {value};
    return given;
}

std::vector<std::string> take_arguments(given_settings& given, const std::vector<std::string>& words,
                                        words_taken taken) {
    std::vector<std::string> others;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string& word = words[at];
        const std::size_t equals = word.find('=');
        if (!word.starts_with("--")) {
            if (equals == std::string::npos || equals == 0)
                others.push_back(word);
            else
                given[word.substr(0, equals)] = {plain_value(word.substr(equals + 1)), word};
            continue;
        }
        std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
        std::replace(name.begin(), name.end(), '-', '_');
        std::string value = equals == std::string::npos ? "" : word.substr(equals + 1), written = word;
        const auto is_value = [&](std::size_t next) {
            return next < words.size() && !words[next].starts_with("--") &&
                   (taken == words_taken::all || words[next].find('=') == std::string::npos) &&
                   (!is_config_file(words[next]) || name.find("config") != std::string::npos);
        };
        while (equals == std::string::npos && is_value(at + 1)) {
            value += (value.empty() ? "" : ",") + words[++at];
            written += " " + words[at];
            if (taken == words_taken::one) break;
        }
        if (value.empty() && equals == std::string::npos) value = "true";
        given[name] = {plain_value(value), written};
    }
    return others;
}

}  // namespace program
