// SPDX-License-Identifier: MIT
#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

job under_vulkan(const model& m, std::string_view runtime, std::int64_t context) {
    job j{.model = m, .context = tokens(context), .runtime = find_runtime(runtime).value()};
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    j.options.backend = ggml_backend::vulkan;
    return j;
}

job_plan on_strix_halo(const job& j) {
    return plan(j, {}, standard_cluster(gpus::ryzen_ai_max_395, 1).value()).value();
}
bool says(const job_plan& p, reason_code code) {
    return std::any_of(p.reasons.begin(), p.reasons.begin() + p.reason_count,
                       [&](const reason& r) { return r.code == code; });
}

}  // namespace

TEST_CASE("a step's buffer above what Vulkan allocates fails, as 4,537 MiB of llama.cpp b6050 did on a Radeon 8060S") {
    // ggml-org/llama.cpp#15009: Qwen3-30B-A3B, 70,016 tokens.
    model m = models::qwen3_30b_a3b;
    m.max_context = tokens(262144);  // as the 2507 versions are published
    job j = under_vulkan(m, "llama.cpp@b6050", 70016);
    const job_plan failed = on_strix_halo(j);
    CHECK(failed.verdict == verdict::does_not_fit);
    CHECK(says(failed, reason_code::buffer_exceeded));
    CHECK(ratio(failed.memory[memory_term::activations].expected, mib(1)) == doctest::Approx(4536.8).epsilon(0.02));
    j.options.largest_buffer = gib(8);
    CHECK(on_strix_halo(j).verdict == verdict::fits);
    j.options = {};
    CHECK(on_strix_halo(j).verdict == verdict::fits);
    // Later graphs have several buffers.
    CHECK(on_strix_halo(under_vulkan(m, "llama.cpp@b7000", 70016)).verdict == verdict::fits);
}

TEST_CASE("a plan under a limit of single buffers is right exactly where its largest buffer is within it") {
    for (const std::string_view runtime : {"llama.cpp@b2000", "llama.cpp@b6050", "llama.cpp", "ik_llama.cpp", "ollama"})
        for (const model* m :
             {&models::llama_3_1_8b, &models::gpt_oss_20b, &models::gemma_3_4b, &models::deepseek_v2_lite})
            for (const std::int64_t context : {1024, 8192, 32768}) {
                INFO(std::string{runtime} << ", " << std::string{m->name.view()} << ", " << context);
                job j = under_vulkan(*m, runtime, context);
                j.options.largest_buffer = gib(100);
                const job_plan unlimited = on_strix_halo(j);
                const largest_buffer largest = largest_serving_buffer(j, unlimited.layout, unlimited.memory);
                CHECK(largest.size.expected > byte_count{});
                CHECK_FALSE(says(unlimited, reason_code::buffer_exceeded));
                j.options.largest_buffer = largest.size.high;
                CHECK(on_strix_halo(j).verdict == unlimited.verdict);
                j.options.largest_buffer = largest.size.high - bytes(1);
                const job_plan limited = on_strix_halo(j);
                CHECK(limited.verdict != verdict::fits);
                CHECK(says(limited, reason_code::buffer_exceeded));
                j.options.largest_buffer = largest.size.low - bytes(1);
                CHECK(on_strix_halo(j).verdict == verdict::does_not_fit);
            }
}

TEST_CASE("the largest buffer is that of a step, keys or values of a layer, a table, or a stack of experts") {
    // Tables of 1,000 x 64 in 16 bits: 128,000 bytes. Keys of a layer: 2 heads of 16 values of 4,096 cells: 262,144.
    job j;
    j.model.vocabulary = 1000;
    j.model.hidden = 64;
    const layer plain{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 128}};
    j.model.layers = {2, plain};
    j.context = tokens(4096);
    j.weights = fp16;
    j.runtime.cache.pool = cache_pool::allotted;
    memory_breakdown m;
    m[memory_term::activations] = kib(100);
    m[memory_term::logits] = kib(200);
    const auto largest = [&] { return largest_serving_buffer(j, {}, m); };
    CHECK(largest().term == memory_term::activations);
    CHECK(largest().size == kib(300));
    j.runtime.allocator.splits_buffers = true;  // of a step
    CHECK(largest().term == memory_term::kv_cache);
    CHECK(largest().size == bytes(2 * 2 * 16 * 4096));
    // A latent is one tensor, with its rotary part.
    j.model.layers.kinds[0].attention = {
        .kind = attention_kind::latent, .heads = 4, .kv_heads = 4, .head_dim = 24, .kv_rank = 96, .rope_dim = 8};
    CHECK(largest().size == bytes(2 * 104 * 4096));
    j.model.layers = {2, plain};
    j.context = tokens(1024);
    CHECK(largest().term == memory_term::weights);
    CHECK(largest().size == bytes(2 * 1000 * 64));
    // Twelve experts of 96 x 64: 147,456 bytes.
    j.model.layers.kinds[0].feed_forward = {.experts = {.count = 12, .per_token = 2, .width = 96}};
    CHECK(largest().size == bytes(2 * 12 * 96 * 64));
    // A file's tables and stacks are as its types are: in eight bits and a scale of two bytes for 32 values.
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    j.runtime.allocator.splits_buffers = true;
    j.context = tokens(16);
    CHECK(largest().size == bytes(12 * 96 * 64 / 32 * 34));
    j.model.layers = {2, plain};
    CHECK(largest().size == bytes(1000 * 64 / 32 * 34));
    CHECK(largest().term == memory_term::weights);
    // As large as the largest so far is not larger.
    largest_buffer one{.size = kib(1), .term = memory_term::logits};
    one.reach(kib(1), memory_term::weights);
    CHECK(one.term == memory_term::logits);
    one.reach(kib(2), memory_term::weights);
    CHECK(one.term == memory_term::weights);
}
