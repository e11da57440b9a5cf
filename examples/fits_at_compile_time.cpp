// SPDX-License-Identifier: MIT
// A build that fails when the model no longer fits its GPU.
#include <cstdio>
// [assert]
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

constexpr cluster one_h100{.gpu = gpus::h100_sxm5_80gb};
constexpr job chat{.model = models::llama_3_1_8b, .batch = 32, .context = tokens(8192), .runtime = runtimes::vllm};
static constexpr job_plan answer = plan(chat, layout{}, one_h100).value();

static_assert(must_fit<answer>());  // where it fails, the message holds both numbers: memory_in_mib<needed, available>
// [assert]

int main() {
    std::printf("%lld MiB of %lld MiB\n", static_cast<long long>(answer.memory.total().high.in(mib)),
                static_cast<long long>(answer.usable.in(mib)));
}
