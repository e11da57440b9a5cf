// SPDX-License-Identifier: MIT
// Prints, as markdown, published totals against our counts: the section between the `counts` markers of
// docs/accuracy.md.
#include "../counts.hpp"
#include "../registry.hpp"

#include <cstdio>
#include <string>

int main(int, char**) {
    std::puts("| model | published | counted | difference | count | remark |\n|---|---:|---:|---:|---|---|");
    const std::string shared = LLMRES_SHARED_DATA;
    for (const counts::comparison& row :
         shared.empty() ? counts::of_presets() : counts::of_configs(shared + "/models/")) {
        const std::string difference =
            row.count.empty() ? "refused: " + row.refusal : std::to_string(row.counted - row.published);
        std::printf("| %s | %lld | %lld | %s | %s | %s |\n", row.model.c_str(), static_cast<long long>(row.published),
                    static_cast<long long>(row.counted), difference.c_str(), row.count.c_str(), row.remark.c_str());
    }
    std::puts(
        "\n| registry of transformers | types | read | share | of these, equal to transformers' count in all variants "
        "| "
        "variants | read | equal |\n|---|--:|--:|--:|--:|--:|--:|--:|");
    for (const auto& [name, c] : registry::coverage_of_transformers())
        std::printf("| %s | %d | %d | %.1f %% | %d | %d | %d | %d |\n", name.c_str(), c.types, c.read,
                    100.0 * c.read / c.types, c.equal, c.rows, c.rows_read, c.rows_equal);
    return 0;
}
