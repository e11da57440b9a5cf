// SPDX-License-Identifier: MIT
#include <llmres/jobs/checks.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/families.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "../compressed_attention.hpp"

using namespace llmres;

namespace {

job training() {
    return {.model = models::llama_3_1_8b,
            .task = task::pretraining,
            .sequence = tokens(4096),
            .micro_batch = 2,
            .global_batch = 64};
}
std::string_view refused_field(const job& j, const layout& l, const gpu& card = gpus::h100_sxm5_80gb) {
    static error last;
    const status s = validate_training(j, l, card);
    if (s) return "";
    last = s.error();
    return last.field.view();
}

}  // namespace

TEST_CASE("micro-batches are the global batch over what all data ranks compute at once") {
    CHECK(micro_batches(training(), {}) == 32);
    CHECK(micro_batches(training(), {.data = 4, .replicas = 2}) == 4);
    job j = training();
    j.global_batch = 0;
    CHECK(micro_batches(j, {.data = 4}) == 1);
}

TEST_CASE("a global batch that does not go round is refused with what it must be a multiple of") {
    job j = training();
    CHECK(refused_field(j, {.data = 8}) == "");
    const status s = validate_training(j, {.data = 5}, gpus::h100_sxm5_80gb);
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "global_batch");
    CHECK(s.error().code == error_code::inconsistent);
    CHECK(s.error().expected.view().find("10") != std::string_view::npos);
}

TEST_CASE("formats are trained in where the GPU has units for them") {
    job j = training();
    j.compute = fp8_e4m3;
    CHECK(refused_field(j, {}) == "");
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb) == "compute");
    j.compute = nvfp4;
    CHECK(refused_field(j, {}) == "compute");
    j.compute = int8;
    CHECK(refused_field(j, {}) == "compute");
    j = training();
    j.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    CHECK(refused_field(j, {}) == "");
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb) == "runtime.fp8_recipe");
}

TEST_CASE("serving computes in formats that the GPU has units for; weights may be narrower") {
    job j{.model = models::llama_3_1_8b};
    for (const precision& format : {bf16, fp16, fp32, int8}) {
        j.compute = format;
        CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb) == "");
    }
    j.compute = fp8_e4m3;
    CHECK(refused_field(j, {}) == "");
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb) == "compute");
    j.compute = nvfp4;
    CHECK(refused_field(j, {}) == "compute");
    CHECK(refused_field(j, {}, gpus::b200_sxm_180gb) == "");
    const status s = validate_training(j, {}, gpus::h100_sxm5_80gb);
    REQUIRE_FALSE(s);
    CHECK(s.error().expected == "a GPU with fp4 units to compute in fp4");
    j.compute = bf16;
    j.weights = fp8_e4m3;
    CHECK(refused_field(j, {}, gpus::a100_sxm4_80gb) == "");
}

TEST_CASE("what an engine's pipelines and optimizers cannot do is refused") {
    job j = training();
    j.runtime.sharding.code = sharding_code::deepspeed;
    CHECK(refused_field(j, {.pipeline = 4, .data = 2, .zero = 1}) == "");
    CHECK(refused_field(j, {.pipeline = 4, .data = 2, .zero = 2}) == "layout.zero");
    CHECK(refused_field(j, {.data = 2, .zero = 3}) == "");

    j = training();
    j.runtime.pipeline.defer_embedding_wgrad_compute = true;
    CHECK(refused_field(j, {.pipeline = 2}) == "");
    CHECK(refused_field(j, {}) == "runtime.defer_embedding_wgrad_compute");

    j = training();
    j.optimizer.in_backward = true;  // it steps as gradients come, and so keeps none to add to
    CHECK(refused_field(j, {.data = 32}) == "");
    CHECK(refused_field(j, {.data = 16}) == "global_batch");
}

TEST_CASE("a context below zero is refused by name, not taken for one that is not set") {
    job j{.model = models::llama_3_1_8b, .prompt = tokens(100), .context = tokens(-4096), .runtime = runtimes::vllm};
    const status refused = validate(j);
    REQUIRE(!refused);
    CHECK(refused.error().field.view() == "context");
    CHECK(refused.error().value.view() == "-4096");
    j.context = {};
    CHECK(validate(j));
    j.model.max_context = {};  // as xLSTM's and RecurrentGemma's configs, which give none
    j.prompt = {};
    const status absent = validate(j);
    REQUIRE(!absent);
    CHECK(absent.error().code == error_code::missing);
    CHECK(absent.error().value.view() == "absent");
    CHECK(absent.error().expected.view().find("--context") != std::string_view::npos);
}

