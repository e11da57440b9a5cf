// SPDX-License-Identifier: MIT
// What pools of caches hold.
#include <llmres/answers/capacity.hpp>

#include <doctest/doctest.h>

#include "../random_documents.hpp"
#include "../sanitized.hpp"
#include "../serving_jobs.hpp"

#include <cstdint>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

TEST_CASE("vLLM's pool on a log's own flags: Llama 3.1 8B on an H100 leaves 51.38 GiB") {
    job j = chat();
    j.context = tokens(16000);
    cluster c = one(gpus::h100_sxm5_80gb);
    c.gpu.memory.cuda_visible = scaled_down(gib(1), 79.18);
    const auto pool = cache_pool_of(j, layout{}, c);
    REQUIRE(pool);
    CHECK(pool->memory.expected.in(gib) == doctest::Approx(51.38).epsilon(0.003));
    CHECK(pool->token_room.in(tokens) == pool->blocks * 16);
    CHECK(pool->sequences.expected == doctest::Approx(26.3).epsilon(0.01));
}

TEST_CASE("LMDeploy's blocks are eight tenths of what weights and buffers leave free, and whole") {
    // BlockManager.cc, GetBlockCount: size_t(free * ratio) / block_size.
    job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    j.runtime = find_runtime("lmdeploy").value();
    const cluster c = one(gpus::a100_sxm4_80gb);
    const memory_breakdown m = memory_of(j, layout{}, c);
    byte_count free = available_memory(c) - (m.reserved.expected - m.allocated.expected);
    for (const memory_term taken : {memory_term::runtime, memory_term::weights, memory_term::activations,
                                    memory_term::logits, memory_term::workspace})
        free -= m[taken].expected;
    const pool_size pool = cache_pool_of(j, layout{}, c).value();
    constexpr std::int64_t block = std::int64_t{64} * 32 * 2 * 8 * 128 * 2;  // tokens, layers, keys and values, heads
    CHECK(pool.blocks == scaled_down(free, 0.8).in(bytes) / block);
}

TEST_CASE("the largest batch is what the low bound of the pool holds, whole sequences of the job's context") {
    for (const char* engine : {"vllm@0.8.2", "vllm@0.9", "vllm@0.19", "vllm", "sglang@0.4.6", "sglang", "tensorrt-llm",
                               "tensorrt-llm@0.20", "lmdeploy", "tgi"})
        for (const gpu& card : {gpus::l4_24gb, gpus::rtx_4090, gpus::h100_sxm5_80gb})
            for (const std::int64_t context : {1024, 4096, 8192}) {
                job j{.model = models::llama_3_1_8b, .batch = 2, .context = tokens(context)};
                j.runtime = find_runtime(engine).value();
                INFO(std::string{engine} << " on " << card.name.view() << ", " << context << " tokens");
                const cluster c = one(card);
                const std::int64_t most = max_batch(j, layout{}, c).value();
                const double held = cache_pool_of(j, layout{}, c).value().sequences.low;
                CHECK(held >= static_cast<double>(most));
                // Some leave steps or CUDA graphs so little beside the pool that these limit the batch first. And
                // beyond the sequences that a profiled step scores, each has logits of its own.
                const std::string_view name = engine;
                if (!name.starts_with("sglang") && name != "vllm@0.19" && most < 128)
                    CHECK(held - static_cast<double>(most) <= 1.0);
            }
}

