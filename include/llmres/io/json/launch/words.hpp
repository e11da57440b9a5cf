// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A command line as words, as a shell splits it. Nothing is run and nothing expanded: a variable stays as it is
/// written, and its word says so.
namespace llmres::inline v0::detail {

/// A word of a command line.
struct shell_word {
    std::string text{};      ///< without its quotes
    std::string variable{};  ///< the first variable or command in it that a shell would replace: "$MODEL"
};

/// The commands of a text one after the other, each with its words: what stands between `&&`, `;`, `|` and `&`.
/// Comments and redirections are left out. A line goes on behind a backslash (a caret, a backtick), also where blanks
/// follow it, and where the next one begins with an option. Refused: more than 1 MiB or 5,000 words, control
/// characters, and a quote that is not closed.
inline result<std::vector<std::vector<shell_word>>> shell_commands(std::string_view text);

// ---- detail ---------------------------------------------------------------------------------------------------------

inline constexpr std::size_t most_launch_words = 5'000;

/// Splits a text.
class shell_reader {
public:
    explicit shell_reader(std::string_view text) : text_{text} {}

    result<std::vector<std::vector<shell_word>>> commands() {
        constexpr std::size_t longest = std::size_t{1} << 20;
        if (text_.size() > longest)
            return refused(error_code::out_of_range, "line", std::to_string(text_.size()) + " bytes", "at most 1 MiB");
        if (std::any_of(text_.begin(), text_.end(), is_control))
            return refused(error_code::malformed, "line", "a control character", "text");
        while (at_ < text_.size()) {
            if (const status read = next(text_[at_]); !read) return read.error();
            if (words_ > most_launch_words)
                return refused(error_code::out_of_range, "line", "too many words", "at most 5,000");
        }
        end_word();
        end_command();
        return std::move(commands_);
    }

private:
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    static bool is_control(char c) {
        return (static_cast<unsigned char>(c) < ' ' && !is_blank(c) && c != '\n') || c == '\x7f';
    }

    /// Where the next line begins, if nothing but blanks stands between a position and it; else 0.
    std::size_t behind_line_end(std::size_t at) const {
        while (at < text_.size() && is_blank(text_[at])) ++at;
        if (at == text_.size()) return at;
        return text_[at] == '\n' ? at + 1 : 0;
    }