TEST_CASE("no number of tokens of a serving job is below zero, or beyond 2^40") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    REQUIRE(validate(j));
    struct number {
        const char* name;
        token_count job::* field;
    };
    for (const auto& [name, field] :
         {number{"prompt", &job::prompt}, number{"output", &job::output},
          number{"max_batched_tokens", &job::max_batched_tokens}, number{"context", &job::context}})
        for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{-5}, (std::int64_t{1} << 40) + 1}) {
            CAPTURE(name);
            CAPTURE(wrong);
            job asked = j;
            asked.*field = tokens(wrong);
            const status refused = validate(asked);
            REQUIRE(!refused);
            CHECK(refused.error().field.view() == name);
        }
}

TEST_CASE("a context holds the prompt and the output, to the token") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    j.prompt = tokens(4000);
    j.output = tokens(96);
    CHECK(validate(j));
    j.output = tokens(97);
    const status refused = validate(j);
    REQUIRE(!refused);
    CHECK(refused.error().code == error_code::inconsistent);
    CHECK(refused.error().field.view() == "context");
    CHECK(refused.error().value.view() == "4096");
}

TEST_CASE("serving takes no schedule of training") {
    job j = training();
    j.task = task::serving;
    CHECK(refused_field(j, {.pipeline = 2}) == "");
    CHECK(refused_field(j, {.pipeline = 2, .schedule = pipeline_schedule::zb_h1}) == "layout.stages");
}

TEST_CASE("weights in main memory are gathered by ZeRO 3, or refused; the planner takes it on one GPU, too") {
    job j = training();
    j.runtime = runtimes::deepspeed;
    j.recompute = recompute::full;
    j.offload = {.optimizer = offload_place::host, .parameters = offload_place::host};
    const std::array<std::int32_t, 3> too_few{0, 1, 2};
    for (const std::int32_t zero : too_few) CHECK(refused_field(j, {.data = 4, .zero = zero}) == "offload.parameters");
    CHECK(refused_field(j, {.data = 4, .zero = 3}) == "");
    const std::array<std::int32_t, 2> machines{1, 4};
    for (const std::int32_t cards : machines) {
        const auto chosen = plan(j, *standard_cluster(gpus::h100_sxm5_80gb, cards));
        REQUIRE(chosen);
        CHECK(chosen->layout.zero == 3);
        CHECK(chosen->memory[memory_term::communication].expected > gib(1));  // a layer under way, and the one after it
    }
}

TEST_CASE("tensor ranks that a serving runtime refuses are refused with its rule") {
    const auto refused_with = [](const model& m, const char* name, std::int32_t tensor) {
        const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
        const job j{.model = m, .context = tokens(4096), .runtime = find_runtime(name).value()};
        const status s = detail::validate_placed(j, {.tensor = tensor}, c);
        return s ? std::string{} : std::string{s.error().expected.view()};
    };
    const model scout = find_model("llama-4-scout").value();
    for (const char* name : {"vllm", "sglang", "tensorrt-llm", "tgi"}) {
        CAPTURE(name);
        CHECK(refused_with(scout, name, 5).find("key-value heads, 8") != std::string::npos);
        CHECK(refused_with(models::qwen2_5_32b, name, 5).find("key-value heads, 8") != std::string::npos);
        CHECK(refused_with(models::qwen2_5_7b, name, 7).find("key-value heads, 4") != std::string::npos);
        CHECK(refused_with(models::qwen2_5_7b, name, 4).empty());
    }
    CHECK(refused_with(models::qwen2_5_1_5b, "vllm", 4).empty());  // two key-value heads, each on two ranks
    CHECK(refused_with(models::qwen2_5_1_5b, "tgi", 4).find("key-value heads, 2") != std::string::npos);
    CHECK(refused_with(models::qwen2_5_1_5b, "lmdeploy", 6).find("a power of two") != std::string::npos);
    CHECK(refused_with(models::qwen2_5_1_5b, "llama.cpp", 6).empty());  // rows are split wherever they are
    CHECK(refused_with(models::qwen2_5_1_5b, "tensorrt-llm", 3) != refused_with(models::qwen2_5_1_5b, "vllm", 4));
    model odd = models::llama_3_1_8b;
    odd.vocabulary = 64 * 1001;  // 77 and 13 divide it: not four
    CHECK(refused_with(odd, "vllm", 8).empty());
    odd.layers.kinds[0].feed_forward.width = 14330;
    CHECK(refused_with(odd, "vllm", 4).find("feed-forward features, 14330") != std::string::npos);
    CHECK(refused_with(odd, "lmdeploy", 4).empty());
}

