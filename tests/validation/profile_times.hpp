// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/runtimes/all.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "llama_cpp_jobs.hpp"
#include "serving/rows.hpp"
#include "times/scores.hpp"
#include "torch_jobs.hpp"

/// How many published jobs with a measured time each profile has: what llmres/runtimes/times.inc says, counted anew.
namespace profile_times {

/// In the order of runtimes::all.
inline std::vector<std::pair<const llmres::runtime*, int>> all() {
    std::map<std::string, int> found;
    times::documents published{LLMRES_SOURCE_DIR "/tests/validation/data/times"};
    std::string label, counted;
    published.change([&](llmres::plan_request& asked) { label = serving::label_of(asked.job.runtime); });
    for (const char* file : {"training.jsonl", "serving.jsonl"})
        published.for_each_figure(
            file,
            [&](const times::figure& f, const llmres::job_plan&) {
                if (f.id != std::exchange(counted, f.id)) ++found[label];
            },
            [](const std::string&, const std::string&, const std::string&) {});
    for (const llama_cpp_jobs::run& r : llama_cpp_jobs::all()) ++found[serving::label_of(r.asked.job.runtime)];
    for (const torch_jobs::run& r : torch_jobs::all()) ++found[serving::label_of(r.asked.job.runtime)];
    std::vector<std::pair<const llmres::runtime*, int>> ordered;
    for (const llmres::runtime* profile : llmres::runtimes::all)
        if (const auto of_it = found.find(serving::label_of(*profile)); of_it != found.end())
            ordered.emplace_back(profile, of_it->second);
    return ordered;
}

}  // namespace profile_times
