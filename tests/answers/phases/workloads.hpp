// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/answers/phases/reinforcement.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/runtimes/huggingface.hpp>

#include <string_view>

/// The workload that tests of its phases begin with: a policy of 7B on eight GPUs.
namespace workloads {

using namespace llmres;

inline constexpr layout sharded{.data = 8, .zero = 3};

/// A policy of 7B, whose micro-batch is two answers and whose step is 64, on eight GPUs.
inline job policy_of(preference_method method = preference_method::grpo) {
    return {.model = models::qwen2_5_7b,
            .task = task::finetuning,
            .weights = fp32,
            .sequence = tokens(1024),
            .micro_batch = 2,
            .global_batch = 64,
            .preference = method,
            .recompute = recompute::full,
            .runtime = runtimes::huggingface};
}

/// The field that a workload is refused for on eight H100; empty where it is planned.
inline std::string_view refused_field(const job& policy, const rollout& r, const maybe<job>& critic = {}) {
    static text<63> field;
    const cluster gpus = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const auto made = plan_reinforcement({policy, r, critic}, sharded, gpus);
    field = made ? text<63>{} : made.error().field;
    return field.view();
}

}  // namespace workloads