TEST_CASE("windows of slots that nobody uses are not counted for each sequence of a pool") {
    job j{.model = models::gemma_3_4b, .batch = 1, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    const cluster card = one(gpus::rtx_3090);
    const std::int64_t most = max_batch(j, {}, card).value();
    const double alone = cache_pool_of(j, {}, card)->sequences.expected;
    CHECK(alone >= static_cast<double>(most));
    j.batch = most;
    CHECK(cache_pool_of(j, {}, card)->sequences.expected == doctest::Approx(alone).epsilon(0.05));
}

TEST_CASE("a pool of cells for windows holds the largest batch, and no sequence more than its memory") {
    // Windows have the cells of one step beside them, once for all sequences: 16 at 2048 tokens of Gemma 3 4B take 16
    // windows of 1024 and 512 cells, one alone a window and 512.
    for (const char* engine : {"ollama", "ollama@0.20", "llama.cpp", "llama.cpp@6000"})
        for (const model& m : {models::gemma_3_4b, models::gemma_2_9b, models::jamba_1_5_mini, models::llama_3_1_8b})
            for (const std::int64_t context : {2048, 8192}) {
                job j{.model = m, .batch = 16, .context = tokens(context)};
                j.runtime = find_runtime(engine).value();
                const cluster card = one(m.name.view() == "jamba-1.5-mini" ? gpus::b200_sxm_180gb : gpus::rtx_4090);
                INFO(std::string{engine} << ", " << m.name.view() << ", " << context << " tokens");
                const std::int64_t most = max_batch(j, {}, card).value();
                REQUIRE(most > 0);
                j.batch = most;
                const pool_size pool = cache_pool_of(j, {}, card).value();
                CHECK(pool.sequences.low >= static_cast<double>(most));
                CHECK(pool.sequences.low < static_cast<double>(most) * 1.1 + 1);
            }
}

TEST_CASE("what fits, what the pool holds and the longest context are of one computation, whatever the engine") {
    random_documents::dice d;
    int planned = 0, fitting = 0;
    for (int i = 0; i < (sanitized ? 150 : 1500); ++i) {
        const auto document = random_documents::random_serving_job(d);
        const auto read = read_job(document);
        if (!read || !read->layout || !takes_fraction(read->job.runtime.cache)) continue;
        const job& j = read->job;
        const layout& l = *read->layout;
        const cluster& c = read->cluster;
        const auto p = plan(j, l, c);
        const auto pool = cache_pool_of(j, l, c);
        if (!p || !pool) continue;
        CAPTURE(document.dump());
        const memory_breakdown& m = p->memory;
        const byte_count own = m[memory_term::kv_cache].high + m[memory_term::recurrent_state].high;
        const byte_count wasted = m.reserved.high - m.allocated.high;
        const reserved_memory held = reserved_by(m, *pool);
        if (memory_fits(j, l, c)) {
            CHECK(own <= pool->memory.low);
            // What the engine holds: weights and the whole pool; what the device loses: that, and the process.
            CHECK(held.engine >= m[memory_term::weights].expected + pool->memory.expected);
            CHECK(held.device.expected >= held.engine + j.runtime.process.context.expected);
            CHECK(held.device.expected <= available_memory(c));
            ++fitting;
        } else if (!m.surely_within(usable_memory(j, c)) && j.runtime.cache.pool != cache_pool::share_with_weights &&
                   own > byte_count{} && pool->memory.low > wasted && usable_memory(c.gpu) > gib(7)) {
            // Others lack a kernel, or memory as they start, or beside the engine's part of a small card. (SGLang does
            // not ask whether a step finds room beside its pool.)
            CHECK(own + wasted > pool->memory.low);
        }
        CHECK(held.device.low <= held.device.expected);
        CHECK(held.device.expected <= held.device.high);
        const auto longest = max_context(j, l, c);
        if (!longest || *longest == token_count{}) continue;
        job at_limit = j;
        at_limit.context = *longest;
        at_limit.prompt = at_limit.output = {};
        const auto room = cache_pool_of(at_limit, l, c);
        REQUIRE(room);
        // Of a model that generates nothing, those that a step computes: none of an encoder.
        const std::int64_t cached =
            detail::cached_sequences_of(at_limit, on_device(j, c.gpu, l), sequences_per_rank(j, l));
        CHECK(room->sequences.expected >= static_cast<double>(cached) * (1 - 1e-9));
        if (!detail::has_groups(j.model, j.runtime, l)) CHECK(room->token_room >= *longest * cached);
        ++planned;
    }
    CHECK(planned > 10);
    CHECK(fitting > 10);
}

TEST_CASE("a pool is a fraction of the device, of what is free, or of what weights and steps leave of it") {
    runtime r;
    r.cache.fraction = 0.5;
    // Of 1,000 MiB 800 are free; the context takes 30, graphs 7, communication 20, weights 100, all else 50.
    const auto pool = [&](cache_pool kind, byte_count free = mib(800)) {
        r.cache.pool = kind;
        return detail::pool_bytes(r, mib(1000), free, mib(30), mib(7), mib(20), mib(100), mib(50));
    };
    CHECK(pool(cache_pool::share_of_total) == mib(500 - 100 - 50 - 20));
    CHECK(pool(cache_pool::share_with_weights) == mib((800 - 30 - 20) / 2 - 100));
    for (const cache_pool kind : {cache_pool::share_of_free, cache_pool::grows, cache_pool::allotted})
        CHECK(pool(kind) * 2 == mib(800 - 30 - 20 - 100 - 50 - 7));
    CHECK(pool(cache_pool::share_of_free, mib(100)) == byte_count{});
    r.cache.graphs_deducted = true;
    CHECK(pool(cache_pool::share_of_total) == mib(500 - 100 - 50 - 20 - 7));
}

TEST_CASE("sequences of a pool take as much as the first, whole ones or with the part of one more") {
    const job j = chat();  // 8,192 tokens of 2 x 32 layers x 8 heads x 128 values of 16 bits: 1 GiB
    const cluster c = one(gpus::h100_sxm5_80gb);
    const layout two{.data = 2};
    detail::cached_sequences caches{j, two, c, 0};
    CHECK(caches.one == gib(1));
    CHECK(caches.of(0) == byte_count{});
    CHECK(caches.of(3) == gib(3));
    CHECK(caches.within(gib(3)) == 3);
    CHECK(caches.within(gib(3) - bytes(1)) == 2);
    CHECK(caches.within(byte_count{} - gib(1)) == 0);
    CHECK(caches.parts_within(mib(2560)) == 2.5);
    CHECK(caches.within(gib(1) * (2 * detail::most_sequences)) == 2 * detail::most_sequences);
    job trained = j;  // keeps nothing in a pool
    trained.task = task::pretraining;
    CHECK(detail::cached_sequences{trained, two, c, 0}.within(gib(1)) == 0);
}

TEST_CASE("a pool's sequences are those of its own stage, whichever is the fullest with one of them") {
    // Gemma 2 9B on four stages: with few sequences the first is the fullest, by its embedding; with many the second,
    // whose eleven layers begin with one that keeps the whole context and not a window of half of it.
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    job j{.model = models::gemma_2_9b, .context = tokens(8192), .runtime = runtimes::vllm};
    j.runtime.cache.windows = window_cells::window;  // in groups both would have as much
    j.runtime.loading.ends.by_every_stage = false;   // as of models whose middle stages have no embedding
    const layout four{.pipeline = 4};
    CHECK(memory_of(j, four, c).stage == 0);
    j.batch = 64;
    const pool_size pool = cache_pool_of(j, four, c).value();
    REQUIRE(pool.stage == 1);
    // Keys and values of 8 heads of 256 in 16 bits: 64 MiB of 8,192 tokens.
    CHECK(detail::cached_sequences{j, four, c, 0}.one == mib(6 * 32 + 5 * 64));
    CHECK(detail::cached_sequences{j, four, c, 1}.one == mib(5 * 32 + 6 * 64));
    const std::int64_t most = max_batch(j, four, c).value();
    CHECK(pool.sequences.low >= static_cast<double>(most));
    CHECK(pool.sequences.low < static_cast<double>(most + 1));
    j.task = task::pretraining;  // vLLM does not train
    j.batch = 1;
    CHECK_FALSE(cache_pool_of(j, layout{}, c));
}

TEST_CASE("sequences of one run of cells take a window each, and the cells of one step together") {
    // Gemma 3 4B: five layers keep 2,048 tokens, 29 a window of 1,024; keys and values of 4 heads of 256 take 4 KiB.
    job j{.model = models::gemma_3_4b, .context = tokens(2048), .runtime = runtimes::llama_cpp};
    j.options.max_num_seqs = 1;
    j.max_batched_tokens = tokens(512);
    j.options.cache_tokens = tokens(4096);  // a caller's cells bound no sequence's own
    const cluster c = one(gpus::rtx_4090);
    const layout alone{};
    detail::cached_sequences caches{j, alone, c, 0};
    const auto held = [](std::int64_t n) { return kib(4) * (5 * 2048 * n + 29 * (1024 * n + 512)); };
    CHECK(caches.one == held(1));
    CHECK(caches.of(3) == held(3));
    CHECK(caches.within(held(3)) == 3);
    CHECK(caches.within(held(3) - bytes(1)) == 2);
    CHECK(caches.within(byte_count{} - bytes(1)) == 0);
    CHECK(caches.of(0) == byte_count{});
    CHECK(caches.parts_within(div_down(held(1), 2)) == doctest::Approx(0.5));  // a step's cells are none's alone
    CHECK(caches.parts_within(held(3)) == 3.0);
    CHECK(caches.parts_within(held(3) + div_down(held(4) - held(3), 4)) == doctest::Approx(3.25));
}

TEST_CASE("a pool that the caller sized has so many blocks, and sequences of mixed lengths in it") {
    job j = chat();
    j.options.cache_bytes = gib(3);
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const pool_size pool = cache_pool_of(j, {}, c).value();
    CHECK(pool.memory == interval<byte_count>{gib(3)});
    CHECK(pool.sequences == interval<double>{3.0});
    CHECK(pool.token_room == tokens(3 * 8192));
    CHECK(pool.blocks == 3 * 8192 / 16);
    const auto concurrent = [&](std::int64_t mean, std::int64_t longest, const layout& l = {}) {
        return concurrent_sequences(j, l, c, {tokens(mean), tokens(longest)}).value();
    };
    CHECK(concurrent(2048, 0) == 12);
    CHECK(concurrent(2048, 8192) == 1 + 8);  // the longest takes 1 GiB, each other one 256 MiB
    CHECK(concurrent(12288, 12288) == 2);
    CHECK(concurrent(8192, 8192, {.data = 4}) == 12);
    CHECK(concurrent(8192, 8192, {.data = 2, .replicas = 4}) == 24);
    CHECK(concurrent(1024, 3 * 8192) == 1);
    CHECK(concurrent(1024, 3 * 8192 + 16) == 0);
    CHECK(concurrent_sequences(j, {}, c, {tokens(0), tokens(10)}).error().field == "lengths.mean");
    CHECK(concurrent_sequences(j, {.tensor = 3}, c, {tokens(10), tokens(10)}).error().field == "layout.tensor");
}

TEST_CASE("without blocks a pool has as many as tokens, and without caches none") {
    job j = chat();
    j.runtime = runtimes::transformers;
    const cluster c = one(gpus::h100_sxm5_80gb);
    const pool_size pool = cache_pool_of(j, {}, c).value();
    CHECK(pool.blocks == static_cast<std::int64_t>(pool.sequences.expected * 8192));
    CHECK(pool.token_room == tokens(pool.blocks));
    j = chat();
    j.model.layers.kinds[0].attention = {.kind = attention_kind::none};
    const pool_size none = cache_pool_of(j, {}, c).value();
    CHECK(none.memory.expected > byte_count{});
    CHECK(none.sequences == interval<double>{});
    CHECK(none.blocks == 0);
}

TEST_CASE("vLLM's pool leaves room for adapters, and on unified memory may be a 25th of it larger") {
    job j = chat();
    j.options.max_loras = 4;
    for (const gpu& card : {gpus::h100_sxm5_80gb, gpus::gb10_dgx_spark}) {
        CAPTURE(card.name.view());
        const cluster c = one(card);
        const memory_breakdown m = memory_of(j, {}, c);
        REQUIRE(m[memory_term::adapter].expected > byte_count{});
        byte_count room = scaled_down(usable_memory(card), 0.9) - (m.reserved.low - m.allocated.low);
        for (const memory_term t : {memory_term::weights, memory_term::adapter, memory_term::activations,
                                    memory_term::logits, memory_term::workspace})
            room -= m[t].low;
        const bool unified = shares_host_memory(card);
        CHECK(cache_pool_of(j, {}, c)->memory.high ==
              room + (unified ? scaled_up(usable_memory(card), 0.04) : byte_count{}));
    }
    // LMDeploy's is a part of what is free, and no larger there.
    j = {.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = find_runtime("lmdeploy").value()};
    const cluster spark = one(gpus::gb10_dgx_spark);
    const memory_breakdown m = memory_of(j, {}, spark);
    byte_count free = available_memory(spark) - (m.reserved.low - m.allocated.low);
    for (const memory_term t : {memory_term::runtime, memory_term::weights, memory_term::activations,
                                memory_term::logits, memory_term::workspace})
        free -= m[t].low;
    CHECK(cache_pool_of(j, {}, spark)->memory.high == scaled_down(free, 0.8));
}

TEST_CASE("what a device loses has the pool at its largest where all else takes least") {
    memory_breakdown m;
    m[memory_term::kv_cache] = {mib(8), mib(10), mib(12)};
    m[memory_term::recurrent_state] = {mib(1), mib(2), mib(3)};
    m[memory_term::runtime] = {mib(1), mib(2), mib(3)};
    m[memory_term::workspace] = {mib(0), mib(1), mib(1)};
    m[memory_term::communication] = {mib(0), mib(1), mib(2)};
    m.reserved = {mib(40), mib(50), mib(60)};
    const auto held = [&](std::int64_t low, std::int64_t expected, std::int64_t high) {
        return reserved_by(m, {.memory = {mib(low), mib(expected), mib(high)}});
    };
    const reserved_memory usual = held(18, 20, 28);
    CHECK(usual.unused == mib(20 - 12));
    CHECK(usual.engine == mib(50 + 8));
    CHECK(usual.device.low == mib(40 + 1 + 28 - 9));
    CHECK(usual.device.expected == mib(58 + 4));
    CHECK(usual.device.high == mib(60 + 6 + 18 - 15));
    const reserved_memory wide = held(14, 20, 50);  // 82 where all else takes least, 66 where it takes most
    CHECK(wide.device == interval<byte_count>{mib(62), mib(62), mib(82)});
    const reserved_memory narrow = held(20, 40, 41);
    CHECK(narrow.device == interval<byte_count>{mib(71), mib(82), mib(82)});
    CHECK(held(0, 5, 6).unused == byte_count{});
}

TEST_CASE("the cache of prefixes is what the job's own sequences leave of the pool") {
    job j = chat();
    j.batch = 2;
    const cluster c = one(gpus::h100_sxm5_80gb);
    const pool_size pool = cache_pool_of(j, {}, c).value(), room = prefix_cache_room(j, {}, c).value();
    CHECK(room.memory ==
          interval<byte_count>{pool.memory.low - gib(2), pool.memory.expected - gib(2), pool.memory.high - gib(2)});
    CHECK(room.sequences.low == doctest::Approx(pool.sequences.low - 2));
    CHECK(room.sequences.expected == doctest::Approx(pool.sequences.expected - 2));
    CHECK(room.sequences.high == doctest::Approx(pool.sequences.high - 2));
    CHECK(room.blocks <= pool.blocks - 2 * 512);
    CHECK(room.blocks >= pool.blocks - 2 * 512 - 1);
    CHECK(room.token_room == tokens(room.blocks * 16));
    j.options.cache_bytes = gib(2);
    const pool_size full = prefix_cache_room(j, {}, c).value();
    CHECK(full.memory == interval<byte_count>{});
    CHECK(full.sequences == interval<double>{});
    CHECK(full.token_room == token_count{});
    CHECK(full.blocks == 0);
    j.options.cache_bytes = mib(512);  // half of what one sequence needs
    CHECK(cache_pool_of(j, {}, c)->sequences.expected == 0.5);
    CHECK(prefix_cache_room(j, {}, c)->sequences == interval<double>{});
    CHECK(prefix_cache_room(chat("llama-3.1-70b"), {}, c)->sequences == interval<double>{});  // there is no pool
    CHECK(prefix_cache_room(j, {.tensor = 3}, c).error().field == "layout.tensor");
}

TEST_CASE("recurrent states are of a pool's own sequences, and what they leave is the room for prefixes") {
    job j{.model = models::jamba_1_5_mini, .batch = 4, .context = tokens(4096), .runtime = runtimes::vllm};
    const cluster c = one(gpus::b200_sxm_180gb);
    const memory_breakdown m = memory_of(j, {}, c);
    const byte_count own = m[memory_term::kv_cache].expected + m[memory_term::recurrent_state].expected;
    REQUIRE(m[memory_term::recurrent_state].expected > byte_count{});
    const pool_size pool = cache_pool_of(j, {}, c).value();
    CHECK(prefix_cache_room(j, {}, c)->memory.expected == pool.memory.expected - own);
    j.options.cache_tokens = tokens(8 * 4096);  // twice the tokens of the job's sequences
    CHECK(cache_pool_of(j, {}, c)->memory.expected == own * 2);
}

TEST_CASE(
    "a pool that the caller sized is as large where the runtime takes what it is told, else at most what is free") {
    job j = chat();
    j.options.cache_bytes = gib(500);
    const cluster c = one(gpus::h100_sxm5_80gb);
    CHECK(cache_pool_of(j, {}, c)->memory == interval<byte_count>{gib(500)});
    j.options.cache_bytes = {};
    j.runtime = runtimes::llama_cpp;
    const interval<byte_count> free = cache_pool_of(j, {}, c)->memory;
    j.options.cache_tokens = tokens(100'000'000);
    CHECK(cache_pool_of(j, {}, c)->memory == free);
}

TEST_CASE("sequences that share a prefix are as many as the pool holds beside it, under every engine that shares one") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    for (const char* name : {"llama-3.1-8b", "gemma-3-4b", "gpt-oss-20b", "deepseek-v2-lite"})
        for (const char* runtime : {"vllm", "vllm@0.19", "sglang", "tensorrt-llm"}) {
            CAPTURE(name);
            CAPTURE(runtime);
            job j{.model = find_model(name).value(),
                  .prompt = tokens(7168),
                  .output = tokens(1024),
                  .runtime = find_runtime(runtime).value()};
            const std::int64_t apart = max_batch(j, {}, card).value();
            double before = cache_pool_of(j, {}, card)->sequences.low;
            for (const std::int64_t prefix : {0, 1, 100, 2048, 5000, 7168}) {
                j.shared_prefix = tokens(prefix);
                const pool_size pool = cache_pool_of(j, {}, card).value();
                CHECK(pool.sequences.low >= before - 1e-6);
                before = pool.sequences.low;
                const std::int64_t most = max_batch(j, {}, card).value();
                CHECK(most <= static_cast<std::int64_t>(pool.sequences.low + 1e-6));
                job full = j;
                full.batch = most;
                CHECK(plan(full, {}, card)->verdict != verdict::does_not_fit);
            }
            CHECK(max_batch(j, {}, card).value() > apart);
            const token_count longest = max_context(j, {}, card).value();
            j.shared_prefix = {};
            CHECK(longest >= max_context(j, {}, card).value());
            CHECK(longest > token_count{});
        }
    job j{.model = models::llama_3_1_8b, .prompt = tokens(6144), .output = tokens(2048), .runtime = runtimes::vllm};
    j.batch = 64;
    const auto cache = [&] { return memory_of(j, {}, card)[memory_term::kv_cache].expected; };
    CHECK(cache() == gib(64));
    j.shared_prefix = tokens(6144);
    CHECK(cache() == gib(64) - kib(128) * (63 * 6144));
    j.runtime = find_runtime("vllm@0.6.3").value();
    CHECK(cache() == gib(64));
    j.shared_prefix = tokens(6145);
    CHECK(validate(j).error().field == "shared_prefix");
}

