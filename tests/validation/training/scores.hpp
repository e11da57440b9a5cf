// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <llmres/jobs/checks.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <string>
#include <vector>

#include "run.hpp"

/// What the library says of published training runs, beside what was measured.
namespace training_runs {

using namespace llmres;

/// The memory of the GPU that was measured, if the job is one that is planned: the busiest stage's as plan() gives it,
/// or that of the stage which was measured.
inline maybe<memory_breakdown> predicted(const run& r) {
    if (r.defective || !plan(r.what, r.over, r.on)) return {};
    if ((!r.first_stage && !r.last_stage) || r.over.pipeline == 1) return memory_of(r.what, r.over, r.on);
    memory_breakdown m = training_memory(r.what, r.over, r.first_stage ? 0 : r.over.pipeline - 1);
    m.release_beyond(available_memory(r.on));
    return m;
}

/// How far predictions of one counter are from what was measured.
struct errors {
    int rows = 0;
    double sum = 0, bias = 0, worst = 0;
    int inside = 0;
    std::vector<double> widths{};  ///< of the intervals, over their expected values

    /// The width that as many intervals exceed as fall short of.
    double median_width() const {
        if (widths.empty()) return 0;
        std::vector<double> sorted = widths;
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
    /// A figure that is zero was not measured.
    void add(const interval<double>& predicted, double measured) {
        if (measured <= 0) return;
        const double e = predicted.expected / measured - 1;
        widths.push_back((predicted.high - predicted.low) / predicted.expected);
        ++rows, sum += std::fabs(e), bias += e, worst = std::max(worst, std::fabs(e));
        inside += predicted.low <= measured * 1.0001 && measured * 0.9999 <= predicted.high;
    }
    void add(const interval<byte_count>& predicted, double measured_gib) {
        add({predicted.low.in(gib), predicted.expected.in(gib), predicted.high.in(gib)}, measured_gib);
    }
    void add(const interval<duration>& predicted, double measured_s) {
        add({predicted.low.in(seconds), predicted.expected.in(seconds), predicted.high.in(seconds)}, measured_s);
    }
    double mean() const { return rows > 0 ? sum / rows : 0; }
};

/// The verdicts and errors of one series.
struct score {
    std::map<std::string, errors> counters;
    int defective = 0;
    int ran = 0, failed = 0, ran_refused = 0, failed_fits = 0, tight = 0, refused = 0;

    /// The prediction, if the job is one that can be sized.
    maybe<memory_breakdown> add(const run& r) {
        const maybe<memory_breakdown> said = predicted(r);
        if (!said) {
            ++(r.defective ? defective : refused);
            return {};
        }
        const memory_breakdown& m = *said;
        if (!r.out_of_memory) {
            counters["allocated"].add(m.allocated, r.allocated);
            counters["reserved"].add(m.reserved, r.reserved);
            counters["nvidia-smi"].add(m.total(), r.smi);
            counters["unstated, taken as reserved"].add(m.reserved, r.unstated);
        }
        const byte_count usable = available_memory(r.on);
        const bool fits = m.surely_within(usable);
        const bool cannot = m.total().low > usable;
        ++(r.out_of_memory ? failed : ran);
        failed_fits += r.out_of_memory && fits;
        ran_refused += !r.out_of_memory && cannot;
        tight += !fits && !cannot;
        return m;
    }
};

}  // namespace training_runs
