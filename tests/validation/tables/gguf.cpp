// SPDX-License-Identifier: MIT
// Prints, as markdown, published GGUF files against the predicted bytes of their tensors: the section between the
// `gguf` markers of docs/accuracy.md.
#include "../gguf_sizes.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string>

using gguf_sizes::comparison;
using gguf_sizes::verdict;

namespace {

/// How many files of each verdict.
struct tally {
    std::array<int, 5> files{};
    void add(const comparison& row) { ++files[static_cast<std::size_t>(row.is)]; }
};

void print_table(const char* heading, const std::map<std::string, tally>& rows) {
    std::printf("| %s | files | equal | but for keys | alone | within 0.1 %% | off |\n|---|--:|--:|--:|--:|--:|--:|\n",
                heading);
    tally all;
    const auto line = [](const std::string& name, const tally& t) {
        int sum = 0;
        for (const int n : t.files) sum += n;
        std::printf("| %s | %d | %d | %d | %d | %d | %d |\n", name.c_str(), sum, t.files[0], t.files[1], t.files[2],
                    t.files[3], t.files[4]);
    };
    for (const auto& [name, t] : rows) {
        line(name, t);
        for (std::size_t i = 0; i < t.files.size(); ++i) all.files[i] += t.files[i];
    }
    line("all", all);
}

}  // namespace

int main(int, char**) {
    const std::string shared = LLMRES_SHARED_DATA;
    const auto rows = gguf_sizes::compare(shared.empty() ? shared : shared + "/models/");
    std::map<std::string, tally> by_model;
    std::map<std::string, tally> by_type;
    for (const comparison& row : rows) {
        by_model[row.preset].add(row);
        by_type[row.quantisation].add(row);
    }
    print_table("model", by_model);
    std::puts("");
    print_table("type mix", by_type);
    std::puts(
        "\nEvery file that is not equal:\n\n| file | size | predicted tensors | header left | beside the repository's "
        "|\n|---|--:|--:|--:|--:|");
    for (const comparison& row : rows)
        if (row.is != verdict::equal)
            std::printf("| %s %s | %lld | %lld | %lld | %s |\n", row.repository.c_str(), row.quantisation.c_str(),
                        static_cast<long long>(row.file), static_cast<long long>(row.tensors),
                        static_cast<long long>(row.header()),
                        row.is == verdict::alone ? "alone" : std::to_string(row.rest).c_str());
    return 0;
}
