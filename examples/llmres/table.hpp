// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace program {

/// A column of a table: what stands above it, and on which side its texts end.
struct column {
    std::string head;
    bool numbers = false;  ///< its texts are numbers, which end at the same place
};

using table_row = std::vector<std::string>;

/// Prints rows under the heads of their columns, each column as wide as its widest text. A column in which nothing
/// stands is left out.
void print_table(const std::vector<column>& columns, const std::vector<table_row>& rows);

/// Whether a name holds every word that was typed, whatever their case.
bool holds_all(std::string_view name, const std::string& typed);

}  // namespace program
