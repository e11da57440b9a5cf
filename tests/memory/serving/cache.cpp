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

TEST_CASE(
    "a model that embeds keeps the texts of a step, all slots' cells, or nothing; one that writes all sequences") {
    job j = of_context(100);
    runtime r;
    r.cache.pool = cache_pool::share_of_total;
    r.step.max_batched_tokens = tokens(350);
    CHECK(cached_sequences_of(j, r, 8) == 8);
    j.model.head.kind = head_kind::pooled;
    CHECK(cached_sequences_of(j, r, 8) == 3);
    CHECK(cached_sequences_of(j, r, 2) == 2);
    r.step.max_batched_tokens = tokens(250);
    CHECK(cached_sequences_of(j, r, 8) == 2);
    r.step.max_batched_tokens = tokens(50);
    CHECK(cached_sequences_of(j, r, 8) == 1);
    r.cache.pool = cache_pool::allotted;
    CHECK(cached_sequences_of(j, r, 8) == 8);
    r.cache.pool = cache_pool::grows;
    CHECK(cached_sequences_of(j, r, 8) == 0);
}

TEST_CASE("a prefix is shared by two sequences or more, as far as it goes beyond what is dropped") {
    job j = of_context(100);
    j.shared_prefix = tokens(70);
    runtime r;
    r.cache.shares_prefixes = true;
    CHECK(tokens_of_sequences(j, r, 0) == token_count{});
    CHECK(tokens_of_sequences(j, r, 1) == tokens(100));
    CHECK(tokens_of_sequences(j, r, 2) == tokens(200 - 70));
    CHECK(tokens_of_sequences(j, r, 3) == tokens(300 - 140));
    CHECK(shared_tokens(j, r, tokens(30), {}) == token_count{});
    CHECK(shared_tokens(j, r, tokens(31), {}) == tokens(1));
    // Ranks that split sequences share none: what is ideal is each one's half.
    r.cache.pool = cache_pool::share_of_total;
    const byte_count token = bytes(2 * 2 * 2 * 64);
    CHECK(layer_cache(grouped_attention, j, r, {}, 3).ideal == token * (300 - 140));
    CHECK(layer_cache(grouped_attention, j, r, {.context_parallel = 2}, 3).ideal == token * 150);
    // Of no sequences there is nothing, whatever they would share.
    CHECK(layer_cache(grouped_attention, j, r, {}, 0).ideal == byte_count{});
    CHECK(layer_cache(grouped_attention, j, r, {}, 0).allocated == byte_count{});
}

TEST_CASE("a cache that keeps prompt or output keeps the longer of both") {
    job j = of_context(400);
    runtime r;
    r.cache.windows = window_cells::longer_part;
    for (const std::int64_t prompt : {100, 300}) {
        j.prompt = tokens(prompt);
        j.output = tokens(400 - prompt);
        CHECK(allotted_tokens(grouped_attention, j, r, {}, 2) == tokens(2 * 300));
    }
}

TEST_CASE("caches that lie apart have a window's cells beside a step's tokens for each slot, the context at most") {
    attention sliding = grouped_attention;
    sliding.window = tokens(32);
    runtime r;
    r.cache.pool = cache_pool::allotted;
    r.cache.windows = window_cells::window_batch;
    r.cache.slots = slot_cells::apart;
    r.step.max_batched_tokens = tokens(50);
    r.step.max_num_seqs = 4;
    const job j = of_context(1000);
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(4 * (32 + 50)));
    CHECK(allotted_tokens(sliding, of_context(60), r, {}, 2) == tokens(4 * 60));
    r.cache.block = tokens(16);
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == tokens(4 * 96));
    CHECK(allotted_tokens(grouped_attention, j, r, {}, 2) == tokens(4 * 1008 - 4 * 8));
    // A layer whose window is the context has no step beside it.
    sliding.window = tokens(1000);
    CHECK(allotted_tokens(sliding, j, r, {}, 2) == allotted_tokens(grouped_attention, j, r, {}, 2));
}

