// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/parameters.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The types that transformers registers, each with its own default configuration, two small variants of it, and how
/// many parameters transformers' class of each has: pytorch/count_reference.py --registry makes the table.
namespace registry {

struct coverage {
    int types = 0;
    int read = 0;   ///< with the type's default configuration
    int equal = 0;  ///< of these, equal to transformers' count in it and in the variants that are read
    int rows = 0;   ///< with the variants
    int rows_read = 0;
    int rows_equal = 0;
    std::vector<std::string> refused{};    ///< types, with the field that was refused
    std::vector<std::string> departing{};  ///< types and variants whose count is another
};

/// By registry: causal_lm, image_text_to_text, seq_to_seq_causal_lm.
inline std::map<std::string, coverage> coverage_of_transformers() {
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_registry.jsonl"};
    std::map<std::string, coverage> all;
    std::map<std::string, std::map<std::string, bool>> equal;  // by registry and type
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        const std::string name = row["registry"].get<std::string>(), type = row["model_type"].get<std::string>();
        const bool whole = row["variant"].get<int>() == 0;
        coverage& c = all[name];
        ++c.rows;
        c.types += whole ? 1 : 0;
        const auto read = llmres::read_hf_config(row["config"].dump());
        if (!read) {
            if (whole) c.refused.push_back(type + ": " + std::string{read.error().field.view()});
            continue;
        }
        ++c.rows_read;
        c.read += whole ? 1 : 0;
        const bool same =
            llmres::count_parameters(*read).in(llmres::parameters) == row["parameters"].get<std::int64_t>();
        c.rows_equal += same ? 1 : 0;
        if (!same) c.departing.push_back(type + " " + std::to_string(row["variant"].get<int>()));
        equal[name].try_emplace(type, true).first->second &= same;
    }
    for (const auto& [name, types] : equal)
        for (const auto& [type, same] : types) all[name].equal += same ? 1 : 0;
    return all;
}

}  // namespace registry
