// SPDX-License-Identifier: MIT
// Seed cases C6, C7, C8, C10 and D1: what the rule says, what is exact, and by how much they differ.
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/rules_of_thumb.hpp>
#include <llmres/plan.hpp>

using namespace llmres;

namespace {

double share(byte_count rule, byte_count exact) { return ratio(rule, exact) - 1; }

}  // namespace

TEST_CASE("C6: a model of n billion parameters is a file of about 2n GB, 13B about 27 GB") {
    const model& m = models::llama_2_13b;
    const byte_count exact = weight_bytes(m, formats_for(fp16));
    CHECK(exact == bytes(26'031'728'640));
    CHECK(exact.in(gb) == doctest::Approx(26.03).epsilon(0.001));
    CHECK(rules::weights_16bit(count_parameters(m)) == exact);
    CHECK(share(rules::weights_16bit(parameters(13'000'000'000)), exact) == doctest::Approx(-0.0012).epsilon(0.05));
}

TEST_CASE("C7: running it in 16 bit holds the same 2n GB of weights") {
    const job run{.model = models::llama_2_13b, .weights = fp16, .compute = fp16, .context = tokens(2048)};
    const memory_breakdown held = memory_of(run, layout{});
    CHECK(held[memory_term::weights].expected == rules::weights_16bit(count_parameters(run.model)));
}

TEST_CASE("C8: mixed-precision Adam takes 16 bytes a parameter, so a 7B model 112 GB; 160 GB are enough with ZeRO 3") {
    CHECK(rules::training_mixed_adam(parameters(7'000'000'000)) == gb(112));

    const job work{.model = models::llama_2_7b,
                   .task = task::finetuning,
                   .weights = bf16,
                   .sequence = tokens(512),
                   .recompute = recompute::full};
    const memory_breakdown held = memory_of(work, layout{});
    const byte_count exact = held[memory_term::weights].expected + held[memory_term::optimizer].expected +
                             size_of(gradients_of(work), 1, count_parameters(work.model).in(parameters));
    CHECK(exact == rules::training_mixed_adam(count_parameters(work.model)));
    CHECK(exact == bytes(16 * 6'738'415'616));

    const result<job_plan> sharded =
        plan(work, layout{.data = 2, .zero = 3}, standard_cluster(gpus::a100_sxm4_80gb, 2).value());
    REQUIRE(sharded);
    CHECK(sharded->verdict == verdict::fits);
    const result<job_plan> alone = plan(work, layout{}, standard_cluster(gpus::a100_sxm4_80gb, 1).value());
    REQUIRE(alone);
    CHECK(alone->verdict == verdict::does_not_fit);
}

TEST_CASE("C10: bf16 takes 2 bytes a parameter to run and 8 to train; with fp32 copies it is twice that") {
    const parameter_count n = parameters(7'000'000'000);
    CHECK(rules::weights_16bit(n) == gb(14));
    CHECK(rules::training_bf16(n) == gb(56));

    const job pure{.model = models::llama_2_7b,
                   .task = task::pretraining,
                   .weights = bf16,
                   .master_weights = bf16,
                   .optimizer_states = bf16,
                   .sequence = tokens(1),
                   .recompute = recompute::full};
    const memory_breakdown held = memory_of(pure, layout{});
    const byte_count state = held[memory_term::weights].expected * 2 + held[memory_term::optimizer].expected;
    CHECK(state == rules::training_bf16(count_parameters(pure.model)));
    CHECK(ratio(rules::training_mixed_adam(n), rules::training_bf16(n)) == 2.0);
}

TEST_CASE(
    "D1: two FLOPs a token and parameter, but for the embedding that is looked up and the attention it leaves out") {
    const model& m = models::llama_2_70b;
    const layout alone;
    const std::array decode{token_pass{.tokens = {8, 1, 4096}, .scored = 8, .decode = true}};
    flop_count products;
    flop_count attention;
    const auto add = [&](const operation& o, std::size_t) {
        (o.kind == operation_kind::attention ? attention : products) += o.flops;
    };
    for (std::int32_t layer = 0; layer < m.layers.size; ++layer)
        for_each_operation(m.layers[layer], m.hidden, {}, decode, alone, add);
    for_each_head_operation(m, {}, decode, alone, add);

    const flop_count rule = rules::generation(tokens(8), count_parameters(m));
    const std::int64_t looked_up = m.vocabulary * m.hidden;           // the embedding
    const std::int64_t vectors = (2 * m.layers.size + 1) * m.hidden;  // norms
    CHECK(products == rules::generation(tokens(8), count_parameters(m) - parameters(looked_up + vectors)));
    // Attention over 4096 tokens: 2 (queries with keys, probabilities with values) x 2 x 4096 x 8192 a layer and token.
    CHECK(attention.in(flops) == doctest::Approx(8.0 * 80 * 4.0 * 4096 * 8192));
    CHECK((rule - products) < attention);
    CHECK(ratio(products + attention, rule) == doctest::Approx(1.0742).epsilon(0.001));
}
