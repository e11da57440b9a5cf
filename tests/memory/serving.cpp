// SPDX-License-Identifier: MIT
#include <llmres/jobs/knobs.hpp>
#include <llmres/memory/memory.hpp>
#include <llmres/memory/serving.hpp>
#include <llmres/runtimes/all.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

using namespace serving_jobs;

TEST_CASE("memory grows with batch, context and width of the cache, under every profile") {
    for (const runtime* r : runtimes::all) {
        INFO(std::string{r->identity.name.view()} << " " << std::string{r->identity.versions.view()});
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
        INFO(std::string{r->identity.name.view()} << " " << std::string{r->identity.versions.view()});
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
        CHECK(m.ideal <= m.allocated.expected);
        CHECK(m.allocated.expected <= m.reserved.expected);
    }
}

TEST_CASE("ideal bytes are of the moment that is fullest: what is made of the cache, or of prompts, not both") {
    for (const std::int64_t output : {1, 1000, 7000}) {
        job j = chat();
        j.batch = 32;
        j.runtime = find_runtime("transformers").value();
        j.context = tokens(8000);
        j.prompt = tokens(8000 - output);
        j.output = tokens(output);
        const memory_breakdown m = memory_of(j, layout{});
        CHECK(m.ideal == m.allocated.expected);  // its caches grow token by token
    }
}

TEST_CASE("bounds enclose what is expected, with ik_llama.cpp's experts on the host too") {
    for (const char* version : {"b3600", "b3700", "b4000", "b4200"})
        for (const std::int64_t ubatch : {32, 512, 4096, 32768}) {
            job j = chat("qwen3-30b-a3b");
            j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
            j.runtime = find_runtime("ik_llama.cpp", version, "runtime").value();
            j.options.experts_on_host = true;
            j.max_batched_tokens = tokens(ubatch);
            const memory_breakdown m = memory_of(j, layout{});
            for (const memory_term t : {memory_term::activations, memory_term::logits}) {
                INFO(std::string{version} << " " << ubatch << " " << std::string{name_of(t)});
                CHECK(m[t].low <= m[t].expected);
                CHECK(m[t].expected <= m[t].high);
            }
        }
}

TEST_CASE("resident adapters, prediction layers and a draft model are counted") {
    job j = chat();
    const byte_count plain = need(j);
    CHECK(set_knob(j.runtime, j.options, "max_loras", 4));
    CHECK(set_knob(j.runtime, j.options, "max_lora_rank", 16));
    // Rank 16 on all seven matrices of 32 layers: 41.9 million parameters each, in two bytes.
    CHECK(memory_of(j, layout{})[memory_term::adapter].expected == bytes(41'943'040) * 2 * 4);
    CHECK(need(j) > plain);
    j = chat();
    j.options.draft_weights = gib(1);
    j.options.draft_kv = bytes_a_token(1024);
    const auto more = [&](const layout& l, memory_term t) {
        return memory_of(j, l)[t].expected - memory_of(chat(), l)[t].expected;
    };
    CHECK(more({}, memory_term::weights) == gib(1));
    CHECK(more({}, memory_term::kv_cache) == bytes(1024) * context_of(j).in(tokens));
    CHECK(more({.tensor = 2}, memory_term::weights) == mib(512));
    j = chat("deepseek-v3");
    j.runtime = runtimes::sglang;
    const byte_count without = need(j);
    j.options.speculates_ahead = true;
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

TEST_CASE("vLLM has the vision tower on each stage of a pipeline, though the first alone runs it") {
    job j = chat("qwen2.5-vl-7b");
    const layout two{.pipeline = 2};
    const auto weights_of_last = [&] {
        return serving_memory_of_stage(j, two, j.runtime, 1)[memory_term::weights].expected;
    };
    const byte_count with = weights_of_last();
    j.runtime.loading.towers_everywhere = false;
    // 8 292 166 656 parameters of which 7 615 616 512 are the language model's, as of the two published checkpoints.
    const byte_count tower = bytes(2) * (8'292'166'656 - 7'615'616'512);
    CHECK(with - weights_of_last() >= tower);
    CHECK(with - weights_of_last() <= scaled_up(tower, 1.01));  // what the allocator rounds up
    // Neither of a model that does not see, nor of a GGUF file, whose tower is in another.
    for (const bool file : {false, true}) {
        j = file ? chat("qwen2.5-vl-7b") : chat();
        if (file) j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
        const byte_count without_towers = weights_of_last();
        j.runtime.loading.towers_everywhere = false;
        CHECK(weights_of_last() == without_towers);
    }
}
TEST_CASE("an FP8 checkpoint of a tied model holds a head of its own") {
    job j = chat("qwen3-0.6b");
    j.runtime = runtimes::transformers;
    j.weights = fp8_block;
    const byte_count tied = memory_of(j, layout{})[memory_term::weights].expected;
    j.model.tied_head = false;
    CHECK(memory_of(j, layout{})[memory_term::weights].expected == tied);
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
        j.runtime.cache.fraction = fraction;
        CHECK(refusal(j).field == "runtime.gpu_memory_utilization");
        CHECK(refusal(j).code == error_code::out_of_range);
    }
    j.runtime = runtimes::sglang;
    j.runtime.cache.fraction = 1.5;
    CHECK(refusal(j).field == "runtime.mem_fraction_static");
    CHECK(refusal(j).value == "150 %");
    j = chat();
    CHECK(plan(j, layout{.tensor = 64},
               cluster{.gpu = c.gpu, .gpus = 64, .scale_up = links::pcie_gen4_x16, .scale_out = links::pcie_gen4_x16})
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
    serving_options asked;
    CHECK(set_knob(r, asked, "mem_fraction_static", 0.8).error().code == error_code::unknown);
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
            j.options.encoder_tokens = tokens(patches);
            return serving_memory_of_stage(j, {.pipeline = 2}, j.runtime, stage)[memory_term::activations].expected;
        };
        CHECK(live(16384, 0) == live(8192, 0) * 2);
        CHECK(live(16384, 0) >= bytes(2) * (16384 * tower.hidden * 2));  // the stream and a layer's input, at the least
        CHECK(live(16384, 1) == live(0, 1));
    }
    CHECK(seen > 0);
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
    constexpr job j{.model = small, .context = tokens(4096), .runtime = runtimes::vllm_v1_9};
    constexpr cluster c{.gpu = gpus::rtx_4090};
    constexpr memory_breakdown m = memory_of(j, layout{}, c);
    constexpr auto pool = cache_pool_of(j, layout{}, c);
    const job same = j;
    CHECK(memory_of(same, layout{}, c).total() == m.total());
    CHECK(cache_pool_of(same, layout{}, c)->memory == pool->memory);
    static_assert(std::is_trivially_copyable_v<runtime> && std::is_standard_layout_v<runtime>);
    static_assert(std::is_trivially_copyable_v<job> && std::is_trivially_copyable_v<memory_breakdown>);
}