TEST_CASE("MiniMax-M3's ranks share keys and values by heads, and each has all index keys in 16 bits") {
    // Blocks of 128 tokens in 64 GiB of vLLM 0.26.0's own planner (v1/core/kv_cache_utils.py, get_kv_cache_groups),
    // given the layers' specifications: 60 of full attention and 57 of index keys are one group, and nothing is padded.
    struct rank {
        std::int32_t tensor;
        precision cache;
        std::int64_t blocks;
    };
    const cluster nodes = standard_cluster(gpus::h200_sxm5_141gb, 8).value();
    for (const auto& [tensor, cache, blocks] :
         {rank{8, fp8_e4m3, 17924}, rank{4, fp8_e4m3, 17924}, rank{2, fp8_e4m3, 11848}, rank{1, fp8_e4m3, 7061},
          rank{8, bf16, 11848}, rank{2, bf16, 7061}, rank{1, bf16, 3905}}) {
        CAPTURE(tensor);
        job j{.model = find_model("minimax-m3").value(), .kv_cache = cache, .runtime = runtimes::vllm};
        j.options.cache_bytes = gib(64);
        const std::int64_t room = cache_pool_of(j, {.tensor = tensor}, nodes)->token_room.in(tokens);
        CHECK(room >= blocks * 128);
        CHECK(room < (blocks + 1) * 128);
    }
}

