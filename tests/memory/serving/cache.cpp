// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/cache.hpp>

#include <doctest/doctest.h>

using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr attention grouped_attention{.heads = 8, .kv_heads = 2, .head_dim = 64};

job of_context(std::int64_t context) {
    job j;
    j.context = tokens(context);
    return j;
}

}  // namespace

TEST_CASE("a pool rounds each sequence up to its blocks, an allotted cache all of them at once") {
    runtime pooled;
    pooled.cache.pool = cache_pool::share_of_total;
    pooled.cache.block = tokens(16);
    CHECK(allotted_tokens(grouped_attention, of_context(100), pooled, {}, 3) == tokens(3 * 112));
    runtime allotted = pooled;
    allotted.cache.pool = cache_pool::allotted;
    CHECK(allotted_tokens(grouped_attention, of_context(100), allotted, {}, 3) == tokens(304));
    allotted.cache.block = {};
    CHECK(allotted_tokens(grouped_attention, of_context(100), allotted, {}, 3) == tokens(300));
}

TEST_CASE("a window is kept alone, unless the engine allots the whole context to every layer") {
    attention sliding = grouped_attention;
    sliding.window = tokens(32);
    runtime r;
    r.cache.pool = cache_pool::allotted;
    r.cache.windows = window_cells::window;
    CHECK(allotted_tokens(sliding, of_context(100), r, {}, 2) == tokens(64));
    r.cache.windows = window_cells::whole;
    CHECK(allotted_tokens(sliding, of_context(100), r, {}, 2) == tokens(200));
    r.cache.windows = window_cells::window_batch;  // and the batch that is being read
    r.step.max_batched_tokens = tokens(50);
    CHECK(allotted_tokens(sliding, of_context(100), r, {}, 2) == tokens(114));
    r.step.max_batched_tokens = tokens(1000);
    CHECK(allotted_tokens(sliding, of_context(100), r, {}, 2) == tokens(200));
}

TEST_CASE("ranks of a sequence share its tokens, ranks of a layer its heads") {
    runtime r;
    r.cache.pool = cache_pool::allotted;
    const job j = of_context(1000);
    const allotment whole = layer_cache(grouped_attention, j, r, {}, 1);
    CHECK(whole.ideal == bytes(2 * 2 * 64 * 2 * 1000));  // keys and values, heads, width, 16 bits, tokens
    CHECK(whole.allocated == whole.ideal);
    CHECK(layer_cache(grouped_attention, j, r, {.tensor = 2}, 1).ideal * 2 == whole.ideal);
    CHECK(layer_cache(grouped_attention, j, r, {.tensor = 4}, 1).ideal * 2 ==
          whole.ideal);  // two heads, once each at least
    CHECK(layer_cache(grouped_attention, j, r, {.context_parallel = 4}, 1).ideal * 4 == whole.ideal);
    attention none = grouped_attention;
    none.kind = attention_kind::none;
    CHECK(layer_cache(none, j, r, {}, 1).allocated == bytes(0));
}

TEST_CASE(
    "what an engine lets go of a context is no ideal either: AutoAWQ to 0.1 keeps the longer of prompt and output") {
    job j = of_context(400);
    j.prompt = tokens(300);
    j.output = tokens(100);
    runtime r;
    const allotment whole = layer_cache(grouped_attention, j, r, {}, 2);
    CHECK(whole.ideal == bytes(2 * 2 * 2 * 64) * (2 * 400));  // keys and values of two heads, in 16 bits
    r.cache.windows = window_cells::longer_part;
    const allotment part = layer_cache(grouped_attention, j, r, {}, 2);
    CHECK(part.allocated * 4 == whole.allocated * 3);
    CHECK(part.ideal == part.allocated);
}
