// SPDX-License-Identifier: MIT
// llama.cpp, ik_llama.cpp and Ollama.
#include <llmres/jobs/knobs.hpp>
#include <llmres/memory/serving/ggml/buffer.hpp>
#include <llmres/runtimes/llama_cpp.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

#include <array>
#include <string>
#include <type_traits>
#include <utility>

using namespace llmres::detail;

using namespace serving_jobs;

TEST_CASE("llama.cpp: layers on the host take no memory of the GPU, and the last of all is the head") {
    job j = chat();
    j.runtime = runtimes::llama_cpp;
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    byte_count before = need(j);
    for (const std::int32_t layers : {33, 32, 16, 1, 0}) {
        j.options.gpu_layers = layers;
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
    CHECK(set_knob(j.runtime, j.options, "parallel", 1));
    // 13 layers of 8192 cells, 13 of 4096 + 512: 2 x 4 heads x 256 x 2 bytes a token and layer.
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(4096) * (13 * 8192 + 13 * 4608));
    CHECK(set_knob(j.runtime, j.options, "swa_full", 1));
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(4096) * (26 * 8192));
    // Builds that keep everything keep it without the option, too; the fork does not have it.
    j.runtime = runtimes::llama_cpp_5426;
    CHECK(set_knob(j.runtime, j.options, "swa_full", 0));
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == bytes(4096) * (26 * 8192));
    j.runtime = runtimes::ik_llama_cpp;
    CHECK_FALSE(set_knob(j.runtime, j.options, "swa_full", 1));
}

TEST_CASE("cells are a multiple of 32 tokens in older builds, of 256 with flash attention, for a week of one") {
    const auto cells = [](const char* version, std::int64_t context, bool flash, token_count block = {}) {
        job j = chat("qwen3-30b-a3b-thinking-2507");  // 48 layers, 4 heads of 128: 2048 bytes a token and layer
        j.context = tokens(context);
        j.runtime = find_runtime(version).value();
        CHECK(set_knob(j.runtime, j.options, "flash_attn", flash ? 1 : 0));
        if (block > token_count{}) j.runtime.cache.block = block;
        return memory_of(j, layout{})[memory_term::kv_cache].expected.in(bytes) / (2048 * 48);
    };
    // llama.cpp#15009: b6050 without flash attention prints 6564 MiB for 70,016 tokens, which are no multiple of 256.
    CHECK(cells("llama.cpp@b6050", 70016, false) == 70016);
    CHECK(6564 * mib(1) == bytes(70016) * (2048 * 48));
    for (const char* padded : {"llama.cpp@b3000", "llama.cpp@b5300", "llama.cpp@b6050", "llama.cpp@b6400",
                               "ik_llama.cpp@b4000", "ollama@0.20"}) {
        CAPTURE(padded);
        CHECK(cells(padded, 70001, false) == 70016);
        CHECK(cells(padded, 70001, true) == 70144);
        CHECK(cells(padded, 70001, true, tokens(512)) == 70144);
        CHECK(cells(padded, 70145, true, tokens(512)) == 70656);
    }
    CHECK(cells("llama.cpp@b6900", 70001, true) == 70001);
    for (const bool flash : {false, true}) CHECK(cells("llama.cpp", 70001, flash) == 70144);
}

TEST_CASE("llama.cpp's server has windows and states for four slots where nothing else is said; Ollama says one") {
    job j = chat("gemma-2-2b");
    j.batch = 1;
    j.context = tokens(8192 * 4);
    j.model.max_context = {};
    j.runtime = runtimes::llama_cpp;
    const auto windowed = [&] {
        return memory_of(j, layout{})[memory_term::kv_cache].expected - bytes(4096) * (13 * 32768);
    };
    CHECK(windowed() == bytes(4096) * (13 * (4 * 4096 + 512)));
    CHECK(set_knob(j.runtime, j.options, "parallel", 1));
    CHECK(windowed() == bytes(4096) * (13 * (4096 + 512)));
    j.runtime = runtimes::ollama;
    CHECK(windowed() == bytes(4096) * (13 * (4096 + 512)));
    j.runtime = find_runtime("llama.cpp", "b6929", "runtime").value();
    CHECK(windowed() == bytes(4096) * (13 * (4096 + 512)));
}