    status next(char c) {
        const bool at_start = !in_word_;
        if (is_blank(c)) return end_word(), skip(1);
        if (c == '\n') return end_line();
        // A prompt before the command, and the fence of a block in Markdown.
        if (at_start && command_.empty() && c == '>') return skip(1);
        if (at_start && text_.substr(at_).starts_with("```")) return comment();
        if (c == '\\' || (at_start && (c == '^' || c == '`'))) {
            const std::size_t end = behind_line_end(at_ + 1);
            if (end > 0) return end_word(), at_ = end, done{};
            if (c == '\\') return escaped();
        }
        if (c == '\'' || c == '"') return quoted(c);
        if (c == '$' || c == '`') return variable(c);
        if (at_start && c == '#') return comment();
        if (c == ';' || c == '|' || c == '&') return separator(c);
        if (c == '<' && placeholder() > 0) return take(placeholder());
        if (c == '>' || c == '<') return redirection();
        return put(c), skip(1);
    }
    status skip(std::size_t count) {
        at_ += count;
        return done{};
    }
    /// Puts as many characters as they are.
    status take(std::size_t count) {
        in_word_ = true;
        word_.text += text_.substr(at_, count);
        return skip(count);
    }
    void put(char c) {
        in_word_ = true;
        word_.text += c;
    }
    void end_word() {
        if (!in_word_) return;
        in_word_ = false;
        if (drops_word_) {
            drops_word_ = false;
        } else {
            command_.push_back(std::move(word_));
            ++words_;
        }
        word_ = {};
    }
    void end_command() {
        if (!command_.empty()) commands_.push_back(std::move(command_));
        command_.clear();
    }
    /// A line that begins with an option goes on with the command before it.
    status end_line() {
        end_word();
        drops_word_ = false;
        const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
        at_ = next == std::string_view::npos ? text_.size() : next;
        if (at_ < text_.size() && text_[at_] != '-') end_command();
        return done{};
    }
    status comment() {
        const std::size_t end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
        return done{};
    }
    /// A backslash makes a blank, a quote or a character of the shell part of the word; before a letter it is one of a
    /// path on Windows.
    status escaped() {
        const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\\';
        const bool of_shell = std::string_view{" \t'\"\\$`&;|<>()#*?!~{}[]"}.find(c) != std::string_view::npos;
        if (!of_shell) put('\\');
        put(c);
        return skip(2);
    }
    status quoted(char quote) {
        in_word_ = true;
        for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
            const char c = text_[at_];
            if (quote == '"' && c == '\\' && at_ + 1 < text_.size()) {
                const char escaped = text_[at_ + 1];
                if (escaped == '\n') {
                    ++at_;
                    continue;
                }
                if (std::string_view{"\"\\$`"}.find(escaped) != std::string_view::npos) ++at_;
            } else if (quote == '"' && (c == '$' || c == '`')) {
                note_variable();
            }
            word_.text += text_[at_];
        }
        if (at_ == text_.size())
            return refused(error_code::malformed, "line", std::string{quote} + shown(word_.text),
                           "a quote that is closed");
        return skip(1);
    }
    static std::string shown(const std::string& text) { return text.substr(0, 40); }
    /// The name of what a shell would replace here: $NAME, ${NAME...}, $(...) or `...`.
    std::string name_of_variable() const {
        const std::string_view rest = text_.substr(at_, 64);
        const char opened = rest.size() > 1 && rest[0] == '$' ? rest[1] : rest[0];
        if (opened == '{' || opened == '(' || opened == '`') {  // the beginning of a longer one
            const std::size_t closed = rest.find_first_of(opened == '{' ? "}" : opened == '(' ? ")\n" : "`\n", 1);
            return std::string{rest.substr(0, closed == std::string_view::npos ? closed : closed + 1)};
        }
        std::size_t end = 1;
        while (end < rest.size() && (is_lower_or_digit(lower_case(rest[end])) || rest[end] == '_')) ++end;
        return end > 1 ? std::string{rest.substr(0, end)} : "";
    }
    void note_variable() {
        if (word_.variable.empty()) word_.variable = name_of_variable();
    }
    /// A variable outside of quotes: all of ${...} and $(...) is one word, whatever is in it.
    status variable(char c) {
        if (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '\'') return ++at_, quoted('\'');
        note_variable();
        const char opened = c == '`' ? c : at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        const char closing = opened == '{' ? '}' : opened == '(' ? ')' : opened == '`' ? '`' : '\0';
        if (closing == '\0') return put(c), skip(1);
        const std::size_t end = text_.find(closing, at_ + (c == '`' ? 1 : 2));
        if (end == std::string_view::npos)
            return refused(error_code::malformed, "line", text_.substr(at_, 40), "a bracket that is closed");
        return take(end + 1 - at_);
    }
    status separator(char c) {
        if (c == '&' && at_ + 1 < text_.size() && text_[at_ + 1] == '>') return ++at_, redirection();
        end_word();
        end_command();
        return skip(1);
    }
    /// The length of what people leave to be filled in: <MODEL>; 0 where there is none.
    std::size_t placeholder() const {
        const std::size_t end = text_.substr(at_, 80).find_first_of("> \n");
        return end != std::string_view::npos && end > 1 && text_[at_ + end] == '>' ? end + 1 : 0;
    }
    /// `> FILE`, `2>&1`: what is written where is no part of the question.
    status redirection() {
        if (word_.text == "1" || word_.text == "2") word_ = {}, in_word_ = false;
        end_word();
        while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<' || text_[at_] == '&')) ++at_;
        drops_word_ = true;
        return done{};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t words_ = 0;
    shell_word word_{};
    bool in_word_ = false;
    bool drops_word_ = false;
    std::vector<shell_word> command_{};
    std::vector<std::vector<shell_word>> commands_{};
};

inline result<std::vector<std::vector<shell_word>>> shell_commands(std::string_view text) {
    return shell_reader{text}.commands();
}

}  // namespace llmres::inline v0::detail
