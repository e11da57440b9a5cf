// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "../h100_runs.hpp"

// table_h100 [--rows]: how far plans are from what PyTorch's allocator counted in training steps on an H100, by family,
// as a table for docs/accuracy.md; with --rows each run too.

int main(int count, char** arguments) {
    const bool each = count > 1 && std::strcmp(arguments[1], "--rows") == 0;
    std::map<std::string, h100_runs::scores> families;
    h100_runs::scores every;
    for (const h100_runs::run& r : h100_runs::all()) {
        families[r.family].add(r), every.add(r);
        if (!each) continue;
        const h100_runs::planned p = h100_runs::plan_of(r);
        const auto in_gib = [](llmres::byte_count size) { return size.in(llmres::gib); };
        std::printf("%s allocated %.3f, planned %.3f; reserved %.3f, planned %.3f (%.3f to %.3f)\n", r.id.c_str(),
                    in_gib(r.allocated), in_gib(p.allocated.expected), in_gib(r.reserved), in_gib(p.reserved.expected),
                    in_gib(p.reserved.low), in_gib(p.reserved.high));
    }
    std::printf(
        "| family | runs | allocated: mean error | bias | worst | within 1 %% | reserved: mean error | bias | worst | "
        "inside the bounds | median width | replay of the plan's tensors, reserved over allocated: mean error |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    const auto row = [](const char* name, const h100_runs::scores& s) {
        const auto& a = s.allocated;
        const auto& r = s.reserved;
        std::printf(
            "| %s | %d | %.2f %% | %+.2f %% | %.1f %% | %d | %.1f %% | %+.1f %% | %.0f %% | %d | %.0f %% | %.1f %% |\n",
            name, a.rows, a.mean() * 100, a.bias / a.rows * 100, a.worst * 100, s.within_one_percent, r.mean() * 100,
            r.bias / r.rows * 100, r.worst * 100, r.inside, r.median_width() * 100, s.replayed / a.rows * 100);
    };
    for (const auto& [name, s] : families) row(name.c_str(), s);
    row("all", every);
    return 0;
}