TEST_CASE(
    "llama.cpp's server makes room for the scores of its slots alone since June 2026, and long masks outgrow them") {
    job j = chat();
    j.batch = 1;
    j.model.max_context = {};
    const auto step = [&](const char* build) {
        j.runtime = find_runtime("llama.cpp", build, "runtime").value();
        const memory_breakdown m = memory_of(j, layout{});
        return m[memory_term::activations] + m[memory_term::logits];
    };
    const byte_count scores = bytes(4) * (512LL * 128256);
    j.context = tokens(8192);
    CHECK(step("b9479").expected >= scores);
    CHECK(step("b9480").high < scores);
    j.context = tokens(131072);
    const byte_count masks = bytes(4 + 2) * (512LL * 131072);  // in fp32, and cast to 16 bit
    CHECK(step("b9479").expected >= masks);
    CHECK(step("b9480").expected >= bytes(2) * (512LL * 131072));  // 16-bit inputs, as b9538 allots
    CHECK(step("b9480").expected < masks);
    CHECK(step("b9479").expected < masks + bytes(4) * (512LL * 4096 * 8));
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
    j.runtime.serving_kernels.flash_attention = true;  // without it values stay in 16 bits
    CHECK(memory_of(j, layout{})[memory_term::kv_cache].expected == mib(36));
    CHECK(plan(j, layout{}, one(gpus::rtx_4090)).value().speed.step.total().expected <
          wide.speed.step.total().expected);
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

TEST_CASE("a buffer for a tensor that no machine holds is as large as can be said, whatever comes after it") {
    ggml_buffer buffer;
    const auto absurd = buffer.add(byte_count::max());
    buffer.free(absurd);
    const auto small = buffer.add(bytes(128));
    buffer.free(small);
    CHECK(is_saturated(buffer.peak()));
}

TEST_CASE("ik_llama.cpp's compute buffers of DeepSeek V3 are those of its logs, to a mebibyte") {
    job j = chat("deepseek-v3");
    j.model.max_context = {};
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    j.runtime = find_runtime("ik_llama.cpp", "b3600", "runtime").value();
    CHECK(set_knob(j.runtime, j.options, "cpu_moe", 1));
    struct logged {
        std::int64_t context, ubatch;
        precision cache;
        double mebibytes;
    };
    for (const logged& log :
         {logged{32768, 512, fp16, 3393.00}, logged{32768, 512, q8_0, 3425.00}, logged{32768, 2048, q8_0, 3588.01},
          logged{32768, 4096, fp16, 4104.02}, logged{2048, 512, q8_0, 503.00}}) {
        INFO(log.context << " cells, " << log.ubatch << " at once");
        j.context = tokens(log.context);
        j.max_batched_tokens = tokens(log.ubatch);
        j.kv_cache = log.cache;
        const memory_breakdown m = memory_of(j, layout{});
        CHECK((m[memory_term::activations] + m[memory_term::logits]).expected.in(mib) ==
              doctest::Approx(log.mebibytes).epsilon(0.0003));
    }
    // Two GPUs: the first has the mask in both widths.
    j.context = tokens(61440), j.max_batched_tokens = tokens(4096), j.kv_cache = q8_0;
    const memory_breakdown first = serving_memory_of_stage(j, layout{.pipeline = 2}, j.runtime, 0);
    CHECK(first[memory_term::activations].expected.in(mib) == doctest::Approx(7272.02).epsilon(0.0003));
}

TEST_CASE(
    "experts that come from the host come to the first GPU: buffers of DeepSeek R1's logs of June 2025, to a "
    "mebibyte") {
    job j = chat("deepseek-v3");
    j.model.max_context = {};
    j.model.weights = iq4_ks;
    j.model.mixed.experts_down = iq5_ks;
    j.kv_cache = q8_0;
    j.runtime = find_runtime("ik_llama.cpp", "b3737", "runtime").value();
    CHECK(set_knob(j.runtime, j.options, "cpu_moe", 1));
    const auto compute = [&](const layout& l, std::int32_t stage) {
        const memory_breakdown m = serving_memory_of_stage(j, l, j.runtime, stage);
        return (m[memory_term::activations] + m[memory_term::logits]).expected.in(mib);
    };
    j.context = tokens(32768), j.max_batched_tokens = tokens(2048);
    CHECK(compute({}, 0) == doctest::Approx(4252.01).epsilon(0.00001));
    const layout two{.pipeline = 2};
    j.max_batched_tokens = tokens(4096);
    for (const auto& [context, first, second] :
         {std::array{40960.0, 6698.02, 4560.02}, std::array{65536.0, 7688.02, 6992.03}}) {
        INFO(context << " cells");
        j.context = tokens(static_cast<std::int64_t>(context));
        CHECK(compute(two, 0) == doctest::Approx(first).epsilon(0.00001));
        CHECK(compute(two, 1) == doctest::Approx(second).epsilon(0.00001));
    }
    // The mix of the way down is in the file's size as well.
    const byte_count mixed = memory_of(j, layout{})[memory_term::weights].expected;
    j.options.experts_on_host = false;
    const byte_count stacks = memory_of(j, layout{})[memory_term::weights].expected - mixed;
    CHECK(stacks == (size_of(iq4_ks, 256LL * 2048, 7168) * 2 + size_of(iq5_ks, 256LL * 7168, 2048)) * 58);
}

TEST_CASE("llama.cpp's latent attention makes queries as wide as the latent, and once more with their rotary part") {
    job j = chat("deepseek-v3");
    j.context = tokens(16384);
    j.runtime = runtimes::llama_cpp;
    j.max_batched_tokens = tokens(2048);
    const memory_breakdown m = memory_of(j, layout{});
    const byte_count queries = bytes(4) * (2048LL * 128 * 2 * (512 + 64));
    CHECK(m[memory_term::activations].expected > queries);
    const byte_count before = bytes(4) * (2048LL * 128 * (128 + 64));  // of the heads' own width, until they are joined
    const byte_count mask = bytes(2) * (2048LL * 16384);
    const byte_count positions = bytes(4) * 2048;
    CHECK(m[memory_term::activations].expected == queries + before + mask + bytes(4) * (2048LL * 7168 * 3) + positions);
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
    CHECK(set_knob(j.runtime, j.options, "attn_max_batch", 1024));
    CHECK(compute() > now);
    CHECK(set_knob(j.runtime, j.options, "attn_max_batch", 256));
    j.runtime.serving_kernels.latent.expands_all = true;
    CHECK(compute() > now + gib(1));
}

TEST_CASE("--n-cpu-moe keeps the experts of the first layers on the host, in files and in plain formats") {
    for (const bool file : {false, true}) {
        job j = chat("qwen3-30b-a3b");
        j.weights = q4_0;
        if (file) j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
        j.runtime = runtimes::llama_cpp;
        const auto weights = [&](double layers) {
            CHECK(set_knob(j.runtime, j.options, "n_cpu_moe", layers));
            return memory_of(j, layout{})[memory_term::weights].expected;
        };
        const byte_count all_here = weights(0), half = weights(24), none = weights(48);
        CHECK(all_here > half);
        CHECK(half > none);
        CHECK(weights(1000) == none);
        CHECK(set_knob(j.runtime, j.options, "cpu_moe", 1));
        CHECK(memory_of(j, layout{})[memory_term::weights].expected == none);
        const double part =
            static_cast<double>((half - none).in(bytes)) / static_cast<double>((all_here - none).in(bytes));
        CHECK(part == doctest::Approx(0.5).epsilon(0.05));  // in the mix not all layers' types are the same
        // Stages hold their own layers' part.
        CHECK(set_knob(j.runtime, j.options, "n_cpu_moe", 24));
        const auto of_stage = [&](std::int32_t i) {
            return serving_memory_of_stage(j, layout{.pipeline = 2}, j.runtime, i)[memory_term::weights].expected;
        };
        CHECK(of_stage(0) < of_stage(1));
    }
}

TEST_CASE(
    "llama.cpp: a stack of experts on the host comes to the first GPU for prompts, 816 MiB of Qwen3-235B in Q8_0") {
    job j = chat("qwen3-235b-a22b");
    j.context = tokens(32768);
    j.gguf = find_gguf_mix("weights", "Q8_0").value();
    j.runtime = find_runtime("llama.cpp", "b5274", "runtime").value();
    j.runtime.serving_kernels.flash_attention = true;
    CHECK(set_knob(j.runtime, j.options, "cpu_moe", 1));
    const auto compute = [&](const layout& l, std::int32_t stage) {
        const memory_breakdown m = serving_memory_of_stage(j, l, j.runtime, stage);
        return (m[memory_term::activations] + m[memory_term::logits]).expected.in(mib);
    };
    CHECK(compute({}, 0) == doctest::Approx(1024.00).epsilon(0.00001));  // logs of builds 5192 and 5274
    j.context = tokens(16384);
    j.gguf = find_gguf_mix("weights", "Q6_K").value();
    const layout two{.pipeline = 2};
    CHECK(compute(two, 0) == doctest::Approx(774.00).epsilon(0.00001));  // 5269 and 5271
    CHECK(compute(two, 1) == doctest::Approx(304.75).epsilon(0.00001));
    CHECK(set_knob(j.runtime, j.options, "ubatch_size", 16));  // computed where they are
    CHECK(compute({}, 0) < 100);
}

TEST_CASE("ik_llama.cpp alone loads its own types; experts on the host may come to the GPU two stacks at a time") {
    job j = chat("qwen3-235b-a22b");
    j.context = tokens(32768);
    j.weights = iq3_k;
    j.runtime = runtimes::ik_llama_cpp;
    j.options.experts_on_host = true;
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

TEST_CASE("until January 2026 latent attention had values of its own in the cache, which ik_llama.cpp never kept") {
    job j = chat("deepseek-v2-lite");
    const auto cache = [&](const char* build) {
        j.runtime = find_runtime(build).value();
        return memory_of(j, layout{})[memory_term::kv_cache].expected;
    };
    const std::int64_t cells = j.context.in(tokens) * 27;
    CHECK(cache("llama.cpp@b6900") == bytes(2) * (cells * (576 + 512)));  // 68 MiB for 36, as b6900 prints
    CHECK(cache("llama.cpp@b9538") == bytes(2) * (cells * 576));
    CHECK(cache("ik_llama.cpp@b4200") == bytes(2) * (cells * 576));
}
