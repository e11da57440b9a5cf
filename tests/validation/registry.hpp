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

/// The types that transformers registers, each with its own default configuration and how many parameters transformers'
/// class of it has: pytorch/count_reference.py --registry makes the table.
namespace registry {

struct coverage {
    int types = 0;
    int read = 0;
    int equal = 0;
    std::vector<std::string> refused{};  ///< types, with the field that was refused
};

/// By registry: causal_lm, image_text_to_text.
inline std::map<std::string, coverage> coverage_of_transformers() {
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_registry.jsonl"};
    std::map<std::string, coverage> all;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        coverage& c = all[row["registry"].get<std::string>()];
        ++c.types;
        const auto read = llmres::read_hf_config(row["config"].dump());
        if (!read) {
            c.refused.push_back(row["model_type"].get<std::string>() + ": " + std::string{read.error().field.view()});
            continue;
        }
        ++c.read;
        if (llmres::count_parameters(*read).in(llmres::parameters) == row["parameters"].get<std::int64_t>()) ++c.equal;
    }
    return all;
}

}  // namespace registry
