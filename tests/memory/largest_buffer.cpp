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
