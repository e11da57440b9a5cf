// SPDX-License-Identifier: MIT
// Prints the table of published totals against our counts: `validation_print_counts --no-skip`, with
// LLMRES_TABLE=markdown for the documents' form instead of comma-separated values.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "counts.hpp"

namespace {

void print(const counts::comparison& row, bool markdown) {
    const std::string difference =
        row.count.empty() ? "refused: " + row.refusal : std::to_string(row.counted - row.published);
    const char* form = markdown ? "| %s | %lld | %lld | %s | %s | %s |\n" : "\"%s\",%lld,%lld,%s,\"%s\",\"%s\"\n";
    std::printf(form, row.model.c_str(), static_cast<long long>(row.published), static_cast<long long>(row.counted),
                difference.c_str(), row.count.c_str(), row.remark.c_str());
}

}  // namespace

TEST_CASE("print published totals against our counts" * doctest::skip()) {
    const char* form = std::getenv("LLMRES_TABLE");
    const bool markdown = form != nullptr && std::string{form} == "markdown";
    std::puts(markdown ? "| model | published | counted | difference | count | remark |\n|---|---:|---:|---:|---|---|"
                       : "model,published,counted,difference,count,remark");
    const std::string shared = LLMRES_SHARED_DATA;
    for (const counts::comparison& row :
         shared.empty() ? counts::of_presets() : counts::of_configs(shared + "/models/"))
        print(row, markdown);
}
