// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <string>

#include "../../csv.hpp"

/// A published training measurement, and the row that it comes from.
namespace training_runs {

using namespace llmres;

struct run {
    std::string id;
    std::string series;  ///< rows of one publisher that were measured alike
    job what{};
    layout over{};
    cluster on{};
    double allocated = 0;  ///< GiB; 0: not measured
    double reserved = 0;
    double smi = 0;
    double unstated = 0;  ///< the publisher does not say which
    bool out_of_memory = false;
    bool defective = false;    ///< published to show a fault of the engine, which no plan foresees
    bool first_stage = false;  ///< the counter is that of the first pipeline stage, not of the busiest
    bool last_stage = false;   ///< of the last
};

/// A row's cells; empty or zero where the table has no such column.
struct cells {
    const csv::row& row;
    std::string text(const char* name) const {
        const auto found = row.find(name);
        return found == row.end() ? std::string{} : found->second;
    }
    std::int64_t number(const char* name, std::int64_t otherwise = 0) const {
        const std::string t = text(name);
        return t.empty() || t == "=heads" ? otherwise : std::atoll(t.c_str());
    }
    double real(const char* name) const { return std::atof(text(name).c_str()); }
};

}  // namespace training_runs