TEST_CASE("sparse attention's 8-bit latents: a scale for 128 values, rotated keys in 16 bits; 656 bytes of 512 + 64") {
    runtime r;
    r.serving_kernels.latent.scaled = scaled_latents::anywhere;
    job j = of_context(100);
    j.kv_cache = fp8_e4m3;
    attention latent{.kind = attention_kind::latent, .heads = 4, .head_dim = 8, .kv_rank = 512, .rope_dim = 64};
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(512 + 64));
    latent.indexer.heads = 1;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(656));
    latent.indexer.heads = 64;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(656));
    latent.kv_rank = 513;  // of one value more a scale more
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(656 + 1 + 4));
    latent.kv_rank = 128;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(128 + 4 + 128));
    latent.kv_rank = 257;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(257 + 12 + 128));
    j.kv_cache = bf16;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(2 * (257 + 64)));
    // Compressed attention has a scale for 64 values, and a byte.
    j.kv_cache = fp8_e4m3;
    attention wide = compressed(4);
    wide.head_dim = 64 + wide.rope_dim;
    CHECK(token_in_cache(wide, j, r, {}) == bytes_a_token(64 + 2 * wide.rope_dim + 1 + 1));
    wide.head_dim = 65 + wide.rope_dim;
    CHECK(token_in_cache(wide, j, r, {}) == bytes_a_token(65 + 2 * wide.rope_dim + 2 + 1));
    wide.head_dim = 130 + wide.rope_dim;
    CHECK(token_in_cache(wide, j, r, {}) == bytes_a_token(130 + 2 * wide.rope_dim + 3 + 1));
}

TEST_CASE("values of latents that are kept transposed are there once more, without flash attention") {
    runtime r;
    const attention latent{.kind = attention_kind::latent, .heads = 4, .head_dim = 8, .kv_rank = 32, .rope_dim = 6};
    const job j = of_context(100);
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(2 * 38));
    r.cache.transposed_values = true;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(2 * 38 + 2 * 32));
    r.serving_kernels.flash_attention = false;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(2 * 38 + 2 * 32));
    r.serving_kernels.flash_attention = true;
    CHECK(token_in_cache(latent, j, r, {}) == bytes_a_token(2 * 38));
}

TEST_CASE("steps that run at once: one, one a stage, and one that is scheduled meanwhile where there is one stage") {
    runtime r;
    const job j = of_context(100);
    const auto steps = [&](std::int32_t stages) { return steps_at_once(j, r, {.pipeline = stages}); };
    r.cache.in_flight = steps_in_flight::one;
    CHECK(steps(1) == 1);
    CHECK(steps(4) == 1);
    r.cache.in_flight = steps_in_flight::stages;
    CHECK(steps(1) == 1);
    CHECK(steps(4) == 4);
    r.cache.in_flight = steps_in_flight::stages_ahead;
    CHECK(steps(1) == 2);
    REQUIRE_FALSE(is_scored_plainly(j, r));
    CHECK(steps(2) == 2);
    CHECK(steps(4) == 4);
    r.step.max_batched_tokens = tokens(50);
    CHECK(tokens_in_flight(j, r, {}) == tokens(100));
    CHECK(tokens_in_flight(j, r, {.pipeline = 4}) == tokens(200));
}

TEST_CASE("an indexer's keys are shared with the prefix, in whole blocks") {
    runtime r;
    r.cache.pool = cache_pool::share_of_total;
    r.cache.block = tokens(16);
    r.cache.shares_prefixes = true;
    job j = of_context(96);
    j.shared_prefix = tokens(70);
    attention a = grouped_attention;
    a.indexer.heads = 2;
    a.indexer.head_dim = 24;
    const bytes_per_token index = indexer_bytes_per_token(a);
    REQUIRE(index > bytes_per_token{});
    const auto more = [&](std::int64_t sequences) {
        return layer_cache(a, j, r, {}, sequences).allocated -
               layer_cache(grouped_attention, j, r, {}, sequences).allocated;
    };
    CHECK(more(1) == index * tokens(96));
    CHECK(more(3) == index * tokens(3 * 96 - 2 * 64));
}

