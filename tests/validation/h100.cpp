// SPDX-License-Identifier: MIT
#include "h100_runs.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <map>
#include <string>
#include <vector>

// Training steps on an H100 against plans of their job documents; `table_h100` prints the figures.

namespace {

/// Errors of all runs, and of those of each family. (Each run is planned and replayed once.)
struct all_scores {
    h100_runs::scores every;
    std::map<std::string, h100_runs::scores> families;
};

const all_scores& scored() {
    static const all_scores all = [] {
        all_scores made;
        for (const h100_runs::run& r : h100_runs::all()) {
            const h100_runs::planned p = h100_runs::plan_of(r);
            made.every.add(r, p), made.families[r.family].add(r, p);
        }
        return made;
    }();
    return all;
}

}  // namespace

TEST_CASE("each run on the H100 names the profile as it ships") {
    CHECK(h100_runs::all().size() == 1136);
    for (const h100_runs::run& r : h100_runs::all()) {
        INFO(r.id);
        CHECK(r.asked.job.runtime == llmres::runtimes::huggingface);
        CHECK(r.asked.cluster.gpu.id == "h100-sxm5-80gb");
    }
}

TEST_CASE("allocated memory on the H100 is within 1 % in nine of ten runs, and within 0.4 % on average") {
    const auto& [every, families] = scored();
    CHECK(every.allocated.mean() <= 0.004);
    CHECK(every.within_one_percent >= every.allocated.rows * 0.9);
    for (const auto& [name, s] : families) {
        if (name == "qwen3_next") continue;  // not described
        INFO(name);
        CHECK(s.allocated.mean() <= 0.02);
    }
}

TEST_CASE("reserved memory on the H100 is within the bounds in 93 of 100 runs, and within 5.5 % on average") {
    const h100_runs::scores& every = scored().every;
    CHECK(every.reserved.inside >= every.reserved.rows * 0.93);
    CHECK(every.reserved.mean() <= 0.055);
    CHECK(std::fabs(every.reserved.bias / every.reserved.rows) <= 0.02);
    CHECK(every.reserved.median_width() <= 0.22);
}

TEST_CASE("plans' own tensors, replayed, come to 3.5 % of the ratio of reserved to allocated memory on the H100") {
    const h100_runs::scores& every = scored().every;
    CHECK(every.replayed / every.reserved.rows <= 0.035);
}

TEST_CASE("the caching allocator's simulation reserves what PyTorch did for the same allocations, to the byte") {
    // Three steps of a 1B model in a process of its own: a line is the size of a tensor, or f and the number of the
    // allocation that is freed.
    std::ifstream lines{h100_runs::folder + "/h100/allocations.txt"};
    llmres::detail::caching_allocator memory;
    std::vector<llmres::detail::caching_allocator::block*> made;
    for (std::string line; std::getline(lines, line);) {
        if (line.front() == 'f')
            memory.give(made[static_cast<std::size_t>(std::atoll(line.c_str() + 1))]);
        else
            made.push_back(memory.take(std::atoll(line.c_str())));
    }
    CHECK(made.size() == 7592);
    CHECK(memory.peak_allocated == 35'373'574'144);
    CHECK(memory.peak_reserved == 39'988'494'336);
}
