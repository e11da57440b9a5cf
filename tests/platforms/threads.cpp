// SPDX-License-Identifier: MIT
// Four threads search layouts of the same jobs at once and must find what one thread finds. tests/platforms/run builds
// it with the thread sanitizer: planning has no state that threads share.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <thread>
#include <vector>

using namespace llmres;

namespace {

/// What a search found, as far as threads could disturb it: the layout, the memory and the speed.
struct answer {
    layout found{};
    std::int64_t needed = 0;
    double speed = 0;
    friend bool operator==(const answer&, const answer&) = default;
};

answer searched(const job& j, const cluster& c) {
    const auto p = plan(j, c);
    if (!p) return {};
    return {p->layout, p->memory.total().high.base(), p->speed.tokens_per_second.base()};
}

}  // namespace

int main() {
    static constexpr job training{.model = models::llama_3_1_8b,
                                  .task = task::pretraining,
                                  .sequence = tokens(4096),
                                  .global_batch = 64,
                                  .runtime = runtimes::megatron};
    static constexpr job serving{.model = models::deepseek_v3, .batch = 16, .runtime = runtimes::vllm};
    const cluster machine = standard_cluster(gpus::h200_sxm5_141gb, 16).value();
    const std::array jobs{&training, &serving};
    std::array<answer, jobs.size()> alone;
    for (std::size_t i = 0; i < jobs.size(); ++i) alone[i] = searched(*jobs[i], machine);

    constexpr std::size_t threads = 4;
    std::array<std::array<answer, jobs.size()>, threads> together;
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            for (std::size_t i = 0; i < jobs.size(); ++i)
                together[t][i] = searched(*jobs[(i + t) % jobs.size()], machine);
        });
    for (std::thread& t : running) t.join();

    int failures = 0;
    for (std::size_t t = 0; t < threads; ++t)
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (together[t][i] != alone[(i + t) % jobs.size()]) ++failures;
    for (const answer& a : alone)
        if (a.needed == 0) ++failures;
    std::printf("%zu threads searched %zu jobs: %d answers differ\n", threads, jobs.size(), failures);
    return failures == 0 ? 0 : 1;
}
