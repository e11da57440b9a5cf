// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "../../csv.hpp"

/// Published measurements of serving memory, as they are read.
namespace serving {

/// The complete rows of tests/validation/data, or of another file: one named by LLMRES_SERVING_ROWS, or here.
inline std::vector<csv::row> rows_to_score(std::string file = "") {
    if (const char* named = std::getenv("LLMRES_SERVING_ROWS"); file.empty() && named != nullptr) file = named;
    if (file.empty()) file = LLMRES_SOURCE_DIR "/tests/validation/data/serving_memory.csv";
    std::vector<csv::row> complete;
    for (csv::row& row : csv::read(file))
        if (!row.contains("complete") || row.at("complete") == "yes") complete.push_back(std::move(row));
    return complete;
}

}  // namespace serving
