// SPDX-License-Identifier: MIT
#include <llmres/memory_serving.hpp>

#include <doctest/doctest.h>

#include <llmres/capacity.hpp>
#include <llmres/gpus.hpp>
#include <llmres/links.hpp>
#include <llmres/models.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes.hpp>
#include <string>
#include <type_traits>

using namespace llmres;

namespace {

job chat(std::string_view model_id = "llama-3.1-8b") {
    return {.model = find_model(model_id).value(), .context = tokens(8192), .runtime = runtimes::vllm_v1};
}
cluster one(const gpu& card) { return {.gpu = card}; }
byte_count need(const job& j, const layout& l = {}) { return memory_of(j, l).total().expected; }

}  // namespace

TEST_CASE("profiles are found by engine and version, and a release between two belongs to one") {
    const std::pair<const char*, const char*> expected[] = {
        {"vllm", "0.27 and later"},           {"vllm@0.30.1", "0.27 and later"},   {"vllm@0.21", "0.20 to 0.23"},
        {"vllm@0.24.0", "0.24 to 0.26"},      {"vllm@0.19.1", "0.17 to 0.19"},     {"vllm@0.15.1", "0.12 to 0.16"},
        {"vllm@0.9.2", "0.9 to 0.11 (V1)"},   {"vllm@0.8.5.post1", "0.8 (V1)"},    {"vllm@0.2.7", "0.2 (V0)"},
        {"vllm@v0.7.3", "0.7 to 0.10 (V0)"},  {"vllm@0.5.4", "0.3 to 0.6.3 (V0)"}, {"vllm@0.6.3.post1", "0.3 to 0.6.3 (V0)"},
        {"sglang@0.4.6", "0.4.0 to 0.4.8"},   {"sglang@0.5.2", "0.4.9 to 0.5.2"},  {"SGLang", "0.5.3 and later"},
        {"llama.cpp@b2824", "b2400 to b5426"}, {"llama.cpp", "b6325 and later"},   {"transformers@4.38.2", "4.36 to 4.41"},
        {"vLLM@0.8.5 V0", "0.7 to 0.10 (V0)"}, {"vllm@0.9.2-v0", "0.7 to 0.10 (V0)"}, {"vllm@0.6.4 V0", "0.6.4 (V0)"},
        {"llama.cpp@build 2824 (4426e298)", "b2400 to b5426"}, {"TensorRT-LLM@0.17", "0.9 to 0.21"}, {"AutoAWQ@0.1.6", "0.1"}};
    for (const auto& [name, versions] : expected) {
        INFO(name);
        const auto found = find_runtime(name);
        REQUIRE(found);
        CHECK(found->versions == versions);
    }
    CHECK(*find_runtime("exllamav3@0.0.6") == runtimes::exllamav3);
    CHECK(*find_runtime("ctranslate2", "4.1", "runtime") == runtimes::ctranslate2);
    CHECK(*find_runtime("ik_llama.cpp", "4000", "runtime") == runtimes::ik_llama_cpp_4155);
    for (const runtime* r : runtimes::all) CHECK(find_runtime(r->name));
}

TEST_CASE("an unknown engine is refused with the nearest names, an unknown version with those there are") {
    CHECK(std::string{find_runtime("vlm").error().expected.view()}.find("vllm") != std::string::npos);
    const error version = find_runtime("tgi@1.0").error();
    CHECK(version.code == error_code::unknown);
    CHECK(version.value == "1.0");
    CHECK(std::string{version.expected.view()}.find("2 and 3") != std::string::npos);
    for (const char* written : {"llama.cpp@mid-2025", "llama.cpp@2024-04", "vllm@latest", "vllm@v"}) {
        INFO(written);
        CHECK(find_runtime(written).error().code == error_code::malformed);
    }
}

TEST_CASE("vLLM's steps are larger on large devices, but for the A100; on the largest more so since 0.27") {
    struct expected {
        const char* engine;
        const gpu& card;
        std::int64_t step, sequences;
    };
    for (const auto& [engine, card, step, sequences] :
         {expected{"vllm@0.9", gpus::h100_sxm5_80gb, 8192, 1024}, expected{"vllm@0.9", gpus::a100_sxm4_80gb, 2048, 256},
          expected{"vllm@0.9", gpus::mi300x_192gb, 8192, 1024}, expected{"vllm@0.9", gpus::l40s_48gb, 2048, 256},
          expected{"vllm@0.8.5", gpus::a100_sxm4_80gb, 8192, 1024}, expected{"vllm", gpus::h200_sxm5_141gb, 8192, 1024},
          expected{"vllm", gpus::mi300x_192gb, 16384, 1024}, expected{"vllm@0.6.4", gpus::h100_sxm5_80gb, 512, 256},
          expected{"sglang", gpus::l40s_48gb, 4096, 0}, expected{"sglang@0.4.9", gpus::l40s_48gb, 8192, 0},
          expected{"sglang", gpus::a10g_24gb, 2048, 0}, expected{"sglang", gpus::mi300x_192gb, 16384, 0}}) {
        INFO(engine << " on " << card.id.view());
        const runtime r = on_device(find_runtime(engine).value(), card, layout{});
        CHECK(r.max_batched_tokens == tokens(step));
        CHECK(r.default_max_num_seqs == sequences);
    }
    runtime named = runtimes::vllm_v1;
    REQUIRE(set_knob(named, "max_num_batched_tokens", 4096));
    CHECK(on_device(named, gpus::h100_sxm5_80gb, layout{}).max_batched_tokens == tokens(4096));
}