TEST_CASE("the planner chooses no tensor ranks that the runtime refuses") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    for (const char* model : {"llama-4-scout", "qwen2.5-32b", "qwen2.5-7b"})
        for (const char* name : {"none", "vllm", "llama.cpp", "transformers"}) {
            const job j{
                .model = find_model(model).value(), .context = tokens(4096), .runtime = find_runtime(name).value()};
            CAPTURE(model);
            CAPTURE(name);
            const auto made = plan(j, c);
            REQUIRE(made);
            CHECK(8 % made->layout.tensor == 0);
        }
}

TEST_CASE("docs/accuracy.md lists which architectures train as described, with wider bounds, or not at all") {
    std::map<std::string, std::set<std::string>> found;
    for (const model* m : models::all) {
        job j = training();
        j.model = *m;
        j.runtime = runtimes::huggingface;
        const bool refused = refused_field(j, {}) == "layers";
        found[refused ? "Refused" : is_described(*m) ? "Described" : "Wider bounds"].emplace(m->architecture.view());
    }
    std::string lists;
    for (const auto& [how, architectures] : found) {
        lists += "- " + how + ": ";
        for (const std::string& each : architectures) lists += (each == *architectures.begin() ? "" : ", ") + each;
        lists += "\n";
    }
    std::ifstream page{LLMRES_SOURCE_DIR "/docs/accuracy.md"};
    const std::string text{std::istreambuf_iterator<char>{page}, {}};
    CHECK_MESSAGE(text.find("<!-- families -->\n" + lists + "<!-- /families -->") != std::string::npos, lists);
}

TEST_CASE("ranks that cut the features of an expert are refused, unless experts are given whole to ranks") {
    job j{.model = models::qwen3_30b_a3b, .context = tokens(4096), .runtime = runtimes::vllm};
    CHECK(detail::validate_ranks(j, {.tensor = 4}));
    for (layer& kind : j.model.layers.kinds) kind.feed_forward.experts.width = 770;
    const status s = detail::validate_ranks(j, {.tensor = 4});
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "layout.tensor");
    CHECK(s.error().expected.view().find("features of an expert") != std::string_view::npos);
    CHECK(detail::validate_ranks(j, {.tensor = 4, .expert = 4, .expert_tensor = 1}));
    CHECK(detail::validate_ranks(j, {.tensor = 2}));
}

TEST_CASE("a cache in NVFP4 is for the compute capabilities that the runtime's kernels are made for") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    j.kv_cache = nvfp4;
    gpu card = gpus::b200_sxm_180gb;
    struct row {
        compute_capability of;
        bool before_0_32, now;  // vLLM's flashinfer.py: _nvfp4_kv_on_fa2()
    };
    for (const row& r : {row{{10, 0}, true, true},
                         {{10, 3}, true, true},
                         {{7, 5}, false, false},
                         {{8, 9}, false, true},
                         {{9, 0}, false, true},
                         {{11, 0}, false, false},
                         {{12, 0}, false, true}}) {
        card.capability = r.of;
        j.runtime = runtimes::vllm_v2_29;
        CHECK((device_start_of(j, card).support != device_support::absent) == r.before_0_32);
        j.runtime = runtimes::vllm;
        CHECK((device_start_of(j, card).support != device_support::absent) == r.now);
    }
}

TEST_CASE("a cache of latents is refused in blocks and formats that no kernel reads") {
    job j{.model = models::deepseek_v3, .context = tokens(4096), .runtime = runtimes::vllm};
    for (layer& kind : j.model.layers.kinds) kind.attention.indexer = {.heads = 64, .head_dim = 128};
    const gpu hopper = gpus::h200_sxm5_141gb, blackwell = gpus::b200_sxm_180gb;
    gpu amd = hopper;
    amd.vendor = gpu_vendor::amd;
    CHECK(validate_training(j, {}, hopper));  // 16 tokens, which nobody named, grow
    for (const std::int64_t block : {32, 64, 96, 128}) {
        j.runtime.cache.block = tokens(block);
        CHECK(validate_training(j, {}, hopper).has_value() == (block % 64 == 0));
        CHECK(validate_training(j, {}, blackwell));
        CHECK(validate_training(j, {}, amd));
    }
    j.runtime.cache.block = tokens(32);
    CHECK(validate_training(j, {}, hopper).error().field == "runtime.block_size");
    j.model = models::deepseek_v3;  // nothing is picked
    CHECK(validate_training(j, {}, hopper));
    j.kv_cache = nvfp4;
    const status latent = validate_training(j, {}, blackwell);
    REQUIRE_FALSE(latent);
    CHECK(latent.error().field == "kv_cache");
}

