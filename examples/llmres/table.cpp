// SPDX-License-Identifier: MIT
// Tables of text, as compare, search, formats and links print them.
#include "table.hpp"

#include "commands.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>

namespace program {
namespace {

/// How many characters a terminal shows of a text: bytes but for those that continue a character of UTF-8.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void print_table(const std::vector<column>& columns, const std::vector<table_row>& rows) {
    std::vector<std::size_t> widths(columns.size(), 0);
    for (const table_row& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    const auto print_line = [&](const auto& text_of) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (widths[i] == 0) continue;
            const std::string text = plain(text_of(i));
            const std::string room(std::max(widths[i], columns[i].head.size()) - width_of(text), ' ');
            line += (line.empty() ? "" : "  ") + (columns[i].numbers ? room + text : text + room);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        fmt::print("{}\n", line);
    };
    print_line([&](std::size_t i) { return columns[i].head; });
    for (const table_row& row : rows) print_line([&](std::size_t i) { return row[i]; });
}

bool holds_all(std::string_view name, const std::string& typed) {
    const auto lower = [](std::string text) {
        for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return text;
    };
    std::istringstream words{lower(typed)};
    for (std::string word; words >> word;)
        if (lower(std::string{name}).find(word) == std::string::npos) return false;
    return true;
}

}  // namespace program
