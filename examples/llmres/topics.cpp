// SPDX-License-Identifier: MIT
// llmres help TOPIC: what people come for, each with three commands that run as they stand.
#include "topics.hpp"

#include "spelling.hpp"

#include <fmt/format.h>
#include <array>
#include <string_view>

namespace program {
namespace {

struct topic {
    std::string_view name;
    std::string_view text;
    std::array<std::string_view, 3> examples;
};

constexpr std::array topics{
    topic{"serving",
          "How many sequences of which length a server holds, and how fast it answers. --batch is the number of\n"
          "sequences in flight, --context the tokens that each may reach; --runtime names the engine, with or without\n"
          "a version, whose memory and kernels are counted.",
          {"llmres plan llama-3.1-8b --gpu rtx-4090 --context 8192 --batch 4 --runtime vllm",
           "llmres plan llama-3.1-70b --gpu h100-sxm5-80gb --gpus 4 --context 32k --runtime sglang --kv_cache fp8_e4m3",
           "llmres plan qwen3-8b --gpu l4 --context 4096 --prompt 3k --output 1k --lengths_mean 900 --runtime vllm"}},
    topic{"training",
          "Whether a step fits and how long it takes. --task is pretraining or finetuning, or dpo, ipo,\n"
          "kto, orpo, simpo, cpo and reward where preferred answers are learned, gkd where a --teacher is,\n"
          "grpo, rloo, reinforce and ppo where answers of its own are (--rollout_...); --sequence, --micro_batch (of "
          "pairs there) and --global_batch say what a step computes, --zero, --tensor "
          "and --pipeline how it is split.",
          {"llmres plan llama-3.1-8b --task pretraining --gpu h100-sxm5-80gb --gpus 8 --sequence 4096 --zero 3",
           "llmres plan qwen3-8b --task finetuning --gpu a100-sxm4-80gb --sequence 2048 --runtime huggingface "
           "--recompute full",
           "llmres search qwen3-8b --task dpo --gpu h100-sxm5-80gb --gpus 8 --sequence 1024 --runtime trl"}},
    topic{
        "adapters",
        "Finetuning a few weights beside a frozen model. --adapter_kind is lora, dora, ia3 and others, --adapter_rank\n"
        "its rank, --adapter_targets the weights that it is attached to; weights in nf4 make it QLoRA.",
        {"llmres plan llama-3.1-8b --task finetuning --adapter_kind lora --adapter_rank 16 --gpu rtx-4090 --sequence "
         "2048",
         "llmres plan llama-3.1-8b --task qlora --gpu rtx-3060-12gb --sequence 1024 --runtime huggingface --recompute "
         "full",
         "llmres plan mistral-7b-v0.3 --lora-r 8 --lora-target-modules q_proj,v_proj --task sft --gpu l4 "
         "--max-seq-length "
         "1k"}},
    topic{
        "gguf",
        "llama.cpp, Ollama and what else reads GGUF files. --weights names a mix such as q4_k_m, or the model is the\n"
        "file itself; --gpu_layers layers lie on GPUs, the others in --host_memory.",
        {"llmres plan llama-3.1-8b --weights q4_k_m --gpu rtx-3060-12gb --runtime llama.cpp --context 8k",
         "llmres plan llama-3.1-70b --weights q4_k_m --gpu rtx-3090 -ngl 40 -c 4k --runtime llama.cpp --host_memory "
         "64GB",
         "llmres plan qwen3-30b-a3b --weights q4_k_m --gpu rtx-3060-12gb --experts_on_host --runtime llama.cpp -c 8k "
         "--ram 32GiB"}},
    topic{"choosing",
          "Which layout is best, which GPUs are enough. search tries every layout of the GPUs that are given; compare\n"
          "plans many models, GPUs and engines beside each other.",
          {"llmres search llama-3.1-70b --gpu h100-sxm5-80gb --gpus 8 --context 8192 --runtime vllm --objective "
           "fewest_gpus",
           "llmres search llama-3.1-8b --gpu l4 --gpus 4 --context 4096 --runtime vllm --max_batch 64 --top 3",
           "llmres compare llama-3.1-8b,qwen3-8b --gpu l4,rtx-4090 --runtime vllm --context 4096"}},
    topic{"json",
          "Every command answers with one JSON document under --json, whose `schema` names what describes it; a job is "
          "a\n"
          "JSON document, too, which `llmres schema` describes. A flag goes over what the document says.",
          {"llmres plan llama-3.1-8b --gpu l4 --context 2048 --json", "llmres gpus rtx-4090 --json", "llmres schema"}},
    topic{"units",
          "Tokens are counted in k (1024) and m: 4k, 128k. Sizes take B, kB, MB, GB, TB and KiB, MiB, GiB, TiB; a bare "
          "G could\n"
          "mean two things and is refused. Rates take GB/s, TB/s, TFLOPS or T, parts of one %. Formats, GPUs and "
          "models are\n"
          "known by the names that people use for them.",
          {"llmres plan llama-3.1-8b --gpu \"RTX 4090\" --context 8k --gpu_memory_utilization 90% --runtime vllm",
           "llmres plan llama-3.1-8b --gpu l4 --context 2k --weights int8 --in_use 500MB",
           "llmres plan llama-3.1-8b --gpu_memory 48GiB --gpu_bandwidth 864GB/s --gpu_flops 181T --context 4k"}},
    topic{
        "spelling",
        "Options of vLLM, SGLang, TensorRT-LLM, llama.cpp, Ollama, transformers, DeepSpeed, Megatron-LM and others are "
        "known\n"
        "and stand for those of this program, as listed below; - and _ are the same.",
        {"llmres plan llama-3.1-8b --gpu l4 --max-model-len 4k --kv-cache-dtype fp8 --runtime vllm",
         "llmres plan llama-3.1-8b --gpu a100-sxm4-80gb --num-gpus 2 --tp 2 --max-model-len 8k --engine vllm",
         "llmres plan llama-3.1-8b --gpu rtx-4090 --task sft --qlora --cutoff-len 1k --per-device-train-batch-size 2"}},
};

void print(const topic& t) {
    fmt::print("{}\n\n", t.text);
    for (const std::string_view example : t.examples) fmt::print("  {}\n", example);
}

}  // namespace

std::string topic_names() {
    std::string names;
    for (const topic& t : topics) names.append(names.empty() ? "" : ", ").append(t.name);
    return names;
}

bool print_topic(const std::string& name) {
    for (const topic& t : topics) {
        if (t.name != name) continue;
        print(t);
        if (t.name != "spelling") return true;
        fmt::print("\n");
        for (const auto& [typed, means] : all_option_aliases()) fmt::print("  {:<32} {}\n", typed, means);
        return true;
    }
    return false;
}

}  // namespace program
