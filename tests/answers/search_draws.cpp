// SPDX-License-Identifier: MIT
// No layout that is drawn from a search's space beats what the search finds: random jobs of each family of models, and
// random layouts of each job. LLMRES_RANDOM_LAYOUTS=100000 build/gcc/tests/tests_of_answers
// --source-file=*search_draws.cpp draws as many layouts a family; the suite draws a thousand.
#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/tensorrt_llm.hpp>
#include <llmres/runtimes/torchtitan.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <random>

#include "../sanitized.hpp"
#include "plain_space.hpp"

using namespace llmres;
using plain_space::planned;

namespace {

constexpr std::int64_t layouts_of_a_job = 100;

class random_source {
public:
    explicit random_source(std::uint64_t seed) : engine_{seed} {}
    std::int32_t one_of(std::int64_t n) { return static_cast<std::int32_t>(engine_() % static_cast<std::uint64_t>(n)); }
    /// One to n: mostly a power of two.
    std::int32_t degree(std::int64_t n) {
        if (n <= 1) return 1;
        if (one_of(4) == 0) return 1 + one_of(n);
        std::int32_t most = 0;
        while ((std::int64_t{2} << most) <= n) ++most;
        return 1 << one_of(most + 1);
    }

private:
    std::mt19937_64 engine_;
};

job serving_of(const model& m, random_source& random) {
    job j{.model = m};
    j.batch = std::int64_t{1} << random.one_of(8);
    j.prompt = tokens(64 << random.one_of(5));
    if (random.one_of(3) > 0) j.output = tokens(32 << random.one_of(4));
    const std::array runtimes{&runtimes::vllm, &runtimes::sglang, &runtimes::tensorrt_llm};
    j.runtime = *runtimes[static_cast<std::size_t>(random.one_of(runtimes.size()))];
    return j;
}

job training_of(const model& m, random_source& random) {
    job j{.model = m, .task = task::pretraining};
    j.sequence = tokens(256 << random.one_of(5));
    j.micro_batch = std::int64_t{1} << random.one_of(2);
    j.global_batch = (random.one_of(3) == 0 ? 48 : 32) << random.one_of(4);
    j.recompute = static_cast<recompute>(random.one_of(names_of<recompute>.size()));
    const std::array runtimes{&runtimes::megatron, &runtimes::pytorch, &runtimes::deepspeed, &runtimes::torchtitan};
    j.runtime = *runtimes[static_cast<std::size_t>(random.one_of(runtimes.size()))];
    if (random.one_of(4) == 0) j.offload.optimizer = offload_place::host;
    return j;
}

/// A layout that may be one of the space.
layout random_layout(const job& j, const cluster& c, random_source& random) {
    const std::int32_t layers = j.model.layers.size;
    layout l{.tensor = random.degree(c.node_size())};
    l.pipeline = random.one_of(2) == 0 ? 1 : random.degree(std::min(layers, c.gpus / l.tensor));
    if (trains(j)) {
        if (l.pipeline > 1 && random.one_of(2) == 0) l.virtual_pipeline = random.degree(layers / l.pipeline);
        if (random.one_of(3) == 0) l.context_parallel = random.degree(c.gpus / (l.tensor * l.pipeline));
        l.sequence_parallel = l.tensor > 1 && j.runtime.layouts.sequence_parallel;
        if (l.pipeline > 1 && layers % l.chunks() != 0) {
            if ((layers + 2) % l.chunks() == 0)
                l.embedding_as_layer = l.loss_as_layer = true;
            else
                l.last_stage_layers = layers - (layers + l.pipeline - 1) / l.pipeline * (l.pipeline - 1);
        }
        l.zero = random.one_of(4);
    }
    const std::int64_t room = c.gpus / (l.tensor * l.pipeline * l.context_parallel);
    if (room > 0) l.data = random.one_of(2) == 0 ? static_cast<std::int32_t>(room) : random.degree(room);
    const std::int64_t experts = detail::most_experts(j.model);
    if (experts > 1 && random.one_of(3) > 0) {
        const std::int64_t ranks = std::int64_t{l.data} * l.context_parallel * l.tensor;
        l.expert = trains(j) ? random.degree(std::min(experts, ranks)) : static_cast<std::int32_t>(ranks);
        if (l.expert > 1) l.expert_tensor = trains(j) && random.one_of(2) == 0 ? l.tensor : 1;
    }
    return l;
}

/// A choice of what a search of this space may choose.
job random_choice(job j, const search_space& space, random_source& random) {
    if (space.max_batch > 0) j.batch = std::int64_t{1} << random.one_of(8);
    if (space.recompute) j.recompute = static_cast<recompute>(random.one_of(names_of<recompute>.size()));
    if (space.micro_batch) do
            j.micro_batch = random.degree(16);
        while (j.global_batch % j.micro_batch != 0);
    return j;
}

struct drawn {
    std::int64_t layouts = 0, fit = 0, jobs = 0;
};

/// Draws layouts of one job.
void draw(const job& j, const cluster& c, const search_space& space, random_source& random, drawn& all) {
    const result<found_layout> best = search(j, c, {.space = space});
    if (!best) return;
    ++all.jobs;
    const bool fits = best->plan.verdict == verdict::fits;
    const planned found = plain_space::of(with_choice(j, best->choice), best->plan);
    std::int64_t left = layouts_of_a_job;
    for (int attempt = 0; attempt < 2'000 && left > 0; ++attempt) {
        const job tried = random_choice(j, space, random);
        const layout l = random_layout(tried, c, random);
        if (!plain_space::is_searched(tried, l, c)) continue;
        const result<job_plan> p = plan(tried, l, c);
        --left;
        ++all.layouts;
        if (!p || p->verdict != verdict::fits) continue;
        ++all.fit;
        CAPTURE(j.model.name.view());
        CAPTURE(j.runtime.identity.name.view());
        CAPTURE(c.gpus);
        CAPTURE(l.tensor);
        CAPTURE(l.pipeline);
        CAPTURE(l.data);
        CHECK(fits);
        CHECK_FALSE(plain_space::before(plain_space::of(tried, *p), found));
    }
}

template <class Family>
void draw_family(const char* name, const Family& family) {
    const char* asked = std::getenv("LLMRES_RANDOM_LAYOUTS");
    const std::int64_t wanted = asked != nullptr ? std::atoll(asked) : sanitized ? 100 : 1'000;
    random_source random{17};
    drawn all;
    for (std::int64_t jobs = 0; all.layouts < wanted && jobs < wanted; ++jobs) {
        const model& m = *family[static_cast<std::size_t>(random.one_of(static_cast<std::int64_t>(family.size())))];
        const bool trained = random.one_of(2) == 0;
        const job j = trained ? training_of(m, random) : serving_of(m, random);
        const cluster c = standard_cluster(random.one_of(2) == 0 ? gpus::h200_sxm5_141gb : gpus::a100_sxm4_80gb,
                                           1 << random.one_of(asked != nullptr ? 7 : 5))
                              .value();
        search_space space;
        space.micro_batch = space.recompute = trained && random.one_of(4) == 0;
        if (!trained && random.one_of(4) == 0) space.max_batch = 128;
        if (validate(j)) draw(j, c, space, random, all);
    }
    CHECK(all.layouts >= wanted);
    const auto n = [](std::int64_t count) { return static_cast<long long>(count); };
    if (asked != nullptr)
        std::printf("%-10s %lld layouts of %lld jobs drawn, %lld of them fit\n", name, n(all.layouts), n(all.jobs),
                    n(all.fit));
}

}  // namespace

TEST_CASE("no layout drawn from its space beats a search: each family of models") {
    draw_family("llama", models::all_llama);
    draw_family("qwen", models::all_qwen);
    draw_family("deepseek", models::all_deepseek);
    draw_family("mistral", models::all_mistral);
    draw_family("gemma", models::all_gemma);
    draw_family("phi", models::all_phi);
    draw_family("gpt", models::all_gpt);
    draw_family("glm", models::all_glm);
    draw_family("nvidia", models::all_nvidia);
    draw_family("others", models::all_others);
    draw_family("encoders", models::all_encoders);
}
