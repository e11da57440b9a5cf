// SPDX-License-Identifier: MIT
#include <cstdio>

#include "../llama_cpp_jobs.hpp"

// table_llama_cpp_jobs: how far plans are from what llama.cpp's jobs took on an H100, as a table for docs/accuracy.md.

int main(int, char**) {
    std::printf(
        "| model | figure | jobs | mean error | bias | worst | inside the bounds | median width |\n"
        "|---|---|--:|--:|--:|--:|--:|--:|\n");
    for (const auto& [model, scores] : llama_cpp_jobs::by_model())
        for (const auto& [figure, s] : scores)
            std::printf("| %s | %s | %d | %.1f %% | %+.1f %% | %.1f %% | %d of %d | %.0f %% |\n", model.c_str(),
                        figure.c_str(), s.rows, s.mean() * 100, s.bias / s.rows * 100, s.worst * 100, s.inside, s.rows,
                        s.median_width() * 100);
    return 0;
}
