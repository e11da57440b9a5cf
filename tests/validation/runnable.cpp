// SPDX-License-Identifier: MIT
// Measured rows ran on real layouts and real GPUs: no rule of a profile may say that they could not.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace {

using namespace llmres;

/// The degrees that a document's layout names; those that it leaves out are chosen, and run.
layout layout_of(const nlohmann::json& document) {
    layout l;
    const nlohmann::json given = document.value("layout", nlohmann::json::object());
    l.tensor = given.value("tensor", 1);
    l.sequence_parallel = given.value("sequence_parallel", false);
    l.pipeline = given.value("pipeline", 1);
    l.virtual_pipeline = given.value("virtual_pipeline", 1);
    l.context_parallel = given.value("context_parallel", 1);
    l.expert = given.value("expert", 1);
    l.zero = given.value("zero", 0);
    return l;
}

/// The task and the runtime of a document; false where it names a profile of its own.
bool read_runtime(const nlohmann::json& document, job& j) {
    const std::string task = document.value("task", document.contains("sequence") ? "finetuning" : "serving");
    j.task = task == "serving" ? task::serving : task == "finetuning" ? task::finetuning : task::pretraining;
    const nlohmann::json& said = document.at("runtime");
    const std::string name = said.is_string() ? said.get<std::string>() : said.value("name", "");
    const auto found = find_runtime(name);
    if (found) j.runtime = *found;
    return static_cast<bool>(found);
}

/// Calls visit(id, document) for each measured row that names its runtime.
template <class Visit>
void for_each_row(const Visit& visit) {
    const std::filesystem::path data = LLMRES_SOURCE_DIR "/tests/validation/data";
    for (const char* file :
         {"serving_jobs.jsonl", "contributed_jobs.jsonl", "training.jsonl", "llama_cpp.jsonl", "times/serving.jsonl",
          "times/training.jsonl", "h100/llama_cpp_jobs.jsonl", "h100/torch_jobs.jsonl", "h200/torch_jobs.jsonl"}) {
        std::ifstream lines(data / file);
        REQUIRE_MESSAGE(lines.is_open(), file);
        for (std::string line; std::getline(lines, line);) {
            const auto row = nlohmann::json::parse(line);
            const nlohmann::json& document = row.contains("document") ? row.at("document") : row;
            if (document.contains("runtime")) visit(file + (" " + row.value("id", "")), document);
        }
    }
}

}  // namespace

TEST_CASE("no measured row has a degree that its runtime does not run, or of which no run is known") {
    int rows = 0, laid_out = 0;
    std::set<std::string> shown;
    for_each_row([&](const std::string& id, const nlohmann::json& document) {
        job j;
        if (!read_runtime(document, j)) return;
        const layout l = layout_of(document);
        ++rows;
        laid_out += l != layout{};
        const unrun_degree lacked = unrun_degree_of(j, l);
        if (lacked.name.empty()) return;
        const std::string what = std::string{j.runtime.identity.name.view()} + " " +
                                 std::string{j.runtime.identity.versions.view()} + ": " + std::string{lacked.name} +
                                 " " + std::to_string(lacked.degree);
        if (shown.insert(what).second) FAIL_CHECK(id << ": " << what);
    });
    CHECK(rows >= 6000);
    CHECK(laid_out >= 3000);
}

TEST_CASE("every measured row ran on a GPU on which its runtime starts") {
    int rows = 0;
    std::set<std::string> shown;
    for_each_row([&](const std::string& id, const nlohmann::json& document) {
        job j;
        const nlohmann::json on = document.value("cluster", nlohmann::json::object());
        if (!read_runtime(document, j) || !on.contains("gpu") || !on["gpu"].is_string()) return;
        const auto card = find_gpu(on["gpu"].get<std::string>());
        if (!card) return;
        const auto format = [&](const char* field) {
            maybe<precision> found{};
            if (!document.contains(field) || !document[field].is_string()) return found;
            if (const auto made = find_precision(document[field].get<std::string>(), field)) found = *made;
            return found;
        };
        j.weights = format("weights");
        j.kv_cache = format("kv_cache");
        ++rows;
        const device_start started = device_start_of(j, *card);
        if (started.support == device_support::runs) return;
        const std::string what = std::string{j.runtime.identity.name.view()} + " " +
                                 std::string{j.runtime.identity.versions.view()} + " on " +
                                 std::string{card->id.view()} + " " + std::string{started.what};
        if (shown.insert(what).second) FAIL_CHECK(id << ": " << what);
    });
    CHECK(rows >= 5000);
}
