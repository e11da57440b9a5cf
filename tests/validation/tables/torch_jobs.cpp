// SPDX-License-Identifier: MIT
#include <cstdio>

#include "../torch_jobs.hpp"

// table_torch_jobs: how far plans are from what jobs of transformers took on an H100 and an H200, as a table for
// docs/accuracy.md.

int main(int, char**) {
    std::printf(
        "| GPU, task, model | figure | jobs | mean error | bias | worst | inside the bounds | median width |\n"
        "|---|---|--:|--:|--:|--:|--:|--:|\n");
    for (const auto& [group, scores] : torch_jobs::by_group())
        for (const auto& [figure, s] : scores)
            if (s.rows > 0)
                std::printf("| %s | %s | %d | %.2f %% | %+.2f %% | %.1f %% | %d of %d | %.0f %% |\n", group.c_str(),
                            figure.c_str(), s.rows, s.mean() * 100, s.bias / s.rows * 100, s.worst * 100, s.inside,
                            s.rows, s.median_width() * 100);
    return 0;
}
