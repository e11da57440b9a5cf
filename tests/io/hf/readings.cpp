// SPDX-License-Identifier: MIT
// Recorded readings: configurations of every family in tests/recorded/readings.jsonl, what each is read as, and what
// one field more, less or other changes in it. What changes there fails here, and `make recorded` writes the readings
// anew, so that the commit shows it. They say that a reading has changed, not that it is right: the tests that count as
// transformers and publishers count say that (transformers_counts.cpp, published.cpp, remote_code.cpp).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "../../recorded/readings.hpp"

namespace {

using nlohmann::json;

constexpr int parts = 6;  // test cases, so that each is short

/// Reads every sixth configuration as it is recorded, from the given one on.
void check(int part) {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/recorded/readings.jsonl"};
    int lines = 0;
    for (std::string text; std::getline(file, text); ++lines) {
        if (lines % parts != part) continue;
        const json line = json::parse(text);
        const json& config = line["config"];
        CAPTURE(config.dump());
        const json model = recorded::reading_of(config);
        CHECK_MESSAGE(model == line["model"], "`make recorded` writes: ", model.dump());
        for (const json& change : line["changes"]) {
            const json answer = recorded::answer_to(config, model, change[0]);
            CHECK_MESSAGE(answer == change[1], change[0].dump(), " was ", change[1].dump(), " and is ", answer.dump());
        }
    }
    CHECK(lines >= 400);
}

}  // namespace

TEST_CASE("each configuration is read as recorded, and each change of it: first part") { check(0); }
TEST_CASE("each configuration is read as recorded, and each change of it: second part") { check(1); }
TEST_CASE("each configuration is read as recorded, and each change of it: third part") { check(2); }
TEST_CASE("each configuration is read as recorded, and each change of it: fourth part") { check(3); }
TEST_CASE("each configuration is read as recorded, and each change of it: fifth part") { check(4); }
TEST_CASE("each configuration is read as recorded, and each change of it: last part") { check(5); }

TEST_CASE("a reading is recorded of every function that reads a text model, and of every one that adds a tower") {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/recorded/readings.jsonl"};
    std::set<std::string> types;
    for (std::string text; std::getline(file, text);) {
        const json line = json::parse(text);
        types.insert(line["config"].value("model_type", ""));
        if (line["config"].contains("text_config")) types.insert(line["config"]["text_config"].value("model_type", ""));
    }
    const auto recorded_as = [&](const auto& table, const auto& function_of, const auto& one) {
        for (const auto& other : table)
            if (function_of(other) == function_of(one) && types.contains(std::string{other.model_type})) return true;
        return false;
    };
    namespace hf = llmres::detail::hf;
    for (const hf::family& f : hf::families)
        CHECK_MESSAGE(recorded_as(hf::families, [](const auto& row) { return row.read; }, f), f.model_type);
    for (const hf::multimodal_family& f : hf::multimodal_families)
        CHECK_MESSAGE(recorded_as(hf::multimodal_families, [](const auto& row) { return row.add; }, f), f.model_type);
}
