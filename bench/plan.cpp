// SPDX-License-Identifier: MIT
// How long one plan takes, for the jobs a scheduler meets, alone and of a prepared job: nanoseconds a call, median of
// batches, with their spread.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/plan.hpp>
#include <string_view>
#include <vector>

#include "jobs.hpp"

using namespace llmres;

namespace {

struct timing {
    double median;
    double spread;  ///< half the distance between the quartiles, relative
};

/// Batches of calls; the batch varies so that nothing is computed ahead.
timing time_plans(std::vector<work>& queue, const cluster& machine) {
    constexpr int batches = 101;
    constexpr int calls = 200;
    std::vector<double> ns;
    std::size_t sink = 0;
    for (int b = 0; b < batches; ++b) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) {
            work& w = queue[static_cast<std::size_t>(i) % queue.size()];
            w.what.batch = w.what.micro_batch = 1 << i % 7;  // divides each global batch
            sink += static_cast<std::size_t>(plan(w.what, w.how, machine)->verdict);
        }
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        ns.push_back(spent.count() / calls);
    }
    std::sort(ns.begin(), ns.end());
    if (sink == 12345) std::puts("");  // the answers are used
    return {ns[batches / 2], (ns[batches * 3 / 4] - ns[batches / 4]) / 2 / ns[batches / 2]};
}

/// Plans in one layout and in the same over one more node, in turn, of one prepared job: what a search pays for each.
timing time_prepared(const work& w, const cluster& machine) {
    constexpr int batches = 101;
    constexpr int calls = 200;
    prepared_job prepared = prepare(w.what, machine);
    std::vector<double> ns;
    std::size_t sink = 0;
    layout other = w.how;
    other.replicas = 2;
    for (int b = 0; b < batches; ++b) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i)
            sink += static_cast<std::size_t>(prepared.plan(i % 2 == 0 ? w.how : other)->verdict);
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        ns.push_back(spent.count() / calls);
    }
    std::sort(ns.begin(), ns.end());
    if (sink == 12345) std::puts("");
    return {ns[batches / 2], (ns[batches * 3 / 4] - ns[batches / 4]) / 2 / ns[batches / 2]};
}

/// So many calls of a part of a plan: `plan`, `judged` (checks, memory and verdict), or `prepared`, one evaluation of a
/// prepared job. The batch varies, so that nothing is computed ahead, but not that of a prepared job. False: no such
/// part.
bool call(work& w, std::string_view part, int calls, const cluster& machine) {
    std::size_t sink = 0;
    prepared_job prepared = prepare(w.what, machine);
    layout other = w.how;
    other.replicas = 2;
    for (int i = 0; i < calls; ++i) {
        if (part != "prepared") w.what.batch = w.what.micro_batch = 1 << i % 7;  // divides each global batch
        if (part == "plan")
            sink += static_cast<std::size_t>(plan(w.what, w.how, machine)->verdict);
        else if (part == "judged")
            sink += static_cast<std::size_t>(fits(w.what, w.how, machine));
        else if (part == "prepared")
            sink += static_cast<std::size_t>(prepared.plan(i % 2 == 0 ? w.how : other)->verdict);
        else
            return false;
    }
    if (sink == 12345) std::puts("");
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const cluster machine = standard_cluster(gpus::h100_sxm5_80gb, 128).value();  // room for two replicas of each
    const std::array listed = bench_jobs();
    std::vector<work> all(listed.begin(), listed.end());
    if (argc == 2) {
        for (const work& w : all) std::puts(w.name.data());
        return 0;
    }
    if (argc == 4) {
        const auto item = static_cast<std::size_t>(std::atoi(argv[1]));
        return item < all.size() && call(all[item], argv[2], std::atoi(argv[3]), machine) ? 0 : 2;
    }
    std::printf("%-36s %10s %8s %12s %8s\n", "plan(job, layout, cluster)", "ns a call", "spread", "prepared, ns",
                "spread");
    for (const work& w : all) {
        std::vector<work> alone{w};
        const timing t = time_plans(alone, machine);
        const timing p = time_prepared(w, machine);
        std::printf("%-36s %10.0f %7.1f%% %12.0f %7.1f%%\n", w.name.data(), t.median, 100 * t.spread, p.median,
                    100 * p.spread);
    }
    const timing t = time_plans(all, machine);
    std::printf("%-36s %10.0f %7.1f%%\n", "all of them in turn", t.median, 100 * t.spread);
    return 0;
}
