// SPDX-License-Identifier: MIT
// A caller that parses the types alone: plan() is in llmres::compiled.
#include <llmres/answers/plan_call.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

int main() {
    const job chat{.model = models::llama_3_1_8b, .batch = 32, .context = tokens(8192), .runtime = runtimes::vllm};
    const cluster one{.gpu = gpus::h100_sxm5_80gb};
    const result<found_layout> best = compiled::search(chat, one);
    return compiled::fits(chat, {}, one) && best && best->plan.verdict == verdict::fits ? 0 : 1;
}
