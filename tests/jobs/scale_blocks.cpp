// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;

namespace {

job serving(const model& m, const precision& weights, const runtime& r = runtimes::vllm) {
    job j{.model = m, .context = tokens(4096), .runtime = r};
    j.weights = weights;
    return j;
}

}  // namespace

TEST_CASE("tensor ranks that cut a block of fp8 are those that vLLM and SGLang refuse") {
    for (const runtime* r : {&runtimes::vllm, &runtimes::vllm_v1_9, &runtimes::sglang, &runtimes::sglang_0_4}) {
        const job small = serving(models::qwen3_30b_a3b, fp8_block, *r);  // experts of 768 features
        CHECK(cut_blocks_of(small, {.tensor = 2}).what.empty());
        const cut_blocks four = cut_blocks_of(small, {.tensor = 4});  // 192 of them
        CHECK(four.what == "features of an expert");
        CHECK(four.size == 768);
        CHECK(four.block == 128);
        CHECK_FALSE(four.may_be_padded);
        const job large = serving(models::qwen3_235b_a22b, fp8_block, *r);  // of 1,536
        CHECK(cut_blocks_of(large, {.tensor = 4}).what.empty());
        CHECK(cut_blocks_of(large, {.tensor = 8}).size == 1536);
        CHECK(cut_blocks_of(large, {.tensor = 8, .expert = 8, .expert_tensor = 1}).what.empty());
        const job latent = serving(models::deepseek_v3, fp8_block, *r);  // the first layers have 18,432 features
        CHECK(cut_blocks_of(latent, {.tensor = 16}).what.empty());
        CHECK(cut_blocks_of(latent, {.tensor = 32}).size == 18432);
    }
}

TEST_CASE("such ranks are refused with the block and what it is of; one scale a tensor or a row is cut by none") {
    const status s = detail::validate_ranks(serving(models::qwen3_30b_a3b, fp8_block), {.tensor = 4});
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "layout.tensor");
    CHECK(s.error().value == "4");
    CHECK(
        s.error().expected ==
        "what vllm runs: ranks that leave whole the blocks of 128 that share a scale in fp8_block128, of 768 features "
        "of an expert");
    for (const precision* one : {&fp8_tensor, &fp8_channel, &fp8_e4m3, &bf16, &nvfp4})
        CHECK(detail::validate_ranks(serving(models::qwen3_30b_a3b, *one), {.tensor = 4}));
    CHECK(detail::validate_ranks(serving(models::qwen3_30b_a3b, fp8_block, runtimes::pytorch), {.tensor = 4}));
    CHECK(detail::validate_ranks(serving(models::qwen3_30b_a3b, fp8_block, no_runtime), {.tensor = 4}));
}

TEST_CASE("groups of AWQ and GPTQ are cut along the inputs; a checkpoint that is not at hand may be padded") {
    for (const precision& format : {awq(4, 128), gptq(4, 128), packed_int(4, 128)}) {
        const job named = serving(models::qwen2_5_72b, format);  // 29,568 features are 231 groups
        CHECK(cut_blocks_of(named, {.tensor = 2}).may_be_padded);
        CHECK(cut_blocks_of(named, {.tensor = 2}).size == 29568);
        CHECK(detail::validate_ranks(named, {.tensor = 2}));

        job at_hand = named;
        at_hand.model.weights = format;
        at_hand.weights = {};
        CHECK_FALSE(detail::validate_ranks(at_hand, {.tensor = 2}));
        for (layer& kind : at_hand.model.layers.kinds)
            if (kind.feed_forward.width > 0) kind.feed_forward.width = 29696;
        for (const std::int32_t ranks : {2, 4, 8}) CHECK(detail::validate_ranks(at_hand, {.tensor = ranks}));
        CHECK(cut_blocks_of(serving(models::llama_3_1_70b, format), {.tensor = 8}).what.empty());
    }
    CHECK(cut_blocks_of(serving(models::qwen2_5_72b, awq(4, 64)), {.tensor = 2}).what.empty());
    CHECK(cut_blocks_of(serving(models::deepseek_v2_lite, awq(4, 128)), {.tensor = 2}).what.empty());  // 10,944
    CHECK(cut_blocks_of(serving(models::qwen2_5_72b, gptq(4, -1)), {.tensor = 2}).what.empty());
}

TEST_CASE("groups of routed experts are halved where that makes them whole") {
    CHECK(
        cut_blocks_of(serving(models::qwen3_235b_a22b, gptq(4, 128)), {.tensor = 8}).what.empty());  // 192 are 3 of 64
    CHECK(cut_blocks_of(serving(models::qwen3_30b_a3b, gptq(4, 128)), {.tensor = 4}).what.empty());
}