TEST_CASE("a cache is refused in a format that the engine has none in, by the field that names it") {
    job j{.model = models::llama_3_1_8b, .task = task::serving, .context = tokens(4096)};
    j.runtime = runtimes::llama_cpp;
    for (const precision& format : {q8_0, q4_0, fp16, bf16}) {
        j.kv_cache = format;
        CHECK(validate(j));
    }
    for (const precision& format : {fp8_e4m3, int8, q4_k}) {
        j.kv_cache = format;
        CHECK(validate(j).error().field == "kv_cache");
    }
    j.kv_cache = q8_0;
    j.kv_cache_values = fp8_e4m3;
    CHECK(validate(j).error().field == "kv_cache_values");
}

// llama-context.cpp, llama_init_from_model(): "V cache quantization requires flash_attn"; keys alone may be narrow.
TEST_CASE("llama.cpp quantises cached values with flash attention alone") {
    job j{.model = models::llama_3_1_8b, .task = task::serving, .context = tokens(4096)};
    j.runtime = runtimes::llama_cpp;
    j.kv_cache = q8_0;
    CHECK(validate(j));
    j.runtime.serving_kernels.flash_attention = false;
    CHECK(validate(j).error().field == "kv_cache");
    j.kv_cache_values = fp16;
    CHECK(validate(j));
    j.kv_cache_values = q4_0;
    CHECK(validate(j).error().field == "kv_cache_values");
    j.runtime = runtimes::llama_cpp_2024;  // -fa is off where nobody asks for it
    CHECK_FALSE(validate(j));
}

TEST_CASE("one sequence a step over two data ranks does not go round") {
    job j = training();
    j.micro_batch = j.global_batch = 1;
    CHECK(refused_field(j, {.data = 2}) == "global_batch");
    CHECK(refused_field(j, {}) == "");
}

TEST_CASE("heads that two tensor ranks cannot share are refused with the runtime's name") {
    const job j{
        .model = find_model("gpt2-xl").value(), .context = tokens(1024), .runtime = runtimes::vllm};  // 25 heads
    const status s = detail::validate_ranks(j, {.tensor = 2});
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "layout.tensor");
    CHECK(s.error().expected.view().starts_with("what vllm "));
    CHECK(detail::validate_ranks(j, {}));
}

TEST_CASE("a job that trains what the runtime, the recipe or the model cannot is refused by the field that is wrong") {
    const auto field = [](const job& j) { return std::string{validate(j).error().field.view()}; };
    job j = training();
    REQUIRE(validate(j));
    j.runtime = runtimes::vllm;
    CHECK(field(j) == "runtime");
    j = {.model = models::llama_3_1_8b, .runtime = runtimes::megatron};
    CHECK(field(j) == "runtime");

    j = training();
    j.weights = nf4;
    CHECK(field(j) == "optimizer");
    CHECK(validate(j).error().expected.view().find(nf4.name.view()) != std::string_view::npos);
    j.runtime = runtimes::huggingface;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK(validate(j));
    j.weights = q4_0;  // bitsandbytes loads no type of ggml
    CHECK(field(j) == "weights");
    j.weights = {};
    CHECK(validate(j));
    j.adapter = {};
    j.weights = bf16;
    CHECK(validate(j));

    j = training();
    for (const std::int32_t every : {1, 2, 4}) {
        j.recompute_every = every;
        j.recompute = recompute::full;
        CHECK(validate(j));
        j.recompute = recompute::none;
        CHECK(static_cast<bool>(validate(j)) == (every == 1));
        if (every > 1) CHECK(field(j) == "recompute_every");
    }

    j = training();
    j.mean_length = tokens(1);
    CHECK(field(j) == "mean_length");
    j.varied_lengths = true;
    CHECK(validate(j));

    j = training();
    j.mtp_use_repeated_layer = true;
    CHECK(field(j) == "mtp_use_repeated_layer");
    j.mtp_layers = 1;
    CHECK(validate(j));

    j = training();
    j.runtime.kernels.fp8.param_gather = true;
    CHECK(field(j) == "runtime.fp8_param_gather");
    j.runtime.kernels.fp8.recipe = fp8_recipe::tensorwise;
    CHECK(validate(j));
}

