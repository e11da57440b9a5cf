// SPDX-License-Identifier: MIT
#include <llmres/memory/block_pool.hpp>

#include <doctest/doctest.h>
#include <llmres/answers/capacity.hpp>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/jobs/knobs.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>

#include <cstdint>
#include <initializer_list>
#include <utility>

using namespace llmres;

namespace {

block_pool pool_of(std::initializer_list<layer_kind> kinds) {
    block_pool pool{.block_tokens = tokens(16)};
    for (const layer_kind& kind : kinds) pool.add(kind);
    return pool;
}

layer_kind full(std::int64_t layers, std::int64_t width) { return {.layers = layers, .each = bytes_a_token(width)}; }
layer_kind windowed(std::int64_t layers, std::int64_t width, std::int64_t window) {
    return {.layers = layers, .each = bytes_a_token(width), .window = tokens(window)};
}

job served(const char* model, const char* runtime, std::int64_t context) {
    return {.model = find_model(model).value(), .context = tokens(context), .runtime = find_runtime(runtime).value()};
}

}  // namespace

TEST_CASE("a pool has the blocks and the concurrency that vLLM 0.26's own planner says") {
    // 20 GiB on an H100, 2 x 8,192 tokens in flight: get_kv_cache_configs() of the published wheel.
    struct {
        const char* model;
        block_pool pool;
        std::int64_t length, blocks;
        double sequences;
    } const seen[] = {
        {"mistral-7b v0.1", pool_of({windowed(32, 4096, 4096)}), 32768, 10240, 7.994},
        {"gemma-3-1b", pool_of({full(4, 1024), windowed(22, 1024, 512)}), 32768, 327680, 39.056},
        {"gemma-3-27b", pool_of({full(10, 8192), windowed(52, 8192, 1024)}), 8192, 16384, 4.564},
        {"gemma-2-9b", pool_of({full(21, 8192), windowed(21, 8192, 4096)}), 8192, 7801, 7.611},
        {"gpt-oss-20b", pool_of({full(12, 2048), windowed(12, 2048, 128)}), 131072, 54613, 5.920},
        {"llama-4-scout", pool_of({full(12, 4096), {.layers = 36, .each = bytes_a_token(4096), .chunk = tokens(8192)}}),
         131072, 27306, 2.133},
        {"phi-3-mini", pool_of({windowed(32, 12288, 2047)}), 4096, 3413, 13.280},
    };
    for (const auto& s : seen) {
        CAPTURE(s.model);
        const std::int64_t blocks = times_in(s.pool.block_size(), gib(20));
        CHECK(blocks == s.blocks);
        const std::int64_t needed = s.pool.blocks_of_sequence(tokens(s.length), tokens(2 * 8192));
        CHECK(static_cast<double>(blocks) / static_cast<double>(needed) == doctest::Approx(s.sequences).epsilon(5e-4));
    }
}

TEST_CASE("layers of a kind are one kind, and groups are as large as pads least") {
    const block_pool merged = pool_of({full(3, 64), windowed(4, 64, 8), full(2, 64), windowed(0, 64, 9), full(4, 0)});
    REQUIRE(merged.count == 2);
    CHECK(merged.kinds[0].layers == 5);
    CHECK(merged.group_layers() == 5);  // 5 is less than half as many again as 4
    CHECK(pool_of({full(4, 64), windowed(6, 64, 8)}).group_layers() == 4);
    CHECK(pool_of({full(13, 64), windowed(12, 64, 8)}).group_layers() == 13);
    const block_pool padded = pool_of({full(10, 64), windowed(52, 64, 8)});
    CHECK(padded.groups_of(padded.kinds[0]) == 1);
    CHECK(padded.groups_of(padded.kinds[1]) == 6);
    CHECK(pool_of({}).groups_of(full(1, 1)) == 0);
    CHECK(pool_of({}).block_size() == byte_count{});
}

