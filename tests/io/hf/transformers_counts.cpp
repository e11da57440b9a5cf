// SPDX-License-Identifier: MIT
// Our counts against those of transformers' own model classes, for small configurations of every family with fields
// left out as files leave them out: tests/validation/pytorch/count_reference.py makes the table.
#include <doctest/doctest.h>

#include <fstream>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/parameters.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "../../validation/registry.hpp"

using namespace llmres;

TEST_CASE("a configuration counts as the model that transformers builds of it") {
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/transformers_counts.jsonl"};
    std::set<std::string> families;
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
        const auto row = nlohmann::json::parse(line);
        const std::string config = row["config"].dump();
        CAPTURE(config);
        families.insert(row["config"]["model_type"].get<std::string>());
        const auto read = read_hf_config(config);
        REQUIRE_MESSAGE(read, read.error().field.view(), " is ", read.error().value.view(), "; expected ",
                        read.error().expected.view());
        CHECK(count_parameters(*read).in(parameters) == row["parameters"].get<std::int64_t>());
    }
    CHECK(rows >= 490);
    CHECK(families.size() >= 98);
}

TEST_CASE(
    "no type of transformers' registries that was read is read no longer, and the others are refused by a field") {
    const auto all = registry::coverage_of_transformers();
    REQUIRE(all.size() == 3);
    CHECK(all.at("causal_lm").read >= 151);
    CHECK(all.at("causal_lm").equal >= 150);
    CHECK(all.at("image_text_to_text").read >= 58);
    CHECK(all.at("image_text_to_text").equal >= 58);
    CHECK(all.at("seq_to_seq_causal_lm").read >= 11);
    CHECK(all.at("seq_to_seq_causal_lm").equal >= 11);
    // Where a count is another, the class and the checkpoints differ (pytorch/count_reference.py): LongCat's class has
    // weights for experts that compute nothing.
    for (const auto& [name, c] : all)
        for (const std::string& departing : c.departing) CHECK(departing.starts_with("longcat_flash"));
    for (const auto& [name, c] : all)
        for (const std::string& refused : c.refused) {
            CAPTURE(refused);
            CHECK_FALSE(refused.ends_with(": "));
        }
}