TEST_CASE("a model that embeds generates no tokens") {
    job j{.model = find_model("qwen3-embedding-0.6b").value(), .prompt = tokens(100), .context = tokens(200)};
    CHECK(validate(j));
    j.output = tokens(1);
    CHECK(validate(j).error().field == "output");
    j.model = models::llama_3_1_8b;
    CHECK(validate(j));
}

TEST_CASE("tokens at once are at most those whose widest tensor has 2^60 elements, to the token") {
    model m = models::llama_3_1_8b;
    const double widest = widest_activation(m);
    CHECK(detail::tokens_fit("batch", 1, 1152921504606846976.0 / widest, m));
    CHECK_FALSE(detail::tokens_fit("batch", 1, 1152921504606846976.0 / widest * 1.0001, m));
    m.vocabulary = 1 << 24;
    CHECK(detail::tokens_fit("batch", 1, static_cast<double>(std::int64_t{1} << 36), m));
}

TEST_CASE("images of a step are as many as its tokens hold, and one that began before") {
    constexpr double most = 1152921504606846976.0 / (1 << 24);  // patches with 2^60 elements of the widest tensor
    // A step of so many tokens, in which one image is `each` tokens, and `patches` patches.
    const auto allowed = [](std::int64_t batch, std::int64_t step, std::int64_t each, std::int64_t patches) {
        job j{.model = models::gemma_3_4b, .batch = batch, .context = tokens(1024), .max_batched_tokens = tokens(step)};
        j.model.encoders[0].image_tokens = tokens(each);
        j.model.encoders[0].image_patches = tokens(patches);
        j.model.vocabulary = 1 << 24;
        const auto images = static_cast<double>(1 + std::max(batch * 1024, step) / each);
        const bool small = images * static_cast<double>(patches) <= most;
        CHECK(static_cast<bool>(validate(j)) == small);
        return small;
    };
    const auto part = [&](double of) { return static_cast<std::int64_t>(most * of); };
    CHECK(allowed(1, 0, 1024, part(0.49)));  // two images: one, and one that began before
    CHECK_FALSE(allowed(1, 0, 1024, part(0.51)));
    CHECK(allowed(1, 0, 256, part(0.19)));  // five
    CHECK_FALSE(allowed(1, 0, 256, part(0.21)));
    CHECK(allowed(1, 4096, 1024, part(0.19)));  // a step may be longer than the batch
    CHECK_FALSE(allowed(1, 4096, 1024, part(0.21)));
    CHECK(allowed(4, 512, 1024, part(0.19)));
    CHECK_FALSE(allowed(4, 512, 1024, part(0.21)));
    job text{.model = models::llama_3_1_8b, .context = tokens(1024)};  // no encoder: nothing of it is asked
    text.options.encoder_tokens = tokens(std::int64_t{1} << 39);
    text.model.encoders[0].image_tokens = tokens(1);
    text.model.encoders[0].image_patches = tokens(std::int64_t{1} << 40);
    CHECK(validate(text));
    job seen{.model = models::gemma_3_4b, .context = tokens(1024)};
    seen.model.encoders[0].image_tokens = {};
    seen.model.encoders[0].image_patches = tokens(std::int64_t{1} << 40);
    CHECK(validate(seen));  // an encoder whose images are no tokens
}

TEST_CASE("images of prompts are some, of a model that sees them, with their patches") {
    const auto field = [](const model& m, std::int64_t count, std::int64_t patches) {
        job j{.model = m, .context = tokens(4096)};
        j.images = {.count = count, .patches = tokens(patches)};
        const status s = validate(j);
        return s ? std::string{} : std::string{s.error().field.view()};
    };
    CHECK(field(models::gemma_3_4b, 0, 0).empty());
    CHECK(field(models::gemma_3_4b, 2, 4096).empty());
    CHECK(field(models::gemma_3_4b, 2, 0) == "image_patches");
    CHECK(field(models::gemma_3_4b, -1, 4096) == "images");
    CHECK(field(models::gemma_3_4b, (1 << 24) + 1, 4096) == "images");
    CHECK(field(models::gemma_3_4b, 1, -1) == "image_patches");
    CHECK(field(models::gemma_3_4b, 1 << 24, std::int64_t{1} << 40) == "images");  // more than 2^60 elements
    CHECK(field(models::llama_3_1_8b, 1, 4096) == "images");
    CHECK(field(models::llama_3_1_8b, 0, 4096).empty());
}

