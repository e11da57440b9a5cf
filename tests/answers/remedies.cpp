// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/answers/remedies.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/megatron.hpp>

using namespace llmres;

namespace {

const cluster one_4090 = standard_cluster(gpus::rtx_4090, 1).value();
const job chat{.model = models::llama_3_1_8b, .batch = 8, .context = tokens(8192), .max_batched_tokens = tokens(2048)};

/// How many remedies there are for what does not fit; each must do.
int each_remedy_helps(const job& j, const layout& given, const cluster& on) {
    REQUIRE(plan(j, given, on)->verdict != verdict::fits);
    const remedies found = what_would_help(j, given, on);
    for (const remedy& r : found) {
        job tried = j;
        layout l = given;
        cluster c = on;
        switch (r.what) {
            case remedy::kind::more_gpus:
                l = r.layout;
                c = standard_cluster(on.gpu, static_cast<std::int32_t>(r.amount)).value();
                break;
            case remedy::kind::other_layout:
                l = r.layout;
                break;
            case remedy::kind::narrower_weights:
                tried.weights = r.format;
                break;
            case remedy::kind::smaller_batch:
                tried.batch = r.amount;
                break;
            case remedy::kind::smaller_micro_batch:
                tried.micro_batch = r.amount;
                break;
            case remedy::kind::shorter_context:
                tried.context = tried.sequence = tokens(r.amount);
                break;
            case remedy::kind::full_recompute:
                tried.recompute = recompute::full;
                break;
            case remedy::kind::sdpa_attention:
                tried.attention = attention_kernel::sdpa;
                break;
        }
        CAPTURE(static_cast<int>(r.what));
        CAPTURE(r.amount);
        const result<job_plan> helped = plan(tried, l, c);
        REQUIRE(helped);
        CHECK(helped->verdict == verdict::fits);
    }
    return found.count;
}

}  // namespace

TEST_CASE("each remedy, taken alone, makes the job fit") {
    job j = chat;
    j.batch = 16;
    CHECK(each_remedy_helps(j, {}, one_4090) >= 3);
    CHECK(each_remedy_helps(
              job{.model = models::llama_3_1_8b, .context = tokens(1024), .attention = attention_kernel::flash}, {},
              standard_cluster(gpus::v100_sxm2_32gb, 1).value()) == 1);
}

TEST_CASE("each remedy of training does, a micro-batch that divides the global one among them") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(1024),
                .micro_batch = 32,
                .global_batch = 256};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    CHECK(each_remedy_helps(j, {.data = 8, .zero = 3}, eight) >= 3);
}

TEST_CASE("a layout that does not fit is told apart from too few GPUs") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .recompute = recompute::full};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout plain{.data = 8};
    REQUIRE(plan(j, plain, eight)->verdict == verdict::does_not_fit);  // 16 bytes a parameter on each GPU
    const remedies found = what_would_help(j, plain, eight);
    REQUIRE(found.count >= 1);
    CHECK(found.list[0].what == remedy::kind::other_layout);
    CHECK(found.list[0].amount <= 8);
    each_remedy_helps(j, plain, eight);
}

TEST_CASE("no remedy asks for more GPUs than a layout that fits has") {
    // The planner's own layouts have no sequence parallelism, and would need more.
    const job j{.model = models::llama_3_1_70b,
                .task = task::pretraining,
                .sequence = tokens(8192),
                .global_batch = 64,
                .recompute = recompute::selective,
                .runtime = runtimes::megatron};
    const layout l{.tensor = 8, .sequence_parallel = true, .pipeline = 4, .data = 2, .zero = 1};
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 64).value();
    REQUIRE(plan(j, l, c)->verdict == verdict::fits);
    REQUIRE(limits_of(j, l, c).min_gpus);
    CHECK(*limits_of(j, l, c).min_gpus <= 64);
}

TEST_CASE("training that does not fit is helped by recomputation") {
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .sequence = tokens(8192), .micro_batch = 2};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout l{.data = 8, .zero = 3};
    REQUIRE(plan(j, l, eight)->verdict == verdict::does_not_fit);
    bool named = false;
    for (const remedy& r : what_would_help(j, l, eight)) named = named || r.what == remedy::kind::full_recompute;
    CHECK(named);
}

TEST_CASE("limits and remedies are there at compile time") {
    static constexpr cluster machine = standard_cluster(gpus::rtx_4090, 1).value();
    static constexpr job work{
        .model = models::llama_3_1_8b, .context = tokens(4096), .max_batched_tokens = tokens(2048)};
    static constexpr result<std::int64_t> most = max_batch(work, {}, machine);
    static_assert(*most > 1);
    CHECK(*max_batch(work, {}, machine) == *most);
}
