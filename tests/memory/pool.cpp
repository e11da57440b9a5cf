// SPDX-License-Identifier: MIT
#include <llmres/memory/pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/remedies.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/knobs.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>

using namespace llmres;

namespace {

job served(const char* model, const char* runtime) {
    return {.model = find_model(model).value(), .context = tokens(4096), .runtime = find_runtime(runtime).value()};
}
cluster gpus_of(const char* gpu, std::int32_t count) { return standard_cluster(find_gpu(gpu).value(), count).value(); }
state_blocks blocks_of(const job& j, const layout& l, const cluster& c) {
    return *state_blocks_of(j, l, c, memory_of(j, l, c));
}
bool says_states(const job_plan& p) {
    return std::any_of(p.reasons.begin(), p.reasons.begin() + p.reason_count,
                       [](const reason& r) { return r.code == reason_code::states_exceeded; });
}

}  // namespace

TEST_CASE("a block has the states of a group of layers, in the format that the model asks for") {
    // vLLM 0.27.1 says 108 blocks in 1.74 GiB for a Qwen3.5 of 32 layers: 8 pages of 33 x 65,536 bytes.
    const recurrent narrow{
        .kind = recurrent_kind::delta_net, .heads = 32, .head_dim = 128, .key_heads = 16, .state = 128, .kernel = 4};
    recurrent wide = narrow;
    wide.fp32_state = true;
    const auto with = [&](const recurrent& r, const char* runtime) {
        job j = served("qwen3.5-35b-a3b", runtime);
        layer_stack layers;
        const layer linear{.attention = no_attention, .recurrent = r, .feed_forward = {.width = 1024}};
        const layer full{.attention = {.heads = 16, .kv_heads = 4, .head_dim = 256}, .feed_forward = {.width = 1024}};
        for (int i = 0; i < 32; ++i) layers.append(1, i % 4 == 3 ? full : linear);
        j.model.layers = layers;
        j.options.cache_bytes = bytes(std::int64_t{108} * 8 * 33 * 65536);
        return j;
    };
    const cluster card = gpus_of("rtx-pro-6000", 1);
    const state_blocks published = blocks_of(with(wide, "vllm@0.27.1"), {}, card);
    CHECK(published.each == bytes(8 * 33 * 65536));
    CHECK(published.there.expected == 108);
    CHECK(blocks_of(with(narrow, "vllm@0.27.1"), {}, card).each == bytes(8 * 17 * 65536));
}

TEST_CASE("pools have as many blocks for states as vLLM counted where it did not start with 1,024 sequences") {
    job qwen = served("qwen3.5-27b", "vllm@0.27");  // the same shape as Qwen3.6-27B-FP8
    qwen.weights = find_precision("weights", "fp8_block128").value();
    qwen.runtime.cache.fraction = 0.95;
    const state_blocks one = blocks_of(qwen, {}, gpus_of("h100-sxm5-80gb", 1));
    CHECK(one.needed == 1024);
    CHECK(one.there.low <= 856);
    CHECK(one.there.high >= 856);
    CHECK(one.there.high - one.there.low < 200);
}

TEST_CASE("vLLM does not start where a step may have more sequences than there are blocks, and with fewer it does") {
    const cluster card = gpus_of("h100-sxm5-80gb", 1);
    job j = served("qwen3.5-27b", "vllm");
    j.weights = find_precision("weights", "fp8_block128").value();
    const job_plan refused = plan(j, {}, card).value();
    CHECK(refused.verdict == verdict::does_not_fit);
    CHECK(says_states(refused));
    const remedies found = what_would_help(j, {}, card);
    REQUIRE(found.count > 0);
    CHECK(found.list[0].changes[0].what == change::kind::fewer_step_sequences);

    const state_blocks blocks = blocks_of(j, {}, card);
    CHECK(found.list[0].changes[0].amount == blocks.there.low);
    const auto with = [&](std::int64_t sequences) {
        job changed = j;
        changed.options.max_num_seqs = sequences;
        return plan(changed, {}, card).value();
    };
    CHECK(with(blocks.there.low).verdict == verdict::fits);
    const job_plan unsure = with(blocks.there.expected);
    CHECK(unsure.verdict == verdict::tight);
    CHECK(says_states(unsure));

    job eager = j;
    REQUIRE(set_knob(eager.runtime, eager.options, "enforce_eager", 1));
    CHECK(plan(eager, {}, card)->verdict == verdict::fits);
    for (const char* without : {"vllm@0.19", "sglang", "transformers"}) {
        CAPTURE(without);
        job other = served("qwen3.5-27b", without);
        other.weights = j.weights;
        CHECK_FALSE(state_blocks_of(other, {}, card, memory_of(other, {}, card)));
    }
    const job dense = served("llama-3.1-8b", "vllm");
    CHECK_FALSE(state_blocks_of(dense, {}, card, memory_of(dense, {}, card)));
}

TEST_CASE("a pool is what all else leaves, low where all else is at its upper bound") {
    const cluster card = gpus_of("h100-sxm5-80gb", 1);
    for (const char* runtime : {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}) {
        CAPTURE(runtime);
        const job j = served("llama-3.1-8b", runtime);
        const memory_breakdown m = memory_of(j, {}, card);
        const interval<byte_count> pool = pool_memory_of(j, {}, card, m);
        CHECK(pool.low <= pool.expected);
        CHECK(pool.expected <= pool.high);
        CHECK(pool.high + m[memory_term::weights].low < usable_memory(card.gpu));
        CHECK(pool == cache_pool_of(j, {}, card)->memory);
    }
}

TEST_CASE("a pool is what all else leaves of its part: of the whole, of what is free, or beside weights") {
    runtime r;
    r.cache.fraction = 0.5;
    // Of 1,000 bytes 900 are free: a context of 10, graphs of 20, communicators of 30, weights of 100, and 40.
    const auto pool = [&](cache_pool of, bool deducted = false) {
        r.cache.pool = of;
        r.cache.graphs_deducted = deducted;
        return detail::pool_bytes(r, bytes(1000), bytes(900), bytes(10), bytes(20), bytes(30), bytes(100), bytes(40));
    };
    CHECK(pool(cache_pool::share_of_total) == bytes(500 - 100 - 40 - 30));
    CHECK(pool(cache_pool::share_of_total, true) == bytes(500 - 100 - 40 - 30 - 20));
    CHECK(pool(cache_pool::share_with_weights) == bytes((900 - 10 - 30) / 2 - 100));
    for (const cache_pool of : {cache_pool::share_of_free, cache_pool::grows, cache_pool::allotted})
        CHECK(pool(of) == bytes((900 - 10 - 30 - 100 - 40 - 20) / 2));
    r.cache.fraction = 0.1;
    CHECK(pool(cache_pool::share_of_total) == byte_count{});
    r.cache.fraction = {};
    CHECK(pool(cache_pool::share_of_free) == bytes(700));
}
