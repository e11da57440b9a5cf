// SPDX-License-Identifier: MIT
// What vLLM's releases load and profile.
#include <llmres/jobs/knobs.hpp>
#include <llmres/runtimes/vllm.hpp>

#include <doctest/doctest.h>

#include "../serving_jobs.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace llmres::detail;

using namespace serving_jobs;

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
    j.runtime.loading.rope = rope_tables::computed;
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
        j.options.max_num_seqs = sequences;
        return memory_of(j, layout{})[memory_term::logits].expected;
    };
    const byte_count row = bytes(151936);
    CHECK(scores(128) == row * 128 * 38);
    CHECK(scores(127) == row * 127 * 50);
}

TEST_CASE("models of the second runner score in 16 bit while vLLM profiles, and others as before") {
    const auto each = [&](const char* id, const char* engine) {
        job j = chat(id);
        j.runtime = find_runtime(engine).value();
        j.options.max_num_seqs = 4096;  // more than the layers take
        return ratio(memory_of(j, layout{})[memory_term::logits].expected, bytes(4096 * j.model.vocabulary));
    };
    CHECK(each("qwen3-0.6b", "vllm@0.21") == doctest::Approx(14));
    CHECK(each("qwen3-0.6b", "vllm@0.26") == doctest::Approx(2.3));
    CHECK(each("qwen3-30b-a3b", "vllm@0.26") == doctest::Approx(14));
}

TEST_CASE(
    "the second runner has one architecture under 0.22, then three and six, then dense models, and all from 0.29") {
    // config/vllm.py: DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES, _is_default_v2_model_runner_model; neither is there in
    // 0.29
    const auto first_of = [](const char* id, const precision& weights = bf16) {
        std::string first = "none";
        bool later = true;
        for (const char* version : {"0.29", "0.28", "0.25", "0.24", "0.23", "0.22", "0.21"}) {
            job j = chat(id);
            j.weights = weights;
            const bool taken = is_scored_plainly(j, find_runtime(std::string{"vllm@"} + version).value());
            CHECK((later || !taken));
            later = taken;
            if (taken) first = version;
        }
        return first;
    };
    CHECK(first_of("qwen3-0.6b") == "0.22");
    CHECK(first_of("llama-3.1-8b") == "0.23");
    CHECK(first_of("mistral-7b-v0.1") == "0.23");
    CHECK(first_of("qwen3-0.6b", fp8_block) == "0.24");  // is_quantized, until then
    CHECK(first_of("deepseek-v2-lite") == "0.24");
    for (const char* dense : {"gemma-2-9b", "qwen2.5-7b", "phi-4"}) CHECK(first_of(dense) == "0.25");
    for (const char* other : {"mixtral-8x7b", "deepseek-v3", "qwen3.5-27b", "nemotron-h-8b"})
        CHECK(first_of(other) == "0.29");
    CHECK(first_of("bert-base") == "none");  // embeds
}

TEST_CASE("tokens that are named to vLLM's first engine stay chunks where contexts are longer") {
    job j = chat();
    j.runtime = runtimes::vllm_v0_7;
    j.context = tokens(131072);
    const memory_breakdown by_default = memory_of(j, layout{});
    REQUIRE(set_knob(j.runtime, j.options, "max_num_batched_tokens", 2048));
    CHECK(memory_of(j, layout{}).total() == by_default.total());
    j.context = tokens(8192);
    CHECK(memory_of(j, layout{})[memory_term::logits].expected <
          memory_of(chat(), layout{})[memory_term::logits].expected);
}

TEST_CASE("experts in MXFP4 are padded for vLLM's kernels, at most") {
    job j = chat("gpt-oss-20b");
    j.weights = mxfp4;
    const interval<byte_count> weights = memory_of(j, layout{})[memory_term::weights];
    // 24 layers of 32 experts: 3 matrices of 2944 x 3072 for 2880 x 2880, 17 bytes for 32 values.
    CHECK(weights.expected - weights.low == bytes(std::int64_t{24} * 32 * 3 * (2944 * 3072 - 2880 * 2880) / 32 * 17));
}

