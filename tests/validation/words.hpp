// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

/// Words and numbers in the cells of a table that people wrote.
namespace words {

inline std::string lower(std::string s) {
    std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return s;
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The number a cell begins with; none for words and empty cells.
inline std::optional<double> number(const std::string& cell) {
    char* end = nullptr;
    const double value = std::strtod(cell.c_str(), &end);
    if (end == cell.c_str()) return {};
    return value;
}

inline std::optional<std::int64_t> whole(const std::string& cell) {
    const auto n = number(cell);
    if (!n) return {};
    return static_cast<std::int64_t>(std::llround(*n));
}

/// The number behind a word: "n_ubatch 512".
inline std::optional<std::int64_t> after(const std::string& text, const std::string& word) {
    const auto at = text.find(word);
    if (at == std::string::npos) return {};
    return whole(text.substr(at + word.size()));
}

/// The first "1.2.3" of a text.
inline std::string version_in(const std::string& text) {
    for (std::size_t i = 0; i + 2 < text.size(); ++i) {
        if (!std::isdigit(static_cast<unsigned char>(text[i])) || (i > 0 && text[i - 1] == '.')) continue;
        std::size_t end = i;
        while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.')) ++end;
        if (text.find('.', i) < end) return text.substr(i, end - i);
        i = end;
    }
    return {};
}

}  // namespace words