TEST_CASE("vLLM's default fraction is 0.9, and 0.92 since 0.20") {
    CHECK(find_runtime("vllm@0.19")->gpu_memory_utilization == maybe<double>{0.9});
    CHECK(find_runtime("vllm@0.20")->gpu_memory_utilization == maybe<double>{0.92});
    CHECK_FALSE(find_runtime("vllm@0.19")->graphs_deducted);
    CHECK(find_runtime("vllm@0.20")->graphs_deducted);
}

TEST_CASE("SGLang chooses its fraction by device and layout, in another way every few releases") {
    gpu card = gpus::h100_sxm5_80gb;  // 81559 MiB in nvidia-smi, which the engine reads
    const auto fraction = [&](const char* engine, const layout& l) {
        return *on_device(find_runtime(engine).value(), card, l).gpu_memory_utilization;
    };
    CHECK(fraction("sglang@0.4.3", {}) == 0.88);
    CHECK(fraction("sglang@0.4.3", {.tensor = 8}) == 0.81);
    CHECK(fraction("sglang@0.4.3", {.tensor = 8, .pipeline = 2}) == 0.79);
    CHECK(fraction("sglang@0.4.9", {}) == doctest::Approx(0.874));              // 9.5 GiB, and half a one for the GPU
    CHECK(fraction("sglang@0.4.9", {.tensor = 8}) == doctest::Approx(0.831));   // 13.5 GiB
    CHECK(fraction("sglang@0.5.9", {}) == doctest::Approx(0.835));              // 512 + 8192 x 1.5 + 256 x 2 + 128 MiB
    CHECK(fraction("sglang@0.5.9", {.tensor = 8}) == doctest::Approx(0.818));   // 512 sequences, and 1024 MiB
    card = gpus::a10g_24gb;  // 23028
    CHECK(fraction("sglang@0.4.9", {}) == doctest::Approx(0.871));
    CHECK(fraction("sglang@0.5.9", {}) == doctest::Approx(0.837));
    runtime named = runtimes::sglang;
    REQUIRE(set_knob(named, "mem_fraction_static", 0.7));
    CHECK(on_device(named, card, layout{}).gpu_memory_utilization == maybe<double>{0.7});
}

TEST_CASE("vLLM loads fused projections as one tensor, and a tail with it: what its logs print") {
    job j = chat("qwen2.5-7b");
    j.model.max_context = tokens(32768);  // of the instructed one
    const auto loaded = [&] { return memory_of(j, layout{})[memory_term::weights].expected.in(gib); };
    CHECK(loaded() == doctest::Approx(14.2487).epsilon(1e-5));
    j = chat("llama-3.1-8b");
    CHECK(loaded() == doctest::Approx(14.9888).epsilon(1e-5));
    j = chat("mistral-small-3.1-24b");
    CHECK(loaded() == doctest::Approx(44.76).epsilon(2e-4));
    // Rotary tables of images' three-part positions are four times as long.
    j = chat("qwen2.5-vl-7b");
    const double whole = loaded();
    j.runtime.rope = rope_tables::computed;
    CHECK((whole - loaded()) * 1024 == doctest::Approx(128000 * 128 * 2 * 4.0 / 1048576));
}

TEST_CASE("experts in MXFP4 are padded before Hopper, and keep their scales twice on it") {
    job j = chat("gpt-oss-20b");
    j.weights = mxfp4;
    const auto on = [&](const gpu& card) { return memory_of(j, layout{}, one(card))[memory_term::weights]; };
    const interval<byte_count> ampere = on(gpus::a100_sxm4_80gb), hopper = on(gpus::h100_sxm5_80gb);
    CHECK(ampere.low == hopper.low);
    CHECK(hopper.low < hopper.expected);
    CHECK(hopper.expected < ampere.expected);
    CHECK(hopper.high >= ampere.expected);
    CHECK(hopper.expected.in(gib) == doctest::Approx(13.47).epsilon(0.01));  // a log of 0.11
}

TEST_CASE("vLLM profiles as many of the largest images as make a step, and at least one; its first engine one, whole") {
    job j = chat("mistral-small-3.1-24b");
    const cluster large{.gpu = gpus::h100_sxm5_80gb};
    const auto held = [&] { return memory_of(j, layout{}, large)[memory_term::activations].expected; };
    const byte_count seen = held();
    // Two of 3080 tokens in 8192: their pixels, and what the decoder reads.
    const byte_count images = bytes(2) * (2 * 12100 * 588 + 2 * 3080 * 5120);
    j.model.encoders[0] = {};
    CHECK(seen - held() == images);  // the sampler is the fullest moment; they are beside it
    j = chat("qwen2.5-vl-7b");
    j.context = tokens(4096);
    j.runtime = runtimes::vllm_v0_7;
    const byte_count whole = held();  // 16384 tokens of one image pass all layers
    j.model.encoders[0] = {};
    CHECK(whole > held() * 3);
}