TEST_CASE("what vLLM 0.19 says of its profiling run on an H100, to its second place") {
    const auto printed = [](const char* id) {  // "torch peak memory increase"
        job j = chat(id);
        j.runtime = runtimes::vllm_v1_18;
        const memory_breakdown m = memory_of(j, layout{}, one(gpus::h100_sxm5_80gb));
        return (m[memory_term::activations] + m[memory_term::logits]).expected.in(gib);
    };
    CHECK(printed("llama-3.1-8b") == doctest::Approx(1.89).epsilon(0.005));
    CHECK(printed("gemma-2-9b") == doctest::Approx(3.65).epsilon(0.005));
    CHECK(printed("phi-4") == doctest::Approx(1.52).epsilon(0.005));
    // What routed experts are computed in stays.
    CHECK(printed("deepseek-v2-lite") == doctest::Approx(1.93).epsilon(0.005));
    CHECK(printed("qwen3-30b-a3b") == doctest::Approx(2.68).epsilon(0.005));
}

TEST_CASE("a kernel of vLLM filters scores in a row of fp32 a multiprocessor, where 8 and more are scored") {
    job j = chat("llama-3.1-8b");
    j.runtime = runtimes::vllm_v1_17;
    j.max_batched_tokens = tokens(8);
    j.context = tokens(8);
    const auto beside = [&](std::int64_t rows) {
        j.options.max_num_seqs = rows;
        j.batch = rows;
        runtime without = on_device(j, gpus::h100_sxm5_80gb, layout{});
        const byte_count with = serving_memory(j, layout{}, without)[memory_term::activations].expected;
        without.step.logits.filter_rows = 0;
        return with - serving_memory(j, layout{}, without)[memory_term::activations].expected;
    };
    const byte_count row = bytes(4) * j.model.vocabulary;
    CHECK(beside(7) == byte_count{});
    CHECK(beside(16) == row * 16);
    CHECK(beside(1024) == row * *gpus::h100_sxm5_80gb.sm_count);
}

TEST_CASE(
    "that kernel spills more than a context holds where rows are not aligned: 0.21 GiB of an H100 under Granite") {
    const auto beside = [](const char* id) {
        job j = chat(id);
        j.runtime = runtimes::vllm_v1_18;
        return memory_of(j, layout{}, one(gpus::h100_sxm5_80gb))[memory_term::workspace];
    };
    const interval<byte_count> even = beside("llama-3.1-8b"), odd = beside("granite-3.3-8b");  // 49,155 words
    CHECK(even.expected == mib(256));
    CHECK((odd.expected - even.expected).in(gib) == doctest::Approx(0.2175).epsilon(0.001));  // logs: 0.46 less 0.25
    CHECK(odd.low < odd.expected);
    CHECK(odd.high > odd.expected);
}

TEST_CASE("a stage of vLLM's pipelines has loaded kernels before free memory is measured") {
    job j = chat("llama-3.1-8b");
    j.runtime = runtimes::vllm_v1_18;
    const auto beside = [&](const layout& l) {
        return memory_of(j, l, {.gpu = gpus::h100_sxm5_80gb, .gpus = 8})[memory_term::workspace].expected;
    };
    CHECK(beside({.pipeline = 4}).in(gib) == doctest::Approx(0.07).epsilon(0.01));  // both logs print 0.07
    CHECK(beside({.pipeline = 2}) == beside({.pipeline = 4}));
    CHECK(beside({.tensor = 2}) == beside({}));
    j.runtime = runtimes::vllm_v1_17;
    CHECK(beside({.pipeline = 2}) == beside({}));
}