TEST_CASE("a type of ggml holds embedding and head as well: a narrower one never takes more") {
    for (const char* name : {"gemma-3-270m", "llama-3.2-1b", "qwen2.5-0.5b"}) {
        CAPTURE(name);
        job j = chat(name);
        j.runtime = find_runtime("llama.cpp").value();
        byte_count wider = memory_of(j, layout{})[memory_term::weights].expected;
        for (const precision& format : {q8_0, q6_k, q5_k, q4_k, q3_k, q2_k}) {
            CAPTURE(format.name.view());
            j.weights = format;
            const byte_count held = memory_of(j, layout{})[memory_term::weights].expected;
            CHECK(held < wider);
            wider = held;
        }
    }
}

TEST_CASE("MXFP4 holds the matrices of a dense model, too: narrower weights never take more") {
    for (const char* runs : {"transformers", "vllm", "sglang"}) {
        CAPTURE(runs);
        job j = chat("llama-3.1-8b");
        j.runtime = find_runtime(runs).value();
        const auto held = [&](const precision& format) {
            j.weights = format;
            return memory_of(j, layout{})[memory_term::weights].expected;
        };
        CHECK(held(mxfp4) < held(nvfp4));  // 4.25 bits and 4.5
        CHECK(held(nvfp4) < held(fp8_e4m3));
        CHECK(held(fp8_e4m3) < held(bf16));
    }
    job published = chat("gpt-oss-20b");  // its own checkpoint: the routed experts alone
    const byte_count own = memory_of(published, layout{})[memory_term::weights].expected;
    published.weights = mxfp4;
    CHECK(memory_of(published, layout{})[memory_term::weights].expected == own);
}

TEST_CASE("a prompt in chunks attends to the prompt, not to the context that the output may reach") {
    job j = chat("phi-4-mini");
    j.runtime = find_runtime("transformers").value();
    j.attention = attention_kernel::eager;
    j.prompt = tokens(4096);
    j.output = tokens(1024);
    j.context = tokens(131072);
    const byte_count whole = memory_of(j, layout{}).total().expected;
    j.max_batched_tokens = tokens(2048);
    CHECK(memory_of(j, layout{}).total().expected <= whole);  // with keys of the whole context it was 2.5 times as much
    j.max_batched_tokens = tokens(4096);
    CHECK(memory_of(j, layout{}).total().expected == whole);
}

TEST_CASE("vLLM's first engine takes less for contexts beyond 32768 tokens, which it computes in chunks") {
    job j = chat("llama-3.1-8b");
    j.runtime = find_runtime("vllm@0.6.4").value();
    j.context = tokens(32768);
    const byte_count whole = memory_of(j, layout{})[memory_term::activations].expected;
    j.context = tokens(32784);  // arg_utils.py: chunked prefill above 32K
    CHECK(memory_of(j, layout{})[memory_term::activations].expected < whole);
}