TEST_CASE("fewer than 128 rows of scores are sorted as one, which takes 12 bytes more for each") {
    job j = chat("qwen3-0.6b");
    const auto scores = [&](std::int64_t sequences) {
        j.runtime.max_num_seqs = sequences;
        return memory_of(j, layout{})[memory_term::logits].expected;
    };
    const byte_count row = bytes(151936);
    CHECK(scores(128) == scaled_up(row * 128, 38.3));
    CHECK(scores(127) == scaled_up(row * 127, 50.3));
}

TEST_CASE("since 0.24 dense models score in 16 bit while vLLM profiles, and others as before") {
    const auto each = [&](const char* id, const char* engine) {
        job j = chat(id);
        j.runtime = find_runtime(engine).value();
        j.runtime.max_num_seqs = 4096;  // more than the layers take
        return ratio(memory_of(j, layout{})[memory_term::logits].expected, bytes(4096 * j.model.vocabulary));
    };
    CHECK(each("qwen3-0.6b", "vllm@0.23") == doctest::Approx(14.5));
    CHECK(each("qwen3-0.6b", "vllm@0.26") == doctest::Approx(2.3));
    CHECK(each("qwen3-30b-a3b", "vllm@0.26") == doctest::Approx(14.5));
}

TEST_CASE("tokens that are named to vLLM's first engine stay chunks where contexts are longer") {
    job j = chat();
    j.runtime = runtimes::vllm_v0_7;
    j.context = tokens(131072);
    const memory_breakdown by_default = memory_of(j, layout{});
    REQUIRE(set_knob(j.runtime, "max_num_batched_tokens", 2048));
    CHECK(memory_of(j, layout{}).total() == by_default.total());
    j.context = tokens(8192);
    CHECK(memory_of(j, layout{})[memory_term::logits].expected < memory_of(chat(), layout{})[memory_term::logits].expected);
}

TEST_CASE("sequences that the caller admits beat the default of the device") {
    job j = chat();
    const cluster large{.gpu = gpus::h100_sxm5_80gb};
    const byte_count thousand = memory_of(j, layout{}, large)[memory_term::logits].expected;
    j.runtime.max_num_seqs = 512;
    const byte_count half = memory_of(j, layout{}, large)[memory_term::logits].expected;
    CHECK(half * 2 - thousand <= bytes(1));  // each is rounded up
}

TEST_CASE("versions of two profiles of one engine never overlap") {
    for (const runtime* a : runtimes::all)
        for (const runtime* b : runtimes::all)
            if (a != b && a->name == b->name) CHECK_FALSE((covers(*a, b->since) && covers(*b, a->since)));
}

TEST_CASE("memory grows with batch, context and width of the cache, under every profile") {
    for (const runtime* r : runtimes::all) {
        INFO(std::string{r->name.view()} << " " << std::string{r->versions.view()});
        job small = chat();
        small.runtime = *r;
        job more = small;
        more.batch = 4;
        CHECK(need(small) <= need(more));
        more = small;
        more.context = tokens(32768);
        CHECK(need(small) <= need(more));
        more = small;
        more.kv_cache = fp32;
        CHECK(need(small) <= need(more));
    }
}

TEST_CASE("bounds enclose what is expected, and terms add up to it, under every profile") {
    for (const runtime* r : runtimes::all) {
        INFO(std::string{r->name.view()} << " " << std::string{r->versions.view()});
        job j = chat();
        j.runtime = *r;
        const memory_breakdown m = memory_of(j, layout{});
        byte_count sum;
        for (const auto& term : m.terms) {
            CHECK(term.low <= term.expected);
            CHECK(term.expected <= term.high);
            sum += term.expected;
        }
        CHECK(sum == m.total().expected);
        CHECK(m.ideal <= m.allocated.high);
        CHECK(m.allocated.expected <= m.reserved.expected);
    }
}

TEST_CASE("vLLM's pool on a log's own flags: Llama 3.1 8B on an H100 leaves 51.38 GiB") {
    job j = chat();
    j.context = tokens(16000);
    cluster c = one(gpus::h100_sxm5_80gb);
    c.gpu.memory.cuda_visible = scaled_down(gib(1), 79.18);
    const auto pool = cache_pool_of(j, layout{}, c);
    REQUIRE(pool);
    CHECK(pool->memory.expected.in(gib) == doctest::Approx(51.38).epsilon(0.003));
    CHECK(pool->token_room.in(tokens) == pool->blocks * 16);
    CHECK(pool->sequences == doctest::Approx(26.3).epsilon(0.01));
}

TEST_CASE("vLLM does not start where one sequence of the context does not fit, or others hold a part of its fraction") {
    job j = chat();
    j.context = tokens(131072);
    j.runtime = runtimes::vllm_v0_7;
    CHECK(plan(j, layout{}, one(gpus::a10g_24gb)).value().verdict == verdict::does_not_fit);  // a log of March 2025
    j = chat();
    cluster c = one(gpus::h100_sxm5_80gb);
    CHECK(fits(j, layout{}, c));
    c.in_use = gib(20);
    CHECK(usable_memory(j, c) == bytes(0));
    CHECK(plan(j, layout{}, c).value().verdict == verdict::does_not_fit);
}

