// SPDX-License-Identifier: MIT
// Prints, as markdown, how the serving profiles stand against what was measured: the section between the `serving`
// markers of docs/accuracy.md. Other lines of serving_jobs can be named: table_serving_memory FILE.jsonl.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../serving/figures.hpp"
#include "../serving/rows.hpp"
#include "../serving/verdicts.hpp"

namespace {

using namespace serving;

struct tally {
    std::string what;
    double absolute = 0, signed_sum = 0, worst = 0, gib_off = 0, worst_gib = 0;
    int rows = 0, covered = 0, near = 0;
    std::vector<double> widths;

    void add(const figure& f) {
        const double e = f.error();
        ++rows;
        absolute += std::fabs(e);
        signed_sum += e;
        const double gib = std::fabs(f.expected - f.measured) / one_gib;
        gib_off += gib;
        worst_gib = std::max(worst_gib, gib);
        near += gib <= 0.15 ? 1 : 0;
        if (std::fabs(e) > std::fabs(worst)) worst = e;
        covered += f.covered(rounding_of(f)) ? 1 : 0;
        widths.push_back(f.width());
    }
    double median_width() const {
        std::vector<double> sorted = widths;
        std::sort(sorted.begin(), sorted.end());
        return sorted.empty() ? 0 : sorted[sorted.size() / 2];
    }
};

/// Engines that reserve a pool, by name: all rows, and those whose logs give their flags.
using pools = std::map<std::pair<std::string, std::string>, std::array<tally, 2>>;

void add_pool(pools& all, const row& r, const figure& f) {
    if (!takes_fraction(r.job().runtime.cache) || (f.what != "weights" && f.what != "pool")) return;
    auto& [every, flagged] = all[{std::string{r.job().runtime.identity.name.view()}, f.what}];
    every.add(f);
    if (r.flags) flagged.add(f);
}

void print_pools(const pools& all) {
    std::printf(
        "\n| engines that reserve a pool | figure | rows that give their flags | mean error | mean off, GiB | worst, "
        "GiB "
        "| within 0.15 GiB | all rows | mean error | mean off, GiB | worst, GiB | within 0.15 GiB |\n");
    std::printf("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const auto& [key, both] : all) {
        std::printf("| %s | %s |", key.first.c_str(), key.second.c_str());
        for (const tally* t : {&both[1], &both[0]}) {
            const double n = t->rows;
            if (t->rows > 0)
                std::printf(" %d | %.2f %% | %.3f | %.2f | %.0f %% |", t->rows, 100 * t->absolute / n, t->gib_off / n,
                            t->worst_gib, 100 * t->near / n);
            else
                std::printf(" 0 | | | | |");
        }
        std::printf("\n");
    }
}

void print_figures(const std::map<std::pair<std::string, std::string>, tally>& figures) {
    std::printf(
        "| engine and versions | figure | rows | mean error | bias | worst | mean off, GiB | inside the bounds | "
        "median "
        "width of the bounds |\n");
    std::printf("|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (const auto& [key, t] : figures) {
        const double n = t.rows;
        std::printf("| %s | %s | %d | %.2f %% | %+.2f %% | %+.1f %% | %.3f | %.0f %% | %.1f %% |\n", key.first.c_str(),
                    key.second.c_str(), t.rows, 100 * t.absolute / n, 100 * t.signed_sum / n, 100 * t.worst,
                    t.gib_off / n, 100 * t.covered / n, 100 * t.median_width());
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::pair<std::string, std::string>, tally> figures;
    std::map<std::string, std::array<int, 6>> verdicts;  // by what happened, and what was said of it
    pools reserved;
    tally every, estimates;
    const auto rows = rows_to_score(argc > 1 ? argv[1] : "");
    for (const row& r : rows) {
        for (const figure& f : figures_of(r)) {
            figures[{f.label, f.what}].add(f);
            every.add(f);
            if (f.what != "weights" && f.what != "kv" && f.what != "kv token") estimates.add(f);
            add_pool(reserved, r, f);
        }
        if (const auto said = judge(r)) {
            auto& counts = verdicts[said->label];
            ++counts[static_cast<std::size_t>((said->ran ? 0 : 3) + static_cast<int>(said->verdict))];
        }
    }
    std::printf("%zu rows; of their %d figures %.1f %% are inside the bounds, whose median width is %.1f %%; ",
                rows.size(), every.rows, 100.0 * every.covered / (every.rows > 0 ? every.rows : 1),
                100 * every.median_width());
    std::printf("of the %d that are no weights or caches %.1f %%, and %.1f %%.\n\n", estimates.rows,
                100.0 * estimates.covered / (estimates.rows > 0 ? estimates.rows : 1), 100 * estimates.median_width());
    print_figures(figures);
    print_pools(reserved);
    std::printf(
        "\n| engine and versions | ran: fits | tight | does not fit | did not run: fits | tight | does not fit |\n");
    std::printf("|---|--:|--:|--:|--:|--:|--:|\n");
    std::array<int, 6> all{};
    for (const auto& [label, n] : verdicts) {
        std::printf("| %s | %d | %d | %d | %d | %d | %d |\n", label.c_str(), n[0], n[1], n[2], n[3], n[4], n[5]);
        for (std::size_t i = 0; i < n.size(); ++i) all[i] += n[i];
    }
    std::printf("| all | %d | %d | %d | %d | %d | %d |\n", all[0], all[1], all[2], all[3], all[4], all[5]);
    return 0;
}
