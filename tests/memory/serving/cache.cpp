// SPDX-License-Identifier: MIT
#include <llmres/memory/serving/cache.hpp>

#include <doctest/doctest.h>
#include <llmres/jobs/knobs.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/runtimes/ollama.hpp>
#include <llmres/runtimes/sglang.hpp>
#include <llmres/runtimes/vllm.hpp>

#include <string>

#include "../../compressed_attention.hpp"

using namespace llmres;
using namespace llmres::detail;
using compressed_attention::compressed;

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

TEST_CASE("an engine that allots its cache at start has windows and states for its slots, others for what there is") {
    runtime r;
    r.step.max_num_seqs = 8;
    job j;
    CHECK(slots_of(j, r, 3) == 3);
    r.cache.pool = cache_pool::allotted;
    CHECK(slots_of(j, r, 3) == 8);
    CHECK(slots_of(j, r, 9) == 9);
    j.options.max_num_seqs = 1;
    CHECK(slots_of(j, r, 1) == 1);
    j.options.max_num_seqs = 5;
    CHECK(slots_of(j, r, 3) == 5);
}

TEST_CASE("Ollama starts its server with a context for each slot, and llama.cpp's slots share that of the sequences") {
    for (const runtime* r : runtimes::all_ollama)
        for (const model* m :
             {&models::llama_3_1_8b, &models::gpt_oss_20b, &models::gemma_3_4b, &models::mamba2_2_7b}) {
            INFO(std::string{r->identity.versions.view()} << ", " << std::string{m->name.view()});
            const auto held = [&](std::int64_t parallel, std::int64_t batch) {
                job j{.model = *m, .batch = batch, .context = tokens(8192), .runtime = *r};
                REQUIRE(set_knob(j.runtime, j.options, "num_parallel", static_cast<double>(parallel)));
                const memory_breakdown all = serving_memory(j, {});
                return all[memory_term::kv_cache].expected + all[memory_term::recurrent_state].expected;
            };
            CHECK(held(2, 1) == held(2, 2));
            CHECK(held(4, 1) == held(1, 4));
            CHECK(held(2, 1) > scaled_up(held(1, 1), 1.2));
        }
    job two{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::llama_cpp};
    const byte_count one = serving_memory(two, {})[memory_term::kv_cache].expected;
    two.options.max_num_seqs = 2;
    CHECK(serving_memory(two, {})[memory_term::kv_cache].expected == one);
}

TEST_CASE("two slots of Ollama have the caches and the buffer of a step that it printed") {
    // ollama#16416: gpt-oss-120b on a Radeon 8060S, a context of 131,072, steps of 1,024: 9,306 and 796 MiB.
    job j{.model = models::gpt_oss_120b, .context = tokens(131072), .runtime = runtimes::ollama_0_30};
    j.gguf = find_gguf_mix("weights", "MXFP4_MOE").value();
    j.max_batched_tokens = tokens(1024);
    j.options.max_num_seqs = 2;
    const memory_breakdown m = serving_memory(j, {});
    CHECK(m[memory_term::kv_cache].expected == mib(9306));
    CHECK(ratio(m[memory_term::activations].expected, mib(1)) == doctest::Approx(796).epsilon(0.05));
}

TEST_CASE("a caller bounds a pool in tokens, in blocks, or in both") {
    runtime r;
    job j;
    CHECK(tokens_set(j, r) == token_count{});
    j.options.cache_tokens = tokens(100);
    CHECK(tokens_set(j, r) == tokens(100));
    j.options.cache_blocks = 1;
    CHECK(tokens_set(j, r) == tokens(1));
    r.cache.block = tokens(16);
    CHECK(tokens_set(j, r) == tokens(16));
    j.options.cache_blocks = 10;
    CHECK(tokens_set(j, r) == tokens(100));
    j.options.cache_tokens = {};
    CHECK(tokens_set(j, r) == tokens(160));
}

TEST_CASE("sequences take whole blocks of a pool") {
    runtime r;
    CHECK(tokens_of_sequences(of_context(100), r, 3) == tokens(300));
    r.cache.block = tokens(16);
    CHECK(tokens_of_sequences(of_context(100), r, 3) == tokens(336));
}

