// SPDX-License-Identifier: MIT
// How long a plan of a policy that learns from rollouts takes, beside the plan of the policy alone, and a search on 64
// GPUs: nanoseconds a call, the median of batches.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <llmres/answers/phases/reinforcement_search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <string_view>
#include <vector>

using namespace llmres;

namespace {

struct asked_workload {
    std::string_view name;
    reinforcement_job asked;
    llmres::layout layout;
    llmres::cluster cluster;
};

cluster h100s(std::int32_t gpus) {
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, gpus).value();
    c.host.memory = gib(2048);
    return c;
}

rollout by_vllm(const model& m) {
    job engine{.model = m, .prompt = tokens(512), .output = tokens(512), .runtime = runtimes::vllm};
    engine.runtime.cache.fraction = 0.4;
    return {.engine = engine, .sleep = engine_sleep::level_2};
}

job learner(const model& m, preference_method method) {
    return {.model = m,
            .task = task::finetuning,
            .sequence = tokens(1024),
            .micro_batch = 2,
            .global_batch = 64,
            .preference = method,
            .recompute = recompute::full,
            .runtime = runtimes::huggingface};
}

/// A policy of 7B in fp32 on eight GPUs, as verl trains it.
asked_workload grpo(std::int32_t gpus) {
    job policy = learner(models::qwen2_5_7b, preference_method::grpo);
    policy.weights = fp32;
    policy.global_batch = 8 * gpus;
    return {"grpo of a 7B", {policy, by_vllm(models::qwen2_5_7b)}, {.data = gpus, .zero = 3}, h100s(gpus)};
}

/// A policy with an adapter on one card.
asked_workload adapted() {
    job policy = learner(models::qwen2_5_1_5b, preference_method::grpo);
    policy.adapter = {.kind = adapter_kind::lora, .rank = 16};
    return {"grpo of a 1.5B with LoRA", {policy, by_vllm(models::qwen2_5_1_5b)}, {}, {.gpu = gpus::rtx_4090}};
}

/// A policy with a critic and a reward model.
asked_workload ppo() {
    job policy = learner(models::llama_3_1_8b, preference_method::ppo);
    policy.runtime = runtimes::deepspeed;
    job critic = policy;
    critic.model = classifier(policy.model, 1);
    critic.preference = preference_method::none;
    const job scores{.model = critic.model, .prompt = tokens(1024), .runtime = runtimes::transformers};
    return {"ppo of an 8B with a reward model",
            {policy, by_vllm(policy.model), critic, reward_model{.scores = scores, .at_once = 2}},
            {.data = 8, .zero = 3},
            h100s(8)};
}

/// The median of batches of calls, in nanoseconds a call.
template <class Call>
double nanoseconds(const Call& call, int calls) {
    constexpr std::size_t batches = 51;
    std::vector<double> ns;
    std::size_t sink = 0;
    for (std::size_t b = 0; b < batches; ++b) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) sink += call(i);
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        ns.push_back(spent.count() / calls);
    }
    std::sort(ns.begin(), ns.end());
    if (sink == 12345) std::puts("");  // the answers are used
    return ns[batches / 2];
}

}  // namespace

int main() {
    std::printf("%-36s %10s %14s %8s\n", "plan_reinforcement(...)", "ns a call", "policy alone", "times");
    for (const asked_workload& one : {grpo(8), adapted(), ppo()}) {
        reinforcement_job workload = one.asked;
        workload.rollout = with_engines(workload.rollout, one.cluster);
        const double whole = nanoseconds(
            [&](int i) {
                workload.rollout.answers = workload.policy.global_batch * (1 + i % 4);
                return static_cast<std::size_t>(plan_reinforcement(workload, one.layout, one.cluster)->verdict());
            },
            100);
        job policy = one.asked.policy;
        const double alone = nanoseconds(
            [&](int i) {
                policy.sequence = tokens(512 + i % 4);
                return static_cast<std::size_t>(plan(policy, one.layout, one.cluster)->verdict);
            },
            100);
        std::printf("%-36s %10.0f %14.0f %8.1f\n", one.name.data(), whole, alone, whole / alone);
    }
    const asked_workload large = grpo(64);
    std::vector<found_layout> fastest(32);
    const double search_of_all = nanoseconds(
        [&](int) {
            const std::size_t count = search(large.asked.policy, large.cluster, {}, fastest).value().best;
            std::vector<layout> layouts;
            for (std::size_t i = 0; i < count; ++i) layouts.push_back(fastest[i].plan.layout);
            constexpr std::array<std::int32_t, 4> tensors{1, 2, 4, 8};
            constexpr std::array<double, 9> fractions{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
            std::array<found_reinforcement, 10> best;
            return search_reinforcement(large.asked, large.cluster, {layouts, tensors, fractions}, best).value();
        },
        1);
    std::printf("%-36s %10.2f ms\n", "search of engines and layouts, 64 GPUs", search_of_all / 1e6);
    return 0;
}
