// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/memory/training.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../csv.hpp"

/// The rows of data/pytorch_runs.csv (see pytorch/README.md), and the job document of each in data/pytorch_jobs.jsonl,
/// which pytorch/job_documents.py makes of the row.
namespace pytorch_runs {

using namespace llmres;

struct row {
    const csv::row& cells;
    std::string text(const char* name) const {
        const auto found = cells.find(name);
        return found == cells.end() ? std::string{} : found->second;
    }
    std::int64_t number(const char* name) const { return std::atoll(text(name).c_str()); }
};

inline const std::string folder = LLMRES_SOURCE_DIR "/tests/validation/data";

/// All rows, in the order of the file.
inline const std::vector<csv::row>& rows() {
    static const std::vector<csv::row> all = csv::read(folder + "/pytorch_runs.csv");
    return all;
}

/// The documents of a file by run_id.
inline std::map<std::string, nlohmann::json> documents_of(const char* file) {
    std::map<std::string, nlohmann::json> read;
    std::ifstream lines{folder + "/" + file};
    for (std::string line; std::getline(lines, line);) {
        nlohmann::json document = nlohmann::json::parse(line);
        read.emplace(document["id"].get<std::string>(), std::move(document["document"]));
    }
    return read;
}
/// Those of data/pytorch_runs.csv.
inline const std::map<std::string, nlohmann::json>& documents() {
    static const std::map<std::string, nlohmann::json> all = documents_of("pytorch_jobs.jsonl");
    return all;
}

/// What a document of a row asks for. Throws where it is refused.
inline plan_request request_of(const nlohmann::json& document) {
    // Rows share their models: each file is read once.
    static std::map<std::string, result<model_source>, std::less<>> models;
    static const job_sources sources{.model = [](std::string_view name) -> result<model_source> {
        auto found = models.find(name);
        if (found == models.end()) found = models.emplace(name, find_model_source(name, folder)).first;
        return found->second;
    }};
    const result<plan_request> read = read_job(document, sources);
    if (!read)
        throw std::runtime_error(document.dump() + ": " + std::string{read.error().field.view()} + " " +
                                 std::string{read.error().value.view()} + ": " +
                                 std::string{read.error().expected.view()});
    return *read;
}
inline plan_request request_of(const row& r) { return request_of(documents().at(r.text("run_id"))); }
inline job job_of(const row& r) { return request_of(r).job; }

// ---- scores ---------------------------------------------------------------------------------------------------------

/// Relative errors of one counter.
struct errors {
    int rows = 0;
    double sum = 0;
    double bias = 0;
    double worst = 0;
    int off = 0;  ///< by more than 1 %

    void add(double error) {
        off += std::fabs(error) > 0.01;
        ++rows, sum += std::fabs(error), bias += error;
        if (std::fabs(error) > worst) worst = std::fabs(error);
    }
    double mean() const { return rows > 0 ? sum / rows : 0; }
};

/// Predicted over measured, less one; the batch itself is no part of a prediction.
struct outcome {
    double weights, gradients, states, saved, peak;
};

inline double error_of(byte_count predicted, std::int64_t measured) {
    if (measured == 0) return predicted == byte_count{} ? 0 : 1;
    return static_cast<double>(predicted.in(bytes)) / static_cast<double>(measured) - 1;
}

inline outcome outcome_of(const row& r, const plan_request& asked) {
    const job& j = asked.job;
    const layout& l = *asked.layout;
    const training_state state = training_state_of(j, l);
    const sdpa_backend sdpa = sdpa_backend_of(asked.cluster.gpu);
    const byte_count saved = saved_activations(j, l, 0, sdpa);
    // Of quantised models the reference counts scales, and bitsandbytes' tables of values, as static.
    const std::int64_t weights =
        r.text("method") == "qlora" ? r.number("static_bytes") - r.number("buffer_bytes") : r.number("param_bytes");
    return {
        .weights = error_of(state.weights + state.adapter, weights),
        .gradients = error_of(state.gradients.kept, r.number("gradient_bytes")),
        .states = error_of(state.optimizer.states, r.number("optimizer_bytes")),
        .saved = error_of(j.offload.activations == offload_place::none ? saved : saved - saved_by_layers(j, l, 0, sdpa),
                          r.number("saved_activation_bytes")),
        .peak =
            error_of(training_memory(j, l, asked.cluster.gpu).ideal, r.number("peak_bytes") - r.number("input_bytes"))};
}

/// The passes of the second iteration, predicted over tracked, less one: forward, loss, backward, step. Zero where a
/// row does not tell a pass apart: Liger's head is no module of its own, so that its forward pass is both.
struct pass_errors {
    double forward, loss, backward, step;
};
inline pass_errors pass_errors_of(const row& r, const plan_request& asked) {
    const training_passes passes = training_passes_of(asked.job, *asked.layout, sdpa_backend_of(asked.cluster.gpu));
    const bool head = !r.text("loss_peak_2_bytes").empty();
    const auto error = [&](const char* name, byte_count predicted) {
        return r.text(name).empty() ? 0.0 : error_of(predicted, r.number(name) - r.number("input_bytes"));
    };
    const byte_count forward = !head && passes.loss > passes.forward ? passes.loss : passes.forward;
    return {error("forward_peak_2_bytes", forward), error("loss_peak_2_bytes", passes.loss),
            error("backward_peak_2_bytes", passes.backward), error("step_peak_2_bytes", passes.step)};
}

struct family_scores {
    errors weights{}, gradients{}, states{}, saved{}, peak{};
    errors forward{}, loss{}, backward{}, step{};

    void add(const outcome& o) {
        weights.add(o.weights), gradients.add(o.gradients), states.add(o.states), saved.add(o.saved), peak.add(o.peak);
    }
    void add(const pass_errors& e) {
        forward.add(e.forward), loss.add(e.loss), backward.add(e.backward), step.add(e.step);
    }
};

}  // namespace pytorch_runs