TEST_CASE(
    "vLLM's int8 kernels make an 8-bit copy of their input beside it, and its rotary table is in the job's format") {
    job j = chat("mistral-small-3.1-24b");
    j.runtime = runtimes::vllm_v1_18;
    const auto activations = [&] {
        const memory_breakdown m = memory_of(j, layout{}, one(gpus::h100_sxm5_80gb));
        return (m[memory_term::activations] + m[memory_term::logits]).expected.in(gib);
    };
    CHECK(activations() == doctest::Approx(2.03).epsilon(0.005));
    j.weights = int8_channel;
    CHECK(activations() == doctest::Approx(2.18).epsilon(0.03));
    job llama = chat("llama-3.1-8b");
    llama.runtime = runtimes::vllm_v1_18;
    llama.weights = llama.compute = fp32;
    const byte_count weights = memory_of(llama, layout{}, one(gpus::h100_sxm5_80gb))[memory_term::weights].expected;
    CHECK(weights.in(gib) == doctest::Approx(29.98).epsilon(0.0002));  // 131,072 positions of 128 numbers
}

TEST_CASE("since 0.17 all-reduces of a split layer are joined with norms on Hopper and Blackwell, whatever the group") {
    const auto taken = [](const gpu& card, const layout& l) {
        job j = chat("llama-3.1-8b");
        j.runtime = runtimes::vllm_v1_18;
        return memory_of(j, l, {.gpu = card, .gpus = 8})[memory_term::communication].expected;
    };
    const byte_count pair = taken(gpus::h100_sxm5_80gb, {.tensor = 2});
    CHECK(pair.in(gib) == doctest::Approx(1.82).epsilon(0.02));  // 2.07 less 0.25 of one GPU
    CHECK(taken(gpus::h100_sxm5_80gb, {.tensor = 4}) == pair);
    CHECK(taken(gpus::h100_sxm5_80gb, {.tensor = 2, .pipeline = 2}) < pair);
    CHECK(taken(gpus::rtx_4090, {.tensor = 2}) < pair);
    CHECK(taken(gpus::h100_sxm5_80gb, {.pipeline = 2}) == byte_count{});
}

TEST_CASE("graphs that vLLM deducts since 0.20 grow with the layers of a stage") {
    job j = chat("llama-3.1-8b");
    const auto graphs = [&](const layout& l) { return graphs_of(j, j.runtime, l).expected; };
    j.runtime = runtimes::vllm_v1_20;
    CHECK(graphs({}) == mib(22) * 32);
    CHECK(graphs({.pipeline = 4}) == mib(22) * 8);
    j.runtime = runtimes::vllm_v1_18;
    CHECK(graphs({}) == j.runtime.process.cuda_graphs.expected);
}

TEST_CASE(
    "graphs of 0.20 and later are captured for sizes to twice the sequences of a step, drafted tokens with them") {
    // config/vllm.py: _set_cudagraph_sizes. 1, 2, 4, each eighth to 248 and each sixteenth to 512.
    job j = chat("llama-3.1-8b");
    j.runtime = runtimes::vllm_v1_20;
    const auto sizes = [&](const gpu& card) {
        std::vector<std::int64_t> all;
        choices_at_start(j, card, {})->decode.for_each([&](std::int64_t size) { all.push_back(size); });
        return all;
    };
    CHECK(sizes(gpus::h100_sxm5_80gb).size() == 51);
    CHECK(sizes(gpus::h100_sxm5_80gb).back() == 512);
    j.options.max_num_seqs = 4;
    CHECK(sizes(gpus::rtx_3090) == std::vector<std::int64_t>{1, 2, 4, 8});
    j.options.max_num_seqs = 3;
    CHECK(sizes(gpus::rtx_3090) == std::vector<std::int64_t>{1, 2, 4});  // 6 is none of them
    j.options.draft_tokens = 3;
    CHECK(sizes(gpus::rtx_3090) == std::vector<std::int64_t>{1, 2, 4, 8, 16, 24});
    j.options.draft_tokens = 0;
    j.options.max_num_seqs = 60;
    j.max_batched_tokens = tokens(20);
    CHECK(sizes(gpus::rtx_3090) == std::vector<std::int64_t>{1, 2, 4, 8, 16, 20});  // a whole step, too
    j.max_batched_tokens = tokens(16);
    CHECK(sizes(gpus::rtx_3090) == std::vector<std::int64_t>{1, 2, 4, 8, 16});
    j = chat("gpt-oss-20b");
    j.runtime = runtimes::vllm_v1_20;
    j.options.max_num_seqs = 1;
    CHECK(sizes(gpus::h100_sxm5_80gb).size() == 83);  // models/config.py: to 1,024, whatever the sequences
    j.runtime.process.cuda_graphs = j.runtime.process.layer_graphs = {};
    CHECK(sizes(gpus::h100_sxm5_80gb).empty());  // eager
}

