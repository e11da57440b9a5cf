// SPDX-License-Identifier: MIT
// Does a node's main memory have room for what a job leaves there?
#include <doctest/doctest.h>

#include <cstddef>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/memory/checkpoint.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/runtimes/all.hpp>

#include "../plan_reasons.hpp"

using namespace llmres;
using plan_reasons::says;

namespace {

result<job_plan> on_host(const char* model, const char* mix, byte_count memory, serving_options options,
                         bool mapped = true) {
    cluster c = standard_cluster(gpus::rtx_4090, 1).value();
    c.host.memory = memory;
    job j{.model = find_model(model).value(), .context = tokens(4096), .runtime = runtimes::llama_cpp};
    j.gguf = find_gguf_mix("weights", mix).value();
    j.options = options;
    j.runtime.loading.maps_weights = mapped;
    return plan(j, layout{}, c);
}

}  // namespace

TEST_CASE("what a serving runtime leaves on the host is held against main memory") {
    const serving_options half{.gpu_layers = 40};
    const job_plan roomy = on_host("llama-3.3-70b", "Q4_K_M", gib(64), half).value();
    CHECK(roomy.verdict == verdict::fits);
    CHECK(roomy.host_memory.expected > gib(19));  // half of 39.6 GiB
    CHECK(roomy.host_memory.expected < gib(24));
    CHECK(roomy.host_memory.low < gib(2));  // pages of the file may be dropped

    const job_plan narrow = on_host("llama-3.3-70b", "Q4_K_M", gib(8), half).value();
    CHECK(narrow.verdict == verdict::tight);
    CHECK(says(narrow, reason_code::host_memory_exceeded));
    CHECK(on_host("llama-3.3-70b", "Q4_K_M", gib(8), half, false)->verdict == verdict::does_not_fit);
    CHECK(on_host("llama-3.3-70b", "Q4_K_M", mib(500), half)->verdict == verdict::does_not_fit);
}

TEST_CASE("405B without a layer on the GPU does not fit in one byte, nor DeepSeek-V3's experts in 8 GB") {
    CHECK(on_host("llama-3.1-405b", "Q4_K_M", bytes(1), {.gpu_layers = 0})->verdict == verdict::does_not_fit);
    const job_plan experts = on_host("deepseek-v3", "Q4_K_M", gb(8), {.experts_on_host = true}).value();
    CHECK(experts.verdict != verdict::fits);
    CHECK(experts.host_memory.expected > gib(300));
    CHECK(on_host("deepseek-v3", "Q4_K_M", gb(8), {.experts_on_host = true}, false)->verdict == verdict::does_not_fit);
}

TEST_CASE("where nobody says how much main memory there is, a job that offloads is tight at best") {
    const job_plan half = on_host("llama-3.3-70b", "Q4_K_M", {}, {.gpu_layers = 40}).value();
    CHECK(half.verdict == verdict::tight);
    CHECK(says(half, reason_code::host_memory_unknown));
    CHECK(on_host("llama-3.1-8b", "Q4_K_M", {}, {})->verdict == verdict::fits);  // the embedding alone
    CHECK(on_host("qwen3-30b-a3b", "Q4_K_M", {}, {.experts_on_host = true, .host_expert_layers = 1})->verdict ==
          verdict::tight);

    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(2048)};
    j.offload.optimizer = offload_place::host;
    const job_plan unknown = plan(j, {.data = 8, .zero = 2}, c).value();
    CHECK(unknown.verdict == verdict::tight);
    CHECK(says(unknown, reason_code::host_memory_unknown));
    CHECK(unknown.host_memory.expected > gib(80));
    c.host.memory = gib(1024);
    CHECK(plan(j, {.data = 8, .zero = 2}, c)->verdict == verdict::fits);
}

TEST_CASE("a checkpoint that main memory has no room for makes a job not fit, where its size is known") {
    cluster c = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    const job j{.model = models::llama_3_1_8b,
                .task = task::finetuning,
                .sequence = tokens(2048),
                .runtime = runtimes::huggingface};
    const layout l{.data = 16, .zero = 3};
    const checkpoint_bytes gathered = checkpoint_of({}, j, l, c).value();  // 64 GB of moments on rank 0
    const auto judged = [&](byte_count memory, const checkpoint_bytes& saved) {
        c.host.memory = memory;
        job_plan p = plan(j, l, c).value();
        judge_checkpoint(p, saved, c);
        return p;
    };
    CHECK(judged({}, gathered).verdict == verdict::fits);  // not known
    CHECK(judged(gb(128), gathered).verdict == verdict::fits);
    CHECK(judged(gathered.host, gathered).verdict == verdict::fits);
    const job_plan narrow = judged(gb(32), gathered);
    CHECK(narrow.verdict == verdict::does_not_fit);
    REQUIRE(says(narrow, reason_code::checkpoint_exceeded));
    const reason& why = narrow.reasons[static_cast<std::size_t>(narrow.reason_count - 1)];
    CHECK(why.needed == gathered.host);
    CHECK(why.available == gb(32));
    const checkpoint_bytes sharded = checkpoint_of({.files = checkpoint_files::sharded}, j, l, c).value();
    CHECK(judged(gb(33), sharded).verdict == verdict::fits);  // half of the moments
}