TEST_CASE("a caller's cells are the cache of an engine that allots them, and bound one that grows") {
    runtime r;
    job j = of_context(100);
    j.options.cache_tokens = tokens(40);
    r.cache.pool = cache_pool::allotted;
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(40));
    r.cache.pool = cache_pool::grows;
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(120));
    j.options.cache_tokens = tokens(400);
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(300));
    r.cache.pool = cache_pool::share_of_total;
    j.options.cache_tokens = tokens(40);
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(300));
}

TEST_CASE(
    "windows beside the tokens of a step have the caller's, for each slot, where they are less than the context") {
    attention sliding = grouped_attention;
    sliding.window = tokens(32);
    runtime r;
    r.cache.pool = cache_pool::allotted;
    r.cache.windows = window_cells::window_batch;
    r.step.max_batched_tokens = tokens(50);
    job j = of_context(1000);
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(2 * 32 + 50));
    j.max_batched_tokens = tokens(10);
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(2 * 32 + 10));
    r.step.max_num_seqs = 4;
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(4 * 32 + 10));
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 2) == tokens(2000));  // no window
    r.cache.windows = window_cells::window;
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(2 * 32));
    // SGLang's pool of windows is so large a part of the tokens of the others'.
    r.cache.window_part = 0.25;
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(2 * 250));
    r.cache.window_part = 0.01;
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(2 * 32));
    sliding.cross = cross_attention::instead;  // reads another's
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == token_count{});
}

TEST_CASE("latent attention caches one latent, its values once more, or keys and values of all heads") {
    const attention latent{
        .kind = attention_kind::latent, .heads = 4, .head_dim = 8, .kv_rank = 32, .rope_dim = 6, .value_dim = 10};
    runtime r;
    const job j = of_context(100);
    const auto each = [&](const attention& a) { return layer_cache(a, j, r, {}, 1).allocated; };
    CHECK(each(latent) == bytes(2 * 100) * (32 + 6));
    r.cache.latent_values = true;
    CHECK(each(latent) == bytes(2 * 100) * (32 + 6 + 32));
    CHECK(each(grouped_attention) == bytes(2 * 100) * (2 * 2 * 64));
    r.cache.expands_latent = true;
    CHECK(each(latent) == bytes(2 * 100) * 4 * (8 + 6 + 10));
    CHECK(each(grouped_attention) == bytes(2 * 100) * (2 * 2 * 64));
}

TEST_CASE("keys and values may have formats of their own; what an engine allots beyond the context is not ideal") {
    job j = of_context(100);
    j.kv_cache = int8;
    runtime r;
    r.cache.pool = cache_pool::share_of_total;
    r.cache.block = tokens(16);
    CHECK(layer_cache(grouped_attention, j, r, {}, 1).ideal == bytes(100 * 2 * 2 * 64));
    CHECK(layer_cache(grouped_attention, j, r, {}, 1).allocated == bytes(112 * 2 * 2 * 64));
    j.kv_cache_values = fp16;
    CHECK(layer_cache(grouped_attention, j, r, {}, 1).ideal == bytes(100 * 2 * 64 * (1 + 2)));
}

TEST_CASE("a recurrent layer has a state for each slot, its convolution in the format of activations or in fp32") {
    const recurrent& mamba = models::codestral_mamba_7b.layers.kinds[0].recurrent;
    REQUIRE(mamba.kind != recurrent_kind::none);
    runtime r;
    const job j = of_context(100);
    const byte_count narrow = layer_state(mamba, j, r, {}, 1);
    CHECK(layer_state(mamba, j, r, {}, 3) == narrow * 3);
    CHECK(layer_state({}, j, r, {}, 3) == byte_count{});
    r.cache.states = state_cells::published;
    CHECK(layer_state(mamba, j, r, {}, 1) == recurrent_state_bytes(mamba, {bf16, bf16}, 1));
    recurrent wide = mamba;
    wide.fp32_state = true;
    CHECK(layer_state(wide, j, r, {}, 1) == narrow);
    r.cache.states = state_cells::wide;
    CHECK(layer_state(mamba, j, r, {}, 1) > narrow);
    CHECK(layer_state(mamba, j, r, {}, 1) == recurrent_state_bytes(mamba, {fp32, fp32}, 1));
}