TEST_CASE("capacities are tight: one more does not fit") {
    for (const char* engine : {"vllm@0.9", "sglang", "tensorrt-llm", "llama.cpp", "transformers", "tgi"}) {
        INFO(engine);
        job j = chat();
        j.runtime = find_runtime(engine).value();
        const cluster c = one(gpus::a100_sxm4_80gb);
        const std::int64_t most = max_batch(j, layout{}, c).value();
        REQUIRE(most > 0);
        j.batch = most;
        CHECK(memory_fits(j, layout{}, c));
        j.batch = most + 1;
        CHECK_FALSE(memory_fits(j, layout{}, c));
        j.batch = most;
        const token_count longest = max_context(j, layout{}, c).value();
        CHECK(longest >= j.context);
        j.context = longest + tokens(256);
        CHECK((j.context > j.model.max_context || !memory_fits(j, layout{}, c)));
    }
}

TEST_CASE("sequences of mixed lengths: more than of the longest, fewer than of the mean") {
    const job j = chat();
    const cluster c = one(gpus::h100_sxm5_80gb);
    const auto at = [&](std::int64_t mean, std::int64_t longest) {
        return concurrent_sequences(j, layout{}, c, {tokens(mean), tokens(longest)}).value();
    };
    CHECK(at(8192, 8192) < at(2048, 8192));
    CHECK(at(2048, 8192) < at(2048, 2048));
    CHECK(concurrent_sequences(j, layout{}, one(gpus::rtx_4090), {tokens(1024), tokens(131072)}).value() == 0);
}

TEST_CASE("llama.cpp: layers on the host take no memory of the GPU, and the last of all is the head") {
    job j = chat();
    j.runtime = runtimes::llama_cpp;
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    byte_count before = need(j);
    for (const std::int32_t layers : {33, 32, 16, 1, 0}) {
        j.runtime.gpu_layers = layers;
        CHECK(need(j) <= before);
        before = need(j);
    }
    CHECK(memory_of(j, layout{})[memory_term::weights].expected == bytes(0));
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(0));
}

TEST_CASE("windowed layers keep their window and a micro-batch in llama.cpp, everything with --swa-full") {
    job j = chat("gemma-2-2b");
    j.context = tokens(8192);
    j.runtime = runtimes::llama_cpp;
    // 13 layers of 8192 cells, 13 of 4096 + 512: 2 x 4 heads x 256 x 2 bytes a token and layer.
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(4096) * (13 * 8192 + 13 * 4608));
    CHECK(set_knob(j.runtime, "swa_full", 1));
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(4096) * (26 * 8192));
}

TEST_CASE("resident adapters, prediction layers and a draft model are counted") {
    job j = chat();
    const byte_count plain = need(j);
    CHECK(set_knob(j.runtime, "max_loras", 4));
    CHECK(set_knob(j.runtime, "max_lora_rank", 16));
    // Rank 16 on all seven matrices of 32 layers: 41.9 million parameters each, in two bytes.
    CHECK(memory_of(j, layout{})[memory_term::adapter].expected == bytes(41'943'040) * 2 * 4);
    CHECK(need(j) > plain);
    j = chat();
    j.runtime.draft_weights = gib(1);
    j.runtime.draft_kv = bytes_a_token(1024);
    const auto more = [&](const layout& l, memory_term t) { return memory_of(j, l)[t].expected - memory_of(chat(), l)[t].expected; };
    CHECK(more({}, memory_term::weights) == gib(1));
    CHECK(more({}, memory_term::kv_cache) == bytes(1024) * context_of(j).in(tokens));
    CHECK(more({.tensor = 2}, memory_term::weights) == mib(512));
    j = chat("deepseek-v3");
    j.runtime = runtimes::sglang;
    const byte_count without = need(j);
    j.runtime.speculates_ahead = true;
    CHECK((j.model.prediction.layers == 0 || need(j) > without));
}

TEST_CASE("attention data-parallel: each rank holds its own sequences, and experts are spread") {
    job j = chat("deepseek-v3");
    j.runtime = runtimes::sglang;
    j.batch = 64;
    const memory_breakdown tensor = memory_of(j, layout{.tensor = 8});
    const memory_breakdown data = memory_of(j, layout{.data = 8, .expert = 8});
    // Every tensor rank holds the latent cache of all 64 sequences; a data rank that of its eight.
    CHECK(tensor[memory_term::kv_cache].expected == data[memory_term::kv_cache].expected * 8);
    CHECK(data[memory_term::weights].expected > tensor[memory_term::weights].expected);
}

TEST_CASE("transformers allots tensors one by one until 4.50: matrices of Qwen2.5-14B carry a tail of a mebibyte") {
    job j = chat("qwen2.5-14b");
    j.runtime = find_runtime("transformers@4.51").value();
    const byte_count block = memory_of(j, layout{})[memory_term::weights].expected;
    j.runtime = find_runtime("transformers@4.46").value();
    const byte_count alone = memory_of(j, layout{})[memory_term::weights].expected;
    // 13824 x 5120 in 16 bit are 135 MiB, in steps of two; embedding and head of 152064 rows are 1485.
    CHECK(alone - block == mib(48 * 3 + 2));
}