TEST_CASE("graphs take as much as the sizes that are captured: an engine for two sequences keeps a tenth of them") {
    // Pools of Qwen3.6-27B on two RTX 3090, as vLLM 0.24 and 0.20.2 printed them: 11.05 and 11.06 GiB, with sizes 1 to
    // 16 (club-3090, issues 642 and 104).
    job j = chat("qwen3.5-27b");
    j.runtime = runtimes::vllm_v2_24;
    const gpu card = gpus::rtx_3090;
    const auto graphs = [&] { return graphs_of(j, on_device(j, card, {}), {}).expected; };
    const byte_count usual = graphs();
    j.options.max_num_seqs = 2;
    CHECK(graphs() * 10 < usual);  // 3 of 51
    j.options.draft_tokens = 3;
    CHECK(graphs() * 10 < usual);  // 5 of 51
    CHECK(graphs() * 11 > usual);
}

TEST_CASE("tables of positions are as long as linear scaling stretches them: what vLLM loads of Gemma 3") {
    job j = chat("gemma-3-12b");
    CHECK(memory_of(j, layout{})[memory_term::weights].expected.in(gib) ==
          doctest::Approx(23.31).epsilon(5e-4));  // a log of 0.19
    j = chat("gemma-3-4b");
    CHECK(memory_of(j, layout{})[memory_term::weights].expected.in(gib) == doctest::Approx(8.58).epsilon(2e-3));
}

TEST_CASE("tables of positions are as wide as the part of a head that is rotated") {
    // Qwen3.5: a quarter of 256 features, 262,144 positions, four times as long for images (MRotaryEmbedding).
    const job j = chat("qwen3.5-27b");
    const job computed = [&] {
        job other = j;
        other.runtime.loading.rope = rope_tables::computed;
        return other;
    }();
    const auto weights = [](const job& of) { return memory_of(of, layout{})[memory_term::weights].expected; };
    CHECK(weights(j) - weights(computed) == mib(128));
}

TEST_CASE(
    "vLLM captures graphs of up to twice the sequences, 512 at most, and 1,024 on datacenter Blackwell under 0.33") {
    // config/vllm.py, _set_cudagraph_sizes(): 1, 2, 4, then steps of 8 up to 256 and of 16 beyond.
    const auto captured = [](const char* engine, std::int32_t capability, std::int64_t sequences,
                             std::int64_t usual = 256) {
        std::pair<int, std::int64_t> of{0, 0};  // how many, and the largest
        find_runtime(engine)
            ->cache
            .default_fraction(
                {.capability = capability, .step = tokens(8192), .sequences = sequences, .usual_sequences = usual})
            .decode.for_each([&](std::int64_t size) { of = {of.first + 1, size}; });
        return of;
    };
    using sizes = std::pair<int, std::int64_t>;
    for (const char* engine : {"vllm@0.21", "vllm"}) {
        CAPTURE(engine);
        CHECK(captured(engine, 9, 1) == sizes{2, 2});
        CHECK(captured(engine, 9, 2) == sizes{3, 4});
        CHECK(captured(engine, 9, 20) == sizes{8, 40});
        CHECK(captured(engine, 9, 0, 128) == sizes{35, 256});  // as many as nobody says
        CHECK(captured(engine, 9, 256) == sizes{51, 512});
        CHECK(captured(engine, 9, 1024) == sizes{51, 512});
        CHECK(captured(engine, 12, 1024) == sizes{51, 512});  // GeForce of the same generation
        CHECK(captured(engine, 10, 100) == sizes{28, 200});
    }
    CHECK(captured("vllm@0.21", 10, 1024) == sizes{51, 512});
    CHECK(captured("vllm", 10, 1024) == sizes{83, 1024});
}
