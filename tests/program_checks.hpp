// SPDX-License-Identifier: MIT
#pragma once

#include "run_program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What tests of the program ask of it.
namespace program_checks {

using run_program::outcome;
using run_program::run;

enum exit_code { fits = 0, does_not_fit = 1, bad_input = 2 };

inline const std::string jobs = LLMRES_SOURCE_DIR "/tests/data/jobs/";

using arguments = std::vector<std::string>;

inline arguments operator+(arguments a, const arguments& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// A job that fits, to vary.
inline const arguments small_job{"plan", "llama-3.1-8b", "--gpu", "h100-sxm5-80gb", "--context", "4096"};

/// Nothing on stdout, exit code 2, one message on stderr that holds all the words.
inline void refused(const arguments& given, const std::vector<std::string>& words, const std::string& folder = LLMRES_SOURCE_DIR) {
    std::string line;
    for (const std::string& argument : given) line += " " + argument.substr(0, 80);
    CAPTURE(line);
    const outcome o = run(given, folder);
    CAPTURE(o.err);
    CHECK(o.exit == bad_input);
    CHECK(o.out.empty());
    CHECK(o.err.starts_with("llmres: "));
    CHECK(o.err.ends_with("\n"));
    CHECK(o.err.size() < 500);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(o.err.find(word) != std::string::npos);
    }
}

inline nlohmann::json planned(const arguments& given, int code = fits) {
    const outcome o = run(given + arguments{"--json"});
    CAPTURE(o.err);
    CHECK(o.exit == code);
    const nlohmann::json read = o.json();
    REQUIRE(read.is_object());
    return read;
}

}  // namespace program_checks
