// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <limits>
#include <llmres/hardware/gpus/nvidia.hpp>
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
#include <utility>

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

TEST_CASE("a job of which nothing is said serves one sequence; trained, it is one micro-batch without dropout") {
    job bare;
    CHECK_FALSE(trains(bare));
    CHECK(bare.batch == 1);
    CHECK(bare.global_batch == 0);
    CHECK_FALSE(bare.dropout);
    CHECK_FALSE(bare.varied_lengths);
    CHECK_FALSE(bare.ema);
    CHECK_FALSE(bare.offload.pinned);
    CHECK(bare.adapter.kind == adapter_kind::none);
}

TEST_CASE("prompt tokens that an earlier request left in the cache are not computed, but for the last one") {
    job chat{.model = models::llama_3_1_8b, .prompt = tokens(1000)};
    for (const auto& [rate, computed] : {std::pair{0.0, 1000}, {0.25, 750}, {0.999, 1}, {1.0, 1}}) {
        chat.prefix_hit_rate = rate;
        CHECK(computed_prompt_of(chat) == tokens(computed));
    }
    chat.prompt = tokens(1);
    CHECK(computed_prompt_of(chat) == tokens(1));
    chat.prompt = chat.context = chat.model.max_context = {};
    CHECK(computed_prompt_of(chat) == tokens(0));
}

TEST_CASE("a context is what is given, or prompt and output, or what the model was trained for") {
    job j{.model = models::llama_3_1_8b};
    CHECK(context_of(j) == j.model.max_context);
    CHECK_FALSE(exceeds_own_context(j));  // it reaches it
    j.prompt = tokens(100);
    CHECK(context_of(j) == tokens(100));
    j.output = tokens(20);
    CHECK(context_of(j) == tokens(120));
    j.context = tokens(4096);
    CHECK(context_of(j) == tokens(4096));
    j.context = j.model.max_context + tokens(1);
    CHECK(exceeds_own_context(j));
    j.options.rope_scaling = 1.5;
    CHECK(scaled_context(j) == tokens(131'072 * 3 / 2));
    j.context = scaled_context(j);
    CHECK(validate(j));  // to the token
    j.context = j.context + tokens(1);
    CHECK(validate(j).error().field == "context");
}

TEST_CASE("finetuning takes the model's own context where it is short, and pads what it takes") {
    job j{.model = models::llama_3_1_8b, .task = task::finetuning};
    for (const auto& [longest, taken] : {std::pair{1024, 1024}, {2048, 2048}, {2049, 2048}, {0, 2048}}) {
        j.model.max_context = tokens(longest);
        CHECK(sequence_of(j) == tokens(taken));
    }
    j.sequence = tokens(1001);
    for (const auto& [multiple, padded] : {std::pair{1, 1001}, {2, 1002}, {3, 1002}, {64, 1024}}) {
        j.pad_to_multiple_of = multiple;
        CHECK(sequence_of(j) == tokens(padded));
    }
    j.task = task::pretraining;
    j.sequence = {};
    j.pad_to_multiple_of = 1;
    j.model.max_context = tokens(8192);
    CHECK(sequence_of(j) == tokens(8192));
}

TEST_CASE("the formats of training are those that the job names, else the runtime's, else those of the weights") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining};
    CHECK(gradients_of(j) == bf16);
    j.runtime.optimizer.gradients = fp32;  // Megatron-Core's accumulate_allreduce_grads_in_fp32
    CHECK(gradients_of(j) == fp32);
    j.runtime.optimizer.fp32_beside_bf16 = true;  // DeepSpeed's bf16_optimizer.py: beside bf16 weights alone
    CHECK(gradients_of(j) == bf16_and_fp32);
    j.weights = fp16;
    CHECK(gradients_of(j) == fp32);
    j.runtime.optimizer.gradients = {};
    CHECK(gradients_of(j) == fp16);
    j.weights = bf16;
    CHECK(gradients_of(j) == bf16_and_fp32);
    j.gradients = fp16;
    CHECK(gradients_of(j) == fp16);
}