TEST_CASE("transformers until 4.44: a table of positions in every layer; until 4.41 the cache twice as a token is made") {
    job j = chat("qwen2.5-7b");
    j.model.max_context = tokens(32768);
    j.prompt = tokens(1);
    j.output = tokens(2048);
    j.context = {};
    const auto term = [&](const char* engine, memory_term t) {
        j.runtime = find_runtime(engine).value();
        return memory_of(j, layout{})[t].expected;
    };
    CHECK(term("transformers@4.44", memory_term::weights) - term("transformers@4.49", memory_term::weights) == mib(28 * 16));
    CHECK(term("transformers@4.44", memory_term::kv_cache) == bytes(57344) * 2049);
    CHECK(term("transformers@4.38", memory_term::kv_cache) == bytes(57344) * 2049 * 2);
    CHECK(memory_of(j, layout{}).phase == phase::decode);
    j.prompt = tokens(16384);  // the scores of the whole prompt, in 16 and in 32 bit, beside the prompt's cache
    CHECK(term("transformers@4.38", memory_term::kv_cache) == bytes(57344) * 16384);
    CHECK(term("transformers@4.38", memory_term::logits) == bytes(6) * 152064 * 16384);
}

TEST_CASE("each stage answers for itself, and the busiest is the one that is planned") {
    job j = chat("qwen2.5-72b");
    j.context = tokens(4096);
    j.runtime = find_runtime("transformers@4.38").value();
    const layout l{.pipeline = 3};
    byte_count most, weights;
    for (std::int32_t stage = 0; stage < 3; ++stage) {
        const memory_breakdown m = serving_memory_of_stage(j, l, j.runtime, stage);
        CHECK(m.stage == stage);
        weights += m[memory_term::weights].expected;
        if (m.total().expected > most) most = m.total().expected;
    }
    CHECK(memory_of(j, l).total().expected == most);
    CHECK(weights == memory_of(j, layout{})[memory_term::weights].expected);
    // Scores in fp32 go back to the first GPU (accelerate), and are more there than any of its layers.
    const memory_breakdown first = serving_memory_of_stage(j, l, j.runtime, 0);
    CHECK(first[memory_term::logits].expected + first[memory_term::activations].expected == bytes(4) * 152064 * 4096);
    CHECK(serving_memory_of_stage(j, l, j.runtime, 1)[memory_term::logits].high == bytes(0));
}

TEST_CASE("an FP8 checkpoint of a tied model holds a head of its own") {
    job j = chat("qwen3-0.6b");
    j.runtime = runtimes::transformers;
    j.weights = fp8_block;
    const byte_count tied = memory_of(j, layout{})[memory_term::weights].expected;
    j.model.tied_head = false;
    CHECK(memory_of(j, layout{})[memory_term::weights].expected == tied);
}

TEST_CASE("AutoAWQ is fullest while it joins projections, or where a long prompt's scores are in 16 bit and twice in fp32") {
    job j = chat("llama-2-13b");
    j.weights = awq(4, 128);
    j.runtime = runtimes::autoawq;
    j.prompt = j.output = tokens(64);
    j.context = tokens(128);
    const memory_breakdown load = memory_of(j, layout{});
    CHECK(load.phase == phase::load);
    CHECK(load[memory_term::weights].expected - load[memory_term::weights].low <= size_of(awq(4, 128), 5120, 5120) * 3 * 40);
    CHECK(load[memory_term::activations].expected == bytes(0));
    j.prompt = j.output = tokens(2048);
    j.context = tokens(4096);
    const memory_breakdown step = memory_of(j, layout{});
    CHECK(step.phase == phase::prefill);
    const byte_count joined = size_of(awq(4, 128), 5120, 5120) * 3 * 40;
    const auto positions = [](std::int64_t cells) { return bytes(8) * (40LL * 128 * cells); };  // complex, twice the cells, half a head
    CHECK(load[memory_term::weights].expected - positions(128) == step[memory_term::weights].expected - positions(4096) + joined);
    CHECK(step[memory_term::activations].expected == bytes(10) * (40LL * 2048 * 2048) + bytes(2) * (2048LL * 5120 * 7));
    // 0.1 kept as many cells as tokens are generated.
    job rolling = j;
    rolling.runtime = runtimes::autoawq_0_1;
    CHECK(memory_of(rolling, layout{})[memory_term::kv_cache].expected * 2 == step[memory_term::kv_cache].expected);
}

TEST_CASE("ExLlamaV2's buffers are there from load on: one dequantised head, and until 2024 the scores of a whole chunk") {
    job j = chat("llama-2-13b");
    j.weights = exl2(4250);
    j.context = tokens(1);
    const byte_count head = bytes(2) * (32000LL * 5120), states = bytes(2) * (2048LL * 5120);
    j.runtime = runtimes::exllamav2_2023;
    CHECK(memory_of(j, layout{}).allocated.expected - memory_of(j, layout{})[memory_term::weights].expected -
              memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(4) * (32000LL * 2048) + head + states);
    j.runtime = runtimes::exllamav2;
    CHECK(memory_of(j, layout{})[memory_term::activations].expected + memory_of(j, layout{})[memory_term::logits].expected >= head);
    CHECK(memory_of(j, layout{}).allocated.expected < mib(8200));
    CHECK(find_runtime("exllamav2", "0.0.6", "runtime").value().versions == "0.0.6 to 0.0.21");
    CHECK(find_runtime("exllamav2").value().versions == "0.0.22 and later");
}

