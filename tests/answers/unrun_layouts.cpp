// SPDX-License-Identifier: MIT
// What a runtime does not run, and GPUs on which it does not start.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/amd.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

#include "../plan_reasons.hpp"

using namespace llmres;
using plan_reasons::says;

namespace {

const cluster four_h100 = standard_cluster(gpus::h100_sxm5_80gb, 4).value();

}  // namespace

TEST_CASE("a degree that the runtime does not have does not fit, and one that nobody is known to have run is tight") {
    const auto of = [](const runtime& r, const layout& l) {
        const job j{.model = models::llama_3_1_8b, .context = tokens(2048), .runtime = r};
        return plan(j, l, four_h100).value();
    };
    const auto only_reason = [](const job_plan& p) {
        REQUIRE(p.reason_count == 1);
        return p.reasons[0].code;
    };
    CHECK(of(runtimes::llama_cpp_8671, {.tensor = 2}).verdict == verdict::does_not_fit);
    CHECK(only_reason(of(runtimes::llama_cpp_8671, {.tensor = 2})) == reason_code::layout_not_run);
    CHECK(of(runtimes::llama_cpp, {.tensor = 2}).verdict == verdict::tight);
    CHECK(only_reason(of(runtimes::llama_cpp, {.tensor = 2})) == reason_code::layout_unproven);
    CHECK(of(runtimes::llama_cpp, {.pipeline = 2}).verdict == verdict::fits);
    CHECK(of(runtimes::vllm, {.tensor = 2}).verdict == verdict::fits);
    CHECK_FALSE(fits(job{.model = models::llama_3_1_8b, .context = tokens(2048), .runtime = runtimes::tgi},
                     {.pipeline = 2}, four_h100));
}

TEST_CASE("no runtime's plan of a degree fits in silence unless it runs the degree") {
    int asked = 0, not_run = 0, unproven = 0;
    for (const runtime* r : runtimes::all) {
        const bool trains = r->identity.work == runtime_work::training;
        for (const layout& l : {layout{.tensor = 2}, layout{.pipeline = 2}, layout{.context_parallel = 2},
                                layout{.data = 2, .expert = 2}, layout{.data = 4, .zero = trains ? 1 : 0},
                                layout{.data = 4, .zero = trains ? 2 : 0}, layout{.data = 4, .zero = trains ? 3 : 0}}) {
            job j{.model = l.expert > 1 ? models::mixtral_8x7b : models::llama_3_2_1b,
                  .batch = 4,
                  .context = tokens(1024),
                  .runtime = *r};
            if (trains) j.task = task::pretraining, j.sequence = tokens(512);
            const result<job_plan> made = plan(j, l, four_h100);
            if (!made) continue;
            ++asked;
            CAPTURE(r->identity.name.view());
            const unrun_degree lacked = unrun_degree_of(j, l);
            const bool said = says(*made, lacked.untried ? reason_code::layout_unproven : reason_code::layout_not_run);
            CHECK(said == !lacked.name.empty());
            if (lacked.name.empty()) continue;
            ++(lacked.untried ? unproven : not_run);
            CHECK(made->verdict >= (lacked.untried ? verdict::tight : verdict::does_not_fit));
        }
    }
    CHECK(asked > 300);
    CHECK(not_run > 50);
    CHECK(unproven > 20);
}