TEST_CASE("pages are of one size: narrow layers have more tokens of a block, or pad it") {
    const block_pool doubled = pool_of({full(2, 64), windowed(2, 128, 8)});
    CHECK(doubled.page() == bytes(128 * 16));
    CHECK(doubled.tokens_of_block(doubled.kinds[0]) == tokens(32));
    CHECK(doubled.tokens_of_block(doubled.kinds[1]) == tokens(16));
    const block_pool padded = pool_of({full(2, 96), windowed(2, 128, 8)});
    CHECK(padded.tokens_of_block(padded.kinds[0]) == tokens(16));
    // Qwen3-Next's recurrence keeps 1,097,728 bytes of a sequence, its attention 2,048 of a token: blocks of 544.
    const layer_kind state{.layers = 36, .state = bytes(32 * 128 * 128 * 2 + 8192 * 3 * 2)};
    const block_pool hybrid = pool_of({full(12, 2048), state});
    CHECK(hybrid.tokens_of_block(hybrid.kinds[0]) == tokens(544));
    CHECK(hybrid.blocks_of_group(hybrid.kinds[1], tokens(100'000), tokens(8192)) == 1);
    CHECK(hybrid.blocks_of_sequence(tokens(545), {}) == 2 + 3);
    const block_pool states = pool_of({state});
    CHECK(states.page() == state.state);
    CHECK(states.block_size() == state.state * 36);
}

TEST_CASE("layers that need the same tokens are one group, whatever each has of a token") {
    const block_pool uniform = pool_of({full(2, 96), full(3, 128)});
    CHECK(uniform.is_uniform());
    CHECK(uniform.groups_of(uniform.kinds[1]) == 1);
    CHECK(uniform.block_size() == bytes(16 * (2 * 96 + 3 * 128)));
    CHECK(uniform.blocks_of_sequence(tokens(33), tokens(8192)) == 3);
    CHECK(pool_of({windowed(2, 96, 64), windowed(3, 128, 64)}).is_uniform());
    CHECK_FALSE(pool_of({windowed(2, 96, 64), windowed(3, 128, 65)}).is_uniform());
    CHECK_FALSE(pool_of({full(2, 96), {.layers = 1, .state = bytes(1)}}).is_uniform());
}

TEST_CASE("recurrent layers take a block for each state that they keep of a sequence") {
    layer_kind state{.layers = 8, .state = kib(96)};
    CHECK(pool_of({full(4, 2048), state}).blocks_of_sequence(tokens(48), {}) == 1 + 2);
    state.states = 3;
    CHECK(pool_of({full(4, 2048), state}).blocks_of_sequence(tokens(48), {}) == 1 + 2 * 3);
    CHECK(pool_of({full(4, 2048), state}).widest_block() == tokens(48));
}

TEST_CASE("a window holds one block more than its tokens fill, a chunk none, and neither more than the sequence") {
    const block_pool pool = pool_of({windowed(1, 64, 1024)});
    CHECK(pool.blocks_of_group(windowed(1, 64, 1024), tokens(100'000), tokens(1)) == 64 + 1);
    CHECK(pool.blocks_of_group(windowed(1, 64, 1024), tokens(100'000), tokens(2)) == 65 + 1);
    CHECK(pool.blocks_of_group(windowed(1, 64, 1024), tokens(160), tokens(8192)) == 10 + 1);
    const layer_kind chunked{.layers = 1, .each = bytes_a_token(64), .chunk = tokens(1024)};
    CHECK(pool.blocks_of_group(chunked, tokens(100'000), tokens(16)) == 65);
    CHECK(pool.blocks_of_group(chunked, tokens(160), tokens(16)) == 10);
    CHECK(pool.blocks_of_group(full(1, 64), tokens(161), tokens(8192)) == 11);
}

TEST_CASE("windows of Gemma 4 31B keep the tokens of every step in flight since vLLM 0.26, of one before") {
    // Blocks of ten layers' 256 KiB: the issue's own count (vllm#49878).
    const cluster card = standard_cluster(find_gpu("rtx-pro-6000").value(), 1).value();
    const auto needed = [&](const char* runtime) {
        job j = served("gemma-4-31b", runtime, 262144);
        j.max_batched_tokens = tokens(32768);
        return memory_of(j, {}, card)[memory_term::kv_cache].expected;
    };
    CHECK(needed("vllm@0.25.1") == kib(2560) * (8192 + 5 * 2113));
    CHECK(needed("vllm@0.26.0") == kib(2560) * (8192 + 5 * 4161));
    CHECK(needed("vllm") == needed("vllm@0.26.0"));
    const auto planned = [&](const char* runtime) {
        job j = served("gemma-4-31b", runtime, 262144);
        j.weights = find_precision("weights", "fp8_tensor").value();
        j.max_batched_tokens = tokens(32768);
        return std::pair{plan(j, {}, card)->verdict, max_batch(j, {}, card).value()};
    };
    CHECK(planned("vllm@0.25.1") == std::pair{verdict::fits, std::int64_t{1}});
    CHECK(planned("vllm@0.26.0") == std::pair{verdict::does_not_fit, std::int64_t{0}});
    CHECK(planned("vllm") == std::pair{verdict::does_not_fit, std::int64_t{0}});
    job j = served("gemma-4-31b", "vllm", 262144);
    j.max_batched_tokens = tokens(32768);
    REQUIRE(set_knob(j.runtime, j.options, "async_scheduling", 0));
    CHECK(memory_of(j, {}, card)[memory_term::kv_cache].expected == needed("vllm@0.25.1"));
    REQUIRE(set_knob(j.runtime, j.options, "async_scheduling", 1));
    CHECK(memory_of(j, {}, card)[memory_term::kv_cache].expected == needed("vllm"));
    j.runtime = find_runtime("vllm@0.25").value();
    REQUIRE(set_knob(j.runtime, j.options, "async_scheduling", 1));
    CHECK(memory_of(j, {}, card)[memory_term::kv_cache].expected == needed("vllm@0.25.1"));
}

TEST_CASE("each sequence is admitted with the tokens in flight, and holds less while it decodes") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j = served("gemma-3-1b", "vllm@0.26", 32768);
    const auto held = [&](std::int64_t sequences) {
        j.batch = sequences;
        return memory_of(j, {}, card)[memory_term::kv_cache].expected;
    };
    const byte_count block = kib(64);  // four layers
    CHECK(held(1) == block * (2048 + 6 * 1057));
    CHECK(held(9) == 9 * held(1));
    const pool_size pool = cache_pool_of(j, {}, card).value();
    CHECK(pool.blocks == times_in(block, pool.memory.expected));
    CHECK(pool.admitted == doctest::Approx(static_cast<double>(pool.blocks) / 8390));
    CHECK(pool.token_room == tokens(static_cast<std::int64_t>(pool.admitted * 32768)));
    // 511 tokens and one of each of two steps: 33 blocks, and one where the window begins in the middle of a block.
    CHECK(pool.steady == doctest::Approx(static_cast<double>(pool.blocks) / (2048 + 6 * (33 + 1))));
    const std::int64_t most = max_batch(j, {}, card).value();
    CHECK(pool.sequences.low >= static_cast<double>(most));
    CHECK(pool.sequences.low < static_cast<double>(most + 1));
    // Short sequences need no more than they have, and the block in whose middle a window may begin.
    j.context = tokens(160);
    CHECK(held(2) == 2 * block * (10 + 6 * 11));
    const pool_size brief = cache_pool_of(j, {}, card).value();
    CHECK(brief.steady == doctest::Approx(static_cast<double>(brief.blocks) / (10 + 6 * 10)));
}

TEST_CASE("stages of a pipeline share the layers of each group, and each has its step in flight") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    job j = served("gemma-2-9b", "vllm@0.26", 8192);
    j.max_batched_tokens = tokens(512);
    const auto of = [&](const layout& l, std::int32_t stage = 0) {
        return serving_memory_of_stage(j, l, on_device(j, c.gpu, l), stage)[memory_term::kv_cache].expected;
    };
    // 8 heads of 256: 128 KiB a page; 21 layers of each kind, of which the stages have 6 and 5, 5 and 6, 5 and 5.
    const std::int64_t alone = 512 + (4096 - 1 + 2 * 512 + 15) / 16 + 1, staged = 512 + (4095 + 5 * 512 + 15) / 16 + 1;
    CHECK(of({}) == kib(128) * (21 * alone));
    CHECK(of({.pipeline = 4}, 0) == kib(128) * (6 * staged));
    CHECK(of({.pipeline = 4}, 1) == kib(128) * (6 * staged));
    CHECK(of({.pipeline = 4}, 2) == kib(128) * (5 * staged));
    CHECK(of({.tensor = 4}) == kib(32) * (21 * alone));
    REQUIRE(set_knob(j.runtime, j.options, "async_scheduling", 0));
    CHECK(of({.pipeline = 4}) == kib(128) * (6 * (512 + (4095 + 4 * 512 + 15) / 16 + 1)));
}

TEST_CASE("where layers share no windowed blocks each keeps its own context, as before") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const auto kv = [&](const job& j) { return memory_of(j, {}, card)[memory_term::kv_cache].expected; };
    for (const char* model : {"llama-3.1-8b", "deepseek-v2-lite"}) {
        CAPTURE(model);
        job j = served(model, "vllm", 4096);
        const byte_count now = kv(j);
        j.runtime.cache.windows = window_cells::window;
        CHECK(kv(j) == now);
    }
    job j = served("gemma-3-1b", "vllm", 4096);
    CHECK_FALSE(detail::has_groups(j.model, j.runtime, {.context_parallel = 2}));
    CHECK_FALSE(detail::has_groups(j.model, find_runtime("vllm@0.19").value(), {}));
    CHECK(detail::has_groups(j.model, j.runtime, {}));
}

TEST_CASE("pools of whole contexts have whole blocks, and print the tokens of whole sequences") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j = served("llama-3.1-8b", "vllm@0.26", 1000);  // 63 blocks of 2 MiB
    j.options.cache_bytes = gib(20) + mib(1);
    const pool_size pool = cache_pool_of(j, {}, card).value();
    CHECK(pool.blocks == 10240);
    CHECK(pool.block == tokens(16));
    CHECK(pool.admitted == 10240.0 / 63);
    CHECK(pool.steady == pool.admitted);
    CHECK(pool.token_room == tokens(static_cast<std::int64_t>(10240.0 / 63 * 1000)));
    j.model = find_model("glm-5").value();  // kernels of sparse attention take blocks of 64
    CHECK(cache_pool_of(j, {}, card)->block == tokens(64));
    j.runtime = find_runtime("vllm@0.19").value();
    CHECK(cache_pool_of(j, {}, card)->block == tokens(16));
}

TEST_CASE("sequences of models with recurrences take whole blocks, and more where states are kept for others") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j = served("nemotron-h-8b", "vllm@0.27", 100);
    const auto held = [&] {
        const memory_breakdown m = memory_of(j, {}, card);
        return m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
    };
    // Four layers of attention have 4 KiB of a token, 24 of Mamba-2 4,256,768 bytes of a sequence: blocks of 1,040
    // tokens.
    const byte_count block = 4 * kib(4) * 1040;
    CHECK(held() == block * 7);
    const auto held_by = [&](const char* runtime) {
        j.runtime = find_runtime(runtime).value();
        return held();
    };
    CHECK(held_by("vllm@0.28") == block * (1 + 6 * 2));
    CHECK(held_by("vllm@0.32") == block * (1 + 6 * 3));
    CHECK(held_by("vllm") == held_by("vllm@0.32"));
    CHECK(cache_pool_of(j, {}, card)->block == tokens(1040));
    REQUIRE(set_knob(j.runtime, j.options, "enable_prefix_caching", 0));
    CHECK(held() == block * 7);
    // Until 0.27 prefix caching is off unless asked for, and keeps a state for each block, of whole chunks of 128
    // tokens.
    j = served("nemotron-h-8b", "vllm@0.26", 2000);
    REQUIRE(set_knob(j.runtime, j.options, "enable_prefix_caching", 1));
    CHECK(cache_pool_of(j, {}, card)->block == tokens(1152));
    CHECK(held() == 4 * kib(4) * 1152 * (2 * 7));
    j = served("jamba-1.5-mini", "vllm@0.26", 2000);
    REQUIRE(set_knob(j.runtime, j.options, "enable_prefix_caching", 1));
    CHECK(cache_pool_of(j, {}, card)->block == tokens(2048));
    // No state within a prompt is kept by Mamba's first kind (Jamba), and by gated DeltaNet from 0.33 on.
    j = served("jamba-1.5-mini", "vllm", 100);
    CHECK(held_by("vllm@0.33") == held_by("vllm@0.28"));
    j = served("qwen3-next-80b-a3b", "vllm", 100);
    CHECK(held_by("vllm@0.32") == held_by("vllm@0.28"));
    CHECK(cache_pool_of(j, {}, card)->block == tokens(544));
    j.runtime = find_runtime("vllm").value();
    CHECK(cache_pool_of(j, {}, card)->block == tokens(576));
    CHECK(held() == bytes(12 * 2048 * 576 * (1 + 3 * 3)));
    // A model without attention shares no prefixes.
    j = served("mamba2-2.7b", "vllm", 100);
    CHECK(held_by("vllm") == held_by("vllm@0.27"));
}

TEST_CASE("blocks that a caller counts are blocks of a group, whatever their windows") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    job j = served("gemma-3-1b", "vllm@0.26", 32768);
    j.options.cache_blocks = 8390;
    CHECK(fits(j, {}, card));
    CHECK(cache_pool_of(j, {}, card)->memory == interval<byte_count>{kib(64) * 8390});
    CHECK(cache_pool_of(j, {}, card)->blocks == 8390);
    CHECK(cache_pool_of(j, {}, card)->admitted == 1.0);
    j.options.cache_blocks = 8389;
    const job_plan refused = plan(j, {}, card).value();
    CHECK(refused.verdict == verdict::does_not_fit);
    CHECK(refused.reasons[0].code == reason_code::pool_exceeded);
    CHECK(refused.reasons[0].available == kib(64) * 8389);
}

TEST_CASE(
    "groups are as large as the fewest layers of a kind, or the most where these are less than half as many again") {
    const auto group = [](std::int64_t first, std::int64_t second, std::int64_t third = 0) {
        block_pool pool{.block_tokens = tokens(16)};
        pool.add({.layers = first, .each = bytes_a_token(1024)});
        pool.add({.layers = second, .each = bytes_a_token(1024), .window = tokens(32)});
        pool.add({.layers = third, .each = bytes_a_token(1024), .window = tokens(64)});
        return pool.group_layers();
    };
    CHECK(group(4, 5) == 5);
    CHECK(group(5, 4) == 5);
    CHECK(group(4, 6) == 4);
    CHECK(group(4, 7) == 4);
    CHECK(group(7, 4) == 4);
    CHECK(group(5, 4, 5) == 5);
    CHECK(group(4, 4, 5) == 5);
    CHECK(group(4, 20, 5) == 4);
}

TEST_CASE(
    "while it decodes a sequence holds all blocks of full attention, and those of a window with what is in flight") {
    block_pool pool{.block_tokens = tokens(16)};
    pool.add({.layers = 2, .each = bytes_a_token(1024)});
    pool.add({.layers = 4, .each = bytes_a_token(1024), .window = tokens(32)});
    // Groups of two: one of full attention with 63 blocks of 1,000 tokens, two of windows with two and one.
    CHECK(pool.blocks_while_decoding(tokens(1000), tokens(1)) == 63 + 2 * 3);
    CHECK(pool.blocks_while_decoding(tokens(1000), tokens(18)) == 63 + 2 * 5);
    // Of a short sequence no more than it fills.
    CHECK(pool.blocks_while_decoding(tokens(20), tokens(1)) == 2 + 2 * 2);
    CHECK(block_pool{}.blocks_while_decoding(tokens(1000), tokens(1)) == 0);
    CHECK(block_pool{}.block_lists() == 0);
    block_pool one{.block_tokens = tokens(16)};
    one.add({.layers = 2, .each = bytes_a_token(1024)});
    CHECK(one.block_lists() == 1);
    CHECK(one.blocks_while_decoding(tokens(1000), tokens(1)) == 63);
}

TEST_CASE("a state that is as large as a page needs no larger one") {
    block_pool pool{.block_tokens = tokens(16)};
    pool.add({.layers = 2, .each = bytes_a_token(1024)});
    pool.add({.layers = 2, .state = kib(16)});
    CHECK(pool.page() == kib(16));
    CHECK(pool.tokens_of_block(pool.kinds[0]) == tokens(16));
    block_pool larger{.block_tokens = tokens(16)};
    larger.add({.layers = 2, .each = bytes_a_token(1024)});
    larger.add({.layers = 2, .state = kib(16) + bytes(1)});
    CHECK(larger.page() == kib(32));
    CHECK(larger.tokens_of_block(larger.kinds[0]) == tokens(32));
}