TEST_CASE("keys in iq4_nl, values in 16 bit: 18 + 64 MiB for 1024 cells of Llama 3.1 8B, as llama.cpp logs") {
    job j = chat();
    j.runtime = runtimes::llama_cpp_2025;
    j.context = tokens(1024);
    j.kv_cache = iq4_nl;
    j.kv_cache_values = fp16;
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == mib(82));
    const job_plan wide = plan(j, layout{}, one(gpus::rtx_4090)).value();
    j.kv_cache_values = {};
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == mib(36));
    CHECK(plan(j, layout{}, one(gpus::rtx_4090)).value().speed.step.total().expected < wide.speed.step.total().expected);
    // Latent attention stores one vector for both.
    job latent = chat("deepseek-v3");
    const byte_count as_keys = memory_of(latent, layout{})[memory_term::kv_cache].expected;
    latent.kv_cache_values = q8_0;
    CHECK(memory_of(latent, layout{})[memory_term::kv_cache].expected == as_keys);
}

TEST_CASE("ggml lays a tensor into the smallest hole that holds it, and the end comes back when it is free") {
    ggml_buffer buffer;
    const auto large = buffer.add(bytes(1000)), between = buffer.add(bytes(128)), small = buffer.add(bytes(500));
    const auto last = buffer.add(bytes(1));
    CHECK(buffer.peak() == bytes(1024 + 128 + 512 + 128));
    buffer.free(large);
    buffer.free(small);
    CHECK(buffer.add(bytes(400)).offset == small.offset);  // the smaller hole, though the other comes first
    CHECK(buffer.add(bytes(1024)).offset == 0);
    buffer.free(last);
    CHECK(buffer.add(bytes(256)).offset == last.offset);
    CHECK(buffer.peak() == bytes(1024 + 128 + 512 + 256));
    buffer.free(between);
    CHECK(buffer.add(bytes(129)).offset == last.offset + 256);  // no hole holds it
}

TEST_CASE("ik_llama.cpp's compute buffers of DeepSeek V3 are those of its logs, to a mebibyte") {
    job j = chat("deepseek-v3");
    j.model.max_context = {};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    j.runtime = find_runtime("ik_llama.cpp", "b3600", "runtime").value();
    CHECK(set_knob(j.runtime, "cpu_moe", 1));
    struct logged {
        std::int64_t context, ubatch;
        precision cache;
        double mebibytes;
    };
    for (const logged& log : {logged{32768, 512, fp16, 3393.00}, logged{32768, 512, q8_0, 3425.00}, logged{32768, 2048, q8_0, 3588.01},
                              logged{32768, 4096, fp16, 4104.02}, logged{2048, 512, q8_0, 503.00}}) {
        INFO(log.context << " cells, " << log.ubatch << " at once");
        j.context = tokens(log.context);
        j.max_batched_tokens = tokens(log.ubatch);
        j.kv_cache = log.cache;
        const memory_breakdown m = memory_of(j, layout{});
        CHECK((m[memory_term::activations] + m[memory_term::logits]).expected.in(mib) == doctest::Approx(log.mebibytes).epsilon(0.0003));
    }
    // Two GPUs: the first has the mask in both widths.
    j.context = tokens(61440), j.max_batched_tokens = tokens(4096), j.kv_cache = q8_0;
    const memory_breakdown first = serving_memory_of_stage(j, layout{.pipeline = 2}, j.runtime, 0);
    CHECK(first[memory_term::activations].expected.in(mib) == doctest::Approx(7272.02).epsilon(0.0003));
}

TEST_CASE("llama.cpp's latent attention makes queries as wide as the latent, and once more with their rotary part") {
    job j = chat("deepseek-v3");
    j.context = tokens(16384);
    j.runtime = runtimes::llama_cpp;
    j.max_batched_tokens = tokens(2048);
    const memory_breakdown m = memory_of(j, layout{});
    const byte_count queries = bytes(4) * (2048LL * 128 * 2 * (512 + 64));
    CHECK(m[memory_term::activations].expected > queries);
    CHECK(m[memory_term::activations].expected < queries + bytes(4) * (2048LL * 7168 * 3));
}

TEST_CASE("llama.cpp kept keys and values of all heads of latent attention until April 2025") {
    job j = chat("deepseek-v3");
    j.batch = 1;
    j.context = tokens(4096);
    j.runtime = runtimes::llama_cpp_2024;
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(2) * (4096LL * 61 * 128 * (192 + 128)));
    j.runtime = runtimes::llama_cpp;
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(2) * (4096LL * 61 * 576));
}