TEST_CASE("a GPU that the runtime does not start on does not fit, and a port that was not measured is said") {
    const auto of = [](const runtime& r, const gpu& card) {
        const job j{.model = models::llama_3_2_1b, .compute = fp16, .context = tokens(1024), .runtime = r};
        return plan(j, {}, standard_cluster(card, 1).value()).value();
    };
    for (const job_plan& p : {of(runtimes::tensorrt_llm, gpus::mi300x_192gb), of(runtimes::mlx, gpus::mi300x_192gb),
                              of(runtimes::tensorrt_llm, gpus::v100_sxm2_32gb)}) {
        CHECK(p.verdict == verdict::does_not_fit);
        CHECK(says(p, reason_code::gpu_not_supported));
    }
    CHECK(of(runtimes::vllm, gpus::mi300x_192gb).verdict == verdict::fits);
    CHECK(says(of(runtimes::vllm, gpus::mi300x_192gb), reason_code::gpu_unmeasured));
    CHECK_FALSE(says(of(runtimes::vllm, gpus::h200_sxm5_141gb), reason_code::gpu_unmeasured));
    CHECK_FALSE(says(of(runtimes::pytorch, gpus::mi300x_192gb), reason_code::gpu_unmeasured));
}

TEST_CASE(
    "groups that are cut make a plan tight where the checkpoint may be padded, and are refused where it is at hand") {
    job j{.model = models::llama_2_7b, .context = tokens(2048), .runtime = runtimes::vllm};  // 86 groups of 128
    j.weights = awq(4, 128);
    CHECK(plan(j, {.tensor = 2}, four_h100)->verdict == verdict::fits);
    const job_plan cut = plan(j, {.tensor = 4}, four_h100).value();
    CHECK(cut.verdict == verdict::tight);
    REQUIRE(cut.reason_count == 1);
    CHECK(cut.reasons[0].code == reason_code::groups_cut);
    j.model.weights = awq(4, 128);
    const result<job_plan> refused = plan(j, {.tensor = 4}, four_h100);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().field == "layout.tensor");
}

TEST_CASE("the quantised files of Qwen2.5-72B are padded, so that their tensor ranks cut no group") {
    for (const char* name : {"Qwen/Qwen2.5-72B-Instruct-AWQ", "qwen2.5-72b-instruct-gptq-int4"})
        for (const int tensor : {2, 4}) {
            CAPTURE(name);
            const job j{.model = find_model(name).value(), .context = tokens(8192), .runtime = runtimes::vllm};
            CHECK(plan(j, {.tensor = tensor}, four_h100)->verdict == verdict::fits);
        }
    job j{.model = models::qwen2_5_72b, .context = tokens(8192), .runtime = runtimes::vllm};
    j.weights = awq(4, 128);
    CHECK(says(plan(j, {.tensor = 4}, four_h100).value(), reason_code::groups_cut));
}

TEST_CASE("a search finds no layout that its runtime refuses for the blocks that it cuts") {
    job j{.model = models::qwen3_30b_a3b, .context = tokens(4096), .runtime = runtimes::vllm};
    j.weights = fp8_block;
    std::array<found_layout, 32> best{};
    const result<search_counts> counts = search(j, four_h100, {}, best);
    REQUIRE(counts.has_value());
    REQUIRE(counts->best > 0);
    CHECK(counts->refused > 0);
    for (std::size_t i = 0; i < counts->best; ++i) {
        const layout& l = best[i].plan.layout;
        CHECK((l.tensor < 4 || l.expert > 1));
        CHECK(plan(j, l, four_h100).has_value());
    }
}

TEST_CASE("one process has the stages of a naive pipeline, and so the GPUs of one node") {
    const auto made = [](std::int32_t stages, std::int32_t each_node) {
        job j{.model = models::qwen3_0_6b, .task = task::finetuning, .sequence = tokens(512)};
        j.runtime = runtimes::huggingface;
        cluster c = standard_cluster(gpus::h100_sxm5_80gb, 16).value();  // with links inside and between nodes
        c.gpus_per_node = each_node;
        return plan(j, {.pipeline = stages}, c).value();
    };
    CHECK(made(8, 8).verdict == verdict::fits);
    CHECK(made(4, 4).verdict == verdict::fits);
    const job_plan beyond = made(8, 4);
    CHECK(beyond.verdict == verdict::does_not_fit);
    CHECK(says(beyond, reason_code::layout_not_run));
}