TEST_CASE("a pool's tokens are those of its bytes, however many of them sequences share") {
    const cluster large = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const cluster small = standard_cluster(gpus::rtx_4090, 1).value();  // of long sequences it holds a part of one
    for (const char* runtime : {"sglang", "tensorrt-llm", "lmdeploy"})
        for (const std::int64_t prefix : {0, 64, 2048, 7168}) {
            CAPTURE(runtime);
            CAPTURE(prefix);
            const bool is_long = prefix == 64 || prefix == 2048;
            const cluster& card = is_long ? small : large;
            job j{.model = models::llama_3_1_8b,
                  .prompt = tokens(is_long ? 71680 : 7168),
                  .output = tokens(1024),
                  .runtime = find_runtime(runtime).value()};
            j.shared_prefix = tokens(prefix);
            const pool_size pool = cache_pool_of(j, {}, card).value();
            // Keys and values of 8 heads of 128 features in 32 layers, in 16 bits.
            CHECK(static_cast<double>(pool.token_room.in(tokens) * 131072) ==
                  doctest::Approx(static_cast<double>(pool.memory.expected.in(bytes))).epsilon(0.001));
            CHECK((pool.sequences.expected < 1) == is_long);
            // Every sequence that is admitted decodes.
            CHECK(pool.admitted == pool.sequences.expected);
            CHECK(pool.steady == pool.sequences.expected);
        }
}

