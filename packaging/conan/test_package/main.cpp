// SPDX-License-Identifier: MIT
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/vllm.hpp>
#ifdef LLMRES_TEST_IO
#include <llmres/io/hf_config.hpp>
#endif

#include <cstdio>

using namespace llmres;

int main() {
    model planned = models::llama_3_1_8b;
#ifdef LLMRES_TEST_IO
    const result<model> read = read_hf_config(R"({"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})");
    if (!read || read->hidden != planned.hidden) return 1;
    planned = *read;
    std::puts("read a config.json");
#endif
    const job chat{.model = planned, .batch = 32, .context = tokens(8192), .runtime = runtimes::vllm};
    const result<job_plan> answer = plan(chat, {}, {.gpu = gpus::h100_sxm5_80gb});
    const bool holds = answer && answer->verdict == verdict::fits;
    std::puts(holds ? "8B parameters on an H100: fits" : "8B parameters on an H100: does not fit");
    return holds ? 0 : 1;
}
