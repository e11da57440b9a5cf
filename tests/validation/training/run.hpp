// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <functional>
#include <llmres/io/job_json.hpp>
#include <llmres/values/units.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

/// Published training measurements as job documents (training/make_documents.py makes them): what was asked, as
/// `llmres plan` takes it, and what came of it.
namespace training_runs {

using namespace llmres;

/// A published training measurement, and the document of its job.
struct run {
    std::string id;
    std::string series;  ///< rows of one publisher that were measured alike
    std::string text;    ///< the job document
    job what{};
    layout over{};
    cluster on{};
    double allocated = 0;  ///< GiB; 0: not measured
    double reserved = 0;
    double smi = 0;
    double unstated = 0;  ///< the publisher does not say which
    bool out_of_memory = false;
    bool defective = false;    ///< published to show a fault of the runtime, which no plan foresees
    bool first_stage = false;  ///< the counter is that of the first pipeline stage, not of the busiest
    bool last_stage = false;   ///< of the last
};

/// The run of one line. A document that the reader refuses is a mistake of the converter.
inline run run_of(const std::string& line) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    const nlohmann::json& measured = entry.at("measured");
    const auto in_gib = [&](const char* counter) { return bytes(measured.value(counter, std::int64_t{0})).in(gib); };
    const std::string outcome = entry.at("outcome"), stage = entry.value("stage", "");
    run r{.id = entry.at("id"),
          .series = entry.at("series"),
          .text = entry.at("document").dump(),
          .allocated = in_gib("allocated"),
          .reserved = in_gib("reserved"),
          .smi = in_gib("nvidia_smi"),
          .unstated = in_gib("unstated"),
          .out_of_memory = outcome == "out_of_memory",
          .defective = outcome == "fault",
          .first_stage = stage == "first",
          .last_stage = stage == "last"};
    const result<plan_request> read = read_job(r.text);
    if (!read)
        throw std::runtime_error{r.id + ": " + std::string{read.error().field.view()} + " is " +
                                 std::string{read.error().value.view()} + "; expected " +
                                 std::string{read.error().expected.view()}};
    r.what = read->job, r.over = read->layout.value_or({}), r.on = read->cluster;
    return r;
}

/// Visits the runs of a file, or of the project's own.
inline void for_each_run(const std::function<void(const run&)>& visit,
                         const std::string& file = LLMRES_SOURCE_DIR "/tests/validation/data/training.jsonl") {
    std::ifstream lines{file};
    if (!lines) throw std::runtime_error{file + ": cannot be read"};
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) visit(run_of(line));
}

}  // namespace training_runs
