// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "../kernels.hpp"
#include "../pytorch_runs.hpp"
#include "../training/scores.hpp"
#include "../training/straight_lines.hpp"

// table_training_memory [--rows [PART]] [FILE.jsonl]: how far predictions are from published training measurements, or
// those of another file of job documents (training/make_documents.py), by series and counter, as a table for
// docs/accuracy.md; with --rows each measurement too.

namespace {

void show(const training_runs::run& r, const llmres::memory_breakdown& m) {
    const auto in_gib = [](llmres::byte_count size) { return size.in(llmres::gib); };
    const double measured = r.allocated > 0  ? r.allocated
                            : r.reserved > 0 ? r.reserved
                            : r.unstated > 0 ? r.unstated
                                             : r.smi;
    const double predicted = in_gib(r.allocated > 0                    ? m.allocated.expected
                                    : r.reserved > 0 || r.unstated > 0 ? m.reserved.expected
                                                                       : m.total().expected);
    const auto total = m.total();
    const auto usable = llmres::available_memory(r.on);
    std::printf("%s %.3f %.3f %+.2f%% smi %.2f %.2f..%.2f..%.2f %s %s| %s st%d", r.id.c_str(), measured, predicted,
                measured > 0 ? (predicted / measured - 1) * 100 : 0.0, r.smi, in_gib(total.low), in_gib(total.expected),
                in_gib(total.high), r.out_of_memory ? "OOM" : "ran",
                m.surely_within(usable) ? "fits"
                : total.low > usable    ? "does_not_fit"
                                        : "tight",
                std::string(name_of(m.phase)).c_str(), m.stage);
    for (std::size_t i = 0; i < m.terms.size(); ++i)
        if (m.terms[i].expected > llmres::byte_count{})
            std::printf(" %s %.3f", std::string(llmres::names_of<llmres::memory_term>[i]).c_str(),
                        in_gib(m.terms[i].expected));
    const auto of = r.allocated > 0 ? m.allocated : r.reserved > 0 || r.unstated > 0 ? m.reserved : total;
    if (measured > 0 && !r.out_of_memory && (in_gib(of.low) > measured * 1.0001 || measured * 0.9999 > in_gib(of.high)))
        std::printf(" outside %.3f..%.3f", in_gib(of.low), in_gib(of.high));
    std::printf("\n");
}

/// Kernels alone: rows, mean and worst error by kernel and provider.
void show_kernels() {
    std::map<std::string, training_runs::errors> by_kernel;
    for (const kernels::run& r : kernels::all())
        by_kernel["| " + r.kernel + " | " + r.of + " | "].add(llmres::bytes(kernels::predicted(r)),
                                                              llmres::bytes(r.measured).in(llmres::gib));
    std::printf("\n| kernel | of | rows | mean error | worst |\n|---|---|---|---|---|\n");
    for (const auto& [name, e] : by_kernel)
        std::printf("%s%d | %.2f %% | %.2f %% |\n", name.c_str(), e.rows, e.mean() * 100, e.worst * 100);
}

/// Tracked PyTorch runs by family and counter.
void show_pytorch() {
    std::map<std::string, pytorch_runs::family_scores> scores;
    for (const csv::row& cells : pytorch_runs::rows()) {
        const pytorch_runs::row r{cells};
        const pytorch_runs::outcome o = pytorch_runs::outcome_of(r, pytorch_runs::request_of(r));
        const pytorch_runs::pass_errors p = pytorch_runs::pass_errors_of(r, pytorch_runs::request_of(r));
        for (const std::string& group : {r.text("family"), std::string{"~"}})
            scores[group].add(o), scores[group].add(p);
    }
    std::printf(
        "\n| family | rows | forward: mean | worst | loss: mean | worst | backward: mean | worst | step: mean | worst "
        "|\n"
        "|---|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, s] : scores)
        std::printf("| %s | %d | %.3f %% | %.2f %% | %.3f %% | %.2f %% | %.3f %% | %.2f %% | %.3f %% | %.2f %% |\n",
                    name == "~" ? "all" : name.c_str(), s.forward.rows, s.forward.mean() * 100, s.forward.worst * 100,
                    s.loss.mean() * 100, s.loss.worst * 100, s.backward.mean() * 100, s.backward.worst * 100,
                    s.step.mean() * 100, s.step.worst * 100);
    std::printf(
        "\n| family | rows | parameters, worst | gradients, worst | optimizer states, worst | saved activations: mean "
        "| bias | worst | peak: mean | bias | "
        "worst |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, s] : scores)
        std::printf(
            "| %s | %d | %.4f %% | %.2f %% | %.2f %% | %.3f %% | %+.3f %% | %.2f %% | %.3f %% | %+.3f %% | %.2f %% |\n",
            name == "~" ? "all" : name.c_str(), s.saved.rows, s.weights.worst * 100, s.gradients.worst * 100,
            s.states.worst * 100, s.saved.mean() * 100, s.saved.bias / s.saved.rows * 100, s.saved.worst * 100,
            s.peak.mean() * 100, s.peak.bias / s.peak.rows * 100, s.peak.worst * 100);
}

}  // namespace

int main(int argc, char** argv) {
    const bool rows = argc > 1 && std::strcmp(argv[1], "--rows") == 0;
    const std::string last = argc > 1 ? argv[argc - 1] : "";
    const bool named = last.ends_with(".jsonl");
    const std::string part = rows && argc > (named ? 3 : 2) ? argv[2] : "";
    std::map<std::string, training_runs::score> scores;
    std::map<std::string, training_runs::straight_lines> lines;  // where samples have many lengths
    const auto score_run = [&](const training_runs::run& r) {
        if (!part.empty() && r.id.find(part) == std::string::npos && r.series.find(part) == std::string::npos) return;
        const auto predicted = scores[r.series].add(r);
        if (predicted && r.what.varied_lengths) lines[r.series].add(r);
        if (rows && predicted) show(r, *predicted);
        if (rows && !predicted) std::printf("%s refused\n", r.id.c_str());
    };
    if (named)
        training_runs::for_each_run(score_run, last);
    else
        training_runs::for_each_run(score_run);
    std::printf(
        "| series | counter | rows | mean error | bias | worst | in interval | median width | ran, called does_not_fit "
        "| out of memory, called fits | tight |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, s] : scores) {
        bool first = true;
        for (const auto& [counter, e] : s.counters) {
            if (e.rows == 0) continue;
            std::printf("| %s | %s | %d | %.2f %% | %+.2f %% | %.2f %% | %d of %d | %.0f %% |",
                        first ? name.c_str() : "", counter.c_str(), e.rows, e.mean() * 100, e.bias / e.rows * 100,
                        e.worst * 100, e.inside, e.rows, e.median_width() * 100);
            if (first)
                std::printf(" %d of %d | %d of %d | %d of %d |\n", s.ran_refused, s.ran, s.failed_fits, s.failed,
                            s.tight, s.ran + s.failed);
            else
                std::printf(" | | |\n");
            first = false;
        }
        if (s.defective > 0)
            std::printf("| %s | published as a fault | %d | | | | | | | | |\n", name.c_str(), s.defective);
        if (s.refused > 0) std::printf("| %s | refused | %d | | | | | | | | |\n", name.c_str(), s.refused);
    }
    for (const auto& [name, of] : lines)
        if (const auto fit = of.best(); fit.jobs > 0)
            std::printf(
                "\nThe nearest straight lines in the sample's length, each with two constants fitted to the runs of "
                "one job, miss %s's %d runs of %d jobs "
                "by %.2f %% on average: samples have many lengths.\n",
                name.c_str(), fit.runs, fit.jobs, fit.mean * 100);
    if (rows || named) return 0;
    show_kernels();
    show_pytorch();
    return 0;
}
