// SPDX-License-Identifier: MIT
// Layouts that people who ran these models publish, beside what a search finds on the same GPUs: each is among the
// first ten, and within a tenth of the best. docs/decisions/0009-every-layout.md names those that are not, and why.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

namespace {

struct published {
    const char* source;
    job what;
    const gpu* card;
    std::int32_t gpus;
    layout how;
};

job serving(const model& m, std::int64_t batch, const runtime& by) {
    return {.model = m, .batch = batch, .prompt = tokens(1024), .output = tokens(256), .runtime = by};
}
job training(const model& m, std::int64_t global_batch) {
    return {.model = m,
            .task = task::pretraining,
            .sequence = tokens(8192),
            .global_batch = global_batch,
            .runtime = runtimes::megatron};
}
job in_fp8(job j) {
    j.weights = fp8_e4m3;
    return j;
}

/// Whether two layouts cut a model alike; how the optimizer's states are sharded is left to the runtime.
bool cuts_alike(const layout& a, const layout& b) {
    return a.tensor == b.tensor && a.pipeline == b.pipeline && a.virtual_pipeline == b.virtual_pipeline &&
           a.data == b.data && a.context_parallel == b.context_parallel && a.expert == b.expert;
}

}  // namespace

TEST_CASE("published layouts are among the first ten, within a tenth of the best") {
    const gpu& h100 = gpus::h100_sxm5_80gb;
    const std::array rows{
        published{"Megatron-Bridge's performance recipe of Llama 3 70B on 64 H100 (perf_recipes.llama.h100.llama3)",
                  training(models::llama_3_70b, 256),
                  &h100,
                  64,
                  {.tensor = 4, .pipeline = 4, .virtual_pipeline = 5, .data = 2, .context_parallel = 2}},
        published{"Megatron-Bridge's performance recipe of Llama 3 8B on 8 H100",
                  training(models::llama_3_8b, 128),
                  &h100,
                  8,
                  {.data = 4, .context_parallel = 2}},
        published{"docs.sglang.io, DeepSeek-V3 on 8 H200, --tp 8",
                  serving(models::deepseek_v3, 64, runtimes::sglang),
                  &gpus::h200_sxm5_141gb,
                  8,
                  {.tensor = 8}},
        published{"the same, --enable-dp-attention",
                  serving(models::deepseek_v3, 64, runtimes::sglang),
                  &gpus::h200_sxm5_141gb,
                  8,
                  {.data = 8, .expert = 8}},
        published{"blog.vllm.ai of 2024-07-23: Llama 3.1 405B in FP8 on 8 H100",
                  in_fp8(serving(models::llama_3_1_405b, 16, runtimes::vllm)),
                  &h100,
                  8,
                  {.tensor = 8}},
        published{"the same: in bf16 on several nodes, by stages",
                  serving(models::llama_3_1_405b, 16, runtimes::vllm),
                  &h100,
                  16,
                  {.tensor = 8, .pipeline = 2}},
        published{"vLLM's documentation, --tensor-parallel-size 4",
                  serving(models::llama_3_1_70b, 16, runtimes::vllm),
                  &h100,
                  4,
                  {.tensor = 4}},
        published{"guides to Mixtral under vLLM on two GPUs, --tensor-parallel-size 2",
                  serving(models::mixtral_8x7b, 16, runtimes::vllm),
                  &gpus::a100_sxm4_80gb,
                  2,
                  {.tensor = 2}},
    };
    for (const published& row : rows) {
        CAPTURE(row.source);
        std::array<found_layout, 10> best;
        const search_counts counts = search(row.what, standard_cluster(*row.card, row.gpus).value(), {}, best).value();
        bool found = false;
        for (std::size_t i = 0; i < counts.best && !found; ++i) {
            if (!cuts_alike(best[i].plan.layout, row.how)) continue;
            found = true;
            CHECK(best[i].plan.speed.tokens_per_second.in(tokens_per_s) >=
                  0.9 * best[0].plan.speed.tokens_per_second.in(tokens_per_s));
        }
        CHECK(found);
    }
}

TEST_CASE("Mixtral 8x22B's published layout is the best of those without context ranks, and within a tenth of all") {
    // Megatron-Core's README of its mixture of experts (transformer/moe, "Reference Best Parallel Mapping", version
    // 0.8): 128 H100, 4,096 tokens, a batch of 256, TP 4, EP 2, PP 8, VP 7. It tuned these degrees and no others.
    job j = training(models::mixtral_8x22b, 256);
    j.sequence = tokens(4096);
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 128).value();
    const layout how{.tensor = 4, .pipeline = 8, .virtual_pipeline = 7, .data = 4, .expert = 2};
    const found_layout best = search(j, c, {.space = {.layouts = {.context_parallel = false}}}).value();
    CHECK(cuts_alike(best.plan.layout, how));
    CHECK(best.plan.speed.tokens_per_second.in(tokens_per_s) >=
          0.9 * search(j, c)->plan.speed.tokens_per_second.in(tokens_per_s));
}
