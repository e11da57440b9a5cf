// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "../times/scores.hpp"

// table_times --bars [FOLDER]: each bar, what it asks and what is reached.
// table_times [--rows [PART]] [FOLDER]: how far planned times are from published ones, by series and figure, as a table
// for docs/accuracy.md; with --rows each figure too. FOLDER holds the files of make_time_documents.

namespace {

void show(const times::figure& f, const llmres::job_plan& p) {
    std::printf("%s|%s|%s|%.6g|%.6g|%.6g|%.6g|%+.1f|", f.id.c_str(), f.series.c_str(), f.name.c_str(), f.measured,
                f.planned.low, f.planned.expected, f.planned.high, f.error() * 100);
    const bool first = f.name.find("first") != std::string::npos;
    const llmres::time_breakdown& t = first ? p.speed.prefill : p.speed.step;
    for (std::size_t i = 0; i < t.terms.size(); ++i)
        if (t.terms[i].expected > llmres::duration{})
            std::printf(" %s %.5g", std::string(llmres::names_of<llmres::time_term>[i]).c_str(),
                        t.terms[i].expected.in(llmres::seconds));
    std::printf("\n");
}

void show_bars(const std::map<std::string, times::score>& scores) {
    std::printf("| series | rows | mean error | at most | median | at most | worst | at most | |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|\n");
    const auto asked = [](double most) {
        if (most > 1e6) return std::string{};
        char text[32];
        std::snprintf(text, sizeof text, "%.1f %%", most * 100);
        return std::string{text};
    };
    for (const times::bar& b : times::bars) {
        const times::score s = times::pooled(scores, b);
        std::printf("| %s%s%s | %d | %.1f %% | %s | %.1f %% | %s | %.0f %% | %s | %s |\n", b.series,
                    *b.figure != 0 ? ", " : "", b.figure, s.rows(), s.mean() * 100, asked(b.mean).c_str(),
                    times::score::median(s.errors) * 100, asked(b.median).c_str(), s.worst * 100,
                    asked(b.worst).c_str(), s.keeps(b) ? "met" : "missed");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool rows = argc > 1 && std::strcmp(argv[1], "--rows") == 0;
    const bool asks = argc > 1 && std::strcmp(argv[1], "--bars") == 0;
    const std::string last = argc > 1 ? argv[argc - 1] : "";
    const bool folder = last.find('/') != std::string::npos;
    const std::string part = rows && argc > (folder ? 3 : 2) ? argv[2] : "";
    const times::documents published{folder ? last : LLMRES_SOURCE_DIR "/tests/validation/data/times"};
    std::map<std::string, times::score> scores;
    for (const char* file : {"training.jsonl", "serving.jsonl"})
        published.for_each_figure(
            file,
            [&](const times::figure& f, const llmres::job_plan& p) {
                scores[f.series + " | " + f.name].add(f);
                if (rows && (f.id + f.series).find(part) != std::string::npos) show(f, p);
            },
            [&](const std::string& id, const std::string& series, const std::string& why) {
                ++scores[series + " | refused"].refused;
                if (rows && (id + series).find(part) != std::string::npos)
                    std::printf("%s|%s|refused: %s\n", id.c_str(), series.c_str(), why.c_str());
            });
    if (asks) return show_bars(scores), 0;
    std::printf(
        "| series | figure | rows | mean error | median | bias | worst | in the bounds | high / low, median |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, s] : scores) {
        if (s.refused > 0)
            std::printf("| %s | %d | | | | | | |\n", name.c_str(), s.refused);
        else
            std::printf("| %s | %d | %.1f %% | %.1f %% | %+.1f %% | %.0f %% | %.0f %% | %.2f |\n", name.c_str(),
                        s.rows(), s.mean() * 100, times::score::median(s.errors) * 100, s.mean_bias() * 100,
                        s.worst * 100, s.share_inside() * 100, times::score::median(s.widths));
    }
    return 0;
}
