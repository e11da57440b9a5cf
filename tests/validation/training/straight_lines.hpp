// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "run.hpp"

/// What runs of one job at several lengths leave to any estimate: how far they lie from the straight line in the
/// sample's length that is nearest to them, its two constants fitted to these very runs. Tensors grow along such a
/// line, but for scores that are kept.
namespace training_runs {

class straight_lines {
public:
    void add(const run& r) {
        const std::string job = std::to_string(r.what.model.hidden) + " " + std::to_string(r.what.model.layers.size) +
                                " " + std::to_string(r.what.model.vocabulary) + " " +
                                std::string{weights_of(r.what).name.view()} + " " +
                                std::to_string(static_cast<int>(r.what.adapter.kind)) + " " +
                                std::to_string(r.what.adapter.rank) + " " + std::string{r.what.optimizer.name.view()} +
                                " " + std::to_string(r.what.micro_batch) + " " + std::to_string(r.over.gpus());
        if (r.reserved > 0 && !r.out_of_memory)
            jobs_[job].push_back({static_cast<double>(sequence_of(r.what).in(tokens)), r.reserved});
    }

    struct fit {
        int jobs = 0, runs = 0;
        double mean = 0;  ///< relative error, of the runs of jobs with four lengths and more
    };
    fit best() const {
        fit all;
        double sum = 0;
        for (const auto& [job, runs] : jobs_) {
            if (runs.size() < 4) continue;
            ++all.jobs, all.runs += static_cast<int>(runs.size()), sum += least_error(runs);
        }
        all.mean = all.runs > 0 ? sum / all.runs : 0;
        return all;
    }

private:
    struct point {
        double length, memory;
    };
    /// The least sum of relative errors: of the lines through two of the points, one reaches it.
    static double least_error(const std::vector<point>& runs) {
        double least = static_cast<double>(runs.size());
        for (std::size_t i = 0; i < runs.size(); ++i)
            for (std::size_t k = 0; k < i; ++k) {
                if (runs[i].length == runs[k].length) continue;
                const double slope = (runs[i].memory - runs[k].memory) / (runs[i].length - runs[k].length);
                double sum = 0;
                for (const point& p : runs)
                    sum += std::fabs((runs[i].memory + slope * (p.length - runs[i].length)) / p.memory - 1);
                least = std::min(least, sum);
            }
        return least;
    }

    std::map<std::string, std::vector<point>> jobs_;
};

}  // namespace training_runs