TEST_CASE("blocks of vLLM's pools hold 16 tokens of full attention") {
    const cluster card = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    for (const char* runtime : {"vllm@0.9.2", "vllm"}) {
        const job j{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = find_runtime(runtime).value()};
        const pool_size pool = cache_pool_of(j, {}, card).value();
        CHECK(pool.block == tokens(16));
        CHECK(pool.blocks == pool.memory.expected.in(bytes) / (16 * 131072));
    }
}

TEST_CASE("a pool of which nothing is said holds no sequence") {
    const pool_size none;
    CHECK(none.stage == 0);
    CHECK(none.sequences.high == 0);
    CHECK(none.admitted == 0);
    CHECK(none.steady == 0);
    CHECK(none.blocks == 0);
    CHECK(none.token_room == token_count{});
}

TEST_CASE("sequences that decode hold no block of a window's past: as many as whole blocks hold, and no more") {
    for (const char* name : {"gemma-3-27b", "gpt-oss-20b", "llama-3.1-8b"})
        for (const std::int64_t context : {4096, 32768}) {
            const job j{.model = find_model(name).value(), .context = tokens(context), .runtime = runtimes::vllm};
            const cluster c = one(gpus::h100_sxm5_80gb);
            const pool_size pool = cache_pool_of(j, {}, c).value();
            CAPTURE(name);
            CAPTURE(context);
            CHECK(pool.steady >= pool.admitted);
            const bool windows = std::string_view{name} != "llama-3.1-8b";
            CHECK((pool.steady > pool.admitted * 1.0001) == windows);
            const detail::shared_blocks shared{j, on_device(j, c.gpu, {}), {}};
            CHECK(pool.steady == shared.decoding_in(pool.blocks));
            CHECK(pool.admitted == shared.admitted_in(pool.blocks));
        }
}