TEST_CASE("expert ranks divide the routed experts of a layer, and the ranks that are there") {
    const model& m = models::mixtral_8x7b;
    const auto field = [&](const layout& l) {
        const status s = validate(l, m);
        return s ? std::string{} : std::string{s.error().field.view()};
    };
    CHECK(field({.data = 2, .expert = 2}).empty());
    CHECK(field({.data = 3, .expert = 3}) == "layout.expert");  // eight experts
    CHECK(field({.data = 2, .expert = 4}) == "layout.expert");  // on two ranks
    CHECK(field({.tensor = 2, .data = 2, .expert = 2, .expert_tensor = 2}).empty());
    CHECK(field({.tensor = 2, .data = 2, .expert = 4, .expert_tensor = 2}) == "layout.expert");
    CHECK(field({.tensor = 2, .data = 2, .expert = 4, .expert_tensor = 1}).empty());
    CHECK(field({.data = 6, .shard_replicas = 2}).empty());
    CHECK(field({.data = 6, .shard_replicas = 4}) == "layout.shard_replicas");
    CHECK(validate({.data = 2, .expert = 2}, models::llama_3_1_8b).error().expected ==
          "1: the model has no routed experts");
    model one = m;  // one expert
    for (layer& kind : one.layers.kinds) kind.feed_forward.experts.count = 1;
    CHECK(validate({.data = 2, .expert = 2}, one).error().expected.view().starts_with("a divisor of"));
}

TEST_CASE("stages are as many as layers, and one more for the embedding and for the loss where these count as layers") {
    const model& m = models::llama_3_1_8b;  // 32 layers
    const auto field = [&](const layout& l) {
        const status s = validate(l, m);
        return s ? std::string{} : std::string{s.error().field.view()};
    };
    CHECK(field({.pipeline = 32}).empty());
    CHECK(field({.pipeline = 33}) == "layout.pipeline");
    CHECK(field({.pipeline = 33, .embedding_as_layer = true}).empty());
    CHECK(field({.pipeline = 33, .loss_as_layer = true}).empty());
    CHECK(field({.pipeline = 34, .embedding_as_layer = true, .loss_as_layer = true}).empty());
    CHECK(field({.pipeline = 34, .loss_as_layer = true}) == "layout.pipeline");
    CHECK(field({.pipeline = 1, .stages = read_stages("32").value()}).empty());
    CHECK(field({.pipeline = 1, .stages = read_stages("31").value()}) == "layout.stages");
    CHECK(field({.pipeline = 2, .stages = read_stages("32").value()}) == "layout.stages");  // of one chunk
    // Ways to deal layers that exclude each other, each as small as it can be.
    CHECK(field({.stages = read_stages("32").value(), .loss_as_layer = true}) == "layout.stages");
    CHECK(field({.pipeline = 32, .first_stage_layers = 1, .loss_as_layer = true}) == "layout.stages");
    CHECK(field({.pipeline = 2, .first_stage_layers = 16, .last_stage_layers = 16}).empty());
    CHECK(field({.pipeline = 2, .first_stage_layers = 16, .last_stage_layers = 16, .loss_as_layer = true}) ==
          "layout.stages");
    CHECK(field({.pipeline = 2, .last_stage_layers = 31}).empty());
    CHECK(field({.pipeline = 3, .first_stage_layers = 20, .last_stage_layers = 20}) ==
          "layout.pipeline");  // 20, -8, 20
    CHECK(validate({.pipeline = 2, .first_stage_layers = 20, .last_stage_layers = 20}, m).error().field ==
          "layout.first_stage_layers");
}

TEST_CASE("serving stages of unequal size have all their layers on GPUs, the head apart") {
    job j{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::llama_cpp};
    const layout l{.pipeline = 2, .stages = read_stages("20|12").value()};
    for (const auto& [layers, field] : {std::pair{33, ""}, {32, "layout.stages"}, {31, "layout.stages"}}) {
        j.options.gpu_layers = layers;
        CHECK(refused_field(j, l) == field);
        CHECK(refused_field(j, {.pipeline = 2}) == "");
    }
}

