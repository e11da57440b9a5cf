// SPDX-License-Identifier: MIT
// Puts the variables that a pasted script sets itself in their places.
#include "script.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/values/text.hpp>
#include <map>
#include <string_view>
#include <utility>

namespace program {
namespace {

constexpr std::size_t most_expanded = std::size_t{1} << 16;  ///< characters of a value, and words of a command

bool is_name_character(char c) { return llmres::detail::is_lower_or_digit(llmres::detail::lower_case(c)) || c == '_'; }

/// The words of a text, as a shell splits the value of a variable without quotes.
std::vector<std::string> split_value(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty() && words.size() < most_expanded)
        if (const std::string_view word = llmres::detail::taken_before(text, " \t\n"); !word.empty())
            words.emplace_back(word);
    return words;
}

class script_reader {
public:
    explicit script_reader(std::vector<std::string>& notes) : notes_{notes} {}

    std::vector<std::vector<std::string>> read(const std::vector<std::vector<std::string>>& commands) {
        std::vector<std::vector<std::string>> expanded;
        for (std::vector<std::string> words : commands) {
            while (!words.empty() && !enter(words.front())) words.erase(words.begin());
            if (words.empty() || in_array(words)) continue;
            std::vector<std::string> made;
            for (std::size_t i = 0; i < words.size(); ++i) {
                const std::vector<std::string> one = value_of(words[i]);
                made.insert(made.end(), one.begin(), one.end());
            }
            made.resize(std::min(made.size(), most_expanded));
            for (const std::string& word : words)
                if (assigns(word) == 0 && word != "export")
                    break;  // what follows is a command
                else
                    set(word);
            expanded.push_back(std::move(made));
        }
        return expanded;
    }

private:
    /// Whether a word begins a command, and is none of the words around commands.
    bool enter(const std::string& word) {
        if (word == "if" || word == "for" || word == "while" || word == "until" || word == "case" ||
            word.ends_with("(){"))
            ++depth_;
        else if (word == "fi" || word == "done" || word == "esac")
            depth_ = std::max(depth_ - 1, 0);
        else
            return word != "then" && word != "else" && word != "do" && word != "elif";
        return false;
    }
    /// The length of the name that a word assigns; 0 where it assigns none.
    static std::size_t assigns(std::string_view word) {
        std::size_t end = 0;
        while (end < word.size() && is_name_character(word[end])) ++end;
        const bool is_set = word.substr(end).starts_with('=') || word.substr(end).starts_with("+=");
        return end > 0 && is_set ? end : 0;
    }
    /// Takes the elements of an array, if these words are some: NAME=( a b ), over several commands or not.
    bool in_array(const std::vector<std::string>& words) {
        std::size_t first = 0;
        if (array_.empty()) {
            const std::size_t end = assigns(words[0]);
            const std::size_t open = words[0].find('(');
            if (end == 0 || open == std::string::npos || words[0].find('=') + 1 != open) return false;
            array_ = words[0].substr(0, end);
            grows_ = words[0][end] == '+';
            elements_.clear();
            if (open + 1 < words[0].size()) element(words[0].substr(open + 1));
            first = 1;
        }
        for (std::size_t i = first; i < words.size() && !array_.empty(); ++i) element(words[i]);
        return true;
    }
    void element(std::string word) {
        const bool is_last = word.ends_with(')') && word.find('(') == std::string::npos;
        if (is_last) word.pop_back();
        if (!word.empty())
            for (std::string& part : value_of(word))
                if (elements_.size() < most_expanded) elements_.push_back(std::move(part));
        if (is_last) keep_array();
    }
    void keep_array() {
        if (depth_ > 0) {
            const std::string note =
                fmt::format("{} is set under a condition, and what it gets there is not read", array_);
            if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
            if (!grows_) values_.erase(array_);
        } else {
            std::string all = grows_ ? values_[array_] : "";
            for (const std::string& e : elements_)
                if (all.size() < most_expanded) all += (all.empty() ? "" : " ") + e;
            values_[array_] = std::move(all);
        }
        array_.clear();
    }
    void set(const std::string& word) {
        const std::size_t end = assigns(word);
        if (end == 0) return;
        const std::string name = word.substr(0, end);
        const std::string value = product_in(replaced(word.substr(word.find('=') + 1)));
        const bool is_plain = value.find("$(") == std::string::npos && value.find('`') == std::string::npos;
        if (depth_ > 0 || !is_plain || value.size() > most_expanded)
            values_.erase(name);
        else
            values_[name] = value;
    }
    /// What $((8*2)) is, of whole numbers; any other text as it is.
    static std::string product_in(const std::string& text) {
        if (!text.starts_with("$((") || !text.ends_with("))")) return text;
        std::int64_t product = 1;
        for (std::string_view rest = std::string_view{text}.substr(3, text.size() - 5); !rest.empty();) {
            std::string_view factor = llmres::detail::taken_before(rest, "*");
            while (factor.starts_with(' ')) factor.remove_prefix(1);
            while (factor.ends_with(' ')) factor.remove_suffix(1);
            const std::int32_t number = llmres::detail::taken_number(factor);
            if (number < 0 || !factor.empty() || product > (std::int64_t{1} << 40)) return text;
            product *= number;
        }
        return std::to_string(product);
    }
    /// A text with what is known of its variables.
    std::string replaced(const std::string& text) const {
        std::string made;
        for (std::size_t at = 0; at < text.size() && made.size() < most_expanded;) {
            const std::size_t length = reference(text, at);
            if (length == 0)
                made += text[at++];
            else
                made += meant(text.substr(at, length)), at += length;
        }
        return made;
    }
    /// The length of $NAME or ${NAME...} at a place; 0 where there is none.
    static std::size_t reference(const std::string& text, std::size_t at) {
        if (text[at] != '$' || at + 1 == text.size()) return 0;
        if (text[at + 1] == '{') {
            const std::size_t end = text.find('}', at);
            return end == std::string::npos ? 0 : end + 1 - at;
        }
        std::size_t end = at + 1;
        while (end < text.size() && is_name_character(text[end])) ++end;
        return end == at + 1 ? 0 : end - at;
    }
    /// What a reference stands for; itself where that is not known.
    std::string meant(const std::string& reference) const {
        std::string_view name = reference;
        name.remove_prefix(1);
        std::string_view otherwise;
        bool has_other = false;
        if (name.starts_with('{')) {
            name = name.substr(1, name.size() - 2);
            if (const std::size_t colon = name.find(":-"); colon != std::string_view::npos) {
                otherwise = name.substr(colon + 2);
                name = name.substr(0, colon);
                has_other = true;
            }
            if (name.ends_with("[@]") || name.ends_with("[*]")) name.remove_suffix(3);
        }
        const auto known = values_.find(name);
        if (known != values_.end()) return known->second;
        const bool is_quoted =
            otherwise.size() > 1 && (otherwise[0] == '"' || otherwise[0] == '\'') && otherwise.back() == otherwise[0];
        if (is_quoted) otherwise = otherwise.substr(1, otherwise.size() - 2);
        return has_other ? std::string{otherwise} : reference;
    }
    /// The words that a word stands for: several, where it is nothing but a variable.
    std::vector<std::string> value_of(const std::string& word) const {
        if (word.find('$') == std::string::npos && word.find(' ') == std::string::npos) return {word};
        const bool is_one = reference(word, 0) == word.size();
        const std::string value = replaced(word);
        const bool splits = is_one || (word.starts_with("--") && !array_.empty());
        return splits ? split_value(value) : std::vector<std::string>{value};
    }

    std::vector<std::string>& notes_;
    std::map<std::string, std::string, std::less<>> values_{};
    std::string array_{};  ///< whose elements are read
    bool grows_ = false;
    std::vector<std::string> elements_{};
    int depth_ = 0;  ///< of conditions and loops
};

}  // namespace

std::vector<std::vector<std::string>> with_own_variables(const std::vector<std::vector<std::string>>& commands,
                                                         std::vector<std::string>& notes) {
    return script_reader{notes}.read(commands);
}

}  // namespace program
