// SPDX-License-Identifier: MIT
#include <llmres/answers/buffers.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace llmres;

namespace {

job shared(const model& m, const runtime& r, const char* recipe = "Q4_K_M") {
    job j{.model = m, .gguf = *find_gguf_mix("weights", recipe), .context = tokens(4096), .runtime = r};
    j.options.splits_rows = true;
    return j;
}

byte_count expected(const memory_breakdown& m, memory_term t) { return m[t].expected; }

}  // namespace

TEST_CASE("the first of GPUs that share rows held the whole cache and scratch in builds until the end of 2024") {
    for (const runtime* r : {&runtimes::llama_cpp_2023, &runtimes::llama_cpp_2399, &runtimes::llama_cpp_2024})
        for (const model* m : {&models::llama_2_7b, &models::llama_2_70b, &models::mixtral_8x7b})
            for (const std::int32_t gpus : {2, 3, 7}) {
                INFO(std::string{r->identity.versions.view()} << ", " << gpus << " GPUs");
                const job j = shared(*m, *r);
                const layout l{.pipeline = gpus};
                const memory_breakdown alone = serving_memory(j, {});
                const memory_breakdown first = serving_memory_of_stage(j, l, *r, 0);
                CHECK(serving_memory(j, l).total().expected == first.total().expected);
                CHECK(expected(first, memory_term::kv_cache) == expected(alone, memory_term::kv_cache));
                const byte_count all = expected(alone, memory_term::weights);
                CHECK(expected(first, memory_term::weights) * gpus >= all);
                CHECK(expected(first, memory_term::weights) < div_up(all, gpus) + mib(32));
                byte_count held;
                for (std::int32_t gpu = 0; gpu < gpus; ++gpu) {
                    const memory_breakdown one = serving_memory_of_stage(j, l, *r, gpu);
                    held += expected(one, memory_term::weights);
                    if (gpu == 0) continue;
                    CHECK(one.allocated.expected == expected(one, memory_term::weights));
                    CHECK(one.stage == gpu);
                }
                CHECK(held >= all);
                CHECK(held < all + bytes(gpus));
            }
}

TEST_CASE("since then each of them has the caches of its layers, their routed experts, and its part of matrices") {
    const runtime& r = runtimes::llama_cpp;
    for (const model* m : {&models::llama_2_7b, &models::llama_3_1_70b, &models::mixtral_8x7b})
        for (const std::int32_t gpus : {2, 3, 7}) {
            const job by_rows = shared(*m, r);
            job by_layers = by_rows;
            by_layers.options.splits_rows = false;
            const layout l{.pipeline = gpus};
            const byte_count all = expected(serving_memory(by_rows, {}), memory_term::weights);
            byte_count held, least, most, cache;
            for (std::int32_t gpu = 0; gpu < gpus; ++gpu) {
                const memory_breakdown one = serving_memory_of_stage(by_rows, l, r, gpu);
                const byte_count own = expected(one, memory_term::weights);
                held += own, cache += expected(one, memory_term::kv_cache);
                if (gpu == 0 || own < least) least = own;
                if (own > most) most = own;
                const memory_breakdown layers = serving_memory_of_stage(by_layers, l, r, gpu);
                CHECK(expected(one, memory_term::kv_cache) == expected(layers, memory_term::kv_cache));
                CHECK(one[memory_term::activations].expected <= layers[memory_term::activations].expected);
            }
            CHECK(held >= all);
            CHECK(held < all + bytes(gpus));
            CHECK(cache == expected(serving_memory(by_rows, {}), memory_term::kv_cache));
            if (!m->layers[0].feed_forward.routed()) CHECK(most == least);
        }
}

TEST_CASE("buffers of GPUs that share rows add up to their memory") {
    for (const runtime* r : {&runtimes::llama_cpp_2023, &runtimes::llama_cpp_2024, &runtimes::llama_cpp})
        for (const model* m : {&models::llama_2_13b, &models::mixtral_8x7b}) {
            const job j = shared(*m, *r);
            const cluster c = standard_cluster(gpus::rtx_3090, 4).value();
            const job_plan p = plan(j, {.pipeline = 4}, c).value();
            byte_count weights, cache;
            for_each_buffer(j, c, p, [&](const buffer& b) {
                if (b.term == memory_term::weights) weights += b.size * b.count;
                if (b.term == memory_term::kv_cache) cache += b.size * b.count;
            });
            CHECK(weights == expected(p.memory, memory_term::weights));
            CHECK(cache == expected(p.memory, memory_term::kv_cache));
        }
}

TEST_CASE("builds before b1842 ran out of memory with LLaMA 65B on two GPUs of 20 GB, and are not said to fit") {
    const auto verdict_of = [](std::string_view runtime, std::string_view more) {
        const std::string document = R"({"model":"llama-65b","task":"serving","runtime":{"name":"llama.cpp@)" +
                                     std::string{runtime} + "\"" + std::string{more} +
                                     R"(},"context":512,"batch":1,"weights":"q4_0","kv_cache":"fp16",)"
                                     R"("layout":{"tensor":1,"pipeline":2},"cluster":{"gpus":2,"gpu":"rtx-4000-ada"}})";
        const plan_request asked = read_job(document).value();
        return plan(asked.job, *asked.layout, asked.cluster).value().verdict;
    };
    CHECK(verdict_of("b1691", "") != verdict::fits);
    CHECK(verdict_of("b1842", "") == verdict::fits);
    CHECK(verdict_of("b1842", R"(,"split_rows":true)") != verdict::fits);
    CHECK(verdict_of("b5000", R"(,"split_rows":true)") == verdict::fits);
}
