// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/plan.hpp>
#include <llmres/values/find_precision.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Published measurements of one kernel's forward and backward pass, each a question about a job document
/// (data/kernel_jobs.jsonl, which kernel_jobs makes of the rows and describes): what the plan, or the inventory that
/// its memory is a sum of, says of the kernel's tensors, beside the tensors of the benchmark.
namespace kernels {

using namespace llmres;
using nlohmann::json;

struct run {
    std::string id, kernel, of;
    json document, moments;
    std::int64_t measured = 0;  ///< bytes
};

inline std::vector<run> all() {
    std::vector<run> runs;
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/kernel_jobs.jsonl"};
    for (std::string line; std::getline(lines, line);) {
        const json row = json::parse(line);
        runs.push_back(
            {row.at("id"), row.at("kernel"), row.at("of"), row.at("document"), row.at("moments"), row.at("measured")});
    }
    return runs;
}

/// Answers the questions of one document.
class answers {
public:
    explicit answers(const json& document) : asked_{read_job(document).value()}, context_{asked_.job, *asked_.layout} {
        const job_plan planned = plan(asked_.job, *asked_.layout, asked_.cluster).value();
        said_ = json::parse(to_json(planned, asked_.job, asked_.cluster, layout_choice::given).dump()).at("memory");
    }

    /// The largest of the moments.
    std::int64_t largest(const json& moments) const {
        std::int64_t most = 0;
        for (const json& moment : moments) {
            std::int64_t sum = 0;
            for (const json& part : moment) sum += bytes_of(part);
            most = std::max(most, sum);
        }
        return most;
    }

private:
    std::int64_t bytes_of(const json& part) const {
        if (part.contains("term")) return said_.at("terms").at(part["term"].get<std::string>());
        if (part.contains("pass")) return said_.at("passes").at(part["pass"].get<std::string>());
        if (part.contains("saved")) return saved(part["saved"]);
        if (part.contains("made")) return made_at(part["made"]);
        if (part.contains("cublas")) return part["cublas"];
        const json& shape = part.at("shape");
        const precision format = find_precision("format", part.at("format").get<std::string>()).value();
        return size_of(format, shape.at(0), shape.at(1)).in(bytes)*part.at("copies").get<std::int64_t>();
    }
    std::int64_t saved(const json& roles) const {
        byte_count sum;
        for_each_saved_activation(layer_of(), asked_.job.model.hidden, context_, [&](const activation& a) {
            const auto is_asked = [&](const json& role) { return role == name_of(a.role); };
            if (roles == "all" || std::any_of(roles.begin(), roles.end(), is_asked)) sum += local_bytes(a, layout{});
        });
        return sum.in(bytes);
    }
    std::int64_t made_at(const std::string& point) const {
        static constexpr std::array<std::string_view, backward_points> names{"fed",  "output",    "inner",
                                                                             "norm", "attention", "attention_norm"};
        byte_count sum;
        for_each_gradient_activation(layer_of(), asked_.job.model.hidden, context_, [&](const activation& a) {
            if (names[static_cast<std::size_t>(a.until)] == point) sum += local_bytes(a, layout{});
        });
        return sum.in(bytes);
    }
    const layer& layer_of() const { return asked_.job.model.layers[0]; }

    plan_request asked_;
    training_context context_;
    json said_;  ///< the plan's memory, as `llmres plan --json` has it
};

/// Bytes at the benchmark's peak.
inline std::int64_t predicted(const run& r) { return answers{r.document}.largest(r.moments); }

}  // namespace kernels