TEST_CASE("vLLM's convolution keeps an input for each token that is drafted, llama.cpp's does not") {
    const recurrent mamba{
        .kind = recurrent_kind::mamba2, .heads = 8, .head_dim = 16, .key_heads = 2, .state = 32, .kernel = 4};
    runtime r;
    job j = of_context(100);
    j.options.draft_tokens = 3;
    const auto state = [&](state_cells cells) {
        r.cache.states = cells;
        return layer_state(mamba, j, r, {}, 1);
    };
    recurrent longer = mamba;
    longer.kernel = 4 + 3;
    CHECK(state(state_cells::published) == recurrent_state_bytes(longer, {bf16, bf16}, 1));
    CHECK(state(state_cells::wide) == recurrent_state_bytes(mamba, {fp32, fp32}, 1));
    CHECK(state(state_cells::mixed) == recurrent_state_bytes(mamba, {fp32, bf16}, 1));
    recurrent without = mamba;
    without.kernel = 0;
    r.cache.states = state_cells::published;
    CHECK(layer_state(without, j, r, {}, 1) == recurrent_state_bytes(without, {bf16, bf16}, 1));
    recurrent one = mamba;
    one.kernel = 1;
    recurrent four = mamba;
    four.kernel = 4;
    CHECK(layer_state(one, j, r, {}, 1) == recurrent_state_bytes(four, {bf16, bf16}, 1));
}

namespace {

/// Layers that share blocks of 16 tokens: full attention, a window of 32, and others.
struct sharing_layers {
    job j = of_context(1000);
    runtime r;
    layout l{};
    layer full{.attention = grouped_attention}, window = full, mamba = full;

    sharing_layers() {
        r.cache.pool = cache_pool::share_of_total;
        r.cache.windows = window_cells::grouped;
        r.cache.block = tokens(16);
        r.cache.in_flight = steps_in_flight::one;
        r.step.max_batched_tokens = tokens(64);
        window.attention.window = tokens(32);
        mamba.attention.kind = attention_kind::none;
        mamba.recurrent = {
            .kind = recurrent_kind::mamba2, .heads = 8, .head_dim = 16, .key_heads = 2, .state = 32, .kernel = 4};
        j.model.layers = {4, full};
    }
    bool groups() const { return has_groups(j.model, r, l); }
    bool pool() const { return has_block_pool(j.model, r, l); }
};

}  // namespace

TEST_CASE("layers share a pool of groups where some keep a window or a state, and a plain sum is not what they take") {
    sharing_layers p;
    CHECK(p.pool());
    CHECK_FALSE(p.groups());
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, p.window);
    CHECK(p.groups());
    layer reads = p.window;  // another layer's keys and values
    reads.attention.kv = kv_source::shared;
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, reads);
    CHECK_FALSE(p.groups());
    layer none = p.window;
    none.attention.kind = attention_kind::none;
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, none);
    CHECK_FALSE(p.groups());
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, p.mamba);
    CHECK(p.groups());
    CHECK(has_attention(p.j.model));
    p.j.model.layers = {2, p.mamba};
    CHECK_FALSE(has_attention(p.j.model));
    p.l.context_parallel = 2;
    CHECK_FALSE(p.groups());
    p.l = {};
    p.r.cache.windows = window_cells::window;
    CHECK_FALSE(p.groups());
    p.r.cache.windows = window_cells::grouped;
    layer latent = p.full;
    latent.attention = {.kind = attention_kind::latent, .heads = 4, .head_dim = 8, .kv_rank = 32, .rope_dim = 6};
    p.j.model.layers = {2, latent};
    CHECK(p.pool());
    latent.attention.window = tokens(32);
    p.j.model.layers = {2, latent};
    CHECK_FALSE(p.pool());
    CHECK_FALSE(p.groups());
    p.j.model.layers.kinds[0].attention = compressed(4);
    CHECK_FALSE(p.pool());
}

