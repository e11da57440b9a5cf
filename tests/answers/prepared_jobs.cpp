// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/runtimes/huggingface_serving.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <llmres/runtimes/nanotron.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <type_traits>
#include <vector>

using namespace llmres;

namespace {

/// Layouts of one job planned one after another, each from the same prepared job, and alone.
void check_prepared(const job& j, const cluster& c) {
    prepared_job prepared = prepare(j, c);
    REQUIRE(prepared.checked());
    int planned = 0;
    for_each_layout(j, {}, c, [&](const layout& l) {
        const result<job_plan> alone = plan(j, l, c), one_of_many = prepared.plan(l);
        CAPTURE(l.tensor);
        CAPTURE(l.pipeline);
        CAPTURE(l.data);
        CAPTURE(l.zero);
        REQUIRE(alone.has_value() == one_of_many.has_value());
        if (!alone) return false;
        REQUIRE(one_of_many->verdict == alone->verdict);
        REQUIRE(prepared.fits(l) == fits(j, l, c));
        REQUIRE(one_of_many->gpu == alone->gpu);
        REQUIRE(one_of_many->host_memory == alone->host_memory);
        for (std::size_t i = 0; i < alone->memory.terms.size(); ++i)
            REQUIRE(one_of_many->memory.terms[i] == alone->memory.terms[i]);
        for (std::size_t i = 0; i < alone->speed.step.terms.size(); ++i)
            REQUIRE(one_of_many->speed.step.terms[i] == alone->speed.step.terms[i]);
        REQUIRE(one_of_many->speed.prefill.total() == alone->speed.prefill.total());
        REQUIRE(one_of_many->speed.tokens_per_second == alone->speed.tokens_per_second);
        REQUIRE(one_of_many->speed.mfu == alone->speed.mfu);
        ++planned;
        return false;
    });
    CHECK(planned >= 10);
}

/// Whether a job is planned alike in two layouts from one prepared job, and alone.
constexpr bool planned_alike(const job& j, const cluster& c) {
    prepared_job prepared = prepare(j, c);
    for (const std::int32_t tensor : {1, 8, 1}) {
        const layout l{.tensor = tensor, .data = 8 / tensor};
        const result<job_plan> alone = plan(j, l, c), one_of_many = prepared.plan(l);
        if (!alone || !one_of_many || one_of_many->memory.allocated != alone->memory.allocated) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("a prepared job takes little of a stack, and is one of constant expressions for each task") {
    static_assert(sizeof(prepared_job) < 16'000);
    constexpr static cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    constexpr static job served{
        .model = models::llama_3_1_8b, .batch = 8, .context = tokens(8192), .runtime = runtimes::vllm};
    constexpr static job trained{.model = models::llama_3_1_8b,
                                 .task = task::pretraining,
                                 .sequence = tokens(4096),
                                 .global_batch = 8,
                                 .runtime = runtimes::megatron};
    static_assert(planned_alike(served, eight));
    static_assert(planned_alike(trained, eight));
}

TEST_CASE("a prepared job has the plans of plan(), in whatever order layouts come") {
    const cluster sixteen = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    job trained{.model = models::mixtral_8x7b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .global_batch = 32,
                .runtime = runtimes::megatron};
    check_prepared(trained, sixteen);
    trained.model = models::llama_3_1_8b;
    trained.recompute = recompute::full;
    trained.recompute_every = 2;
    check_prepared(trained, sixteen);
    trained.recompute_every = 1;
    trained.offload = {.optimizer = offload_place::host, .activations = offload_place::host};
    check_prepared(trained, eight);
    trained.offload = {};
    trained.runtime = runtimes::nanotron;
    check_prepared(trained, sixteen);
    job adapted{.model = models::gemma_2_9b,
                .task = task::finetuning,
                .sequence = tokens(2048),
                .global_batch = 16,
                .runtime = runtimes::pytorch};
    check_prepared(adapted, eight);
    adapted.adapter = {.kind = adapter_kind::dora, .rank = 16};
    check_prepared(adapted, eight);
    job served{.model = models::deepseek_v3, .batch = 64, .context = tokens(4096), .runtime = runtimes::vllm};
    check_prepared(served, standard_cluster(gpus::h200_sxm5_141gb, 16).value());
    served.model = models::llama_3_1_70b;
    check_prepared(served, eight);
}

TEST_CASE("a prepared job whose weights are a GGUF file plans each layout as it is planned alone") {
    const cluster sixteen = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    for (const model* m : {&models::deepseek_v3, &models::llama_3_1_8b, &models::gemma_3_27b}) {
        CAPTURE(m->name.view());
        job j{.model = *m,
              .gguf = gguf_mix{},
              .batch = 4,
              .output = tokens(100),
              .context = tokens(8192),
              .runtime = runtimes::llama_cpp};
        check_prepared(j, sixteen);
        j.options.gpu_layers = 9;
        check_prepared(j, sixteen);
    }
}

TEST_CASE("a search over batches, formats and layouts remembers nothing of another choice") {
    const cluster four = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    const job j{.model = models::mixtral_8x7b, .prompt = tokens(2048), .output = tokens(64), .runtime = runtimes::vllm};
    search_request r;
    r.space.max_batch = 64;
    r.space.weights = {{bf16, fp8_block}, 2};
    r.space.kv_cache = {{bf16, fp8_e4m3}, 2};
    std::array<found_layout, 40> best{};
    const result<search_counts> counts = search(j, four, r, best);
    REQUIRE(counts);
    REQUIRE(counts->best == best.size());
    for (const found_layout& f : best) {
        const job_plan alone = plan(with_choice(j, f.choice), f.plan.layout, four).value();
        REQUIRE(f.plan.memory.total() == alone.memory.total());
        REQUIRE(f.plan.memory[memory_term::weights] == alone.memory[memory_term::weights]);
        REQUIRE(f.plan.speed.tokens_per_second == alone.speed.tokens_per_second);
    }
}

namespace {

/// Layouts of one job, each planned from the same prepared job and alone.
void check_in_turn(const job& j, const cluster& c, std::initializer_list<layout> layouts) {
    prepared_job prepared = prepare(j, c);
    for (const layout& l : layouts) {
        const job_speed one_of_many = prepared.plan(l).value().speed, alone = plan(j, l, c).value().speed;
        CHECK(one_of_many.step.terms == alone.step.terms);
        CHECK(one_of_many.prefill.terms == alone.prefill.terms);
    }
}

}  // namespace

TEST_CASE("whether ranks that share experts have the same tokens is no other layout's") {
    job j{.model = models::mixtral_8x7b,
          .task = task::pretraining,
          .sequence = tokens(4096),
          .global_batch = 32,
          .runtime = runtimes::megatron};
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const layout same{.tensor = 2, .pipeline = 2, .expert = 2, .expert_tensor = 1};  // one all-reduce sums the experts
    layout other = same;
    other.data = 2;  // tokens are sent to their experts
    check_in_turn(j, eight, {same, other, same});
    j = {.model = models::mixtral_8x7b, .prompt = tokens(1000), .output = tokens(100), .runtime = runtimes::vllm};
    check_in_turn(j, eight, {same, other, same});  // a rank has one sequence in either
}

TEST_CASE("whether gradients are added, and stages lie in several nodes, is no other layout's") {
    job j{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .sequence = tokens(4096),
          .global_batch = 4,
          .runtime = runtimes::pytorch};
    j.runtime.pipeline.layer_of_rank = milliseconds(50);  // so that the CPU is what is waited for
    const cluster two_nodes = standard_cluster(gpus::h100_sxm5_80gb, 16).value();
    // Four micro-batches in one node, one in two nodes.
    check_in_turn(j, two_nodes, {{.tensor = 2, .pipeline = 2}, {.tensor = 2, .pipeline = 2, .data = 4}});
    check_in_turn(j, two_nodes, {{.tensor = 2, .pipeline = 2, .data = 4}, {.tensor = 2, .pipeline = 2}});
}

TEST_CASE("what a list says that stages hold is no other list's") {
    const job j{.model = models::llama_3_1_8b,
                .task = task::pretraining,
                .sequence = tokens(4096),
                .global_batch = 32,
                .runtime = runtimes::megatron};
    const layout even{.pipeline = 2, .stages = read_stages("16|16").value()};
    layout uneven = even;
    uneven.stages = read_stages("24|8").value();
    const cluster two = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    check_in_turn(j, two, {even, uneven, even});
    check_in_turn({.model = models::llama_3_1_8b, .context = tokens(8000), .runtime = runtimes::vllm}, two,
                  {even, uneven, even});
}

TEST_CASE("what a kind of layer takes on one stage is no other kind's on several") {
    job j{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .sequence = tokens(4096),
          .global_batch = 32,
          .runtime = runtimes::megatron};
    layer wide = j.model.layers.kinds[0], wider = wide;
    wide.feed_forward.width *= 2;
    wider.feed_forward.width *= 3;
    j.model.layers = {4, j.model.layers.kinds[0]};
    j.model.layers.then(4, wide).then(4, wider);
    check_in_turn(j, standard_cluster(gpus::h100_sxm5_80gb, 2).value(), {{}, {.pipeline = 2}, {}});
}

TEST_CASE("how many GPUs share each matrix, and compute chunks of a prompt, is no other layout's") {
    job j{.model = models::llama_3_1_8b, .prompt = tokens(8000), .output = tokens(200), .runtime = runtimes::vllm};
    const cluster four = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    for (const bool rows : {false, true}) {
        j.options.splits_rows = rows;
        j.runtime.launches.stages = rows ? stage_overlap::none : stage_overlap::both;
        j.max_batched_tokens = tokens(1024);
        check_in_turn(j, four, {{.pipeline = 2}, {.pipeline = 4}, {}, {.pipeline = 2}});
    }
}

TEST_CASE("a prepared job that is served is planned at other batches, whatever stages do with chunks and rows") {
    const cluster eight = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    job j{.model = models::llama_3_1_8b, .prompt = tokens(3000), .output = tokens(200), .runtime = runtimes::vllm};
    for (const bool rows : {false, true}) {
        j.options.splits_rows = rows;
        j.runtime.launches.stages = rows ? stage_overlap::none : stage_overlap::both;
        prepared_job prepared = prepare(j, eight);
        for (const std::int64_t batch : {16, 2, 16, 4}) {
            j.batch = batch;
            for (const layout& l :
                 {layout{}, layout{.pipeline = 2}, layout{.tensor = 2, .data = 2}, layout{.data = 4}}) {
                const job_plan one_of_many = prepared.plan(l).value(), alone = plan(j, l, eight).value();
                CHECK(one_of_many.memory.terms == alone.memory.terms);
                CHECK(one_of_many.speed.step.terms == alone.speed.step.terms);
                CHECK(one_of_many.speed.prefill.terms == alone.speed.prefill.terms);
                CHECK(one_of_many.speed.tokens_per_second == alone.speed.tokens_per_second);
            }
        }
    }
}

namespace {

/// All that a search of batches and formats finds, each planned again alone.
void check_found(const job& j, const cluster& c, const precision& narrow) {
    search_request r{.space = {.max_batch = 32}};
    r.space.weights = {.list = {bf16, narrow}, .count = 2};
    r.space.kv_cache = {.list = {narrow, bf16}, .count = 2};
    std::vector<found_layout> found(4000);
    const search_counts counts = search(j, c, r, found).value();
    CHECK(counts.best >= 50);
    CHECK(counts.best == static_cast<std::size_t>(counts.kept));
    for (std::size_t i = 0; i < counts.best; ++i) {
        const job_plan& one = found[i].plan;
        const job_plan alone = plan(with_choice(j, found[i].choice), one.layout, c).value();
        CAPTURE(one.layout.tensor);
        CAPTURE(one.layout.pipeline);
        CAPTURE(one.layout.data);
        CAPTURE(found[i].choice.batch);
        REQUIRE(one.memory.terms == alone.memory.terms);
        REQUIRE(one.memory.stage == alone.memory.stage);
        REQUIRE(one.memory.allocated == alone.memory.allocated);
        REQUIRE(one.memory.reserved == alone.memory.reserved);
        REQUIRE(one.memory.ideal == alone.memory.ideal);
        REQUIRE(one.memory.never_both == alone.memory.never_both);
        REQUIRE(one.host_memory == alone.host_memory);
        REQUIRE(one.speed.step.terms == alone.speed.step.terms);
        REQUIRE(one.speed.prefill.terms == alone.speed.prefill.terms);
        REQUIRE(one.speed.tokens_per_second == alone.speed.tokens_per_second);
        REQUIRE(one.speed.flops == alone.speed.flops);
        REQUIRE(one.speed.mfu == alone.speed.mfu);
        REQUIRE(one.speed.steady.tokens_per_second == alone.speed.steady.tokens_per_second);
    }
}

}  // namespace

TEST_CASE("what a search of batches and formats finds is what plan() makes of each layout alone") {
    const cluster sixteen = standard_cluster(gpus::h200_sxm5_141gb, 16).value();
    job j{.model = models::llama_3_1_70b, .prompt = tokens(1000), .output = tokens(256), .runtime = runtimes::vllm};
    check_found(j, sixteen, fp8_e4m3);
    j.options.speculates_ahead = true;
    j.model = models::deepseek_v3;  // two kinds of layers, experts, a layer that predicts
    check_found(j, sixteen, fp8_e4m3);
    j.options.speculates_ahead = false;
    j.model = models::mixtral_8x7b;
    j.runtime = runtimes::sglang;
    check_found(j, sixteen, fp8_e4m3);
    j.model = models::gemma_3_27b;    // windows
    j.runtime = runtimes::llama_cpp;  // lays graphs out, which depend on the format of the cache
    check_found(j, sixteen, q8_0);
    j.prompt = j.output = {};
    j.context = tokens(4096);
    check_found(j, sixteen, q8_0);
    j.runtime = runtimes::transformers;  // whose steps have all sequences
    check_found(j, sixteen, bf16);
}

TEST_CASE("a prepared job keeps the error of a wrong job or cluster") {
    const cluster four_h100 = standard_cluster(gpus::h100_sxm5_80gb, 4).value();
    const job chat{.model = models::llama_3_1_70b, .batch = 8, .context = tokens(4096)};
    job wrong = chat;
    wrong.batch = 0;
    CHECK(prepare(wrong, four_h100).checked().error().field == "batch");
    CHECK(prepare(wrong, four_h100).plan({}).error().field == "batch");
    CHECK(prepare(chat, four_h100).plan({.tensor = 3}).error().field == "layout.tensor");
    CHECK(prepare(chat, four_h100).plan({.tensor = 8}).error().field == "layout");
    CHECK_FALSE(prepare(chat, four_h100).fits({.tensor = 8}));
    cluster empty = four_h100;
    empty.gpus = 0;
    CHECK(prepare(chat, empty).checked().error().field == "cluster.gpus");
    CHECK(prepare(wrong, empty).checked().error().field == "batch");
}
