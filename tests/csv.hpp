// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <vector>

/// Reads the tables that tests are held against.
namespace csv {

using row = std::map<std::string, std::string>;  // column -> cell

/// The rows of a comma-separated file whose first line names the columns. Cells may be quoted, and hold commas,
/// newlines and doubled quotes then. Empty if there is no such file.
inline std::vector<row> read(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::vector<std::vector<std::string>> lines;
    std::vector<std::string> cells;
    std::string cell;
    bool quoted = false;
    const auto end_cell = [&] { cells.push_back(std::move(cell)), cell.clear(); };
    const auto end_line = [&] {
        if (cells.empty() && cell.empty()) return;
        end_cell();
        lines.push_back(std::move(cells)), cells.clear();
    };
    for (char c{}; file.get(c);) {
        if (c == '"') {
            if (quoted && file.peek() == '"')
                cell += static_cast<char>(file.get());
            else
                quoted = !quoted;
        } else if (c == ',' && !quoted) {
            end_cell();
        } else if (c == '\n' && !quoted) {
            end_line();
        } else if (c != '\r') {
            cell += c;
        }
    }
    end_line();
    std::vector<row> rows;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        row made;
        for (std::size_t column = 0; column < lines[0].size() && column < lines[i].size(); ++column)
            made[lines[0][column]] = lines[i][column];
        rows.push_back(std::move(made));
    }
    return rows;
}

}  // namespace csv