TEST_CASE("a kind of a pool: what a token adds, its window or chunk; nothing of what attends to another sequence") {
    const sharing_layers p;
    const auto kind = [&](const attention& a) { return layer_kind_of(a, 3, p.j, p.r, p.l); };
    CHECK(kind(p.full.attention).layers == 3);
    CHECK(kind(p.full.attention).each == bytes_a_token(2 * 2 * 2 * 64));
    CHECK(kind(p.window.attention).window == tokens(32));
    CHECK(kind(p.window.attention).chunk == token_count{});
    attention chunked = p.window.attention;
    chunked.chunked = true;
    CHECK(kind(chunked).chunk == tokens(32));
    CHECK(kind(chunked).window == token_count{});
    attention other = p.full.attention;
    other.cross = cross_attention::instead;
    CHECK(kind(other).layers == 0);
    other = p.full.attention;
    other.kind = attention_kind::none;
    CHECK(kind(other).layers == 0);
}

TEST_CASE("states that a recurrent layer keeps: one, two, or three of a prompt; one more for each drafted token") {
    sharing_layers p;
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, p.mamba);
    const recurrent mamba2 = p.mamba.recurrent;
    recurrent mamba = mamba2, delta = mamba2, convolution = mamba2;
    mamba.kind = recurrent_kind::mamba;
    delta.kind = recurrent_kind::delta_net;
    convolution.kind = recurrent_kind::short_conv;
    REQUIRE(is_gated_delta(delta));
    const auto kept = [&](const recurrent& r) { return kept_states_of(r, p.j.model, p.r); };
    p.r.cache.kept = kept_states::prompt;
    CHECK(kept(mamba2) == 1);  // no prefix is shared
    p.r.cache.shares_prefixes = true;
    const struct {
        kept_states rule;
        std::int64_t of_mamba2, of_mamba, of_delta, of_convolution;
    } rules[] = {{kept_states::one, 1, 1, 1, 1},
                 {kept_states::each_block, 0, 0, 2, 2},
                 {kept_states::two, 2, 2, 2, 2},
                 {kept_states::scan_prompt, 3, 2, 2, 2},
                 {kept_states::prompt, 3, 2, 3, 2}};
    for (const auto& rule : rules) {
        p.r.cache.kept = rule.rule;
        CHECK(kept(mamba2) == rule.of_mamba2);
        CHECK(kept(mamba) == rule.of_mamba);
        CHECK(kept(delta) == rule.of_delta);
        CHECK(kept(convolution) == rule.of_convolution);
        p.j.options.draft_tokens = 4;
        CHECK(states_of(mamba2, p.j, p.r) == (rule.of_mamba2 > 0 ? rule.of_mamba2 + 4 : 0));
        CHECK(states_of(delta, p.j, p.r) == rule.of_delta + 4);
        p.j.options.draft_tokens = 0;
        CHECK(states_of(delta, p.j, p.r) == rule.of_delta);
    }
    // Blocks: of 64 tokens where a state is written within a prompt, or an indexer picks tokens; of whole chunks of the
    // scan where each block has a state.
    const auto block = [&] { return block_of(p.j.model, p.r); };
    p.r.cache.kept = kept_states::one;
    CHECK(block() == tokens(16));
    p.r.cache.kept = kept_states::each_block;
    p.j.model.layers.kinds[1].recurrent.chunk = 256;
    CHECK(block() == tokens(256));
    p.r.cache.block = tokens(48);
    CHECK(block() == tokens(768));
    p.j.model.layers.kinds[1].recurrent = mamba;
    CHECK(block() == tokens(48 * 128));  // of 2,048
    p.r.cache.block = tokens(48);
    p.j.model.layers.kinds[1].recurrent = delta;
    CHECK(block() == tokens(48));
    p.r.cache.kept = kept_states::prompt;
    CHECK(block() == tokens(64));
    for (const std::int32_t heads : {1, 8}) {
        p.j.model.layers = {2, p.full};
        p.j.model.layers.kinds[0].attention.indexer.heads = heads;
        CHECK(block() == tokens(64));
    }
    // A model without attention shares no prefix.
    p.j.model.layers = {2, p.mamba};
    CHECK(kept(mamba2) == 1);
}

