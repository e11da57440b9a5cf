// SPDX-License-Identifier: MIT
#include <llmres/runtimes/loading.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>

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

TEST_CASE("a profile that says nothing of loading holds each weight once, as it is stored") {
    constexpr runtime_loading plain;
    static_assert(plain.rope == rope_tables::computed && plain.repacked == 0.0);
    static_assert(!plain.head_again && plain.projections == projection_tensors::separate);
    static_assert(!plain.embedding_on_host && !plain.host_experts.copied && !plain.mxfp4.padded);
}
