// SPDX-License-Identifier: MIT
// How long the big space takes: GPT-3 175B on 1,024 A100 at a global batch of 3,072, every layout that Megatron runs
// there by the micro-batch's sequences, twelve ways to recompute, two schedules, and parameters, optimizer and
// activations on the GPU or the host. Once with all GPUs in use, once with any number of them. Prints how many layouts
// there are and fit, the best, and the time of one thread and of two, planning every layout and skipping by bounds: of
// the best alone, of the best ten, and of the front against the number of GPUs. All must find the same. Beside it, on
// 48 GPUs, the layout that Calculon publishes for the same question.
#define LLMRES_COMPILE_HERE
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <llmres/answers/plan_call.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <span>
#include <string>
#include <vector>

using namespace llmres;

namespace {

struct answer {
    std::vector<found_layout> best{};
    std::vector<found_layout> front{};
    search_counts counts{};
    double seconds = 0;  ///< on the clock
    double cpu = 0;      ///< of all threads
};

/// What is asked of a space beside it: how many of the best, room for how much of a front, and how.
struct question {
    const char* name;
    std::size_t best = 0;
    std::size_t front = 0;
    bool skips = true;
};

answer searched(const job& j, const cluster& c, search_request r, const question& q, std::int32_t threads) {
    r.skip_slower = q.skips;
    answer a{.best = std::vector<found_layout>(q.best), .front = std::vector<found_layout>(q.front)};
    const std::clock_t cpu = std::clock();
    const auto start = std::chrono::steady_clock::now();
    a.counts = compiled::search(j, c, r, a.best, a.front, objective::fewest_gpus, threads).value();
    a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    a.cpu = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    a.best.resize(a.counts.best);
    a.front.resize(a.counts.front);
    return a;
}

bool same(std::span<const found_layout> a, std::span<const found_layout> b) {
    return std::ranges::equal(a, b, [](const found_layout& one, const found_layout& other) {
        return one.plan.layout == other.plan.layout && one.choice == other.choice && one.score == other.score;
    });
}

void print(const char* what, const job_plan& p) {
    const layout& l = p.layout;
    std::printf("  %s: tensor %d, pipeline %d, interleave %d, data %d, context %d, zero %d: %.3f s, %.2f GiB\n", what,
                l.tensor, l.pipeline, l.virtual_pipeline, l.data, l.context_parallel, l.zero,
                p.speed.step.total().expected.in(seconds), p.memory.total().expected.in(gib));
    for (const memory_term t :
         {memory_term::weights, memory_term::gradients, memory_term::optimizer, memory_term::activations})
        std::printf("    %s %.2f GiB\n", std::string{name_of(t)}.c_str(), p.memory[t].expected.in(gib));
}

/// Searches a space in each way, and returns whether all of them find the same.
bool measure(const job& j, std::int32_t gpus, std::int32_t least_gpus) {
    const cluster c = [&] {
        cluster made = standard_cluster(gpus::a100_sxm4_80gb, gpus).value();
        made.host = {.memory = tib(2), .bandwidth = gb_per_s(300), .cores = 128, .link = made.host.link};
        return made;
    }();
    const search_request r{.space = {.layouts = {.least_gpus = least_gpus},
                                     .micro_batch = true,
                                     .recompute_parts = true,
                                     .offload = true,
                                     .offload_parameters = true,
                                     .schedule = true}};
    const answer all = searched(j, c, r, {"all planned", 10, 64, false}, 1);
    const auto count = [](std::int64_t n) { return static_cast<long long>(n); };
    std::printf("%d to %d GPUs, global batch %lld: %lld layouts, of these %lld valid, %lld fit; %zu on the front\n",
                least_gpus, gpus, count(j.global_batch), count(all.counts.tried),
                count(all.counts.tried - all.counts.refused), count(all.counts.kept), all.front.size());
    std::printf("  all planned on 1 thread: %.2f s, %.2f s of CPU\n", all.seconds, all.cpu);
    bool agree = true;
    for (const question& q : {question{"the best", 1, 0}, question{"the best ten", 10, 0}, question{"the front", 0, 64},
                              question{"all planned", 10, 64, false}})
        for (const std::int32_t threads : {1, 2}) {
            if (threads == 1 && !q.skips) continue;
            const answer a = searched(j, c, r, q, threads);
            std::printf("  %s on %d thread%s: %.2f s, %.2f s of CPU, %lld skipped\n", q.name, threads,
                        threads > 1 ? "s" : "", a.seconds, a.cpu, count(a.counts.skipped));
            agree = agree && same(a.best, std::span{all.best}.first(a.best.size())) && a.best.size() == q.best &&
                    (q.front == 0 || same(a.front, all.front));
        }
    print("best", all.best[0].plan);
    std::printf("  all answers are %s\n", agree ? "the same" : "NOT the same");
    return agree;
}

}  // namespace

int main() {
    job gpt3{.model = models::gpt3_175b,
             .task = task::pretraining,
             .sequence = tokens(2048),
             .global_batch = 48,
             .runtime = runtimes::megatron};
    bool agree = measure(gpt3, 48, 1);
    job published = gpt3;
    published.recompute = recompute::selective;
    const cluster few = standard_cluster(gpus::a100_sxm4_80gb, 48).value();
    const layout given{
        .tensor = 4, .sequence_parallel = true, .pipeline = 6, .virtual_pipeline = 8, .data = 2, .zero = 1};
    print("published as 11.451 s and 79.52 GiB", plan(published, given, few).value());
    gpt3.global_batch = 3072;
    agree = measure(gpt3, 1024, 1024) && agree;
    agree = measure(gpt3, 1024, 1) && agree;
    return agree ? 0 : 1;
}