TEST_CASE("what drafts tokens shares the last stage's blocks: predicting layers, and a draft model's") {
    sharing_layers p;
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, p.window);
    const kind_counts counts = p.j.model.layers.counts();
    const auto here = [&](std::int32_t stage) { return cached_layers_of(p.j, p.l, stage, counts); };
    const auto pool = [&] { return block_pool_of(here(p.l.pipeline - 1), p.j, p.r, p.l); };
    CHECK(here(0).predictions == 0);
    CHECK(here(0).drafting == 0);
    CHECK(pool().count == 2);
    p.j.model.prediction = {.layers = 3, .block = p.full};
    CHECK(here(0).predictions == 0);  // nothing is drafted
    p.j.options.speculates_ahead = true;
    CHECK(here(0).predictions == 3);
    CHECK(pool().kinds[0].layers == 2 + 3);
    p.j.options.draft.layers = 5;
    CHECK(here(0).drafting == 0);
    p.j.options.draft_weights = gib(1);
    p.j.options.draft_kv = bytes_a_token(5 * 2000);
    CHECK(here(0).drafting == 5);
    CHECK(pool().count == 3);
    CHECK(pool().kinds[2].layers == 5);
    CHECK(pool().kinds[2].each == bytes_a_token(2000));
    p.l = {.tensor = 4, .pipeline = 2};
    CHECK(here(0).predictions == 0);
    CHECK(here(0).drafting == 0);
    CHECK(here(1).predictions == 3);
    CHECK(here(1).drafting == 5);
    CHECK(drafting_kind(5, p.j, p.l).each == bytes_a_token(500));
    CHECK(drafting_kind(1, p.j, p.l).each == bytes_a_token(2500));
    CHECK(drafting_kind(0, p.j, p.l).layers == 0);
}

