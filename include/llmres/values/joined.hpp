// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

/// One list of what several tables list.
namespace llmres::inline v0 {

/// Pointers to the rows of all tables, a table after the other.
template <class Row, std::size_t... Sizes>
constexpr std::array<const Row*, (Sizes + ...)> joined(const std::array<const Row*, Sizes>&... tables) {
    std::array<const Row*, (Sizes + ...)> all{};
    std::size_t next = 0;
    const auto add = [&](const auto& table) {
        for (const Row* row : table) all[next++] = row;
    };
    (add(tables), ...);
    return all;
}

}  // namespace llmres::inline v0