TEST_CASE("a feed-forward that is no whole number of blocks is cut by any ranks, a projection to heads by none") {
    model odd = models::llama_3_1_8b;
    for (layer& kind : odd.layers.kinds) kind.feed_forward.width = 1000;
    CHECK(cut_blocks_of(serving(odd, fp8_block), {.tensor = 2}).size == 1000);
    model narrow = models::llama_3_1_8b;
    for (layer& kind : narrow.layers.kinds) kind.attention.head_dim = 100;
    CHECK(cut_blocks_of(serving(narrow, fp8_block), {.tensor = 2}).what != "attention heads");
}

TEST_CASE("rows that have a scale of their own, or share one with all, are cut by no ranks") {
    const weight rows{.rows = 256, .columns = 256, .split = weight_split::rows, .quantised = true};
    CHECK(detail::shared_scale(fp8_block, rows, false) == 128);
    CHECK(detail::shared_scale(awq(4, 128), rows, false) == 1);
    CHECK(detail::shared_scale(fp8_tensor, rows, false) == 1);
    CHECK(detail::shared_scale(bf16, rows, false) == 1);
    weight columns = rows;
    columns.split = weight_split::columns;
    CHECK(detail::shared_scale(awq(4, 128), columns, false) == 128);
    CHECK(detail::shared_scale(awq(4, 128), columns, true) == 32);
    CHECK(detail::shared_scale(awq(4, 32), columns, true) == 32);
}

TEST_CASE("blocks are of formats with scales of two values and more: one scale a value cuts nothing") {
    precision pairs = fp8_block;
    for (const std::int32_t size : {1, 2, 128}) {
        pairs.parts[1].rows = pairs.parts[1].columns = size;
        const weight rows{.rows = 256, .columns = 256, .split = weight_split::rows, .quantised = true};
        CHECK(detail::shared_scale(pairs, rows, false) == size);
        CHECK(detail::shared_scale(pairs, rows, true) == (size > 32 ? 32 : size));
    }
    precision one_byte = fp8_block;
    one_byte.parts[1].bytes = 1;
    CHECK(detail::shared_scale(one_byte, {.rows = 256, .columns = 256, .split = weight_split::rows}, false) == 128);
    one_byte.parts[1].bytes = 0;
    CHECK(detail::shared_scale(one_byte, {.rows = 256, .columns = 256, .split = weight_split::rows}, false) == 1);
}

TEST_CASE("groups of 33 are halved to 32 where they may be, of 32 and fewer stay") {
    precision odd = awq(4, 128);
    const weight columns{.rows = 256, .columns = 256, .split = weight_split::columns, .quantised = true};
    for (const std::int32_t size : {16, 32, 33}) {
        odd.parts[1].columns = size;
        CHECK(detail::shared_scale(odd, columns, true) == std::min(size, 32));
    }
}

TEST_CASE("what is of attention are the projections to heads and from them, the first and the last included") {
    for (std::size_t i = 0; i < names_of<weight_role>.size(); ++i) {
        const auto role = static_cast<weight_role>(i);
        CAPTURE(name_of(role));
        CHECK(detail::is_of_attention(role) == attention_linears.contains(role));
    }
}

TEST_CASE("training cuts any block, and so does one rank, a plain format, and a runtime that does not ask") {
    const job four = serving(models::qwen3_30b_a3b, fp8_block);
    REQUIRE_FALSE(cut_blocks_of(four, {.tensor = 4}).what.empty());
    CHECK(cut_blocks_of(four, {}).what.empty());
    job trained = four;
    trained.task = task::pretraining;
    CHECK(cut_blocks_of(trained, {.tensor = 4}).what.empty());
    for (const precision& format : {mxfp4, q4_0, nvfp4, nf4, bf16})  // whose blocks these ranks cut, too
        CHECK(cut_blocks_of(serving(models::qwen3_30b_a3b, format), {.tensor = 64}).what.empty());
}

TEST_CASE("experts that are whole on a rank are cut by none, and a projection from heads is where one to them is not") {
    model odd = models::qwen3_30b_a3b;
    for (layer& kind : odd.layers.kinds) kind.feed_forward.experts.width = 1000;
    CHECK(cut_blocks_of(serving(odd, fp8_block), {.tensor = 2}).size == 1000);
    CHECK(cut_blocks_of(serving(odd, fp8_block), {.tensor = 2, .expert = 2, .expert_tensor = 1}).what.empty());
    model narrow = models::llama_3_1_8b;  // 32 heads of 33 features: 1,056 are no whole number of 128
    for (layer& kind : narrow.layers.kinds) kind.attention.head_dim = 33;
    const cut_blocks cut = cut_blocks_of(serving(narrow, fp8_block), {.tensor = 2});
    CHECK(cut.what == name_of(weight_role::o_proj));
    CHECK(cut.size == 1056);
}
