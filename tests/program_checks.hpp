// SPDX-License-Identifier: MIT
#pragma once

#include "run_program.hpp"

#include <doctest/doctest.h>
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
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

/// Exit code 2, one message on stderr that holds all the words, and nothing on stdout but, under --json, that message.
inline void refused(const arguments& given, const std::vector<std::string>& words,
                    const std::string& folder = LLMRES_SOURCE_DIR, const std::string& limit = "true") {
    std::string line;
    for (const std::string& argument : given) line += " " + argument.substr(0, 80);
    CAPTURE(line);
    const outcome o = run(given, folder, limit);
    CAPTURE(o.err);
    CHECK(o.exit == bad_input);
    if (std::find(given.begin(), given.end(), "--json") == given.end()) {
        CHECK(o.out.empty());
    } else {
        CHECK(o.json()["schema"] == "llmres/error/1");
        CHECK(o.err == "llmres: " + o.json()["message"].get<std::string>() + "\n");
    }
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

/// The verdict that a plan's own figures give: what the job needs against what it may use. Main memory that nobody
/// named is at best tight.
inline std::string verdict_of(const nlohmann::json& p) {
    const nlohmann::json& needed = p["memory"].contains("needed") ? p["memory"]["needed"] : p["memory"];
    const auto usable = p["memory"]["usable"].get<std::int64_t>();
    if (needed["low"].get<std::int64_t>() > usable) return "does_not_fit";
    const bool host_unknown = std::any_of(p["reasons"].begin(), p["reasons"].end(), [](const nlohmann::json& reason) {
        return reason["code"] == "host_memory_unknown";
    });
    return needed["high"].get<std::int64_t>() <= usable && !host_unknown ? "fits" : "tight";
}

/// What must hold of every plan.
inline void consistent(const nlohmann::json& p) {
    const nlohmann::json& m = p["memory"];
    std::int64_t sum = 0;
    for (const auto& [term, size] : m["terms"].items()) {
        CAPTURE(term);
        CHECK(size.is_number_integer());
        CHECK(size.get<std::int64_t>() >= 0);
        sum += size.get<std::int64_t>();
    }
    CHECK(sum == m["expected"].get<std::int64_t>());
    for (const char* size : {"usable", "low", "expected", "high", "allocated", "reserved", "ideal", "gpu", "stage"}) {
        CAPTURE(size);
        CHECK(m[size].is_number_integer());
    }
    const auto [low, expected, high] =
        std::tuple{m["low"].get<std::int64_t>(), m["expected"].get<std::int64_t>(), m["high"].get<std::int64_t>()};
    CHECK(low <= expected);
    CHECK(expected <= high);
    CHECK(m["ideal"] <= m["allocated"]);
    CHECK(m["allocated"] <= m["reserved"]);
    CHECK(m["reserved"] <= m["expected"]);
    CHECK(m["phase"].is_string());
    CHECK(p["verdict"] == verdict_of(p));

    double step = 0;
    for (const auto& [term, time] : p["time"]["terms"].items()) {
        CAPTURE(term);
        CHECK(time.get<double>() >= 0);
        step += time.get<double>();
    }
    const bool serves = p["job"]["task"] == "serving";
    CHECK(p["time"][serves ? "time_per_output_token" : "step"].get<double>() == doctest::Approx(step));
    for (const char* name : {"time_to_first_token", "time_per_output_token", "step"}) {
        if (!p["time"].contains(name)) continue;
        const nlohmann::json& bounds = p["time"][std::string{name} + "_bounds"];
        CHECK(bounds["low"] <= bounds["expected"]);
        CHECK(bounds["expected"] <= bounds["high"]);
        CHECK(bounds["expected"] == p["time"][name]);
    }
    CHECK(p["time"].contains("time_to_first_token") == serves);
    CHECK(p["time"]["tokens_per_second"].get<double>() > 0);
    CHECK(p["time"]["mfu"].get<double>() > 0);
    CHECK(p["time"]["mfu"].get<double>() <= 1);
    CHECK(p["time"]["terms"].contains(p["bottleneck"].get<std::string>()));
    CHECK(p["reasons"].is_array());
    CHECK((p["verdict"] != "fits" || p["would_help"].empty()));
    for (const char* limit : {"max_batch", "max_context", "min_gpus"}) CHECK(p["limits"].contains(limit));
    CHECK(p["layout"]["tensor"].get<int>() >= 1);
    CHECK(p["cluster"]["gpus"].get<int>() >= 1);
    CHECK(p["runtime"]["name"].is_string());
    for (const nlohmann::json& b : p["buffers"]) CHECK(b["bytes"].get<std::int64_t>() > 0);
}

}  // namespace program_checks