TEST_CASE("ik_llama.cpp of 2026 reads each part of the keys before it makes the next, in parts that a knob bounds") {
    job j = chat("deepseek-v3");
    j.context = tokens(32768);
    j.runtime = runtimes::ik_llama_cpp;
    const auto compute = [&] { return memory_of(j, layout{})[memory_term::activations].expected; };
    const byte_count now = compute();
    CHECK(set_knob(j.runtime, "attn_max_batch", 1024));
    CHECK(compute() > now);
    CHECK(set_knob(j.runtime, "attn_max_batch", 256));
    j.runtime.expands_all = true;
    CHECK(compute() > now + gib(1));
}

TEST_CASE("--n-cpu-moe keeps the experts of the first layers on the host, in files and in plain formats") {
    for (const bool file : {false, true}) {
        job j = chat("qwen3-30b-a3b");
        j.weights = q4_0;
        if (file) j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
        j.runtime = runtimes::llama_cpp;
        const auto weights = [&](double layers) {
            CHECK(set_knob(j.runtime, "n_cpu_moe", layers));
            return memory_of(j, layout{})[memory_term::weights].expected;
        };
        const byte_count all_here = weights(0), half = weights(24), none = weights(48);
        CHECK(all_here > half);
        CHECK(half > none);
        CHECK(weights(1000) == none);
        CHECK(set_knob(j.runtime, "cpu_moe", 1));
        CHECK(memory_of(j, layout{})[memory_term::weights].expected == none);
        const double part = static_cast<double>((half - none).in(bytes)) / static_cast<double>((all_here - none).in(bytes));
        CHECK(part == doctest::Approx(0.5).epsilon(0.05));  // in the mix not all layers' types are the same
        // Stages hold their own layers' part.
        CHECK(set_knob(j.runtime, "n_cpu_moe", 24));
        const auto of_stage = [&](std::int32_t i) { return serving_memory_of_stage(j, layout{.pipeline = 2}, j.runtime, i)[memory_term::weights].expected; };
        CHECK(of_stage(0) < of_stage(1));
    }
}

TEST_CASE("Ollama since 0.30 is llama.cpp's server, with flash attention where the device has it") {
    job j = chat("llama-3.1-8b");
    j.context = tokens(32768);
    const auto activations = [&](const char* version) {
        j.runtime = find_runtime("ollama", version, "runtime").value();
        return memory_of(j, layout{})[memory_term::activations].expected;
    };
    CHECK(activations("0.30.1") * 4 < activations("0.13"));
    CHECK(set_knob(j.runtime, "num_batch", 128));
    CHECK(j.runtime.max_batched_tokens == tokens(128));
}

TEST_CASE("llama.cpp: a stack of experts on the host comes to the GPU for prompts, 816 MiB of Qwen3-235B in Q8_0") {
    job j = chat("qwen3-235b-a22b");
    j.context = tokens(32768);
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    j.runtime = runtimes::llama_cpp_2025;
    j.runtime.flash_attention = true;
    CHECK(set_knob(j.runtime, "cpu_moe", 1));
    const auto compute = [&] {
        const memory_breakdown m = memory_of(j, layout{});
        return (m[memory_term::activations] + m[memory_term::logits]).expected.in(mib);
    };
    CHECK(compute() == doctest::Approx(1024).epsilon(0.03));  // two logs of 2025
    CHECK(set_knob(j.runtime, "ubatch_size", 16));            // computed where they are
    CHECK(compute() < 100);
}

TEST_CASE("experts in MXFP4 are padded for vLLM's kernels, at most") {
    job j = chat("gpt-oss-20b");
    j.weights = mxfp4;
    const interval<byte_count> weights = memory_of(j, layout{})[memory_term::weights];
    // 24 layers of 32 experts: 3 matrices of 2944 x 3072 for 2880 x 2880, 17 bytes for 32 values.
    CHECK(weights.expected - weights.low == bytes(std::int64_t{24} * 32 * 3 * (2944 * 3072 - 2880 * 2880) / 32 * 17));
}

