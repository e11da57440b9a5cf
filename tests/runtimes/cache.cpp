// SPDX-License-Identifier: MIT
#include <llmres/runtimes/cache.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>

using namespace llmres;

TEST_CASE("a pool that is a share of the device has a fraction; one that grows or is allotted has none") {
    CHECK(takes_fraction(runtimes::vllm.cache));
    CHECK(takes_fraction(runtimes::sglang.cache));
    CHECK(takes_fraction(runtimes::tensorrt_llm.cache));
    CHECK_FALSE(takes_fraction(runtimes::llama_cpp.cache));
    CHECK_FALSE(takes_fraction(runtimes::pytorch.cache));
}

TEST_CASE("llama.cpp caches the latent itself since it absorbs the expansion, and keeps all recurrent state in fp32") {
    CHECK(runtimes::llama_cpp_2024.cache.expands_latent);
    CHECK_FALSE(runtimes::llama_cpp.cache.expands_latent);
    CHECK_FALSE(runtimes::ik_llama_cpp.cache.expands_latent);
    for (const runtime* r : {&runtimes::llama_cpp, &runtimes::ollama, &runtimes::ik_llama_cpp})
        CHECK(r->cache.states == state_cells::wide);
    CHECK(runtimes::vllm.cache.states == state_cells::published);
}
