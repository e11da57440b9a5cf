// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/all.hpp>
#include <llmres/models/kv_cache.hpp>

#include "../compressed_attention.hpp"

using namespace llmres;
using compressed_attention::compressed;

TEST_CASE("bytes per token of models that everyone knows") {
    static_assert(kv_bytes_per_token(models::llama_3_1_8b, bf16) == bytes_a_token(131'072));
    static_assert(kv_bytes_per_token(models::llama_2_70b, bf16) == bytes_a_token(327'680));
    static_assert(kv_bytes_per_token(models::deepseek_v3, bf16) == bytes_a_token(70'272));
    CHECK(kv_bytes_per_token(models::llama_2_7b, fp8_e4m3) == bytes_a_token(262'144));
}

TEST_CASE("a block format's scales follow the vector of each head") {
    // A scale, or a scale and a zero, for each head's key and for its value (vLLM's *_per_token_head, LMDeploy's int8).
    CHECK(kv_bytes_per_token(models::llama_3_1_8b, int8_row) == bytes_a_token(32 * 8 * 2 * (128 + 4)));
    CHECK(kv_bytes_per_token(models::llama_3_1_8b, fp8_row) == bytes_a_token(32 * 8 * 2 * (128 + 4)));
    CHECK(kv_bytes_per_token(models::llama_3_1_8b, int4_row) == bytes_a_token(32 * 8 * 2 * (64 + 4)));
    CHECK(kv_bytes_per_token(models::deepseek_v3, int8_row) == bytes_a_token(61 * (576 + 4)));  // one latent
    CHECK(kv_bytes_per_token(models::llama_3_1_8b, q8_0) == bytes_a_token(131'072 / 64 * 34));
    // A head's half bytes and a scale for 16 of them (vLLM's nvfp4_kv_cache_full_dim); the layer's own is no token's.
    CHECK(kv_bytes_per_token(models::llama_3_1_8b, nvfp4) == bytes_a_token(32 * 8 * 2 * (64 + 8)));
    const attention& a = models::llama_3_1_8b.layers[0].attention;
    CHECK(kv_bytes_per_token(a, nvfp4, nvfp4, 1) == bytes_a_token(8 * 2 * (64 + 8)));
}

TEST_CASE("tensor parallelism partitions KV heads, and copies them where there are fewer heads than ranks") {
    constexpr attention a{.heads = 32, .kv_heads = 8, .head_dim = 128};
    CHECK(kv_bytes_per_token(a, bf16, 1) == bytes_a_token(4096));
    CHECK(kv_bytes_per_token(a, bf16, 8) == bytes_a_token(512));
    CHECK(kv_bytes_per_token(a, bf16, 16) == bytes_a_token(512));
}

TEST_CASE("latent attention's cache is never divided") {
    constexpr attention a = models::deepseek_v3.layers[0].attention;
    CHECK(kv_bytes_per_token(a, bf16, 1) == bytes_a_token(1152));
    CHECK(kv_bytes_per_token(a, bf16, 8) == bytes_a_token(1152));
}

TEST_CASE("a window stops a layer's cache from growing") {
    constexpr attention a{.heads = 8, .kv_heads = 8, .head_dim = 64, .window = tokens(100)};
    CHECK(kv_cache_bytes(a, bf16, tokens(50)) == bytes(50 * 2048));
    CHECK(kv_cache_bytes(a, bf16, tokens(100)) == bytes(100 * 2048));
    CHECK(kv_cache_bytes(a, bf16, tokens(100'000)) == bytes(100 * 2048));
}

TEST_CASE("a layer that reads an earlier layer's cache stores nothing") {
    constexpr attention a{.heads = 8, .kv_heads = 8, .head_dim = 64, .kv = kv_source::shared};
    CHECK(kv_cache_bytes(a, bf16, tokens(1000)) == byte_count{});
}

TEST_CASE("cross-attention stores the sequence it reads, whatever the context") {
    constexpr attention beside{.heads = 8, .kv_heads = 8, .head_dim = 64, .cross = cross_attention::beside};
    constexpr attention instead{.heads = 8, .kv_heads = 8, .head_dim = 64, .cross = cross_attention::instead};
    CHECK(kv_cache_bytes(beside, bf16, tokens(10)) == bytes(10 * 2048));
    CHECK(kv_cache_bytes(instead, bf16, tokens(10)) == byte_count{});
    CHECK(cross_cache_bytes(beside, bf16, tokens(1500)) == bytes(1500 * 2048));
    CHECK(cross_cache_bytes(instead, bf16, tokens(1500)) == bytes(1500 * 2048));
    CHECK(cross_cache_bytes({.heads = 8, .kv_heads = 8, .head_dim = 64}, bf16, tokens(1500)) == byte_count{});
}

TEST_CASE("an indexer keeps one key a token, in eight bits with a scale") {
    constexpr attention a{.kind = attention_kind::latent,
                          .heads = 64,
                          .kv_heads = 64,
                          .head_dim = 128,
                          .kv_rank = 512,
                          .rope_dim = 64,
                          .indexer = {.heads = 32, .head_dim = 128}};
    CHECK(indexer_bytes_per_token(a) == bytes_a_token(132));
    CHECK(kv_cache_bytes(a, bf16, tokens(10)) == bytes(10 * (1152 + 132)));
}

TEST_CASE("MiniMax-M3's indexer keeps its keys in 16 bits, every rank all of them") {
    // vLLM's models/minimax_m3/common/indexer.py: MiniMaxM3IndexerCache, indexer_kv_dtype "bf16", 57 of 60 layers
    const model m = find_model("minimax-m3").value();
    CHECK(kv_bytes_per_token(m, bf16) == bytes_a_token(60 * 2 * 4 * 128 * 2 + 57 * 128 * 2));
    CHECK(kv_bytes_per_token(m, fp8_e4m3) == bytes_a_token(60 * 2 * 4 * 128 + 57 * 128 * 2));
}

TEST_CASE("a recurrence's state does not depend on the context") {
    constexpr recurrent r{
        .kind = recurrent_kind::delta_net, .heads = 48, .head_dim = 128, .key_heads = 16, .state = 128, .kernel = 4};
    CHECK(recurrent_state_bytes(r) == bytes(48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 4));
    CHECK(recurrent_state_bytes(r, {.state = fp32, .convolution = bf16}) ==
          bytes(48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2));
    CHECK(recurrent_state_bytes(r, {}, 4) * 4 == recurrent_state_bytes(r));
    CHECK(recurrent_state_bytes(recurrent{}) == byte_count{});
    // One number of a single head, and of the convolution three keys, three queries and three values.
    CHECK(
        recurrent_state_bytes(
            {.kind = recurrent_kind::delta_net, .heads = 1, .head_dim = 1, .key_heads = 1, .state = 1, .kernel = 4}) ==
        bytes(4 + 3 * 3 * 4));
}

TEST_CASE("no model's cache shrinks with context or width of the format") {
    for (const model* m : models::all) {
        byte_count before;
        for (const std::int64_t context : {1, 100, 512, 4096, 5000, 131'072}) {
            const byte_count now = kv_cache_bytes(*m, bf16, tokens(context));
            CHECK(now >= before);
            CHECK(now <= kv_bytes_per_token(*m, bf16) * tokens(context));
            CHECK(kv_cache_bytes(*m, fp8_e4m3, tokens(context)) <= now);
            before = now;
        }
    }
}

TEST_CASE("compressed attention keeps one key for each token of its window and for each entry, on every rank") {
    CHECK(kv_bytes_per_token(compressed(0), bf16) == bytes_a_token(1024));
    CHECK(kv_bytes_per_token(compressed(0), bf16, 8) == bytes_a_token(1024));
    CHECK(kv_bytes_per_token(compressed(4), fp8_e4m3, bf16, 2) == bytes_a_token(512));
    CHECK(kept_tokens(compressed(0), tokens(8192)) == tokens(128));
    CHECK(kept_tokens(compressed(4), tokens(8192)) == tokens(128 + 2048));
    CHECK(kept_tokens(compressed(128), tokens(8192)) == tokens(128 + 64));
    CHECK(kept_tokens(compressed(128), tokens(100)) == tokens(100));  // no entry is complete
    CHECK(compressed_entries(compressed(128), tokens(255)) == tokens(1));
    CHECK(compressed_entries(compressed(0), tokens(8192)) == token_count{});
    attention grouped{.heads = 8, .kv_heads = 1, .head_dim = 512, .window = tokens(128)};
    grouped.compressed.ratio = 4;  // means nothing there
    CHECK(kept_tokens(grouped, tokens(8192)) == tokens(128));
    // An indexer's key of 128 values in 8 bits and a scale, for four tokens
    CHECK(indexer_bytes_per_token(compressed(4)) == bytes_a_token(33));
    CHECK(kv_cache_bytes(compressed(4), bf16, tokens(8192)) == bytes((128 + 2048) * 1024 + 8192 * 33));
}

TEST_CASE("compressed attention keeps the tokens of an entry that is not complete, of two windows where they overlap") {
    // fp32 contents and gates: 8 tokens of 2 x 2 x (512 + 128) values, and 128 tokens of 2 x 512
    CHECK(compressor_state_bytes(compressed(4)) == bytes(4 * 8 * 2 * 2 * (512 + 128)));
    CHECK(compressor_state_bytes(compressed(128)) == bytes(4 * 128 * 2 * 512));
    CHECK(compressor_state_bytes(compressed(0)) == byte_count{});
    CHECK(compressor_state_bytes(attention{.heads = 8, .kv_heads = 8, .head_dim = 64}) == byte_count{});
}