TEST_CASE("master weights and states are wider than the weights, unless the optimizer or the runtime steps these") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining};
    CHECK(master_weights_of(j) == maybe<precision>{fp32});
    CHECK(optimizer_states_of(j) == fp32);
    for (const precision* wide : {&fp32, &tf32}) {
        j.weights = *wide;
        CHECK_FALSE(master_weights_of(j));
    }
    j.weights = {};
    j.runtime.optimizer.steps_weights = true;
    CHECK_FALSE(master_weights_of(j));
    CHECK(optimizer_states_of(j) == bf16);
    j.optimizer = adamw_8bit;  // bitsandbytes' states that are not quantised are fp32
    CHECK(optimizer_states_of(j) == fp32);
    j.optimizer = lomo;
    j.runtime.optimizer.steps_weights = false;
    CHECK_FALSE(master_weights_of(j));
    j.master_weights = fp32;
    CHECK_FALSE(master_weights_of(j));
    j.optimizer = adamw;
    CHECK(master_weights_of(j) == maybe<precision>{fp32});
    j.optimizer_states = bf16;
    CHECK(optimizer_states_of(j) == bf16);
}

TEST_CASE("an adapter is trained in the format of activations, or in fp32 where the runtime says so") {
    job j{.model = models::llama_3_1_8b, .task = task::finetuning, .adapter = {.kind = adapter_kind::lora, .rank = 8}};
    for (const bool fp32_adapters : {false, true}) {
        j.runtime.kernels.fp32_adapters = fp32_adapters;
        j.optimizer = adamw;
        CHECK(adapter_format_of(j) == (fp32_adapters ? fp32 : bf16));
        CHECK(adapter_states_of(j) == adapter_format_of(j));
        j.optimizer = paged_adamw;
        CHECK(adapter_states_of(j) == fp32);
    }
}

TEST_CASE("linear layers train in fp8 by the runtime's recipe, serve in the job's own arithmetic") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining};
    CHECK(linear_arithmetic_of(j) == arithmetic_kind::bf16);
    j.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    CHECK(linear_arithmetic_of(j) == arithmetic_kind::fp8);
    j.task = task::serving;
    CHECK(linear_arithmetic_of(j) == arithmetic_kind::bf16);
    j.compute = fp16;
    CHECK(linear_arithmetic_of(j) == arithmetic_kind::fp16);
}

TEST_CASE("GPUs without bf16 serve in fp16 where the runtime does not convert; jobs that say fp16 do anywhere") {
    job j{.model = models::llama_3_1_8b};
    j.runtime.serving_kernels.without_bf16 = bf16_code::takes_fp16;
    CHECK(serves_in_fp16(j, gpus::t4_16gb));
    CHECK_FALSE(serves_in_fp16(j, gpus::h100_sxm5_80gb));
    j.compute = fp16;
    CHECK_FALSE(serves_in_fp16(j, gpus::t4_16gb));  // as the job says already
    j.compute = bf16;
    j.runtime.serving_kernels.without_bf16 = bf16_code::converts;
    CHECK_FALSE(serves_in_fp16(j, gpus::t4_16gb));
    j.runtime.serving_kernels.without_bf16 = bf16_code::takes_fp16;
    j.task = task::pretraining;
    CHECK_FALSE(serves_in_fp16(j, gpus::t4_16gb));
}

TEST_CASE("weights that are trained are never narrower than 16 bits, nor others than the job names") {
    job j{.model = models::deepseek_v3, .task = task::pretraining};  // published in fp8
    REQUIRE_FALSE(is_wide(j.model.weights));
    CHECK(dequantises(j));
    CHECK(weights_of(j) == bf16);
    j.weights = fp8_e4m3;
    CHECK_FALSE(dequantises(j));
    CHECK(weights_of(j) == fp8_e4m3);
    j.weights = {};
    j.task = task::serving;
    CHECK_FALSE(dequantises(j));
    job half{.model = models::llama_2_7b, .task = task::finetuning, .weights = fp16};
    CHECK_FALSE(loads_as_computed(half));
    half.weights = {};
    CHECK(loads_as_computed(half));
    half.model.weights = fp32;
    CHECK_FALSE(loads_as_computed(half));
    CHECK(weights_of(half) == fp32);
    half.model.weights = fp16;
    half.model.mixed = {.experts_down = int8};
    CHECK_FALSE(loads_as_computed(half));
    job served{.model = models::llama_2_7b};
    served.model.weights = fp32;
    CHECK(weights_of(served) == fp32);
    served.runtime.serving_kernels.loads_in_compute = true;
    CHECK(weights_of(served) == bf16);
    served.compute = fp32;
    CHECK(weights_of(served) == fp32);
    served.compute = fp16;
    CHECK(weights_of(served) == fp16);
    served.weights = fp32;  // which somebody names
    CHECK(weights_of(served) == fp32);
}