TEST_CASE("a GPU that weights fill has no room for prefixes, nor for any block") {
    const job j{.model = models::llama_3_1_70b, .context = tokens(4096), .runtime = runtimes::vllm};
    const pool_size room = prefix_cache_room(j, {}, one(gpus::l4_24gb)).value();
    CHECK(room.blocks == 0);
    CHECK(room.token_room == token_count{});
    CHECK(room.memory.high == byte_count{});
}

TEST_CASE("an engine reserves no pool for a model that caches nothing") {
    const cluster c{.gpu = gpus::l4_24gb};
    const auto reserves = [&](const model& m, const runtime& engine) {
        const job j{.model = m, .context = tokens(512), .runtime = engine};
        return reserves_pool(j, memory_of(j, layout{}, c));
    };
    CHECK_FALSE(reserves(models::bert_base, runtimes::vllm));
    CHECK(reserves(models::qwen3_0_6b, runtimes::vllm));
    CHECK(reserves(models::codestral_mamba_7b, runtimes::vllm));  // states of recurrent layers
    CHECK_FALSE(reserves(models::qwen3_0_6b, runtimes::llama_cpp));
}

TEST_CASE("a pool that holds between one and two sequences holds the part of the second beside what they share") {
    const cluster card = standard_cluster(gpus::rtx_4090, 1).value();
    job j{.model = models::llama_3_1_8b,
          .prompt = tokens(32768),
          .output = tokens(1024),
          .runtime = find_runtime("lmdeploy").value()};
    j.shared_prefix = tokens(24576);
    const pool_size pool = cache_pool_of(j, {}, card).value();
    REQUIRE(pool.sequences.expected > 1);
    REQUIRE(pool.sequences.expected < 2);
    // Keys and values of 8 heads of 128 features in 32 layers, in 16 bits.
    CHECK(static_cast<double>(pool.token_room.in(tokens) * 131072) ==
          doctest::Approx(static_cast<double>(pool.memory.expected.in(bytes))).epsilon(0.001));
}

