// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "../replay.hpp"

// table_fragmentation [--rows]: reserved over allocated memory of published training runs, beside what a replay of
// their steps through PyTorch's caching allocator gives and what the runtime's profile says, as a table for
// docs/accuracy.md; with --rows [PART] each run too. Where only nvidia-smi's figure was published, what the plan counts
// beside the allocator is taken off; where nothing was said of allocated memory, the plan's is taken.

namespace {

struct column {
    double error = 0, bias = 0, worst = 0;

    void add(double said, double measured) {
        const double e = said / measured - 1;
        error += std::fabs(e), bias += e, worst = std::max(worst, std::fabs(e));
    }
};

struct series {
    int rows = 0;
    const char* published = "";
    double measured = 0, allocated = 0;
    column replay{}, profile{};
};

}  // namespace

int main(int count, char** arguments) {
    const bool each = count > 1 && std::strcmp(arguments[1], "--rows") == 0;
    const char* part = count > 2 ? arguments[2] : "";
    std::map<std::string, series> all;
    training_runs::for_each_run([&](const training_runs::run& r) {
        if (r.out_of_memory || r.defective || r.id.find(part) == std::string::npos) return;
        const auto m = training_runs::predicted(r);
        if (!m) return;
        const double beside = (m->total().expected - m->reserved.expected).in(llmres::gib);
        const double reserved = r.reserved > 0 ? r.reserved : r.smi > 0 && r.allocated > 0 ? r.smi - beside : 0;
        if (reserved <= 0) return;
        const double allocated = r.allocated > 0 ? r.allocated : m->allocated.expected.in(llmres::gib);
        const double measured = reserved / allocated;
        const llmres::byte_count others = m->total().expected - m->reserved.expected;
        const training_runs::replayed said = r.reserved > 0 ? training_runs::replay(r, m->stage, others)
                                                            : training_runs::replay_mean(r, m->stage, others);
        const double profile = m->reserved.expected.in(llmres::gib) / m->allocated.expected.in(llmres::gib);
        series& s = all[r.series];
        ++s.rows;
        s.published = r.reserved <= 0 ? "allocated, nvidia-smi" : r.allocated > 0 ? "allocated, reserved" : "reserved";
        s.measured += measured;
        s.allocated += std::fabs(said.allocated / m->allocated.expected.in(llmres::gib)-1);
        s.replay.add(said.ratio(), measured);
        s.profile.add(profile, measured);
        if (each)
            std::printf(
                "%s allocated %.2f, planned %.2f, replayed %.2f; reserved %.2f, planned %.2f, replayed %.2f; ratio "
                "%.4f %.4f %.4f\n",
                r.id.c_str(), allocated, m->allocated.expected.in(llmres::gib), said.allocated, reserved,
                m->reserved.expected.in(llmres::gib), said.reserved, measured, profile, said.ratio());
    });
    std::printf(
        "| series | published | rows | reserved / allocated | replay: mean error | bias | worst | profile: mean error "
        "| bias | "
        "worst | replay's allocated beside the plan's |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& [name, s] : all) {
        const auto percent = [&](double sum) { return sum / s.rows * 100; };
        std::printf("| %s | %s | %d | %.3f | %.2f %% | %+.2f %% | %.1f %% | %.2f %% | %+.2f %% | %.1f %% | %.2f %% |\n",
                    name.c_str(), s.published, s.rows, s.measured / s.rows, percent(s.replay.error),
                    percent(s.replay.bias), s.replay.worst * 100, percent(s.profile.error), percent(s.profile.bias),
                    s.profile.worst * 100, percent(s.allocated));
    }
    return 0;
}