TEST_CASE("what is stored is a GGUF file, or weights of a format; embedding and head are quantised in ggml's alone") {
    job j{.model = models::llama_3_1_8b, .weights = q4_0};
    CHECK(stored_format_of(j).name == q4_0.name);
    CHECK(formats_of(j, bf16).of({.role = weight_role::lm_head}) == q4_0);
    j.weights = fp8_e4m3;
    CHECK(formats_of(j, bf16).of({.role = weight_role::lm_head}) == bf16);
    CHECK(formats_of(j, bf16).of({.role = weight_role::embed_tokens}) == bf16);
    j.gguf = gguf_mix{.quantisation = gguf_quantisation::Q4_K_M};
    CHECK(stored_format_of(j).family == stored_format::gguf_file().family);
    CHECK(stored_format_of(j).name == stored_format::gguf_file().name);
}

TEST_CASE("a model that is published in one format has it where nobody names another, and where that one is named") {
    job j{.model = models::gpt_oss_20b};  // MXFP4 experts, all else in bf16
    const weight head{.role = weight_role::lm_head};
    j.weights = bf16;
    CHECK(formats_of(j, bf16).of({.role = weight_role::down_proj, .routed = true, .quantised = true}) == bf16);
    j.model.weights = bf16;
    j.model.mixed = {.experts_down = int8};
    j.weights = {};
    CHECK(formats_of(j, bf16).of({.role = weight_role::down_proj, .routed = true, .quantised = true}) == int8);
    j.weights = bf16;
    CHECK(formats_of(j, bf16).of(head) == bf16);
    CHECK(formats_of(j, bf16).of({.role = weight_role::down_proj, .routed = true, .quantised = true}) == bf16);
}

TEST_CASE("a cache has the format of its checkpoint where the engine follows the tool that calibrated it") {
    using by = cache_calibrator;
    job j{.model = models::llama_3_1_8b};
    for (const by made : {by::none, by::modelopt, by::compressed_tensors})
        for (const by followed : {by::none, by::modelopt, by::compressed_tensors}) {
            j.model.mixed.cache = {made, fp8_e4m3};
            j.runtime.loading.calibrated = followed;
            CHECK(kv_cache_of(j) == (made != by::none && made <= followed ? fp8_e4m3 : bf16));
        }
    CHECK(kv_cache_of(j) == fp8_e4m3);
    j.kv_cache = fp16;
    CHECK(kv_cache_of(j) == fp16);
    j.kv_cache = {};
    j.weights = j.model.weights;
    CHECK(kv_cache_of(j) == fp8_e4m3);
    j.weights = nvfp4;  // another checkpoint
    CHECK(kv_cache_of(j) == bf16);

    job latent{.model = models::deepseek_v3};
    latent.runtime.loading.calibrated = by::compressed_tensors;
    latent.model.mixed.cache = {by::modelopt, fp8_e4m3};
    CHECK(kv_cache_of(latent) == fp8_e4m3);
    latent.model.mixed.cache.by = by::compressed_tensors;
    CHECK(kv_cache_of(latent) == bf16);
}

TEST_CASE("rows are split where the caller asks, and where the runtime has no other way; never to train") {
    job j{.model = models::llama_3_1_8b};
    CHECK_FALSE(splits_rows(j));
    j.options.splits_rows = true;
    CHECK(splits_rows(j));
    j.options.splits_rows = false;
    j.runtime.layouts.rows = row_split::always_beside_first;
    CHECK(splits_rows(j));
    j.task = task::pretraining;
    CHECK_FALSE(splits_rows(j));
}