TEST_CASE("what drafts tokens has room in every block: layers of the model's own, or another model") {
    const cluster c = one(gpus::h100_sxm5_80gb);
    job j{.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::vllm};
    j.options.cache_bytes = gib(20);
    const pool_size alone = cache_pool_of(j, {}, c).value();
    j.options = with_draft(j.options, j.model, bf16);
    const pool_size both = cache_pool_of(j, {}, c).value();
    CHECK(alone.blocks == 10240);
    CHECK(both.blocks == 5120);
    CHECK(both.admitted == 10.0);
    j.options = {};
    j.options.cache_bytes = gib(20);
    j.model = models::deepseek_v3;
    j.options.speculates_ahead = true;
    CHECK(cache_pool_of(j, {}, c).value().blocks == 18791);  // as vLLM 0.33.0 says, of 62 layers
}

TEST_CASE("recurrences keep a state more for each token that is drafted, and its input to the convolution") {
    const cluster c = one(gpus::h100_sxm5_80gb);
    job j{.model = find_model("qwen3-next-80b-a3b").value(), .context = tokens(8192), .runtime = runtimes::vllm};
    j.options.cache_bytes = gib(20);
    const pool_size alone = cache_pool_of(j, {}, c).value();
    j.options.draft_tokens = 2;
    j.options.acceptance = 0.5;
    const pool_size drafted = cache_pool_of(j, {}, c).value();
    CHECK(drafted.blocks <= alone.blocks);
    CHECK(drafted.admitted < alone.admitted);
    j.runtime = runtimes::vllm_v2_26;  // keeps one, and two more
    const pool_size older = cache_pool_of(j, {}, c).value();
    j.options.draft_tokens = 0;
    j.options.acceptance = {};
    CHECK(older.admitted < cache_pool_of(j, {}, c).value().admitted);
}

TEST_CASE("all stages have as many blocks as the one that has room for the fewest") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    job j{.model = models::deepseek_v3, .context = tokens(8192), .runtime = runtimes::vllm};
    j.options.cache_bytes = gib(20);
    // 31 layers and 30, of which the second stage's take more memory; 1,152 bytes a layer and token.
    CHECK(cache_pool_of(j, {.pipeline = 2}, c).value().blocks == (std::int64_t{20} << 30) / (31 * 1152 * 16));
}

TEST_CASE("vLLM's first model runner schedules no step ahead of a pipeline's stages") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    job j{.model = models::gpt_oss_20b, .context = tokens(131072), .runtime = runtimes::vllm};
    j.options.cache_bytes = gib(20);
    CHECK(cache_pool_of(j, {.pipeline = 2}, c).value().admitted == doctest::Approx(11.217623));  // as 0.33.0 says
    j.runtime = runtimes::vllm_v2_26;
    CHECK(cache_pool_of(j, {.pipeline = 2}, c).value().admitted == doctest::Approx(11.840217));  // as 0.26.0 says
}
