// SPDX-License-Identifier: MIT
// The pictures in docs/ and README.md are what --svg writes; .ci/refresh-docs writes them anew.
#include <doctest/doctest.h>

#include "../program_checks.hpp"

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>

using namespace program_checks;
namespace fs = std::filesystem;

namespace {

/// Checks each `<!-- picture of: llmres ... -->`, with the image below it, in a document; gives their number.
int check_pictures(const fs::path& document) {
    static const std::regex marker{R"(<!-- picture of: llmres (.+) -->\n!\[[^\]]*\]\(([^)]+)\))"};
    const std::string text = run_program::content_of(document);
    int pictures = 0;
    for (std::sregex_iterator at{text.begin(), text.end(), marker}, end; at != end; ++at, ++pictures) {
        const run_program::scratch s;
        const std::string file = (s.path() / "drawn.svg").string();
        std::istringstream words{(*at)[1].str()};
        arguments command;
        for (std::string word; words >> word;) command.push_back(word);
        CAPTURE((*at)[1].str());
        CHECK(run(command + arguments{"--svg", file}).exit <= does_not_fit);
        CHECK(run_program::content_of(file) == run_program::content_of(document.parent_path() / (*at)[2].str()));
    }
    return pictures;
}

}  // namespace

TEST_CASE("the pictures of the documents are the program's (.ci/refresh-docs PROGRAM draws them anew)") {
    CHECK(check_pictures(LLMRES_SOURCE_DIR "/docs/program.md") == 3);
    CHECK(check_pictures(LLMRES_SOURCE_DIR "/README.md") == 1);
}

TEST_CASE("a search draws throughput against the other objective, which it asks for") {
    const arguments asked{"search", "llama-3.1-8b", "--gpu", "h100", "--gpus", "2", "--context", "4096"};
    const run_program::scratch s;
    const std::string file = (s.path() / "front.svg").string();
    CHECK(run(asked + arguments{"--against", "time_per_token", "--svg", file}).exit == fits);
    CHECK(run_program::content_of(file).find("ms a token") != std::string::npos);
    refused(asked + arguments{"--svg", file}, {"against", "--svg"});
}

TEST_CASE("a plan draws the pictures that are asked for") {
    const run_program::scratch s;
    const std::string file = (s.path() / "plan.svg").string();
    const arguments asked{"plan", "llama-3.1-8b", "--gpu", "h100", "--context", "4096", "--svg", file};
    CHECK(run(asked).exit == fits);
    const std::string all = run_program::content_of(file);
    for (const char* words : {"Memory of the busiest GPU", "Tensors alive in each phase", "Roofline"})
        CHECK(all.find(words) != std::string::npos);
    CHECK(run(asked + arguments{"--pictures", "phases,roofline"}).exit == fits);
    const std::string some = run_program::content_of(file);
    CHECK(some.find("Memory of the busiest GPU") == std::string::npos);
    CHECK(some.find("Roofline") != std::string::npos);
    refused(asked + arguments{"--pictures", "rooflines"}, {"pictures", "rooflines", "roofline"});
    refused(asked + arguments{"--pictures", "layers"}, {"pictures", "layers", "memory"});
    refused({"plan", "llama-3.1-8b", "--gpu", "h100", "--context", "4096", "--pictures", "memory"},
            {"svg", "--pictures"});
}
