// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

/// The words of a command line, as a shell parts them: what stands in quotes is one word.
inline std::vector<std::string> shell_words(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    char quote = '\0';
    bool open = false;
    for (const char c : line + " ") {
        if (quote != '\0' ? c == quote : c == '"' || c == '\'') {
            quote = quote != '\0' ? '\0' : c;
            open = true;
        } else if (c == ' ' && quote == '\0') {
            if (open || !word.empty()) words.push_back(word);
            word.clear();
            open = false;
        } else {
            word += c;
        }
    }
    return words;
}
