// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <fstream>
#include <llmres/io/job_json.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// Published measurements of serving memory, as job documents beside what was measured. `serving_jobs` makes them from
/// a table of published rows and says what its figures mean.
namespace serving {

using namespace llmres;

struct row {
    std::string id, label;  ///< label: the runtime and the versions that its profile is for
    std::string text;       ///< the job document
    plan_request asked{};
    nlohmann::json measured{};
    std::optional<bool> ran{};  ///< none where the row does not say all that a verdict rests on
    bool flags = false;         ///< the row gives the length and the fraction that the engine was started with
    std::optional<llmres::job>
        before{};  ///< what the same process ran before, whose freed memory torch's allocator holds

    const llmres::job& job() const { return asked.job; }
    const llmres::layout& layout() const { return *asked.layout; }
    const llmres::cluster& cluster() const { return asked.cluster; }
    /// A figure in bytes; none where the row does not give it.
    std::optional<double> figure(const char* name) const {
        const auto found = measured.find(name);
        if (found == measured.end()) return {};
        return found->get<double>();
    }
};

/// "vllm 0.17".
inline std::string label_of(const runtime& profile) {
    return std::string{profile.identity.name.view()} + " " + std::string{profile.identity.versions.view()};
}

/// The document of a line, as `llmres plan` reads it. A document that is refused is a mistake in the table.
inline plan_request read_document(const std::string& id, const nlohmann::json& document) {
    const result<plan_request> read = read_job(document);
    if (read) return *read;
    const error& e = read.error();
    throw std::runtime_error{id + ": " + std::string{e.field.view()} + " is " + std::string{e.value.view()} +
                             ", expected " + std::string{e.expected.view()}};
}

inline row read_row(const nlohmann::json& line) {
    row r;
    r.id = line.at("id");
    r.text = line.at("document").dump();
    r.asked = read_document(r.id, line.at("document"));
    r.label = label_of(r.asked.job.runtime);
    r.measured = line.at("measured");
    if (const auto& outcome = line.at("outcome"); !outcome.is_null()) r.ran = outcome == "ran";
    r.flags = line.value("flags", false);
    if (line.contains("before")) r.before = read_document(r.id, line["before"]).job;
    return r;
}

/// The lines of tests/validation/data, or of another file: one named by LLMRES_SERVING_JOBS, or here. Those of
/// contributed_jobs.jsonl, which `llmres calibrate --rows` writes, are among the former.
inline std::vector<row> rows_to_score(std::string file = "") {
    if (const char* named = std::getenv("LLMRES_SERVING_JOBS"); file.empty() && named != nullptr) file = named;
    std::vector<row> rows;
    const auto take = [&](std::istream& lines) {
        for (std::string line; std::getline(lines, line);) rows.push_back(read_row(nlohmann::json::parse(line)));
    };
    if (file.empty()) {
        file = LLMRES_SOURCE_DIR "/tests/validation/data/serving_jobs.jsonl";
        std::ifstream contributed{LLMRES_SOURCE_DIR "/tests/validation/data/contributed_jobs.jsonl"};
        take(contributed);  // there may be none yet
    }
    std::ifstream lines{file};
    if (!lines) throw std::runtime_error{"cannot read " + file};
    take(lines);
    return rows;
}

}  // namespace serving
