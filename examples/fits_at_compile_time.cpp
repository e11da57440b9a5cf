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
static constexpr auto answer = plan(chat, layout{}, one_h100);

// The message where it fails: memory_in_mib<needed, available, largest term>, or the field that is wrong.
static_assert(must_fit<answer>());
// [assert]

int main() {
    std::printf("%lld MiB of %lld MiB\n", static_cast<long long>(answer->memory.total().high.in(mib)),
                static_cast<long long>(answer->usable.in(mib)));
}