TEST_CASE("the fullest phase is what the plan allocates, under every profile") {
    for (const runtime* r : runtimes::all)
        for (const std::int64_t output : {0, 500, 7000})
            for (const layout& l : {layout{}, layout{.tensor = 2}, layout{.pipeline = 4}}) {
                job j = chat();
                j.batch = 32;
                j.runtime = *r;
                j.context = tokens(8000);
                j.output = tokens(output);
                if (output > 0) j.prompt = tokens(8000 - output);
                CAPTURE(std::string{r->identity.name.view()});
                CAPTURE(output);
                const memory_breakdown m = serving_memory(j, l, *r);
                const serving_phases p = serving_phases_of_stage(j, l, *r, m.stage);
                const byte_count& of_phase = m.phase == phase::load     ? p.load
                                             : m.phase == phase::decode ? p.decode
                                                                        : p.prefill;
                CHECK(of_phase == m.allocated.expected);
                CHECK((std::max)({p.load, p.prefill, p.decode}) == of_phase);
            }
}

TEST_CASE("the memory of a layout is that of the stage which is expected to need most, the first of equal ones") {
    for (const model* m : {&models::llama_3_1_8b, &models::mixtral_8x7b, &models::deepseek_v3, &models::gemma_3_27b})
        for (const gguf_quantisation quantisation : {gguf_quantisation::Q4_K_M, gguf_quantisation::Q8_0})
            for (const std::int32_t stages : {2, 3, 5, 8})
                for (const std::int32_t on_host : {0, 2}) {
                    job j = chat();
                    j.model = *m;
                    j.runtime = runtimes::llama_cpp;
                    j.gguf = gguf_mix{.quantisation = quantisation};
                    j.options.experts_on_host = on_host > 0;
                    j.options.host_expert_layers = on_host;
                    const layout l{.pipeline = stages};
                    memory_breakdown most = serving_memory_of_stage(j, l, j.runtime, 0);
                    for (std::int32_t s = 1; s < stages; ++s) {
                        const memory_breakdown own = serving_memory_of_stage(j, l, j.runtime, s);
                        if (own.expected() > most.expected()) most = own;
                    }
                    INFO(std::string{m->name.view()} << ", stages: " << stages << ", " << on_host);
                    const memory_breakdown found = serving_memory(j, l);
                    CHECK(found.stage == most.stage);
                    CHECK(found.total() == most.total());
                    CHECK(found[memory_term::activations] == most[memory_term::activations]);
                    CHECK(found[memory_term::logits] == most[memory_term::logits]);
                }
}

TEST_CASE("SGLang's sparse latent attention caches 8-bit latents with scales, but not on Blackwell") {
    // kv_cache_configurator.py: 512 + 512 / 128 x 4 + 64 x 2 bytes, and 132 of the indexer's key.
    const auto of_token = [](const char* engine, const gpu& card) {
        job j{.model = models::deepseek_v3, .kv_cache = fp8_e4m3, .context = tokens(1024)};
        for (layer& kind : j.model.layers.kinds)
            kind.attention.indexer = {.heads = 64, .head_dim = 128};  // DeepSeek-V3.2
        j.runtime = find_runtime(engine).value();
        return serving_memory(j, layout{}, on_device(j, card, layout{}))[memory_term::kv_cache].expected.in(bytes) /
               (1024 * 61);
    };
    CHECK(of_token("sglang", gpus::h200_sxm5_141gb) == 656 + 132);
    CHECK(of_token("sglang", gpus::b200_sxm_180gb) == 576 + 132);
    CHECK(of_token("sglang@0.5.9", gpus::b200_sxm_180gb) == 656 + 132);
    CHECK(of_token("sglang@0.5.3", gpus::h200_sxm5_141gb) == 576 + 132);
}

TEST_CASE("a list of stages is planned as it is, whatever was remembered of stages that are dealt evenly") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm_v1_9};
    const cluster c = cluster{.gpu = gpus::h100_sxm5_80gb, .gpus = 8, .gpus_per_node = 8};
    detail::training_folds training{detail::folds_are::kept};
    detail::serving_folds serving{detail::folds_are::kept};
    layout listed{.pipeline = 2};
    listed.stages = read_stages("8|24").value();
    layout other = listed;
    other.stages = read_stages("20|12").value();
    for (const layout& l : {layout{.pipeline = 2}, listed, other, layout{.pipeline = 2}, listed})
        CHECK(detail::memory_of(j, l, c, training, serving).total() == memory_of(j, l, c).total());
    CHECK(memory_of(j, listed, c)[memory_term::weights].expected >
          memory_of(j, other, c)[memory_term::weights].expected);
}
