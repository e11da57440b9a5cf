// SPDX-License-Identifier: MIT
// How many layouts a second a search plans on one thread, all of them or with bounds, by the least CPU time of several
// runs, and that no layout of its space beats what it finds.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

/// Each layout of the space through plan(), one by one: the most tokens per second of those that fit.
double brute_force(const job& j, const cluster& c, const search_request& r) {
    double most = 0;
    job tried = j;
    const auto all = [&] {
        return for_each_layout(tried, r.space.layouts, c, [&](const layout& l) {
            const result<job_plan> p = plan(tried, l, c);
            if (p && p->verdict == verdict::fits) {
                const double rate = p->speed.tokens_per_second.in(tokens_per_s);
                if (rate > most) most = rate;
            }
            return false;
        });
    };
    detail::for_each_choice(r.space, j, tried, all);
    return most;
}

/// The least CPU seconds of a function, of as many runs as take a fifth of a second, and of one at least.
template <class Run>
double seconds_of(const Run& run) {
    const auto seconds = [](std::clock_t ticks) { return static_cast<double>(ticks) / CLOCKS_PER_SEC; };
    double least = 0;
    for (const std::clock_t begin = std::clock(); least == 0 || seconds(std::clock() - begin) < 0.2;) {
        const std::clock_t start = std::clock();
        run();
        const double spent = seconds(std::clock() - start);
        if (least == 0 || spent < least) least = spent;
    }
    return least;
}

void measure(const char* name, const job& j, const cluster& c, const search_request& r) {
    std::array<found_layout, 10> best;
    result<search_counts> counts = search_counts{};
    const double spent = seconds_of([&] { counts = search(j, c, r, best); });
    if (!counts || counts->best == 0) std::exit(1);
    result<found_layout> alone = found_layout{};
    const double bounded = seconds_of([&] { alone = search(j, c, r); });  // skips what bounds say is worse
    const double found = best[0].plan.speed.tokens_per_second.in(tokens_per_s);
    const bool proved = brute_force(j, c, r) <= found * (1 + 1e-6) && alone &&
                        alone->plan.layout == best[0].plan.layout && alone->score == best[0].score;
    const auto tried = static_cast<double>(counts->tried);
    std::printf("%-40s %9lld %9lld %8.3f s %10.0f %10.0f %12.0f  %s\n", name, static_cast<long long>(counts->tried),
                static_cast<long long>(counts->kept), spent, tried / spent, tried / bounded, found,
                proved ? "proved" : "BEATEN");
    if (!proved) std::exit(1);
}

}  // namespace

int main() {
    std::printf("%-40s %9s %9s %10s %10s %10s %12s\n", "search(job, cluster)", "layouts", "fit", "time", "a second",
                "bounded", "tokens/s");
    job served{
        .model = models::llama_3_1_70b, .prompt = tokens(1024), .output = tokens(256), .runtime = runtimes::vllm};
    search_request formats{.space = {.max_batch = 512}};
    formats.space.weights = formats.space.kv_cache = {.list = {bf16, fp8_e4m3}, .count = 2};
    measure("serving 70B, 8 x H100, batch and formats", served, standard_cluster(gpus::h100_sxm5_80gb, 8).value(),
            formats);
    served.model = models::deepseek_v3;
    measure("serving 671B, 16 x H200, batch", served, standard_cluster(gpus::h200_sxm5_141gb, 16).value(),
            {.space = {.max_batch = 512}});

    job trained{.model = models::gpt3_175b,
                .task = task::pretraining,
                .sequence = tokens(2048),
                .global_batch = 1024,
                .runtime = runtimes::megatron};
    const cluster many = standard_cluster(gpus::a100_sxm4_80gb, 1024).value();
    const search_request on_gpus{.space = {.micro_batch = true, .recompute = true}};
    measure("training GPT-3, 1,024 x A100", trained, many, on_gpus);
    measure("the same, offloaded or not", trained, many,
            {.space = {.micro_batch = true, .recompute = true, .offload = true}});
    trained.global_batch = 48;
    measure("training GPT-3, 48 x A100", trained, standard_cluster(gpus::a100_sxm4_80gb, 48).value(), on_gpus);
    trained.model = models::mixtral_8x7b;
    trained.global_batch = 256;
    measure("training 8x7B, 64 x A100", trained, standard_cluster(gpus::a100_sxm4_80gb, 64).value(), on_gpus);
}