TEST_CASE("bad input is refused by name") {
    const cluster c = one(gpus::a100_sxm4_80gb);
    const auto refusal = [&](const job& j, const layout& l = {}) { return plan(j, l, c).error(); };
    job j = chat();
    j.context = tokens(200'000);
    CHECK(refusal(j).field == "context");
    j = chat();
    j.batch = 0;
    CHECK(refusal(j).field == "batch");
    for (const double fraction : {1.2, 0.0, -0.5}) {
        j = chat();
        j.runtime.gpu_memory_utilization = fraction;
        CHECK(refusal(j).field == "runtime.gpu_memory_utilization");
        CHECK(refusal(j).code == error_code::out_of_range);
    }
    j.runtime = runtimes::sglang;
    j.runtime.gpu_memory_utilization = 1.5;
    CHECK(refusal(j).field == "runtime.mem_fraction_static");
    CHECK(refusal(j).value == "150 %");
    j = chat();
    CHECK(plan(j, layout{.tensor = 64}, cluster{.gpu = c.gpu, .gpus = 64, .scale_up = links::pcie_gen4_x16, .scale_out = links::pcie_gen4_x16})
              .error()
              .field == "layout.tensor");
    j.runtime = runtimes::llama_cpp;
    j.weights = awq(4, 128);
    CHECK(refusal(j).code == error_code::unsupported);
    CHECK(refusal(j).field == "weights");
    CHECK(refusal(j).value == "awq_int4_g128");
    j.weights = q4_0;
    CHECK(plan(j, layout{}, c));
    j.runtime = runtimes::tensorrt_llm;
    CHECK(refusal(j).code == error_code::unsupported);
    runtime r = runtimes::vllm;
    CHECK(set_knob(r, "mem_fraction_static", 0.8).error().code == error_code::unknown);
}

TEST_CASE("ik_llama.cpp alone loads its own types; experts on the host may come to the GPU two stacks at a time") {
    job j = chat("qwen3-235b-a22b");
    j.context = tokens(32768);
    j.weights = iq3_k;
    j.runtime = runtimes::ik_llama_cpp;
    j.runtime.experts_on_host = true;
    const cluster c = one(gpus::rtx_5090);
    const byte_count stack = size_of(iq3_k, 128LL * 4096, 1536);
    const auto bounds = [&](std::int64_t ubatch) {
        j.max_batched_tokens = tokens(ubatch);
        const memory_breakdown m = memory_of(j, layout{}, c);
        return m[memory_term::activations] + m[memory_term::logits];
    };
    CHECK(bounds(511).expected < stack * 2);  // eight of 128 experts each: below 32 tokens an expert they stay
    CHECK(bounds(512).expected > stack * 2);
    CHECK(bounds(512).low < stack);  // unless they were repacked
    j.runtime = runtimes::llama_cpp;
    CHECK(plan(j, layout{}, c).error().field == "weights");
}

TEST_CASE("where only a context is named, prompts may be short: whole ones are the upper bound") {
    job j = chat("llama-2-7b");
    j.context = tokens(4096);
    j.runtime = runtimes::transformers_4_44;
    const memory_breakdown named = memory_of(j, layout{});
    CHECK(named[memory_term::logits].low == bytes(0));
    j.prompt = tokens(4096);
    const memory_breakdown said = memory_of(j, layout{});
    CHECK(said[memory_term::logits].low > bytes(0));
    CHECK(said.total().expected == named.total().expected);
    CHECK(said.total().high == named.total().high);
}

TEST_CASE("images pass the vision tower of a step on the first GPU, the more patches the fuller") {
    std::int32_t seen = 0;
    for (const model* m : models::all) {
        const encoder& tower = m->encoders[0];
        if (tower.layers == 0 || m->layers.size < 2) continue;
        INFO(m->name.view());
        ++seen;
        job j{.model = *m, .context = tokens(64), .runtime = no_runtime};
        const auto live = [&](std::int64_t patches, std::int32_t stage) {
            j.runtime.encoder_tokens = tokens(patches);
            return serving_memory_of_stage(j, {.pipeline = 2}, j.runtime, stage)[memory_term::activations].expected;
        };
        CHECK(live(16384, 0) == live(8192, 0) * 2);
        CHECK(live(16384, 0) >= bytes(2) * (16384 * tower.hidden * 2));  // the stream and a layer's input, at the least
        CHECK(live(16384, 1) == live(0, 1));
    }
    CHECK(seen > 0);
}

TEST_CASE("communicators grow with each doubling of their group, not with the stages of a pipeline") {
    job j = chat("llama-3-70b");
    const auto held = [&](const layout& l) { return memory_of(j, l)[memory_term::communication]; };
    const interval<byte_count> pair = j.runtime.communicator;
    CHECK(held(layout{}).expected == bytes(0));
    CHECK(held({.tensor = 2}) == pair);
    CHECK(held({.tensor = 4}).expected == pair.expected * 2);
    CHECK(held({.tensor = 8}).high == pair.high * 3);
    CHECK(held({.tensor = 8}).low == pair.low);
    CHECK(held({.pipeline = 8}) == pair);
    CHECK(held({.tensor = 8, .pipeline = 2}).expected == pair.expected * 4);
}

TEST_CASE("eight-bit floats on an A100 run, converted first: the plan says so") {
    job j = chat();
    j.weights = fp8_channel;
    const auto p = plan(j, layout{}, one(gpus::a100_sxm4_80gb));
    REQUIRE(p);
    bool said = false;
    for (std::int32_t i = 0; i < p->reason_count; ++i)
        said = said || p->reasons[static_cast<std::size_t>(i)].code == reason_code::format_emulated;
    CHECK(said);
}

TEST_CASE("the answers of compile time are those of run time") {
    static constexpr model small = models::llama_3_2_1b;
    constexpr job j{.model = small, .context = tokens(4096), .runtime = runtimes::vllm_v1};
    constexpr cluster c{.gpu = gpus::rtx_4090};
    constexpr memory_breakdown m = memory_of(j, layout{}, c);
    constexpr auto pool = cache_pool_of(j, layout{}, c);
    const job same = j;
    CHECK(memory_of(same, layout{}, c).total() == m.total());
    CHECK(cache_pool_of(same, layout{}, c)->memory == pool->memory);
    static_assert(std::is_trivially_copyable_v<runtime> && std::is_standard_layout_v<runtime>);
    static_assert(std::is_trivially_copyable_v<job> && std::is_trivially_copyable_v<memory_breakdown>);
}
