// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <array>
#include <cstdlib>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <new>
#include <vector>

#include "mixed_jobs.hpp"

using namespace llmres;

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

const cluster four_h100 = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
const job chat{.model = models::llama_3_1_70b, .batch = 8, .context = tokens(4096)};

}  // namespace

TEST_CASE("ten thousand plans for mixed jobs allocate nothing") {
    const auto queue = mixed_jobs();
    const cluster machine = standard_cluster(gpus::h100_sxm5_80gb, 64).value();
    std::array<int, 3> verdicts{};
    const std::size_t before = allocations;
    for (int i = 0; i < 10'000; ++i) {
        const auto& [j, l] = queue[static_cast<std::size_t>(i) % queue.size()];
        const result<job_plan> p = plan(j, l, machine);
        if (p) ++verdicts[static_cast<std::size_t>(p->verdict)];
    }
    CHECK(allocations == before);
    CHECK(verdicts[0] > 1000);
    CHECK(verdicts[2] > 1000);
    CHECK(verdicts[0] + verdicts[1] + verdicts[2] == 10'000);
}

TEST_CASE("the same answer at compile time") {
    static constexpr cluster machine = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    static constexpr job work{.model = models::llama_3_1_70b, .batch = 8, .context = tokens(4096)};
    static constexpr job_plan constant = plan(work, {.tensor = 4}, machine).value();
    static_assert(constant.verdict == verdict::fits);
    static_assert(fits(work, {.tensor = 4}, machine));
    static_assert(must_fit<constant>());
    static constexpr result<job_plan> answer = plan(work, {.tensor = 4}, machine);
    static_assert(must_fit<answer>());
    static_assert(!fits(work, {.tensor = 1}, machine));
    const job_plan running = plan(work, {.tensor = 4}, machine).value();
    CHECK(running.memory.total() == constant.memory.total());
    CHECK(running.usable == constant.usable);
    CHECK(running.speed.step.total().expected.in(seconds) ==
          doctest::Approx(constant.speed.step.total().expected.in(seconds)));
}

TEST_CASE("the planner takes the fastest layout of the GPUs that are given") {
    const job_plan p = plan(chat, four_h100).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(p.layout.gpus() == 4);
    for (const layout& l : {layout{.tensor = 2}, layout{.pipeline = 2}, layout{.pipeline = 4}, layout{.tensor = 4}})
        CHECK(p.speed.tokens_per_second >= plan(chat, l, four_h100)->speed.tokens_per_second);
    const found_layout fewest = search(chat, four_h100, {.objective = objective::fewest_gpus}).value();
    CHECK(fewest.plan.layout.gpus() == 2);
    CHECK(plan(chat, {.tensor = 1}, four_h100)->verdict == verdict::does_not_fit);
}

TEST_CASE("where nothing fits, the planner's answer is the nearest layout and says so") {
    const job_plan p = plan({.model = models::deepseek_v3, .context = tokens(4096)}, four_h100).value();
    CHECK(p.verdict == verdict::does_not_fit);
    CHECK(p.layout.gpus() == 4);
    CHECK(p.reason_count > 0);
}

TEST_CASE("training takes all GPUs and is no slower than data ranks alone") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job small{.model = models::llama_3_2_1b, .task = task::pretraining, .sequence = tokens(1024)};
    const job_plan p = plan(small, eight).value();
    CHECK(p.verdict == verdict::fits);
    CHECK(p.layout.gpus() == 8);
    CHECK(p.speed.tokens_per_second >= plan(small, {.data = 8}, eight)->speed.tokens_per_second);
    const job large{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(4096)};
    const job_plan q = plan(large, eight).value();
    CHECK(q.verdict == verdict::fits);
    CHECK(q.layout.gpus() == 8);
}

TEST_CASE("a context beyond the model's own is planned where the runtime scales its rotary embedding, and said") {
    const cluster machine = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j{.model = models::qwen3_8b, .context = tokens(65536), .runtime = runtimes::vllm};
    CHECK(plan(j, {}, machine).error().field == "context");
    j.options.rope_scaling = 4;
    const job_plan extended = plan(j, {}, machine).value();
    CHECK(extended.verdict == verdict::fits);
    REQUIRE(extended.reason_count == 1);
    CHECK(extended.reasons[0].code == reason_code::context_extended);
    CHECK(max_context(j, {}, machine).value() > j.model.max_context);
    j.context = tokens(32768);
    CHECK(plan(j, {}, machine)->reason_count == 0);
}
