// SPDX-License-Identifier: MIT
#include <llmres/runtimes/loading.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>
#include <llmres/values/find_precision.hpp>
#include <vector>

using namespace llmres;

TEST_CASE("a runtime loads what it has kernels for, and plain weights always") {
    using f = format_family;
    CHECK(loads(runtimes::llama_cpp.loading, f::gguf));
    CHECK_FALSE(loads(runtimes::llama_cpp.loading, f::awq_words));
    CHECK_FALSE(loads(runtimes::llama_cpp.loading, f::gguf_ik));
    CHECK(loads(runtimes::ik_llama_cpp.loading, f::gguf_ik));
    CHECK_FALSE(loads(runtimes::ollama.loading, f::gptq_words));
    CHECK_FALSE(loads(runtimes::transformers.loading, f::gguf));  // unpacked to 32 bits first
    CHECK_FALSE(loads(runtimes::autoawq.loading, f::gptq_words));
    CHECK_FALSE(loads(runtimes::vllm.loading, f::exllama2));
    CHECK_FALSE(loads(runtimes::sglang.loading, f::half_quadratic));
    CHECK_FALSE(loads(runtimes::exllamav3.loading, f::exllama2));
    for (const runtime* r : runtimes::all) CHECK(loads(r->loading, f::plain));
    for (const f family : {f::gguf, f::exllama3, f::awq_words}) CHECK(loads(no_runtime.loading, family));
}

TEST_CASE("vLLM and SGLang follow what a checkpoint says of its cache from the versions on that read it") {
    const auto follows = [](const char* name) { return find_runtime(name)->loading.calibrated; };
    using by = cache_calibrator;
    CHECK(follows("vllm") == by::compressed_tensors);
    CHECK(follows("vllm@0.17") == by::compressed_tensors);
    CHECK(follows("vllm@0.16") == by::none);
    CHECK(follows("sglang") == by::modelopt);
    CHECK(follows("sglang@0.5.5") == by::modelopt);
    CHECK(follows("sglang@0.5.4") == by::none);
    CHECK(follows("sglang@0.5.2") == by::none);
    CHECK(follows("tensorrt-llm") == by::modelopt);
    CHECK(follows("lmdeploy") == by::none);
}

TEST_CASE("an engine keeps a cache in the formats that its own option takes, and in 16 bits and more") {
    const auto caches = [](const char* name, const char* format) {
        return caches_in(find_runtime(name)->loading, *find_precision("kv_cache", format));
    };
    struct kept {
        const char* engine;
        std::vector<const char*> in, not_in;
    };
    const std::vector<kept> engines{
        // common/arg.cpp: kv_cache_types, which has no 8-bit float, K-quant or MXFP4
        {"llama.cpp",
         {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"},
         {"fp8", "int8", "q6_0", "q4_k", "mxfp4_gguf"}},
        {"ollama", {"q8_0", "q4_0"}, {"fp8", "int4", "iq4_xs"}},
        {"ik_llama.cpp", {"q8_0", "q6_0"}, {"fp8", "q4_k", "iq4_k"}},
        {"vllm", {"fp8_e4m3", "fp8_e5m2", "nvfp4", "int8_row"}, {"q8_0", "mxfp4", "fp8_block128", "mlx_int4_g64"}},
        {"sglang", {"fp8_e4m3", "fp8_e5m2", "nvfp4"}, {"q8_0", "int8"}},
        {"tensorrt-llm", {"fp8", "int8", "nvfp4"}, {"q8_0"}},
        {"lmdeploy", {"int8_row", "int4", "fp8_e5m2"}, {"nvfp4", "q8_0"}},
        {"tgi", {"fp8_e4m3", "fp8_e5m2"}, {"int8", "q8_0"}},
        {"mlx", {"mlx_int8_g64", "mlx_int4_g64"}, {"int8", "fp8", "q8_0"}},
        {"transformers", {"int8", "int4"}, {"fp8", "q8_0"}},
        {"exllamav2", {"q8_0", "q6_0", "q4_0"}, {"int8", "q4_k", "fp8"}},
        {"exllama@v1", {}, {"q8_0", "fp8"}},
        {"ctranslate2", {}, {"int8", "fp8"}},
        {"autoawq", {}, {"int8", "fp8", "q8_0"}},
        {"none", {"q4_k", "fp8", "int8", "mxfp4"}, {}}};
    for (const kept& e : engines) {
        CAPTURE(e.engine);
        for (const char* format : {"fp16", "bf16", "fp32"}) CHECK(caches(e.engine, format));
        for (const char* format : e.in) CHECK_MESSAGE(caches(e.engine, format), format);
        for (const char* format : e.not_in) CHECK_MESSAGE(!caches(e.engine, format), format);
    }
    CHECK(cache_examples_of(runtimes::tgi.loading) == "fp16, bf16, fp32, fp8_e4m3, fp8_e5m2");
}

TEST_CASE("a profile that says nothing of loading holds each weight once, as it is stored") {
    constexpr runtime_loading plain;
    static_assert(plain.rope == rope_tables::computed && plain.repacked == 0.0);
    static_assert(!plain.head_again && plain.projections == projection_tensors::separate);
    static_assert(!plain.embedding_on_host && !plain.host_experts.copied && !plain.mxfp4.padded);
    static_assert(!loaded_for_training{}.published_reference);
}