TEST_CASE("DeepSpeed's pipeline engine takes ZeRO 1 at most, with two stages as with more") {
    job j = training();
    j.runtime.sharding.code = sharding_code::deepspeed;
    CHECK(refused_field(j, {.pipeline = 2, .data = 2, .zero = 2}) == "layout.zero");
    CHECK(refused_field(j, {.pipeline = 1, .data = 2, .zero = 2}) == "");
    j.runtime.sharding.code = sharding_code::fsdp2;
    CHECK(refused_field(j, {.pipeline = 2, .data = 2, .zero = 2}) == "");
    j.global_batch = 0;  // one micro-batch for each data rank, however many
    CHECK(refused_field(j, {.data = 7}) == "");
}

TEST_CASE("a layout takes at most the cluster's GPUs") {
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 8).value();
    const job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    CHECK(detail::validate_placed(j, {.data = 8}, c));
    const status s = detail::validate_placed(j, {.data = 9}, c);
    REQUIRE_FALSE(s);
    CHECK(s.error().field == "layout");
    CHECK(s.error().value == "9");
}

TEST_CASE("experts of one, and models without any, are cut by tensor ranks as what they are") {
    job j{.model = models::qwen3_30b_a3b, .context = tokens(4096), .runtime = runtimes::vllm};
    for (layer& kind : j.model.layers.kinds) {
        kind.feed_forward.experts.width = 770;
        kind.feed_forward.experts.count = 1;
    }
    CHECK(detail::validate_ranks(j, {.tensor = 4}).error().expected.view().find("features of an expert") !=
          std::string_view::npos);
    job dense{.model = models::llama_3_1_8b, .context = tokens(4096), .runtime = runtimes::vllm};
    for (layer& kind : dense.model.layers.kinds) kind.feed_forward.experts.width = 770;  // of no experts
    CHECK(detail::validate_ranks(dense, {.tensor = 4}));
}

TEST_CASE("a runtime without a back end for a vendor starts on none of its GPUs, whatever these can") {
    job j{.model = models::llama_3_1_8b, .weights = fp8_e4m3, .context = tokens(4096), .runtime = runtimes::vllm};
    j.runtime.devices.nvidia = device_support::absent;
    const device_start none = device_start_of(j, gpus::v100_sxm2_32gb);
    CHECK(none.support == device_support::absent);
    CHECK(none.what.empty());
    CHECK(none.needed == compute_capability{});  // the vendor is the reason
    j.runtime.devices.nvidia = device_support::runs;
    CHECK(device_start_of(j, gpus::v100_sxm2_32gb).needed != compute_capability{});
    gpu other = gpus::v100_sxm2_32gb;
    other.vendor = gpu_vendor::amd;  // whose capability is no compute capability
    other.rates.fp8 = {};
    CHECK(device_start_of(j, other).support == j.runtime.devices.amd);
}

TEST_CASE("compressed attention is trained by no runtime and served by none on ggml") {
    job j{.model = compressed_attention::small_model(), .task = task::serving, .batch = 1, .context = tokens(1024)};
    const cluster one{.gpu = gpus::h100_sxm5_80gb, .gpus = 1};
    for (const runtime* r : {&runtimes::sglang, &no_runtime}) {
        j.runtime = *r;
        CHECK(plan(j, {}, one));
    }
    j.runtime = runtimes::vllm;  // its caches of compressed attention have 8 bits
    REQUIRE_FALSE(plan(j, {}, one));
    CHECK(plan(j, {}, one).error().field == "kv_cache");
    j.kv_cache = fp8_e4m3;
    CHECK(plan(j, {}, one));
    j.kv_cache = fp8_e5m2;
    CHECK(plan(j, {}, one));
    j.kv_cache = q8_0;
    for (const runtime* r : {&runtimes::llama_cpp, &runtimes::ollama}) {
        j.runtime = *r;
        REQUIRE_FALSE(plan(j, {}, one));
        CHECK(plan(j, {}, one).error().field == "runtime");
    }
    j.runtime = runtimes::pytorch;
    j.task = task::finetuning;
    j.sequence = tokens(1024);
    REQUIRE_FALSE(plan(j, {}, one));
    CHECK(plan(j, {}, one).error().field == "layers");
}