TEST_CASE("blocks that sequences have together: those of their common beginning once, where no window has left them") {
    sharing_layers p;
    p.j.model.layers = layer_stack{}.then(2, p.full).then(2, p.window);
    p.r.cache.shares_prefixes = true;
    p.j.shared_prefix = tokens(160);
    const shared_blocks shared{p.j, p.r, p.l};
    REQUIRE(shared.pool.count == 2);
    const layer_kind full = shared.pool.kinds[0], window = shared.pool.kinds[1];
    // 63 blocks of 16 tokens; a window of 32 less one and 64 in flight: six blocks, and one.
    CHECK(shared.of_group(full, 1) == 63);
    CHECK(shared.of_group(full, 3) == 3 * 63 - 2 * 10);
    CHECK(shared.of_group(full, 0) == 0);
    CHECK(shared.of_group(full, -1) == 0);
    CHECK(shared.of_group(window, 1) == 7);
    CHECK(shared.of_group(window, 3) == 3 * 7);  // 56 blocks of each are left
    // A prefix of 60 blocks: four of them are among the last seven.
    p.j.shared_prefix = tokens(16 * 60);
    const shared_blocks more{p.j, p.r, p.l};
    CHECK(more.of_group(window, 3) == 3 * 7 - 2 * 4);
    CHECK(more.together(window, 2, 8) == 2 * 8 - 5);
    CHECK(more.together(window, 2, 100) == 200 - 60);
    p.j.shared_prefix = tokens(16 * 57);
    CHECK(shared_blocks{p.j, p.r, p.l}.of_group(window, 3) == 3 * 7 - 2);
    // A layer's part of a pool, and all of it: pages are 16 tokens of two heads.
    const byte_count page = bytes(16 * 2 * 2 * 2 * 64);
    CHECK(shared.of_layer(full, 3) == page * (3 * 63 - 20));
    CHECK(shared.of_layer({}, 3) == byte_count{});
    CHECK(shared.of_layer({.layers = 2, .state = kib(1)}, 3) == byte_count{});
    CHECK(shared.of(shared.pool, 3) == page * 2 * (3 * 63 - 20 + 21));
    CHECK(shared.layers_of_block(shared.pool) == 2);
    CHECK(shared.layers_of_block({}) == 0);
    CHECK(shared.block_on(shared.pool) == page * 2);
    // One kind alone is uniform: a block has all of its layers.
    p.j.model.layers = {4, p.full};
    const shared_blocks alike{p.j, p.r, p.l};
    block_pool half = alike.pool;
    half.kinds[0].layers = 3;
    CHECK(alike.block_on(alike.pool) == page * 4);
    CHECK(alike.block_on(half) == page * 3);
    CHECK(alike.of(half, 1) == page * 3 * 63);
}

TEST_CASE("compressed attention's pages: those of the window, of what fills the next entry, and of entries") {
    const runtime r = runtimes::vllm_v2_23;
    job j = of_context(10'000);
    j.max_batched_tokens = tokens(512);
    const layout one{};
    const std::int64_t at_once = steps_at_once(j, r, one);
    const auto aligned = [](std::int64_t size, std::int64_t by) { return (size + by - 1) / by * by; };
    // Ratio 0: the window alone, in pages of 64 keys of 16 bits, 512 values each.
    const attention window = compressed(0);
    const std::int64_t key = 2 * window.head_dim, page = aligned(64 * key, 512);
    const auto pages = [&](std::int64_t tokens_of, std::int64_t block) {
        const std::int64_t most = tokens_of + 512 * at_once - 1;
        return (most + block - 1) / block + 1;
    };
    CHECK(compressed_pages(window, j, r, one).in(bytes) == page * pages(window.window.in(tokens), 64));
    // Each entry is of a token: 256 of them in a page.
    attention each = compressed(4);
    each.compressed.ratio = 1;
    each.indexer = {};
    const std::int64_t state = 8 * each.compressed.windows * each.head_dim;
    const std::int64_t block = 32768 / state > 0 ? 32768 / state : 1;
    const std::int64_t own = aligned(block * state, 512);
    CHECK(compressed_pages(each, j, r, one).in(bytes) ==
          page * pages(each.window.in(tokens), 64) + aligned(256 * key, 512) * 40 +
              (own > page ? own : page) * pages(each.compressed.windows, block));
    // Narrow heads, whose page of 32 KiB is larger than one of 64 keys; and wide ones, whose page has one token.
    for (const std::int64_t dim : {128, 8192}) {
        attention other = each;
        other.head_dim = dim;
        other.rope_dim = 64;
        const std::int64_t of_state = 8 * other.compressed.windows * dim;
        const std::int64_t in_page = 32768 / of_state > 0 ? 32768 / of_state : 1;
        const std::int64_t of_keys = aligned(64 * 2 * dim, 512), of_entry = aligned(in_page * of_state, 512);
        CHECK((of_entry > of_keys) == (dim == 128));
        CHECK(compressed_pages(other, j, r, one).in(bytes) ==
              of_keys * pages(other.window.in(tokens), 64) + aligned(256 * 2 * dim, 512) * 40 +
                  (of_entry > of_keys ? of_entry : of_keys) * pages(other.compressed.windows, in_page));
    }
}