TEST_CASE(
    "tokens that all sequences begin with are in the cache once, in whole blocks, where the runtime shares them") {
    runtime r;
    r.cache.pool = cache_pool::share_of_total;
    r.cache.block = tokens(16);
    job j = of_context(100);
    j.shared_prefix = tokens(70);
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(3 * 112));
    r.cache.shares_prefixes = true;
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(3 * 112 - 2 * 64));
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 1) == tokens(112));
    CHECK(tokens_of_sequences(j, r, 3) == tokens(3 * 112 - 2 * 64));
    CHECK(allotted_tokens(grouped_attention, j, r, {.context_parallel = 2}, 3) == tokens(3 * 64));
    const allotment held = layer_cache(grouped_attention, j, r, {}, 3);
    CHECK(held.ideal == bytes(2 * 2 * 2 * 64) * (3 * 100 - 2 * 70));

    // A window of 40 tokens keeps the last 10 of the prefix, which fill no block.
    attention sliding = grouped_attention;
    sliding.window = tokens(40);
    CHECK(allotted_tokens(sliding, j, r, {}, 3) == tokens(3 * 48));
    sliding.window = tokens(60);
    CHECK(allotted_tokens(sliding, j, r, {}, 3) == tokens(3 * 64 - 2 * 16));

    r.cache.pool = cache_pool::allotted;
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 3) == tokens(304));
    j.model = models::codestral_mamba_7b;  // states are a sequence's own
    CHECK(shared_tokens(j, r, tokens(100), {}) == token_count{});
}

TEST_CASE("compressed attention keeps window, entries, the indexer's keys and what fills the next entry") {
    job j = of_context(10'000);
    // 128 + 2,500 keys, indexer keys for 10,000 tokens of 33 bytes, and states of 81,920 bytes, of each sequence
    const auto of = [](std::int64_t key) { return bytes(3 * ((128 + 2500) * key + 10'000 * 33 + 81'920)); };
    for (const runtime* r : {&runtimes::sglang, &runtimes::sglang_0_5_2, &runtimes::vllm}) {
        CHECK(layer_cache(compressed(4), j, *r, {}, 3).ideal == of(1024));
        if (r != &runtimes::vllm) CHECK(layer_cache(compressed(4), j, *r, {}, 3).allocated == of(1024));
    }
    // In 8 bits: 448 values, 64 rotated ones in 16 bits, seven scales and a byte of padding
    j.kv_cache = fp8_e4m3;
    CHECK(token_in_cache(compressed(4), j, runtimes::vllm, {}) == bytes_a_token(584));
    CHECK(layer_cache(compressed(4), j, runtimes::sglang, {.tensor = 4}, 3).ideal == of(584));
}

TEST_CASE("a page holds a token at least, however wide the heads of compressed attention are") {
    attention wide = compressed(4);
    wide.head_dim = 65'536;
    const allotment held = layer_cache(wide, of_context(10'000), runtimes::vllm, {}, 1);
    CHECK(held.allocated >= held.ideal);
}

TEST_CASE("vLLM has DeepSeek-V4 Flash in pages as its own planner counts them") {
    // Asked of vLLM 0.23.0's planner on an H100 (tests/validation/vllm): of 20,655 blocks, as large as the widest
    // group's pages (1,002,240 bytes), so many are of one sequence, rounded up.
    const runtime r = runtimes::vllm_v2_23;
    const struct {
        std::int64_t context, step, blocks;
    } asked[] = {{1'048'576, 8192, 7065}, {131'072, 8192, 3481}, {8192, 8192, 2984}, {131'072, 2048, 1270}};
    for (const auto& a : asked) {
        job j = of_context(a.context);
        j.kv_cache = fp8_e4m3;
        j.max_batched_tokens = tokens(a.step);
        byte_count all;
        for (const auto& [ratio, layers] : {std::pair{0, 2}, std::pair{4, 21}, std::pair{128, 20}})
            all += layer_cache(compressed(ratio), j, r, {}, 1).allocated * layers;
        CHECK(ceil_quotient(all.in(bytes), 1'002'240) == a.blocks);
    }
}
