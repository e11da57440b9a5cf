// SPDX-License-Identifier: MIT
// A job is checked while the program is compiled, for the largest presets too, within the limits that compilers set on
// constant expressions by default (Clang 19: 1,048,576 steps; GCC 12: 33,554,432 operations). Only compiled.
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

constexpr cluster one_h100 = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
constexpr cluster nodes_of_h100 = standard_cluster(gpus::h100_sxm5_80gb, 4096).value();
constexpr cluster nodes_of_h200 = standard_cluster(gpus::h200_sxm5_141gb, 64).value();

// Serving: the examples' models, and DeepSeek-V3 in eight pipeline stages.
constexpr job chat{.model = models::llama_3_1_8b, .batch = 32, .context = tokens(8192), .runtime = runtimes::vllm};
static_assert(fits(chat, {}, one_h100));
constexpr job on_a_laptop{
    .model = models::llama_3_1_8b, .gguf = gguf_mix{}, .context = tokens(8192), .runtime = runtimes::llama_cpp};
static_assert(fits(on_a_laptop, {}, one_h100));
constexpr job larger_chat{.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm};
static_assert(fits(larger_chat, {.tensor = 4}, nodes_of_h100));
static_assert(!fits(larger_chat, {}, one_h100));
constexpr job largest_chat{.model = models::deepseek_v3, .context = tokens(4096), .runtime = runtimes::vllm};
static_assert(fits(largest_chat, {.tensor = 8, .pipeline = 8}, nodes_of_h200));
constexpr job largest_chat_of_a_file{
    .model = models::deepseek_v3, .gguf = gguf_mix{}, .context = tokens(4096), .runtime = runtimes::llama_cpp};
static_assert(fits(largest_chat_of_a_file, {.pipeline = 8}, nodes_of_h100));

// Training: the largest dense model on 4096 GPUs, and a mixture of experts.
constexpr job largest_training{.model = models::llama_3_1_405b,
                               .task = task::pretraining,
                               .sequence = tokens(8192),
                               .runtime = runtimes::megatron};
static_assert(fits(largest_training, {.tensor = 8, .pipeline = 16, .data = 32, .zero = 1}, nodes_of_h100));
static_assert(!fits(largest_training, {.tensor = 8, .data = 4}, nodes_of_h100));
constexpr job experts_training{
    .model = models::deepseek_v3, .task = task::pretraining, .sequence = tokens(4096), .runtime = runtimes::megatron};
static_assert(fits(experts_training, {.tensor = 8, .pipeline = 16, .data = 32, .expert = 32, .zero = 1},
                   nodes_of_h100));
constexpr job sharded_training{
    .model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(8192), .runtime = runtimes::pytorch};
static_assert(fits(sharded_training, {.data = 64, .zero = 3}, nodes_of_h200));

// The whole plan with its times, and the layout that the planner chooses.
constexpr result<job_plan> planned =
    plan(largest_training, {.tensor = 8, .pipeline = 16, .data = 32, .zero = 1}, nodes_of_h100);
static_assert(planned && planned->speed.step.total().expected > duration{});
constexpr result<job_plan> chosen = plan(larger_chat, standard_cluster(gpus::h100_sxm5_80gb, 8).value());
static_assert(chosen && chosen->layout.tensor * chosen->layout.pipeline > 1);

}  // namespace
