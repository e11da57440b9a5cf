// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

using namespace llmres;

namespace {

byte_count cache_of(const job& j, const cluster& c) {
    const memory_breakdown m = memory_of(j, {}, c);
    return m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
}

}  // namespace

TEST_CASE("no engine has a cache for an encoder, and none generates with it") {
    const cluster c{.gpu = gpus::h100_sxm5_80gb};
    int planned = 0;
    for (const model* m : models::all) {
        if (m->head.kind != head_kind::encoder) continue;
        for (const runtime* r : runtimes::all) {
            job j{.model = *m, .batch = 16, .context = tokens(64), .runtime = *r};
            const result<job_plan> p = plan(j, {}, c);
            if (!p) continue;
            CAPTURE(m->name.view());
            CAPTURE(r->identity.name.view());
            ++planned;
            CHECK(p->memory[memory_term::kv_cache].high == byte_count{});
            CHECK(p->memory[memory_term::logits].high == byte_count{});
            CHECK(p->speed.step.total().high == duration{});
            CHECK(p->speed.tokens_per_second > token_rate{});
            CHECK(p->speed.prefill.total().expected > duration{});
            j.prompt = tokens(32);
            j.output = tokens(8);
            const result<job_plan> generating = plan(j, {}, c);
            REQUIRE_FALSE(generating);
            CHECK(generating.error().field == "output");
        }
    }
    CHECK(planned > 100);
}

TEST_CASE("a decoder that embeds texts has the keys and values of a step's texts in a pool, whatever the batch") {
    const cluster c{.gpu = gpus::rtx_4090};
    const job one{
        .model = models::qwen3_embedding_0_6b, .batch = 1, .context = tokens(8192), .runtime = runtimes::vllm};
    job many = one;
    many.batch = 32;
    CHECK(cache_of(one, c) == kv_cache_bytes(one.model, bf16, tokens(8192)));
    CHECK(cache_of(many, c) == cache_of(one, c));
    CHECK(plan(many, {}, c)->verdict == verdict::fits);
    many.max_batched_tokens = tokens(4 * 8192);
    CHECK(cache_of(many, c) == cache_of(one, c) * 4);
    // A pool that has no room for one text refuses to start.
    job small = one;
    small.options.cache_bytes = cache_of(one, c) - bytes(1);
    CHECK(plan(small, {}, c)->verdict == verdict::does_not_fit);
    // Where caches grow none is kept; llama.cpp allots cells for all slots.
    many.max_batched_tokens = {};
    many.runtime = runtimes::transformers;
    CHECK(cache_of(many, c) == byte_count{});
    // The same decoder with its head keeps a cache for each sequence.
    job generating = one;
    generating.batch = 32;
    generating.model.head.kind = head_kind::next_token;
    CHECK(cache_of(generating, c) == cache_of(one, c) * 32);
}
