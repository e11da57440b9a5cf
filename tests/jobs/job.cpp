// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <limits>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/gemma.hpp>
#include <llmres/models/gguf/types.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/runtimes/huggingface.hpp>

using namespace llmres;

TEST_CASE("a sequence is padded to a multiple of what its collator pads to") {
    job j{.model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(1000)};
    CHECK(sequence_of(j) == tokens(1000));
    j.pad_to_multiple_of = 64;
    CHECK(sequence_of(j) == tokens(1024));
    CHECK(computed_tokens(j) == tokens(1024));
    CHECK(validate(j));
    j.sequence = {};  // 2,048 are a multiple
    CHECK(sequence_of(j) == usual_finetuning_sequence);
    for (const std::int32_t wrong : {0, 65537}) {
        j.pad_to_multiple_of = wrong;
        CHECK(validate(j).error().field == "pad_to_multiple_of");
    }
}

TEST_CASE("a field left out takes the default its comment names") {
    constexpr job bare{.model = models::llama_3_1_8b};
    static_assert(weights_of(bare) == bf16);
    static_assert(kv_cache_of(bare) == bf16);
    static_assert(context_of(bare) == tokens(131'072));
    static_assert(sequence_of(bare) == tokens(131'072));
    CHECK(prompt_of(bare) == context_of(bare));

    constexpr job turn{.model = models::llama_3_1_8b, .compute = fp16, .prompt = tokens(1000), .output = tokens(24)};
    static_assert(context_of(turn) == tokens(1024));
    CHECK(kv_cache_of(turn) == fp16);
    constexpr job room{.model = models::llama_3_1_8b, .output = tokens(24), .context = tokens(1024)};
    CHECK(prompt_of(room) == tokens(1000));
}

TEST_CASE("the weights of a GGUF file have the format of most of its matrices, whatever the job's weights say") {
    job j{.model = models::llama_3_1_8b, .gguf = gguf_mix{.quantisation = gguf_quantisation::Q4_K_M}};
    const precision q4 = find_gguf_type(12)->format;  // GGML_TYPE_Q4_K
    CHECK(weights_of(j) == q4);
    j.weights = bf16;
    CHECK(weights_of(j) == q4);
    j.gguf = {};
    CHECK(weights_of(j) == bf16);
}

TEST_CASE("mixed precision keeps an fp32 copy of narrower weights, and fp32 weights are their own") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining};
    CHECK(master_weights_of(j).value == fp32);
    j.weights = fp32;
    CHECK_FALSE(master_weights_of(j));
    j.weights = bf16;
    j.master_weights = bf16;
    CHECK_FALSE(master_weights_of(j));
}

TEST_CASE("16-bit weights are trained in the 16-bit format that the job computes in") {
    job j{.model = models::llama_2_7b, .task = task::finetuning};
    REQUIRE(j.model.weights == fp16);  // as it is published
    CHECK(j.compute == bf16);
    CHECK(weights_of(j) == bf16);
    CHECK(gradients_of(j) == bf16);
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(weights_of(j) == bf16);
    j.compute = fp16;
    CHECK(weights_of(j) == fp16);
    j.compute = fp32;
    CHECK(weights_of(j) == fp16);
    j.compute = bf16;
    j.weights = fp16;  // as the caller says
    CHECK(weights_of(j) == fp16);
    j = {.model = models::llama_2_7b};
    CHECK(weights_of(j) == fp16);  // served as it is published
}

TEST_CASE("bitsandbytes leaves routed experts as they are where they are bare parameters") {
    job j{.model = models::mixtral_8x7b, .task = task::finetuning, .weights = nf4, .compute = bf16};
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    const weight routed{
        .role = weight_role::down_proj, .rows = 4096, .columns = 14336, .routed = true, .quantised = true};
    weight own = routed;
    own.routed = false;
    weight query = own;
    query.role = weight_role::q_proj;
    j.runtime = runtimes::huggingface;
    CHECK(formats_of(j, bf16).of(routed) == bf16);
    CHECK(formats_of(j, bf16).of(own) == nf4);
    CHECK(formats_of(j, bf16).of(query) == nf4);
    j.runtime.kernels.experts = expert_code::modules;  // transformers 4
    CHECK(formats_of(j, bf16).of(routed) == nf4);
    // 47 billion parameters, of which 45 are experts', do not fit in 80 GB.
    j.runtime = runtimes::huggingface;
    j.sequence = tokens(512);
    CHECK(training_memory(j, {}).allocated.low > gib(80));
    j.runtime.kernels.experts = expert_code::modules;
    CHECK(training_memory(j, {}).allocated.low < gib(40));
}

TEST_CASE("prompts pass in steps of what the caller, or else the engine, allows") {
    job j{.model = models::llama_3_1_8b, .batch = 8, .prompt = tokens(4096)};
    CHECK(batched_tokens_of(j) == tokens(4096));
    j.runtime.step.max_batched_tokens = tokens(8192);
    CHECK(batched_tokens_of(j) == tokens(8192));
    j.max_batched_tokens = tokens(512);
    CHECK(batched_tokens_of(j) == tokens(512));
    j.max_batched_tokens = tokens(1 << 20);
    CHECK(batched_tokens_of(j) == tokens(8 * 4096));
}

TEST_CASE("numbers out of their bounds are refused by name and value") {
    job j{.model = models::llama_3_1_8b};
    CHECK(validate(j));
    j.batch = -5;
    CHECK(validate(j).error().field == "batch");
    CHECK(validate(j).error().value == "-5");
    j.batch = 1;
    j.context = tokens(200'000);
    CHECK(validate(j).error().expected ==
          "at most the model's own context, 131072, unless the runtime extends it (runtime.rope_scaling 2)");
    j.options.rope_scaling = 2;
    CHECK(validate(j));
    j.context = tokens(2 * 131'072 + 1);
    CHECK(validate(j).error().expected == "at most the model's own context, 131072, times runtime.rope_scaling");
    for (const double factor : {0.5, 2000.0, std::numeric_limits<double>::quiet_NaN()}) {
        j.options.rope_scaling = factor;
        CHECK(validate(j).error().field == "runtime.rope_scaling");
    }
    j = {.model = models::llama_3_1_8b, .task = task::finetuning, .global_batch = -1};
    CHECK(validate(j).error().field == "global_batch");
    j = {.model = models::mixtral_8x7b, .task = task::finetuning, .expert_load = 2000};
    CHECK(validate(j).error().value == "above 1024");
}

TEST_CASE("more tokens at once than sizes can count are an overflow by name, at the edge of it and far beyond") {
    job j{.model = models::llama_3_1_405b, .batch = std::int64_t{1} << 24};
    j.model.max_context = {};
    j.context = tokens(std::int64_t{1} << 40);
    CHECK(validate(j).error().code == error_code::overflow);
    CHECK(validate(j).error().field == "batch");
    // 2^60 elements of the widest tensor, the vocabulary of 128256, are 8.99e12 tokens.
    j.batch = 1;
    CHECK(validate(j));
    j.context = tokens(8'900'000'000'000);
    CHECK(validate(j).error().code == error_code::out_of_range);
    j.context = tokens(1 << 30);
    j.batch = 8'000;
    CHECK(validate(j));
    j.batch = 9'000;
    CHECK(validate(j).error().code == error_code::overflow);
    job t{.model = models::llama_3_1_8b,
          .task = task::pretraining,
          .sequence = tokens(std::int64_t{1} << 40),
          .micro_batch = 1 << 24};
    CHECK(validate(t).error().field == "micro_batch");
}

TEST_CASE(
    "what passes beside a job's own tokens is counted too: an engine's step, trained tokens, images, an encoder's "
    "output") {
    job j{
        .model = models::llama_3_1_405b, .context = tokens(8192), .max_batched_tokens = tokens(std::int64_t{1} << 40)};
    CHECK(validate(j));
    j.model.hidden = 1 << 24;
    CHECK(validate(j).error().code == error_code::overflow);
    CHECK(validate(j).error().field == "max_batched_tokens");
    job prompted{
        .model = models::llama_3_1_8b, .task = task::finetuning, .sequence = tokens(1), .micro_batch = 1 << 24};
    CHECK(validate(prompted));
    prompted.model.vocabulary = 1 << 24;
    prompted.adapter = {.kind = adapter_kind::prompt, .rank = 65536};
    CHECK(validate(prompted).error().field == "micro_batch");
    job seen{.model = models::gemma_3_4b, .context = tokens(8192)};
    seen.model.encoders[0].image_tokens = tokens(1);
    seen.model.encoders[0].image_patches = tokens(std::int64_t{1} << 40);
    CHECK(validate(seen).error().field == "encoder.image_patches");
    job heard{.model = models::whisper_tiny, .task = task::finetuning, .sequence = tokens(448), .micro_batch = 1 << 12};
    heard.model.encoders[0].output = tokens(std::int64_t{1} << 40);
    CHECK(validate(heard).error().field == "micro_batch");
}

TEST_CASE("a model that is published in several formats has these, and one of them where a job names it") {
    const auto routed_and_attention = [](const job& j) {
        const weight_format_view formats = formats_of(j, bf16);
        precision routed, attention;
        for_each_weight(j.model.layers[0], j.model.hidden, [&](const weight& w) {
            if (w.routed && w.role == weight_role::down_proj) routed = formats.of(w);
            if (w.role == weight_role::q_proj) attention = formats.of(w);
        });
        return std::pair{routed.name, attention.name};
    };
    job j{.model = models::gpt_oss_20b};
    CHECK(routed_and_attention(j) == std::pair{mxfp4.name, bf16.name});
    j.weights = mxfp4;  // means the routed experts
    CHECK(routed_and_attention(j) == std::pair{mxfp4.name, bf16.name});
    j.weights = fp8_e4m3;
    CHECK(routed_and_attention(j).first == fp8_e4m3.name);
    for (const precision* file : {&q8_0, &q4_0}) {  // as llama-quantize --pure makes it
        j.weights = *file;
        CHECK(formats_of(j, bf16).of({.role = weight_role::lm_head}).name == file->name);
        CHECK(formats_of(j, bf16).of({.role = weight_role::embed_tokens}).name == file->name);
    }
    j.weights = {};
    j.model.mixed = {.experts_down = int8};
    CHECK(routed_and_attention(j).first == int8.name);
    j.weights = fp8_e4m3;
    CHECK(routed_and_attention(j).first == fp8_e4m3.name);
}
